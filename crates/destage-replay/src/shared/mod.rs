//! A policy at several sizes in one pass: what it counts at each, exactly.
//!
//! FIFO, CLOCK and SIEVE do on a hit what takes no look at the other pages, so that all sizes can
//! be asked of a page at once: a byte of it has a bit, or four bytes a number, for each size, its
//! *lane*. One line of memory then serves eight runs, and the trace is unpacked once.
//!
//! ```text
//!  fifo   when it came in, by the misses of each size       no list at all
//!  hands  which sizes hold it, and hit it since the hand    a list of each size, moved on misses
//! ```
//!
//! Where it wins. FIFO: everywhere, but that windows want a look at every page at each cut, which
//! pages that hardly come again do not repay. With hands only what misses is done a size at a time,
//! so that more is won the more hits. A thread that waits wins more than a shared pass does, so
//! sizes are shared only among as many lanes as leave a task for every thread. What a page takes is
//! bounded by `MOST_PAGES`: beyond it, runs one at a time take less memory.

mod clock_multi_size;
mod fifo;
#[cfg(test)]
mod tests;

use crate::accesses::{Access, BLOCK, Columns, Expander};
use crate::control::Control;
use crate::counters::{Counters, DestageSizes, OwnCounters};
use crate::replay::Replayed;
use crate::windows::{FlashWork, WINDOWS, WindowBounds, WindowCounts};
use clock_multi_size::{Clock, Hands, Sieve};
use destage_policies::{MultiSize, info};
use fifo::Fifo;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Sizes of one pass, at most.
const LANES: usize = 8;

/// Pages of a trace, at most: 32 bytes each make a gigabyte.
const MOST_PAGES: usize = 1 << 25;

/// Accesses to a page on average from which on FIFO's sizes share a pass that is cut into windows:
/// each of the sixty cuts looks at every page. At 2.3 eight runs take 1.6 times as long
/// (docs/curves.md); below two it was not measured.
const CUTS_PAY_FROM: u64 = 2;

/// How far ahead a page is asked for.
const AHEAD: usize = 16;

/// Accesses after which counts are taken out of narrow lanes: they hold twice as many.
const LANES_HOLD: u64 = if cfg!(test) { 100 } else { 1 << 28 };

/// Rule by which one pass runs the policy at several sizes, if there is one.
fn rule_of(policy: &str) -> Option<MultiSize> {
    info(policy).ok()?.multi_size
}

/// Whether a policy's sizes can be run together over so many pages.
pub fn can_share(policy: &str, pages: usize) -> bool {
    rule_of(policy).is_some() && pages <= MOST_PAGES
}

/// Whether that is quicker where every run is cut into windows.
pub fn windows_pay(policy: &str, accesses: u64, pages: usize) -> bool {
    rule_of(policy) != Some(MultiSize::Arrival) || accesses >= CUTS_PAY_FROM * pages as u64
}

/// Sizes of a policy that go into one pass, of `sizes` that it has, where `tasks` would be done one
/// at a time: a thread that has nothing to do wins nothing, so that each has a task at least.
pub fn at_once(sizes: usize, tasks: usize, jobs: usize) -> usize {
    let lanes = (tasks / jobs.max(1)).clamp(1, LANES);
    sizes.div_ceil(sizes.div_ceil(lanes).max(1)).max(1)
}

/// Runs a policy that [`can_share`] at some sizes, at most eight, each at least 1; the first
/// `warmup_requests` are not counted. The counts are those of a run of its own for each size,
/// without windows if they were not asked for.
///
/// Returns `None` when it was stopped.
pub fn run(
    policy: &str,
    columns: Columns<'_>,
    frames: &[u32],
    warmup_requests: usize,
    windows: bool,
    control: &Control,
) -> Option<Vec<Replayed>> {
    let pages = columns.lpns.len();
    // More frames than pages are never filled.
    let most = pages.max(1) as u32;
    let held: Vec<u32> = frames.iter().map(|&frames| frames.min(most)).collect();
    let pass = Pass { columns, warmup_requests, frames, windows, control };
    match rule_of(policy)? {
        MultiSize::Arrival => pass.run(Fifo::new(pages, &held)),
        MultiSize::SecondChance => pass.run(Hands::<Clock>::new(pages, &held)),
        MultiSize::SteadyHand => pass.run(Hands::<Sieve>::new(pages, &held)),
    }
}

/// A policy at several sizes.
trait Lanes {
    /// Asks for what an access to the page looks at.
    fn prefetch(&self, id: u32);

    /// An access at every size.
    fn access(&mut self, id: u32, write: bool);

    /// Makes room in narrow lanes.
    fn widen(&mut self) {}

    /// Counts what only a look at every page shows, so that counters can be asked for.
    fn settle(&mut self) {}

    /// Counts until it was settled, at a size.
    fn counters(&self, lane: usize) -> Counters;

