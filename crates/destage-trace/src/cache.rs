//! Decoded traces kept between runs, and [`open_trace`], which uses them.
//!
//! ```text
//!  $DESTAGE_CACHE, else the user's cache folder + /destage
//!    <key>.trace         columns of a decoded trace
//!    <key>.next          next use of each access
//!    hashes/<path>.json  hash of a source, good while size, time and inode stay
//!    .tmp-*              being written
//! ```
//!
//! The key is a hash of everything the columns depend on: content and name of the sources, options,
//! and the versions of format and program. Files are written under another name and renamed, so
//! that none is ever seen half-written. One that is damaged all the same is made anew. The time of
//! the last use is the file's modification time; when the folder outgrows its limit, what was used
//! longest ago goes. A folder that cannot be written costs speed, not results.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_128};

use crate::columns::{ColumnWriter, Columns, FORMAT_VERSION, Kind, Unusable};
use crate::decode::{DecodeOptions, Hooks, RecordSource, Stage, decode, step};
use crate::device_table::DeviceTable;
use crate::error::{Result, TraceError};
use crate::formats::FORMATS;
use crate::meta::{SourceMeta, TraceMeta};
use crate::options::{ReaderOptions, TimeOrigin};
use crate::record::Record;
use crate::stream::{self, Stream, with_stream};
use crate::trace::Trace;

/// Environment variable that names the folder.
pub const CACHE_VARIABLE: &str = "DESTAGE_CACHE";
/// Default limit of the folder: 20 GiB. Chosen: some fifty traces of 20 M requests.
pub const DEFAULT_LIMIT_BYTES: u64 = 20 << 30;

const TRACE_ENDING: &str = "trace";
const NEXT_USE_ENDING: &str = "next";
const HASHES: &str = "hashes";
const TEMPORARY: &str = ".tmp-";
/// A temporary file this old was left behind by a run that was killed.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);
/// A file changed more recently than this may change again within its time stamp's resolution.
const SETTLED: Duration = Duration::from_secs(2);

/// Where decoded traces are kept, and how much of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    /// `false`: decode into a temporary file, keep nothing.
    pub enabled: bool,
    /// Folder; `None` = `$DESTAGE_CACHE`, else the user's cache folder.
    pub dir: Option<PathBuf>,
    /// Largest size of all entries, bytes.
    pub limit_bytes: u64,
}

impl Default for CacheOptions {
    fn default() -> Self {
        CacheOptions { enabled: true, dir: None, limit_bytes: DEFAULT_LIMIT_BYTES }
    }
}

impl CacheOptions {
    /// Keep nothing.
    pub fn off() -> Self {
        CacheOptions { enabled: false, ..CacheOptions::default() }
    }

    /// The folder; `None` if the cache is off or the user has no home folder.
    pub fn resolve(&self) -> Option<PathBuf> {
        use etcetera::BaseStrategy;
        if !self.enabled {
            return None;
        }
        self.dir
            .clone()
            .or_else(|| {
                std::env::var_os(CACHE_VARIABLE).filter(|v| !v.is_empty()).map(PathBuf::from)
            })
            .or_else(|| Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("destage")))
    }
}

/// The cache folder, to be looked at and cleared.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
    limit_bytes: u64,
}

/// One file of the cache.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CacheEntry {
    /// Its path.
    pub path: PathBuf,
    /// `trace` or `next`.
    pub kind: String,
    /// Its length, bytes.
    pub bytes: u64,
    /// When it was last used, seconds since 1970.
    pub used_s: u64,
    /// Names of the sources; empty for next uses and for unusable files.
    pub sources: Vec<String>,
    /// Requests of the trace; 0 as above.
    pub requests: u64,
    /// Page size, bytes; 0 as above.
    pub page_bytes: u64,
    /// Whether this version of the program can read it (its header; columns are checked when
    /// opened).
    pub usable: bool,
}

/// What was removed.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Removed {
    /// Files.
    pub files: u64,
    /// Their lengths added up, bytes.
    pub bytes: u64,
}

