//! Rates of the replay loop, in accesses per second of CPU time, beside a bare LRU loop over the
//! same dense ids. `make bench` runs it and sets it beside other simulators (benches/README.md).
//!
//! ```text
//! cargo bench -p destage-engine --bench replay -- TRACE --format oracle-general --object opaque
//!     --policies lru,arc --cache 1%,10% --rounds 3 --json -
//! ```

use destage_engine::options::RunOptions;
use destage_engine::run::needs_next_use;
use destage_engine::sizes::CacheSize;
use destage_engine::spec::PolicySpec;
use destage_mrc::{LruCurve, MrcOptions, mrc};
use destage_policies::Setup;
use destage_replay::control::Control;
use destage_replay::control_commands::ControlCommands;
use destage_replay::input::Input;
use destage_replay::warmup::Warmup;
use destage_replay::{Columns, Extent, Replay, Unobserved};
use destage_trace::open_trace;
use destage_trace::{CacheOptions, DecodeOptions, NoHooks, ReaderOptions, Trace};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Counts what is allocated, so that the memory of a replay is a number and not a guess.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; only sizes are counted beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Arguments {
    traces: Vec<PathBuf>,
    reader: serde_json::Map<String, serde_json::Value>,
    page_bytes: Option<u64>,
    policies: String,
    cache: String,
    rounds: u32,
    curve: bool,
    shared: bool,
    decode_only: bool,
    export: Option<PathBuf>,
    trace_cache: bool,
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments {
        traces: Vec::new(),
        reader: serde_json::Map::new(),
        page_bytes: None,
        policies: "lru,fifo,clock,sieve,arc,2q,lirs,s3-fifo,w-tinylfu,min".into(),
        cache: "1%,10%".into(),
        rounds: 3,
        curve: false,
        shared: false,
        decode_only: false,
        export: None,
        trace_cache: true,
    };
    let mut rest = std::env::args().skip(1);
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--bench" => {} // cargo says so to every bench
            "--policies" => parsed.policies = value()?,
            "--cache" => parsed.cache = value()?,
            "--rounds" => {
                parsed.rounds = value()?.parse().map_err(|_| "--rounds: a whole number")?
            }
            "--page-bytes" => {
                parsed.page_bytes =
                    Some(value()?.parse().map_err(|_| "--page-bytes: a whole number")?);
            }
            "--curve" => parsed.curve = true,
            "--shared" => parsed.shared = true,
            "--decode-only" => parsed.decode_only = true,
            "--export" => parsed.export = Some(value()?.into()),
            "--no-trace-cache" => parsed.trace_cache = false,
            key if key.starts_with("--") => {
                let name = key.trim_start_matches('-').replace('-', "_");
                parsed.reader.insert(name, value()?.into());
            }
            _ => parsed.traces.push(argument.into()),
        }
    }
    if parsed.traces.is_empty() { Err("a trace is needed".into()) } else { Ok(parsed) }
}

fn main() {
    // `cargo test` runs benches too; without a trace there is nothing to measure.
    if let Err(message) = arguments().and_then(|a| measure(&a)) {
        eprintln!("replay: {message}");
        std::process::exit(if std::env::args().any(|a| a == "--bench") { 2 } else { 0 });
    }
}

