//! The table `[host]`.

use super::keys::reader;
use crate::config::{ConfigError, DeviceConfig, FlushMode, HostMode, Table, TrimMode, Writer};
use serde::Serialize;

/// The table `[host]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct HostConfig {
    /// Open or closed loop.
    pub mode: HostMode,
    /// Outstanding requests of the closed loop, at least 1.
    pub queue_depth: u32,
    /// The background writer, if there is one; its keys are not in the record of a drive that has
    /// none.
    #[serde(flatten)]
    pub writer: Option<WriterConfig>,
    /// Treatment of the trace's trims.
    #[serde(skip_serializing_if = "ignores_trims")]
    pub trim: TrimMode,
    /// Treatment of the trace's flushes.
    #[serde(skip_serializing_if = "ignores_flushes")]
    pub flush: FlushMode,
}

/// A background writer (`docs/spec/writer.md`, 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct WriterConfig {
    /// Which, of those that write.
    pub writer: Writer,
    /// n_low: so many of the frames that are taken next are to be free or clean, at least 1.
    pub writer_low_pages: u32,
    /// n_b: most pages that are written at one instant, at least 1.
    pub writer_batch: u32,
}

/// A record has nothing of what is no part of the run.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn ignores_trims(trim: &TrimMode) -> bool {
    *trim == TrimMode::Ignore
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn ignores_flushes(flush: &FlushMode) -> bool {
    *flush == FlushMode::Ignore
}

impl HostConfig {
    /// Reads and checks the table, also against the device.
    ///
    /// # Errors
    ///
    /// [`ConfigError`]; a background writer needs the open loop where ends are known late, and a
    /// placement that need not know the future.
    pub fn from_table(table: &Table, device: &DeviceConfig) -> Result<Self, ConfigError> {
        let keys = reader("host", table);
        keys.end()?;
        let mode = keys.get("mode")?;
        let queue_depth = keys.get("queue_depth")?;
        let writer = WriterConfig {
            writer: keys.get("writer")?,
            writer_low_pages: keys.get("writer_low_pages")?,
            writer_batch: keys.or("writer_batch", 1, device.units())?,
        };
        let writer = (writer.writer != Writer::None).then_some(writer);
        let (trim, flush) = (keys.get("trim")?, keys.get("flush")?);
        HostConfig { mode, queue_depth, writer, trim, flush }.checked(device)
    }

    /// The host in a closed loop with `queue_depth` requests outstanding.
    ///
    /// # Errors
    ///
    /// Errors of [`from_table`](HostConfig::from_table).
    pub fn closed(self, queue_depth: u32, device: &DeviceConfig) -> Result<Self, ConfigError> {
        HostConfig { mode: HostMode::Closed, queue_depth, ..self }.checked(device)
    }

    /// The host in an open loop: requests arrive at the trace's times.
    ///
    /// # Errors
    ///
    /// Errors of [`from_table`](HostConfig::from_table).
    pub fn open(self, device: &DeviceConfig) -> Result<Self, ConfigError> {
        HostConfig { mode: HostMode::Open, queue_depth: 1, ..self }.checked(device)
    }

    fn checked(self, device: &DeviceConfig) -> Result<Self, ConfigError> {
        if self.mode == HostMode::Closed && self.writer.is_some() && device.ends_are_late() {
            return Err(ConfigError::Together {
                table: "host",
                one: "writer = trickle",
                other: "mode = closed",
                need: "mode = open on a device whose operations wait for one another (map_cache, \
                       another ftl than page on several units, or sched = read_first): the pages \
                       that the writer writes would decide when a request completes",
            });
        }
        // When a writer writes depends on the drive, and so on what `fk` would have to know.
        if self.writer.is_some() && device.placement.is_offline() {
            return Err(ConfigError::Together {
                table: "host",
                one: "writer = trickle",
                other: "policy = fk of the placement",
                need: "another placement policy, since what is written depends on the device then",
            });
        }
        if self.trim == TrimMode::Drop {
            device.takes("host", "trim = drop")?;
        }
        if self.flush == FlushMode::Drain {
            device.takes("host", "flush = drain")?;
        }
        Ok(self)
    }

    /// The host with another treatment of trims.
    ///
    /// # Errors
    ///
    /// Errors of [`from_table`](HostConfig::from_table).
    pub fn with_trim(self, trim: TrimMode, device: &DeviceConfig) -> Result<Self, ConfigError> {
        HostConfig { trim, ..self }.checked(device)
    }

    /// The host with another treatment of flushes.
    ///
    /// # Errors
    ///
    /// Errors of [`from_table`](HostConfig::from_table).
    pub fn with_flush(self, flush: FlushMode, device: &DeviceConfig) -> Result<Self, ConfigError> {
        HostConfig { flush, ..self }.checked(device)
    }
}
