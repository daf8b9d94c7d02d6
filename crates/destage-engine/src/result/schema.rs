//! Schema of results: `docs/reference/results.md`, `metrics.md` are generated; a test checks.

use super::metric::{Better, METRIC_GROUPS, Metric, MetricGroup, MetricKind};
use super::metrics::METRICS;
use std::fmt::Write;

/// An object of the schema.
pub struct Object {
    /// Name in the documentation; JSON does not have it.
    pub name: &'static str,
    /// One-line definition.
    pub about: &'static str,
    /// Keys, in the order of the JSON.
    pub fields: &'static [Field],
}

/// A key of an object.
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// It may be absent.
    pub may_be_absent: bool,
    /// Value type: words, or an object of the schema behind `@`, a list of them behind `[@`.
    pub holds: &'static str,
    /// One-line definition; `METRIC`: that of the metric of the same name.
    pub about: &'static str,
}

const METRIC: &str = "";

impl Field {
    /// The key as the page has it, with a question mark if it may be absent.
    fn shown(&self) -> String {
        format!("`{}`{}", self.key, if self.may_be_absent { "?" } else { "" })
    }
}

macro_rules! object {
    ($name:literal, $about:literal,
     $($key:ident $($absent:literal)? : $holds:literal, $what:expr;)+) => {
        Object {
            name: $name,
            about: $about,
            fields: &[$(Field {
                key: stringify!($key),
                may_be_absent: false $(|| !$absent.is_empty())?,
                holds: $holds,
                about: $what,
            }),+],
        }
    };
}

