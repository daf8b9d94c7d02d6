//! Schema of results: `docs/reference/results.md`, `metrics.md` are generated; a test checks.

use super::metric::{Better, METRIC_GROUPS, MetricKind};
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
    /// One-line definition.
    pub about: &'static str,
}

macro_rules! object {
    ($name:literal, $about:literal,
     $($key:ident $($absent:literal)? : $holds:literal, $what:literal;)+) => {
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
pub static SCHEMA: &[Object] = &[
    object!("result set", "What `--json` writes, `Results.to_json` gives and `rerun` reads.",
        schema: "text", "`destage.results`";
        schema_version: "integer", "1; incremented on incompatible changes";
        version: "text", "version of Destage";
        commit "?": "text", "commit that the engine was built from, with `-dirty` if its sources \
            were changed; absent where the build did not know it";
        command "?": "text", "command line that made the results, without what changes no number: \
            threads, outputs, colours; absent for results of Python";
        trace: "@trace", "which trace was replayed, and how it was read";
        runs: "[@run", "one for each policy and size, in the order of policies, then sizes, as \
            asked";
        device "?": "object", "the device behind the cache, as it was given and after defaults: \
            the tables of its file, see [devices](docs/reference/devices.md)";
        reading "?": "object", "counts of the reader, such as skipped lines";
        baseline "?": "text", "label of the run that others are marked against; absent: the first \
            of \
            each cache size";
        differences "?": "@differences", "between the runs at one cache size, with intervals";
        marks "?": "[@mark", "one for each run, in their order: metrics that tables mark, by a \
            significant difference (95 %) of 1 % or more; written for readers, recomputed when a \
            result is read";
    ),
    object!("mark", "A run beside the others at its cache size.",
        baseline: "text or null", "label of the run that it is compared with; null: there is none";
        best: "list of texts", "metrics in which it is significantly better than every other run";
        better: "list of texts", "metrics in which it is significantly better than the baseline: \
            `-` in tables";
        worse: "list of texts", "metrics in which it is significantly worse: `+` in tables";
    ),
    object!("trace", "Which trace was replayed.",
        sources: "list of texts", "the files as they were given, or what made the trace";
        fingerprint: "text", "hash of accesses, trims and flushes: equal for equal content";
        format: "text", "format that the records were read from";
        page_bytes: "integer", "page size, bytes";
        requests: "integer", "requests that read or write";
        accesses: "integer", "page accesses";
        unique_pages: "integer", "distinct pages";
        duration_ns: "integer or null", "first to last arrival; null if the trace has no times";
        options: "object", "how it was read and decoded: what `rerun` needs to read it again";
    ),
    object!("run", "One policy at one cache size.",
        label: "text", "the policy with the parameters that were given, as one types it: \
            `cflru[window_fraction=0.75]`";
        config: "@config", "what was asked for, after defaults";
        warmup_requests: "integer", "requests that were replayed before measurement began";
        measured "?": "@measured", "the part that was measured; absent in results of earlier \
            versions";
        counters: "@counters", "what was counted";
        trims "?": "@trims", "what trims dropped, with `trim = drop` and without a device";
        expiry "?": "@expiry", "with `ttl`: pages that accesses found expired";
        pin "?": "@pin", "with `pin` or `tier2_pin`: pinned pages";
        policy_counters "?": "object", "what only this policy counts, by name";
        policy_gauges "?": "object", "final values of adapted parameters, by name";
        destage_pages "?": "@distribution", "pages of the buffer per flush group; absent if no \
            group had more than one";
        cost: "integer or null", "cost of physical reads and flash writes by the cost model; null \
            without one";
        timing "?": "@timing", "in a run with a device: times, and what the device did";
        profile "?": "@profile", "with a device, if it was asked for: how the run developed";
        pending "?": "@pending", "dirty pages at the beginning and at the end of measurement; \
            absent in results of earlier versions";
        tiers "?": "@tiers", "with a flash tier: its counts";
        tier3 "?": "@tier3", "with a third tier: its counts";
        disk "?": "@disk", "with a disk below the tiers: its counts";
        kv "?": "@kv", "with prefix semantics: counts of requests and blocks; `counters` are then \
            of cached prefixes, a hit being a block of one";
        queue "?": "@queue", "with a device and the trace's times: requests outstanding; absent \
            below 600 requests";
        windows "?": "@windows", "the run in sixty parts; absent below 600 requests";
        warnings: "list of texts", "warnings about these numbers";
        metrics: "object", "every [metric](docs/reference/metrics.md) by name, null where the \
            run has none; written for readers, recomputed when a result is read";
        steady "?": "@steady", "when the cache was full, and the halves; follows from the windows";
        series "?": "[@series period", "what each period counted (`run --series`)";
    ),
    object!("config", "What a run was asked to do.",
        policy: "text", "name of the policy";
        given: "object", "only the parameters that were given";
        params: "object", "all parameters, after defaults";
        frames: "integer", "pages of the cache; without a cache, pages of the size whose measured \
            requests are the same";
        cache: "text", "the cache size as it was given; `none` without a cache";
        warmup: "text or object", "`none`, `full`, or one of `percent`, `requests`, `nanos` with \
            its number, or `auto` with `requests` before measurement and `pages`, the size of the \
            largest cache that is full by then";
        fetch_on_write_miss: "true or false", "a write miss reads the page from flash first";
        flush_at_end: "true or false", "dirty pages are written after the last access";
        check: "true or false", "invariants were checked at every access";
        cost: "object or null", "cost model: `read` and `write`, integers";
        pages_per_block "?": "integer", "pages of an erase block, of a policy that clusters by it, \
            without a device";
        device_pages "?": "integer", "pages that may be padded, of such a policy; absent: all";
        trim "?": "text", "`drop`: it was asked that the trace's trims be part of the run; \
            `ignore`: that they be not, though the device says so; absent: as the device says";
        tier2 "?": "text", "policy of the flash tier, as one types it";
        tier2_cache "?": "text", "its size as it was given";
        tier2_frames "?": "integer", "its frames, pages";
        backing "?": "text", "store below all tiers, as one types it; absent: `constant`";
        backing_read_ns "?": "integer", "time of a read of the backing store, as given, ns";
        backing_write_ns "?": "integer", "time of a write to it, as given, ns";
        admit "?": "text", "admission to it, as one types it; absent: `always`";
        offer "?": "text", "pages offered to it; absent: `evicted`";
        promote "?": "text", "what a hit in it does; absent: `copy`";
        admit_dirty "?": "text", "dirty pages: `ask` or `always`; absent: `ask`";
        tier2_clean "?": "text", "write-back of its dirty pages, as one types it; absent: `none`";
        tier2_read_ns "?": "integer", "time of a read of tier 2 without a device, as given, ns";
        tier3 "?": "text", "policy of the third tier, as one types it";
        tier3_cache "?": "text", "its size as it was given";
        tier3_frames "?": "integer", "its frames, pages";
        tier3_admit "?": "text", "admission to it, as one types it; absent: `always`";
        tier3_offer "?": "text", "pages offered to it; absent: `evicted`";
        tier3_promote "?": "text", "what a hit in it does; absent: `copy`";
        tier3_admit_dirty "?": "text", "dirty pages: `ask` or `always`; absent: `ask`";
        tier3_read_ns "?": "integer", "time of a read of it, as given, ns";
        tier3_write_ns "?": "integer", "time of a write to it, as given, ns";
        kv "?": "true", "prefix semantics; absent: page accesses";
        touch "?": "text", "order of a request's blocks; absent: `tail-first`";
        pin "?": "text", "pages that stay in the cache, as one types them; absent: `none`";
        tier2_pin "?": "text", "pages that stay in the flash tier; absent: `none`";
        ttl "?": "text", "time to live of cached pages, as given";
        token_ns "?": "integer", "time to compute a token at the head of a prompt, as given, ns";
        double_tokens "?": "integer", "tokens before a token that double its time; absent: depth \
            costs nothing";
        device "?": "text", "name of the device behind the cache";
        placement "?": "text", "its placement policy, as one types it; absent if it has none";
        source_sha256 "?": "text", "SHA-256 of the Python file that the policy is in";
    ),
    object!("counters", "Page accesses and what came of them, warm-up left out ([page \
        policies](docs/spec/page-policies.md), 2.5).",
        read_hits: "integer", "read accesses that found their page";
        read_misses: "integer", "read accesses that did not";
        write_hits: "integer", "write accesses that found their page";
        write_misses: "integer", "write accesses that did not";
        bypasses: "integer", "misses that were not admitted";
        written_through: "integer", "bypassed writes, which went through to flash";
        physical_reads: "integer", "pages read from flash";
        physical_writes: "integer", "pages written to flash";
        idle_writes "?": "integer", "pages written while a unit was idle, which stayed, in \
            `physical_writes` too ([writer](docs/spec/writer.md), 6); absent without a writer";
        evictions: "integer", "pages that left the cache because of a miss";
        clean_evictions: "integer", "those that were clean";
        destages: "integer", "flush groups";
        destaged_pages: "integer", "pages in flush groups, without padding";
        padding_reads: "integer", "pages read to complete a block";
        padding_writes: "integer", "pages written to complete a block";
        end_flushes: "integer", "dirty pages written at the end; in `physical_writes` too";
    ),
    object!("trims", "What trims dropped, warm-up left out ([current SSDs]\
        (docs/spec/device-today.md), 10).",
        trim_requests: "integer", "trims of the trace";
        trim_cache_drops: "integer", "resident pages that they dropped";
        trim_dirty_drops: "integer", "dirty ones among these, which are never written";
    ),
    object!("expiry", "What a time to live ended, warm-up left out ([tiers]\
        (docs/spec/tiers.md), 4.10).",
        expired_hits: "integer", "accesses, or blocks of prompts, that were cached and had expired";
        expired_writes: "integer", "dirty pages among these, which were written";
    ),
    object!("pin", "Pinned pages, warm-up left out of the hits ([tiers](docs/spec/tiers.md), \
        4.13).",
        pinned_pages "?": "integer", "pages of the trace that are pinned in the cache";
        pinned_hits "?": "integer", "accesses that found such a page there";
        tier2_pinned_pages "?": "integer", "pages of the trace that are pinned in the flash tier";
        tier2_pinned_hits "?": "integer", "look-ups that found such a page there";
    ),
    object!("tiers", "Counts of the flash tier and of the backing store, warm-up left out ([two \
        tiers](docs/spec/tiers.md), 4.6).",
        tier2_hits: "integer", "look-ups that found their page";
        tier2_misses: "integer", "look-ups in tier 2 that did not find their page";
        offers: "integer", "pages offered to admission";
        offers_capped: "integer", "offers that a limit of the write rate alone declined";
        offers_present: "integer", "clean pages that tier 1 evicted and tier 2 had";
        admitted: "integer", "pages taken in";
        tier2_writes: "integer", "pages written to flash: taken in, and written over";
        tier2_reads: "integer", "pages read from flash: hits, and victims written below";
        tier2_evictions: "integer", "pages evicted from tier 2";
        tier2_drops: "integer", "copies that left tier 2 without an eviction";
        tier2_cleaned "?": "integer", "dirty pages written back that stayed; absent: none";
        backing_reads: "integer", "pages read from the backing store";
        backing_writes: "integer", "pages written to the backing store";
        pending_tier1: "integer", "pages dirty in tier 1 when measurement ends";
        pending_tier2: "integer", "pages dirty in tier 2 when measurement ends";
    ),
    object!("tier3", "Counts of the third tier, warm-up left out ([tiers](docs/spec/tiers.md), \
        4.8).",
        tier3_hits: "integer", "look-ups that found their page";
        tier3_misses: "integer", "look-ups that did not";
        tier3_offers: "integer", "pages offered to admission";
        tier3_offers_capped: "integer", "offers that a limit of the write rate alone declined";
        tier3_offers_present: "integer", "clean pages that tier 2 gave up or declined, and tier 3 \
            had";
        tier3_admitted: "integer", "pages taken in";
        tier3_writes: "integer", "pages written: taken in, and written over";
        tier3_reads: "integer", "pages read: hits, and dirty victims";
        tier3_evictions: "integer", "pages evicted";
        tier3_drops: "integer", "copies that left without an eviction";
        pending_tier3: "integer", "pages dirty in it when measurement ends";
    ),
    object!("disk", "Counts of the disk below the tiers, warm-up left out \
        ([tiers](docs/spec/tiers.md), 6.1).",
        disk_seeks: "integer", "pages that needed a seek and a rotation";
        disk_sequential: "integer", "pages at the position of the head";
        disk_busy_ns: "integer", "time in which the disk served them, ns";
        disk_wait_ns: "integer", "time from their arrivals to their service, ns";
        disk_span_ns: "integer", "from the beginning of measurement to the end of the last page, \
            or of the last request if that is later, ns";
    ),
    object!("kv", "Counts of a language model's requests, warm-up left out ([KV traces]\
        (docs/spec/tiers.md), 7.3).",
        requests: "integer", "requests";
        blocks: "integer", "blocks of their prompts";
        tokens: "integer", "tokens of their prompts";
        hit_blocks: "integer", "blocks of cached prefixes";
        hit_tokens: "integer", "tokens of these blocks";
        full_hits: "integer", "requests whose whole prompt was cached";
        stranded_blocks: "integer", "cached blocks behind one that was missing";
        reinserted_blocks: "integer", "blocks of the prefix that the request itself evicted and \
            took in again";
        insertions: "integer", "blocks that tier 1 took in";
        evictions: "integer", "blocks evicted from tier 1";
        compute_ns "?": "integer", "with `token_ns`: time to compute all blocks, ns";
        hit_compute_ns "?": "integer", "with `token_ns`: time to compute the blocks of cached \
            prefixes, ns; absent: 0";
    ),
    object!("series period", "What one period of so many accesses counted: every key of \
        *counters*, where the policy had adapted to at its end, by name, and:",
        first_access: "integer", "first access of the period, from 0 over the whole run";
    ),
    object!("measured", "The part of a run that was measured, after the warm-up.",
        first_request: "integer", "first request, from 1; trims and flushes that are part of the \
            run count too";
        last_request: "integer", "last request";
        first_access: "integer", "first page access, from 0";
        start_ns "?": "integer", "with a device: instant of the first request, ns";
        arrivals_ns "?": "integer", "from the arrival of the first request to that of the last, \
            ns; absent if the trace has no times";
        cache_full "?": "true or false", "with the warm-up `auto`: the cache had been filled by \
            then; a cache that takes longer than half of the requests is not full";
    ),
    object!("pending", "Pending writes: pages that are dirty in the cache, in all tiers. Flash \
        writes are the pages written and the change of these.",
        start_pages: "integer", "dirty pages when measurement began";
        end_pages: "integer", "dirty pages when it ended; 0 if they were flushed";
        end_bytes: "integer", "their size, bytes";
    ),
    object!("queue", "Requests outstanding in an open loop, by Little's law: response times over \
        the time that they span.",
        outstanding_mean: "number", "mean over the measured time";
        outstanding_max: "number", "the same of the window with the most";
        share: "number", "share of the response time, 0..1, of windows with a queue: more requests \
            outstanding than 32 and than the device has units";
        grows: "true or false", "that share is half or more: response times are mostly \
            waiting in a queue";
    ),
    object!("windows", "What was counted, in sixty parts of equal requests: six are a tenth of it. \
        Every list has a number for each.",
        filled_after: "number or null", "share of what was counted after which every frame had \
            been taken, 0..1; null: never";
        requests: "list of integers", "requests; rows of the trace in a run without a device";
        accesses: "list of integers", "page accesses; with `kv`, tokens of prompts";
        hits: "list of integers", "those that found their page";
        read_accesses: "list of integers", "accesses that read";
        read_hits: "list of integers", "those that found their page";
        physical_reads: "list of integers", "pages read from flash";
        physical_writes: "list of integers", "pages written to flash; end flushes come after the \
            last";
        overall_hits "?": "list of integers", "with a flash tier: accesses that found their page \
            in a tier";
        backing_reads "?": "list of integers", "with a flash tier: pages read from the backing \
            store";
        kv "?": "@windows of prompts", "with `kv`: counts of blocks";
        response_ns_sum "?": "list of integers", "with a device: sum of the response times of the \
            requests that were issued, ns";
        span_ns "?": "list of integers", "with a device: from the issue of the window's first \
            request to that of the next window's, ns";
        read_requests "?": "list of integers", "with a device: requests that read";
        read_response_ns_sum "?": "list of integers", "with a device: sum of their response times, \
            ns";
        flash "?": "@flash", "with a device: what it did";
        requests_beyond "?": "object", "with a device: by percentile (`response_ns_p99`) a list of \
            numbers: requests above the percentile, ties in its bin split pro rata";
    ),
    object!("windows of prompts", "Blocks of prompts in the windows.",
        blocks: "list of integers", "blocks of prompts";
        hit_blocks: "list of integers", "blocks of cached prefixes";
        full_hits: "list of integers", "requests whose whole prompt was cached";
        stranded_blocks: "list of integers", "cached blocks behind one that was missing";
        insertions: "list of integers", "blocks that tier 1 took in";
    ),
    object!("flash", "What the device did in the windows; what it does after the last request is \
        in none.",
        host_programs: "list of integers", "programs for the host";
        programs: "list of integers", "programs of all kinds";
        erases: "list of integers", "erase blocks erased";
        evictions: "list of integers", "pages that were evicted";
        dirty_victims: "list of integers", "those that were dirty";
        write_backs: "list of integers", "dirty pages that were written back: those, and pages \
            that stay";
        write_backs_in_gc: "list of integers", "those whose unit was in GC";
        eviction_wait_ns_sum: "list of integers", "sum of the times that they waited in their \
            unit's queue, ns";
        unbalance_permille_sum: "list of integers", "sum of the unbalance rates that they met, \
            thousandths";
        unbalance_samples: "list of integers", "those that met any queue, and so a rate";
    ),
    object!("steady", "When the cache of a run was full, and what its halves counted.",
        filled_after: "number or null", "as in *windows*";
        halves: "[@half", "the first and the second";
    ),
    object!("half", "One half of what was counted.",
        accesses: "integer", "page accesses; with `kv`, tokens of prompts";
        hit_ratio: "number or null", "hits / accesses; null with `kv`";
        token_hit_ratio "?": "number", "with `kv`: hit tokens / tokens";
        physical_writes: "integer", "pages written to flash";
        response_ns_mean "?": "number", "with a device: mean response time, ns";
    ),
    object!("differences", "Between runs, by a circular block bootstrap over their windows. Blocks \
        are as long as the autocorrelation asks for.",
        method: "text", "how the intervals were made, the seed included";
        level: "number", "share of the draws that an interval holds";
        groups: "[@group", "one for each cache size with two runs or more";
    ),
    object!("group", "Runs at one cache size.",
        frames: "integer", "frames of the cache";
        cache: "text", "the size as it was given";
        runs: "list of integers", "numbers of the runs in the set, from 0; one without a cache is \
            in the group of each size that was measured over its part of the trace";
        parts "?": "integer", "independent parts of the trace, by the autocorrelation of hit ratio \
            and mean response: with few of them intervals are wide, with two there are none; \
            absent in results of earlier versions";
        metrics: "object", "by metric a list, for each pair of `runs` in the order (0, 1), (0, 2), \
            .., (1, 2), ..: `[low, high]` of the second's value less the first's, or null. An \
            interval that holds 0: not distinguishable on this trace";
    ),
    object!("distribution", "Many values in a few numbers: mean and deviation exact, percentiles \
        to three significant digits.",
        count: "integer", "number of values";
        mean: "number", "mean";
        std: "number", "population standard deviation";
        max: "integer", "largest";
        p50: "integer", "median";
        p90: "integer", "90 % are at most so large";
        p95: "integer", "95 %";
        p99: "integer", "99 %";
        p999: "integer", "99.9 %";
        p9999: "integer", "99.99 %";
        quantiles: "list of pairs", "(share, value) from 0 to 1: what a curve is drawn from";
    ),
    object!("timing", "Times, and what the device did.",
        counters: "object", "the counters of the device, under the names of \
            [device](docs/spec/device.md), 8; with another FTL than `page` also `ftl`, those of \
            [FTLs](docs/spec/ftl.md)";
        response_ns: "@distribution", "response times of all requests; null if there were none";
        read_response_ns: "@distribution", "of reads";
        write_response_ns: "@distribution", "of writes";
        unbalance_permille: "@distribution", "unbalance rate at dirty evictions, thousandths";
        block_erases: "@wear", "erases of the blocks, preconditioning included";
    ),
    object!("wear", "How erases are spread over the device's blocks.",
        blocks: "integer", "erase blocks";
        mean: "number", "mean erases of a block";
        std: "number", "population standard deviation";
    ),
    object!("profile", "A run over time, warm-up included.",
        period_ns: "integer", "length of a period; the first begins at time 0";
        periods: "[@profile period", "the periods";
        unit_busy_ns: "list of lists", "for each unit, how long it was busy in each period";
        unit_collecting_ns: "list of lists", "for each unit, how long with collections";
    ),
    object!("profile period", "What began in one period.",
        requests: "integer", "requests issued";
        response_ns_sum: "integer", "sum of their response times";
        response_ns_max: "integer", "the longest";
        flash_reads: "integer", "host reads";
        flash_programs: "integer", "programs for the host";
        collection_programs: "integer", "pages moved, and other programs of the FTL's own";
        erases: "integer", "erases";
        slc_programs "?": "integer", "those of `flash_programs` that went to the SLC cache; absent \
            if none did";
        slc_erases "?": "integer", "those of `erases` that were of SLC blocks; absent if none";
    ),
];

const HEAD: &str = "\
# Results

Results have one schema in JSON, Python, tables and reports. This page is generated from
`crates/destage-engine/src/result/schema.rs`; a test compares results and page with it. A key with a
question mark may be absent. A table of results (CSV, Parquet, DataFrame) has a row for each run:
its configuration and its [metrics](docs/reference/metrics.md).
";

const METRICS_HEAD: &str = "\
# Metrics

The columns of every table, by group; `--show`, `--sort`, Python, JSON and files use these names.
This page is generated from `crates/destage-engine/src/result`; a test compares it. The
[keys of results](docs/reference/results.md) have another page.

Compare writes by `flash_writes`: the pages written while the run was measured, and the change of
the pending writes, the pages that are dirty in the cache. `physical_writes` leaves the second part
out.
";

/// The page `docs/reference/results.md`.
pub fn page() -> String {
    let mut page = HEAD.to_string();
    for object in SCHEMA {
        let _ = write!(page, "\n## {}\n\n{}\n\n", capital(object.name), object.about);
        page.push_str("| key | holds | meaning |\n|---|---|---|\n");
        for field in object.fields {
            let mark = if field.may_be_absent { "?" } else { "" };
            let (key, holds, about) = (field.key, held(field.holds), field.about);
            let _ = writeln!(page, "| `{key}`{mark} | {holds} | {about} |");
        }
    }
    relative(&page)
}

/// The page `docs/reference/metrics.md`.
pub fn metrics_page() -> String {
    let mut page = METRICS_HEAD.to_string();
    for heading in METRIC_GROUPS {
        let _ = write!(page, "\n## {}\n\n", heading.title);
        if !heading.about.is_empty() {
            let _ = write!(page, "{}.\n\n", capital(heading.about));
        }
        page.push_str("| name | unit | better | definition |\n|---|---|---|---|\n");
        let members = METRICS.iter().filter(|metric| metric.group == heading.group);
        for metric in members {
            let unit = match metric.kind {
                MetricKind::Ratio => "0..1",
                _ => metric.unit,
            };
            let better = match metric.better {
                Better::Higher => "more",
                Better::Lower => "less",
                Better::Neither => "",
            };
            let _ = writeln!(page, "| `{}` | {unit} | {better} | {} |", metric.name, metric.about);
        }
    }
    relative(&page)
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
