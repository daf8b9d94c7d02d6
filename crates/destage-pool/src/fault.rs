//! A store for tests: operations fail as asked, syncs lose what they should have kept, and the
//! power can be cut.

use crate::lock::lock;
use crate::store::Store;
use crate::sync::Mutex;
use destage_core::SplitMix64;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

/// Bytes that a disk writes wholly or not at all.
const SECTOR_BYTES: usize = 512;

/// Which operations of a kind fail.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Fault {
    /// None.
    #[default]
    Never,
    /// All.
    Always,
    /// The n-th from now on, counted from 1.
    Nth(u64),
    /// Each with this probability, 0 to 1.
    Share(f64),
}

/// Which operations fail.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Faults {
    /// Reads of a page.
    pub reads: Fault,
    /// Writes of a group: some of its sectors may have been written.
    pub writes: Fault,
    /// Discards, which then do nothing.
    pub discards: Fault,
    /// Syncs: some of what was written is lost, and reads show it.
    pub syncs: Fault,
}

/// A store whose operations fail. Until a sync has succeeded, what is written is in memory alone.
pub struct FaultStore<S> {
    inner: S,
    page_bytes: usize,
    state: Mutex<State>,
}

struct State {
    random: SplitMix64,
    faults: Faults,
    counted: [u64; 4],
    /// Versions of each sector since the last sync, oldest first.
    unsynced: BTreeMap<u64, Vec<Box<[u8]>>>,
}

impl State {
    fn fails(&mut self, kind: usize) -> bool {
        let Faults { reads, writes, discards, syncs } = self.faults;
        self.counted[kind] += 1;
        match [reads, writes, discards, syncs][kind] {
            Fault::Never => false,
            Fault::Always => true,
            Fault::Nth(n) => self.counted[kind] == n,
            Fault::Share(share) => self.share() < share,
        }
    }

    fn share(&mut self) -> f64 {
        (self.random.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn put(&mut self, sector: u64, bytes: &[u8]) {
        self.unsynced.entry(sector).or_default().push(bytes.into());
    }
}

impl<S: Store> FaultStore<S> {
    /// Over a store that keeps what was synced; no faults yet.
    pub fn new(inner: S, page_bytes: u32, seed: u64) -> Self {
        let state = State {
            random: SplitMix64::new(seed),
            faults: Faults::default(),
            counted: [0; 4],
            unsynced: BTreeMap::new(),
        };
        FaultStore { inner, page_bytes: page_bytes as usize, state: Mutex::new(state) }
    }

    /// From now on these operations fail.
    pub fn set(&self, faults: Faults) {
        let mut state = lock(&self.state);
        state.faults = faults;
        state.counted = [0; 4];
    }

    /// Cuts the power: of each sector any version since the last sync was written last, or none.
    ///
    /// # Errors
    ///
    /// The inner store's.
    pub fn power_cut(&self, seed: u64) -> io::Result<()> {
        let mut random = SplitMix64::new(seed);
        let mut state = lock(&self.state);
        for (sector, versions) in std::mem::take(&mut state.unsynced) {
            let kept = random.next() as usize % (versions.len() + 1);
            if kept > 0 {
                self.keep(sector, &versions[kept - 1])?;
            }
        }
        Ok(())
    }

    fn sectors(&self) -> u64 {
        (self.page_bytes / SECTOR_BYTES) as u64
    }

    /// Writes a sector to the inner store.
    fn keep(&self, sector: u64, bytes: &[u8]) -> io::Result<()> {
        let mut page = vec![0; self.page_bytes];
        let number = sector / self.sectors();
        self.inner.read(number, &mut page)?;
        let at = (sector % self.sectors()) as usize * SECTOR_BYTES;
        page[at..at + SECTOR_BYTES].copy_from_slice(bytes);
        self.inner.write(&[(number, &page)])
    }
}

impl<S: Store> Store for FaultStore<S> {
    fn pages(&self) -> u64 {
        self.inner.pages()
    }

    fn read(&self, page: u64, into: &mut [u8]) -> io::Result<()> {
        let mut state = lock(&self.state);
        if state.fails(0) {
            into.fill(0xEE);
            return Err(io::Error::other(format!("page {page}: a read that fails")));
        }
        self.inner.read(page, into)?;
        let first = page * self.sectors();
        for (sector, versions) in state.unsynced.range(first..first + self.sectors()) {
            let at = (sector - first) as usize * SECTOR_BYTES;
            let last = versions.last().expect("a sector here has a version");
            into[at..at + SECTOR_BYTES].copy_from_slice(last);
        }
        Ok(())
    }

    fn write(&self, group: &[(u64, &[u8])]) -> io::Result<()> {
        assert!(group.is_sorted_by(|(a, _), (b, _)| a < b), "pages of a group ascend");
        let mut state = lock(&self.state);
        let fails = state.fails(1);
        for (page, bytes) in group {
            assert_eq!(bytes.len(), self.page_bytes, "pages are written whole");
            for (at, sector) in bytes.chunks_exact(SECTOR_BYTES).enumerate() {
                if !fails || state.share() < 0.5 {
                    state.put(page * self.sectors() + at as u64, sector);
                }
            }
        }
        match fails {
            true => Err(io::Error::other(format!("page {}: a write that fails", group[0].0))),
            false => Ok(()),
        }
    }

    fn discard(&self, pages: Range<u64>) -> io::Result<()> {
        let mut state = lock(&self.state);
        if pages.is_empty() {
            return Ok(());
        }
        if state.fails(2) {
            return Err(io::Error::other("a discard that fails"));
        }
        for sector in pages.start * self.sectors()..pages.end * self.sectors() {
            state.put(sector, &[0; SECTOR_BYTES]);
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = lock(&self.state);
        let fails = state.fails(3);
        for (sector, versions) in std::mem::take(&mut state.unsynced) {
            // An operating system drops what it could not write, and reports it once.
            if !fails || state.share() < 0.5 {
                self.keep(sector, versions.last().expect("a sector here has a version"))?;
            }
        }
        match fails {
            true => Err(io::Error::other("a sync that fails")),
            false => Ok(()),
        }
    }
}
