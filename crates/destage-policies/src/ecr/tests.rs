//! Tests of the rules at the head of `ecr.rs`: the paper's own cases, then the corners.

use super::cqct::{equation_1_ns, equations_3_and_4_ns};
use super::*;
use crate::cflru_e::CflruE;
use crate::params::Value;
use crate::testing::{Chips, drive_on, mixed, setup, victims};
use destage_core::{Dense, NominalTimes, Op, Op::*, PlaneId, Unfinished};

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
