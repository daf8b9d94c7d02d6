//! Counters of a run, the same for every policy (`docs/spec/page-policies.md` 2.5).

use crate::distribution::{Summary, Values};
use crate::kv::counters::KvCounters;
use crate::tiers::counters::LowerCounters;
use destage_core::{Op, Plan, Policy};
use std::collections::BTreeMap;

/// Counters of a run. Evictions count pages, destages flush groups, for every policy.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize)]
pub struct Counters {
    /// Read accesses that found their page resident.
    pub read_hits: u64,
    /// Read accesses whose page was not resident.
    pub read_misses: u64,
    /// Write accesses that found their page resident.
    pub write_hits: u64,
    /// Write accesses whose page was not resident.
    pub write_misses: u64,
    /// Misses that were not admitted (they are in the misses too).
    pub bypasses: u64,
    /// Bypassed writes, written through to flash.
    #[serde(default)]
    pub written_through: u64,
    /// Pages read from flash: read misses, fetches on write misses if asked for, padding reads.
    pub physical_reads: u64,
    /// Pages written to flash: flushed pages, padding, pages written through, idle writes, end
    /// flushes.
    pub physical_writes: u64,
    /// Pages written while a unit of the drive was idle, which stayed, by the writer of the host or
    /// by the policy; absent without either (`docs/spec/writer.md`, 6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_writes: Option<u64>,
    /// Pages that left the buffer because of a miss.
    pub evictions: u64,
    /// Clean victims, dropped without a flash write.
    #[serde(default)]
    pub clean_evictions: u64,
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
    /// Pages that trims dropped; a result has them apart, if they are part of the run.
    #[serde(skip)]
    pub trims: TrimCounters,
    /// Pages that accesses found expired; a result has them apart, with a time to live.
    #[serde(skip)]
    pub expired: ExpiryCounters,
    /// Counters of the tiers below tier 1, which a result has separately.
    #[serde(skip)]
    pub tiers: LowerCounters,
    /// Counters of a language model's requests, which a result has separately.
    #[serde(skip)]
    pub kv: KvCounters,
}

/// Counters of trims (`docs/spec/device-today.md` 10), as far as the cache knows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize)]
pub struct TrimCounters {
    /// Trims.
    pub trim_requests: u64,
    /// Resident pages that they dropped.
    pub trim_cache_drops: u64,
    /// Dirty ones among these: writes to flash that are saved.
    pub trim_dirty_drops: u64,
}

/// Counters of a time to live (`docs/spec/tiers.md` 4.10).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize)]
pub struct ExpiryCounters {
    /// Accesses that found their page cached and expired.
    pub expired_hits: u64,
    /// Dirty ones among these pages, which were written.
    pub expired_writes: u64,
}

impl ExpiryCounters {
    fn since(&self, before: &ExpiryCounters) -> ExpiryCounters {
        ExpiryCounters {
            expired_hits: self.expired_hits - before.expired_hits,
            expired_writes: self.expired_writes - before.expired_writes,
        }
    }
}

impl TrimCounters {
    fn since(&self, before: &TrimCounters) -> TrimCounters {
        TrimCounters {
            trim_requests: self.trim_requests - before.trim_requests,
            trim_cache_drops: self.trim_cache_drops - before.trim_cache_drops,
            trim_dirty_drops: self.trim_dirty_drops - before.trim_dirty_drops,
        }
    }
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

    /// Evicted pages that were dirty. Not all that was destaged: pages may be written and stay.
    pub fn dirty_victims(&self) -> u64 {
        // Results of before clean evictions were counted have none, and no pages that stay.
        (self.evictions - self.clean_evictions).min(self.destaged_pages)
    }

    /// Counts since `before`, of the same run.
    pub(crate) fn since(&self, before: &Counters) -> Counters {
        Counters {
            read_hits: self.read_hits - before.read_hits,
            read_misses: self.read_misses - before.read_misses,
            write_hits: self.write_hits - before.write_hits,
            write_misses: self.write_misses - before.write_misses,
            bypasses: self.bypasses - before.bypasses,
            written_through: self.written_through - before.written_through,
            physical_reads: self.physical_reads - before.physical_reads,
            physical_writes: self.physical_writes - before.physical_writes,
            idle_writes: self.idle_writes.map(|all| all - before.idle_writes.unwrap_or(0)),
            evictions: self.evictions - before.evictions,
            clean_evictions: self.clean_evictions - before.clean_evictions,
            destages: self.destages - before.destages,
            destaged_pages: self.destaged_pages - before.destaged_pages,
            padding_reads: self.padding_reads - before.padding_reads,
            padding_writes: self.padding_writes - before.padding_writes,
            end_flushes: self.end_flushes - before.end_flushes,
            trims: self.trims.since(&before.trims),
            expired: self.expired.since(&before.expired),
            tiers: self.tiers.since(&before.tiers),
            kv: self.kv.since(&before.kv),
        }
    }

