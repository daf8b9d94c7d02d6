//! Eight threads and a plain map: whatever they do at the same time, no byte is wrong.

use crate::support::{Random, check_sums, file_stores, policies};
use destage_pool::{Fault, FaultStore, Faults, FileOptions, MemoryStore, Options, Pool, Store};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier};

const PAGE: usize = 512;
const THREADS: u64 = 8;

fn options(frames: u32, batch: u32) -> Options {
    let mut options = Options::new(frames);
    options.page_bytes = PAGE as u32;
    options.batch = batch;
    options.limbo_pages = 8;
    options.pages_per_block = 4;
    options
}

/// A page in which each word is the same; a reader that sees two words has seen a torn page.
fn stamp(page: &mut [u8], value: u64) {
    page.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&value.to_le_bytes()));
}

fn stamped(page: &[u8]) -> u64 {
    let first: [u8; 8] = page[..8].try_into().unwrap();
    assert!(page.chunks_exact(8).all(|word| word == first), "a torn page");
    u64::from_le_bytes(first)
}

/// Each thread has pages of its own, whose bytes it knows, and reads those of all.
fn owners(pool: &Pool<impl Store>, pages: u64, operations: u64, trims: bool) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let random = &mut Random::new(thread);
                let mut mine = vec![0u64; (pages / THREADS) as usize];
                for turn in 1..=operations {
                    let at = random.below(mine.len() as u64);
                    let page = at * THREADS + thread;
                    let bytes = &mut [0; PAGE];
                    match random.below(16) {
                        0..5 => {
                            assert_eq!(stamped(&pool.read(page).unwrap()), mine[at as usize]);
                        }
                        5..7 => {
                            pool.read_at(page * PAGE as u64, bytes).unwrap();
                            assert_eq!(stamped(bytes), mine[at as usize]);
                        }
                        7..9 => {
                            stamp(&mut pool.write(page).unwrap(), turn);
                            mine[at as usize] = turn;
                        }
                        9 => {
                            stamp(&mut pool.overwrite(page).unwrap(), turn);
                            mine[at as usize] = turn;
                        }
                        10..12 => {
                            stamp(bytes, turn);
                            pool.write_at(page * PAGE as u64, bytes).unwrap();
                            mine[at as usize] = turn;
                        }
                        12 if trims => {
                            pool.forget(page..page + 1).unwrap();
                            mine[at as usize] = 0;
                        }
                        13 if turn % 64 == 0 => pool.flush().unwrap(),
                        _ => _ = stamped(&pool.read(random.below(pages)).unwrap()),
                    }
                }
                for (at, &value) in mine.iter().enumerate() {
                    let page = at as u64 * THREADS + thread;
                    assert_eq!(stamped(&pool.read(page).unwrap()), value, "page {page}");
                }
            });
        }
    });
}

/// Operations of each thread: many where somebody asks for them.
fn operations(default: u64) -> u64 {
    std::env::var("POOL_OPERATIONS").map_or(default, |n| n.parse().unwrap())
}

#[test]
fn no_byte_is_wrong_whatever_eight_threads_do() {
    for (frames, batch) in [(3, 1), (64, 1), (64, 64), (400, 64)] {
        let pool = Pool::open(MemoryStore::new(256, PAGE as u32), "lru", options(frames, batch));
        let pool = pool.unwrap();
        owners(&pool, 256, operations(10_000), true);
        check_sums(&pool.counters());
    }
}

#[test]
fn no_byte_is_wrong_under_any_policy() {
    for policy in policies() {
        let store = FaultStore::new(MemoryStore::new(64, PAGE as u32), PAGE as u32, 5);
        let pool = Pool::open(store, policy, options(16, 1)).unwrap();
        owners(&pool, 64, operations(400), true);
        check_sums(&pool.counters());
    }
}

#[test]
fn no_byte_is_wrong_in_a_file_whatever_eight_threads_do() {
    for open in file_stores() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        std::fs::write(&path, vec![0; 256 * PAGE]).unwrap();
        let store = open(&path, FileOptions::new(PAGE as u32)).unwrap();
        let pool = Pool::open(store, "fab", options(64, 64)).unwrap();
        owners(&pool, 256, operations(2000), true);
        check_sums(&pool.counters());
    }
}

/// A store whose reads of page 0 wait for a signal.
struct Slow(MemoryStore, Barrier, Barrier);

