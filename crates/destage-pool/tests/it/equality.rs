//! The record of a pool, replayed, has the counters and the decisions of the pool
//! (`docs/spec/pool.md` 9): every policy that a pool takes, ten workloads, batches or none.

use crate::support::{Random, policies};
use destage_engine::decisions::DecisionLog;
use destage_engine::options::{RunOptions, Trim};
use destage_engine::result::RunResult;
use destage_engine::sizes::Frames;
use destage_engine::spec::PolicySpec;
use destage_pool::{
    Fault, FaultStore, Faults, MemoryStore, Options, PolicyCounters, Pool, PoolCounters,
};
use destage_replay::Input;
use destage_replay::control::Control;
use destage_replay::counters::Counters;
use destage_trace::{CacheOptions, DecodeOptions, NoHooks, ReaderOptions, open_trace};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

pub const PAGE: u64 = 512;
pub const PAGES: u64 = 300;
pub const FRAMES: u32 = 24;

/// Bytes that a pool writes and the test reads.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    pub fn take(self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Recorded runs of a policy: counters, decisions, the trace.
struct Live {
    counters: PoolCounters,
    decisions: Vec<u8>,
    record: Vec<u8>,
}

type Faulty = Arc<FaultStore<MemoryStore>>;

fn live(policy: &str, batch: u32, work: impl FnOnce(&Pool<Faulty>, &Faulty)) -> Live {
    let mut options = Options::new(FRAMES);
    options.page_bytes = PAGE as u32;
    options.batch = batch;
    options.pages_per_block = 8;
    options.limbo_pages = 8;
    let store = Arc::new(FaultStore::new(MemoryStore::new(PAGES, PAGE as u32), PAGE as u32, 1));
    let pool = Pool::open(Arc::clone(&store), policy, options).unwrap();
    let (record, decisions) = (Kept::default(), Kept::default());
    pool.record(Box::new(record.clone())).unwrap();
    pool.decisions(Box::new(decisions.clone())).unwrap();
    work(&pool, &store);
    let counters = pool.counters();
    pool.flush_record().unwrap();
    Live { counters, decisions: decisions.take(), record: record.take() }
}

/// The workload of a seed: hot pages and cold ones, runs of several pages, parts of pages, trims.
fn workload<S: destage_pool::Store>(pool: &Pool<S>, seed: u64, calls: u64) {
    let random = &mut Random::new(seed);
    let trims = seed % 3;
    for _ in 0..calls {
        let page = match random.below(4) {
            0 => random.below(PAGES),
            1 => random.below(PAGES / 10),
            _ => random.below(20) * (1 + seed % 5),
        };
        let length = if random.below(5) == 0 { 1 + random.below(6 * PAGE) } else { PAGE };
        let offset = (page * PAGE).min(PAGES * PAGE - length);
        // Faults of the store are part of some runs: a call that fails was still decided.
        match random.below(20) {
            0..8 => _ = pool.read_at(offset, &mut vec![0; length as usize]),
            8..14 => _ = pool.write_at(offset, &vec![1; length as usize]),
            14 => _ = pool.read(page).map(drop),
            15 => _ = pool.write(page).map(drop),
            16 => _ = pool.overwrite(page).map(drop),
            17 if trims > 0 => _ = pool.trim_at(offset..offset + length),
            18 if trims > 1 => _ = pool.zero_at(offset..offset + length),
            _ => _ = pool.flush(),
        }
    }
}

/// `destage compare` on the record.
fn replayed(folder: &Path, policy: &str, live: &Live) -> (RunResult, Vec<u8>) {
    let path = folder.join("record.csv");
    std::fs::write(&path, &live.record).unwrap();
    let decode = DecodeOptions { page_bytes: Some(PAGE), ..DecodeOptions::default() };
    let cache = CacheOptions { enabled: false, ..CacheOptions::default() };
    let trace =
        open_trace(&[path], &ReaderOptions::default(), &decode, &cache, &mut NoHooks).unwrap();
    let options = RunOptions {
        trim: Some(Trim::Drop),
        pages_per_block: Some(8),
        device_pages: Some(PAGES),
        ..RunOptions::default()
    };
    let frames = Frames { frames: FRAMES, given: format!("{FRAMES}p") };
    let spec = PolicySpec::parse(&destage_pool::replayed(policy, PAGES)).unwrap();
    let mut log = DecisionLog::new(Vec::new(), trace.lpns());
    let input = Input::new(&trace, None);
    let control = Control::default();
    let result =
        destage_engine::run::run(&input, &spec, &frames, &options, &control, &mut log).unwrap();
    (result, log.finish().unwrap())
}

