//! LRU-K: evict the page whose K-th last (uncorrelated) reference is oldest.
//!
//! O'Neil, O'Neil, Weikum. The LRU-K page replacement algorithm for database disk buffering. SIGMOD
//! 1993, section 2 and figure 2.1.
//!
//! Rules. Per page, resident or remembered: `HIST(1..K)`, times of its last K uncorrelated
//! references, newest first, 0 = never; `LAST`, time of its last reference of any kind. `t` is the
//! number of the access, from 1.
//! ```text
//!  hit    if t - LAST > CRP (a new uncorrelated reference): c = LAST - HIST(1);
//!         HIST(i) = HIST(i-1) + c for i = K..2; HIST(1) = t.     In any case LAST = t
//!  miss   cache full: of the pages with t - LAST > CRP the one with the smallest HIST(K) is
//!         evicted; its history is kept
//!         then: HIST(i) = HIST(i-1) for i = K..2 if there is a history and t - LAST <= RIP,
//!         else 0; HIST(1) = LAST = t
//! ```
//!
//! Readings.
//! * Among pages with equal `HIST(K)`, above all those with fewer than K references, the paper
//!   leaves the choice to a "subsidiary policy": LRU on `LAST`. Times are unique, so the order is
//!   total.
//! * If every resident page is inside its correlated period, the period is ignored.
//! * Old histories are purged by a daemon in the paper. The rule above does the same whenever the
//!   purge happens; here, where slots are scarce, whenever the histories have doubled. `RIP = 0` is
//!   no memory of evicted pages.
//! * `HIST(i)` of an unused slot stays 0, without the correlation term (matters for K >= 3).
//!
//! State. A page's key is (`HIST(K)`, `LAST`); both only grow. Without a correlated period a time
//! is that of one access, hence of one page, and two calendars keep the order: pages with fewer
//! than K references by `LAST`, which go first, and the others by `HIST(K)`. With a correlated
//! period the pages inside it are on a list in the order of `LAST` and in a heap, the others in
//! another heap. A calendar or a heap may hold an old key until it comes to the top: a hit then
//! costs nothing.
//!
//! Cost. O(1) amortised without a correlated period but for what returns with an old history; with
//! one O(log s) per eviction and per hit. K + 1 times per remembered page.

mod calendar;
mod check;
mod heap;

use crate::params::{IfAbsent, Kind, Param};
use crate::{Info, Setup};
use calendar::Calendar;
use destage_core::pages::prefetch;
use destage_core::{
    DeviceView, Directory, List, Lookup, Page, Pages, Places, Plan, Policy, Request, Slot,
};
use heap::Heap;

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "lru-k",
    title: "LRU-K",
    source: "O'Neil, O'Neil, Weikum, SIGMOD 1993",
    about: "Evict the page whose K-th last uncorrelated reference is oldest.",
    ghosts: true,
    time: "O(log s)",
    params: &[
        Param {
            name: "k",
            symbol: "K",
            kind: Kind::Int { min: 1, max: 16 },
            default: IfAbsent::Int(2),
            unit: "references",
            about: "Reference to rank by, counted from the last; the paper recommends 2.",
            ..Param::BLANK
        },
        Param {
            name: "correlated_period",
            symbol: "CRP",
            kind: Kind::Int { min: 0, max: u64::MAX },
            default: IfAbsent::Int(0),
            unit: "accesses",
            about: "References that close together count as one; the paper has no default, 0 is \
                    ours.",
            ..Param::BLANK
        },
        Param {
            name: "retained_period",
            symbol: "RIP",
            kind: Kind::OptionalInt { min: 0, max: u64::MAX },
            default: IfAbsent::None("unlimited"),
            unit: "accesses",
            about: "Time for which the history of an evicted page is kept; the default is ours.",
            ..Param::BLANK
        },
    ],
    ..Info::BLANK
};

// Where a page is: the tag of its node. Only the pages of the correlated period are on a list.
const CORRELATED: u8 = 1;
const RIPE: u8 = 2;
const HISTORY: u8 = 3;

/// Order of the heaps: `HIST(K)`, then `LAST`.
type Key = (u64, u64);

