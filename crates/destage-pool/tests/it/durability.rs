//! Flushed writes survive faults of the store and power cuts (`docs/spec/pool.md` 6): ten thousand
//! seeds, and each promise by itself.

use crate::support::{Random, check_sums_of_reads};
use destage_pool::{Fault, FaultStore, Faults, MemoryStore, Options, Pool, Store};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PAGE: usize = 1024;
const SECTOR: usize = 512;
const PAGES: u64 = 12;

type Faulty = Arc<FaultStore<Arc<MemoryStore>>>;

/// Permitted contents of each sector after a power cut: its bytes at the last flush, and every
/// version since.
struct Expected {
    now: Vec<u8>,
    versions: Vec<Vec<Vec<u8>>>,
}

impl Expected {
    fn new() -> Expected {
        let now = vec![0; PAGES as usize * PAGE];
        let versions = now.chunks(SECTOR).map(|sector| vec![sector.to_vec()]).collect();
        Expected { now, versions }
    }

    fn change(&mut self, at: usize, bytes: &[u8]) {
        self.now[at..at + bytes.len()].copy_from_slice(bytes);
        for sector in at / SECTOR..(at + bytes.len()).div_ceil(SECTOR) {
            let bytes = self.now[sector * SECTOR..][..SECTOR].to_vec();
            self.versions[sector].push(bytes);
        }
    }

    fn flushed(&mut self) {
        for (sector, versions) in self.versions.iter_mut().enumerate() {
            *versions = vec![self.now[sector * SECTOR..][..SECTOR].to_vec()];
        }
    }

    fn check(&self, store: &MemoryStore, seed: u64) {
        let mut page = vec![0; PAGE];
        for (sector, versions) in self.versions.iter().enumerate() {
            store.read((sector * SECTOR / PAGE) as u64, &mut page).unwrap();
            let found = &page[sector * SECTOR % PAGE..][..SECTOR];
            assert!(
                versions.iter().any(|version| version == found),
                "seed {seed}: sector {sector} has a version from before the flush"
            );
        }
    }
}

fn store() -> (Arc<MemoryStore>, Faulty) {
    let memory = Arc::new(MemoryStore::new(PAGES, PAGE as u32));
    let faulty = FaultStore::new(Arc::clone(&memory), PAGE as u32, 7);
    (memory, Arc::new(faulty))
}

fn options(frames: u32, limbo: u32) -> Options {
    let mut options = Options::new(frames);
    options.page_bytes = PAGE as u32;
    options.limbo_pages = limbo;
    options.pages_per_block = 4;
    options
}

/// A write that failed has written some of its pages, each wholly.
fn after_a_failed_write(pool: &Pool<Faulty>, expected: &mut Expected, at: usize, bytes: &[u8]) {
    let mut found = vec![0; bytes.len()];
    pool.read_at(at as u64, &mut found).unwrap();
    let mut from = 0;
    while from < bytes.len() {
        let to = bytes.len().min(from + PAGE - (at + from) % PAGE);
        if found[from..to] == bytes[from..to] {
            expected.change(at + from, &bytes[from..to]);
        } else {
            assert_eq!(found[from..to], expected.now[at + from..at + to], "half a page");
        }
        from = to;
    }
}

fn step(pool: &Pool<Faulty>, store: &Faulty, faults: Faults, e: &mut Expected, r: &mut Random) {
    let all = PAGES * PAGE as u64;
    let range = r.range(all, 3 * PAGE as u64);
    let (at, length) = (range.start as usize, (range.end - range.start) as usize);
    match r.below(10) {
        0..5 => {
            let bytes = vec![r.byte(); length];
            // Pages of a failed write may have been written before the others failed.
            let before = e.now.clone();
            match pool.write_at(range.start, &bytes) {
                Ok(_) => e.change(at, &bytes),
                Err(_) => {
                    store.set(Faults::default());
                    e.change(at, &bytes);
                    e.change(at, &before[at..at + length]);
                    after_a_failed_write(pool, e, at, &bytes);
                    store.set(faults);
                }
            }
        }
        5..7 => {
            let mut found = vec![0; length];
            if pool.read_at(range.start, &mut found).is_ok() {
                assert_eq!(found, e.now[at..at + length]);
            }
        }
        7 => {
            let whole = range.start / PAGE as u64 * PAGE as u64;
            let zeros = whole..whole + PAGE as u64;
            let result = if r.below(2) == 0 { pool.zero_at(zeros) } else { pool.trim_at(zeros) };
            if result.is_ok() {
                e.change(whole as usize, &[0; PAGE]);
            }
        }
        _ => {
            if pool.flush().is_ok() {
                e.flushed();
            }
        }
    }
}

