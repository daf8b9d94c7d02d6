//! A pipe with a name: its writer may be long in coming, and an interrupt must not have
//! to wait for that.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::files::disk::Metadata;

/// The pipe, if it is one, and there is an interrupt to look for.
///
/// Only where a pipe without a writer is not at its end, as on Linux. Elsewhere
/// opening it waits.
#[cfg(not(target_os = "linux"))]
pub(super) fn open(
    _: &Path,
    _: &Metadata,
    _: Option<&Arc<AtomicBool>>,
) -> io::Result<Option<Box<dyn Read + Send>>> {
    Ok(None)
}

/// The pipe, if it is one, and there is an interrupt to look for.
#[cfg(target_os = "linux")]
pub(super) fn open(
    path: &Path,
    facts: &Metadata,
    interrupt: Option<&Arc<AtomicBool>>,
) -> io::Result<Option<Box<dyn Read + Send>>> {
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
    let Some(interrupt) = interrupt.filter(|_| facts.file_type().is_fifo()) else {
        return Ok(None);
    };
    let mut options = std::fs::File::options();
    options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    Ok(Some(Box::new(linux::Pipe { file: options.open(path)?, interrupt: Arc::clone(interrupt) })))
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::fs::File;
    use std::io::{self, Read};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Longest time between two looks for an interrupt.
    const PERIOD: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

    /// A pipe that never keeps its reader from an interrupt.
    pub(super) struct Pipe {
        pub(super) file: File,
        pub(super) interrupt: Arc<AtomicBool>,
    }

    impl Read for Pipe {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            loop {
                if self.interrupt.load(Ordering::Relaxed) {
                    // Not `Interrupted`, which readers take for "try again".
                    return Err(io::Error::other("interrupted"));
                }
                // Also at the end: the last writer has gone.
                let mut ready = [PollFd::new(&self.file, PollFlags::IN)];
                match poll(&mut ready, Some(&PERIOD)) {
                    Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                    Ok(_) => {}
                    Err(error) => return Err(error.into()),
                }
                match self.file.read(out) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    done => return done,
                }
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;
    use std::thread;

    fn fifo(folder: &tempfile::TempDir) -> (std::path::PathBuf, Metadata) {
        let path = folder.path().join("fifo");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).expect("a pipe with a name");
        let facts = std::fs::metadata(&path).expect("it is there");
        (path, facts)
    }

    #[test]
    fn a_pipe_is_read_to_its_end_however_late_its_writer_comes() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, facts) = fifo(&folder);
        let flag = Arc::new(AtomicBool::new(false));
        let mut pipe = open(&path, &facts, Some(&flag)).expect("it opens").expect("it is a pipe");
        let writer = thread::spawn(move || {
            use std::io::Write;
            let mut file =
                std::fs::File::options().write(true).open(path).expect("it has a reader");
            (0..3).for_each(|_| file.write_all(&[7; 70_000]).expect("it is read"));
        });
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("it ends");
        writer.join().expect("it has written");
        assert_eq!(bytes.len(), 210_000);
    }

    #[test]
    fn an_interrupt_ends_the_wait_for_a_pipe_without_a_writer() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, facts) = fifo(&folder);
        let flag = Arc::new(AtomicBool::new(false));
        let mut pipe = open(&path, &facts, Some(&flag)).expect("it opens").expect("it is a pipe");
        let reader = thread::spawn(move || pipe.read(&mut [0]).map_err(|e| e.to_string()));
        flag.store(true, Ordering::Relaxed);
        assert_eq!(reader.join().expect("it has ended"), Err("interrupted".into()));
        // A file is none, and without a flag there is nothing to look for.
        let file = tempfile::NamedTempFile::new().expect("a file");
        let regular = std::fs::metadata(file.path()).expect("it is there");
        assert!(open(file.path(), &regular, Some(&flag)).expect("no error").is_none());
        assert!(open(file.path(), &facts, None).expect("no error").is_none());
    }
}
