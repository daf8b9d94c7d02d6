//! MIN at every size: what no policy without bypass can exceed, in one go over the trace.
//!
//! Mattson, Gecsei, Slutz, Traiger. Evaluation techniques for storage hierarchies. IBM Systems
//! Journal 9(2), 1970, section 4: MIN is a stack algorithm. What hits in a cache hits in every
//! larger one, so a hit is told by one number, the frames of the smallest cache that has it.
//!
//! Their list moves a page for every size at which the victim changes, some hundred an access. This
//! asks for the number instead, by halving:
//!
//! ```text
//!  a page from one use to the next is an interval          a ├────────┤
//!  to be held over the instants between, whose own page    b    ├──────────┤
//!  takes a frame: of c, c - 1 are left                     c        ├────┤
//! ```
//!
//! MIN with `c` frames holds at each instant the intervals that end first. Run it once with half
//! the frames in question: what it keeps needs no more, and what it gives up needs more. Either
//! kind is then asked for again, on its own, with half of what is left in question: smaller caches
//! never hold the second kind, larger ones always hold the first, so that all there is to know of
//! the other kind is how many frames it takes between two events (`taken`). That a larger cache
//! keeps all that a smaller one does is the stack property.
//!
//! An interval that begins and ends with nothing of its kind between is not asked for: it is held
//! wherever a frame is left.
//!
//! Memory. The trace is taken in windows as long as it has pages, or of 2^20 uses. An interval that
//! leaves a window takes along the smallest cache that still holds it, which is its place in
//! Mattson's stack: the next window asks from there. Some 100 bytes per page or use of a window.
//!
//! Cost. An event (an interval has two) takes part in about as many runs as its number has bits.
//!
//! Readings. Pages that are never used again are no intervals: they give way first, whichever does,
//! which decides what is written to flash but not what hits. So hits are all that is told here.

use super::curve::EverySize;
use super::min_bisection::{Event, LEAVES, MinBisection, NO_INSTANT};
use destage_core::NEVER;
use destage_engine::options::RunOptions;
use destage_replay::accesses::{Access, BLOCK, Columns, Expander};
use destage_replay::control::Control;
use destage_replay::input::NextUses;
use std::sync::atomic::Ordering;

/// Uses of a window, at least.
const LEAST_WINDOW: usize = 1 << 20;

/// Hits of MIN at every cache size.
#[derive(Clone, Debug)]
pub struct MinCurve {
    /// Read and write hits; index: frames, from none to the number of pages.
    hits: Vec<[u64; 2]>,
    reads: u64,
    writes: u64,
    /// Distinct pages used before counting began, and in all.
    warm_pages: u32,
    pages: u32,
}

impl MinCurve {
    /// Over the whole trace; the first `warmup_requests` are not counted.
    ///
    /// Returns `None` when it was stopped.
    pub fn new(
        columns: Columns<'_>,
        next_uses: NextUses<'_>,
        warmup_requests: usize,
        control: &Control,
    ) -> Option<MinCurve> {
        let window = columns.lpns.len().max(LEAST_WINDOW);
        Self::in_windows(columns, next_uses, warmup_requests, window, control)
    }

    /// With windows of so many uses.
    pub(super) fn in_windows(
        columns: Columns<'_>,
        next_uses: NextUses<'_>,
        warmup_requests: usize,
        window: usize,
        control: &Control,
    ) -> Option<MinCurve> {
        let requests = columns.first_ids.len();
        let warm = warmup_requests.min(requests);
        let mut windows = Windows::new(columns.lpns.len(), next_uses);
        windows.run(Expander::new(columns, 0, warm), window, control)?;
        let warm_pages = windows.pages;
        windows.halving.hits.fill([0; 2]);
        windows.uses = [0; 2];
        windows.run(Expander::new(columns, warm, requests), window, control)?;
        let Windows { halving, uses: [reads, writes], pages, .. } = windows;
        let mut hits = halving.hits;
        for k in 1..hits.len() {
            hits[k] = [hits[k][0] + hits[k - 1][0], hits[k][1] + hits[k - 1][1]];
        }
        Some(MinCurve { hits, reads, writes, warm_pages, pages })
    }

    /// Read and write hits with so many frames.
    pub fn hits(&self, frames: u32) -> [u64; 2] {
        self.hits[(self.hits.len() - 1).min(frames as usize)]
    }

    /// Reads and writes that were counted.
    pub fn uses(&self) -> [u64; 2] {
        [self.reads, self.writes]
    }

    /// Pages that left a cache of so many frames because of a miss.
    pub fn evictions(&self, frames: u32) -> u64 {
        let resident = |pages: u32| u64::from(pages.min(frames));
        let hits: u64 = self.hits(frames).iter().sum();
        // Every miss takes a frame; those that were free are the ones that filled up since.
        (self.reads + self.writes - hits) - (resident(self.pages) - resident(self.warm_pages))
    }

    /// Counts at every size, without flash writes, which depend on ties.
    pub fn every_size(&self, options: &RunOptions) -> EverySize {
        let fetched = u64::from(options.fetch_on_write_miss);
        let read =
            |&[read, written]: &[u64; 2]| (self.reads - read) + fetched * (self.writes - written);
        let sizes = &self.hits[1..];
        EverySize {
            accesses: self.reads + self.writes,
            hits: sizes.iter().map(|[read, written]| read + written).collect(),
            physical_reads: sizes.iter().map(read).collect(),
            physical_writes: None,
        }
    }
}

