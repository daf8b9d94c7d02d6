//! The results of a run, in the layout of the vectors (`docs/spec/device.md` 8).

use super::{Host, Issued, RequestKind};
use crate::Op;
use crate::ssd::operation::{Kind, Operation};
use crate::ssd::queue::Ssd;
use serde_json::{Map, Value, json};

/// Counters of `docs/spec/device-today.md` (10), of devices with its parts alone.
pub const INTERFACE_COUNTERS: &[&str] = &[
    "trim_requests",
    "trimmed_pages",
    "trim_misses",
    "trim_cache_drops",
    "trim_dirty_drops",
    "flush_requests",
    "flush_wait_ns_sum",
    "commands",
    "link_busy_ns",
    "buffer_writes",
    "buffer_waits",
    "buffer_wait_ns_sum",
    "buffer_reads",
    "slc_programs",
    "slc_migrations",
    "slc_folds",
    "slc_erases",
    "slc_block_erases_max",
];

fn is_r(kind: Kind) -> bool {
    matches!(kind, Kind::R { .. })
}

fn is_w(kind: Kind) -> bool {
    matches!(kind, Kind::W { .. })
}

/// Of a collection of the main area, no fold.
fn is_move(kind: Kind) -> bool {
    matches!(kind, Kind::M { fold: false, .. })
}

fn count(ssd: &Ssd, fits: fn(Kind) -> bool) -> usize {
    ssd.operations.iter().filter(|operation| fits(operation.kind)).count()
}

/// "R and W operations", which are the host's (4.1), and without which there is no WAF. What an
/// FTL reads and programs of its own passes the channels too.
fn of_host(ssd: &Ssd, fits: fn(Kind) -> bool) -> usize {
    let host = ssd.operations.iter().filter(|operation| !operation.collection && !operation.map);
    host.filter(|operation| fits(operation.kind)).count()
}

/// For every channel, a number made of its operations.
fn per_channel<T>(ssd: &Ssd, of: impl Fn(&mut dyn Iterator<Item = &Operation>) -> T) -> Vec<T> {
    let channels = 0..usize::try_from(ssd.config.channels).expect("few channels");
    let number = |channel: usize| {
        let on = |operation: &&Operation| ssd.config.channel_of_plane(operation.plane) == channel;
        of(&mut ssd.operations.iter().filter(on))
    };
    channels.map(number).collect()
}

fn per_channel_count(ssd: &Ssd, fits: fn(Kind) -> bool) -> Vec<usize> {
    per_channel(ssd, |operations| operations.filter(|operation| fits(operation.kind)).count())
}

fn unit_busy(ssd: &Ssd) -> Vec<u64> {
    let busy = |unit: usize| {
        let on = |plane: usize| ssd.config.unit_of_plane(plane) == unit;
        ssd.operations.iter().filter(|o| on(o.plane)).map(|o| o.duration).sum()
    };
    (0..ssd.config.units()).map(busy).collect()
}

/// Erase counts of the main area, and of the SLC cache.
fn erase_counts(ssd: &Ssd) -> (Vec<u64>, Vec<u64>) {
    if let Some(mapped) = &ssd.mapped {
        return (mapped.erase_counts().to_vec(), Vec::new());
    }
    let (main, slc): (Vec<_>, Vec<_>) = ssd.planes.iter().map(|p| p.erase_counts()).unzip();
    (main.concat(), slc.concat())
}

fn waited(operation: &Operation) -> u64 {
    operation.start.expect("all have ended") - operation.submitted
}

/// As the host sees it.
fn host_latency(operation: &Operation) -> u64 {
    operation.done.or(operation.end).expect("all have ended") - operation.submitted
}

/// Of the operations of these numbers.
fn sum_of(ssd: &Ssd, numbers: &[usize], of: fn(&Operation) -> u64) -> u64 {
    numbers.iter().map(|&number| of(&ssd.operations[number])).sum()
}

fn sum(list: &[u64]) -> u64 {
    list.iter().sum()
}

fn max(list: &[u64]) -> u64 {
    list.iter().max().copied().unwrap_or(0)
}

impl Host {
    fn responses(&self, asked: RequestKind, completions: &[u64]) -> Vec<u64> {
        let requests = self.issued.iter().zip(completions);
        let of_op = requests.filter(|(request, _)| request.asked == asked);
        of_op.map(|(request, completion)| completion - request.now).collect()
    }

    pub(super) fn results(&self) -> Value {
        let ssd = &self.ssd;
        let end = |request: &Issued| request.completion(ssd);
        let completions: Vec<u64> = self.issued.iter().map(end).collect();
        let mut results = json!({
            "completions_ns": completions,
            "decisions": self.decisions,
            "counters": self.counters(&completions),
        });
        // Instants are offered to a writer, which writes pages of a cache.
        if self.writer.is_some() && self.cache.is_some() {
            results["written"] = json!(self.written);
            results["counters"]["idle_writes"] = self.written.len().into();
        }
        if ssd.config.steps.suspends_erases {
            let suspensions: u64 = ssd.operations.iter().map(|o| o.suspensions).sum();
            results["counters"]["suspensions"] = suspensions.into();
        }
        match &ssd.mapped {
            Some(mapped) => results["counters"]["ftl"] = json!(mapped.counters()),
            None => {
                let counters = results["counters"].as_object_mut().expect("an object");
                counters.insert("gc_runs".to_string(), ssd.tallies.gc_runs.into());
                counters.extend(self.interface(&completions));
                counters.extend(self.of_map());
            }
        }
        results
    }

