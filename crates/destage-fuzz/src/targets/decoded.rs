//! A decoded trace in the cache folder, damaged: it is noticed, and the trace is decoded again.

use crate::Target;
use destage_synth::{Workload, open_workload};
use destage_trace::cache::{Cache, CacheOptions};
use destage_trace::decode::{DecodeOptions, NoHooks};
use destage_trace::trace::Trace;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

pub const TARGET: Target = Target {
    name: "decoded",
    takes: "a byte that chooses; then the file of a decoded trace, or changes to a right one",
    holds: "the trace is opened all the same, with what it always had",
    run,
    samples: Vec::new,
};

fn open(folder: &Path) -> Arc<Trace> {
    let workload: Workload = serde_json::from_value(json!({
        "kind": "oltp", "requests": 200, "pages": 100, "seed": 1,
    }))
    .expect("a good description");
    let cache = CacheOptions { dir: Some(folder.to_owned()), ..CacheOptions::default() };
    open_workload(&workload, &DecodeOptions::default(), &cache, &mut NoHooks).expect("it opens")
}

fn run(data: &[u8]) {
    let Some((&chosen, rest)) = data.split_first() else { return };
    let folder = tempfile::tempdir().expect("room for a small folder");
    let first = open(folder.path());
    let right = content(&first);
    drop(first);
    for file in kept(folder.path()) {
        let mut bytes = std::fs::read(&file).expect("it was written");
        match chosen % 3 {
            0 => bytes = rest.to_vec(),
            1 => bytes.truncate(usize::from(chosen) * bytes.len() / 256),
            _ => changed(&mut bytes, rest),
        }
        std::fs::write(&file, bytes).expect("it can be written again");
    }
    assert_eq!(content(&open(folder.path())), right, "the damage was taken for the trace");
}

/// Three bytes say where, one what.
fn changed(bytes: &mut [u8], changes: &[u8]) {
    for change in changes.chunks_exact(4) {
        let place = u32::from_le_bytes([change[0], change[1], change[2], 0]) as usize;
        let length = bytes.len();
        bytes[place % length] = change[3];
    }
}

fn kept(folder: &Path) -> Vec<std::path::PathBuf> {
    let options = CacheOptions { dir: Some(folder.to_owned()), ..CacheOptions::default() };
    let entries = Cache::new(&options).and_then(|cache| cache.entries()).expect("readable");
    assert!(!entries.is_empty(), "a trace is kept");
    entries.into_iter().map(|entry| entry.path).collect()
}

/// All columns.
fn content(trace: &Trace) -> (Vec<u32>, Vec<u32>, Vec<u64>, Vec<u64>, u32) {
    let (ids, ops) = (trace.first_ids().to_vec(), trace.pages_ops().to_vec());
    (ids, ops, trace.arrivals_ns().to_vec(), trace.lpns().to_vec(), trace.pages())
}
