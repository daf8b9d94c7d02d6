//! Devices drawn at random over all options, run by the reference model and by the product.

use destage_core::Op;
use destage_reference::ssd::simulate;
use destage_ssd::config::{HostMode, Table};
use destage_ssd::{
    Command, Device, DeviceConfig, DriveLpn, HostConfig, PendingTime, Served, WriteHint,
};
use serde_json::{Map, Value, json};

/// SplitMix64.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    pub(crate) fn among<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize].clone()
    }
}

fn table(value: &Value) -> Table {
    serde_json::from_value(value.clone()).expect("a table")
}

pub(crate) fn device_of(device: &Value) -> Result<DeviceConfig, String> {
    DeviceConfig::from_table(&table(device)).map_err(|error| error.to_string())
}

/// The device of a vector, with the parameters of another FTL.
pub(crate) fn config_of(vector: &Value) -> Result<DeviceConfig, String> {
    let ftl = vector.get("ftl").map_or_else(Table::new, table);
    let config = DeviceConfig::from_tables(&table(&vector["device"]), &ftl);
    config.map_err(|error| error.to_string())
}

/// A run without a cache: completions, and the device at the end.
pub(crate) fn run(vector: &Value) -> (Vec<u64>, Device) {
    let config = config_of(vector).expect("a good device");
    let host = vector.get("host").cloned().unwrap_or_else(|| json!({}));
    let host = HostConfig::from_table(&table(&host), &config).expect("a good host");
    let mut device = Device::new(&config);
    if host.flush == destage_ssd::config::FlushMode::Drain {
        device.serve_flushes();
    }
    let requests = vector["requests"].as_array().expect("a list");
    let mut ends: Vec<PendingTime> = Vec::new();
    let mut outstanding: Vec<usize> = Vec::new();
    let (mut now, depth) = (0, host.queue_depth as usize);
    for request in requests {
        let arrival = request[0].as_u64().expect("an instant");
        match host.mode {
            HostMode::Open => now = arrival,
            HostMode::Closed if outstanding.len() < depth => {}
            HostMode::Closed => loop {
                let release = device.next_known();
                let times = device.queues().times();
                times.foresee(release.unwrap_or(0));
                let known = outstanding.iter().enumerate();
                let known = known.filter_map(|(at, &r)| Some((times.foreseen(ends[r])?, at)));
                let first = known.min();
                match (first, release) {
                    (first, Some(at)) if first.is_none_or(|(first, _)| at < first) => {
                        device.advance(at);
                    }
                    (Some((first, at)), _) => {
                        outstanding.remove(at);
                        now = now.max(first);
                        break;
                    }
                    (None, _) => panic!("no request completes"),
                }
            },
        }
        device.advance(now);
        outstanding.push(ends.len());
        ends.push(serve(&mut device, now, request));
    }
    device.finish();
    let times = device.queues().times();
    times.evaluate();
    let completions = ends.iter().map(|&end| times.instant(end).expect("all have ended"));
    let completions = completions.collect();
    device.check_conservation().expect("nothing is lost");
    (completions, device)
}

fn serve(device: &mut Device, now: u64, request: &Value) -> PendingTime {
    let number = |at: usize| request[at].as_u64().expect("a number");
    let (offset, length) = (number(2), number(3));
    let bytes = u64::from(device.config().page_bytes);
    let pages = u64::from(device.config().logical_pages);
    let mut end = PendingTime::at(now);
    let op = match request[1].as_str() {
        Some("t") => {
            if length > 0 {
                end = PendingTime::at(device.command(Command::Other));
            }
            for page in offset.div_ceil(bytes)..(offset + length) / bytes {
                device.trim(DriveLpn((page % pages) as u32));
            }
            return end;
        }
        Some("f") => {
            let processed = device.command(Command::Other);
            return device.drained(processed);
        }
        Some("w") => Op::Write,
        _ => Op::Read,
    };
    if length == 0 {
        return end;
    }
    device.command(Command::Access(op));
    for page in offset / bytes..(offset + length - 1) / bytes + 1 {
        let lpn = DriveLpn((page % pages) as u32);
        let served: Option<Served> = match op {
            Op::Read => device.read(lpn),
            Op::Write => Some(device.write_as(lpn, WriteHint { bytes: length, label: 0 })),
        };
        let done = served.map_or(PendingTime::at(now), |served| served.end);
        end = device.queues().times().later(end, done);
    }
    end
}

