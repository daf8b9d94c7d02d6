//! Opening a trace: from the cache, or decoded and put there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use xxhash_rust::xxh3::xxh3_128;

use crate::cache::store::{NextUsePlace, store};
use crate::cache::{
    Cache, CacheOptions, FileStamp, NEXT_USE_ENDING, TRACE_ENDING, file_name, open_entry,
};
use crate::columns::{ColumnWriter, Columns, FORMAT_VERSION, Target, Unusable, meta::SourceMeta};
use crate::decode::{DecodeOptions, RecordSource, decode};
use crate::error::{Result, TraceError};
use crate::files::disk::File;
use crate::formats::FORMATS;
use crate::hooks::{Hooks, ReadControls, ReadMeter};
use crate::options::{ReaderOptions, TimeOrigin};
use crate::record::{DeviceTable, Record};
use crate::stream::{Stream, with_stream};
use crate::trace::Trace;
use destage_keys::printable;

/// Key of what the columns depend on; `what` are the options and the like.
fn key_of(sources: &[SourceMeta], what: &[&serde_json::Value], decode: &DecodeOptions) -> String {
    let text = serde_json::json!({
        "layout": FORMAT_VERSION,
        "program": [env!("CARGO_PKG_VERSION"), env!("DESTAGE_TRACE_SOURCES")],
        "sources": sources,
        "what": what,
        "decode": decode,
    });
    format!("{:032x}", xxh3_128(text.to_string().as_bytes()))
}

/// Files to be opened, and what identifies them before they are read.
struct Inputs<'a> {
    /// Files whose content decides; empty for generated records.
    files: &'a [PathBuf],
    /// Sources to name where there are no files.
    sources: Vec<SourceMeta>,
    /// Further inputs of the key: options, the workload's description.
    what: serde_json::Value,
}

impl RecordSource for Stream {
    fn next_batch(&mut self, batch: &mut Vec<Record>) -> Result<bool> {
        Stream::next_batch(self, batch)
    }

    fn devices(&self) -> &DeviceTable {
        Stream::devices(self)
    }

    fn summary(&self) -> serde_json::Value {
        serde_json::to_value(Stream::summary(self)).expect("plain data becomes JSON")
    }

    fn page_bytes(&self) -> Option<u64> {
        Stream::summary(self).page_bytes
    }

    fn has_times(&self) -> bool {
        Stream::summary(self).has_times
    }

    fn position(&self) -> (u64, Option<u64>) {
        Stream::position(self)
    }
}

/// Opens a trace: one or several files that make one run, decoded, or mapped from the cache.
///
/// `time_origin = "absolute"` of the reader options holds whatever `decode` says; wrapping is
/// `decode`'s, because only the caller knows the drive.
///
/// # Errors
///
/// Errors of reading ([`Stream`]); `Usage` for options out of range and for more different pages
/// than can be numbered; `Write` if not even a temporary file can be written; `Interrupted`. A
/// cache that cannot be used is no error, but a note to `hooks`.
pub fn open_trace(
    paths: &[PathBuf],
    reader: &ReaderOptions,
    decode_options: &DecodeOptions,
    cache: &CacheOptions,
    hooks: &mut dyn Hooks,
) -> Result<Arc<Trace>> {
    let absolute_time = decode_options.absolute_time || reader.time_origin == TimeOrigin::Absolute;
    let decode_options = DecodeOptions { absolute_time, ..decode_options.clone() };
    let files = with_siblings(paths, reader);
    let what = serde_json::to_value(reader).expect("plain data becomes JSON");
    let inputs = Inputs { files: &files, sources: Vec::new(), what };
    open_with(inputs, &decode_options, cache, hooks, |target, sources, hooks| {
        let controls = ReadControls {
            interrupt: hooks.interrupt_flag(),
            meter: Some(Arc::new(ReadMeter::default())),
            threads: hooks.threads(),
        };
        with_stream(paths, reader, controls, |stream| {
            let writer = ColumnWriter::new(target)?;
            decode(stream, &decode_options, sources.to_vec(), writer, hooks)
        })
    })
}

/// Opens generated records: decoded, or mapped from the cache, whose key is `description` and
/// `name`. `make` begins the records; it may be called twice.
///
/// # Errors
///
/// Errors of `make` and its source; otherwise as [`open_trace`].
pub fn open_generated<S: RecordSource>(
    name: String,
    description: serde_json::Value,
    options: &DecodeOptions,
    cache: &CacheOptions,
    hooks: &mut dyn Hooks,
    mut make: impl FnMut() -> Result<S>,
) -> Result<Arc<Trace>> {
    let sources = vec![SourceMeta { name, bytes: 0, hash: String::new() }];
    let inputs = Inputs { files: &[], sources, what: description };
    open_with(inputs, options, cache, hooks, |target, sources, hooks| {
        let writer = ColumnWriter::new(target)?;
        decode(&mut make()?, options, sources.to_vec(), writer, hooks)
    })
}

