//! A device behind a flash tier: its vectors are what the reference model says
//! (`DESTAGE_WRITE_VECTORS=1` writes them; `docs/spec/tiers.md` 6 and 9).

use crate::common::{device_input, holds, object};
use destage_reference::{run_tiers, ssd};
use serde_json::{Map, Value, json};

pub(crate) type Input = Map<String, Value>;

/// A vector: tier 1, tier 2, and what differs in its sections.
pub(crate) fn input(seed: u64, tier1: (&str, u64), tier2: Value, differs: Value) -> Input {
    let differs = object(differs);
    let section = |key: &str| differs.get(key).cloned().unwrap_or_else(|| json!({}));
    let mut device = object(json!({"blocks_per_plane": 8, "logical_pages": 160}));
    device.extend(object(section("device")));
    let mut input = device_input("", seed, device.into(), section("cache"));
    let trims = differs.contains_key("trims");
    // Every ninth request is a trim, where there are any.
    for (at, request) in input["requests"].as_array_mut().expect("a list").iter_mut().enumerate() {
        let offset = request[2].as_u64().expect("a number") % (96 * 4096);
        request[2] = offset.into();
        if trims && at % 9 == 8 {
            request[1] = "t".into();
        }
        if trims && at % 40 == 39 {
            request[1] = "f".into();
        }
    }
    let tier2 = object(tier2);
    let text = |key: &str, default: &str| {
        tier2.get(key).map_or(default, |value| value.as_str().expect("a text")).to_string()
    };
    let mut name = format!(
        "{} over {}, {}, {}",
        tier1.0,
        text("policy", ""),
        text("admit", "always"),
        text("promote", "copy")
    );
    if let Some(more) = differs.get("name") {
        name = format!("{name}, {}", more.as_str().expect("a text"));
    }
    input.extend(object(json!({
        "name": name, "policy": tier1.0, "params": section("params"), "frames": tier1.1,
        "tier2": tier2, "host": section("host"), "backing": section("backing"),
    })));
    if let Some(pages) = differs.get("slot_pages") {
        input.insert("slot_pages".to_string(), pages.clone());
    }
    input
}

fn filters_and_promotions() -> Vec<Input> {
    let admits = [
        ("always", json!({})),
        ("nth", json!({"n": 2})),
        ("probability", json!({"p": 0.4, "seed": 3})),
        ("tinylfu", json!({"threshold": 2})),
        ("larc", json!({"admit_while_filling": true})),
    ];
    let mut inputs = Vec::new();
    for (seed, (admit, params)) in (1..).zip(admits) {
        let tier2 = json!({"policy": "lru", "frames": 24, "admit": admit, "admit_params": params});
        inputs.push(input(seed, ("lru", 8), tier2, json!({})));
    }
    for (seed, tier1, below, frames) in
        [(6, "arc", "s3-fifo", 20), (7, "s3-fifo", "sieve", 30), (8, "clock", "fifo", 16)]
    {
        let tier2 = json!({"policy": below, "frames": frames, "promote": "move"});
        inputs.push(input(seed, (tier1, 6), tier2, json!({})));
    }
    let inserted = json!({"policy": "arc", "frames": 20, "offer": "inserted", "admit": "nth"});
    inputs.push(input(9, ("lru", 6), inserted, json!({"name": "inserted"})));
    let dirty = json!({"policy": "lru", "frames": 16, "admit": "larc", "admit_dirty": "always"});
    inputs.push(input(10, ("2q", 9), dirty, json!({"name": "dirty pages always"})));
    inputs
}

