//! ECR: when all pages are dirty, evict the one whose chip can take it soonest.
//!
//! Chen, Pan, Li, Xu. ECR: Eviction-Cost-Aware Cache Management Policy for Page-Level Flash-Based
//! SSDs. Concurrency and Computation: Practice and Experience, 2019. Sections 3.1 (eviction cost,
//! equations 1 to 4), 3.2 (lists) and 3.3 (victims). "Chip" is the paper's word for what has a
//! queue of its own: a *unit* here.
//!
//! Rules, `ecr`. A Clean list, and a dirty list per chip, each in recency order. A hit page becomes
//! the most recent of its list; a write moves it to its dirty list. Victim: the oldest clean page.
//! If there is none, the oldest page of every dirty list is a candidate, and the one whose chip has
//! the smallest *chip queue complete time*, CQCT, goes.
//!
//! ```text
//!   Clean    MRU ◀─▶ ... ◀─▶ LRU ──▶ out, if there is one
//!   chip 0   MRU ◀─▶ ... ◀─▶ LRU ──┐
//!   chip 1   MRU ◀─▶ ... ◀─▶ LRU ──┼─▶ smallest CQCT out
//!   chip 2   MRU ◀─▶ ... ◀─▶ LRU ──┘
//! ```
//!
//! Rules, `ecr-e` (the paper's ECR with superscript epsilon, section 4.2). No Clean list: every
//! page, clean or dirty, is on the list of its chip, and the candidates are the oldest of all
//! lists. A clean victim costs nothing, but is chosen by its chip's CQCT all the same.
//!
//! Readings of CQCT, the parameter `cqct`. The paper calls it the time to process all requests in a
//! chip's queue, and also the waiting time of a new request. The two differ in the collection that
//! the next request itself would set off, which equation 2 counts when free pages *equal* the
//! minimum and table 1 does not:
//!
//! * `backlog`: the remaining work of the chip. Collections that queued writes have caused are in
//!   the queue already.
//! * `wait`: that, and the collection that this write-back would set off.
//! * `eq1_strict`: equation 1 as it is counted: unfinished operations by kind, each at its nominal
//!   time, the one in service in full. A collection's move is one read and one write.
//! * `eq1`: that, and equations 3 and 4, if the write-back would set a collection off.
//!
//! `wait` and `eq1` avoid every chip that is about to collect, until all are; `backlog` does not.
//! Ties go to the older candidate: the paper does not say, and a tie broken by chip number would
//! drain chip 0 whenever the drive is idle. On an idle drive `ecr` is clean-first LRU.
//!
//! Under dynamic allocation a dirty page has no chip until it is written: all dirty pages are on
//! one list (list U), and `ecr` decides as `cflru-e` does. A clean page's CQCT is then its chip's
//! queue alone, since its target would be another.
//!
//! Cost. O(1) per access, O(chips) per eviction; `eq1` and `eq1_strict` count queues.

use crate::params::{IfAbsent, Kind, Param, Params};
use crate::unit_lists::{EMPTY, UnitLists, set_by_frame};
use crate::{BuildError, Caveat, Circumstance, Info, Setup};
use destage_core::{
    DeviceView, Directory, Lookup, Lpn, Nanos, Needs, NominalTimes, Page, Plan, PlaneId, Policy,
    Request, Slot, Unfinished, UnitId,
};

const SOURCE: &str = "Chen, Pan, Li, Xu. ECR: Eviction-Cost-Aware Cache Management Policy for \
                      Page-Level Flash-Based SSDs. Concurrency and Computation: Practice and \
                      Experience, 2019";

const PARAMS: &[Param] = &[Param {
    name: "cqct",
    symbol: "CQCT",
    kind: Kind::Choice(&["backlog", "wait", "eq1_strict", "eq1"]),
    default: IfAbsent::Word("backlog"),
    about: "Chip queue complete time: remaining work; that and the collection to come; unfinished \
            operations at nominal times (equation 1), without and with the collection to come. \
            Default: table 1's reading.",
    ..Param::BLANK
}];

