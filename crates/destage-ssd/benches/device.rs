//! Rates of the simulated drive, in page operations per second of CPU time: everything that a unit
//! serves counts once (R, W, M, S, E). `make bench` shows them (benches/README.md).
//!
//! ```text
//! cargo bench -p destage-ssd --bench device -- --writes 4000000 --large-gib 1024 --rounds 3
//!     --only steady,reads
//! ```
//!
//! Cases from `interface` to `slc-fold` and `large-handles` are current SSDs
//! (`docs/spec/device-today.md`): promised are 10 M page operations with handles, buffer and link,
//! 5 M with an SLC cache that is folded in idle time, and 1 TiB in less than 4 GiB. Cases `gc-*`
//! are collectors, collection in steps and suspension: promised is 0.7 of the rate of `steady`.
//! `map-half` has half of the map in memory (`docs/spec/map-cache.md`), `map-all` all of it:
//! promised is half of the requests per second, though each has more page operations.
//!
//! The drive is the preset `ecr`: 64 GiB raw on 64 chips, 4-KiB pages, random writes over the whole
//! drive, 2 L of them before the clock starts. `--blocks` makes its planes smaller.

use destage_core::Op;
use destage_ssd::config::{PlacementConfig, Table, Value};
use destage_ssd::precondition::SplitMix64;
use destage_ssd::{Command, Device, DeviceConfig, DeviceCounters, DriveLpn, WriteHint};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Counts what is allocated, so that the memory of a drive is a number and not a guess.
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
    writes: u64,
    blocks: u64,
    large_gib: u64,
    rounds: u32,
    only: Vec<String>,
}

impl Arguments {
    fn wants(&self, case: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == case)
    }
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed =
        Arguments { writes: 4_000_000, blocks: 512, large_gib: 1024, rounds: 3, only: Vec::new() };
    let mut rest = std::env::args().skip(1);
    let mut benching = false;
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(format!("{argument} needs a value"));
        let number = |text: String| {
            text.parse().map_err(|_| format!("{argument}: {text} is not a whole number"))
        };
        match argument.as_str() {
            "--bench" => benching = true, // cargo says so to every bench
            "--writes" => parsed.writes = number(value()?)?,
            "--blocks" => parsed.blocks = number(value()?)?,
            "--large-gib" => parsed.large_gib = number(value()?)?,
            "--rounds" => parsed.rounds = number(value()?)? as u32,
            "--only" => parsed.only = value()?.split(',').map(str::to_owned).collect(),
            _ => return Err(format!("{argument} is not an option of this bench")),
        }
    }
    if !benching {
        // `cargo test` runs benches too: once, small.
        parsed = Arguments { writes: 20_000, blocks: 32, large_gib: 1, rounds: 1, ..parsed };
    }
    Ok(parsed)
}

fn main() {
    if let Err(message) = arguments().and_then(|arguments| measure(&arguments)) {
        eprintln!("device: {message}");
        std::process::exit(2);
    }
}

fn int(value: u64) -> Value {
    Value::Int(value.into())
}

fn word(text: &str) -> Value {
    Value::Text(text.into())
}

/// The drive of ECR (`docs/spec/device.md` 9).
fn ecr(blocks: u64, keys: &[(&str, Value)]) -> Result<DeviceConfig, String> {
    let mut table = Table::new();
    for (key, value) in [
        ("channels", int(8)),
        ("chips_per_channel", int(8)),
        ("planes_per_die", int(8)),
        ("blocks_per_plane", int(blocks)),
        ("pages_per_block", int(64)),
        ("summary_page", Value::Bool(true)),
        ("precondition", word("random")),
    ] {
        table.insert(key.into(), value);
    }
    table.extend(keys.iter().map(|(key, value)| ((*key).into(), value.clone())));
    let mut config = DeviceConfig::from_table(&table).map_err(|e| e.to_string())?;
    config.precondition_writes = 2 * u64::from(config.logical_pages);
    Ok(config)
}

/// Command processor, link and write buffer: those of a data-centre drive, about.
fn interface() -> Vec<(&'static str, Value)> {
    vec![
        ("command_ns", int(500)),
        ("firmware_read_ns", int(4_000)),
        ("firmware_write_ns", int(4_000)),
        ("link_ps_per_byte", int(150)),
        ("buffer_pages", int(1024)),
    ]
}

/// The same with handles; pages of two sizes of requests.
fn handles(handles: u64, isolation: &str) -> Vec<(&'static str, Value)> {
    [("handles", int(handles)), ("isolation", word(isolation))]
        .into_iter()
        .chain(interface())
        .collect()
}

/// The same with an SLC cache of 64 blocks a plane.
fn slc(policy: &str) -> Vec<(&'static str, Value)> {
    let keys =
        [("slc_blocks", int(64)), ("slc_policy", word(policy)), ("gc_idle_ns", int(200_000))];
    keys.into_iter().chain(interface()).collect()
}

