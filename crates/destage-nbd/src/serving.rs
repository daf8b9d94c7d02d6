//! `destage serve`: a file, or memory, as a block device behind a cache run by a policy.

use crate::address::{Address, Listener};
use crate::late::LateReplies;
use crate::recording::Recording;
use crate::server::{Server, ServerOptions};
use crate::state::{ConnectionCounts, RequestCounts};
use crate::times::{Counted, ResponseTimes};
use destage_core::AnyPolicy;
use destage_pool::{
    DeviceStore, FileOptions, FileStore, MemoryStore, Number, OpenError, Options, Pool,
    PoolCounters, SimulatedDevice, Store, replayed,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Store that is served.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A file or a block device. With `bytes`, a file is made if there is none, and one that is
    /// there has to have this size.
    File {
        /// Where it is.
        path: PathBuf,
        /// Size of the store, bytes.
        bytes: Option<u64>,
        /// Past the page cache of the operating system.
        direct: bool,
    },
    /// Memory.
    Memory {
        /// Size of the store, bytes.
        bytes: u64,
    },
}

/// All of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Store that is served.
    pub source: Source,
    /// The policy, as users write it; `none`: no cache.
    pub policy: String,
    /// Frames, page size, checksums, name of the volume; a server has batches of one access.
    pub options: Options,
    /// Address, export, limits.
    pub server: ServerOptions,
    /// Where requests are recorded; `.gz` packs them.
    pub record: Option<PathBuf>,
    /// A simulated SSD behind the cache.
    pub device: Option<SimulatedDevice>,
    /// Replies come when it would have answered.
    pub emulate: bool,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An unusable argument (exit status 2).
    #[error("{0}")]
    Usage(String),
    /// The file is missing (66).
    #[error("{0}")]
    Missing(String),
    /// Something cannot be opened, bound or written (74).
    #[error("{0}")]
    Io(String),
}

/// A server that runs, until it is stopped or dropped.
pub struct Serving {
    server: Server,
    recording: Option<Recording>,
    backing: Option<(PathBuf, Option<(u64, u64)>)>,
    replayed: String,
    started: Instant,
    interval: Mutex<Counted>,
    has_stopped: bool,
}

/// A server at an instant.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshot {
    /// Seconds since it started.
    pub seconds: f64,
    /// Requests by command.
    pub requests: RequestCounts,
    /// Bytes that clients read.
    pub bytes_read: u64,
    /// Bytes that they wrote.
    pub bytes_written: u64,
    /// Counters of the pool.
    #[serde(flatten)]
    pub counters: PoolCounters,
    /// Response times, from the last byte of a request to the first of its reply, nanoseconds.
    pub response_ns: ResponseTimes,
    /// Connections.
    pub connections: ConnectionCounts,
    /// Connections now.
    pub open_connections: usize,
    /// The simulated SSD, if there is one.
    pub device: Option<DeviceSnapshot>,
    /// Since the last snapshot.
    pub interval: Interval,
}

/// A simulated SSD at an instant.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DeviceSnapshot {
    /// Erase blocks erased.
    pub erases: u64,
    /// Write amplification; absent before the first program.
    pub waf: Option<f64>,
    /// Pages programmed for the host.
    pub flash_programs: u64,
    /// Replies that the real work delayed, and by how much.
    #[serde(flatten)]
    pub late: LateReplies,
}

/// Metrics of a simulated SSD.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceMetrics {
    #[serde(flatten)]
    metrics: BTreeMap<&'static str, Option<Number>>,
    #[serde(flatten)]
    late: LateReplies,
}

/// Activity between two snapshots.
#[derive(Clone, Debug, Serialize)]
pub struct Interval {
    /// Requests answered.
    pub requests: u64,
    /// Their median response time, nanoseconds; absent without requests.
    pub p50_ns: Option<u64>,
    /// 99 % of them took at most this.
    pub p99_ns: Option<u64>,
}

impl Serving {
    /// Starts a server: clients can connect when this returns.
    ///
    /// # Errors
    ///
    /// The fault, in the terms of the command line.
    pub fn start(settings: &Settings) -> Result<Serving, ServeError> {
        Self::start_with(settings, None)
    }

