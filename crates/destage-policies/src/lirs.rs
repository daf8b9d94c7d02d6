//! LIRS: keep pages with a small distance between their last two references.
//!
//! Jiang, Zhang. LIRS: an efficient low inter-reference recency set replacement policy to improve
//! buffer cache performance. SIGMETRICS 2002; also IEEE TC 54(8), 2005.
//!
//! Rules. A resident page is LIR or HIR. Stack `S` holds all LIR pages, some resident HIR pages and
//! ghosts (HIR pages that were evicted); queue `Q` all resident HIR pages. `Llirs + Lhirs` =
//! frames.
//! ```text
//!  pruning        after every access: entries leave the bottom of S until a LIR page is there
//!  demotion       when a page became LIR and there are more than Llirs: the page at the bottom
//!                 of S leaves S, is HIR, and goes to the back of Q
//!  hit, LIR       to the top of S
//!  hit, HIR in S  to the top of S; leaves Q; is LIR; demotion
//!  hit, HIR       pushed on S; to the back of Q; stays HIR
//!  miss           cache full: the front of Q is evicted; if it is in S, it stays there as a ghost
//!                 fewer than Llirs LIR pages: on top of S, LIR
//!                 a ghost: to the top of S; is LIR; demotion
//!                 else: pushed on S, to the back of Q; is HIR
//! ```
//!
//! Readings.
//! * The minimum of `Lhirs` differs between the papers; at least 1 is needed for a victim. With
//!   `Llirs = 0` pruning keeps `S` empty, and `Q` works alone.
//! * The ghosts are unbounded in the paper, and implementations bound them in different ways, which
//!   changes decisions. Unbounded here too, unless `ghost_max` says otherwise; then those nearest
//!   the bottom of `S` go first, after pruning.
//! * Two accesses in a row to one page count as two.
//!
//! State. A page that is in both `S` and `Q` was put on top of the one and at the back of the other
//! by the same access. So pages become ghosts in their order in `S`, and with `ghost_max` a second
//! FIFO names the one nearest the bottom.
//!
//! Cost. O(1) amortised; two links per page of `S`, two words per page of `Q`.

use crate::info::INTERVAL_FRAMES;
use crate::params::{IfAbsent, Kind, Param};
use crate::{Info, Setup};
use destage_core::{
    DeviceView, Directory, List, Lookup, Node, Page, Pages, Places, Plan, Policy, Queue, Request,
    Slot, share,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "lirs",
    title: "Low Inter-reference Recency Set",
    source: "Jiang, Zhang, SIGMETRICS 2002",
    about: "Keep pages with a small distance between their last two references.",
    ghosts: true,
    time: "O(1) amortised",
    params: &[
        Param {
            name: "hir_fraction",
            symbol: "Lhirs/s",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: IfAbsent::Real(0.01),
            unit: "of frames",
            about: "Frames for HIR pages, at least one; default of the paper, section 3.",
            ..Param::BLANK
        },
        Param {
            name: "ghost_max",
            kind: Kind::OptionalInt { min: 0, max: u64::MAX },
            default: IfAbsent::None("unlimited"),
            unit: "pages",
            about: "Ghosts that S may hold; the paper has no limit.",
            ..Param::BLANK
        },
    ],
    interval_frames: INTERVAL_FRAMES,
    ..Info::BLANK
};

// Tag of a page's node: in S (whatever its status), or in Q alone.
const S: u8 = 1;
const Q: u8 = 2;

// Mark of a page: its status.
const LIR: u16 = 0;
const HIR: u16 = 1;
const GHOST: u16 = 2;

/// The policy.
pub struct Lirs<D> {
    pages: Pages<D>, // every resident page and every ghost
    s: List,         // S, top (MRU) to bottom (LRU)
    q: Queue,        // Q, front (oldest) to back
    ghosts: Queue,   // those in S, nearest the bottom first; only kept with ghost_max
    places: Places,  // in Q, or among the ghosts
    lirs: u32,       // LIR pages
    llirs: u32,      // Llirs
    ghost_max: Option<u64>,
    frames: u32,
}

