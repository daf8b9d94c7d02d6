//! A file through io_uring: the bytes and rules of [`FileStore`], its reads, writes and syncs
//! through one ring of the kernel (`docs/spec/pool.md` 10.2).
//!
//! A thread puts its operations on the ring and submits them in one system call, then waits for
//! them. Of the waiting threads one at a time waits in the kernel, and wakes the others.
//!
//! The kernel reads and writes a caller's memory until an operation has ended. So a call returns
//! only after all its operations have, and nothing between submission and end can panic.

use crate::file::{FileOptions, FileStore, MOST_BUFFERS};
use crate::store::Store;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use io_uring::squeue::Entry;
use io_uring::types::{Fd, FsyncFlags};
use io_uring::{IoUring, opcode};
use std::io::{self, IoSlice, IoSliceMut};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Operations of one submission, a power of two; twice as many may be in flight.
const ENTRIES: u32 = 64;

/// Pages in a file or on a block device, read and written through io_uring.
///
/// The kernel ends the ring of a process that was killed a moment after the process: until then the
/// file is in use.
pub struct UringStore {
    file: FileStore,
    ring: Ring,
}

impl UringStore {
    /// Opens the file, for this process alone.
    ///
    /// # Errors
    ///
    /// Errors of [`FileStore::open`], and [`io::ErrorKind::Unsupported`] if the kernel has no
    /// io_uring or forbids it.
    pub fn open(path: &Path, options: FileOptions) -> io::Result<UringStore> {
        let file = FileStore::open(path, options)?;
        let ring = IoUring::new(ENTRIES).map_err(|error| {
            let what = format!("the kernel has no io_uring, or forbids it: {error}");
            io::Error::new(io::ErrorKind::Unsupported, what)
        })?;
        let ring = Ring {
            ring,
            submission: Mutex::default(),
            state: Mutex::default(),
            ended: Condvar::new(),
        };
        Ok(UringStore { file, ring })
    }

    fn fd(&self) -> Fd {
        Fd(self.file.file.as_raw_fd())
    }
}

impl Store for UringStore {
    fn pages(&self) -> u64 {
        self.file.pages()
    }

    fn read(&self, page: u64, into: &mut [u8]) -> io::Result<()> {
        let offset = page * self.file.page_bytes;
        let buffers = [IoSliceMut::new(into)];
        let entry =
            opcode::Readv::new(self.fd(), buffers.as_ptr().cast(), 1).offset(offset).build();
        // SAFETY: `buffers` and the memory behind it live until the operation has ended.
        let read = unsafe { self.ring.carry_out(&mut [entry]) }[0];
        let read = moved(read)?;
        self.file.read_bytes(offset + read as u64, &mut into[read..])
    }

    fn write(&self, group: &[(u64, &[u8])]) -> io::Result<()> {
        let buffers: Vec<IoSlice<'_>> =
            group.iter().map(|(_, bytes)| IoSlice::new(bytes)).collect();
        let runs =
            group.chunk_by(|(a, _), (b, _)| a + 1 == *b).flat_map(|run| run.chunks(MOST_BUFFERS));
        let (mut at, mut ranges, mut entries) = (0, Vec::new(), Vec::new());
        for run in runs {
            let range = at..at + run.len();
            at = range.end;
            let first = buffers[range.clone()].as_ptr().cast();
            let entry = opcode::Writev::new(self.fd(), first, run.len() as u32);
            entries.push(entry.offset(run[0].0 * self.file.page_bytes).build());
            ranges.push(range);
        }
        // SAFETY: `buffers` and the pages live until the operations have ended.
        let ended = unsafe { self.ring.carry_out(&mut entries) };
        let mut buffers = buffers;
        for (range, written) in ranges.into_iter().zip(ended) {
            let written = moved(written)?;
            let offset = group[range.start].0 * self.file.page_bytes;
            let mut rest = &mut buffers[range];
            IoSlice::advance_slices(&mut rest, written);
            self.file.write_buffers(offset + written as u64, rest)?;
        }
        Ok(())
    }

    fn discard(&self, pages: Range<u64>) -> io::Result<()> {
        self.file.discard(pages)
    }

