//! Every metric, one row each: name, group, title, unit, direction, definition, value.

use super::host_interface::of_interface;
use super::metric::{
    Better, Deferral, Metric, MetricGroup, MetricKind, Number, Source, View, metric, timed,
};
use super::run::RunResult;
use super::tier_metrics::of_tiers;
use crate::cost::Cost;
use destage_policies::{POLICIES, Shown};
use destage_replay::timed::{Timing, max_deviation};
use destage_ssd::{FtlCounters, MapCounts};
use std::collections::BTreeSet;
use std::sync::LazyLock;

fn ratio(part: u64, whole: u64) -> Option<Number> {
    (whole > 0).then(|| Number::Real(part as f64 / whole as f64))
}

fn per_second(count: f64, ns: u64) -> Option<Number> {
    (ns > 0).then(|| Number::Real(count / (ns as f64 / 1e9)))
}

/// The policy may bypass pages, or has bypassed a write.
fn admits(r: &RunResult) -> bool {
    let declared = destage_policies::info(&r.config.policy).is_ok_and(|info| info.admission);
    declared || r.counters.written_through > 0
}

/// A counter of every run, under its own name.
macro_rules! counter {
    ($group:ident, $name:ident, $title:literal, $unit:literal, $better:ident,
     $about:literal) => {
        metric!($group, stringify!($name), $title, Count $unit, $better, $about, |r| {
            Some(Number::Count(r.counters.$name))
        })
    };
}

/// A number of the sizes of flush groups; one page each, if no group had more.
macro_rules! destage {
    ($group:ident, $name:literal, $title:literal, $about:literal, |$d:ident| $value:expr) => {
        metric!($group, $name, $title, Real "pages", Neither, $about, |r| match &r.destage_pages {
            Some($d) => Some(Number::Real($value)),
            None => None,
        })
    };
}

/// Cost of reads and flash writes by the cost model of the run.
fn cost(r: &RunResult) -> Option<Number> {
    let of = |model: Cost| model.of(r.counters.physical_reads, r.flash_writes().unwrap_or(0));
    let known = r.config.options.cost.filter(|_| r.pending_growth().is_some()).map(of);
    known.and_then(|cost| u64::try_from(cost).ok()).or(r.cost).map(Number::Count)
}

/// A count of the map cache of a device that has one.
fn map(t: &Timing, count: fn(&MapCounts) -> u64) -> Option<Number> {
    t.counters.device.map.as_ref().map(|map| count(map).into())
}

/// A counter of an FTL of `docs/spec/ftl.md`; what it has none of is 0.
fn own(ftl: &FtlCounters, name: &str) -> u64 {
    ftl.get(name).unwrap_or(0)
}

/// Requests that have a response time: no flush and no trim.
fn host_requests(t: &Timing) -> u64 {
    t.counters.read_requests + t.counters.write_requests
}

/// Pages that GC or merges wrote again; `gc_moves` of other FTLs lacks those between planes.
fn moved_pages(t: &Timing) -> u64 {
    let copies = |ftl: &FtlCounters| own(ftl, "gc_copies") + own(ftl, "merge_programs");
    t.counters.device.ftl.as_ref().map_or(t.counters.device.gc_moves, copies)
}

/// Mean busy time of units over the makespan. One whose work goes on after it was never idle.
fn utilisation(busy_ns: &[u64], t: &Timing) -> Option<Number> {
    let all = t.counters.makespan_ns;
    let busy: f64 = busy_ns.iter().map(|&ns| ns.min(all) as f64).sum();
    (all > 0).then(|| Number::Real(busy / (all as f64 * busy_ns.len() as f64)))
}

/// A counter of an FTL of `docs/spec/ftl.md`.
macro_rules! ftl {
    ($group:ident, $name:literal, $title:literal, $kind:ident $unit:literal,
     $better:ident, $about:literal,
     $counter:literal) => {
        timed!($group, $name, $title, $kind $unit, $better, $about, |t| {
            Some(own(t.counters.device.ftl.as_ref()?, $counter).into())
        })
    };
}

