//! The real binary traces, where they are available: the counts of their index, and what
//! independent programs make of the same bytes.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{self, options, read};
use destage_trace::convert::{self, ConvertOptions};
use destage_trace::{NoHooks, Record, RecordOp, with_stream};

/// Entry of a file in the index of the traces.
#[derive(Debug, PartialEq)]
struct Index {
    requests: usize,
    reads: usize,
    writes: usize,
    unique_4k_pages: usize,
    first_byte: u64,
    end_byte: u64,
    /// Whole milliseconds between the first and the last request.
    duration_ms: u64,
}

impl Index {
    fn of(records: &[Record]) -> Index {
        let count = |op| records.iter().filter(|r| r.op == op).count();
        let mut pages = HashSet::new();
        for r in records {
            let last = (r.offset_bytes + r.length_bytes - 1) / 4096;
            pages.extend((r.offset_bytes / 4096..=last).map(|page| (r.device, page)));
        }
        let times = || records.iter().map(|r| r.time_ns);
        Index {
            requests: records.len(),
            reads: count(RecordOp::Read),
            writes: count(RecordOp::Write),
            unique_4k_pages: pages.len(),
            first_byte: records.iter().map(|r| r.offset_bytes).min().unwrap_or(0),
            end_byte: records.iter().map(|r| r.offset_bytes + r.length_bytes).max().unwrap_or(0),
            duration_ms: (times().max().unwrap_or(0) - times().min().unwrap_or(0)) / 1_000_000,
        }
    }
}

#[test]
fn cloudphysics() {
    let Some(folder) = support::traces() else { return };
    let found = read(&[folder.join("cloudphysics_libcachesim.vscsi.xz")], &options(&[])).unwrap();
    assert_eq!(
        Index::of(&found.records),
        Index {
            requests: 113_872,
            reads: 46_974,
            writes: 66_898,
            unique_4k_pages: 269_210,
            first_byte: 8_162_816,
            end_byte: 33_584_938_496,
            duration_ms: 7_200_089,
        }
    );
    assert_eq!((found.summary.files[0].format.as_str(), found.summary.stepped_back), ("vscsi", 0));
}

#[test]
fn hplajw() {
    let Some(folder) = support::traces() else { return };
    let found = read(&[folder.join("hplajw_1week_1992.srt.xz")], &options(&[])).unwrap();
    assert_eq!(
        Index::of(&found.records),
        Index {
            requests: 44_519,
            reads: 13_040,
            writes: 31_479,
            unique_4k_pages: 7_344,
            first_byte: 92_160,
            end_byte: 334_876_672,
            duration_ms: 603_064_588,
        }
    );
    assert_eq!(
        (found.devices, found.summary.stepped_back),
        (vec!["1".to_owned(), "0".to_owned()], 0)
    );
    // Saturday, 30 May 1992, three minutes past midnight, and the first request's microseconds
    assert_eq!(found.records[0].time_ns / 1_000_000_000, 707_184_186);
}

/// The raw recording, its text by blkparse, and the converted CSV are the same requests.
#[test]
fn our_raw_recording() {
    let Some(folder) = support::traces() else { return };
    let own = folder.join("own");
    if !own.join("pgtpcb_raw.blktrace.tar.xz").exists() {
        eprintln!("skipped: no traces of our own");
        return;
    }
    let binary = read(&[own.join("pgtpcb_raw.blktrace.tar.xz")], &options(&[])).unwrap();
    let text = read(&[own.join("pgtpcb_raw.blkparse.txt.xz")], &options(&[])).unwrap();
    let csv = read(&[own.join("pgtpcb.csv.xz")], &options(&[("requests", "20002")])).unwrap();
    for event in ["Q", "C"] {
        let event = [("event", event)];
        let binary = read(&[own.join("pgtpcb_raw.blktrace.tar.xz")], &options(&event)).unwrap();
        let text = read(&[own.join("pgtpcb_raw.blkparse.txt.xz")], &options(&event)).unwrap();
        assert_eq!(extents(&binary.records), extents(&text.records), "{event:?}");
    }
    assert_eq!(extents(&binary.records), extents(&text.records));
    assert_eq!(
        binary.devices,
        text.devices.iter().map(|d| d.replace(',', ":")).collect::<Vec<_>>()
    );
    // Times of one clock, from blkparse's own zero and from ours: one distance for all.
    let distances: HashSet<u64> =
        binary.records.iter().zip(&text.records).map(|(b, t)| b.time_ns - t.time_ns).collect();
    assert_eq!(distances.len(), 1);
    let data: Vec<_> = binary.records.iter().filter(|r| r.op != RecordOp::Flush).copied().collect();
    assert_eq!(data.len(), 20_002);
    assert_eq!(extents(&data), extents(&csv.records));
}

