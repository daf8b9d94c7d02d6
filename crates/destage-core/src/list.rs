//! Intrusive doubly linked lists over the nodes of [`Pages`].
//!
//! ```text
//!      ┌──────────────────────────────────────────────┐
//!      ▼                                              │
//!    head ◀─newer─ MRU ◀─newer─ ... ◀─newer─ LRU ─older─▶ (head)
//! ```
//!
//! A ring through a head node that is no page: linking and unlinking have no special case at the
//! ends, hence no branch.

use crate::pages::{Directory, Links, Pages};
use crate::types::Slot;

/// One list. All operations are O(1) but `iter` and `dirty`.
///
/// "MRU end" and "head" are the same end, as are "LRU end" and "tail".
#[derive(Clone, Debug)]
pub struct List {
    head: u32,
    len: u32,
    tag: u8,
}

impl List {
    /// The list with this tag, 1..=lists of [`Pages::new`]; one list per tag.
    pub fn new<D: Directory>(pages: &Pages<D>, tag: u8) -> Self {
        assert!(tag != 0, "tag 0 stands for no list");
        List { head: pages.head(tag), len: 0, tag }
    }

    /// Number of pages on the list.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// No page on the list.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Tag that the nodes of this list carry in `list`.
    #[inline(always)]
    pub fn tag(&self) -> u8 {
        self.tag
    }

    /// The page is on this list.
    #[inline(always)]
    pub fn holds<D: Directory>(&self, pages: &Pages<D>, slot: Slot) -> bool {
        pages[slot].list == self.tag
    }

    /// Newest page.
    #[inline(always)]
    pub fn mru<D: Directory>(&self, pages: &Pages<D>) -> Option<Slot> {
        self.page_or_end(pages.links(self.head).older)
    }

    /// Oldest page.
    #[inline(always)]
    pub fn lru<D: Directory>(&self, pages: &Pages<D>) -> Option<Slot> {
        self.page_or_end(pages.links(self.head).newer)
    }

    /// The page that has so many older ones behind it. Walks there.
    #[inline(always)]
    pub fn nth_lru<D: Directory>(&self, pages: &Pages<D>, nth: u32) -> Option<Slot> {
        let mut at = pages.links(self.head).newer;
        for _ in 0..nth {
            at = pages.links(at).newer; // past the newest page: round again, by way of the head
        }
        self.page_or_end(at)
    }

    /// Next page towards the MRU end.
    #[inline(always)]
    pub fn newer<D: Directory>(&self, pages: &Pages<D>, slot: Slot) -> Option<Slot> {
        self.page_or_end(pages.links(slot.0).newer)
    }

    /// Next page towards the LRU end.
    #[inline(always)]
    pub fn older<D: Directory>(&self, pages: &Pages<D>, slot: Slot) -> Option<Slot> {
        self.page_or_end(pages.links(slot.0).older)
    }

    #[inline(always)]
    fn page_or_end(&self, slot: u32) -> Option<Slot> {
        (slot != self.head).then_some(Slot(slot))
    }

    /// Puts a page that is on no list at the MRU end.
    #[inline(always)]
    pub fn push_mru<D: Directory>(&mut self, pages: &mut Pages<D>, slot: Slot) {
        let next = pages.links(self.head).older;
        self.link(pages, slot, self.head, next);
        pages.links_mut(self.head).older = slot.0;
        pages.linked(next).newer = slot.0;
    }

    /// Puts a page that is on no list at the LRU end.
    #[inline(always)]
    pub fn push_lru<D: Directory>(&mut self, pages: &mut Pages<D>, slot: Slot) {
        let previous = pages.links(self.head).newer;
        self.link(pages, slot, previous, self.head);
        pages.links_mut(self.head).newer = slot.0;
        pages.linked(previous).older = slot.0;
    }

    /// The page's own side of a link. Its neighbours' sides are the caller's.
    #[inline(always)]
    fn link<D: Directory>(&mut self, pages: &mut Pages<D>, slot: Slot, newer: u32, older: u32) {
        *pages.links_mut(slot.0) = Links { newer, older };
        pages[slot].list = self.tag;
        self.len += 1;
    }

