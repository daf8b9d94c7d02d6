//! The nodes of all pages that a policy knows, resident or ghost, and how a page finds its own.
//!
//! Two directories, one type parameter of every policy:
//!
//! * [`Dense`]: the pages of a decoded trace are numbered without gaps, so **the page is the
//!   slot**: no hashing, no second look-up, and a ghost costs nothing more than its node.
//! * [`Hashed`]: live use meets unknown page numbers; a hash map gives each known page a slot.
//!
//! A node is on at most one [`List`](crate::List); which one is written in the node, so "where is
//! this page" is one load. A page on no list is unknown.

use crate::huge;
use crate::types::{Page, Slot};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::ops::{Index, IndexMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// State of one page: its list, its dirty bit, and room for a policy's own bits.
///
/// Four bytes, beside eight of links: the replay of a large trace is bound by how many of these the
/// processor's caches hold, and none of them may lie across two cache lines.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Tag of the list that the node is on; 0: none, the page is unknown.
    pub list: u8,
    /// Newer than flash. The only place where a dirty bit lives.
    pub dirty: bool,
    /// The policy's own: a reference bit, a small counter.
    pub mark: u16,
}

impl Node {
    const UNKNOWN: Node = Node { list: 0, dirty: false, mark: 0 };
}

/// Neighbours of a page, or of the head, on a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links {
    /// Towards the MRU end (head).
    pub(crate) newer: u32,
    /// Towards the LRU end (tail).
    pub(crate) older: u32,
}

/// Mapping of pages to slots.
pub trait Directory: Send {
    /// The page is the slot, so that look-ahead can name the node without a look-up.
    const DENSE: bool;

    /// Slots that exist from the start, before the first page is met.
    fn initial_slots(&self) -> u32;

    /// The slots `0..reserved` are taken by list heads; pages may not use them. Only called once,
    /// and only when [`initial_slots`](Directory::initial_slots) is 0.
    fn reserve(&mut self, reserved: u32);

    /// The page's slot; with [`Dense`] always there, known or not.
    fn slot(&self, page: Page) -> Option<Slot>;

    /// Gives the page a slot. The page has none.
    fn insert(&mut self, page: Page) -> Slot;

    /// Takes the page's slot back.
    fn remove(&mut self, slot: Slot);

    /// The page of a slot.
    fn page(&self, slot: Slot) -> Page;
}

/// Dense ids `0..pages`: the page is the slot.
#[derive(Clone, Debug)]
pub struct Dense {
    pages: u32,
}

impl Dense {
    /// A directory of the pages `0..pages`; at most 2^32 - 256, to leave room for list heads.
    pub fn new(pages: u32) -> Self {
        assert!(pages <= u32::MAX - 256, "dense ids leave room for list heads");
        Dense { pages }
    }
}

impl Directory for Dense {
    const DENSE: bool = true;
    fn initial_slots(&self) -> u32 {
        self.pages
    }
    fn reserve(&mut self, _: u32) {}
    #[inline(always)]
    fn slot(&self, page: Page) -> Option<Slot> {
        Some(Slot(page.0 as u32))
    }
    #[inline(always)]
    fn insert(&mut self, page: Page) -> Slot {
        Slot(page.0 as u32)
    }
    #[inline(always)]
    fn remove(&mut self, _: Slot) {}
    #[inline(always)]
    fn page(&self, slot: Slot) -> Page {
        Page(u64::from(slot.0))
    }
}

/// Any page numbers: a hash map, for live use. Slots of forgotten pages are used again.
///
/// The hash has a fixed seed: decisions never depend on it, and runs stay comparable.
#[derive(Clone, Debug, Default)]
pub struct Hashed {
    slots: HashMap<u64, u32, FixedState>,
    names: Vec<u64>,
    free: Vec<u32>,
    changes: Option<Arc<Changes>>,
}

/// Pages that a [`Hashed`] directory has come to know and has forgotten, for a caller that keeps
/// something beside each known page, ghosts too.
#[derive(Debug)]
pub struct Changes {
    inserted: AtomicU64,
    removals: AtomicU64,
    removed: Mutex<Vec<Page>>,
}