    /// Pages that are dirty in the cache of a size, once it was widened.
    fn dirty_pages(&self, lane: usize) -> u64;
}

/// One pass over a trace.
struct Pass<'a> {
    columns: Columns<'a>,
    warmup_requests: usize,
    /// Of each size, as it was given.
    frames: &'a [u32],
    /// Counts are cut into windows.
    windows: bool,
    control: &'a Control,
}

impl Pass<'_> {
    fn run<L: Lanes>(&self, mut lanes: L) -> Option<Vec<Replayed>> {
        let requests = self.columns.first_ids.len();
        let warm = self.warmup_requests.min(requests);
        let mut narrow = 0;
        self.part(&mut lanes, 0..warm, &mut narrow)?;
        let before = self.counters(&mut lanes);
        let dirty_at_start = self.dirty_pages(&mut lanes, warm, &mut narrow);
        let mut parts = vec![WindowCounts::none(); self.frames.len()];
        if self.windows {
            let requests = warm as u64..requests as u64;
            self.cut(&mut lanes, requests, &mut narrow, &before, &mut parts)?;
        } else {
            self.part(&mut lanes, warm..requests, &mut narrow)?;
        }
        lanes.widen();
        let found = before.iter().zip(parts).enumerate();
        let each = found.map(|(lane, (before, parts))| Replayed {
            counters: lanes.counters(lane).since(before),
            own: OwnCounters::default(),
            gauges: BTreeMap::new(),
            destage_pages: DestageSizes::default(),
            warmup_requests: warm as u64,
            parts,
            dirty_at_start: dirty_at_start[lane],
            dirty_left: lanes.dirty_pages(lane),
        });
        Some(each.collect())
    }

    /// Dirty pages at each size after so many requests.
    fn dirty_pages<L: Lanes>(&self, lanes: &mut L, warm: usize, narrow: &mut u64) -> Vec<u64> {
        if warm == 0 {
            return vec![0; self.frames.len()];
        }
        lanes.widen();
        *narrow = 0;
        (0..self.frames.len()).map(|lane| lanes.dirty_pages(lane)).collect()
    }

    /// Counts at each size.
    fn counters<L: Lanes>(&self, lanes: &mut L) -> Vec<Counters> {
        lanes.settle();
        (0..self.frames.len()).map(|lane| lanes.counters(lane)).collect()
    }

    /// The part that counts, to the end, window by window; `before` had been counted before it.
    fn cut<L: Lanes>(
        &self,
        lanes: &mut L,
        requests: Range<u64>,
        narrow: &mut u64,
        before: &[Counters],
        parts: &mut [WindowCounts],
    ) -> Option<()> {
        // Every miss takes a frame, and every eviction gives one back.
        let full = |lane: usize, all: &Counters| {
            all.misses() - all.evictions >= u64::from(self.frames[lane])
        };
        for (lane, (parts, before)) in parts.iter_mut().zip(before).enumerate() {
            let was_full = full(lane, before) || before.evictions > 0;
            parts.begin(requests.clone(), was_full, FlashWork::default());
        }
        let cuts = WindowBounds::of(requests);
        for window in 0..WINDOWS {
            let [from, to] = [cuts.start(window), cuts.start(window + 1)];
            self.part(lanes, from as usize..to as usize, narrow)?;
            let all = self.counters(lanes);
            let each = parts.iter_mut().zip(all.iter().zip(before)).enumerate();
            for (lane, (parts, (all, before))) in each {
                parts.cut(to, &all.since(before), FlashWork::default(), full(lane, all));
            }
        }
        Some(())
    }

    /// Some requests; `narrow` is what has been counted in narrow lanes.
    fn part<L: Lanes>(
        &self,
        lanes: &mut L,
        requests: Range<usize>,
        narrow: &mut u64,
    ) -> Option<()> {
        let mut expander = Expander::new(self.columns, requests.start, requests.end);
        let mut block = [Access::default(); BLOCK + AHEAD];
        let mut filled = expander.fill(&mut block, 0);
        while filled > 0 {
            let run = if filled == block.len() { BLOCK } else { filled };
            *narrow += run as u64;
            if *narrow > LANES_HOLD {
                lanes.widen();
                *narrow = run as u64;
            }
            for (k, &access) in block[..run].iter().enumerate() {
                if let Some(far) = block[..filled].get(k + AHEAD) {
                    lanes.prefetch(far.id);
                }
                lanes.access(access.id, access.op().is_write());
            }
            let done = (run * self.frames.len()) as u64;
            self.control.accesses_done.fetch_add(done, Ordering::Relaxed);
            if self.control.stop.load(Ordering::Relaxed) {
                return None;
            }
            block.copy_within(run..filled, 0);
            filled = expander.fill(&mut block, filled - run);
        }
        Some(())
    }
}
