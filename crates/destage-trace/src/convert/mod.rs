//! Records into other tools' formats, and into our own export.
//!
//! A target rarely holds all that a record has. What it drops without changing the requests
//! (response times, device names, fractions of its clock's tick) is a note in the summary. What
//! would change the requests (a trim where there is none, a write where all are reads, an address
//! between sectors) is an error, unless the caller agrees with [`ConvertOptions::lossy`]; then it
//! is counted.
//!
//! One file a target, listed once in [`TARGETS`].

mod blktrace;
mod csv;
mod disksim;
mod fio;
mod mqsim;
mod oracle_general;
mod output;
mod parquet;
mod writer;

use std::collections::BTreeMap;
use std::path::Path;

use destage_keys::Unknown;
use writer::{Losses, TraceEnd, WriteContext, WriterSetup};

use crate::decode::RecordSource;
use crate::error::{Result, TraceError};
use crate::hooks::{Hooks, Progress, Stage};
use crate::record::{NO_RESPONSE, Record};

pub use output::Output;
pub use writer::{ConvertOptions, ConvertSummary, Target};

/// Every target, in the order of help and documentation.
pub static TARGETS: &[&Target] = &[
    &mqsim::TARGET,
    &disksim::TARGET,
    &fio::TARGET,
    &blktrace::TARGET,
    &oracle_general::TARGET,
    &csv::TARGET,
    &parquet::TARGET,
];

/// The target of this name.
///
/// # Errors
///
/// `Usage` that names the nearest, or all.
pub fn find(name: &str) -> Result<&'static Target> {
    let found = TARGETS.iter().find(|target| target.name.eq_ignore_ascii_case(name));
    // The readers' name for what fio writes.
    let found =
        found.or_else(|| TARGETS.iter().find(|target| target.name == "fio" && name == "fio-iolog"));
    found.copied().ok_or_else(|| {
        let known = TARGETS.iter().map(|target| target.name).collect();
        let hint = Unknown { name: name.into(), known }.hint();
        let message = format!("to (--to): {name} is no format that can be written; {hint}");
        TraceError::usage(message)
    })
}

/// Writes all records of `source` to `destination` (`-` is standard output) in the format `target`.
///
/// The file gets its name when it is whole; an error or an interrupt leaves an older one as it was.
///
/// # Errors
///
/// Errors of `source`; `Usage` for what the target cannot hold, no request at all, or an option
/// that makes no sense; `Write`; `Interrupted`.
pub fn convert(
    source: &mut dyn RecordSource,
    target: &'static Target,
    destination: &Path,
    options: &ConvertOptions,
    hooks: &mut dyn Hooks,
) -> Result<ConvertSummary> {
    let output = Output::create(destination)?;
    let mut writer =
        (target.create)(output, &WriterSetup { options, page_bytes: source.page_bytes() })?;
    let mut losses = Losses {
        allowed: options.lossy,
        format: target.name,
        request: 0,
        counts: BTreeMap::new(),
        notes: Vec::new(),
    };
    let (mut batch, mut records, mut responses) = (Vec::new(), 0, false);
    let mut origin_ns = None;
    loop {
        batch.clear();
        let more = source.next_batch(&mut batch)?;
        for record in &batch {
            let origin_ns =
                *origin_ns.get_or_insert(if options.absolute_time { 0 } else { record.time_ns });
            let time_ns = record.time_ns.saturating_sub(origin_ns);
            responses |= record.response_ns != NO_RESPONSE;
            let mut context = WriteContext { devices: source.devices(), losses: &mut losses };
            records += writer.write(&Record { time_ns, ..*record }, &mut context)?;
            losses.request += 1;
        }
        if hooks.interrupted() {
            return Err(TraceError::Interrupted);
        }
        let (done, total) = source.position();
        hooks.progress(Progress { stage: Stage::Reading, done, total });
        if !more {
            break;
        }
    }
    let origin_ns = origin_ns.unwrap_or(0);
    let end = TraceEnd { devices: source.devices(), has_times: source.has_times(), origin_ns };
    if responses && !matches!(target.name, "csv" | "parquet") {
        losses.note(format!("{} has no response times: left out", target.name));
    }
    writer.finish(&end, &mut losses)?.finish()?;
    Ok(ConvertSummary {
        format: target.name,
        requests: losses.request,
        records,
        losses: losses.counts,
        notes: losses.notes,
    })
}

#[cfg(test)]
mod tests;
