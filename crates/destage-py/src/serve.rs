//! A server of a block device (`destage serve`): started, asked for counts, stopped.

use crate::drive::Drive;
use crate::errors::{ErrorClass, error, raise, usage};
use crate::interruptible::{Watch, follow};
use crate::policy_thread::{Fault, OwnFactory, PolicyThread};
use destage_core::{AnyPolicy, Policy};
use destage_engine::sizes::CacheSize;
use destage_nbd::{
    Address, Options, ServeError, ServerOptions, Serving, Settings, SimulatedDevice, Source, Time,
};
use pyo3::prelude::*;
use serde::Deserialize;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Arguments of a call, as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServeArguments {
    file: Option<PathBuf>,
    bytes: Option<u64>,
    direct: bool,
    policy: String,
    cache: String,
    page_bytes: u32,
    pages_per_block: u32,
    checksums: bool,
    listen: String,
    export: String,
    read_only: bool,
    max_connections: usize,
    record: Option<PathBuf>,
    emulate: bool,
    speed: f64,
}

impl ServeArguments {
    fn settings(self, device: Option<SimulatedDevice>) -> Result<Settings, String> {
        if !(self.speed.is_finite() && self.speed > 0.0) {
            return Err(format!("--speed: expected a number above 0, found {}", self.speed));
        }
        let bytes = self.bytes.or_else(|| {
            // Where it cannot be opened, starting the server says so. A pipe would be waited for.
            let path = self.file.as_ref()?;
            std::fs::metadata(path).ok().filter(|found| !found.file_type().is_fifo())?;
            let mut file = File::open(path).ok()?;
            file.seek(SeekFrom::End(0)).ok()
        });
        let page_bytes = u64::from(self.page_bytes.max(1));
        let size = CacheSize::parse(&self.cache)?;
        if size == CacheSize::Auto {
            return Err("cache size \"auto\": a server has one cache".to_string());
        }
        let frames = size.resolve(page_bytes, bytes.unwrap_or(0) / page_bytes)?[0].frames;
        let mut options = Options::new(frames);
        options.page_bytes = self.page_bytes;
        options.early_sync = true;
        options.limbo_pages *= 2; // so a sync, from half of it on, has as many pages as without
        options.pages_per_block = self.pages_per_block;
        options.checksums = self.checksums;
        options.time = Time::Wall { speed: self.speed };
        if !self.export.is_empty() {
            options.name.clone_from(&self.export);
        }
        let source = match self.file {
            None => Source::Memory { bytes: self.bytes.unwrap_or(0) },
            Some(path) => Source::File { path, bytes: self.bytes, direct: self.direct },
        };
        let server = ServerOptions {
            address: Address::parse(&self.listen)?,
            description: format!("destage, {}", self.policy),
            export: self.export,
            page_bytes: self.page_bytes,
            read_only: self.read_only,
            max_connections: self.max_connections,
            idle: destage_nbd::IDLE,
        };
        Ok(Settings {
            source,
            policy: self.policy,
            options,
            server,
            record: self.record,
            device,
            emulate: self.emulate,
        })
    }
}

fn raised(py: Python<'_>, failed: &ServeError) -> PyErr {
    let kind = match failed {
        ServeError::Usage(_) => ErrorClass::Usage,
        ServeError::Missing(_) => ErrorClass::Missing,
        ServeError::Io(_) => ErrorClass::Output,
    };
    error(py, kind, failed.to_string())
}

/// A server that runs, until it is stopped or its last reference goes.
#[pyclass(frozen, module = "destage._destage")]
pub struct Server {
    /// Until the last reference goes.
    serving: Option<Mutex<Serving>>,
    /// Process that started it; its threads are in no other.
    process: u32,
    /// Of a policy of one's own.
    fault: Option<Arc<Fault>>,
    /// The server as NBD clients name it.
    #[pyo3(get)]
    uri: String,
    /// Bytes of the export.
    #[pyo3(get)]
    export_bytes: u64,
    /// Frames of the cache.
    #[pyo3(get)]
    frames: u32,
    /// Any client that reaches the machine may connect.
    #[pyo3(get)]
    is_open: bool,
    /// Who may connect besides the user, as a sentence.
    #[pyo3(get)]
    warning: Option<&'static str>,
    /// The policy of a replay of the record, with what the store has told it.
    #[pyo3(get)]
    replayed: String,
}

