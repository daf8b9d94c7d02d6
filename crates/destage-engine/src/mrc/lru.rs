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
//! At the end of the trace a page at depth `d` has been evicted from the caches smaller than `d`
//! without a next use that would tell; the same step settles them.
//!
//! Cost. O(log(pages / 512)) per access; 40 bytes per page.

use super::curve::EverySize;
use super::recency::Recency;
use crate::accesses::{Access, BLOCK, Columns, Expander};
use crate::control::Control;
use crate::counters::Counters;
use destage_core::pages::prefetch;
use std::sync::atomic::Ordering;

/// How far ahead a page's slot is asked for.
const AHEAD: usize = 16;

/// `dirty_from` of a page that is clean everywhere.
const CLEAN: u32 = u32::MAX;

/// What is counted at one cache size; while counting, what a size has more than the next smaller.
#[derive(Clone, Copy, Default, Debug)]
struct AtSize {
    read_hits: u64,
    write_hits: u64,
    /// Dirty pages evicted. Differences may be negative: they wrap, their sums do not.
    flushes: u64,
    /// Dirty pages resident at the end.
    end_dirty: u64,
}

/// What LRU counts at every cache size.
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
            warm_pages = pass.recency.live();
        }
        pass.run(columns, warm, requests, control)?;
        pass.settle();
        Some(pass.curve(warm_pages))
    }

    /// Size of the smallest cache that never evicts: the number of distinct pages.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// What it hits at every size.
    pub fn every_size(&self) -> EverySize {
        EverySize {
            accesses: self.reads + self.writes,
            hits: self.sizes.iter().skip(1).map(|at| at.read_hits + at.write_hits).collect(),
        }
    }

    /// What LRU counts with so many frames. `end_flushes` counts the dirty pages that are resident
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

/// The pass itself.
struct Pass {
    recency: Recency,
    dirty_from: Vec<u32>,
    sizes: Vec<AtSize>,
    reads: u64,
    writes: u64,
}

impl Pass {
    fn new(pages: usize) -> Self {
        Pass {
            recency: Recency::new(pages),
            dirty_from: vec![CLEAN; pages],
            sizes: vec![AtSize::default(); pages + 1],
            reads: 0,
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
        let mut block = [Access::default(); BLOCK + AHEAD];
        let mut filled = expander.fill(&mut block, 0);
        while filled > 0 {
            let run = if filled == block.len() { BLOCK } else { filled };
            for (i, &access) in block[..run].iter().enumerate() {
                if let Some(far) = block[..filled].get(i + AHEAD) {
                    self.recency.warm(far.id);
                    prefetch(&self.dirty_from, far.id as usize);
                }
                self.access(access);
            }
            control.accesses_done.fetch_add(run as u64, Ordering::Relaxed);
            if control.stop.load(Ordering::Relaxed) {
                return None;
            }
            block.copy_within(run..filled, 0);
            filled = expander.fill(&mut block, filled - run);
        }
        Some(())
    }

    #[inline(always)]
    fn access(&mut self, access: Access) {
        let write = access.op().is_write();
        self.reads += u64::from(!write);
        self.writes += u64::from(write);
        if let Some(distance) = self.recency.touch(access.id) {
            let at = &mut self.sizes[distance as usize];
            at.read_hits += u64::from(!write);
            at.write_hits += u64::from(write);
            self.evicted_below(access.id, distance);
        }
        if write {
            self.dirty_from[access.id as usize] = 1;
        }
    }

    /// The page has left all caches of fewer frames than this.
    #[inline(always)]
    fn evicted_below(&mut self, page: u32, frames: u32) {
        let dirty_from = &mut self.dirty_from[page as usize];
        if *dirty_from < frames {
            let first = &mut self.sizes[*dirty_from as usize].flushes;
            *first = first.wrapping_add(1);
            let past = &mut self.sizes[frames as usize].flushes;
            *past = past.wrapping_sub(1);
            *dirty_from = frames;
        }
    }

    /// Counts the evictions that no next use has shown yet.
    fn settle(&mut self) {
        for page in 0..self.dirty_from.len() as u32 {
            if let Some(depth) = self.recency.depth(page) {
                self.evicted_below(page, depth);
            }
        }
    }

    fn forget_counts(&mut self) {
        self.sizes.fill(AtSize::default());
        (self.reads, self.writes) = (0, 0);
    }

    fn curve(self, warm_pages: u32) -> LruCurve {
        let Pass { recency, dirty_from, mut sizes, reads, writes } = self;
        for from in dirty_from.into_iter().filter(|&from| from != CLEAN) {
            sizes[from as usize].end_dirty += 1;
        }
        let mut sum = AtSize::default();
        for at in &mut sizes {
            sum.read_hits += at.read_hits;
            sum.write_hits += at.write_hits;
            sum.flushes = sum.flushes.wrapping_add(at.flushes);
            sum.end_dirty += at.end_dirty;
            *at = sum;
        }
        sizes[0].flushes = writes;
        LruCurve { sizes, reads, writes, warm_pages, pages: recency.live() }
    }
}