    pub(super) fn counters(&self, completions: &[u64]) -> Value {
        let (ssd, c) = (&self.ssd, &self.counts);
        let reads = self.responses(RequestKind::Access(Op::Read), completions);
        let writes = self.responses(RequestKind::Access(Op::Write), completions);
        let (erases, _) = erase_counts(ssd);
        let transfer = |o: &Operation| ssd.config.transfer(o.kind);
        let transfers: Vec<u64> = per_channel(ssd, |operations| operations.map(transfer).sum());
        json!({
            "requests": self.issued.len(),
            "page_accesses": c.page_accesses,
            "hits": c.read_hits + c.write_hits,
            "read_hits": c.read_hits,
            "write_hits": c.write_hits,
            "evictions": c.evictions,
            "dirty_evictions": c.dirty_evictions,
            "dirty_evictions_in_gc": c.dirty_evictions_in_gc,
            "unbalance_samples": c.unbalance_samples,
            "unbalance_gt10": c.unbalance_gt10,
            "flash_reads": of_host(ssd, is_r),
            "flash_programs": of_host(ssd, is_w),
            "gc_moves": count(ssd, is_move),
            "summary_programs": count(ssd, |kind| kind == Kind::S),
            "erases": count(ssd, |kind| kind == Kind::E { slc: false }),
            "read_requests": reads.len(),
            "read_response_ns_sum": sum(&reads),
            "read_response_ns_max": max(&reads),
            "write_requests": writes.len(),
            "write_response_ns_sum": sum(&writes),
            "write_response_ns_max": max(&writes),
            "eviction_wait_ns_sum": sum_of(ssd, &self.write_backs, waited),
            "read_misses": self.host_reads.len(),
            "read_miss_latency_ns_sum": sum_of(ssd, &self.host_reads, host_latency),
            "unit_busy_ns": unit_busy(ssd),
            "channel_transfer_ns": transfers,
            "channel_reads": per_channel_count(ssd, is_r),
            "channel_programs": per_channel_count(ssd, is_w),
            "block_erases_max": erases.iter().max(),
            "block_erases_min": erases.iter().min(),
            "makespan_ns": max(completions),
        })
    }

    /// The counters of `docs/spec/map-cache.md` 10.
    fn of_map(&self) -> Map<String, Value> {
        let Some(map) = &self.ssd.map else { return Map::new() };
        let of = |fits: fn(&Operation) -> bool| {
            self.ssd.operations.iter().filter(|&operation| fits(operation)).count()
        };
        let counters = json!({
            "map_hits": map.counts.hits,
            "map_misses": map.counts.misses,
            "map_dirty_evictions": map.counts.dirty_evictions,
            "map_reads": of(|o| o.map && is_r(o.kind)),
            "map_writes": of(|o| o.map && is_w(o.kind)),
            "map_moves": of(|o| o.moves_map),
        });
        match counters {
            Value::Object(counters) => counters,
            _ => unreachable!("an object"),
        }
    }

    /// The counters of `docs/spec/device-today.md` 10.
    pub(super) fn interface(&self, completions: &[u64]) -> Map<String, Value> {
        let (ssd, c) = (&self.ssd, &self.counts);
        let (way, tallies) = (&ssd.way, &ssd.tallies);
        let flushes = self.responses(RequestKind::Flush, completions);
        let (_, slc_erases) = erase_counts(ssd);
        let mut counters = json!({
            "trim_requests": self.responses(RequestKind::Trim, completions).len(),
            "trimmed_pages": c.trimmed_pages,
            "trim_misses": c.trim_misses,
            "trim_cache_drops": c.trim_cache_drops,
            "trim_dirty_drops": c.trim_dirty_drops,
            "flush_requests": flushes.len(),
            "flush_wait_ns_sum": sum(&flushes),
            "commands": way.commands,
            "link_busy_ns": way.link_busy_ns,
            "buffer_writes": way.buffer_writes,
            "buffer_waits": way.buffer_waits,
            "buffer_wait_ns_sum": way.buffer_wait_ns,
            "buffer_reads": way.buffer_reads,
            "slc_programs": count(ssd, |kind| matches!(kind, Kind::W { slc: true, .. })),
            "slc_migrations": count(ssd, |kind| matches!(kind, Kind::M { fold: true, .. })),
            "slc_folds": tallies.slc_folds,
            "slc_erases": count(ssd, |kind| kind == Kind::E { slc: true }),
            "slc_block_erases_max": max(&slc_erases),
        });
        if ssd.config.interface.handles > 1 {
            counters["handle_programs"] = json!(tallies.handle_programs);
            counters["handle_moves"] = json!(tallies.handle_moves);
        }
        if ssd.config.interface.write_points() > 1 {
            counters["stream_programs"] = json!(tallies.stream_programs);
        }
        match counters {
            Value::Object(counters) => counters,
            _ => unreachable!("an object"),
        }
    }
}