    fn sync(&self) -> io::Result<()> {
        // Writes that the sync has to cover have ended: their calls have returned.
        let entry = opcode::Fsync::new(self.fd()).flags(FsyncFlags::DATASYNC).build();
        // SAFETY: it has no memory.
        let synced = unsafe { self.ring.carry_out(&mut [entry]) }[0];
        match ended(synced) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.file.sync(),
            synced => synced.map(drop),
        }
    }

    fn alignment(&self) -> usize {
        self.file.alignment()
    }
}

/// The number that an operation returned.
fn ended(result: i32) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result))
}

/// Bytes that an operation moved; a caller moves the rest, if there is any, without the ring.
fn moved(result: i32) -> io::Result<usize> {
    match ended(result) {
        Err(error) if is_temporary(&error) => Ok(0),
        moved => moved,
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

/// A ring that threads share.
struct Ring {
    ring: IoUring,
    submission: Mutex<()>,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    next: u64,
    in_flight: u32,
    /// Results that their threads have not taken yet.
    results: HashMap<u64, i32, FixedState>,
    /// A thread waits in the kernel.
    is_awaited: bool,
}

impl Ring {
    /// Carries out operations, submitted together, and returns their results.
    ///
    /// # Safety
    ///
    /// The memory that they name is the caller's until this returns.
    unsafe fn carry_out(&self, entries: &mut [Entry]) -> Vec<i32> {
        let mut results = Vec::with_capacity(entries.len());
        for some in entries.chunks_mut(ENTRIES as usize) {
            let first = self.take_room(some);
            // SAFETY: the memory lives until `wait` has all results.
            unsafe { self.submit(some) };
            self.wait(first..first + some.len() as u64, &mut results);
        }
        results
    }

    /// A thread that panicked here had no operation in flight.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the completion queue has room for the operations, and numbers them.
    fn take_room(&self, entries: &mut [Entry]) -> u64 {
        let count = entries.len() as u32;
        let mut state = self.state();
        while state.in_flight + count > 2 * ENTRIES {
            state = self.turn(state);
        }
        state.in_flight += count;
        let first = state.next;
        state.next += u64::from(count);
        for (number, entry) in (first..).zip(entries) {
            *entry = entry.clone().user_data(number);
        }
        first
    }

    /// # Safety
    ///
    /// As of [`carry_out`](Ring::carry_out).
    unsafe fn submit(&self, entries: &[Entry]) {
        let only = self.submission.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in entries {
            // SAFETY: the lock makes this the only submission queue, and it is dropped, which shows
            // the kernel what was pushed. The caller keeps the memory of the entry.
            while unsafe { self.ring.submission_shared().push(entry) }.is_err() {
                self.enter(0);
            }
        }
        self.enter(0);
        drop(only);
    }

    /// Submits what is on the ring, and waits for so many operations.
    fn enter(&self, wait_for: usize) {
        while let Err(error) = self.ring.submit_and_wait(wait_for) {
            // EBUSY: completions wait to be taken; a thread that waits for some takes them.
            if !is_temporary(&error) && error.kind() != io::ErrorKind::ResourceBusy {
                // The kernel may use memory of callers at any later time.
                eprintln!("destage: io_uring_enter: {error}");
                std::process::abort();
            }
            std::thread::yield_now();
        }
    }

    fn wait(&self, numbers: Range<u64>, results: &mut Vec<i32>) {
        let mut state = self.state();
        for number in numbers {
            let result = loop {
                match state.results.remove(&number) {
                    Some(result) => break result,
                    None => state = self.turn(state),
                }
            };
            results.push(result);
        }
    }

    /// Waits for some operation, in the kernel or for the thread that waits there.
    fn turn<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if state.is_awaited {
            return self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_awaited = true;
        drop(state);
        self.enter(1);
        // SAFETY: `is_awaited` makes this the only completion queue; it is dropped before.
        let ended: Vec<(u64, i32)> = unsafe { self.ring.completion_shared() }
            .map(|operation| (operation.user_data(), operation.result()))
            .collect();
        let mut state = self.state();
        state.is_awaited = false;
        state.in_flight -= ended.len() as u32;
        state.results.extend(ended);
        self.ended.notify_all();
        state
    }
}