fn run(policy: &str, seed: u64) {
    let random = &mut Random::new(seed);
    let (memory, store) = store();
    let share = |r: &mut Random| match r.below(3) {
        0 => Fault::Never,
        1 => Fault::Nth(1 + r.below(8)),
        _ => Fault::Share(0.3),
    };
    let faults = Faults {
        reads: if random.below(4) == 0 { share(random) } else { Fault::Never },
        writes: share(random),
        discards: if random.below(4) == 0 { share(random) } else { Fault::Never },
        syncs: share(random),
    };
    let options = options(1 + random.below(6) as u32, 1 + random.below(4) as u32);
    let pool = Pool::open(Arc::clone(&store), policy, options).unwrap();
    store.set(faults);
    let mut expected = Expected::new();
    for _ in 0..10 + random.below(50) {
        step(&pool, &store, faults, &mut expected, random);
    }
    if random.below(3) == 0 {
        store.set(Faults::default());
        let result = pool.flush().or_else(|_| pool.flush());
        result.expect("without faults the second flush succeeds at the latest");
        expected.flushed();
    }
    drop(pool);
    store.power_cut(seed).unwrap();
    expected.check(&memory, seed);
}

#[test]
fn nothing_is_lost_that_a_flush_acknowledged() {
    for seed in 0..10_000 {
        let policy = ["lru", "cflru", "fab", "bplru", "larc", "none"][seed as usize % 6];
        run(policy, seed);
    }
}

#[test]
fn a_flush_that_returned_has_made_bytes_durable_and_an_unsynced_write_has_not() {
    let (memory, store) = store();
    let pool = Pool::open(Arc::clone(&store), "lru", options(4, 4)).unwrap();
    pool.write_at(0, &[1; PAGE]).unwrap();
    assert_eq!(pool.counters().store.pending_writes, 1);
    let mut page = [9; PAGE];
    memory.read(0, &mut page).unwrap();
    assert_eq!(page, [0; PAGE], "nothing is durable before a sync");
    pool.flush().unwrap();
    memory.read(0, &mut page).unwrap();
    assert_eq!(page, [1; PAGE]);
    assert_eq!(pool.counters().store.pending_writes, 0);
}

#[test]
fn flushes_fail_until_one_has_written_again_what_a_failed_sync_lost() {
    let (memory, store) = store();
    let pool = Pool::open(Arc::clone(&store), "lru", options(8, 8)).unwrap();
    for page in 0..6 {
        pool.overwrite(page).unwrap().fill(page as u8 + 1);
    }
    store.set(Faults { syncs: Fault::Always, ..Faults::default() });
    for _ in 0..3 {
        pool.flush().unwrap_err();
        assert_eq!(pool.counters().store.pending_writes, 6, "all of them are dirty again");
    }
    store.set(Faults { writes: Fault::Always, ..Faults::default() });
    pool.flush().unwrap_err();
    store.set(Faults::default());
    pool.flush().unwrap();
    let counters = pool.counters().store;
    assert_eq!((counters.failed_syncs, counters.syncs, counters.flushes), (3, 1, 5));
    assert_eq!((counters.flush_writes, counters.rewrites), (6, 18));
    drop(pool);
    store.power_cut(1).unwrap();
    for number in 0..6 {
        let mut page = [0; PAGE];
        memory.read(number, &mut page).unwrap();
        assert_eq!(page, [number as u8 + 1; PAGE]);
    }
}

