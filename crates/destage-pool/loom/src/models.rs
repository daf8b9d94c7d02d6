//! Small programs of three threads, run under every schedule.

use crate::fault::FaultStore;
use crate::memory::MemoryStore;
use crate::options::Options;
use crate::pool::Pool;
use crate::quick::{Arrived, Quick};
use crate::store::Store;
use crate::sync::UnsafeCell;
use std::ptr;
use std::sync::Arc;

const PAGE: usize = 512;

type Faulty = Arc<FaultStore<MemoryStore>>;

fn pool(policy: &str, frames: u32) -> (Arc<Pool<Faulty>>, Faulty) {
    batched(policy, frames, 1)
}

/// A pool over a store that loses what was not synced when its power is cut.
fn batched(policy: &str, frames: u32, batch: u32) -> (Arc<Pool<Faulty>>, Faulty) {
    let store = Arc::new(FaultStore::new(MemoryStore::new(3, PAGE as u32), PAGE as u32, 1));
    let mut options = Options::new(frames);
    options.page_bytes = PAGE as u32;
    options.limbo_pages = 1;
    options.batch = batch;
    let pool = Pool::open(Arc::clone(&store), policy, options).expect("a pool");
    (Arc::new(pool), store)
}

fn under_every_schedule(program: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.max_branches = 100_000;
    model.check(program);
}

/// The threads of a program, the calling one among them.
fn at_once(pool: &Arc<Pool<Faulty>>, programs: [fn(&Pool<Faulty>); 3]) {
    let [here, others @ ..] = programs;
    let spawn = |program: fn(&Pool<Faulty>)| {
        let pool = Arc::clone(pool);
        loom::thread::spawn(move || program(&pool))
    };
    let others = others.map(spawn);
    here(pool);
    others.into_iter().for_each(|other| other.join().expect("it does not panic"));
}

fn add(pool: &Pool<Faulty>, page: u64) {
    let mut guard = pool.write(page).expect("no store fails");
    let next = guard[0] + 1;
    guard.fill(next);
}

fn stamp_of(pool: &Pool<Faulty>, page: u64) -> u8 {
    let guard = pool.read(page).expect("no store fails");
    assert!(guard.iter().all(|byte| *byte == guard[0]), "a torn page");
    guard[0]
}

/// The page as a power cut leaves it.
fn kept(store: &Faulty, page: u64) -> u8 {
    store.power_cut(1).expect("it is in memory");
    let bytes = &mut [0; PAGE];
    store.read(page, bytes).expect("it is in memory");
    bytes[0]
}

/// Each page that moved is in one term (`docs/spec/pool.md` 9.2).
fn check_sums(pool: &Pool<Faulty>) {
    let counters = pool.counters();
    let (p, s) = (counters.policy, counters.store);
    assert_eq!(
        s.store_writes + s.already_written + s.left_out + s.dropped,
        p.destaged_pages + p.written_through + s.flush_writes + s.late_writes,
        "{counters:?}"
    );
    let fetches = s.partial_fetches + s.refetches;
    assert_eq!(s.store_reads + s.limbo_hits, p.read_misses + fetches, "{counters:?}");
}

/// Latch: two change a page, one reads it.
#[test]
fn a_page_is_changed_by_one_or_read_by_many() {
    under_every_schedule(|| {
        let (pool, _) = pool("lru", 2);
        at_once(
            &pool,
            [
                |pool| add(pool, 0),
                |pool| add(pool, 0),
                |pool| {
                    assert!(stamp_of(pool, 0) <= 2);
                },
            ],
        );
        assert_eq!(stamp_of(&pool, 0), 2);
        check_sums(&pool);
    });
}

