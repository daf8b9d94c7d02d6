//! A policy access by access, with its lists.

use destage_core::{Op, Page, Part};
use destage_engine::options::RunOptions;
use destage_engine::sizes::CacheSize;
use destage_engine::spec::PolicySpec;
use destage_engine::stepped::{Ended, Stepped};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Most accesses that are stepped, and frames of the cache: it is drawn, page by page.
const MOST_ACCESSES: usize = 2000;
const MOST_FRAMES: u32 = 64;
/// Pages of an erase block, for policies that cluster by it.
const BLOCK_PAGES: u32 = 4;

/// The accesses, `r12 w3`, and the state of the cache after each.
pub(crate) fn steps(policy: &str, cache: &str, accesses: &str) -> Result<Value, String> {
    let accesses = read(accesses)?;
    let unique = accesses.iter().map(|(_, page)| page).collect::<BTreeSet<_>>().len() as u64;
    let frames = match CacheSize::parse(cache)?.resolve(4096, unique)?.as_slice() {
        [size] if size.frames <= MOST_FRAMES => size.frames,
        [size] => {
            return Err(format!(
                "cache {cache}: {} frames; at most {MOST_FRAMES} are drawn",
                size.frames
            ));
        }
        sizes => return Err(format!("cache {cache}: expected one size, found {}", sizes.len())),
    };
    let spec = PolicySpec::parse(policy).map_err(|e| e.to_string())?;
    let options = RunOptions { pages_per_block: Some(BLOCK_PAGES), ..RunOptions::default() };
    let mut cache = Stepped::new(spec, frames, options).map_err(|e| e.to_string())?;
    let steps: Vec<Value> = accesses.iter().map(|&(op, page)| step(&mut cache, op, page)).collect();
    let counters = cache.counters();
    Ok(json!({
        "label": cache.given(),
        "frames": frames,
        "steps": steps,
        "hits": counters.read_hits + counters.write_hits,
        "physical_writes": counters.physical_writes,
    }))
}

fn read(accesses: &str) -> Result<Vec<(Op, u64)>, String> {
    let wrong = |word: &str, place: usize| {
        format!("access {place}, {word:?}: expected r or w and a page number, such as r1 or w12")
    };
    let accesses: Vec<(Op, u64)> = accesses
        .split_whitespace()
        .zip(1..)
        .map(|(word, place)| {
            let op = match word.as_bytes()[0] {
                b'r' | b'R' => Op::Read,
                b'w' | b'W' => Op::Write,
                _ => return Err(wrong(word, place)),
            };
            word[1..].parse().map(|page| (op, page)).map_err(|_| wrong(word, place))
        })
        .collect::<Result<_, _>>()?;
    match accesses.len() {
        0 => Err("accesses: expected at least one, such as r1 w2, found none".to_owned()),
        n if n > MOST_ACCESSES => Err(format!("{n} accesses: at most {MOST_ACCESSES} are stepped")),
        _ => Ok(accesses),
    }
}

fn step(cache: &mut Stepped, op: Op, page: u64) -> Value {
    let result = match cache.access(Page(page), op) {
        Ended::Hit => "hit",
        Ended::Admitted => "miss",
        Ended::Bypassed => "bypass",
    };
    let plan = cache.plan();
    let evicted: Vec<u64> = plan.evicted().iter().map(|evicted| evicted.page.0).collect();
    let destaged: Vec<u64> = plan.flushed().iter().map(|page| page.0).collect();
    let padded: usize = plan.groups().map(|(_, pads)| pads.len()).sum();
    let (mut resident, mut dirty) = (Vec::new(), Vec::new());
    cache.for_each_resident(&mut |page, is_dirty| {
        resident.push(page.0);
        if is_dirty {
            dirty.push(page.0);
        }
    });
    resident.sort_unstable();
    dirty.sort_unstable();
    let mut gauges = Map::new();
    cache.gauges(&mut |name, value| drop(gauges.insert(name.to_owned(), value.into())));
    let lists: Vec<Value> =
        cache.inside().iter().map(|(name, part)| json!([name, shown(part)])).collect();
    json!({
        "op": if op.is_write() { "w" } else { "r" },
        "page": page,
        "result": result,
        "evicted": evicted,
        "destaged": destaged,
        "padded": padded,
        "resident": resident,
        "dirty": dirty,
        "lists": lists,
        "gauges": gauges,
    })
}

