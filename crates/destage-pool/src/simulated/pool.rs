//! Counters and times of the simulated SSD behind a pool.

use super::cache::DeviceCache;
use crate::held;
use crate::pool::Pool;
use crate::store::Store;
use destage_engine::result::Number;
use destage_replay::timed::TimedOutcome;
use destage_ssd::DeviceCounters;
use std::any::Any;
use std::collections::BTreeMap;
use std::io;

impl<S: Store> Pool<S> {
    /// Counters of the simulated SSD so far; `None` without one.
    pub fn device_counters(&self) -> Option<DeviceCounters> {
        self.of_device(DeviceCache::counters)
    }

    /// Outcome of a run that ended here, times included. Copies the simulated SSD.
    ///
    /// # Errors
    ///
    /// Its end: then there are no such numbers.
    pub fn outcome(&self) -> Option<io::Result<TimedOutcome>> {
        held::drain(&self.shared);
        self.of_device(DeviceCache::outcome)
    }

    /// The metrics of a result with a device, by name. Copies the simulated SSD.
    ///
    /// # Errors
    ///
    /// As [`outcome`](Pool::outcome).
    pub fn device_metrics(&self) -> Option<io::Result<BTreeMap<&'static str, Option<Number>>>> {
        held::drain(&self.shared);
        self.of_device(DeviceCache::metrics)
    }

    fn of_device<T>(&self, ask: impl FnOnce(&DeviceCache) -> T) -> Option<T> {
        let core = self.shared.core();
        let decider: &dyn Any = &*core.cache;
        decider.downcast_ref().map(ask)
    }
}