/// A policy written in Python, for the threads of a server.
fn own_policy(
    py: Python<'_>,
    own: &Bound<'_, PyAny>,
    options: &Options,
) -> PyResult<(AnyPolicy, Arc<Fault>)> {
    let factory = OwnFactory::of(py, own)?.expect("a policy of one's own");
    let (frames, block) = (options.frames, options.pages_per_block);
    let (policy, fault) = PolicyThread::start(py, &factory, frames, block, false)?;
    if !policy.forgets() {
        let name = factory.name;
        let what = "a client may trim pages, which needs a method forget(page)";
        return Err(usage(py, format!("policy {name}: {what}")));
    }
    Ok((AnyPolicy::new(policy), fault))
}

impl Drop for Server {
    /// Requests under way may wait for the interpreter, where the policy lives. A forked child has
    /// neither the threads nor the right to end the connections: it leaves everything as it is.
    fn drop(&mut self) {
        if std::process::id() != self.process {
            std::mem::forget(self.serving.take());
            return;
        }
        Python::try_attach(|py| py.detach(|| _ = self.serving().stop()));
    }
}

impl Server {
    fn serving(&self) -> MutexGuard<'_, Serving> {
        let serving = self.serving.as_ref().expect("it is taken where it is dropped");
        serving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Server {
    /// Starts a server out of settings in JSON, perhaps with a simulated SSD, or with a policy of
    /// one's own; clients can connect when this returns.
    #[new]
    #[pyo3(signature = (settings, drive = None, own = None))]
    fn new(
        py: Python<'_>,
        settings: &str,
        drive: Option<&Drive>,
        own: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let wanted: ServeArguments =
            serde_json::from_str(settings).map_err(|e| usage(py, format!("serve: {e}")))?;
        let mounted = drive.map(|drive| {
            follow(py, None, &Watch::default(), |watch| drive.mounted(watch))
                .and_then(|mounted| raise(py, mounted))
        });
        let device = mounted.transpose()?.map(SimulatedDevice);
        let settings = wanted.settings(device).map_err(|what| usage(py, what))?;
        let own = own.map(|own| own_policy(py, own, &settings.options)).transpose()?;
        let (own, fault) = own.unzip();
        let serving = py
            .detach(|| Serving::start_with(&settings, own))
            .map_err(|failed| raised(py, &failed))?;
        Ok(Server {
            uri: serving.uri().to_string(),
            export_bytes: serving.export_bytes(),
            frames: settings.options.frames,
            is_open: settings.server.address.is_open(),
            warning: settings.server.address.warning(),
            replayed: serving.replayed().to_string(),
            serving: Some(Mutex::new(serving)),
            process: std::process::id(),
            fault,
        })
    }

    /// Raises the exception of a policy of one's own, once.
    fn check_policy(&self) -> PyResult<()> {
        self.fault.as_ref().and_then(|fault| fault.take()).map_or(Ok(()), Err)
    }

    /// Counts so far, and since the last call, as JSON.
    fn snapshot(&self, py: Python<'_>) -> String {
        let snapshot = py.detach(|| self.serving().snapshot());
        serde_json::json!(snapshot).to_string()
    }

    /// Metrics of the simulated SSD so far, as JSON; `None` without one.
    fn device_metrics(&self, py: Python<'_>) -> PyResult<Option<String>> {
        match py.detach(|| self.serving().device_metrics()) {
            None => Ok(None),
            Some(Ok(metrics)) => Ok(Some(serde_json::json!(metrics).to_string())),
            Some(Err(failed)) => Err(raised(py, &failed)),
        }
    }

    /// Faults since the last call: how many times, and the last one as a sentence.
    fn complaints(&self, py: Python<'_>) -> (u64, Option<String>) {
        py.detach(|| self.serving().complaints())
    }

    /// Fate of the file that is served, if its name does not lead to it any more.
    fn lost_file(&self) -> Option<String> {
        self.serving().lost_file()
    }

    /// Ends all connections and flushes; the last counts as JSON, and what went wrong.
    fn stop(&self, py: Python<'_>) -> (String, Option<String>) {
        let (snapshot, ended) = py.detach(|| self.serving().stop());
        (serde_json::json!(snapshot).to_string(), ended.err().map(|failed| failed.to_string()))
    }
}