/// Catalogue entry of `ecr`.
pub static INFO: Info = Info {
    name: "ecr",
    title: "Eviction-Cost-Aware",
    source: SOURCE,
    about: "Evict clean pages first, then the dirty page whose chip's queue is shortest.",
    flash_aware: true,
    time: "O(1), eviction O(chips)",
    params: PARAMS,
    caveats: &[Caveat {
        when: Circumstance::NoUnitWhileDirty,
        says: "no dirty page has a unit before it is written (alloc = dynamic, or an FTL other than \
               page): all of them cost the same, and ecr decides as cflru-e does",
    }],
    ..Info::BLANK
};

/// Catalogue entry of `ecr-e`.
pub static WITHOUT_CLEAN_LIST: Info = Info {
    name: "ecr-e",
    title: "Eviction-Cost-Aware, without a clean list",
    source: SOURCE,
    about: "Evict the page, clean or dirty, whose chip's queue is shortest.",
    flash_aware: true,
    time: "O(1), eviction O(chips)",
    params: PARAMS,
    ..Info::BLANK
};

/// The reading of CQCT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cqct {
    Backlog,
    Wait,
    Eq1Strict,
    Eq1,
}

impl Cqct {
    fn of(params: &Params) -> Self {
        match params.word("cqct") {
            "wait" => Cqct::Wait,
            "eq1_strict" => Cqct::Eq1Strict,
            "eq1" => Cqct::Eq1,
            _ => Cqct::Backlog,
        }
    }
}

/// The Clean list; a unit's list is the next one after its number. Empty in `ecr-e`.
const CLEAN: u32 = 0;

#[inline(always)]
fn list_of(unit: UnitId) -> u32 {
    unit.0 + 1
}

/// The policy; `ecr-e` if there is no `CLEAN_LIST`.
pub struct Ecr<D, const CLEAN_LIST: bool> {
    lists: UnitLists<D>, // Clean, then one per unit, the last of them list U
    lpns: Vec<Lpn>,      // by frame
    costs: Vec<Nanos>,   // by unit; only while a victim is searched for
    left: u32,           // list of the last victim
    cqct: Cqct,
    dynamic: bool, // a write-back's plane is chosen when it is written
    frames: u32,
}

impl<D: Directory, const CLEAN_LIST: bool> Ecr<D, CLEAN_LIST> {
    /// For `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        Ecr {
            lists: UnitLists::new(directory),
            lpns: Vec::new(),
            costs: Vec::new(),
            left: CLEAN,
            cqct: Cqct::of(&setup.params),
            dynamic: false,
            frames: setup.frames,
        }
    }

    pub(crate) fn build(setup: &Setup, directory: D) -> Result<Self, BuildError> {
        Ok(Ecr::new(setup, directory))
    }

    /// The list of a page in this state.
    #[inline(always)]
    fn list(&mut self, r: &Request, dirty: bool) -> u32 {
        // Static allocation has one unit for both states of a page; dynamic allocation never has.
        self.dynamic = r.units.clean != r.units.dirty;
        match dirty {
            true => list_of(r.units.dirty),
            false if CLEAN_LIST => CLEAN,
            false => list_of(r.units.clean),
        }
    }

    /// The candidate with the smallest (CQCT, stamp).
    #[inline(always)]
    fn cheapest(&mut self, device: &dyn DeviceView) -> Option<u32> {
        let mut costs = std::mem::take(&mut self.costs);
        costs.resize(self.lists.lists().saturating_sub(1) as usize, 0);
        match self.cqct {
            Cqct::Backlog => device.backlogs_ns(&mut costs),
            _ => self.cqcts_ns(device, &mut costs),
        }
        let unit = cheapest(&costs, self.lists.oldest_stamps().get(1..).unwrap_or_default());
        self.costs = costs;
        self.lists.oldest_of(list_of(unit?))
    }

    /// CQCT of every unit's oldest page, in the readings that look further than its queue. Where
    /// the queue alone is longer than the smallest CQCT before, the collection to come is left out:
    /// to predict one takes a look at every page of its block.
    #[inline(never)]
    fn cqcts_ns(&self, device: &dyn DeviceView, costs: &mut [Nanos]) {
        let mut least = Nanos::MAX;
        for (unit, cost) in (0..).map(UnitId).zip(costs) {
            let Some(oldest) = self.lists.oldest_of(list_of(unit)) else { continue };
            *cost = self.queue_ns(device, unit);
            // Under dynamic allocation only list U says where its pages go.
            let has_target = !self.dynamic || unit.0 >= device.units();
            if has_target && *cost <= least {
                *cost += self.collection_ns(device, self.lpns[oldest as usize]);
            }
            least = least.min(*cost);
        }
    }

    /// What CQCT says of the operations in the queue.
    fn queue_ns(&self, device: &dyn DeviceView, unit: UnitId) -> Nanos {
        match (self.cqct, device.nominal_times()) {
            (Cqct::Eq1Strict | Cqct::Eq1, Some(times)) => {
                equation_1_ns(device.unfinished(unit), times)
            }
            _ => device.backlog_ns(unit),
        }
    }

    /// What CQCT says of the collection that a write-back of this page would set off.
    fn collection_ns(&self, device: &dyn DeviceView, lpn: Lpn) -> Nanos {
        match self.cqct {
            Cqct::Backlog | Cqct::Eq1Strict => 0,
            Cqct::Wait => device.gc_cost_ns(device.target(lpn)),
            Cqct::Eq1 => equations_3_and_4_ns(device, device.target(lpn)),
        }
    }
}

