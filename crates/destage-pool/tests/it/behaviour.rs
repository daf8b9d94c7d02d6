//! Single rules of the specification.

use crate::support::check_sums;
use destage_pool::{FaultStore, MemoryStore, OpenError, Options, Pool, Writer};
use std::io::ErrorKind;

const PAGE: u64 = 512;

fn options(frames: u32) -> Options {
    let mut options = Options::new(frames);
    options.page_bytes = PAGE as u32;
    options.pages_per_block = 4;
    options
}

fn pool(policy: &str, frames: u32) -> Pool<MemoryStore> {
    Pool::open(MemoryStore::new(64, PAGE as u32), policy, options(frames)).unwrap()
}

#[test]
fn what_cannot_be_opened_is_named_in_the_words_of_the_command_line() {
    let open = |policy: &str, change: fn(&mut Options), pages| {
        let mut options = options(4);
        change(&mut options);
        let opened = Pool::open(MemoryStore::new(pages, PAGE as u32), policy, options);
        opened.map(drop).unwrap_err().to_string()
    };
    let nothing = |_: &mut Options| {};
    for (error, part) in [
        (open("lrru", nothing, 64), "did you mean lru?"),
        (open("lru[k=2]", nothing, 64), "lru has no parameters"),
        (open("cflru[window_fraction=2]", nothing, 64), "expected 0..1"),
        (open("min", nothing, 64), "future"),
        (open("ecr", nothing, 64), "simulated SSD"),
        (open("lru", |options| options.frames = 0, 64), "frames: expected 1.."),
        (open("lru", |options| options.page_bytes = 1000, 64), "power of two"),
        (open("lru", |options| options.page_bytes = 1 << 17, 64), "65536"),
        (open("lru", |options| options.batch = 65, 64), "batch: expected 1..64, got 65"),
        (open("lru", |options| options.limbo_pages = 0, 64), "limbo_pages"),
        (open("lru", nothing, 0), "smaller than one page"),
        (open("arc", |options| options.writer = Some(Writer::default()), 64), "eviction order"),
    ] {
        assert!(error.contains(part), "{error}");
    }
    let error = Pool::open(MemoryStore::new(1, PAGE as u32), "min", options(1)).err().unwrap();
    assert!(matches!(error, OpenError::NeedsTheFuture(name) if name == "min"));
}

#[test]
fn a_range_that_is_empty_or_beyond_the_store_is_refused_and_no_access() {
    let pool = pool("lru", 4);
    let all = 64 * PAGE;
    let kinds = [
        pool.read(64).map(drop),
        pool.write(u64::MAX).map(drop),
        pool.read_at(all - 1, &mut [0; 2]).map(drop),
        pool.write_at(u64::MAX, &[1]).map(drop),
        pool.zero_at(all..all + 1).map(drop),
        pool.forget(60..u64::MAX),
        pool.read_at(0, &mut []).map(drop),
        pool.trim_at(5..5).map(drop),
        pool.cache_at(9..9).map(drop),
    ]
    .map(|result| result.unwrap_err().kind());
    assert_eq!(kinds[..6], [ErrorKind::UnexpectedEof; 6]);
    assert_eq!(kinds[6..], [ErrorKind::InvalidInput; 3]);
    assert_eq!(pool.counters(), Default::default());
}

#[test]
fn a_whole_page_is_not_fetched_and_a_part_of_one_is() {
    let pool = pool("lru", 4);
    pool.write_at(0, &[1; 3 * PAGE as usize / 2]).unwrap();
    let counters = pool.counters();
    assert_eq!((counters.policy.write_misses, counters.store.store_reads), (2, 1));
    assert_eq!(counters.store.partial_fetches, 1);
    pool.write_at(PAGE, &[2; 10]).unwrap();
    assert_eq!(pool.counters().store.store_reads, 1, "a hit has its bytes");
    pool.overwrite(9).unwrap()[3] = 1;
    assert_eq!(pool.counters().store.store_reads, 1);
    drop(pool.write(10).unwrap());
    assert_eq!(pool.counters().store.store_reads, 2);
}

#[test]
fn a_call_that_would_fetch_or_make_room_is_known_before() {
    let mut options = options(2);
    options.limbo_pages = 3;
    let store = FaultStore::new(MemoryStore::new(64, PAGE as u32), PAGE as u32, 1);
    let pool = Pool::open(store, "lru", options).unwrap();
    let at_once = |page: u64| {
        let all = page * PAGE..(page + 1) * PAGE;
        let part = all.start + 1..all.end;
        [pool.reads_at_once(&all), pool.writes_at_once(&all), pool.writes_at_once(&part)]
    };
    assert_eq!(at_once(0), [false, true, false]);
    pool.write_at(0, &[1; PAGE as usize]).unwrap();
    assert_eq!(at_once(0), [true; 3]);
    assert!(!pool.reads_at_once(&(0..2 * PAGE)), "the second page is not in memory");
    assert_eq!(pool.counters().policy.accesses(), 1);
    (1..4).for_each(|page| _ = pool.write_at(page * PAGE, &[1; PAGE as usize]).unwrap());
    assert_eq!((pool.counters().store.limbo_pages, at_once(0)), (2, [true; 3]));
    pool.write_at(4 * PAGE, &[1; PAGE as usize]).unwrap();
    assert_eq!((pool.counters().store.limbo_pages, at_once(4)), (3, [false; 3]));
    pool.flush().unwrap();
    assert_eq!(at_once(4), [true; 3]);
}

