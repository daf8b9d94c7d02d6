//! The map cache (`docs/spec/map-cache.md`): its laws, and devices drawn at random against the
//! reference model, without a cache in front. `device_reference` of the engine's tests has the
//! policies.

use super::drawn::{Draws, config_of, device_of, difference, run, vector, vector_of_another_ftl};
use serde_json::{Value, json};

/// As many vectors as `DESTAGE_MAP_CASES` says, from this seed on.
#[test]
fn devices_with_a_map_cache_agree_with_the_reference_model() {
    let cases = std::env::var("DESTAGE_MAP_CASES").ok().and_then(|cases| cases.parse().ok());
    let first = std::env::var("DESTAGE_MAP_SEED").ok().and_then(|seed| seed.parse().ok());
    let (cases, first) = (cases.unwrap_or(300), first.unwrap_or(1));
    let (mut agreed, mut waited) = (0, 0);
    for seed in first..first + cases {
        let Some(vector) = vector(seed, true) else { continue };
        if let Some(difference) = difference(&vector) {
            panic!("seed {seed}: {difference}\n{vector}");
        }
        agreed += 1;
        waited += u32::from(run(&vector).1.counters().map.is_some_and(|map| map.map_reads > 0));
    }
    assert!(agreed * 10 > cases * 9, "{agreed} of {cases} drawn devices are possible");
    assert!(waited * 2 > agreed as u32, "map pages are read in most runs: {waited} of {agreed}");
}

/// On one unit nothing waits: `ftls_on_a_drive` has that law.
#[test]
fn devices_of_another_ftl_agree_with_the_reference_model() {
    let (mut agreed, mut units) = (0, 0);
    for seed in 1..120 {
        let Some(vector) = vector_of_another_ftl(seed) else { continue };
        let Ok(config) = config_of(&vector) else { continue };
        if let Some(difference) = difference(&vector) {
            panic!("seed {seed}: {difference}\n{vector}");
        }
        agreed += 1;
        units += u32::from(config.units() > 1);
    }
    assert!(units > 40, "{units} of {agreed} devices have several units");
}

/// A device of planes with a unit each, all of it written, and these keys.
fn filled(planes: u64, logical_pages: u64, keys: &[(&str, Value)]) -> Value {
    let blocks = (2 * logical_pages).div_ceil(64 * planes) + 8;
    let mut device = json!({
        "channels": planes, "queue_level": "plane", "blocks_per_plane": blocks,
        "pages_per_block": 64, "logical_pages": logical_pages, "bus_ps_per_byte": 0,
        "precondition": "sequential",
    });
    for (key, value) in keys {
        device[*key] = value.clone();
    }
    device
}

/// Reads or writes of single pages at random, so many in flight.
fn closed(device: &Value, depth: u64, op: &str, requests: u64, seed: u64) -> Value {
    let mut d = Draws(seed);
    let bytes = device.get("page_bytes").and_then(Value::as_u64).unwrap_or(4096);
    let pages = device["logical_pages"].as_u64().expect("a number");
    let requests: Vec<Value> =
        (0..requests).map(|_| json!([0, op, d.below(pages) * bytes, bytes])).collect();
    let host = json!({"mode": "closed", "queue_depth": depth});
    json!({"device": device, "host": host, "cache": {"policy": "none"}, "requests": requests})
}

/// Law of the whole map: from an empty device on, a cache that holds it costs nothing.
#[test]
fn a_cache_of_the_whole_map_gives_the_run_without_one() {
    let mut compared = 0;
    for seed in 1..400 {
        let Some(mut with) = vector(seed, true) else { continue };
        let device = &with["device"];
        let entries =
            device["page_bytes"].as_u64().unwrap() / device["map_entry_bytes"].as_u64().unwrap();
        let low = device_of(device).expect("a good device").gc_low_pages;
        let logical = device["logical_pages"].as_u64().expect("a number");
        // Without a map the same F; cap is larger then, which dynamic allocation looks at.
        with["device"]["gc_low_pages"] = json!(low);
        with["device"]["alloc"] = json!("static");
        with["device"]["map_cache"] = json!((logical + entries) * 2 * 4096);
        let mut without = with.clone();
        let keys = without["device"].as_object_mut().expect("a table");
        keys.retain(|key, _| !key.starts_with("map_"));
        // High marks and preconditioning with them follow from F alone.
        let (Ok(_), Ok(_)) = (device_of(&with["device"]), device_of(&without["device"])) else {
            continue;
        };
        let ((with_map, device), (all, _)) = (run(&with), run(&without));
        let map = device.counters().map.expect("it has one");
        assert_eq!((map.map_reads, map.map_writes), (0, 0), "seed {seed}");
        if device.config().steps.gc_step_pages == destage_ssd::config::StepPages::WholeBlocks {
            assert_eq!(with_map, all, "seed {seed}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared} runs");
}

/// Law of one unit: everything is served in the FTL's order, without a gap.
#[test]
fn one_unit_serves_all_in_the_ftls_order() {
    let keys = [("map_cache", json!(4096)), ("map_entry_bytes", json!(64)), ("channels", json!(1))];
    let device = filled(1, 1024, &keys);
    for op in ["r", "w"] {
        let mut vector = closed(&device, 1, op, 500, 7);
        vector.as_object_mut().expect("an object").remove("host");
        let (completions, device) = run(&vector);
        let busy: u64 = device.counters().unit_busy_ns.iter().sum();
        assert_eq!(device.last_end(), busy, "{op}");
        let last = completions.iter().copied().max();
        assert!(last <= Some(busy));
        assert!(completions.is_sorted(), "one unit, one order");
    }
}

/// Closed forms: the hit ratio of uniform reads, and one request in flight.
#[test]
fn uniform_reads_hit_and_wait_as_the_closed_forms_say() {
    let (pages, read) = (1 << 14, 40_000_u64);
    for (granularity, policy, bytes) in [
        ("page", "lru", 16 * 4096),
        ("page", "slru", 48 * 4096),
        ("entry", "lru", (1 << 12) * 64),
        ("entry", "slru", (1 << 13) * 64),
    ] {
        let device = filled(
            8,
            pages,
            &[
                ("map_cache", json!(bytes)),
                ("map_entry_bytes", json!(64)),
                ("map_granularity", json!(granularity)),
                ("map_policy", json!(policy)),
                ("read_ns", json!([read])),
                ("firmware_read_ns", json!(10_000)),
            ],
        );
        let requests = 20_000;
        let (completions, device) = run(&closed(&device, 1, "r", requests, 3));
        let map = device.counters().map.expect("it has one");
        let (hits, misses) = (map.map_hits as f64, map.map_misses as f64);
        let expected = bytes as f64 / (pages as f64 * 64.0);
        // Five standard deviations; written-back items of the preconditioning are few.
        let error = 5.0 * (expected * (1.0 - expected) / requests as f64).sqrt();
        let ratio = hits / (hits + misses);
        assert!((ratio - expected).abs() < error + 0.01, "{granularity} {policy}: {ratio}");
        // Dirty items of the preconditioning leave at first: their reads and programs delay some.
        let mean = *completions.last().expect("requests") as f64 / requests as f64;
        let form = 50_000.0 + misses / (hits + misses) * read as f64;
        assert!((mean - form).abs() < 0.02 * form, "{granularity} {policy}: {mean}, not {form}");
    }
}

/// Set, operation, KiB of the cache, jobs, depth, requests a second.
type Measured = (String, String, u64, u64, u64, f64);

/// Rows of `map_cache.csv` of the measured data: set, operation, KiB, jobs, depth, requests/s.
fn measured() -> Option<Vec<Measured>> {
    let data = std::env::var("DESTAGE_DATA").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data").to_string()
    });
    let text = std::fs::read_to_string(format!("{data}/map_cache.csv")).ok()?;
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse().expect("a number");
        let rate = cells[5].parse().expect("a rate");
        (cells[0].into(), cells[1].into(), number(2), number(3), number(4), rate)
    };
    Some(text.lines().skip(1).map(row).collect())
}