impl<D: Directory> Lirs<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let frames = setup.frames;
        let lhirs = share(setup.params.real("hir_fraction"), frames).clamp(1, frames);
        let pages = Pages::new(directory, 1);
        Lirs {
            s: List::new(&pages, S),
            q: Queue::new(),
            ghosts: Queue::new(),
            places: Places::new(&pages),
            pages,
            lirs: 0,
            llirs: frames - lhirs,
            ghost_max: setup.params.optional_int("ghost_max"),
            frames,
        }
    }

    /// A page has just become LIR: if it is one too many, the page at the bottom of S, a LIR page,
    /// becomes HIR. Only trims leave room for another.
    #[inline(always)]
    fn demote(&mut self) {
        if self.lirs < self.llirs {
            self.lirs += 1;
            return;
        }
        let bottom = self.s.pop_lru(&mut self.pages).expect("S holds all LIR pages");
        self.pages[bottom].list = Q;
        self.pages[bottom].mark = HIR;
        self.q.push(bottom, &mut self.places);
    }

    /// Takes what is below the lowest LIR page off S.
    #[inline(always)]
    fn prune(&mut self) {
        while let Some(bottom) = self.s.lru(&self.pages)
            && self.pages[bottom].mark != LIR
        {
            self.s.unlink(&mut self.pages, bottom);
            if self.pages[bottom].mark == HIR {
                self.pages[bottom].list = Q;
            } else {
                if self.ghost_max.is_some() {
                    self.ghosts.take(bottom, &self.places);
                }
                self.pages.remove(bottom);
            }
        }
    }

    /// Takes ghosts off S, the one nearest the bottom first, until no more than `ghost_max` are
    /// left.
    #[inline(always)]
    fn limit_ghosts(&mut self) {
        let Some(most) = self.ghost_max else { return };
        while u64::from(self.ghosts.len()) > most {
            let lowest = self.ghosts.pop().expect("there are more ghosts than none");
            self.s.unlink(&mut self.pages, lowest);
            self.pages.remove(lowest);
        }
    }
}

