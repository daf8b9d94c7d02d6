//! ACR: clean and dirty pages share the frames by what each side has cost lately.
//!
//! Tang, Meng. ACR: an adaptive cost-aware buffer replacement algorithm for flash storage devices.
//! Section III, formulas 1-7, Algorithm 1. Three policies, which differ in the cost formula only:
//! `acr-c` (conservative), `acr-o` (optimistic), `acr-h` (hybrid).
//!
//! State. `L_C` holds the clean pages, `L_D` the dirty ones; each is a top part (T, MRU side) and a
//! bottom part (B, LRU side) with a wanted length `delta` of the bottom, and each has a ghost list
//! (H) of pages that left it without ever being hit; both ghost lists together have at most `G`.
//!
//! ```text
//!        MRU                      LRU
//!   L_C   L_CT ────▶│ L_CB (delta_C) ──▶ L_CH ┐
//!                                             ├ at most G
//!   L_D   L_DT ────▶│ L_DB (delta_D) ──▶ L_DH ┘
//! ```
//!
//! Case I, a hit. In a bottom part: its `delta` - 1. A page of `L_C` goes to the MRU end of `L_CT`
//! if read and of `L_DB` if written, one of `L_D` to that of `L_DT`. Adjust.
//! Case II, a miss on a ghost of `L_CH` (`L_DH`): evict; `delta_C` (`delta_D`) + 1, at most the
//! list; the page goes to the MRU end of `L_CT` if read, `L_DT` if written. Adjust.
//! Case III, any other miss: evict if full; the page goes to the MRU end of `L_CB` or `L_DB`.
//! Adjust.
//! Evict. `beta = C_LC / (C_LC + C_LD)`; the victim is the LRU page of `L_D` if `|L_C| < beta s`,
//! else that of `L_C`. If it was never hit it becomes a ghost of its list.
//! Adjust. Once the buffer is full, pages move between T and B until each B has its `delta`.
//!
//! Costs, over the last `m` accesses: `R` counts operations on a list, `M` physical ones.
//!
//! ```text
//!            C_LC                             C_LD
//!   acr-c    M_LC C_r, or C_r if 0            M_LD (C_w + C_r), or C_w if M_LD = 0
//!   acr-o    R_LC C_r                         R_LD (C_w + C_r)
//!   acr-h    (R_LC (1 - s/n) + M_LC) C_r      (R_LD (1 - s/n) + M_LD) (C_w + C_r)
//! ```
//!
//! Readings. Where the paper is open, silent or wrong, and what is done here:
//!
//! | paper | here |
//! |---|---|
//! | Case II never removes the page from its ghost list | removed before the eviction, which could drop this very entry (III.A: ghosts are not in the buffer) |
//! | the victim is the LRU page of a bottom part, which may be empty | then of the top part: the LRU page of the whole list (III.B) |
//! | the list that must give the victim may be empty (beta = 0) | the other one gives it, and counts as the list chosen |
//! | ghosts full, but the list to delete from is empty | delete from the other one |
//! | beta "over the recent s/2 requests", but plain counters in the listing | a sliding window of m accesses before the current one (III.B) |
//! | 0/0 in formulas 4-7 | C_r and C_w, which formulas 2 and 3 use for "nothing seen yet" |
//! | R counts reads of `L_C` and writes of `L_D` (III.B.2), or all operations on the list (Algorithm 1, table I) | `logical_operations`: `all`, or `own` as III.B.2 has it |
//! | a hit page goes to a top part (III.C), a written clean one to `L_DB` (line 5) | line 5 |
//! | a write miss fetches the page, but no M counts it (lines 13, 18) | not counted |
//! | Adjust cannot reach `delta` when the list is shorter | as far as possible, then `delta = |B|` (table I; else line 10 could shrink it) |
//! | `delta` grows "in the beginning stage" (III.C), but line 1 of Adjust asks after the insertion | the listing: the page that fills the buffer already moves to the top |
//! | s/2 for odd s | rounded up; m is at least 1 |
//! | n, "the number of pages in a file" | a parameter; default: the distinct pages of the trace; s > n counts as s = n |
//!
//! Cost. O(1): running sums over the window, and Adjust moves a constant number of pages.

mod cost;
#[cfg(test)]
mod tests;

use crate::params::{IfAbsent, Kind, Param, ParamError};
use crate::{BuildError, FromRun, Gauge, Info, Setup, Takes};
use cost::{Costs, Scheme, counted};
use destage_core::{
    DeviceView, Directory, List, Lookup, Page, Pages, Plan, Policy, Request, Slot, share,
};

