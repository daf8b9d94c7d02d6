//! Several files and unsorted ones: orders, origins, devices, slices, filters, coarse clocks.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{self, options, read, read_bytes};
use destage_trace::{ReadControls, ReadMeter};
use destage_trace::{ReaderOptions, RecordOp, Stream, TraceError, with_stream};
use proptest::prelude::*;

/// Files of k5cloud lines `volume,seconds,R,offset,4096`, by (volume, seconds, block).
fn files(contents: &[&[(u32, u64, u64)]]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let paths = contents.iter().enumerate().map(|(i, lines)| {
        let path = folder.path().join(format!("f{i}.csv"));
        let op = |block: u64| if block.is_multiple_of(2) { "R" } else { "W" };
        let text: String = lines
            .iter()
            .map(|(v, t, b)| format!("{v},{t}.0,{},{},4096\n", op(*b), b * 4096))
            .collect();
        std::fs::write(&path, text).unwrap();
        path
    });
    let paths = paths.collect();
    (folder, paths)
}

/// Options under which times from 0 are no question.
fn given() -> ReaderOptions {
    options(&[("format", "k5cloud")])
}

/// (seconds, device name, block) of what was read.
fn shown(found: &support::Read) -> Vec<(u64, String, u64)> {
    let name = |d: u32| found.devices[d as usize].clone();
    found
        .records
        .iter()
        .map(|r| (r.time_ns / 1_000_000_000, name(r.device), r.offset_bytes / 4096))
        .collect()
}

fn go(paths: &[PathBuf], settings: &[(&str, &str)]) -> Vec<(u64, u64)> {
    shown(&read(paths, &options(settings)).unwrap()).into_iter().map(|(t, _, b)| (t, b)).collect()
}

#[test]
fn files_are_merged_by_time_and_ties_keep_their_order() {
    let (_folder, paths) =
        files(&[&[(1, 10, 1), (1, 20, 2), (1, 20, 3)], &[(2, 5, 4), (2, 20, 5), (2, 30, 6)]]);
    assert_eq!(go(&paths, &[]), [(5, 4), (10, 1), (20, 2), (20, 3), (20, 5), (30, 6)]);
    let swapped: Vec<PathBuf> = paths.iter().rev().cloned().collect();
    assert_eq!(go(&swapped, &[]), [(5, 4), (10, 1), (20, 5), (20, 2), (20, 3), (30, 6)]);
}

#[test]
fn origins_and_concatenation() {
    let (_folder, paths) = files(&[&[(1, 100, 1), (1, 107, 2)], &[(1, 50, 3), (1, 52, 4)]]);
    assert_eq!(go(&paths, &[]), [(50, 3), (52, 4), (100, 1), (107, 2)]);
    assert_eq!(go(&paths, &[("time_origin", "file")]), [(0, 1), (0, 3), (2, 4), (7, 2)]);
    assert_eq!(
        go(&paths, &[("time_origin", "file"), ("concat", "true")]),
        [(0, 1), (7, 2), (7, 3), (9, 4)]
    );
}

#[test]
fn stored_and_strict_order() {
    let (_folder, paths) = files(&[&[(1, 9, 1), (1, 5, 2), (1, 7, 3), (1, 11, 4)]]);
    assert_eq!(go(&paths, &[]), [(5, 2), (7, 3), (9, 1), (11, 4)]);
    assert_eq!(go(&paths, &[("order", "file")]), [(9, 1), (9, 2), (9, 3), (11, 4)]);
    let error = read(&paths, &options(&[("order", "strict")])).unwrap_err().to_string();
    assert!(error.contains("f0.csv:2: time steps back by 4000000000 ns"), "{error}");
    let summary = read(&paths, &options(&[])).unwrap().summary;
    assert_eq!((summary.stepped_back, summary.largest_step_ns), (1, 4_000_000_000));
}

