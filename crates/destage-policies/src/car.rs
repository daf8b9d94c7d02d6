//! CAR: ARC's adaptation with CLOCK's cheap hits.
//!
//! Bansal, Modha. CAR: Clock with Adaptive Replacement. FAST 2004, figure 2.
//!
//! Rules. Clocks `T1` and `T2` of resident pages, each with a bit `ref`, the head under the hand;
//! LRU lists `B1`, `B2` of ghosts; a target `p` for `T1`, first 0; `c` frames.
//!
//! ```text
//!  hit       ref = 1
//!  miss      cache full: replace; if the page is no ghost, then
//!                if |T1| + |B1| = c: drop the LRU entry of B1
//!                else if all four hold 2c: drop the LRU entry of B2
//!            no ghost: to the tail of T1
//!            in B1:    p = min(p + max(1, |B2| / |B1|), c); to the tail of T2
//!            in B2:    p = max(p - max(1, |B1| / |B2|), 0); to the tail of T2
//!            ref = 0 in all cases
//!  replace   if |T1| >= max(1, p), the head of T1, else that of T2:
//!                ref = 0: evicted; to the MRU end of B1 (from T1) or of B2 (from T2)
//!                ref = 1: ref = 0, to the tail of T2, and once more
//! ```
//!
//! Readings.
//! * `p` is a real number, as ARC's; Caffeine divides whole numbers.
//! * A page that comes back from B2 has `ref` = 0 (the figure; a comment in Caffeine says 1, its
//!   code does not). A ghost stays in its list during the replace, and the sizes in the quotients
//!   are those after it.
//!
//! Cost. O(1) amortised; two links per page, resident or ghost, at most `2c` of them.

use crate::info::INTERVAL_FRAMES_ADAPTIVE;
use crate::{Gauge, Info, Setup};
use destage_core::{DeviceView, Directory, List, Lookup, Pages, Plan, Policy, Request, Slot};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "car",
    title: "Clock with Adaptive Replacement",
    source: "Bansal, Modha, FAST 2004",
    about: "ARC's adaptation with CLOCK's cheap hits.",
    ghosts: true,
    time: "O(1) amortised",
    gauges: &[Gauge { name: "p", title: "p: target of T1", unit: "pages" }],
    interval_frames: INTERVAL_FRAMES_ADAPTIVE,
    interval_needs_neighbours: true,
    ..Info::BLANK
};

const T1: u8 = 1;
const T2: u8 = 2;
const B1: u8 = 3;
const B2: u8 = 4;

/// The mark of a resident page: its ref.
const REF: u16 = 1;

/// The policy.
pub struct Car<D> {
    pages: Pages<D>, // every resident page and every ghost; mark = ref
    t1: List,        // the LRU end is the head, under the hand; the MRU end the tail
    t2: List,
    b1: List, // MRU to LRU
    b2: List,
    p: f64,       // target size of T1
    c: u32,       // frames
    forgot: bool, // a page was trimmed
}

impl<D: Directory> Car<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Pages::new(directory, 4);
        Car {
            t1: List::new(&pages, T1),
            t2: List::new(&pages, T2),
            b1: List::new(&pages, B1),
            b2: List::new(&pages, B2),
            pages,
            p: 0.0,
            c: setup.frames,
            forgot: false,
        }
    }

    #[inline(always)]
    fn replace(&mut self, plan: &mut Plan) {
        loop {
            let from_t1 = f64::from(self.t1.len()) >= f64::max(1.0, self.p);
            let (t, b) =
                if from_t1 { (&mut self.t1, &mut self.b1) } else { (&mut self.t2, &mut self.b2) };
            let head = t.pop_lru(&mut self.pages).expect("a full buffer has a page to replace");
            let page = &mut self.pages[head];
            if page.mark != REF {
                let dirty = page.dirty;
                plan.evict(self.pages.page(head), dirty);
                b.push_mru(&mut self.pages, head);
                return;
            }
            page.mark = 0;
            self.t2.push_mru(&mut self.pages, head);
        }
    }

    /// Makes room in the directory for a page that is in no list. Also where a trim has left a
    /// frame free, which the paper does not know: else its bounds would not hold.
    #[inline(always)]
    fn limit_directory(&mut self) {
        let l1 = self.t1.len() + self.b1.len();
        let l2 = self.t2.len() + self.b2.len();
        if l1 == self.c {
            Self::drop_ghost(&mut self.pages, &mut self.b1);
        } else if u64::from(l1) + u64::from(l2) == 2 * u64::from(self.c) {
            Self::drop_ghost(&mut self.pages, &mut self.b2);
        }
    }

    /// Drops the LRU entry of a ghost list.
    #[inline(always)]
    fn drop_ghost(pages: &mut Pages<D>, b: &mut List) {
        let ghost = b.pop_lru(pages).expect("what is dropped is there");
        pages.remove(ghost);
    }
}

