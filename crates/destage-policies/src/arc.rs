//! ARC: balance recency and frequency by the hits on two ghost lists.
//!
//! Megiddo, Modha. ARC: a self-tuning, low overhead replacement cache. FAST 2003, figure 4.
//!
//! Rules. LRU lists `T1`, `T2` of resident pages and `B1`, `B2` of ghosts; a target `p` for `T1`,
//! first 0; `c` frames; `L1` is `T1` with `B1`, `L2` is `T2` with `B2`.
//! ```text
//!  REPLACE     if T1 is not empty and (|T1| > p, or the page is in B2 and |T1| = p):
//!              LRU of T1 to the MRU end of B1, else LRU of T2 to the MRU end of B2
//!  case I      hit: to the MRU end of T2
//!  case II     in B1: p = min(c, p + max(|B2| / |B1|, 1)); REPLACE; to the MRU end of T2
//!  case III    in B2: p = max(0, p - max(|B1| / |B2|, 1)); REPLACE; to the MRU end of T2
//!  case IV A   |L1| = c: if |T1| < c, drop the LRU ghost of B1 and REPLACE,
//!              else evict the LRU page of T1 without a ghost
//!  case IV B   |L1| < c and |L1| + |L2| >= c: if that is 2c, drop the LRU ghost of B2; REPLACE
//!              then, in case IV, the page comes in at the MRU end of T1
//! ```
//!
//! Readings. None that change a decision: the ghost of the accessed page stays in its list until it
//! comes in, and no entry is dropped in cases II and III. `p` is a real number (binary64) and is
//! not rounded; the sizes in the quotients still count the page.
//!
//! Cost. O(1); two links per page, resident or ghost, at most `2c` of them.

use crate::elastic::Elastic;
use crate::info::INTERVAL_FRAMES_ADAPTIVE;
use crate::params::Params;
use crate::{Gauge, Info, Setup};
use destage_core::{
    DeviceView, Directory, List, Lookup, Page, Pages, Plan, Policy, Request, Slot, VictimList,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "arc",
    title: "Adaptive Replacement Cache",
    source: "Megiddo, Modha, FAST 2003",
    about: "Balance recency and frequency by the hits on two ghost lists.",
    ghosts: true,
    two_lists: true,
    time: "O(1)",
    gauges: &[Gauge { name: "p", title: "p: target of T1", unit: "pages" }],
    interval_frames: INTERVAL_FRAMES_ADAPTIVE,
    interval_needs_neighbours: true,
    ..Info::BLANK
};

const T1: u8 = 1;
const T2: u8 = 2;
const B1: u8 = 3;
const B2: u8 = 4;

/// Place of a missed page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Miss {
    /// Case II.
    InB1(Slot),
    /// Case III.
    InB2(Slot),
    /// Case IV: in no list.
    New,
}

/// The policy.
pub struct Arc<D> {
    pages: Pages<D>, // every resident page and every ghost
    t1: List,        // MRU to LRU, all four
    t2: List,
    b1: List,
    b2: List,
    p: f64,       // target size of T1
    c: u32,       // frames
    forgot: bool, // a page was trimmed
}

impl<D: Directory> Arc<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Pages::new(directory, 4);
        Arc {
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

    /// REPLACE takes the LRU page of T1.
    #[inline(always)]
    fn is_from_t1(&self, in_b2: bool) -> bool {
        let t1 = f64::from(self.t1.len());
        !self.t1.is_empty() && (t1 > self.p || in_b2 && t1 == self.p)
    }

    #[inline(always)]
    fn replace(&mut self, in_b2: bool, plan: &mut Plan) {
        let from_t1 = self.is_from_t1(in_b2);
        let (t, b) =
            if from_t1 { (&mut self.t1, &mut self.b1) } else { (&mut self.t2, &mut self.b2) };
        let victim = t.pop_lru(&mut self.pages).expect("a full buffer has a page to replace");
        let label = u8::from(!from_t1);
        plan.evict_labelled(self.pages.page(victim), self.pages[victim].dirty, label);
        b.push_mru(&mut self.pages, victim);
    }

    /// Case IV where a trim has left a frame free: L1 may still be full, and loses its
    /// oldest ghost, while REPLACE does nothing. After an eviction there is room in it. The
    /// directory as a whole is not full: there are never more than c ghosts.
    #[cold]
    fn limit_directory(&mut self) {
        if self.t1.len() + self.b1.len() == self.c {
            Self::drop_ghost(&mut self.pages, &mut self.b1);
        }
    }

    /// Drops the LRU entry of a ghost list.
    #[inline(always)]
    fn drop_ghost(pages: &mut Pages<D>, b: &mut List) {
        let ghost = b.pop_lru(pages).expect("what is dropped is there");
        pages.remove(ghost);
    }
}

