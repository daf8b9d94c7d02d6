//! The file of a record, packed where its name says so.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

enum Out {
    Plain(File),
    Packed(Box<GzEncoder<File>>),
}

/// A file that is written by the pool, and ended by its creator.
pub(crate) struct Recording(Arc<Mutex<Out>>);

/// Output of the pool's record.
pub(crate) struct Lines(Arc<Mutex<Out>>);

fn locked(out: &Mutex<Out>) -> MutexGuard<'_, Out> {
    out.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recording {
    /// Makes the file.
    ///
    /// # Errors
    ///
    /// Errors of making it.
    pub(crate) fn create(path: &Path) -> io::Result<(Recording, Lines)> {
        let file = File::create(path)?;
        let out = match path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz")) {
            true => Out::Packed(Box::new(GzEncoder::new(file, Compression::fast()))),
            false => Out::Plain(file),
        };
        let out = Arc::new(Mutex::new(out));
        Ok((Recording(Arc::clone(&out)), Lines(out)))
    }

    /// Ends the file.
    ///
    /// # Errors
    ///
    /// Errors of the last write.
    pub(crate) fn finish(self) -> io::Result<()> {
        match &mut *locked(&self.0) {
            Out::Plain(file) => file.flush(),
            Out::Packed(packed) => packed.try_finish(),
        }
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *locked(&self.0) {
            Out::Plain(file) => file.write(bytes),
            Out::Packed(packed) => packed.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut *locked(&self.0) {
            Out::Plain(file) => file.flush(),
            Out::Packed(packed) => packed.flush(),
        }
    }
}