/// A number of a distribution of response times, which is a field of `Timing`.
macro_rules! response {
    ($group:ident, $of:ident.$field:ident, $title:expr, $about:expr) => {
        timed!($group, concat!(stringify!($of), "_", stringify!($field)), $title, Time "ns", Lower,
            $about, |t| {
                let known = t.$of.as_ref().filter(|d| d.count >= least(stringify!($field)));
                known.map(|d| d.$field.into())
            })
        .defers(Deferral::Waits)
        .whole(is_observed!($field))
    };
}

/// Whether a number of a distribution is one of its observations.
macro_rules! is_observed {
    (mean) => {
        false
    };
    (std) => {
        false
    };
    ($percentile:ident) => {
        true
    };
}

/// Values below which a percentile is beyond the sample: fewer than one of them would be above it.
fn least(number: &str) -> u64 {
    match number {
        "p50" => 2,
        "p90" => 10,
        "p95" => 20,
        "p99" => 100,
        "p999" => 1_000,
        "p9999" => 10_000,
        _ => 1,
    }
}

/// Response times of one operation.
#[rustfmt::skip] // a metric, a line or two
macro_rules! responses {
    ($group:ident, $of:ident, $operation:literal, $capital:literal) => {
        [
            response!($group, $of.mean, concat!("Mean ", $operation),
                concat!("mean response time of ", $operation, "s"))
        .charted(),
            response!($group, $of.std,
                concat!($capital, " deviation"),
                concat!("standard deviation of response times of ", $operation, "s")),
            response!($group, $of.p50, concat!("p50 ", $operation),
                concat!("median of ", $operation, "s")),
            response!($group, $of.p90, concat!("p90 ", $operation),
                concat!("90th percentile of ", $operation, "s")),
            response!($group, $of.p95, concat!("p95 ", $operation),
                concat!("95th percentile of ", $operation, "s")),
            response!($group, $of.p99, concat!("p99 ", $operation),
                concat!("99th percentile of ", $operation, "s")),
            response!($group, $of.p999, concat!("p99.9 ", $operation),
                concat!("99.9th percentile of ", $operation, "s")),
            response!($group, $of.p9999, concat!("p99.99 ", $operation),
                concat!("99.99th percentile of ", $operation, "s")),
            response!($group, $of.max, concat!("Max ", $operation),
                concat!("longest ", $operation)),
        ]
    };
}

/// Every metric, in the order of the columns: what the cache did, what single policies count by
/// their own declaration, then times and the device.
pub static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    let of_time = OF_TIME.iter().chain(&OF_READS).chain(&OF_WRITES).chain(OF_THE_DEVICE).copied();
    let of_time = of_time.chain(of_interface());
    OF_THE_CACHE.iter().copied().chain(of_tiers()).chain(of_policies()).chain(of_time).collect()
});

/// The counters that policies declare, in the order of the catalogue, each once.
fn of_policies() -> impl Iterator<Item = Metric> {
    let mut known = BTreeSet::new();
    let counters = POLICIES.iter().flat_map(|info| info.counters);
    counters.filter(move |counter| known.insert(counter.name)).map(|counter| Metric {
        name: counter.name,
        title: counter.title,
        kind: MetricKind::Count,
        unit: counter.unit,
        better: Better::Neither,
        shown: counter.shown,
        group: MetricGroup::Policy,
        rank: 0,
        short: "",
        views: &[],
        deferral: Deferral::None,
        whole: true,
        charted: false,
        of_policy: true,
        about: counter.about,
        source: Source::Policy,
    })
}

