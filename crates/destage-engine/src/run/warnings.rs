//! Warnings for the reader of a run's numbers: sentences without numbers of the run, so that many
//! runs share them.

use super::outcome::Outcome;
use super::requirements::caveats;
use crate::mounted::Mounted;
use crate::options::RunOptions;
use crate::result::Queue;
use destage_policies::Circumstance;
use destage_replay::accesses::Extent;
use destage_replay::counters::Counters;
use destage_replay::input::Input;
use destage_replay::timed::Timing;
use destage_replay::warmup::Warmup;
use destage_ssd::Ftl;
use destage_ssd::config::Precondition;

/// Reads of pages never written that are too many to pass over: one in so many.
const UNWRITTEN_SHARE: u64 = 10;

/// Said of an open loop whose queue makes up the response time. An application of some threads has
/// eight requests outstanding.
const QUEUE_GROWS: &str = "the device does not keep up with the trace's times (open loop): \
    response times are mostly waiting in a queue; --queue-depth 8 (closed loop) shows what it \
    can do";

/// The sentences about one run.
pub(crate) fn of(
    (policy, frames): (&str, u32),
    (outcome, queue): (&Outcome, Option<Queue>),
    input: &Input<'_>,
    options: &RunOptions,
) -> Vec<String> {
    let counters = &outcome.counters;
    let mut said: Vec<String> = Vec::new();
    if counters.accesses() == 0 {
        said.push(match options.warmup {
            Warmup::Full => "the cache never filled: nothing was counted after the warm-up".into(),
            _ => "nothing was counted after the warm-up".into(),
        });
    } else if counters.bypasses == counters.accesses() && policy != "none" {
        let admits = destage_policies::info(policy).is_ok_and(|info| info.admission);
        said.push(
            if admits {
                "every page was refused: none came back while it was remembered"
            } else {
                "a write buffer: reads that miss are not taken in, and here is nothing else"
            }
            .into(),
        );
    }
    if !input.chains.is_empty() && !options.tiers.kv {
        said.push(
            "every block of a request is a page read of its own: --kv counts hits of cached \
             prefixes"
                .into(),
        );
    }
    if policy != "none" && u64::from(frames) > input.columns.lpns.len() as u64 {
        said.push("the cache has room for more pages than the trace has".into());
    }
    let Some(drive) = &options.drive else { return said };
    if drive.device.ftl().dirty_pages_have_no_unit() {
        said.extend(caveats(policy, Circumstance::NoUnitWhileDirty).map(Into::into));
    }
    if let Some(timing) = &outcome.timing {
        said.extend(padded_for_nothing(counters, timing));
        said.extend(of_unwritten(timing));
        said.extend(not_steady(timing, drive).or_else(|| no_work_of_gc(timing, drive, input)));
    }
    if queue.is_some_and(|queue| queue.grows) {
        said.push(QUEUE_GROWS.into());
    }
    let notes = drive.record.get("notes").and_then(|notes| notes.as_array());
    said.extend(notes.into_iter().flatten().filter_map(|note| note.as_str()).map(Into::into));
    said
}

/// Padding that is too much to pass over: one flash write in so many.
const PADDING_SHARE: u64 = 10;

/// Whole blocks spare an FTL with log blocks its merges; one that maps pages has none to spare.
fn padded_for_nothing(counters: &Counters, timing: &Timing) -> Option<String> {
    let merges = timing.counters.device.ftl.as_ref().and_then(|ftl| ftl.get("full_merges"));
    let pads = counters.padding_writes * PADDING_SHARE > counters.physical_writes;
    (pads && merges.is_none()).then(|| {
        "padding to whole blocks saves merges only behind an FTL with log blocks; the FTL of this \
         device maps pages, and the padding is extra flash writes"
            .into()
    })
}

/// Reads that take no time, on an FTL that knows which pages were never written.
fn of_unwritten(timing: &Timing) -> Option<String> {
    let ftl = timing.counters.device.ftl.as_ref()?;
    let unmapped = ftl.common.unmapped_reads;
    (unmapped > 0 && unmapped * UNWRITTEN_SHARE >= ftl.common.host_reads).then(|| {
        "many reads found pages that were never written, which takes no time on this FTL: \
         precondition = sequential fills the device first"
            .into()
    })
}

/// Of a full device without an erase: GC did nothing, or only moved pages of blocks in steps.
const NO_ERASE: [&str; 2] = [
    "the device is full, and no block was erased in the measured part: rates and WAF leave GC out; \
     a longer trace, or --warmup with precondition = steady, brings it in",
    "GC moved pages but no block was erased in the measured part: rates leave erases out; a longer \
     trace, or --warmup with precondition = steady, brings them in",
];

/// A full device on which nothing was erased, or on which random writes moved no page, had no work
/// for GC: it has the rates of a device that has just been filled.
fn no_work_of_gc(timing: &Timing, drive: &Mounted, input: &Input<'_>) -> Option<String> {
    let device = &timing.counters.device;
    if device.flash_programs == 0 {
        return None;
    }
    let folds = device.interface.as_ref().map_or(0, |interface| interface.slc_erases);
    let is_full = drive.device.config().precondition != Precondition::None;
    if is_full && device.erases + folds == 0 {
        return Some(NO_ERASE[usize::from(device.gc_moves > 0)].into());
    }
    let moves_nothing = device.data_programs() == device.flash_programs;
    (moves_nothing && writes_at_random(input)).then(|| {
        "WAF is exactly 1.00 under random writes: GC moved no page in the measured part; \
         precondition = steady fills the device, and a longer trace writes more"
            .into()
    })
}

/// Most requests that write do not go on where the one before them ended.
fn writes_at_random(input: &Input<'_>) -> bool {
    let (mut next, mut all, mut elsewhere) = (None, 0u64, 0u64);
    for (&first, &extent) in input.columns.first_ids.iter().zip(input.columns.extents) {
        let extent = Extent(extent);
        if extent.is_write() {
            all += 1;
            elsewhere += u64::from(next != Some(first));
            next = Some(first + extent.pages());
        }
    }
    2 * elsewhere > all
}

/// GC has hardly begun: write amplification and tails are those of a new device, and depend on the
/// length of the trace.
fn not_steady(timing: &Timing, drive: &Mounted) -> Option<String> {
    let device = &timing.counters.device;
    let free_pages = drive.device.ftl().pages_before_collection()?;
    let config = drive.device.config();
    let programs = device.flash_programs + device.gc_moves;
    let freed = device.erases * u64::from(config.data_pages());
    // What one block more or less of each plane comes to says nothing.
    let spare = 2 * u64::from(config.planes()) * u64::from(config.data_pages());
    let is_steady = 2 * freed >= programs || free_pages <= spare;
    let gib = (free_pages * u64::from(config.page_bytes)) as f64 / (1u64 << 30) as f64;
    (!is_steady && programs > 0).then(|| {
        format!(
            "not a steady state: {gib:.1} GiB were free before GC begins, and GC freed less than \
             half of what was written; precondition = random or steady fills the device"
        )
    })
}
