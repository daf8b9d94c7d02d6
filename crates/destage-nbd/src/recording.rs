//! The file of a record, packed where its name says so. It ends with a whole line, also when the
//! disk fills: a packed one is made of members that each end with a line.

use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::fs::{FlockOperation, OFlags};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of lines in a member of a packed file, unless a second is over before.
const MEMBER_BYTES: u64 = 1 << 20;

/// A file that is written by the pool, and ended by its creator.
pub(crate) struct Recording(Arc<Mutex<Out>>);

/// Output of the pool's record.
pub(crate) struct Lines(Arc<Mutex<Out>>);

struct Out {
    file: File,
    /// It has a length, and can be cut.
    is_regular: bool,
    /// Bytes up to the end of the last whole line or member.
    whole: u64,
    /// The member that has begun.
    member: Option<GzEncoder<Vec<u8>>>,
    /// Bytes of lines in it.
    lines: u64,
    is_packed: bool,
}

fn locked(out: &Mutex<Out>) -> MutexGuard<'_, Out> {
    out.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recording {
    /// Makes the file, or empties one that no other server writes.
    ///
    /// # Errors
    ///
    /// Errors of making it.
    pub(crate) fn create(path: &Path) -> io::Result<(Recording, Lines)> {
        let mut options = OpenOptions::new();
        // A pipe without a reader is an error, and no wait without end.
        options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let file = options.write(true).create(true).truncate(false).open(path)?;
        let kind = file.metadata()?.file_type();
        if kind.is_fifo() {
            let flags = rustix::fs::fcntl_getfl(&file)? - OFlags::NONBLOCK;
            rustix::fs::fcntl_setfl(&file, flags)?;
        }
        let is_regular = kind.is_file();
        if is_regular {
            let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
            if locked == Err(rustix::io::Errno::WOULDBLOCK) {
                let what = "it is in use: another server records there";
                return Err(io::Error::new(ErrorKind::ResourceBusy, what));
            }
            file.set_len(0)?;
        }
        let is_packed = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
        let out = Out { file, is_regular, whole: 0, member: None, lines: 0, is_packed };
        let out = Arc::new(Mutex::new(out));
        Ok((Recording(Arc::clone(&out)), Lines(out)))
    }

    /// Ends the file, which another server may write from now on.
    ///
    /// # Errors
    ///
    /// Errors of the last write.
    pub(crate) fn finish(self) -> io::Result<()> {
        let mut out = locked(&self.0);
        let ended = out.end_member();
        if out.is_regular {
            // The pool may keep its end of it.
            _ = rustix::fs::flock(&out.file, FlockOperation::Unlock);
        }
        ended
    }
}

impl Out {
    fn add(&mut self, lines: &[u8]) -> io::Result<()> {
        if !self.is_packed {
            return self.append(lines, |written| {
                written.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
            });
        }
        let new = || GzEncoder::new(Vec::new(), Compression::fast());
        let member = self.member.get_or_insert_with(new);
        member.write_all(lines)?;
        self.lines += lines.len() as u64;
        if self.lines >= MEMBER_BYTES { self.end_member() } else { Ok(()) }
    }

    /// Writes the member that has begun.
    fn end_member(&mut self) -> io::Result<()> {
        self.lines = 0;
        match self.member.take() {
            None => Ok(()),
            Some(member) => self.append(&member.finish()?, |_| 0),
        }
    }

    /// Writes all, or as much of it as is whole.
    fn append(&mut self, bytes: &[u8], whole: impl Fn(&[u8]) -> usize) -> io::Result<()> {
        let mut written = 0;
        while written < bytes.len() {
            let failed = match self.file.write(&bytes[written..]) {
                Ok(0) => io::Error::from(ErrorKind::WriteZero),
                Ok(more) => {
                    written += more;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            self.whole += whole(&bytes[..written]) as u64;
            if self.is_regular {
                self.file.set_len(self.whole)?;
            }
            return Err(failed);
        }
        self.whole += bytes.len() as u64;
        Ok(())
    }
}

impl Write for Lines {
    /// Takes whole lines.
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        locked(&self.0).add(lines).map(|()| lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        locked(&self.0).end_member()
    }
}
