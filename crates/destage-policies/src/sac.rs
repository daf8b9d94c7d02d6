//! SAC: evict pages that an idle channel can bring back at once; protect those of busy channels.
//!
//! Chen, Xiao, Liu. SAC: Rethinking the Cache Replacement Policy for SSD-based Storage Systems.
//! SYSTOR 2012. Sections 4.1 (prior pages), 4.2 (replacement, figures 5 and 6), 4.3 and 4.4.
//!
//! Rules, prior pages (4.1). Every page operation that reaches the device gets a stamp 0, 1, 2, ..
//! When the operation with stamp k ends, `N = k - (smallest stamp still waiting, k included)`
//! imitates how many *prior pages*, those requested earlier, are still waiting: many if the answer
//! was fast, hence the channel idle. If the operation is the read that fills a resident page, the
//! page's *priority value*, to be replaced, is `floor(log2 N)`, and 0 for N = 0.
//!
//! Rules, two parts (4.2). Part 1 is the protection queue PQ, part 2 the queues `Q[0]`, `Q[1]`, ..;
//! a hit sets the page's reuse mark and moves nothing.
//!
//! ```text
//!   new ──▶ PQ (target T) ──not marked──▶ Q[priority] ──not marked──▶ out, highest queue first
//!           ▲   │                             │
//!           └───┴────────── marked ◀──────────┘
//! ```
//!
//! Balance: while PQ holds more than T pages, its tail goes on, to the head of the queue of its
//! priority at that moment; a marked tail loses the mark and goes to the head of PQ. Victim: the
//! tail of the highest queue that is not empty, unless it is marked: then it loses the mark, goes
//! to the head of PQ, and PQ is balanced. A new page comes in at the head of PQ.
//!
//! Rules, resizing (4.2). "If Queue 0 has not been replaced for a long time", PQ grows at the
//! expense of part 2, whose higher queues run dry. When a victim comes from `Q[0]`, T is T0 again.
//!
//! Readings. Operations are those that the host causes, write-backs included, and no collections.
//! The difference of stamps counts operations that have ended between the two, too: it "imitates"
//! the number. N is not known, and taken as 0, for a page that came by a write and for one whose
//! read has not come back when it enters part 2. "A long time" is `starve_limit` evictions in a row
//! that passed over a page in `Q[0]`; the step is `resize_step`. Figure 6 inserts first and
//! replaces afterwards; here the victim goes first, as in `dual_queue.rs`. A reused page of part 2
//! loses its mark in PQ, otherwise the loops need not end. Part 2 can be empty, since PQ may be
//! longer than a T that has just returned to T0: then PQ's tail goes on until it is not.
//!
//! With every priority 0, as when all requests come back in order (4.4, case 1), it is Dual Queue,
//! and a test says so.
//!
//! Cost. O(1) amortised. Stamps take one bit for each operation since the oldest that waits.

#[cfg(test)]
mod tests;

use crate::params::{IfAbsent, Kind, Param};
use crate::{Info, Setup};
use destage_core::{
    Completion, DeviceView, Directory, List, Lookup, NEVER, Page, Pages, PerSlot, Plan, Policy,
    Request, Requirements, Slot, share,
};
use std::collections::VecDeque;

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "sac",
    title: "SSD-Aware Cache",
    source: "Chen, Xiao, Liu. SAC: rethinking the cache replacement policy for SSD-based storage \
             systems. SYSTOR 2012",
    about: "Dual Queue that first gives up pages of idle channels, which answer fast.",
    flash_aware: true,
    time: "O(1) amortised",
    params: &[
        Param {
            name: "first_fraction",
            symbol: "T0",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: IfAbsent::Real(1.0 / 3.0),
            unit: "of frames",
            about: "Protection queue, at most frames - 1. Default: \"one-third of the cache \
                    capacity\".",
            ..Param::BLANK
        },
        Param {
            name: "starve_limit",
            kind: Kind::OptionalInt { min: 1, max: u64::MAX },
            default: IfAbsent::None("frames"),
            unit: "evictions",
            about: "Evictions that pass over queue 0 before the protection queue grows. Default: \
                    chosen, the source has none.",
            ..Param::BLANK
        },
        Param {
            name: "resize_step",
            kind: Kind::OptionalInt { min: 1, max: u64::MAX },
            default: IfAbsent::None("max(1, frames/16)"),
            unit: "frames",
            about: "Growth step of the protection queue. Default: chosen, the source \
                    has none.",
            ..Param::BLANK
        },
    ],
    ..Info::BLANK
};

