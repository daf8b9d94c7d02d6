//! Catalogue entry of a policy: all that help, tables, runs and samples need to know of it.
//!
//! The engine, the bindings and the Python package read it and name no policy.

use crate::params::Param;
use destage_core::Requirements;
use serde::Serialize;

/// Catalogue entry of a policy (`destage policies`).
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Name, as users write it.
    pub name: &'static str,
    /// Name in full.
    pub title: &'static str,
    /// Author, title, venue, year.
    pub source: &'static str,
    /// Purpose, in a sentence.
    pub about: &'static str,
    /// Distinguishes clean from dirty pages.
    pub flash_aware: bool,
    /// Remembers pages that it has evicted.
    pub ghosts: bool,
    /// Gathers pages by erase block and destages a block's pages together.
    pub clusters: bool,
    /// Decides by the numbers of pages in another way.
    pub page_numbers: bool,
    /// Keeps the order of last accesses, and nothing else, as long as nothing is written: a second
    /// access to a page that has just come in counts as no reuse.
    pub lru_of_reads: bool,
    /// Holds a block of prompts back for its successors, which must be touched before it.
    pub tail_first: bool,
    /// Keeps pages that were used once and pages that were used again in a list each, which leave
    /// in its order ([`VictimList`](destage_core::VictimList)).
    pub two_lists: bool,
    /// May bypass a page; a bypassed write goes through to flash.
    pub admission: bool,
    /// When it pads its destages to whole blocks, with its parameters at their defaults.
    pub pads: Pads,
    /// Time per access.
    pub time: &'static str,
    /// Parameters; empty if it has none.
    pub params: &'static [Param],
    /// Parameter that names the policy that this one wraps, with its parameters.
    pub over: Option<&'static str>,
    /// Policies that it wraps; empty: those of [`ORDERED`](crate::ORDERED).
    pub bases: &'static [&'static str],
    /// Parameters that a run supplies, where it knows their value and the user gives none.
    pub takes: &'static [Takes],
    /// Counters that only it has: the names of
    /// [`Policy::counters`](destage_core::Policy::counters), in that order.
    pub counters: &'static [Counter],
    /// Values that it adapts: the names of [`Policy::gauges`](destage_core::Policy::gauges), in
    /// that order.
    pub gauges: &'static [Gauge],
    /// Caveats of its numbers in certain runs.
    pub caveats: &'static [Caveat],
    /// Fewest frames of a sample from which its estimates have intervals; `None`: the coverage of
    /// its intervals has not been measured (`benches/coverage.py`, `docs/sampling.md`).
    pub interval_frames: Option<u32>,
    /// Its estimate may turn within a few frames, since what it adapts to does: intervals reach to
    /// the estimates at the neighbouring sizes, and there is none where these disagree.
    pub interval_needs_neighbours: bool,
    /// Order of its stack, if it has one: one pass over a trace then gives its numbers at every
    /// size.
    pub stack_order: Option<StackOrder>,
    /// Rule by which one pass runs it at several sizes.
    pub multi_size: Option<MultiSize>,
    /// Parameter values that need a device with one write point a plane.
    pub one_write_point: Option<OneWritePoint>,
    /// The policy that others are measured against; exactly one is.
    pub baseline: bool,
}

impl Info {
    /// Family of the policy, which requires this of a run.
    pub fn family(&self, requirements: Requirements) -> Family {
        match () {
            () if requirements.device() => Family::Drive,
            () if self.over.is_some() => Family::Over,
            () if self.clusters => Family::Blocks,
            () if self.admission => Family::Admission,
            () if self.flash_aware => Family::Flash,
            () => Family::Classic,
        }
    }

    /// Whether the numbers of pages decide, and not only which pages are the same.
    pub fn by_page_number(&self) -> bool {
        self.clusters || self.page_numbers
    }

