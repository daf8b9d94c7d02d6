//! Results of real runs: whole, of the schema and of no more, and in agreement with themselves.

use super::metric::Number;
use super::metrics::METRICS;
use super::schema::{SCHEMA, metrics_page, page};
use super::{ResultSet, RunResult, TraceIdentity};
use crate::options::{RunOptions, Trim};
use crate::pin::{Addresses, Volume};
use crate::run::{Mounted, compare, run};
use crate::series::Series;
use crate::sizes::Frames;
use crate::spec::PolicySpec;
use crate::tier_options::TierOptions;
use destage_core::Op;
use destage_replay::control::Control;
use destage_replay::input::Input;
use destage_replay::observe::Unobserved;
use destage_replay::timed::Workload;
use destage_replay::warmup::Warmup;
use destage_ssd::{CacheConfig, Drive};
use destage_trace::ChainMark;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// 1200 requests that come back to a few hundred pages, half of them writes.
fn requests() -> Vec<(u64, Op, u64, u64)> {
    let request = |k: u64| {
        let op = if k.wrapping_mul(0x9e37_79b9) % 7 < 4 { Op::Write } else { Op::Read };
        let page = (k * k * 31 + k * 17) % 397;
        (k * 200_000, op, page * 4096, 4096 * (1 + k % 3))
    };
    (0..1200).map(request).collect()
}

fn workload() -> (Drive, Workload) {
    let drive = Drive::preset("small").unwrap();
    let workload = Workload::new(requests(), &drive.device).unwrap();
    (drive, workload)
}

fn mounted(drive: &Drive, ftl: &str) -> Arc<Mounted> {
    let drive = drive.with_ftl(ftl).unwrap();
    Arc::new(Mounted {
        name: drive.name.clone(),
        record: drive.to_json(),
        device: destage_ssd::Device::prepare(&drive.device, None, &mut |_, _| true)
            .unwrap()
            .0
            .into(),
        cache: CacheConfig {
            policy: None,
            frames: 0,
            hit_ns: drive.cache.hit_ns,
            evict_wait: drive.cache.evict_wait,
            staging_pages: drive.cache.staging_pages,
            read_wait: drive.cache.read_wait,
            params: destage_ssd::config::Table::new(),
        },
        host: drive.host,
        placement: drive.placed().then(|| drive.device.placement_label()),
    })
}

fn runs(workload: &Workload, policies: &str, options: &RunOptions) -> Vec<RunResult> {
    let specs = PolicySpec::parse_list(policies).unwrap();
    let frames = [Frames { frames: 40, given: "40p".into() }];
    compare(&workload.input(), &specs, &frames, options, 1, &Control::default()).unwrap()
}

fn set(runs: Vec<RunResult>) -> ResultSet {
    let trace = TraceIdentity {
        sources: vec!["made".into()],
        fingerprint: "0".repeat(32),
        format: "synthetic".into(),
        page_bytes: 4096,
        requests: 1200,
        accesses: 2400,
        unique_pages: 399,
        duration_ns: Some(1),
        options: json!({}),
    };
    ResultSet { reading: Some(json!({})), ..ResultSet::new(trace, runs) }
}

/// Notes every key of the schema that a value has; a key that the schema has not is an error.
fn walk(value: &Value, name: &str, seen: &mut BTreeSet<(String, String)>) {
    let Some(entries) = value.as_object() else {
        assert!(value.is_null(), "{name}: {value}");
        return;
    };
    let object = SCHEMA.iter().find(|object| object.name == name).expect(name);
    for field in object.fields {
        let Some(found) = entries.get(field.key) else {
            assert!(field.may_be_absent, "{name}: {} is missing", field.key);
            continue;
        };
        seen.insert((name.into(), field.key.into()));
        if let Some(inner) = field.holds.strip_prefix("[@") {
            found.as_array().unwrap().iter().for_each(|entry| walk(entry, inner, seen));
        } else if let Some(inner) = field.holds.strip_prefix('@') {
            walk(found, inner, seen);
        }
    }
    if name != "series period" {
        let known: Vec<&str> = object.fields.iter().map(|field| field.key).collect();
        let written: Vec<&str> = entries.keys().map(String::as_str).collect();
        let ordered: Vec<&str> =
            known.into_iter().filter(|key| entries.contains_key(*key)).collect();
        assert_eq!(written, ordered, "{name}: its keys, in their order");
    }
}