/// Queues of part 2: `floor(log2 N)` of a 64-bit N.
const QUEUES: u8 = 64;

/// A node's `mark`: the reuse mark, and the priority value above it.
const REUSED: u16 = 1;
const PRIORITY: u32 = 1;

/// The policy.
pub struct Sac<D> {
    pages: Pages<D>,     // every resident page
    pq: List,            // part 1, newest to oldest
    q: Vec<List>,        // part 2, by priority value, each newest to oldest
    occupied: u64,       // bit j: Q[j] is not empty
    fetch: PerSlot<u64>, // stamp of the read that fills the page, or NEVER
    waiting: Waiting,    // stamps
    target: u32,         // T, below the frames
    initial_target: u32, // T0
    starved: u64,        // evictions in a row that passed over a page in Q[0]
    starve_limit: u64,
    resize_step: u32,
    resident: u32,
    frames: u32,
}

impl<D: Directory> Sac<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let Setup { ref params, frames, .. } = *setup;
        let pages = Pages::new(directory, 1 + QUEUES);
        let initial_target = share(params.real("first_fraction"), frames).min(frames - 1);
        let step = params.optional_int("resize_step").unwrap_or(u64::from(frames / 16).max(1));
        Sac {
            pq: List::new(&pages, 1),
            q: (0..QUEUES).map(|j| List::new(&pages, 2 + j)).collect(),
            occupied: 0,
            fetch: PerSlot::new(&pages),
            waiting: Waiting::default(),
            target: initial_target,
            initial_target,
            starved: 0,
            starve_limit: params.optional_int("starve_limit").unwrap_or(frames.into()),
            resize_step: u32::try_from(step).unwrap_or(u32::MAX), // T ends below the frames anyway
            resident: 0,
            frames,
            pages,
        }
    }

    /// The tail of PQ goes on to part 2, or round if it is marked.
    #[inline(always)]
    fn demote(&mut self) {
        let tail = self.pq.pop_lru(&mut self.pages).expect("what is not in part 2 is in PQ");
        let mark = &mut self.pages[tail].mark;
        if *mark & REUSED != 0 {
            *mark &= !REUSED;
            self.pq.push_mru(&mut self.pages, tail);
        } else {
            let j = *mark >> PRIORITY;
            self.q[usize::from(j)].push_mru(&mut self.pages, tail);
            self.occupied |= 1 << j;
        }
    }

    #[inline(always)]
    fn balance(&mut self) {
        while self.pq.len() > self.target {
            self.demote();
        }
    }

    /// Takes the victim off its queue; returns the queue's number too.
    #[inline(always)]
    fn victim(&mut self) -> (Slot, u32) {
        loop {
            while self.occupied == 0 {
                self.demote();
            }
            let j = self.occupied.ilog2();
            let queue = &mut self.q[j as usize];
            let tail = queue.pop_lru(&mut self.pages).expect("the queue is not empty");
            if queue.is_empty() {
                self.occupied &= !(1 << j);
            }
            if self.pages[tail].mark & REUSED == 0 {
                return (tail, j);
            }
            self.pages[tail].mark &= !REUSED;
            self.pq.push_mru(&mut self.pages, tail);
            self.balance();
        }
    }

    /// Resizes after a victim from Q[j].
    #[inline(always)]
    fn resize(&mut self, j: u32) {
        if j == 0 {
            self.target = self.initial_target;
        } else if self.occupied & 1 != 0 {
            self.starved += 1;
            if self.starved < self.starve_limit {
                return;
            }
            self.target = self.target.saturating_add(self.resize_step).min(self.frames - 1);
        }
        self.starved = 0;
    }
}

impl<D: Directory> Policy for Sac<D> {
    type Miss = ();