/// The policy.
pub struct LruK<D> {
    pages: Pages<D>,       // every page with a history
    times: Vec<u64>,       // per slot LAST, HIST(1), .. HIST(K)
    few: Calendar,         // CRP = 0: resident pages with HIST(K) = 0 when filed, by LAST
    many: Calendar,        // CRP = 0: the others, by HIST(K)
    ripe: Heap,            // CRP > 0: resident pages outside their correlated period
    correlated: List,      // CRP > 0: those inside, by LAST
    correlated_heap: Heap, // the same
    places: Places,        // of resident pages in their heap
    resident: u32,
    k: usize,
    crp: u64,
    rip: Option<u64>,
    t: u64,               // accesses so far: the time of the current one
    histories: usize,     // of pages that are not resident
    histories_max: usize, // that many set off a purge
    frames: u32,
}

impl<D: Directory> LruK<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let k = setup.params.int("k") as usize; // 1..=16
        let pages = Pages::new(directory, 1);
        LruK {
            times: vec![0; pages.slots() * (k + 1)],
            few: Calendar::new(setup.frames),
            many: Calendar::new(setup.frames),
            ripe: Heap::new(),
            correlated: List::new(&pages, CORRELATED),
            correlated_heap: Heap::new(),
            places: Places::new(&pages),
            resident: 0,
            pages,
            k,
            crp: setup.params.int("correlated_period"),
            rip: setup.params.optional_int("retained_period"),
            t: 0,
            histories: 0,
            histories_max: 1024,
            frames: setup.frames,
        }
    }

    #[inline(always)]
    fn last(&self, slot: Slot) -> u64 {
        self.times[slot.index() * (self.k + 1)]
    }

    #[inline(always)]
    fn key(&self, slot: Slot) -> Key {
        let first = slot.index() * (self.k + 1);
        (self.times[first + self.k], self.times[first])
    }

    /// `HIST(1..K)`, with `LAST` before them.
    #[inline(always)]
    fn times_mut(&mut self, slot: Slot) -> &mut [u64] {
        let first = slot.index() * (self.k + 1);
        &mut self.times[first..first + self.k + 1]
    }

    /// A reference to a resident page.
    #[inline(always)]
    fn hit(&mut self, slot: Slot) {
        let (t, crp) = (self.t, self.crp);
        let times = self.times_mut(slot);
        if t - times[0] > crp {
            let c = times[0] - times[1];
            for i in (2..times.len()).rev() {
                times[i] = if times[i - 1] > 0 { times[i - 1] + c } else { 0 };
            }
            times[1] = t;
        }
        times[0] = t;
        if crp == 0 {
            return; // always ripe when it matters; where it is filed is put right later
        }
        if self.pages[slot].list == CORRELATED {
            self.correlated.touch(&mut self.pages, slot);
        } else {
            self.ripe.remove(slot, &mut self.places);
            self.push_correlated(slot);
        }
    }

    #[inline(always)]
    fn push_correlated(&mut self, slot: Slot) {
        self.correlated_heap.push(self.key(slot), slot, &mut self.places);
        self.correlated.push_mru(&mut self.pages, slot);
    }

    #[inline(always)]
    fn push_ripe(&mut self, slot: Slot) {
        self.ripe.push(self.key(slot), slot, &mut self.places);
        self.pages[slot].list = RIPE;
    }

    /// Pages whose correlated period is over become ripe.
    #[inline(always)]
    fn ripen(&mut self) {
        while let Some(slot) = self.correlated.lru(&self.pages)
            && self.t - self.last(slot) > self.crp
        {
            self.correlated.unlink(&mut self.pages, slot);
            self.correlated_heap.remove(slot, &mut self.places);
            self.push_ripe(slot);
        }
    }

    /// Files a page by its key, where there is no correlated period.
    #[inline(always)]
    fn file(&mut self, slot: Slot) {
        match self.key(slot) {
            (0, last) => self.few.insert(last, slot),
            (hist_k, _) => self.many.insert(hist_k, slot),
        }
    }

    /// The resident page with the smallest key, without a correlated period.
    #[inline(always)]
    fn uncorrelated_victim(&mut self) -> Slot {
        let (pages, times, many, k) = (&self.pages, &self.times, &mut self.many, self.k);
        let prefetch = |slot: Slot| {
            pages.prefetch_slot(slot);
            prefetch(times, slot.index() * (k + 1));
        };
        let key = |slot: Slot| {
            let first = slot.index() * (k + 1);
            (times[first + k], times[first])
        };
        // Pages with fewer than K references go first. Those that have K by now are put right.
        let by_last = |slot| match key(slot) {
            (0, last) => Some(last),
            (hist_k, _) => {
                many.insert(hist_k, slot);
                None
            }
        };
        if let Some(slot) = self.few.take_least(by_last, prefetch) {
            return slot;
        }
        let victim = self.many.take_least(|slot| Some(key(slot).0), prefetch);
        victim.expect("evict is only called on a full buffer")
    }

    /// The resident page with the smallest key among the ripe ones, or among all if none is ripe.
    #[inline(always)]
    fn correlated_victim(&mut self) -> Slot {
        self.ripen();
        let from_ripe = !self.ripe.is_empty();
        loop {
            let heap = if from_ripe { &self.ripe } else { &self.correlated_heap };
            let (noted, slot) = heap.least().expect("evict is only called on a full buffer");
            let key = self.key(slot);
            let heap = if from_ripe { &mut self.ripe } else { &mut self.correlated_heap };
            if noted == key {
                heap.remove(slot, &mut self.places);
                if !from_ripe {
                    self.correlated.unlink(&mut self.pages, slot);
                }
                return slot;
            }
            heap.raise_least(key, &mut self.places);
        }
    }

    /// Forgets histories that no miss can use any more, when they have doubled since last time.
    #[inline(always)]
    fn purge(&mut self) {
        if !D::DENSE && self.histories > self.histories_max {
            self.purge_all();
        }
    }

    #[cold]
    #[inline(never)]
    fn purge_all(&mut self) {
        if let Some(rip) = self.rip {
            for slot in (0..self.pages.slots() as u32).map(Slot) {
                if self.pages[slot].list == HISTORY && self.t - self.last(slot) > rip {
                    self.pages.remove(slot);
                    self.histories -= 1;
                }
            }
        }
        self.histories_max = 2 * self.histories + 1024;
    }
}

