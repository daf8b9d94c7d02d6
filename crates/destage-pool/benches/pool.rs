//! Accesses per second of a pool beside `quick_cache`: one and two threads, `batch` 1 and 64.
//!
//! ```text
//! cargo bench -p destage-pool --bench pool [-- --rounds 5 --accesses 2000000 --only mixed2]
//! ```
//!
//! Workloads: reads of 4 KiB pages in memory, skewed, with an LRU pool of 50,000 frames. `mixed`:
//! 100,000 pages, which hit in four of five accesses; `hits`: pages that all fit. A round runs
//! `quick_cache` and each pool in turn, so that other work on the machine meets them alike; rates
//! and ratios are medians of the rounds.

use cpu_time::ProcessTime;
use destage_core::SplitMix64;
use destage_pool::{MemoryStore, Options, Pool};
use quick_cache::sync::Cache;
use std::convert::Infallible;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const PAGES: u64 = 100_000;
const PAGE_BYTES: usize = 4096;
const FRAMES: u32 = 50_000;
const BATCHES: [u32; 2] = [1, 64];

/// Reads pages in order.
type Run<'a> = &'a (dyn Fn(&[u64]) -> u64 + Sync);

/// Millions of accesses per second.
#[derive(Clone, Copy)]
struct Rates {
    wall: f64,
    cpu: f64,
}

/// Runs the accesses of each thread at once.
fn timed(threads: &[Vec<u64>], run: Run<'_>) -> Rates {
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    std::thread::scope(|scope| {
        for pages in threads {
            scope.spawn(move || black_box(run(pages)));
        }
    });
    let millions = threads.iter().map(Vec::len).sum::<usize>() as f64 / 1e6;
    Rates {
        wall: millions / wall.elapsed().as_secs_f64(),
        cpu: millions / cpu.elapsed().as_secs_f64(),
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn pages(seed: u64, accesses: usize, pages: u64) -> Vec<u64> {
    let mut random = SplitMix64::new(seed);
    (0..accesses).map(|_| (random.unit().powi(4) * pages as f64) as u64).collect()
}

fn compare(workload: &str, pages_used: u64, threads: u64, rounds: usize, accesses: usize) {
    let own: Vec<Vec<u64>> = (1..=threads).map(|seed| pages(seed, accesses, pages_used)).collect();
    let cache: Cache<u64, Arc<[u8]>> = Cache::new(FRAMES as usize);
    let bytes_of = |page: &u64| Ok::<_, Infallible>(Arc::from(vec![*page as u8; PAGE_BYTES]));
    let get = |page: &u64| {
        let bytes = cache.get_or_insert_with(page, || bytes_of(page)).expect("it cannot fail");
        u64::from(bytes[0])
    };
    let pools = BATCHES.map(|batch| {
        let mut options = Options::new(FRAMES);
        options.batch = batch;
        Pool::open(MemoryStore::new(PAGES, PAGE_BYTES as u32), "lru", options).expect("a pool")
    });
    let read = |pool: &Pool<MemoryStore>, page: &u64| u64::from(pool.read(*page).expect("read")[0]);

    let peer = |pages: &[u64]| pages.iter().map(get).sum();
    let ours = pools
        .each_ref()
        .map(|pool| move |pages: &[u64]| pages.iter().map(|page| read(pool, page)).sum::<u64>());
    let mut all: Vec<Run<'_>> = vec![&peer];
    ours.iter().for_each(|run| all.push(run));
    all.iter().for_each(|run| _ = timed(&own, *run)); // warm caches

    let measured: Vec<Vec<Rates>> =
        (0..rounds).map(|_| all.iter().map(|run| timed(&own, *run)).collect()).collect();
    let counters = pools[0].counters().policy;
    let hit_ratio = counters.hits() as f64 / counters.accesses() as f64;
    for (at, what) in ["quick_cache", "pool, batch 1", "pool, batch 64"].iter().enumerate() {
        let of = |number: fn(&[Rates], usize) -> f64| {
            median(measured.iter().map(|round| number(round, at)))
        };
        let run = format!("{workload:<8} {hit_ratio:>9.3} {threads:>7}  {what:<14}");
        println!(
            "{run} {:>8.2} {:>8.2} {:>10.2} {:>9.2}",
            of(|round, at| round[at].wall),
            of(|round, at| round[at].cpu),
            of(|round, at| round[at].wall / round[0].wall),
            of(|round, at| round[at].cpu / round[0].cpu),
        );
    }
}

/// The value after a flag.
fn value_of(flag: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != flag).nth(1)
}

fn number(flag: &str, default: usize) -> usize {
    value_of(flag).map_or(default, |value| match value.parse() {
        Ok(number) if number > 0 => number,
        _ => panic!("{flag}: expected a positive number, found {value}"),
    })
}

fn main() {
    let (rounds, accesses) = (number("--rounds", 5), number("--accesses", 2_000_000));
    let only = value_of("--only");
    println!(
        "Millions of accesses per second, and ratios to quick_cache, medians of {rounds} rounds"
    );
    println!("workload hit_ratio threads  what               wall      cpu wall_ratio cpu_ratio");
    for (workload, pages_used) in [("mixed", PAGES), ("hits", u64::from(FRAMES) * 9 / 10)] {
        for threads in [1, 2] {
            if only.as_ref().is_none_or(|only| *only == format!("{workload}{threads}")) {
                compare(workload, pages_used, threads, rounds, accesses);
            }
        }
    }
}
