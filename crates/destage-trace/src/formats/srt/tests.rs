use super::*;
use crate::formats::testing::{self, hex, read, read_err, read_with};
use crate::options::{OnError, ReaderOptions};

const RECORDS: &str = "
    00000038 00040001 00000000 000001f4 00000028 00002350 00001000
      00000800 08000007 00000004 00000002 00000101 00000000 00000001
    00000038 00040001 00000000 00000384 00002008 00003afc 00002000
      00001800 08000107 00000004 00000006 00000000 00000000 00000001
    00000038 00040001 00000001 00000014 00000023 00001b7b 00000400
      00000810 08000007 00000004 00000002 00000001 00000000 00000001";

const HEADER: &str = "$$TR_IOREC-1.3 (made up)\0\nversion = 1.3;\ntracedate = \"Sat May 30 \
 00:03:06 1992\";\n\
    description = \"a {b, c = 1;\";\n\
    disks = {\n\t0 -> {\n\t\tseekparms = {1, 2},\n\t\tadaptor = 1 -> { hp_ib , 1.2 , 250 },\n\
    \t\tsectorsize  = 256,\n\t\tsections = {\n\t\t\t8 -> {\n\t\t\t\tsectorsize = \
    77\n\t\t\t}\n\t\t}\n\t},\n\
    \t1 -> {\n\t\tsectorsize = 512,\n\t}\n};\n\x0c";

/// 30 May 1992 00:03:06 UTC.
const ORIGIN_NS: u64 = 707_184_186_000_000_000;

fn with_header(records: &[u8]) -> Vec<u8> {
    [HEADER.as_bytes(), records].concat()
}

fn bare(options: &mut ReaderOptions) {
    options.srt_header = false;
    options.sector_bytes = Some(256);
}

/// time from the origin, device, operation, offset, length, response
type Row = (u64, u32, RecordOp, u64, u64, u64);

fn rows(records: &[Record], origin_ns: u64) -> Vec<Row> {
    let row = |r: &Record| {
        (r.time_ns - origin_ns, r.device, r.op, r.offset_bytes, r.length_bytes, r.response_ns)
    };
    records.iter().map(row).collect()
}

#[test]
fn the_examples_of_the_specification_without_a_header() {
    let trace = read_with(&FORMAT, hex(RECORDS), "x.srt", bare);
    assert_eq!(
        rows(&trace.records, 0),
        [
            (500_000, 0, RecordOp::Read, 2048 * 256, 4096, 9_040_000),
            (900_000, 1, RecordOp::Write, 6144 * 256, 8192, 15_100_000),
            (1_000_020_000, 0, RecordOp::Read, 2064 * 256, 1024, 7_035_000),
        ]
    );
    assert_eq!(trace.devices, ["0", "1"]);
}

#[test]
fn the_header_gives_date_and_sector_size_of_each_disk() {
    let trace = read(&FORMAT, with_header(&hex(RECORDS)), "x.srt");
    assert_eq!(
        rows(&trace.records, ORIGIN_NS)[..2],
        [
            (500_000, 0, RecordOp::Read, 2048 * 256, 4096, 9_040_000),
            (900_000, 1, RecordOp::Write, 6144 * 512, 8192, 15_100_000),
        ]
    );
    let trace =
        read_with(&FORMAT, with_header(&hex(RECORDS)), "x.srt", |o| o.sector_bytes = Some(1024));
    assert_eq!(trace.records[0].offset_bytes, 2048 * 1024, "what the user says goes first");
}

#[test]
fn days_put_one_after_another_keep_their_dates() {
    let next_day = HEADER.replace("May 30", "May 31");
    let bytes = [&with_header(&hex(RECORDS)), next_day.as_bytes(), &hex(RECORDS)].concat();
    let trace = read(&FORMAT, bytes, "x.srt");
    assert_eq!(trace.records[3].time_ns - trace.records[0].time_ns, 86_400_000_000_000);
}

#[test]
fn dates() {
    assert_eq!(parse_date("Thu Jan  1 00:00:00 1970"), Some(0));
    assert_eq!(parse_date("Tue Feb 29 12:00:01 2000"), Some(951_825_601_000_000_000));
    assert_eq!(parse_date("Sat May 30 00:03:06 1992"), Some(ORIGIN_NS));
    for bad in [
        "",
        "Sat May 30 1992",
        "Sat Mai 30 00:03:06 1992",
        "Sat May 30 24:03:06 1992",
        "Sat May 30 00:03:06 1969",
    ] {
        assert_eq!(parse_date(bad), None, "{bad}");
    }
}

