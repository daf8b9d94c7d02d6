//! Whole runs, of policies by their names, and what is refused before one begins.

use super::{Mounted, RunOptions, compare, run};
use crate::result::RunResult;
use crate::sizes::Frames;
use crate::spec::PolicySpec;
use destage_core::Op;
use destage_policies::{FromRun, POLICIES};
use destage_replay::control::Control;
use destage_replay::error::RunError;
use destage_replay::observe::Unobserved;
use destage_replay::timed::Workload;
use destage_ssd::config::Table;
use destage_ssd::{Device, DeviceConfig, Drive};
use std::sync::Arc;

/// Requests of 1 to 3 pages on a drive of 400, some skewed, two thirds of them writes, in bursts.
fn workload(requests: u64) -> Workload {
    let mut state = 1u64;
    let mut random = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut arrival = 0;
    let requests: Vec<_> = (0..requests)
        .map(|_| {
            arrival += if random(8) == 0 { 1_000_000 } else { random(50_000) };
            let op = if random(3) == 0 { Op::Read } else { Op::Write };
            let page = if random(2) == 0 { random(40) } else { random(397) };
            (arrival, op, page * 4096, (1 + random(3)) * 4096)
        })
        .collect();
    let drive = Drive::from_spec("acr[blocks_per_plane=64;logical_pages=3000;page_bytes=4096]");
    Workload::new(requests, &drive.expect("a good drive").device).expect("requests on the drive")
}

fn mounted(changes: &str) -> Arc<Mounted> {
    let drive = Drive::from_spec(&format!(
        "acr[blocks_per_plane=64;logical_pages=3000;page_bytes=4096;{changes}]"
    ))
    .expect("a good drive");
    Arc::new(Mounted {
        name: drive.name.clone(),
        record: drive.to_json(),
        device: Device::new(&drive.device).into(),
        cache: drive.cache.with_policy(None, 0, Table::new()),
        host: drive.host,
        placement: None,
    })
}

fn one(workload: &Workload, policy: &str, options: &RunOptions) -> Result<RunResult, RunError> {
    let spec = PolicySpec::parse(policy).expect("a policy");
    let frames = Frames { frames: 30, given: "30p".into() };
    run(&workload.input(), &spec, &frames, options, &Control::default(), &mut Unobserved)
}

#[test]
fn every_policy_runs_in_front_of_a_device_with_the_decisions_it_has_without() {
    let workload = workload(2000);
    let with = RunOptions { drive: Some(mounted("")), check: true, ..RunOptions::default() };
    let without = RunOptions { check: true, ..RunOptions::default() };
    for info in POLICIES {
        // What a drive says must be said without one as well.
        let units = info.takes.iter().find(|takes| takes.from == FromRun::Units);
        let spec =
            units.map_or(info.name.into(), |takes| format!("{}[{}=3]", info.name, takes.param));
        let timed = one(&workload, &spec, &with).expect(info.name);
        let timing = timed.timing.as_ref().expect("a run with a device");
        assert_eq!(timing.counters.dirty_evictions, timed.counters.destaged_pages);
        assert_eq!(
            timed.config.device.as_deref(),
            Some(with.drive.as_ref().expect("it").name.as_str())
        );
        let needs = destage_policies::requirements(info.name).expect("in the table");
        match one(&workload, &spec, &without) {
            Ok(untimed) => {
                assert!(!needs.device(), "{}", info.name);
                assert_eq!(untimed.counters, timed.counters, "{}", info.name);
                assert_eq!(untimed.timing, None);
            }
            Err(error) => {
                assert!(needs.device(), "{}: {error}", info.name);
                let text = error.to_string();
                assert!(text.contains(info.name) && text.contains("--device"), "{text}");
            }
        }
    }
}

#[test]
fn no_cache_needs_a_device_and_misses_always() {
    let workload = workload(300);
    let text = one(&workload, "none", &RunOptions::default()).expect_err("refused").to_string();
    assert!(text.contains("add a device"), "{text}");
    let with = RunOptions { drive: Some(mounted("")), profile: true, ..RunOptions::default() };
    let run = one(&workload, "none", &with).expect("a run");
    assert_eq!(run.counters.hits(), 0);
    assert_eq!(run.counters.physical_writes, run.counters.write_misses);
    let timing = run.timing.expect("times");
    assert_eq!(timing.counters.device.flash_programs, run.counters.write_misses);
    let profile = run.profile.expect("it was asked for");
    assert_eq!(profile.periods.iter().map(|p| p.requests).sum::<u64>(), 300);
    let busy: u64 = profile.unit_busy_ns.iter().flatten().sum();
    assert_eq!(busy, timing.counters.device.unit_busy_ns.iter().sum::<u64>());
}

#[test]
fn a_trace_beyond_the_drive_is_refused_before_the_run() {
    let large = DeviceConfig::from_table(&Table::new()).expect("the default drive");
    let beyond = Workload::new([(0, Op::Write, 3000 * 4096, 1)], &large).expect("on that drive");
    let options = RunOptions { drive: Some(mounted("")), ..RunOptions::default() };
    let text = one(&beyond, "lru", &options).expect_err("refused").to_string();
    assert!(text.contains("page 3000 of the trace is beyond the device"), "{text}");
}

#[test]
fn sizes_that_share_a_pass_give_the_results_of_runs_of_their_own() {
    let workload = workload(2000);
    let sizes: Vec<Frames> =
        [7, 30, 200].map(|frames| Frames { frames, given: format!("{frames}p") }).into();
    let (input, options) = (workload.input(), RunOptions::default());
    for policy in ["fifo", "clock", "sieve"] {
        let spec = [PolicySpec::parse(policy).expect("a policy")];
        let alone: Vec<RunResult> = sizes
            .iter()
            .map(|size| run(&input, &spec[0], size, &options, &Control::default(), &mut Unobserved))
            .collect::<Result<_, _>>()
            .expect("runs");
        for jobs in [1, 2] {
            let shared = compare(&input, &spec, &sizes, &options, jobs, &Control::default());
            assert_eq!(shared.expect("runs"), alone, "{policy}");
        }
    }
}
