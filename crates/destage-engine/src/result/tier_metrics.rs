//! Metrics of the tiers below the cache and of cached prefixes (`docs/spec/tiers.md` 4.6, 7.3).

use super::metric::{Better, Deferral, Metric, MetricGroup, MetricKind, Number, Source, metric};
use super::run::RunResult;
use destage_policies::Shown;

fn ratio(part: u64, whole: u64) -> Option<Number> {
    (whole > 0).then(|| Number::Real(part as f64 / whole as f64))
}

/// A counter of the flash tier.
macro_rules! tier {
    ($name:ident, $title:literal, $unit:literal, $better:ident, $about:literal) => {
        metric!(Tiers, stringify!($name), $title, Count $unit, $better, $about, |r| {
            Some(r.tiers?.$name.into())
        })
    };
}

/// A counter of the flash tier that runs with prefix semantics do not have.
macro_rules! page_tier {
    ($name:ident, $title:literal, $unit:literal, $better:ident, $about:literal) => {
        metric!(Tiers, stringify!($name), $title, Count $unit, $better, $about, |r| {
            (r.kv.is_none()).then_some(r.tiers?.$name.into())
        })
    };
}

/// A counter of tier 3.
macro_rules! tier3 {
    ($name:ident, $title:literal, $better:ident, $about:literal) => {
        metric!(Tiers, stringify!($name), $title, Count "pages", $better, $about, |r| {
            Some(r.tier3?.$name.into())
        })
    };
}

/// A counter of the disk below the tiers.
macro_rules! disk {
    ($name:ident, $title:literal, $unit:literal, $better:ident, $about:literal) => {
        metric!(Tiers, stringify!($name), $title, Count $unit, $better, $about, |r| {
            Some(r.disk?.$name.into())
        })
    };
}

/// A counter of requests and blocks, under its own name or another.
macro_rules! kv {
    ($name:expr, $field:ident, $title:literal, $unit:literal, $better:ident, $about:literal) => {
        metric!(Kv, $name, $title, Count $unit, $better, $about, |r| Some(r.kv?.$field.into()))
    };
}

/// Of cached prefixes, then of the flash tier.
pub(super) fn of_tiers() -> impl Iterator<Item = Metric> {
    OF_PREFIXES.iter().chain(OF_TIER2).chain(OF_EXPIRY).chain(OF_PINS).copied()
}

