//! Workloads made from a seed.
//!
//! One description, [`Workload`], says which pages are asked for (the *kind*), how long requests
//! are, which are reads, and when they come. [`SynthSource`] makes its records in batches, the way
//! a reader does, so that a made trace is decoded, cached and converted like one that was recorded.
//!
//! The same description gives the same records: the generator is PCG64 (a fixed algorithm), and
//! addresses, operations and lengths come from integers. Zipf ranks, normal pages and exponential
//! gaps go through the mathematical library of the platform.

mod arrivals;
mod pages;
mod parameters;
mod presets;
pub(crate) mod random;
mod sizes;
mod source;

use serde_json::{Map, Value};

use crate::error::{Result, TraceError};
use crate::json::json;

pub use arrivals::Arrivals;
pub use parameters::{PARAMETERS, takes};
pub use presets::{PRESETS, Preset};
pub use sizes::Sizes;
pub use source::{SynthSource, open_workload};

/// Which pages are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Every page alike.
    Uniform,
    /// Bell-shaped around a centre.
    Normal,
    /// The k-th most wanted page with a probability in proportion to k^-alpha.
    Zipf,
    /// A share of the requests goes to a share of the pages.
    Locality,
    /// One after another, with a jump now and then.
    Sequential,
    /// The same stretch over and over.
    Loop,
    /// A hot set, and a scan over everything else.
    Scan,
    /// Zipf pages whose requests come in bursts.
    Bursts,
    /// Skewed reads and writes of a database, and its log.
    Oltp,
}

/// Name, kind and one line about it.
pub const KINDS: &[(&str, Kind, &str)] = &[
    ("uniform", Kind::Uniform, "every page alike"),
    ("normal", Kind::Normal, "pages bell-shaped around a centre"),
    ("zipf", Kind::Zipf, "the k-th most wanted page in proportion to k^-alpha"),
    (
        "locality",
        Kind::Locality,
        "x % of the requests go to y % of the pages, the others to the rest",
    ),
    ("sequential", Kind::Sequential, "one page after another, with a jump now and then"),
    ("loop", Kind::Loop, "the same stretch of pages over and over"),
    ("scan", Kind::Scan, "a hot set, mixed with a scan over all other pages"),
    ("bursts", Kind::Bursts, "zipf pages; requests come in bursts with silence between"),
    ("oltp", Kind::Oltp, "a database: skewed reads and writes of several pages, and a log"),
];

impl Kind {
    /// As in a description.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|k| k.1 == self).map_or("", |k| k.0)
    }
}

/// A workload's description. Units, ranges and defaults are in [`PARAMETERS`].
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)] // each is described under its key in `PARAMETERS`
pub struct Workload {
    pub kind: Kind,
    pub requests: u64,
    pub pages: u64,
    pub page_bytes: u64,
    pub seed: u64,
    pub read_ratio: f64,
    pub size: Sizes,
    pub arrivals: Arrivals,
    pub gap_ns: u64,
    pub on_ns: u64,
    pub off_ns: u64,
    pub alpha: f64,
    pub permuted: bool,
    pub cluster_pages: u64,
    pub mean: f64,
    pub deviation: f64,
    pub access_share: f64,
    pub page_share: f64,
    pub run_requests: u64,
    pub loop_pages: u64,
    pub log_share: f64,
    pub log_page_share: f64,
}

impl Workload {
    /// A workload of a kind, everything else at its default.
    pub fn new(kind: Kind) -> Self {
        let mut workload = Workload {
            kind,
            requests: 0,
            pages: 0,
            page_bytes: 0,
            seed: 0,
            read_ratio: 0.0,
            size: Sizes::Fixed(1),
            arrivals: Arrivals::Poisson,
            gap_ns: 0,
            on_ns: 0,
            off_ns: 0,
            alpha: 0.0,
            permuted: false,
            cluster_pages: 1,
            mean: 0.0,
            deviation: 0.0,
            access_share: 0.0,
            page_share: 0.0,
            run_requests: 0,
            loop_pages: 0,
            log_share: 0.0,
            log_page_share: 0.0,
        };
        parameters::of(kind).for_each(|parameter| parameter.reset(&mut workload));
        workload
    }

