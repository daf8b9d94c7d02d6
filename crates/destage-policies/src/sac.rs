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
//! Rules, two parts (4.2). Part 1 is the protection queue PQ, part 2 the queues Q[0], Q[1], ..; a
//! hit sets the page's reuse mark and moves nothing.
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
//! expense of part 2, whose higher queues run dry. When a victim comes from Q[0], T is T0 again.
//!
//! Readings. Operations are those that the host causes, write-backs included, and no collections.
//! The difference of stamps counts operations that have ended between the two, too: it "imitates"
//! the number. N is not known, and taken as 0, for a page that came by a write and for one whose
//! read has not come back when it enters part 2. "A long time" is `starve_limit` evictions in a row
//! that passed over a page in Q[0]; the step is `resize_step`. Figure 6 inserts first and replaces
//! afterwards; here the victim goes first, as in `dual_queue.rs`. A reused page of part 2 loses
//! its mark in PQ, otherwise the loops need not end. Part 2 can be empty, since PQ may be longer
//! than a T that has just returned to T0: then PQ's tail goes on until it is not.
//!
//! With every priority 0, as when all requests come back in order (4.4, case 1), it is Dual Queue,
//! and a test says so.
//!
//! Cost. O(1) amortised. Stamps take one bit for each operation since the oldest that waits.