impl Cache {
    /// The folder that the options lead to; it need not exist yet.
    ///
    /// # Errors
    ///
    /// `Usage` if there is none.
    pub fn new(options: &CacheOptions) -> Result<Self> {
        let dir = options.resolve().ok_or_else(|| TraceError::Usage {
            message: format!("there is no cache folder: set {CACHE_VARIABLE}"),
        })?;
        Ok(Cache { dir, limit_bytes: options.limit_bytes })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Largest size of all entries, bytes.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// All entries, used last first.
    ///
    /// # Errors
    ///
    /// `Io` if the folder is there and cannot be read.
    pub fn entries(&self) -> Result<Vec<CacheEntry>> {
        let mut entries: Vec<CacheEntry> = self
            .files()?
            .into_iter()
            .filter_map(|(path, metadata)| {
                let kind = path.extension()?.to_str()?.to_owned();
                let used = metadata.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
                let columns = File::open(&path).ok().and_then(|f| Columns::map_unchecked(&f).ok());
                let meta: Option<TraceMeta> = columns
                    .as_ref()
                    .and_then(|c| serde_json::from_slice(c.bytes(Kind::Meta)?).ok());
                let names = |m: &TraceMeta| m.sources.iter().map(|s| s.name.clone()).collect();
                Some(CacheEntry {
                    kind,
                    bytes: metadata.len(),
                    used_s: used.as_secs(),
                    sources: meta.as_ref().map(names).unwrap_or_default(),
                    requests: meta.as_ref().map_or(0, |m| m.counts.requests),
                    page_bytes: meta.as_ref().map_or(0, |m| m.page_bytes),
                    usable: columns.is_some(),
                    path,
                })
            })
            .collect();
        entries.sort_by(|a, b| b.used_s.cmp(&a.used_s).then_with(|| a.path.cmp(&b.path)));
        Ok(entries)
    }

    /// Removes everything that the cache made, and nothing else.
    ///
    /// # Errors
    ///
    /// `Io` if the folder cannot be read, `Write` if a file cannot be removed.
    pub fn clear(&self) -> Result<Removed> {
        let mut removed = Removed::default();
        let hashes = list(&self.dir.join(HASHES))?;
        let own =
            list(&self.dir)?.into_iter().filter(|(path, _)| is_entry(path) || is_temporary(path));
        for (path, metadata) in own.chain(
            hashes.into_iter().filter(|(path, _)| has_ending(path, "json") || is_temporary(path)),
        ) {
            fs::remove_file(&path).map_err(|source| TraceError::Write { path, source })?;
            removed.files += 1;
            removed.bytes += metadata.len();
        }
        Ok(removed)
    }

    /// Removes what was used longest ago until the limit holds, and temporary files that were left
    /// behind; never `keep`.
    fn trim(&self, keep: &Path) -> Result<()> {
        let mut files = self.files()?;
        files.sort_by_key(|(_, metadata)| metadata.modified().ok());
        let mut bytes: u64 = files.iter().map(|(_, metadata)| metadata.len()).sum();
        for (path, metadata) in files {
            if bytes <= self.limit_bytes {
                break;
            }
            if path != keep && fs::remove_file(&path).is_ok() {
                bytes -= metadata.len();
            }
        }
        for (path, metadata) in list(&self.dir)?.into_iter().filter(|(path, _)| is_temporary(path))
        {
            let age =
                metadata.modified().ok().and_then(|t| SystemTime::now().duration_since(t).ok());
            if age.is_some_and(|age| age > ABANDONED) {
                // Somebody else may have been faster.
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }

    fn files(&self) -> Result<Vec<(PathBuf, fs::Metadata)>> {
        Ok(list(&self.dir)?.into_iter().filter(|(path, _)| is_entry(path)).collect())
    }

    /// Hash of a file's content, remembered or read, and what tells that it is still that file.
    fn hash(&self, path: &Path, hooks: &mut dyn Hooks) -> Result<(SourceMeta, Stamp)> {
        let failed = |source| TraceError::Io { path: path.to_owned(), source };
        // A pipe can be read once, and "-" is standard input even beside a file of that name.
        if path.as_os_str() == "-" || !fs::metadata(path).map_err(failed)?.is_file() {
            return Err(failed(std::io::ErrorKind::Unsupported.into()));
        }
        let file = File::open(path).map_err(failed)?;
        let stamp = Stamp::of(&file, path).map_err(failed)?;
        let place = stamp.path.as_ref().map(|full| {
            self.dir.join(HASHES).join(format!("{:016x}.json", xxh3_64(full.as_bytes())))
        });
        let known = place
            .as_ref()
            .and_then(|place| serde_json::from_slice::<Known>(&fs::read(place).ok()?).ok())
            .filter(|known| known.stamp == stamp);
        let hash = match known {
            Some(known) => known.hash,
            None => {
                let hash = hash_of(file, stamp.bytes, path, hooks)?;
                if let (Some(place), true) = (&place, stamp.settled) {
                    // Not remembering costs a read next time, nothing else.
                    let known = Known { stamp: stamp.clone(), hash: hash.clone() };
                    let _ = remember(place, &known);
                }
                hash
            }
        };
        Ok((SourceMeta { name: file_name(path), bytes: stamp.bytes, hash }, stamp))
    }
}

fn list(dir: &Path) -> Result<Vec<(PathBuf, fs::Metadata)>> {
    let failed = |source| TraceError::Io { path: dir.to_owned(), source };
    match fs::read_dir(dir) {
        Ok(entries) => Ok(entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                // Not following links: what a link points to is not ours.
                let metadata = entry.metadata().ok()?;
                metadata.is_file().then(|| (entry.path(), metadata))
            })
            .collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed(error)),
    }
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|e| e == ending)
}

