//! CASA: clean and dirty pages share the cache; hits, weighted with what they saved, move the
//! border.
//!
//! Ou, Härder. Clean first or dirty first? A cost-aware self-adaptive buffer replacement policy.
//! IDEAS 2010.
//!
//! Rules. LRU lists `C` of the clean pages and `D` of the dirty ones; `tau`, a real number, the
//! wanted size of `C`; `c_R` and `c_W`, the costs of a read and of a write, scaled to a sum of 1.
//!
//! ```text
//!  read hit in C    tau = min(tau + c_R |D| / |C|, s); to the MRU end of C
//!  write hit in D   tau = max(tau - c_W |C| / |D|, 0); to the MRU end of D
//!  other hits       to the MRU end of D
//!  miss             evict from C if |C| > tau, else from D: the LRU page
//!                   a page read to the MRU end of C, a page written to that of D
//! ```
//!
//! Readings. The paper was not available; the rules are those of a public teaching DBMS, compared
//! with two other programs (`docs/spec/further-policies.md`, 3.1).
//!
//! | open | here |
//! |---|---|
//! | `|C| > tau` or `|C| >= tau` | `>`, and the other list if the chosen one is empty |
//! | which hits move tau | read hits in C and write hits in D; one program moves it at every hit |
//! | tau at the start | half the frames, as in the DBMS; `tau_fraction` |
//! | the two costs | any; only their ratio matters. The DBMS has equal ones |
//! | steps | not rounded, tau in 0..s; the two others round, and keep it in 1..s-1 |
//!
//! Cost. O(1); two links per page.

use crate::params::{IfAbsent, Kind, Param};
use crate::{FromRun, Gauge, Info, Setup, Takes};
use destage_core::{DeviceView, Directory, List, Lookup, Pages, Plan, Policy, Request, Slot};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "casa",
    title: "Cost-Aware Self-Adaptive",
    source: "Ou, Härder, IDEAS 2010",
    about: "Clean and dirty pages share the cache; hits weighted by cost move the border.",
    flash_aware: true,
    lru_of_reads: true,
    time: "O(1)",
    params: &[
        Param {
            name: "cost_read",
            symbol: "C_R",
            kind: Kind::Int { min: 1, max: u32::MAX as u64 },
            default: IfAbsent::Int(1),
            unit: "any unit, the same as cost_write",
            about: "Cost of reading a page; only the ratio matters. Default: the run's cost model, \
                    else as for ACR.",
            ..Param::BLANK
        },
        Param {
            name: "cost_write",
            symbol: "C_W",
            kind: Kind::Int { min: 1, max: u32::MAX as u64 },
            default: IfAbsent::Int(118),
            unit: "any unit, the same as cost_read",
            about: "Cost of writing a page; only the ratio matters. Default: the run's cost model, \
                    else as for ACR.",
            ..Param::BLANK
        },
        Param {
            name: "tau_fraction",
            symbol: "tau/s",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: IfAbsent::Real(0.5),
            unit: "of frames",
            about: "Wanted size of the clean list at the start; default of the program read.",
            ..Param::BLANK
        },
    ],
    takes: &[
        Takes { param: "cost_read", from: FromRun::CostRead },
        Takes { param: "cost_write", from: FromRun::CostWrite },
    ],
    gauges: &[Gauge {
        name: "tau_pages",
        title: "tau: wanted size of the clean list",
        unit: "pages",
    }],
    ..Info::BLANK
};

/// The policy.
pub struct Casa<D> {
    pages: Pages<D>, // every resident page
    clean: List,     // C, MRU to LRU, like D
    dirty: List,     // D
    tau: f64,        // wanted size of C
    cost_read: f64,  // c_R
    cost_write: f64, // c_W
    frames: u32,
}

impl<D: Directory> Casa<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let params = &setup.params;
        let cost = |key| params.int(key) as f64; // exact: at most 2^32
        let (read, write) = (cost("cost_read"), cost("cost_write"));
        let pages = Pages::new(directory, 2);
        Casa {
            clean: List::new(&pages, 1),
            dirty: List::new(&pages, 2),
            pages,
            tau: params.real("tau_fraction") * f64::from(setup.frames),
            cost_read: read / (read + write),
            cost_write: write / (read + write),
            frames: setup.frames,
        }
    }

    /// A hit on the list where the page already is for the kind of the access: that list deserves
    /// more room, the more so the shorter it is.
    #[inline(always)]
    fn adapt(&mut self, dirty: bool) {
        let (c, d) = (f64::from(self.clean.len()), f64::from(self.dirty.len()));
        self.tau = if dirty {
            (self.tau - self.cost_write * (c / d)).max(0.0)
        } else {
            (self.tau + self.cost_read * (d / c)).min(f64::from(self.frames))
        };
    }
}

