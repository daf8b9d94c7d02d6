//! Keys, ranges and combinations; and that the list of keys says what is done.

use super::*;
use crate::config::{
    ConfigError, DeviceConfig, EvictWait, FtlConfig, GcStream, GcVictim, InGc, Info,
    InterfaceConfig, Isolation, Key, Kind, LONGEST_NS, LinkDuplex, MapCacheConfig, MapGranularity,
    MapPolicy, PlacementConfig, PreconditionEnd, StepPages, StreamsConfig, Suspend, Table, Value,
    takes,
};
use crate::ftl::{FTLS, page};

fn table(keys: &[(&str, Value)]) -> Table {
    keys.iter().map(|(key, value)| (key.to_string(), value.clone())).collect()
}

fn word(text: &str) -> Value {
    Value::Text(text.into())
}

fn error(keys: &[(&str, Value)]) -> String {
    DeviceConfig::from_table(&table(keys)).expect_err("a bad configuration").to_string()
}

#[test]
fn an_empty_table_has_the_defaults_of_section_3() {
    let config = DeviceConfig::from_table(&Table::new()).expect("defaults are good");
    assert_eq!(
        (config.blocks_per_plane, config.pages_per_block, config.page_bytes),
        (64, 64, 4096)
    );
    assert_eq!(config.logical_pages, 64 * 64 * 850 / 1000);
    // 5% of a plane is 204 pages, more than a block.
    assert_eq!((config.gc_low_pages, config.gc_high_pages), (204, 408));
    assert_eq!(config.valid_cap(), 4096 - 204 - 64);
    assert_eq!(config.striping.name(), "CWDP");
}

#[test]
fn an_unknown_key_is_an_error_that_names_the_nearest() {
    let text = error(&[("chips_per_chanel", Value::Int(4))]);
    assert!(text.contains("unknown key \"chips_per_chanel\", did you mean chips_per_channel?"));
    let text = error(&[("frobnicate", Value::Int(4))]);
    assert!(
        text.contains("unknown key \"frobnicate\" (`destage devices --keys` lists all)"),
        "{text}"
    );
}

#[test]
fn values_out_of_range_say_what_was_expected_and_found() {
    for (key, value, expected) in [
        ("channels", Value::Int(0), "channels = 0: expected integer 1.."),
        ("channels", Value::Int(-1), "channels = -1: expected integer 1.."),
        ("channels", Value::Real(2.0), "channels = 2.0: expected integer 1.."),
        ("channels", Value::Bool(true), "channels = true: expected integer 1.."),
        ("op_permille", Value::Int(1000), "op_permille = 1000: expected integer 0..999"),
        ("read_ns", Value::Int(25_000), "read_ns = 25000: expected a non-empty list of integers"),
        ("read_ns", Value::List(vec![]), "read_ns = []: expected a non-empty list of integers"),
        ("read_ns", Value::List(vec![word("x")]), "read_ns = [\"x\"]: expected a non-empty list"),
        (
            "read_ns",
            Value::List(vec![Value::Int(LONGEST_NS as i128 + 1)]),
            "expected a non-empty list of integers 0..10000000000",
        ),
        ("sched", word("lifo"), "sched = \"lifo\": expected fcfs, read_first"),
        ("ftl", word("basst"), "ftl = \"basst\": expected page, dftl, bast, fast, page-ideal"),
        ("striping", word("CWDD"), "striping = \"CWDD\": expected 0..3 or a permutation"),
        ("striping", Value::Int(4), "striping = 4: expected 0..3 or a permutation"),
        ("gc_low_pages", Value::Int(63), "gc_low_pages = 63: expected integer 64.."),
        ("precondition_seed", Value::Int(1 << 64), "expected integer >= 0"),
    ] {
        let text = error(&[(key, value)]);
        assert!(text.contains(expected), "{text}\n{expected}");
    }
    let text = error(&[("summary_page", Value::Bool(true)), ("pages_per_block", Value::Int(1))]);
    assert!(text.contains("pages_per_block = 1: expected integer 2.."), "{text}");
}