/// Of every run: hits, flash operations, what stays behind.
#[rustfmt::skip] // a metric, some lines: it is a table
static OF_THE_CACHE: &[Metric] = &[
    metric!(Hits, "hit_ratio", "Hit ratio", Ratio "", Higher,
        "hits / accesses, reads and writes together",
        |r| ratio(r.counters.hits(), r.counters.accesses())).short("hit").views(&[(View::Hits, 0)])
        .shown(Shown::Always)
        .charted(),
    metric!(Hits, "read_hit_ratio", "Read hits", Ratio "", Higher, "read hits / read accesses",
        |r| ratio(r.counters.read_hits, r.counters.read_hits + r.counters.read_misses))
        .views(&[(View::Hits, 1)]).shown(Shown::WithoutDevice),
    metric!(Hits, "write_hit_ratio", "Write hits", Ratio "", Higher, "write hits / write accesses",
        |r| ratio(r.counters.write_hits, r.counters.write_hits + r.counters.write_misses))
        .views(&[(View::Hits, 2)]).shown(Shown::WithoutDevice),
    response!(Response, response_ns.mean, "Mean response", "mean response time of all requests")
        .short("mean").views(&[(View::Latency, 0)])
        .shown(Shown::WithDevice)
        .charted(),
    response!(Response, response_ns.p99, "p99 response",
        "99th percentile of response times").short("p99").views(&[(View::Latency, 4)])
        .rank(1).shown(Shown::WithDevice)
        .charted(),
    timed!(Balance, "eviction_wait_ns_mean", "Eviction wait", Time "ns", Lower,
        "mean wait of destaged pages in their unit's queue, also of pages that stay cached (ECR, \
         section 4)",
        |t| ratio(t.counters.eviction_wait_ns_sum, t.counters.dirty_evictions))
    .defers(Deferral::Waits)
    .shown(Shown::WithDevice).charted(),
    counter!(Flash, physical_reads, "Flash reads", "pages", Lower, "pages read from flash")
        .views(&[(View::Hits, 4)]).shown(Shown::WithoutDevice)
        .charted(),
    counter!(Flash, physical_writes, "Pages written", "pages", Lower,
        "pages written to flash while measured, without the device's own writes")
        .defers(Deferral::Writes)
        .charted(),
    metric!(Flash, "flash_writes", "Flash writes", Count "pages", Lower,
        "physical_writes + pending_writes - pending_writes_at_start; null above a flash tier, \
         which may decline pages",
        |r| r.flash_writes().map(Number::Count))
        .short("writes").views(&[(View::Endurance, 0), (View::Hits, 5)])
        .shown(Shown::Always)
        .charted(),
    timed!(Device, "waf", "WAF", Real "", Lower,
    "write amplification: all programs / programs for the host (docs/spec/device.md 8)",
    |t| {
        let d = &t.counters.device;
        ratio(d.programs_of_all_kinds(), d.flash_programs)
    })
    .views(&[(View::Endurance, 1)])
    .defers(Deferral::Writes)
    .shown(Shown::WithDevice).charted(),
    timed!(Wear, "erases", "Erases", Count "blocks", Lower,
        "blocks erased, SLC blocks excluded",
        |t| Some(t.counters.device.erases.into())).views(&[(View::Endurance, 10)])
        .defers(Deferral::Writes).shown(Shown::WithDevice)
        .charted(),
    metric!(Flash, "cost", "Cost", Count "cost units", Lower,
        "physical_reads * C_r + flash_writes * C_w (after ACR, section IV)",
        cost).shown(Shown::WithoutDevice)
        .charted(),
    metric!(Flash, "idle_writes", "Idle writes", Count "pages", Neither,
        "flash writes of pages that stay, while a unit was idle, by the host's writer or the \
         policy",
        |r| r.counters.idle_writes.map(Number::Count))
    .shown(Shown::Always),
    metric!(Hits, "misses", "Misses", Count "accesses", Lower,
        "accesses without a hit", |r| Some(Number::Count(r.counters.misses())))
        .views(&[(View::Hits, 3)]),
    counter!(Evictions, destages, "Destages", "groups", Lower,
        "flush groups").defers(Deferral::Writes)
        .charted(),
    counter!(Evictions, destaged_pages, "Destaged", "pages", Lower,
        "pages in flush groups, without padding").defers(Deferral::Writes),
    metric!(Evictions, "mean_destage_pages", "Mean destage", Real "pages", Neither,
        "destaged_pages / destages", |r| ratio(r.counters.destaged_pages, r.counters.destages))
        .charted(),
    destage!(
        Evictions,
        "destage_pages_std",
        "Destage deviation",
        "population standard deviation of the pages in a flush group",
        |d| d.std
    ),
    destage!(Evictions, "destage_pages_p50", "p50 destage", "median of the pages in a flush group",
        |d| d.p50 as f64),
    destage!(Evictions, "destage_pages_p90", "p90 destage",
        "90th percentile of the pages in a flush group", |d| d.p90 as f64),
    destage!(Evictions, "destage_pages_max", "Max destage", "pages in the largest flush group",
        |d| d.max as f64),
    counter!(Evictions, evictions, "Evictions", "pages", Lower,
        "pages evicted for a miss"),
    counter!(Evictions, clean_evictions, "Clean evictions", "pages", Neither,
        "clean pages evicted, without a flash write"),
    counter!(Hits, read_hits, "Read hits", "accesses", Higher,
        "reads with a hit"),
    counter!(Hits, read_misses, "Read misses", "accesses", Lower,
        "reads with a miss"),
    counter!(Hits, write_hits, "Write hits", "accesses", Higher,
        "writes with a hit"),
    counter!(Hits, write_misses, "Write misses", "accesses", Lower,
        "writes with a miss"),
    counter!(Evictions, bypasses, "Bypasses", "accesses", Neither, "misses not admitted"),
    metric!(Evictions, "refused", "Refused", Count "accesses", Neither,
        "bypasses of an admission policy",
        |r| admits(r).then_some(Number::Count(r.counters.bypasses))).shown(Shown::Always),
    metric!(Evictions, "flash_writes_per_admission", "Writes/admitted", Real "pages", Lower,
    "physical_writes / misses admitted, of an admission policy",
    |r| if admits(r) {
        ratio(r.counters.physical_writes, r.counters.admissions())
    } else {
        None
    })
    .shown(Shown::Always),
    counter!(Evictions, written_through, "Written through", "pages", Neither,
        "bypassed writes, written to flash"),
    counter!(Flash, padding_reads, "Padding reads", "pages", Lower,
        "pages read only to complete a block"),
    counter!(Flash, padding_writes, "Padding writes", "pages", Lower,
        "pages written only to complete a block")
        .charted(),
    counter!(Flash, end_flushes, "End flushes", "pages", Neither,
        "dirty pages written after the last access"),
    metric!(Flash, "pending_writes", "Pending writes", Count "pages", Neither,
        "dirty pages in all tiers when measurement ends",
        |r| Some(Number::Count(r.pending?.end_pages))),
    metric!(Flash, "pending_writes_at_start", "Pending at start", Count "pages", Neither,
        "dirty pages in all tiers when measurement begins",
        |r| r.pending?.start_pages.map(Number::Count)),
    metric!(Flash, "pending_write_bytes", "Pending writes", Count "bytes", Neither,
        "size of pending_writes", |r| r.pending?.end_bytes.map(Number::Count)),
    metric!(Flash, "pending_write_ratio", "Pending share", Ratio "", Neither,
    "change of pending writes / the larger of flash_writes and physical_writes",
    |r| {
        let change = u64::try_from(r.pending_growth()?.abs()).ok()?;
        ratio(change, r.flash_writes()?.max(r.counters.physical_writes))
    }),
];

