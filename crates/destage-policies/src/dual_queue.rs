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

use crate::params::{Default, Kind, Param};
use crate::{BuildError, Info, Setup};
use destage_core::{
    DeviceView, Directory, List, Lookup, Page, Pages, Plan, Policy, Request, Slot, share,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "dual-queue",
    title: "Dual Queue",
    source: "the page cache of Linux as SAC describes it (section 2.1, figure 6)",
    about: "Two CLOCK queues; the first filters correlated accesses.",
    flash_aware: false,
    ghosts: false,
    time: "O(1) amortised",
    params: &[Param {
        name: "first_fraction",
        symbol: "",
        kind: Kind::Real { min: 0.0, max: 1.0 },
        default: Default::Real(1.0 / 3.0),
        unit: "of frames",
        about: "Longest first queue, at most frames - 1. Default: SAC's \"about one third\".",
    }],
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
    pub(crate) fn build(setup: &Setup, directory: D) -> Result<Self, BuildError> {
        let pages = Pages::new(directory, 2);
        let cap1 = share(setup.params.real("first_fraction"), setup.frames).min(setup.frames - 1);
        Ok(DualQueue {
            first: List::new(&pages, 1),
            second: List::new(&pages, 2),
            pages,
            cap1,
            frames: setup.frames,
        })
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
    fn evict(&mut self, (): &(), _: &dyn DeviceView, plan: &mut Plan) {
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

    fn frames(&self) -> u32 {
        self.frames
    }

    #[inline(always)]
    fn resident(&self) -> u32 {
        self.first.len() + self.second.len()
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for list in [&self.first, &self.second] {
            list.iter(&self.pages)
                .for_each(|slot| visit(self.pages.page(slot), self.pages[slot].dirty));
        }
    }

    #[inline(always)]
    fn warm(&self, page: Page) {
        self.pages.warm(page);
    }

    fn check(&self) {
        self.first.check(&self.pages);
        self.second.check(&self.pages);
        assert!(self.first.len() <= self.cap1, "the first queue is balanced after each access");
        assert!(self.resident() <= self.frames);
    }
}
