//! Whole runs, of policies by their names in front of a mounted drive, and what is refused before
//! one begins.

use super::{TimedReplay, cache, config, lru, word, workload};
use crate::control::Control;
use crate::error::RunError;
use crate::input::Input;
use crate::observe::Unobserved;
use crate::run::{Mounted, RunOptions, run};
use crate::sizes::Frames;
use crate::spec::PolicySpec;
use crate::timed::Workload;
use crate::warmup::Warmup;
use destage_core::Op;
use destage_policies::{FromRun, POLICIES};
use destage_ssd::config::{Table, Value as Given};
use destage_ssd::{Device, DeviceConfig, Drive, HostConfig};
use std::sync::Arc;

fn mounted(changes: &str) -> Arc<Mounted> {
    let drive = Drive::from_spec(&format!(
        "acr[blocks_per_plane=64;logical_pages=3000;page_bytes=4096;{changes}]"
    ))
    .expect("a good drive");
    Arc::new(Mounted {
        name: drive.name.clone(),
        record: drive.to_json(),
        device: Device::new(&drive.device),
        cache: drive.cache.with_policy(None, 0, Table::new()),
        host: drive.host,
        placement: None,
    })
}

fn one(
    workload: &Workload,
    policy: &str,
    options: &RunOptions,
) -> Result<crate::result::RunResult, RunError> {
    let spec = PolicySpec::parse(policy).expect("a policy");
    let frames = Frames { frames: 30, given: "30p".into() };
    run(&workload.input(), &spec, &frames, options, &Control::default(), &mut Unobserved)
}

#[test]
fn every_policy_runs_in_front_of_a_device_with_the_decisions_it_has_without() {
    let workload = workload(2000, &config(&[]));
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
    let workload = workload(300, &config(&[]));
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
    assert!(text.contains("page 3000 of the trace is beyond the drive"), "{text}");
}

#[test]
fn a_request_without_a_length_in_bytes_is_as_long_as_all_its_rows() {
    // Half of the requests wrap at the drive's end: they have two rows or more.
    let device = config(&[("handles", Given::Int(2)), ("blocks_per_plane", Given::Int(24))]);
    let request =
        |k: u64| (k * 20_000, Op::Write, (k * 37 % 397 + 397 * (k % 2)) * 4096, 12 * 4096);
    let workload = Workload::new((0..600).map(request), &device).expect("requests");
    assert!(workload.input().continuations.len() > 10);
    let mut placement = Table::new();
    placement.insert("policy".into(), word("by-size"));
    placement.insert("thresholds".into(), Given::List(vec![Given::Int(40_960)]));
    let device = device.with_placement(&placement).expect("a good placement");
    let run = |input: &Input<'_>| {
        let host = HostConfig::from_table(&Table::new(), &device).expect("the default host");
        let replay = TimedReplay {
            input: *input,
            host,
            warmup: Warmup::None,
            fetch_on_write_miss: false,
            flush_at_end: true,
        };
        let mut device = Device::new(&device);
        replay.run(&mut device, &mut lru(&workload), &cache(), &mut Unobserved).expect("a run");
        device.counters()
    };
    let said = run(&workload.input());
    assert_eq!(said, run(&Input { request_bytes: &[], ..workload.input() }));
    let short = vec![4096; workload.input().request_bytes.len()];
    assert_ne!(said, run(&Input { request_bytes: &short, ..workload.input() }), "lengths count");
}
