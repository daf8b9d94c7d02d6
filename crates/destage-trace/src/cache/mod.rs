//! Decoded traces kept between runs: the folder, what lies in it, and what goes.
//!
//! ```text
//!  $DESTAGE_CACHE, else the user's cache folder + /destage
//!    <key>.trace         columns of a decoded trace
//!    <key>.next          next use of each access
//!    <key>.flash         a preconditioned drive (crate destage-ssd): listed and removed here,
//!                        read and written there
//!    hashes/<path>.json  hash of a source, good while size, times and inode stay
//!    .tmp-*              being written
//! ```
//!
//! The key is a hash of everything the columns depend on: content and name of the sources, options,
//! and the versions of format and program. Files are written under another name and renamed, so
//! that none is ever seen half-written. A damaged one is decoded again. The time of
//! the last use is the file's modification time; when the folder outgrows its limit, what was used
//! longest ago goes. A folder that cannot be written costs speed, not results.

pub(crate) mod store;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::columns::{
    ColumnKind, Columns,
    meta::{SourceMeta, TraceMeta},
};
use crate::error::{Result, TraceError};
use crate::files::disk;
use crate::files::temporary::{self, TEMPORARY};
use crate::hooks::{Hooks, Stage, step};

/// Environment variable that names the folder.
pub const CACHE_VARIABLE: &str = "DESTAGE_CACHE";
/// Default limit of the folder: 20 GiB. Chosen: some fifty traces of 20 M requests.
pub const DEFAULT_LIMIT_BYTES: u64 = 20 << 30;

pub(crate) const TRACE_ENDING: &str = "trace";
pub(crate) const NEXT_USE_ENDING: &str = "next";
pub(crate) const FLASH_ENDING: &str = "flash";
const HASHES: &str = "hashes";
/// A temporary file this old was left behind, also where no lock can say so.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);
/// A file changed more recently than this may change again within its time stamp's resolution.
const SETTLED: Duration = Duration::from_secs(2);

/// Options of the cache: its folder and its size.
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
    /// Path of the file.
    pub path: PathBuf,
    /// `trace`, `next` or `flash`.
    pub kind: String,
    /// Length of the file, bytes.
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
    /// opened, drives altogether).
    pub usable: bool,
}

/// Files removed from the cache.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct RemovedFiles {
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
        let dir = options.resolve().ok_or_else(|| {
            TraceError::usage(format!("there is no cache folder: set {CACHE_VARIABLE}"))
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
                let columns =
                    open_entry(&path).ok().and_then(|f| Columns::map_unchecked(&f, &path).ok());
                let meta: Option<TraceMeta> = columns
                    .as_ref()
                    .and_then(|c| serde_json::from_slice(c.bytes(ColumnKind::Meta)?).ok());
                let names = |m: &TraceMeta| m.sources.iter().map(|s| s.name.clone()).collect();
                let usable = columns.is_some() || kind == FLASH_ENDING;
                Some(CacheEntry {
                    kind,
                    bytes: metadata.len(),
                    used_s: used.as_secs(),
                    sources: meta.as_ref().map(names).unwrap_or_default(),
                    requests: meta.as_ref().map_or(0, |m| m.counts.requests),
                    page_bytes: meta.as_ref().map_or(0, |m| m.page_bytes),
                    usable,
                    path,
                })
            })
            .collect();
        entries.sort_by(|a, b| b.used_s.cmp(&a.used_s).then_with(|| a.path.cmp(&b.path)));
        Ok(entries)
    }

    /// Removes everything that the cache made, and nothing else: runs that have an entry mapped
    /// keep their mapping, files that a live process writes stay until they are entries.
    ///
    /// # Errors
    ///
    /// `Io` if the folder cannot be read, `Write` if a file cannot be removed.
    pub fn clear(&self) -> Result<RemovedFiles> {
        let mut removed = RemovedFiles::default();
        let hashes = list(&self.dir.join(HASHES))?;
        let own =
            list(&self.dir)?.into_iter().filter(|(path, _)| is_entry(path) || is_temporary(path));
        for (path, metadata) in own.chain(
            hashes.into_iter().filter(|(path, _)| has_ending(path, "json") || is_temporary(path)),
        ) {
            if is_temporary(&path) && temporary::is_being_written(&path) {
                continue;
            }
            match fs::remove_file(&path) {
                Ok(()) => {
                    removed.files += 1;
                    removed.bytes += metadata.len();
                }
                // Another process cleared it, or made an entry of it.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => return Err(TraceError::Write { path, source }),
            }
        }
        Ok(removed)
    }

    /// Removes what was used longest ago until the limit holds; never `keep`.
    pub(crate) fn trim(&self, keep: &Path) -> Result<()> {
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
        Ok(())
    }

    /// Removes temporary files that were left behind by processes that are gone. What cannot be
    /// looked at or removed stays.
    pub(crate) fn sweep(&self) {
        let folders = [self.dir.clone(), self.dir.join(HASHES)];
        let files = folders.iter().flat_map(|folder| list(folder).unwrap_or_default());
        for (path, metadata) in files.filter(|(path, _)| is_temporary(path)) {
            let age =
                metadata.modified().ok().and_then(|t| SystemTime::now().duration_since(t).ok());
            if age.is_some_and(|age| age > ABANDONED) {
                // Somebody else may have been faster.
                let _ = fs::remove_file(path);
            } else {
                temporary::remove_abandoned(&path);
            }
        }
    }

    fn files(&self) -> Result<Vec<(PathBuf, fs::Metadata)>> {
        Ok(list(&self.dir)?.into_iter().filter(|(path, _)| is_entry(path)).collect())
    }

    /// Hash of a file's content, remembered or read, and the stamp of that file.
    pub(crate) fn hash(
        &self,
        path: &Path,
        hooks: &mut dyn Hooks,
    ) -> Result<(SourceMeta, FileStamp)> {
        let failed = |source| TraceError::Io { path: path.to_owned(), source };
        // A pipe can be read once, and "-" is standard input even beside a file of that name.
        if path.as_os_str() == "-" || !fs::metadata(path).map_err(failed)?.is_file() {
            return Err(failed(std::io::ErrorKind::Unsupported.into()));
        }
        let file = File::open(path).map_err(failed)?;
        let stamp = FileStamp::of(&file, path).map_err(failed)?;
        let place = stamp.path.as_ref().map(|full| {
            self.dir.join(HASHES).join(format!("{:016x}.json", xxh3_64(full.as_bytes())))
        });
        let known = place
            .as_ref()
            .and_then(|place| serde_json::from_slice::<KnownHash>(&read_entry(place)?).ok())
            .filter(|known| known.stamp == stamp);
        let hash = match known {
            Some(known) => known.hash,
            None => {
                let hash = hash_of(file, stamp.bytes, path, hooks)?;
                if let (Some(place), true) = (&place, stamp.settled) {
                    // Not remembering costs a read next time, nothing else.
                    let known = KnownHash { stamp: stamp.clone(), hash: hash.clone() };
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

/// Opens a file of the cache. Anything else by its name (a device, a pipe, which may never get a
/// writer) is skipped.
///
/// # Errors
///
/// Errors of the system; `Unsupported` for anything but a file.
pub(crate) fn open_entry(path: &Path) -> std::io::Result<disk::File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Not to wait for a pipe's other end.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => disk::from_system(file),
        false => Err(std::io::ErrorKind::Unsupported.into()),
    }
}

fn read_entry(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open_entry(path).ok()?.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|e| e == ending)
}

/// A name that the key makes, with one of our endings.
fn is_entry(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("");
    let key = stem.len() == 32 && stem.bytes().all(|c| c.is_ascii_hexdigit());
    let endings = [TRACE_ENDING, NEXT_USE_ENDING, FLASH_ENDING];
    key && endings.iter().any(|ending| has_ending(path, ending))
}

fn is_temporary(path: &Path) -> bool {
    path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with(TEMPORARY))
}

