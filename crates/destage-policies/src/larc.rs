//! LARC: keep pages that are accessed once out of the cache.
//!
//! Huang, Wei, Chen, Chen, Feng. Improving flash-based disk cache with Lazy Adaptive Replacement.
//! MSST 2013; also ACM TOS 12(2), 2016.
//!
//! Rules. `Q`, an LRU list of the resident pages; `Q_r`, an LRU list of pages that are not; `C_r`,
//! a real number, the wanted length of `Q_r`, first `0.1 s`.
//!
//! ```text
//!  hit     to the MRU end of Q; C_r = max(0.1 s, C_r - s / (s - C_r))
//!  miss    C_r = min(0.9 s, C_r + s / C_r)
//!          in Q_r: leaves it; if Q is full, its LRU page is evicted; comes in at the MRU end of Q
//!          else:   is not admitted; its number to the MRU end of Q_r, whose LRU entry goes if the
//!                  list is longer than C_r
//! ```
//!
//! Readings.
//!
//! | open | here |
//! |---|---|
//! | a write that is not admitted | goes through to flash: the store behind the cache |
//! | `C_r` | a real number; the integers of a port round each step of a small cache down to 0 |
//! | while the cache fills | only known pages are admitted (the listing); `admit_while_filling`: all (a port) |
//! | `Q_r` longer than a `C_r` that has shrunk | each insertion removes one entry at most (the listing) |
//! | up to ten frames, where `C_r` may be below 1 | one entry is always kept, or nothing ever came in |
//! | `admit_writes` | a switch of the author's Flashcache port, recommended for some applications: every write is admitted |
//!
//! Cost. O(1); two links per page or entry, at most `1.9 s + 1` of them.

use crate::params::{IfAbsent, Kind, Param};
use crate::{Gauge, Info, Setup};
use destage_core::{DeviceView, Directory, List, Lookup, Page, Pages, Plan, Policy, Request, Slot};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "larc",
    title: "Lazy Adaptive Replacement Cache",
    source: "Huang, Wei, Chen, Chen, Feng, MSST 2013",
    about: "Admit a page at its second access only; writes go through until then.",
    ghosts: true,
    admission: true,
    time: "O(1)",
    params: &[
        Param {
            name: "admit_while_filling",
            kind: Kind::Bool,
            default: IfAbsent::Bool(false),
            about: "Admit every page until the cache is full; the listing makes no exception.",
            ..Param::BLANK
        },
        Param {
            name: "admit_writes",
            kind: Kind::Bool,
            default: IfAbsent::Bool(false),
            about: "Admit every page that is written; a switch of the author's Flashcache port.",
            ..Param::BLANK
        },
    ],
    gauges: &[Gauge { name: "c_r", title: "C_r: wanted length of Q_r", unit: "pages" }],
    ..Info::BLANK
};

/// The policy.
pub struct Larc<D> {
    pages: Pages<D>, // every resident page and every ghost
    q: List,         // Q, MRU to LRU
    ghosts: List,    // Q_r
    c_r: f64,        // wanted length of Q_r
    admit_while_filling: bool,
    admit_writes: bool,
    frames: u32, // s
}

impl<D: Directory> Larc<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Pages::new(directory, 2);
        Larc {
            q: List::new(&pages, 1),
            ghosts: List::new(&pages, 2),
            pages,
            c_r: 0.1 * f64::from(setup.frames),
            admit_while_filling: setup.params.flag("admit_while_filling"),
            admit_writes: setup.params.flag("admit_writes"),
            frames: setup.frames,
        }
    }

    /// Remembers a page that is not admitted.
    #[inline(always)]
    fn remember(&mut self, page: Page) {
        let ghost = self.pages.insert(page);
        self.ghosts.push_mru(&mut self.pages, ghost);
        if f64::from(self.ghosts.len()) > f64::max(1.0, self.c_r) {
            let oldest = self.ghosts.pop_lru(&mut self.pages).expect("it has just got one");
            self.pages.remove(oldest);
        }
    }
}

impl<D: Directory> Policy for Larc<D> {
    /// The ghost's slot, taken off `Q_r` already.
    type Miss = Option<Slot>;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<Option<Slot>> {
        let s = f64::from(self.frames);
        let known = self.pages.find(r.page);
        if let Some(slot) = known
            && self.q.holds(&self.pages, slot)
        {
            self.pages[slot].dirty |= r.op.is_write();
            self.q.touch(&mut self.pages, slot);
            self.c_r = f64::max(0.1 * s, self.c_r - s / (s - self.c_r));
            return Lookup::Hit(slot);
        }
        self.c_r = f64::min(0.9 * s, self.c_r + s / self.c_r);
        if let Some(slot) = known {
            self.ghosts.unlink(&mut self.pages, slot);
            return Lookup::Miss(Some(slot));
        }
        if self.admit_writes && r.op.is_write()
            || self.admit_while_filling && self.q.len() < self.frames
        {
            return Lookup::Miss(None);
        }
        self.remember(r.page);
        Lookup::Bypass
    }

