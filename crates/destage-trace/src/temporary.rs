//! Files of the cache that are being written: under another name, and locked as long as their
//! writer lives.
//!
//! The lock says whether a temporary file was left behind, by a process that was killed. The system
//! drops it with the process, so that no number of a process, which another may have by now, and no
//! clock is asked.

use std::fs::File;
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// How their names begin.
pub(crate) const TEMPORARY: &str = ".tmp-";

/// Attempts to create one while others clean up.
const ATTEMPTS: usize = 16;

/// A new one in `folder`.
pub(crate) fn create(folder: &Path) -> io::Result<NamedTempFile> {
    for _ in 0..ATTEMPTS {
        let named = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder)?;
        match lock(named.as_file()) {
            // Between its creation and its lock it looks abandoned: somebody may have removed it.
            Ok(locked) if !locked || !named.path().exists() => {}
            // Without locks its age has to tell.
            Ok(_) | Err(_) => return Ok(named),
        }
    }
    Err(io::Error::other("temporary files vanish as they are made"))
}

/// Removes one whose writer is gone; says whether it did.
pub(crate) fn remove_abandoned(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    matches!(lock(&file), Ok(true)) && std::fs::remove_file(path).is_ok()
}

/// Locks a file, if nobody else has; an error where the file system has no locks.
#[cfg(unix)]
fn lock(file: &File) -> io::Result<bool> {
    use rustix::fs::{FlockOperation, flock};
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(not(unix))]
fn lock(_: &File) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_file_is_abandoned_when_its_writer_is_gone_whatever_its_name_and_age() {
        let folder = tempfile::tempdir().unwrap();
        let written = create(folder.path()).unwrap();
        assert!(!remove_abandoned(written.path()), "somebody writes it");
        // As a process that is killed: the file stays, the handle does not.
        let (handle, path) = written.keep().unwrap();
        assert!(!remove_abandoned(&path));
        drop(handle);
        assert!(remove_abandoned(&path) && !path.exists());
        assert!(!remove_abandoned(&path), "there is nothing left");
    }
}