/// A name that [`key_of`] makes, with one of our endings.
fn is_entry(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("");
    let key = stem.len() == 32 && stem.bytes().all(|c| c.is_ascii_hexdigit());
    key && (has_ending(path, TRACE_ENDING) || has_ending(path, NEXT_USE_ENDING))
}

fn is_temporary(path: &Path) -> bool {
    path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with(TEMPORARY))
}

/// What tells that a file is still the one that was hashed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Stamp {
    path: Option<String>,
    bytes: u64,
    modified_ns: u128,
    inode: u64,
    device: u64,
    #[serde(skip, default = "settled")]
    settled: bool,
}

fn settled() -> bool {
    true
}

#[derive(Serialize, Deserialize)]
struct Known {
    stamp: Stamp,
    hash: String,
}

impl Stamp {
    fn of(file: &File, path: &Path) -> std::io::Result<Self> {
        let metadata = file.metadata()?;
        let modified = metadata.modified()?;
        let since = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let age = SystemTime::now().duration_since(modified).unwrap_or_default();
        #[cfg(unix)]
        let (inode, device) = {
            use std::os::unix::fs::MetadataExt;
            (metadata.ino(), metadata.dev())
        };
        #[cfg(not(unix))]
        let (inode, device) = (0, 0);
        Ok(Stamp {
            path: fs::canonicalize(path).ok().and_then(|p| p.to_str().map(str::to_owned)),
            bytes: metadata.len(),
            modified_ns: since.as_nanos(),
            inode,
            device,
            settled: age > SETTLED,
        })
    }
}

impl Stamp {
    /// Whether the file is still as it was.
    fn holds(&self, path: &Path) -> bool {
        let now = File::open(path).and_then(|file| Stamp::of(&file, path));
        now.is_ok_and(|now| Stamp { settled: self.settled, ..now } == *self)
    }
}

fn remember(place: &Path, known: &Known) -> std::io::Result<()> {
    let dir = place.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(dir)?;
    let file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(dir)?;
    serde_json::to_writer(&file, known)?;
    file.persist(place)?;
    Ok(())
}