/// Every object, the outermost first.
#[rustfmt::skip] // a key, a line or two: it is a table
pub static SCHEMA: &[Object] = &[
    object!("result set", "Written by `--json` and `Results.to_json`, read by `rerun`.",
        schema: "text", "`destage.results`";
        schema_version: "integer", "1; incremented on incompatible changes";
        version: "text", "version of Destage";
        commit "?": "text", "commit of the build, with `-dirty` if sources were changed";
        command "?": "text", "command line, without threads, outputs and colours; absent from \
            Python";
        trace: "@trace", "the trace, and how it was read";
        runs: "[@run", "one for each policy and size, in the order given";
        device "?": "object", "the device after defaults: the tables of its \
            [file](docs/reference/devices.md)";
        reading "?": "object", "counts of the reader, such as skipped lines";
        baseline "?": "text", "label of the run that others are marked against; absent: the first \
            of each size";
        differences "?": "@differences", "between the runs at one cache size";
        marks "?": "[@mark", "one for each run; recomputed when a result is read";
    ),
    object!("mark", "Metrics in which a run differs significantly (95 %), and by 1 % or more, from \
        others at its size.",
        baseline: "text or null", "label of the run that it is compared with; null: none";
        best: "texts", "better than every other run";
        better: "texts", "better than the baseline";
        worse: "texts", "worse than the baseline";
    ),
    object!("trace", "The trace that was replayed.",
        sources: "texts", "files as given, or what made the trace";
        fingerprint: "text", "hash of accesses, trims and flushes";
        format: "text", "format of the records";
        page_bytes: "integer", "page size, bytes";
        requests: "integer", "requests that read or write";
        accesses: "integer", "page accesses";
        unique_pages: "integer", "distinct pages";
        duration_ns: "integer or null", "first to last arrival; null without times";
        options: "object", "reader options, for `rerun`";
    ),
    object!("run", "One policy at one cache size.",
        label: "text", "policy with the parameters given: `cflru[window_fraction=0.75]`";
        config: "@config", "configuration, after defaults";
        warmup_requests: "integer", "requests before measurement began";
        measured "?": "@measured", "the measured part; absent in results of earlier versions";
        counters: "@counters", "counts of accesses and pages";
        trims "?": "@trims", "with `trim = drop`, without a device";
        expiry "?": "@expiry", "with `ttl`";
        pin "?": "@pin", "with `pin` or `tier2_pin`";
        policy_counters "?": "object", "counts that only this policy has, by name";
        policy_gauges "?": "object", "final values of adapted parameters, by name";
        destage_pages "?": "@distribution", "pages per flush group; absent if none had more \
            than one";
        cost: "integer or null", "cost of physical reads and flash writes; null without a cost \
            model";
        timing "?": "@timing", "with a device: times, and its counts";
        profile "?": "@profile", "with a device, if asked for: the run over time";
        pending "?": "@pending", "pending writes; absent in results of earlier versions";
        tiers "?": "@tiers", "with a flash tier";
        tier3 "?": "@tier3", "with a third tier";
        disk "?": "@disk", "with a disk below the tiers";
        kv "?": "@kv", "with prefix semantics; `counters` then count blocks of cached prefixes as \
            hits";
        queue "?": "@queue", "with a device and the trace's times, from 600 requests on";
        windows "?": "@windows", "the run in sixty parts, from 600 requests on";
        warnings: "texts", "warnings about these numbers";
        metrics: "object", "every [metric](docs/reference/metrics.md) by name, null where the run \
            has none; recomputed when a result is read";
        steady "?": "@steady", "when the cache was full, and the halves";
        series "?": "[@series period", "counts of each period (`run --series`)";
    ),
    object!("config", "Configuration of a run.",
        policy: "text", "name of the policy";
        given: "object", "the parameters that were given";
        params: "object", "all parameters, after defaults";
        frames: "integer", "pages of the cache; without one, of the size with the same measured \
            requests";
        cache: "text", "cache size as given; `none` without a cache";
        warmup: "text or object", "`none`, `full`, or one of `percent`, `requests`, `nanos` with \
            its number, or `auto` with `requests` before measurement and `pages`, the largest \
            cache that is full by then";
        fetch_on_write_miss: "true or false", "a write miss reads the page from flash first";
        flush_at_end: "true or false", "dirty pages are written after the last access";
        check: "true or false", "invariants were checked at every access";
        cost: "object or null", "cost model: `read` and `write`, integers";
        pages_per_block "?": "integer", "without a device, of a policy that clusters: pages of an \
            erase block";
        device_pages "?": "integer", "of such a policy: pages that may be padded; absent: all";
        trim "?": "text", "effect of the trace's trims, `drop` or `ignore`; absent: as the device \
            has it";
        tier2 "?": "text", "policy of the tier";
        tier2_cache "?": "text", "size of the tier, as given";
        tier2_frames "?": "integer", "pages of the tier";
        backing "?": "text", "store below all tiers; absent: `constant`";
        backing_read_ns "?": "integer", "time of a read there, as given, ns";
        backing_write_ns "?": "integer", "time of a write there, as given, ns";
        admit "?": "text", "admission to the tier; absent: `always`";
        offer "?": "text", "pages offered to the tier; absent: `evicted`";
        promote "?": "text", "effect of a hit in the tier; absent: `copy`";
        admit_dirty "?": "text", "admission of dirty pages: `ask` or `always`; absent: `ask`";
        tier2_clean "?": "text", "destage of its dirty pages; absent: `none`";
        tier2_read_ns "?": "integer", "time of a read there, as given, ns";
        tier3 "?": "text", "policy of the tier";
        tier3_cache "?": "text", "size of the tier, as given";
        tier3_frames "?": "integer", "pages of the tier";
        tier3_admit "?": "text", "admission to the tier; absent: `always`";
        tier3_offer "?": "text", "pages offered to the tier; absent: `evicted`";
        tier3_promote "?": "text", "effect of a hit in the tier; absent: `copy`";
        tier3_admit_dirty "?": "text", "admission of dirty pages: `ask` or `always`; absent: `ask`";
        tier3_read_ns "?": "integer", "time of a read there, as given, ns";
        tier3_write_ns "?": "integer", "time of a write there, as given, ns";
        kv "?": "true", "prefix semantics; absent: page accesses";
        touch "?": "text", "order of a request's blocks; absent: `tail-first`";
        pin "?": "text", "pages that stay in the cache, as one types them; absent: `none`";
        tier2_pin "?": "text", "pages that stay in the flash tier; absent: `none`";
        ttl "?": "text", "time to live of cached pages, as given";
        token_ns "?": "integer", "time to compute the first token of a prompt, as given, ns";
        double_tokens "?": "integer", "depth that doubles it, tokens; absent: depth costs nothing";
        device "?": "text", "name of the device";
        placement "?": "text", "its placement policy; absent: none";
        source_sha256 "?": "text", "SHA-256 of the policy's Python file";
    ),
    object!("counters", "Without warm-up ([page policies](docs/spec/page-policies.md), 2.5); of \
        several tiers, tier 1's. `physical_writes` includes `idle_writes` and `end_flushes`.",
        read_hits: "integer", METRIC;
        read_misses: "integer", METRIC;
        write_hits: "integer", METRIC;
        write_misses: "integer", METRIC;
        bypasses: "integer", METRIC;
        written_through: "integer", METRIC;
        physical_reads: "integer", METRIC;
        physical_writes: "integer", METRIC;
        idle_writes "?": "integer", METRIC;
        evictions: "integer", METRIC;
        clean_evictions: "integer", METRIC;
        destages: "integer", METRIC;
        destaged_pages: "integer", METRIC;
        padding_reads: "integer", METRIC;
        padding_writes: "integer", METRIC;
        end_flushes: "integer", METRIC;
    ),
    object!("trims", "Without warm-up ([current SSDs](docs/spec/device-today.md), 10).",
        trim_requests: "integer", METRIC;
        trim_cache_drops: "integer", "resident pages that trims dropped";
        trim_dirty_drops: "integer", METRIC;
    ),
    object!("expiry", "Without warm-up ([tiers](docs/spec/tiers.md), 4.10).",
        expired_hits: "integer", METRIC;
        expired_writes: "integer", METRIC;
    ),
    object!("pin", "Hits without warm-up ([tiers](docs/spec/tiers.md), 4.13).",
        pinned_pages "?": "integer", METRIC;
        pinned_hits "?": "integer", METRIC;
        tier2_pinned_pages "?": "integer", METRIC;
        tier2_pinned_hits "?": "integer", METRIC;
    ),
    object!("tiers", "Without warm-up ([two tiers](docs/spec/tiers.md), 4.6).",
        tier2_hits: "integer", METRIC;
        tier2_misses: "integer", METRIC;
        offers: "integer", METRIC;
        offers_capped: "integer", METRIC;
        offers_present: "integer", METRIC;
        admitted: "integer", METRIC;
        tier2_writes: "integer", METRIC;
        tier2_reads: "integer", METRIC;
        tier2_evictions: "integer", METRIC;
        tier2_drops: "integer", METRIC;
        tier2_cleaned "?": "integer", METRIC;
        backing_reads: "integer", METRIC;
        backing_writes: "integer", METRIC;
        pending_tier1: "integer", METRIC;
        pending_tier2: "integer", METRIC;
    ),
    object!("tier3", "Without warm-up ([tiers](docs/spec/tiers.md), 4.8).",
        tier3_hits: "integer", METRIC;
        tier3_misses: "integer", METRIC;
        tier3_offers: "integer", METRIC;
        tier3_offers_capped: "integer", METRIC;
        tier3_offers_present: "integer", METRIC;
        tier3_admitted: "integer", METRIC;
        tier3_writes: "integer", METRIC;
        tier3_reads: "integer", METRIC;
        tier3_evictions: "integer", METRIC;
        tier3_drops: "integer", METRIC;
        pending_tier3: "integer", METRIC;
    ),
    object!("disk", "Without warm-up ([tiers](docs/spec/tiers.md), 6.1).",
        disk_seeks: "integer", METRIC;
        disk_sequential: "integer", METRIC;
        disk_busy_ns: "integer", METRIC;
        disk_wait_ns: "integer", METRIC;
        disk_span_ns: "integer", "from the beginning of measurement to the end of the last page or \
            request, ns";
    ),
    object!("kv", "Prompts, without warm-up ([KV traces](docs/spec/tiers.md), 7.3).",
        requests: "integer", "the metric `kv_requests`";
        blocks: "integer", METRIC;
        tokens: "integer", METRIC;
        hit_blocks: "integer", METRIC;
        hit_tokens: "integer", METRIC;
        full_hits: "integer", METRIC;
        stranded_blocks: "integer", METRIC;
        reinserted_blocks: "integer", METRIC;
        insertions: "integer", METRIC;
        evictions: "integer", "the metric `kv_evictions`";
        compute_ns "?": "integer", "with `token_ns`: time to compute all blocks, ns";
        hit_compute_ns "?": "integer", "with `token_ns`: of this, blocks of cached prefixes, ns; \
            absent: 0";
    ),
    object!("series period", "Counts of one period of so many accesses: every key of *counters*, \
        the policy's adapted parameters at its end, and:",
        first_access: "integer", "first access of the period, from 0 over the whole run";
    ),
    object!("measured", "The part of a run after the warm-up.",
        first_request: "integer", "first request, from 1; trims and flushes of the run count too";
        last_request: "integer", "last request";
        first_access: "integer", "first page access, from 0";
        start_ns "?": "integer", "with a device: instant of the first request, ns";
        arrivals_ns "?": "integer", "first to last arrival, ns; absent without times";
        cache_full "?": "true or false", "with the warm-up `auto`: a cache of this size under `lru` \
            was full by then; false if it takes more than half of the requests";
    ),
    object!("pending", "Pending writes: dirty pages in the cache, in all tiers.",
        start_pages: "integer", "when measurement began";
        end_pages: "integer", "when it ended; 0 if they were flushed";
        end_bytes: "integer", "their size, bytes";
    ),
    object!("queue", "Requests outstanding in an open loop, by Little's law: response times over \
        the time that they span.",
        outstanding_mean: "number", METRIC;
        outstanding_max: "number", METRIC;
        share: "number", "the metric `queue_share`";
        grows: "true or false", "it is half or more";
    ),
    object!("windows", "The measured part in sixty parts of equal requests: every list has a \
        number for each. End flushes come after the last.",
        filled_after: "number or null", "share of the measured part after which the cache was \
            full, 0..1; null: never";
        requests: "integers", "requests; without a device, rows of the trace";
        accesses: "integers", "page accesses; with `kv`, tokens of prompts";
        hits: "integers", "accesses with a hit; with several tiers, in tier 1";
        read_accesses: "integers", "accesses that read";
        read_hits: "integers", "reads with a hit; with several tiers, in tier 1";
        physical_reads: "integers", METRIC;
        physical_writes: "integers", METRIC;
        overall_hits "?": "integers", "with a flash tier: accesses with a hit in any tier";
        backing_reads "?": "integers", METRIC;
        kv "?": "@windows of prompts", "with `kv`";
        response_ns_sum "?": "integers", "with a device: sum of the response times of the requests \
            issued, ns";
        span_ns "?": "integers", "with a device: from the first request to that of the next \
            window, ns";
        read_requests "?": "integers", "with a device: requests that read";
        read_response_ns_sum "?": "integers", "with a device: sum of their response times, ns";
        flash "?": "@flash", "with a device: its work";
        requests_beyond "?": "object", "with a device: by percentile (`response_ns_p99`) requests \
            above it in each window, ties in its bin split pro rata";
    ),
    object!("windows of prompts", "Counts of each window.",
        blocks: "integers", METRIC;
        hit_blocks: "integers", METRIC;
        full_hits: "integers", METRIC;
        stranded_blocks: "integers", METRIC;
        insertions: "integers", METRIC;
    ),
    object!("flash", "Work of the device in each window, without that after the last request.",
        host_programs: "integers", "programs for the host";
        programs: "integers", "programs of all kinds";
        erases: "integers", METRIC;
        evictions: "integers", METRIC;
        dirty_victims: "integers", "evicted pages that were dirty";
        write_backs: "integers", "dirty pages written back, pages that stay included";
        write_backs_in_gc: "integers", "of these, pages whose unit was in GC";
        eviction_wait_ns_sum: "integers", "sum of their waits in their unit's queue, ns";
        unbalance_permille_sum: "integers", "sum of the unbalance rates that they met, thousandths";
        unbalance_samples: "integers", "of these, pages that met any queue";
    ),
    object!("steady", "Follows from the windows.",
        filled_after: "number or null", "as in *windows*";
        halves: "[@half", "first and second half of the measured part";
    ),
    object!("half", "One half of the measured part.",
        accesses: "integer", "page accesses; with `kv`, tokens of prompts";
        hit_ratio: "number or null", "hits / accesses, of tier 1 if several; null with `kv`";
        token_hit_ratio "?": "number", "with `kv`: hit tokens / tokens";
        physical_writes: "integer", METRIC;
        response_ns_mean "?": "number", "with a device: mean response time, ns";
    ),
    object!("differences", "Intervals of differences between runs, by a circular block bootstrap \
        over their windows, with blocks as long as the autocorrelation asks for.",
        method: "text", "method of the intervals, with its seed";
        level: "number", "confidence level, 0..1";
        groups: "[@group", "one for each cache size with two runs or more";
    ),
    object!("group", "Runs at one cache size.",
        frames: "integer", "pages of the cache";
        cache: "text", "cache size as given";
        runs: "integers", "numbers of the runs in the set, from 0; a run without a cache is in the \
            group of each size with its measured part";
        parts "?": "integer", "independent parts of the trace, by the autocorrelation of hit ratio \
            and mean response: few make wide intervals; absent in results of earlier \
            versions";
        metrics: "object", "by metric a list, for each pair of `runs` in the order (0, 1), (0, 2), \
            .., (1, 2), ..: `[low, high]` of the second's value less the first's, or null. With 0 \
            inside, the difference is not significant";
    ),
    object!("distribution", "Percentiles have three significant digits; the rest is exact.",
        count: "integer", "number of values";
        mean: "number", "mean";
        std: "number", "population standard deviation";
        max: "integer", "largest";
        p50: "integer", "percentile";
        p90: "integer", "percentile";
        p95: "integer", "percentile";
        p99: "integer", "percentile";
        p999: "integer", "percentile";
        p9999: "integer", "percentile";
        quantiles: "list of pairs", "(share, value) from 0 to 1, to draw a curve";
    ),
    object!("timing", "Times, and work of the device.",
        counters: "object", "[counters of the device](docs/spec/device.md), 8; with another FTL \
            than `page` also `ftl`, [its own](docs/spec/ftl.md)";
        response_ns: "@distribution", "response times; null if there were none";
        read_response_ns: "@distribution", "of reads";
        write_response_ns: "@distribution", "of writes";
        unbalance_permille: "@distribution", "unbalance rate at dirty evictions, thousandths";
        block_erases: "@wear", "erases of the blocks, preconditioning included";
    ),
    object!("wear", "Erases of the device's blocks.",
        blocks: "integer", "erase blocks";
        mean: "number", "mean";
        std: "number", "population standard deviation";
    ),
    object!("profile", "A run over time, warm-up included.",
        period_ns: "integer", "length of a period; the first begins at time 0";
        periods: "[@profile period", "the periods";
        unit_busy_ns: "list of lists", "busy time of each unit in each period";
        unit_collecting_ns: "list of lists", "of this, time in GC";
    ),
    object!("profile period", "Work that began in one period.",
        requests: "integer", "requests issued";
        response_ns_sum: "integer", "sum of their response times";
        response_ns_max: "integer", "the longest";
        flash_reads: "integer", METRIC;
        flash_programs: "integer", METRIC;
        collection_programs: "integer", "pages moved, and other programs of the FTL's own";
        erases: "integer", METRIC;
        slc_programs "?": "integer", METRIC;
        slc_erases "?": "integer", "SLC blocks among `erases`; absent: none";
    ),
];