/// A flash tier below the cache, with every option given.
fn tiered() -> RunOptions {
    let tiers = json!({
        "tier2": "lru", "tier2_cache": "60p", "tier2_frames": 60, "admit": "nth[n=2]",
        "offer": "evicted", "promote": "copy", "admit_dirty": "always",
        "backing_read_ns": 9, "tier2_read_ns": 5,
        "tier3": "lru", "tier3_cache": "80p", "tier3_frames": 80, "tier3_admit": "nth[n=2]",
        "tier3_offer": "evicted", "tier3_promote": "copy", "tier3_admit_dirty": "ask",
        "tier3_read_ns": 7,
    });
    RunOptions { tiers: serde_json::from_value(tiers).unwrap(), ..RunOptions::default() }
}

/// The same with pinned pages in both tiers.
fn pinned(workload: &Workload) -> RunOptions {
    let mut options = tiered();
    (options.tiers.pin, options.tiers.tier2_pin) = (Some("0-1MiB".into()), Some("0-1MiB".into()));
    let volume = Volume { name: "0".into(), base_lpn: 0, span_pages: 8 };
    let addresses = Addresses { volumes: vec![volume], page_bytes: 4096, wrapped: 0 };
    options.tiers.find_pins(&addresses, workload.input().columns.lpns).unwrap();
    options
}

/// The same over a disk.
fn over_a_disk(options: &RunOptions) -> RunOptions {
    let mut options = options.clone();
    options.tiers.backing = Some("disk".into());
    // A third tier would be offered the pages.
    options.tiers = TierOptions {
        tier2_clean: Some("dirty[max=0]".into()),
        tier2: options.tiers.tier2,
        tier2_cache: options.tiers.tier2_cache,
        tier2_frames: options.tiers.tier2_frames,
        backing: options.tiers.backing,
        ..TierOptions::default()
    };
    options
}

/// Runs with prefix semantics: chains of three blocks, each block 16 tokens.
fn runs_of_chains(drive: &Drive) -> Vec<RunResult> {
    let read = |k: u64| (k, Op::Read, (k * 7 % 50) * 4096, 4096);
    let requests: Vec<_> = (0..1800).map(read).collect();
    let workload = Workload::new(requests, &drive.device).unwrap();
    let marks: Vec<_> = (0..1800).map(|k| ChainMark::new(16, k % 3 == 0)).collect();
    let input = Input { chains: &marks, ..workload.input() };
    let tiers = serde_json::from_value(json!({
        "kv": true, "touch": "tail-first", "ttl": "1h", "token_ns": 1000, "double_tokens": 64,
    }))
    .unwrap();
    let options = RunOptions { tiers, ..RunOptions::default() };
    let frames = [Frames { frames: 60, given: "60p".into() }];
    let specs = PolicySpec::parse_list("lru").unwrap();
    compare(&input, &specs, &frames, &options, 1, &Control::default()).unwrap()
}