#[test]
fn a_flush_cleans_nothing_for_the_policy_and_its_group_is_not_written_again() {
    let pool = pool("lru", 1);
    pool.overwrite(1).unwrap().fill(1);
    pool.flush().unwrap();
    drop(pool.read(2).unwrap()); // evicts page 1, which the policy takes for dirty
    let counters = pool.counters();
    assert_eq!((counters.policy.destaged_pages, counters.policy.clean_evictions), (1, 0));
    assert_eq!((counters.store.flush_writes, counters.store.already_written), (1, 1));
    assert_eq!(counters.store.store_writes, 1);
    check_sums(&counters);
}

#[test]
fn a_page_under_a_write_guard_is_left_out_of_its_group_and_written_when_the_guard_goes() {
    let pool = pool("lru", 1);
    let mut guard = pool.overwrite(1).unwrap();
    drop(pool.read(2).unwrap()); // evicts page 1
    let counters = pool.counters();
    assert_eq!((counters.store.left_out, counters.store.store_writes), (1, 0));
    guard.fill(7);
    drop(guard);
    let counters = pool.counters();
    assert_eq!((counters.store.late_writes, counters.store.store_writes), (1, 1));
    check_sums(&counters);
    assert_eq!(pool.read(1).unwrap()[0], 7);
}

#[test]
fn a_bypassed_write_is_written_when_its_last_guard_goes() {
    let pool = pool("none", 1);
    let first = pool.write(1).unwrap();
    assert_eq!(pool.counters().store.store_writes, 0);
    drop(first);
    let counters = pool.counters();
    assert_eq!((counters.policy.written_through, counters.store.store_writes), (1, 1));
    assert_eq!(counters.store.limbo_pages, 0);
    check_sums(&counters);
}

#[test]
fn two_guards_that_share_one_write_through_are_counted_as_one_write() {
    let pool = pool("none", 1);
    let first = pool.write(1).unwrap();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| drop(pool.write(1).unwrap()));
        while pool.counters().policy.written_through < 2 {
            std::thread::yield_now(); // until the second has been decided
        }
        drop(first);
        second.join().unwrap();
    });
    let counters = pool.counters();
    assert_eq!((counters.store.store_writes, counters.store.already_written), (1, 1));
    check_sums(&counters);
}

#[test]
fn a_group_with_padding_is_written_whole() {
    let pool = pool("bplru", 4);
    drop(pool.overwrite(1).unwrap());
    pool.flush().unwrap(); // page 1 is clean, and its group is still written
    drop(pool.overwrite(2).unwrap());
    for page in [9, 10, 11] {
        drop(pool.overwrite(page).unwrap());
    }
    let counters = pool.counters();
    assert_eq!(counters.policy.padding_writes, 2, "pages 0 and 3");
    assert_eq!((counters.store.already_written, counters.store.store_writes), (0, 5));
    check_sums(&counters);
}

#[test]
fn a_trim_drops_bytes_and_a_guard_keeps_its_own() {
    let pool = pool("lru", 4);
    for page in 0..4 {
        pool.overwrite(page).unwrap().fill(1);
    }
    let reader = pool.read(0).unwrap();
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (go, gone) = std::sync::mpsc::channel();
        let pool = &pool;
        scope.spawn(move || {
            let mut writer = pool.write(1).unwrap();
            sender.send(()).unwrap();
            gone.recv().unwrap();
            writer[0] = 2; // a new write
        });
        receiver.recv().unwrap();
        pool.forget(0..3).unwrap();
        assert_eq!((reader[0], pool.read(0).unwrap()[0]), (1, 0));
        assert_eq!(pool.read(2).unwrap()[0], 0);
        go.send(()).unwrap();
    });
    assert_eq!((pool.read(1).unwrap()[0], pool.read(3).unwrap()[0]), (2, 1));
    let counters = pool.counters();
    assert_eq!(counters.trims.trim_requests, 1);
    assert_eq!((counters.trims.trim_cache_drops, counters.trims.trim_dirty_drops), (3, 3));
    drop(reader);
    pool.flush().unwrap();
    assert_eq!(pool.counters().store.limbo_pages, 0);
}

#[test]
fn a_trim_of_the_whole_of_a_large_store_takes_no_longer_than_its_pages_in_use() {
    let pages = 1 << 40; // four petabytes
    let pool = Pool::open(NoPages(pages), "arc", Options::new(4)).unwrap();
    drop(pool.read(1 << 39).unwrap());
    pool.forget(0..pages).unwrap();
    assert_eq!(pool.counters().trims.trim_cache_drops, 1);
}

struct NoPages(u64);

impl destage_pool::Store for NoPages {
    fn pages(&self) -> u64 {
        self.0
    }
    fn read(&self, _: u64, into: &mut [u8]) -> std::io::Result<()> {
        into.fill(0);
        Ok(())
    }
    fn write(&self, _: &[(u64, &[u8])]) -> std::io::Result<()> {
        Ok(())
    }
    fn discard(&self, _: std::ops::Range<u64>) -> std::io::Result<()> {
        Ok(())
    }
    fn sync(&self) -> std::io::Result<()> {
        Ok(())
    }
}
