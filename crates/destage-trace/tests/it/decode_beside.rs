//! Chunks of rows are kept, and pages numbered, on threads beside the decoder: the same comes out.

use std::sync::Arc;

use destage_trace::decode::{DecodeOptions, Hooks, RecordSource};
use destage_trace::error::TraceError;
use destage_trace::{
    ChainMark, DeviceTable, NO_RESPONSE, Record, RecordOp, Result, Trace, decode_records,
};

/// So many threads beside.
struct Beside(usize);

impl Hooks for Beside {
    fn threads(&self) -> Option<usize> {
        Some(self.0)
    }
}

/// Records in memory; at their end an error, if there is one.
struct Given<'a> {
    records: &'a [Record],
    devices: DeviceTable,
    at: usize,
    error: Option<&'static str>,
}

impl RecordSource for Given<'_> {
    fn next_batch(&mut self, batch: &mut Vec<Record>) -> Result<bool> {
        let end = (self.at + 8192).min(self.records.len());
        batch.extend_from_slice(&self.records[self.at..end]);
        self.at = end;
        match self.error.filter(|_| end == self.records.len()) {
            Some(message) => Err(TraceError::Usage { message: message.to_owned() }),
            None => Ok(end < self.records.len()),
        }
    }

    fn devices(&self) -> &DeviceTable {
        &self.devices
    }

    fn summary(&self) -> serde_json::Value {
        serde_json::json!({})
    }
}

fn decode(
    records: &[Record],
    error: Option<&'static str>,
    options: &DecodeOptions,
    threads: usize,
) -> Result<Arc<Trace>> {
    let mut devices = DeviceTable::new();
    for name in ["sdb", "sda", "sdc"] {
        devices.index(name.as_bytes());
    }
    let mut given = Given { records, devices, at: 0, error };
    decode_records(&mut given, "given", options, &mut Beside(threads))
}

/// Five chunks and a part of one: reads and writes of up to 40 pages of three devices, now and then
/// a trim; the first response comes in the third chunk.
fn records() -> Vec<Record> {
    let mut seed = 7u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let record = |k: u64| Record {
        time_ns: 1_000 + k * 10,
        device: next(3) as u32,
        op: match next(200) {
            0 => RecordOp::Trim,
            1..100 => RecordOp::Write,
            _ => RecordOp::Read,
        },
        offset_bytes: next(200_000) * 2048,
        length_bytes: (1 + next(80)) * 2048,
        response_ns: if k > 150_000 { next(1_000) } else { NO_RESPONSE },
        chain: ChainMark::NONE,
    };
    (0..350_000).map(record).collect()
}

fn assert_same(a: &Trace, b: &Trace) {
    assert!(a.first_ids() == b.first_ids() && a.pages_ops() == b.pages_ops());
    assert!(a.arrivals_ns() == b.arrivals_ns() && a.lpns() == b.lpns());
    assert!(a.responses_ns() == b.responses_ns() && a.continuations() == b.continuations());
    assert!(a.control_commands() == b.control_commands());
    assert_eq!(a.meta(), b.meta());
}

#[test]
fn what_is_decoded_does_not_depend_on_threads() {
    let records = records();
    for (spool_limit_bytes, wrap_pages) in
        [(usize::MAX, None), (1 << 20, None), (usize::MAX, Some(30_000))]
    {
        let options = DecodeOptions { spool_limit_bytes, wrap_pages, ..DecodeOptions::default() };
        let alone = decode(&records, None, &options, 0).expect("decodes");
        assert!(alone.meta().counts.unique_both > 1_000);
        for threads in [1, 2, 7] {
            let beside = decode(&records, None, &options, threads).expect("decodes");
            assert_same(&alone, &beside);
        }
    }
}

#[test]
fn what_could_not_be_kept_is_told_before_what_could_not_be_read() {
    let mut records = records();
    let options = DecodeOptions { page_bytes: Some(1), ..DecodeOptions::default() };
    for threads in [0, 1, 2] {
        let error = decode(&records[..200_000], Some("the end"), &options, threads).unwrap_err();
        assert_eq!(error.to_string(), "the end", "{threads} threads");
    }
    // Of the second chunk; nothing is marked of it, and what comes behind is not met.
    records[70_000].op = RecordOp::Write;
    records[70_000].length_bytes = 1 << 33;
    for threads in [0, 1, 2] {
        let error = decode(&records[..200_000], Some("the end"), &options, threads).unwrap_err();
        assert!(error.to_string().contains("can be numbered"), "{threads} threads: {error}");
    }
}
