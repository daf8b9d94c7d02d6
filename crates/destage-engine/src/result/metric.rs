//! A metric: a derived number of a result, declared once with all that shows it.

use super::run::RunResult;
use destage_policies::Shown;
use serde::Serialize;

/// The better direction of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither: it describes.
    Neither,
}

/// A number of a result.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Number {
    /// A count.
    Count(u64),
    /// A ratio or a mean.
    Real(f64),
}

/// Type of a number, by which it is formatted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricKind {
    /// A share, 0..1; people like it in per cent.
    Ratio,
    /// A whole number of its unit.
    Count,
    /// A number of its unit.
    Real,
    /// A time, nanoseconds; people like it in the unit that leaves few digits.
    Time,
}

/// Group of related metrics: the heading under which the numbers of a run are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricGroup {
    /// Response times of all requests.
    Response,
    /// Response times of reads.
    ReadResponse,
    /// Response times of writes.
    WriteResponse,
    /// Cached prefixes of a language model's requests.
    Kv,
    /// The flash tier.
    Tiers,
    /// Hits and misses of the cache.
    Hits,
    /// Pages read from flash and written to it.
    Flash,
    /// Pages that left the cache or were not admitted.
    Evictions,
    /// Destages in front of the device's queues.
    Balance,
    /// SAC's latencies of reads.
    ReadLatency,
    /// Write buffer and link of the device.
    HostInterface,
    /// SLC cache.
    Slc,
    /// Placement handles.
    Handles,
    /// Trims and flushes.
    Control,
    /// FTL and flash.
    Device,
    /// Erases by block.
    Wear,
    /// Counters that single policies declare.
    Policy,
}

/// Heading of a [`MetricGroup`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GroupHeading {
    /// Group.
    pub group: MetricGroup,
    /// Heading.
    pub title: &'static str,
    /// Definitions that its metrics share; may be empty.
    pub about: &'static str,
    /// Only runs in front of a device have its metrics.
    pub of_device: bool,
    /// Few devices have the part that it is about: left out of lists where all of it is 0.
    pub is_rare: bool,
}

const fn heading(
    group: MetricGroup,
    of_device: bool,
    title: &'static str,
    about: &'static str,
) -> GroupHeading {
    GroupHeading { group, title, about, of_device, is_rare: false }
}

const fn rare(group: MetricGroup, title: &'static str, about: &'static str) -> GroupHeading {
    GroupHeading { is_rare: true, ..heading(group, true, title, about) }
}

/// Every group, in the order of lists.
#[rustfmt::skip] // a heading, a line or two: it is a table
pub static METRIC_GROUPS: &[GroupHeading] = &[
    heading(MetricGroup::Response, true, "Response times",
        "from arrival (closed loop: from issue) to the end of the request's last page. A \
         percentile that fewer than one request exceeds is null"),
    heading(MetricGroup::ReadResponse, true, "Response times of reads", ""),
    heading(MetricGroup::WriteResponse, true, "Response times of writes", ""),
    heading(MetricGroup::Kv, false, "Cached prefixes",
        "a block is a fixed number of prompt tokens, with all tokens before them; only a cached \
         prefix is a hit, and a cached block behind a missing one is stranded"),
    heading(MetricGroup::Tiers, false, "Flash tier",
        "tier 1 is the cache in DRAM; a miss there looks up tier 2, and so on. A lower tier \
         takes in offered pages that admission lets pass; names without a number are of tier 2"),
    heading(MetricGroup::Hits, false, "Hits",
        "an access is one page of a request; a hit finds its page in the cache; with several \
         tiers, in tier 1"),
    heading(MetricGroup::Flash, false, "Flash reads and writes",
        "pages that the cache reads from the device and writes to it; dirty pages in the cache are \
         pending writes"),
    heading(MetricGroup::Evictions, false, "Evictions and destages",
        "a page leaves by eviction; a dirty page is destaged, written to flash. A flush group \
         is the pages destaged in one piece; a bypass is a miss that is not admitted"),
    heading(MetricGroup::Balance, true, "Destages and queue balance",
        "a unit is the smallest part with its own queue, such as a chip. Unbalance (ECR) is the \
         longest queue over the mean queue: 1 is even, the number of units is all in one queue. \
         Deviation (SAC) is the spread of work over the channels: 0 is even"),
    heading(MetricGroup::ReadLatency, true, "Read latency (SAC)",
        "of reads that miss the cache, and averaged over all reads"),
    rare(MetricGroup::HostInterface, "Host interface",
        "a write waits for a slot of the device's write buffer, then for the link; the slot is \
         free again when the page is programmed"),
    rare(MetricGroup::Slc, "SLC cache",
        "writes go to blocks in SLC mode first; a fold moves a block's valid pages to the main \
         area and erases it"),
    rare(MetricGroup::Handles, "Placement handles",
        "pages written with different handles lie in different blocks; a moved page counts for \
         the handle that it was last written with"),
    rare(MetricGroup::Control, "Trims and flushes",
        "a trimmed page leaves cache and device unwritten; a flush waits for the programs \
         before it"),
    heading(MetricGroup::Device, true, "Inside the device",
        "the host of the device is the cache; the device's own writes are garbage collection \
         (GC), merges of log blocks, and its mapping table"),
    heading(MetricGroup::Wear, true, "Wear",
        "erases of a block, preconditioning included; the metric erases counts the measured part \
         only"),
    heading(MetricGroup::Policy, false, "Counters of the policy", ""),
];

