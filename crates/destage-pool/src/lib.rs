//! A buffer pool that decides as the simulator does: any policy of `destage-policies`, unchanged,
//! over pages of a file or of any [`Store`]. `docs/spec/pool.md` says what it promises.
//!
//! ```
//! use destage_pool::{MemoryStore, Options, Pool};
//!
//! let pool = Pool::open(MemoryStore::new(1000, 4096), "s3-fifo", Options::new(100))?;
//! pool.write(7)?[..5].copy_from_slice(b"hello"); // dirty when the guard is dropped
//! assert_eq!(&pool.read(7)?[..5], b"hello");
//! pool.flush()?; // durable, as far as the store's sync is honest
//! assert_eq!(pool.counters().policy.read_hits, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//!  pool       what a program calls             guard      bytes while they are read or changed
//!  requests   several pages as one request     access     latching and fetching a page
//!  decide     who decides, under the one lock  follow     what follows from a decision
//!  alone      a policy without a device        simulated  one with a simulated SSD behind it
//!  destage    group writes                     clock      the instants of requests
//!  flush      flushes, syncs, room in limbo    trim       trims and zeroes
//!  writer     writes ahead                     held       what a thread holds
//!  store      where pages live: memory, file, uring, fault
//!  no_cache   a policy that keeps no page      options    options, and why one cannot be opened
//!
//!  frame      a page in memory                 table      the frames of all pages, by page
//!  marks      dirty, unsynced, in limbo        known      what the policy may know
//!  page_set   a bit for each page              resident   those that batches of hits ask for
//!  in_flight  store operations under way       work       a request on its way
//!  sync_state syncs so far                     sums       checksums of pages in memory
//!  record     the record's lines               counters   what is counted
//!  shared     what all threads share           apart      a cache line for each value
//!  bell       threads started, woken, stopped  sync       locks, or those of a model checker
//!  quick      pages read without a lock        copied     errors that concern several calls
//!  quick_tests    its tests, which the model checkers leave out
//! ```
//!
//! Locks are taken in this order: the pool's one lock (`shared`), a shard of the table (`table`), a
//! frame (`frame`), the sets of marks (`marks`). No thread waits for the store under any of them.
//! Pages that the store is at work on (`in_flight`) are taken by a thread that holds none of these
//! locks.

mod access;
mod alone;
mod apart;
mod bell;
mod bytes;
mod clock;
mod copied;
mod counters;
mod decide;
mod destage;
mod fault;
#[cfg(unix)]
mod file;
mod flush;
mod follow;
mod frame;
mod guard;
mod held;
mod in_flight;
mod known;
mod lock;
mod marks;
mod memory;
mod no_cache;
mod options;
mod page_set;
mod pool;
mod quick;
#[cfg(test)]
mod quick_tests;
mod record;
mod requests;
mod resident;
mod shared;
#[cfg(feature = "device")]
mod simulated;
mod store;
mod sums;
mod sync;
mod sync_state;
mod table;
mod trim;
#[cfg(all(feature = "uring", target_os = "linux"))]
mod uring;
mod work;
mod writer;

pub use clock::Time;
pub use counters::{PolicyCounters, PoolCounters, StoreCounters, TrimCounters};
pub use fault::{Fault, FaultStore, Faults};
#[cfg(unix)]
pub use file::{FileOptions, FileStore};
pub use guard::{ReadGuard, WriteGuard};
pub use memory::MemoryStore;
pub use options::{NONE, OpenError, Options, PAGE_BYTES, Writer, replayed};
pub use pool::Pool;
#[cfg(feature = "device")]
pub use simulated::{DeviceStore, Number, SimulatedDevice};
pub use store::{Device, Store};
#[cfg(all(feature = "uring", target_os = "linux"))]
pub use uring::UringStore;
pub use work::Done;