    /// The same with a policy of one's own, which the settings name for clients alone.
    ///
    /// # Errors
    ///
    /// Errors of [`start`](Serving::start).
    pub fn start_with(settings: &Settings, own: Option<AnyPolicy>) -> Result<Serving, ServeError> {
        check_names(settings)?;
        let store = with_device(open(settings)?, settings.device.as_ref());
        let backing = match &settings.source {
            Source::File { path, .. } => Some((path.clone(), identity(path))),
            Source::Memory { .. } => None,
        };
        let (policy, options) = (&settings.policy, settings.options.clone());
        let (replayed, pool) = match own {
            None => (replayed(policy, store.pages()), Pool::open(store, policy, options)),
            Some(own) => (policy.clone(), Pool::open_with(store, own, options)),
        };
        let pool = pool.map_err(|error| match error {
            OpenError::Io(error) => ServeError::Io(error.to_string()),
            OpenError::SmallStore(_) => ServeError::Usage(match &backing {
                Some((path, _)) => format!("{}: {error}", path.display()),
                None => error.to_string(),
            }),
            error => ServeError::Usage(error.to_string()),
        })?;
        // No file is emptied for a server that cannot be.
        let address =
            |error| ServeError::Io(format!("{}: {error}", shown(&settings.server.address)));
        let listeners = Listener::bind(&settings.server.address).map_err(address)?;
        let recording = settings.record.as_deref().map(|path| {
            let wrong = |error| ServeError::Io(format!("{}: {error}", path.display()));
            let (recording, lines) = Recording::create(path).map_err(wrong)?;
            pool.record(Box::new(lines)).map_err(wrong)?;
            Ok::<_, ServeError>(recording)
        });
        let recording = recording.transpose()?;
        let direct = matches!(&settings.source, Source::File { direct: true, .. });
        let server = Server::start(listeners, pool, &settings.server, settings.emulate, direct);
        let server = server.map_err(address)?;
        let interval = Mutex::default();
        let (started, has_stopped) = (Instant::now(), false);
        Ok(Serving { server, recording, backing, replayed, started, interval, has_stopped })
    }

    /// The server as NBD clients name it.
    pub fn uri(&self) -> &str {
        self.server.uri()
    }

    /// Bytes of the export.
    pub fn export_bytes(&self) -> u64 {
        self.server.state.export.bytes
    }

    /// Counts so far, and since the last call.
    pub fn snapshot(&self) -> Snapshot {
        let state = &self.server.state;
        let now = state.times.counted();
        let mut before = self.interval.lock().unwrap_or_else(PoisonError::into_inner);
        let interval = Interval {
            requests: now.requests(&before),
            p50_ns: now.quantile(&before, 0.5),
            p99_ns: now.quantile(&before, 0.99),
        };
        *before = now;
        let (connections, open_connections) = self.server.connections();
        Snapshot {
            seconds: self.started.elapsed().as_secs_f64(),
            requests: state.requests.counted(),
            bytes_read: state.bytes_read.load(Relaxed),
            bytes_written: state.bytes_written.load(Relaxed),
            counters: state.pool.counters(),
            response_ns: state.times.all(),
            connections,
            open_connections,
            device: self.device(),
            interval,
        }
    }

    /// Faults since the last call: protocol violations of clients, clients that were
    /// refused, a record that ended. How many times, and the last one as a sentence.
    pub fn complaints(&self) -> (u64, Option<String>) {
        let complaints = self.server.state.take_complaints();
        (complaints.count, complaints.last)
    }

    fn device(&self) -> Option<DeviceSnapshot> {
        let state = &self.server.state;
        let counters = state.pool.device_counters()?;
        let (programs, all) = (counters.flash_programs, counters.programs_of_all_kinds());
        Some(DeviceSnapshot {
            erases: counters.erases,
            waf: (programs > 0).then(|| all as f64 / programs as f64),
            flash_programs: programs,
            late: state.late.counted(),
        })
    }

    /// The metrics of the simulated SSD by name, as a result with a device has them, and the late
    /// replies; `None` without one. Copies the simulated SSD.
    pub fn device_metrics(&self) -> Option<Result<DeviceMetrics, ServeError>> {
        let state = &self.server.state;
        let metrics = state.pool.device_metrics()?;
        let wrong = |error: io::Error| ServeError::Io(error.to_string());
        let late = state.late.counted();
        Some(metrics.map(|metrics| DeviceMetrics { metrics, late }).map_err(wrong))
    }

    /// Ends all connections, flushes, ends the record; then a last snapshot. Once: a further call
    /// has the snapshot alone.
    ///
    /// # Errors
    ///
    /// Errors of the flush or the record, beside the snapshot.
    pub fn stop(&mut self) -> (Snapshot, Result<(), ServeError>) {
        if std::mem::replace(&mut self.has_stopped, true) {
            return (self.snapshot(), Ok(()));
        }
        self.server.stop();
        let pool = &self.server.state.pool;
        let flushed = pool.flush().map_err(|error| ServeError::Io(format!("flush: {error}")));
        let recorded = pool.flush_record();
        let snapshot = self.snapshot();
        let recorded = match self.recording.take() {
            None => Ok(()),
            Some(recording) => recorded
                .and(recording.finish())
                .map_err(|error| ServeError::Io(format!("record: {error}"))),
        };
        (snapshot, flushed.and(recorded))
    }

