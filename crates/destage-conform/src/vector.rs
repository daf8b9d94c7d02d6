//! One line of a vector file: which kind it is, and what a page vector says.
//!
//! Layout: `docs/spec/README.md` (kinds) and `docs/spec/page-policies.md` 4 (page vectors). Given
//! keys must be there and be right to the letter; expected keys may be missing, and are then not
//! compared. Which policies exist and which parameters they have is not decided here: a vector may
//! be run through a policy of the user's own.

use super::read::{
    Access, Count, Flag, Frames, List, Malformed, Object, PageNumber, Params, Text, malformed,
    one_for_each, option, present, read, unexpected, values,
};
use destage_core::{Op, Page, Plan};
use destage_policies::params::Value;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::fmt;

/// Type of a vector, detected from the keys of its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum VectorKind {
    Page,
    Block,
    Ftl,
    Device,
    Tiers,
    TiersDevice,
    Kv,
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

/// Decision of a policy on one access (`docs/spec/page-policies.md` 2.4).
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

/// Decision on one access with its number and the access, as block and device vectors write it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AccessDecision {
    pub(super) index: u64,
    pub(super) op: char,
    pub(super) page: u64,
    #[serde(flatten)]
    pub(super) decision: Decision,
}

/// Expected decision on one access; absent keys are not compared.
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

/// The line as an object.
pub(super) fn object(line: &Json) -> Result<&Map<String, Json>, Malformed> {
    line.as_object().ok_or_else(|| unexpected("", "a JSON object", line))
}

/// The kind that the keys tell.
pub(super) fn kind(vector: &Map<String, Json>) -> Result<VectorKind, Malformed> {
    let told: Vec<&str> =
        ["policy", "ftl", "device"].into_iter().filter(|&key| vector.contains_key(key)).collect();
    match told[..] {
        ["policy"] if vector.contains_key("pages_per_block") => Ok(VectorKind::Block),
        ["policy"] if vector.contains_key("kv") => Ok(VectorKind::Kv),
        ["policy"] if vector.contains_key("tier2") => Ok(VectorKind::Tiers),
        ["policy"] => Ok(VectorKind::Page),
        ["ftl"] => Ok(VectorKind::Ftl),
        ["device"] => Ok(VectorKind::Device),
        ["policy", "device"] | ["policy", "ftl", "device"] if vector.contains_key("tier2") => {
            Ok(VectorKind::TiersDevice)
        }
        // The parameters of the drive's FTL, as in a file.
        ["ftl", "device"] if vector["ftl"].is_object() => Ok(VectorKind::Device),
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

/// A page vector as its line has it.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    name: Text,
    policy: Text,
    params: Params,
    frames: Frames,
    accesses: List<Access>,
    #[serde(default, deserialize_with = "present")]
    decisions: Option<List<Expected>>,
    #[serde(default, deserialize_with = "present")]
    counters: Option<Object<PageCounters>>,
}

/// Reads a line of kind [`VectorKind::Page`].
pub(super) fn page_vector(line: &Json) -> Result<PageVector, Malformed> {
    let (line, unknown_keys) = read::<Line>(line)?;
    let mut params = values(line.params);
    let fetch_on_write_miss = option(&mut params, "fetch_on_write_miss")?;
    let flush_at_end = option(&mut params, "flush_at_end")?;
    let accesses: Vec<(Op, u64)> = line.accesses.0.into_iter().map(Into::into).collect();
    Ok(PageVector {
        name: line.name.0,
        policy: line.policy.0,
        params,
        fetch_on_write_miss,
        flush_at_end,
        frames: line.frames.0,
        decisions: one_for_each("decisions", line.decisions, ("access", accesses.len()))?,
        counters: line.counters.map(|Object(counters)| counters),
        accesses,
        unknown_keys,
    })
}

impl<'de> Deserialize<'de> for Expected {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Given {
            #[serde(default, deserialize_with = "present")]
            hit: Option<Flag>,
            #[serde(default, deserialize_with = "present")]
            evicted: Option<List<PageNumber>>,
            #[serde(default, deserialize_with = "present")]
            flushed: Option<List<List<PageNumber>>>,
            #[serde(default, deserialize_with = "present")]
            padded: Option<List<List<PageNumber>>>,
            // Repeated from the access for the human reader (the decision record of 2.4).
            #[serde(default, rename = "index")]
            _index: Json,
            #[serde(default, rename = "op")]
            _op: Json,
            #[serde(default, rename = "page")]
            _page: Json,
        }
        let Object(given) = Object::<Given>::deserialize(value)?;
        let groups =
            |groups: List<List<PageNumber>>| groups.0.into_iter().map(List::pages).collect();
        Ok(Expected {
            hit: given.hit.map(|Flag(hit)| hit),
            evicted: given.evicted.map(List::pages),
            flushed: given.flushed.map(groups),
            padded: given.padded.map(groups),
        })
    }
}

impl<'de> Deserialize<'de> for PageCounters {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Given {
            read_hits: Count,
            read_misses: Count,
            write_hits: Count,
            write_misses: Count,
            physical_reads: Count,
            physical_writes: Count,
            evictions: Count,
            end_flushes: Count,
        }
        let given = Given::deserialize(value)?;
        // In the order of COUNTERS.
        Ok(PageCounters([
            given.read_hits.0,
            given.read_misses.0,
            given.write_hits.0,
            given.write_misses.0,
            given.physical_reads.0,
            given.physical_writes.0,
            given.evictions.0,
            given.end_flushes.0,
        ]))
    }
}
