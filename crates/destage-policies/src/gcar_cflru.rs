//! GCaR-CFLRU: CFLRU that first looks at the pages whose chip is not collecting garbage.
//!
//! Wu, Lin, Mao, Jiang. GCaR: Garbage Collection aware Cache Management with Improved Performance
//! for Flash-based SSDs. ICS 2016; extended in IEEE TPDS 28(10), 2017, whose text the rules
//! follow. ECR runs it over CFLRU (section 4.1). CFLRU and GCaR's rule over any base policy:
//! `cflru.rs` and `gcar_lru.rs`.
//!
//! Rules. One LRU list, the `w` oldest pages of which are CFLRU's clean-first region. Victim, the
//! first that there is:
//!
//! 1. the oldest clean page of the region whose chip is not in GC,
//! 2. the oldest page of all whose chip is not in GC,
//! 3. the oldest clean page of the region,
//! 4. the oldest page.
//!
//! Readings. The region is taken over the whole order, not over the pages that are left. Clean
//! pages and dynamic allocation as in `gcar_lru.rs`.
//!
//! The one order is linked as such, for the region's edge, and a second time as two lists per
//! chip, clean and dirty, for the search. A page is in the region if it is as old as the edge:
//!
//! ```text
//!   order    MRU ◀─▶ ... ◀─▶ │ edge ◀─▶ ... (w pages) ... ◀─▶ LRU
//!   chip 0   clean  MRU ◀─▶ ... ◀─▶ LRU    dirty  MRU ◀─▶ ... ◀─▶ LRU
//!   chip 1   ...
//! ```
//!
//! Cost. O(1) per access, O(chips) per eviction.

use crate::gcar_lru::SOURCE;
use crate::params::{IfAbsent, Kind, Param};
use crate::unit_lists::{NIL, UnitLists, set_by_frame};
use crate::{Info, Setup};
use destage_core::{
    DeviceView, Directory, Lookup, Page, Plan, Policy, Request, Requirements, Slot, UnitId, share,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "gcar-cflru",
    title: "GC-aware Clean-First LRU",
    source: SOURCE,
    about: "CFLRU that spares pages whose unit (chip) is in GC.",
    flash_aware: true,
    time: "O(1), eviction O(units)",
    params: &[Param {
        name: "window_fraction",
        symbol: "w/s",
        kind: Kind::Real { min: 0.0, max: 1.0 },
        default: IfAbsent::Real(0.5),
        unit: "of frames",
        about: "The clean-first region, as of cflru.",
        ..Param::BLANK
    }],
    ..Info::BLANK
};

/// The policy. List 2u holds the clean pages of unit u, list 2u + 1 its dirty ones.
pub struct GcarCflru<D> {
    lists: UnitLists<D>,
    order: Order,
    window: u32, // w, the clean-first region
    frames: u32,
}

#[inline(always)]
fn list_of(r: &Request, dirty: bool) -> u32 {
    if dirty { 2 * r.units.dirty.0 + 1 } else { 2 * r.units.clean.0 }
}

#[inline(always)]
fn unit_of(list: u32) -> UnitId {
    UnitId(list / 2)
}

#[inline(always)]
fn is_clean(list: u32) -> bool {
    list.is_multiple_of(2)
}

impl<D: Directory> GcarCflru<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        GcarCflru {
            lists: UnitLists::new(directory),
            order: Order::new(),
            window: share(setup.params.real("window_fraction"), setup.frames),
            frames: setup.frames,
        }
    }

    /// The oldest page of a list is in the clean-first region, and clean.
    #[inline(always)]
    fn clean_first(&self, list: u32) -> bool {
        is_clean(list)
            && self.order.edge != NIL
            && self.lists.oldest_stamps()[list as usize] <= self.lists.held(self.order.edge).stamp
    }

    #[inline(always)]
    fn victim(&self, device: &dyn DeviceView) -> Option<u32> {
        let free = |list| !device.in_gc(unit_of(list));
        self.lists
            .oldest(|list| self.clean_first(list) && free(list))
            .or_else(|| self.lists.oldest(free))
            .or_else(|| self.lists.oldest(|list| self.clean_first(list)))
            .or_else(|| self.lists.oldest(|_| true))
    }
}

impl<D: Directory> Policy for GcarCflru<D> {
    type Miss = ();