/// Keys of the host interface, and whether the host trims and flushes.
fn interface(
    d: &mut Draws,
    (tick, page_bytes): (u64, u64),
    set: &mut impl FnMut(&str, Value),
    host: &mut Map<String, Value>,
) -> (bool, bool) {
    let (mut trims, mut flushes) = (false, false);
    if d.below(2) == 0 {
        set("command_ns", json!(d.below(2) * tick / 2));
        set("firmware_read_ns", json!(d.below(3) * tick / 2));
        set("firmware_write_ns", json!(d.below(3) * tick / 2));
        set("link_ps_per_byte", json!(d.below(5) * tick / 2 * 1000 / page_bytes));
        set("link_duplex", json!(d.among(&["full", "half"])));
        set("buffer_pages", json!(d.among(&[0, 1, 2, 5, 12])));
        (trims, flushes) = (d.below(2) == 0, d.below(2) == 0);
    }
    if trims {
        host.insert("trim".into(), "drop".into());
    }
    if flushes {
        host.insert("flush".into(), "drain".into());
    }
    (trims, flushes)
}

/// An SLC cache; handles, or a collector; write points beside those of one handle.
fn interface_blocks(
    d: &mut Draws,
    (tick, pages): (u64, u64),
    set: &mut impl FnMut(&str, Value),
) -> u64 {
    if d.below(3) == 0 {
        set("slc_blocks", json!(1 + d.below(4)));
        set("slc_pages_per_block", json!(1 + d.below(pages)));
        set("slc_read_ns", json!(tick * (1 + d.below(3))));
        set("slc_program_ns", json!(tick * (1 + d.below(3))));
        set("slc_policy", json!(d.among(&["direct", "fold"])));
        set("slc_idle", json!(d.below(2) == 0));
    }
    match d.below(4) {
        0 => {
            let handles = 1 + d.below(3);
            set("handles", json!(handles));
            set("isolation", json!(d.among(&["initial", "persistent"])));
            set("gc_stream", json!(d.among(&["shared", "own", "by-generation"])));
            return 3 * handles;
        }
        _ => set("gc_victim", json!(d.among(&["greedy", "fifo", "d-choices", "cost-benefit"]))),
    }
    0
}

/// Keys of a map cache, if the device has one.
fn map_keys(d: &mut Draws, page_bytes: u64, has_map: bool, set: &mut impl FnMut(&str, Value)) {
    let entries = d.among(&[1, 2, 3, 5, 8, 20, 100]);
    let entry_bytes = page_bytes / entries;
    let of_entries = d.below(2) == 0;
    let items = d.among(&[1, 1, 2, 3, 5, 8, 20, 1000]);
    if has_map {
        set("map_cache", json!(items * if of_entries { entry_bytes } else { page_bytes }));
        set("map_entry_bytes", json!(entry_bytes));
        set("map_granularity", json!(if of_entries { "entry" } else { "page" }));
        set("map_policy", json!(d.among(&["lru", "slru"])));
        set("map_batch_update", json!(d.below(2) == 0));
    }
}

/// Requests that come in bursts.
fn bursts(
    d: &mut Draws,
    (tick, page_bytes, round): (u64, u64, bool),
    logical: u64,
    (trims, flushes): (bool, bool),
) -> Vec<Value> {
    let written = d.among(&[0, 20, 50, 80, 100]);
    let hot = 1 + d.below(logical);
    let stretch = d.among(&[0, 1, 1, 3, 20]);
    let (mut now, mut requests) = (0, Vec::new());
    for _ in 0..30 + d.below(250) {
        now += match d.below(10) {
            0..4 => 0,
            4..8 => d.below(4) * stretch * tick,
            8 => d.below(30) * stretch * tick,
            _ => d.below(200) * tick,
        } + if round { 0 } else { d.below(3) * 97 };
        let op = match d.below(100) {
            0..6 if trims => "t",
            6..10 if flushes => "f",
            _ if d.below(100) < written => "w",
            _ => "r",
        };
        let page = if d.below(2) == 0 { d.below(hot) } else { d.below(logical) };
        let length = d.among(&[0, 1, 1, 1, 1, 2, 3, 7]) * page_bytes;
        requests.push(json!([now, op, page * page_bytes, length]));
    }
    requests
}

