//! Records of a surrogate trace, in batches, as a reader gives them.

use serde_json::{Value, json};

use super::load::{RequestTarget, SurrogateTrace};
use super::place::Placement;
use destage_trace::{DeviceTable, Record, RecordOp, RecordSource, Result};

/// Records per batch.
const BATCH: usize = 1 << 14;

/// The records of a load that lies somewhere.
pub struct SurrogateSource<'a> {
    surrogate: &'a SurrogateTrace,
    placed: &'a Placement,
    /// All times are divided by it.
    intensity: f64,
    done: usize,
    devices: DeviceTable,
}

impl<'a> SurrogateSource<'a> {
    /// Times are divided by `intensity`, which is above 0.
    pub fn new(surrogate: &'a SurrogateTrace, placed: &'a Placement, intensity: f64) -> Self {
        let mut devices = DeviceTable::new();
        devices.index(b"stand-in");
        SurrogateSource { surrogate, placed, intensity, done: 0, devices }
    }
}

impl RecordSource for SurrogateSource<'_> {
    fn next_batch(&mut self, batch: &mut Vec<Record>) -> Result<bool> {
        let requests = &self.surrogate.requests;
        let end = requests.len().min(self.done + BATCH);
        let page_bytes = self.surrogate.recipe.page_bytes;
        for request in &requests[self.done..end] {
            let first = match request.asked {
                RequestTarget::Extent(extent) => self.placed.starts[extent as usize],
                RequestTarget::Log(page) => self.placed.log + u64::from(page),
            };
            let time_ns = if self.intensity == 1.0 {
                request.time_ns
            } else {
                (request.time_ns as f64 / self.intensity).round() as u64
            };
            batch.push(Record {
                time_ns,
                offset_bytes: first * page_bytes,
                length_bytes: u64::from(request.pages) * page_bytes,
                device: 0,
                op: if request.writes { RecordOp::Write } else { RecordOp::Read },
                ..Record::EMPTY
            });
        }
        self.done = end;
        Ok(end < requests.len())
    }

    fn devices(&self) -> &DeviceTable {
        &self.devices
    }

    fn summary(&self) -> Value {
        json!({ "format": "stand-in", "recipe": self.surrogate.recipe })
    }

    fn page_bytes(&self) -> Option<u64> {
        Some(self.surrogate.recipe.page_bytes)
    }

    fn position(&self) -> (u64, Option<u64>) {
        (self.done as u64, Some(self.surrogate.requests.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::tests::{generated, plain};
    use super::super::place::{Channels, place};
    use super::super::recipe::Recipe;
    use super::*;
    use destage_trace::{DecodeOptions, NoHooks, decode_records};

    #[test]
    fn a_decoded_load_has_the_counts_of_its_recipe() {
        let load = generated(&plain(), 1);
        let on = Channels {
            count: 8,
            stretch_pages: 2,
            deviation: 1.0,
            missed_deviation: 1.0,
            cache_pages: 100,
        };
        for channels in [None, Some(on)] {
            let placed = place(&load, 1, channels);
            let mut source = SurrogateSource::new(&load, &placed, 1.0);
            let options = DecodeOptions { page_bytes: Some(4096), ..DecodeOptions::default() };
            let trace = decode_records(&mut source, "a stand-in", &options, &mut NoHooks).unwrap();
            let counts = &trace.meta().counts;
            assert_eq!(counts.requests, 20_000);
            assert_eq!(counts.unique_pages, 4_000, "every extent is asked for, and all of the log");
            // Five standard deviations of a share, and of the mean of geometric lengths.
            assert!((counts.writes as f64 / 20_000.0 - 0.6).abs() < 0.018);
            assert!((counts.accesses as f64 / 20_000.0 - 2.0).abs() < 0.2);
        }
    }

    #[test]
    fn times_are_divided_and_addresses_are_not() {
        let load = generated(&Recipe { requests: 100, ..plain() }, 1);
        let placed = place(&load, 1, None);
        let records = |intensity| {
            let mut batch = Vec::new();
            assert!(
                !SurrogateSource::new(&load, &placed, intensity).next_batch(&mut batch).unwrap()
            );
            batch
        };
        for (plain, faster) in records(1.0).iter().zip(records(4.0)) {
            assert!(plain.time_ns.abs_diff(4 * faster.time_ns) <= 2);
            assert_eq!(plain.offset_bytes, faster.offset_bytes);
        }
    }
}
