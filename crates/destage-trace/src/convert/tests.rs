//! Every export target is read back by its own reader, on random records.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::decode::NoHooks;
use crate::formats::testing::{self, Whole};
use crate::formats::{self};
use crate::input::Input;
use crate::options::{Object, ReaderOptions, TimeUnit};
use crate::record::{DeviceTable, RecordOp};

/// Records in memory, in the order of time.
struct Memory {
    batches: Vec<Vec<Record>>,
    devices: DeviceTable,
    page_bytes: Option<u64>,
}

impl Memory {
    fn new(records: &[Record], devices: &[&str]) -> Memory {
        let mut table = DeviceTable::new();
        for name in devices {
            table.index(name.as_bytes());
        }
        let batches = records.chunks(3).rev().map(<[Record]>::to_vec).collect();
        Memory { batches, devices: table, page_bytes: None }
    }
}

impl RecordSource for Memory {
    fn next_batch(&mut self, batch: &mut Vec<Record>) -> Result<bool> {
        batch.extend(self.batches.pop().unwrap_or_default());
        Ok(!self.batches.is_empty())
    }

    fn devices(&self) -> &DeviceTable {
        &self.devices
    }

    fn summary(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn page_bytes(&self) -> Option<u64> {
        self.page_bytes
    }
}

/// A folder and what was written to `out` in it.
struct Written {
    folder: tempfile::TempDir,
    summary: ConvertSummary,
}

impl Written {
    fn path(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path()).unwrap()
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }

    /// Reads it with the format of this name.
    fn read(&self, format: &str, set: impl FnOnce(&mut ReaderOptions)) -> Whole {
        let mut options = ReaderOptions::default();
        set(&mut options);
        let input = Input::from_bytes("out", self.bytes());
        testing::try_read(formats::find(format).unwrap(), input, options)
            .unwrap_or_else(|e| panic!("{e}"))
    }
}

fn try_write(source: &mut Memory, target: &str, options: &ConvertOptions) -> Result<Written> {
    let folder = tempfile::tempdir().unwrap();
    let summary =
        convert(source, find(target)?, &folder.path().join("out"), options, &mut NoHooks)?;
    Ok(Written { folder, summary })
}

fn write(records: &[Record], devices: &[&str], target: &str, options: &ConvertOptions) -> Written {
    try_write(&mut Memory::new(records, devices), target, options).unwrap_or_else(|e| panic!("{e}"))
}

fn record(time_ns: u64, device: u32, op: RecordOp, offset_bytes: u64, length_bytes: u64) -> Record {
    Record { time_ns, offset_bytes, length_bytes, device, op, ..Record::EMPTY }
}

const LOSSY: ConvertOptions = ConvertOptions {
    lossy: true,
    absolute_time: false,
    time_unit: None,
    page_bytes: None,
    source_format: None,
};

const OPS: [RecordOp; 4] = [RecordOp::Read, RecordOp::Write, RecordOp::Trim, RecordOp::Flush];

/// Up to 40 records of three devices, times from 0 on and in order, each with one of `ops`; offsets
/// and lengths are multiples of `unit` bytes, times of `tick` ns.
fn records(ops: &'static [RecordOp], unit: u64, tick: u64) -> impl Strategy<Value = Vec<Record>> {
    let one = (
        0u64..5_000_000,
        0u32..3,
        0..ops.len(),
        0u64..1 << 40,
        1u64..1 << 16,
        proptest::option::of(0u64..1 << 40),
    );
    proptest::collection::vec(one, 1..40).prop_map(move |fields| {
        let mut time_ns = 0;
        let mut first = true;
        fields
            .into_iter()
            .map(|(gap, device, op, offset, length, response)| {
                time_ns += if std::mem::take(&mut first) { 0 } else { gap * tick };
                let op = ops[op];
                let (offset_bytes, length_bytes) =
                    if op == RecordOp::Flush { (0, 0) } else { (offset * unit, length * unit) };
                let response_ns = response.unwrap_or(NO_RESPONSE);
                Record {
                    time_ns,
                    offset_bytes,
                    length_bytes,
                    response_ns,
                    device,
                    op,
                    ..Record::EMPTY
                }
            })
            .collect()
    })
}

