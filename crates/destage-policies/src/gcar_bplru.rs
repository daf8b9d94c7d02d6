//! GCaR-BPLRU: BPLRU that passes over blocks whose chips are collecting garbage.
//!
//! Wu, Mao, Lin, Jiang. Improving performance for flash-based storage systems through GC-aware
//! cache management. IEEE TPDS 28(10), 2017, which names BPLRU as a base. The composition is ours
//! (`docs/spec/further-policies.md`, 5.2).
//!
//! Rules. As [`bplru`], but the victim is the first cluster from the LRU end whose
//! group is not in GC; if there is none, the one at the LRU end. A group is *in GC* if the unit of
//! any page that would be programmed for it is: of its buffered pages, and with `padding` of its
//! padding.
//!
//! Readings. Any page, not most of them: the group's frames are free when its last program ends. A
//! compensated block stands at the LRU end and is passed over like any other.
//!
//! Expectation. Where a block is striped over all units, every padded group touches every unit,
//! and the decisions are BPLRU's. They differ where a group touches few units: without padding, or
//! on drives on which a block lies on one unit. Without a device nothing collects.
//!
//! Cost. As BPLRU; an eviction asks each unit once, and while one collects O(b) per block passed
//! over.

use crate::bplru::{self, Bplru};
use crate::{Info, Setup};
use destage_core::{
    DeviceView, Directory, Lookup, Page, Part, Plan, Policy, Request, Requirements, Slot, UnitId,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "gcar-bplru",
    title: "GC-aware BPLRU",
    source: "Wu, Mao, Lin, Jiang. Improving performance for flash-based storage systems through \
             GC-aware cache management. IEEE TPDS 28(10), 2017",
    about: "BPLRU that passes over blocks whose units (chips) are in GC.",
    time: "O(1), eviction O(units + b)",
    ..bplru::INFO
};

/// The policy.
pub struct GcarBplru<D> {
    base: Bplru<D>,
    in_gc: Vec<bool>, // by unit, at the present eviction
}

impl<D: Directory> GcarBplru<D> {
    /// An empty cache of `setup.frames` frames and erase blocks of `setup.pages_per_block` pages.
    pub fn new(setup: &Setup, directory: D) -> Self {
        GcarBplru { base: Bplru::new(setup, directory), in_gc: Vec::new() }
    }

    /// The first cluster from the LRU end whose group is not in GC.
    fn victim(&mut self, device: &dyn DeviceView) -> Option<u32> {
        self.in_gc.clear();
        self.in_gc.extend((0..device.units()).map(|unit| device.in_gc(UnitId(unit))));
        if !self.in_gc.contains(&true) {
            return self.base.least_recent();
        }
        let in_gc = |lpn| self.in_gc[device.unit_of(device.target(lpn)).0 as usize];
        self.base.oldest_first().find(|&block| !self.base.programs_any(block, in_gc))
    }
}

impl<D: Directory> Policy for GcarBplru<D> {
    type Miss = ();

    const REQUIREMENTS: Requirements = Requirements::GC_STATE;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        self.base.request(r)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), device: &dyn DeviceView, plan: &mut Plan) {
        let block = self.victim(device).or_else(|| self.base.least_recent());
        self.base.destage(block.expect("evict is only called on a full buffer"), plan);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        self.base.admit(r, ())
    }

    fn frames(&self) -> u32 {
        self.base.frames()
    }

    #[inline(always)]
    fn resident(&self) -> u32 {
        self.base.resident()
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.base.for_each_resident(visit);
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        self.base.forget(page)
    }

    hints! { self.base: prefetch, prefetch_links, prefetch_neighbours }

    fn inside(&self) -> Vec<(&'static str, Part)> {
        self.base.inside()
    }

    fn check(&self) {
        self.base.check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::{Chips, drive_on, setup, victims, writes};
    use destage_core::Dense;

    /// Blocks of four pages; page p at home on chip p mod 3.
    fn gcar_bplru(frames: u32, padding: bool) -> GcarBplru<Dense> {
        let setup = setup("gcar-bplru", frames, &[("padding", Value::Bool(padding))]);
        GcarBplru::new(&Setup { pages_per_block: 4, ..setup }, Dense::new(64))
    }

    #[test]
    fn a_block_with_any_page_on_a_collecting_chip_is_passed_over() {
        let chips = Chips::collecting([true, false, false]);
        let trace = writes(&[1, 3, 4, 5, 8, 11]);
        // Block 0 has page 3 on chip 0; block 1 is on chips 1 and 2.
        assert_eq!(victims(&drive_on(&mut gcar_bplru(5, false), &chips, &trace)), [4, 5]);
    }

    #[test]
    fn with_padding_every_page_of_the_block_counts() {
        let chips = Chips::collecting([true, false, false]);
        let trace = writes(&[1, 4, 5, 8, 11]);
        // Each block of four pages has one on each of three chips.
        assert_eq!(victims(&drive_on(&mut gcar_bplru(4, true), &chips, &trace)), [1]);
        assert_eq!(victims(&drive_on(&mut gcar_bplru(4, false), &chips, &trace)), [1]);
    }

    #[test]
    fn if_all_groups_are_in_gc_the_least_recent_goes() {
        let chips = Chips::collecting([true, true, true]);
        let trace = writes(&[1, 4, 8, 12]);
        assert_eq!(victims(&drive_on(&mut gcar_bplru(3, false), &chips, &trace)), [1]);
    }
}
