//! A store in memory: durable as long as the process lives.

use crate::store::Store;
use std::io;
use std::ops::Range;
use std::sync::RwLock;

/// Pages that share a lock.
const PAGES_OF_A_SHARD: u64 = 256;

/// Pages of a shard, as far as the last that was written.
type Shard = RwLock<Vec<Option<Box<[u8]>>>>;

/// Pages in memory; those never written are zeros and take no memory.
pub struct MemoryStore {
    pages: u64,
    page_bytes: usize,
    shards: Vec<Shard>,
}

impl MemoryStore {
    /// `pages` pages of `page_bytes` bytes, all zero.
    pub fn new(pages: u64, page_bytes: u32) -> MemoryStore {
        let shards = (0..pages.div_ceil(PAGES_OF_A_SHARD)).map(|_| RwLock::default()).collect();
        MemoryStore { pages, page_bytes: page_bytes as usize, shards }
    }

    fn at(&self, page: u64) -> (&Shard, usize) {
        let shard = &self.shards[(page / PAGES_OF_A_SHARD) as usize];
        (shard, (page % PAGES_OF_A_SHARD) as usize)
    }
}

impl Store for MemoryStore {
    fn pages(&self) -> u64 {
        self.pages
    }

    fn read(&self, page: u64, into: &mut [u8]) -> io::Result<()> {
        let (shard, at) = self.at(page);
        match shard.read().expect("no copy panics").get(at).and_then(Option::as_ref) {
            Some(bytes) => into.copy_from_slice(bytes),
            None => into.fill(0),
        }
        Ok(())
    }

    fn write(&self, group: &[(u64, &[u8])]) -> io::Result<()> {
        for &(page, bytes) in group {
            let (shard, at) = self.at(page);
            let mut shard = shard.write().expect("no copy panics");
            if shard.len() <= at {
                shard.resize(at + 1, None);
            }
            match &mut shard[at] {
                Some(old) => old.copy_from_slice(bytes),
                none => *none = Some(bytes.into()),
            }
        }
        Ok(())
    }

    fn discard(&self, pages: Range<u64>) -> io::Result<()> {
        let mut page = pages.start;
        while page < pages.end {
            let (shard, at) = self.at(page);
            let end = pages.end.min(page - at as u64 + PAGES_OF_A_SHARD);
            let mut shard = shard.write().expect("no copy panics");
            let last = shard.len().min(at + (end - page) as usize);
            shard.get_mut(at..last).into_iter().flatten().for_each(|bytes| *bytes = None);
            page = end;
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn writes_are_durable(&self) -> bool {
        true
    }
}

impl MemoryStore {
    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }
}