/// A part of the map in memory: one divided by this.
fn map_cache(blocks: u64, part: u64) -> Vec<(&'static str, Value)> {
    let op = ("op_permille", int(200));
    let raw_pages = 8 * 8 * 8 * blocks * 64;
    match part {
        1 => vec![op],
        _ => vec![op, ("map_cache", int(raw_pages * 4 * 8 / 10 / part))],
    }
}

/// Placement policy of a case.
fn placement(case: &str) -> PlacementConfig {
    match case {
        "handles" | "handles-mixed" => PlacementConfig::BySize { thresholds: vec![16_384] },
        "sepbit" | "large-handles" => PlacementConfig::Sepbit { window: 16 },
        _ => PlacementConfig::None,
    }
}

/// A large drive of 4-KiB pages, written once from end to end.
fn large(gib: u64, keys: &[(&str, Value)]) -> Result<DeviceConfig, String> {
    let mut table = Table::new();
    // Raw capacity such that the logical one is `gib` at 7 % over-provisioning.
    let blocks = (gib << 18).div_ceil(128 * 256).div_ceil(93) * 100;
    for (key, value) in [
        ("channels", int(8)),
        ("chips_per_channel", int(4)),
        ("dies_per_chip", int(2)),
        ("planes_per_die", int(2)),
        ("blocks_per_plane", int(blocks)),
        ("pages_per_block", int(256)),
        ("logical_pages", int(gib << 18)),
        ("precondition", word("sequential")),
        // With six write points a plane at least as many blocks.
        ("gc_low_pages", int((blocks * 256 / 100).max(6 * 256))),
    ] {
        table.insert(key.into(), value);
    }
    table.extend(keys.iter().map(|(key, value)| ((*key).into(), value.clone())));
    DeviceConfig::from_table(&table).map_err(|e| e.to_string())
}

/// Random page reads and writes of the host.
#[derive(Clone, Copy)]
struct Load {
    operations: u64,
    writes_permille: u64,
    gap_ns: u64,
}

/// So many pages ahead, the host says what it will ask for; half of that, that it is soon.
const AHEAD: usize = 32;

#[inline(never)] // callgrind --toggle-collect=device::run counts it alone
fn run(device: &mut Device, load: Load) {
    let pages = device.geometry().logical_pages;
    let mut random = SplitMix64::new(77);
    let mut now = 0;
    // A host knows some of its next requests.
    let mut draw = || DriveLpn(random.below(pages));
    let mut next: [DriveLpn; AHEAD] = std::array::from_fn(|_| draw());
    let mut coin = SplitMix64::new(78);
    let commands = device.counters().interface.is_some();
    for i in 0..load.operations as usize {
        let lpn = std::mem::replace(&mut next[i % AHEAD], draw());
        device.prefetch(next[i % AHEAD]);
        device.prefetch_old(next[(i + AHEAD / 2) % AHEAD]);
        now += load.gap_ns;
        device.advance(now);
        if coin.next() % 1000 < load.writes_permille {
            if commands {
                device.command(Command::Access(Op::Write));
            }
            // A third of the pages belongs to large objects.
            let bytes = if lpn.0 % 3 == 0 { 65_536 } else { 4096 };
            device.write_as(lpn, WriteHint { bytes, label: 0 });
        } else {
            if commands {
                device.command(Command::Access(Op::Read));
            }
            device.read(lpn);
        }
    }
    device.finish();
}

fn operations(counters: &DeviceCounters) -> u64 {
    let host = counters.flash_reads + counters.flash_programs;
    let map = counters.map.map_or(0, |map| map.map_reads + map.map_writes);
    host + map + counters.gc_moves + counters.summary_programs + counters.erases
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let before = cpu_time::ThreadTime::now();
    let result = run();
    (result, before.elapsed())
}

/// Heap of what `make` makes: afterwards, and at most meanwhile.
fn heap<T>(make: impl FnOnce() -> T) -> (T, usize, usize) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let made = make();
    (made, LIVE.load(Relaxed) - before, PEAK.load(Relaxed) - before)
}

fn print(line: serde_json::Value) {
    println!("{line}");
}

/// The shortest of some rounds: others use the machine too, and that only ever adds.
fn rate(case: &str, prepared: &Device, load: Load, rounds: u32) -> Result<(), String> {
    let mut shortest = Duration::MAX;
    let mut counters = DeviceCounters::default();
    for _ in 0..rounds.max(1) {
        let mut device = prepared.clone();
        let ((), cpu) = timed(|| run(&mut device, load));
        device.check_conservation()?;
        counters = device.counters();
        shortest = shortest.min(cpu);
    }
    let operations = operations(&counters);
    let programs = counters.flash_programs + counters.gc_moves + counters.summary_programs;
    print(serde_json::json!({
        "what": "device",
        "case": case,
        "cpu_s": shortest.as_secs_f64(),
        "requests": load.operations,
        "requests_per_s": load.operations as f64 / shortest.as_secs_f64(),
        "page_operations": operations,
        "page_operations_per_s": operations as f64 / shortest.as_secs_f64(),
        "waf": programs as f64 / counters.flash_programs.max(1) as f64,
        "erases": counters.erases,
    }));
    Ok(())
}