impl<D: Directory> Policy for Lirs<D> {
    /// The page's place in S, if it was a ghost.
    type Miss = Option<Slot>;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<Option<Slot>> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(None) };
        let page = &mut self.pages[slot];
        if page.mark == GHOST {
            return Lookup::Miss(Some(slot));
        }
        page.dirty |= r.op.is_write();
        if page.list == S {
            let hir = page.mark == HIR;
            page.mark = LIR;
            self.s.touch(&mut self.pages, slot);
            if hir {
                self.q.take(slot, &self.places);
                self.demote();
            }
            self.prune();
        } else {
            self.q.take(slot, &self.places);
            self.q.push(slot, &mut self.places);
            self.s.push_mru(&mut self.pages, slot);
            self.prune(); // of an S without LIR pages
        }
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, _: &mut Option<Slot>, _: &dyn DeviceView, plan: &mut Plan) {
        let victim = self.q.pop().expect("a full buffer has a HIR page");
        plan.evict(self.pages.page(victim), self.pages[victim].dirty);
        if self.pages[victim].list != S {
            self.pages.remove(victim);
            return;
        }
        self.pages[victim].mark = GHOST;
        if self.ghost_max.is_some() {
            self.ghosts.push(victim, &mut self.places);
        }
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, ghost: Option<Slot>) -> Slot {
        let slot = if let Some(slot) = ghost {
            if self.ghost_max.is_some() {
                self.ghosts.take(slot, &self.places);
            }
            self.pages[slot].mark = LIR;
            self.s.touch(&mut self.pages, slot);
            self.demote();
            slot
        } else {
            let slot = self.pages.insert(r.page);
            self.s.push_mru(&mut self.pages, slot);
            if self.lirs < self.llirs {
                self.pages[slot].mark = LIR;
                self.lirs += 1;
            } else {
                self.pages[slot].mark = HIR;
                self.q.push(slot, &mut self.places);
            }
            slot
        };
        self.pages[slot].dirty = r.op.is_write();
        self.prune();
        self.limit_ghosts();
        slot
    }

    counted! { self: self.lirs + self.q.len(), of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        let lirs = self.s.iter(&self.pages).filter(|&slot| self.pages[slot].mark == LIR);
        for slot in lirs.chain(self.q.iter()) {
            visit(self.pages.page(slot), self.pages[slot].dirty);
        }
    }

    /// S is pruned at the next access, as after every one.
    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty;
        let Node { list, mark, .. } = self.pages[slot];
        if list == S {
            self.s.unlink(&mut self.pages, slot);
        }
        match mark {
            LIR => self.lirs -= 1,
            HIR => self.q.take(slot, &self.places),
            _ if self.ghost_max.is_some() => self.ghosts.take(slot, &self.places),
            _ => {}
        }
        self.pages.remove(slot);
        (mark != GHOST).then_some(dirty)
    }

    shows! { self.pages; "S" => self.s.iter(&self.pages), "Q" => self.q.iter().rev() }

    hints! { self.pages: prefetch, prefetch_links; beside: self.places }

    fn check(&self) {
        assert!(self.resident() <= self.frames);
        assert!(self.lirs <= self.llirs);
        self.s.check(&self.pages);
        self.q.check(&self.places);
        let bottom = self.s.lru(&self.pages);
        assert!(
            bottom.is_none_or(|b| self.pages[b].mark == LIR) || self.lirs < self.llirs,
            "a LIR page is at the bottom, unless one was trimmed there"
        );
        let with =
            |mark: u16| self.s.iter(&self.pages).filter(move |&s| self.pages[s].mark == mark);
        assert_eq!(with(LIR).count(), self.lirs as usize, "all LIR pages are in S");
        let mut both: Vec<Slot> = with(HIR).collect();
        both.reverse();
        let in_q: Vec<Slot> = self.q.iter().filter(|&s| self.pages[s].list == S).collect();
        assert_eq!(both, in_q, "HIR pages of S are in Q, in the same order");
        assert!(self.q.iter().all(|s| self.pages[s].mark == HIR), "Q holds HIR pages");
        if let Some(most) = self.ghost_max {
            let mut ghosts: Vec<Slot> = with(GHOST).collect();
            ghosts.reverse();
            assert!(self.ghosts.iter().eq(ghosts), "ghosts are known in their order in S");
            assert!(u64::from(self.ghosts.len()) <= most);
            self.ghosts.check(&self.places);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_params;
    use crate::params::Value;
    use crate::testing::{drive, reads, victims};
    use destage_core::Dense;

    fn lirs(frames: u32, hir: f64, ghost_max: Value) -> Lirs<Dense> {
        let hir = Value::Real(hir);
        let given = [("hir_fraction", &hir), ("ghost_max", &ghost_max)];
        let params = check_params("lirs", given).unwrap();
        Lirs::new(&Setup { params, ..Setup::new(frames) }, Dense::new(16))
    }

    /// `S[4L 5G 3L] Q[1]`: S from the top, Q from the front.
    fn lists(p: &Lirs<Dense>) -> String {
        let status = ["L", "H", "G"];
        let s: Vec<String> =
            p.s.iter(&p.pages)
                .map(|s| format!("{}{}", s.0, status[usize::from(p.pages[s].mark)]))
                .collect();
        let q: Vec<String> = p.q.iter().map(|s| s.0.to_string()).collect();
        format!("S[{}] Q[{}]", s.join(" "), q.join(" "))
    }

    #[test]
    fn a_hir_page_hit_in_s_becomes_lir_and_the_lowest_lir_page_hir() {
        let mut p = lirs(4, 0.25, Value::None);
        drive(&mut p, &reads(&[1, 2, 3, 4]));
        assert_eq!(lists(&p), "S[4H 3L 2L 1L] Q[4]");
        drive(&mut p, &reads(&[4]));
        assert_eq!(lists(&p), "S[4L 3L 2L] Q[1]");
    }

    #[test]
    fn an_evicted_hir_page_of_s_stays_as_a_ghost_and_comes_back_as_lir() {
        let mut p = lirs(4, 0.25, Value::None);
        let steps = drive(&mut p, &reads(&[1, 2, 3, 4, 4, 5, 4, 6]));
        assert_eq!(victims(&steps), [1, 5]);
        assert_eq!(lists(&p), "S[6H 4L 5G 3L 2L] Q[6]");
        assert_eq!(victims(&drive(&mut p, &reads(&[5]))), [6]);
        assert_eq!(lists(&p), "S[5L 6G 4L 3L] Q[2]");
    }

    #[test]
    fn pruning_takes_ghosts_and_hir_pages_below_the_lowest_lir_page() {
        let mut p = lirs(5, 0.4, Value::None);
        drive(&mut p, &reads(&[1, 2, 3, 4, 5, 6]));
        assert_eq!(lists(&p), "S[6H 5H 4G 3L 2L 1L] Q[5 6]");
        drive(&mut p, &reads(&[1, 2, 3]));
        assert_eq!(lists(&p), "S[3L 2L 1L] Q[5 6]");
    }

    #[test]
    fn a_hit_on_a_hir_page_outside_s_puts_it_on_s_and_at_the_back_of_q() {
        let mut p = lirs(5, 0.4, Value::None);
        drive(&mut p, &reads(&[1, 2, 3, 4, 5, 1, 2, 3, 4]));
        assert_eq!(lists(&p), "S[4H 3L 2L 1L] Q[5 4]");
    }

    #[test]
    fn with_ghost_max_the_ghost_nearest_the_bottom_goes() {
        let mut p = lirs(3, 0.34, Value::Int(1));
        drive(&mut p, &reads(&[1, 2, 3, 4]));
        assert_eq!(lists(&p), "S[4H 3G 2L 1L] Q[4]");
        drive(&mut p, &reads(&[5]));
        assert_eq!(lists(&p), "S[5H 4G 2L 1L] Q[5]");
        drive(&mut p, &reads(&[4]));
        assert_eq!(lists(&p), "S[4L 5G 2L] Q[1]");
    }

    #[test]
    fn with_one_frame_s_is_empty() {
        let mut p = lirs(1, 0.01, Value::None);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 1, 2]))), [1]);
        assert_eq!(lists(&p), "S[] Q[2]");
    }
}