impl Default for Changes {
    fn default() -> Self {
        Changes {
            inserted: AtomicU64::new(Changes::NONE),
            removals: AtomicU64::new(0),
            removed: Mutex::default(),
        }
    }
}

impl Changes {
    const NONE: u64 = u64::MAX;

    fn insert(&self, page: Page) {
        self.inserted.store(page.0, Ordering::Relaxed);
    }

    fn remove(&self, page: Page) {
        if self.inserted.load(Ordering::Relaxed) == page.0 {
            self.inserted.store(Changes::NONE, Ordering::Relaxed);
        }
        self.removals.fetch_add(1, Ordering::Relaxed);
        self.removed.lock().unwrap_or_else(PoisonError::into_inner).push(page);
    }

    /// Moves the pages forgotten since the last call to `removed`. Returns the page that became
    /// known last and still is; one access makes no other page known.
    pub fn take(&self, removed: &mut Vec<Page>) -> Option<Page> {
        if self.removals.load(Ordering::Relaxed) > 0 {
            self.removals.store(0, Ordering::Relaxed);
            removed.append(&mut self.removed.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let inserted = self.inserted.load(Ordering::Relaxed);
        if inserted != Changes::NONE {
            self.inserted.store(Changes::NONE, Ordering::Relaxed);
        }
        (inserted != Changes::NONE).then_some(Page(inserted))
    }
}

impl Hashed {
    /// Empty; grows with the pages that the policy knows at a time.
    pub fn new() -> Self {
        Hashed::default()
    }

    /// Empty, and tells `changes` of every page that becomes known or is forgotten.
    pub fn telling(changes: Arc<Changes>) -> Self {
        Hashed { changes: Some(changes), ..Hashed::default() }
    }
}

impl Directory for Hashed {
    const DENSE: bool = false;
    fn initial_slots(&self) -> u32 {
        0
    }
    fn reserve(&mut self, reserved: u32) {
        self.names = vec![0; reserved as usize];
    }
    #[inline]
    fn slot(&self, page: Page) -> Option<Slot> {
        self.slots.get(&page.0).map(|&slot| Slot(slot))
    }
    fn insert(&mut self, page: Page) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.names.push(0);
            u32::try_from(self.names.len() - 1).expect("fewer than 2^32 pages are known at a time")
        });
        self.names[slot as usize] = page.0;
        let before = self.slots.insert(page.0, slot);
        debug_assert!(before.is_none(), "a page has one slot");
        if let Some(changes) = &self.changes {
            changes.insert(page);
        }
        Slot(slot)
    }
    fn remove(&mut self, slot: Slot) {
        let page = self.names[slot.index()];
        self.slots.remove(&page);
        self.free.push(slot.0);
        if let Some(changes) = &self.changes {
            changes.remove(Page(page));
        }
    }
    fn page(&self, slot: Slot) -> Page {
        Page(self.names[slot.index()])
    }
}

/// All known pages: the directory and the nodes.
#[derive(Clone, Debug)]
pub struct Pages<D> {
    directory: D,
    nodes: Vec<Node>,
    links: Vec<Links>, // as long as nodes
    first_head: u32,
}

impl<D: Directory> Pages<D> {
    /// No page known yet; room for the heads of `lists` lists (0..=200).
    pub fn new(mut directory: D, lists: u8) -> Self {
        assert!(lists <= 200, "a policy has at most 200 lists");
        let pages = directory.initial_slots();
        if pages == 0 {
            directory.reserve(u32::from(lists));
        }
        let slots = pages as usize + usize::from(lists);
        let mut links = huge::table(Links { newer: 0, older: 0 }, slots);
        for head in pages..pages + u32::from(lists) {
            links[head as usize] = Links { newer: head, older: head };
        }
        Pages { directory, nodes: huge::table(Node::UNKNOWN, slots), links, first_head: pages }
    }

    /// Slot of the head node of list `tag` (1..=lists).
    pub(crate) fn head(&self, tag: u8) -> u32 {
        self.first_head + u32::from(tag) - 1
    }

    /// The slot of a known page.
    #[inline(always)]
    pub fn find(&self, page: Page) -> Option<Slot> {
        let slot = self.directory.slot(page)?;
        (self.nodes[slot.index()].list != 0).then_some(slot)
    }

