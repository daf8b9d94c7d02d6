//! ACE's gain over its base by the drive's units: its paper's claim, as docs/asking.md shows it.

use destage_core::{Nanos, Op};
use destage_engine::result::RunResult;
use destage_engine::run::{Mounted, RunOptions, compare};
use destage_engine::sizes::Frames;
use destage_engine::spec::PolicySpec;
use destage_replay::control::Control;
use destage_replay::timed::Workload;
use destage_ssd::config::{DeviceConfig, Table, Value};
use destage_ssd::precondition::SplitMix64;
use destage_ssd::{CacheDefaults, Device, HostConfig};
use std::path::Path;
use std::sync::Arc;

/// The four of the paper, and two more.
const BASES: [&str; 6] =
    ["lru", "cflru[window_fraction=0.5]", "lru-wsr", "clock-sweep", "clock", "fifo"];

const UNITS: [i128; 5] = [1, 2, 4, 8, 16];

const REQUESTS: u64 = 30_000;

/// 512 blocks of 16 pages on so many chips, each on a channel of its own.
fn drive(units: i128) -> DeviceConfig {
    let sizes = [
        ("channels", units),
        ("blocks_per_plane", 512 / units),
        ("pages_per_block", 16),
        ("logical_pages", 5000),
        ("gc_low_pages", 16),
    ];
    let mut table: Table =
        sizes.map(|(key, size)| (key.to_string(), Value::Int(size))).into_iter().collect();
    table.insert("precondition".into(), Value::Text("sequential".into()));
    DeviceConfig::from_table(&table).unwrap_or_else(|error| panic!("{units} units: {error}"))
}

/// One page each, six of ten written; two of three go to a fifth of the pages.
fn requests() -> Vec<(Nanos, Op, u64, u64)> {
    let mut random = SplitMix64::new(2023);
    let request = |_| {
        let op = if random.below(10) < 6 { Op::Write } else { Op::Read };
        let pages = if random.below(3) == 0 { 5000 } else { 1000 };
        (0, op, u64::from(random.below(pages)) * 4096, 4096)
    };
    (0..REQUESTS).map(request).collect()
}

/// Each base alone and under ACE, one request at a time.
fn runs(units: i128) -> Vec<RunResult> {
    let config = drive(units);
    let workload = Workload::new(requests(), &config).expect("on the drive");
    let closed = [("mode", Value::Text("closed".into())), ("queue_depth", Value::Int(1))];
    let host: Table = closed.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
    // As ACE's own evaluation: a page waits for the victim's program.
    let waits = Table::from([("evict_wait".to_string(), Value::Text("program".into()))]);
    let cache = CacheDefaults::from_table(&waits).expect("a wait");
    let mounted = Mounted {
        name: format!("{units} units"),
        record: serde_json::Value::Null,
        device: Device::new(&config).into(),
        cache: cache.with_policy(None, 0, Table::new()),
        host: HostConfig::from_table(&host, &config).expect("closed"),
        placement: None,
    };
    let options = RunOptions {
        drive: Some(Arc::new(mounted)),
        flush_at_end: true,
        check: true,
        ..RunOptions::default()
    };
    let specs = BASES.iter().flat_map(|base| [base.to_string(), format!("ace[base={base}]")]);
    let specs: Vec<PolicySpec> =
        specs.map(|spec| PolicySpec::parse(&spec).expect("a policy")).collect();
    let frames = [Frames { frames: 500, given: "500p".into() }];
    compare(&workload.input(), &specs, &frames, &options, 1, &Control::default()).expect("runs")
}

fn time_ns(run: &RunResult) -> Nanos {
    run.timing.as_ref().expect("a timed run").counters.makespan_ns
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / whole as f64)
}

#[test]
fn ace_takes_less_time_the_more_units_there_are_as_the_document_says() {
    let mut rows = BASES.map(|base| format!("| `{base}` |"));
    let mut written = BASES.map(|_| String::new());
    let mut last = BASES.map(|_| f64::INFINITY);
    for units in UNITS {
        let runs = runs(units);
        for (i, pair) in runs.chunks(2).enumerate() {
            let [base, ace] = pair else { unreachable!("two of each") };
            let [ours, alone] = [ace, base].map(time_ns);
            rows[i].push_str(&format!(" {} |", percent(ours, alone)));
            let writes = [ace, base].map(|run| run.counters.physical_writes);
            written[i] = format!(" {} |", percent(writes[0], writes[1]));
            let share = ours as f64 / alone as f64;
            assert!(units < 4 || share < 1.0, "{}, {units} units: {share}", BASES[i]);
            assert!(units > 8 || share < last[i], "{}: more units, less time", BASES[i]);
            last[i] = share;
        }
    }
    let rows: Vec<String> = rows.iter().zip(&written).map(|(row, w)| row.clone() + w).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/record/ace.md");
    let document = std::fs::read_to_string(path).expect("benches/record/ace.md");
    let head = "| base | 1 unit | 2 | 4 | 8 | 16 | flash writes, 16 |";
    let found = document.lines().skip_while(|line| *line != head).skip(2);
    let found: Vec<&str> = found.take_while(|line| line.starts_with('|')).collect();
    assert_eq!(found, rows, "benches/record/ace.md should read:\n{}\n", rows.join("\n"));
}
