//! One line of a vector file: which kind it is, and what a page vector says.
//!
//! Layout: `docs/spec/README.md` (kinds) and `docs/spec/page-policies.md` 4 (page vectors). Given
//! keys must be there and be right to the letter; expected keys may be missing, and are then not
//! compared. Which policies exist and which parameters they have is not decided here: a vector may
//! be run through a policy of the user's own.

use super::json::shown;
use destage_core::{Op, Page, Plan};
use destage_policies::params::Value;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::fmt;

/// What a line of a vector file is about, told by its keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Page,
    Block,
    Ftl,
    Device,
}

/// The counters of a page vector, in the order in which vectors list them
/// (`docs/spec/page-policies.md` 2.5).
pub const COUNTERS: [&str; 8] = [
    "read_hits",
    "read_misses",
    "write_hits",
    "write_misses",
    "physical_reads",
    "physical_writes",
    "evictions",
    "end_flushes",
];

/// The values of [`COUNTERS`], in that order.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PageCounters(pub [u64; COUNTERS.len()]);

impl PageCounters {
    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        COUNTERS.into_iter().zip(self.0)
    }
}

impl Serialize for PageCounters {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// What a policy decided on one access (`docs/spec/page-policies.md` 2.4).
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Decision {
    /// The page was resident when the access arrived.
    pub hit: bool,
    /// Evicted pages, in order.
    pub evicted: Vec<u64>,
    /// Flush groups, in order.
    pub flushed: Vec<Vec<u64>>,
    /// For each group its padding; `None`: nothing is padded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub padded: Option<Vec<Vec<u64>>>,
}

impl Decision {
    /// On a miss; `number` names pages.
    pub(super) fn of(hit: bool, plan: &Plan, number: impl Fn(Page) -> u64) -> Decision {
        Decision {
            hit,
            evicted: plan.evicted().iter().map(|evicted| number(evicted.page)).collect(),
            flushed: plan
                .groups()
                .map(|(pages, _)| pages.iter().map(|&page| number(page)).collect())
                .collect(),
            padded: (!plan.padded().is_empty()).then(|| {
                plan.groups().map(|(_, pads)| pads.iter().map(|pad| pad.lpn.0).collect()).collect()
            }),
        }
    }
}

/// What a vector says of one decision; a key that it leaves out is not compared.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Expected {
    /// The page was resident.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit: Option<bool>,
    /// Evicted pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evicted: Option<Vec<u64>>,
    /// Flush groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flushed: Option<Vec<Vec<u64>>>,
    /// Padding of each flush group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub padded: Option<Vec<Vec<u64>>>,
}

impl Expected {
    /// Nothing that is expected differs.
    pub fn agrees(&self, got: &Decision) -> bool {
        self.hit.is_none_or(|hit| hit == got.hit)
            && self.evicted.as_ref().is_none_or(|evicted| *evicted == got.evicted)
            && self.flushed.as_ref().is_none_or(|flushed| *flushed == got.flushed)
            && self.padded.as_ref().is_none_or(|padded| match &got.padded {
                Some(got) => padded == got,
                None => padded.len() == got.flushed.len() && padded.iter().all(Vec::is_empty),
            })
    }
}

impl From<Decision> for Expected {
    fn from(Decision { hit, evicted, flushed, padded }: Decision) -> Self {
        Expected { hit: Some(hit), evicted: Some(evicted), flushed: Some(flushed), padded }
    }
}

/// As in a vector, for messages.
impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// As in a vector, for messages.
impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// A conformance vector of a page policy.
#[derive(Clone, PartialEq, Debug)]
pub struct PageVector {
    /// Its name, such as `lru/micro`; empty if it has none.
    pub name: String,
    /// Name of the policy, not looked up.
    pub policy: String,
    /// Parameters as given, without the options of the run; not checked against the policy.
    pub params: BTreeMap<String, Value>,
    /// Option of the run, out of `params`: a write miss reads the page first.
    pub fetch_on_write_miss: bool,
    /// Option of the run, out of `params`: dirty pages are written after the last access.
    pub flush_at_end: bool,
    /// Frames of the cache, at least 1.
    pub frames: u32,
    /// The trace.
    pub accesses: Vec<(Op, u64)>,
    /// One per access, if the vector has decisions.
    pub decisions: Option<Vec<Expected>>,
    /// If the vector has counters; those that it does not list are 0.
    pub counters: Option<PageCounters>,
    /// Keys that are not part of the layout, and so are not compared.
    pub unknown_keys: Vec<String>,
}