fn extents(records: &[Record]) -> Vec<(RecordOp, u64, u64)> {
    records.iter().map(|r| (r.op, r.offset_bytes, r.length_bytes)).collect()
}

/// Whether a program is installed; a line that says so if not.
fn installed(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        eprintln!("skipped: {program} is not installed");
    }
    there
}

/// Converts a file.
fn write(path: PathBuf, target: &str, destination: &Path) -> convert::ConvertSummary {
    with_stream(&[path], &options(&[]), Default::default(), |stream| {
        convert::convert(
            stream,
            convert::find(target)?,
            destination,
            &ConvertOptions::default(),
            &mut NoHooks,
        )
    })
    .unwrap()
}

/// blkparse prints our blktrace output, and our reader of its text reads it back.
#[test]
fn blkparse_reads_what_we_write() {
    if !installed("blkparse") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for name in ["vscsi.vscsi", "mqsim.trace", "blktrace.blktrace.0"] {
        let path = folder.path().join("x.blktrace.0");
        write(support::sample(name), "blktrace", &path);
        let expected = read(
            std::slice::from_ref(&path),
            &options(&[("only_this_file", "true"), ("volumes", "stack")]),
        )
        .unwrap();
        let run = Command::new("blkparse")
            .args(["-q", "-i", "x"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let text = folder.path().join("x.txt");
        std::fs::write(&text, &run.stdout).unwrap();
        let several = [("volumes", "stack")];
        let printed = read(&[text], &options(&several)).unwrap();
        assert_eq!(extents(&printed.records), extents(&expected.records), "{name}");
        let since_first = |records: &[Record]| -> Vec<u64> {
            records.iter().map(|r| r.time_ns - records[0].time_ns).collect()
        };
        assert_eq!(since_first(&printed.records), since_first(&expected.records), "{name}");
    }
}

/// The specification's own bytes through blkparse and through our reader.
#[test]
fn blkparse_and_we_agree_on_a_recording() {
    if !installed("blkparse") {
        return;
    }
    let run = Command::new("blkparse")
        .args(["-q", "-i", "blktrace"])
        .current_dir(support::sample(""))
        .output()
        .unwrap();
    assert!(run.status.success());
    let (_folder, text) = support::file("x.txt", &run.stdout);
    for event in ["D", "Q", "C"] {
        let settings = [("event", event)];
        let ours = read(&[support::sample("blktrace.blktrace.0")], &options(&settings)).unwrap();
        let theirs = read(std::slice::from_ref(&text), &options(&settings)).unwrap();
        let mut ours = extents(&ours.records);
        let mut theirs = extents(&theirs.records);
        // blkparse breaks ties of time in its own way
        let key = |e: &(RecordOp, u64, u64)| (e.1, e.2);
        ours.sort_by_key(key);
        theirs.sort_by_key(key);
        assert_eq!(ours, theirs, "{event}");
    }
}

/// fio replays the log that we write, and issues what it says.
#[test]
fn fio_replays_what_we_write() {
    if !installed("fio") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("x.log");
    write(support::sample("vscsi.vscsi"), "fio", &log);
    let job = ["--name=replay", "--ioengine=null", "--output-format=json"];
    let read_log = format!("--read_iolog={}", log.display());
    let run =
        Command::new("fio").args(job).arg(read_log).current_dir(folder.path()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8_lossy(&run.stdout);
    let report: serde_json::Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let issued = |kind: &str, field: &str| report["jobs"][0][kind][field].as_u64().unwrap();
    assert_eq!(
        (issued("read", "total_ios"), issued("read", "io_bytes")),
        (3, 16_384 + 65_536 + 4_096)
    );
    assert_eq!(
        (issued("write", "total_ios"), issued("write", "io_bytes")),
        (5, 4096 + 4096 + 8192 + 512 + (1 << 20))
    );
}