    /// Makes the page known: clean, unmarked, on no list yet. It must be put on one, or its
    /// `list` set, before the next look-up. The page must be unknown.
    #[inline(always)]
    pub fn insert(&mut self, page: Page) -> Slot {
        let slot = self.directory.insert(page);
        if slot.index() == self.nodes.len() {
            self.nodes.push(Node::UNKNOWN);
            self.links.push(Links { newer: 0, older: 0 });
        }
        let node = &mut self.nodes[slot.index()];
        debug_assert!(node.list == 0, "the page is known already");
        node.dirty = false;
        node.mark = 0;
        slot
    }

    /// The page is unknown from now on; it must be on no list. Returns it.
    #[inline(always)]
    pub fn remove(&mut self, slot: Slot) -> Page {
        let page = self.directory.page(slot);
        self.nodes[slot.index()].list = 0;
        self.directory.remove(slot);
        page
    }

    /// The links of a page or a list head.
    #[inline(always)]
    pub(crate) fn links(&self, slot: u32) -> Links {
        self.links[slot as usize]
    }

    /// The links of a page or a list head.
    #[inline(always)]
    pub(crate) fn links_mut(&mut self, slot: u32) -> &mut Links {
        &mut self.links[slot as usize]
    }

    /// The links at the other end of a link that was read from this table.
    ///
    /// Only [`List`](crate::List) follows links, always within one table.
    #[inline(always)]
    pub(crate) fn linked(&mut self, link: u32) -> &mut Links {
        debug_assert!((link as usize) < self.links.len());
        // SAFETY: a link stored in this table is an index of it: only `List::link` and
        // `List::unlink` write links, with slots that they have indexed (checked) in the same table
        // and with links read from it; head nodes start out linked to themselves, all others to 0;
        // and the table never shrinks. Paid for by the `replay` bench: LRU is a tenth faster.
        unsafe { self.links.get_unchecked_mut(link as usize) }
    }

    /// Prefetches the node that follows the oldest of a list: the oldest itself has just come near,
    /// as a neighbour of the one that left. Old pages are cold in every sense.
    #[inline(always)]
    pub(crate) fn prefetch_next_victim(&mut self, head: u32) {
        let oldest = self.links[head as usize].newer;
        let next = self.linked(oldest).newer;
        prefetch(&self.links, next as usize);
        prefetch(&self.nodes, oldest as usize);
    }

    /// The page of a slot.
    #[inline(always)]
    pub fn page(&self, slot: Slot) -> Page {
        self.directory.page(slot)
    }

    /// Slots that exist, list heads included: the length that a table beside this one needs.
    pub fn slots(&self) -> usize {
        self.nodes.len()
    }

    /// State of every slot, as it lies in memory.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Prefetches the page's node and links. Other pages than dense ones are looked up for that:
    /// look-ups one after the other wait for memory at the same time.
    #[inline(always)]
    pub fn prefetch(&self, page: Page) {
        if D::DENSE {
            self.prefetch_node(Slot(page.0 as u32));
        } else if let Some(slot) = self.directory.slot(page) {
            self.prefetch_node(slot);
        }
    }

    /// Prefetches the node of a slot, but not its links.
    #[inline(always)]
    pub fn prefetch_slot(&self, slot: Slot) {
        prefetch(&self.nodes, slot.index());
    }

    /// Prefetches the node of a slot and its links.
    #[inline(always)]
    pub fn prefetch_node(&self, slot: Slot) {
        prefetch(&self.nodes, slot.index());
        prefetch(&self.links, slot.index());
    }

    /// Prefetches the links of the page's neighbours; its own should be near already.
    #[inline(always)]
    pub fn prefetch_links(&self, page: Page) {
        // An unknown dense page's links are stale, and their pages are fetched in vain: cheaper
        // than a branch that depends on whether the page is known, which nothing predicts.
        if let Some(slot) = self.directory.slot(page)
            && let Some(links) = self.links.get(slot.index())
        {
            prefetch(&self.links, links.newer as usize);
            prefetch(&self.links, links.older as usize);
        }
    }
}