fn measure(arguments: &Arguments) -> Result<(), String> {
    let reader: ReaderOptions = serde_json::from_value(arguments.reader.clone().into())
        .map_err(|e| format!("reader options: {e}"))?;
    let decode = DecodeOptions { page_bytes: arguments.page_bytes, ..DecodeOptions::default() };
    let cache = if arguments.trace_cache { CacheOptions::default() } else { CacheOptions::off() };
    let bytes: u64 =
        arguments.traces.iter().filter_map(|p| std::fs::metadata(p).ok()).map(|m| m.len()).sum();
    let before = cpu_time::ProcessTime::now();
    let trace = open_trace(&arguments.traces, &reader, &decode, &cache, &mut NoHooks)
        .map_err(|e| e.to_string())?;
    let decoding = before.elapsed();
    print(serde_json::json!({
        "what": "decode",
        "cpu_s": decoding.as_secs_f64(),
        "source_bytes": bytes,
        "from_cache": trace.from_cache(),
        "requests": trace.requests(),
        "accesses": trace.accesses(),
        "unique_pages": trace.pages(),
    }));
    if let Some(path) = &arguments.export {
        return export(&trace, path).map_err(|e| format!("{}: {e}", path.display()));
    }
    if arguments.decode_only {
        return Ok(());
    }
    let specs = PolicySpec::parse_list(&arguments.policies).map_err(|e| e.to_string())?;
    let next = if needs_next_use(&specs) {
        Some(trace.next_uses().map_err(|e| e.to_string())?)
    } else {
        None
    };
    let input = Input::new(&trace, next.as_deref());
    if arguments.curve {
        curve(&trace, &input, arguments.rounds);
    }
    if arguments.shared {
        shared(&trace, &input, &specs, arguments)?;
    }
    runs(&trace, &input, &specs, arguments)
}

/// Each policy at all of the sizes, as `mrc` draws it with one thread; misses are of all sizes.
fn shared(
    trace: &Trace,
    input: &Input<'_>,
    specs: &[PolicySpec],
    arguments: &Arguments,
) -> Result<(), String> {
    let mut sizes = Vec::new();
    for size in arguments.cache.split(',') {
        let pages = trace.pages().into();
        sizes.extend(CacheSize::parse(size)?.resolve(trace.page_bytes(), pages)?);
    }
    let options = MrcOptions {
        run: RunOptions::default(),
        page_bytes: trace.page_bytes(),
        every_size: false,
        sampling: None,
        within: None,
        control: None,
        jobs: 1,
    };
    for spec in specs {
        let spec = std::slice::from_ref(spec);
        let mut peak = 0;
        let (misses, cpu) = best(arguments.rounds, || {
            let live = LIVE.load(Relaxed);
            PEAK.store(live, Relaxed);
            let drawn = mrc(input, spec, &sizes, &options, &Control::default());
            peak = PEAK.load(Relaxed) - live;
            let curves = drawn.map_or_else(|_| Vec::new(), |drawn| drawn.curves);
            curves.iter().flat_map(|curve| &curve.points).map(|point| point.misses).sum()
        });
        let label = format!("{}-shared", spec[0].label());
        report(&label, sizes.len() as u32, trace, misses, cpu, peak);
    }
    Ok(())
}

/// LRU at every size in one pass.
fn curve(trace: &Trace, input: &Input<'_>, rounds: u32) {
    let mut peak = 0;
    let (misses, cpu) = best(rounds, || {
        let live = LIVE.load(Relaxed);
        PEAK.store(live, Relaxed);
        let curve = LruCurve::new(input.columns, 0, &Control::default());
        peak = PEAK.load(Relaxed) - live;
        curve.map_or(0, |curve| curve.counters(curve.pages()).misses())
    });
    report("lru-curve", trace.pages(), trace, misses, cpu, peak);
}

/// Each policy at each size, and the bare loop beside them.
fn runs(
    trace: &Trace,
    input: &Input<'_>,
    specs: &[PolicySpec],
    arguments: &Arguments,
) -> Result<(), String> {
    let replay = Replay {
        columns: input.columns,
        next_uses: input.next_uses,
        warmup: Warmup::None,
        arrivals_ns: &[],
        trims: ControlCommands::NONE,
    };
    for size in arguments.cache.split(',') {
        let frames = CacheSize::parse(size)?
            .resolve(trace.page_bytes(), trace.pages().into())?
            .first()
            .ok_or("a cache size")?
            .frames;
        let (misses, cpu) = best(arguments.rounds, || bare_lru(input.columns, frames));
        report("bare-lru", frames, trace, misses, cpu, 0);
        for spec in specs {
            let params = spec.params(&[]).map_err(|e| e.to_string())?;
            let setup =
                Setup { params, trace_pages: Some(trace.pages().into()), ..Setup::new(frames) }
                    .with_blocks_of(trace.lpns());
            let mut peak = 0;
            let (misses, cpu) = best(arguments.rounds, || {
                let live = LIVE.load(Relaxed);
                PEAK.store(live, Relaxed);
                let ran = replay.run_unwatched(spec.name, &setup, &mut Unobserved);
                let misses = ran.ok().flatten().map_or(0, |ran| ran.counters.misses());
                peak = PEAK.load(Relaxed) - live;
                misses
            });
            report(&spec.label(), frames, trace, misses, cpu, peak);
        }
    }
    Ok(())
}

