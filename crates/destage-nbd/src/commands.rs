//! Requests: which are in order, and what each asks of the pool.

use crate::protocol::{FUA, Header, MOST_BYTES, NO_HOLE, SIMPLE_REPLY, command, error, flags};
use crate::state::State;
use destage_pool::Done;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Pool memory of a page that is being written, before it has bytes.
const BYTES_OF_A_PAGE_UNDER_WAY: u64 = 256;
/// Most data of a request that keeps the turn, bytes: of more, copies take longer than a hand-over.
const QUICK_BYTES: u32 = 16 << 10;

impl State {
    /// Bytes of memory that a request takes in the pool while it is carried out.
    fn weight(&self, header: &Header) -> u64 {
        match header.command {
            command::READ | command::WRITE | command::CACHE => header.length.min(MOST_BYTES).into(),
            command::WRITE_ZEROES => {
                u64::from(header.length / self.export.page_bytes) * BYTES_OF_A_PAGE_UNDER_WAY
            }
            _ => 0,
        }
    }

    /// The range of a request, or the error that it gets (`docs/spec/pool.md` 12.3, in that order).
    pub(crate) fn check(&self, header: &Header) -> Result<Range<u64>, u32> {
        let allowed = match header.command {
            command::READ | command::FLUSH | command::CACHE => 0,
            command::WRITE | command::TRIM => FUA,
            command::WRITE_ZEROES => FUA | NO_HOLE,
            _ => return Err(error::EINVAL),
        };
        if header.flags & !allowed != 0 {
            return Err(error::EINVAL);
        }
        if header.command != command::FLUSH {
            let is_read = matches!(header.command, command::READ | command::CACHE);
            if header.length == 0 || is_read && header.length > MOST_BYTES {
                return Err(error::EINVAL);
            }
        }
        let bytes = match header.command {
            command::FLUSH => 0..0,
            _ => match header.offset.checked_add(header.length.into()) {
                Some(end) if end <= self.export.bytes => header.offset..end,
                _ if matches!(header.command, command::WRITE | command::WRITE_ZEROES) => {
                    return Err(error::ENOSPC);
                }
                _ => return Err(error::EINVAL),
            },
        };
        let changes =
            matches!(header.command, command::WRITE | command::TRIM | command::WRITE_ZEROES);
        if changes && self.export.flags & flags::READ_ONLY != 0 {
            return Err(error::EPERM);
        }
        if self.is_stopping.load(Relaxed) {
            return Err(error::ESHUTDOWN);
        }
        Ok(bytes)
    }

    /// The range of a request that, as far as can be seen, waits neither for a read nor for a sync
    /// of the store; `None` if it may, or gets an error.
    pub(crate) fn at_once(&self, header: &Header) -> Option<Range<u64>> {
        if self.waits || header.length > QUICK_BYTES || header.flags != 0 {
            return None;
        }
        match header.command {
            command::READ => self.check(header).ok().filter(|bytes| self.pool.reads_at_once(bytes)),
            command::WRITE => {
                self.check(header).ok().filter(|bytes| self.pool.writes_at_once(bytes))
            }
            _ => None,
        }
    }

    /// Writes the header of a reply, and counts errors.
    pub(crate) fn reply(&self, header: &Header, code: u32, into: &mut [u8]) {
        if code != 0 {
            self.requests.errors.fetch_add(1, Relaxed);
        }
        into[..4].copy_from_slice(&SIMPLE_REPLY.to_be_bytes());
        into[4..8].copy_from_slice(&code.to_be_bytes());
        into[8..16].copy_from_slice(&header.cookie.to_be_bytes());
    }

    /// A request is carried out from now on.
    pub(crate) fn count(&self, header: &Header) {
        let requests = &self.requests;
        let count = match header.command {
            command::READ => &requests.read,
            command::WRITE => &requests.write,
            command::FLUSH => &requests.flush,
            command::TRIM => &requests.trim,
            command::CACHE => &requests.cache,
            _ => &requests.write_zeroes,
        };
        count.fetch_add(1, Relaxed);
    }

    /// Carries a request out, once the pool has memory for it. No client is awaited meanwhile.
    /// `data` are those of a write, or the place of those of a read.
    pub(crate) fn carry_out(
        &self,
        header: &Header,
        bytes: Range<u64>,
        data: &mut [u8],
    ) -> Result<Done, u32> {
        let share = self.budget.take(self.weight(header));
        let done = self.ask_pool(header, bytes, data)?;
        drop(share);
        match header.flags & FUA {
            0 => Ok(done),
            _ => self.pool.flush_request().map(|flushed| done.and(flushed)).map_err(|e| code(&e)),
        }
    }

    /// The same of a small request, without what FUA asks for.
    pub(crate) fn ask_pool(
        &self,
        header: &Header,
        bytes: Range<u64>,
        data: &mut [u8],
    ) -> Result<Done, u32> {
        let count = |bytes: &AtomicU64, done: &io::Result<Done>| {
            bytes.fetch_add(if done.is_ok() { header.length.into() } else { 0 }, Relaxed);
        };
        let done = match header.command {
            command::READ => {
                let read = self.pool.read_at(bytes.start, data);
                count(&self.bytes_read, &read);
                read
            }
            command::WRITE => {
                let written = self.pool.write_at(bytes.start, data);
                count(&self.bytes_written, &written);
                written
            }
            command::FLUSH => self.pool.flush_request(),
            command::TRIM => self.pool.trim_at(bytes),
            command::CACHE => self.pool.cache_at(bytes),
            _ if header.flags & NO_HOLE != 0 => self.pool.write_zeros_at(bytes),
            _ => self.pool.zero_at(bytes),
        };
        done.map_err(|failed| match (code(&failed), header.command) {
            (error::ENOSPC, command::READ | command::CACHE) => error::EIO,
            (code, _) => code,
        })
    }
}

/// The error of a reply.
fn code(failed: &io::Error) -> u32 {
    match failed.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => error::ENOSPC,
        io::ErrorKind::OutOfMemory => error::ENOMEM,
        _ => error::EIO,
    }
}
