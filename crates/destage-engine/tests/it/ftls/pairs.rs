//! Timed runs of every policy over every FTL, with every law checked; what they programmed stands
//! in benches/record/policies-over-ftls.md.

use super::{drive, requests};
use destage_engine::run::{Mounted, RunOptions, compare};
use destage_engine::sizes::Frames;
use destage_engine::spec::PolicySpec;
use destage_policies::POLICIES;
use destage_replay::control::Control;
use destage_replay::timed::Workload;
use destage_ssd::Device;
use destage_ssd::config::Table;
use destage_ssd::ftl::NAMES;
use destage_ssd::{CacheDefaults, HostConfig};
use std::path::Path;
use std::sync::Arc;

#[test]
fn every_policy_runs_over_every_ftl_and_programs_what_the_document_says() {
    let names = std::iter::once("none").chain(POLICIES.iter().map(|info| info.name));
    let specs: Vec<PolicySpec> =
        names.map(|name| PolicySpec::new(name, Vec::new()).expect("a policy")).collect();
    let mut rows: Vec<String> =
        specs.iter().map(|spec| format!("| `{}` |", spec.label())).collect();
    for &ftl in NAMES {
        let config = drive(ftl);
        let workload = Workload::new(requests(6000), &config).expect("on the drive");
        let host = HostConfig::from_table(&Table::new(), &config).expect("open");
        let cache = CacheDefaults::from_table(&Table::new()).expect("defaults");
        let mounted = Mounted {
            name: ftl.into(),
            record: serde_json::Value::Null,
            device: Device::new(&config).into(),
            cache: cache.with_policy(None, 0, Table::new()),
            host,
            placement: None,
        };
        let options =
            RunOptions { drive: Some(Arc::new(mounted)), check: true, ..RunOptions::default() };
        let frames = [Frames { frames: 64, given: "64p".into() }];
        let runs = compare(&workload.input(), &specs, &frames, &options, 1, &Control::default());
        let runs = runs.unwrap_or_else(|error| panic!("{ftl}: {error}"));
        for ((row, run), spec) in rows.iter_mut().zip(runs).zip(&specs) {
            let timing = run.timing.expect("a timed run");
            let device = &timing.counters.device;
            assert_eq!(timing.counters.requests, 6000, "{} over {}", spec.label(), ftl);
            assert_eq!(device.ftl.is_some(), ftl != "page");
            assert!(device.erases > 0, "{} over {} erases", spec.label(), ftl);
            row.push_str(&format!(" {} |", device.programs_of_all_kinds()));
        }
    }
    let table = "benches/record/policies-over-ftls.md";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(table);
    let document = std::fs::read_to_string(path).expect(table);
    let head = "| policy | page | dftl | bast | fast | page-ideal |";
    let found = document.lines().skip_while(|line| *line != head).skip(2);
    let found: Vec<&str> = found.take_while(|line| line.starts_with('|')).collect();
    assert_eq!(found, rows, "{table} should read:\n{}\n", rows.join("\n"));
}
