//! What the random vectors of drives of today reach: every part at work, and at work together.

use crate::generate::{self, Caches};
use crate::reach::{Reached, drawn, results, with};
use serde_json::{Value, json};

fn counted(results: &Value, counter: &str) -> u64 {
    results["counters"][counter].as_u64().expect("a count")
}

fn listed(results: &Value, counter: &str) -> Vec<u64> {
    let list = results["counters"][counter].as_array();
    list.into_iter().flatten().map(|count| count.as_u64().expect("a count")).collect()
}

/// Trims, flushes, commands, link and buffer.
fn note_the_way(reached: &mut Reached, vector: &Value, results: &Value) {
    for counter in
        ["trimmed_pages", "trim_misses", "flush_wait_ns_sum", "buffer_waits", "buffer_reads"]
    {
        reached.note(counter, counted(results, counter) > 0);
    }
    for (key, off) in [
        ("command_ns", json!(0)),
        ("firmware_read_ns", json!(0)),
        ("firmware_write_ns", json!(0)),
        ("link_ps_per_byte", json!(0)),
        ("buffer_pages", json!(0)),
        ("link_duplex", json!("full")),
    ] {
        if vector["device"][key] != off {
            let other = with(vector, "device", key, off);
            let matters = other["completions_ns"] != results["completions_ns"];
            reached.note(format!("{key} matters"), matters);
        }
    }
    if counted(results, "trimmed_pages") > 0 {
        let ignored = with(vector, "host", "trim", json!("ignore"));
        let moves = counted(results, "gc_moves");
        reached.note("trims that save moves", moves < counted(&ignored, "gc_moves"));
    }
}

fn note_the_slc_cache(reached: &mut Reached, vector: &Value, results: &Value) {
    let device = &vector["device"];
    if device.get("slc_blocks").is_none() {
        return;
    }
    let count = |counter: &str| counted(results, counter);
    let (slc, all) = (count("slc_programs"), count("flash_programs"));
    let policy = device["slc_policy"].as_str().expect("a word");
    let migrated = count("slc_migrations") > 0;
    for key in ["gc_mode", "alloc", "bus", "copyback"] {
        let value = &device[key];
        reached.note(format!("folds with {key}={value}"), migrated);
    }
    let all_of_them = count("slc_folds") * device["slc_pages_per_block"].as_u64().expect("pages");
    reached.note("folds that save moves", migrated && count("slc_migrations") < all_of_them);
    reached.note(format!("a full cache, {policy}"), slc < all || (policy == "fold" && migrated));
    reached.note("folds and collections", migrated && count("gc_moves") > 0);
    let writes_late = device["buffer_pages"] != 0 && device["link_ps_per_byte"] != 0;
    reached.note("folds behind buffer and link", migrated && writes_late);
    if device.get("slc_idle") != Some(&json!(false)) {
        let busy = with(vector, "device", "slc_idle", json!(false));
        reached.note("folds of idle units", counted(&busy, "slc_folds") < count("slc_folds"));
    }
}

fn note_the_handles(reached: &mut Reached, vector: &Value, results: &Value) {
    let device = &vector["device"];
    if device.get("handles").is_none() {
        return;
    }
    let moves = counted(results, "gc_moves") > 5;
    let isolation = device["isolation"].as_str().expect("a word");
    let stream = device["gc_stream"].as_str().expect("a word");
    let policy = vector["placement"]["policy"].as_str().expect("a word");
    let programs = listed(results, "handle_programs");
    let spread = programs.iter().filter(|&&count| count > 0).count() > 1;
    reached.note(format!("moves with {isolation}, {stream}"), moves);
    for key in ["gc_mode", "alloc"] {
        let value = &device[key];
        reached.note(format!("moves of several handles with {key}={value}"), moves && spread);
    }
    // Without a cache all labels are 0.
    if !matches!(policy, "none" | "by-cache") {
        reached.note(format!("{policy}: several handles"), spread);
        reached.note(format!("{policy}: moves"), spread && moves);
        let trims = counted(results, "trimmed_pages") > 0;
        reached.note(format!("{policy}: moves and trims"), spread && moves && trims);
    }
    if isolation == "assigned" {
        // Class 2 and those beyond it are for moved pages; with `fk` any is.
        let streams = listed(results, "stream_programs");
        let used = streams.iter().skip(2).filter(|&&count| count > 0).count();
        reached.note(format!("{policy}: assigned streams"), used > 1);
    }
    if let ("sepbit", Some(_)) = (policy, vector["placement"].get("window")) {
        let patient = with(vector, "placement", "window", json!(1_000_000));
        let learnt =
            patient["counters"]["handle_programs"] != results["counters"]["handle_programs"];
        reached.note("sepbit: a mean lifetime", learnt);
    }
    if policy == "fk" {
        let steps = vector["placement"].get("steps").and_then(Value::as_str).unwrap_or("default");
        reached.note(format!("fk: steps, {steps}"), spread);
    }
}

#[test]
fn random_drives_of_today_reach_every_part() {
    let mut reached = Reached(std::collections::BTreeMap::new());
    for vector in drawn(&generate::vector_of_today(Caches::None), 500) {
        let results = results(&vector);
        note_the_way(&mut reached, &vector, &results);
        note_the_slc_cache(&mut reached, &vector, &results);
        note_the_handles(&mut reached, &vector, &results);
        let closed = vector["host"].get("mode").is_some();
        reached.note("trims in a closed loop", closed && counted(&results, "trimmed_pages") > 0);
        reached.note("flushes in a closed loop", closed && counted(&results, "flush_requests") > 0);
    }
    reached.all(1);
}

#[test]
fn random_loads_reach_what_caches_tell_a_drive_of_today() {
    let mut reached = Reached(std::collections::BTreeMap::new());
    for caches in [Caches::Page, Caches::Block, Caches::Device] {
        for vector in drawn(&generate::vector_of_today(caches), 250) {
            let results = results(&vector);
            let cache = vector["cache"]["policy"].as_str().expect("a name");
            let policy = vector["placement"]["policy"].as_str().unwrap_or("none");
            let programs = listed(&results, "handle_programs");
            let spread = programs.iter().filter(|&&count| count > 0).count() > 1;
            for counter in ["trim_cache_drops", "trim_dirty_drops", "flush_wait_ns_sum"] {
                reached.note(counter, counted(&results, counter) > 0);
            }
            let several = results["decisions"].as_array().expect("a list").iter().any(|decision| {
                let groups = decision["flushed"].as_array().into_iter().flatten();
                groups.into_iter().any(|group| group.as_array().is_some_and(|g| g.len() > 1))
            });
            reached.note("one command for a group", several && vector["device"]["command_ns"] != 0);
            for key in ["frame", "data", "program", "transfer", "none"] {
                let waits =
                    vector["cache"]["read_wait"] == key || vector["cache"]["evict_wait"] == key;
                let late = vector["device"]["link_ps_per_byte"] != 0;
                reached.note(format!("{key} over a link"), waits && late);
                reached.note(
                    format!("{key} behind a buffer"),
                    waits && counted(&results, "buffer_waits") > 0,
                );
            }
            if matches!(policy, "by-size" | "sepbit" | "fk") {
                reached.note(format!("{policy} behind a cache"), spread);
            }
            if cache == "sac" {
                let looks = vector["device"]["link_ps_per_byte"] != 0;
                reached.note("sac over a link", looks && counted(&results, "read_misses") > 10);
            }
        }
    }
    reached.all(4);
}
