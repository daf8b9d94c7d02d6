//! Clock sweep: what a PostgreSQL buffer pool does.
//!
//! PostgreSQL, src/backend/storage/buffer: `StrategyGetBuffer` and `ClockSweepTick` of freelist.c,
//! `PinBuffer` and `BufferAlloc` of bufmgr.c; the same in the versions of 2016 to 2026.
//!
//! Rules. Frames in a ring, each with a count of uses; a hand. Hit: `usage + 1`, up to `max_usage`.
//! Miss: the hand goes from frame to frame, and takes one use from each that has any; the page of
//! the first frame that has none is evicted. The new page takes its frame, with `initial_usage`.
//!
//! ```text
//!           hand
//!            ▼
//!     0  1  2  3  4  5     frames
//!     5  1  3  2  0  1     usage: 3 becomes 1, 4 gives the victim
//! ```
//!
//! Readings.
//! * Pins: a backend that holds a page pinned counts no further use. A trace has no pins: each
//!   access is one use.
//! * Old versions fill the pool from a list, newer ones let the hand run over the free frames. Both
//!   leave the hand at frame 0 when it is full, and so it starts there.
//! * The background writer, checkpoints and the rings of large scans are not modelled: the flash
//!   writes are those of `bgwriter_lru_maxpages = 0` without checkpoints.
//!
//! Cost. O(1) per hit; an eviction looks at `max_usage * s + 1` frames at most, and at
//! O(`max_usage`) amortised, since every step undoes a use. A byte per frame, two words per page.

use crate::frames::{Frames, set};
use crate::info::INTERVAL_FRAMES;
use crate::params::{IfAbsent, Kind, Param};
use crate::{Info, Setup};
use destage_core::{DeviceView, Directory, Lookup, Page, Plan, Policy, Request, Slot};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "clock-sweep",
    title: "Clock sweep of PostgreSQL",
    source: "PostgreSQL, src/backend/storage/buffer/freelist.c",
    about: "Evict the next page whose uses the hand has taken away.",
    time: "O(max_usage) amortised",
    params: &[
        Param {
            name: "max_usage",
            symbol: "BM_MAX_USAGE_COUNT",
            kind: Kind::Int { min: 1, max: 255 },
            default: IfAbsent::Int(5),
            unit: "uses",
            about: "Rounds of the hand that a page can survive; default of the source.",
            ..Param::BLANK
        },
        Param {
            name: "initial_usage",
            kind: Kind::Int { min: 0, max: 1 },
            default: IfAbsent::Int(1),
            unit: "uses",
            about: "Of a page that comes in; default of the source. 0 with max_usage 1 is CLOCK.",
            ..Param::BLANK
        },
    ],
    interval_frames: INTERVAL_FRAMES,
    ..Info::BLANK
};

/// The policy.
pub struct ClockSweep<D> {
    pages: Frames<D>,
    usage: Vec<u8>, // by frame
    hand: u32,      // frame
    max_usage: u8,
    initial_usage: u8,
    frames: u32,
}

impl<D: Directory> ClockSweep<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        ClockSweep {
            pages: Frames::new(directory),
            usage: Vec::new(),
            hand: 0,
            max_usage: setup.params.int("max_usage") as u8, // 1..=255
            initial_usage: setup.params.int("initial_usage") as u8, // 0..=1
            frames: setup.frames,
        }
    }
}

impl<D: Directory> Policy for ClockSweep<D> {
    type Miss = ();

    const ORDERED: bool = true;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some((slot, frame)) = self.pages.access(r) else { return Lookup::Miss(()) };
        let usage = &mut self.usage[frame as usize];
        *usage += u8::from(*usage < self.max_usage);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let victim = loop {
            let frame = self.hand;
            self.hand = if frame + 1 == self.frames { 0 } else { frame + 1 };
            let usage = &mut self.usage[frame as usize];
            if *usage == 0 {
                break frame;
            }
            *usage -= 1;
        };
        self.pages.evict(victim, plan);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let (slot, frame) = self.pages.admit(r);
        set(&mut self.usage, frame, self.initial_usage);
        slot
    }

    counted! { self: self.pages.resident(), of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.pages.for_each_resident(visit);
    }

    /// The hand evicts a page with `n` uses in its round `n + 1`, whatever comes in meanwhile.
    fn next_victims(&self, show: &mut dyn FnMut(Page, bool) -> bool) {
        let taken = self.usage.len() as u32;
        let round = |uses| {
            let ring = (self.hand..taken).chain(0..self.hand.min(taken));
            ring.filter(move |&frame| self.usage[frame as usize] == uses)
        };
        let mut order = (0..=self.max_usage).flat_map(round).filter_map(|f| self.pages.at(f));
        order.all(|(page, dirty)| show(page, dirty));
    }

    fn cleaned(&mut self, page: Page) {
        self.pages.clean(page);
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let (frame, dirty) = self.pages.forget(page)?;
        if self.hand == frame {
            self.hand = if frame + 1 == self.frames { 0 } else { frame + 1 };
        }
        Some(dirty)
    }

    hints! { self.pages: prefetch }

    fn check(&self) {
        self.pages.check(self.frames);
        assert!(self.hand < self.frames);
        assert!(self.usage.iter().all(|&usage| usage <= self.max_usage));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::{drive, reads, setup, show, victims};
    use destage_core::Dense;

    fn sweep(frames: u32, max: i128, initial: i128) -> ClockSweep<Dense> {
        let given = [("max_usage", Value::Int(max)), ("initial_usage", Value::Int(initial))];
        ClockSweep::new(&setup("clock-sweep", frames, &given), Dense::new(16))
    }

    /// `frames[1/0 4/1 3/0] hand=2`.
    fn lists(p: &ClockSweep<Dense>) -> String {
        let usage =
            |(frame, page, _): (u32, Page, bool)| format!("{}/{}", page.0, p.usage[frame as usize]);
        format!("frames[{}] hand={}", show(p.pages.iter().map(usage)), p.hand)
    }

    #[test]
    fn the_hand_takes_a_use_from_each_frame_until_one_has_none() {
        let mut p = sweep(3, 2, 1);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 3, 1, 4]))), [2]);
        assert_eq!(lists(&p), "frames[1/0 4/1 3/0] hand=2");
    }

    #[test]
    fn uses_stop_at_their_most() {
        let mut p = sweep(1, 3, 0);
        drive(&mut p, &reads(&[1; 10]));
        assert_eq!(lists(&p), "frames[1/3] hand=0");
    }

    #[test]
    fn a_page_that_comes_in_without_a_use_goes_before_one_that_was_hit() {
        let mut p = sweep(2, 5, 0);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 1, 3, 4]))), [2, 1]);
        assert_eq!(lists(&p), "frames[4/0 3/0] hand=1");
    }
}