/// Records with the names of their devices, which is what must survive where indices may change.
fn named(records: &[Record], names: &[String], with_response: bool) -> Vec<(Record, String)> {
    let strip = |r: &Record| Record {
        device: 0,
        response_ns: if with_response { r.response_ns } else { NO_RESPONSE },
        ..*r
    };
    records.iter().map(|r| (strip(r), names[r.device as usize].clone())).collect()
}

fn check(written: &Written, back: &Whole, records: &[Record], names: &[&str], with_response: bool) {
    let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
    assert_eq!(
        named(&back.records, &back.devices, with_response),
        named(records, &names, with_response)
    );
    assert_eq!(written.summary.requests, records.len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn mqsim_comes_back(records in records(&OPS[..2], 512, 1)) {
        let written = write(&records, &["0", "7", "3"], "mqsim", &ConvertOptions::default());
        check(&written, &written.read("mqsim", |_| ()), &records, &["0", "7", "3"], false);
    }

    #[test]
    fn disksim_comes_back(records in records(&OPS[..2], 512, 1)) {
        let written = write(&records, &["0", "7", "3"], "disksim", &ConvertOptions::default());
        check(&written, &written.read("disksim", |_| ()), &records, &["0", "7", "3"], false);
    }

    #[test]
    fn fio_comes_back(records in records(&OPS, 1, 1_000)) {
        let names = ["/dev/a", "b", "c"];
        let written = write(&records, &names, "fio", &ConvertOptions::default());
        check(&written, &written.read("fio-iolog", |_| ()), &records, &names, false);
    }

    #[test]
    fn blktrace_comes_back(records in records(&OPS, 512, 1)) {
        // Requests of one stamp are ordered by sequence, which is the order of writing.
        let names = ["8:16", "259:0", "7:1048575"];
        let written = write(&records, &names, "blktrace", &ConvertOptions::default());
        check(&written, &written.read("blktrace", |_| ()), &records, &names, false);
    }

    #[test]
    fn csv_comes_back(records in records(&OPS, 1, 1)) {
        let names = ["hm_0", "a \"b\", c", "d;|e"];
        let written = write(&records, &names, "csv", &ConvertOptions::default());
        check(&written, &written.read("csv", |_| ()), &records, &names, true);
    }

    #[test]
    fn parquet_comes_back(records in records(&OPS, 1, 1), origin_ns in 0u64..1 << 60) {
        let names = ["hm_0", "a \"b\", c", ""];
        let moved: Vec<Record> =
            records.iter().map(|r| Record { time_ns: r.time_ns + origin_ns, ..*r }).collect();
        let written = write(&moved, &names, "parquet", &ConvertOptions::default());
        check(&written, &written.read("parquet", |_| ()), &moved, &names, true);
    }

    #[test]
    fn oracle_general_comes_back_as_pages(records in records(&OPS[..2], 4096, 1_000_000_000)) {
        let one_page = |r: &Record| Record { device: 0, length_bytes: 4096, ..*r };
        let one_device: Vec<Record> = records.iter().map(one_page).collect();
        let written = write(&one_device, &["out"], "oracle-general", &LOSSY);
        let back = written.read("oracle-general", |_| ());
        let read = |r: &Record| Record { op: RecordOp::Read, ..*r };
        let reads: Vec<Record> = one_device.iter().map(read).collect();
        check(&written, &back, &reads, &["out"], false);
        check_next_accesses(&written.bytes());
    }
}

/// Every next access is the number, from 1, of the next record with the same id, or -1.
fn check_next_accesses(bytes: &[u8]) {
    let ids: Vec<&[u8]> = bytes.chunks_exact(24).map(|r| &r[4..12]).collect();
    for (i, record) in bytes.chunks_exact(24).enumerate() {
        let next = i64::from_le_bytes(record[16..24].try_into().unwrap());
        let expected =
            ids[i + 1..].iter().position(|id| *id == ids[i]).map_or(-1, |n| (i + n + 2) as i64);
        assert_eq!(next, expected, "record {i}");
    }
}

#[test]
fn the_bytes_of_the_specification() {
    let two = [
        record(0, 0, RecordOp::Write, 2048 * 512, 4096),
        record(51_200, 0, RecordOp::Read, 81_920 * 512, 16_384),
    ];
    let none = ConvertOptions::default();
    assert_eq!(write(&two, &["0"], "mqsim", &none).text(), "0 0 2048 8 0\n51200 0 81920 32 1\n");
    assert_eq!(
        write(&two, &["0"], "disksim", &none).text(),
        "0.000000 0 2048 8 0\n0.051200 0 81920 32 1\n"
    );
    let iolog = "fio version 3 iolog\n0 /dev/demo add\n0 /dev/demo open\n0 /dev/demo write \
     1048576 4096\n\
                 51 /dev/demo read 41943040 16384\n51 /dev/demo close\n";
    assert_eq!(write(&two, &["/dev/demo"], "fio", &none).text(), iolog);
    let csv = "time_ns,device,op,offset_bytes,length_bytes,response_ns\n0,0,write,1048576,4096,\n\
               51200,0,read,41943040,16384,\n";
    assert_eq!(write(&two, &["0"], "csv", &none).text(), csv);
    let pages =
        write(&[record(0, 0, RecordOp::Read, 7 * 4096, 4096)], &["0"], "oracle-general", &none);
    assert_eq!(
        pages.bytes(),
        testing::hex("00000000 07000000 00000000 00100000 ffffffff ffffffff")
    );
}

#[test]
fn times_count_from_the_first_request_unless_they_shall_stay() {
    let late = [record(5_000, 0, RecordOp::Read, 0, 512), record(7_000, 0, RecordOp::Read, 0, 512)];
    let none = ConvertOptions::default();
    assert_eq!(write(&late, &["0"], "mqsim", &none).text(), "0 0 0 1 1\n2000 0 0 1 1\n");
    let absolute = ConvertOptions { absolute_time: true, ..none };
    assert_eq!(write(&late, &["0"], "mqsim", &absolute).text(), "5000 0 0 1 1\n7000 0 0 1 1\n");
    let us = ConvertOptions { time_unit: Some(TimeUnit::Us), ..absolute.clone() };
    assert_eq!(write(&late, &["0"], "mqsim", &us).text(), "5 0 0 1 1\n7 0 0 1 1\n");
    let seconds = ConvertOptions { time_unit: Some(TimeUnit::S), ..absolute };
    let error = try_write(&mut Memory::new(&late, &["0"]), "mqsim", &seconds).err().unwrap();
    assert_eq!(error.exit_status(), 2);
}

#[test]
fn what_a_target_cannot_hold_is_an_error_or_counted() {
    let good = record(0, 0, RecordOp::Read, 0, 4096);
    for (target, bad, what) in [
        ("mqsim", record(1, 0, RecordOp::Trim, 0, 4096), "trims"),
        ("mqsim", record(1, 0, RecordOp::Flush, 0, 0), "flushes"),
        ("mqsim", record(1, 0, RecordOp::Read, 100, 512), "addresses between sectors"),
        ("disksim", record(1, 0, RecordOp::Trim, 0, 4096), "trims"),
        ("disksim", record(1, 0, RecordOp::Read, 512, 100), "addresses between sectors"),
        ("blktrace", record(1, 0, RecordOp::Write, 1, 1), "addresses between sectors"),
        ("oracle-general", record(1, 0, RecordOp::Write, 0, 4096), "operations other than read"),
        ("oracle-general", record(1, 0, RecordOp::Trim, 0, 4096), "trims"),
    ] {
        let both = [good, bad];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut source = Memory::new(&both, &["0"]);
        let strict = ConvertOptions::default();
        let error =
            convert(&mut source, find(target).unwrap(), &path, &strict, &mut NoHooks).unwrap_err();
        let expected = format!("{target} cannot hold {what}, as in request 1: --lossy");
        assert!(error.exit_status() == 2 && error.to_string().starts_with(&expected), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
        let summary = write(&both, &["0"], target, &LOSSY).summary;
        assert_eq!(summary.losses, BTreeMap::from([(what, 1)]));
    }
}

#[test]
fn widened_requests_cover_what_they_touched() {
    let odd = record(0, 0, RecordOp::Read, 1000, 100);
    assert_eq!(write(&[odd], &["0"], "mqsim", &LOSSY).text(), "0 0 1 2 1\n");
}

#[test]
fn devices_without_a_number_get_a_free_one_and_a_note() {
    let four: Vec<Record> =
        (0..4).map(|d| record(u64::from(d), d, RecordOp::Read, 0, 512)).collect();
    let written = write(&four, &["hm_0", "1", "0", "1:2"], "mqsim", &ConvertOptions::default());
    let devices: Vec<String> =
        written.text().lines().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(devices, ["0", "1", "2", "3"]);
    assert!(written.summary.notes.contains(&"volume hm_0 is number 0".to_owned()));
    assert!(written.summary.notes.contains(&"volume 0 is number 2".to_owned()));
    assert!(!written.summary.notes.iter().any(|note| note.starts_with("volume 1 ")));
}

#[test]
fn a_request_over_several_pages_becomes_one_record_each() {
    let two = [record(0, 0, RecordOp::Read, 4000, 5000), record(0, 0, RecordOp::Read, 4096, 1)];
    let written = write(&two, &["0"], "oracle-general", &LOSSY);
    let ids: Vec<u64> = written
        .bytes()
        .chunks_exact(24)
        .map(|r| u64::from_le_bytes(r[4..12].try_into().unwrap()))
        .collect();
    assert_eq!(ids, [0, 1, 2, 1]);
    assert_eq!((written.summary.requests, written.summary.records), (2, 4));
    let said = "an object is a whole page: requests that begin or end within one: 2";
    assert!(written.summary.notes.contains(&said.to_owned()), "{:?}", written.summary.notes);
    check_next_accesses(&written.bytes());
}

#[test]
fn page_references_keep_their_unit() {
    let mut source = Memory::new(&[record(0, 0, RecordOp::Read, 512, 512)], &["0"]);
    source.page_bytes = Some(512);
    let written = try_write(&mut source, "oracle-general", &LOSSY).unwrap();
    let back = written.read("oracle-general", |o| o.object = Some(Object::Opaque));
    assert_eq!(back.records[0].offset_bytes, 4096, "page 1");

    let mut source = Memory::new(&[record(0, 0, RecordOp::Read, 512, 512)], &["0"]);
    source.page_bytes = Some(512);
    let back = try_write(&mut source, "parquet", &LOSSY).unwrap().read("parquet", |_| ());
    assert_eq!((back.facts.page_bytes, back.facts.has_ops), (Some(512), Some(false)));
}

#[test]
fn long_trims_become_several_events() {
    let trim = record(0, 0, RecordOp::Trim, 0, 10 << 30);
    let written = write(&[trim], &["8:0"], "blktrace", &ConvertOptions::default());
    let back = written.read("blktrace", |_| ());
    assert_eq!(back.records.len(), 3);
    assert_eq!(back.records.iter().map(|r| r.length_bytes).sum::<u64>(), 10 << 30);
    assert_eq!(back.records[1].offset_bytes, back.records[0].length_bytes);
}

#[test]
fn an_unknown_target_names_the_nearest() {
    assert!(find("mqsym").unwrap_err().to_string().contains("did you mean mqsim?"));
    assert!(find("xyz").unwrap_err().to_string().contains("expected one of mqsim, disksim, fio"));
    assert_eq!(find("fio-iolog").unwrap().name, "fio");
}

#[test]
fn row_groups_of_an_export_are_read_one_after_another() {
    let many: Vec<Record> =
        (0..(1 << 20) + 5).map(|i| record(i, 0, RecordOp::Read, i * 512, 512)).collect();
    let written = write(&many, &["a"], "parquet", &ConvertOptions::default());
    let path = written.path();
    let file = std::fs::File::open(&path).unwrap();
    let input = Input::new("out", &path, Box::new(file)).with_plain_path(Some(path.clone()));
    let back =
        testing::try_read(formats::find("parquet").unwrap(), input, ReaderOptions::default())
            .unwrap();
    assert_eq!(back.records, many);
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    struct Stop;
    impl Hooks for Stop {
        fn interrupted(&mut self) -> bool {
            true
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let mut source = Memory::new(&[record(0, 0, RecordOp::Read, 0, 512)], &["0"]);
    let path: &Path = &folder.path().join("out");
    let error = convert(&mut source, find("csv").unwrap(), path, &LOSSY, &mut Stop).unwrap_err();
    assert_eq!(error.exit_status(), 130);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