    /// Takes a page of this list off it. Its `list` is stale until it is put on another one or
    /// removed: one store less on every move.
    #[inline(always)]
    pub fn unlink<D: Directory>(&mut self, pages: &mut Pages<D>, slot: Slot) {
        debug_assert_eq!(pages[slot].list, self.tag, "the page is on another list");
        let Links { newer, older } = pages.links(slot.0);
        pages.linked(newer).older = older;
        pages.linked(older).newer = newer;
        self.len -= 1;
    }

    /// Moves a page of this list to its MRU end.
    #[inline(always)]
    pub fn touch<D: Directory>(&mut self, pages: &mut Pages<D>, slot: Slot) {
        self.unlink(pages, slot);
        self.push_mru(pages, slot);
    }

    /// Takes the oldest page off the list.
    #[inline(always)]
    pub fn pop_lru<D: Directory>(&mut self, pages: &mut Pages<D>) -> Option<Slot> {
        let slot = self.lru(pages)?;
        self.unlink(pages, slot);
        pages.prefetch_next_victim(self.head);
        Some(slot)
    }

    /// Dirty pages on some lists. O(slots): one walk over the nodes as they lie in memory, where in
    /// the order of a list each of them would be a cache miss.
    pub fn dirty<D: Directory, const N: usize>(lists: [&List; N], pages: &Pages<D>) -> u64 {
        let mut counts = [false; 256];
        lists.iter().for_each(|list| counts[usize::from(list.tag)] = true);
        let nodes = pages.nodes().iter();
        nodes.map(|node| u64::from(node.dirty & counts[usize::from(node.list)])).sum()
    }

    /// All pages, MRU to LRU. For tests, checks and `for_each_resident`.
    pub fn iter<'a, D: Directory>(
        &self,
        pages: &'a Pages<D>,
    ) -> impl Iterator<Item = Slot> + use<'a, D> {
        let head = self.head;
        let mut at = pages.links(head).older;
        std::iter::from_fn(move || {
            (at != head).then(|| {
                let slot = Slot(at);
                at = pages.links(at).older;
                slot
            })
        })
    }

    /// All pages, LRU to MRU.
    pub fn oldest_first<D: Directory>(&self, pages: &Pages<D>) -> impl Iterator<Item = Slot> {
        std::iter::successors(self.lru(pages), |&slot| self.newer(pages, slot))
    }

    /// Asserts that links agree in both directions, tags are right and the length is true.
    pub fn check<D: Directory>(&self, pages: &Pages<D>) {
        let mut newer = self.head;
        let mut count = 0;
        for slot in self.iter(pages) {
            assert_eq!(
                pages.links(slot.0).newer,
                newer,
                "links of a list agree in both directions"
            );
            assert_eq!(pages[slot].list, self.tag, "a page knows its list");
            newer = slot.0;
            count += 1;
        }
        assert_eq!(pages.links(self.head).newer, newer, "the list ends where it began");
        assert_eq!(count, self.len, "a list knows its length");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::Dense;
    use crate::types::Page;

    fn order(list: &List, pages: &Pages<Dense>) -> Vec<u32> {
        list.check(pages);
        list.iter(pages).map(|s| s.0).collect()
    }

    #[test]
    fn pages_stand_in_the_order_of_their_moves() {
        let mut pages = Pages::new(Dense::new(10), 2);
        let mut a = List::new(&pages, 1);
        let mut b = List::new(&pages, 2);
        for p in 0..4 {
            let slot = pages.insert(Page(p));
            a.push_mru(&mut pages, slot);
        }
        assert_eq!(order(&a, &pages), [3, 2, 1, 0]);
        a.touch(&mut pages, Slot(1));
        assert_eq!(order(&a, &pages), [1, 3, 2, 0]);
        let oldest = a.pop_lru(&mut pages).unwrap();
        b.push_lru(&mut pages, oldest);
        a.unlink(&mut pages, Slot(3));
        b.push_lru(&mut pages, Slot(3));
        assert_eq!(order(&a, &pages), [1, 2]);
        assert_eq!(order(&b, &pages), [0, 3]);
        assert_eq!(b.newer(&pages, Slot(3)), Some(Slot(0)));
        assert_eq!(b.newer(&pages, Slot(0)), None);
        assert!(b.holds(&pages, Slot(3)) && !a.holds(&pages, Slot(3)));
    }
}