/// An entry becomes another page's while readers look for the first: none reads a page that it did
/// not ask for, and none goes uncounted.
#[test]
fn a_reader_without_a_lock_reads_the_page_that_it_asked_for() {
    under_every_schedule(|| {
        let quick = Arc::new(Quick::new(1));
        let frames = [UnsafeCell::new(1), UnsafeCell::new(2)];
        let at = |frame: usize| -> *const UnsafeCell<u64> { &raw const frames[frame] };
        let first = quick.claim(1, at(0), ptr::null_mut()).expect("the only entry");
        quick.open(first);
        let read = |quick: &Quick<UnsafeCell<u64>>| {
            let Some(arrived) = quick.arrive(1) else { return };
            let (Arrived::Reads(frame, place) | Arrived::Strays(frame, place)) = &arrived;
            // SAFETY: the frames outlive the threads, and none is changed under a reader.
            let page = unsafe { frame.as_ref() }.with(|page| unsafe { *page });
            assert_eq!(page == 1, matches!(arrived, Arrived::Reads(..)));
            quick.leave(*place);
        };
        let readers = [(); 2].map(|()| {
            let quick = Arc::clone(&quick);
            loom::thread::spawn(move || read(&quick))
        });
        if quick.close(first) == 0 {
            // SAFETY: the entry is closed, and had no reader.
            frames[0].with_mut(|page| unsafe { *page = 3 });
            quick.free(first);
            let second = quick.claim(2, at(1), ptr::null_mut()).expect("the only entry");
            quick.open(second);
        }
        readers.into_iter().for_each(|reader| reader.join().expect("it does not panic"));
    });
}

/// Readers without a lock: the page that one of them reads is changed, and trimmed.
#[test]
fn a_page_that_is_read_without_a_lock_stays_as_it_is() {
    under_every_schedule(|| {
        let (pool, _) = batched("lru", 1, 2);
        add(&pool, 0);
        at_once(
            &pool,
            [
                |pool| {
                    assert!(stamp_of(pool, 0) <= 2);
                },
                |pool| add(pool, 0),
                |pool| pool.forget(0..1).expect("no store fails"),
            ],
        );
        assert!(stamp_of(&pool, 0) <= 2);
        check_sums(&pool);
    });
}

/// The same, and the page is evicted.
#[test]
fn a_page_that_is_read_without_a_lock_outlives_its_eviction() {
    under_every_schedule(|| {
        let (pool, store) = batched("lru", 1, 2);
        add(&pool, 0);
        at_once(
            &pool,
            [
                |pool| {
                    assert_eq!(stamp_of(pool, 0), 1);
                },
                |pool| add(pool, 1),
                |pool| pool.flush().expect("no store fails"),
            ],
        );
        assert_eq!(kept(&store, 0), 1);
        check_sums(&pool);
    });
}

/// Pin: a page is evicted while somebody changes it.
#[test]
fn a_page_that_is_held_stays_until_it_is_let_go() {
    under_every_schedule(|| {
        let (pool, store) = pool("lru", 1);
        at_once(
            &pool,
            [
                |pool| add(pool, 0),
                |pool| add(pool, 1),
                |pool| {
                    assert!(stamp_of(pool, 0) <= 1);
                },
            ],
        );
        pool.flush().expect("no store fails");
        check_sums(&pool);
        assert_eq!((kept(&store, 0), kept(&store, 1)), (1, 1));
    });
}

/// Limbo: what a flush covers outlives a power cut, wherever its page is at that time.
#[test]
fn a_flush_covers_pages_that_are_leaving() {
    under_every_schedule(|| {
        let (pool, store) = pool("lru", 1);
        add(&pool, 0);
        at_once(
            &pool,
            [
                |pool| pool.flush().expect("no store fails"),
                |pool| add(pool, 1),
                |pool| {
                    assert_eq!(stamp_of(pool, 0), 1);
                },
            ],
        );
        assert_eq!(kept(&store, 0), 1);
        check_sums(&pool);
    });
}

/// A bypassed write, a trim, and somebody who waits for the page.
#[test]
fn a_bypassed_write_that_is_trimmed_is_counted_once() {
    under_every_schedule(|| {
        let (pool, _) = pool("none", 1);
        at_once(
            &pool,
            [
                |pool| add(pool, 0),
                |pool| pool.forget(0..1).expect("no store fails"),
                |pool| {
                    assert!(stamp_of(pool, 0) <= 1);
                },
            ],
        );
        check_sums(&pool);
    });
}