/// A small device over all options, and requests that meet it in bursts.
pub(crate) fn vector(seed: u64, has_map: bool) -> Option<Value> {
    let mut d = Draws(seed);
    let round = d.below(2) == 0;
    let (tick, page_bytes) = if round { (1000, 1000) } else { (10_007, 4096) };
    let planes = [d.among(&[1, 1, 2, 3]), d.among(&[1, 2]), d.among(&[1, 2]), d.among(&[1, 1, 2])];
    let all: u64 = planes.iter().product();
    let read_first = d.below(2) == 0;
    let pages = 1 + d.below(9);
    let blocks = 8 + d.below(10);
    let mut device = json!({
        "channels": planes[0], "chips_per_channel": planes[1], "dies_per_chip": planes[2],
        "planes_per_die": planes[3], "pages_per_block": pages, "page_bytes": page_bytes,
        "queue_level": d.among(&["plane", "plane", "die", "chip", "channel"]),
        "read_ns": [tick * (1 + d.below(4)), tick * (1 + d.below(4))],
        "program_ns": [tick * (1 + d.below(11))], "erase_ns": tick * (1 + d.below(40)),
        "bus_ps_per_byte": d.below(3) * tick * 1000 / page_bytes,
        "copyback": d.below(2) == 0, "alloc": d.among(&["static", "static", "dynamic"]),
        "striping": d.below(4), "unmapped_read": d.among(&["home", "free"]),
        "precondition": d.among(&["none", "sequential", "random", "random", "steady"]),
        "precondition_seed": d.below(1000), "gc_idle_ns": d.below(60) * tick,
        "sched": if read_first { "read_first" } else { "fcfs" },
        "bus": if read_first { "private" } else { d.among(&["private", "private", "shared"]) },
        "gc_mode": d.among(&["foreground", "background", "idle"]),
    });
    let mut set = |key: &str, value: Value| device[key] = value;
    let mut points = 2;
    if d.below(3) == 0 {
        set("gc_step_pages", if d.below(3) == 0 { json!("auto") } else { json!(1 + d.below(5)) });
    }
    if read_first && d.below(3) > 0 {
        set("suspend", json!(d.among(&["erase", "program"])));
        set("suspend_ns", json!(d.below(3) * tick));
        set("resume_ns", json!(d.below(3) * tick));
        set("suspend_max", json!(1 + d.below(4)));
    }
    let mut host = Map::new();
    let sizes = (tick, page_bytes);
    let (trims, flushes) = interface(&mut d, sizes, &mut set, &mut host);
    if d.below(3) == 0 {
        host.insert("mode".into(), "closed".into());
        host.insert("queue_depth".into(), (1 + d.below(12)).into());
    }
    points += interface_blocks(&mut d, (tick, pages), &mut set);
    map_keys(&mut d, page_bytes, has_map, &mut set);
    // As many logical pages as fit, or fewer.
    set("blocks_per_plane", json!(blocks + 2 * points));
    let raw = all * (blocks + 2 * points) * pages;
    let share = 300 + d.below(650);
    let mut logical = (raw * share / 1000).max(1);
    if device["precondition"] == "random" {
        device["precondition_writes"] = json!(d.below(2 * logical));
    }
    for _ in 0..40 {
        device["logical_pages"] = json!(logical);
        if device_of(&device).is_ok() {
            break;
        }
        logical = (logical * 7 / 8).max(1);
    }
    device_of(&device).ok()?;
    let requests = bursts(&mut d, (tick, page_bytes, round), logical, (trims, flushes));
    Some(json!({"device": device, "host": host, "cache": {"policy": "none"}, "requests": requests}))
}