impl<D: Directory> Elastic for Arc<D> {
    fn resize(&mut self, frames: u32, _: &Params) {
        self.c = frames;
        self.p = self.p.min(f64::from(frames));
        while self.t1.len() + self.b1.len() > frames && !self.b1.is_empty() {
            Self::drop_ghost(&mut self.pages, &mut self.b1);
        }
        while self.b1.len() + self.b2.len() > frames && !self.b2.is_empty() {
            Self::drop_ghost(&mut self.pages, &mut self.b2);
        }
    }

    fn candidate(&self, miss: &Miss) -> Option<Page> {
        let is_all_t1 = *miss == Miss::New && self.t1.len() == self.c;
        let from_t1 = is_all_t1 || self.is_from_t1(matches!(miss, Miss::InB2(_)));
        let list = if from_t1 { &self.t1 } else { &self.t2 };
        Some(self.pages.page(list.lru(&self.pages)?))
    }
}

impl<D: Directory> Policy for Arc<D> {
    type Miss = Miss;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<Miss> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(Miss::New) };
        let page = &mut self.pages[slot];
        if page.list <= T2 {
            page.dirty |= r.op.is_write();
            // Chosen without a branch: nothing predicts which of the two it is.
            let t = if page.list == T1 { &mut self.t1 } else { &mut self.t2 };
            t.unlink(&mut self.pages, slot);
            self.t2.push_mru(&mut self.pages, slot);
            return Lookup::Hit(slot);
        }
        // p moves now rather than with REPLACE: nothing else looks at it in between.
        let (b1, b2) = (f64::from(self.b1.len()), f64::from(self.b2.len()));
        if page.list == B1 {
            let d = if b1 >= b2 { 1.0 } else { b2 / b1 };
            self.p = f64::from(self.c).min(self.p + d);
            Lookup::Miss(Miss::InB1(slot))
        } else {
            let d = if b2 >= b1 { 1.0 } else { b1 / b2 };
            self.p = f64::max(0.0, self.p - d);
            Lookup::Miss(Miss::InB2(slot))
        }
    }

    #[inline(always)]
    fn evict(&mut self, miss: &mut Miss, _: &dyn DeviceView, plan: &mut Plan) {
        match miss {
            Miss::InB1(_) => self.replace(false, plan),
            Miss::InB2(_) => self.replace(true, plan),
            Miss::New => {
                let l1 = self.t1.len() + self.b1.len();
                if l1 == self.c {
                    if self.t1.len() == self.c {
                        let victim = self.t1.pop_lru(&mut self.pages).expect("T1 is full");
                        let dirty = self.pages[victim].dirty;
                        plan.evict(self.pages.remove(victim), dirty);
                        return;
                    }
                    Self::drop_ghost(&mut self.pages, &mut self.b1);
                } else if u64::from(l1) + u64::from(self.t2.len()) + u64::from(self.b2.len())
                    == 2 * u64::from(self.c)
                {
                    Self::drop_ghost(&mut self.pages, &mut self.b2);
                }
                self.replace(false, plan);
            }
        }
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, miss: Miss) -> Slot {
        let (slot, ghost) = match miss {
            Miss::InB1(slot) => (slot, Some(&mut self.b1)),
            Miss::InB2(slot) => (slot, Some(&mut self.b2)),
            Miss::New => {
                if self.forgot {
                    self.limit_directory();
                }
                (self.pages.insert(r.page), None)
            }
        };
        self.pages[slot].dirty = r.op.is_write();
        match ghost {
            Some(b) => {
                b.unlink(&mut self.pages, slot);
                self.t2.push_mru(&mut self.pages, slot);
            }
            None => self.t1.push_mru(&mut self.pages, slot),
        }
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

    /// T1 is the recent list, T2 the frequent one.
    fn show_list(
        &self,
        list: VictimList,
        newest_first: bool,
        show: &mut dyn FnMut(Page, bool) -> bool,
    ) {
        let list = match list {
            VictimList::All => return,
            VictimList::Recent => &self.t1,
            VictimList::Frequent => &self.t2,
        };
        let shown = |slot| show(self.pages.page(slot), self.pages[slot].dirty);
        match newest_first {
            true => list.iter(&self.pages).all(shown),
            false => list.oldest_first(&self.pages).all(shown),
        };
    }

    hints! { self.pages: prefetch, prefetch_links }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("p", self.p);
    }

    /// The invariants of the paper, section III.B, as far as they hold of |L1| and |L2|.
    fn check(&self) {
        for list in [&self.t1, &self.t2, &self.b1, &self.b2] {
            list.check(&self.pages);
        }
        let (c, l1, l2) = (self.c, self.t1.len() + self.b1.len(), self.t2.len() + self.b2.len());
        assert!(self.resident() <= c);
        assert!(l1 <= c, "|L1| <= c");
        assert!(u64::from(l1) + u64::from(l2) <= 2 * u64::from(c), "|L1| + |L2| <= 2c");
        assert!(self.b1.len() + self.b2.len() <= c, "no more ghosts than frames");
        assert!((0.0..=f64::from(c)).contains(&self.p), "0 <= p <= c");
        assert!(
            self.b1.is_empty() && self.b2.is_empty() || self.resident() == c || self.forgot,
            "there are ghosts only of a buffer that was full"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{drive, reads, victims};
    use destage_core::{Dense, Op::*};

    fn arc(frames: u32) -> Arc<Dense> {
        Arc::new(&Setup::new(frames), Dense::new(200))
    }

    /// `T1[3 1] T2[7] B1[] B2[4] p=1`.
    fn lists(a: &Arc<Dense>) -> String {
        let show = |list: &List| {
            list.iter(&a.pages).map(|s| s.0.to_string()).collect::<Vec<_>>().join(" ")
        };
        let (t1, t2, b1, b2) = (show(&a.t1), show(&a.t2), show(&a.b1), show(&a.b2));
        format!("T1[{t1}] T2[{t2}] B1[{b1}] B2[{b2}] p={}", a.p)
    }

    #[test]
    fn a_hit_on_a_ghost_of_t1_makes_room_for_t1() {
        let mut a = arc(3);
        assert_eq!(victims(&drive(&mut a, &reads(&[1, 2, 1, 3, 4]))), [2]);
        assert_eq!(lists(&a), "T1[4 3] T2[1] B1[2] B2[] p=0");
        drive(&mut a, &reads(&[2]));
        assert_eq!(lists(&a), "T1[4] T2[2 1] B1[3] B2[] p=1");
        drive(&mut a, &reads(&[5]));
        assert_eq!(lists(&a), "T1[5 4] T2[2] B1[3] B2[1] p=1");
    }

    #[test]
    fn a_hit_on_a_ghost_of_t2_makes_room_for_t2() {
        let mut a = arc(3);
        drive(&mut a, &reads(&[1, 2, 1, 3, 4, 2, 5, 3]));
        assert_eq!(lists(&a), "T1[5 4] T2[3] B1[] B2[2 1] p=2");
        drive(&mut a, &reads(&[1]));
        assert_eq!(lists(&a), "T1[5] T2[1 3] B1[4] B2[2] p=1", "|T1| = p, but the page was in B2");
    }

    #[test]
    fn the_lists_are_shown_from_either_end_as_far_as_they_are_wanted() {
        let mut a = arc(4);
        drive(&mut a, &[(Write, 1), (Read, 2), (Read, 1), (Read, 2), (Read, 3), (Write, 4)]);
        assert_eq!(lists(&a), "T1[4 3] T2[2 1] B1[] B2[] p=0");
        let shown = |list, newest_first, wanted: usize| {
            let mut pages = Vec::new();
            a.show_list(list, newest_first, &mut |page, dirty| {
                pages.push((page.0, dirty));
                pages.len() < wanted
            });
            pages
        };
        assert_eq!(shown(VictimList::Recent, false, 9), [(3, false), (4, true)]);
        assert_eq!(shown(VictimList::Recent, true, 1), [(4, true)]);
        assert_eq!(shown(VictimList::Frequent, false, 1), [(1, true)]);
        assert_eq!(shown(VictimList::Frequent, true, 9), [(2, false), (1, true)]);
        assert_eq!(shown(VictimList::All, true, 9), []);
    }

    #[test]
    fn pages_read_once_from_the_start_leave_no_ghosts() {
        let mut a = arc(3);
        assert_eq!(victims(&drive(&mut a, &reads(&[1, 2, 3, 4, 5]))), [1, 2]);
        assert_eq!(lists(&a), "T1[5 4 3] T2[] B1[] B2[] p=0");
    }

    #[test]
    fn a_scan_of_new_pages_leaves_p_alone() {
        let mut a = arc(4);
        drive(&mut a, &reads(&[1, 2, 1, 2, 3, 4, 5, 6, 3, 7, 4]));
        let p = a.p;
        assert!(p > 0.0);
        drive(&mut a, &reads(&(100..150).collect::<Vec<_>>()));
        assert_eq!(a.p, p);
    }

    #[test]
    fn p_moves_by_the_quotient_of_the_ghost_lists() {
        let mut a = arc(4);
        drive(&mut a, &reads(&[1, 1, 2, 2, 3, 3, 4, 4, 5, 6]));
        assert_eq!(lists(&a), "T1[6] T2[4 3 2] B1[5] B2[1] p=0");
        drive(&mut a, &reads(&[5]));
        assert_eq!(lists(&a), "T1[6] T2[5 4 3] B1[] B2[2 1] p=1");
        drive(&mut a, &reads(&[7, 8]));
        assert_eq!(lists(&a), "T1[8 7] T2[5 4] B1[6] B2[3 2 1] p=1");
        drive(&mut a, &reads(&[6]));
        assert_eq!(lists(&a), "T1[8 7] T2[6 5] B1[] B2[4 3 2 1] p=4", "|B2| / |B1| = 3");
    }
}