const COST_READ: Param = Param {
    name: "cost_read",
    symbol: "C_r",
    kind: Kind::Int { min: 1, max: u32::MAX as u64 },
    default: IfAbsent::Int(1),
    unit: "any unit, the same as cost_write",
    about: "Cost of reading a page; only the ratio matters. Default: the run's cost model, else \
            the paper's first device.",
    ..Param::BLANK
};
const COST_WRITE: Param = Param {
    name: "cost_write",
    symbol: "C_w",
    default: IfAbsent::Int(118),
    unit: "any unit, the same as cost_read",
    about: "Cost of writing a page at random; only the ratio matters. Default: the run's cost \
            model, else the paper's first device (its second is 1:2).",
    ..COST_READ
};
const GHOST_FRACTION: Param = Param {
    name: "ghost_fraction",
    symbol: "|L_CH u L_DH|/s",
    kind: Kind::Real { min: 0.0, max: 16.0 },
    default: IfAbsent::Real(0.5),
    unit: "of frames",
    about: "Ghosts of both lists together. Default: the paper's experiments (III.A).",
    ..Param::BLANK
};
const WINDOW_FRACTION: Param = Param {
    name: "window_fraction",
    symbol: "m/s",
    kind: Kind::Real { min: 0.0, max: 16.0 },
    default: IfAbsent::Real(0.5),
    unit: "of frames",
    about: "Accesses over which costs are counted, at least one. Default: the paper's experiments \
            (III.B).",
    ..Param::BLANK
};
const FILE_PAGES: Param = Param {
    name: "file_pages",
    symbol: "n",
    kind: Kind::OptionalInt { min: 1, max: u64::MAX },
    default: IfAbsent::None("distinct pages of the trace"),
    unit: "pages",
    about: "Pages of the file: an operation is physical with probability 1 - s/n (III.B.3).",
    ..Param::BLANK
};

const LOGICAL_OPERATIONS: Param = Param {
    name: "logical_operations",
    symbol: "R",
    kind: Kind::Choice(&["all", "own"]),
    default: IfAbsent::Word("all"),
    about: "Logical operations that count: all on a list (Algorithm 1), or reads of clean and \
            writes of dirty pages alone (III.B.2). Default: the listing.",
    ..Param::BLANK
};

const SOURCE: &str = "Tang, Meng. ACR: an adaptive cost-aware buffer replacement algorithm for \
                      flash storage devices. Mobile Data Management, 2010, section III";

/// Catalogue entry of the conservative scheme.
pub static CONSERVATIVE: Info = Info {
    name: "acr-c",
    title: "Adaptive Cost-aware Replacement, conservative",
    source: SOURCE,
    about: "Clean and dirty pages share the frames by their physical operations.",
    flash_aware: true,
    ghosts: true,
    time: "O(1)",
    params: &[COST_READ, COST_WRITE, GHOST_FRACTION, WINDOW_FRACTION],
    takes: &[
        Takes { param: COST_READ.name, from: FromRun::CostRead },
        Takes { param: COST_WRITE.name, from: FromRun::CostWrite },
    ],
    gauges: &[
        Gauge { name: "beta", title: "beta: share of the clean list", unit: "" },
        Gauge { name: "delta_c", title: "delta_C", unit: "pages" },
        Gauge { name: "delta_d", title: "delta_D", unit: "pages" },
    ],
    ..Info::BLANK
};

/// Catalogue entry of the optimistic scheme.
pub static OPTIMISTIC: Info = Info {
    name: "acr-o",
    title: "Adaptive Cost-aware Replacement, optimistic",
    about: "Clean and dirty pages share the frames by their logical operations.",
    params: &[COST_READ, COST_WRITE, GHOST_FRACTION, WINDOW_FRACTION, LOGICAL_OPERATIONS],
    ..CONSERVATIVE
};

/// Catalogue entry of the hybrid scheme.
pub static HYBRID: Info = Info {
    name: "acr-h",
    title: "Adaptive Cost-aware Replacement, hybrid",
    about: "Clean and dirty pages share the frames by their physical and logical operations.",
    params: &[
        COST_READ,
        COST_WRITE,
        GHOST_FRACTION,
        WINDOW_FRACTION,
        FILE_PAGES,
        LOGICAL_OPERATIONS,
    ],
    ..CONSERVATIVE
};

/// L_C or L_D: its parts, MRU to LRU, and its ghosts.
struct Side {
    top: List,    // L_CT, L_DT
    bottom: List, // L_CB, L_DB
    ghosts: List, // L_CH, L_DH
    delta: u32,   // wanted length of the bottom
}

impl Side {
    #[inline(always)]
    fn len(&self) -> u32 {
        self.top.len() + self.bottom.len()
    }

    /// Takes a page that is hit off the side.
    #[inline(always)]
    fn unlink<D: Directory>(&mut self, pages: &mut Pages<D>, slot: Slot) {
        if self.bottom.holds(pages, slot) {
            self.delta = self.delta.saturating_sub(1);
            self.bottom.unlink(pages, slot);
        } else {
            self.top.unlink(pages, slot);
        }
    }