fn times_and_trims() -> Vec<Input> {
    let lru = |admit: &str| json!({"policy": "lru", "frames": 18, "admit": admit});
    let backing = json!({"read_ns": 400_000, "write_ns": 250_000});
    let mut inputs = Vec::new();
    for (seed, wait) in (20..).zip(["program", "transfer", "none", "staged"]) {
        let cache = json!({"evict_wait": wait, "hit_ns": 700, "staging_pages": 2});
        let differs = json!({"name": wait, "cache": cache, "backing": backing});
        inputs.push(input(seed, ("lru", 7), lru("nth"), differs));
    }
    let data = json!({"read_wait": "data"});
    let fetch = json!({"fetch_on_write_miss": true, "flush_at_end": true});
    let differs = json!({"name": "data, fetched", "cache": data, "params": fetch});
    inputs.push(input(24, ("lirs", 7), lru("always"), differs));
    let drop = json!({"trim": "drop", "flush": "drain"});
    for (seed, tier1, promote, pages) in
        [(25, "lru", "copy", 1), (26, "arc", "move", 1), (27, "cflru", "copy", 2)]
    {
        let tier2 = json!({"policy": "lru", "frames": 18, "promote": promote});
        let differs = json!({
            "name": "trims", "trims": true, "host": drop, "slot_pages": pages, "backing": backing,
        });
        inputs.push(input(seed, (tier1, 7), tier2, differs));
    }
    let staged = json!({"evict_wait": "staged", "staging_pages": 1});
    let differs = json!({"name": "trims, staged", "trims": true, "host": drop, "cache": staged});
    inputs.push(input(28, ("lru", 7), lru("larc"), differs));
    let differs = json!({"name": "trims ignored", "trims": true});
    inputs.push(input(29, ("lru", 7), lru("nth"), differs));
    inputs
}

fn devices() -> Vec<Input> {
    let tier2 = || json!({"policy": "lru", "frames": 40, "admit": "nth"});
    let of = |seed, name: &str, device: Value| {
        input(seed, ("lru", 10), tier2(), json!({"name": name, "device": device}))
    };
    vec![
        of(40, "reads first", json!({"sched": "read_first"})),
        of(41, "collection in the background", json!({"gc_mode": "background"})),
        of(42, "shared bus", json!({"bus": "shared", "queue_level": "channel"})),
        of(43, "dynamic allocation", json!({"alloc": "dynamic"})),
        of(44, "a link and a buffer", json!({"link_ps_per_byte": 2000, "buffer_pages": 4})),
    ]
}

#[test]
fn vectors_are_what_the_model_says() {
    let inputs = filters_and_promotions().into_iter().chain(times_and_trims()).chain(devices());
    let lines: Vec<String> = inputs
        .map(|mut input| {
            let name = input["name"].clone();
            let outcome = ssd::simulate_tiers(&Value::Object(input.clone()));
            input.extend(object(outcome.unwrap_or_else(|error| panic!("{name}: {error}"))));
            Value::Object(input).to_string()
        })
        .collect();
    holds("tiers-device.jsonl", &lines);
}

/// The laws that a device adds: its programs and reads are those of tier 2, a page each.
#[test]
fn the_device_reads_and_programs_what_tier_2_does() {
    let mut seen = [0; 4];
    for input in filters_and_promotions().into_iter().chain(times_and_trims()).chain(devices()) {
        let results = ssd::simulate_tiers(&Value::Object(input.clone())).expect("a run");
        let count = |name: &str| results["counters"][name].as_u64().expect("a count");
        let pages = input.get("slot_pages").map_or(1, |pages| pages.as_u64().expect("pages"));
        assert_eq!(count("flash_programs"), pages * count("tier2_writes"), "{}", input["name"]);
        // What a buffer still holds is read there.
        assert!(count("flash_reads") <= pages * count("tier2_reads"), "{}", input["name"]);
        for (sum, name) in
            seen.iter_mut().zip(["gc_moves", "tier2_evictions", "trim_dirty_drops", "tier2_drops"])
        {
            *sum += count(name);
        }
        // Decisions do not depend on the device, if nothing is trimmed.
        let list = input["requests"].as_array().expect("a list");
        if list.iter().all(|request| request[1] != "t") {
            let steps = list.iter().flat_map(|request| {
                let number = |at: usize| request[at].as_u64().expect("a number");
                let op = match request[1].as_str() {
                    Some("w") => destage_reference::Op::Write,
                    _ => destage_reference::Op::Read,
                };
                let pages = number(2) / 4096..(number(2) + number(3)).div_ceil(4096);
                pages.map(move |page| destage_reference::Step::Access(op, page)).collect::<Vec<_>>()
            });
            let alone = run_tiers(
                input["policy"].as_str().expect("a policy"),
                input["frames"].as_u64().expect("frames") as usize,
                &object(input["params"].clone()),
                &object(input["tier2"].clone()),
                &steps.collect::<Vec<_>>(),
            );
            for (name, value) in alone.expect("a known policy").counters {
                assert_eq!(count(name), value, "{}: {name}", input["name"]);
            }
        }
    }
    assert!(seen.iter().all(|&sum| sum > 10), "{seen:?}");
}
