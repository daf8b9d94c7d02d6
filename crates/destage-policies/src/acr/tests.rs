//! Tests of the rules at the head of `acr.rs`: the paper's own cases, then the corners.

use super::*;
use crate::params::Value;
use crate::testing::{drive, mixed, setup, show, victims};
use destage_core::{Dense, Op, Op::*};

/// Four frames and C_w = 2, as in the specification's micro-traces.
fn acr(name: &str) -> Acr<Dense> {
    let mut params = vec![("cost_write", Value::Int(2))];
    let new = match name {
        "acr-c" => Acr::conservative,
        "acr-o" => Acr::optimistic,
        _ => {
            params.push(("file_pages", Value::Int(16)));
            Acr::hybrid
        }
    };
    new(&setup(name, 4, &params), Dense::new(16)).unwrap()
}

fn lists(p: &Acr<Dense>) -> String {
    let list = |list: &List| show(list.iter(&p.pages).map(|slot| slot.0));
    let (c, d) = (&p.c, &p.d);
    format!(
        "L_CT[{}] L_CB[{}] L_DT[{}] L_DB[{}] L_CH[{}] L_DH[{}]",
        list(&c.top),
        list(&c.bottom),
        list(&d.top),
        list(&d.bottom),
        list(&c.ghosts),
        list(&d.ghosts)
    )
}

const MICRO: [(Op, u64); 13] = [
    (Read, 1),
    (Write, 2),
    (Read, 3),
    (Write, 4),
    (Read, 1),
    (Read, 5),
    (Write, 6),
    (Read, 2),
    (Read, 3),
    (Write, 1),
    (Read, 7),
    (Write, 8),
    (Read, 9),
];

#[test]
fn the_page_that_fills_the_buffer_moves_to_the_top() {
    let mut p = acr("acr-c");
    drive(&mut p, &MICRO[..4]);
    assert_eq!(lists(&p), "L_CT[] L_CB[3 1] L_DT[4] L_DB[2] L_CH[] L_DH[]");
}

#[test]
fn a_hit_in_a_bottom_shortens_it_and_a_page_never_hit_becomes_a_ghost() {
    let mut p = acr("acr-c");
    drive(&mut p, &MICRO[..5]);
    assert_eq!(lists(&p), "L_CT[1] L_CB[3] L_DT[4] L_DB[2] L_CH[] L_DH[]");
    assert_eq!(victims(&drive(&mut p, &MICRO[5..6])), [3]);
    assert_eq!(lists(&p), "L_CT[1] L_CB[5] L_DT[4] L_DB[2] L_CH[3] L_DH[]");
}

#[test]
fn a_read_of_a_clean_ghost_comes_in_at_the_top() {
    let mut p = acr("acr-c");
    drive(&mut p, &MICRO[..8]);
    assert_eq!(lists(&p), "L_CT[] L_CB[1] L_DT[2 4 6] L_DB[] L_CH[5 3] L_DH[]");
    assert_eq!(drive(&mut p, &MICRO[8..9])[0].evicted, [(6, true)]);
    assert_eq!(lists(&p), "L_CT[3] L_CB[1] L_DT[2 4] L_DB[] L_CH[5] L_DH[6]");
}

#[test]
fn a_written_clean_page_passes_through_the_bottom_of_l_d_when_the_buffer_is_full() {
    let mut p = acr("acr-c");
    drive(&mut p, &MICRO[..10]);
    assert_eq!(lists(&p), "L_CT[3] L_CB[] L_DT[2 4 1] L_DB[] L_CH[5] L_DH[6]");
    // Its hits count from there: it was hit as a clean page, and still becomes a ghost.
    drive(&mut p, &MICRO[10..12]);
    assert_eq!(lists(&p), "L_CT[7] L_CB[] L_DT[2 4 8] L_DB[] L_CH[3] L_DH[1]");
}

#[test]
fn the_schemes_part_where_their_costs_do() {
    let victim = |name, access| victims(&drive(&mut acr(name), &MICRO))[access];
    assert_eq!(["acr-c", "acr-o", "acr-h"].map(|name| victim(name, 1)), [5, 2, 2]);
    assert_eq!(
        ["acr-o", "acr-h"].map(|name| *victims(&drive(&mut acr(name), &MICRO)).last().unwrap()),
        [3, 4]
    );
}

#[test]
fn a_run_of_writes_has_no_clean_page_to_give_whatever_beta_says() {
    let mut p = acr("acr-o");
    let writes: Vec<_> = (0..8).map(|page| (Write, page)).collect();
    assert_eq!(victims(&drive(&mut p, &writes)), [0, 1, 2, 4], "page 3 filled the buffer");
}

#[test]
fn without_ghosts_no_page_is_remembered() {
    let params = [("ghost_fraction", Value::Int(0))];
    let mut p = Acr::conservative(&setup("acr-c", 4, &params), Dense::new(64)).unwrap();
    drive(&mut p, &mixed(500, 48));
    assert_eq!((p.c.ghosts.len(), p.d.ghosts.len()), (0, 0));
}

#[test]
fn the_hybrid_scheme_wants_the_pages_of_the_file() {
    let nothing = setup("acr-h", 4, &[]);
    let error = Acr::hybrid(&nothing, Dense::new(16)).err().unwrap().to_string();
    assert!(error.contains("file_pages = none: expected integer >= 1"), "{error}");
    let trace = Setup { trace_pages: Some(16), ..nothing };
    assert!(Acr::hybrid(&trace, Dense::new(16)).is_ok());
}

#[test]
fn the_hybrid_scheme_takes_the_largest_file_and_costs() {
    let params = [
        ("file_pages", Value::Int(u64::MAX.into())),
        ("cost_read", Value::Int(u32::MAX.into())),
        ("cost_write", Value::Int(u32::MAX.into())),
    ];
    let mut p = Acr::hybrid(&setup("acr-h", 4, &params), Dense::new(64)).unwrap();
    drive(&mut p, &mixed(500, 48));
}