/// Of every run again: times, and what a device counts.
#[rustfmt::skip] // a metric, some lines: it is a table
static OF_TIME: &[Metric] = &[
    metric!(Hits, "accesses", "Accesses", Count "accesses", Neither,
        "page accesses measured", |r| Some(Number::Count(r.counters.accesses()))),
    timed!(Response, "iops", "IOPS", Real "requests/s", Higher,
        "reads and writes / makespan; with timestamps about the trace's rate",
        |t| per_second(host_requests(t) as f64, t.counters.makespan_ns))
        .views(&[(View::Latency, 8)]).rank(2),
    metric!(Response, "mb_per_s", "Throughput", Real "MB/s", Higher,
        "pages of all requests / makespan, in 10^6 bytes",
        |r| {
            let bytes = r.counters.accesses() as f64 * r.page_bytes as f64;
            let makespan_ns = r.timing.as_ref()?.counters.makespan_ns;
            if bytes == 0.0 { None } else { per_second(bytes / 1e6, makespan_ns) }
        }).rank(2),
    timed!(Response, "requests", "Requests", Count "requests", Neither,
        "requests measured that read or write", |t| Some(host_requests(t).into())).rank(2),
    metric!(Response, "outstanding_mean", "Outstanding", Real "requests", Neither,
        "open loop: mean of the requests outstanding",
        |r| Some(r.queue?.outstanding_mean.into())).rank(2),
    metric!(Response, "outstanding_max", "Most outstanding", Real "requests", Neither,
        "open loop: the same in the busiest sixtieth of the run",
        |r| Some(r.queue?.outstanding_max.into())).rank(2),
    metric!(Response, "queue_share", "Queue share", Ratio "", Neither,
        "open loop: share of response time in busy sixtieths of the run (above 32 requests \
         outstanding, and above one per unit); above 50 %, queueing dominates",
        |r| Some(r.queue?.share.into())).rank(2),
    response!(Response, response_ns.std, "Response deviation",
        "population standard deviation of response times"),
    response!(Response, response_ns.p50, "p50 response", "median response time")
    .short("p50").views(&[(View::Latency, 1)]),
    response!(Response, response_ns.p90, "p90 response", "90th percentile of response times")
    .short("p90").views(&[(View::Latency, 2)]),
    response!(Response, response_ns.p95, "p95 response", "95th percentile of response times")
    .short("p95").views(&[(View::Latency, 3)]),
    response!(Response, response_ns.p999, "p99.9 response",
        "99.9th percentile of response times")
    .short("p99.9").views(&[(View::Latency, 5)]).rank(1).charted(),
    response!(Response, response_ns.p9999, "p99.99 response",
        "99.99th percentile of response times")
    .short("p99.99").views(&[(View::Latency, 6)]).rank(1),
    response!(Response, response_ns.max, "Max response", "longest response time")
    .short("max").views(&[(View::Latency, 7)]).rank(1),
];

