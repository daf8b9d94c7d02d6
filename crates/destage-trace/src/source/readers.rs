//! Readers of one purpose each, from which an opened trace is stacked.

use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::errors::cut_off;
use crate::files::disk::{self, File};
use crate::hooks::ReadMeter;
use crate::input::StreamFault;
use crate::source::unpack::Decompressor;

/// Counts the bytes read.
pub(super) struct Metered {
    pub(super) inner: Box<dyn Read + Send>,
    pub(super) meter: Arc<ReadMeter>,
}

impl Read for Metered {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.meter.done_bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// A file on the command line: to its end, wherever that is by then. It may grow while it is read
/// (a log that is still written), but what was there when it was opened must come.
pub(super) struct WholeFile {
    pub(super) file: File,
    /// Length when it was listed.
    pub(super) length: u64,
    pub(super) done: u64,
}

impl Read for WholeFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(out)?;
        self.done += count as u64;
        if count == 0 && !out.is_empty() && self.done < self.length {
            // Files that the kernel makes up have a length that means nothing: those did not
            // shrink.
            let now = self.file.metadata()?.len();
            if now < self.length {
                let length = self.length;
                let message = format!(
                    "the file shrank while it was read: {length} bytes at first, {now} now"
                );
                let fault = StreamFault { layer: "file", offset: now, truncated: false, message };
                return Err(fault.into());
            }
        }
        Ok(count)
    }
}

/// The first bytes of a reader; an error if it ends before them.
pub(super) struct ExactLength<R> {
    inner: R,
    left: u64,
    whole: u64,
    layer: &'static str,
}

impl<R> ExactLength<R> {
    pub(super) fn new(inner: R, whole: u64, layer: &'static str) -> Self {
        ExactLength { inner, left: whole, whole, layer }
    }
}

impl<R: Read> Read for ExactLength<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let want = out.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if want == 0 {
            return Ok(0);
        }
        let count = self.inner.read(&mut out[..want])?;
        if count == 0 {
            return Err(cut_off(self.layer, self.whole - self.left).into());
        }
        self.left -= count as u64;
        Ok(count)
    }
}

/// Bytes that can be read at any place, by several readers at once.
#[derive(Clone)]
pub(super) enum Store {
    /// Bytes in memory.
    Memory(Arc<Vec<u8>>),
    /// Bytes in a file.
    Disk(Arc<File>),
}

impl Store {
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Store::Memory(bytes) => {
                let at = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                let count = out.len().min(bytes.len() - at);
                out[..count].copy_from_slice(&bytes[at..at + count]);
                Ok(count)
            }
            Store::Disk(file) => disk::read_at(file, at, out),
        }
    }
}

/// A window of stored bytes.
pub(super) struct Window {
    store: Store,
    start: u64,
    end: u64,
    at: u64,
}

impl Window {
    pub(super) fn new(store: Store, start: u64, end: u64) -> Self {
        Window { store, start, end, at: start }
    }
}

impl Read for Window {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let want = out.len().min(left);
        let count = self.store.read_at(self.at, &mut out[..want])?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Window {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => self.start.checked_add(at),
            SeekFrom::End(by) => self.end.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        let target = target.filter(|&at| at >= self.start);
        self.at = target.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at - self.start)
    }
}

/// Ends with a fault instead of an end.
pub(super) struct Truncated<R> {
    pub(super) inner: R,
    pub(super) fault: StreamFault,
}

impl<R: Read> Read for Truncated<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.inner.read(out)? {
            0 if !out.is_empty() => Err(self.fault.clone().into()),
            count => Ok(count),
        }
    }
}

/// Checks a zip member's checksum at its end.
pub(super) struct CrcChecked {
    inner: Decompressor,
    crc: flate2::Crc,
    expected: u32,
}

impl CrcChecked {
    pub(super) fn new(inner: Decompressor, expected: u32) -> Self {
        CrcChecked { inner, crc: flate2::Crc::new(), expected }
    }
}

impl Read for CrcChecked {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.crc.update(&out[..count]);
        if count == 0 && !out.is_empty() && self.crc.sum() != self.expected {
            let message = "the zip member's checksum is wrong: it is damaged".to_owned();
            return Err(StreamFault { layer: "zip", offset: 0, truncated: false, message }.into());
        }
        Ok(count)
    }
}

/// Notes that its end was met: what a library complains of after that is that there is no more.
pub(super) struct EndNoted<R> {
    inner: R,
    met: Rc<Cell<bool>>,
}

impl<R> EndNoted<R> {
    /// The reader, and what says whether its end was met.
    pub(super) fn new(inner: R) -> (Self, Rc<Cell<bool>>) {
        let met = Rc::new(Cell::new(false));
        (EndNoted { inner, met: Rc::clone(&met) }, met)
    }
}

impl<R: Read> Read for EndNoted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.met.set(self.met.get() || count == 0 && !out.is_empty());
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_shrinks_while_it_is_read_is_called_so_and_one_that_grows_is_read_on() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [1; 100]).unwrap();
        let read = |length| {
            let mut bytes = Vec::new();
            let mut whole = WholeFile { file: file.reopen().unwrap(), length, done: 0 };
            whole.read_to_end(&mut bytes).map(|_| bytes.len())
        };
        assert_eq!(read(60).unwrap(), 100);
        assert_eq!(read(100).unwrap(), 100);
        let error = read(200).unwrap_err().to_string();
        assert!(error.contains("shrank while it was read: 200 bytes at first, 100 now"), "{error}");
    }
}
