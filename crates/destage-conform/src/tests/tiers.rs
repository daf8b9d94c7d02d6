//! Vectors of two tiers: whole files, doctored ones, and lines that are none.

use super::*;

/// All vectors of a file pass and are emitted as they stand.
fn passes(name: &str, vectors: u64) {
    let report = conform(&[shipped(name)], &Control::default()).expect("vectors");
    let differences: Vec<String> =
        report.files[0].differences.iter().map(Difference::to_string).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!((report.passed(), report.failed(), report.skipped()), (vectors, 0, 0));
    assert!(report.files[0].not_compared.is_empty(), "{report:?}");

    let text = std::fs::read_to_string(shipped(name)).expect("a shipped file");
    for ((i, vector), emitted) in text.lines().enumerate().zip(emit_text(&text).expect("vectors")) {
        let vector: Json = serde_json::from_str(vector).expect("JSON");
        let (decisions, counters) = (&vector["decisions"], &vector["counters"]);
        let mut expected = json!({"line": i + 1, "decisions": decisions, "counters": counters});
        if let Some(completions) = vector.get("completions_ns") {
            expected["completions_ns"] = completions.clone();
        }
        assert_eq!(emitted, expected, "{}", vector["name"]);
    }
}

/// The first vector of a file, changed.
fn doctored_first(name: &str, change: impl FnOnce(&mut Json)) -> String {
    let text = std::fs::read_to_string(shipped(name)).expect("a shipped file");
    let mut vector: Json =
        serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    change(&mut vector);
    vector.to_string()
}

#[test]
fn every_vector_of_two_tiers_passes_and_is_emitted_as_it_stands() {
    passes("tiers.jsonl", 46);
    passes("ttl.jsonl", 6);
}

#[test]
fn every_vector_of_two_tiers_with_a_device_passes_and_is_emitted_as_it_stands() {
    passes("tiers-device.jsonl", 25);
}

#[test]
fn every_vector_of_a_disk_below_two_tiers_passes_and_is_emitted_as_it_stands() {
    passes("tiers-disk.jsonl", 10);
}

#[test]
fn every_vector_of_a_threshold_of_dirty_pages_passes_and_is_emitted_as_it_stands() {
    passes("tiers-clean.jsonl", 10);
}

#[test]
fn every_vector_of_stale_dirty_pages_passes_and_is_emitted_as_it_stands() {
    passes("tiers-alru.jsonl", 8);
}

#[test]
fn every_vector_of_a_feed_passes_and_is_emitted_as_it_stands() {
    passes("tiers-feed.jsonl", 8);
}

#[test]
fn every_vector_of_pinned_pages_passes_and_is_emitted_as_it_stands() {
    passes("tiers-pin.jsonl", 9);
}

#[test]
fn pinned_pages_that_leave_no_frame_or_do_not_go_with_the_rules_are_an_error() {
    for (change, message) in [
        (
            (|v| v["pinned"] = json!((0..40).collect::<Vec<_>>())) as fn(&mut Json),
            "pinned: tier 1 has no frame for other pages",
        ),
        (|v| v["policy"] = json!("none"), "pinned: tier 1 has no frame for other pages"),
        (
            |v| v["tier2"]["pinned"] = json!((0..40).collect::<Vec<_>>()),
            "tier2.pinned: tier 2 has no frame for other pages",
        ),
        (|v| v["pinned"] = json!(["a"]), "pinned"),
        (|v| v["ttl_ns"] = json!(9), "pinned: with ttl_ns"),
        (
            |v| {
                v["tier2"]["pinned"] = json!([1]);
                v["tier2"]["promote"] = json!("move");
            },
            "pinned: with ttl_ns, promote \"move\"",
        ),
        (|v| v["tier3"] = v["tier2"].clone(), ""),
    ] {
        let error = conform_text(&doctored_first("tiers-pin.jsonl", change));
        match message {
            "" => assert!(error.is_ok(), "a third tier goes with them"),
            _ => assert!(error.unwrap_err().to_string().contains(message), "{message}"),
        }
    }
}

