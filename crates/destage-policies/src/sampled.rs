//! Sampled LRU and sampled LFU: of a few random pages, evict the worst.
//!
//! The approximated eviction of Redis (`maxmemory-samples`), with k = 5; JuiceFS's local cache
//! draws two. Psounis, Prabhakar. Efficient randomized Web-cache replacement schemes using samples
//! from past eviction times. IEEE/ACM Transactions on Networking 10(4), 2002.
//!
//! Rules. Every access sets the page's `last`, and adds 1 to its `count`, which is 1 when it comes
//! in. Miss: of k pages drawn, `sampled-lru` evicts the one with the smallest `last`, `sampled-lfu`
//! the one with the smallest `count`, among equals the smallest `last`.
//!
//! Readings.
//! * Draws as [`hyperbolic`](crate::hyperbolic) has them: frames, with replacement. With no more
//!   frames than k, all pages are candidates and nothing is drawn: LRU, or LFU. With k = 1 the
//!   draws and the victims are those of [`random`](crate::random).
//! * The paper keeps its best candidates for the next eviction, Redis 16 of them. Here every
//!   eviction draws its own.
//! * Redis counts uses in 8 bits, in steps that get rarer, and lets them decay by the minute. Here
//!   a count is exact, never decays, and is forgotten with its page.
//!
//! Cost. O(1) per hit; an eviction looks at k frames. One word per frame, two with counts, two per
//! page.

use crate::frames::{Frames, set};
use crate::params::{IfAbsent, Kind, Param};
use crate::sample::{SEED, Sample};
use crate::{Info, Setup};
use destage_core::{DeviceView, Directory, Lookup, Plan, Policy, Request, Slot};

const K: Param = Param {
    name: "k",
    kind: Kind::Int { min: 1, max: u32::MAX as u64 },
    default: IfAbsent::Int(5),
    unit: "frames",
    about: "Frames drawn per eviction, with replacement. Default of Redis.",
    ..Param::BLANK
};

const SOURCE: &str = "Psounis, Prabhakar, IEEE/ACM Trans. Networking 10(4), 2002; Redis";

/// Catalogue entry of sampled LRU.
pub static LRU: Info = Info {
    name: "sampled-lru",
    title: "Sampled LRU",
    source: SOURCE,
    about: "Evict, of k random pages, the one unused for longest (Redis's allkeys-lru).",
    time: "O(1), eviction O(k)",
    params: &[K, SEED],
    ..Info::BLANK
};

/// Catalogue entry of sampled LFU.
pub static LFU: Info = Info {
    name: "sampled-lfu",
    title: "Sampled LFU",
    about: "Evict, of k random pages, the one used least often (Redis's allkeys-lfu, no decay).",
    ..LRU
};

/// Value of a page by its uses: of two, the smaller one goes. No two pages have the same.
pub trait Uses: Copy + Ord + Send + 'static {
    /// Of a page that comes in with this access.
    fn new(now: u64) -> Self;
    /// The same page is accessed again.
    fn again(&mut self, now: u64);
}

/// Value in `sampled-lru`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Recency {
    last: u64, // index of the last access
}

impl Uses for Recency {
    #[inline(always)]
    fn new(now: u64) -> Self {
        Recency { last: now }
    }

    #[inline(always)]
    fn again(&mut self, now: u64) {
        self.last = now;
    }
}

/// Value in `sampled-lfu`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Frequency {
    count: u64, // uses since it came in; compared first
    last: u64,  // index of the last access
}

impl Uses for Frequency {
    #[inline(always)]
    fn new(now: u64) -> Self {
        Frequency { count: 1, last: now }
    }

    #[inline(always)]
    fn again(&mut self, now: u64) {
        self.count += 1;
        self.last = now;
    }
}

/// Sampled LRU, which compares recency.
pub type SampledLru<D> = Sampled<D, Recency>;
/// Sampled LFU, which compares counts.
pub type SampledLfu<D> = Sampled<D, Frequency>;

