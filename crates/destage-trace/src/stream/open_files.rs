//! From what the user named to the files of a run: every file and member with its reader.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use destage_keys::Unknown;
use serde_json::Value;

use crate::detect;
use crate::error::{Location, Result, TraceError};
use crate::format::{Format, Opening, Sample, Verdict, add_once};
use crate::formats;
use crate::hooks::ReadControls;
use crate::input::{Input, stream_spool::SpoolBudget};
use crate::options::{Columns, OPTIONS, ReaderOptions};
use crate::source::{self, FoundTrace};
use crate::stream::doubts::as_csv;
use crate::stream::sorting::SortedFile;
use crate::stream::summary::Summary;

/// The format that the user named.
///
/// # Errors
///
/// `Usage` if there is none.
pub(super) fn known_format(name: &str) -> Result<&'static Format> {
    formats::find(name).ok_or_else(|| {
        let known = formats::FORMATS.iter().map(|f| f.name).collect();
        let hint = Unknown { name: name.into(), known }.hint();
        let message = format!("format {name}: no such format; {hint}");
        TraceError::usage(message)
    })
}

/// Opens every file and member, finds its format, and brings in the files that belong to it.
pub(super) fn open_files(
    paths: &[PathBuf],
    options: &Arc<ReaderOptions>,
    given: Option<&'static Format>,
    controls: &ReadControls,
    summary: &mut Summary,
) -> Result<Vec<SortedFile>> {
    let mut seen: HashSet<PathBuf> = HashSet::new();
    let mut files = Vec::new();
    let mut budget = SpoolBudget::default();
    let mut total = Some(0u64);
    let threads = Arc::new(AtomicUsize::new(0));
    for path in paths {
        let mut queue: VecDeque<(PathBuf, bool)> = VecDeque::from([(path.clone(), true)]);
        while let Some((path, ask_siblings)) = queue.pop_front() {
            if !ask_siblings && seen.contains(&identity(&path)) {
                continue;
            }
            let listing = source::list(&path, options, controls.interrupt.as_ref(), &mut budget)?;
            summary.left_out.extend(listing.left_out);
            for leaf in listing.leaves {
                let (opening, reason, input) =
                    open_trace(&leaf, options, given, controls, &threads, summary)?;
                let siblings =
                    opening.format.siblings.filter(|_| ask_siblings && !options.only_this_file);
                if let (Some(siblings), Some(plain)) = (siblings, input.plain_path()) {
                    // All files of the set in their own order, this one among them, once.
                    if seen.contains(&identity(plain)) {
                        continue;
                    }
                    let set = siblings(plain);
                    if set.len() > 1 {
                        queue.extend(set.into_iter().map(|p| (p, false)));
                        continue;
                    }
                }
                if let Some(plain) = input.plain_path()
                    && opening.format.siblings.is_some()
                {
                    seen.insert(identity(plain));
                }
                total = total.zip(leaf.raw_bytes()).map(|(a, b)| a + b);
                let reader = (opening.format.open)(input, &opening)?;
                files.push(SortedFile::new(leaf.name.clone(), opening.format, reason, reader));
            }
        }
    }
    if let Some(meter) = &controls.meter {
        meter.total_bytes.store(total.unwrap_or(0), Ordering::Relaxed);
    }
    threads
        .store(controls.threads.unwrap_or_else(|| threads_of_each(files.len())), Ordering::Relaxed);
    Ok(files)
}

/// Threads that parse one of so many files. One that takes what they parse keeps up with some.
fn threads_of_each(files: usize) -> usize {
    const MOST: usize = 4;
    const MOST_FILES: usize = 64;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    if processors == 1 || files > MOST_FILES {
        return 0;
    }
    (processors.min(MOST) / files.max(1)).max(1)
}

/// The format that the options imply: columns are of `csv` or `parquet`, fields of `bin`.
fn implied(options: &ReaderOptions, sample: &Sample) -> Option<&'static Format> {
    if options.fields.is_some() {
        return Some(&formats::bin::FORMAT);
    }
    let is_parquet = || matches!((formats::parquet::FORMAT.detect)(sample), Verdict::Yes(_));
    let mapped = options.columns != Columns::default();
    mapped.then(|| if is_parquet() { &formats::parquet::FORMAT } else { &formats::csv::FORMAT })
}

/// Options that the format does not have are an error: ignored, they would look as if applied.
/// Those of a file of defaults are a note.
fn check_options(
    format: &Format,
    detected: bool,
    options: &ReaderOptions,
) -> Result<Option<String>> {
    let is_default = |key: &&str| options.defaults.iter().any(|default| default == key);
    let (defaults, foreign): (Vec<&str>, Vec<&str>) =
        options.foreign_to(format.name).into_iter().partition(is_default);
    let Some(&first) = foreign.first() else {
        let note =
            format!("format {} does not have {}: no effect", format.name, defaults.join(", "));
        return Ok((!defaults.is_empty()).then_some(note));
    };
    let named: Vec<String> =
        foreign.iter().map(|key| format!("{key} (--{})", key.replace('_', "-"))).collect();
    let (name, how) = (format.name, if detected { "detected" } else { "given" });
    let map = options.to_map();
    let text = |key: &str| match map.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(list)) => {
            list.iter().map(|v| v.as_str().unwrap_or_default()).collect::<Vec<_>>().join(",")
        }
        other => other.map(Value::to_string).unwrap_or_default(),
    };
    let csv = OPTIONS.iter().filter(|field| field.key.applies_to("csv"));
    let csv: Vec<&str> = csv.map(|field| field.key.name).collect();
    let changes: Vec<(&str, String)> =
        foreign.iter().filter(|key| csv.contains(*key)).map(|&key| (key, text(key))).collect();
    let way = match as_csv(format, &changes) {
        _ if first == "columns" || first == "fields" => {
            format!("leave --format {name} out, or use --format csv (columns), bin (fields)")
        }
        Some(command) if !changes.is_empty() => format!("to read the file so: {command}"),
        _ => format!(
            "`destage trace formats {name}` lists its options; a table of another layout is read \
             with --format csv and --columns"
        ),
    };
    Err(TraceError::usage(format!(
        "{}: format {name} ({how}) does not have this option\n  {way}",
        named.join(", ")
    )))
}

fn identity(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn open_trace(
    leaf: &FoundTrace,
    options: &Arc<ReaderOptions>,
    given: Option<&'static Format>,
    controls: &ReadControls,
    threads: &Arc<AtomicUsize>,
    summary: &mut Summary,
) -> Result<(Opening, Option<String>, Input)> {
    let mut input = leaf.open(options, controls.meter.as_ref())?;
    let sample = Sample::of(&mut input)?;
    if sample.bytes.is_empty() {
        return Err(TraceError::data(&leaf.name, Location::File, "0 requests: the file is empty"));
    }
    let (format, reason) = match given.or_else(|| implied(options, &sample)) {
        Some(format) => (format, None),
        None => {
            let (format, why) = detect::require(&sample, options)?;
            (format, Some(why))
        }
    };
    if let Some(note) = check_options(format, reason.is_some(), options)? {
        add_once(&mut summary.warnings, note);
    }
    let opening = Opening {
        options: Arc::clone(options),
        format,
        detected: reason.is_some(),
        closest: Some(detect::closest),
        draft: Some(detect::draft),
        threads: Arc::clone(threads),
    };
    Ok((opening, reason, input))
}
