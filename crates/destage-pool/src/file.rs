//! A file or a block device: page p is the bytes at `p * page_bytes`, and nothing else is in it.

use crate::bytes::{PageBytes, PageLayout};
use crate::store::Store;
use rustix::fs::FlockOperation;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Most buffers of one call of `pwritev`.
pub(crate) const MOST_BUFFERS: usize = 1024;

/// Alignment that every block device accepts for direct I/O, bytes.
const DIRECT_ALIGNMENT: usize = 4096;

/// How a file is opened.
#[derive(Clone, Copy, Debug)]
pub struct FileOptions {
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Reads alone.
    pub read_only: bool,
    /// Goes past the operating system's page cache.
    pub direct: bool,
}

impl FileOptions {
    /// Read and written, through the page cache.
    pub fn new(page_bytes: u32) -> FileOptions {
        FileOptions { page_bytes, read_only: false, direct: false }
    }
}

/// Pages in a file or on a block device. A last part of a page is not served.
pub struct FileStore {
    pub(crate) file: File,
    pub(crate) page_bytes: u64,
    pages: u64,
    alignment: usize,
    /// The file system makes holes.
    discards: AtomicBool,
}

impl FileStore {
    /// Opens the file, for this process alone.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::ResourceBusy`] if another process has it open in such a way or the device
    /// is mounted, [`io::ErrorKind::Unsupported`] if the file system has no direct I/O; any other
    /// of opening it.
    pub fn open(path: &Path, options: FileOptions) -> io::Result<FileStore> {
        let is_block = std::fs::metadata(path)?.file_type().is_block_device();
        let mut flags = 0;
        if options.direct {
            flags |= direct_flag()?;
        }
        if is_block {
            flags |= rustix::fs::OFlags::EXCL.bits().cast_signed();
        }
        let mut opening = OpenOptions::new();
        opening.read(true).write(!options.read_only).custom_flags(flags);
        let file = opening.open(path).map_err(|error| match error.raw_os_error() {
            Some(code) if options.direct && code == rustix::io::Errno::INVAL.raw_os_error() => {
                no_direct()
            }
            _ => error,
        })?;
        Self::new(file, options)
    }

    fn new(mut file: File, options: FileOptions) -> io::Result<FileStore> {
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|error| {
            if error == rustix::io::Errno::WOULDBLOCK {
                let what = "it is in use: another process has locked it";
                return io::Error::new(io::ErrorKind::ResourceBusy, what);
            }
            error.into()
        })?;
        let bytes = file.seek(SeekFrom::End(0))?;
        let page_bytes = u64::from(options.page_bytes);
        let discards = AtomicBool::new(!options.read_only && makes_holes(&file, bytes));
        let alignment = if options.direct { DIRECT_ALIGNMENT } else { 1 };
        let store = FileStore { file, page_bytes, pages: bytes / page_bytes, alignment, discards };
        if options.direct && store.pages > 0 {
            let layout = PageLayout::new(options.page_bytes as usize, store.alignment());
            let mut page = PageBytes::new(layout);
            store.read(0, &mut page).map_err(|_| no_direct())?;
        }
        Ok(store)
    }

    pub(crate) fn read_bytes(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, offset)
    }

    /// Writes neighbours.
    pub(crate) fn write_buffers(
        &self,
        mut offset: u64,
        mut buffers: &mut [IoSlice<'_>],
    ) -> io::Result<()> {
        while !buffers.is_empty() {
            let some = buffers.len().min(MOST_BUFFERS);
            match rustix::io::pwritev(&self.file, &buffers[..some], offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    offset += written as u64;
                    IoSlice::advance_slices(&mut buffers, written);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn no_direct() -> io::Error {
    let what = "its file system has no direct I/O with pages of this size";
    io::Error::new(io::ErrorKind::Unsupported, what)
}

#[cfg(target_os = "linux")]
fn direct_flag() -> io::Result<i32> {
    Ok(rustix::fs::OFlags::DIRECT.bits().cast_signed())
}

#[cfg(not(target_os = "linux"))]
fn direct_flag() -> io::Result<i32> {
    Err(no_direct())
}

/// Makes a hole behind the end, where nothing is: whether the file system can. A block device may,
/// and shows it when it is asked in earnest.
#[cfg(target_os = "linux")]
fn makes_holes(file: &File, end: u64) -> bool {
    let is_block = file.metadata().is_ok_and(|found| found.file_type().is_block_device());
    is_block
        || punch(file, end.next_multiple_of(1 << 16)..(end + 1).next_multiple_of(1 << 16) + 4096)
            .is_ok()
}

#[cfg(target_os = "linux")]
fn punch(file: &File, bytes: Range<u64>) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    loop {
        match fallocate(file, flags, bytes.start, bytes.end - bytes.start) {
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                return Err(io::ErrorKind::Unsupported.into());
            }
            result => return result.map_err(Into::into),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn makes_holes(_: &File, _: u64) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn punch(_: &File, _: Range<u64>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Store for FileStore {
    fn pages(&self) -> u64 {
        self.pages
    }

    fn read(&self, page: u64, into: &mut [u8]) -> io::Result<()> {
        self.read_bytes(page * self.page_bytes, into)
    }

    fn write(&self, group: &[(u64, &[u8])]) -> io::Result<()> {
        for run in group.chunk_by(|(a, _), (b, _)| a + 1 == *b) {
            if let [(page, bytes)] = run {
                self.file.write_all_at(bytes, page * self.page_bytes)?;
                continue;
            }
            let mut buffers: Vec<_> = run.iter().map(|(_, bytes)| IoSlice::new(bytes)).collect();
            self.write_buffers(run[0].0 * self.page_bytes, &mut buffers)?;
        }
        Ok(())
    }

    fn discard(&self, pages: Range<u64>) -> io::Result<()> {
        if !self.discards.load(Relaxed) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        if pages.is_empty() {
            return Ok(());
        }
        let done = punch(&self.file, pages.start * self.page_bytes..pages.end * self.page_bytes);
        if matches!(&done, Err(error) if error.kind() == io::ErrorKind::Unsupported) {
            self.discards.store(false, Relaxed);
        }
        done
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn alignment(&self) -> usize {
        self.alignment
    }
}
