//! A simulated SSD behind a cache, as a store names it (`docs/spec/pool.md` 10.3).

mod cache;
mod pool;
mod store;

use crate::decide::Decider;
use crate::options::{OpenError, Options};
use crate::store::{Chosen, Device};
use cache::DeviceCache;
use destage_engine::mounted::Mounted;

use std::sync::Arc;

pub use destage_engine::result::Number;
pub use store::DeviceStore;

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

impl Device for SimulatedDevice {
    fn decider(
        &self,
        policy: Chosen<'_>,
        options: &Options,
        pages: u64,
    ) -> Result<Box<dyn Decider>, OpenError> {
        Ok(Box::new(match policy {
            Chosen::Named(words) => DeviceCache::open(self, words, options, pages)?,
            Chosen::Own(policy) => DeviceCache::with_policy(self, policy, options, pages)?,
        }))
    }
}