/// A small device of another FTL over its options, and the same requests (`docs/spec/device.md`
/// 12).
pub(crate) fn vector_of_another_ftl(seed: u64) -> Option<Value> {
    let mut vector = vector(seed, true)?;
    let mut d = Draws(seed ^ 0x5EED);
    let keys = vector["device"].as_object()?.clone();
    let int = |key: &str| keys.get(key).and_then(Value::as_u64);
    let kept = [
        "channels",
        "chips_per_channel",
        "dies_per_chip",
        "planes_per_die",
        "pages_per_block",
        "page_bytes",
        "queue_level",
        "read_ns",
        "program_ns",
        "erase_ns",
        "bus_ps_per_byte",
        "copyback",
        "precondition",
        "precondition_seed",
        "precondition_writes",
        "sched",
        "bus",
        "blocks_per_plane",
    ];
    let mut device: Map<String, Value> = keys
        .iter()
        .filter(|(key, _)| kept.contains(&key.as_str()))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    let kind = d.among(&["dftl", "dftl", "bast", "fast", "page-ideal"]);
    let planes = ["channels", "chips_per_channel", "dies_per_chip", "planes_per_die"];
    let blocks =
        planes.iter().filter_map(|key| int(key)).product::<u64>() * int("blocks_per_plane")?;
    let entries = d.among(&[1, 2, 5, 16]);
    let spare = d.below(4);
    let (ftl, pages) = match kind {
        "bast" | "fast" => {
            let logs = 2 + d.below(4);
            (json!({"log_blocks": logs}), (blocks.checked_sub(logs + 1 + spare)?))
        }
        "dftl" => {
            let cmt = d.among(&[1, 2, 5, 20]);
            let policy = d.among(&["lru", "slru"]);
            let batch = d.below(2) == 0;
            let ftl = json!({
                "cmt_entries": cmt, "entries_per_translation_page": entries,
                "cmt_policy": policy, "batch_update": batch,
            });
            (ftl, blocks.checked_sub(8 + spare)? * entries / (entries + 1))
        }
        _ => (json!({}), blocks.checked_sub(3 + spare)?),
    };
    let logical = (pages * int("pages_per_block")?).max(1);
    device.insert("ftl".into(), kind.into());
    device.insert("logical_pages".into(), logical.into());
    let writes = int("precondition_writes").map_or(0, |writes| writes % (2 * logical));
    if device["precondition"] == "random" {
        device.insert("precondition_writes".into(), writes.into());
    }
    vector["device"] = Value::Object(device);
    vector["ftl"] = ftl;
    if let Some(host) = vector.get_mut("host").and_then(Value::as_object_mut) {
        host.retain(|key, _| key == "mode" || key == "queue_depth");
    }
    let requests = vector["requests"].as_array_mut()?;
    requests.retain(|request| request[1] == "r" || request[1] == "w");
    requests.truncate(60); // merges of hundreds wait in the model, which looks at each
    Some(vector)
}

/// Where the model and the product first differ.
pub(crate) fn difference(vector: &Value) -> Option<String> {
    let model = match simulate(vector) {
        Ok(model) => model,
        Err(error) => {
            assert_eq!(error, "device full", "the model runs it");
            let full = Device::new(&config_of(vector).expect("a good device")).failure().is_some()
                || run(vector).1.failure().is_some();
            return (!full).then_some(error);
        }
    };
    let (completions, device) = run(vector);
    let expected = model["completions_ns"].as_array().expect("a list");
    for (at, (model, product)) in expected.iter().zip(&completions).enumerate() {
        if model != product {
            return Some(format!("completion {at}: the model says {model}, the product {product}"));
        }
    }
    let product = serde_json::to_value(device.counters()).expect("an object");
    let all = model["counters"].as_object().expect("an object").iter();
    let of_ftl = model["counters"]["ftl"].as_object().into_iter().flatten();
    let own = all.filter(|(name, _)| *name != "ftl");
    let own = own.filter_map(|(name, model)| Some((name, model, product.get(name)?)));
    let of_ftl = of_ftl.map(|(name, model)| (name, model, &product["ftl"][name]));
    let known = own.chain(of_ftl);
    known.into_iter().find(|(_, model, product)| model != product).map(|(name, model, product)| {
        format!("{name}: the model counts {model}, the product {product}")
    })
}