    const REQUIREMENTS: Requirements = Requirements::COMPLETIONS;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        let node = &mut self.pages[slot];
        node.dirty |= r.op.is_write();
        node.mark |= REUSED;
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let (victim, j) = self.victim();
        let dirty = self.pages[victim].dirty;
        plan.evict(self.pages.remove(victim), dirty);
        self.resident -= 1;
        self.resize(j);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page); // unmarked, priority value 0
        self.pages[slot].dirty = r.op.is_write();
        self.fetch.set(slot, r.fetch);
        self.resident += 1;
        self.pq.push_mru(&mut self.pages, slot);
        self.balance();
        slot
    }

    fn fetched(&mut self, c: &Completion) {
        let n = self.waiting.end(c.submission);
        // The page may be gone, or back by another read: its N is not this one then.
        if let Some(slot) = c.page.and_then(|page| self.pages.find(page))
            && self.fetch[slot] == c.submission
        {
            self.fetch[slot] = NEVER;
            self.pages[slot].mark |= (n.checked_ilog2().unwrap_or(0) as u16) << PRIORITY;
        }
    }

    fn destaged(&mut self, c: &Completion) {
        self.waiting.end(c.submission);
    }

    counted! { self: self.resident, of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for list in std::iter::once(&self.pq).chain(&self.q) {
            list.iter(&self.pages)
                .for_each(|slot| visit(self.pages.page(slot), self.pages[slot].dirty));
        }
    }

    /// T and the counter of starvation stay.
    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty;
        if self.pq.holds(&self.pages, slot) {
            self.pq.unlink(&mut self.pages, slot);
        } else {
            let j = self.pages[slot].list - 2; // tags of the queues follow that of PQ
            let queue = &mut self.q[usize::from(j)];
            queue.unlink(&mut self.pages, slot);
            if queue.is_empty() {
                self.occupied &= !(1 << j);
            }
        }
        self.pages.remove(slot);
        self.resident -= 1;
        Some(dirty)
    }

    hints! { self.pages: prefetch }

    fn check(&self) {
        self.pq.check(&self.pages);
        for (j, queue) in self.q.iter().enumerate() {
            queue.check(&self.pages);
            assert_eq!(self.occupied >> j & 1 == 0, queue.is_empty(), "Q[{j}] is marked occupied");
        }
        let part_2: u32 = self.q.iter().map(List::len).sum();
        assert_eq!(self.resident, self.pq.len() + part_2);
        assert!(self.resident <= self.frames);
        assert!((self.initial_target..self.frames).contains(&self.target));
        // An eviction that takes T back to T0 is followed by an admission, which balances.
        assert!(self.pq.len() <= self.target, "PQ is balanced after each access");
        assert!(self.starved < self.starve_limit);
        self.waiting.check();
    }
}

/// The stamps that still wait: all from `first` on but those that have ended.
///
/// Stamps are given in order, so nothing needs to be known of an operation before it ends: all
/// smaller ones were submitted.
#[derive(Clone, Default, Debug)]
struct Waiting {
    first: u64,           // smallest stamp still waiting, given or not
    ended: VecDeque<u64>, // a bit per stamp, from the word that holds `first`
}

impl Waiting {
    /// Stamp k waits no more. N: how far it was ahead of the first that waits, itself included.
    fn end(&mut self, k: u64) -> u64 {
        let Some(n) = k.checked_sub(self.first) else { return 0 };
        let word = (k / 64 - self.first / 64) as usize;
        if word >= self.ended.len() {
            self.ended.resize(word + 1, 0);
        }
        self.ended[word] |= 1 << (k % 64);
        if n == 0 {
            let mut base = k / 64 * 64;
            while self.ended.front() == Some(&u64::MAX) {
                self.ended.pop_front();
                base += 64;
            }
            let ended = self.ended.front().map_or(0, |word| word.trailing_ones());
            self.first = base + u64::from(ended);
        }
        n
    }

    fn check(&self) {
        if let Some(word) = self.ended.front() {
            let ended = u64::from(word.trailing_ones());
            assert_eq!(ended, self.first % 64, "the first stamp that waits has not ended");
        } else {
            assert!(self.first.is_multiple_of(64));
        }
        assert_ne!(self.ended.back(), Some(&0), "no more bits than stamps that have ended");
    }
}