#[rustfmt::skip] // a metric, some lines: it is a table
static OF_PREFIXES: &[Metric] = &[
    metric!(Kv, "token_hit_ratio", "Token hit ratio", Ratio "", Higher,
        "tokens of cached prefixes / tokens of all prompts",
        |r| ratio(r.kv?.hit_tokens, r.kv?.tokens)).short("token").shown(Shown::Always),
    metric!(Kv, "block_hit_ratio", "Block hit ratio", Ratio "", Higher,
        "blocks of cached prefixes / blocks of all prompts",
        |r| ratio(r.kv?.hit_blocks, r.kv?.blocks)).shown(Shown::Always),
    metric!(Kv, "full_hit_ratio", "Full hits", Ratio "", Higher,
        "requests whose whole prompt was cached / requests",
        |r| ratio(r.kv?.full_hits, r.kv?.requests)).shown(Shown::Always),
    metric!(Kv, "stranded_ratio", "Stranded", Ratio "", Lower,
        "cached blocks behind one that was missing / blocks of all prompts",
        |r| ratio(r.kv?.stranded_blocks, r.kv?.blocks)).shown(Shown::Always),
    metric!(Kv, "recompute_saved_ratio", "Compute saved", Ratio "", Higher,
        "time to compute the blocks of cached prefixes / all blocks, with token_ns",
        |r| ratio(r.kv?.hit_compute_ns, r.kv?.compute_ns)).short("saved").shown(Shown::Always),
    metric!(Kv, "recompute_saved_ns", "Compute saved", Real "ns", Higher,
        "time to compute the blocks of cached prefixes / requests, with token_ns",
        |r| {
            let kv = r.kv.filter(|kv| kv.compute_ns > 0)?;
            ratio(kv.hit_compute_ns, kv.requests)
        }),
    kv!("kv_requests", requests, "Prompts", "requests", Neither, "requests measured"),
    kv!("blocks", blocks, "Blocks", "blocks", Neither, "blocks of their prompts"),
    kv!("tokens", tokens, "Tokens", "tokens", Neither, "tokens of their prompts"),
    kv!("hit_blocks", hit_blocks, "Hit blocks", "blocks", Higher, "blocks of cached prefixes"),
    kv!("hit_tokens", hit_tokens, "Hit tokens", "tokens", Higher, "tokens of cached prefixes"),
    kv!("full_hits", full_hits, "Full hits", "requests", Higher,
        "requests whose whole prompt was cached"),
    kv!("stranded_blocks", stranded_blocks, "Stranded", "blocks", Lower,
        "cached blocks behind one that was missing"),
    kv!("reinserted_blocks", reinserted_blocks, "Reinserted", "blocks", Lower,
        "blocks of its prefix that a request evicted and took in again"),
    kv!("insertions", insertions, "Insertions", "blocks", Lower,
        "blocks that tier 1 took in: the flash writes of a cache on flash alone"),
    kv!("kv_evictions", evictions, "Block evictions", "blocks", Lower,
        "blocks evicted from tier 1"),
    metric!(Tiers, "flash_bytes_per_day", "Flash per day", Real "bytes", Lower,
        "bytes written to flash a day, at the measured rate; from less than a day, three \
         significant digits",
        |r| per_day(r, r.tiers.map(|t| t.tier2_writes).or(r.kv.map(|kv| kv.insertions))?))
        .defers(Deferral::Writes),
    metric!(Kv, "flash_bytes_per_token", "Flash per token", Real "bytes", Lower,
        "bytes written to flash / tokens of all prompts",
        per_token),
];

