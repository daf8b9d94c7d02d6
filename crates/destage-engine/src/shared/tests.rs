//! Sizes that share a pass against runs of their own.

use super::{LANES, at_once, can_share, run, windows_pay};
use crate::accesses::{Columns, Extent};
use crate::control::Control;
use crate::control_commands::ControlCommands;
use crate::input::{Input, NextUses};
use crate::observe::Unobserved;
use crate::options::RunOptions;
use crate::result::RunResult;
use crate::run::compare;
use crate::sizes::Frames;
use crate::spec::PolicySpec;
use crate::warmup::Warmup;
use proptest::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

const POLICIES: [&str; 3] = ["fifo", "clock", "sieve"];

fn of(frames: u32) -> Frames {
    Frames { frames, given: format!("{frames}p") }
}

/// A run of its own.
fn alone(policy: &str, input: &Input<'_>, frames: u32, options: &RunOptions) -> RunResult {
    let spec = &PolicySpec::parse_list(policy).expect("a policy of the table")[0];
    assert!(can_share(spec, options, input.columns.lpns.len()));
    let result =
        crate::run::run(input, spec, &of(frames), options, &Control::default(), &mut Unobserved);
    result.expect("a run")
}

proptest! {
    #[test]
    fn sizes_that_share_a_pass_count_what_they_count_alone(
        // Few pages are used often: hits in some sizes and misses in others.
        requests in prop::collection::vec(
            (prop_oneof![0u32..6, 0u32..36], 1u32..5, any::<bool>()), 0..1500),
        frames in prop::collection::vec(1u32..45, 1..=LANES),
        warmup in 0usize..1600,
        flushes: bool,
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
            control_commands: ControlCommands::NONE,
        };
        let options = RunOptions {
            warmup: Warmup::Requests(warmup as u64),
            flush_at_end: flushes,
            ..RunOptions::default()
        };
        let accesses = input.columns.accesses() * frames.len() as u64;
        let sizes: Vec<Frames> = frames.iter().map(|&frames| of(frames)).collect();
        for policy in POLICIES {
            let want: Vec<RunResult> =
                frames.iter().map(|&frames| alone(policy, &input, frames, &options)).collect();
            let spec = PolicySpec::parse_list(policy).expect("a policy of the table");
            for jobs in [1, 2] {
                let control = Control::default();
                let shared = compare(&input, &spec, &sizes, &options, jobs, &control);
                prop_assert_eq!(&shared.expect("runs"), &want);
                prop_assert_eq!(control.accesses_done.load(Relaxed), accesses);
            }
            // Without windows, as curves have them.
            let control = Control::default();
            let shared = run(policy, input.columns, &frames, warmup, false, &control);
            for (size, want) in shared.expect("not stopped").iter().zip(&want) {
                let counters = size.replayed.counters;
                prop_assert_eq!(counters.hits(), want.counters.hits());
                prop_assert_eq!(counters.destaged_pages, want.counters.destaged_pages);
                let owed = want.debt.expect("dirty pages").dirty_left + want.counters.end_flushes;
                prop_assert_eq!(size.dirty_left, owed);
            }
            prop_assert_eq!(control.accesses_done.load(Relaxed), accesses);
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
        assert!(run(policy, columns, &[1, 2], 0, true, &control).is_none());
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

#[test]
fn every_thread_has_a_task_before_sizes_are_shared() {
    // Eight sizes of one policy: all together for one thread, a half for each of two.
    assert_eq!([1, 2, 3, 8, 16].map(|jobs| at_once(8, 8, jobs)), [8, 4, 2, 1, 1]);
    // Of five policies two threads have enough to do.
    assert_eq!([at_once(8, 40, 2), at_once(9, 40, 2), at_once(0, 0, 2)], [8, 5, 1]);
}

#[test]
fn windows_of_fifo_are_cut_where_pages_come_again_often_enough() {
    let spec = |name| PolicySpec::parse_list(name).expect("a policy of the table").remove(0);
    let pay = |name, accesses| windows_pay(&spec(name), accesses, 1000);
    assert_eq!([pay("fifo", 1999), pay("fifo", 2000), pay("sieve", 0)], [false, true, true]);
}
