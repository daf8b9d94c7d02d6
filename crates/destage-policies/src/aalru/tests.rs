//! Tests of the rules at the head of `aalru.rs`: the paper's own cases, then the corners.

use super::*;
use crate::params::Value;
use crate::testing::{drive, setup, victims, writes};
use destage_core::{Dense, Op};

fn aalru(frames: u32, period: i128) -> Aalru<Dense> {
    let params = [
        ("period", Value::Int(period)),
        ("page_read_ns", Value::Int(100)),
        ("page_write_ns", Value::Int(200)),
    ];
    let setup = Setup { pages_per_block: 4, ..setup("aalru", frames, &params) };
    Aalru::build(&setup, Dense::new(64)).expect("parameters in range")
}

#[test]
fn equation_6_starts_above_1_and_ends_at_beta() {
    assert_eq!(threshold(1.0, 64.0, 5.0), 64.0, "the text, not 0.8 b");
    assert_eq!(threshold(2.5, 64.0, 5.0), 32.0);
    assert_eq!(threshold(5.0, 64.0, 5.0), 0.0);
    assert_eq!(threshold(5.1, 64.0, 5.0), 0.0);
}

#[test]
fn waiting_in_a_queue_is_latency_only_if_the_response_is() {
    let waited = Completion { page: None, submission: 0, latency_ns: 1000, service_ns: 200 };
    for (latency, wf) in [(None, 1.0), (Some("service"), 1.0), (Some("response"), 5.0)] {
        let mut params = vec![("period", Value::Int(1)), ("page_write_ns", Value::Int(200))];
        params.extend(latency.map(|word| ("latency", Value::Text(word.into()))));
        let mut p = Aalru::build(&setup("aalru", 4, &params), Dense::new(8)).expect("fine");
        p.destaged(&waited);
        drive(&mut p, &[(Op::Write, 0)]);
        assert_eq!(p.wf(), wf, "{latency:?}");
    }
}

#[test]
fn the_list_that_is_too_long_for_tau_gives_the_victim() {
    let mut p = aalru(4, 1000);
    // tau = 2.
    drive(&mut p, &[(Op::Read, 20), (Op::Write, 0), (Op::Write, 1), (Op::Write, 8)]);
    assert_eq!(victims(&drive(&mut p, &[(Op::Read, 21)])), [0, 1], "|RB| = 1");
    drive(&mut p, &[(Op::Write, 9)]);
    assert_eq!(victims(&drive(&mut p, &[(Op::Write, 12)])), [20], "|RB| = 2");
}

#[test]
fn slow_writes_pad_and_a_clean_copy_is_not_read_from_flash() {
    let mut p = aalru(4, 4);
    let slow = Completion { page: None, submission: 0, latency_ns: 1000, service_ns: 1000 };
    p.destaged(&slow);
    drive(&mut p, &[(Op::Read, 3), (Op::Write, 0), (Op::Write, 1), (Op::Write, 8)]);
    assert_eq!(p.wf(), 5.0);
    assert_eq!(p.th, 0.0);
    let mut plan = Plan::new();
    p.evict(&mut (), &destage_core::Blind, &mut plan);
    let (pages, pads) = plan.groups().next().expect("a group");
    assert_eq!(pages, [Page(0), Page(1)]);
    let pads: Vec<_> = pads.iter().map(|pad| (pad.lpn.0, pad.in_buffer)).collect();
    assert_eq!(pads, [(2, false), (3, true)]);
    assert!(p.pages.find(Page(3)).is_some(), "it stays in RB");
}

#[test]
fn tau_jumps_between_two_values_if_hits_do_not_depend_on_it() {
    let mut p = aalru(12, 4);
    // Of each period two reads hit RB and one write hits WB: k = 1, and x becomes 1/x.
    drive(&mut p, &[(Op::Read, 0), (Op::Write, 1), (Op::Read, 2), (Op::Write, 3)]);
    let period = [(Op::Read, 0), (Op::Write, 1), (Op::Read, 2), (Op::Read, 40)];
    let mut taus = Vec::new();
    p.tau = 4.0;
    for _ in 0..4 {
        drive(&mut p, &period[..3]);
        drive(&mut p, &[(Op::Read, 0)]);
        taus.push(p.tau);
    }
    assert_eq!(taus[0], taus[2]);
    assert_eq!(taus[1], taus[3]);
    assert_ne!(taus[0], taus[1]);
}

#[test]
fn with_nothing_dirty_the_oldest_clean_page_goes_whatever_tau_is() {
    let mut p = aalru(2, 1000);
    let reads: Vec<_> = [0, 1, 2].map(|page| (Op::Read, page)).to_vec();
    assert_eq!(victims(&drive(&mut p, &reads)), [0]);
    let mut p = aalru(2, 1000);
    assert_eq!(victims(&drive(&mut p, &writes(&[0, 4, 8]))), [0]);
}
