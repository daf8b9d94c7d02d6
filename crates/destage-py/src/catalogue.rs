//! The tables (policies, formats, reader options, metrics) as JSON.

use crate::drive::describe_key;
use crate::errors::raise;
use destage_core::Requirements;
use destage_engine::result::{METRIC_GROUPS, METRICS};
use destage_engine::run::requirements;
use destage_engine::spec::PolicySpec;
use destage_keys::Field;
use destage_policies::{ADVISED, COMPARED, Info, ORDERED, POLICIES, info};
use destage_ssd::ftl::FTLS;
use destage_trace::options::{OPTIONS, takes};
use destage_trace::{FORMATS, ReaderOptions};
use pyo3::prelude::*;
use serde_json::{Value, json};

fn describe(info: &Info) -> Value {
    let params: Vec<Value> = info
        .params
        .iter()
        .map(|p| {
            json!({
                "name": p.name,
                "symbol": p.symbol,
                "values": p.kind.to_string(),
                "default": p.default.to_string(),
                "unit": p.unit,
                "about": p.about,
            })
        })
        .collect();
    let counters = info.counters.iter().map(|counter| {
        json!({
            "name": counter.name,
            "title": counter.title,
            "unit": counter.unit,
            "about": counter.about,
        })
    });
    let gauges = info
        .gauges
        .iter()
        .map(|gauge| json!({ "name": gauge.name, "title": gauge.title, "unit": gauge.unit }));
    let needs = PolicySpec::new(info.name, Vec::new())
        .map_or(Requirements::NONE, |spec| requirements(&spec));
    let place = |of: &[&str]| of.iter().position(|name| *name == info.name);
    json!({
        "name": info.name,
        "title": info.title,
        "source": info.source,
        "about": info.about,
        "flash_aware": info.flash_aware,
        "ghosts": info.ghosts,
        "clusters": info.clusters,
        "tail_first": info.tail_first,
        "by_page_number": info.by_page_number(),
        "lru_of_reads": info.lru_of_reads,
        "ordered": ORDERED.iter().any(|ordered| ordered.name == info.name),
        "two_lists": info.two_lists,
        "admission": info.admission,
        "pads": info.pads,
        "time": info.time,
        "family": info.family(needs),
        "baseline": info.baseline,
        "compared": place(COMPARED),
        "advised": place(ADVISED),
        "offline": needs.contains(Requirements::NEXT_USE),
        "needs_device": needs.device(),
        "params": params,
        "counters": counters.collect::<Value>(),
        "gauges": gauges.collect::<Value>(),
    })
}

/// Every policy, as a JSON array.
#[pyfunction]
pub fn policies() -> String {
    Value::from_iter(POLICIES.iter().map(|info| describe(info))).to_string()
}

/// One policy, as a JSON object.
#[pyfunction]
pub fn policy(py: Python<'_>, name: &str) -> PyResult<String> {
    Ok(describe(raise(py, info(name))?).to_string())
}

/// Every flash translation layer, as a JSON array.
#[pyfunction]
pub fn ftls() -> String {
    let describe = |ftl: &&destage_ssd::config::Info| {
        json!({
            "name": ftl.name,
            "title": ftl.title,
            "source": ftl.source,
            "about": ftl.about,
            "params": ftl.keys.iter().map(|key| describe_key("ftl", key)).collect::<Value>(),
        })
    };
    FTLS.iter().map(describe).collect::<Value>().to_string()
}

/// Every trace format, as a JSON array.
#[pyfunction]
pub fn formats() -> String {
    let describe = |f: &&destage_trace::Format| serde_json::to_value(f).unwrap_or_default();
    Value::from_iter(FORMATS.iter().map(describe)).to_string()
}

/// Every key of the `[trace]` table, as a JSON array.
#[pyfunction]
pub fn reader_options() -> String {
    let describe = |option: &Field<ReaderOptions>| {
        let key = &option.key;
        json!({
            "key": key.name,
            "values": takes(key),
            "default": key.default.to_string(),
            "about": key.about,
            "formats": key.of,
        })
    };
    OPTIONS.iter().map(describe).collect::<Value>().to_string()
}

/// Every metric of a result in the order of the columns, and their groups in the order of lists, as
/// JSON.
#[pyfunction]
pub fn metrics() -> String {
    json!({ "groups": METRIC_GROUPS, "metrics": *METRICS }).to_string()
}

/// The word of `known` that a mistyped one is nearest to, if it is near enough to be meant.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python hands its list over")]
pub fn nearest(word: &str, known: Vec<String>) -> Option<String> {
    destage_keys::nearest(word, known.iter().map(String::as_str)).map(str::to_owned)
}

/// `, did you mean ...?`, with the words of `known` that a mistyped one may have meant, or nothing;
/// and the words of `known` that an error lists.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python hands its list over")]
pub fn meant(word: &str, known: Vec<String>) -> (String, String) {
    let names = || known.iter().map(String::as_str);
    (destage_keys::question(word, names()), destage_keys::listed(word, names()))
}