#[test]
fn results_have_the_keys_of_the_schema_in_its_order_and_the_schema_no_others() {
    let (drive, workload) = workload();
    let cost = crate::cost::Cost::parse("read=1,write=118").ok();
    let plain = RunOptions { cost, device_pages: Some(1 << 20), ..RunOptions::default() };
    let mut without = runs(&workload, "lru,bpac,acr-h[file_pages=none]", &plain);
    let drops = RunOptions { trim: Some(Trim::Drop), ..plain.clone() };
    without.extend(runs(&workload, "lru", &drops));
    without.extend(runs(&workload, "lru", &tiered()));
    without.extend(runs(&workload, "lru", &pinned(&workload)));
    without.extend(runs_of_chains(&drive));
    // Times of writes are of a run with a device, where tier 2 has none of its own.
    let RunOptions { mut tiers, .. } = tiered();
    (tiers.tier2_read_ns, tiers.tier3_write_ns, tiers.backing_write_ns) = (None, Some(7), Some(9));
    let behind = RunOptions {
        drive: Some(mounted(&drive, "page")),
        profile: true,
        tiers,
        ..RunOptions::default()
    };
    let over_disk = runs(&workload, "lru", &over_a_disk(&behind));
    let behind = [runs(&workload, "lru", &behind), over_disk].concat();
    let mut series = Series::new(500);
    let (lru, frames) =
        (PolicySpec::parse("arc").unwrap(), Frames { frames: 40, given: "40p".into() });
    let control = Control::default();
    let mut one = run(&workload.input(), &lru, &frames, &plain, &control, &mut series).unwrap();
    one.series = series.finish();
    one.config.source_sha256 = Some("0f".into());
    without.push(one);
    let with = RunOptions {
        drive: Some(mounted(&drive, "dftl")),
        profile: true,
        warmup: Warmup::Auto(None),
        ..RunOptions::default()
    };
    let with =
        ResultSet { device: Some(drive.to_json()), ..set(runs(&workload, "lru,cflru", &with)) };
    let mark = json!({"baseline": "lru", "best": ["waf"], "better": ["waf"], "worse": []});
    let with = ResultSet {
        commit: Some("0f".into()),
        command: Some("destage".into()),
        baseline: Some("lru".into()),
        marks: Some(json!([mark, mark])),
        ..with
    };
    let ahead = runs(&workload, "lru,none", &writing(&drive, RunOptions::default()));
    let mut seen = BTreeSet::new();
    let mut interface = Vec::new();
    for keys in ["slc_blocks=1;slc_pages_per_block=1;slc_policy=fold", "handles=2;placement=sepbit"]
    {
        let drive = Drive::from_spec(&format!("small[precondition=none;{keys}]")).unwrap();
        let drive = Some(mounted(&drive, "page"));
        let options = RunOptions { drive, profile: true, ..RunOptions::default() };
        interface.extend(runs(&workload, "lru", &options));
    }
    for set in [set(without), with, set(ahead), set(interface), set(behind)] {
        let text = set.to_json();
        walk(&serde_json::from_str(&text).unwrap(), "result set", &mut seen);
        let again = ResultSet::from_json(&text).unwrap();
        assert_eq!(again.to_json(), text, "what is read is what was written");
    }
    for object in SCHEMA {
        for field in object.fields {
            let key = (object.name.to_string(), field.key.to_string());
            assert!(seen.contains(&key), "no result has {key:?}");
            let is_metric = METRICS.iter().any(|metric| metric.name == field.key);
            assert!(!field.about.is_empty() || is_metric, "{key:?} has no definition");
        }
    }
}

/// Set `DESTAGE_WRITE_DOCS` to write the page.
#[test]
fn the_pages_on_results_and_metrics_are_what_the_schema_says() {
    for (name, page) in [("results", page()), ("metrics", metrics_page())] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");
        let path = format!("{folder}/{name}.md");
        if std::env::var_os("DESTAGE_WRITE_DOCS").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap();
        for (written, made) in written.lines().zip(page.lines()) {
            assert_eq!(written, made, "run this test with DESTAGE_WRITE_DOCS=1 to write {path}");
        }
        assert_eq!(written, page);
    }
}

#[test]
fn flash_writes_are_the_same_whether_dirty_pages_are_flushed_at_the_end_or_pending() {
    let (drive, workload) = workload();
    let drives = [None, Some(mounted(&drive, "page"))];
    let warmups = [Warmup::None, Warmup::Auto(None)];
    for (drive, warmup) in drives.into_iter().flat_map(|d| warmups.map(|w| (d.clone(), w))) {
        let options = RunOptions { drive, warmup, ..RunOptions::default() };
        let flushed = RunOptions { flush_at_end: true, ..options.clone() };
        let policies = "lru,cflru,arc,bplru,fab";
        for (owes, paid) in
            runs(&workload, policies, &options).iter().zip(runs(&workload, policies, &flushed))
        {
            let (dirty, none) = (owes.pending.unwrap(), paid.pending.unwrap());
            assert!(dirty.end_pages > 0, "{}", owes.label());
            assert_eq!(none.end_pages, 0);
            assert_eq!(dirty.start_pages, none.start_pages);
            assert_eq!(dirty.start_pages > Some(0), warmup != Warmup::None, "{}", owes.label());
            assert_eq!(owes.flash_writes(), paid.flash_writes(), "{}", owes.label());
            assert_eq!(dirty.end_pages, paid.counters.end_flushes);
        }
    }
}