    #[inline(always)]
    fn evict(&mut self, _: &mut Option<Slot>, _: &dyn DeviceView, plan: &mut Plan) {
        let victim =
            self.q.pop_lru(&mut self.pages).expect("evict is only called on a full buffer");
        let dirty = self.pages[victim].dirty;
        plan.evict(self.pages.remove(victim), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, ghost: Option<Slot>) -> Slot {
        let slot = ghost.unwrap_or_else(|| self.pages.insert(r.page));
        self.pages[slot].dirty = r.op.is_write();
        self.q.push_mru(&mut self.pages, slot);
        slot
    }

    on_lists! { self.pages: [self.q]; frames: self.frames }

    forgets_on_lists! { self.pages: [self.q], ghosts: [self.ghosts] }

    shows! { self.pages; "Q" => self.q.iter(&self.pages), "Qr" => self.ghosts.iter(&self.pages) }

    hints! { self.pages: prefetch, prefetch_links }

    fn writes_through(&self) -> bool {
        true
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("c_r", self.c_r);
    }

    fn check(&self) {
        self.q.check(&self.pages);
        self.ghosts.check(&self.pages);
        let s = f64::from(self.frames);
        assert!(self.resident() <= self.frames);
        assert!((0.1 * s..=0.9 * s).contains(&self.c_r), "0.1 s <= C_r <= 0.9 s");
        assert!(f64::from(self.ghosts.len()) <= f64::max(1.0, 0.9 * s), "Q_r was never longer");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::{drive, reads, setup, show, victims};
    use destage_core::{Dense, Lpn, Op::*};

    fn larc(frames: u32, given: &[(&str, Value)]) -> Larc<Dense> {
        Larc::new(&setup("larc", frames, given), Dense::new(16))
    }

    /// `Q[5 6 4 3] Qr[7 1] Cr=0.4`.
    fn lists(p: &Larc<Dense>) -> String {
        let list = |list: &List| show(list.iter(&p.pages).map(|slot| slot.0));
        format!("Q[{}] Qr[{}] Cr={}", list(&p.q), list(&p.ghosts), p.c_r)
    }

    #[test]
    fn a_page_comes_in_at_its_second_access() {
        let mut p = larc(4, &[]);
        drive(&mut p, &reads(&[1, 2, 1]));
        assert_eq!(lists(&p), "Q[1] Qr[2] Cr=3.6");
        drive(&mut p, &reads(&[2, 3, 4, 3, 4, 5]));
        assert_eq!(lists(&p), "Q[4 3 2 1] Qr[5] Cr=3.6");
        assert_eq!(victims(&drive(&mut p, &reads(&[6, 5]))), [1]);
    }

    #[test]
    fn hits_shorten_the_memory_and_misses_lengthen_it() {
        let mut p = larc(4, &[]);
        drive(&mut p, &reads(&[1, 1, 2, 3, 4]));
        assert_eq!(lists(&p), "Q[1] Qr[4 3 2] Cr=3.6");
        drive(&mut p, &reads(&[1]));
        assert_eq!(lists(&p), "Q[1] Qr[4 3 2] Cr=0.4", "3.6 - 4 / 0.4, and no entry goes yet");
    }

    #[test]
    fn with_one_frame_one_page_is_remembered() {
        let mut p = larc(1, &[]);
        drive(&mut p, &reads(&[1, 2, 2]));
        assert_eq!(lists(&p), "Q[2] Qr[] Cr=0.9");
    }

    #[test]
    fn the_switches_admit_writes_and_pages_while_there_is_room() {
        let mut p = larc(2, &[("admit_writes", Value::Bool(true))]);
        drive(&mut p, &[(Read, 1), (Write, 2)]);
        assert_eq!(lists(&p), "Q[2] Qr[1] Cr=1.8");
        let mut p = larc(2, &[("admit_while_filling", Value::Bool(true))]);
        drive(&mut p, &[(Read, 1), (Write, 2), (Read, 3)]);
        assert_eq!(lists(&p), "Q[2 1] Qr[3] Cr=1.8");
    }

    #[test]
    fn a_write_that_is_refused_is_a_bypass() {
        let mut p = larc(2, &[]);
        let write = Request::new(Page(1), Lpn(1), Write);
        assert_eq!(p.request(&write), Lookup::Bypass);
        assert!(matches!(p.request(&write), Lookup::Miss(Some(_))));
    }
}