/// Makes a drive, and says what that takes.
fn prepare(case: &str, config: &DeviceConfig) -> Device {
    let ((device, live, peak), cpu) = timed(|| heap(|| Device::new(config)));
    print(serde_json::json!({
        "what": "precondition",
        "case": case,
        "cpu_s": cpu.as_secs_f64(),
        "logical_bytes": u64::from(config.logical_pages) * 4096,
        "writes": u64::from(config.logical_pages) + config.precondition_writes,
        "heap_bytes": live,
        "heap_bytes_peak": peak,
    }));
    device
}

/// Name, load, and what the drive has beside the preset.
type Case<'a> = (&'a str, Load, Vec<(&'a str, Value)>);

fn measure(arguments: &Arguments) -> Result<(), String> {
    for case in ["large", "large-handles"] {
        if arguments.wants(case) {
            let keys = if case == "large" { vec![] } else { handles(6, "persistent") };
            let config = large(arguments.large_gib, &keys)?;
            prepare(case, &DeviceConfig { placement: placement(case), ..config });
        }
    }
    let writes = Load { operations: arguments.writes, writes_permille: 1000, gap_ns: 25_000 };
    let mapped = Load { writes_permille: 300, gap_ns: 50_000, ..writes };
    let cases: Vec<Case> = vec![
        ("steady", writes, vec![]),
        ("reads", Load { writes_permille: 0, gap_ns: 4_000, ..writes }, vec![]),
        ("mixed", Load { writes_permille: 300, gap_ns: 10_000, ..writes }, vec![]),
        ("map-all", mapped, map_cache(arguments.blocks, 1)),
        ("map-half", mapped, map_cache(arguments.blocks, 2)),
        ("background", writes, vec![("gc_mode", word("background"))]),
        ("idle", writes, vec![("gc_mode", word("idle"))]),
        ("shared-bus", writes, vec![("bus", word("shared"))]),
        (
            "read-first",
            Load { writes_permille: 300, gap_ns: 10_000, ..writes },
            vec![("sched", word("read_first"))],
        ),
        ("dynamic", writes, vec![("alloc", word("dynamic"))]),
        ("interface", writes, interface()),
        ("handles", writes, handles(2, "persistent")),
        (
            "handles-mixed",
            Load { writes_permille: 300, gap_ns: 10_000, ..writes },
            handles(2, "initial"),
        ),
        // Six open blocks a plane leave small drives less room.
        ("sepbit", writes, [handles(6, "assigned"), vec![("op_permille", int(400))]].concat()),
        ("slc-idle", Load { gap_ns: 40_000, ..writes }, slc("direct")),
        ("slc-fold", Load { gap_ns: 40_000, ..writes }, slc("fold")),
        // Collectors, each beside "steady", which is greedy.
        ("gc-fifo", writes, vec![("gc_victim", word("fifo"))]),
        ("gc-random", writes, vec![("gc_victim", word("random"))]),
        ("gc-d-choices", writes, vec![("gc_victim", word("d-choices"))]),
        ("gc-windowed-greedy", writes, vec![("gc_victim", word("windowed-greedy"))]),
        ("gc-cost-benefit", writes, vec![("gc_victim", word("cost-benefit"))]),
        ("gc-2r-fifo", writes, vec![("gc_victim", word("2r-fifo"))]),
        ("gc-own-stream", writes, vec![("gc_stream", word("own"))]),
        ("gc-steps", writes, vec![("gc_step_pages", word("auto"))]),
        (
            "gc-suspend",
            Load { writes_permille: 300, gap_ns: 10_000, ..writes },
            vec![("sched", word("read_first")), ("suspend", word("program"))],
        ),
    ];
    let mut prepared: Option<(DeviceConfig, Device)> = None;
    for (case, load, keys) in cases {
        // "random" is the preparation of the first case alone.
        if !(arguments.wants(case) || case == "steady" && arguments.wants("random")) {
            continue;
        }
        let config = DeviceConfig { placement: placement(case), ..ecr(arguments.blocks, &keys)? };
        if prepared.as_ref().is_none_or(|(made, _)| *made != config) {
            drop(prepared.take());
            let device = prepare(case, &config);
            prepared = Some((config, device));
        }
        if let Some((_, device)) = prepared.as_ref().filter(|_| arguments.wants(case)) {
            rate(case, device, load, arguments.rounds)?;
        }
    }
    Ok(())
}