    /// Nothing but the page decides, and nothing is adapted: what a policy leaves unsaid.
    pub const BLANK: Info = Info {
        name: "",
        title: "",
        source: "",
        about: "",
        flash_aware: false,
        ghosts: false,
        clusters: false,
        page_numbers: false,
        lru_of_reads: false,
        tail_first: false,
        two_lists: false,
        admission: false,
        pads: Pads::Never,
        time: "",
        params: &[],
        over: None,
        bases: &[],
        takes: &[],
        counters: &[],
        gauges: &[],
        caveats: &[],
        interval_frames: None,
        interval_needs_neighbours: false,
        stack_order: None,
        multi_size: None,
        one_write_point: None,
        baseline: false,
    };
}

/// Frames of a sample from which intervals hold for most policies: LIRS has lists of a hundredth of
/// a cache.
pub const INTERVAL_FRAMES: Option<u32> = Some(512);

/// Frames of a sample from which intervals hold for policies whose lists follow single hits or are
/// shorter still: with 512 they are too narrow on one workload or more.
pub const INTERVAL_FRAMES_ADAPTIVE: Option<u32> = Some(2048);

/// Order of a stack policy, which keeps in a large cache whatever it keeps in a smaller one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackOrder {
    /// By recency.
    Recency,
    /// By next use.
    NextUse,
}

/// Rule by which one pass runs a policy at several sizes: on a hit it looks at no other page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MultiSize {
    /// Pages leave in the order of their arrival.
    Arrival,
    /// A hand passes pages that were hit since it last passed, and moves them to the head.
    SecondChance,
    /// A hand passes pages that were hit, and leaves them where they are.
    SteadyHand,
}

/// Values of a parameter with which a policy foresees collections of one write point a plane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OneWritePoint {
    /// Name of the parameter.
    pub param: &'static str,
    /// Values that do.
    pub values: &'static [&'static str],
    /// The setting for other devices, as one types it.
    pub instead: &'static str,
}

/// Family of a policy, by which lists group it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Decides by accesses alone.
    Classic,
    /// Distinguishes clean from dirty pages.
    Flash,
    /// Admission control: may bypass a page.
    Admission,
    /// Reads the state of the device.
    Drive,
    /// Wrapper of another policy.
    Over,
    /// Write buffer that destages whole erase blocks.
    Blocks,
}

/// When a policy pads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pads {
    /// Never, unless a parameter asks for it.
    Never,
    /// In every run.
    Always,
    /// Only in front of a device, by its latencies.
    WithDevice,
}

/// Parameter whose default comes from the run.
#[derive(Clone, Copy, Debug)]
pub struct Takes {
    /// Name of the parameter.
    pub param: &'static str,
    /// Fact of the run.
    pub from: FromRun,
}

/// Fact of a run that a policy's parameter may take.
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

/// Counter of one policy, such as hits by list.
///
/// More of it is neither better nor worse: no other policy has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Name, as in [`Policy::counters`](destage_core::Policy::counters) and in a result. Policies
    /// that share one mean the same by it.
    pub name: &'static str,
    /// A few words, as the head of a column.
    pub title: &'static str,
    /// Unit: `accesses`, `groups`, `pages`.
    pub unit: &'static str,
    /// Definition, in a sentence that names the policy.
    pub about: &'static str,
    /// When a table shows it.
    pub shown: Shown,
}

impl Counter {
    /// A counter of accesses, in a table only if it is asked for.
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
    /// The paper's symbol, and its meaning.
    pub title: &'static str,
    /// Unit; empty for shares and ratios.
    pub unit: &'static str,
}

/// A sentence that belongs to a policy's numbers in certain runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caveat {
    /// Runs that it belongs to.
    pub when: Circumstance,
    /// Sentence without numbers of the run, so that it is said once for many runs.
    pub says: &'static str,
}

/// Condition of a run that matters to a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Circumstance {
    /// There is no device.
    NoDevice,
    /// There is one, but no dirty page has a unit before it is written.
    NoUnitWhileDirty,
}
