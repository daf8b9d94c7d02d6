//! LRU at every size in one pass over the trace: misses, evictions and flash writes, all exact.
//!
//! Mattson, Gecsei, Slutz, Traiger. Evaluation techniques for storage hierarchies. IBM Systems
//! Journal 9(2), 1970: LRU with `c` frames holds the `c` pages used last, so an access hits in
//! every cache of at least its stack distance `d` and in no smaller one.
//!
//! Flash writes. A written page is dirty in every cache that has held it since. So one number per
//! page is enough: it is dirty exactly in the caches of at least `dirty_from` frames.
//!
//! ```text
//!  write                       dirty_from = 1            every cache holds it, dirty
//!  next use at distance d      caches of fewer than d frames evicted it in between: those of
//!                              dirty_from..d wrote it;   dirty_from = max(dirty_from, d)
//! ```
//!
//! This is the dirty level of Thompson, Smith. Efficient (stack) algorithms for analysis of
//! write-back and sector memories. ACM TOCS 7(1), 1989, section 3.
//!
//! At the end of the trace a page at depth `d` has been evicted from the caches smaller than `d`
//! without a next use that would tell; the same step settles them.
//!
//! Cost. A use waits for two lines of memory, which are asked for ahead: its page's, and that of
//! the size that it hits from (for a dirty page also that of the size it was written from). Both
//! are spread over as many lines as there are pages; the depths themselves stay near the processor
//! ([`StackDistances`]). 25 bytes per page while it runs, 57 at its end.

use super::curve::EverySize;
use destage_core::pages::prefetch;
use destage_core::stack_distance::{NO_SLOT, StackDistances};
use destage_engine::options::RunOptions;
use destage_replay::accesses::{Access, BLOCK, Columns, Expander};
use destage_replay::control::Control;
use destage_replay::counters::Counters;
use std::sync::atomic::Ordering;

/// How far ahead a page is asked for, and then the word of its slot.
const PAGE_AHEAD: usize = 24;
const SLOT_AHEAD: usize = 8;

/// How many uses later a size that was asked for is counted at.
const COUNT_BEHIND: usize = 16;

/// `dirty_from` of a page that is clean everywhere.
const CLEAN: u32 = u32::MAX;

/// Counts at one cache size.
#[derive(Clone, Copy, Default, Debug)]
struct AtSize {
    read_hits: u64,
    write_hits: u64,
    /// Dirty pages evicted.
    flushes: u64,
    /// Dirty pages resident at the end.
    end_dirty: u64,
}

/// Increments of a size over the next smaller one, for the last uses: half as wide, since a pass
/// waits for these loads.
#[derive(Clone, Copy, Default)]
#[repr(align(16))]
struct Step {
    read_hits: u32,
    write_hits: u32,
    /// May be negative: it wraps.
    flushes: u32,
}

/// Uses after which steps are added up: none of their counts can be larger.
const STEPS_HOLD: u64 = if cfg!(test) { BLOCK as u64 } else { i32::MAX as u64 - BLOCK as u64 };

/// Counts of LRU at every cache size.
#[derive(Clone, Debug)]
pub struct LruCurve {
    /// Index: frames, 0 to the number of pages. Without a frame everything misses, and every write
    /// goes to flash.
    sizes: Vec<AtSize>,
    reads: u64,
    writes: u64,
    /// Distinct pages used before counting began, and in all.
    warm_pages: u32,
    pages: u32,
}

impl LruCurve {
    /// One pass over the trace; the first `warmup_requests` are replayed and not counted.
    ///
    /// Returns `None` when it was stopped.
    pub fn new(
        columns: Columns<'_>,
        warmup_requests: usize,
        control: &Control,
    ) -> Option<LruCurve> {
        let requests = columns.first_ids.len();
        let warm = warmup_requests.min(requests);
        let mut pass = Pass::new(columns.lpns.len());
        let mut warm_pages = 0;
        if warm > 0 {
            pass.run(columns, 0, warm, control)?;
            pass.settle();
            pass.forget_counts();
            warm_pages = pass.stack.live();
        }
        pass.run(columns, warm, requests, control)?;
        pass.settle();
        Some(pass.curve(warm_pages))
    }