#[test]
fn a_step_beyond_the_window_is_sorted_externally_and_said() {
    let lines: Vec<(u32, u64, u64)> =
        (0..20_000).map(|i| (1, if i == 15_000 { 0 } else { 10 + i }, i)).collect();
    let (_folder, paths) = files(&[&lines, &[(2, 3, 7)]]);
    let mut few = ReaderOptions { sort_window_records: 64, ..given() };
    let far = read(&paths, &few).unwrap();
    assert!(far.summary.sorted_externally && far.summary.notes[0].contains("more than 64 places"));
    few.sort_window_records = 1 << 20;
    let near = read(&paths, &few).unwrap();
    assert!(!near.summary.sorted_externally);
    assert_eq!(far.records, near.records);
    assert_eq!(shown(&far)[0], (0, "1".to_owned(), 15_000));
    // Without a way to start over it is an error, never a wrong order.
    few.sort_window_records = 64;
    let mut stream = Stream::open(&paths, &few).unwrap();
    let mut batch = Vec::new();
    let result = loop {
        match stream.next_batch(&mut batch) {
            Ok(true) => {}
            other => break other,
        }
    };
    assert!(matches!(result, Err(TraceError::BeyondWindow)));
}

#[test]
fn devices_are_selected_and_renumbered() {
    let (_folder, paths) = files(&[&[(7, 1, 1), (3, 2, 2), (10, 3, 3), (3, 4, 4)]]);
    let found = read(&paths, &options(&[("volume", "10,3")])).unwrap();
    assert_eq!(found.devices, ["10", "3"]);
    assert_eq!(shown(&found), [(2, "3".into(), 2), (3, "10".into(), 3), (4, "3".into(), 4)]);
    assert_eq!(found.summary.files[0].records, 4);
    let missing = read(&paths, &options(&[("volume", "3,4")])).unwrap_err();
    assert!(
        missing.exit_status() == 2 && missing.to_string().contains("volume 4: not in the trace"),
        "{missing}"
    );
}

#[test]
fn slices_count_from_the_first_record_and_filters_choose() {
    let lines: Vec<(u32, u64, u64)> = (0..10).map(|i| (1, 100 + i, i)).collect();
    let (_folder, paths) = files(&[&lines]);
    let blocks = |settings: &[(&str, &str)]| -> Vec<u64> {
        go(&paths, settings).into_iter().map(|(_, b)| b).collect()
    };
    assert_eq!(blocks(&[("from", "3s"), ("for", "4s")]), [3, 4, 5, 6]);
    assert_eq!(blocks(&[("from", "7500ms")]), [8, 9]);
    assert_eq!(blocks(&[("requests", "2")]), [0, 1]);
    assert_eq!(blocks(&[("ops", "write"), ("requests", "3")]), [1, 3, 5]);
    assert_eq!(blocks(&[("ops", "write"), ("from", "4s")]), [5, 7, 9]);
    assert_eq!(blocks(&[("offset_from", "8191"), ("offset_to", "16385")]), [1, 2, 3, 4]);
    assert_eq!(blocks(&[("offset_from", "8192"), ("offset_to", "16384")]), [2, 3]);
    let sliced =
        read(&paths, &options(&[("ops", "write"), ("offset_to", "16384")])).unwrap().summary;
    assert_eq!((sliced.requests, sliced.filtered_out), (2, 8));
}

#[test]
fn ticks_of_a_coarse_clock_are_spread_evenly() {
    let text = "1538323200,0,8,0,1\n1538323200,8,8,1,1\n1538323200,16,8,0,1\n\
     1538323201,24,8,1,1\n1538323202,0,8,0,1\n1538323202,8,8,1,1\n";
    let times = |settings: &[(&str, &str)]| -> Vec<u64> {
        let found = read_bytes("t", text.as_bytes(), &options(settings)).unwrap();
        found.records.iter().map(|r| r.time_ns - 1_538_323_200_000_000_000).collect()
    };
    let s = 1_000_000_000;
    assert_eq!(times(&[]), [0, 0, 0, s, 2 * s, 2 * s]);
    assert_eq!(
        times(&[("spread", "uniform")]),
        [0, 333_333_333, 666_666_666, s, 2 * s, 2 * s + s / 2]
    );
    assert_eq!(times(&[("spread", "uniform"), ("requests", "2")]), [0, 333_333_333]);
    let (_folder, paths) = files(&[&[(1, 1, 1), (1, 1, 2)]]);
    let error = read(&paths, &options(&[("spread", "uniform")])).unwrap_err();
    assert!(error.exit_status() == 2 && error.to_string().contains("spread"), "{error}");
}

