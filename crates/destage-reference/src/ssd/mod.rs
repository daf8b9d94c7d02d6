//! A slow, obvious reference model of the timed SSD, of the host in front of it, and of the cache
//! policies that look into it.
//!
//! Written from `docs/spec/device.md`, `docs/spec/device-policies.md` and
//! `docs/spec/device-today.md` alone, section by section, and event-driven: every unit has a queue
//! of operations that really wait, start and end. What the specification says can be computed ahead
//! (ends, remaining work, who is collecting) is here found by looking at what has happened. It is
//! meant to be compared with the product on as many random devices as one likes.
//!
//! [`simulate`] takes the input of one conformance vector (`docs/spec/device.md` section 10) and
//! gives its results in the same layout. The product reads and checks the vector's tables; of the
//! product's behaviour nothing is used.
//!
//! | file | section |
//! | --- | --- |
//! | `config.rs` | 3, 5.1: the product's record of a vector's sections, geometry |
//! | `operation.rs` | 4.1: kinds, phases, durations |
//! | `queue.rs` | 4.2 to 4.6, 5.5: queues, the shared bus, instants, timers |
//! | `flash.rs` | 5.2 to 5.4, 5.6, 6: placement, programs, collections |
//! | `mapped.rs` | 12: the FTLs of `docs/spec/ftl.md` |
//! | `host.rs` | 7, 8, 12: requests, frames, groups, closed loop, counters |
//! | `host/writer.rs` | `docs/spec/writer.md`: the background writer |
//! | `host/tiers.rs` | `docs/spec/tiers.md` 6: the device behind a flash tier |
//! | `host_interface.rs` | `docs/spec/device-today.md` 3: keys |
//! | `way.rs` | 5, 6 there: commands, link, write buffer |
//! | `flash.rs` | 4.1, 7, 9 there: trims, write points, the SLC cache |
//! | `steps.rs` | `docs/spec/gc-steps.md`: collection in steps, suspension |
//! | `map_cache.rs` | `docs/spec/map-cache.md` 3 to 6: the map cache |
//! | `waiting.rs` | 7 and 8 there: operations that wait for others |
//! | `placement.rs` | 8 there: who assigns the handle |
//! | `host.rs` | 4.2, 5.3, 6.4 there: what a trim, a flush and the host's waiting mean |
//! | `policies.rs`, `ecr.rs`, `gcar.rs`, `sac.rs` | `docs/spec/device-policies.md` |
//! | `clusters.rs` | `docs/spec/block-policies.md` 1.7: policies of erase blocks, told what ended |

mod clusters;
mod collectors;
mod config;
mod ecr;
mod ecr_over;
mod flash;
mod gcar;
mod host;
mod host_interface;
mod map_cache;
mod mapped;
mod operation;
mod placement;
mod policies;
mod queue;
mod sac;
mod steps;
mod waiting;
mod way;

pub use host::{INTERFACE_COUNTERS, simulate, simulate_tiers};
pub use policies::DEVICE_POLICIES;