    /// Size of the smallest cache that never evicts: the number of distinct pages.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Counts at every size of a run with these options.
    pub fn every_size(&self, options: &RunOptions) -> EverySize {
        let sizes = &self.sizes[1..];
        let fetched =
            if options.fetch_on_write_miss { self.reads + self.writes } else { self.reads };
        let not_fetched = |at: &AtSize| match options.fetch_on_write_miss {
            true => at.read_hits + at.write_hits,
            false => at.read_hits,
        };
        let flushed = u64::from(options.flush_at_end);
        let writes = sizes.iter().map(|at| at.flushes + flushed * at.end_dirty);
        EverySize {
            accesses: self.reads + self.writes,
            hits: sizes.iter().map(|at| at.read_hits + at.write_hits).collect(),
            physical_reads: sizes.iter().map(|at| fetched - not_fetched(at)).collect(),
            physical_writes: Some(writes.collect()),
        }
    }

    /// Counters of LRU with `frames` frames. `end_flushes` counts the dirty pages that are resident
    /// at the end of the trace; the `physical_*` counters, which depend on a run's options, are 0.
    pub fn counters(&self, frames: u32) -> Counters {
        let resident = |pages: u32| u64::from(pages.min(frames));
        let at = &self.sizes[self.sizes.len().saturating_sub(1).min(frames as usize)];
        let (read_misses, write_misses) = (self.reads - at.read_hits, self.writes - at.write_hits);
        Counters {
            read_hits: at.read_hits,
            read_misses,
            write_hits: at.write_hits,
            write_misses,
            // Every miss takes a frame; those that were free are the ones that filled up since.
            evictions: read_misses + write_misses
                - (resident(self.pages) - resident(self.warm_pages)),
            destages: at.flushes,
            destaged_pages: at.flushes,
            end_flushes: at.end_dirty,
            ..Counters::default()
        }
    }
}

/// State of a page, in one place, so that a pass waits for one load.
#[derive(Clone, Copy)]
struct Page {
    /// Slot of its last use; [`NO_SLOT`] before the first.
    slot: u32,
    /// Frames of the smallest cache in which it is dirty.
    dirty_from: u32,
}

/// A use whose size is known and not yet counted.
#[derive(Clone, Copy, Default)]
struct Found {
    /// Frames of the smallest cache that hits; 0 at the first use of a page.
    distance: u32,
    /// The caches of `flushed_from..distance` have written the page since its last use.
    flushed_from: u32,
    write: bool,
}

/// The pass itself.
struct Pass {
    stack: StackDistances,
    pages: Vec<Page>,
    /// The first, without a frame, takes what hits nowhere.
    steps: Vec<Step>,
    /// Uses that steps have counted.
    stepped: u64,
    /// Sums of earlier steps, if there are any.
    sizes: Vec<AtSize>,
    accesses: u64,
    writes: u64,
}

impl Pass {
    fn new(pages: usize) -> Self {
        Pass {
            stack: StackDistances::new(pages),
            pages: vec![Page { slot: NO_SLOT, dirty_from: CLEAN }; pages],
            steps: vec![Step::default(); pages + 1],
            stepped: 0,
            sizes: Vec::new(),
            accesses: 0,
            writes: 0,
        }
    }

    fn run(
        &mut self,
        columns: Columns<'_>,
        start: usize,
        end: usize,
        control: &Control,
    ) -> Option<()> {
        let mut expander = Expander::new(columns, start, end);
        let mut block = [Access::default(); BLOCK + PAGE_AHEAD];
        let mut found = [Found::default(); COUNT_BEHIND];
        let mut filled = expander.fill(&mut block, 0);
        while filled > 0 {
            let run = if filled == block.len() { BLOCK } else { filled };
            if self.stepped + run as u64 > STEPS_HOLD {
                self.add_up();
            }
            self.stepped += run as u64;
            for (i, &access) in block[..run].iter().enumerate() {
                self.look_ahead(&block[..filled], i);
                let at = &mut found[i % COUNT_BEHIND];
                let settled = std::mem::replace(at, self.access(access));
                self.count(settled);
                prefetch(&self.steps, at.distance as usize);
                prefetch(&self.steps, at.flushed_from as usize);
            }
            self.accesses += run as u64;
            control.accesses_done.fetch_add(run as u64, Ordering::Relaxed);
            if control.stop.load(Ordering::Relaxed) {
                return None;
            }
            block.copy_within(run..filled, 0);
            filled = expander.fill(&mut block, filled - run);
        }
        found.into_iter().for_each(|found| self.count(found));
        Some(())
    }

