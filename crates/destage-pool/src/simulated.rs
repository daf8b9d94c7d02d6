//! A simulated SSD behind a cache, as a store names it (`docs/spec/pool.md` 10.3).

use destage_engine::mounted::Mounted;
use std::sync::Arc;

/// A simulated SSD, as a run has it: at time 0, with its cache timing and its host.
#[derive(Clone, Debug)]
pub struct SimulatedDevice(pub Arc<Mounted>);

impl SimulatedDevice {
    /// Bytes of a page.
    pub fn page_bytes(&self) -> u32 {
        self.0.device.config().page_bytes
    }

    /// Pages that the host sees.
    pub fn pages(&self) -> u64 {
        self.0.device.config().logical_pages.into()
    }
}
