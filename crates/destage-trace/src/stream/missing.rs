//! Errors of a run without the requests or devices asked for.

use std::collections::BTreeMap;

use destage_keys::nearest_alone;

use crate::error::{Location, TraceError};
use crate::format::Tally;
use crate::options::ReaderOptions;
use crate::record::DeviceTable;
use crate::stream::shape::Slice;
use crate::stream::sorting::SortedFile;

/// Device names that a message lists.
const NAMED: usize = 20;

/// Error of a selected device that is not in the trace.
pub(super) fn no_such_device(name: &str, devices: &DeviceTable) -> TraceError {
    let mut names = devices.names();
    let near = nearest_alone(name, names.iter().map(String::as_str)).map(str::to_owned);
    let count = names.len();
    names.truncate(NAMED);
    let more = if count > names.len() { ", ..." } else { "" };
    let message = match near {
        Some(near) => format!("volume {name}: not in the trace; did you mean {near}?"),
        None => format!(
            "volume {name}: not in the trace, which has {count}: {}{more}",
            names.join(", ")
        ),
    };
    TraceError::usage(message)
}

/// No request at all: what there was instead.
pub(super) fn nothing(
    files: &[SortedFile],
    tally: &Tally,
    slice: &Slice,
    options: &ReaderOptions,
) -> TraceError {
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let format = files.first().map_or("", |file| file.format.name);
    let mut found = Vec::new();
    let mut add = |count: u64, what: &str| {
        if count > 0 {
            found.push(format!("{count} {what}"));
        }
    };
    for (event, count) in &tally.ignored_events {
        add(*count, &format!("ignored events {event}"));
    }
    add(tally.header, "header lines");
    add(tally.comment, "comments");
    add(tally.blank, "blank lines");
    add(tally.zero_length, "of zero length");
    add(tally.error_count(), "malformed");
    add(slice.filtered_out, "left out by the options");
    let mut message = format!("0 requests in {} lines or records read as {format}", tally.lines);
    if !found.is_empty() {
        message.push_str(&format!(": {}", found.join(", ")));
    }
    let layered = files.first().is_some_and(|file| file.format.layered);
    let hint = match files.iter().map(|file| file.records).sum::<u64>() {
        0 if layered => Some(format!(
            "the requests are the {} events; {}",
            options.event.letter(),
            other_event(&tally.ignored_events)
        )),
        0 if tally.zero_length > 0 => Some(
            "is the column of the length another one? --format csv with --columns reads a table \
             in any order"
                .to_owned(),
        ),
        0 => None,
        _ => Some(match slice.too_late() {
            Some(length) => format!("--from: the trace ends after {}", spoken(length)),
            None => nothing_left(options),
        }),
    };
    TraceError::Data { file: names.join(", "), place: Location::File, message, hint }
}

/// The options that choose requests, where all of them together choose none.
fn nothing_left(options: &ReaderOptions) -> String {
    let given = [
        ("--from", options.from_ns.is_some()),
        ("--for", options.for_ns.is_some()),
        ("--requests", options.requests.is_some()),
        ("--ops", !options.ops.is_empty()),
        ("--offset-from", options.offset_from.is_some()),
        ("--offset-to", options.offset_to.is_some()),
        ("--volume", !options.volume.is_empty()),
    ];
    let given: Vec<&str> = given.into_iter().filter(|(_, is)| *is).map(|(flag, _)| flag).collect();
    match (options.requests, given.as_slice()) {
        (Some(0), _) => "--requests: expected at least 1".to_owned(),
        (_, []) => "the filters leave nothing".to_owned(),
        (_, flags) => format!("nothing is left by {}", flags.join(" and ")),
    }
}

/// A duration with three digits: `3.88 min`.
fn spoken(ns: u64) -> String {
    const UNITS: [(f64, &str); 4] = [(86_400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s")];
    let seconds = ns as f64 / 1e9;
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| seconds >= *unit).unwrap_or((1.0, "s"));
    let count = seconds / unit;
    let digits = if count < 10.0 { 2 } else { 1 };
    format!("{count:.digits$} {name}")
}

/// The option by which events that were ignored are the requests.
fn other_event(ignored: &BTreeMap<String, u64>) -> String {
    const EVENTS: [(char, &str); 3] =
        [('D', "block_rq_issue"), ('Q', "block_bio_queue"), ('C', "block_rq_complete")];
    let has = |(letter, name): &&(char, &str)| {
        ignored.keys().any(|event| event == name || *event == letter.to_string())
    };
    match EVENTS.iter().find(has) {
        Some((letter, _)) => format!("--event {letter} reads the others"),
        None => {
            "record block_rq_issue (D), block_bio_queue (Q) or block_rq_complete (C)".to_owned()
        }
    }
}
