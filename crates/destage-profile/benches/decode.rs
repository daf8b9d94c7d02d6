//! How fast records become columns: requests per second of CPU time for each step after parsing.
//!
//! ```sh
//! cargo bench -p destage-trace --bench decode
//! ```
//! `DESTAGE_BENCH_REQUESTS` sets the number of requests (default 20,000,000). Records are made
//! beforehand, so that the decoder alone is timed; the columns go to temporary files.

use std::time::Instant;

use destage_profile::info::TraceInfo;
use destage_synth::{Workload, open_workload};
use destage_trace::{
    DeviceTable, Record, Result,
    cache::CacheOptions,
    decode::{DecodeOptions, NoHooks, RecordSource},
    decode_records,
};
use serde_json::json;

/// Records in memory, handed out as a reader does.
struct Made<'a> {
    records: &'a [Record],
    devices: DeviceTable,
    at: usize,
}

impl RecordSource for Made<'_> {
    fn next_batch(&mut self, batch: &mut Vec<Record>) -> Result<bool> {
        let end = (self.at + 8192).min(self.records.len());
        batch.extend_from_slice(&self.records[self.at..end]);
        self.at = end;
        Ok(end < self.records.len())
    }

    fn devices(&self) -> &DeviceTable {
        &self.devices
    }

    fn summary(&self) -> serde_json::Value {
        json!({})
    }
}

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let test = std::env::args().any(|a| a == "--test");
    let requests = std::env::var("DESTAGE_BENCH_REQUESTS").ok().and_then(|n| n.parse().ok());
    let requests: u64 = if test { 10_000 } else { requests.unwrap_or(20_000_000) };
    println!("{requests} requests each; M/s of CPU time");
    for (name, description) in [
        ("zipf(1.0), 1 M pages", json!({ "kind": "zipf", "pages": 1_000_000 })),
        ("uniform, 16 M pages", json!({ "kind": "uniform", "pages": 16_000_000 })),
        ("oltp, 4 M pages", json!({ "kind": "oltp", "pages": 4_000_000 })),
    ] {
        let mut description = description;
        description["requests"] = json!(requests);
        let workload: Workload = serde_json::from_value(description).expect("a good description");
        if let Err(error) = steps(name, &workload) {
            println!("{name}: {error}");
        }
    }
}

fn steps(name: &str, workload: &Workload) -> Result<()> {
    println!("{name}");
    let millions = workload.requests as f64 / 1e6;
    let report = |what: &str, millions: f64, (wall, cpu): (f64, f64)| {
        println!("  {what:<22} {:>8.1} M/s  {cpu:.3} s CPU, {wall:.3} s wall", millions / cpu);
    };
    let mut records = Vec::new();
    let time = timed(|| {
        let (mut source, mut batch) = (workload.source()?, Vec::new());
        loop {
            batch.clear();
            let more = source.next_batch(&mut batch)?;
            records.extend_from_slice(&batch);
            if !more {
                return Ok(());
            }
        }
    })?;
    report("made", millions, time.1);

    let mut devices = DeviceTable::new();
    devices.index(b"made");
    let mut made = Made { records: &records, devices, at: 0 };
    let options = DecodeOptions::default();
    let (trace, time) = timed(|| decode_records(&mut made, "made", &options, &mut NoHooks))?;
    report("decoded", millions, time);
    let accesses = trace.accesses() as f64 / 1e6;
    report("next uses (accesses)", accesses, timed(|| trace.next_uses())?.1);
    report("info (accesses)", accesses, timed(|| TraceInfo::of(&trace, &mut NoHooks))?.1);
    drop((trace, records));

    let folder = tempfile::tempdir().expect("a temporary folder");
    let cache = CacheOptions { dir: Some(folder.path().to_owned()), ..CacheOptions::default() };
    open_workload(workload, &options, &cache, &mut NoHooks)?;
    let (_, time) = timed(|| open_workload(workload, &options, &cache, &mut NoHooks))?;
    report("mapped and checked", millions, time);
    Ok(())
}

/// Result, and wall and CPU seconds.
fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, (f64, f64))> {
    let (wall, cpu) = (Instant::now(), cpu_seconds());
    let result = work()?;
    Ok((result, (wall.elapsed().as_secs_f64(), cpu_seconds() - cpu)))
}

/// CPU time of the process so far, user and system, in seconds; 0 where there is no procfs.
fn cpu_seconds() -> f64 {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return 0.0 };
    // The second field is the program's name in parentheses; times are fields 14 and 15, in ticks
    // of 10 ms.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |k: usize| fields.get(k).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}