    const REQUIREMENTS: Requirements = Requirements::UNITS.and(Requirements::GC_STATE);

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some((slot, frame)) = self.lists.find(r.page) else { return Lookup::Miss(()) };
        let write = r.op.is_write();
        let list = if write { list_of(r, true) } else { self.lists.held(frame).list };
        self.order.unlink(frame);
        self.lists.touch(frame, list, write);
        self.order.push(frame);
        self.order.fill(self.window);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), device: &dyn DeviceView, plan: &mut Plan) {
        let victim = self.victim(device).expect("evict is only called on a full buffer");
        self.order.unlink(victim);
        self.lists.evict(victim, plan);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let dirty = r.op.is_write();
        let (slot, frame) = self.lists.insert(r.page, list_of(r, dirty), dirty);
        self.order.push(frame);
        self.order.fill(self.window);
        slot
    }

    in_unit_lists! { self.lists; frames: self.frames }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let (_, frame) = self.lists.find(page)?;
        self.order.unlink(frame);
        let dirty = self.lists.forget(frame);
        self.order.fill(self.window);
        Some(dirty)
    }

    hints! { self.lists: prefetch, prefetch_held }

    fn check(&self) {
        self.lists.check();
        for list in 0..self.lists.lists() {
            let mut frames = self.lists.iter(list);
            assert!(frames.all(|frame| self.lists.held(frame).dirty != is_clean(list)));
        }
        self.order.check(|frame| self.lists.held(frame).stamp);
        assert_eq!(self.order.len, self.resident());
        assert_eq!(
            self.order.inside,
            self.window.min(self.resident()),
            "the window holds the w oldest pages, or all there are"
        );
        assert!(self.resident() <= self.frames);
    }
}

/// All frames in recency order, and where the clean-first region begins.
#[derive(Clone, Debug)]
struct Order {
    links: Vec<Links>, // by frame
    newest: u32,
    oldest: u32,
    edge: u32,   // newest page of the region, or NIL
    inside: u32, // pages of the region
    len: u32,
}

#[derive(Clone, Copy, Debug)]
struct Links {
    newer: u32,
    older: u32,
    inside: bool,
}

impl Order {
    fn new() -> Self {
        Order { links: Vec::new(), newest: NIL, oldest: NIL, edge: NIL, inside: 0, len: 0 }
    }