    /// Asks for the pages to come, and for the slots of those that have come.
    #[inline(always)]
    fn look_ahead(&self, block: &[Access], at: usize) {
        if let Some(far) = block.get(at + PAGE_AHEAD) {
            prefetch(&self.pages, far.id as usize);
        }
        if let Some(near) = block.get(at + SLOT_AHEAD) {
            self.stack.prefetch(self.pages[near.id as usize].slot);
        }
    }

    #[inline(always)]
    fn access(&mut self, access: Access) -> Found {
        if self.stack.is_full() {
            self.stack.compact(self.pages.iter_mut().map(|page| &mut page.slot));
        }
        let write = access.op().is_write();
        self.writes += u64::from(write);
        let page = &mut self.pages[access.id as usize];
        let distance;
        (page.slot, distance) = match page.slot {
            NO_SLOT => (self.stack.first_use(), 0),
            slot => self.stack.reuse(slot),
        };
        let flushed_from = page.dirty_from.min(distance);
        page.dirty_from = if write { 1 } else { page.dirty_from.max(distance) };
        Found { distance, flushed_from, write }
    }

    /// Counts a use: a hit from its distance on, and what was written between.
    #[inline(always)]
    fn count(&mut self, found: Found) {
        let Found { distance, flushed_from, write } = found;
        // One from there on, and one less from the distance on: none where both are one place.
        let from = &mut self.steps[flushed_from as usize];
        from.flushes = from.flushes.wrapping_add(1);
        let at = &mut self.steps[distance as usize];
        at.flushes = at.flushes.wrapping_sub(1);
        at.read_hits += u32::from(!write);
        at.write_hits += u32::from(write);
    }

    /// Adds the steps to the sums of earlier ones.
    #[cold]
    fn add_up(&mut self) {
        self.sizes.resize(self.steps.len(), AtSize::default());
        for (sum, step) in self.sizes.iter_mut().zip(&mut self.steps) {
            let Step { read_hits, write_hits, flushes } = std::mem::take(step);
            sum.read_hits += u64::from(read_hits);
            sum.write_hits += u64::from(write_hits);
            sum.flushes = sum.flushes.wrapping_add_signed((flushes as i32).into());
        }
        self.stepped = 0;
    }

    /// Counts the evictions that no next use has shown yet.
    fn settle(&mut self) {
        self.add_up();
        for page in self.pages.iter_mut().filter(|page| page.slot != NO_SLOT) {
            let depth = self.stack.depth(page.slot);
            if page.dirty_from < depth {
                let from = &mut self.sizes[page.dirty_from as usize];
                from.flushes = from.flushes.wrapping_add(1);
                let to = &mut self.sizes[depth as usize];
                to.flushes = to.flushes.wrapping_sub(1);
                page.dirty_from = depth;
            }
        }
    }

    fn forget_counts(&mut self) {
        self.sizes.fill(AtSize::default());
        (self.accesses, self.writes) = (0, 0);
    }

    fn curve(self, warm_pages: u32) -> LruCurve {
        let Pass { stack, pages, mut sizes, accesses, writes, .. } = self;
        for page in pages.into_iter().filter(|page| page.dirty_from != CLEAN) {
            sizes[page.dirty_from as usize].end_dirty += 1;
        }
        sizes[0] = AtSize::default();
        let mut sum = AtSize::default();
        for at in &mut sizes {
            sum.read_hits += at.read_hits;
            sum.write_hits += at.write_hits;
            sum.flushes = sum.flushes.wrapping_add(at.flushes);
            sum.end_dirty += at.end_dirty;
            *at = sum;
        }
        sizes[0].flushes = writes;
        let reads = accesses - writes;
        LruCurve { sizes, reads, writes, warm_pages, pages: stack.live() }
    }
}