    /// Moves the border until the bottom has its wanted length, or the top is empty.
    #[inline(always)]
    fn adjust<D: Directory>(&mut self, pages: &mut Pages<D>) {
        while self.bottom.len() > self.delta {
            let border = self.bottom.mru(pages).expect("a list longer than delta has a page");
            self.bottom.unlink(pages, border);
            self.top.push_lru(pages, border);
        }
        while self.bottom.len() < self.delta
            && let Some(border) = self.top.pop_lru(pages)
        {
            self.bottom.push_mru(pages, border);
        }
    }
}

/// Ghost list in which the look-up found a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ghost {
    /// Nowhere: Case III.
    No,
    /// In L_CH: Case II.
    Clean,
    /// In L_DH: Case II.
    Dirty,
}

/// State of a miss: its counts go into one record, at the admission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Miss {
    ghost: Ghost,
    evicted: u8, // what its evictions count in: M_LD or nothing
}

impl Miss {
    fn of(ghost: Ghost) -> Self {
        Miss { ghost, evicted: 0 }
    }
}

const CT: u8 = 1;
const CB: u8 = 2;
const DT: u8 = 3;
const DB: u8 = 4;
const CH: u8 = 5;
const DH: u8 = 6;

/// The policy. A node's `mark` is 1 if the page's *hit* counter is above 0: no more is asked of it.
pub struct Acr<D> {
    pages: Pages<D>,  // every resident page and every ghost
    c: Side,          // L_C and L_CH
    d: Side,          // L_D and L_DH
    ghosts: u32,      // G, most ghosts of both lists
    foreign: [u8; 2], // what a write of L_C and a read of L_D count in
    costs: Costs,     // of the last m accesses
    frames: u32,      // s
}

impl<D: Directory> Acr<D> {
    /// `acr-c`. Never an error.
    pub fn conservative(setup: &Setup, directory: D) -> Result<Self, BuildError> {
        Ok(Acr::new(setup, directory, Scheme::Conservative))
    }

    /// `acr-o`. Never an error.
    pub fn optimistic(setup: &Setup, directory: D) -> Result<Self, BuildError> {
        Ok(Acr::new(setup, directory, Scheme::Optimistic))
    }

    /// `acr-h`. An error if neither `file_pages` nor `setup.trace_pages` is known.
    pub fn hybrid(setup: &Setup, directory: D) -> Result<Self, BuildError> {
        let given = setup.params.optional_int(FILE_PAGES.name);
        let file_pages = given.or(setup.trace_pages).ok_or_else(|| {
            ParamError(format!(
                "acr-h: file_pages = none: expected {}, pages, where no trace tells them",
                Kind::Int { min: 1, max: u64::MAX }
            ))
        })?;
        Ok(Acr::new(setup, directory, Scheme::Hybrid { file_pages }))
    }

    fn new(setup: &Setup, directory: D, scheme: Scheme) -> Self {
        let pages = Pages::new(directory, 6);
        let side = |top, bottom, ghosts| Side {
            top: List::new(&pages, top),
            bottom: List::new(&pages, bottom),
            ghosts: List::new(&pages, ghosts),
            delta: 0,
        };
        // acr-c weighs no logical operation, and has no such parameter.
        let own = !matches!(scheme, Scheme::Conservative)
            && setup.params.word(LOGICAL_OPERATIONS.name) == "own";
        let foreign = if own { [0, 0] } else { [counted::R_LC, counted::R_LD] };
        let share = |param: Param| share(setup.params.real(param.name), setup.frames);
        Acr {
            c: side(CT, CB, CH),
            d: side(DT, DB, DH),
            pages,
            ghosts: share(GHOST_FRACTION),
            foreign,
            costs: Costs::new(
                scheme,
                share(WINDOW_FRACTION),
                setup.params.int(COST_READ.name),
                setup.params.int(COST_WRITE.name),
                setup.frames,
            ),
            frames: setup.frames,
        }
    }

    #[inline(always)]
    fn adjust(&mut self) {
        if self.resident() == self.frames {
            self.c.adjust(&mut self.pages);
            self.d.adjust(&mut self.pages);
        }
        self.c.delta = self.c.bottom.len();
        self.d.delta = self.d.bottom.len();
    }
}