/// The files, and those that are read with them though not named.
fn with_siblings(paths: &[PathBuf], reader: &ReaderOptions) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in paths {
        files.push(path.clone());
        if !reader.only_this_file {
            let siblings = FORMATS.iter().filter_map(|format| Some((format.siblings?)(path)));
            files.extend(siblings.flatten().filter(|sibling| sibling != path));
        }
    }
    files
}

/// Decodes the records of a source into a trace outside the cache.
///
/// # Errors
///
/// Errors of the source; `Usage` for options out of range and for more different pages than can
/// be numbered; `Write` if the temporary file cannot be written; `Interrupted`.
pub fn decode_records<S: RecordSource + ?Sized>(
    source: &mut S,
    name: &str,
    options: &DecodeOptions,
    hooks: &mut dyn Hooks,
) -> Result<Arc<Trace>> {
    let sources = vec![SourceMeta { name: name.to_owned(), bytes: 0, hash: String::new() }];
    let columns = store(None, hooks, |target, hooks| {
        decode(source, options, sources.clone(), ColumnWriter::new(target)?, hooks)
    })?;
    Ok(Arc::new(Trace::new(columns, None, false).expect("what the decoder wrote is a trace")))
}

/// A trace from the cache, or one that `make` decodes into the file it is given (it may be called
/// twice).
fn open_with(
    inputs: Inputs<'_>,
    decode_options: &DecodeOptions,
    cache: &CacheOptions,
    hooks: &mut dyn Hooks,
    mut make: impl FnMut(&Target, &[SourceMeta], &mut dyn Hooks) -> Result<File>,
) -> Result<Arc<Trace>> {
    decode_options.check()?;
    let folder = Cache::new(cache).ok();
    let mut sources = inputs.sources;
    let mut stamps = Vec::new();
    let mut entry = None;
    if let Some(folder) = folder {
        folder.sweep();
        let hashed: Result<Vec<(SourceMeta, FileStamp)>> =
            inputs.files.iter().map(|path| folder.hash(path, hooks)).collect();
        match hashed {
            Ok(hashed) => {
                for (source, stamp) in hashed {
                    sources.push(source);
                    stamps.push(stamp);
                }
                let key = key_of(&sources, &[&inputs.what], decode_options);
                let path = folder.dir().join(key).with_extension(TRACE_ENDING);
                entry = Some((folder, path));
            }
            Err(TraceError::Interrupted) => return Err(TraceError::Interrupted),
            // What cannot be hashed (missing, a folder, a pipe) is the reader's to judge.
            Err(_) => {}
        }
    }
    if sources.is_empty() {
        let unknown =
            |path: &PathBuf| SourceMeta { name: file_name(path), bytes: 0, hash: String::new() };
        sources = inputs.files.iter().map(unknown).collect();
    }
    if let Some((folder, path)) = &entry
        && let Some(mut trace) = kept(folder, path, hooks)
    {
        trace.called(inputs.files);
        return Ok(Arc::new(trace));
    }
    let kept_at = entry.as_ref().map(|(folder, path)| (path.as_path(), folder));
    let columns = store(kept_at, hooks, |target, hooks| make(target, &sources, hooks))?;
    let mut place = None;
    if let Some((folder, path)) = entry {
        let changed = inputs.files.iter().zip(&stamps).any(|(file, stamp)| !stamp.holds(file));
        if changed || columns.file_bytes() > folder.limit_bytes() {
            // Read while it was written, so that the key may not fit, or too large to keep. The
            // mapping outlives the name.
            let _ = fs::remove_file(&path);
        } else {
            // A folder over its limit is no reason to fail.
            let _ = folder.trim(&path);
            place = Some(NextUsePlace { path: path.with_extension(NEXT_USE_ENDING), folder });
        }
    }
    let trace = Trace::new(columns, place, false);
    Ok(Arc::new(trace.expect("what the decoder wrote is a trace")))
}

/// A whole entry of the cache.
fn kept(folder: &Cache, path: &Path, hooks: &mut dyn Hooks) -> Option<Trace> {
    let file = open_entry(path).ok()?;
    let columns = match Columns::map(&file, path) {
        Ok(columns) => columns,
        Err(unusable) => {
            if let Unusable::Damaged(what) = unusable {
                let name = printable(path.as_os_str().as_encoded_bytes());
                hooks.note(format!("{name}: {what}: decoding the trace again"));
            }
            return None;
        }
    };
    // The order of use is kept as far as the folder lets us.
    let _ = file.set_modified(SystemTime::now());
    let place = NextUsePlace { path: path.with_extension(NEXT_USE_ENDING), folder: folder.clone() };
    Trace::new(columns, Some(place), true)
}