impl Store for Slow {
    fn pages(&self) -> u64 {
        self.0.pages()
    }
    fn read(&self, page: u64, into: &mut [u8]) -> io::Result<()> {
        if page == 0 {
            self.1.wait();
            self.2.wait();
        }
        self.0.read(page, into)
    }
    fn write(&self, group: &[(u64, &[u8])]) -> io::Result<()> {
        self.0.write(group)
    }
    fn discard(&self, pages: Range<u64>) -> io::Result<()> {
        self.0.discard(pages)
    }
    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
}

#[test]
fn a_bypassed_write_that_is_trimmed_while_another_access_waits_is_counted() {
    let slow = || Slow(MemoryStore::new(4, PAGE as u32), Barrier::new(2), Barrier::new(2));
    let store = Arc::new(slow());
    let pool = Pool::open(Arc::clone(&store), "none", options(1, 1)).unwrap();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| pool.read_at(0, &mut [1; 2 * PAGE]).map(drop));
        store.1.wait(); // both pages of the read are decided
        stamp(&mut pool.overwrite(1).unwrap(), 7);
        pool.forget(1..2).unwrap();
        store.2.wait();
        reader.join().unwrap().unwrap();
    });
    let counters = pool.counters();
    assert_eq!((counters.policy.written_through, counters.store.store_writes), (1, 0));
    check_sums(&counters);
}

#[test]
fn a_writer_in_the_background_changes_no_byte() {
    let mut options = options(32, 1);
    options.writer = Some(destage_pool::Writer { low_pages: 16, batch_pages: 4, period_ms: 1 });
    let store = FaultStore::new(MemoryStore::new(128, PAGE as u32), PAGE as u32, 5);
    let pool = Pool::open(store, "cflru", options).unwrap();
    owners(&pool, 128, operations(5_000), true);
    assert!(pool.counters().policy.idle_writes.unwrap() > 0);
    check_sums(&pool.counters());
    pool.close().map_err(|(_, error)| error).unwrap();
}

#[test]
fn no_byte_is_wrong_while_the_store_fails() {
    [false, true].into_iter().for_each(fails);
}

fn fails(early_sync: bool) {
    let store = Arc::new(FaultStore::new(MemoryStore::new(64, PAGE as u32), PAGE as u32, 3));
    let mut options = options(16, 1);
    options.early_sync = early_sync;
    let pool = Pool::open(Arc::clone(&store), "lru", options).unwrap();
    store.set(Faults {
        reads: Fault::Share(0.02),
        writes: Fault::Share(0.05),
        syncs: Fault::Share(0.3),
        ..Faults::default()
    });
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let pool = &pool;
            scope.spawn(move || {
                let random = &mut Random::new(thread);
                let mut mine = [0u64; 8];
                for turn in 1..operations(5_000) {
                    let at = random.below(8);
                    let page = at * THREADS + thread;
                    match random.below(4) {
                        0 => {
                            _ = pool.read(page).map(|g| assert_eq!(stamped(&g), mine[at as usize]))
                        }
                        1 => {
                            if let Ok(mut guard) = pool.overwrite(page) {
                                stamp(&mut guard, turn);
                                mine[at as usize] = turn;
                            }
                        }
                        2 if turn % 16 == 0 => _ = pool.flush(),
                        _ => _ = pool.read(random.below(64)).map(|guard| stamped(&guard)),
                    }
                }
            });
        }
    });
    assert!(pool.counters().store.failed_syncs > 0);
    store.set(Faults::default());
    pool.flush().or_else(|_| pool.flush()).unwrap();
    assert_eq!(pool.counters().store.pending_writes, 0);
}

#[test]
fn two_guards_of_one_page_never_change_it_at_the_same_time() {
    let pool = Pool::open(MemoryStore::new(4, PAGE as u32), "lru", options(2, 1)).unwrap();
    let turns = operations(2_000);
    let flushes = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for turn in 0..turns {
                    let mut guard = pool.write(turn % 4).unwrap();
                    let value = stamped(&guard) + 1;
                    stamp(&mut guard, value);
                    drop(guard);
                    if turn % 50 == 0 {
                        pool.flush().unwrap();
                        flushes.fetch_add(1, Relaxed);
                    }
                }
            });
        }
    });
    let sum: u64 = (0..4).map(|page| stamped(&pool.read(page).unwrap())).sum();
    assert_eq!(sum, THREADS * turns, "each increment is there");
    assert_eq!(pool.counters().store.flushes, flushes.into_inner());
    check_sums(&pool.counters());
}

