//! Evictions and destages of one decision: a buffer that the engine owns, clears and reuses.

use crate::types::{Lpn, Page};
use std::ops::Range;

/// A page that leaves the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evicted {
    /// The page as the directory names it.
    pub page: Page,
    /// Newer than flash, and so in a flush group of this plan.
    pub dirty: bool,
}

/// A page that is written only to complete a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pad {
    /// By LPN: such a page may never occur in the trace and then has no id.
    pub lpn: Lpn,
    /// A clean copy is in the buffer: the page need not be read from flash first.
    pub in_buffer: bool,
}

/// Padding pages that follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PadRun {
    /// First LPN of the run of padding pages.
    pub first: Lpn,
    /// Number of pages, at least 1.
    pub pages: u64,
    /// [`Pad::in_buffer`] of all pages of the run.
    pub in_buffer: bool,
}

/// Padding pages, in ascending order within a group. A block has many times as many of them as of
/// runs, and a caller that counts them need not see each.
#[derive(Clone, Copy, Debug)]
pub struct Pads<'a> {
    runs: &'a [PadRun],
}

impl<'a> Pads<'a> {
    /// Each page.
    pub fn iter(self) -> impl Iterator<Item = Pad> + use<'a> {
        self.runs.iter().flat_map(|run| {
            let lpns = run.first.0..run.first.0 + run.pages;
            lpns.map(|lpn| Pad { lpn: Lpn(lpn), in_buffer: run.in_buffer })
        })
    }

    /// Number of pages.
    pub fn len(self) -> usize {
        self.runs.iter().map(|run| run.pages as usize).sum()
    }

    /// There are none.
    pub fn is_empty(self) -> bool {
        self.runs.is_empty()
    }
}

/// One flush group: what goes to the device in one piece, pages and padding merged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    flushed: Range<usize>,
    pads: Range<usize>, // runs
    label: u8,
}

/// The outcome of evictions: pages evicted, groups flushed, pages padded.
///
/// A flushed page that is not evicted stays in the buffer and is clean from now on ("write back,
/// then keep").
#[derive(Clone, Default, Debug)]
pub struct Plan {
    evicted: Vec<Evicted>,
    flushed: Vec<Page>,
    pad_runs: Vec<PadRun>,
    groups: Vec<Group>,
    kept: usize,      // flushed pages that were not evicted
    padded: usize,    // padding pages
    in_buffer: usize, // those of them that are
}

impl Plan {
    /// An empty plan.
    pub fn new() -> Self {
        Plan::default()
    }