#[test]
fn a_drive_without_room_for_collection_is_an_error() {
    // 64 blocks of 64 pages, F = 204: cap = 3828.
    let full = |pages| table(&[("logical_pages", Value::Int(pages))]);
    assert!(DeviceConfig::from_table(&full(3828)).is_ok());
    let text = DeviceConfig::from_table(&full(3829)).expect_err("too many").to_string();
    assert!(text.contains("would hold 3829 of 3829 logical pages, but only 3828 fit"), "{text}");
    let mut dynamic = full(3828);
    dynamic.insert("alloc".into(), word("dynamic"));
    let text = DeviceConfig::from_table(&dynamic).expect_err("too many").to_string();
    assert!(text.contains("needs fewer than 3828"), "{text}");
    let text = error(&[("blocks_per_plane", Value::Int(2))]);
    assert!(text.contains("no room for GC"), "{text}");
    let text = error(&[("channels", Value::Int(1 << 31)), ("dies_per_chip", Value::Int(1 << 31))]);
    assert!(text.contains("a device has at most"), "{text}");
}

#[test]
fn combinations_that_exclude_each_other_name_both_keys() {
    let reads_first = ("sched", word("read_first"));
    let text = error(&[reads_first.clone(), ("bus", word("shared"))]);
    assert!(text.starts_with("sched = read_first excludes bus = shared: it needs bus"), "{text}");
    let device = DeviceConfig::from_table(&table(&[reads_first])).expect("good alone");
    let keys = [("mode", word("closed")), ("queue_depth", Value::Int(4))];
    HostConfig::from_table(&table(&keys), &device).expect("good together");
    let [mode, depth] = keys;
    let host = table(&[mode, depth, ("writer", word("trickle"))]);
    let text = HostConfig::from_table(&host, &device).expect_err("excluded").to_string();
    assert!(text.starts_with("writer = trickle excludes mode = closed"), "{text}");
}

#[test]
fn what_current_drives_exclude_names_both_keys() {
    let int = |key, value| (key, Value::Int(value));
    for (keys, expected) in [
        (vec![("ftl", word("dftl")), int("buffer_pages", 4)], "buffer_pages excludes ftl: "),
        (vec![("suspend", word("erase"))], "suspend excludes sched = fcfs: "),
        (vec![("ftl", word("page-ideal")), int("slc_blocks", 4)], "slc_blocks excludes ftl: "),
        (
            vec![("isolation", word("assigned")), ("gc_stream", word("own"))],
            "gc_stream = own excludes isolation = assigned: ",
        ),
        (
            vec![int("page_bytes", 4096), int("link_ps_per_byte", 2_500_000_000)],
            "device: page_bytes = 4096 and link_ps_per_byte = 2500000000 make a transfer of more",
        ),
        (
            vec![int("slc_blocks", 1), int("slc_pages_per_block", 65)],
            "device: slc_pages_per_block = 65 and pages_per_block = 64: ",
        ),
        (vec![int("slc_blocks", 1 << 31)], "device: 1 planes of slc_blocks x slc_pages_per_block"),
        (vec![int("handles", 3), int("gc_low_pages", 191)], "device: gc_low_pages = 191: expected"),
    ] {
        let text = error(&keys);
        assert!(text.starts_with(expected), "{text}");
    }
    let dftl = DeviceConfig::from_table(&table(&[("ftl", word("dftl"))])).expect("good alone");
    for (key, value) in [("trim", "drop"), ("flush", "drain")] {
        let text = HostConfig::from_table(&table(&[(key, word(value))]), &dftl).expect_err("no");
        assert!(text.to_string().starts_with(&format!("{key} = {value} excludes ftl: ")), "{text}");
    }
    let harmless = [("link_duplex", word("half")), ("slc_policy", word("fold"))];
    DeviceConfig::from_table(&table(&harmless)).expect("what has no effect is accepted");
}