#[test]
fn an_evicted_page_stays_in_memory_until_a_sync_and_a_failed_group_write_is_no_error_of_the_access()
{
    let (_, store) = store();
    let pool = Pool::open(Arc::clone(&store), "lru", options(1, 100)).unwrap();
    store.set(Faults { writes: Fault::Always, ..Faults::default() });
    for page in 0..PAGES {
        pool.overwrite(page).unwrap().fill(page as u8 + 1);
    }
    let counters = pool.counters().store;
    assert_eq!(counters.failed_writes, PAGES - 1);
    assert_eq!(counters.limbo_pages, PAGES - 1);
    for page in 0..PAGES {
        assert_eq!(pool.read(page).unwrap()[0], page as u8 + 1, "from limbo");
    }
    assert_eq!(pool.counters().store.store_reads, 0);
    store.set(Faults::default());
    pool.flush().unwrap();
    assert_eq!(pool.counters().store.limbo_pages, 0);
}

#[test]
fn a_full_limbo_on_a_store_that_fails_stops_calls_before_the_policy_is_asked() {
    let (_, store) = store();
    let pool = Pool::open(Arc::clone(&store), "lru", options(1, 3)).unwrap();
    store.set(Faults { writes: Fault::Always, ..Faults::default() });
    let mut failed = 0;
    for page in (0..PAGES).cycle().take(100) {
        failed += u64::from(pool.overwrite(page).is_err());
    }
    let counters = pool.counters();
    assert_eq!(counters.policy.accesses(), 100 - failed);
    assert_eq!((failed, counters.store.limbo_pages), (96, 3), "bounded, however long it fails");
    store.set(Faults { syncs: Fault::Always, ..Faults::default() });
    pool.overwrite(9).map(drop).unwrap_err();
    assert_eq!(pool.counters().policy.accesses(), 4);
}

#[test]
fn reads_are_answered_while_limbo_is_full_and_the_store_takes_no_writes() {
    let (_, store) = store();
    let pool = Pool::open(Arc::clone(&store), "lru", options(2, 3)).unwrap();
    (0..PAGES).for_each(|page| pool.overwrite(page).unwrap().fill(page as u8));
    pool.flush().unwrap();
    store.set(Faults { writes: Fault::Always, ..Faults::default() });
    (0..5).for_each(|page| pool.overwrite(page).unwrap().fill(100 + page as u8));
    let before = pool.counters();
    assert_eq!(before.store.limbo_pages, 3, "pages 0 to 2; pages 3 and 4 are resident");
    pool.overwrite(5).map(drop).unwrap_err();
    let byte = |page: u64| if page < 5 { 100 + page as u8 } else { page as u8 };
    for page in 0..PAGES {
        assert_eq!(pool.read(page).unwrap()[..], [byte(page); PAGE], "page {page}");
    }
    pool.cache_at(0..PAGE as u64).unwrap();
    let all = &mut [0; PAGES as usize * PAGE];
    pool.read_at(0, all).unwrap();
    let expected: Vec<u8> = (0..PAGES).flat_map(|page| [byte(page); PAGE]).collect();
    assert_eq!(all[..], expected);

    let after = pool.counters();
    assert_eq!(after.policy.read_hits, before.policy.read_hits + 2, "resident pages are hits");
    assert_eq!(after.policy.accesses(), before.policy.accesses() + 2, "it is asked of no others");
    assert_eq!(after.store.bypassed_reads, 10 + 1 + PAGES);
    assert_eq!(after.store.store_reads, before.store.store_reads + 2 * (PAGES - 5));
    check_sums_of_reads(&after);
    assert_eq!(after.store.limbo_pages, 3, "no bypassed page stays");
    store.set(Faults::default());
    assert_eq!(pool.read(5).unwrap()[0], 5);
    assert_eq!(pool.counters().policy.read_misses, before.policy.read_misses + 1);
}

/// A store whose syncs wait for the lock of `gate`.
struct Gated {
    store: Faulty,
    gate: Mutex<()>,
}

impl Store for Gated {
    fn pages(&self) -> u64 {
        self.store.pages()
    }
    fn read(&self, page: u64, into: &mut [u8]) -> io::Result<()> {
        self.store.read(page, into)
    }
    fn write(&self, group: &[(u64, &[u8])]) -> io::Result<()> {
        self.store.write(group)
    }
    fn discard(&self, pages: Range<u64>) -> io::Result<()> {
        self.store.discard(pages)
    }
    fn sync(&self) -> io::Result<()> {
        let _open = self.gate.lock().unwrap();
        self.store.sync()
    }
}

