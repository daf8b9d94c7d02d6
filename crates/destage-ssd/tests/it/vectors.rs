//! The conformance vectors of the device without a cache (`docs/spec/device.md` 7.1, 7.2 and 10):
//! every completion and every counter.

use destage_core::Nanos;
use destage_ssd::config::{AddressMode, HostMode, Table};
use destage_ssd::{Device, DeviceConfig, DeviceCounters, DriveLpn, Ftl, HostConfig, PendingTime};
use serde_json::{Value as Json, json};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

fn vectors() -> Vec<Json> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/device.jsonl");
    let text = std::fs::read_to_string(path).expect("a shipped file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn table(json: &Json) -> Table {
    serde_json::from_value(json.clone()).expect("a table of numbers, words and lists")
}

struct Run {
    completions_ns: Vec<Nanos>,
    counters: Json,
}

/// A host without a cache: a request completes at the largest end of its pages.
fn run(vector: &Json) -> Run {
    let config = DeviceConfig::from_table(&table(&vector["device"])).expect("a good device");
    assert_eq!(config.address_mode, AddressMode::Wrap);
    let host = vector.get("host").map(table).unwrap_or_default();
    let host = HostConfig::from_table(&host, &config).expect("a good host");
    let mut device = Device::new(&config);
    let valid_before = valid_pages(&device);
    let mut outstanding = BinaryHeap::new();
    let mut issue = 0;
    let mut requests = Vec::new();
    let mut accesses = 0u64;
    for request in vector["requests"].as_array().expect("a list") {
        let number = |i: usize| request[i].as_u64().expect("an integer");
        let now = match host.mode {
            HostMode::Open => number(0),
            HostMode::Closed if outstanding.len() < host.queue_depth as usize => 0,
            HostMode::Closed => {
                let Reverse(first): Reverse<Nanos> = outstanding.pop().expect("not empty");
                issue.max(first)
            }
        };
        issue = now;
        device.advance(now);
        let write = request[1] == "w";
        let (offset, length, page) = (number(2), number(3), u64::from(config.page_bytes));
        let pages =
            if length == 0 { 0..0 } else { offset / page..(offset + length - 1) / page + 1 };
        let mut end = PendingTime::at(now);
        for lpn in pages {
            accesses += 1;
            let lpn = DriveLpn((lpn % u64::from(config.logical_pages)) as u32);
            let served = if write { Some(device.write(lpn)) } else { device.read(lpn) };
            if let Some(served) = served {
                end = device.queues().times().later(end, served.end);
            }
        }
        if host.mode == HostMode::Closed {
            outstanding.push(Reverse(end.known().expect("first come, first served")));
        }
        requests.push((now, write, end));
    }
    device.finish();
    device.ftl().check();
    assert_eq!(device.check_conservation(), Ok(()));
    let resolved = device.queues().times().settle();
    let ends = requests.into_iter().map(|(now, write, end)| (now, write, resolved.ns(end)));
    let requests: Vec<_> = ends.collect();
    let counters = counters(&requests, accesses, &device.counters());
    conserves(&counters, &device, &config, valid_before);
    Run { completions_ns: requests.iter().map(|&(_, _, end)| end).collect(), counters }
}

fn counters(requests: &[(Nanos, bool, Nanos)], accesses: u64, device: &DeviceCounters) -> Json {
    let responses = |writes: bool| -> Vec<Nanos> {
        let of_kind = requests.iter().filter(|request| request.1 == writes);
        of_kind.map(|(now, _, end)| end - now).collect()
    };
    let (reads, writes) = (responses(false), responses(true));
    let largest = |responses: &[Nanos]| responses.iter().copied().max().unwrap_or(0);
    let mut counters = json!(device);
    let own = json!({
        "requests": requests.len(),
        "page_accesses": accesses,
        "read_requests": reads.len(),
        "read_response_ns_sum": reads.iter().sum::<Nanos>(),
        "read_response_ns_max": largest(&reads),
        "write_requests": writes.len(),
        "write_response_ns_sum": writes.iter().sum::<Nanos>(),
        "write_response_ns_max": largest(&writes),
        "read_misses": device.flash_reads,
        "makespan_ns": requests.iter().map(|request| request.2).max(),
    });
    let object = counters.as_object_mut().expect("an object");
    object.extend(own.as_object().expect("an object").clone());
    counters
}

fn valid_pages(device: &Device) -> u64 {
    device.ftl().flash_state().mapped_pages
}

/// Nothing is lost: what the units did is what the host and the collections asked for.
fn conserves(counters: &Json, device: &Device, config: &DeviceConfig, valid_before: u64) {
    let count = |key: &str| counters[key].as_u64().expect("an integer");
    let data = u64::from(config.data_pages());
    let programs = count("flash_programs") + count("gc_moves");
    if config.summary_page {
        let sealed = count("summary_programs") * data;
        let open = data * u64::from(device.geometry().planes);
        assert!(programs < sealed + open, "every block that is full has its summary page");
    } else {
        assert_eq!(count("summary_programs"), 0);
    }
    assert_eq!(count("gc_runs"), count("erases"));
    let valid_after = valid_pages(device);
    assert!(valid_after >= valid_before, "a page that was written stays readable");
    assert!(valid_after - valid_before <= count("flash_programs"));
}

#[test]
fn every_vector_without_a_cache_has_every_completion_and_counter() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 27);
    for vector in vectors {
        let name = &vector["name"];
        let Run { completions_ns, counters } = run(&vector);
        assert_eq!(json!(completions_ns), vector["completions_ns"], "{name}");
        for (key, expected) in vector["counters"].as_object().expect("an object") {
            // Without a cache nothing hits and nothing is evicted: the host counts nothing there.
            let got = counters.get(key).cloned().unwrap_or(json!(0));
            assert_eq!(got, *expected, "{name}: {key}");
        }
    }
}
