//! Records of a workload, in batches, as a reader gives them.

use std::sync::Arc;

use rand::SeedableRng;
use rand_pcg::Pcg64;
use serde_json::{Value, json};

use destage_trace::{
    CacheOptions, DecodeOptions, DeviceTable, Hooks, Record, RecordOp, RecordSource, Result, Trace,
    open_generated,
};

use super::arrivals::ArrivalClock;
use super::description::{Workload, WorkloadKind};
use super::pages::RequestSampler;
use crate::random::chance;

/// Records per batch.
const BATCH: u64 = 1 << 14;
/// Name of the one device.
const DEVICE: &[u8] = b"synth";

/// Makes the records of a workload.
pub struct SynthSource {
    workload: Workload,
    sampler: RequestSampler,
    clock: ArrivalClock,
    /// Addresses, lengths and operations; the clock has a stream of its own, so that another
    /// arrival process asks for the same pages.
    random: Pcg64,
    clock_random: Pcg64,
    read_chance: f64,
    done: u64,
    devices: DeviceTable,
}

impl SynthSource {
    /// # Errors
    ///
    /// Errors of [`Workload::check`].
    pub fn new(workload: &Workload) -> Result<Self> {
        workload.check()?;
        let mut random = Pcg64::seed_from_u64(workload.seed);
        let mut clock_random = Pcg64::seed_from_u64(!workload.seed);
        let sampler = RequestSampler::new(workload, &mut random)?;
        let w = workload;
        let clock = ArrivalClock::new(w.arrivals, w.gap_ns, w.on_ns, w.off_ns, &mut clock_random);
        let mut devices = DeviceTable::new();
        devices.index(DEVICE);
        // The log is written only: what is not log reads more, so that the whole has the ratio.
        let read_chance = match w.kind {
            WorkloadKind::Oltp if w.log_share < 1.0 => w.read_ratio / (1.0 - w.log_share),
            _ => w.read_ratio,
        };
        Ok(SynthSource {
            workload: workload.clone(),
            sampler,
            clock,
            random,
            clock_random,
            read_chance,
            done: 0,
            devices,
        })
    }

    /// The description.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    fn record(&mut self) -> Record {
        let draw = self.sampler.sample(&self.workload, &mut self.random);
        let read = !draw.log && chance(&mut self.random, self.read_chance);
        Record {
            time_ns: self.clock.next(&mut self.clock_random),
            offset_bytes: draw.first * self.workload.page_bytes,
            length_bytes: draw.pages * self.workload.page_bytes,
            device: 0,
            op: if read { RecordOp::Read } else { RecordOp::Write },
            ..Record::EMPTY
        }
    }
}

impl RecordSource for SynthSource {
    fn next_batch(&mut self, batch: &mut Vec<Record>) -> Result<bool> {
        let count = BATCH.min(self.workload.requests - self.done);
        batch.reserve(count as usize);
        for _ in 0..count {
            let record = self.record();
            batch.push(record);
        }
        self.done += count;
        Ok(self.done < self.workload.requests)
    }

    fn devices(&self) -> &DeviceTable {
        &self.devices
    }

    fn summary(&self) -> Value {
        json!({ "format": "synth", "workload": self.workload.to_map() })
    }

    fn page_bytes(&self) -> Option<u64> {
        Some(self.workload.page_bytes)
    }

    fn position(&self) -> (u64, Option<u64>) {
        (self.done, Some(self.workload.requests))
    }
}

impl Workload {
    /// Records of the workload.
    ///
    /// # Errors
    ///
    /// Errors of [`check`](Self::check).
    pub fn source(&self) -> Result<SynthSource> {
        SynthSource::new(self)
    }
}

/// Makes and decodes a workload, or maps it from the cache.
///
/// # Errors
///
/// `Usage` for an impossible description or option, `Write`, `Interrupted`.
pub fn open_workload(
    workload: &Workload,
    options: &DecodeOptions,
    cache: &CacheOptions,
    hooks: &mut dyn Hooks,
) -> Result<Arc<Trace>> {
    workload.check()?;
    let name = format!("synth {}", workload.kind.name());
    let description = Value::Object(workload.to_map());
    open_generated(name, description, options, cache, hooks, || workload.source())
}
