//! What a policy says of itself: the catalogue entry from which help, tables and runs go by.
//!
//! Whoever shows a policy's own numbers, or supplies it with what a run knows, asks here and names
//! no policy.

use crate::params::Param;
use serde::Serialize;

/// What the catalogue says of a policy (`destage policies`).
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Name, as users write it.
    pub name: &'static str,
    /// Its name in full.
    pub title: &'static str,
    /// Author, title, venue, year.
    pub source: &'static str,
    /// What it is for, in a sentence.
    pub about: &'static str,
    /// It looks at whether a page is clean or dirty.
    pub flash_aware: bool,
    /// It remembers pages that it has evicted.
    pub ghosts: bool,
    /// It gathers pages by erase block and destages a block's pages together.
    pub clusters: bool,
    /// It may refuse a page; a write that it refuses goes through to flash.
    pub admission: bool,
    /// When it pads what it destages to whole blocks, with its parameters at their defaults.
    pub pads: Pads,
    /// Time per access.
    pub time: &'static str,
    /// Parameters; empty if it has none.
    pub params: &'static [Param],
    /// That one of them that names the policy on which this one stands, one of
    /// [`ORDERED`](crate::ORDERED) with its parameters.
    pub over: Option<&'static str>,
    /// Those of them that a run supplies, where it knows their value and the user gives none.
    pub takes: &'static [Takes],
    /// What only it counts: the names of [`Policy::counters`](destage_core::Policy::counters), in
    /// that order.
    pub counters: &'static [Counter],
    /// Where it adapts to: the names of [`Policy::gauges`](destage_core::Policy::gauges), in that
    /// order.
    pub gauges: &'static [Gauge],
    /// What a reader of its numbers must know of the run that they come from.
    pub caveats: &'static [Caveat],
}

impl Info {
    /// Nothing but the page decides, and nothing is adapted: what a policy leaves unsaid.
    pub const BLANK: Info = Info {
        name: "",
        title: "",
        source: "",
        about: "",
        flash_aware: false,
        ghosts: false,
        clusters: false,
        admission: false,
        pads: Pads::Never,
        time: "",
        params: &[],
        over: None,
        takes: &[],
        counters: &[],
        gauges: &[],
        caveats: &[],
    };
}

/// When a policy pads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pads {
    /// Never, unless a parameter asks for it.
    Never,
    /// Whatever the run.
    Always,
    /// Only in front of a device, by its latencies.
    WithDevice,
}

/// A parameter whose default is what the run says.
#[derive(Clone, Copy, Debug)]
pub struct Takes {
    /// Its name among the policy's parameters.
    pub param: &'static str,
    /// What of the run.
    pub from: FromRun,
}

/// What a run knows that a policy may go by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FromRun {
    /// Cost of a page read, of its cost model.
    CostRead,
    /// Cost of a page write, in the same unit.
    CostWrite,
    /// Nominal time of a page read on its device, nanoseconds, transfers included.
    PageReadNs,
    /// Nominal time of a page program, nanoseconds, transfers included.
    PageProgramNs,
    /// Units of its device, which work at the same time.
    Units,
}

/// What one policy counts and no other does, such as hits by list.
///
/// It describes: more of it is neither better nor worse, for there is nobody to compare with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Name, as in [`Policy::counters`](destage_core::Policy::counters) and in a result. Policies
    /// that share one mean the same by it.
    pub name: &'static str,
    /// A few words, as the head of a column.
    pub title: &'static str,
    /// What is counted: `accesses`, `groups`, `pages`.
    pub unit: &'static str,
    /// What it counts, in a sentence that names the policy.
    pub about: &'static str,
    /// When a table shows it.
    pub shown: Shown,
}

impl Counter {
    /// In accesses, and in a table only if it is asked for.
    pub const BLANK: Counter =
        Counter { name: "", title: "", unit: "accesses", about: "", shown: Shown::OnRequest };
}

/// When a table shows a number unasked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// Always.
    Always,
    /// In runs without a device.
    WithoutDevice,
    /// In runs with a device.
    WithDevice,
    /// Only if it is asked for.
    OnRequest,
}

/// A value that a policy adapts, for a plot over time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gauge {
    /// Name, as in [`Policy::gauges`](destage_core::Policy::gauges) and in a result. Policies that
    /// share one mean the same by it.
    pub name: &'static str,
    /// What the paper calls it, and what it is.
    pub title: &'static str,
    /// Unit; empty for shares and ratios.
    pub unit: &'static str,
}

/// A sentence that belongs to a policy's numbers in certain runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caveat {
    /// In which.
    pub when: Circumstance,
    /// Without numbers of the run, so that many runs say it once.
    pub says: &'static str,
}

/// What may be so of a run, and matter to a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Circumstance {
    /// There is no device.
    NoDevice,
    /// There is one, but no dirty page has a unit before it is written.
    NoUnitWhileDirty,
}
