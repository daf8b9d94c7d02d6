//! Sizes that share a pass against runs of their own.

use super::{LANES, can_share, run};
use crate::accesses::{Columns, Extent};
use crate::asides::Asides;
use crate::control::Control;
use crate::counters::Counters;
use crate::input::{Input, NextUses};
use crate::observe::Unobserved;
use crate::options::RunOptions;
use crate::sizes::Frames;
use crate::spec::PolicySpec;
use crate::warmup::Warmup;
use proptest::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

const POLICIES: [&str; 3] = ["fifo", "clock", "sieve"];

/// What a run of its own counts; flash reads and writes are the caller's to add up.
fn alone(policy: &str, input: &Input<'_>, frames: u32, warmup: usize) -> Counters {
    let spec = &PolicySpec::parse_list(policy).expect("a policy of the table")[0];
    let options = RunOptions {
        warmup: Warmup::Requests(warmup as u64),
        flush_at_end: true,
        ..RunOptions::default()
    };
    assert!(can_share(spec, &options, input.columns.lpns.len()));
    let frames = Frames { frames, given: format!("{frames}p") };
    let result =
        crate::run::run(input, spec, &frames, &options, &Control::default(), &mut Unobserved);
    Counters { physical_reads: 0, physical_writes: 0, ..result.expect("a run").counters }
}

proptest! {
    #[test]
    fn sizes_that_share_a_pass_count_what_they_count_alone(
        // Few pages are used often: hits in some sizes and misses in others.
        requests in prop::collection::vec(
            (prop_oneof![0u32..6, 0u32..36], 1u32..5, any::<bool>()), 0..1500),
        frames in prop::collection::vec(1u32..45, 1..=LANES),
        warmup in 0usize..1600,
    ) {
        let first_ids: Vec<u32> = requests.iter().map(|&(page, ..)| page).collect();
        let extent = |pages, write| Extent::new(pages, write, false, false).0;
        let extents: Vec<u32> = requests.iter().map(|r| extent(r.1, r.2)).collect();
        let lpns: Vec<u64> = (0..40).collect();
        let input = Input {
            columns: Columns { first_ids: &first_ids, extents: &extents, lpns: &lpns },
            next_uses: NextUses::None,
            arrivals_ns: &[],
            continuations: &[],
            request_bytes: &[],
            asides: Asides::NONE,
        };
        for policy in POLICIES {
            let control = Control::default();
            let shared = run(policy, input.columns, &frames, warmup, &control);
            let shared = shared.expect("not stopped");
            prop_assert_eq!(shared.len(), frames.len());
            for (counters, &frames) in shared.iter().zip(&frames) {
                let want = alone(policy, &input, frames, warmup);
                prop_assert_eq!(counters, &want, "{} at {} frames", policy, frames);
            }
            let accesses: u64 = requests.iter().map(|&(_, pages, _)| u64::from(pages)).sum();
            prop_assert_eq!(control.accesses_done.load(Relaxed), accesses * frames.len() as u64);
        }
    }
}

#[test]
fn a_pass_stops_when_it_is_told_to() {
    let (ids, extents) = ([0, 1, 0], [Extent::new(1, false, false, false).0; 3]);
    let columns = Columns { first_ids: &ids, extents: &extents, lpns: &[4, 5] };
    let control = Control::default();
    control.stop.store(true, Relaxed);
    for policy in POLICIES {
        assert!(run(policy, columns, &[1, 2], 0, &control).is_none());
    }
}

#[test]
fn what_differs_between_sizes_is_not_shared() {
    let spec = |name| PolicySpec::parse_list(name).expect("a policy of the table").remove(0);
    let (fifo, plain) = (spec("fifo"), RunOptions::default());
    assert!(can_share(&fifo, &plain, 1000));
    assert!(!can_share(&spec("arc"), &plain, 1000));
    assert!(!can_share(&fifo, &plain, usize::MAX));
    assert!(!can_share(&fifo, &RunOptions { check: true, ..plain.clone() }, 1000));
    assert!(!can_share(&fifo, &RunOptions { warmup: Warmup::Full, ..plain }, 1000));
}
