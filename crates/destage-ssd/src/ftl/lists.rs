//! Doubly linked lists over small numbers, for log blocks and cached entries.

/// Lists over the nodes `0..nodes`, each of which is on one of them or on none. Every list is a
/// ring through a head that is no node: no end needs a case of its own.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Lists {
    links: Vec<Links>, // of nodes, then of heads
    nodes: u32,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Links {
    newer: u32,
    older: u32,
}

impl Lists {
    /// `lists` empty lists over `nodes` nodes.
    pub(super) fn new(nodes: u32, lists: u32) -> Self {
        let alone = |at| Links { newer: at, older: at };
        Lists { links: (0..nodes + lists).map(alone).collect(), nodes }
    }

    /// Puts a node that is on no list at the newest end of one.
    #[inline(always)]
    pub(super) fn push(&mut self, list: u32, node: u32) {
        let head = self.nodes + list;
        let next = self.links[head as usize].older;
        self.links[node as usize] = Links { newer: head, older: next };
        self.links[head as usize].older = node;
        self.links[next as usize].newer = node;
    }

    /// Takes a node off its list, if it is on one.
    #[inline(always)]
    pub(super) fn remove(&mut self, node: u32) {
        let Links { newer, older } = self.links[node as usize];
        self.links[newer as usize].older = older;
        self.links[older as usize].newer = newer;
        self.links[node as usize] = Links { newer: node, older: node };
    }

    /// The oldest node of a list.
    #[inline(always)]
    pub(super) fn oldest(&self, list: u32) -> Option<u32> {
        let oldest = self.links[(self.nodes + list) as usize].newer;
        (oldest < self.nodes).then_some(oldest)
    }

    /// The nodes of a list, oldest first.
    pub(super) fn iter(&self, list: u32) -> impl Iterator<Item = u32> {
        let next = |&node: &u32| {
            let newer = self.links[node as usize].newer;
            (newer < self.nodes).then_some(newer)
        };
        std::iter::successors(self.oldest(list), next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_stand_from_the_oldest_to_the_newest() {
        let mut lists = Lists::new(4, 2);
        for node in [2, 0, 3] {
            lists.push(0, node);
        }
        lists.push(1, 1);
        assert_eq!(lists.iter(0).collect::<Vec<_>>(), [2, 0, 3]);
        lists.remove(0);
        lists.remove(0); // it is on none: nothing happens
        lists.push(1, 0);
        assert_eq!(lists.iter(0).collect::<Vec<_>>(), [2, 3]);
        assert_eq!((lists.oldest(1), lists.iter(1).collect::<Vec<_>>()), (Some(1), vec![1, 0]));
        lists.remove(2);
        lists.remove(3);
        assert_eq!(lists.oldest(0), None);
    }
}
