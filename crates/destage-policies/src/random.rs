//! Random: evict any page. The baseline that a policy must beat.
//!
//! Rules. Hit: nothing. Miss: of `s` frames, that with the number `draw(s)` gives up its page; the
//! new page takes the frame.
//!
//! Readings. The generator: SplitMix64 from a seed, one draw per eviction.
//!
//! Cost. O(1); two words per page and one per frame.

use crate::frames::Frames;
use crate::info::INTERVAL_FRAMES;
use crate::sample::{SEED, random};
use crate::{Info, Setup};
use destage_core::{DeviceView, Directory, Lookup, Plan, Policy, Request, Slot, SplitMix64};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "random",
    title: "Random replacement",
    source: "Folklore; Belady, IBM Systems Journal 5(2), 1966",
    about: "Evict any page: the baseline that a policy must beat.",
    time: "O(1)",
    params: &[SEED],
    interval_frames: INTERVAL_FRAMES,
    ..Info::BLANK
};

/// The policy.
pub struct Random<D> {
    pages: Frames<D>,
    random: SplitMix64,
    frames: u32,
}

impl<D: Directory> Random<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        Random {
            pages: Frames::new(directory),
            random: random(&setup.params),
            frames: setup.frames,
        }
    }
}

impl<D: Directory> Policy for Random<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        match self.pages.access(r) {
            Some((slot, _)) => Lookup::Hit(slot),
            None => Lookup::Miss(()),
        }
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let frame = self.random.below(self.frames);
        self.pages.evict(frame, plan);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        self.pages.admit(r).0
    }

    in_frames! { self.pages; frames: self.frames }

    hints! { self.pages: prefetch }

    fn check(&self) {
        self.pages.check(self.frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::{drive, reads, setup, victims};
    use destage_core::Dense;

    fn seeded(frames: u32, seed: i128) -> Random<Dense> {
        Random::new(&setup("random", frames, &[("seed", Value::Int(seed))]), Dense::new(300))
    }

    #[test]
    fn the_page_in_the_frame_drawn_goes_and_the_new_one_takes_its_frame() {
        let mut p = seeded(3, 7); // draws 1, 0, 2, 1
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 3, 4, 2, 5, 6]))), [2, 1, 3, 4]);
        let frames: Vec<u64> = p.pages.iter().map(|(_, page, _)| page.0).collect();
        assert_eq!(frames, [2, 6, 5]);
    }

    /// A page that is never hit stays for `s` misses on average.
    #[test]
    fn every_frame_is_drawn_as_often_as_another() {
        let mut p = seeded(4, 1);
        let pages: Vec<u64> = (0..4004).map(|i| i % 300).collect();
        let mut drawn = [0; 4];
        for &page in &pages {
            let before: Vec<u64> = p.pages.iter().map(|(_, page, _)| page.0).collect();
            for victim in victims(&drive(&mut p, &reads(&[page]))) {
                drawn[before.iter().position(|&page| page == victim).expect("resident")] += 1;
            }
        }
        assert!(drawn.iter().all(|&n: &i32| (n - 1000).abs() < 100), "{drawn:?}");
    }
}