/// The policy.
pub struct Sampled<D, U> {
    pages: Frames<D>,
    uses: Vec<U>, // by frame
    next: u64,    // index of the next access
    sample: Sample,
    frames: u32,
}

impl<D: Directory, U: Uses> Sampled<D, U> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        Sampled {
            pages: Frames::new(directory),
            uses: Vec::new(),
            next: 0,
            sample: Sample::of(Some(setup.params.int("k")), &setup.params, setup.frames),
            frames: setup.frames,
        }
    }
}

impl<D: Directory, U: Uses> Policy for Sampled<D, U> {
    /// Index of the access.
    type Miss = u64;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<u64> {
        let now = self.next;
        self.next += 1;
        let Some((slot, frame)) = self.pages.access(r) else { return Lookup::Miss(now) };
        self.uses[frame as usize].again(now);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, _: &mut u64, _: &dyn DeviceView, plan: &mut Plan) {
        let mut victim: Option<(U, u32)> = None;
        self.sample.for_each(|frame| {
            let uses = self.uses[frame as usize];
            if victim.is_none_or(|(least, _)| uses < least) {
                victim = Some((uses, frame));
            }
        });
        let (_, frame) = victim.expect("a sample has a frame");
        self.pages.evict(frame, plan);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, now: u64) -> Slot {
        let (slot, frame) = self.pages.admit(r);
        set(&mut self.uses, frame, U::new(now));
        slot
    }

    in_frames! { self.pages; frames: self.frames }

    hints! { self.pages: prefetch }