const HEAD: &str = "\
# Results

Results have one schema in JSON, Python, tables and reports. This page is generated from
`crates/destage-engine/src/result/schema.rs`. A key with a question mark may be absent. Metrics of
the same name are listed without a table; they are integers. A table of results (CSV, Parquet,
DataFrame) has a row for each run: its configuration and its [metrics](docs/reference/metrics.md).
";

const METRICS_HEAD: &str = "\
# Metrics

The columns of every table, by group; `--show`, `--sort`, Python, JSON and files use these names.
This page is generated from `crates/destage-engine/src/result`; [results](docs/reference/results.md)
has the other keys of JSON. Compare writes by `flash_writes`, which includes pending writes.
";

/// The page `docs/reference/results.md`.
pub fn page() -> String {
    let mut page = HEAD.to_string();
    for object in SCHEMA {
        let _ = write!(page, "\n## {}\n\n{}\n", capital(object.name), object.about);
        let (metrics, own): (Vec<&Field>, Vec<&Field>) =
            object.fields.iter().partition(|field| field.about == METRIC);
        if !own.is_empty() {
            page.push_str("\n| key | holds | meaning |\n|---|---|---|\n");
        }
        for (holds, about, keys) in alike(own.iter().map(|f| (f.holds, f.about, f.shown()))) {
            let _ = writeln!(page, "| {keys} | {} | {about} |", held(holds));
        }
        for (holds, _, keys) in alike(metrics.iter().map(|f| (f.holds, "", f.shown()))) {
            let kind = if holds.starts_with("integer") { "" } else { " that are no integers" };
            let _ = write!(page, "\n[Metrics](docs/reference/metrics.md){kind}: {keys}.\n");
        }
    }
    relative(&page)
}