#[test]
fn windows_add_up_to_the_run_whoever_goes_first() {
    let (drive, workload) = workload();
    let mut timed = mounted(&drive, "page").as_ref().clone();
    for warmup in ["none", "10%", "full"] {
        let warmup = Warmup::parse(warmup).unwrap();
        for drive in [None, Some(Arc::new(timed.clone()))] {
            let options = RunOptions { warmup, drive, ..RunOptions::default() };
            for run in runs(&workload, "lru,fab", &options) {
                let windows = run.windows.as_ref().expect("over 600 requests count");
                let sum = |list: &[u64]| list.iter().sum::<u64>();
                assert_eq!(sum(&windows.accesses), run.counters.accesses());
                assert_eq!(sum(&windows.hits), run.counters.hits());
                assert_eq!(sum(&windows.physical_reads), run.counters.physical_reads);
                assert_eq!(sum(&windows.physical_writes), run.counters.physical_writes);
                let Some(timing) = &run.timing else { continue };
                let counters = &timing.counters;
                let times = windows.response_ns_sum.as_deref().unwrap();
                assert_eq!(sum(&windows.requests), counters.requests);
                assert_eq!(
                    sum(times),
                    counters.read_response_ns_sum + counters.write_response_ns_sum
                );
                // What the drive does after the last request is in no window; here it has nothing
                // left to do.
                let flash = windows.flash.as_ref().expect("a run with a device");
                let device = &counters.device;
                assert_eq!(sum(&flash.host_programs), device.flash_programs);
                assert_eq!(sum(&flash.programs), device.programs_of_all_kinds());
                assert_eq!(sum(&flash.erases), device.erases);
                assert_eq!(sum(&flash.write_backs), counters.dirty_evictions);
                assert_eq!(sum(&flash.dirty_victims), run.counters.dirty_victims());
                assert_eq!(sum(&flash.eviction_wait_ns_sum), counters.eviction_wait_ns_sum);
                assert_eq!(sum(&flash.unbalance_samples), counters.unbalance_samples);
                for (metric, share) in [("response_ns_p99", 0.01), ("response_ns_p50", 0.5)] {
                    let beyond: f64 = windows.requests_beyond[metric].iter().sum();
                    let expected = share * counters.requests as f64;
                    assert!((beyond - expected).abs() < 0.05, "{metric}: {beyond} {expected}");
                }
            }
        }
        timed.host.queue_depth = 4;
        timed.host.mode = destage_ssd::config::HostMode::Closed;
    }
}

/// Value of a metric of a run.
fn value(run: &RunResult, name: &str) -> Option<Number> {
    METRICS.iter().find(|metric| metric.name == name).expect(name).value(run)
}

#[test]
fn a_cache_that_has_evicted_was_full_though_whole_blocks_have_left_it() {
    let (drive, workload) = workload();
    let drive = Some(mounted(&drive, "page"));
    for warm in 500..520 {
        let warmup = Warmup::Requests(warm);
        let options = RunOptions { warmup, drive: drive.clone(), ..RunOptions::default() };
        for run in runs(&workload, "fab", &options) {
            assert_eq!(run.windows.expect("over 600 requests").filled_after, Some(0.0), "{warm}");
        }
    }
}

#[test]
fn what_is_refused_is_told_of_policies_that_may_refuse() {
    let (_, workload) = workload();
    let runs = runs(&workload, "lru,larc", &RunOptions::default());
    let [lru, larc] = &runs[..] else { panic!("two runs") };
    assert_eq!(value(lru, "refused"), None);
    assert!(larc.counters.bypasses > 0);
    assert_eq!(value(larc, "refused"), Some(Number::Count(larc.counters.bypasses)));
}

#[test]
fn what_an_ftl_counts_and_the_waf_of_a_handle_are_told() {
    let (drive, workload) = workload();
    let options = RunOptions { drive: Some(mounted(&drive, "dftl")), ..RunOptions::default() };
    let run = runs(&workload, "lru", &options).remove(0);
    let device = &run.timing.as_ref().expect("a drive").counters.device;
    let reads = device.ftl.as_ref().and_then(|ftl| ftl.get("translation_reads"));
    assert!(reads.is_some_and(|reads| reads > 0));
    assert_eq!(value(&run, "translation_reads"), reads.map(Number::Count));

    let drive = Drive::from_spec("small[precondition=none;handles=2;placement=sepbit]").unwrap();
    let options = RunOptions { drive: Some(mounted(&drive, "page")), ..RunOptions::default() };
    let run = runs(&workload, "lru", &options).remove(0);
    let found = ["waf_handle_0", "waf_handle_1"].map(|name| value(&run, name));
    // Nothing was collected: each program of the host is one program.
    assert!(found.contains(&Some(Number::Real(1.0))), "{found:?}");
}