    /// Takes a frame out.
    #[inline(always)]
    fn unlink(&mut self, frame: u32) {
        let Links { newer, older, inside } = self.links[frame as usize];
        if inside {
            self.inside -= 1;
            if self.edge == frame {
                self.edge = older;
            }
        }
        match newer {
            NIL => self.newest = older,
            newer => self.links[newer as usize].older = older,
        }
        match older {
            NIL => self.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
        self.len -= 1;
    }

    /// Puts a frame that is not in the order at its MRU end, outside the region.
    #[inline(always)]
    fn push(&mut self, frame: u32) {
        let links = Links { newer: NIL, older: self.newest, inside: false };
        set_by_frame(&mut self.links, frame, links);
        match self.newest {
            NIL => self.oldest = frame,
            newest => self.links[newest as usize].newer = frame,
        }
        self.newest = frame;
        self.len += 1;
    }

    /// Moves the edge towards the MRU end until the region holds `window` pages, or all there are.
    #[inline(always)]
    fn fill(&mut self, window: u32) {
        while self.inside < window.min(self.len) {
            self.edge = match self.edge {
                NIL => self.oldest,
                edge => self.links[edge as usize].newer,
            };
            self.links[self.edge as usize].inside = true;
            self.inside += 1;
        }
    }

    fn check(&self, stamp: impl Fn(u32) -> u64) {
        let (mut older, mut count, mut inside) = (NIL, 0, 0);
        let mut at = self.oldest;
        while at != NIL {
            let links = self.links[at as usize];
            assert_eq!(links.older, older, "links agree in both directions");
            assert!(older == NIL || stamp(older) < stamp(at), "the order is by recency");
            assert_eq!(links.inside, count < self.inside, "the region is the oldest part");
            count += 1;
            if links.inside {
                inside += 1;
                assert_eq!(at == self.edge, inside == self.inside, "the edge is its newest page");
            }
            (older, at) = (at, links.newer);
        }
        assert_eq!(self.newest, older, "the order ends with its newest page");
        assert_eq!((count, inside), (self.len, self.inside));
        assert_eq!(self.edge == NIL, self.inside == 0, "a region has an edge");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cflru::Cflru;
    use crate::params::Value;
    use crate::testing::{Chips, drive_on, mixed, setup, victims};
    use destage_core::{Dense, Op, Op::*};

    fn gcar_cflru(frames: u32, window_fraction: f64) -> GcarCflru<Dense> {
        let window_fraction = Value::Real(window_fraction);
        let setup = setup("gcar-cflru", frames, &[("window_fraction", window_fraction)]);
        GcarCflru::new(&setup, Dense::new(64))
    }

    /// LRU 0d 1c 2c | 3d 4c 5c MRU, w = 3, on three chips; then a miss.
    const TRACE: [(Op, u64); 7] =
        [(Write, 0), (Read, 1), (Read, 2), (Write, 3), (Read, 4), (Read, 5), (Read, 6)];

    fn victim(in_gc: [bool; 3]) -> u64 {
        let mut p = gcar_cflru(6, 0.5);
        victims(&drive_on(&mut p, &Chips::collecting(in_gc), &TRACE))[0]
    }

    #[test]
    fn the_oldest_clean_page_of_the_window_whose_chip_does_not_collect_goes() {
        assert_eq!(victim([false, false, false]), 1);
        assert_eq!(victim([false, true, false]), 2);
    }

    #[test]
    fn then_the_oldest_page_of_all_whose_chip_does_not_collect() {
        assert_eq!(victim([false, true, true]), 0);
        // Nothing of the window is left: page 4, on chip 1, is outside it.
        let trace =
            [(Write, 0), (Write, 3), (Write, 6), (Write, 9), (Write, 1), (Read, 4), (Read, 7)];
        let mut p = gcar_cflru(6, 0.5);
        assert_eq!(
            victims(&drive_on(&mut p, &Chips::collecting([true, false, true]), &trace)),
            [1]
        );
    }

    #[test]
    fn then_what_cflru_would_evict() {
        assert_eq!(victim([true, true, true]), 1);
        let chips = Chips::collecting([true, true, true]);
        let trace = mixed(3000, 48);
        for (frames, window) in [(1, 1.0), (2, 0.5), (7, 0.0), (7, 0.3), (24, 0.5), (24, 1.0)] {
            let params = [("window_fraction", Value::Real(window))];
            let mut cflru = Cflru::new(&setup("cflru", frames, &params), Dense::new(64));
            let expected = drive_on(&mut cflru, &chips, &trace);
            assert_eq!(drive_on(&mut gcar_cflru(frames, window), &chips, &trace), expected);
        }
    }

    #[test]
    fn the_window_is_taken_over_all_pages_not_over_those_that_are_left() {
        // LRU 0d 3d | 1d 2c MRU, w = 2. Chip 0 collects. Of the two pages left, 2 is clean, but not
        // in the window; 1 is older.
        let trace = [(Write, 0), (Write, 3), (Write, 1), (Read, 2), (Read, 4)];
        let mut p = gcar_cflru(4, 0.5);
        let steps = drive_on(&mut p, &Chips::collecting([true, false, false]), &trace);
        assert_eq!(steps[4].evicted, [(1, true)]);
    }

    #[test]
    fn under_dynamic_allocation_clean_pages_are_on_their_chips_and_dirty_ones_on_list_u() {
        // LRU 0d 1c 2c 3d MRU, w = 4; writes would go to chip 1.
        let trace = [(Write, 0), (Read, 1), (Read, 2), (Write, 3), (Read, 4)];
        for (in_gc, victim) in [
            ([false, false, false], 1),
            ([false, true, false], 2),
            ([false, true, true], 1),
            ([true, false, true], 1),
        ] {
            let chips = Chips { dynamic: Some(1), ..Chips::collecting(in_gc) };
            let steps = drive_on(&mut gcar_cflru(4, 1.0), &chips, &trace);
            assert_eq!(victims(&steps), [victim], "{in_gc:?}");
        }
        let chips = Chips { dynamic: Some(0), ..Chips::collecting([false, true, true]) };
        assert_eq!(victims(&drive_on(&mut gcar_cflru(4, 1.0), &chips, &trace)), [0]);
    }
}