fn hash_of(mut file: File, total: u64, path: &Path, hooks: &mut dyn Hooks) -> Result<String> {
    let mut hash = Xxh3::new();
    let mut buffer = vec![0u8; 1 << 20];
    let mut done = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(format!("{:032x}", hash.digest128())),
            Ok(count) => {
                hash.update(&buffer[..count]);
                done += count as u64;
                step(hooks, Stage::Hashing, done, Some(total))?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(source) => return Err(TraceError::Io { path: path.to_owned(), source }),
        }
    }
}

pub(crate) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    crate::device_table::printable(name.as_encoded_bytes())
}

/// Key of what the columns depend on; `what` are the options and the like.
fn key_of(sources: &[SourceMeta], what: &[&serde_json::Value], decode: &DecodeOptions) -> String {
    let text = serde_json::json!({
        "layout": FORMAT_VERSION,
        "program": env!("CARGO_PKG_VERSION"),
        "sources": sources,
        "what": what,
        "decode": decode,
    });
    format!("{:032x}", xxh3_128(text.to_string().as_bytes()))
}

/// Writes a column file and maps it: at `path` in the cache, or in a temporary file if there is no
/// path or the cache cannot take it. `make` may be called twice.
pub(crate) fn store(
    path: Option<&Path>,
    hooks: &mut dyn Hooks,
    mut make: impl FnMut(File, &Path, &mut dyn Hooks) -> Result<File>,
) -> Result<Columns> {
    if let Some(path) = path {
        match store_at(path, hooks, &mut make) {
            Err(TraceError::Write { source, .. }) => hooks.note(format!(
                "{}: {source}: going on without the cache",
                path.parent().unwrap_or(path).display()
            )),
            done => return done,
        }
    }
    let temporary = std::env::temp_dir();
    let failed = |source| TraceError::Write { path: temporary.clone(), source };
    let file = make(tempfile::tempfile().map_err(failed)?, &temporary, hooks)?;
    map_new(&file, &temporary)
}

fn store_at(
    path: &Path,
    hooks: &mut dyn Hooks,
    make: &mut impl FnMut(File, &Path, &mut dyn Hooks) -> Result<File>,
) -> Result<Columns> {
    let failed = |source| TraceError::Write { path: path.to_owned(), source };
    let dir = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(dir).map_err(failed)?;
    let named = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(dir).map_err(failed)?;
    let file = make(named.reopen().map_err(failed)?, path, hooks)?;
    let columns = map_new(&file, path)?;
    named.persist(path).map_err(|error| failed(error.error))?;
    Ok(columns)
}

fn map_new(file: &File, path: &Path) -> Result<Columns> {
    Columns::map_unchecked(file).map_err(|unusable| {
        let source = match unusable {
            Unusable::Io(source) => source,
            Unusable::Damaged(what) => std::io::Error::other(format!("just written: {what}")),
        };
        TraceError::Write { path: path.to_owned(), source }
    })
}