impl<D: Directory> Policy for LruK<D> {
    /// The slot of the page's history, if it has one.
    type Miss = Option<Slot>;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<Option<Slot>> {
        self.t += 1;
        self.purge();
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(None) };
        if self.pages[slot].list == HISTORY {
            return Lookup::Miss(Some(slot));
        }
        self.pages[slot].dirty |= r.op.is_write();
        self.hit(slot);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, _: &mut Option<Slot>, _: &dyn DeviceView, plan: &mut Plan) {
        let victim =
            if self.crp == 0 { self.uncorrelated_victim() } else { self.correlated_victim() };
        self.resident -= 1;
        plan.evict(self.pages.page(victim), self.pages[victim].dirty);
        if self.rip == Some(0) {
            self.pages.remove(victim);
        } else {
            self.pages[victim].list = HISTORY;
            self.histories += 1;
        }
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, history: Option<Slot>) -> Slot {
        let slot = match history {
            Some(slot) => {
                self.histories -= 1;
                slot
            }
            None => self.pages.insert(r.page),
        };
        if history.is_none() && slot.index() * (self.k + 1) >= self.times.len() {
            self.times.resize((slot.index() + 1) * (self.k + 1), 0);
        }
        let (t, rip) = (self.t, self.rip);
        let times = self.times_mut(slot);
        if history.is_some() && rip.is_none_or(|rip| t - times[0] <= rip) {
            for i in (2..times.len()).rev() {
                times[i] = times[i - 1];
            }
        } else {
            times.fill(0);
        }
        times[0] = t;
        times[1] = t;
        self.pages[slot].dirty = r.op.is_write();
        self.resident += 1;
        if self.crp == 0 {
            self.pages[slot].list = RIPE;
            self.file(slot);
        } else {
            self.push_correlated(slot);
        }
        slot
    }

    counted! { self: self.resident, of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        let calendars = self.few.iter().chain(self.many.iter());
        for slot in calendars.chain(self.ripe.iter()).chain(self.correlated_heap.iter()) {
            visit(self.pages.page(slot), self.pages[slot].dirty);
        }
    }

    /// The page leaves with its history. Without a correlated period it is looked for wherever it
    /// may be filed: a walk over the resident pages.
    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty;
        let list = self.pages[slot].list;
        if list == HISTORY {
            self.histories -= 1;
        } else if self.crp == 0 {
            let filed = self.few.remove(slot) || self.many.remove(slot);
            debug_assert!(filed, "a resident page is filed");
        } else if list == CORRELATED {
            self.correlated.unlink(&mut self.pages, slot);
            self.correlated_heap.remove(slot, &mut self.places);
        } else {
            self.ripe.remove(slot, &mut self.places);
        }
        self.pages.remove(slot);
        self.resident -= u32::from(list != HISTORY);
        (list != HISTORY).then_some(dirty)
    }

    #[inline(always)]
    fn prefetch(&self, page: Page) {
        if D::DENSE {
            let slot = Slot(page.0 as u32);
            self.pages.prefetch_slot(slot);
            prefetch(&self.times, slot.index() * (self.k + 1));
            if self.crp > 0 {
                self.places.prefetch_slot(slot);
            }
        }
    }

    fn check(&self) {
        self.check_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_params;
    use crate::params::Value;
    use crate::testing::{drive, reads, victims};
    use destage_core::{Dense, Hashed};

    fn setup(frames: u32, k: i128, crp: i128, rip: Value) -> Setup {
        let (k, crp) = (Value::Int(k), Value::Int(crp));
        let given = [("k", &k), ("correlated_period", &crp), ("retained_period", &rip)];
        Setup { params: check_params("lru-k", given).unwrap(), ..Setup::new(frames) }
    }

    /// HIST(1..K) of a page.
    fn hist(p: &LruK<Dense>, page: u32) -> &[u64] {
        let first = page as usize * (p.k + 1);
        &p.times[first + 1..first + p.k + 1]
    }

    #[test]
    fn pages_referenced_once_go_first_in_the_order_of_lru() {
        let mut p = LruK::new(&setup(3, 2, 0, Value::None), Dense::new(8));
        let steps = drive(&mut p, &reads(&[1, 1, 2, 2, 3, 4, 1, 5]));
        assert_eq!(victims(&steps), [3, 4]);
    }

    #[test]
    fn the_history_of_an_evicted_page_counts_when_it_comes_back() {
        let mut p = LruK::new(&setup(3, 2, 0, Value::None), Dense::new(8));
        let steps = drive(&mut p, &reads(&[1, 1, 2, 2, 3, 4, 1, 5, 2, 3]));
        assert_eq!(victims(&steps), [3, 4, 5]);
        assert_eq!(hist(&p, 3), [10, 5]);
    }

    #[test]
    fn a_history_older_than_the_retained_period_does_not() {
        let mut p = LruK::new(&setup(1, 2, 0, Value::Int(2)), Dense::new(8));
        drive(&mut p, &reads(&[1, 2, 1]));
        assert_eq!(hist(&p, 1), [3, 1]);
        drive(&mut p, &reads(&[2, 3, 4, 2]));
        assert_eq!(hist(&p, 2), [7, 0]);
    }

    #[test]
    fn references_within_the_correlated_period_count_as_one() {
        let mut p = LruK::new(&setup(4, 2, 2, Value::None), Dense::new(8));
        drive(&mut p, &reads(&[1, 1, 2, 1]));
        assert_eq!(hist(&p, 1), [1, 0]);
        drive(&mut p, &reads(&[2, 3, 1]));
        assert_eq!(hist(&p, 1), [7, 1 + 3], "the burst lasted from 1 to 4");
    }

    #[test]
    fn a_page_inside_its_correlated_period_stays_while_another_can_go() {
        let mut p = LruK::new(&setup(2, 2, 3, Value::None), Dense::new(8));
        // 1 has two uncorrelated references, 2 only one, but 2 has just been read.
        let steps = drive(&mut p, &reads(&[1, 3, 3, 3, 3, 1, 1, 2, 2, 2, 4]));
        assert_eq!(victims(&steps), [3, 1]);
    }

    #[test]
    fn if_every_page_is_inside_its_correlated_period_the_period_is_ignored() {
        let mut p = LruK::new(&setup(2, 2, 100, Value::None), Dense::new(8));
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 1, 3]))), [2]);
    }

    #[test]
    fn with_k_1_it_is_lru() {
        let mut p = LruK::new(&setup(3, 1, 0, Value::None), Dense::new(8));
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 3, 1, 4, 2]))), [2, 3]);
    }

    #[test]
    fn a_live_pool_forgets_histories_older_than_the_retained_period() {
        let mut p = LruK::new(&setup(2, 2, 0, Value::Int(10)), Hashed::new());
        for page in 0..50_000 {
            drive(&mut p, &reads(&[page]));
        }
        assert!(p.pages.slots() < 3000);
    }
}
