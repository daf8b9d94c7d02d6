//! Hyperbolic caching: rank pages by uses per time in the cache.
//!
//! Blankstein, Sen, Freedman. Hyperbolic caching: flexible caching for web applications. USENIX ATC
//! 2017.
//!
//! Rules. A page has `n`, its uses, and `t`, the accesses since it came in; its priority is
//! `n / t`, which falls along a hyperbola while it is not used. Hit: `n + 1`. Miss: of a sample of
//! pages, the one with the least priority is evicted, among equals the one that came in first. The
//! new page has `n` = 1.
//!
//! Readings.
//! * The cost and the size classes of the paper: all pages cost and weigh the same here.
//! * `t` in accesses and a sample of 64 drawn with replacement, as libCacheSim has them. With no
//!   more frames than that, all pages are candidates and nothing is drawn; the same without
//!   `sample`.
//! * Quotients are compared as products of whole numbers, exactly.
//!
//! Cost. O(1) per hit; an eviction looks at `sample` frames, or at all. Three words per frame, two
//! per page.

use crate::frames::{Frames, set};
use crate::info::INTERVAL_FRAMES;
use crate::params::{IfAbsent, Param};
use crate::sample::{SAMPLE, SEED, Sample};
use crate::{Info, Setup};
use destage_core::{DeviceView, Directory, Lookup, Plan, Policy, Request, Slot};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "hyperbolic",
    title: "Hyperbolic caching",
    source: "Blankstein, Sen, Freedman, USENIX ATC 2017",
    about: "Evict, of a sample, the page with the fewest uses per time in the cache.",
    time: "O(1), eviction O(sample)",
    params: &[
        Param {
            default: IfAbsent::Int(64),
            about: "Frames drawn per eviction; none: all frames. Default of libCacheSim.",
            ..SAMPLE
        },
        SEED,
    ],
    interval_frames: INTERVAL_FRAMES,
    ..Info::BLANK
};

/// Operands of a page's priority.
#[derive(Clone, Copy, Debug)]
struct Uses {
    n: u64,
    born: u64, // index of the access that brought it in
}

impl Uses {
    /// This page goes before that one, at the access with this index.
    #[inline(always)]
    fn goes_before(self, other: Uses, now: u64) -> bool {
        let product = |n: u64, born: u64| u128::from(n) * u128::from(now - born);
        let (ours, theirs) = (product(self.n, other.born), product(other.n, self.born));
        ours < theirs || ours == theirs && self.born < other.born
    }
}

/// The policy.
pub struct Hyperbolic<D> {
    pages: Frames<D>,
    uses: Vec<Uses>, // by frame
    next: u64,       // index of the next access
    sample: Sample,
    frames: u32,
}

impl<D: Directory> Hyperbolic<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        Hyperbolic {
            pages: Frames::new(directory),
            uses: Vec::new(),
            next: 0,
            sample: Sample::new(&setup.params, setup.frames),
            frames: setup.frames,
        }
    }
}

impl<D: Directory> Policy for Hyperbolic<D> {
    /// Index of the access.
    type Miss = u64;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<u64> {
        let now = self.next;
        self.next += 1;
        let Some((slot, frame)) = self.pages.access(r) else { return Lookup::Miss(now) };
        self.uses[frame as usize].n += 1;
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, now: &mut u64, _: &dyn DeviceView, plan: &mut Plan) {
        let mut victim: Option<(u32, Uses)> = None;
        self.sample.for_each(|frame| {
            let uses = self.uses[frame as usize];
            if victim.is_none_or(|(_, least)| uses.goes_before(least, *now)) {
                victim = Some((frame, uses));
            }
        });
        let (frame, _) = victim.expect("a sample has a frame");
        self.pages.evict(frame, plan);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, now: u64) -> Slot {
        let (slot, frame) = self.pages.admit(r);
        set(&mut self.uses, frame, Uses { n: 1, born: now });
        slot
    }

    in_frames! { self.pages; frames: self.frames }

    hints! { self.pages: prefetch }

    fn check(&self) {
        self.pages.check(self.frames);
        assert!(self.uses.iter().all(|uses| uses.n > 0 && uses.born < self.next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::{drive, reads, setup, show, victims};
    use destage_core::{Dense, Page};

    fn hyperbolic(frames: u32, sample: Value) -> Hyperbolic<Dense> {
        Hyperbolic::new(&setup("hyperbolic", frames, &[("sample", sample)]), Dense::new(16))
    }

    #[test]
    fn a_page_hit_long_ago_goes_before_one_that_is_young() {
        let mut p = hyperbolic(3, Value::None);
        let steps = drive(&mut p, &reads(&[1, 2, 1, 3, 4, 1, 5, 3, 3, 2]));
        assert_eq!(victims(&steps), [2, 3, 4, 1], "at last 3 uses in 9 accesses against 2 in 2");
        let uses = |(frame, page, _): (u32, Page, bool)| {
            let Uses { n, born } = p.uses[frame as usize];
            format!("{}/{n}/{born}", page.0)
        };
        assert_eq!(show(p.pages.iter().map(uses)), "2/1/9 3/2/7 5/1/6");
    }

    #[test]
    fn of_equal_pages_the_one_that_came_in_first_goes() {
        let at = |n, born| Uses { n, born };
        assert!(at(2, 0).goes_before(at(1, 4), 8), "2 / 8 and 1 / 4");
        assert!(!at(1, 4).goes_before(at(2, 0), 8));
    }

    #[test]
    fn a_sample_of_all_frames_draws_nothing() {
        let accesses = reads(&[1, 2, 3, 1, 4, 5, 1, 6, 2, 7]);
        let all = drive(&mut hyperbolic(3, Value::None), &accesses);
        assert_eq!(drive(&mut hyperbolic(3, Value::Int(3)), &accesses), all);
    }
}