    fn check(&self) {
        self.pages.check(self.frames);
        let mut uses: Vec<U> = self.pages.iter().map(|(f, ..)| self.uses[f as usize]).collect();
        uses.sort_unstable();
        assert!(uses.windows(2).all(|pair| pair[0] < pair[1]), "no two pages compare equal");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lfu::Lfu;
    use crate::lru::Lru;
    use crate::params::Value;
    use crate::random::Random;
    use crate::testing::{Step, drive, reads, setup, show, victims};
    use destage_core::{Dense, Op, SplitMix64};

    const PAGES: u32 = 40;

    fn sampled<U: Uses>(frames: u32, k: i128, seed: i128) -> Sampled<Dense, U> {
        let params = [("k", Value::Int(k)), ("seed", Value::Int(seed))];
        Sampled::new(&setup("sampled-lru", frames, &params), Dense::new(PAGES))
    }

    /// 2,000 accesses, small pages more often, a third of them writes.
    fn skewed() -> Vec<(Op, u64)> {
        let mut random = SplitMix64::new(9);
        let mut access = |_| {
            let page = (random.unit().powi(2) * f64::from(PAGES)) as u64;
            (if random.below(3) == 0 { Op::Write } else { Op::Read }, page)
        };
        (0..2_000).map(&mut access).collect()
    }

    fn hits(steps: &[Step]) -> usize {
        steps.iter().filter(|step| step.hit).count()
    }

    #[test]
    fn of_the_pages_drawn_the_one_unused_for_longest_goes() {
        let mut p = sampled::<Recency>(3, 2, 7); // frames drawn: 1 and 0, 2 and 1, 1 and 0
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 3, 1, 4, 5, 6]))), [2, 3, 1]);
        let last = p.pages.iter().map(|(f, page, _)| (page.0, p.uses[f as usize].last));
        assert_eq!(show(last.map(|(page, last)| format!("{page}/{last}"))), "6/6 4/4 5/5");
    }

    #[test]
    fn of_the_pages_drawn_the_one_used_least_often_goes() {
        let mut p = sampled::<Frequency>(3, 2, 7); // frames drawn: 1 and 0, 2 and 1, 1 and 0
        let steps = drive(&mut p, &reads(&[1, 2, 2, 3, 3, 4, 5, 6]));
        assert_eq!(victims(&steps), [1, 2, 4], "2 and 3 both have 2 uses");
        let uses = |frame: u32| (p.uses[frame as usize].count, p.uses[frame as usize].last);
        let shown = p.pages.iter().map(|(f, page, _)| (page.0, uses(f)));
        assert_eq!(
            show(shown.map(|(page, (n, t))| format!("{page}/{n}/{t}"))),
            "6/1/7 5/1/6 3/2/4"
        );
    }

    #[test]
    fn with_as_many_draws_as_frames_they_are_lru_and_lfu() {
        let accesses = skewed();
        for (frames, k) in [(1, 1), (5, 5), (12, 12), (12, 1 << 31)] {
            let exact = Setup::new(frames);
            let lru = drive(&mut Lru::new(&exact, Dense::new(PAGES)), &accesses);
            let lfu = drive(&mut Lfu::new(&exact, Dense::new(PAGES)), &accesses);
            assert_eq!(drive(&mut sampled::<Recency>(frames, k, 1), &accesses), lru);
            assert_eq!(drive(&mut sampled::<Frequency>(frames, k, 1), &accesses), lfu);
        }
    }

    #[test]
    fn with_one_draw_both_are_random() {
        let accesses = skewed();
        for (frames, seed) in [(1, 1), (5, 1), (12, 77)] {
            let seeded = setup("random", frames, &[("seed", Value::Int(seed))]);
            let random = drive(&mut Random::new(&seeded, Dense::new(PAGES)), &accesses);
            assert_eq!(drive(&mut sampled::<Recency>(frames, 1, seed), &accesses), random);
            assert_eq!(drive(&mut sampled::<Frequency>(frames, 1, seed), &accesses), random);
        }
    }

    /// Of pages that are never used again, k draws with replacement of s frames leave the r-th
    /// oldest (r = 0 the oldest) with probability ((s - r)^k - (s - r - 1)^k) / s^k.
    #[test]
    fn the_age_of_a_victim_has_the_distribution_of_the_minimum_of_k_draws() {
        const FRAMES: u32 = 6;
        const EVICTIONS: usize = 20_000;
        let k = 3;
        let mut p = sampled::<Recency>(FRAMES, i128::from(k), 5);
        let mut by_age = [0_u32; FRAMES as usize];
        let mut resident: Vec<u64> = Vec::new(); // oldest first
        for n in 0..(EVICTIONS as u64 + u64::from(FRAMES)) {
            let page = (0..u64::from(PAGES)).map(|i| (n + i) % u64::from(PAGES));
            let page = page.into_iter().find(|page| !resident.contains(page)).expect("absent");
            for victim in victims(&drive(&mut p, &reads(&[page]))) {
                let age = resident.iter().position(|&page| page == victim).expect("resident");
                resident.remove(age);
                by_age[age] += 1;
            }
            resident.push(page);
        }
        assert_eq!(by_age.iter().sum::<u32>() as usize, EVICTIONS);
        let power = |n: u32| f64::from(n.pow(k));
        for (r, &seen) in by_age.iter().enumerate() {
            let left = FRAMES - r as u32;
            let share = (power(left) - power(left - 1)) / power(FRAMES);
            let expected = share * EVICTIONS as f64;
            let error = (expected * (1.0 - share)).sqrt();
            assert!((f64::from(seen) - expected).abs() < 4.0 * error, "{r}: {seen}, {expected}");
        }
    }

    #[test]
    fn five_draws_come_near_lru_on_a_skewed_load() {
        let accesses = skewed();
        let hits_of = |k| hits(&drive(&mut sampled::<Recency>(12, k, 1), &accesses));
        let lru = hits(&drive(&mut Lru::new(&Setup::new(12), Dense::new(PAGES)), &accesses));
        assert!(hits_of(1).abs_diff(lru) > hits_of(5).abs_diff(lru), "nearer than random");
        assert!(hits_of(5).abs_diff(lru) * 50 < lru, "{} and {lru}", hits_of(5));
    }
}
