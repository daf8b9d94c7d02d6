//! The tables `[device]`, `[ftl]`, `[cache]`, `[host]` and `[placement]`: keys, ranges, defaults,
//! and what excludes what (`docs/spec/device.md` 3 and 5.1, `docs/spec/device-today.md` 2 and 3).
//!
//! A table comes from TOML or JSON, or from a program: anything that serde can read. A key that is
//! not listed, a value out of range and a drive that cannot work are errors before anything runs.

mod cache;
mod device;
mod host;
mod host_interface;
mod keys;
mod placement;
#[cfg(test)]
mod tests;

pub(crate) use cache::with_specified_wait;
pub use cache::{CacheConfig, CacheDefaults};
pub use device::Threshold;
pub(crate) use device::without_effect;
pub use host::{HostConfig, WriterConfig};
pub use keys::{KEYS, key_of, keys_of};
