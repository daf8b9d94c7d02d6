//! Pages, pins and forgets, with memory of the test's own.

use super::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

/// Allocations of this thread that are alive, and how many more succeed.
type Allocations = (BTreeMap<usize, Box<[u64]>>, usize);

thread_local! {
    static ALIVE: RefCell<Allocations> =
        const { std::cell::RefCell::new((BTreeMap::new(), usize::MAX)) };
}

unsafe extern "C" fn malloc(bytes: c_int) -> *mut c_void {
    ALIVE.with_borrow_mut(|(alive, left)| {
        if *left == 0 {
            return std::ptr::null_mut();
        }
        *left -= 1;
        // Not zero: the cache has to clear what SQLite wants cleared.
        let mut room = vec![u64::MAX; bytes.unsigned_abs().div_ceil(8) as usize].into_boxed_slice();
        let start = room.as_mut_ptr();
        alive.insert(start as usize, room);
        start.cast()
    })
}

unsafe extern "C" fn free(start: *mut c_void) {
    ALIVE.with_borrow_mut(|(alive, _)| alive.remove(&(start as usize)).expect("freed once"));
}

const LAYOUT: Layout = Layout { page: 512, extra: 44 };

fn cache(policy: Option<&str>, frames: u32) -> Cache {
    let decider = policy.map(|words| Decider::new(words, 1).unwrap());
    let mut cache = Cache::new("c0".to_string(), LAYOUT, Memory { malloc, free }, decider);
    cache.resize(frames);
    cache
}

fn alive() -> usize {
    ALIVE.with_borrow(|(alive, _)| alive.len())
}

impl Cache {
    fn get(&mut self, key: u32) -> NonNull<Block> {
        self.fetch(key, Create::Yes).expect("there is memory")
    }

    fn give_back(&mut self, block: NonNull<Block>) {
        // SAFETY: a block of this cache, by each test.
        unsafe { self.unpin(block, false) };
    }

    fn read(&mut self, key: u32) {
        let block = self.get(key);
        self.give_back(block);
    }

    fn keys(&self) -> Vec<u32> {
        self.pages.keys().copied().collect()
    }

    fn counted(&self) -> (u64, u64, u64, u64) {
        let counters = self.decider.as_ref().unwrap().counters;
        (counters.read_hits, counters.read_misses, counters.evictions, counters.trim_requests)
    }
}

#[test]
fn an_evicted_page_is_freed_and_a_pinned_one_when_it_is_unpinned() {
    let mut cache = cache(Some("lru"), 2);
    let one = cache.get(1);
    cache.read(2);
    cache.read(3); // evicts 1, which is pinned
    assert_eq!(cache.keys(), [1, 2, 3]);
    assert_eq!(cache.fetch(1, Create::No), Some(one), "the same page");
    assert_eq!((cache.counted(), cache.keys()), ((0, 4, 2, 0), vec![1, 3]), "and a miss");
    cache.read(4);
    cache.read(5);
    assert_eq!(cache.keys(), [1, 4, 5]);
    cache.give_back(one);
    assert_eq!((cache.keys(), alive()), (vec![4, 5], 2));
    drop(cache);
    assert_eq!(alive(), 0);
}

#[test]
fn a_new_page_has_cleared_extra_bytes_and_is_aligned() {
    let mut cache = cache(Some("lru"), 2);
    let block = cache.get(7);
    // SAFETY: the block is alive, and its parts have the sizes of the layout.
    unsafe {
        let shown = &block.as_ref().shown;
        assert_eq!((shown.buffer as usize % 8, shown.extra as usize % 8), (0, 0));
        let extra = std::slice::from_raw_parts(shown.extra.cast::<u8>(), 44);
        assert!(extra.iter().all(|byte| *byte == 0));
        shown.buffer.cast::<u8>().write_bytes(1, 512);
        shown.extra.cast::<u8>().write_bytes(1, 44);
        assert_eq!((block.as_ref().key, block.as_ref().pinned), (7, true));
    }
}

#[test]
fn absent_pages_are_made_as_much_as_they_are_wanted() {
    let mut cache = cache(Some("lru"), 10);
    assert!(cache.fetch(1, Create::No).is_none());
    for key in 1..=9 {
        assert!(cache.fetch(key, Create::IfEasy).is_some());
    }
    assert!(cache.fetch(10, Create::IfEasy).is_none(), "nine of ten frames are pinned");
    assert!(cache.fetch(9, Create::IfEasy).is_some(), "in memory");
    assert_eq!(cache.counted(), (1, 9, 0, 0), "what gives no page is no access");
    assert!(cache.fetch(10, Create::Yes).is_some());
    ALIVE.with_borrow_mut(|(_, left)| *left = 0);
    assert!(cache.fetch(11, Create::Yes).is_none());
    assert_eq!(cache.counted(), (1, 10, 0, 0), "the policy is not asked where memory ends");
}

