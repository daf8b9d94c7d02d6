//! Tests of the rules at the head of `bpac.rs`: the paper's own cases, then the corners.

use super::*;
use crate::params::Value;
use crate::testing::{drive, setup, victims, writes};
use destage_core::{Dense, Page};

fn bpac(frames: u32, params: &[(&str, Value)]) -> Bpac<Dense> {
    let setup = setup("bpac", frames, params);
    Bpac::new(&Setup { pages_per_block: 4, ..setup }, Dense::new(64))
}

/// The specification's micro-trace and its buffer.
fn micro() -> Bpac<Dense> {
    let int = |key, i| (key, Value::Int(i));
    let params =
        [int("sampling_period", 12), int("initial_pird_thd", 3), int("initial_bird_thd", 5)];
    bpac(8, &params)
}

const MICRO: [u64; 24] =
    [0, 1, 2, 3, 8, 10, 8, 8, 6, 7, 12, 13, 9, 16, 20, 12, 13, 9, 24, 28, 16, 32, 33, 36];

fn hot(p: &Bpac<Dense>) -> Vec<u64> {
    p.p_list.iter(&p.pages.frames).map(|frame| p.pages.page(frame).0).collect()
}

#[test]
fn a_page_is_hot_from_its_second_write_until_its_lifetime_is_over() {
    let mut p = micro();
    drive(&mut p, &writes(&MICRO[..8]));
    assert_eq!(hot(&p), [8]);
    drive(&mut p, &writes(&MICRO[8..11]));
    assert_eq!(hot(&p), [8], "written at 8, now is 11");
    drive(&mut p, &writes(&MICRO[11..12]));
    assert!(hot(&p).is_empty());
}

#[test]
fn full_blocks_go_before_done_ones_and_those_before_the_largest() {
    let mut p = micro();
    assert_eq!(victims(&drive(&mut p, &writes(&MICRO[..11]))), [0, 1, 2, 3]);
    assert_eq!(victims(&drive(&mut p, &writes(&MICRO[11..15]))), [6, 7]);
    assert_eq!(victims(&drive(&mut p, &writes(&MICRO[15..20]))), [8, 9, 10]);
    let c = p.counts;
    assert_eq!((c.evictions_full, c.evictions_done, c.evictions_largest), (1, 1, 1));
}

#[test]
fn the_first_page_of_a_run_again_makes_a_loop_which_stays_in_the_b_list() {
    let mut p = micro();
    drive(&mut p, &writes(&MICRO[..17]));
    assert!(hot(&p).is_empty(), "pages 12 and 13 loop");
    assert_eq!(p.counts.b_list_hits, 3);
}

#[test]
fn with_every_page_hot_the_least_recent_goes_alone() {
    let mut p = bpac(3, &[]);
    drive(&mut p, &writes(&[0, 0, 4, 4, 8, 8]));
    assert_eq!(hot(&p), [8, 4, 0]);
    assert_eq!(victims(&drive(&mut p, &writes(&[12]))), [0]);
    assert_eq!(p.counts.evictions_p_list, 1);
}

#[test]
fn hot_pages_stay_when_their_cluster_goes_and_their_block_starts_again() {
    let mut p = bpac(4, &[("initial_bird_thd", Value::Int(0))]);
    drive(&mut p, &writes(&[0, 1, 1, 8, 12]));
    assert_eq!(victims(&drive(&mut p, &writes(&[16]))), [0]);
    assert_eq!(hot(&p), [1]);
    let (_, frame) = p.pages.find(Page(1)).expect("it is resident");
    let block = &p.pages.blocks[p.pages.block_of(frame) as usize];
    assert_eq!((block.len, block.own.pattern.name()), (0, "seq"));
}

#[test]
fn the_letter_of_algorithm_1_samples_less() {
    let samples = |sampling: &str| {
        let params =
            [("pird_sampling", Value::Text(sampling.into())), ("sampling_period", Value::Int(8))];
        let mut p = bpac(8, &params);
        // Page 0 is hot from time 6 on: 4 writes lie between, then none.
        drive(&mut p, &writes(&[0, 4, 8, 12, 16, 0, 0, 0]));
        p.pird_thd
    };
    assert_eq!((samples("all_hits"), samples("p_list")), (0, 0));
    let longer = |sampling: &str| {
        let params =
            [("pird_sampling", Value::Text(sampling.into())), ("sampling_period", Value::Int(6))];
        let mut p = bpac(8, &params);
        drive(&mut p, &writes(&[0, 4, 8, 12, 16, 0]));
        p.pird_thd
    };
    assert_eq!((longer("all_hits"), longer("p_list")), (4, 6), "no sample leaves it as it is");
}