#[test]
fn placement_has_something_to_choose_and_a_policy_that_can() {
    let of = |device: &[(&str, Value)], keys: &[(&str, Value)]| {
        let device = DeviceConfig::from_table(&table(device)).expect("a good drive");
        PlacementConfig::from_table(&table(keys), &device).map_err(|error| error.to_string())
    };
    let handles = |count| ("handles", Value::Int(count));
    let policy = |name| ("policy", word(name));
    let sizes = |sizes: &[i128]| {
        ("thresholds", Value::List(sizes.iter().copied().map(Value::Int).collect()))
    };
    let assigned = || ("isolation", word("assigned"));
    for (device, keys, expected) in [
        (vec![], vec![policy("sepbit")], "policy = sepbit excludes handles = 1: "),
        (vec![], vec![policy("fk")], "policy = fk excludes handles = 1: "),
        (
            vec![handles(2), ("precondition", word("steady"))],
            vec![policy("fk")],
            "policy = fk excludes precondition = steady: ",
        ),
        (vec![assigned()], vec![], "policy = none excludes isolation = assigned: "),
        (
            vec![assigned(), handles(2)],
            vec![policy("by-cache")],
            "policy = by-cache excludes isolation = assigned: ",
        ),
        (
            vec![assigned(), handles(3)],
            vec![policy("sepbit")],
            "policy = sepbit excludes isolation = assigned with fewer than four handles: ",
        ),
        (
            vec![handles(3)],
            vec![policy("by-size"), sizes(&[4096])],
            "placement: thresholds = [4096]: expected 2 ascending integers >= 1",
        ),
        (
            vec![handles(3)],
            vec![policy("by-size"), sizes(&[4096, 4096])],
            "placement: thresholds = [4096, 4096]: expected 2 ascending integers >= 1",
        ),
        (vec![handles(3)], vec![policy("by-size")], "placement: the key thresholds is missing"),
        (
            vec![handles(2)],
            vec![policy("fk"), ("window", Value::Int(3))],
            "placement: window is a key of policy = sepbit, and policy = fk",
        ),
    ] {
        let text = of(&device, &keys).expect_err(expected);
        assert!(text.starts_with(expected), "{text}");
    }
    let room = ("op_permille", Value::Int(300));
    let good = of(&[handles(6), assigned(), room], &[policy("sepbit")]);
    assert_eq!(good, Ok(PlacementConfig::Sepbit { window: 16 }));
}

#[test]
fn what_a_background_writer_writes_is_not_known_before_the_run() {
    let device = DeviceConfig::from_table(&table(&[("handles", Value::Int(2))])).expect("good");
    let fk = table(&[("policy", word("fk"))]);
    let placement = PlacementConfig::from_table(&fk, &device).expect("two handles");
    let device = DeviceConfig { placement, ..device };
    let writer = table(&[("writer", word("trickle"))]);
    let text = HostConfig::from_table(&writer, &device).expect_err("excluded").to_string();
    assert!(text.starts_with("writer = trickle excludes policy = fk of the placement: "), "{text}");
    HostConfig::from_table(&Table::new(), &device).expect("without one it is known");
}

#[test]
fn the_cache_table_leaves_the_policys_parameters_and_nothing_without_a_policy() {
    let keys = [("policy", word("cflru")), ("frames", Value::Int(9)), ("w", Value::Int(1))];
    let cache = CacheConfig::from_table(&table(&keys)).expect("good");
    assert_eq!((cache.policy.as_deref(), cache.frames), (Some("cflru"), 9));
    assert_eq!(cache.params.keys().collect::<Vec<_>>(), ["w"]);
    let none = table(&[("policy", word("none")), ("hit_nss", Value::Int(1))]);
    let text = CacheConfig::from_table(&none).expect_err("no such key").to_string();
    assert!(text.contains("did you mean hit_ns?"), "{text}");
    let text = CacheConfig::from_table(&table(&keys[..1])).expect_err("no frames").to_string();
    assert!(text.contains("the key frames is missing"), "{text}");
    let text = CacheConfig::from_table(&table(&keys[1..2])).expect_err("no policy").to_string();
    assert_eq!(text, "policy = none excludes frames: it needs a policy, or no frames");
}

#[test]
fn staging_pages_without_staging_are_an_error() {
    let pages = ("staging_pages", Value::Int(3));
    let staged =
        CacheDefaults::from_table(&table(std::slice::from_ref(&pages))).expect("the usual wait");
    assert_eq!((staged.evict_wait, staged.staging_pages), (EvictWait::Staged, 3));
    let keys = table(&[("evict_wait", word("none")), pages]);
    let text = CacheDefaults::from_table(&keys).expect_err("no staging").to_string();
    assert_eq!(text, "staging_pages excludes evict_wait = none: it needs evict_wait = staged");
}