fn compare(policy: &str, what: &str, live: &Live) {
    let folder = tempfile::tempdir().unwrap();
    let (result, decisions) = replayed(folder.path(), policy, live);
    assert_eq!(live.counters.policy, counters_of(&result.counters), "{policy}, {what}");
    let (trims, there) = (live.counters.trims, result.trims.unwrap());
    assert_eq!(
        [trims.trim_requests, trims.trim_cache_drops, trims.trim_dirty_drops],
        [there.trim_requests, there.trim_cache_drops, there.trim_dirty_drops],
        "{policy}, {what}"
    );
    same_lines(&live.decisions, &decisions, &format!("{policy}, {what}"));
}

/// The counters of the policy, as a pool has them.
pub fn counters_of(theirs: &Counters) -> PolicyCounters {
    PolicyCounters {
        read_hits: theirs.read_hits,
        read_misses: theirs.read_misses,
        write_hits: theirs.write_hits,
        write_misses: theirs.write_misses,
        bypasses: theirs.bypasses,
        written_through: theirs.written_through,
        evictions: theirs.evictions,
        clean_evictions: theirs.clean_evictions,
        destages: theirs.destages,
        destaged_pages: theirs.destaged_pages,
        padding_reads: theirs.padding_reads,
        padding_writes: theirs.padding_writes,
        idle_writes: theirs.idle_writes,
    }
}

pub fn same_lines(here: &[u8], there: &[u8], what: &str) {
    let lines = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (here, there) = (lines(here), lines(there));
    for (here, there) in here.lines().zip(there.lines()) {
        assert_eq!(here, there, "{what}");
    }
    assert_eq!(here.len(), there.len(), "{what}");
}

#[test]
fn a_record_replayed_has_the_counters_and_decisions_of_the_pool() {
    let mut accesses = 0;
    for policy in policies() {
        for seed in 0..10 {
            for batch in [1, 64] {
                let live = live(policy, batch, |pool, _| workload(pool, seed, 400));
                accesses += live.counters.policy.accesses();
                compare(policy, &format!("workload {seed}, batch {batch}"), &live);
            }
        }
    }
    assert!(accesses > 300_000, "{accesses}");
}

#[test]
fn a_record_of_several_threads_has_the_counters_of_the_pool() {
    for policy in ["lru", "arc", "cflru", "w-tinylfu", "bplru", "larc"] {
        for batch in [1, 64] {
            let live = live(policy, batch, |pool, _| {
                std::thread::scope(|scope| {
                    for thread in 0..4 {
                        scope.spawn(move || workload(pool, 10 + thread, 1_000));
                    }
                });
            });
            compare(policy, &format!("four threads, batch {batch}"), &live);
        }
    }
}

#[test]
fn a_record_has_what_was_decided_even_if_the_store_fails() {
    for policy in ["lru", "cflru", "fab", "bplru", "larc"] {
        let share = Fault::Share(0.1);
        let live = live(policy, 1, |pool, store| {
            store.set(Faults { reads: share, writes: share, discards: share, syncs: share });
            workload(pool, 5, 2_000);
            store.set(Faults { writes: Fault::Always, ..Faults::default() });
            workload(pool, 4, 500);
            store.set(Faults::default());
            workload(pool, 3, 500);
        });
        assert!(live.counters.store.failed_writes > 0);
        assert!(live.counters.store.bypassed_reads > 0, "{policy}");
        compare(policy, "a store that fails", &live);
    }
}
