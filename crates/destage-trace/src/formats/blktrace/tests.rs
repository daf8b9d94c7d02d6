use super::*;
use crate::formats::testing::{self, hex, read, read_err, read_with, request};

const EXAMPLE: &str = "
    07746165 01000000 40420f00 00000000 00080000 00000000
      00100000 07004a00 4d000000 10008000 00000000 00000000
    07746165 02000000 e0fd1c00 00000000 00080000 00000000
      00100000 08008a00 4d000000 10008000 00000000 00000000
    07746165 03000000 80841e00 00000000 00100000 00000000
      00400000 07004100 4d000000 10008000 00000000 00000000";

/// One record; `action` whole.
fn event(
    endian: Endian,
    time_ns: u64,
    sequence: u32,
    cpu: u32,
    sector: u64,
    bytes: u32,
    action: u32,
) -> Vec<u8> {
    let mut out = Vec::new();
    let word = |out: &mut Vec<u8>, value: u32| match endian {
        Endian::Little => out.extend(value.to_le_bytes()),
        Endian::Big => out.extend(value.to_be_bytes()),
    };
    let long = |out: &mut Vec<u8>, value: u64| match endian {
        Endian::Little => out.extend(value.to_le_bytes()),
        Endian::Big => out.extend(value.to_be_bytes()),
    };
    word(&mut out, MAGIC + VERSION);
    word(&mut out, sequence);
    long(&mut out, time_ns);
    long(&mut out, sector);
    for value in [bytes, action, 4711, 8 << 20 | 16, cpu, 0] {
        word(&mut out, value);
    }
    out
}

fn issue(time_ns: u64, sequence: u32, cpu: u32, sector: u64) -> Vec<u8> {
    event(Endian::Little, time_ns, sequence, cpu, sector, 4096, 1 << 16 | 7)
}

#[test]
fn the_example_of_the_specification() {
    let trace = read(&FORMAT, hex(EXAMPLE), "x.blktrace.0");
    assert_eq!(
        trace.records,
        [
            request(1_000_000, RecordOp::Write, 2048 * 512, 4096),
            request(2_000_000, RecordOp::Read, 4096 * 512, 16_384),
        ]
    );
    assert_eq!(trace.devices, ["8:16"]);
    assert_eq!(trace.tally.ignored_events["C complete"], 1);
    let trace = read_with(&FORMAT, hex(EXAMPLE), "x.blktrace.0", |o| o.event = Event::C);
    assert_eq!(trace.records, [request(1_900_000, RecordOp::Write, 2048 * 512, 4096)]);
}

#[test]
fn detection_gives_its_reason() {
    testing::detects(&FORMAT, &hex(EXAMPLE));
    testing::detects(&FORMAT, &event(Endian::Big, 1, 1, 0, 0, 512, 7));
    assert_eq!((FORMAT.detect)(&testing::sample(b"eat me")), Verdict::No);
}

#[test]
fn both_byte_orders_say_the_same() {
    for action in [1 << 16 | 7, 1 << 17 | 7, 1 << 17 | 1 << 29 | 7] {
        let [little, big] = [Endian::Little, Endian::Big]
            .map(|e| read(&FORMAT, event(e, 77, 1, 3, 2048, 4096, action), "x"));
        assert_eq!(little.records, big.records);
        assert_eq!(little.devices, big.devices);
    }
}

#[test]
fn only_the_low_half_decides_the_event() {
    // as tracefs has it: no queue, issue or complete bits
    let bytes = [1u32, 7, 8]
        .map(|low| event(Endian::Little, u64::from(low), 0, 0, 8, 512, 1 << 17 | low))
        .concat();
    for (event, time_ns) in [(Event::Q, 1), (Event::D, 7), (Event::C, 8)] {
        let trace = read_with(&FORMAT, bytes.clone(), "x", |o| o.event = event);
        assert_eq!(trace.records, [request(time_ns, RecordOp::Write, 8 * 512, 512)]);
    }
}

