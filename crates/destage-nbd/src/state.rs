//! State that all connections of a server share: the pool, limits, counts.

use crate::budget::Budget;
use crate::handshake::Export;
use crate::late::Late;
use crate::times::Histogram;
use destage_pool::{Pool, Store};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A pool over a store of any kind.
pub type AnyPool = Pool<Box<dyn Store>>;

/// Memory of the pool for requests that it carries out, of all connections together, bytes.
const POOL_BYTES: u64 = 64 << 20;

macro_rules! counts {
    ($($(#[doc = $doc:literal])+ $name:ident)*) => {
        /// Requests by command.
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
        pub struct RequestCounts {
            $($(#[doc = $doc])+ pub $name: u64,)*
        }

        #[derive(Default)]
        pub(crate) struct Requests {
            $(pub(crate) $name: AtomicU64,)*
        }

        impl Requests {
            pub(crate) fn counted(&self) -> RequestCounts {
                RequestCounts { $($name: self.$name.load(Relaxed),)* }
            }
        }
    };
}

counts! {
    /// Reads.
    read
    /// Writes.
    write
    /// Flushes.
    flush
    /// Trims.
    trim
    /// Writes of zeros.
    write_zeroes
    /// Reads into the cache.
    cache
    /// Requests answered with an error.
    errors
}

/// Connections so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct ConnectionCounts {
    /// Accepted.
    pub accepted: u64,
    /// Closed at once, or displaced, because there were too many.
    pub refused: u64,
    /// Most at a time.
    pub most: u64,
}

/// Protocol violations of clients.
#[derive(Default)]
pub(crate) struct Complaints {
    pub(crate) count: u64,
    pub(crate) last: Option<String>,
}

/// State of a server.
pub(crate) struct State {
    pub(crate) pool: AnyPool,
    pub(crate) export: Export,
    pub(crate) budget: Budget,
    pub(crate) times: Histogram,
    /// Replies come when the simulated SSD would have answered.
    pub(crate) emulate: bool,
    /// Every request may wait: replies for their instants, or writes for the disk.
    pub(crate) waits: bool,
    pub(crate) late: Late,
    pub(crate) requests: Requests,
    pub(crate) bytes_read: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
    pub(crate) is_stopping: AtomicBool,
    complaints: Mutex<Complaints>,
    threads: Mutex<usize>,
    ended: Condvar,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    pub(crate) fn new(pool: AnyPool, export: Export, emulate: bool, direct: bool) -> State {
        State {
            pool,
            export,
            budget: Budget::new(POOL_BYTES),
            times: Histogram::new(),
            emulate,
            waits: emulate || direct,
            late: Late::default(),
            requests: Requests::default(),
            bytes_read: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            is_stopping: AtomicBool::new(false),
            complaints: Mutex::default(),
            threads: Mutex::new(0),
            ended: Condvar::new(),
        }
    }

    /// A client did what no client may do.
    pub(crate) fn complain(&self, what: String) {
        let mut complaints = locked(&self.complaints);
        complaints.count += 1;
        complaints.last = Some(what);
    }

    pub(crate) fn take_complaints(&self) -> Complaints {
        std::mem::take(&mut locked(&self.complaints))
    }

    /// A thread of a connection begins.
    pub(crate) fn thread_begins(&self) {
        *locked(&self.threads) += 1;
    }

    pub(crate) fn thread_ends(&self) {
        *locked(&self.threads) -= 1;
        self.ended.notify_all();
    }

    /// Waits for all threads to end; false if some have not.
    pub(crate) fn wait_for_threads(&self, patience: std::time::Duration) -> bool {
        let some = |threads: &mut usize| *threads > 0;
        let threads = locked(&self.threads);
        let waited = self.ended.wait_timeout_while(threads, patience, some);
        *waited.unwrap_or_else(PoisonError::into_inner).0 == 0
    }
}