#[test]
fn an_unknown_sector_size_is_asked_for() {
    let error = testing::error_with(&FORMAT, hex(RECORDS), "x", |o| o.srt_header = false);
    assert!(error.exit_status() == 2 && error.to_string().contains("--sector-bytes"), "{error}");
    let silent = HEADER.replace("sectorsize", "sectors");
    let error =
        testing::error_with(&FORMAT, [silent.as_bytes(), &hex(RECORDS)].concat(), "x", |_| ());
    assert!(error.exit_status() == 2 && error.to_string().contains("disk 0"), "{error}");
}

#[test]
fn detection_gives_its_reason() {
    testing::detects(&FORMAT, &with_header(&[]));
    assert!(matches!(
        (FORMAT.detect)(&testing::sample(&hex(RECORDS))),
        Verdict::Maybe(reason) if reason.contains("--srt-header false")
    ));
    assert_eq!((FORMAT.detect)(&testing::sample(&[0; 64])), Verdict::No);
}

#[test]
fn suspect_and_other_records_are_counted_and_left_out() {
    let mut bytes = hex("0000003c 00040004");
    bytes.resize(0x3c, 0);
    bytes.extend(hex("00000010 00020009 00000000 00000000"));
    bytes.extend(hex(RECORDS));
    let trace = read_with(&FORMAT, bytes, "x", bare);
    assert_eq!(trace.records.len(), 3);
    assert_eq!(trace.tally.ignored_events["suspect I/O"], 1);
    assert_eq!(trace.tally.ignored_events["record type 9"], 1);
}

#[test]
fn records_of_older_versions_are_shorter() {
    let mut bytes = hex(RECORDS)[..52].to_vec();
    bytes[..8].copy_from_slice(&hex("00000034 00030001"));
    assert_eq!(read_with(&FORMAT, bytes.repeat(2), "x", bare).records.len(), 2);
}

#[test]
fn a_wrong_size_ends_the_run_because_the_next_record_is_not_known() {
    let mut bytes = with_header(&hex(RECORDS));
    let at = HEADER.len() + 56;
    bytes[at + 3] = 0x34;
    let error =
        testing::error_with(&FORMAT, bytes, "x", |o| o.on_error = OnError::Skip).to_string();
    assert!(
        error.starts_with(&format!("x: record 1 at byte {at}: size: expected 56 for version 4")),
        "{error}"
    );
    let zero = [HEADER.as_bytes(), &hex("00000000 00040009")].concat();
    assert!(read_err(&FORMAT, zero, "x").contains("size: expected 8 to"));
}

#[test]
fn malformed_fields() {
    let at = |word: usize| HEADER.len() + 56 + 4 * word;
    let mut time = with_header(&hex(RECORDS));
    time[at(3)..at(4)].copy_from_slice(&1_000_000u32.to_be_bytes());
    testing::rejects(
        &FORMAT,
        &time,
        Category::BadTime,
        &format!("record 1 at byte {}: enqueue time", at(0)),
    );
    let mut length = with_header(&hex(RECORDS));
    length[at(6)..at(7)].fill(0xff);
    testing::rejects(
        &FORMAT,
        &length,
        Category::Oversized,
        &format!("record 1 at byte {}: length", at(0)),
    );
}

#[test]
fn a_file_cut_anywhere_is_an_error_or_a_clean_shorter_trace() {
    let bytes = with_header(&hex(RECORDS));
    for length in 0..bytes.len() {
        let whole = length >= HEADER.len() && (length - HEADER.len()).is_multiple_of(56);
        match testing::try_read(
            &FORMAT,
            Input::from_bytes("x", &bytes[..length]),
            ReaderOptions::default(),
        ) {
            Ok(trace) => {
                assert!(whole);
                assert_eq!(trace.records.len(), (length - HEADER.len()) / 56);
            }
            Err(error) => assert!(!whole && error.exit_status() == 65, "{length}: {error}"),
        }
    }
}