#[test]
fn operations() {
    let op = |bytes, action| {
        let trace = read(&FORMAT, event(Endian::Little, 5, 1, 0, 8, bytes, action), "x");
        trace.records.first().map(|r| (r.op, r.offset_bytes, r.length_bytes))
    };
    assert_eq!(op(512, 1 << 16 | 7), Some((RecordOp::Read, 4096, 512)));
    assert_eq!(op(512, 1 << 17 | 1 << 31 | 7), Some((RecordOp::Write, 4096, 512)));
    assert_eq!(op(512, 1 << 17 | 1 << 29 | 7), Some((RecordOp::Trim, 4096, 512)));
    assert_eq!(op(0, 1 << 18 | 7), Some((RecordOp::Flush, 0, 0)));
    assert_eq!(op(512, 1 << 25 | 7), None, "a SCSI command");
    assert_eq!(op(512, 1 << 26 | 1), None, "a note");
}

#[test]
fn notes_and_their_payloads_are_stepped_over() {
    let mut bytes = event(Endian::Little, 0, 1, 0, 0, 0, 1 << 26);
    bytes[46..48].copy_from_slice(&16u16.to_le_bytes());
    bytes.extend(b"postgres\0\0\0\0\0\0\0\0");
    bytes.extend(hex(EXAMPLE));
    let trace = read(&FORMAT, bytes, "x");
    assert_eq!(trace.records.len(), 2);
    assert_eq!(trace.tally.ignored_events["note: process name"], 1);
}

#[test]
fn requests_of_one_stamp_go_by_cpu_then_sequence_then_place() {
    let bytes = [
        issue(10, 7, 1, 1),
        issue(10, 9, 0, 2),
        issue(10, 8, 0, 3),
        issue(10, 8, 0, 4),
        issue(20, 1, 1, 5),
        issue(20, 1, 0, 6),
        issue(15, 1, 0, 7),
    ];
    let sectors: Vec<u64> =
        read(&FORMAT, bytes.concat(), "x").records.iter().map(|r| r.offset_bytes / 512).collect();
    assert_eq!(sectors, [3, 4, 2, 1, 6, 5, 7]);
}

#[test]
fn later_versions_and_lost_records_are_refused() {
    let mut extended = hex(EXAMPLE);
    extended[0] = 8;
    let error = read_err(&FORMAT, extended, "x.blktrace.0");
    assert!(
        error.starts_with("x.blktrace.0: record 0 at byte 0: magic: blktrace version 8"),
        "{error}"
    );
    assert!(error.contains("convert it with blkparse"), "{error}");

    let mut lost = hex(EXAMPLE);
    lost[46] = 1; // a payload that is not there
    let error =
        testing::error_with(&FORMAT, lost, "x", |o| o.on_error = crate::options::OnError::Skip)
            .to_string();
    assert!(error.starts_with("x: record 1 at byte 49: magic: expected 0x65617400"), "{error}");
    assert!(
        error.contains("the length of the payload before it was wrong, or data are missing"),
        "{error}"
    );
}

#[test]
fn sectors_past_all_addresses_are_out_of_range() {
    let bytes = [issue(1, 1, 0, 8), issue(2, 2, 0, u64::MAX), issue(3, 3, 0, 8)].concat();
    testing::rejects(&FORMAT, &bytes, Category::OutOfRange, "record 1 at byte 48: sector: ");
    let huge = [issue(1, 1, 0, 8), event(Endian::Little, 2, 1, 0, 8, u32::MAX, 7)].concat();
    testing::rejects(&FORMAT, &huge, Category::Oversized, "record 1 at byte 48: length: ");
}

#[test]
fn a_file_cut_anywhere_is_an_error_or_a_clean_shorter_trace() {
    testing::cut_anywhere(&FORMAT, &hex(EXAMPLE), 48);
}

#[test]
fn the_files_of_the_other_cpus_are_found_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    for name in
        ["sda.blktrace.0", "sda.blktrace.10", "sda.blktrace.2", "sdb.blktrace.1", "sda.blktrace.x"]
    {
        std::fs::write(folder.path().join(name), b"").unwrap();
    }
    let names = |given: &str| -> Vec<String> {
        let found = siblings(&folder.path().join(given));
        found.iter().map(|p| p.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("sda.blktrace.2"), ["sda.blktrace.0", "sda.blktrace.2", "sda.blktrace.10"]);
    assert!(names("sdb.blktrace.1").is_empty(), "alone");
    assert!(names("sda.blktrace.x").is_empty(), "no number");
    assert!(names("merged.bin").is_empty());
}
