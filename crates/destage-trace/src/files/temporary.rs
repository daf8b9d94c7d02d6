//! Files that are being written, of the cache and outputs: under another name, and locked as long
//! as their writer lives.
//!
//! The lock says whether a temporary file was left behind, by a process that was killed. The system
//! drops it with the process, so that no number of a process, which another may have by now, and no
//! clock is asked.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

/// Prefix of temporary files in the cache.
pub(crate) const TEMPORARY: &str = ".tmp-";

/// Prefix and suffix of temporary outputs, in whatever folder they are.
const OUTPUT: (&str, &str) = (".destage-", ".part");

/// Suffix of a recording that lasts.
const RECORDING: &str = ".part";

/// Attempts to create one while others clean up.
const ATTEMPTS: usize = 16;

/// A new one of the cache, in `folder`.
pub(crate) fn create(folder: &Path) -> io::Result<NamedTempFile> {
    made_by(tempfile::Builder::new().prefix(TEMPORARY), folder)
}

/// A new one of an output, in `folder`; what killed processes have begun there goes.
pub(crate) fn create_output(folder: &Path) -> io::Result<(File, TempPath)> {
    let (prefix, suffix) = OUTPUT;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(prefix.as_bytes()) && name.ends_with(suffix.as_bytes()) {
            remove_abandoned(&entry.path());
        }
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(suffix);
    // As a program that writes the destination itself would leave it: up to the umask.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    made_by(&builder, folder).map(NamedTempFile::into_parts)
}

/// One of a recording, `path.part`; also what killed recorders of this path have left, which stays.
pub(crate) fn create_recording(path: &Path) -> io::Result<(File, TempPath, Vec<PathBuf>)> {
    let mut left = Vec::new();
    for number in 0.. {
        let mut name = path.as_os_str().to_owned();
        name.push(RECORDING);
        if number > 0 {
            name.push(format!("-{number}"));
        }
        let name = PathBuf::from(name);
        match File::options().read(true).write(true).create_new(true).open(&name) {
            Ok(file) => {
                _ = lock(&file); // there may be no locks
                return Ok((file, TempPath::try_from_path(name)?, left));
            }
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) if is_being_written(&name) => {}
            Err(_) => left.push(name),
        }
    }
    unreachable!("there is a number that is free")
}

fn made_by(builder: &tempfile::Builder<'_, '_>, folder: &Path) -> io::Result<NamedTempFile> {
    for _ in 0..ATTEMPTS {
        let named = builder.tempfile_in(folder)?;
        match lock(named.as_file()) {
            // Between its creation and its lock it looks abandoned: another process may have
            // removed it.
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

/// Whether a live process writes it; `false` where the file system has no locks.
pub(crate) fn is_being_written(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(lock(&file), Ok(false)))
}

/// Locks a file, unless another process has; an error where the file system has no locks.
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
        assert!(is_being_written(written.path()));
        // As a process that is killed: the file stays, the handle does not.
        let (handle, path) = written.keep().unwrap();
        assert!(!remove_abandoned(&path));
        drop(handle);
        assert!(!is_being_written(&path));
        assert!(remove_abandoned(&path) && !path.exists());
        assert!(!remove_abandoned(&path), "there is nothing left");
    }

    #[test]
    #[cfg(unix)]
    fn the_next_output_of_a_folder_sweeps_up_what_killed_writers_left_there() {
        let folder = tempfile::tempdir().unwrap();
        let (handle, left) = create_output(folder.path()).unwrap();
        let left = left.keep().unwrap();
        let other = folder.path().join(".destage-not-ours");
        std::fs::write(&other, "x").unwrap();
        let beside = create_output(folder.path()).unwrap();
        assert!(left.exists(), "somebody writes it");
        drop(handle);
        let next = create_output(folder.path()).unwrap();
        assert!(!left.exists() && other.exists());
        assert!(beside.1.exists() && next.1.exists());
    }

    #[test]
    #[cfg(unix)]
    fn a_recording_that_was_killed_stays_and_is_named_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db.csv.zst");
        let (handle, first, left) = create_recording(&path).unwrap();
        assert_eq!((first.file_name().unwrap(), left.len()), ("db.csv.zst.part".as_ref(), 0));
        let (_beside, second, left) = create_recording(&path).unwrap();
        assert_eq!((second.file_name().unwrap(), left.len()), ("db.csv.zst.part-1".as_ref(), 0));
        let killed = first.keep().unwrap();
        drop(handle);
        let (_next, third, left) = create_recording(&path).unwrap();
        assert_eq!(third.file_name().unwrap(), "db.csv.zst.part-2");
        assert_eq!(left, std::slice::from_ref(&killed));
        drop(create_output(folder.path()).unwrap());
        assert!(killed.exists());
    }
}
