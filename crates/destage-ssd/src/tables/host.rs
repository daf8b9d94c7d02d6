//! The table `[host]`.

use super::keys::reader;
use crate::config::{ConfigError, DeviceConfig, HostMode, Sched, Table};
use serde::Serialize;

/// The table `[host]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct HostConfig {
    /// Open or closed loop.
    pub mode: HostMode,
    /// Outstanding requests of the closed loop, at least 1.
    pub queue_depth: u32,
}

impl HostConfig {
    /// Reads and checks the table, also against the device.
    ///
    /// # Errors
    ///
    /// [`ConfigError`]; the closed loop needs `sched = fcfs`.
    pub fn from_table(table: &Table, device: &DeviceConfig) -> Result<Self, ConfigError> {
        let keys = reader("host", table);
        keys.end()?;
        let mode = keys.get("mode")?;
        let queue_depth = keys.get("queue_depth")?;
        if mode == HostMode::Closed && device.sched == Sched::ReadFirst {
            return Err(ConfigError::Together {
                table: "host",
                one: "mode = closed",
                other: "sched = read_first",
                need: "sched = fcfs",
            });
        }
        Ok(HostConfig { mode, queue_depth })
    }
}