use crate::params::{IfAbsent, Kind, Param};
use crate::{BuildError, Info, Setup};
use destage_core::{
    Completion, DeviceView, Directory, List, Lookup, NEVER, Needs, Page, Pages, PerSlot, Plan,
    Policy, Request, Slot, share,
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
            about: "How much the protection queue grows at a time. Default: chosen, the source \
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
    /// For `setup.frames` frames.
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

    pub(crate) fn build(setup: &Setup, directory: D) -> Result<Self, BuildError> {
        Ok(Sac::new(setup, directory))
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

    const NEEDS: Needs = Needs::COMPLETIONS;

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

    fn frames(&self) -> u32 {
        self.frames
    }

    #[inline(always)]
    fn resident(&self) -> u32 {
        self.resident
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for list in std::iter::once(&self.pq).chain(&self.q) {
            list.iter(&self.pages)
                .for_each(|slot| visit(self.pages.page(slot), self.pages[slot].dirty));
        }
    }

    hints! { self.pages: warm }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dual_queue::DualQueue;
    use crate::params::Value;
    use crate::testing::{drive, mixed, reads, setup, show};
    use destage_core::{Blind, Dense, Lpn, Op, Op::*};

    /// SAC in front of a device whose operations end when a test says so.
    struct Host {
        sac: Sac<Dense>,
        submitted: Vec<(u64, Op)>, // page and kind of each flash operation
    }

    impl Host {
        fn new(frames: u32, params: &[(&str, Value)]) -> Self {
            let sac = Sac::new(&setup("sac", frames, params), Dense::new(128));
            Host { sac, submitted: Vec::new() }
        }

        /// Accesses the page. The stamp of the read that fetches it, and the victim.
        fn access(&mut self, op: Op, page: u64) -> (u64, Option<u64>) {
            let mut r = Request::new(Page(page), Lpn(page), op);
            let mut plan = Plan::new();
            if let Lookup::Miss(()) = self.sac.request(&r) {
                if op == Read {
                    r.fetch = self.submit(page, Read);
                }
                if self.sac.resident() == self.sac.frames() {
                    self.sac.evict(&mut (), &Blind, &mut plan);
                }
                self.sac.admit(&r, ());
            }
            let victim = plan.evicted().first().map(|evicted| evicted.page.0);
            if let [page] = plan.flushed() {
                self.submit(page.0, Write);
            }
            self.sac.check();
            (r.fetch, victim)
        }

        fn read(&mut self, page: u64) -> (u64, Option<u64>) {
            self.access(Read, page)
        }

        fn submit(&mut self, page: u64, op: Op) -> u64 {
            self.submitted.push((page, op));
            self.submitted.len() as u64 - 1
        }

        fn end(&mut self, submission: u64) {
            let (page, op) = self.submitted[submission as usize];
            let done =
                Completion { page: Some(Page(page)), submission, latency_ns: 1, service_ns: 1 };
            match op {
                Read => self.sac.fetched(&done),
                Write => self.sac.destaged(&done),
            }
            self.sac.check();
        }

        /// Reads a page that is not resident while `2^priority` earlier operations wait, none if
        /// the priority is 0; then everything ends. The victim.
        fn read_as(&mut self, page: u64, priority: u32) -> Option<u64> {
            let first = self.submitted.len() as u64;
            for _ in 0..(1_u64 << priority) * u64::from(priority > 0) {
                self.submit(120, Write);
            }
            let (fetch, victim) = self.read(page);
            self.end(fetch);
            let others = (first..self.submitted.len() as u64).filter(|&stamp| stamp != fetch);
            others.for_each(|stamp| self.end(stamp));
            victim
        }

        /// Pages with their reuse marks, heads first, of PQ and of every queue that is not empty.
        fn lists(&self) -> String {
            let Sac { pages, pq, q, target, .. } = &self.sac;
            let page = |slot: Slot| {
                let mark = if pages[slot].mark & REUSED != 0 { "*" } else { "" };
                format!("{}{mark}", slot.0)
            };
            let mut lists = format!("T={target} PQ[{}]", show(pq.iter(pages).map(page)));
            for (j, queue) in q.iter().enumerate().filter(|(_, queue)| !queue.is_empty()) {
                lists += &format!(" Q{j}[{}]", show(queue.iter(pages).map(page)));
            }
            lists
        }
    }

    fn first_fraction(fraction: f64) -> (&'static str, Value) {
        ("first_fraction", Value::Real(fraction))
    }

    #[test]
    fn figure_4_page_9_leaves_six_earlier_pages_waiting() {
        let mut waiting = Waiting::default();
        for page in 0..3 {
            waiting.end(page); // marked C in figure 4(a); page 3 is the first waiting page
        }
        assert_eq!(waiting.end(9), 6);
        assert_eq!(waiting.end(7), 4);
        assert_eq!(waiting.end(3), 0);
        assert_eq!(waiting.end(8), 4, "4 waits; 7, which has ended, counts");
    }

    #[test]
    fn stamps_are_counted_over_any_distance_and_forgotten_behind_the_first_that_waits() {
        let mut waiting = Waiting::default();
        for stamp in 1..1000 {
            assert_eq!(waiting.end(stamp), stamp);
            waiting.check();
        }
        assert_eq!(waiting.ended.len(), 16);
        assert_eq!(waiting.end(0), 0);
        assert_eq!((waiting.first, waiting.ended.len()), (1000, 1));
        assert_eq!(waiting.end(1063), 63);
        assert_eq!(waiting.end(999), 0, "it has ended before");
        for stamp in 1000..1063 {
            assert_eq!(waiting.end(stamp), 0);
            waiting.check();
        }
        assert_eq!(waiting.first, 1064);
    }

    #[test]
    fn a_page_with_eight_prior_pages_is_of_priority_3() {
        for (earlier, queue) in [(0, 0), (1, 0), (2, 1), (3, 1), (7, 2), (8, 3), (15, 3), (16, 4)] {
            let mut host = Host::new(4, &[first_fraction(0.25)]);
            for _ in 0..earlier {
                host.submit(120, Write);
            }
            let (fetch, _) = host.read(1);
            host.end(fetch);
            host.read(2);
            assert_eq!(host.lists(), format!("T=1 PQ[2] Q{queue}[1]"), "{earlier} earlier");
        }
    }

    #[test]
    fn priority_is_read_when_the_page_enters_part_2() {
        let mut host = Host::new(4, &[first_fraction(0.25)]);
        host.submit(120, Write);
        host.submit(120, Write);
        let (fetch, _) = host.read(1);
        host.read(2); // pushes 1 on while its read is still out
        host.end(fetch);
        host.read(3);
        assert_eq!(host.lists(), "T=1 PQ[3] Q0[2 1]");
        host.read(1); // marked: at its turn it goes back to PQ, and enters again
        host.read(4);
        assert_eq!(host.read(5).1, Some(2));
        assert_eq!(host.lists(), "T=1 PQ[5] Q0[4 3] Q1[1]");
    }

    #[test]
    fn a_written_page_is_of_priority_0_even_if_a_read_of_it_comes_back() {
        let mut host = Host::new(3, &[first_fraction(0.0)]);
        host.submit(120, Write);
        host.submit(120, Write);
        let (fetch, _) = host.read(1);
        host.read(2);
        host.read(3);
        assert_eq!(host.read(4).1, Some(1));
        host.access(Write, 1); // in place of 2; the read of 1 is still out
        host.end(fetch);
        assert_eq!(host.lists(), "T=0 PQ[] Q0[1 4 3]");
        assert!(host.sac.pages[Slot(1)].mark >> PRIORITY == 0);
    }

    #[test]
    fn the_end_of_an_earlier_read_of_a_page_is_not_that_of_its_own() {
        let mut host = Host::new(2, &[first_fraction(0.5)]);
        for _ in 0..8 {
            host.submit(120, Write);
        }
        let (early, _) = host.read(1);
        host.read(2);
        assert_eq!(host.read(3).1, Some(1));
        let (own, victim) = host.read(1);
        assert_eq!(victim, Some(2));
        host.end(early); // the page is resident, by another read
        assert_eq!(host.sac.pages[Slot(1)].mark >> PRIORITY, 0);
        host.end(own);
        assert_eq!(host.sac.pages[Slot(1)].mark >> PRIORITY, 3, "N = 11");
        host.end(9); // page 2, which is gone
    }

    #[test]
    fn the_highest_queue_is_emptied_first_and_each_from_its_tail() {
        let mut host = Host::new(7, &[first_fraction(0.1)]);
        for (page, priority) in [(1, 0), (2, 3), (3, 1), (4, 3), (5, 1), (6, 0), (7, 0)] {
            host.read_as(page, priority);
        }
        assert_eq!(host.lists(), "T=1 PQ[7] Q0[6 1] Q1[5 3] Q3[4 2]");
        let victims: Vec<_> = (8..14).filter_map(|page| host.read_as(page, 0)).collect();
        assert_eq!(victims, [2, 4, 3, 5, 1, 6]);
    }

    #[test]
    fn a_reused_tail_of_part_2_loses_its_mark_in_pq_and_pushes_another_on() {
        let mut host = Host::new(4, &[first_fraction(0.25)]);
        for (page, priority) in [(1, 2), (2, 0), (3, 0), (4, 0)] {
            host.read_as(page, priority);
        }
        host.read(1);
        assert_eq!(host.lists(), "T=1 PQ[4] Q0[3 2] Q2[1*]");
        assert_eq!(host.read(5).1, Some(2));
        assert_eq!(host.lists(), "T=1 PQ[5] Q0[4 3] Q2[1]");
        assert_eq!(host.read(6).1, Some(1));
    }

    #[test]
    fn a_reused_tail_of_pq_goes_round_without_its_mark() {
        let mut host = Host::new(4, &[first_fraction(0.5)]);
        for page in [1, 2, 1, 3] {
            host.read(page);
        }
        assert_eq!(host.lists(), "T=2 PQ[1 3] Q0[2]");
    }

    #[test]
    fn pq_grows_when_queue_0_starves_and_returns_when_it_is_reached() {
        let params =
            [first_fraction(0.25), ("starve_limit", Value::Int(2)), ("resize_step", Value::Int(2))];
        let mut host = Host::new(8, &params);
        for page in 1..=8 {
            host.read_as(page, u32::from(page > 2) * 2); // 1 and 2 wait in Q[0]
        }
        assert_eq!(host.lists(), "T=2 PQ[8 7] Q0[2 1] Q2[6 5 4 3]");
        assert_eq!(host.read_as(11, 2), Some(3));
        assert_eq!((host.sac.starved, host.sac.target), (1, 2));
        assert_eq!(host.read_as(12, 2), Some(4));
        assert_eq!((host.sac.starved, host.sac.target), (0, 4));
        assert_eq!(host.lists(), "T=4 PQ[12 11 8] Q0[2 1] Q2[7 6 5]");
        for (page, victim) in [(13, 5), (14, 6), (15, 7)] {
            assert_eq!(host.read_as(page, 2), Some(victim));
        }
        assert_eq!(host.lists(), "T=6 PQ[15 14 13 12 11 8] Q0[2 1]");
        // Queue 0 is reached: the parts return to their sizes.
        assert_eq!(host.read_as(16, 2), Some(1));
        assert_eq!(host.lists(), "T=2 PQ[16 15] Q0[2] Q2[14 13 12 11 8]");
        assert_eq!(host.sac.starved, 0);
    }

    #[test]
    fn evictions_while_queue_0_is_empty_do_not_starve_it() {
        let params = [first_fraction(0.34), ("starve_limit", Value::Int(2))];
        let mut host = Host::new(3, &params);
        for page in 1..=20 {
            host.read_as(page, 1);
            assert_eq!((host.sac.starved, host.sac.target), (0, 1));
        }
        host.read_as(21, 0);
        host.read_as(22, 1);
        assert_eq!(host.lists(), "T=1 PQ[22] Q0[21] Q1[20]");
        assert_eq!(host.sac.starved, 0, "page 21 came after the victim had gone");
        assert_eq!(host.read_as(23, 1), Some(20));
        assert_eq!((host.sac.starved, host.sac.target), (1, 1));
        assert_eq!(host.read_as(24, 1), Some(22));
        assert_eq!((host.sac.starved, host.sac.target), (0, 2));
    }

    #[test]
    fn pq_leaves_a_frame_to_part_2_however_it_grows() {
        let params = [
            first_fraction(1.0),
            ("starve_limit", Value::Int(1)),
            ("resize_step", Value::Int(i128::from(u64::MAX))),
        ];
        let mut host = Host::new(3, &params);
        assert_eq!(host.sac.target, 2);
        for (page, priority) in [(1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (6, 1), (7, 1)] {
            host.read_as(page, priority);
        }
        assert_eq!(host.sac.target, 2);
        let params = [first_fraction(0.25), params[1].clone(), params[2].clone()];
        let mut host = Host::new(4, &params);
        for (page, priority) in [(1, 0), (2, 1), (3, 1), (4, 1), (5, 1)] {
            host.read_as(page, priority);
        }
        assert_eq!(host.lists(), "T=3 PQ[5 4] Q0[1] Q1[3]");
    }

    #[test]
    fn if_everything_comes_back_in_order_it_is_dual_queue() {
        let trace = mixed(3000, 48);
        for frames in [1, 2, 7, 24] {
            let mut host = Host::new(frames, &[]);
            let mut dual_queue = DualQueue::new(&setup("dual-queue", frames, &[]), Dense::new(128));
            let mut ended = 0;
            for &access in &trace {
                let (_, victim) = host.access(access.0, access.1);
                let step = &drive(&mut dual_queue, &[access])[0];
                assert_eq!(victim, step.evicted.first().map(|&(page, _)| page));
                while ended + 5 < host.submitted.len() as u64 {
                    host.end(ended);
                    ended += 1;
                }
            }
        }
    }

    #[test]
    fn starve_limit_and_step_follow_the_frames() {
        for (frames, step) in [(1, 1), (15, 1), (31, 1), (32, 2), (1000, 62)] {
            let sac = Sac::new(&setup("sac", frames, &[]), Dense::new(1));
            assert_eq!((sac.starve_limit, sac.resize_step), (u64::from(frames), step));
        }
    }

    #[test]
    fn without_completions_pages_are_of_priority_0() {
        let mut sac = Sac::new(&setup("sac", 3, &[first_fraction(0.0)]), Dense::new(128));
        drive(&mut sac, &reads(&[1, 2, 3, 4]));
        assert_eq!(sac.q[0].len(), 3);
    }
}