/// Rows that differ in their first cell alone, joined: the other cells, and the first ones listed.
fn alike<A: PartialEq, B: PartialEq>(
    rows: impl Iterator<Item = (A, B, String)>,
) -> Vec<(A, B, String)> {
    let mut found: Vec<(A, B, String)> = Vec::new();
    for (a, b, name) in rows {
        match found.iter_mut().find(|(x, y, _)| *x == a && *y == b) {
            Some((_, _, names)) => *names = format!("{names}, {name}"),
            None => found.push((a, b, name)),
        }
    }
    found
}

/// The page `docs/reference/metrics.md`.
pub fn metrics_page() -> String {
    let mut page = METRICS_HEAD.to_string();
    for heading in METRIC_GROUPS {
        let _ = write!(page, "\n## {}\n\n", heading.title);
        if !heading.about.is_empty() {
            let _ = write!(page, "{}.\n\n", capital(heading.about));
        }
        let members: Vec<_> =
            METRICS.iter().filter(|metric| metric.group == heading.group).collect();
        if let Some(of) = of_one_operation(heading.group) {
            let names: Vec<String> = members.iter().map(|m| format!("`{}`", m.name)).collect();
            let names = names.join(", ");
            let _ = writeln!(page, "The [same](#response-times), of {of} alone, in ns: {names}.");
            continue;
        }
        page.push_str("| name | unit, better | definition |\n|---|---|---|\n");
        for (unit, about, names) in
            alike(members.iter().map(|m| (unit_of(m), m.about, format!("`{}`", m.name))))
        {
            let _ = writeln!(page, "| {names} | {unit} | {about} |");
        }
    }
    relative(&page)
}

/// The operation of a group that has the numbers of another one, of one operation.
fn of_one_operation(group: MetricGroup) -> Option<&'static str> {
    match group {
        MetricGroup::ReadResponse => Some("reads"),
        MetricGroup::WriteResponse => Some("writes"),
        _ => None,
    }
}

/// `pages, less`: unit and better direction of a metric, as far as it has them.
fn unit_of(metric: &Metric) -> String {
    let unit = match metric.kind {
        MetricKind::Ratio => "0..1",
        _ => metric.unit,
    };
    let better = match metric.better {
        Better::Higher => "more",
        Better::Lower => "less",
        Better::Neither => "",
    };
    let parts: Vec<&str> = [unit, better].into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

/// A page in `docs/reference` with links that are relative to it.
fn relative(page: &str) -> String {
    page.replace("](docs/reference/", "](").replace("](docs/", "](../")
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}

/// Value type of a key, with objects of the schema linked.
fn held(holds: &str) -> String {
    let link = |name: &str| format!("[{name}](#{})", name.replace(' ', "-"));
    match (holds.strip_prefix("[@"), holds.strip_prefix('@')) {
        (Some(name), _) => format!("list of {}", link(name)),
        (_, Some(name)) => link(name),
        _ => holds.to_string(),
    }
}