/// A page as `{"page": 3}`, any other value as itself.
fn shown(part: &Part) -> Value {
    match part {
        Part::Count(count) => json!(count),
        Part::Real(real) => json!(real),
        Part::Word(word) => json!(word),
        Part::Page(page) => json!({ "page": page.0 }),
        Part::List(parts) => parts.iter().map(shown).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(step: &Value) -> String {
        let lists = step["lists"].as_array().unwrap().iter();
        let pages = |list: &Value| {
            let parts = list[1].as_array().unwrap().iter();
            parts.map(|part| part["page"].to_string()).collect::<Vec<_>>().join(" ")
        };
        lists.map(|list| format!("{}[{}]", list[0].as_str().unwrap(), pages(list))).collect()
    }

    #[test]
    fn lru_moves_a_hit_to_the_front_and_gives_up_the_oldest() {
        let found = steps("lru", "3p", "w1 r2 r3 r1 r4 w5").unwrap();
        let all = found["steps"].as_array().unwrap();
        let seen: Vec<&str> = all.iter().map(|s| s["result"].as_str().unwrap()).collect();
        assert_eq!(seen, ["miss", "miss", "miss", "hit", "miss", "miss"]);
        assert_eq!(all[4]["evicted"], json!([2]));
        assert!(lists(&all[3]).contains("[1 3 2]"), "{}", lists(&all[3]));
        assert!(lists(&all[5]).contains("[5 4 1]"), "{}", lists(&all[5]));
        assert_eq!((&all[3]["dirty"], &all[5]["dirty"]), (&json!([1]), &json!([1, 5])));
        assert_eq!((&found["hits"], &found["physical_writes"]), (&json!(1), &json!(0)));
        let written = steps("lru", "1p", "w1 r2").unwrap();
        assert_eq!(written["steps"][1]["destaged"], json!([1]));
    }

    #[test]
    fn every_policy_that_steps_shows_lists_that_hold_its_pages() {
        let trace = "r1 w2 r3 r1 w4 r5 r1 w2 r6 r7 r2 w5 r3 r8 w4 r1 r9 r5";
        let (mut stepped, mut listed) = (0, 0);
        for info in destage_policies::POLICIES {
            let Ok(found) = steps(info.name, "4p", trace) else { continue };
            stepped += 1;
            for step in found["steps"].as_array().unwrap() {
                let resident = step["resident"].as_array().unwrap();
                assert!(resident.len() <= 4, "{}", info.name);
                let lists = step["lists"].to_string();
                let shown = |page: &Value| lists.contains(&json!({ "page": page }).to_string());
                listed += usize::from(!resident.is_empty() && resident.iter().all(shown));
            }
        }
        assert!(stepped >= 30, "{stepped}");
        // Of eighteen accesses of each policy; some keep no list by page.
        assert!(listed >= 18 * 24, "{listed} of {}", 18 * stepped);
    }

    #[test]
    fn what_is_no_access_is_named_with_its_place() {
        for (policy, cache, accesses, part) in [
            ("lru", "4p", "r1 x2", "access 2, \"x2\": expected r or w and a page number"),
            ("lru", "4p", "r1 w", "access 2, \"w\""),
            ("lru", "4p", "  ", "found none"),
            ("lru", "65p", "r1", "at most 64 are drawn"),
            ("lru", "auto", "r1 r2 r3", "expected one size"),
            ("lrru", "4p", "r1", "did you mean lru?"),
        ] {
            let why = steps(policy, cache, accesses).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }
}