#[test]
fn a_feed_that_is_none_is_an_error_with_its_key() {
    for (change, message) in [
        (
            (|v| v["tier2"]["feed"]["warm_pages"] = json!(0)) as fn(&mut Json),
            "tier2.feed.warm_pages: expected an integer 1..4294967295, found 0",
        ),
        (|v| v["tier2"]["feed"]["lists"] = json!("mru"), "feed.lists: expected \"all\" or \"mfu\""),
        (|v| without(&mut v["tier2"], "feed"), "tier2.feed: the key is missing"),
        (|v| v["tier2"]["offer"] = json!("evicted"), "tier2.feed: it goes with offer \"feed\""),
        (|v| without(v, "arrivals_ns"), "arrivals_ns: missing, and offer = feed"),
        (
            |v| v["policy"] = json!("2q"),
            "offer = feed (--offer) excludes tier 1 2q: it has no list",
        ),
    ] {
        let error = conform_text(&doctored_first("tiers-feed.jsonl", change));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(message), "{error}\n{message}");
    }
}

#[test]
fn work_between_requests_that_is_none_is_an_error_with_its_key() {
    for (change, message) in [
        (
            (|v| v["tier2"]["alru"]["page_ns"] = json!(0)) as fn(&mut Json),
            "tier2.alru.page_ns: expected an integer >= 1, found 0",
        ),
        (|v| without(&mut v["tier2"]["alru"], "wake_up_ns"), "alru.wake_up_ns: the key is missing"),
        (|v| v["tier2"]["most_dirty"] = json!(3), "tier2.alru: there is most_dirty, too"),
        (|v| without(v, "arrivals_ns"), "arrivals_ns: missing, and tier2_clean = alru"),
        (|v| v["tier2"]["policy"] = json!("arc"), "excludes tier2 = arc"),
    ] {
        let error = conform_text(&doctored_first("tiers-alru.jsonl", change));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(message), "{error}\n{message}");
    }
}

#[test]
fn a_disk_that_is_none_is_an_error_with_its_key() {
    for (change, message) in [
        (
            (|v| v["backing"]["read_ns"] = json!(9)) as fn(&mut Json),
            "backing.disk: a disk has times of its own",
        ),
        (|v| v["backing"]["disk"]["pages"] = json!(5), "backing.disk.pages: expected 6 or more"),
        (
            |v| v["backing"]["disk"]["seek_min_ns"] = json!(1_000_000),
            "backing.disk.seek_max_ns: expected 0..1000000000",
        ),
        (|v| without(&mut v["backing"]["disk"], "pages"), "backing.disk.pages: the key is missing"),
    ] {
        let line = doctored_first("tiers-disk.jsonl", change);
        let error = conform_text(&line).unwrap_err().to_string();
        assert!(error.contains(message), "{error}\n{message}");
    }
}

#[test]
fn a_doctored_completion_or_counter_of_a_device_behind_two_tiers_is_found() {
    for (change, message) in [
        (
            (|v| v["completions_ns"][3] = json!(1)) as fn(&mut Json),
            "request 3: expected to complete at 1 ns, got ",
        ),
        (|v| v["decisions"][5]["tier"] = json!(7), "access 5: expected"),
        (|v| v["counters"]["erases"] = json!(7_000), "erases: expected 7000, got "),
        (|v| without(&mut v["counters"], "tier2_writes"), "tier2_writes: expected 0, got "),
    ] {
        let difference = only_difference(&doctored_first("tiers-device.jsonl", change)).to_string();
        assert!(difference.contains(message), "{difference}\n{message}");
    }
}

#[test]
fn a_line_of_two_tiers_with_a_device_that_is_no_vector_is_an_error_with_its_key() {
    for (change, message) in [
        (
            (|v| v["cache"]["frames"] = json!(9)) as fn(&mut Json),
            "cache.frames: the key is that of the vector",
        ),
        (|v| v["host"]["mode"] = json!("closed"), "host: expected an open loop without a writer"),
        (
            |v| v["slot_pages"] = json!(9),
            "tier2.frames: 216 pages of slots are more than the device has: 160",
        ),
        (|v| v["backing"]["read_ns"] = json!(-1), "backing.read_ns: expected"),
        (|v| v["device"]["channels"] = json!(0), "device: channels"),
        (|v| v["requests"][0] = json!([0, "x", 0, 1]), "requests[0][1]: expected"),
        (|v| v["completions_ns"] = json!([]), "completions_ns: expected one per request"),
        (|v| without(v, "tier2"), "the kind of the vector is ambiguous"),
    ] {
        let line = doctored_first("tiers-device.jsonl", change);
        let error = conform_text(&line).unwrap_err().to_string();
        assert!(error.contains(message), "{error}\n{message}");
    }
}

#[test]
fn every_vector_of_a_language_model_passes_and_is_emitted_as_it_stands() {
    passes("kv.jsonl", 30);
    passes("kv-compute.jsonl", 8);
}

