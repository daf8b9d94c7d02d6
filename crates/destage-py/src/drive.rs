//! Drives: presets, TOML files, and what a run needs of them.

use crate::errors::{ErrorClass, IntoPyErr, error, raise, usage};
use crate::interruptible::{Watch, follow};
use crate::trace::cache_options;
use destage_engine::run::Mounted;
use destage_replay::error::RunError;
use destage_ssd::PRESETS;
use destage_ssd::config::{Key, takes};
use destage_ssd::drive::{DEVICE_OPTIONS, DriveError, Fault, spelling_of};
use destage_ssd::tables::KEYS;
use destage_trace::ReaderOptions;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

impl IntoPyErr for DriveError {
    fn into_py_err(self, py: Python<'_>) -> PyErr {
        let kind = match self.fault() {
            Fault::Usage if self.excludes() => ErrorClass::Excluded,
            Fault::Usage => ErrorClass::Usage,
            Fault::Data => ErrorClass::Data,
            Fault::Missing => ErrorClass::Missing,
        };
        error(py, kind, self.to_string())
    }
}

/// A drive; prepared when the first run needs it, and then kept.
#[pyclass(frozen, module = "destage._destage")]
pub struct Drive {
    /// The configuration.
    pub drive: destage_ssd::Drive,
    keep: bool,
    mounted: Mutex<Option<Arc<Mounted>>>,
}

impl Drive {
    fn new(drive: destage_ssd::Drive, keep: bool) -> Self {
        Drive { drive, keep, mounted: Mutex::new(None) }
    }

    /// The drive at time 0, prepared if that has not been done.
    pub fn mounted(&self, watch: &Watch) -> Result<Arc<Mounted>, RunError> {
        let mut mounted = self.mounted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mounted) = &*mounted {
            return Ok(mounted.clone());
        }
        let drive = &self.drive;
        let folder = cache_options(self.keep).resolve();
        let device = watch.prepare(&drive.device, folder.as_deref())?;
        let made = Arc::new(Mounted::new(drive, device));
        *mounted = Some(made.clone());
        Ok(made)
    }
}

#[pymethods]
impl Drive {
    /// Fills it now, as the first run would: for runs in processes, which then all have it.
    #[pyo3(signature = (progress = None))]
    fn fill(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let watch = Watch::default();
        let mounted = follow(py, progress.as_ref(), &watch, |watch| self.mounted(watch).map(drop))?;
        raise(py, mounted)
    }

    /// Name of the device in tables.
    #[getter]
    fn name(&self) -> &str {
        &self.drive.name
    }

    /// Everything, after defaults, as JSON.
    fn record(&self) -> String {
        self.drive.to_json().to_string()
    }

    /// Capacity, units and over-provisioning, as JSON.
    fn size(&self) -> String {
        json!(self.drive.size()).to_string()
    }

    /// Page size, bytes.
    #[getter]
    fn page_bytes(&self) -> u32 {
        self.drive.device.page_bytes
    }

    /// Logical pages.
    #[getter]
    fn logical_pages(&self) -> u32 {
        self.drive.device.logical_pages
    }

    /// Erase block, bytes.
    #[getter]
    fn block_bytes(&self) -> u64 {
        u64::from(self.drive.device.page_bytes) * u64::from(self.drive.device.pages_per_block)
    }

    /// The file or the changes say what happens to pages beyond the drive: `wrap` or `error`.
    #[getter]
    fn address_mode(&self) -> Option<&'static str> {
        self.drive.states_address_mode.then(|| self.drive.device.address_mode.name())
    }

    /// The device with options of `device_options`, a JSON object.
    fn with_options(&self, py: Python<'_>, options: &str) -> PyResult<Drive> {
        let options = serde_json::from_str(options);
        let options = options.map_err(|e| usage(py, format!("options of a device: {e}")))?;
        Ok(Drive::new(raise(py, self.drive.with_options(&options))?, self.keep))
    }

    /// Placement policy in the syntax of the command line, `none` included.
    #[getter]
    fn placement(&self) -> String {
        self.drive.device.placement_label()
    }

    /// The device with enough more blocks per plane for `pages` logical pages.
    fn extended(&self, py: Python<'_>, pages: u64) -> PyResult<Drive> {
        Ok(Drive::new(raise(py, self.drive.extended(pages))?, self.keep))
    }
}

