//! SLRU: LRU in levels that a page climbs hit by hit.
//!
//! Karedla, Love, Wherry. Caching strategies to improve disk system performance. IEEE
//! Computer 27(3), 1994 (two segments). Huang, Birman, van Renesse, Lloyd, Kumar, Li. An analysis
//! of Facebook photo caching. SOSP 2013 (S4LRU).
//!
//! Rules. LRU lists `S_0` (lowest) .. `S_(n-1)`; each but `S_0` holds at most `U` pages, an equal
//! part of `protected_fraction` of the frames. Hit in `S_i`: to the MRU end of `S_(i+1)`, or of the
//! topmost; from there down to `S_1`, the LRU page of a segment over its bound goes to the MRU end
//! of the one below. Miss: the LRU page of the lowest segment that has one is evicted; the new page
//! comes in at the MRU end of `S_0`.
//!
//! ```text
//!     S_3  MRU ▢▢▢▢ LRU ┐   ▲ hit
//!     S_2  MRU ▢▢▢▢ LRU ◀┘┐ │
//!     S_1  MRU ▢▢▢▢ LRU ◀─┘ │
//!     S_0  MRU ▢▢▢▢▢▢▢ LRU ─▶ evicted
//! ```
//!
//! Readings.
//! * New pages come into `S_0` while there is room too (1994 and 2013). libCacheSim puts them into
//!   the lowest segment that is not full, so that its upper ones begin with pages that were never
//!   hit.
//! * Frames that the division leaves over belong to `S_0`, which has no bound of its own.
//! * With `U` = 0 every page that climbs comes down again at once, and it is LRU.
//!
//! Cost. O(segments); two links per page.

use crate::info::INTERVAL_FRAMES;
use crate::params::{IfAbsent, Kind, Param};
use crate::{Info, Setup};
use destage_core::{
    DeviceView, Directory, List, Lookup, Page, Pages, Part, Plan, Policy, Request, Slot, share,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "slru",
    title: "Segmented LRU",
    source: "Karedla, Love, Wherry, IEEE Computer 27(3), 1994; S4LRU: SOSP 2013",
    about: "LRU in levels that a page climbs hit by hit.",
    time: "O(segments)",
    params: &[
        Param {
            name: "segments",
            symbol: "n",
            kind: Kind::Int { min: 1, max: 16 },
            default: IfAbsent::Int(4),
            unit: "segments",
            about: "Levels; default: S4LRU. 2 is the paper of 1994, 1 is LRU.",
            ..Param::BLANK
        },
        Param {
            name: "protected_fraction",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: IfAbsent::Real(0.75),
            unit: "of frames",
            about: "Size of all segments but the lowest together; default: four equal ones \
                    (S4LRU). Caffeine has 2 segments and 0.8.",
            ..Param::BLANK
        },
    ],
    interval_frames: INTERVAL_FRAMES,
    ..Info::BLANK
};

/// The policy.
pub struct Slru<D> {
    pages: Pages<D>,     // every resident page; list = segment + 1
    segments: Vec<List>, // S_0 (lowest) .. S_(n-1), MRU to LRU
    bound: u32,          // U
    resident: u32,
    frames: u32,
}

impl<D: Directory> Slru<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let n = setup.params.int("segments") as u8; // 1..=16
        let protected = share(setup.params.real("protected_fraction"), setup.frames);
        let pages = Pages::new(directory, n);
        Slru {
            segments: (1..=n).map(|tag| List::new(&pages, tag)).collect(),
            pages,
            bound: protected.checked_div(u32::from(n) - 1).unwrap_or(0),
            resident: 0,
            frames: setup.frames,
        }
    }
}

