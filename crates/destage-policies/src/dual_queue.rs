//! Dual Queue: two CLOCK queues, the first of which filters correlated accesses.
//!
//! The page-cache policy of Linux as SAC describes it (section 2.1, the listing of figure 6, and
//! section 4.4, case 1: SAC with a single priority queue *is* this policy).
//!
//! Rules. `first` holds at most `cap1 = min(share(first_fraction), s - 1)` pages. A hit sets the
//! page's *reused* bit and moves nothing. Balance: while `first` is too long, its tail goes on, to
//! the head of `second`; a reused tail goes round, to the head of `first`, and its bit is cleared.
//! Victim: the first tail of `second` that is not reused; a reused one loses the bit, goes to the
//! head of `first`, and `first` is balanced. A new page comes in at the head of `first`, not
//! reused, and `first` is balanced.
//!
//! ```text
//!   new ──▶ first (at most cap1) ──not reused──▶ second ──not reused──▶ out
//!            ▲   │                                  │
//!            └───┴──────────── reused ◀─────────────┘
//! ```
//!
//! Readings. SAC's text lets a reused tail of `second` return to its own head, its listing sends it
//! to the first queue: the listing holds. The listing inserts first and evicts after; here the
//! eviction comes first, so that the new page is never its own victim. The listing trims the first
//! queue only at the next request, and a run of reused tails could empty `second` in the middle of
//! a replacement, for which it has no rule: balancing after each move and `cap1 < s` keep `second`
//! non-empty while the buffer is full. "About one third" is `share(1/3)`.
//!
//! `first_fraction = 0` is CLOCK, and a test says so.
//!
//! Cost. O(1) amortised: a page goes round only if a hit has set its bit.

use crate::info::INTERVAL_FRAMES;
use crate::params::{IfAbsent, Kind, Param};
use crate::{Info, Setup};
use destage_core::{
    DeviceView, Directory, List, Lookup, Pages, Plan, Policy, Request, Slot, share,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "dual-queue",
    title: "Dual Queue",
    source: "the page cache of Linux as SAC describes it (section 2.1, figure 6)",
    about: "Two CLOCK queues; the first filters correlated accesses.",
    time: "O(1) amortised",
    params: &[Param {
        name: "first_fraction",
        kind: Kind::Real { min: 0.0, max: 1.0 },
        default: IfAbsent::Real(1.0 / 3.0),
        unit: "of frames",
        about: "Longest first queue, at most frames - 1. Default: SAC's \"about one third\".",
        ..Param::BLANK
    }],
    interval_frames: INTERVAL_FRAMES,
    ..Info::BLANK
};

/// The policy. A node's `mark` is its *reused* bit.
pub struct DualQueue<D> {
    pages: Pages<D>, // every resident page
    first: List,     // newest to oldest
    second: List,    // newest to oldest
    cap1: u32,       // longest `first`, below the frames
    frames: u32,
}

impl<D: Directory> DualQueue<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Pages::new(directory, 2);
        let cap1 = share(setup.params.real("first_fraction"), setup.frames).min(setup.frames - 1);
        DualQueue {
            first: List::new(&pages, 1),
            second: List::new(&pages, 2),
            pages,
            cap1,
            frames: setup.frames,
        }
    }

    #[inline(always)]
    fn balance(&mut self) {
        while self.first.len() > self.cap1 {
            let tail = self.first.pop_lru(&mut self.pages).expect("a queue too long has a tail");
            if self.pages[tail].mark == 0 {
                self.second.push_mru(&mut self.pages, tail);
            } else {
                self.pages[tail].mark = 0;
                self.first.push_mru(&mut self.pages, tail);
            }
        }
    }
}

impl<D: Directory> Policy for DualQueue<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        let node = &mut self.pages[slot];
        node.dirty |= r.op.is_write();
        node.mark = 1;
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        loop {
            let tail =
                self.second.pop_lru(&mut self.pages).expect("in a full buffer cap1 < s pages wait");
            if self.pages[tail].mark == 0 {
                let dirty = self.pages[tail].dirty;
                plan.evict(self.pages.remove(tail), dirty);
                return;
            }
            self.pages[tail].mark = 0;
            self.first.push_mru(&mut self.pages, tail);
            self.balance();
        }
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page);
        self.pages[slot].dirty = r.op.is_write();
        self.first.push_mru(&mut self.pages, slot);
        self.balance();
        slot
    }

    on_lists! { self.pages: [self.first, self.second]; frames: self.frames }

    forgets_on_lists! { self.pages: [self.first, self.second] }

    shows! {
        self.pages;
        "first" => self.first.iter(&self.pages),
        "second" => self.second.iter(&self.pages)
    }

    hints! { self.pages: prefetch }

    fn check(&self) {
        self.first.check(&self.pages);
        self.second.check(&self.pages);
        assert!(self.first.len() <= self.cap1, "the first queue is balanced after each access");
        assert!(self.resident() <= self.frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::params::Value;
    use crate::testing::{drive, mixed, reads, setup, show, victims};
    use destage_core::{Dense, Op::*};

    fn dual_queue(frames: u32, first_fraction: f64) -> DualQueue<Dense> {
        let first_fraction = Value::Real(first_fraction);
        DualQueue::new(
            &setup("dual-queue", frames, &[("first_fraction", first_fraction)]),
            Dense::new(64),
        )
    }

    /// Pages with their *reused* bits, heads first.
    fn lists(p: &DualQueue<Dense>) -> String {
        let page = |slot: Slot| format!("{}/{}", slot.0, p.pages[slot].mark);
        format!(
            "first[{}] second[{}]",
            show(p.first.iter(&p.pages).map(page)),
            show(p.second.iter(&p.pages).map(page))
        )
    }

    #[test]
    fn reused_tails_of_second_go_to_first_and_push_others_on() {
        let mut p = dual_queue(4, 1.0 / 3.0);
        drive(&mut p, &[(Read, 1), (Write, 2), (Read, 3), (Read, 2), (Read, 4), (Read, 3)]);
        assert_eq!(lists(&p), "first[4/0] second[3/1 2/1 1/0]");
        assert_eq!(victims(&drive(&mut p, &[(Read, 5)])), [1]);
        assert_eq!(lists(&p), "first[5/0] second[4/0 3/1 2/1]");
        assert_eq!(drive(&mut p, &[(Write, 6)])[0].evicted, [(4, false)]);
        assert_eq!(lists(&p), "first[6/0] second[3/0 2/0 5/0]");
    }

    #[test]
    fn a_reused_tail_of_first_is_recycled_and_does_not_go_on() {
        let mut p = dual_queue(4, 0.5);
        drive(&mut p, &reads(&[1, 2, 1, 3]));
        assert_eq!(lists(&p), "first[1/0 3/0] second[2/0]");
    }

    #[test]
    fn without_a_first_queue_it_is_clock() {
        let trace = mixed(2000, 48);
        for frames in [1, 2, 7, 24] {
            let mut clock = Clock::new(&Setup::new(frames), Dense::new(64));
            let mut p = dual_queue(frames, 0.0);
            assert_eq!(drive(&mut p, &trace), drive(&mut clock, &trace), "{frames} frames");
        }
    }

    #[test]
    fn the_first_queue_leaves_a_frame_to_the_second() {
        let mut p = dual_queue(3, 1.0);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 3, 3, 2, 4]))), [1]);
        assert_eq!(p.second.len(), 1);
    }
}
