//! LRU and MIN at one size as anyone would write them, against every size of the one pass.

use super::lru::LruCurve;
use super::min::MinCurve;
use destage_engine::options::RunOptions;
use destage_replay::accesses::{Columns, Extent};
use destage_replay::control::Control;
use destage_replay::counters::Counters;
use destage_replay::input::NextUses;
use proptest::prelude::*;

/// A list of pages, the last used in front, each with its dirty bit.
fn naive(accesses: &[(u32, bool)], warmup: usize, frames: usize) -> Counters {
    let mut list: Vec<(u32, bool)> = Vec::new();
    let mut counted = Counters::default();
    for (k, &(page, write)) in accesses.iter().enumerate() {
        if k == warmup {
            counted = Counters::default();
        }
        let dirty = match list.iter().position(|&(other, _)| other == page) {
            Some(at) => {
                *(if write { &mut counted.write_hits } else { &mut counted.read_hits }) += 1;
                list.remove(at).1
            }
            None => {
                *(if write { &mut counted.write_misses } else { &mut counted.read_misses }) += 1;
                if list.len() == frames {
                    let (_, dirty) = list.pop().expect("at least one frame");
                    counted.evictions += 1;
                    counted.destaged_pages += u64::from(dirty);
                }
                false
            }
        };
        list.insert(0, (page, write || dirty));
    }
    if warmup >= accesses.len() {
        counted = Counters::default();
    }
    counted.destages = counted.destaged_pages;
    counted.end_flushes = list.iter().map(|&(_, dirty)| u64::from(dirty)).sum();
    counted
}

proptest! {
    #[test]
    fn every_size_of_one_pass_is_a_list_of_that_size(
        accesses in prop::collection::vec((0u32..24, any::<bool>()), 0..400),
        warmup in 0usize..450,
        fetch in any::<bool>(),
        flush in any::<bool>(),
    ) {
        let first_ids: Vec<u32> = accesses.iter().map(|&(page, _)| page).collect();
        let extent = |&(_, write): &(u32, bool)| Extent::new(1, write, false, false).0;
        let extents: Vec<u32> = accesses.iter().map(extent).collect();
        let lpns: Vec<u64> = (0..24).collect();
        let columns = Columns { first_ids: &first_ids, extents: &extents, lpns: &lpns };
        let curve = LruCurve::new(columns, warmup, &Control::default()).expect("not stopped");
        let options = RunOptions {
            fetch_on_write_miss: fetch,
            flush_at_end: flush,
            ..RunOptions::default()
        };
        let every = curve.every_size(&options);
        prop_assert_eq!(every.hits.len(), 24);
        for frames in 1..=24usize {
            let want = naive(&accesses, warmup, frames);
            prop_assert_eq!(curve.counters(frames as u32), want, "{} frames", frames);
            prop_assert_eq!(every.accesses, want.accesses());
            prop_assert_eq!(every.hits[frames - 1], want.hits());
            let fetches = if fetch { want.write_misses } else { 0 };
            prop_assert_eq!(every.physical_reads[frames - 1], want.read_misses + fetches);
            let pending = if flush { want.end_flushes } else { 0 };
            let writes = every.physical_writes.as_ref().expect("LRU tells");
            prop_assert_eq!(writes[frames - 1], want.destaged_pages + pending);
        }
        prop_assert_eq!(curve.counters(1000), curve.counters(24));
    }

    #[test]
    fn every_size_of_min_is_what_belady_hits_in_windows_of_any_length(
        accesses in prop::collection::vec((0u32..24, any::<bool>()), 0..400),
        warmup in 0usize..450,
        window in prop_oneof![1usize..40, Just(1000)],
        fetch in any::<bool>(),
    ) {
        let first_ids: Vec<u32> = accesses.iter().map(|&(page, _)| page).collect();
        let extent = |&(_, write): &(u32, bool)| Extent::new(1, write, false, false).0;
        let extents: Vec<u32> = accesses.iter().map(extent).collect();
        let lpns: Vec<u64> = (0..24).collect();
        let columns = Columns { first_ids: &first_ids, extents: &extents, lpns: &lpns };
        let next: Vec<u64> = (0..accesses.len()).map(|at| next_use(&accesses, at)).collect();
        let next_uses = NextUses::Long(&next);
        let control = Control::default();
        let curve = MinCurve::in_windows(columns, next_uses, warmup, window, &control);
        let curve = curve.expect("not stopped");
        let options = RunOptions { fetch_on_write_miss: fetch, ..RunOptions::default() };
        let every = curve.every_size(&options);
        prop_assert_eq!(every.hits.len(), 24);
        prop_assert_eq!(every.physical_writes, None);
        for frames in 1..=24usize {
            let want = belady(&accesses, warmup, frames);
            let hits = curve.hits(frames as u32);
            prop_assert_eq!(hits, [want.read_hits, want.write_hits], "{} frames", frames);
            prop_assert_eq!(every.accesses, want.accesses());
            prop_assert_eq!(every.hits[frames - 1], want.hits());
            let fetches = if fetch { want.write_misses } else { 0 };
            prop_assert_eq!(every.physical_reads[frames - 1], want.read_misses + fetches);
            prop_assert_eq!(curve.evictions(frames as u32), want.evictions);
        }
        prop_assert_eq!(curve.hits(1000), curve.hits(24));
    }
}

/// Number of the next access to the same page; `u64::MAX` if there is none.
fn next_use(accesses: &[(u32, bool)], at: usize) -> u64 {
    let page = accesses[at].0;
    let next = accesses[at + 1..].iter().position(|&(other, _)| other == page);
    next.map_or(u64::MAX, |ahead| (at + 1 + ahead) as u64)
}

/// Belady: of a full cache goes the page that is used last again.
fn belady(accesses: &[(u32, bool)], warmup: usize, frames: usize) -> Counters {
    let mut cache: Vec<(u32, u64)> = Vec::new();
    let mut counted = Counters::default();
    for (k, &(page, write)) in accesses.iter().enumerate() {
        if k == warmup {
            counted = Counters::default();
        }
        match cache.iter().position(|&(other, _)| other == page) {
            Some(at) => {
                *(if write { &mut counted.write_hits } else { &mut counted.read_hits }) += 1;
                cache.swap_remove(at);
            }
            None => {
                *(if write { &mut counted.write_misses } else { &mut counted.read_misses }) += 1;
                if cache.len() == frames {
                    let farthest = (0..frames).max_by_key(|&at| cache[at].1).expect("a page");
                    cache.swap_remove(farthest);
                    counted.evictions += 1;
                }
            }
        }
        cache.push((page, next_use(accesses, k)));
    }
    if warmup >= accesses.len() { Counters::default() } else { counted }
}