#[test]
fn a_flush_covers_what_was_written_under_a_guard_that_somebody_took_again() {
    let store = Arc::new(FaultStore::new(MemoryStore::new(4, PAGE as u32), PAGE as u32, 1));
    let pool = Pool::open(Arc::clone(&store), "lru", options(4, 1)).unwrap();
    stamp(&mut pool.overwrite(1).unwrap(), 7);
    let (taken, done) = (Barrier::new(2), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut guard = pool.write(1).unwrap();
            taken.wait();
            std::thread::sleep(std::time::Duration::from_millis(20));
            stamp(&mut guard, 8);
            done.store(1, Relaxed);
        });
        taken.wait();
        pool.flush().unwrap();
        assert_eq!(done.load(Relaxed), 1, "it waited for the guard");
    });
    store.power_cut(3).unwrap();
    let page = &mut [0; PAGE];
    store.read(1, page).unwrap();
    assert_eq!(stamped(page), 8);
}

#[test]
fn a_thread_that_would_wait_for_itself_is_refused() {
    let pool = Pool::open(MemoryStore::new(8, PAGE as u32), "lru", options(2, 1)).unwrap();
    let guard = pool.write(3).unwrap();
    let bytes = &mut [0; 2 * PAGE];
    let refused = [
        pool.read(3).map(drop),
        pool.write(3).map(drop),
        pool.overwrite(3).map(drop),
        pool.flush(),
        pool.read_at(2 * PAGE as u64, bytes).map(drop),
        pool.write_at(2 * PAGE as u64, bytes).map(drop),
        pool.forget(0..8),
        pool.zero_at(0..8 * PAGE as u64).map(drop),
    ];
    for result in refused {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Deadlock);
    }
    pool.read(4).map(drop).unwrap();
    drop(guard);
    pool.flush().unwrap();
}

#[test]
fn a_thread_that_reads_a_page_and_asks_to_change_it_is_refused() {
    for batch in [1, 64] {
        let store = MemoryStore::new(8, PAGE as u32);
        let pool = Pool::open(store, "lru", options(2, batch)).unwrap();
        let guard = pool.read(3).unwrap();
        let bytes = &mut [0; 2 * PAGE];
        let accesses = pool.counters().policy.accesses();
        let refused = [
            pool.write(3).map(drop),
            pool.overwrite(3).map(drop),
            pool.write_at(2 * PAGE as u64, bytes).map(drop),
            pool.zero_at(0..8 * PAGE as u64).map(drop),
            pool.write_zeros_at(0..8 * PAGE as u64).map(drop),
        ];
        for result in refused {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Deadlock);
            assert_eq!(error.to_string(), "page 3: this thread holds its read guard");
        }
        assert_eq!(pool.counters().policy.accesses(), accesses, "the policy was not asked");
        drop(pool.read(3).unwrap());
        pool.read_at(2 * PAGE as u64, bytes).unwrap();
        pool.write(4).unwrap().fill(1);
        pool.flush().unwrap();
        pool.forget(0..8).unwrap();
        drop(guard);
        pool.write(3).unwrap().fill(2);
    }
}

#[test]
fn a_batch_reaches_the_policy_before_its_thread_ends_and_when_counters_are_asked_for() {
    let pool = Pool::open(MemoryStore::new(8, PAGE as u32), "lru", options(4, 64)).unwrap();
    drop(pool.read(1).unwrap());
    for _ in 0..10 {
        drop(pool.read(1).unwrap());
    }
    assert_eq!(pool.counters().policy.read_hits, 10);
    std::thread::spawn({
        let pool = Arc::new(pool);
        move || {
            std::thread::scope(|scope| {
                let here = &pool;
                let reader = scope.spawn(move || drop(here.read(1).unwrap()));
                reader.join().unwrap();
            });
            assert_eq!(pool.counters().policy.read_hits, 11, "seen when the thread ended");
        }
    })
    .join()
    .unwrap();
}

#[test]
fn an_access_whose_page_has_left_is_dropped_from_the_batch() {
    let pool = Pool::open(MemoryStore::new(8, PAGE as u32), "lru", options(1, 64)).unwrap();
    drop(pool.read(1).unwrap());
    drop(pool.read(1).unwrap()); // noted
    std::thread::scope(|scope| {
        scope.spawn(|| drop(pool.read(2).unwrap())); // page 1 leaves
    });
    let counters = pool.counters();
    assert_eq!((counters.store.stale_accesses, counters.policy.read_hits), (1, 0));
}