/// Files that are to be opened, and what is known of them before they are read.
pub(crate) struct Inputs<'a> {
    /// Files whose content decides; empty for a workload that is made.
    pub(crate) files: &'a [PathBuf],
    /// Sources to name where there are no files.
    pub(crate) sources: Vec<SourceMeta>,
    /// What else decides: options, the workload's description.
    pub(crate) what: serde_json::Value,
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
/// Those of reading ([`Stream`]); `Usage` for options out of range and for more different pages
/// than can be numbered; `Write` if not even a temporary file can be written; `Interrupted`. A cache
/// that cannot be used is no error, but a note to `hooks`.
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
    open_with(inputs, &decode_options, cache, hooks, |file, path, sources, hooks| {
        let outside = stream::Hooks {
            interrupt: hooks.interrupt_flag(),
            progress: Some(Arc::new(stream::Progress::default())),
        };
        with_stream(paths, reader, outside, |stream| {
            let file = file
                .try_clone()
                .map_err(|source| TraceError::Write { path: path.to_owned(), source })?;
            let writer = ColumnWriter::new(file, path)?;
            decode(stream, &decode_options, sources.to_vec(), writer, hooks)
        })
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

/// Decodes records that are at hand into a trace outside the cache.
///
/// # Errors
///
/// What the source returns; `Usage` for options out of range and for more different pages than can
/// be numbered; `Write` if the temporary file cannot be written; `Interrupted`.
pub fn decode_records<S: RecordSource + ?Sized>(
    source: &mut S,
    name: &str,
    options: &DecodeOptions,
    hooks: &mut dyn Hooks,
) -> Result<Arc<Trace>> {
    let sources = vec![SourceMeta { name: name.to_owned(), bytes: 0, hash: String::new() }];
    let columns = store(None, hooks, |file, path, hooks| {
        decode(source, options, sources.clone(), ColumnWriter::new(file, path)?, hooks)
    })?;
    Ok(Arc::new(Trace::new(columns, None, false).expect("what the decoder wrote is a trace")))
}

/// A trace from the cache, or one that `make` decodes into the file it is given (it may be called
/// twice).
pub(crate) fn open_with(
    inputs: Inputs<'_>,
    decode_options: &DecodeOptions,
    cache: &CacheOptions,
    hooks: &mut dyn Hooks,
    mut make: impl FnMut(&File, &Path, &[SourceMeta], &mut dyn Hooks) -> Result<File>,
) -> Result<Arc<Trace>> {
    decode_options.check()?;
    let folder = cache.resolve().map(|dir| Cache { dir, limit_bytes: cache.limit_bytes });
    let mut sources = inputs.sources;
    let mut stamps = Vec::new();
    let mut entry = None;
    if let Some(folder) = folder {
        let hashed: Result<Vec<(SourceMeta, Stamp)>> =
            inputs.files.iter().map(|path| folder.hash(path, hooks)).collect();
        match hashed {
            Ok(hashed) => {
                for (source, stamp) in hashed {
                    sources.push(source);
                    stamps.push(stamp);
                }
                let key = key_of(&sources, &[&inputs.what], decode_options);
                let path = folder.dir.join(key).with_extension(TRACE_ENDING);
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
        && let Some(trace) = kept(folder, path, hooks)
    {
        return Ok(Arc::new(trace));
    }
    let columns =
        store(entry.as_ref().map(|(_, path)| path.as_path()), hooks, |file, path, hooks| {
            make(&file, path, &sources, hooks)
        })?;
    let mut place = None;
    if let Some((folder, path)) = entry {
        let changed = inputs.files.iter().zip(&stamps).any(|(file, stamp)| !stamp.holds(file));
        if changed || columns.file_bytes() > folder.limit_bytes {
            // Read while somebody wrote it, so that the key may not fit, or too large to keep. The
            // mapping outlives the name.
            let _ = fs::remove_file(&path);
        } else {
            // A folder over its limit is no reason to fail.
            let _ = folder.trim(&path);
            place = Some(Place { path: path.with_extension(NEXT_USE_ENDING), folder });
        }
    }
    let trace = Trace::new(columns, place, false);
    Ok(Arc::new(trace.expect("what the decoder wrote is a trace")))
}

/// Where a trace's next uses are kept.
pub(crate) struct Place {
    /// The file.
    pub(crate) path: PathBuf,
    folder: Cache,
}

impl Place {
    /// Keeps the folder within its limit after the file was made.
    pub(crate) fn settle(&self) {
        // As above.
        let _ = self.folder.trim(&self.path);
    }
}

/// A whole entry of the cache.
fn kept(folder: &Cache, path: &Path, hooks: &mut dyn Hooks) -> Option<Trace> {
    let file = File::open(path).ok()?;
    let columns = match Columns::map(&file) {
        Ok(columns) => columns,
        Err(unusable) => {
            if let Unusable::Damaged(what) = unusable {
                hooks.note(format!("{}: {what}: decoding the trace again", path.display()));
            }
            return None;
        }
    };
    // The order of use is kept as far as the folder lets us.
    let _ = file.set_modified(SystemTime::now());
    let place = Place { path: path.with_extension(NEXT_USE_ENDING), folder: folder.clone() };
    Trace::new(columns, Some(place), true)
}
