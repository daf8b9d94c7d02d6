//! Lists through the entries of an array: of frames, of blocks.
//!
//! ```text
//!   newest ──older──▶ ... ──older──▶ oldest ──▶ NIL
//!   NIL ◀──newer── newest ... ◀──newer── oldest
//! ```
//!
//! An entry may be on as many lists at a time as it has pairs of links; `K` says which pair a list
//! goes through.

/// No entry.
pub(crate) const NIL: u32 = u32::MAX;

/// Neighbours of an entry, [`NIL`] at the ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) newer: u32,
    pub(crate) older: u32,
}

impl Default for Pair {
    fn default() -> Self {
        Pair { newer: NIL, older: NIL }
    }
}

/// An entry with a pair of links, its `K`th.
pub(crate) trait Linked<const K: usize> {
    fn pair(&self) -> Pair;
    fn pair_mut(&mut self) -> &mut Pair;
}

/// One list. All operations are O(1) but `iter`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Chain<const K: usize> {
    newest: u32,
    oldest: u32,
}

impl<const K: usize> Default for Chain<K> {
    fn default() -> Self {
        Chain { newest: NIL, oldest: NIL }
    }
}

impl<const K: usize> Chain<K> {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.newest == NIL
    }

    #[inline(always)]
    pub(crate) fn newest(&self) -> Option<u32> {
        (self.newest != NIL).then_some(self.newest)
    }

    #[inline(always)]
    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.oldest != NIL).then_some(self.oldest)
    }

    /// Puts an entry that is on no list of this `K` at the new end.
    #[inline(always)]
    pub(crate) fn push_newest<N: Linked<K>>(&mut self, entries: &mut [N], at: u32) {
        let next = std::mem::replace(&mut self.newest, at);
        *entries[at as usize].pair_mut() = Pair { newer: NIL, older: next };
        if next == NIL {
            self.oldest = at;
        } else {
            entries[next as usize].pair_mut().newer = at;
        }
    }

    /// Puts an entry that is on no list of this `K` at the old end.
    #[inline(always)]
    pub(crate) fn push_oldest<N: Linked<K>>(&mut self, entries: &mut [N], at: u32) {
        let previous = std::mem::replace(&mut self.oldest, at);
        *entries[at as usize].pair_mut() = Pair { newer: previous, older: NIL };
        if previous == NIL {
            self.newest = at;
        } else {
            entries[previous as usize].pair_mut().older = at;
        }
    }

    /// Puts an entry that is on no list of this `K` just behind one of this list, on its older
    /// side.
    pub(crate) fn push_behind<N: Linked<K>>(&mut self, entries: &mut [N], at: u32, newer: u32) {
        let older = std::mem::replace(&mut entries[newer as usize].pair_mut().older, at);
        *entries[at as usize].pair_mut() = Pair { newer, older };
        if older == NIL {
            self.oldest = at;
        } else {
            entries[older as usize].pair_mut().newer = at;
        }
    }

    /// Takes an entry of this list off it.
    #[inline(always)]
    pub(crate) fn unlink<N: Linked<K>>(&mut self, entries: &mut [N], at: u32) {
        let Pair { newer, older } = entries[at as usize].pair();
        if newer == NIL {
            self.newest = older;
        } else {
            entries[newer as usize].pair_mut().older = older;
        }
        if older == NIL {
            self.oldest = newer;
        } else {
            entries[older as usize].pair_mut().newer = newer;
        }
    }

    /// Makes an entry of this list its newest.
    #[inline(always)]
    pub(crate) fn touch<N: Linked<K>>(&mut self, entries: &mut [N], at: u32) {
        if self.newest != at {
            self.unlink(entries, at);
            self.push_newest(entries, at);
        }
    }

    /// All entries, newest first.
    pub(crate) fn iter<'a, N: Linked<K>>(
        &self,
        entries: &'a [N],
    ) -> impl Iterator<Item = u32> + use<'a, N, K> {
        let first = self.newest();
        std::iter::successors(first, |&at| {
            let older = entries[at as usize].pair().older;
            (older != NIL).then_some(older)
        })
    }

    /// Asserts that links agree in both directions; returns the length.
    pub(crate) fn check<N: Linked<K>>(&self, entries: &[N]) -> u32 {
        let (mut newer, mut count) = (NIL, 0);
        for at in self.iter(entries) {
            assert_eq!(entries[at as usize].pair().newer, newer, "links agree in both directions");
            newer = at;
            count += 1;
        }
        assert_eq!(self.oldest, newer, "a list ends with its oldest entry");
        count
    }
}

/// The nearest entry on the newer side of one, on its list of this `K`, that is so.
pub(crate) fn newer_of<const K: usize, N: Linked<K>>(
    entries: &[N],
    at: u32,
    is_so: impl Fn(&N) -> bool,
) -> Option<u32> {
    let newer = |at: u32| {
        let newer = entries[at as usize].pair().newer;
        (newer != NIL).then_some(newer)
    };
    std::iter::successors(newer(at), |&at| newer(at)).find(|&at| is_so(&entries[at as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Entry(Pair);

    impl Linked<7> for Entry {
        fn pair(&self) -> Pair {
            self.0
        }
        fn pair_mut(&mut self) -> &mut Pair {
            &mut self.0
        }
    }

    #[test]
    fn entries_stand_in_the_order_of_their_moves() {
        let mut entries: Vec<Entry> = (0..5).map(|_| Entry(Pair::default())).collect();
        let mut chain: Chain<7> = Chain::default();
        for at in 0..4 {
            chain.push_newest(&mut entries, at);
        }
        chain.push_oldest(&mut entries, 4);
        chain.touch(&mut entries, 1);
        chain.touch(&mut entries, 4);
        chain.unlink(&mut entries, 3);
        assert_eq!(chain.check(&entries), 4);
        assert_eq!(chain.iter(&entries).collect::<Vec<_>>(), [4, 1, 2, 0]);
        for (newer, order) in [(1, [4, 1, 3, 2, 0]), (0, [4, 1, 2, 0, 3])] {
            chain.push_behind(&mut entries, 3, newer);
            chain.check(&entries);
            assert_eq!(chain.iter(&entries).collect::<Vec<_>>(), order);
            chain.unlink(&mut entries, 3);
        }
        for at in [4, 0, 1, 2] {
            chain.unlink(&mut entries, at);
            chain.check(&entries);
        }
        assert!(chain.is_empty());
    }
}
