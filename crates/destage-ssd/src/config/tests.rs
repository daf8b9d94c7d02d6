//! Keys, ranges and combinations.

use super::*;

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
    assert!(text.contains("unknown key \"frobnicate\" (known: channels, "), "{text}");
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
        ("ftl", word("bast"), "ftl = \"bast\": expected page"),
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
    assert!(text.contains("no room for collection"), "{text}");
    let text = error(&[("channels", Value::Int(1 << 31)), ("dies_per_chip", Value::Int(1 << 31))]);
    assert!(text.contains("a drive has at most"), "{text}");
}

#[test]
fn combinations_that_exclude_each_other_name_both_keys() {
    let reads_first = ("sched", word("read_first"));
    let text = error(&[reads_first.clone(), ("bus", word("shared"))]);
    assert_eq!(text, "sched = read_first excludes bus = shared: it needs bus = private");
    let text = error(&[reads_first.clone(), ("gc_mode", word("idle"))]);
    assert!(text.starts_with("sched = read_first excludes gc_mode = idle"), "{text}");
    let device = DeviceConfig::from_table(&table(&[reads_first])).expect("good alone");
    let closed = table(&[("mode", word("closed")), ("queue_depth", Value::Int(4))]);
    let text = HostConfig::from_table(&closed, &device).expect_err("excluded").to_string();
    assert!(text.starts_with("mode = closed excludes sched = read_first"), "{text}");
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
