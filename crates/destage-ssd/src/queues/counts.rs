//! Operation counts and busy times of the units.

use crate::timing::OperationKind;
use destage_core::Nanos;

/// Counters of one channel.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ChannelCounters {
    /// Sum of bus phases, nanoseconds; waiting for the bus not included.
    pub transfer_ns: Nanos,
    /// R operations, the FTL's own among them.
    pub reads: u64,
    /// W operations, the FTL's own among them.
    pub programs: u64,
}

/// Operations and nanoseconds that all units have served.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// R operations of the host.
    pub reads: u64,
    /// W operations of the host.
    pub programs: u64,
    /// R operations of the FTL's own.
    pub own_reads: u64,
    /// W operations of the FTL's own.
    pub own_programs: u64,
    /// M operations.
    pub moves: u64,
    /// S operations.
    pub summaries: u64,
    /// E operations.
    pub erases: u64,
    /// Collections.
    pub collections: u64,
    /// Sum over the host's W of start - submission, nanoseconds.
    pub program_wait_ns: Nanos,
    /// Sum over the host's R of end - submission, nanoseconds.
    pub read_latency_ns: Nanos,
}

/// Kinds of operations, and of counts.
pub(super) const KINDS: usize = 5;

/// One cache line.
#[derive(Clone, Copy, Default, Debug)]
#[repr(align(64))]
pub(super) struct Unit {
    pub(super) gc_until: Nanos, // end of the last collection operation submitted
    pub(super) busy: Nanos,     // sum of durations
    pub(super) counts: [u64; KINDS],
}

impl Unit {
    #[inline(always)]
    pub(super) fn count(&mut self, kind: OperationKind, operations: u64) {
        self.counts[kind as usize] += operations;
    }
}

/// R and W of the FTL's own, which few FTLs have: beside the cache line.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct FtlOperations {
    pub(super) reads: u64,
    pub(super) programs: u64,
}

/// Adds to a sum of latencies. A drive that is far too slow for its trace can exceed 64 bits; the
/// sum then stays at its largest value, which no other run has.
#[inline(always)]
pub(super) fn add(sum: &mut Nanos, ns: Nanos) {
    *sum = sum.saturating_add(ns);
}