/// A key, its table, and the FTL that it is a parameter of.
type Row = (&'static Info, &'static str, &'static Key);

/// Every key.
fn all_keys() -> impl Iterator<Item = Row> {
    let ftl = FTLS.iter().flat_map(|&info| info.keys.iter().map(move |key| (info, "ftl", key)));
    let own = KEYS.iter().flat_map(|&(table, keys)| keys.iter().map(move |key| (table, key)));
    own.map(|(table, key)| (&page::INFO, table, key)).chain(ftl)
}

/// JSON of the table with one key set to `value`.
fn with((ftl, name, key): Row, value: Value) -> Result<serde_json::Value, ConfigError> {
    let given = table(&[(key.name, value)]);
    let json = |made: serde_json::Result<serde_json::Value>| made.expect("numbers and words");
    match name {
        "ftl" => {
            FtlConfig::from_table(ftl, &given).map(|c| json(serde_json::to_value(c.to_table())))
        }
        "device" => {
            // So are those of an SLC cache of a drive that has none.
            let of_the_slc = key.name.starts_with("slc_") && key.name != "slc_blocks";
            let blocks = of_the_slc.then(|| ("slc_blocks".into(), Value::Int(2)));
            // And suspension has a scheduler that it works with.
            let of_suspension = key.name.starts_with("suspend") || key.name == "resume_ns";
            let first = of_suspension.then(|| ("sched".into(), word("read_first")));
            let suspends =
                (of_suspension && key.name != "suspend").then(|| ("suspend".into(), word("erase")));
            // Idle units have something to do at time 0.
            let idle = (key.name == "precondition_end").then(|| ("gc_mode".into(), word("idle")));
            // A map cache has keys only where the map is not in memory as a whole.
            let of_the_map = key.name.starts_with("map_") && key.name != "map_cache";
            let map = of_the_map.then(|| ("map_cache".into(), Value::Int(1 << 20)));
            let needed = blocks.into_iter().chain(first).chain(suspends).chain(idle).chain(map);
            let given = given.into_iter().chain(needed).collect();
            DeviceConfig::from_table(&given).map(|c| json(serde_json::to_value(c)))
        }
        "placement" => {
            let device = table(&[("handles", Value::Int(2))]);
            let device = DeviceConfig::from_table(&device).expect("two handles");
            let owner = match key.name {
                "thresholds" => Some("by-size"),
                "window" => Some("sepbit"),
                "policy" => None,
                _ => Some("fk"),
            };
            let owner = owner.map(|name| ("policy".into(), word(name)));
            let sizes = Value::List(vec![Value::Int(8192)]);
            let sizes = (given.get("policy") == Some(&word("by-size"))).then_some(sizes);
            let sizes = sizes.map(|sizes| ("thresholds".into(), sizes));
            let given = given.into_iter().chain(owner).chain(sizes).collect();
            PlacementConfig::from_table(&given, &device).map(|c| json(serde_json::to_value(c)))
        }
        "cache" => CacheDefaults::from_table(&given).map(|c| json(serde_json::to_value(c))),
        "host" => {
            let device = DeviceConfig::from_table(&Table::new()).expect("defaults are good");
            // The writer's keys are left out of a record of a host that has none.
            let of_the_writer = key.name.starts_with("writer_");
            let given = match of_the_writer {
                true => given.into_iter().chain([("writer".into(), word("trickle"))]).collect(),
                false => given,
            };
            HostConfig::from_table(&given, &device).map(|c| json(serde_json::to_value(c)))
        }
        other => panic!("no table {other}"),
    }
}

#[test]
fn the_list_of_keys_is_that_of_the_tables() {
    let mut device = DeviceConfig::from_table(&Table::new()).expect("defaults are good");
    let host = HostConfig::from_table(&Table::new(), &device).expect("defaults are good");
    // Left out of a record unless given.
    device.pe_cycles = 3000;
    device.in_gc = InGc::Executing;
    let slc = table(&[("slc_blocks", Value::Int(2))]);
    device.slc = DeviceConfig::from_table(&slc).expect("an SLC cache").slc;
    device.interface = InterfaceConfig {
        command_ns: 1,
        command_read_ns: Some(2),
        command_write_ns: Some(3),
        firmware_read_ns: 1,
        firmware_write_ns: 1,
        link_ps_per_byte: 1,
        link_duplex: LinkDuplex::Half,
        buffer_pages: 1,
    };
    device.streams = StreamsConfig {
        handles: 2,
        isolation: Isolation::Persistent,
        gc_stream: GcStream::Own,
        gc_victim: GcVictim::DChoices,
        gc_choices: 2,
        gc_window_permille: 1,
        gc_limit_permille: 1,
        gc_seed: 2,
    };
    device.precondition_end = Some(PreconditionEnd::High);
    device.steps.gc_step_pages = StepPages::Auto;
    device.steps.suspend = Suspend::Erase;
    device.map_cache = Some(MapCacheConfig {
        map_cache_bytes: 1 << 20,
        map_entry_bytes: 8,
        map_policy: MapPolicy::Lru,
        map_granularity: MapGranularity::Entry,
        map_batch_update: true,
    });
    let names = |json: serde_json::Result<serde_json::Value>| {
        json.expect("JSON").as_object().expect("a table").keys().cloned().collect::<Vec<_>>()
    };
    let listed = |table| keys_of(table).map(|key| key.name).collect::<Vec<_>>();
    let mut decides = listed("device");
    decides.retain(|&name| name != "op_permille"); // logical_pages is what it comes to
    assert_eq!(names(serde_json::to_value(&device)), decides);
    let without_a_writer = ["mode", "queue_depth"];
    assert_eq!(names(serde_json::to_value(host)), without_a_writer, "as ever");
    let all = [("writer", word("trickle")), ("trim", word("drop")), ("flush", word("drain"))];
    let host = HostConfig::from_table(&table(&all), &device).expect("the keys have defaults");
    assert_eq!(names(serde_json::to_value(host)), listed("host"));
    let all: Vec<&Key> = KEYS.iter().flat_map(|(_, keys)| *keys).collect();
    for (i, one) in all.iter().enumerate() {
        // `policy` alone is the cache's.
        let unambiguous = all[..i].iter().all(|other| other.name != one.name);
        assert!(unambiguous || one.name == "policy", "{} is unambiguous", one.name);
        assert!(
            !one.about.is_empty() && !one.about.contains('|'),
            "{} stands in a table",
            one.name
        );
    }
}

#[test]
fn the_listed_defaults_are_those_of_an_empty_table() {
    for row in all_keys() {
        let (ftl, name, key) = row;
        let Some(default) = key.default.value() else { continue };
        let empty = match name {
            "cache" => {
                serde_json::to_value(CacheDefaults::from_table(&Table::new()).expect("good"))
            }
            "ftl" => {
                let empty = FtlConfig::from_table(ftl, &Table::new()).expect("good");
                serde_json::to_value(empty.to_table())
            }
            _ => Ok(with(row, default.clone()).expect("a default is good")),
        };
        let empty = empty.expect("JSON");
        assert_eq!(with(row, default.clone()).as_ref(), Ok(&empty), "{}", key.name);
        // A record leaves some keys out while they have their defaults.
        if let Some(found) = empty.get(key.name) {
            let value: Value = serde_json::from_value(found.clone()).expect("a value");
            assert_eq!(value, default, "{}", key.name);
        }
    }
}

#[test]
fn every_key_refuses_what_the_list_says_it_does_not_take() {
    for row in all_keys() {
        let (_, name, key) = row;
        let wrong: Vec<Value> = match key.kind {
            Kind::Int { min, max } => [i128::from(min) - 1, i128::from(max) + 1]
                .map(Value::Int)
                .into_iter()
                .chain([word("many"), Value::Real(1.5), Value::Bool(true), Value::None])
                .collect(),
            Kind::Ints { max, .. } => {
                let one = |int| Value::List(vec![Value::Int(int)]);
                let beyond = [one(-1), one(i128::from(max) + 1)];
                beyond.into_iter().chain([Value::Int(1), Value::List(vec![])]).collect()
            }
            Kind::Real { min, max } => [min - 0.01, max + 0.01, f64::NAN]
                .map(Value::Real)
                .into_iter()
                .chain([word("half"), Value::Bool(true), Value::None])
                .collect(),
            Kind::Bool => vec![Value::Int(1), word("true")],
            Kind::Choice(_) => vec![word("no such word"), Value::Int(0), Value::Bool(true)],
            Kind::Form(_) => vec![Value::Bool(true), Value::Real(0.5)],
            other => panic!("no key of a drive takes {other}"),
        };
        for value in wrong {
            // `frames` is text as well in a drive file.
            if key.name == "frames" && value == word("many") {
                continue;
            }
            let found = value.to_string().replace("none", "null");
            let error = with(row, value).expect_err(key.name);
            assert_eq!(error.place(), Some((name, key.name)), "{error}");
            let text = error.to_string();
            let start = format!("{name}: {} = {found}: expected ", key.name);
            assert!(text.starts_with(&start), "{text}");
            if key.name != "frames" && key.name != "gc_low_pages" {
                assert_eq!(text, format!("{start}{}", takes(key.kind)));
            }
        }
    }
}

#[test]
fn every_word_of_the_list_is_understood() {
    for row in all_keys() {
        let (_, _, key) = row;
        let Kind::Choice(words) = key.kind else { continue };
        for &text in words.iter().filter(|_| key.name != "ftl") {
            let made = with(row, word(text)).unwrap_or_else(|error| panic!("{error}"));
            let default = key.default.to_string();
            let kept = made.get(key.name).map_or(&*default, |word| word.as_str().expect("a word"));
            assert_eq!(kept, text, "{}", key.name);
        }
    }
}

#[test]
fn a_latency_may_be_nothing_but_not_absurd() {
    for name in ["cmd_ns", "erase_ns", "bus_ps_per_byte"] {
        let text = error(&[(name, Value::Int(LONGEST_NS as i128 + 1))]);
        assert_eq!(text, format!("device: {name} = 10000000001: expected integer 0..10000000000"));
        let text = error(&[(name, Value::Int(-5))]);
        assert_eq!(text, format!("device: {name} = -5: expected integer 0..10000000000"));
        DeviceConfig::from_table(&table(&[(name, Value::Int(0))])).expect("nothing is good");
    }
    let zero = || Value::List(vec![Value::Int(0)]);
    let nothing = [
        ("read_ns", zero()),
        ("program_ns", zero()),
        ("erase_ns", Value::Int(0)),
        ("bus_ps_per_byte", Value::Int(0)),
    ];
    for spared in 0..nothing.len() {
        let mut some = nothing.to_vec();
        some.remove(spared);
        DeviceConfig::from_table(&table(&some)).expect("one of them takes time");
    }
    assert_eq!(
        error(&nothing),
        "device: read_ns, program_ns, erase_ns, cmd_ns and bus_ps_per_byte are all 0: nothing \
         would take any time"
    );
    let slow = [("page_bytes", Value::Int(4096)), ("bus_ps_per_byte", Value::Int(2_500_000_000))];
    assert_eq!(
        error(&slow),
        "device: page_bytes = 4096 and bus_ps_per_byte = 2500000000 make a transfer of more than \
         10000000000 ns"
    );
}

#[test]
fn impossible_geometry_and_over_provisioning_say_which_keys() {
    let int = |name, value| (name, Value::Int(value));
    for (keys, expected) in [
        (
            vec![int("channels", 70_000), int("chips_per_channel", 70_000)],
            "pages_per_block = 70000 x 70000 x 1 x 1 x 64 x 64 pages, but a device has at most",
        ),
        (vec![int("op_permille", 0)], "(change op_permille or gc_low_pages)"),
        (vec![int("op_permille", 10)], "(change op_permille or gc_low_pages)"),
        (vec![int("op_permille", 999), int("stripe_pages", 64)], "op_permille = 999 leaves no"),
        (vec![int("logical_pages", 4097)], "(change logical_pages or gc_low_pages)"),
        (vec![int("logical_pages", 0)], "logical_pages = 0: expected integer 1.."),
        (vec![int("stripe_pages", 1 << 31), int("logical_pages", 1)], "no room for GC"),
        (vec![int("blocks_per_plane", 1)], "no room for GC: gc_low_pages = 64"),
        (vec![int("gc_low_pages", 4096)], "no room for GC: gc_low_pages = 4096"),
        (vec![int("gc_low_pages", 63)], "gc_low_pages = 63: expected integer 64.."),
        (
            vec![("summary_page", Value::Bool(true)), int("gc_low_pages", 62)],
            "gc_low_pages = 62: expected integer 63..",
        ),
        (vec![int("page_bytes", 0)], "page_bytes = 0: expected integer 1..4294967295"),
    ] {
        let text = error(&keys);
        assert!(text.starts_with("device: ") && text.contains(expected), "{text}\n{expected}");
    }
    let smallest = [int("blocks_per_plane", 4), int("pages_per_block", 1), int("op_permille", 500)];
    let smallest = DeviceConfig::from_table(&table(&smallest));
    assert_eq!(smallest.map(|config| (config.logical_pages, config.valid_cap())), Ok((2, 2)));
}

#[test]
fn a_drives_cache_table_is_what_its_runs_start_from() {
    let keys = [("frames", Value::Int(9)), ("hit_ns", Value::Int(5))];
    let defaults = CacheDefaults::from_table(&table(&keys)).expect("a size needs no policy here");
    assert_eq!(defaults.frames, ["9p"]);
    let cached = defaults.with_policy(Some("lru".into()), 4, Table::new());
    assert_eq!((cached.policy.as_deref(), cached.frames, cached.hit_ns), (Some("lru"), 4, 5));
    let bare = defaults.with_policy(None, 4, Table::new());
    assert_eq!((bare.policy, bare.frames), (None, 0));
}
