//! A pool in front of a simulated SSD: counters, times, wear and decisions equal those of a replay
//! of its record (`docs/spec/pool.md` 9.4, 10.3).

use crate::equality::{FRAMES, Kept, PAGE, PAGES, counters_of, same_lines};
use crate::support::{Random, check_sums};
use destage_core::{Plan, Request, Requirements};
use destage_engine::decisions::DecisionLog;
use destage_engine::mounted::Mounted;
use destage_engine::options::{RunOptions, Trim};
use destage_engine::result::{METRICS, RunResult};
use destage_engine::sizes::Frames;
use destage_engine::spec::PolicySpec;
use destage_policies::{POLICIES, requirements};
use destage_pool::{DeviceStore, Done, MemoryStore, Options, Pool, SimulatedDevice, Store, Time};
use destage_replay::control::Control;
use destage_replay::observe::Completed;
use destage_replay::{Input, Observer};
use destage_ssd::{Device, Drive};
use destage_trace::{CacheOptions, DecodeOptions, NoHooks, ReaderOptions, open_trace};
use std::path::Path;
use std::sync::Arc;

/// Drives that a workload gets by its number; the last two have every part that looks at time.
const DRIVES: [(&str, &str); 4] = [
    ("", ""),
    ("gc_mode = \"background\"\n", "[host]\nflush = \"drain\"\n"),
    ("gc_mode = \"idle\"\n", "[cache]\nevict_wait = \"transfer\"\n"),
    ("buffer_pages = 4\nfirmware_read_ns = 700\n", "[host]\nflush = \"drain\"\n"),
];

fn drive(number: usize) -> SimulatedDevice {
    let (device, others) = DRIVES[number % DRIVES.len()];
    let text = format!(
        "[device]\npage_bytes = 512\nchannels = 2\nchips_per_channel = 2\nblocks_per_plane = 14\n\
         pages_per_block = 8\nlogical_pages = 320\nprecondition = \"sequential\"\n{device}{others}"
    );
    let drive = Drive::parse(&text, "drive.toml").unwrap();
    SimulatedDevice(Arc::new(Mounted::new(&drive, Device::new(&drive.device))))
}

struct Live {
    pool: Pool<DeviceStore<MemoryStore>>,
    completions: Vec<u64>,
    decisions: Vec<u8>,
    record: Vec<u8>,
}

fn pool(policy: &str, batch: u32, device: SimulatedDevice) -> Pool<DeviceStore<MemoryStore>> {
    let mut options = Options::new(FRAMES);
    options.page_bytes = PAGE as u32;
    options.batch = batch;
    options.limbo_pages = 8;
    options.time = Time::Manual;
    let store = DeviceStore::new(MemoryStore::new(PAGES, PAGE as u32), device);
    Pool::open(store, policy, options).unwrap_or_else(|error| panic!("{policy}: {error}"))
}

fn live(policy: &str, batch: u32, seed: u64) -> Live {
    let pool = pool(policy, batch, drive(seed as usize));
    let (record, decisions) = (Kept::default(), Kept::default());
    pool.record(Box::new(record.clone())).unwrap();
    pool.decisions(Box::new(decisions.clone())).unwrap();
    let mut completions = Vec::new();
    workload(&pool, seed, batch, &mut completions);
    pool.flush_record().unwrap();
    Live { pool, completions, decisions: decisions.take(), record: record.take() }
}

/// The workload of a seed, at instants of its own: bursts, and gaps in which units are idle.
fn workload(pool: &Pool<impl Store>, seed: u64, batch: u32, completions: &mut Vec<u64>) {
    let random = &mut Random::new(seed);
    let mut now_ns = 0;
    let mut done = |done: Done| completions.extend(done.completion_ns);
    for call in 0..500 {
        if call > 0 {
            now_ns += if random.below(16) == 0 { 5_000_000 } else { random.below(200_000) };
        }
        pool.set_now_ns(now_ns);
        let page = if random.below(4) == 0 { random.below(PAGES) } else { random.below(60) };
        let length = if random.below(5) == 0 { 1 + random.below(6 * PAGE) } else { PAGE };
        let offset = (page * PAGE).min(PAGES * PAGE - length);
        match random.below(16) {
            0..6 => done(pool.read_at(offset, &mut vec![0; length as usize]).unwrap()),
            6..12 => done(pool.write_at(offset, &vec![1; length as usize]).unwrap()),
            // Guards have no completion; in a batch their hits come late.
            12 if batch > 1 => drop(pool.read(page).unwrap()),
            13 => done(pool.trim_at(offset..offset + length).unwrap()),
            _ => done(pool.flush_request().unwrap()),
        }
    }
}

/// Completions in the order of requests.
#[derive(Default)]
struct Completions(Vec<u64>);

impl Observer for Completions {
    fn access(&mut self, _: &Request, _: bool, _: Option<&Plan>) {}
    fn completed(&mut self, request: &Completed) {
        self.0.push(request.completion_ns);
    }
}

