//! Rates of runs with a device, in requests and in page operations per second of CPU time. Page
//! operations are what the units serve: R, W, M, S and E, each once.
//!
//! ```text
//! cargo bench -p destage-engine --bench timed -- --device ecr --policies none,lru,ecr
//!     --requests 4000000 --rounds 3
//! cargo bench -p destage-engine --bench timed -- TRACE --device small --policies lru,ecr
//! ```
//!
//! Without a trace the requests are 4-KiB writes to random pages of the whole drive, which arrive
//! as fast as the drive can take them on the average (`--gap-ns`).

use destage_engine::result::RunResult;
use destage_engine::run::{Mounted, RunOptions, needs_next_use, run};
use destage_engine::sizes::CacheSize;
use destage_engine::spec::PolicySpec;
use destage_replay::control::Control;
use destage_replay::control_commands::ControlCommands;
use destage_replay::input::Input;
use destage_replay::{Columns, Extent, NextUses, Unobserved};
use destage_ssd::precondition::SplitMix64;
use destage_ssd::{Device, Drive, FtlCounters};
use destage_trace::open_trace;
use destage_trace::{CacheOptions, DecodeOptions, NoHooks, ReaderOptions, Trace};
use std::path::PathBuf;
use std::sync::Arc;

struct Arguments {
    traces: Vec<PathBuf>,
    device: String,
    policies: String,
    cache: String,
    requests: u64,
    gap_ns: u64,
    rounds: u32,
    reader: ReaderOptions,
    keep: bool, // decoded traces
}

fn arguments() -> Result<Option<Arguments>, String> {
    let mut parsed = Arguments {
        traces: Vec::new(),
        device: "ecr".into(),
        policies: "none,lru,ecr".into(),
        cache: "8192p".into(),
        requests: 4_000_000,
        gap_ns: 30_000,
        rounds: 3,
        reader: ReaderOptions::default(),
        keep: true,
    };
    let mut benching = false;
    let mut rest = std::env::args().skip(1);
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(format!("{argument} needs a value"));
        let number = |text: String| {
            text.parse().map_err(|_| format!("{argument}: {text} is not a whole number"))
        };
        match argument.as_str() {
            "--bench" => benching = true, // cargo says so to every bench
            "--device" => parsed.device = value()?,
            "--policies" => parsed.policies = value()?,
            "--cache" => parsed.cache = value()?,
            "--requests" => parsed.requests = number(value()?)?,
            "--format" => parsed.reader.format = Some(value()?),
            "--no-trace-cache" => parsed.keep = false,
            "--gap-ns" => parsed.gap_ns = number(value()?)?,
            "--rounds" => parsed.rounds = number(value()?)? as u32,
            key if key.starts_with("--") => {
                return Err(format!("{key} is no option of this bench"));
            }
            _ => parsed.traces.push(argument.into()),
        }
    }
    // `cargo test` runs benches too; it measures nothing.
    Ok(benching.then_some(parsed))
}

fn main() {
    if let Err(message) = arguments().and_then(|a| a.map_or(Ok(()), |a| measure(&a))) {
        eprintln!("timed: {message}");
        std::process::exit(2);
    }
}

/// Random writes over all pages of a drive.
struct Writes {
    ids: Vec<u32>,
    extents: Vec<u32>,
    arrivals_ns: Vec<u64>,
    lpns: Vec<u64>,
}

impl Writes {
    fn new(requests: u64, pages: u64, gap_ns: u64) -> Self {
        let mut random = SplitMix64::new(7);
        let page = |r: u64| ((u128::from(r) * u128::from(pages)) >> 64) as u32;
        Writes {
            ids: (0..requests).map(|_| page(random.next())).collect(),
            extents: vec![Extent::new(1, true, false, false).0; requests as usize],
            arrivals_ns: (0..requests).map(|k| k * gap_ns).collect(),
            lpns: (0..pages).collect(),
        }
    }

    fn input(&self) -> Input<'_> {
        Input {
            columns: Columns { first_ids: &self.ids, extents: &self.extents, lpns: &self.lpns },
            next_uses: NextUses::None,
            arrivals_ns: &self.arrivals_ns,
            continuations: &[],
            request_bytes: &[],
            chains: &[],
            control_commands: ControlCommands::NONE,
        }
    }
}

