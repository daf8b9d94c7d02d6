//! A network block device in front of a buffer pool: fixed newstyle NBD, threads and blocking
//! sockets, on Unix. `docs/spec/pool.md` 11 and 12 say what it answers.
//!
//! ```text
//!  serving     settings -> pool, record, server; counts, stop       address   where it listens
//!  server      accepts connections, ends them                       recording the record's file
//!  connection  requests of one client, side by side                 state     what all share
//!  commands    requests checked and carried out
//!  handshake   options before the first request                     socket    deadlines
//!  input       bytes received and not yet taken
//!  protocol    numbers of the wire      budget  memory of requests  times     response times
//!  late        replies at the instants of a simulated SSD
//! ```

#![cfg(unix)]

mod address;
mod budget;
mod commands;
mod connection;
mod handshake;
mod input;
mod late;
mod protocol;
mod recording;
mod server;
mod serving;
mod socket;
mod state;
mod times;

pub use address::Address;
pub use destage_pool::{Options, SimulatedDevice, Time};
pub use late::LateReplies;
pub use server::{IDLE, ServerOptions};
pub use serving::{
    DeviceMetrics, DeviceSnapshot, Interval, ServeError, Serving, Settings, Snapshot, Source,
};
pub use state::{AnyPool, ConnectionCounts, RequestCounts};
pub use times::ResponseTimes;
