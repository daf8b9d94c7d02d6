//! The SSD timing model of `docs/spec/device.md`, exact to the nanosecond.
//!
//! Everything that decides happens at the instant of the request that causes it; only flash
//! operations take time. On the usual path (first come, first served, private bus) an operation's
//! end is known when it is submitted, and there is no event queue anywhere.
//!
//! ```text
//!  config        a checked drive: values, words, keys              3
//!  geometry      planes, units, channels, striping                 4.1, 5.2
//!  timing        operations, their phases and durations            4.1
//!  pending_time  instants that may not be known yet                4.3, 7.4
//!  staging       staging pages of the host                         7.4
//!  ftl           the FTL trait; page, and those of `docs/spec/ftl.md`       5, 6, 12
//!  untimed       an FTL alone, as the vectors have it              `docs/spec/ftl.md` 1
//!  tables        [device], [ftl], [cache], [host]                  3, 5.1
//!  divisor       division by a number that is known beforehand
//!  saturation    steady state in closed form
//!  drive         presets, drive files                              9
//!  filling, precondition  the content before time 0            5.6
//!  bus           reservations of a shared channel                  4.4
//!  queues        units and what they serve                         4.2 to 4.6
//!  read_first    the other scheduler                               4.3
//!  ended         what is heard of an end that was not known
//!  records       every operation with its times
//!  device        all of it, and the view of policies               5.5,
//!                                               `docs/spec/device-policies.md` 2
//!  interface     commands, link and write buffer   `docs/spec/device-today.md` 5, 6
//!  placement     placement policies (handles)        `docs/spec/device-today.md` 8
//!  prepare       preconditioned devices, kept in files
//!  prepared      a preconditioned device, lent to run after run
//! ```

pub mod bus;
pub mod config;
pub mod device;
mod divisor;
pub mod drive;
mod ended;
pub mod filling;
pub mod ftl;
pub mod geometry;
mod interface;
pub mod pending_time;
pub mod placement;
pub mod precondition;
pub mod prepare;
mod prepared;
pub mod queues;
mod read_first;
mod records;
pub mod saturation;
mod staging;
pub mod tables;
pub mod timing;
mod untimed;

pub use config::{ConfigError, DeviceConfig};
pub use device::{Device, DeviceCounters, InterfaceCounters};
pub use drive::{Drive, DriveError, PRESETS, Preset};
pub use filling::{Interrupted, Progress};
pub use ftl::{AnyFtl, DeviceFull, FTLS, Ftl, FtlCounters, MapCounts};
pub use geometry::{BlockId, DriveLpn};
pub use interface::Command;
pub use pending_time::{PendingTime, Settled};
pub use placement::{Future, WriteHint};
pub use prepare::Origin;
pub use prepared::{Lent, Prepared};
pub use queues::Served;
pub use records::OperationRecord;
pub use saturation::Saturation;
pub use tables::{CacheConfig, CacheDefaults, HostConfig, WriterConfig};
pub use untimed::{Untimed, UntimedError};

/// The FTL `page`, one open block a plane and no SLC cache.
pub type PageFtl = ftl::page::PageFtl;