/// Identity of a hashed file: a changed stamp means a changed file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct FileStamp {
    path: Option<String>,
    bytes: u64,
    modified_ns: u128,
    /// When anything of it changed last, its times included, which no program can set: a file
    /// written over and dated back is noticed.
    changed_ns: i128,
    inode: u64,
    device: u64,
    #[serde(skip, default = "settled")]
    settled: bool,
}

fn settled() -> bool {
    true
}

#[derive(Serialize, Deserialize)]
struct KnownHash {
    stamp: FileStamp,
    hash: String,
}

impl FileStamp {
    fn of(file: &File, path: &Path) -> std::io::Result<Self> {
        let metadata = file.metadata()?;
        let modified = metadata.modified()?;
        let since = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        #[cfg(unix)]
        let (inode, device, changed_ns) = {
            use std::os::unix::fs::MetadataExt;
            let changed = i128::from(metadata.ctime()) * 1_000_000_000;
            (metadata.ino(), metadata.dev(), changed + i128::from(metadata.ctime_nsec()))
        };
        #[cfg(not(unix))]
        let (inode, device, changed_ns) = (0, 0, 0);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let latest = changed_ns.max(since.as_nanos() as i128);
        let settled = now.as_nanos() as i128 - latest > SETTLED.as_nanos() as i128;
        Ok(FileStamp {
            path: fs::canonicalize(path).ok().and_then(|p| p.to_str().map(str::to_owned)),
            bytes: metadata.len(),
            modified_ns: since.as_nanos(),
            changed_ns,
            inode,
            device,
            settled,
        })
    }
}

impl FileStamp {
    /// Whether the file is still as it was.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        let now = File::open(path).and_then(|file| FileStamp::of(&file, path));
        now.is_ok_and(|now| FileStamp { settled: self.settled, ..now } == *self)
    }
}

fn remember(place: &Path, known: &KnownHash) -> std::io::Result<()> {
    let dir = place.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(dir)?;
    let file = temporary::create(dir)?;
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

/// Name of a file without its folders, as it can be shown.
pub(crate) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    destage_keys::printable(name.as_encoded_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_file_that_is_written_over_and_dated_back_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        fs::write(&path, "0,0,8,W,0\n").unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        file.set_modified(then).unwrap();
        let stamp = FileStamp::of(&file, &path).unwrap();
        assert!(stamp.holds(&path));
        assert!(!stamp.settled, "it changed just now, whatever its date says");
        // Longer than the tick of the clock that files are stamped by.
        std::thread::sleep(Duration::from_millis(50));
        std::os::unix::fs::FileExt::write_all_at(&file, b"0,0,8,R,0\n", 0).unwrap();
        file.set_modified(then).unwrap();
        let now = FileStamp::of(&file, &path).unwrap();
        let same = (stamp.bytes, stamp.modified_ns, stamp.inode);
        assert_eq!((now.bytes, now.modified_ns, now.inode), same);
        assert!(!stamp.holds(&path));
    }

    #[test]
    #[cfg(unix)]
    fn a_pipe_called_like_an_entry_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        assert!(open_entry(&path).is_err());
    }
}
