//! Sizes that share a pass against runs of their own.

use super::{LANES, at_once, can_share, run, windows_pay};
use crate::accesses::{Columns, Extent};
use crate::control::Control;
use crate::control_commands::ControlCommands;
use crate::input::NextUses;
use crate::observe::Unobserved;
use crate::replay::{Replay, Replayed};
use crate::warmup::Warmup;
use crate::windows::Windows;
use destage_policies::{Setup, check_params};
use proptest::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

const POLICIES: [&str; 3] = ["fifo", "clock", "sieve"];

/// A run of its own.
fn alone(policy: &str, columns: Columns<'_>, frames: u32, warmup: usize) -> Replayed {
    assert!(can_share(policy, columns.lpns.len()));
    let params = check_params(policy, []).expect("a policy of the table");
    let replay = Replay {
        columns,
        next_uses: NextUses::None,
        warmup: Warmup::Requests(warmup as u64),
        arrivals_ns: &[],
        trims: ControlCommands::NONE,
    };
    let setup = Setup { params, ..Setup::new(frames) };
    let ran = replay.run_unwatched(policy, &setup, &mut Unobserved).expect("it can be built");
    ran.expect("no stop")
}

fn windows(of: &Replayed) -> Option<Windows> {
    of.parts.clone().finish(None, &|_| ())
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
        let columns = Columns { first_ids: &first_ids, extents: &extents, lpns: &lpns };
        let accesses = columns.accesses() * frames.len() as u64;
        for policy in POLICIES {
            for with_windows in [true, false] {
                let control = Control::default();
                let shared = run(policy, columns, &frames, warmup, with_windows, &control);
                for (at_size, &frames) in shared.expect("not stopped").iter().zip(&frames) {
                    let want = alone(policy, columns, frames, warmup);
                    prop_assert_eq!(at_size.counters, want.counters);
                    prop_assert_eq!(at_size.dirty_at_start, want.dirty_at_start);
                    prop_assert_eq!(at_size.dirty_left, want.dirty_left);
                    prop_assert_eq!(at_size.warmup_requests, want.warmup_requests);
                    if with_windows {
                        prop_assert_eq!(windows(at_size), windows(&want));
                    }
                }
                prop_assert_eq!(control.accesses_done.load(Relaxed), accesses);
            }
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
fn a_policy_whose_hits_move_pages_is_not_shared() {
    assert!(can_share("fifo", 1000));
    assert!(!can_share("arc", 1000));
    assert!(!can_share("fifo", usize::MAX));
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
    let pay = |name, accesses| windows_pay(name, accesses, 1000);
    assert_eq!([pay("fifo", 1999), pay("fifo", 2000), pay("sieve", 0)], [false, true, true]);
}