#[rustfmt::skip] // a metric, some lines: it is a table
static OF_TIER2: &[Metric] = &[
    metric!(Tiers, "tier2_hit_ratio", "Tier 2 hits", Ratio "", Higher,
        "hits of the tier / its look-ups",
        |r| {
            let t = r.tiers.filter(|_| r.kv.is_none())?;
            ratio(t.tier2_hits, t.tier2_hits + t.tier2_misses)
        }).shown(Shown::Always),
    metric!(Tiers, "overall_hit_ratio", "Overall hits", Ratio "", Higher,
        "hits of all tiers / accesses",
        |r| {
            let t = r.tiers.filter(|_| r.kv.is_none())?;
            let below = t.tier2_hits + r.tier3.map_or(0, |t| t.tier3_hits);
            ratio(r.counters.hits() + below, r.counters.accesses())
        }).shown(Shown::Always),
    metric!(Tiers, "read_time_ns", "Read time", Real "ns", Lower,
        "time of the reads below tier 1 / accesses, or blocks of prompts; without a device, if \
         every tier below and the backing store have times", read_time),
    metric!(Tiers, "admit_ratio", "Admitted", Ratio "", Neither,
        "admitted / offers", |r| ratio(r.tiers?.admitted, r.tiers?.offers)),
    tier!(tier2_hits, "Tier 2 hits", "pages", Higher, "look-ups of the tier with a hit"),
    page_tier!(tier2_misses, "Tier 2 misses", "pages", Lower,
        "look-ups of the tier with a miss"),
    tier!(offers, "Offers", "pages", Neither, "pages offered to admission of the tier"),
    tier!(offers_capped, "Offers capped", "pages", Lower,
        "offers declined by a limit of the write rate alone"),
    tier!(offers_present, "Offers present", "pages", Neither,
        "clean pages that the tier above gave up, already in the tier"),
    tier!(admitted, "Admitted", "pages", Neither, "pages that the tier took in"),
    tier!(tier2_writes, "Tier 2 writes", "pages", Lower,
        "pages written to the tier: taken in, and written over")
        .defers(Deferral::Writes).shown(Shown::Always),
    metric!(Tiers, "tier2_written_bytes", "Tier 2 written", Count "bytes", Lower,
        "size of tier2_writes", |r| Some((r.tiers?.tier2_writes * r.page_bytes).into()))
        .defers(Deferral::Writes),
    tier!(tier2_reads, "Tier 2 reads", "pages", Lower,
        "pages read from the tier: hits, and dirty pages to write below"),
    tier!(tier2_evictions, "Tier 2 evictions", "pages", Lower,
        "pages evicted from the tier"),
    tier!(
        tier2_drops, "Tier 2 drops", "pages", Neither,
        "copies that left the tier without an eviction"
    ),
    metric!(Tiers, "tier2_cleaned", "Tier 2 cleaned", Count "pages", Neither,
        "dirty pages written back that stayed, with tier2_clean",
        |r| {
            r.config.options.tiers.tier2_clean.as_ref()?;
            Some(r.tiers?.tier2_cleaned.into())
        }),
    page_tier!(backing_reads, "Backing reads", "pages", Lower, "pages read from the backing store"),
    page_tier!(backing_writes, "Backing writes", "pages", Lower,
        "pages written to the backing store").defers(Deferral::Writes),
    page_tier!(pending_tier1, "Pending, tier 1", "pages", Neither,
        "dirty pages in the tier when measurement ends"),
    page_tier!(pending_tier2, "Pending, tier 2", "pages", Neither,
        "dirty pages in the tier when measurement ends"),
    metric!(Tiers, "disk_utilisation", "Disk utilisation", Ratio "", Lower,
        "time in which the disk below the tiers was busy / measured time until its last page and \
         request",
        |r| { let disk = r.disk?; ratio(disk.disk_busy_ns, disk.disk_span_ns) })
        .shown(Shown::Always),
    disk!(disk_busy_ns, "Disk busy", "ns", Lower, "time of service"),
    disk!(disk_wait_ns, "Disk wait", "ns", Lower,
        "time that all pages waited for the disk"),
    disk!(disk_seeks, "Disk seeks", "pages", Lower,
        "pages of the disk with a seek"),
    disk!(disk_sequential, "Disk sequential", "pages", Higher,
        "pages of the disk at the position of its head"),
    metric!(Tiers, "tier3_hit_ratio", "Tier 3 hits", Ratio "", Higher,
        "hits of the tier / its look-ups",
        |r| {
            let t = r.tier3.filter(|_| r.kv.is_none())?;
            ratio(t.tier3_hits, t.tier3_hits + t.tier3_misses)
        }).shown(Shown::Always),
    tier3!(tier3_hits, "Tier 3 hits", Higher, "look-ups of the tier with a hit"),
    metric!(Tiers, "tier3_misses", "Tier 3 misses", Count "pages", Lower,
        "look-ups of the tier with a miss",
        |r| r.tier3.filter(|_| r.kv.is_none()).map(|t| t.tier3_misses.into())),
    tier3!(tier3_offers, "Tier 3 offers", Neither, "pages offered to admission of the tier"),
    tier3!(tier3_offers_capped, "Tier 3 offers capped", Lower,
        "offers declined by a limit of the write rate alone"),
    tier3!(tier3_offers_present, "Tier 3 offers present", Neither,
        "clean pages that the tier above gave up, already in the tier"),
    tier3!(tier3_admitted, "Tier 3 admitted", Neither, "pages that the tier took in"),
    tier3!(tier3_writes, "Tier 3 writes", Lower,
        "pages written to the tier: taken in, and written over")
        .defers(Deferral::Writes).shown(Shown::Always),
    tier3!(tier3_reads, "Tier 3 reads", Lower,
        "pages read from the tier: hits, and dirty pages to write below"),
    tier3!(tier3_evictions, "Tier 3 evictions", Lower, "pages evicted from the tier"),
    tier3!(tier3_drops, "Tier 3 drops", Neither, "copies that left the tier without an eviction"),
    metric!(Tiers, "pending_tier3", "Pending, tier 3", Count "pages", Neither,
        "dirty pages in the tier when measurement ends",
        |r| r.tier3.filter(|_| r.kv.is_none()).map(|t| t.pending_tier3.into())),
];