    /// A preset by name (`t1` to `t4`, in any letter case).
    ///
    /// # Errors
    ///
    /// `Usage` that names the nearest preset.
    pub fn preset(name: &str) -> Result<Self> {
        presets::preset(name)
    }

    /// From keys and values: `kind` or `preset`, and any parameter of that kind. Numbers may be
    /// texts.
    ///
    /// # Errors
    ///
    /// `Usage` for an unknown key (naming the nearest), a key of another kind, and a value out of
    /// its range.
    pub fn from_map(map: &Map<String, Value>) -> Result<Self> {
        let text = |key: &str| map.get(key).and_then(Value::as_str);
        let mut workload = match (text("kind"), text("preset")) {
            (Some(kind), None) => Workload::new(parameters::kind(kind)?),
            (None, Some(preset)) => Workload::preset(preset)?,
            _ => {
                return Err(usage("a workload is named by either kind or preset".into()));
            }
        };
        for (key, value) in
            map.iter().filter(|(key, _)| !["kind", "preset"].contains(&key.as_str()))
        {
            workload.set(key, value)?;
        }
        workload.check()?;
        Ok(workload)
    }

    /// Kind and all of its parameters, as [`from_map`](Self::from_map) reads them.
    pub fn to_map(&self) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("kind".into(), self.kind.name().into());
        for parameter in parameters::of(self.kind) {
            map.insert(parameter.key.name.into(), json(&parameter.get(self)));
        }
        map
    }

    /// Sets one parameter.
    ///
    /// # Errors
    ///
    /// As [`from_map`](Self::from_map).
    pub fn set(&mut self, key: &str, value: &Value) -> Result<()> {
        parameters::set(self, key, value)
    }

    /// Rules between parameters; ranges were checked as they were set.
    ///
    /// # Errors
    ///
    /// `Usage`.
    pub fn check(&self) -> Result<()> {
        if self.size.longest() > self.pages {
            return Err(usage(format!(
                "size: requests of {} pages do not fit a footprint of {} pages",
                self.size.longest(),
                self.pages
            )));
        }
        if self.pages.checked_mul(self.page_bytes).is_none_or(|bytes| bytes > 1 << 62) {
            return Err(usage(format!(
                "pages: {} pages of {} bytes lie past 2^62 bytes",
                self.pages, self.page_bytes
            )));
        }
        if self.kind == Kind::Oltp && self.read_ratio > 1.0 - self.log_share {
            return Err(usage(format!(
                "read_ratio: the log is written only, so that with log_share = {} at most {} can \
                 be reads, found {}",
                self.log_share,
                1.0 - self.log_share,
                self.read_ratio
            )));
        }
        if self.kind == Kind::Oltp && self.pages < 2 * self.size.longest() {
            return Err(usage(format!(
                "pages: data and log each need room for a request of {} pages, found {} pages for \
                 both",
                self.size.longest(),
                self.pages
            )));
        }
        if self.kind == Kind::Loop && self.loop_pages > self.pages {
            return Err(usage(format!(
                "loop_pages: expected at most the footprint of {} pages, found {}",
                self.pages, self.loop_pages
            )));
        }
        Ok(())
    }

    /// Its records.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn source(&self) -> Result<SynthSource> {
        SynthSource::new(self)
    }
}

impl serde::Serialize for Workload {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        self.to_map().serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Workload {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        let map = Map::deserialize(deserializer)?;
        Workload::from_map(&map).map_err(serde::de::Error::custom)
    }
}

pub(crate) fn usage(message: String) -> TraceError {
    TraceError::Usage { message }
}
