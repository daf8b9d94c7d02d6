//! Where a file of columns goes: into the cache, or into a temporary file.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::columns::{Columns, Target, Unusable};
use crate::error::{Result, TraceError};
use crate::files::disk::{self, File};
use crate::files::temporary;
use crate::hooks::Hooks;
use destage_keys::printable;

/// Writes a column file and maps it: at `path` in the cache, or in a temporary file if there is no
/// path or the cache cannot take it. `make` may be called twice.
///
/// # Errors
///
/// Errors of `make`, and `Write` if there is no place left to write.
pub(crate) fn store(
    path: Option<(&Path, &Cache)>,
    hooks: &mut dyn Hooks,
    mut make: impl FnMut(&Target, &mut dyn Hooks) -> Result<File>,
) -> Result<Columns> {
    if let Some((path, cache)) = path {
        match store_at(path, cache, hooks, &mut make) {
            Err(TraceError::Write { source, .. }) if !is_full(&source) => hooks.note(format!(
                "{}: {source}: going on without the cache",
                printable(path.parent().unwrap_or(path).as_os_str().as_encoded_bytes())
            )),
            done => return done,
        }
    }
    let folder = disk::temp_dir();
    let failed = |source| TraceError::Write { path: folder.clone(), source };
    let file = disk::tempfile().map_err(failed)?;
    let target = Target { file, path: folder.clone(), folder: folder.clone(), kept: None };
    map_new(&make(&target, hooks)?, &folder)
}

/// The disk has no room: another folder is not asked, because what does not fit here fits there by
/// chance only, and would fill that disk.
fn is_full(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::StorageFull
}

fn store_at(
    path: &Path,
    cache: &Cache,
    hooks: &mut dyn Hooks,
    make: &mut impl FnMut(&Target, &mut dyn Hooks) -> Result<File>,
) -> Result<Columns> {
    let failed = |source| TraceError::Write { path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).map_err(failed)?;
    let named = temporary::create(folder).map_err(failed)?;
    let target = Target {
        file: named.reopen().and_then(disk::from_system).map_err(failed)?,
        path: path.to_owned(),
        folder: folder.to_owned(),
        kept: Some((named.path().to_owned(), cache.limit_bytes())),
    };
    let columns = map_new(&make(&target, hooks)?, path)?;
    if columns.file_bytes() <= cache.limit_bytes() {
        match named.persist(path) {
            Ok(_) => {}
            // The folder was emptied in the meantime; the mapping outlives the name.
            Err(error) if error.error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error.error)),
        }
    }
    Ok(columns)
}

fn map_new(file: &File, path: &Path) -> Result<Columns> {
    Columns::map_unchecked(file, path).map_err(|unusable| {
        let source = match unusable {
            Unusable::Io(source) => source,
            Unusable::Damaged(what) => std::io::Error::other(format!("just written: {what}")),
        };
        TraceError::Write { path: path.to_owned(), source }
    })
}

/// Place of a trace's next uses in the cache.
pub(crate) struct NextUsePlace {
    /// The file.
    pub(crate) path: PathBuf,
    pub(crate) folder: Cache,
}

impl NextUsePlace {
    /// Keeps the folder within its limit after the file was made.
    pub(crate) fn settle(&self) {
        // As above.
        let _ = self.folder.trim(&self.path);
    }
}