/// Response times of reads, then of writes.
static OF_READS: [Metric; 9] = responses!(ReadResponse, read_response_ns, "read", "Read");
static OF_WRITES: [Metric; 9] = responses!(WriteResponse, write_response_ns, "write", "Write");

/// Of every run with a device: evictions in front of it, and its own counters.
#[rustfmt::skip] // a metric, some lines: it is a table
static OF_THE_DEVICE: &[Metric] = &[
    metric!(Balance, "dirty_victim_ratio", "Dirty victims", Ratio "", Lower,
    "dirty pages evicted / pages evicted",
    |r| {
        r.timing.as_ref()?;
        ratio(r.counters.dirty_victims(), r.counters.evictions)
    }),
    timed!(Balance, "victim_in_gc_ratio", "Victims in GC", Ratio "", Lower,
        "destages to a unit in GC / destages",
        |t| ratio(t.counters.dirty_evictions_in_gc, t.counters.dirty_evictions))
        .charted(),
    timed!(Balance, "unbalance_rate_mean", "Mean unbalance", Real "", Lower,
        "mean of longest queue * units / all queues at dirty evictions; 1 is even (ECR, figure 4)",
        |t| t.unbalance_permille.as_ref().map(|d| Number::Real(d.mean / 1000.0))),
    timed!(Balance, "unbalance_gt10_ratio", "Unbalance > 10", Ratio "", Lower,
        "share of dirty evictions with an unbalance rate over ten, of those that meet a queue",
        |t| ratio(t.counters.unbalance_gt10, t.counters.unbalance_samples)),
    timed!(Balance, "max_deviation_reads", "Deviation, reads", Real "", Lower,
        "(max - min) * channels / sum over the channels' reads (SAC, formula 1)",
        |t| Some(max_deviation(t.counters.device.channel_reads.iter().copied()).into())),
    timed!(Balance, "max_deviation_programs", "Deviation, programs", Real "", Lower,
        "the same of host programs",
        |t| Some(max_deviation(t.counters.device.channel_programs.iter().copied()).into())),
    timed!(Balance, "max_deviation", "Deviation", Real "", Lower, "the same of both together",
    |t| {
        let device = &t.counters.device;
        let both = device.channel_reads.iter().zip(&device.channel_programs);
        Some(max_deviation(both.map(|(reads, programs)| reads + programs)).into())
    }),
    timed!(ReadLatency, "missed_latency_ns", "Missed latency", Time "ns", Lower,
        "mean time of a host read of flash, from submission to end",
        |t| ratio(t.counters.device.read_miss_latency_ns_sum, t.counters.read_misses))
        .defers(Deferral::Waits),
    metric!(ReadLatency, "average_latency_ns", "Average latency", Time "ns", Lower,
    "(1 - hit ratio) * missed latency, of reads (formula 2)",
    |r| {
        let t = r.timing.as_ref()?;
        let reads = r.counters.read_hits + r.counters.read_misses;
        let missed = r.counters.read_misses as f64 / (reads > 0).then_some(reads as f64)?;
        let latency = t.counters.device.read_miss_latency_ns_sum as f64;
        Some(Number::Real(match t.counters.read_misses {
            0 => 0.0,
            count => missed * latency / count as f64,
        }))
    }).defers(Deferral::Waits),
    timed!(Device, "flash_reads", "Host page reads", Count "pages", Lower,
        "reads of flash for the host", |t| Some(t.counters.device.flash_reads.into())),
    timed!(Device, "flash_programs", "Host page programs", Count "pages", Lower,
        "programs for the host", |t| Some(t.counters.device.flash_programs.into())),
    timed!(Device, "gc_runs", "GC runs", Count "blocks", Lower,
        "blocks whose GC began; the erase that ends it may come later",
        |t| Some(t.counters.device.gc_runs.into())).defers(Deferral::Writes),
    timed!(Device, "gc_moves", "Moved pages", Count "pages", Lower,
        "valid pages moved by GC, or copied by merges", |t| Some(moved_pages(t).into()))
        .views(&[(View::Endurance, 11)]).defers(Deferral::Writes)
        .charted(),
    timed!(Device, "summary_programs", "Summary pages", Count "pages", Neither,
        "summary pages programmed", |t| Some(t.counters.device.summary_programs.into())),
    timed!(Device, "suspensions", "Suspensions", Count "suspensions", Neither,
        "erases and programs that reads suspended",
        |t| t.counters.device.suspensions.map(Number::from)),
    timed!(Device, "map_hit_ratio", "Map hit ratio", Ratio "", Higher,
    "look-ups of the map with a hit in the map cache / all (map_cache)",
    |t| {
        let map = t.counters.device.map.as_ref()?;
        ratio(map.map_hits, map.map_hits + map.map_misses)
    }),
    timed!(Device, "map_hits", "Map hits", Count "look-ups", Higher,
        "map look-ups with a hit", |t| map(t, |m| m.map_hits)),
    timed!(Device, "map_misses", "Map misses", Count "look-ups", Lower,
        "map look-ups with a miss", |t| map(t, |m| m.map_misses)),
    timed!(Device, "map_reads", "Map reads", Count "pages", Lower,
        "map pages read from flash", |t| map(t, |m| m.map_reads)),
    timed!(Device, "map_writes", "Map writes", Count "pages", Lower,
        "map pages programmed, without moves",
        |t| map(t, |m| m.map_writes)),
    timed!(Device, "map_dirty_evictions", "Dirty map evictions", Count "evictions", Lower,
        "dirty items that left the map cache",
        |t| map(t, |m| m.map_dirty_evictions)),
    timed!(Device, "map_moves", "Moved map pages", Count "pages", Lower,
        "map pages among gc_moves", |t| map(t, |m| m.map_moves)),
    timed!(Device, "gc_writes", "GC writes", Count "pages", Lower,
    "programs by GC, merges and translation (AALRU, figure 9)",
    |t| {
        let d = &t.counters.device;
        let own = |f: &destage_ssd::FtlCounters| f.common.flash_programs - f.common.host_writes;
        let map_writes = d.map.map_or(0, |map| map.map_writes);
        Some(d.ftl.as_ref().map_or(d.gc_moves + map_writes, own).into())
    }),
    ftl!(Device, "switch_merges", "Switch merges", Count "merges", Neither,
        "log blocks that became data blocks without copies (bast, fast)", "switch_merges")
        .charted(),
    ftl!(Device, "partial_merges", "Partial merges", Count "merges", Lower,
        "log blocks that became data blocks after copies into them (bast, fast)",
        "partial_merges")
        .charted(),
    ftl!(Device, "full_merges", "Full merges", Count "merges", Lower,
        "merges of a data block and log blocks into a free block (bast, fast)", "full_merges")
        .charted(),
    ftl!(Device, "merge_copies", "Merge copies", Count "pages", Lower, "pages copied by merges",
        "merge_programs").defers(Deferral::Writes)
        .charted(),
    ftl!(Device, "log_blocks_taken", "Log blocks", Count "blocks", Neither,
        "log blocks allocated (bast, fast)", "log_blocks_taken"),
    ftl!(Device, "log_blocks_used_max", "Log blocks at once", Count "blocks", Neither,
        "most log blocks in use at once, warm-up included", "log_blocks_used_max")
        .charted(),
    timed!(Device, "log_block_pages_mean", "Log block use", Real "pages", Higher,
    "mean pages written to a log block",
    |t| {
        let f = t.counters.device.ftl.as_ref()?;
        ratio(own(f, "log_pages"), own(f, "log_blocks_taken"))
    }),
    ftl!(Device, "gc_copies", "GC copies", Count "pages", Lower,
        "data pages copied by GC (dftl, page-ideal)",
        "gc_copies"),
    ftl!(Device, "gc_translation_runs", "Translation GC runs", Count "blocks", Lower,
        "translation blocks in GC (dftl)", "gc_translation_runs"),
    ftl!(Device, "translation_reads", "Translation reads", Count "pages", Lower,
        "translation pages read (dftl)", "translation_reads")
        .charted(),
    ftl!(Device, "translation_writes", "Translation writes", Count "pages", Lower,
        "translation pages programmed (dftl)", "translation_writes")
        .defers(Deferral::Writes)
        .charted(),
    timed!(Device, "cmt_hit_ratio", "CMT hits", Ratio "", Higher,
    "hits in the cached mapping table / look-ups (dftl)",
    |t| {
        let f = t.counters.device.ftl.as_ref()?;
        let hits = own(f, "cmt_hits");
        ratio(hits, hits + own(f, "cmt_misses"))
    }).charted(),
    timed!(Wear, "block_erases_max", "Most worn block", Count "erases", Lower,
        "erases of the most worn block, SLC blocks excluded",
        |t| Some(t.counters.device.block_erases_max.into())).short("wear")
        .views(&[(View::Endurance, 15)]),
    timed!(Wear, "block_erases_min", "Least worn block", Count "erases", Neither,
        "erases of the least worn block", |t| Some(t.counters.device.block_erases_min.into())),
    timed!(Wear, "block_erases_mean", "Mean wear", Real "erases", Lower, "mean erases of a block",
        |t| Some(t.block_erases.mean.into())).views(&[(View::Endurance, 16)]),
    timed!(Wear, "block_erases_std", "Wear deviation", Real "erases", Lower,
        "population standard deviation of the blocks' erases", |t| Some(t.block_erases.std.into())),
    timed!(Device, "utilisation_mean", "Mean utilisation", Ratio "", Neither,
    "busy time of work begun while measured / makespan, at most 1; mean of the units",
    |t| utilisation(&t.counters.device.unit_busy_ns, t)),
    timed!(Device, "utilisation_max", "Max utilisation", Ratio "", Neither,
    "busy time of work begun while measured / makespan, at most 1; the busiest unit",
    |t| utilisation(&[t.counters.device.unit_busy_ns.iter().copied().max()?], t)),
    timed!(Device, "makespan_ns", "Makespan", Time "ns", Lower,
        "from the start of measurement to the last completion",
        |t| Some(t.counters.makespan_ns.into())).whole(true),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_names_of_their_own() {
        let mut names: Vec<_> = METRICS.iter().map(|m| m.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
    }
}
