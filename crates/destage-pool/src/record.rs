//! The record: a line of Destage's own CSV for each request, in the order of decisions.

use crate::copied::copy_of;
use std::io::{self, Write};

/// Bytes of whole lines that are kept before they are written.
const BUFFER_BYTES: usize = 64 << 10;

/// A request as the record names it.
#[derive(Clone, Copy)]
pub(crate) enum Recorded {
    Read,
    Write,
    Trim,
    Flush,
}

/// Lines on their way to a file. The first error ends it.
pub(crate) struct Lines {
    to: Box<dyn Write + Send>,
    pub(crate) buffer: Vec<u8>,
    failed: Option<io::Error>,
}

impl Lines {
    pub(crate) fn new(to: Box<dyn Write + Send>) -> Lines {
        Lines { to, buffer: Vec::new(), failed: None }
    }

    /// A line has been appended to the buffer.
    pub(crate) fn appended(&mut self) {
        if self.buffer.len() >= BUFFER_BYTES {
            self.write();
        }
    }

    fn write(&mut self) {
        if self.failed.is_none() {
            self.failed = self.to.write_all(&self.buffer).err();
        }
        self.buffer.clear();
    }

    /// Writes what is there.
    ///
    /// # Errors
    ///
    /// The first error of any write, each time.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.write();
        match &self.failed {
            Some(error) => Err(copy_of(error)),
            None => self.to.flush(),
        }
    }
}

/// The record of a pool.
pub(crate) struct Record {
    pub(crate) lines: Lines,
    name: String, // quoted where it has to be
}

impl Record {
    /// Begins with the header.
    pub(crate) fn new(to: Box<dyn Write + Send>, name: &str) -> Record {
        let mut lines = Lines::new(to);
        lines.buffer.extend(b"time_ns,device,op,offset_bytes,length_bytes,response_ns\n");
        let name = match name.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", name.replace('"', "\"\"")),
            false => name.to_string(),
        };
        Record { lines, name }
    }

    pub(crate) fn request(&mut self, time_ns: u64, what: Recorded, offset: u64, length: u64) {
        let op = match what {
            Recorded::Read => "read",
            Recorded::Write => "write",
            Recorded::Trim => "trim",
            Recorded::Flush => "flush",
        };
        let buffer = &mut self.lines.buffer;
        writeln!(buffer, "{time_ns},{},{op},{offset},{length},", self.name)
            .expect("memory takes all");
        self.lines.appended();
    }
}