    /// Sums up the pages read from and written to flash.
    pub fn add_up(&mut self, fetch_on_write_miss: bool) {
        let fetches = if fetch_on_write_miss { self.write_misses } else { 0 };
        self.physical_reads = self.read_misses + fetches + self.padding_reads;
        self.physical_writes = self.destaged_pages
            + self.padding_writes
            + self.written_through
            + self.idle_writes.unwrap_or(0)
            + self.end_flushes;
    }

    /// Misses whose page was taken in.
    pub fn admissions(&self) -> u64 {
        self.misses() - self.bypasses
    }

    /// Counts a hit.
    #[inline(always)]
    pub fn hit(&mut self, op: Op) {
        match op {
            Op::Read => self.read_hits += 1,
            Op::Write => self.write_hits += 1,
        }
    }

    /// Counts a miss.
    #[inline(always)]
    pub fn miss(&mut self, op: Op) {
        match op {
            Op::Read => self.read_misses += 1,
            Op::Write => self.write_misses += 1,
        }
    }

    /// Counts the pages that an eviction gave up.
    #[inline(always)]
    pub fn evicted(&mut self, plan: &Plan) {
        self.evictions += plan.evicted().len() as u64;
        self.clean_evictions += plan.clean_evictions() as u64;
        self.destages += plan.group_count() as u64;
        self.destaged_pages += plan.flushed().len() as u64;
        self.padding_writes += plan.padding_writes() as u64;
        self.padding_reads += plan.padding_reads() as u64;
    }
}

/// Sizes of flush groups, in pages of the buffer, without padding.
#[derive(Clone, Default, Debug)]
pub struct DestageSizes {
    single: u64, // groups of one page: all that page-granular policies have
    several: Option<Values>,
}

impl DestageSizes {
    /// The groups of a plan.
    #[inline(always)]
    pub(crate) fn add(&mut self, plan: &Plan) {
        if plan.group_count() == plan.flushed().len() {
            self.single += plan.group_count() as u64;
        } else {
            self.add_several(plan);
        }
    }

    #[inline(never)]
    fn add_several(&mut self, plan: &Plan) {
        let several = self.several.get_or_insert_default();
        plan.groups().for_each(|(pages, _)| several.add(pages.len() as u64));
    }

    /// The distribution; `None` if no group had more than one page.
    pub fn summary(&self) -> Option<Summary> {
        let mut all = self.several.clone()?;
        all.add_many(1, self.single);
        all.summary()
    }
}

/// Counters of a single policy, each under its name.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct OwnCounters(Vec<(&'static str, u64)>);

impl OwnCounters {
    /// Current counters of a policy.
    pub fn of<P: Policy>(policy: &P) -> Self {
        let mut counters = Vec::new();
        policy.counters(&mut |name, count| counters.push((name, count)));
        OwnCounters(counters)
    }

    /// Counts since `before`, of the same policy.
    pub fn since(mut self, before: &OwnCounters) -> Self {
        for (now, before) in self.0.iter_mut().zip(&before.0) {
            now.1 -= before.1;
        }
        self
    }

    /// Counters by name, for results.
    pub fn by_name(&self) -> BTreeMap<String, u64> {
        self.0.iter().map(|&(name, count)| (name.to_string(), count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_core::Page;

    #[test]
    fn a_billion_billion_of_everything_are_counted() {
        const MANY: u64 = 1_000_000_000_000_000_000;
        let all = Counters {
            read_hits: MANY,
            read_misses: MANY,
            write_hits: MANY,
            write_misses: MANY,
            bypasses: MANY,
            evictions: MANY,
            clean_evictions: MANY / 4,
            destaged_pages: MANY,
            ..Counters::default()
        };
        assert_eq!((all.accesses(), all.hits(), all.admissions()), (4 * MANY, 2 * MANY, MANY));
        assert_eq!(all.dirty_victims(), MANY / 4 * 3);
        let mut more = all;
        more.hit(Op::Read);
        more.miss(Op::Write);
        let since = more.since(&all);
        assert_eq!(since, Counters { read_hits: 1, write_misses: 1, ..Counters::default() });
        let mut sizes = DestageSizes { single: MANY, several: None };
        let mut plan = Plan::new();
        plan.open_group();
        (3..8).for_each(|page| plan.flush_and_evict(Page(page)));
        sizes.add(&plan);
        let summary = sizes.summary().unwrap();
        assert_eq!((summary.count, summary.max, summary.p9999), (MANY + 1, 5, 1));
    }

    #[test]
    fn sizes_are_those_of_the_groups_and_none_where_each_has_one_page() {
        let mut sizes = DestageSizes::default();
        let mut plan = Plan::new();
        plan.evict(Page(1), true);
        plan.evict(Page(2), false);
        sizes.add(&plan);
        assert_eq!(sizes.summary(), None);
        plan.open_group();
        (3..8).for_each(|page| plan.flush_and_evict(Page(page)));
        sizes.add(&plan);
        let summary = sizes.summary().unwrap();
        assert_eq!((summary.count, summary.max, summary.p50), (3, 5, 1));
        assert_eq!(summary.mean, 7.0 / 3.0);
    }
}
