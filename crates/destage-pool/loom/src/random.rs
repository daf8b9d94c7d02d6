//! Four threads that use the whole pool, under random schedules.
//!
//! Each thread has pages of its own, whose bytes it knows, and reads those of all. Pages are
//! changed and read in two halves with a step of the schedule between them, so a latch that lets
//! two threads in shows as a torn page. At the end the power is cut: what a flush covered is there.

use crate::counters::PoolCounters;
use crate::fault::FaultStore;
use crate::memory::MemoryStore;
use crate::options::Options;
use crate::pool::Pool;
use crate::store::Store;
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::Mutex;
use shuttle::thread;
use std::collections::BTreeSet;
use std::io;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

const PAGE: usize = 512;
const THREADS: u64 = 4;
const PAGES: u64 = 2 * THREADS;
const OPERATIONS: u8 = 12;

/// A store whose operations take a step of the schedule, and that sees two at one page.
struct Watched {
    store: FaultStore<MemoryStore>,
    busy: Mutex<BTreeSet<u64>>,
}

impl Watched {
    fn alone<R>(&self, pages: impl Iterator<Item = u64> + Clone, work: impl FnOnce() -> R) -> R {
        for page in pages.clone() {
            assert!(self.busy.lock().expect("poisoned").insert(page), "two at page {page}");
        }
        thread::yield_now();
        let result = work();
        pages.for_each(|page| _ = self.busy.lock().expect("poisoned").remove(&page));
        result
    }
}

impl Store for Watched {
    fn pages(&self) -> u64 {
        self.store.pages()
    }
    fn read(&self, page: u64, into: &mut [u8]) -> io::Result<()> {
        self.alone(iter::once(page), || self.store.read(page, into))
    }
    fn write(&self, group: &[(u64, &[u8])]) -> io::Result<()> {
        self.alone(group.iter().map(|(page, _)| *page), || self.store.write(group))
    }
    fn discard(&self, pages: Range<u64>) -> io::Result<()> {
        self.alone(pages.clone(), || self.store.discard(pages))
    }
    fn sync(&self) -> io::Result<()> {
        thread::yield_now();
        self.store.sync()
    }
}

type Faulty = Arc<Watched>;

fn open(policy: &str, batch: u32) -> (Arc<Pool<Faulty>>, Faulty) {
    let store = FaultStore::new(MemoryStore::new(PAGES, PAGE as u32), PAGE as u32, 1);
    let store = Arc::new(Watched { store, busy: Mutex::default() });
    let mut options = Options::new(3);
    options.page_bytes = PAGE as u32;
    options.batch = batch;
    options.limbo_pages = 2;
    options.pages_per_block = 2;
    let pool = Pool::open(Arc::clone(&store), policy, options).expect("a pool");
    (Arc::new(pool), store)
}

/// Writes a page in two halves.
fn stamp(page: &mut [u8], value: u8) {
    page[..PAGE / 2].fill(value);
    thread::yield_now();
    page[PAGE / 2..].fill(value);
}

/// Reads a page in two halves.
fn stamped(page: &[u8]) -> u8 {
    let first = page[0];
    assert!(page[..PAGE / 2].iter().all(|byte| *byte == first), "a torn page");
    thread::yield_now();
    assert!(page[PAGE / 2..].iter().all(|byte| *byte == first), "a torn page");
    first
}

/// A page's value, and the least that a power cut may leave of it.
#[derive(Clone, Copy, Default)]
struct Page {
    value: u8,
    durable: u8,
}

/// Operations of one thread; its pages at the end.
fn owner(pool: &Pool<Faulty>, thread: u64) -> [Page; 2] {
    let mut mine = [Page::default(); 2];
    for turn in 1..=OPERATIONS {
        let at = thread_rng().gen_range(0..2);
        let page = at as u64 * THREADS + thread;
        let offset = page * PAGE as u64;
        let known = mine[at].value;
        match thread_rng().gen_range(0..12) {
            0..2 => assert_eq!(stamped(&pool.read(page).expect("no fault")), known),
            2 => {
                let bytes = &mut [0; PAGE];
                pool.read_at(offset, bytes).expect("no fault");
                assert_eq!(stamped(bytes), known);
            }
            3..6 => {
                let mut guard = pool.write(page).expect("no fault");
                assert!(guard.iter().all(|byte| *byte == known), "page {page}");
                stamp(&mut guard, turn);
                mine[at].value = turn;
            }
            6 => {
                pool.write_at(offset, &[turn; PAGE]).expect("no fault");
                mine[at].value = turn;
            }
            7 => {
                pool.forget(page..page + 1).expect("no fault");
                mine[at] = Page::default();
            }
            8 => {
                pool.flush().expect("no fault");
                mine.iter_mut().for_each(|page| page.durable = page.value);
            }
            _ => _ = stamped(&pool.read(thread_rng().gen_range(0..PAGES)).expect("no fault")),
        }
    }
    mine
}

fn check_sums(counters: &PoolCounters) {
    let (p, s) = (counters.policy, counters.store);
    let asked = p.destaged_pages + p.padding_writes + p.written_through;
    assert_eq!(
        s.store_writes + s.already_written + s.left_out + s.dropped,
        asked + s.flush_writes + s.late_writes + s.rewrites,
        "{counters:?}"
    );
    assert_eq!(
        s.store_reads + s.limbo_hits,
        p.read_misses + p.padding_reads + s.partial_fetches + s.refetches,
        "{counters:?}"
    );
}

fn program(policy: &'static str, batch: u32) {
    let (pool, store) = open(policy, batch);
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || owner(&pool, number))
        })
        .collect();
    let ended = threads.into_iter().map(|thread| thread.join().expect("it does not panic"));
    let known: Vec<[Page; 2]> = ended.collect();
    check_sums(&pool.counters());
    store.store.power_cut(1).expect("it is in memory");
    for (thread, pages) in (0..).zip(&known) {
        for (at, page) in (0..).zip(pages) {
            let bytes = &mut [0; PAGE];
            store.read(at * THREADS + thread, bytes).expect("it is in memory");
            if page.durable > 0 {
                let is_kept = bytes.iter().all(|byte| *byte >= page.durable);
                assert!(is_kept, "a flush covered {}, kept: {bytes:?}", page.durable);
            }
        }
    }
}

const POLICIES: [&str; 4] = ["lru", "cflru", "fab", "none"];

#[test]
fn no_byte_is_wrong_under_random_schedules() {
    for policy in POLICIES {
        for batch in [1, 3] {
            shuttle::check_random(move || program(policy, batch), 500);
        }
    }
}

/// Schedules with few preemptions, which find what needs one thread to stop for long.
#[test]
fn no_byte_is_wrong_where_a_thread_stops_for_long() {
    for policy in POLICIES {
        shuttle::check_pct(move || program(policy, 3), 500, 3);
    }
}