impl<D: Directory> Policy for Acr<D> {
    type Miss = Miss;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<Miss> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(Miss::of(Ghost::No)) };
        let write = r.op.is_write();
        match self.pages[slot].list {
            CT | CB => {
                self.c.unlink(&mut self.pages, slot);
                let node = &mut self.pages[slot];
                if write {
                    node.dirty = true;
                    node.mark = 0;
                    self.d.bottom.push_mru(&mut self.pages, slot);
                } else {
                    node.mark = 1;
                    self.c.top.push_mru(&mut self.pages, slot);
                }
                self.costs.push(if write { self.foreign[0] } else { counted::R_LC });
            }
            DT | DB => {
                self.d.unlink(&mut self.pages, slot);
                self.pages[slot].mark = 1;
                self.d.top.push_mru(&mut self.pages, slot);
                self.costs.push(if write { counted::R_LD } else { self.foreign[1] });
            }
            CH => {
                self.c.ghosts.unlink(&mut self.pages, slot);
                self.pages.remove(slot);
                return Lookup::Miss(Miss::of(Ghost::Clean));
            }
            _ => {
                self.d.ghosts.unlink(&mut self.pages, slot);
                self.pages.remove(slot);
                return Lookup::Miss(Miss::of(Ghost::Dirty));
            }
        }
        self.adjust();
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, miss: &mut Miss, _: &dyn DeviceView, plan: &mut Plan) {
        let from_d = match (self.c.len(), self.d.len()) {
            (0, _) => true,
            (_, 0) => false,
            (l_c, _) => self.costs.l_d_is_too_long(l_c),
        };
        let (own, other) = if from_d {
            miss.evicted = counted::M_LD;
            (&mut self.d, &mut self.c)
        } else {
            (&mut self.c, &mut self.d)
        };
        let q = own
            .bottom
            .pop_lru(&mut self.pages)
            .or_else(|| own.top.pop_lru(&mut self.pages))
            .expect("evict is only called on a full buffer");
        plan.evict(self.pages.page(q), from_d);
        if self.pages[q].mark != 0 || self.ghosts == 0 {
            self.pages.remove(q);
            return;
        }
        if own.ghosts.len() + other.ghosts.len() == self.ghosts {
            let oldest = own
                .ghosts
                .pop_lru(&mut self.pages)
                .or_else(|| other.ghosts.pop_lru(&mut self.pages))
                .expect("G > 0 ghosts");
            self.pages.remove(oldest);
        }
        own.ghosts.push_mru(&mut self.pages, q);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, miss: Miss) -> Slot {
        match miss.ghost {
            Ghost::No => {}
            Ghost::Clean => self.c.delta = self.c.len().min(self.c.delta + 1),
            Ghost::Dirty => self.d.delta = self.d.len().min(self.d.delta + 1),
        }
        let slot = self.pages.insert(r.page);
        let write = r.op.is_write();
        self.pages[slot].dirty = write;
        let side = if write { &mut self.d } else { &mut self.c };
        let list = if miss.ghost == Ghost::No { &mut side.bottom } else { &mut side.top };
        list.push_mru(&mut self.pages, slot);
        let counted = if write { counted::R_LD } else { counted::R_LC | counted::M_LC };
        self.costs.push(counted | miss.evicted);
        self.adjust();
        slot
    }

    on_lists! {
        self.pages: [self.c.top, self.c.bottom, self.d.top, self.d.bottom]; frames: self.frames
    }

    /// The wanted lengths of the bottoms stay, until the next access sets them again.
    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty;
        let list = match self.pages[slot].list {
            CT => &mut self.c.top,
            CB => &mut self.c.bottom,
            DT => &mut self.d.top,
            DB => &mut self.d.bottom,
            CH => &mut self.c.ghosts,
            _ => &mut self.d.ghosts,
        };
        list.unlink(&mut self.pages, slot);
        let resident = list.tag() <= DB;
        self.pages.remove(slot);
        resident.then_some(dirty)
    }

    shows! {
        self.pages;
        "CT" => self.c.top.iter(&self.pages),
        "CB" => self.c.bottom.iter(&self.pages),
        "CH" => self.c.ghosts.iter(&self.pages),
        "DT" => self.d.top.iter(&self.pages),
        "DB" => self.d.bottom.iter(&self.pages),
        "DH" => self.d.ghosts.iter(&self.pages)
    }

    hints! { self.pages: prefetch, prefetch_links }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("beta", self.costs.beta());
        show("delta_c", self.c.delta.into());
        show("delta_d", self.d.delta.into());
    }

    fn check(&self) {
        for (side, dirty) in [(&self.c, false), (&self.d, true)] {
            for list in [&side.top, &side.bottom] {
                list.check(&self.pages);
                assert!(
                    list.iter(&self.pages).all(|slot| self.pages[slot].dirty == dirty),
                    "L_C holds clean pages, L_D dirty ones"
                );
            }
            side.ghosts.check(&self.pages);
            assert!(
                side.delta == side.bottom.len()
                    || side.delta > side.bottom.len() && self.resident() < self.frames,
                "delta is the length of the bottom, or what it was before a trim"
            );
        }
        assert!(self.c.ghosts.len() + self.d.ghosts.len() <= self.ghosts);
        assert!(self.resident() <= self.frames);
        self.costs.check();
    }
}