impl<D: Directory> Policy for Car<D> {
    /// The page's slot, if it was a ghost.
    type Miss = Option<Slot>;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<Option<Slot>> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(None) };
        let page = &mut self.pages[slot];
        if page.list > T2 {
            return Lookup::Miss(Some(slot));
        }
        page.dirty |= r.op.is_write();
        page.mark = REF;
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, ghost: &mut Option<Slot>, _: &dyn DeviceView, plan: &mut Plan) {
        self.replace(plan);
        if ghost.is_some() {
            return;
        }
        self.limit_directory();
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, ghost: Option<Slot>) -> Slot {
        let slot = if let Some(slot) = ghost {
            let (b1, b2) = (f64::from(self.b1.len()), f64::from(self.b2.len()));
            if self.b1.holds(&self.pages, slot) {
                self.p = f64::min(self.p + f64::max(1.0, b2 / b1), f64::from(self.c));
                self.b1.unlink(&mut self.pages, slot);
            } else {
                self.p = f64::max(self.p - f64::max(1.0, b1 / b2), 0.0);
                self.b2.unlink(&mut self.pages, slot);
            }
            self.t2.push_mru(&mut self.pages, slot);
            slot
        } else {
            if self.forgot {
                self.limit_directory(); // after an eviction there is room in it
            }
            let slot = self.pages.insert(r.page);
            self.t1.push_mru(&mut self.pages, slot);
            slot
        };
        let page = &mut self.pages[slot];
        page.dirty = r.op.is_write();
        page.mark = 0;
        slot
    }

    on_lists! { self.pages: [self.t1, self.t2]; frames: self.c }

    forgets_on_lists! {
        self.pages: [self.t1, self.t2], ghosts: [self.b1, self.b2], note: self.forgot
    }

    shows! {
        self.pages;
        "T1" => self.t1.iter(&self.pages),
        "T2" => self.t2.iter(&self.pages),
        "B1" => self.b1.iter(&self.pages),
        "B2" => self.b2.iter(&self.pages)
    }

    hints! { self.pages: prefetch }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("p", self.p);
    }

    /// The invariants of the paper, section III.
    fn check(&self) {
        for list in [&self.t1, &self.t2, &self.b1, &self.b2] {
            list.check(&self.pages);
        }
        let (c, l1, l2) = (self.c, self.t1.len() + self.b1.len(), self.t2.len() + self.b2.len());
        assert!(self.resident() <= c);
        assert!(l1 <= c, "|T1| + |B1| <= c");
        assert!(u64::from(l1) + u64::from(l2) <= 2 * u64::from(c), "all four hold 2c at most");
        assert!((0.0..=f64::from(c)).contains(&self.p), "0 <= p <= c");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{drive, reads, show, victims};
    use destage_core::Dense;

    fn car(frames: u32) -> Car<Dense> {
        Car::new(&Setup::new(frames), Dense::new(16))
    }

    /// `T1[3/0 4/0] T2[1/0] B1[2] B2[] p=0`: clocks from head to tail, ghosts from MRU to LRU.
    fn lists(p: &Car<Dense>) -> String {
        let clock = |list: &List| {
            let mut entries: Vec<String> =
                list.iter(&p.pages).map(|s| format!("{}/{}", s.0, p.pages[s].mark)).collect();
            entries.reverse();
            show(entries)
        };
        let ghosts = |list: &List| show(list.iter(&p.pages).map(|s| s.0));
        let (t1, t2) = (clock(&p.t1), clock(&p.t2));
        format!("T1[{t1}] T2[{t2}] B1[{}] B2[{}] p={}", ghosts(&p.b1), ghosts(&p.b2), p.p)
    }

    #[test]
    fn a_page_hit_in_t1_passes_to_t2_and_the_first_one_that_was_not_is_evicted() {
        let mut p = car(3);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 1, 3, 4]))), [2]);
        assert_eq!(lists(&p), "T1[3/0 4/0] T2[1/0] B1[2] B2[] p=0");
    }

    #[test]
    fn ghosts_of_t1_raise_the_target_and_ghosts_of_t2_lower_it() {
        let mut p = car(3);
        drive(&mut p, &reads(&[1, 2, 1, 3, 4, 2, 5, 3]));
        assert_eq!(lists(&p), "T1[] T2[1/0 2/0 3/0] B1[5 4] B2[] p=2");
        drive(&mut p, &reads(&[1, 4]));
        assert_eq!(lists(&p), "T1[] T2[3/0 1/0 4/0] B1[5] B2[2] p=3");
        drive(&mut p, &reads(&[2]));
        assert_eq!(lists(&p), "T1[] T2[1/0 4/0 2/0] B1[5] B2[3] p=2");
    }

    #[test]
    fn pages_read_once_leave_no_ghosts_while_t1_holds_all_frames() {
        let mut p = car(3);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 3, 4, 5]))), [1, 2]);
        assert_eq!(lists(&p), "T1[3/0 4/0 5/0] T2[] B1[] B2[] p=0");
    }
}