impl<D> Index<Slot> for Pages<D> {
    type Output = Node;
    #[inline(always)]
    fn index(&self, slot: Slot) -> &Node {
        &self.nodes[slot.index()]
    }
}

impl<D> IndexMut<Slot> for Pages<D> {
    #[inline(always)]
    fn index_mut(&mut self, slot: Slot) -> &mut Node {
        &mut self.nodes[slot.index()]
    }
}

/// A column beside the nodes: one `T` per slot, for what fits in no node.
#[derive(Clone, Debug)]
pub struct PerSlot<T>(Vec<T>);

impl<T: Copy + Default> PerSlot<T> {
    /// A column as long as the node table is now.
    pub fn new<D: Directory>(pages: &Pages<D>) -> Self {
        PerSlot::with_slots(pages.slots())
    }

    /// A column of this many slots.
    pub fn with_slots(slots: usize) -> Self {
        PerSlot(huge::table(T::default(), slots))
    }

    /// Sets the value of a slot that [`Pages::insert`] just gave, which may be a new one.
    #[inline]
    pub fn set(&mut self, slot: Slot, value: T) {
        if slot.index() >= self.0.len() {
            self.0.resize(slot.index() + 1, T::default());
        }
        self.0[slot.index()] = value;
    }

    /// Prefetches the value of a dense page.
    #[inline(always)]
    pub fn prefetch(&self, page: Page) {
        prefetch(&self.0, page.0 as usize);
    }

    /// Prefetches the value of a slot.
    #[inline(always)]
    pub fn prefetch_slot(&self, slot: Slot) {
        prefetch(&self.0, slot.index());
    }
}

impl<T> Index<Slot> for PerSlot<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, slot: Slot) -> &T {
        &self.0[slot.index()]
    }
}

impl<T> IndexMut<Slot> for PerSlot<T> {
    #[inline(always)]
    fn index_mut(&mut self, slot: Slot) -> &mut T {
        &mut self.0[slot.index()]
    }
}

/// Asks the processor to bring `values[index]` near; an index past the end is asked for in vain.
///
/// Nothing on machines without a stable intrinsic.
#[inline(always)]
pub fn prefetch<T>(values: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults and reads nothing architecturally, whatever the address.
    // Paid for by the `replay` bench: without look-ahead LRU over 4 M pages runs at half the rate.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().wrapping_add(index).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hashed_page_gets_a_slot_again_after_it_was_forgotten() {
        let mut pages = Pages::new(Hashed::new(), 1);
        let slot = pages.insert(Page(1 << 60));
        pages[slot].list = 1;
        assert_eq!(pages.find(Page(1 << 60)), Some(slot));
        assert_eq!(pages.page(slot), Page(1 << 60));
        assert_eq!(pages.remove(slot), Page(1 << 60));
        assert_eq!(pages.find(Page(1 << 60)), None);
        assert_eq!(pages.insert(Page(5)), slot, "slots are used again");
    }

    #[test]
    fn changes_name_the_pages_that_are_forgotten_and_the_one_that_is_new() {
        let changes = Arc::new(Changes::default());
        let mut pages = Hashed::telling(Arc::clone(&changes));
        let (mut removed, [a, b]) = (Vec::new(), [Page(7), Page(9)]);
        let slot = pages.insert(a);
        assert_eq!(changes.take(&mut removed), Some(a));
        pages.remove(slot);
        let slot = pages.insert(a); // a ghost that comes in again
        assert_eq!((changes.take(&mut removed), &removed[..]), (Some(a), &[a][..]));
        removed.clear();
        pages.remove(slot);
        let slot = pages.insert(b);
        pages.remove(slot);
        assert_eq!((changes.take(&mut removed), &removed[..]), (None, &[a, b][..]));
    }

    #[test]
    fn a_dense_page_is_its_own_slot() {
        let mut pages = Pages::new(Dense::new(4), 2);
        assert_eq!(pages.find(Page(3)), None);
        let slot = pages.insert(Page(3));
        pages[slot].list = 2;
        assert_eq!(pages.find(Page(3)), Some(Slot(3)));
    }
}