/// The unit with the smallest (cost, stamp) among those whose list is not empty.
///
/// Even and odd units apart, so that one comparison need not wait for the one before it.
#[inline(always)]
fn cheapest(costs: &[Nanos], stamps: &[u64]) -> Option<UnitId> {
    let units = costs.len().min(stamps.len());
    let (costs, stamps) = (costs[..units].chunks_exact(2), stamps[..units].chunks_exact(2));
    let (mut even, mut odd) = (Cheapest::NONE, Cheapest::NONE);
    if let (&[cost], &[stamp]) = (costs.remainder(), stamps.remainder()) {
        even.offer(units as u32 - 1, cost, stamp);
    }
    for (unit, (costs, stamps)) in (0..).step_by(2).zip(costs.zip(stamps)) {
        even.offer(unit, costs[0], stamps[0]);
        odd.offer(unit + 1, costs[1], stamps[1]);
    }
    let least = if odd.key < even.key { odd } else { even };
    (least.key != u128::MAX).then_some(UnitId(least.unit))
}

#[derive(Clone, Copy)]
struct Cheapest {
    key: u128, // (cost, stamp)
    unit: u32,
}

impl Cheapest {
    const NONE: Cheapest = Cheapest { key: u128::MAX, unit: 0 };

    #[inline(always)]
    fn offer(&mut self, unit: u32, cost: Nanos, stamp: u64) {
        if stamp == EMPTY {
            return;
        }
        // As one number the pair is compared without a branch, which nothing could predict: half
        // the time of comparing tuples.
        let key = u128::from(cost) << 64 | u128::from(stamp);
        if key < self.key {
            *self = Cheapest { key, unit };
        }
    }
}

/// Equation 1 without S: L_r N_r + L_w N_w and the collections that are queued, in which a move
/// counts as a read and a write ("imposed by GC").
fn equation_1_ns(n: Unfinished, l: NominalTimes) -> Nanos {
    let Unfinished { reads, writes, moves, erases, summaries } = n;
    l.read_ns * (Nanos::from(reads) + Nanos::from(moves))
        + l.program_ns * (Nanos::from(writes) + Nanos::from(moves))
        + l.erase_ns * Nanos::from(erases)
        + l.summary_ns.unwrap_or(0) * Nanos::from(summaries)
}

/// S times T_gc: equation 3 with N_v the valid pages of the block that would be collected, and the
/// summary pages of equation 4, in whole numbers and with N_w = 0, since queued writes have theirs
/// in the queue.
fn equations_3_and_4_ns(device: &dyn DeviceView, plane: PlaneId) -> Nanos {
    let (Some(valid), Some(l)) = (device.gc_victim_pages(plane), device.nominal_times()) else {
        return 0;
    };
    let t_gc = l.erase_ns + Nanos::from(valid) * (l.read_ns + l.program_ns);
    let Some(l_sp) = l.summary_ns else { return t_gc };
    // What the active block takes before it is full and its summary page due.
    let room = device.active_block_free_pages(plane).saturating_sub(1);
    let data_pages = device.pages_per_block().saturating_sub(1).max(1);
    let n_sp = if valid < room { 0 } else { 1 + (valid - room) / data_pages };
    t_gc + l_sp * Nanos::from(n_sp)
}

