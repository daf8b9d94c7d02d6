//! Drives that are ready to run, made once and kept: random preconditioning takes seconds to
//! minutes, reading its result back a fraction of one.
//!
//! FTLs with a fingerprint (`page`) are kept; the others are preconditioned for every run.
//!
//! A file is named after the fingerprint of its configuration and written under another name first,
//! so that no reader sees it half-written; a damaged file is replaced. A folder that cannot be
//! written costs time, not results.

use crate::config::{DeviceConfig, Precondition};
use crate::device::Device;
use crate::filling::{Interrupted, Progress};
use crate::ftl::{AnyFtl, Ftl};
use crate::geometry::Geometry;
use crate::precondition::precondition;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Ending of the files, after 32 hexadecimal digits.
pub const ENDING: &str = "flash";

/// How the name of a file begins that is being written.
pub const TEMPORARY: &str = ".tmp-";

/// Fewer random writes are done sooner than a file is read.
const WORTH_KEEPING: u64 = 1 << 20;

/// Where a drive's state came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The device was preconditioned by this call.
    Made,
    /// A file of the cache folder held it.
    Loaded,
}

/// A preconditioned flash state. Drives that differ in nothing else are made from clones of it.
pub(crate) fn prepare(
    config: &DeviceConfig,
    geometry: &Geometry,
    folder: Option<&Path>,
    progress: Progress,
) -> Result<(AnyFtl, Origin), Interrupted> {
    let writes = match config.precondition {
        Precondition::Random => config.precondition_writes,
        Precondition::Steady => config.logical_pages.into(),
        Precondition::None | Precondition::Sequential => 0,
    };
    let folder = folder.filter(|_| writes >= WORTH_KEEPING);
    let file = folder.zip(AnyFtl::fingerprint(config));
    let file = file.map(|(folder, hash)| folder.join(format!("{hash:032x}.{ENDING}")));
    if let Some(ftl) = file.as_deref().and_then(|file| load(config, file)) {
        return Ok((ftl, Origin::Loaded));
    }
    let mut ftl = AnyFtl::build(config, geometry);
    precondition(&mut ftl, config, progress)?;
    if let Some(file) = file {
        // Not keeping it costs the same time again, nothing else.
        let _ = store(&ftl, config, &file);
    }
    Ok((ftl, Origin::Made))
}

fn load(config: &DeviceConfig, file: &Path) -> Option<AnyFtl> {
    // A pipe of that name would be waited for.
    if !fs::metadata(file).ok()?.is_file() {
        return None;
    }
    let file = File::open(file).ok()?;
    let ftl = AnyFtl::load(config, &mut BufReader::with_capacity(1 << 18, &file)).ok()?;
    // What was used longest ago goes first; a folder that is only readable keeps its times.
    let _ = file.set_modified(SystemTime::now());
    Some(ftl)
}

fn store(ftl: &AnyFtl, config: &DeviceConfig, file: &Path) -> io::Result<()> {
    static STORED: AtomicU64 = AtomicU64::new(0);
    let folder = file.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)?;
    let number = STORED.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!("{TEMPORARY}{}-{number}.{ENDING}", std::process::id()));
    let written = write(ftl, config, &temporary).and_then(|()| fs::rename(&temporary, file));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write(ftl: &AnyFtl, config: &DeviceConfig, temporary: &Path) -> io::Result<()> {
    let file = File::create_new(temporary)?;
    // Locked while it is written: a cleaner of the folder takes an unlocked file for abandoned
    // (`temporary.rs` of destage-trace). Without locks it decides by the file's age.
    #[cfg(unix)]
    let _ = rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    let mut out = BufWriter::with_capacity(1 << 18, file);
    ftl.save(config, &mut out)?;
    out.flush()
}

impl Device {
    /// A drive with its FTL, preconditioned, at time 0: from a file in the cache folder
    /// if there is one, else made and kept there. `progress` hears how many pages have been
    /// written, of how many, some hundred times a second, and says whether to go on.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] if `progress` said no.
    pub fn prepare(
        config: &DeviceConfig,
        folder: Option<&Path>,
        progress: Progress,
    ) -> Result<(Self, Origin), Interrupted> {
        let geometry = Geometry::new(config);
        let first = config.for_first_run();
        let (ftl, origin) = prepare(&first, &geometry, folder, progress)?;
        let device = Device::ready(&first, geometry, ftl);
        Ok((device.of(config), origin))
    }
}