#[test]
fn pages_are_forgotten_where_sqlite_gives_them_up() {
    let mut cache = cache(Some("lru"), 8);
    let pinned = cache.get(1);
    (2..=6).for_each(|key| cache.read(key));
    let six = cache.get(6);
    // SAFETY: a block of this cache.
    unsafe { cache.unpin(six, true) };
    assert_eq!((cache.keys(), cache.counted().3), (vec![1, 2, 3, 4, 5], 1));
    cache.truncate(5);
    assert_eq!((cache.keys(), cache.counted().3), (vec![1, 2, 3, 4], 2));
    cache.shrink();
    assert_eq!((cache.keys(), cache.counted().3), (vec![1], 5));
    cache.give_back(pinned);
    cache.read(2);
    cache.truncate(0);
    assert_eq!((cache.len(), alive(), cache.counted().3), (0, 0, 7));
}

#[test]
fn a_page_with_a_new_key_is_a_miss_and_replaces_the_page_that_had_it() {
    let mut cache = cache(Some("lru"), 4);
    cache.read(2);
    let page = cache.get(1);
    // SAFETY: a block of this cache.
    unsafe { cache.rekey(page, 2) };
    assert_eq!((cache.keys(), cache.counted()), (vec![2], (0, 3, 0, 2)));
    assert_eq!(cache.fetch(2, Create::No), Some(page));
    assert_eq!(cache.counted().0, 1);
    cache.give_back(page);
    assert_eq!((cache.len(), alive()), (1, 1));
    // SAFETY: a block of this cache.
    unsafe { cache.unpin(page, true) };
    assert_eq!((cache.len(), alive()), (0, 0), "it is discarded under its new key");
}

#[test]
fn truncation_forgets_ghosts_too() {
    let mut cache = cache(Some("2q"), 4);
    (1..=8).for_each(|key| cache.read(key));
    cache.truncate(3);
    assert!(cache.keys().iter().all(|key| *key < 3));
    assert_eq!(cache.counted().3, 6, "pages 3 to 8, evicted or not");
}

#[test]
fn another_size_begins_with_an_empty_policy() {
    let mut cache = cache(Some("2q"), 4);
    let pinned = cache.get(1);
    (2..=8).for_each(|key| cache.read(key));
    let before = cache.counted();
    cache.resize(4);
    assert_eq!(cache.counted(), before, "the same size changes nothing");
    cache.resize(1);
    assert_eq!((cache.keys(), cache.decider.as_ref().unwrap().frames), (vec![1], 1));
    assert_eq!(cache.counted().3, 8, "ghosts are forgotten, too");
    assert_eq!(cache.fetch(1, Create::No), Some(pinned));
    assert_eq!(cache.counted().1, before.1 + 1);
}

#[test]
fn a_cache_without_policy_keeps_all_pages() {
    let mut cache = cache(None, 1);
    (1..=100).for_each(|key| cache.read(key));
    cache.shrink();
    assert_eq!(cache.len(), 100);
    assert!(cache.fetch(101, Create::IfEasy).is_some());
    cache.truncate(51);
    assert_eq!((cache.len(), alive()), (50, 50));
}

/// Every policy that is accepted runs: none bypasses, and each keeps to its frames.
#[test]
fn every_policy_that_is_accepted_runs() {
    let mut ran = 0;
    for info in destage_policies::POLICIES {
        let words = match info.name.starts_with("acr") {
            true => format!("{}[file_pages=64]", info.name),
            false => info.name.to_string(),
        };
        if crate::settings::build(&words, 1).is_err() {
            continue;
        }
        ran += 1;
        for frames in [1, 7] {
            let mut cache = cache(Some(&words), frames);
            for turn in 0..2000_u32 {
                let hash = turn.wrapping_mul(2_654_435_761).rotate_left(9);
                let key = 1 + hash % 8 * (hash / 8 % 8);
                match turn % 97 {
                    96 => cache.truncate(key),
                    48 => cache.shrink(),
                    _ => cache.read(key),
                }
                assert!(cache.len() <= frames as usize, "{words}");
            }
            let decider = cache.decider.as_ref().expect("no fault of the policy");
            assert!(frames == 1 || decider.counters.read_hits > 100, "{words}");
            assert_eq!(decider.counters.evictions, decider.counters.clean_evictions);
        }
    }
    assert!(ran >= 30, "{ran}");
    assert_eq!(alive(), 0);
}