#[rustfmt::skip] // a metric, some lines: it is a table
static OF_EXPIRY: &[Metric] = &[
    metric!(Evictions, "expired_hits", "Expired hits", Count "accesses", Lower,
        "accesses, or blocks of prompts, cached and older than the time to live: misses",
        |r| Some(r.expiry?.expired_hits.into())),
    metric!(Evictions, "expired_writes", "Expired writes", Count "pages", Lower,
        "dirty pages among these, written before they went",
        |r| Some(r.expiry?.expired_writes.into())),
];

/// A counter of pinned pages.
macro_rules! pin {
    ($name:ident, $title:literal, $unit:literal, $about:literal) => {
        metric!(Hits, stringify!($name), $title, Count $unit, Neither, $about, |r| {
            Some(r.pin?.$name?.into())
        })
    };
}

#[rustfmt::skip] // a metric, some lines: it is a table
static OF_PINS: &[Metric] = &[
    pin!(pinned_pages, "Pinned pages", "pages",
        "pages of the trace that are pinned in the cache, with `pin`"),
    pin!(pinned_hits, "Pinned hits", "accesses", "accesses that found a pinned page there"),
    pin!(tier2_pinned_pages, "Tier 2 pinned pages", "pages",
        "pages of the trace that are pinned in tier 2, with `tier2_pin`"),
    pin!(tier2_pinned_hits, "Tier 2 pinned hits", "pages",
        "look-ups in tier 2 that found a pinned page there"),
];

/// Time of the reads below tier 1, over the accesses or blocks.
fn read_time(r: &RunResult) -> Option<Number> {
    let (tiers, counters) = (r.tiers?, &r.counters);
    let hits = (tiers.tier2_hits, r.tier3.map_or(0, |tier3| tier3.tier3_hits));
    let options = &r.config.options.tiers;
    let times = |reads: u64| Some(reads as f64 * options.backing_read_ns? as f64);
    // A block that no tier has is computed.
    let (backing_ns, accesses) = match r.kv {
        Some(kv) if kv.compute_ns > 0 => {
            (Some((kv.compute_ns - kv.hit_compute_ns) as f64), kv.blocks)
        }
        Some(kv) => (times(kv.blocks - kv.hit_blocks), kv.blocks),
        None => (times(tiers.backing_reads), counters.accesses()),
    };
    options.read_time_ns(hits, backing_ns, accesses).map(Number::Real)
}

/// Bytes of so many pages in a day, if they took as long as the requests took to arrive; from less
/// than a day to three significant digits.
fn per_day(r: &RunResult, pages: u64) -> Option<Number> {
    let arrivals_ns = r.measured?.arrivals_ns.filter(|&ns| ns > 0)? as f64;
    let bytes = pages as f64 * r.page_bytes as f64 * (DAY_NS / arrivals_ns);
    let rounded = || format!("{bytes:.2e}").parse().unwrap_or(bytes);
    Some(Number::Real(if arrivals_ns < DAY_NS { rounded() } else { bytes }))
}

const DAY_NS: f64 = 86_400e9;

/// Bytes written to flash for each token of a prompt.
fn per_token(r: &RunResult) -> Option<Number> {
    let kv = r.kv?;
    let written = r.tiers.map_or(kv.insertions, |tiers| tiers.tier2_writes);
    ratio(written * r.page_bytes, kv.tokens)
}