/// Writes the accesses as libCacheSim's oracleGeneral, one object of size 4096 per page, so that a
/// peer replays exactly the same sequence: time, id, size, number of the next access from 1 or -1.
fn export(trace: &Trace, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let next = trace.next_uses()?;
    let uses = next.uses();
    let temporary = path.with_extension("tmp");
    let mut out = BufWriter::new(File::create(&temporary)?);
    let mut access = 0;
    for (&first, &extent) in trace.first_ids().iter().zip(trace.pages_ops()) {
        for id in first..first + Extent(extent).pages() {
            out.write_all(&((access / 1_000_000) as u32).to_le_bytes())?;
            out.write_all(&u64::from(id).to_le_bytes())?;
            out.write_all(&4096u32.to_le_bytes())?;
            let next = match uses.get(access) {
                u64::MAX => -1,
                next => next as i64 + 1,
            };
            out.write_all(&next.to_le_bytes())?;
            access += 1;
        }
    }
    out.flush()?;
    std::fs::rename(temporary, path)?;
    Ok(())
}

/// The shortest of some rounds: others use the machine too, and that only ever adds.
fn best(rounds: u32, mut run: impl FnMut() -> u64) -> (u64, Duration) {
    let mut shortest = Duration::MAX;
    let mut misses = 0;
    for _ in 0..rounds.max(1) {
        let before = cpu_time::ThreadTime::now();
        misses = run();
        shortest = shortest.min(before.elapsed());
    }
    (misses, shortest)
}

fn report(policy: &str, frames: u32, trace: &Trace, misses: u64, cpu: Duration, heap: usize) {
    print(serde_json::json!({
        "what": "replay",
        "policy": policy,
        "frames": frames,
        "accesses": trace.accesses(),
        "misses": misses,
        "cpu_s": cpu.as_secs_f64(),
        "accesses_per_s": trace.accesses() as f64 / cpu.as_secs_f64(),
        "heap_bytes": heap,
        "unique_pages": trace.pages(),
    }));
}

fn print(line: serde_json::Value) {
    println!("{line}");
}

/// The least that an LRU can do: links by page, a byte for residency, nothing else. What it leaves
/// out is what a simulator is for: dirty pages, counters, victims, other policies.
fn bare_lru(columns: Columns<'_>, frames: u32) -> u64 {
    let head = columns.lpns.len();
    let (mut newer, mut older) = (vec![0u32; head + 1], vec![0u32; head + 1]);
    let mut resident = vec![false; head];
    (newer[head], older[head]) = (head as u32, head as u32);
    let (mut pages, mut misses) = (0, 0);
    for (&first, &extent) in columns.first_ids.iter().zip(columns.extents) {
        for id in first..first + (extent >> 3) {
            let page = id as usize;
            if resident[page] {
                let (n, o) = (newer[page], older[page]);
                older[n as usize] = o;
                newer[o as usize] = n;
            } else {
                misses += 1;
                resident[page] = true;
                if pages == frames {
                    let victim = newer[head] as usize;
                    let n = newer[victim];
                    newer[head] = n;
                    older[n as usize] = head as u32;
                    resident[victim] = false;
                } else {
                    pages += 1;
                }
            }
            let newest = older[head];
            (newer[page], older[page]) = (head as u32, newest);
            newer[newest as usize] = id;
            older[head] = id;
        }
    }
    misses
}
