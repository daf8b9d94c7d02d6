//! Counters of a pool.

use destage_core::{Op, Plan};
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of the policy's decisions: the names and meanings of the simulator's.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct PolicyCounters {
    /// Read accesses that found their page resident.
    pub read_hits: u64,
    /// Read accesses that did not.
    pub read_misses: u64,
    /// Write accesses that found their page resident.
    pub write_hits: u64,
    /// Write accesses whose page was not resident.
    pub write_misses: u64,
    /// Misses that were not admitted (they are in the misses too).
    pub bypasses: u64,
    /// Bypassed writes, written through to the store.
    pub written_through: u64,
    /// Pages that left the cache because of a miss.
    pub evictions: u64,
    /// Evicted pages that the policy considers clean.
    pub clean_evictions: u64,
    /// Flush groups.
    pub destages: u64,
    /// Pages in flush groups, padding not counted.
    pub destaged_pages: u64,
    /// Pages read to complete a block.
    pub padding_reads: u64,
    /// Pages written to complete a block.
    pub padding_writes: u64,
    /// Pages that the writer wrote and that stayed; absent without a writer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_writes: Option<u64>,
}

impl PolicyCounters {
    /// All page accesses.
    pub fn accesses(&self) -> u64 {
        self.hits() + self.read_misses + self.write_misses
    }

    /// All hits.
    pub fn hits(&self) -> u64 {
        self.read_hits + self.write_hits
    }

    pub(crate) fn hit(&mut self, op: Op) {
        match op {
            Op::Read => self.read_hits += 1,
            Op::Write => self.write_hits += 1,
        }
    }

    pub(crate) fn miss(&mut self, op: Op) {
        match op {
            Op::Read => self.read_misses += 1,
            Op::Write => self.write_misses += 1,
        }
    }

    pub(crate) fn evicted(&mut self, plan: &Plan) {
        self.evictions += plan.evicted().len() as u64;
        self.clean_evictions += plan.clean_evictions() as u64;
        self.destages += plan.group_count() as u64;
        self.destaged_pages += plan.flushed().len() as u64;
        self.padding_writes += plan.padding_writes() as u64;
        self.padding_reads += plan.padding_reads() as u64;
    }
}

/// Counters of trims, as far as the cache knows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct TrimCounters {
    /// Trims.
    pub trim_requests: u64,
    /// Resident pages that trims dropped.
    pub trim_cache_drops: u64,
    /// Dropped pages that the policy considers dirty.
    pub trim_dirty_drops: u64,
}

/// Defines the counters of the pool: as a user sees them, and as threads count them.
macro_rules! store_counters {
    (
        counted { $($(#[doc = $doc:literal])+ $name:ident;)* }
        now { $($(#[doc = $now_doc:literal])+ $now:ident;)* }
    ) => {
        /// Counters of the pool's own work (`docs/spec/pool.md` 9.2).
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
        pub struct StoreCounters {
            $($(#[doc = $doc])+ pub $name: u64,)*
            $($(#[doc = $now_doc])+ pub $now: u64,)*
        }

        #[derive(Default)]
        pub(crate) struct Tally {
            $(pub(crate) $name: Count,)*
        }

        impl Tally {
            pub(crate) fn counted(&self) -> StoreCounters {
                StoreCounters { $($name: self.$name.0.load(Relaxed),)* ..Default::default() }
            }
        }
    };
}

store_counters! {
    counted {
        /// Pages read from the store.
        store_reads;
        /// Pages written to the store.
        store_writes;
        /// Writes of the store, each of one group.
        store_groups;
        /// Syncs that succeeded.
        syncs;
        /// Calls of `flush`.
        flushes;
        /// Pages that flushes wrote.
        flush_writes;
        /// Pages written because the policy did not hold them any more, in no group of its plans.
        late_writes;
        /// Pages of groups that had been written before, and writes through that shared one write.
        already_written;
        /// Pages of groups that somebody was changing.
        left_out;
        /// Pages of groups that a trim took away before they were written.
        dropped;
        /// Fetches because a page was to be changed in part.
        partial_fetches;
        /// Fetches that no miss of the policy asked for: of resident pages whose first fetch had
        /// failed, and of bypassed reads.
        refetches;
        /// Pages read past the policy, because limbo was full and the store took no writes.
        bypassed_reads;
        /// Read misses and padding whose bytes were still in memory.
        limbo_hits;
        /// Pages written again, which a failed write or sync had left dirty.
        rewrites;
        /// Writes of the store that failed.
        failed_writes;
        /// Syncs that failed.
        failed_syncs;
        /// Fetches whose checksum was not that of the last write.
        checksum_errors;
        /// Accesses of a batch whose page had left before the policy was asked.
        stale_accesses;
    }
    now {
        /// Dirty pages now.
        pending_writes;
        /// Pages in limbo now.
        limbo_pages;
        /// Most pages in limbo at a time.
        limbo_pages_max;
    }
}

/// A counter of several threads.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, n: usize) {
        if n > 0 {
            self.0.fetch_add(n as u64, Relaxed);
        }
    }
}

/// All counters of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct PoolCounters {
    /// Decisions of the policy.
    pub policy: PolicyCounters,
    /// Trims.
    pub trims: TrimCounters,
    /// The pool's own work.
    pub store: StoreCounters,
}