/// What is wrong with a line, and at which key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Malformed {
    /// Path of the key, such as `accesses[3][1]`; empty for the line as a whole.
    pub(super) key: String,
    pub(super) what: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            f.write_str(&self.what)
        } else {
            write!(f, "{}: {}", self.key, self.what)
        }
    }
}

pub(super) fn malformed(key: impl Into<String>, what: impl Into<String>) -> Malformed {
    Malformed { key: key.into(), what: what.into() }
}

pub(super) fn unexpected(key: impl Into<String>, expected: &str, found: &Json) -> Malformed {
    malformed(key, format!("expected {expected}, found {}", shown(found)))
}

/// The line as an object.
pub(super) fn object(line: &Json) -> Result<&Map<String, Json>, Malformed> {
    line.as_object().ok_or_else(|| unexpected("", "a JSON object", line))
}

/// The kind that the keys tell.
pub(super) fn kind(vector: &Map<String, Json>) -> Result<Kind, Malformed> {
    let told: Vec<&str> =
        ["policy", "ftl", "device"].into_iter().filter(|&key| vector.contains_key(key)).collect();
    match told[..] {
        ["policy"] if vector.contains_key("pages_per_block") => Ok(Kind::Block),
        ["policy"] => Ok(Kind::Page),
        ["ftl"] => Ok(Kind::Ftl),
        ["device"] => Ok(Kind::Device),
        // The parameters of the drive's FTL, as in a file.
        ["ftl", "device"] if vector["ftl"].is_object() => Ok(Kind::Device),
        [] => Err(malformed(
            "",
            "the kind of the vector is unknown: expected one of the keys policy, ftl, device",
        )),
        _ => Err(malformed(
            "",
            format!(
                "the kind of the vector is ambiguous: expected one of the keys policy, ftl, \
                 device, found {}",
                told.join(" and ")
            ),
        )),
    }
}

/// Reads a line of kind [`Kind::Page`].
pub(super) fn page_vector(vector: &Map<String, Json>) -> Result<PageVector, Malformed> {
    let name = match vector.get("name") {
        None => String::new(),
        Some(name) => text("name", name)?,
    };
    let policy = text("policy", given(vector, "policy")?)?;
    let mut params = params(given(vector, "params")?)?;
    let fetch_on_write_miss = option(&mut params, "fetch_on_write_miss")?;
    let flush_at_end = option(&mut params, "flush_at_end")?;
    let frames = frames(given(vector, "frames")?)?;
    let accesses = list("accesses", given(vector, "accesses")?)?
        .iter()
        .enumerate()
        .map(|(i, entry)| access(i, entry))
        .collect::<Result<Vec<_>, _>>()?;

    let mut unknown_keys: Vec<String> = vector
        .keys()
        .filter(|key| {
            !["name", "policy", "params", "frames", "accesses", "decisions", "counters"]
                .contains(&key.as_str())
        })
        .cloned()
        .collect();
    let decisions = match vector.get("decisions") {
        None => None,
        Some(found) => Some(decisions(found, accesses.len(), &mut unknown_keys)?),
    };
    let counters = match vector.get("counters") {
        None => None,
        Some(found) => Some(counters(found, &mut unknown_keys)?),
    };
    Ok(PageVector {
        name,
        policy,
        params,
        fetch_on_write_miss,
        flush_at_end,
        frames,
        accesses,
        decisions,
        counters,
        unknown_keys,
    })
}

pub(super) fn given<'a>(vector: &'a Map<String, Json>, key: &str) -> Result<&'a Json, Malformed> {
    vector.get(key).ok_or_else(|| malformed(key, "the key is missing"))
}

pub(super) fn text(key: &str, found: &Json) -> Result<String, Malformed> {
    found.as_str().map(str::to_string).ok_or_else(|| unexpected(key, "a string", found))
}

pub(super) fn list<'a>(key: &str, found: &'a Json) -> Result<&'a [Json], Malformed> {
    found.as_array().map(Vec::as_slice).ok_or_else(|| unexpected(key, "a list", found))
}

pub(super) fn params(found: &Json) -> Result<BTreeMap<String, Value>, Malformed> {
    let object = found.as_object().ok_or_else(|| unexpected("params", "an object", found))?;
    object
        .iter()
        .map(|(key, found)| {
            let value = match found {
                Json::Null => Value::None,
                Json::Bool(b) => Value::Bool(*b),
                Json::String(s) => Value::Text(s.clone()),
                Json::Number(n) => match (n.as_u64(), n.as_i64(), n.as_f64()) {
                    (Some(int), _, _) => Value::Int(int.into()),
                    (_, Some(int), _) => Value::Int(int.into()),
                    (_, _, Some(real)) => Value::Real(real),
                    _ => unreachable!("a JSON number is one of the three"),
                },
                Json::Array(_) | Json::Object(_) => {
                    let expected = "a number, a string, true, false or null";
                    return Err(unexpected(format!("params.{key}"), expected, found));
                }
            };
            Ok((key.clone(), value))
        })
        .collect()
}