#[test]
fn the_implausible_is_warned_of() {
    let summary = |text: &str| read_bytes("t", text.as_bytes(), &options(&[])).unwrap().summary;
    let warnings = |text: &str| summary(text).warnings.join("\n");
    let fine = "1,0.0,R,0,4096\n1,10.0,W,4096,4096\n";
    assert_eq!(warnings(fine), "");
    assert!(warnings(&fine.replace("10.0", "0.0001")).contains("lasts only 100000 ns"));
    assert!(warnings(&fine.replace("10.0", "999999999.0")).contains("more than 10 years"));
    let reads = summary(&fine.replace(",W,", ",R,"));
    assert_eq!((reads.warnings.len(), reads.notes), (0, vec!["all requests are reads".to_owned()]));
    let line = read_bytes("t", fine.as_bytes(), &options(&[])).unwrap().summary.plausibility_line();
    assert_eq!(
        line,
        "2 requests, 10.000 s, 0.2 requests/s, mean 4096 bytes, addresses 0..8192, 1 device, 50.0 \
         % reads"
    );
}

#[test]
fn reading_can_be_watched_and_interrupted() {
    let lines: Vec<(u32, u64, u64)> = (0..50_000).map(|i| (1, i, i)).collect();
    let (_folder, paths) = files(&[&lines]);
    let size = std::fs::metadata(&paths[0]).unwrap().len();
    let hooks = ReadControls {
        interrupt: Some(Arc::new(AtomicBool::new(false))),
        meter: Some(Arc::new(ReadMeter::default())),
        threads: None,
    };
    let (flag, progress) = (hooks.interrupt.clone().unwrap(), hooks.meter.clone().unwrap());
    let mut stop_at = usize::MAX;
    let mut run = |stop: usize| {
        stop_at = stop;
        with_stream(&paths, &given(), hooks.clone(), |stream| {
            let (mut batch, mut records) = (Vec::new(), 0);
            while stream.next_batch(&mut batch)? {
                records += batch.len();
                flag.store(records >= stop_at, Ordering::Relaxed);
            }
            Ok(records)
        })
    };
    assert_eq!(run(usize::MAX).unwrap(), 50_000);
    assert_eq!(progress.done_bytes.load(Ordering::Relaxed), size);
    assert_eq!(progress.total_bytes.load(Ordering::Relaxed), size);
    assert_eq!(progress.records.load(Ordering::Relaxed), 50_000);
    let error = run(1).unwrap_err();
    assert!(matches!(error, TraceError::Interrupted) && error.exit_status() == 130);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_files_come_out_as_one_stable_sort(
        contents in prop::collection::vec(
            prop::collection::vec((0u32..4, 0u64..30, 0u64..1000), 1..60), 1..5
        ),
        window in 1usize..40,
    ) {
        let slices: Vec<&[(u32, u64, u64)]> = contents.iter().map(Vec::as_slice).collect();
        let (_folder, paths) = files(&slices);
        let options = ReaderOptions { sort_window_records: window, ..given() };
        let found = read(&paths, &options).unwrap();
        let mut expected: Vec<(u64, String, u64)> =
            contents.iter().flatten().map(|(v, t, b)| (*t, v.to_string(), *b)).collect();
        expected.sort_by_key(|r| r.0);
        prop_assert_eq!(shown(&found), expected);
        prop_assert!(found.records.iter().all(|r| r.op != RecordOp::Flush));
    }
}