fn measure(arguments: &Arguments) -> Result<(), String> {
    let drive = Drive::from_spec(&arguments.device).map_err(|e| e.to_string())?;
    let specs = PolicySpec::parse_list(&arguments.policies).map_err(|e| e.to_string())?;
    let before = cpu_time::ProcessTime::now();
    let device = Device::new(&drive.device);
    let prepared = before.elapsed().as_secs_f64();
    println!(r#"{{"case":"prepare","device":"{}","cpu_s":{prepared:.3}}}"#, drive.name);
    let pages = u64::from(drive.device.logical_pages);
    let mounted = Mounted {
        name: drive.name.clone(),
        record: drive.to_json(),
        device: device.into(),
        cache: drive.cache.with_policy(None, 0, Default::default()),
        host: drive.host,
        placement: None,
    };
    let options = RunOptions { drive: Some(Arc::new(mounted)), ..RunOptions::default() };
    let trace = match arguments.traces.is_empty() {
        true => None,
        false => Some(opened(arguments, &drive)?),
    };
    let uses = match &trace {
        Some(trace) if needs_next_use(&specs) => {
            Some(trace.next_uses().map_err(|e| e.to_string())?)
        }
        _ => None,
    };
    let writes =
        Writes::new(if trace.is_some() { 0 } else { arguments.requests }, pages, arguments.gap_ns);
    let input = match &trace {
        Some(trace) => Input::new(trace, uses.as_deref()),
        None => writes.input(),
    };
    let unique = input.columns.lpns.len() as u64;
    let sizes =
        CacheSize::parse(&arguments.cache)?.resolve(drive.device.page_bytes.into(), unique)?;
    for frames in &sizes {
        for spec in &specs {
            let mut best = f64::INFINITY;
            let mut last = None;
            for _ in 0..arguments.rounds {
                let before = cpu_time::ProcessTime::now();
                let result =
                    run(&input, spec, frames, &options, &Control::default(), &mut Unobserved);
                best = best.min(before.elapsed().as_secs_f64());
                last = Some(result.map_err(|e| e.to_string())?);
            }
            if let Some(result) = last {
                show(&result, frames.frames, best);
            }
        }
    }
    Ok(())
}

/// A line about a run that took this much of the processor.
fn show(result: &RunResult, frames: u32, cpu_s: f64) {
    let Some(timing) = &result.timing else { return };
    let (c, d) = (&timing.counters, &timing.counters.device);
    let operations = match &d.ftl {
        Some(FtlCounters { common: f, .. }) => f.flash_reads + f.flash_programs + f.erases,
        None => d.flash_reads + d.flash_programs + d.gc_moves + d.summary_programs + d.erases,
    };
    println!(
        r#"{{"case":"run","policy":"{}","frames":{},"requests":{},"page_operations":{operations},"cpu_s":{cpu_s:.3},"requests_per_s":{:.0},"page_operations_per_s":{:.0},"hit_ratio":{:.4},"waf":{:.3},"mean_ns":{},"moves":{},"erases":{}}}"#,
        result.config.policy,
        frames,
        c.requests,
        c.requests as f64 / cpu_s,
        operations as f64 / cpu_s,
        c.hits as f64 / c.page_accesses.max(1) as f64,
        d.programs_of_all_kinds() as f64 / d.flash_programs.max(1) as f64,
        (c.read_response_ns_sum + c.write_response_ns_sum) / c.requests.max(1),
        d.gc_moves,
        d.erases,
    );
}

fn opened(arguments: &Arguments, drive: &Drive) -> Result<Arc<Trace>, String> {
    let decode = DecodeOptions {
        page_bytes: Some(drive.device.page_bytes.into()),
        wrap_pages: Some(drive.device.logical_pages.into()),
        ..DecodeOptions::default()
    };
    let cache = CacheOptions { enabled: arguments.keep, ..CacheOptions::default() };
    open_trace(&arguments.traces, &arguments.reader, &decode, &cache, &mut NoHooks)
        .map_err(|e| e.to_string())
}