/// Requests a second of 1 GiB of 4-KiB pages with a map of 8 bytes an entry.
fn rate(units: u64, read_ns: u64, host_ns: u64, map_kib: u64, in_flight: u64) -> f64 {
    let device = filled(
        units,
        1 << 18,
        &[
            ("map_cache", json!(map_kib << 10)),
            ("map_entry_bytes", json!(8)),
            ("read_ns", json!([read_ns])),
            ("firmware_read_ns", json!(host_ns)),
        ],
    );
    let requests = 6000;
    let (completions, _) = run(&closed(&device, in_flight, "r", requests, 11));
    requests as f64 * 1e9 / *completions.iter().max().expect("requests") as f64
}

/// The drive whose map cache was set to a size (March): the read time and the number of units are
/// fitted to the column where all of the map fits; the host's time for a request is the inverse of
/// what one job reaches at most. They predict the column where a quarter fits, up to 8 in flight.
/// From 16 on the host holds up the column without misses: the fit has too few units then, and its
/// prediction is too low, which is printed and not asserted.
#[test]
fn a_measured_map_cache_is_predicted_from_the_column_without_misses() {
    let Some(rows) = measured() else {
        eprintln!("skipped: no ../shared/data/map_cache.csv beside the repository");
        return;
    };
    // Left out: points near the host's limit, and those where interrupts are coalesced.
    let one_job = rows.iter().filter(|row| row.0 == "march" && row.3 == 1);
    let ceiling = one_job.map(|row| row.5).fold(0.0, f64::max);
    let points = |kib: u64| -> Vec<(u64, f64)> {
        let of = rows.iter().filter(|row| row.0 == "march" && row.1 == "randread" && row.2 == kib);
        let free = of.filter(|row| row.5 < 0.7 * ceiling * row.3 as f64 && row.5 < 300_000.0);
        free.map(|row| (row.3 * row.4, row.5)).collect()
    };
    let host_ns = (1e9 / ceiling) as u64;
    let alone = |kib: u64| points(kib).iter().find(|point| point.0 == 1).expect("it is there").1;
    let read_ns = (1e9 / alone(2048)) as u64 - host_ns;
    let errors = |units: u64, kib: u64, most: u64| -> Vec<(u64, f64)> {
        let many = points(kib).into_iter().filter(|&(n, _)| (4..=most).contains(&n));
        many.map(|(n, found)| (n, rate(units, read_ns, host_ns, kib, n) / found - 1.0)).collect()
    };
    let squares = |units: u64| errors(units, 2048, 32).iter().map(|(_, e)| e * e).sum::<f64>();
    let fitted = [16, 18, 20, 22, 24, 26, 28, 32, 40].map(|units| (squares(units), units));
    let (_, units) = fitted.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).expect("several");
    let one = rate(units, read_ns, host_ns, 512, 1) / alone(512) - 1.0;
    eprintln!("{units} units, reads of {read_ns} ns, host {host_ns} ns; one in flight {one:+.3}");
    assert!(one.abs() < 0.03, "one in flight: {one:+.3}");
    let errors = errors(units, 512, 32);
    eprintln!("in flight, error: {errors:.3?}");
    for (in_flight, error) in errors {
        assert!(in_flight > 8 || error.abs() < 0.15, "{in_flight} in flight: {error:+.3}");
    }
}