fn replayed(
    folder: &Path,
    policy: &str,
    live: &Live,
    device: SimulatedDevice,
) -> (RunResult, Vec<u8>, Vec<u64>) {
    let path = folder.join("record.csv");
    std::fs::write(&path, &live.record).unwrap();
    let decode = DecodeOptions { page_bytes: Some(PAGE), ..DecodeOptions::default() };
    let cache = CacheOptions { enabled: false, ..CacheOptions::default() };
    let trace =
        open_trace(&[path], &ReaderOptions::default(), &decode, &cache, &mut NoHooks).unwrap();
    let drive = Some(device.0);
    let options = RunOptions { trim: Some(Trim::Drop), drive, ..RunOptions::default() };
    let frames = Frames { frames: FRAMES, given: format!("{FRAMES}p") };
    let spec = PolicySpec::parse(&destage_pool::replayed(policy, PAGES)).unwrap();
    let mut both = (DecisionLog::new(Vec::new(), trace.lpns()), Completions::default());
    let (input, control) = (Input::new(&trace, None), Control::default());
    let result = destage_engine::run::run(&input, &spec, &frames, &options, &control, &mut both);
    let mut result = RunResult { page_bytes: PAGE, ..result.unwrap() };
    if let Some(pending) = &mut result.pending {
        pending.end_bytes = Some(pending.end_pages * PAGE); // as in a result set
    }
    (result, both.0.finish().unwrap(), both.1.0)
}

/// Every policy that does not need the future, and no cache.
fn policies() -> Vec<&'static str> {
    let live = |name: &&str| !requirements(name).unwrap().contains(Requirements::NEXT_USE);
    let found: Vec<_> = POLICIES.iter().map(|info| info.name).filter(live).collect();
    let aware = found.iter().filter(|name| requirements(name).unwrap().device()).count();
    assert!(aware >= 6 && found.len() > 40, "{found:?}");
    found.into_iter().chain(["none", "ace[writes=8]"]).collect()
}

#[test]
fn a_record_replayed_has_counters_times_and_wear_of_the_simulated_ssd() {
    let folder = tempfile::tempdir().unwrap();
    let mut erases = 0;
    for policy in policies() {
        for seed in 0..10 {
            let batch = if seed < 8 { 1 } else { 64 };
            let live = live(policy, batch, seed);
            let what = format!("{policy}, workload {seed}, batch {batch}");
            let (result, decisions, completions) =
                replayed(folder.path(), policy, &live, drive(seed as usize));
            same_lines(&live.decisions, &decisions, &what);
            let counters = live.pool.counters();
            assert_eq!(counters.policy, counters_of(&result.counters), "{what}");
            let outcome = live.pool.outcome().unwrap().unwrap();
            let timing = result.timing.as_ref().unwrap();
            assert_eq!(outcome.timing.counters, timing.counters, "{what}");
            assert_eq!(&outcome.timing, timing, "{what}");
            if batch == 1 {
                assert_eq!(live.completions, completions, "{what}");
            }
            let metrics = live.pool.device_metrics().unwrap().unwrap();
            for metric in METRICS.iter() {
                assert_eq!(metrics[metric.name], metric.value(&result), "{what}: {}", metric.name);
            }
            erases += live.pool.device_counters().unwrap().erases;
            if policy != "none" {
                check_sums(&counters);
            }
        }
    }
    assert!(erases > 10_000, "{erases}");
}

#[test]
fn a_simulated_ssd_that_a_live_pool_cannot_have_is_refused_with_the_reason() {
    let open = |policy: &str, device: &str, others: &str, pages: u64| {
        let text = format!(
            "[device]\npage_bytes = 512\nblocks_per_plane = 14\npages_per_block = 8\n\
             logical_pages = 80\n{device}{others}"
        );
        let drive = Drive::parse(&text, "drive.toml").unwrap();
        let device = SimulatedDevice(Arc::new(Mounted::new(&drive, Device::new(&drive.device))));
        let mut options = Options::new(4);
        options.page_bytes = 512;
        let store = DeviceStore::new(MemoryStore::new(pages, 512), device);
        Pool::open(store, policy, options).err().map(|error| error.to_string())
    };
    assert_eq!(open("lru", "", "", 80), None);
    for (policy, device, others, pages, why) in [
        ("lru", "", "", 81, "80 pages, the store 81"),
        ("lru", "sched = \"read_first\"\n", "", 80, "read_first"),
        ("lru", "", "[host]\nmode = \"closed\"\n", 80, "mode = closed"),
        ("lru", "", "[host]\nwriter = \"trickle\"\n", 80, "writer = trickle"),
        ("min", "", "", 80, "future"),
        ("lrru", "", "", 80, "did you mean lru"),
    ] {
        let error = open(policy, device, others, pages).expect(why);
        assert!(error.contains(why), "{why}: {error}");
    }
}
