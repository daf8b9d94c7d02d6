//! Helpers of several tests.

use destage_core::{Requirements, SplitMix64};
use destage_policies::{POLICIES, requirements};
use destage_pool::{FileOptions, FileStore, PoolCounters, Store};
use std::io;
use std::path::Path;

/// Policies that a pool takes: those that need neither the future nor a device.
pub fn policies() -> Vec<&'static str> {
    let takes = |name: &&str| {
        let needs = requirements(name).unwrap();
        !needs.device() && !needs.contains(Requirements::NEXT_USE)
    };
    let found: Vec<_> = POLICIES.iter().map(|info| info.name).filter(takes).collect();
    assert!(found.len() > 35, "{found:?}");
    found
}

/// Numbers from a seed.
pub struct Random(pub SplitMix64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(SplitMix64::new(seed))
    }

    /// Below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.next() % end
    }

    /// A byte that is not zero.
    pub fn byte(&mut self) -> u8 {
        self.below(255) as u8 + 1
    }

    /// A range that is not empty, inside `0..end`, of at most `most`.
    pub fn range(&mut self, end: u64, most: u64) -> std::ops::Range<u64> {
        let start = self.below(end);
        start..start + 1 + self.below(most.min(end - start))
    }
}

/// The two sums of the specification (9.2): each page that moved is counted in one term.
pub fn check_sums(counters: &PoolCounters) {
    let (p, s) = (counters.policy, counters.store);
    let asked = p.destaged_pages + p.padding_writes + p.written_through;
    let further = p.idle_writes.unwrap_or(0) + s.flush_writes + s.late_writes + s.rewrites;
    assert_eq!(
        s.store_writes + s.already_written + s.left_out + s.dropped,
        asked + further,
        "{counters:?}"
    );
    check_sums_of_reads(counters);
}

/// The second of them.
pub fn check_sums_of_reads(counters: &PoolCounters) {
    let (p, s) = (counters.policy, counters.store);
    assert_eq!(
        s.store_reads + s.limbo_hits,
        p.read_misses + p.padding_reads + s.partial_fetches + s.refetches,
        "{counters:?}"
    );
}

/// How a store in a file is opened.
pub type Open = fn(&Path, FileOptions) -> io::Result<Box<dyn Store>>;

/// The stores in files by name: io_uring is among them where it is built and the kernel allows it.
pub fn named_file_stores() -> Vec<(&'static str, Open)> {
    let file: Open = |path, options| Ok(Box::new(FileStore::open(path, options)?));
    [Some(("file", file)), uring().map(|open| ("uring", open))].into_iter().flatten().collect()
}

#[cfg(all(feature = "uring", target_os = "linux"))]
fn uring() -> Option<Open> {
    use destage_pool::UringStore;
    let file = tempfile::NamedTempFile::new().unwrap();
    if let Err(error) = UringStore::open(file.path(), FileOptions::new(4096)) {
        assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{error}");
        eprintln!("skipped with io_uring: {error}");
        return None;
    }
    Some(|path, options| Ok(Box::new(UringStore::open(path, options)?)))
}

#[cfg(not(all(feature = "uring", target_os = "linux")))]
fn uring() -> Option<Open> {
    None
}

/// The stores in files, each announced in the output of a test that fails.
pub fn file_stores() -> impl Iterator<Item = Open> {
    named_file_stores().into_iter().map(|(name, open)| {
        eprintln!("store: {name}");
        open
    })
}