impl<D: Directory, const CLEAN_LIST: bool> Policy for Ecr<D, CLEAN_LIST> {
    type Miss = ();

    const NEEDS: Needs = Needs::UNITS;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some((slot, frame)) = self.lists.find(r.page) else { return Lookup::Miss(()) };
        let write = r.op.is_write();
        let list = if write { self.list(r, true) } else { self.lists.held(frame).list };
        self.lists.touch(frame, list, write);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), device: &dyn DeviceView, plan: &mut Plan) {
        let victim = self
            .lists
            .oldest_of(CLEAN)
            .or_else(|| self.cheapest(device))
            .expect("evict is only called on a full buffer");
        self.left = self.lists.held(victim).list;
        self.lists.evict(victim, plan);
    }

    /// The next of the list that the last one left: the unit has just got work, so it is about as
    /// many evictions away as there are units.
    #[inline(always)]
    fn coming_victim(&self) -> Option<Page> {
        Some(self.lists.page(self.lists.oldest_of(self.left)?))
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let dirty = r.op.is_write();
        let list = self.list(r, dirty);
        let (slot, frame) = self.lists.insert(r.page, list, dirty);
        set_by_frame(&mut self.lpns, frame, r.lpn);
        slot
    }

    in_unit_lists! { self.lists; frames: self.frames }

    fn counts_operations(&self) -> bool {
        matches!(self.cqct, Cqct::Eq1Strict | Cqct::Eq1)
    }

    hints! { self.lists: warm, warm_held }

    fn check(&self) {
        self.lists.check();
        for list in 0..self.lists.lists() {
            for frame in self.lists.iter(list) {
                let dirty = self.lists.held(frame).dirty;
                if CLEAN_LIST {
                    assert_eq!(dirty, list != CLEAN, "clean pages are on the Clean list, only");
                } else {
                    assert!(list != CLEAN, "every page is on the list of a unit");
                }
            }
        }
        assert!(self.resident() <= self.frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cflru_e::CflruE;
    use crate::params::Value;
    use crate::testing::{Chips, drive_on, mixed, setup, victims};
    use destage_core::{Dense, Op, Op::*};

    fn policy<const CLEAN_LIST: bool>(frames: u32, cqct: &str) -> Ecr<Dense, CLEAN_LIST> {
        let name = if CLEAN_LIST { INFO.name } else { WITHOUT_CLEAN_LIST.name };
        let cqct = Value::Text(cqct.to_string());
        Ecr::new(&setup(name, frames, &[("cqct", cqct)]), Dense::new(64))
    }

    fn ecr(frames: u32) -> Ecr<Dense, true> {
        policy(frames, "backlog")
    }

    fn ecr_e(frames: u32) -> Ecr<Dense, false> {
        policy(frames, "backlog")
    }

    fn writes(pages: &[u64]) -> Vec<(Op, u64)> {
        pages.iter().map(|&page| (Write, page)).collect()
    }

    #[test]
    fn the_oldest_page_of_the_chip_with_the_shortest_queue_goes() {
        let chips = Chips::new(&[300, 100, 200]);
        let trace = writes(&[0, 1, 2, 4, 3, 5]); // 4 is on chip 1, too
        assert_eq!(victims(&drive_on(&mut ecr(4), &chips, &trace)), [1, 4]);
    }

    #[test]
    fn ties_go_to_the_older_candidate_whatever_its_chip() {
        for chips in [Chips::new(&[0, 0, 0, 0]), Chips::new(&[70, 70, 70, 70])] {
            let steps = drive_on(&mut ecr(3), &chips, &writes(&[2, 1, 0, 2, 3, 7, 11]));
            assert_eq!(victims(&steps), [1, 0, 2]);
        }
    }

    #[test]
    fn a_clean_page_goes_first_however_busy_its_chip() {
        let chips = Chips::new(&[0, 900]);
        let mut p = ecr(3);
        let steps = drive_on(&mut p, &chips, &[(Write, 0), (Read, 1), (Read, 3), (Write, 2)]);
        assert_eq!(steps[3].evicted, [(1, false)]);
        assert_eq!(drive_on(&mut p, &chips, &[(Write, 4)])[0].evicted, [(3, false)]);
    }

    #[test]
    fn a_written_page_moves_from_the_clean_list_to_its_chip_as_its_newest() {
        let chips = Chips::new(&[0, 50]);
        let trace = [(Read, 2), (Write, 0), (Write, 2), (Write, 1), (Write, 3), (Write, 5)];
        let steps = drive_on(&mut ecr(3), &chips, &trace);
        assert!(steps[2].hit);
        assert_eq!(steps[4].evicted, [(0, true)]);
        assert_eq!(steps[5].evicted, [(2, true)]);
    }

    #[test]
    fn a_read_dirty_page_stays_on_its_list_as_its_newest() {
        let chips = Chips::new(&[0, 50]);
        let trace = [(Write, 0), (Write, 2), (Write, 1), (Read, 0), (Write, 4)];
        let steps = drive_on(&mut ecr(3), &chips, &trace);
        assert!(steps[3].hit);
        assert_eq!(steps[4].evicted, [(2, true)]);
    }

    #[test]
    fn under_dynamic_allocation_it_is_cflru_e() {
        let chips = Chips { dynamic: Some(2), ..Chips::new(&[7, 0, 900]) };
        let trace = mixed(3000, 48);
        for cqct in ["backlog", "wait"] {
            for frames in [1, 2, 7, 24] {
                let mut cflru_e = CflruE::new(&Setup::new(frames), Dense::new(64));
                let expected = drive_on(&mut cflru_e, &chips, &trace);
                assert_eq!(drive_on(&mut policy::<true>(frames, cqct), &chips, &trace), expected);
            }
        }
    }

    #[test]
    fn without_a_clean_list_a_clean_page_goes_by_its_chips_queue() {
        let chips = Chips::new(&[20, 10, 30]);
        let mut p = ecr_e(3);
        drive_on(&mut p, &chips, &[(Read, 0), (Write, 1), (Read, 2)]);
        let steps = drive_on(&mut p, &chips, &[(Write, 3), (Write, 6), (Write, 9)]);
        let evicted: Vec<_> = steps.iter().flat_map(|step| step.evicted.clone()).collect();
        assert_eq!(evicted, [(1, true), (0, false), (3, true)]);
    }

    #[test]
    fn under_dynamic_allocation_list_u_answers_for_the_chip_that_would_be_chosen() {
        // Page 0 is clean on chip 0; 1 and 2 are dirty, on list U.
        let trace = [(Read, 0), (Write, 1), (Write, 2), (Write, 3)];
        for (backlogs, victim) in [([10, 20, 30], 0), ([10, 20, 5], 1), ([10, 20, 10], 0)] {
            let chips = Chips { dynamic: Some(2), ..Chips::new(&backlogs) };
            assert_eq!(victims(&drive_on(&mut ecr_e(3), &chips, &trace)), [victim], "{backlogs:?}");
        }
    }

    #[test]
    fn a_page_written_under_dynamic_allocation_changes_to_list_u() {
        let chips = Chips { dynamic: Some(2), ..Chips::new(&[0, 20, 30]) };
        let trace = [(Read, 0), (Read, 1), (Write, 0), (Write, 3)];
        assert_eq!(victims(&drive_on(&mut ecr_e(2), &chips, &trace)), [1]);
    }

    #[test]
    fn wait_counts_the_collection_to_come_and_backlog_does_not() {
        let chips = Chips { gc_cost_ns: vec![500, 0, 1], ..Chips::new(&[10, 200, 200]) };
        let trace = writes(&[2, 0, 1, 3]);
        assert_eq!(victims(&drive_on(&mut ecr(3), &chips, &trace)), [0]);
        assert_eq!(victims(&drive_on(&mut policy::<true>(3, "wait"), &chips, &trace)), [1]);
    }

    #[test]
    fn under_dynamic_allocation_only_list_u_counts_the_collection_to_come() {
        // Clean page 0 waits for chip 0's queue, 40; list U for 10 and the collection there.
        let trace = [(Read, 0), (Write, 1), (Write, 2)];
        for (cost, victim) in [(29, 1), (30, 0)] {
            let gc_cost_ns = vec![1000, cost];
            let chips = Chips { gc_cost_ns, dynamic: Some(1), ..Chips::new(&[40, 10]) };
            let steps = drive_on(&mut policy::<false>(2, "wait"), &chips, &trace);
            assert_eq!(victims(&steps), [victim], "{cost}");
        }
    }

    const TIMES: NominalTimes =
        NominalTimes { read_ns: 1, program_ns: 10, erase_ns: 100, summary_ns: Some(1000) };

    #[test]
    fn equation_1_counts_a_move_as_a_read_and_a_program() {
        let n = Unfinished { reads: 2, writes: 3, moves: 4, erases: 5, summaries: 6 };
        assert_eq!(equation_1_ns(n, TIMES), 2 + 30 + 4 * 11 + 500 + 6000);
        let none = NominalTimes { summary_ns: None, ..TIMES };
        assert_eq!(equation_1_ns(n, none), 2 + 30 + 4 * 11 + 500);
    }

    #[test]
    fn equation_4_divides_in_whole_numbers_once_the_moves_fill_the_active_block() {
        let cost = |valid, free, times| {
            let chips = Chips {
                gc_victim_pages: valid,
                active_block_free_pages: free,
                times: Some(times),
                ..Chips::new(&[0])
            };
            equations_3_and_4_ns(&chips, PlaneId(0))
        };
        // Blocks of 8 pages, one of them a summary page.
        assert_eq!(cost(Some(4), 6, TIMES), 100 + 4 * 11, "4 < 6 - 1");
        assert_eq!(cost(Some(5), 6, TIMES), 100 + 5 * 11 + 1000, "1 + 0 / 7");
        assert_eq!(cost(Some(6), 2, TIMES), 100 + 6 * 11 + 1000, "1 + 5 / 7");
        assert_eq!(cost(Some(7), 1, TIMES), 100 + 7 * 11 + 2000, "1 + 7 / 7");
        assert_eq!(cost(Some(6), 8, TIMES), 100 + 6 * 11, "no active block: f = 8");
        let none = NominalTimes { summary_ns: None, ..TIMES };
        assert_eq!(cost(Some(7), 1, none), 100 + 7 * 11, "a drive without summary pages");
        assert_eq!(cost(None, 1, TIMES), 0, "no collection");
    }

    #[test]
    fn the_readings_of_equation_1_look_at_counts_and_not_at_remaining_work() {
        let queued = |writes| Unfinished { writes, ..Unfinished::default() };
        let mut chips = Chips {
            unfinished: vec![queued(2), queued(1)],
            times: Some(TIMES),
            ..Chips::new(&[5, 15]) // chip 0 has all but served its first write
        };
        let trace = writes(&[0, 1, 2]);
        assert_eq!(victims(&drive_on(&mut ecr(2), &chips, &trace)), [0]);
        assert!(!ecr(2).counts_operations());
        for cqct in ["eq1", "eq1_strict"] {
            assert!(policy::<true>(2, cqct).counts_operations());
            assert_eq!(victims(&drive_on(&mut policy::<true>(2, cqct), &chips, &trace)), [1]);
        }
        // A collection to come costs both alike.
        chips.gc_victim_pages = Some(3);
        assert_eq!(victims(&drive_on(&mut policy::<true>(2, "eq1"), &chips, &trace)), [1]);
    }

    #[test]
    fn the_cheapest_is_the_smallest_pair_of_any_number_of_chips() {
        let mut state = 1_u64;
        let mut random = |below| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for chips in (0..70).chain(0..70) {
            let costs: Vec<_> = (0..chips).map(|_| random(4)).collect();
            let stamps: Vec<_> = (0..chips)
                .map(|chip| if random(3) == 0 { EMPTY } else { random(100) * 100 + chip })
                .collect();
            let held = (0..chips as u32).filter(|&chip| stamps[chip as usize] != EMPTY);
            let least = held.min_by_key(|&chip| (costs[chip as usize], stamps[chip as usize]));
            assert_eq!(cheapest(&costs, &stamps), least.map(UnitId), "{costs:?} {stamps:?}");
        }
    }
}