/// Takes an option of the run out of the parameters; false if it is not there.
pub(super) fn option(params: &mut BTreeMap<String, Value>, key: &str) -> Result<bool, Malformed> {
    match params.remove(key) {
        None => Ok(false),
        Some(Value::Bool(on)) => Ok(on),
        Some(other) => Err(malformed(
            format!("params.{key}"),
            format!("expected true or false, found {other}"),
        )),
    }
}

pub(super) fn frames(found: &Json) -> Result<u32, Malformed> {
    found
        .as_u64()
        .and_then(|frames| u32::try_from(frames).ok())
        .filter(|&frames| frames > 0)
        .ok_or_else(|| unexpected("frames", "an integer 1..4294967295", found))
}

pub(super) fn access(i: usize, found: &Json) -> Result<(Op, u64), Malformed> {
    let Some([op, page]) = found.as_array().map(Vec::as_slice) else {
        return Err(unexpected(format!("accesses[{i}]"), "a list [\"r\" or \"w\", page]", found));
    };
    let op = match op.as_str() {
        Some("r") => Op::Read,
        Some("w") => Op::Write,
        _ => return Err(unexpected(format!("accesses[{i}][0]"), "\"r\" or \"w\"", op)),
    };
    let page = self::page(page, || format!("accesses[{i}][1]"))?;
    Ok((op, page))
}

fn page(found: &Json, key: impl FnOnce() -> String) -> Result<u64, Malformed> {
    found.as_u64().ok_or_else(|| unexpected(key(), "a page number 0..18446744073709551615", found))
}

fn pages(found: &Json, key: &str) -> Result<Vec<u64>, Malformed> {
    list(key, found)?
        .iter()
        .enumerate()
        .map(|(i, found)| page(found, || format!("{key}[{i}]")))
        .collect()
}

fn groups(found: &Json, key: &str) -> Result<Vec<Vec<u64>>, Malformed> {
    list(key, found)?
        .iter()
        .enumerate()
        .map(|(i, group)| pages(group, &format!("{key}[{i}]")))
        .collect()
}

pub(super) fn decisions(
    found: &Json,
    accesses: usize,
    unknown_keys: &mut Vec<String>,
) -> Result<Vec<Expected>, Malformed> {
    let entries = list("decisions", found)?;
    if entries.len() != accesses {
        let what = format!("expected one per access ({accesses}), found {} of them", entries.len());
        return Err(malformed("decisions", what));
    }
    entries
        .iter()
        .enumerate()
        .map(|(i, entry)| decision(&format!("decisions[{i}]"), entry, unknown_keys))
        .collect()
}

fn decision(
    path: &str,
    found: &Json,
    unknown_keys: &mut Vec<String>,
) -> Result<Expected, Malformed> {
    let object = found.as_object().ok_or_else(|| unexpected(path, "an object", found))?;
    let mut expected = Expected::default();
    for (key, found) in object {
        let path = format!("{path}.{key}");
        match key.as_str() {
            "hit" => {
                let hit =
                    found.as_bool().ok_or_else(|| unexpected(&path, "true or false", found))?;
                expected.hit = Some(hit);
            }
            "evicted" => expected.evicted = Some(pages(found, &path)?),
            "flushed" => expected.flushed = Some(groups(found, &path)?),
            "padded" => expected.padded = Some(groups(found, &path)?),
            // Repeated from the access for the human reader (the decision record of 2.4).
            "index" | "op" | "page" => {}
            _ => note(unknown_keys, format!("decisions[].{key}")),
        }
    }
    Ok(expected)
}

fn counters(found: &Json, unknown_keys: &mut Vec<String>) -> Result<PageCounters, Malformed> {
    let object = found.as_object().ok_or_else(|| unexpected("counters", "an object", found))?;
    let mut counters = PageCounters::default();
    for (key, found) in object {
        match COUNTERS.iter().position(|name| name == key) {
            Some(at) => {
                counters.0[at] = found.as_u64().ok_or_else(|| {
                    unexpected(format!("counters.{key}"), "an integer >= 0", found)
                })?;
            }
            None => note(unknown_keys, format!("counters.{key}")),
        }
    }
    Ok(counters)
}

pub(super) fn note(unknown_keys: &mut Vec<String>, key: String) {
    if !unknown_keys.contains(&key) {
        unknown_keys.push(key);
    }
}