impl<D: Directory> Policy for Casa<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        let write = r.op.is_write();
        let page = &mut self.pages[slot];
        let was_dirty = page.dirty;
        page.dirty |= write;
        if write == was_dirty {
            self.adapt(was_dirty);
        }
        let from = if was_dirty { &mut self.dirty } else { &mut self.clean };
        from.unlink(&mut self.pages, slot);
        let to = if was_dirty || write { &mut self.dirty } else { &mut self.clean };
        to.push_mru(&mut self.pages, slot);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let clean = self.dirty.is_empty() || f64::from(self.clean.len()) > self.tau;
        let clean = clean && !self.clean.is_empty();
        let list = if clean { &mut self.clean } else { &mut self.dirty };
        let victim = list.pop_lru(&mut self.pages).expect("evict is only called on a full buffer");
        let dirty = self.pages[victim].dirty;
        plan.evict(self.pages.remove(victim), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let write = r.op.is_write();
        let slot = self.pages.insert(r.page);
        self.pages[slot].dirty = write;
        let list = if write { &mut self.dirty } else { &mut self.clean };
        list.push_mru(&mut self.pages, slot);
        slot
    }

    on_lists! { self.pages: [self.clean, self.dirty]; frames: self.frames }

    forgets_on_lists! { self.pages: [self.clean, self.dirty] }

    shows! {
        self.pages;
        "clean" => self.clean.iter(&self.pages),
        "dirty" => self.dirty.iter(&self.pages)
    }

    hints! { self.pages: prefetch, prefetch_links }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("tau_pages", self.tau);
    }

    fn check(&self) {
        self.clean.check(&self.pages);
        self.dirty.check(&self.pages);
        assert!(self.resident() <= self.frames);
        assert!(self.clean.iter(&self.pages).all(|slot| !self.pages[slot].dirty));
        assert!(self.dirty.iter(&self.pages).all(|slot| self.pages[slot].dirty));
        assert!((0.0..=f64::from(self.frames)).contains(&self.tau), "0 <= tau <= s");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::{drive, reads, setup, show, victims};
    use destage_core::{Dense, Op::*};

    fn casa(frames: u32, cost_write: i128, tau: f64) -> Casa<Dense> {
        let given = [("cost_write", Value::Int(cost_write)), ("tau_fraction", Value::Real(tau))];
        Casa::new(&setup("casa", frames, &given), Dense::new(16))
    }

    /// `C[1 3] D[4 2] tau=2.5`.
    fn lists(p: &Casa<Dense>) -> String {
        let list = |list: &List| show(list.iter(&p.pages).map(|slot| slot.0));
        format!("C[{}] D[{}] tau={}", list(&p.clean), list(&p.dirty), p.tau)
    }

    #[test]
    fn read_hits_on_clean_pages_and_write_hits_on_dirty_ones_move_the_border() {
        let mut p = casa(4, 3, 0.5);
        drive(&mut p, &[(Read, 1), (Write, 2), (Read, 3), (Write, 4), (Read, 1)]);
        assert_eq!(lists(&p), "C[1 3] D[4 2] tau=2.25");
        drive(&mut p, &[(Write, 4)]);
        assert_eq!(lists(&p), "C[1 3] D[4 2] tau=1.5");
        drive(&mut p, &[(Read, 2), (Write, 3)]);
        assert_eq!(lists(&p), "C[1] D[3 2 4] tau=1.5", "the other hits do not");
    }

    #[test]
    fn the_clean_list_gives_the_victim_while_it_is_longer_than_wanted() {
        let mut p = casa(3, 1, 0.5);
        let accesses = [(Read, 1), (Read, 2), (Write, 3), (Write, 4), (Write, 5)];
        assert_eq!(victims(&drive(&mut p, &accesses)), [1, 3], "|C| was 2, then 1, tau 1.5");
    }

    #[test]
    fn a_list_that_is_empty_leaves_the_victim_to_the_other_one() {
        assert_eq!(victims(&drive(&mut casa(2, 1, 1.0), &reads(&[1, 2, 3]))), [1]);
        let writes = [(Write, 1), (Write, 2), (Write, 3)];
        assert_eq!(victims(&drive(&mut casa(2, 1, 0.0), &writes)), [1]);
    }
}