#[test]
fn pages_that_are_written_and_stay_are_no_dirty_victims() {
    let (drive, workload) = workload();
    let options = RunOptions { drive: Some(mounted(&drive, "page")), ..RunOptions::default() };
    let runs = runs(&workload, "lru,ace[base=lru;writes=4]", &options);
    let [lru, ace] = &runs[..] else { panic!("two runs") };
    assert_eq!(lru.counters.dirty_victims(), lru.counters.destaged_pages);
    let stay = ace.policy_counters["batch_writes"];
    assert!(stay > 100, "there are batches: {stay}");
    assert_eq!(ace.counters.dirty_victims() + stay, ace.counters.destaged_pages);
    assert_eq!(ace.counters.evictions, lru.counters.evictions, "the same victims");
    assert!(2 * ace.counters.dirty_victims() < lru.counters.dirty_victims());
}

/// In front of this drive, with a background writer.
fn writing(drive: &destage_ssd::Drive, options: RunOptions) -> RunOptions {
    let mut timed = mounted(drive, "page");
    let host = [("writer", "trickle")].map(|(key, word)| (key.to_string(), word.into()));
    let mounted = std::sync::Arc::get_mut(&mut timed).unwrap();
    mounted.host =
        destage_ssd::HostConfig::from_table(&host.into_iter().collect(), &drive.device).unwrap();
    RunOptions { drive: Some(timed), ..options }
}

#[test]
fn idle_writes_are_counted_apart_and_in_the_flash_writes_and_the_windows() {
    let (drive, workload) = workload();
    for warmup in ["none", "25%", "full"] {
        let warmup = Warmup::parse(warmup).unwrap();
        let options = RunOptions { warmup, check: true, ..RunOptions::default() };
        let timed = RunOptions { drive: Some(mounted(&drive, "page")), ..options.clone() };
        let [alone] = &runs(&workload, "lru", &timed)[..] else { panic!("one run") };
        let timed = writing(&drive, options);
        let [ahead, none] = &runs(&workload, "lru,none", &timed)[..] else { panic!("two runs") };
        assert_eq!((alone.counters.idle_writes, none.counters.idle_writes), (None, None));
        let (counters, written) = (&ahead.counters, ahead.counters.idle_writes.unwrap());
        assert!(written > 50, "{written}");
        let of_the_drive = &ahead.timing.as_ref().unwrap().counters;
        assert_eq!(of_the_drive.idle_writes, Some(written));
        assert_eq!(counters.physical_writes, counters.destaged_pages + written);
        assert_eq!(counters.physical_writes, of_the_drive.device.flash_programs);
        assert_eq!(counters.evictions, alone.counters.evictions, "the same victims");
        assert!(counters.dirty_victims() < alone.counters.dirty_victims());
        let writes = |run: &RunResult| run.flash_writes().unwrap();
        // What was dirty when counting began may have been written in either part.
        assert!(writes(ahead) + 40 >= writes(alone));
        let windows = ahead.windows.as_ref().unwrap();
        assert_eq!(windows.physical_writes.iter().sum::<u64>(), counters.physical_writes);
        let flash = windows.flash.as_ref().unwrap();
        assert_eq!(flash.host_programs.iter().sum::<u64>(), of_the_drive.device.flash_programs);
    }
}

#[test]
fn a_writer_and_a_policy_without_an_order_are_refused_by_name() {
    let (drive, workload) = workload();
    let options = writing(&drive, RunOptions::default());
    let specs = PolicySpec::parse_list("lru,arc").unwrap();
    let frames = [Frames { frames: 40, given: "40p".into() }];
    let refused = compare(&workload.input(), &specs, &frames, &options, 1, &Control::default());
    assert_eq!(
        refused.unwrap_err().to_string(),
        "host: writer = trickle excludes arc, which has no eviction order: it needs one of \
         lru, fifo, clock, cflru, lru-wsr, clock-sweep"
    );
}

#[test]
fn a_policy_does_not_differ_from_itself_and_differs_from_one_that_misses_more() {
    let (_, workload) = workload();
    let text = set(runs(&workload, "lru,lru,min", &RunOptions::default())).to_json();
    let set: Value = serde_json::from_str(&text).unwrap();
    let misses = &set["differences"]["groups"][0]["metrics"]["misses"];
    assert_eq!(misses[0], json!([0.0, 0.0]));
    assert!(misses[1][1].as_f64().unwrap() < 0.0, "MIN misses less: {misses}");
    assert_eq!(misses[1], misses[2]);
    let mut unobserved = Unobserved;
    let lru = PolicySpec::parse("lru").unwrap();
    let frames = Frames { frames: 40, given: "40p".into() };
    let (options, control) = (RunOptions::default(), Control::default());
    let alone = run(&workload.input(), &lru, &frames, &options, &control, &mut unobserved).unwrap();
    assert!(super::Differences::of(&[alone]).is_none());
}