/// The trace, window by window.
struct Windows<'a> {
    next_uses: NextUses<'a>,
    halving: MinBisection,
    /// Next uses beyond the last window, ascending, and the smallest cache that holds each.
    carried: Vec<(u64, u32)>,
    /// Uses taken so far.
    done: usize,
    /// Counted reads and writes among the uses taken so far.
    uses: [u64; 2],
    /// Distinct pages used so far.
    pages: u32,
}

/// A window while its events are gathered.
#[derive(Default)]
struct Gathered {
    from: usize,
    to: usize,
    /// Event that begins the interval which ends at each use; `u32::MAX`: none does.
    begun: Vec<u32>,
    /// Intervals that end behind the window: next use, and the event that begins each.
    leaving: Vec<(u64, u32)>,
    /// Frames taken in the gap before the next event.
    taken: i32,
    /// Intervals that are open, and the most frames that anything can need.
    open: u32,
    high: u32,
}

impl<'a> Windows<'a> {
    fn new(pages: usize, next_uses: NextUses<'a>) -> Self {
        Windows {
            next_uses,
            halving: MinBisection::new(pages),
            carried: Vec::new(),
            done: 0,
            uses: [0; 2],
            pages: 0,
        }
    }

    fn run(&mut self, mut uses: Expander<'_>, window: usize, control: &Control) -> Option<()> {
        let mut writes: Vec<bool> = Vec::with_capacity(window);
        let mut block = [Access::default(); BLOCK];
        loop {
            let filled = uses.fill(&mut block[..BLOCK.min(window - writes.len())], 0);
            writes.extend(block[..filled].iter().map(|use_| use_.op().is_write()));
            if filled == 0 && writes.is_empty() {
                return Some(());
            }
            if filled == 0 || writes.len() == window {
                self.window(&writes, control)?;
                control.accesses_done.fetch_add(writes.len() as u64, Ordering::Relaxed);
                writes.clear();
            }
        }
    }

    /// Takes the next uses, of which these write.
    fn window(&mut self, writes: &[bool], control: &Control) -> Option<()> {
        let mut gathered = self.gather(writes);
        let events = &mut self.halving.events;
        gathered.leaving.sort_unstable();
        for (place, &(_, begun)) in gathered.leaving.iter().enumerate() {
            events[begun as usize].other = events.len() as u32;
            let taken = std::mem::replace(&mut gathered.taken, NO_INSTANT);
            events.push(Event { other: begun, taken, tag: LEAVES + place as u32 });
        }
        self.halving.needs.clear();
        self.halving.needs.resize(gathered.leaving.len(), 0);
        self.halving.solve(gathered.high, control)?;
        self.carried.clear();
        let leaving = gathered.leaving.iter().map(|&(next, _)| next);
        self.carried.extend(leaving.zip(self.halving.needs.iter().copied()));
        self.done = gathered.to;
        Some(())
    }

    /// The events of the window's uses; those that leave it have no end yet.
    fn gather(&mut self, writes: &[bool]) -> Gathered {
        let (from, to) = (self.done, self.done + writes.len());
        let begun = vec![u32::MAX; writes.len()];
        let mut g = Gathered { from, to, begun, taken: NO_INSTANT, ..Gathered::default() };
        self.halving.events.clear();
        for &(next, needs) in &self.carried {
            g.begin(&mut self.halving.events, next, needs);
            g.high = g.high.max(needs);
        }
        for (at, &write) in writes.iter().enumerate() {
            self.uses[usize::from(write)] += 1;
            let next = self.next_uses.of(from + at);
            match g.begun[at] {
                u32::MAX => self.pages += 1,
                begun => g.end(&mut self.halving, begun, u32::from(write)),
            }
            g.taken = g.taken.max(0);
            g.high = g.high.max(g.open + 1);
            if next != NEVER {
                g.begin(&mut self.halving.events, next, 0);
            }
        }
        g
    }
}

impl Gathered {
    /// An interval begins, to end at the use `next`; caches from `needs` frames on hold it already.
    fn begin(&mut self, events: &mut Vec<Event>, next: u64, needs: u32) {
        let place = events.len() as u32;
        if next < self.to as u64 {
            self.begun[next as usize - self.from] = place;
        } else {
            self.leaving.push((next, place));
        }
        let taken = std::mem::replace(&mut self.taken, NO_INSTANT);
        events.push(Event { other: u32::MAX, taken, tag: needs });
        self.open += 1;
    }

    /// The interval that began with this event ends.
    fn end(&mut self, halving: &mut MinBisection, begun: u32, tag: u32) {
        let events = &mut halving.events;
        let end = Event { other: begun, taken: self.taken, tag };
        self.open -= 1;
        self.taken = NO_INSTANT;
        if begun as usize + 1 == events.len() {
            let begin = events.pop().expect("it began");
            self.taken = halving.settle(begin, end, 0);
        } else {
            events[begun as usize].other = events.len() as u32;
            events.push(end);
        }
    }
}
