//! Where a file of columns goes: into the cache, or into a temporary file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::cache::{Cache, TEMPORARY};
use crate::columns::{Columns, Unusable};
use crate::error::{Result, TraceError};
use crate::hooks::Hooks;

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

/// Where a trace's next uses are kept.
pub(crate) struct Shelf {
    /// The file.
    pub(crate) path: PathBuf,
    pub(crate) folder: Cache,
}

impl Shelf {
    /// Keeps the folder within its limit after the file was made.
    pub(crate) fn settle(&self) {
        // As above.
        let _ = self.folder.trim(&self.path);
    }
}
