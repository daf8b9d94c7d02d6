//! The record of all caches of a process, and the counters of each.
//!
//! A trace in Destage's own CSV (`docs/spec/pool.md` 9.3), one volume a cache. A forked process
//! makes a file of its own.

use crate::decider::Decider;
use crate::settings::{RECORD, STATS, report};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Instant;

/// Bytes of whole lines that are kept before they are written.
const BUFFER_BYTES: usize = 64 << 10;

static RECORDED: OnceLock<Mutex<Lines>> = OnceLock::new();
static STATS_FILE: OnceLock<PathBuf> = OnceLock::new();

/// Lines on their way to a file.
struct Lines {
    path: PathBuf,
    file: Option<File>, // none once it has failed
    since: Instant,
    buffer: Vec<u8>,
    process: u32,
}

impl Lines {
    /// Makes the file, or FILE.PID if there is one. A file that cannot be made is reported.
    fn make(path: PathBuf) -> Lines {
        let process = std::process::id();
        let made = match File::create_new(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let mut name = path.clone().into_os_string();
                name.push(format!(".{process}"));
                File::create_new(&name).map_err(|error| (PathBuf::from(name), error))
            }
            made => made.map_err(|error| (path.clone(), error)),
        };
        if let Err((path, error)) = &made {
            failed(RECORD, path, error, "no record is made");
        }
        let buffer = b"time_ns,device,op,offset_bytes,length_bytes,response_ns\n".to_vec();
        Lines { path, file: made.ok(), since: Instant::now(), buffer, process }
    }

    fn line(&mut self, cache: &str, op: &str, offset: u64, length: u32) {
        if self.process != std::process::id() {
            *self = Lines::make(self.path.clone());
        }
        if self.file.is_some() {
            let time_ns = self.since.elapsed().as_nanos();
            _ = writeln!(self.buffer, "{time_ns},{cache},{op},{offset},{length},");
            if self.buffer.len() >= BUFFER_BYTES {
                self.write();
            }
        }
    }

    fn write(&mut self) {
        if self.process != std::process::id() {
            return; // the parent's lines
        }
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(&self.buffer) {
            failed(RECORD, &self.path, &error, "the record ends");
            self.file = None;
        }
        self.buffer.clear();
    }
}

fn failed(variable: &str, path: &Path, error: &io::Error, so: &str) {
    report(variable, &format!("{}: {error}; {so}", path.display()));
}

fn lock(lines: &Mutex<Lines>) -> MutexGuard<'_, Lines> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

unsafe extern "C" {
    fn atexit(call: extern "C" fn()) -> std::ffi::c_int;
}

/// The lines that are in memory when the process ends; those of a thread that is amid a line stay.
extern "C" fn at_exit() {
    match RECORDED.get().map(Mutex::try_lock) {
        Some(Ok(mut lines)) => lines.write(),
        Some(Err(TryLockError::Poisoned(lines))) => lines.into_inner().write(),
        Some(Err(TryLockError::WouldBlock)) | None => {}
    }
}

/// The first cache is made: the record begins.
pub(crate) fn begin(record: Option<&Path>, stats: Option<&Path>) {
    if let Some(path) = record {
        RECORDED.get_or_init(|| {
            // SAFETY: the function takes nothing, and the library is never unloaded: it was there
            // before the program.
            unsafe { atexit(at_exit) };
            Mutex::new(Lines::make(path.to_path_buf()))
        });
    }
    if let Some(path) = stats {
        STATS_FILE.get_or_init(|| path.to_path_buf());
    }
}

/// A page of a cache is read or forgotten.
pub(crate) fn access(cache: &str, op: &str, key: u32, page_bytes: u32) {
    if let Some(lines) = RECORDED.get() {
        lock(lines).line(cache, op, u64::from(key) * u64::from(page_bytes), page_bytes);
    }
}

/// A cache is destroyed: its counters are appended, the record is written.
pub(crate) fn ended(cache: &str, decider: Option<&Decider>) {
    if let Some(lines) = RECORDED.get() {
        lock(lines).write();
    }
    let Some(path) = STATS_FILE.get() else { return };
    let line = stats_line(cache, decider);
    let file = OpenOptions::new().append(true).create(true).open(path);
    static REPORTED: AtomicBool = AtomicBool::new(false);
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes()))
        && !REPORTED.swap(true, Ordering::Relaxed)
    {
        failed(STATS, path, &error, "no counters are written");
    }
}

/// The counters of a cache as a line of JSON; a cache without policy has none.
fn stats_line(cache: &str, decider: Option<&Decider>) -> String {
    let (mut policy, mut frames) = ("null".to_string(), "null".to_string());
    let (mut counters, mut trims) = (policy.clone(), policy.clone());
    if let Some(decider) = decider {
        policy = format!("\"{}\"", decider.words.replace('\\', "\\\\").replace('"', "\\\""));
        frames = decider.frames.to_string();
        counters = object(&decider.counters.accesses());
        trims = object(&decider.counters.trims());
    }
    format!(
        "{{\"cache\":\"{cache}\",\"policy\":{policy},\"frames\":{frames},\"counters\":{counters},\
         \"trims\":{trims}}}\n"
    )
}

fn object(named: &[(&str, u64)]) -> String {
    let pairs: Vec<String> = named.iter().map(|(name, n)| format!("\"{name}\":{n}")).collect();
    format!("{{{}}}", pairs.join(","))
}