/// The writes that runs are judged by.
const WRITES: &str = "flash_writes";

/// A choice of columns that people ask for by name (`--view`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// Response times.
    Latency,
    /// Writes and wear.
    Endurance,
    /// Hits and flash operations.
    Hits,
}

/// Work that a run may defer beyond its end, so that the metric leaves it out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Deferral {
    /// None.
    None,
    /// Writes of the pages that are dirty at the end.
    Writes,
    /// Waits for these writes, and for those of the flush at the end.
    Waits,
}

/// A column that results have.
#[derive(Clone, Copy, Serialize)]
pub struct Metric {
    /// Column name, unit last where it has one.
    pub name: &'static str,
    /// Column head, a few words.
    pub title: &'static str,
    /// Type of the number.
    pub kind: MetricKind,
    /// Unit; empty for ratios.
    pub unit: &'static str,
    /// The better direction.
    pub better: Better,
    /// Tables that show it unasked.
    pub shown: Shown,
    /// Group in which lists show it.
    pub group: MetricGroup,
    /// Place within its group, before the order of the columns.
    pub rank: u8,
    /// Short name that people may type; empty if it has none.
    pub short: &'static str,
    /// Views that show it, each with its place there.
    pub views: &'static [(View, u8)],
    /// Work that it leaves out.
    pub deferral: Deferral,
    /// Its values are whole numbers: counts, and times that were observed.
    pub whole: bool,
    /// Pages have a chart of it over the cache size.
    pub charted: bool,
    /// A policy counts it by its own declaration; other policies do not have it.
    pub of_policy: bool,
    /// Definition.
    pub about: &'static str,
    #[serde(skip)]
    pub(super) source: Source,
}

/// Origin of a metric's value.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// Any run.
    Run(fn(&RunResult) -> Option<Number>),
    /// A policy's counter of the metric's name.
    Policy,
}

impl Metric {
    /// Value in a result; `None` where the run has none.
    pub fn value(&self, run: &RunResult) -> Option<Number> {
        if self.is_hidden(run) {
            return None;
        }
        match self.source {
            Source::Run(value) => value(run),
            Source::Policy => run.policy_counters.get(self.name).copied().map(Number::Count),
        }
    }

    /// It has no meaning in this run: counts of pages with prefix semantics would be of stranded
    /// blocks too, and with two tiers flash is read and written by tier 2 alone, which reads its
    /// dirty victims too (`docs/spec/tiers.md` 4.6, 7.3).
    fn is_hidden(&self, run: &RunResult) -> bool {
        let of_pages =
            matches!(self.group, MetricGroup::Hits | MetricGroup::Flash | MetricGroup::Evictions);
        // SAC's formula takes every miss for a read of flash.
        let of_one_tier =
            ["physical_reads", "physical_writes", "pending_write_ratio", "average_latency_ns"]
                .contains(&self.name);
        // No prompt makes a page dirty.
        let of_victims_too = self.name == "flash_reads" && run.kv.is_none();
        let of_both = [WRITES, "expired_hits"].contains(&self.name);
        run.kv.is_some() && of_pages && !of_both
            || run.tiers.is_some() && (of_one_tier || of_victims_too)
    }

    pub(super) const fn shown(self, shown: Shown) -> Metric {
        Metric { shown, ..self }
    }

    pub(super) const fn whole(self, whole: bool) -> Metric {
        Metric { whole, ..self }
    }

    pub(super) const fn charted(self) -> Metric {
        Metric { charted: true, ..self }
    }

    pub(super) const fn rank(self, rank: u8) -> Metric {
        Metric { rank, ..self }
    }

    pub(super) const fn short(self, short: &'static str) -> Metric {
        Metric { short, ..self }
    }

    pub(super) const fn views(self, views: &'static [(View, u8)]) -> Metric {
        Metric { views, ..self }
    }

    pub(super) const fn defers(self, deferral: Deferral) -> Metric {
        Metric { deferral, ..self }
    }
}

impl From<u64> for Number {
    fn from(count: u64) -> Number {
        Number::Count(count)
    }
}

impl From<f64> for Number {
    fn from(real: f64) -> Number {
        Number::Real(real)
    }
}

/// A metric of a run.
macro_rules! metric {
    ($group:ident, $name:expr, $title:expr, $kind:ident $unit:literal, $better:ident,
     $about:expr, $value:expr) => {
        Metric {
            name: $name,
            title: $title,
            kind: MetricKind::$kind,
            unit: $unit,
            better: Better::$better,
            shown: Shown::OnRequest,
            group: MetricGroup::$group,
            rank: 0,
            short: "",
            views: &[],
            deferral: Deferral::None,
            whole: matches!(MetricKind::$kind, MetricKind::Count),
            charted: false,
            of_policy: false,
            about: $about,
            source: Source::Run($value),
        }
    };
}

/// A number of runs with a device.
macro_rules! timed {
    ($group:ident, $name:expr, $title:expr, $kind:ident $unit:literal, $better:ident, $about:expr,
     |$t:ident| $value:expr) => {
        metric!($group, $name, $title, $kind $unit, $better, $about, |r| {
            let $t = r.timing.as_ref()?;
            $value
        })
    };
}

pub(super) use {metric, timed};
