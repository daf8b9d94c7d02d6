//! Whatever is asked of a pool, its bytes are those of a plain array.

use crate::support::{Random, check_sums, policies};
use destage_policies::POLICIES;
use destage_pool::{MemoryStore, NONE, Options, Pool, Store};
use proptest::prelude::*;

const PAGE: u64 = 512;
const PAGES: u64 = 48;

/// A store that cannot discard.
struct NoDiscard(MemoryStore);

impl Store for NoDiscard {
    fn pages(&self) -> u64 {
        self.0.pages()
    }
    fn read(&self, page: u64, into: &mut [u8]) -> std::io::Result<()> {
        self.0.read(page, into)
    }
    fn write(&self, group: &[(u64, &[u8])]) -> std::io::Result<()> {
        self.0.write(group)
    }
    fn discard(&self, _: std::ops::Range<u64>) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
    fn sync(&self) -> std::io::Result<()> {
        self.0.sync()
    }
}

/// One random call, on both sides.
fn step(pool: &Pool<Box<dyn Store>>, plain: &mut [u8], random: &mut Random, discards: bool) {
    let all = PAGES * PAGE;
    let page = random.below(PAGES);
    let whole = (page * PAGE) as usize..((page + 1) * PAGE) as usize;
    match random.below(12) {
        0..3 => {
            let range = random.range(all, 5 * PAGE);
            let mut found = vec![0xAA; (range.end - range.start) as usize];
            pool.read_at(range.start, &mut found).unwrap();
            assert_eq!(found, plain[range.start as usize..range.end as usize], "{range:?}");
        }
        3..6 => {
            let range = random.range(all, 5 * PAGE);
            let bytes = vec![random.byte(); (range.end - range.start) as usize];
            pool.write_at(range.start, &bytes).unwrap();
            plain[range.start as usize..range.end as usize].copy_from_slice(&bytes);
        }
        6 => assert_eq!(pool.read(page).unwrap()[..], plain[whole]),
        7 => {
            let at = random.below(PAGE) as usize;
            let byte = random.byte();
            pool.write(page).unwrap()[at] = byte;
            plain[whole][at] = byte;
        }
        8 => {
            let byte = random.byte();
            pool.overwrite(page).unwrap().fill(byte);
            plain[whole].fill(byte);
        }
        9 => {
            let range = random.range(all, 5 * PAGE);
            if random.below(2) == 0 {
                pool.zero_at(range.clone()).unwrap();
            } else {
                pool.write_zeros_at(range.clone()).unwrap();
            }
            plain[range.start as usize..range.end as usize].fill(0);
        }
        10 if discards => {
            let range = random.range(all, 5 * PAGE);
            pool.trim_at(range.clone()).unwrap();
            let start = range.start.next_multiple_of(PAGE) as usize;
            let end = (range.end - range.end % PAGE) as usize;
            plain[start.min(end)..end].fill(0);
        }
        _ => pool.flush().unwrap(),
    }
}

fn run(policy: &str, options: Options, seed: u64, discards: bool) {
    let random = &mut Random::new(seed);
    let memory = MemoryStore::new(PAGES, PAGE as u32);
    let store: Box<dyn Store> =
        if discards { Box::new(memory) } else { Box::new(NoDiscard(memory)) };
    let mut plain = vec![0; (PAGES * PAGE) as usize];
    let writer = options.writer.is_some();
    let clusters = POLICIES.iter().any(|info| info.name == policy && info.clusters);
    let pool = Pool::open(store, policy, options.clone()).unwrap();
    for _ in 0..300 {
        step(&pool, &mut plain, random, discards);
        let limbo = pool.counters().store.limbo_pages;
        // Pages that the writer has in hand are not counted, nor those of the request.
        let in_hand = 12 + if writer { u64::from(options.frames) } else { 0 };
        let most = u64::from(options.limbo_pages) + in_hand;
        assert!(clusters || limbo <= most, "{policy}: {limbo} pages in limbo, at most {most}");
    }
    if !writer {
        check_sums(&pool.counters());
    }
    let store = pool.close().map_err(|(_, error)| error).unwrap();
    for page in 0..PAGES {
        let mut found = vec![0; PAGE as usize];
        store.read(page, &mut found).unwrap();
        let at = (page * PAGE) as usize;
        assert_eq!(found, plain[at..at + PAGE as usize], "page {page} of the store, {policy}");
    }
}

fn options(frames: u32, batch: u32, limbo: u32) -> Options {
    let mut options = Options::new(frames);
    options.page_bytes = PAGE as u32;
    options.batch = batch;
    options.limbo_pages = limbo;
    options.pages_per_block = 8;
    options
}

#[test]
fn bytes_are_those_of_a_plain_array_whatever_the_policy() {
    for (number, policy) in policies().into_iter().chain([NONE]).enumerate() {
        for seed in 0..6 {
            let frames = [1, 2, 5, 16][seed as usize % 4];
            let batch = if seed % 2 == 0 { 1 } else { 64 };
            let options = options(frames, batch, 1 + number as u32 % 9);
            run(policy, options, seed << 32 | number as u64, seed % 3 > 0);
        }
    }
}

proptest! {
    #[test]
    fn bytes_are_those_of_a_plain_array(
        frames in 1u32..20,
        batch in prop::sample::select(vec![1u32, 2, 64]),
        limbo in 1u32..10,
        checksums: bool,
        with_writer: bool,
        seed: u64,
        discards: bool,
    ) {
        let mut options = options(frames, batch, limbo);
        options.checksums = checksums;
        options.writer = with_writer.then(|| destage_pool::Writer {
            period_ms: 1,
            ..Default::default()
        });
        run("lru", options, seed, discards);
    }
}
