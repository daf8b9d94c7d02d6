//! The pool of `..`, with the locks of a model checker.
//!
//! * loom: latches, pins and limbo under every schedule of three threads with at most two
//!   preemptions. `cargo test --release --manifest-path crates/destage-pool/loom/Cargo.toml`
//! * shuttle: the whole pool under random schedules of four threads. The same command with
//!   `--features shuttle`

#![cfg(test)]
#![allow(dead_code, unused_imports, unreachable_pub, reason = "what the models do not need")]

#[path = "../../src/access.rs"]
mod access;
#[path = "../../src/alone.rs"]
mod alone;
#[path = "../../src/apart.rs"]
mod apart;
#[path = "../../src/bell.rs"]
mod bell;
#[path = "../../src/bytes.rs"]
mod bytes;
#[path = "../../src/clock.rs"]
mod clock;
#[path = "../../src/copied.rs"]
mod copied;
#[path = "../../src/counters.rs"]
mod counters;
#[path = "../../src/decide.rs"]
mod decide;
#[path = "../../src/destage.rs"]
mod destage;
#[path = "../../src/fault.rs"]
mod fault;
#[path = "../../src/flush.rs"]
mod flush;
#[path = "../../src/follow.rs"]
mod follow;
#[path = "../../src/frame.rs"]
mod frame;
#[path = "../../src/guard.rs"]
mod guard;
#[path = "../../src/held.rs"]
mod held;
#[path = "../../src/in_flight.rs"]
mod in_flight;
#[path = "../../src/known.rs"]
mod known;
#[path = "../../src/lock.rs"]
mod lock;
#[path = "../../src/marks.rs"]
mod marks;
#[path = "../../src/memory.rs"]
mod memory;
#[path = "../../src/no_cache.rs"]
mod no_cache;
#[path = "../../src/options.rs"]
mod options;
#[path = "../../src/page_set.rs"]
mod page_set;
#[path = "../../src/pool.rs"]
mod pool;
#[path = "../../src/quick.rs"]
mod quick;
#[path = "../../src/record.rs"]
mod record;
#[path = "../../src/requests.rs"]
mod requests;
#[path = "../../src/resident.rs"]
mod resident;
#[path = "../../src/shared.rs"]
mod shared;
#[path = "../../src/store.rs"]
mod store;
#[path = "../../src/sums.rs"]
mod sums;
#[cfg_attr(feature = "shuttle", path = "sync_shuttle.rs")]
mod sync;
#[path = "../../src/sync_state.rs"]
mod sync_state;
#[path = "../../src/table.rs"]
mod table;
#[path = "../../src/trim.rs"]
mod trim;
#[path = "../../src/work.rs"]
mod work;
#[path = "../../src/writer.rs"]
mod writer;

#[cfg(not(feature = "shuttle"))]
mod models;
#[cfg(feature = "shuttle")]
mod random;

pub use clock::Time;
pub use store::Store;