    /// Forgets everything, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.evicted.clear();
        self.flushed.clear();
        self.pad_runs.clear();
        self.groups.clear();
        self.kept = 0;
        self.padded = 0;
        self.in_buffer = 0;
    }

    /// One page leaves; if dirty, it is flushed as a group of its own.
    ///
    /// All that a page-granular policy needs.
    #[inline]
    pub fn evict(&mut self, page: Page, dirty: bool) {
        self.evict_labelled(page, dirty, 0);
    }

    /// Evicts a page of a list with a label, by which a device may place it
    /// (`docs/spec/device-today.md` 8.4). It never changes a decision.
    #[inline]
    pub fn evict_labelled(&mut self, page: Page, dirty: bool, label: u8) {
        self.evicted.push(Evicted { page, dirty });
        if dirty {
            let at = self.flushed.len();
            self.flushed.push(page);
            let pads = self.pad_runs.len();
            self.groups.push(Group { flushed: at..at + 1, pads: pads..pads, label });
        }
    }

    /// Opens a flush group; the `flush*` and `pad` calls that follow belong to it.
    #[inline]
    pub fn open_group(&mut self) {
        let (flushed, pads) = (self.flushed.len(), self.pad_runs.len());
        self.groups.push(Group { flushed: flushed..flushed, pads: pads..pads, label: 0 });
    }

    /// A dirty page leaves with the open group. Pages of a group come in ascending order.
    #[inline]
    pub fn flush_and_evict(&mut self, page: Page) {
        self.evicted.push(Evicted { page, dirty: true });
        self.flush(page);
    }

    /// A dirty page is written with the open group and stays, clean.
    pub fn flush_and_keep(&mut self, page: Page) {
        self.kept += 1;
        self.flush(page);
    }

    /// A page that is not taken in is written, as a group of its own.
    #[inline]
    pub fn write_through(&mut self, page: Page) {
        self.open_group();
        self.flush(page);
    }

    #[inline]
    fn flush(&mut self, page: Page) {
        self.flushed.push(page);
        self.open().flushed.end += 1;
    }

    /// A page that completes the open group's block, in ascending order.
    #[inline]
    pub fn pad(&mut self, lpn: Lpn, in_buffer: bool) {
        self.in_buffer += usize::from(in_buffer);
        self.push_pads(PadRun { first: lpn, pages: 1, in_buffer });
    }

    /// Pages that follow each other, at least one and none of them in the buffer, complete the open
    /// group's block.
    #[inline]
    pub fn pad_run(&mut self, lpns: Range<u64>) {
        let pages = lpns.end - lpns.start;
        self.push_pads(PadRun { first: Lpn(lpns.start), pages, in_buffer: false });
    }

    #[inline]
    fn push_pads(&mut self, run: PadRun) {
        debug_assert!(run.pages > 0, "a run has a page");
        self.padded += run.pages as usize;
        self.pad_runs.push(run);
        self.open().pads.end += 1;
    }

    #[inline]
    fn open(&mut self) -> &mut Group {
        self.groups.last_mut().expect("open_group comes before the pages of a group")
    }

    /// Pages that leave the buffer, in the order of leaving.
    #[inline]
    pub fn evicted(&self) -> &[Evicted] {
        &self.evicted
    }

    /// All flushed pages, group after group.
    #[inline]
    pub fn flushed(&self) -> &[Page] {
        &self.flushed
    }

    /// All padding pages, group after group.
    #[inline]
    pub fn padded(&self) -> Pads<'_> {
        Pads { runs: &self.pad_runs }
    }

    /// Padding pages, as runs.
    #[inline]
    pub fn pad_runs(&self) -> &[PadRun] {
        &self.pad_runs
    }

    /// The groups in order: the buffer's own pages, and the padding pages.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = (&[Page], Pads<'_>)> {
        self.groups.iter().map(|group| {
            let pads = Pads { runs: &self.pad_runs[group.pads.clone()] };
            (&self.flushed[group.flushed.clone()], pads)
        })
    }

    /// Ranges of a group's pages in [`flushed`](Plan::flushed), and its padding in
    /// [`pad_runs`](Plan::pad_runs).
    #[inline]
    pub fn group_ranges(&self, group: usize) -> (Range<usize>, Range<usize>) {
        let Group { flushed, pads, .. } = &self.groups[group];
        (flushed.clone(), pads.clone())
    }

    /// The label of a group's pages; 0 if its policy gives none.
    #[inline]
    pub fn label(&self, group: usize) -> u8 {
        self.groups[group].label
    }

    /// All pages of the group stay: no admission waits for a frame of it.
    #[inline]
    pub fn stays(&self, group: usize) -> bool {
        let leaves = |page: &Page| self.evicted.iter().any(|evicted| evicted.page == *page);
        self.kept > 0 && !self.flushed[self.groups[group].flushed.clone()].iter().any(leaves)
    }

    /// Number of evicted pages that were clean.
    #[inline]
    pub fn clean_evictions(&self) -> usize {
        self.evicted.len() + self.kept - self.flushed.len()
    }

    /// Number of padding pages.
    #[inline]
    pub fn padding_writes(&self) -> usize {
        self.padded
    }

    /// Number of padding pages that must be read from flash.
    #[inline]
    pub fn padding_reads(&self) -> usize {
        self.padded - self.in_buffer
    }

    /// Number of flush groups.
    #[inline]
    pub fn group_count(&self) -> usize {
        self.groups.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dirty_victim_is_a_group_of_its_own_and_a_clean_one_is_none() {
        let mut plan = Plan::new();
        plan.evict(Page(7), false);
        plan.evict(Page(8), true);
        assert_eq!(plan.evicted().len(), 2);
        let groups: Vec<_> = plan.groups().map(|(pages, pads)| (pages, pads.len())).collect();
        assert_eq!(groups, [(&[Page(8)][..], 0)]);
        assert_eq!(plan.clean_evictions(), 1);
    }

    #[test]
    fn groups_keep_their_pages_and_their_padding_apart() {
        let mut plan = Plan::new();
        plan.open_group();
        plan.flush_and_evict(Page(0));
        plan.flush_and_keep(Page(2));
        plan.pad(Lpn(1), true);
        plan.pad_run(3..5);
        plan.open_group();
        plan.flush_and_evict(Page(9));
        let groups: Vec<_> =
            plan.groups().map(|(pages, pads)| (pages, pads.iter().collect::<Vec<_>>())).collect();
        assert_eq!(groups[0].0, [Page(0), Page(2)]);
        let pad = |lpn, in_buffer| Pad { lpn: Lpn(lpn), in_buffer };
        assert_eq!(groups[0].1, [pad(1, true), pad(3, false), pad(4, false)]);
        assert_eq!((plan.padding_writes(), plan.padding_reads()), (3, 2));
        assert_eq!(groups[1], (&[Page(9)][..], vec![]));
        assert_eq!(plan.evicted().iter().map(|e| e.page.0).collect::<Vec<_>>(), [0, 9]);
        assert_eq!(plan.clean_evictions(), 0, "a page that is kept is not evicted");
        assert!(!plan.stays(0) && !plan.stays(1), "some page of each leaves");
        plan.open_group();
        plan.flush_and_keep(Page(4));
        assert_eq!([0, 1, 2].map(|group| plan.stays(group)), [false, false, true]);
        plan.clear();
        assert_eq!((plan.group_count(), plan.evicted().len(), plan.padding_writes()), (0, 0, 0));
    }
}
