//! What a run counts, for every policy alike (`spec/page-policies.md` 2.5).

use destage_core::{Op, Plan};

/// Counters of a run. Evictions count pages, destages flush groups, for every policy.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize)]
pub struct Counters {
    /// Read accesses that found their page resident.
    pub read_hits: u64,
    /// Read accesses that did not.
    pub read_misses: u64,
    /// Write accesses that found their page resident.
    pub write_hits: u64,
    /// Write accesses that did not.
    pub write_misses: u64,
    /// Misses that were not admitted (they are in the misses too).
    pub bypasses: u64,
    /// Pages read from flash: read misses, fetches on write misses if asked for, padding reads.
    pub physical_reads: u64,
    /// Pages written to flash: flushed pages, padding, end flushes.
    pub physical_writes: u64,
    /// Pages that left the buffer because of a miss.
    pub evictions: u64,
    /// Flush groups: what went to flash in one piece.
    pub destages: u64,
    /// Pages in flush groups, padding not counted.
    pub destaged_pages: u64,
    /// Pages read to complete a block.
    pub padding_reads: u64,
    /// Pages written to complete a block.
    pub padding_writes: u64,
    /// Dirty pages written at the end of the run (`flush_at_end`); in `physical_writes` too.
    pub end_flushes: u64,
}

impl Counters {
    /// All page accesses.
    pub fn accesses(&self) -> u64 {
        self.hits() + self.misses()
    }

    /// All hits.
    pub fn hits(&self) -> u64 {
        self.read_hits + self.write_hits
    }

    /// All misses, bypasses included.
    pub fn misses(&self) -> u64 {
        self.read_misses + self.write_misses
    }

    #[inline(always)]
    pub(crate) fn hit(&mut self, op: Op) {
        match op {
            Op::Read => self.read_hits += 1,
            Op::Write => self.write_hits += 1,
        }
    }

    #[inline(always)]
    pub(crate) fn miss(&mut self, op: Op) {
        match op {
            Op::Read => self.read_misses += 1,
            Op::Write => self.write_misses += 1,
        }
    }

    /// What one eviction gave up.
    #[inline(always)]
    pub(crate) fn evicted(&mut self, plan: &Plan) {
        self.evictions += plan.evicted().len() as u64;
        self.destages += plan.group_count() as u64;
        self.destaged_pages += plan.flushed().len() as u64;
        if !plan.padded().is_empty() {
            self.padding_writes += plan.padded().len() as u64;
            self.padding_reads += plan.padded().iter().filter(|p| !p.in_buffer).count() as u64;
        }
    }
}
