//! SQLite's page cache under a policy of Destage (`docs/spec/pool.md` 14): a library that is
//! loaded before the shared libsqlite3 (`LD_PRELOAD`) and gives it `sqlite3_pcache_methods2`.
//!
//! It records a program's page references, and is a test bed for policies. SQLite reports no
//! writes to its page cache, so a policy sees reads alone.
//!
//! ```text
//! load       finds libsqlite3 and configures it, once
//! methods    the C interface: one lock a cache
//! cache      pages in memory, pins, forgets
//! decider    the policy and its counters
//! block      the memory of one page
//! settings   variables of the environment
//! record     accesses as a trace; counters of a cache as a line of JSON
//! ```

#![cfg(unix)]

mod block;
mod cache;
mod decider;
mod load;
mod methods;
mod record;
mod settings;