#[test]
fn an_early_sync_makes_room_while_calls_go_on_and_one_that_fails_loses_nothing() {
    let (memory, faulty) = store();
    let gated = Arc::new(Gated { store: Arc::clone(&faulty), gate: Mutex::default() });
    let mut options = options(1, 10);
    options.early_sync = true;
    let pool = Pool::open(Arc::clone(&gated), "lru", options).unwrap();
    let write = |page: u64| pool.overwrite(page).map(|mut guard| guard.fill(page as u8 + 1));
    let until = |what: &dyn Fn() -> bool| {
        let waited = (0..10_000).any(|_| {
            what() || {
                std::thread::sleep(Duration::from_millis(1));
                false
            }
        });
        assert!(waited, "it comes in time: {:?}", pool.counters().store);
    };
    let closed = gated.gate.lock().unwrap();
    (0..10).for_each(|page| write(page).unwrap()); // a call that synced would wait for ever
    assert_eq!(pool.counters().store.limbo_pages, 9);
    drop(closed);
    until(&|| pool.counters().store.syncs > 0);
    pool.flush().unwrap();
    assert_eq!(pool.counters().store.limbo_pages, 0);

    faulty.set(Faults { syncs: Fault::Always, ..Faults::default() });
    (0..7).for_each(|page| write(page).unwrap()); // six pages in limbo
    until(&|| pool.counters().store.failed_syncs > 0);
    pool.flush().unwrap_err();
    faulty.set(Faults::default());
    pool.flush().unwrap();
    drop(pool);
    faulty.power_cut(1).unwrap();
    for number in 0..10 {
        let mut page = [0; PAGE];
        memory.read(number, &mut page).unwrap();
        assert_eq!(page, [number as u8 + 1; PAGE]);
    }
}

#[test]
fn a_failed_fetch_is_the_error_of_its_call_and_the_next_access_fetches_again() {
    let (_, store) = store();
    let pool = Pool::open(Arc::clone(&store), "lru", options(4, 4)).unwrap();
    store.set(Faults { reads: Fault::Nth(1), ..Faults::default() });
    pool.read(3).map(drop).unwrap_err();
    assert_eq!(pool.read(3).unwrap()[0], 0);
    let counters = pool.counters();
    assert_eq!((counters.policy.read_misses, counters.policy.read_hits), (1, 1));
    assert_eq!((counters.store.refetches, counters.store.store_reads), (1, 1));
}

#[test]
fn zeros_survive_a_sync_that_lost_the_discard() {
    for seed in 0..50 {
        let (memory, store) = store();
        let pool = Pool::open(Arc::clone(&store), "lru", options(4, 4)).unwrap();
        pool.write_at(0, &[5; 3 * PAGE]).unwrap();
        pool.flush().unwrap();
        pool.zero_at(0..3 * PAGE as u64).unwrap();
        store.set(Faults { syncs: Fault::Nth(1), ..Faults::default() });
        pool.flush().unwrap_err();
        pool.write_at(PAGE as u64, &[7; PAGE]).unwrap();
        pool.flush().unwrap();
        drop(pool);
        store.power_cut(seed).unwrap();
        for (number, byte) in [0, 7, 0].into_iter().enumerate() {
            let mut page = [1; PAGE];
            memory.read(number as u64, &mut page).unwrap();
            assert_eq!(page, [byte; PAGE], "page {number}, seed {seed}");
        }
    }
}

#[test]
fn dropping_a_pool_writes_nothing_and_closing_one_writes_all() {
    let memory = Arc::new(MemoryStore::new(PAGES, PAGE as u32));
    let mut page = [0; PAGE];
    let pool = Pool::open(Arc::clone(&memory), "lru", options(4, 4)).unwrap();
    pool.overwrite(2).unwrap().fill(3);
    drop(pool);
    memory.read(2, &mut page).unwrap();
    assert_eq!(page[0], 0);
    let pool = Pool::open(Arc::clone(&memory), "lru", options(4, 4)).unwrap();
    pool.overwrite(2).unwrap().fill(3);
    pool.close().map_err(|(_, error)| error).unwrap();
    memory.read(2, &mut page).unwrap();
    assert_eq!(page[0], 3);
}