#[test]
fn a_line_of_a_language_model_that_is_no_vector_is_an_error_with_its_key() {
    for (change, message) in [
        (
            (|v| v["kv"]["touch"] = json!("both")) as fn(&mut Json),
            "kv.touch: expected \"tail-first\" or \"head-first\", found \"both\"",
        ),
        (|v| v["kv"]["block_tokens"] = json!(0), "kv.block_tokens: expected an integer 1..32767"),
        (|v| v["kv"]["token_ns"] = json!(0), "kv.token_ns: expected an integer 1..1000000000"),
        (|v| v["kv"]["ttl_ns"] = json!(9), "kv.ttl_ns: it goes with kv.gap_ns"),
        (|v| v["kv"]["double_tokens"] = json!(9), "kv.double_tokens: there is no kv.token_ns"),
        (|v| v["requests"][2][0] = json!([]), "requests[2][0]: expected at least one block"),
        (|v| v["requests"][2] = json!([[1]]), "requests[2]: expected a list [ids, tokens of"),
        (|v| v["requests"][0][0] = json!([1, 1]), "request 0 of the trace, block 1: the request"),
        (|v| v["policy"] = json!("prefix-minn"), "policy: unknown policy \"prefix-minn\""),
    ] {
        let error = conform_text(&doctored_first("kv.jsonl", change)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}\n{message}");
    }
    let two = doctored_first("kv.jsonl", |v| {
        v["policy"] = json!("prefix-min");
        v["requests"] = json!([[[1, 2], 600], [[3, 2], 600]]);
        without(v, "decisions");
    });
    let error = conform_text(&two).unwrap_err().to_string();
    assert!(error.contains("block 2 follows block 1 in one request and block 3 in another"));
}

#[test]
fn a_doctored_decision_or_counter_of_two_tiers_is_found() {
    for (change, message) in [
        (
            (|v| v["decisions"][3]["tier"] = json!(1)) as fn(&mut Json),
            "line 1 (micro-copy), dense ids and hashed pages: access 3: expected",
        ),
        (|v| v["counters"]["tier2_hits"] = json!(7), "tier2_hits: expected 7, got 4"),
        (|v| without(&mut v["counters"], "admitted"), "admitted: expected 0, got 10"),
    ] {
        let difference = only_difference(&doctored_first("tiers.jsonl", change)).to_string();
        assert!(difference.contains(message), "{difference}\n{message}");
    }
    let text = doctored_first("tiers.jsonl", |v| {
        v["counters"]["flash_writes"] = json!(1);
        v["decisions"][0]["offered"] = json!([]);
        v["decisions"][0]["page"] = json!(1);
    });
    let report = conform_text(&text).expect("a vector");
    assert_eq!(report.passed(), 1);
    let not_compared: Vec<_> = report.files[0].not_compared.keys().collect();
    assert_eq!(not_compared, ["counters.flash_writes", "decisions[].offered"]);
}

#[test]
fn a_line_of_two_tiers_that_is_no_vector_is_an_error_with_its_key() {
    for (change, message) in [
        (
            (|v| v["tier2"]["offer"] = json!("all")) as fn(&mut Json),
            "tier2.offer: expected \"evicted\", \"inserted\" or \"feed\", found \"all\"",
        ),
        (|v| v["tier2"]["frames"] = json!(0), "tier2.frames: expected an integer 1..4294967295"),
        (|v| v["tier2"]["policy"] = json!("lrru"), "tier2.policy: unknown policy \"lrru\""),
        (|v| v["tier2"]["admit"] = json!("nht"), "tier2.admit: unknown admission \"nht\""),
        (
            |v| v["tier2"]["admit_params"] = json!({"n": 2}),
            "tier2.admit: always: unknown parameter \"n\"",
        ),
        (|v| v["ttl_ns"] = json!(5), "arrivals_ns: missing, and ttl_ns is of ages"),
        (|v| v["tier2"]["admit"] = json!("worth"), "tier2.admit: pages have no time of computing"),
        (|v| v["tier2"]["policy"] = json!("larc"), "tier2: tier2 cannot be larc: it bypasses"),
        (|v| v["policy"] = json!("fab"), "tier2: tier 1 cannot be fab with a tier 2: it groups"),
        (|v| without(&mut v["tier2"], "policy"), "tier2.policy: the key is missing"),
        (|v| v["decisions"] = json!([]), "decisions: expected one per access (16), found 0"),
    ] {
        let error = conform_text(&doctored_first("tiers.jsonl", change)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}\n{message}");
    }
}