    /// Fate of the file that is served, if its name does not lead to it any more.
    pub fn lost_file(&self) -> Option<String> {
        let (path, own) = self.backing.as_ref()?;
        let (name, now) = (path.display(), identity(path));
        match now {
            now if now == *own => None,
            None => Some(format!(
                "{name}: the file was removed while it was served, and its data with it"
            )),
            Some(_) => Some(format!(
                "{name}: another file has taken this name while it was served; the data are in the \
                 file that had it before"
            )),
        }
    }

    /// The policy as `destage compare` has to be asked for it to replay the record.
    pub fn replayed(&self) -> &str {
        &self.replayed
    }
}

fn shown(address: &Address) -> String {
    match address {
        Address::Unix(path) => path.display().to_string(),
        Address::Tcp(host, port) => format!("{host}:{port}"),
    }
}

/// The record is neither what is served nor the socket.
fn check_names(settings: &Settings) -> Result<(), ServeError> {
    let Some(record) = &settings.record else { return Ok(()) };
    let is_same = |other: &Path| match (identity(record), identity(other)) {
        (None, None) => entry(record) == entry(other),
        (one, other) => one == other,
    };
    let what = match (&settings.source, &settings.server.address) {
        (Source::File { path, .. }, _) if is_same(path) => "the file that is served",
        (_, Address::Unix(path)) if is_same(path) => "the socket",
        _ => return Ok(()),
    };
    Err(ServeError::Usage(format!("{}: the record would replace {what}", record.display())))
}

/// Device and inode of a file that is there.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// The folder and the name of a file that may not be there.
fn entry(path: &Path) -> (Option<PathBuf>, Option<&OsStr>) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    (fs::canonicalize(folder.unwrap_or(Path::new("."))).ok(), path.file_name())
}

fn with_device(store: Box<dyn Store>, device: Option<&SimulatedDevice>) -> Box<dyn Store> {
    match device {
        Some(device) => Box::new(DeviceStore::new(store, device.clone())),
        None => store,
    }
}

fn open(settings: &Settings) -> Result<Box<dyn Store>, ServeError> {
    let page_bytes = settings.options.page_bytes;
    if !destage_pool::PAGE_BYTES.contains(&page_bytes) || !page_bytes.is_power_of_two() {
        return Err(ServeError::Usage(OpenError::PageBytes(page_bytes).to_string()));
    }
    let (path, bytes, direct) = match &settings.source {
        Source::Memory { bytes } => {
            return Ok(Box::new(MemoryStore::new(bytes / u64::from(page_bytes), page_bytes)));
        }
        Source::File { path, bytes, direct } => (path, *bytes, *direct),
    };
    let name = path.display();
    if let Some(bytes) = bytes.filter(|bytes| *bytes < page_bytes.into()) {
        let what = format!("expected at least a page of {page_bytes} bytes, found {bytes}");
        return Err(ServeError::Usage(format!("--size: {what}")));
    }
    let wrong = |error: io::Error| ServeError::Io(format!("{name}: {error}"));
    match (fs::metadata(path), bytes) {
        (Ok(found), _) if found.is_dir() => {
            return Err(ServeError::Io(format!("{name}: it is a folder")));
        }
        (Ok(found), _) if found.file_type().is_fifo() || found.file_type().is_socket() => {
            let what = "it is a pipe or a socket; expected a file or a block device";
            return Err(ServeError::Io(format!("{name}: {what}")));
        }
        (Ok(found), Some(bytes)) if found.is_file() && found.len() != bytes => {
            return Err(ServeError::Usage(format!(
                "{name}: it has {} bytes, and --size says {bytes}",
                found.len()
            )));
        }
        (Err(error), None) if error.kind() == ErrorKind::NotFound => {
            let what = format!("{name}: no such file (--size SIZE makes one)");
            return Err(ServeError::Missing(what));
        }
        (Err(error), Some(bytes)) if error.kind() == ErrorKind::NotFound => {
            let file = OpenOptions::new().write(true).create_new(true).open(path);
            file.and_then(|file| file.set_len(bytes)).map_err(wrong)?;
        }
        (Err(error), _) => return Err(wrong(error)),
        _ => {}
    }
    let options = FileOptions {
        read_only: settings.server.read_only,
        direct,
        ..FileOptions::new(page_bytes)
    };
    Ok(Box::new(FileStore::open(path, options).map_err(wrong)?))
}