impl<D: Directory> Policy for Slru<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        self.pages[slot].dirty |= r.op.is_write();
        let i = usize::from(self.pages[slot].list) - 1;
        let j = (i + 1).min(self.segments.len() - 1);
        self.segments[i].unlink(&mut self.pages, slot);
        self.segments[j].push_mru(&mut self.pages, slot);
        for k in (1..=j).rev() {
            if self.segments[k].len() <= self.bound {
                break; // so the one below gets no page more
            }
            let lru = self.segments[k].pop_lru(&mut self.pages).expect("it is over its bound");
            self.segments[k - 1].push_mru(&mut self.pages, lru);
        }
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let lowest = self.segments.iter_mut().find_map(|s| s.pop_lru(&mut self.pages));
        let victim = lowest.expect("evict is only called on a full buffer");
        self.resident -= 1;
        let dirty = self.pages[victim].dirty;
        plan.evict(self.pages.remove(victim), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page);
        self.pages[slot].dirty = r.op.is_write();
        self.segments[0].push_mru(&mut self.pages, slot);
        self.resident += 1;
        slot
    }

    counted! { self: self.resident, of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for slot in self.segments.iter().flat_map(|segment| segment.iter(&self.pages)) {
            visit(self.pages.page(slot), self.pages[slot].dirty);
        }
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty;
        let segment = &mut self.segments[usize::from(self.pages[slot].list) - 1];
        segment.unlink(&mut self.pages, slot);
        self.pages.remove(slot);
        self.resident -= 1;
        Some(dirty)
    }

    fn inside(&self) -> Vec<(&'static str, Part)> {
        let page = |slot| self.pages.page(slot);
        let shown = |segment: &List| Part::pages(segment.iter(&self.pages).map(page));
        vec![("segments", Part::list(self.segments.iter().map(shown)))]
    }

    hints! { self.pages: prefetch, prefetch_links }

    fn check(&self) {
        self.segments.iter().for_each(|segment| segment.check(&self.pages));
        assert_eq!(self.segments.iter().map(List::len).sum::<u32>(), self.resident);
        assert!(self.resident <= self.frames);
        let upper = &self.segments[1..];
        assert!(upper.iter().all(|s| s.len() <= self.bound), "a segment keeps to its bound");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::{drive, reads, setup, show, victims};
    use destage_core::Dense;

    fn slru(frames: u32, segments: i128, protected: f64) -> Slru<Dense> {
        let given =
            [("segments", Value::Int(segments)), ("protected_fraction", Value::Real(protected))];
        Slru::new(&setup("slru", frames, &given), Dense::new(16))
    }

    /// `S2[1] S1[3] S0[5 2]`.
    fn lists(p: &Slru<Dense>) -> String {
        let segment = |(k, list): (usize, &List)| {
            format!("S{k}[{}]", show(list.iter(&p.pages).map(|slot| slot.0)))
        };
        show(p.segments.iter().enumerate().rev().map(segment))
    }

    #[test]
    fn a_page_climbs_hit_by_hit_and_pushes_another_one_down() {
        let mut p = slru(4, 3, 0.5);
        drive(&mut p, &reads(&[1, 2, 3, 1, 1]));
        assert_eq!(lists(&p), "S2[1] S1[] S0[3 2]");
        drive(&mut p, &reads(&[2, 4, 3]));
        assert_eq!(lists(&p), "S2[1] S1[3] S0[2 4]", "2 had to make room for 3");
    }

    #[test]
    fn a_page_that_climbs_to_the_top_may_push_one_down_through_all_levels() {
        let mut p = slru(4, 3, 0.5);
        drive(&mut p, &reads(&[1, 2, 3, 1, 1, 2, 2]));
        assert_eq!(lists(&p), "S2[2] S1[1] S0[3]");
        drive(&mut p, &reads(&[3, 3]));
        assert_eq!(lists(&p), "S2[3] S1[2] S0[1]");
    }

    #[test]
    fn with_the_lowest_segment_empty_the_next_one_gives_the_victim() {
        let mut p = slru(2, 2, 1.0);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 1, 2, 3]))), [1]);
        assert_eq!(lists(&p), "S1[2] S0[3]");
    }
}