/// Options for the trace's reader that a drive's file gives are ones that there are: the drive does
/// not know them, and without this a misspelt one would be told of when a trace is opened, without
/// the file.
fn reader_knows(py: Python<'_>, drive: &destage_ssd::Drive, spec: &str) -> PyResult<()> {
    let file = spec.split_once('[').map_or(spec, |(file, _)| file);
    let kind = if PRESETS.iter().any(|preset| preset.name == file) || file != spec {
        ErrorClass::Usage
    } else {
        ErrorClass::Data
    };
    ReaderOptions::from_map(&drive.trace)
        .map(|_| ())
        .map_err(|e| error(py, kind, format!("{spec}: {e}")))
}

/// A preset or a TOML file, with or without changes: `ecr[gc_mode=background]`. Its prepared state
/// is kept in the cache folder, or not.
#[pyfunction]
pub fn open_drive(py: Python<'_>, spec: &str, keep: bool) -> PyResult<Drive> {
    // The file may be a pipe without a writer.
    let watch = Watch::default();
    let drive = follow(py, None, &watch, |_| destage_ssd::Drive::from_spec(spec))?;
    let drive = raise(py, drive)?;
    reader_knows(py, &drive, spec)?;
    Ok(Drive::new(drive, keep))
}

/// The drive of a TOML file that has keys for others too: (table, key).
#[pyfunction]
pub fn open_shared_drive(
    py: Python<'_>,
    path: &str,
    others: Vec<(String, String)>,
    keep: bool,
) -> PyResult<Drive> {
    let others: Vec<_> = others.iter().map(|(t, key)| (t.as_str(), key.as_str())).collect();
    let watch = Watch::default();
    let drive = follow(py, None, &watch, |_| destage_ssd::Drive::from_shared(path, &others))?;
    let drive = raise(py, drive)?;
    reader_knows(py, &drive, path)?;
    Ok(Drive::new(drive, keep))
}

/// A drive out of the record that a result has of it.
#[pyfunction]
pub fn drive_from_record(py: Python<'_>, record: &str, keep: bool) -> PyResult<Drive> {
    let wrong = |what: String| error(py, ErrorClass::Data, format!("record of a device: {what}"));
    let record: Value = serde_json::from_str(record).map_err(|e| wrong(e.to_string()))?;
    Ok(Drive::new(raise(py, destage_ssd::Drive::from_json(&record))?, keep))
}

/// Every preset, as a JSON array.
#[pyfunction]
pub fn drives(py: Python<'_>) -> PyResult<String> {
    let describe = |preset: &destage_ssd::Preset| {
        let drive = raise(py, destage_ssd::Drive::preset(preset.name))?;
        Ok(json!({
            "name": preset.name,
            "about": preset.about,
            "source": preset.source,
            "toml": preset.toml,
            "size": drive.size(),
            "record": drive.to_json(),
        }))
    };
    let all = PRESETS.iter().map(describe).collect::<PyResult<Value>>()?;
    Ok(all.to_string())
}

/// A key, as the catalogues have it.
pub fn describe_key(table: &str, key: &Key) -> Value {
    json!({
        "table": table,
        "name": key.name,
        "values": takes(key.kind),
        "default": key.default.to_string(),
        "unit": key.unit,
        "about": key.about,
        "spelled": spelling_of(key.name).filter(|_| table == "device"),
    })
}

/// Every key of a drive file, as a JSON array.
#[pyfunction]
pub fn drive_keys() -> String {
    let of_table = |&(table, keys): &(&'static str, &'static [Key])| {
        keys.iter().map(move |key| describe_key(table, key))
    };
    KEYS.iter().flat_map(of_table).collect::<Value>().to_string()
}

/// Every option of a device, as a JSON array.
#[pyfunction]
pub fn device_options() -> String {
    json!(DEVICE_OPTIONS).to_string()
}
