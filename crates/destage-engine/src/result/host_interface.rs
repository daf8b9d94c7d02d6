//! Derived numbers of current SSDs, and of runs with trims and flushes
//! (`docs/spec/device-today.md` 10).

use super::metric::{
    Better, Deferral, Metric, MetricGroup, MetricKind, Number, Source, View, metric, timed,
};
use destage_policies::Shown;
use destage_replay::timed::Timing;

/// A mean; none without anything to take it of.
fn mean(sum: u64, count: u64) -> Option<Number> {
    (count > 0).then(|| Number::Real(sum as f64 / count as f64))
}

/// A number of what the drive counts.
macro_rules! drive {
    ($group:ident, $name:literal, $title:literal, $kind:ident $unit:literal,
     $better:ident, $about:literal,
     |$d:ident| $value:expr) => {
        timed!($group, $name, $title, $kind $unit, $better, $about, |t| {
            let $d = t.counters.device.interface.as_ref()?;
            $value
        })
    };
}

/// A number of what is counted of trims and flushes.
macro_rules! control_command {
    ($group:ident, $name:literal, $title:literal, $kind:ident $unit:literal,
     $better:ident, $about:literal,
     |$a:ident| $value:expr) => {
        timed!($group, $name, $title, $kind $unit, $better, $about, |t| {
            let $a = t.counters.control_commands.as_ref()?;
            $value
        })
    };
}

/// Programs of a handle and moves of its pages, over its programs.
fn waf_of_handle(t: &Timing, handle: usize) -> Option<Number> {
    let interface = t.counters.device.interface.as_ref()?;
    let programs = *interface.handle_programs.get(handle)?;
    mean(programs + interface.handle_moves.get(handle)?, programs)
}

macro_rules! waf_of_handles {
    ($($handle:literal $name:literal $title:literal),*) => {
        [$(timed!(Handles, $name, $title, Real "", Lower,
            "(host programs + moves) / host programs, of the handle's pages",
            |t| waf_of_handle(t, $handle))
            .views(&[(View::Endurance, 2 + $handle)])),*]
    };
}

static BY_HANDLE: [Metric; 8] = waf_of_handles!(
    0 "waf_handle_0" "WAF of handle 0",
    1 "waf_handle_1" "WAF of handle 1",
    2 "waf_handle_2" "WAF of handle 2",
    3 "waf_handle_3" "WAF of handle 3",
    4 "waf_handle_4" "WAF of handle 4",
    5 "waf_handle_5" "WAF of handle 5",
    6 "waf_handle_6" "WAF of handle 6",
    7 "waf_handle_7" "WAF of handle 7"
);

/// All of them, in the order of the columns.
pub(super) fn of_interface() -> impl Iterator<Item = Metric> {
    OF_INTERFACE.iter().chain(&BY_HANDLE).copied()
}

#[rustfmt::skip] // a metric, some lines: it is a table
static OF_INTERFACE: &[Metric] = &[
    drive!(Slc, "slc_programs", "SLC programs", Count "pages", Neither,
        "programs for the host to the SLC cache", |d| Some(d.slc_programs.into()))
        .views(&[(View::Endurance, 12)]),
    drive!(Slc, "slc_folds", "Folds", Count "blocks", Neither,
        "SLC blocks folded into the main area", |d| Some(d.slc_folds.into()))
        .views(&[(View::Endurance, 14)]),
    drive!(Slc, "slc_migrations", "Migrated pages", Count "pages", Lower,
        "pages that folds moved to the main area", |d| Some(d.slc_migrations.into()))
        .views(&[(View::Endurance, 13)]),
    drive!(Slc, "slc_block_erases_max", "Most worn SLC block", Count "erases", Lower,
        "erases of the most worn SLC block", |d| Some(d.slc_block_erases_max.into())),
    drive!(HostInterface, "commands", "Commands", Count "commands", Neither,
        "commands of the host", |d| Some(d.commands.into())),
    drive!(HostInterface, "buffer_reads", "Buffer reads", Count "pages", Neither,
        "reads from the write buffer", |d| Some(d.buffer_reads.into())),
    drive!(HostInterface, "buffer_waits", "Waits for a slot", Count "pages", Lower,
        "writes that waited for a slot", |d| Some(d.buffer_waits.into())),
    drive!(HostInterface, "buffer_wait_ns_mean", "Wait for a slot", Time "ns", Lower,
        "mean wait of all writes for a slot",
        |d| mean(d.buffer_wait_ns_sum, d.buffer_writes)).views(&[(View::Latency, 8)]),
    drive!(HostInterface, "link_wait_ns_mean", "Wait for the link", Time "ns", Lower,
        "mean wait of all pages for the link",
        |d| mean(d.link_wait_ns_sum, d.link_transfers)).views(&[(View::Latency, 9)]),
    timed!(HostInterface, "link_utilisation", "Link utilisation", Ratio "", Neither,
        "time of transfers on the link, both directions, / makespan",
        |t| mean(t.counters.device.interface.as_ref()?.link_busy_ns, t.counters.makespan_ns)),
    drive!(Control, "trimmed_pages", "Trimmed pages", Count "pages", Neither,
        "trimmed pages that the device held", |d| Some(d.trimmed_pages.into())),
    control_command!(Control, "trim_requests", "Trims", Count "requests", Neither,
        "trims processed", |a| Some(a.trim_requests.into())),
    control_command!(Control, "trim_dirty_drops", "Dirty pages trimmed", Count "pages", Neither,
        "dirty pages that trims dropped from the cache", |a| Some(a.trim_dirty_drops.into())),
    control_command!(Control, "flush_requests", "Flushes", Count "requests", Neither,
        "flushes processed", |a| Some(a.flush_requests.into())),
    control_command!(Control, "flush_wait_ns_mean", "Flush wait", Time "ns", Lower,
        "mean time from a flush to its completion", |a| mean(a.flush_wait_ns_sum, a.flush_requests))
        ,
];
