//! A policy over cache sizes, and the sentence "policy or working set?".

use destage_engine::options::RunOptions;
use destage_engine::run::needs_next_use;
use destage_engine::sizes::{CacheSize, Frames};
use destage_engine::spec::PolicySpec;
use destage_mrc::{EverySize, Mrc, MrcOptions, mrc};
use destage_replay::control::Control;
use destage_replay::input::Input;
use destage_trace::Trace;
use serde_json::{Value, json};

/// Name of the bound.
const BOUND: &str = "min";

/// The frames of a list of sizes, in the order given.
pub(crate) fn sizes(trace: &Trace, cache: &str) -> Result<Vec<Frames>, String> {
    let mut sizes = Vec::new();
    for text in cache.split(',') {
        let pages = u64::from(trace.pages());
        sizes.extend(CacheSize::parse(text)?.resolve(trace.page_bytes(), pages)?);
    }
    Ok(sizes)
}

fn drawn(
    trace: &Trace,
    specs: &[PolicySpec],
    sizes: &[Frames],
    every_size: bool,
) -> Result<Mrc, String> {
    let mut run = RunOptions::default();
    run.tiers.page_bytes = Some(trace.page_bytes());
    let options = MrcOptions {
        run,
        page_bytes: trace.page_bytes(),
        every_size,
        sampling: None,
        within: None,
        control: None,
        jobs: 1,
    };
    let uses = needs_next_use(specs).then(|| trace.next_uses()).transpose();
    let uses = uses.map_err(|e| e.to_string())?;
    let input = Input::new(trace, uses.as_deref());
    mrc(&input, specs, sizes, &options, &Control::default()).map_err(|e| e.to_string())
}

fn spec(policy: &str) -> Result<PolicySpec, String> {
    PolicySpec::parse(policy).map_err(|e| e.to_string())
}

/// The curve of a policy, as `destage mrc --json` has it.
pub(crate) fn points(trace: &Trace, policy: &str, cache: &str) -> Result<Value, String> {
    let specs = [spec(policy)?];
    let curves = drawn(trace, &specs, &sizes(trace, cache)?, false)?;
    let [curve] = &curves.curves[..] else { return Err(format!("{policy}: no curve")) };
    Ok(json!({ "label": curve.label, "points": curve.points, "warnings": curves.warnings }))
}

/// A policy at every size, in one pass; thinned out to at most `most` sizes, evenly spaced in the
/// logarithm.
pub(crate) fn every(trace: &Trace, policy: &str, most: usize) -> Result<Value, String> {
    let specs = [spec(policy)?];
    let run = RunOptions::default();
    destage_mrc::one_pass(&specs[0], &run).map_err(|why| format!("{policy} {why}"))?;
    let sizes = [Frames { frames: 1, given: "1p".to_owned() }];
    let curves = drawn(trace, &specs, &sizes, true)?;
    let every = curves.curves.first().and_then(|curve| curve.every_size.as_ref());
    every.map(|every| thinned(every, most)).ok_or_else(|| format!("{policy}: no curve"))
}

fn thinned(every: &EverySize, most: usize) -> Value {
    let last = every.hits.len();
    let mut frames: Vec<usize> = (0..most.max(2))
        .map(|k| (last as f64).powf(k as f64 / (most.max(2) - 1) as f64).round() as usize)
        .collect();
    frames.dedup();
    frames.retain(|&frames| (1..=last).contains(&frames));
    let at = |column: &[u64]| frames.iter().map(|&frames| column[frames - 1]).collect::<Vec<_>>();
    json!({
        "accesses": every.accesses,
        "hits": at(&every.hits),
        "physical_writes": every.physical_writes.as_deref().map(at),
        "frames": frames,
    })
}

