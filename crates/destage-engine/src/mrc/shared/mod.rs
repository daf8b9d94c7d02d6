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
//! Where it wins. FIFO: everywhere. With hands only what misses is done a size at a time, so that
//! more is won the more hits. A thread that waits wins more than a shared pass does, so sizes are
//! shared only among as many lanes as leave a task for every thread. What a page takes is bounded
//! by [`MOST_PAGES`]: beyond it, runs one at a time take less memory.

mod fifo;
mod hands;
#[cfg(test)]
mod tests;

use crate::accesses::{Access, BLOCK, Columns, Expander};
use crate::control::Control;
use crate::counters::Counters;
use crate::options::RunOptions;
use crate::spec::PolicySpec;
use crate::warmup::Warmup;
use fifo::Fifo;
use hands::{Clock, Hands, Sieve};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Sizes of one pass, at most.
pub(super) const LANES: usize = 8;

/// Pages of a trace, at most: 32 bytes each make a gigabyte.
const MOST_PAGES: usize = 1 << 25;

/// How far ahead a page is asked for.
const AHEAD: usize = 16;

/// Accesses after which counts are taken out of narrow lanes: they hold twice as many.
const LANES_HOLD: u64 = if cfg!(test) { 100 } else { 1 << 28 };

/// Whether a policy's sizes can be run together, with these options, over so many pages.
pub(super) fn can_share(spec: &PolicySpec, run: &RunOptions, pages: usize) -> bool {
    // A trim drops a page from the middle of lists; a cache is full elsewhere at each size; and
    // laws are checked of a policy that runs.
    let alike = run.warmup != Warmup::Full && !run.check && !run.drops_trims();
    ["fifo", "clock", "sieve"].contains(&spec.name) && alike && pages <= MOST_PAGES
}

/// Runs a policy that [`can_share`] at some sizes, at most [`LANES`], each at least 1; the first
/// `warmup_requests` are not counted. End flushes are.
///
/// Returns `None` when it was stopped.
pub(super) fn run(
    policy: &str,
    columns: Columns<'_>,
    frames: &[u32],
    warmup_requests: usize,
    control: &Control,
) -> Option<Vec<Counters>> {
    let pages = columns.lpns.len();
    // More frames than pages are never filled.
    let most = pages.max(1) as u32;
    let frames: Vec<u32> = frames.iter().map(|&frames| frames.min(most)).collect();
    let pass = Pass { columns, warmup_requests, sizes: frames.len(), control };
    match policy {
        "fifo" => pass.run(Fifo::new(pages, &frames)),
        "clock" => pass.run(Hands::<Clock>::new(pages, &frames)),
        "sieve" => pass.run(Hands::<Sieve>::new(pages, &frames)),
        other => unreachable!("{other} does not share"),
    }
}

/// A policy at several sizes.
trait Lanes {
    /// Asks for what an access to the page looks at.
    fn warm(&self, id: u32);

    /// An access at every size.
    fn access(&mut self, id: u32, write: bool);

    /// Takes counts out of narrow lanes.
    fn widen(&mut self) {}

    /// What was counted so far at a size; end flushes are the pages that are dirty now.
    fn counters(&mut self, lane: usize) -> Counters;
}

/// One pass over a trace.
struct Pass<'a> {
    columns: Columns<'a>,
    warmup_requests: usize,
    sizes: usize,
    control: &'a Control,
}

impl Pass<'_> {
    fn run<L: Lanes>(&self, mut lanes: L) -> Option<Vec<Counters>> {
        let requests = self.columns.first_ids.len();
        let warm = self.warmup_requests.min(requests);
        self.part(&mut lanes, 0..warm)?;
        let before: Vec<Counters> = (0..self.sizes).map(|lane| lanes.counters(lane)).collect();
        self.part(&mut lanes, warm..requests)?;
        let counted = before.iter().enumerate().map(|(lane, before)| {
            let all = lanes.counters(lane);
            let before = Counters { end_flushes: 0, ..*before };
            all.since(&before)
        });
        Some(counted.collect())
    }

    fn part<L: Lanes>(&self, lanes: &mut L, requests: Range<usize>) -> Option<()> {
        let mut expander = Expander::new(self.columns, requests.start, requests.end);
        let mut block = [Access::default(); BLOCK + AHEAD];
        let mut filled = expander.fill(&mut block, 0);
        let mut narrow = 0;
        while filled > 0 {
            let run = if filled == block.len() { BLOCK } else { filled };
            narrow += run as u64;
            if narrow > LANES_HOLD {
                lanes.widen();
                narrow = run as u64;
            }
            for (k, &access) in block[..run].iter().enumerate() {
                if let Some(far) = block[..filled].get(k + AHEAD) {
                    lanes.warm(far.id);
                }
                lanes.access(access.id, access.op().is_write());
            }
            let done = (run * self.sizes) as u64;
            self.control.accesses_done.fetch_add(done, Ordering::Relaxed);
            if self.control.stop.load(Ordering::Relaxed) {
                return None;
            }
            block.copy_within(run..filled, 0);
            filled = expander.fill(&mut block, filled - run);
        }
        lanes.widen();
        Some(())
    }
}