/// Whether a better policy or a larger cache is worth more at a size: the distance of the best of
/// these policies to the bound, and its hits at twice the size.
pub(crate) fn verdict(trace: &Trace, policies: &[String], cache: &str) -> Result<Value, String> {
    let sizes = sizes(trace, cache)?;
    let [size] = &sizes[..] else {
        return Err(format!("cache {cache}: expected one size, found {}", sizes.len()));
    };
    let specs: Vec<PolicySpec> = policies.iter().map(|p| spec(p)).collect::<Result<_, _>>()?;
    let online: Vec<PolicySpec> =
        specs.into_iter().filter(|spec| !needs_next_use(std::slice::from_ref(spec))).collect();
    if online.is_empty() {
        return Err("expected a policy that does not know the future, found none".to_owned());
    }
    let here = drawn(trace, &online, &sizes, false)?;
    let bound = drawn(trace, &[spec(BOUND)?], &sizes, false)?;
    let accesses = bound.curves[0].points[0].accesses;
    let hits = |curves: &Mrc, k: usize| accesses - curves.curves[k].points[0].misses;
    // Of policies that tie the first.
    let best = (0..online.len()).rev().max_by_key(|&k| hits(&here, k)).unwrap_or(0);
    let frames = size.frames.saturating_mul(2);
    let twice = [Frames { frames, given: format!("{frames}p") }];
    let larger = drawn(trace, &online[best..=best], &twice, false)?;
    let (now, most, then) = (hits(&here, best), hits(&bound, 0), hits(&larger, 0));
    let (policy, room) = (most - now, then.saturating_sub(now));
    // As `destage mrc --partition` has it: a difference below one point decides nothing.
    let is_a_point = |hits: u64| hits * 100 >= accesses;
    let answer = match (is_a_point(policy.abs_diff(room)), policy > room) {
        (true, true) => "policy",
        (true, false) => "working set",
        (false, _) if is_a_point(policy.max(room)) => "both",
        (false, _) => "neither",
    };
    Ok(json!({
        "answer": answer,
        "best": online[best].label(),
        "frames": size.frames,
        "accesses": accesses,
        "hits": now,
        "bound_hits": most,
        "hits_at_twice": then,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opened;
    use destage_engine::run::run;
    use destage_replay::observe::Unobserved;
    use serde_json::Map;
    use std::sync::Arc;

    /// Reads of pages, each for itself.
    fn reads(name: &str, pages: impl Iterator<Item = u64>) -> Arc<Trace> {
        let path =
            std::env::temp_dir().join(format!("destage-web-{}-{name}.csv", std::process::id()));
        let lines: Vec<String> = pages.map(|page| format!("{},R,4096", page * 4096)).collect();
        std::fs::write(&path, format!("offset,op,length\n{}\n", lines.join("\n"))).unwrap();
        let options = json!({
            "format": "csv", "columns": "offset=offset,op=op,length=length",
            "offset_unit": "byte", "length_unit": "byte", "op_read": "R", "op_write": "W",
        });
        let options: &Map<String, Value> = options.as_object().unwrap();
        let opened = opened::open(&[path.display().to_string()], options, None);
        std::fs::remove_file(&path).unwrap();
        opened.expect("it is read").0
    }

    #[test]
    fn points_are_those_of_a_run() {
        let (trace, _) = opened::tests::sample("blkparse.txt").expect("it is read");
        for policy in ["lru", "min", "arc", "s3-fifo", "cflru[window_fraction=0.75]", "sieve"] {
            let found = points(&trace, policy, "1p,2p,50%").unwrap();
            let uses = trace.next_uses().unwrap();
            let input = Input::new(&trace, Some(&uses));
            for (point, size) in found["points"].as_array().unwrap().iter().zip(["1p", "2p", "50%"])
            {
                let [size] = &sizes(&trace, size).unwrap()[..] else { panic!("one size") };
                let (spec, control) = (spec(policy).unwrap(), Control::default());
                let options = RunOptions { flush_at_end: false, ..RunOptions::default() };
                let result = run(&input, &spec, size, &options, &control, &mut Unobserved).unwrap();
                let counters = result.counters;
                let misses = counters.read_misses + counters.write_misses;
                assert_eq!(point["misses"], misses, "{policy} {}", size.given);
                assert_eq!(point["physical_writes"], counters.physical_writes, "{policy}");
            }
        }
    }

    #[test]
    fn every_size_has_the_hits_of_each_size() {
        let trace = reads("every", (0..400).map(|k| k * k % 61));
        let every = every(&trace, "lru", 10).unwrap();
        let frames: Vec<u64> =
            every["frames"].as_array().unwrap().iter().map(|f| f.as_u64().unwrap()).collect();
        assert!(frames.len() <= 10 && frames[0] == 1, "{frames:?}");
        for (at, frames) in frames.iter().enumerate() {
            let point = &points(&trace, "lru", &format!("{frames}p")).unwrap()["points"][0];
            let hits = point["accesses"].as_u64().unwrap() - point["misses"].as_u64().unwrap();
            assert_eq!(every["hits"][at], hits, "{frames}");
            assert_eq!(every["physical_writes"][at], point["physical_writes"], "{frames}");
        }
        let why = super::every(&trace, "arc", 10).unwrap_err();
        assert!(why.contains("arc runs once per size"), "{why}");
        assert_eq!(super::every(&trace, "min", 10).unwrap()["physical_writes"], Value::Null);
    }

    #[test]
    fn a_loop_calls_for_another_policy_and_a_uniform_set_for_more_room() {
        let lru = ["lru".to_owned(), "min".to_owned()];
        // A loop over 100 pages: LRU hits nothing in 60 frames, MIN more than half.
        let looped = reads("loop", (0..2000).map(|k| k % 100));
        let found = verdict(&looped, &lru, "45p").unwrap();
        assert_eq!((&found["answer"], &found["hits"]), (&json!("policy"), &json!(0)));
        let found = verdict(&looped, &lru, "60p").unwrap();
        assert_eq!(
            (&found["answer"], &found["hits_at_twice"]),
            (&json!("working set"), &json!(1900))
        );
        // Half a point more by the size than by the policy, of 2,000 accesses.
        let nearly = verdict(&looped, &lru, "49p").unwrap();
        let gain = |key: &str| nearly[key].as_u64().unwrap() - nearly["hits"].as_u64().unwrap();
        let (by_policy, by_size) = (gain("bound_hits"), gain("hits_at_twice"));
        let is_both = by_policy.abs_diff(by_size) < 20;
        assert_eq!(nearly["answer"] == "both", is_both, "{by_policy} {by_size}");
        // Once: nothing helps.
        let scan = reads("scan", 0..500);
        assert_eq!(verdict(&scan, &lru, "10p").unwrap()["answer"], "neither");
        assert!(verdict(&scan, &lru, "auto").unwrap_err().contains("expected one size"));
        assert!(verdict(&scan, &lru[1..], "10p").unwrap_err().contains("the future"));
    }
}
