use super::*;
use crate::formats::testing::{self, hex, read_with, request, try_read};
use crate::options::OnError;

const FIELDS: &str = "<u32 time,u64 offset,u32 length,u8 op";

/// A record of [`FIELDS`].
fn record(time: u32, offset: u64, length: u32, op: u8) -> Vec<u8> {
    let mut bytes = time.to_le_bytes().to_vec();
    bytes.extend(offset.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    bytes.push(op);
    bytes
}

fn with(fields: &str) -> impl FnOnce(&mut ReaderOptions) {
    let fields = fields.to_owned();
    |options| options.fields = Some(fields)
}

fn message(fields: &str, bytes: &[u8]) -> String {
    testing::error_with(&FORMAT, bytes, "x", with(fields)).to_string()
}

#[test]
fn the_example_of_the_specification() {
    let mut bytes = record(1000, 1 << 20, 4096, 1);
    bytes.extend(record(1450, 81920 * 512, 16384, 0));
    let trace = read_with(&FORMAT, bytes.clone(), "x.bin", with(FIELDS));
    assert_eq!(
        trace.records,
        [
            request(1000, RecordOp::Write, 1 << 20, 4096),
            request(1450, RecordOp::Read, 81920 * 512, 16384),
        ]
    );
    assert_eq!(trace.tally.notes.len(), 4, "{:?}", trace.tally.notes);
    assert_eq!(trace.facts.has_ops, Some(true));

    let said = read_with(&FORMAT, bytes, "x.bin", |o| {
        with(FIELDS)(o);
        o.time_unit = Some(TimeUnit::Us);
        o.offset_unit = Some(Unit::Bytes(512));
        o.length_unit = Some(Unit::Bytes(1));
        (o.op_read, o.op_trim) = (vec!["0".to_owned()], vec!["1".to_owned()]);
    });
    assert_eq!(said.records[0], request(1_000_000, RecordOp::Trim, 512 << 20, 4096));
    assert!(said.tally.notes.is_empty());
}

#[test]
fn a_page_alone_is_a_read_of_one_page_in_either_byte_order() {
    let bytes = hex("01000000 00000002");
    let little = read_with(&FORMAT, bytes.clone(), "w.bin", with("<u32 page"));
    assert_eq!(little.records[0], request(0, RecordOp::Read, 4096, 4096));
    assert_eq!(little.records[1].offset_bytes, (2 << 24) * 4096);
    assert_eq!((little.facts.has_times, little.facts.page_bytes), (Some(false), Some(4096)));
    let big = read_with(&FORMAT, bytes, "w.bin", |o| {
        with(">u32 page")(o);
        o.page_bytes = Some(512);
        o.default_op = Some(RecordOp::Write);
    });
    assert_eq!(big.records[0], request(0, RecordOp::Write, (1 << 24) * 512, 512));
    assert_eq!(big.records[1], request(0, RecordOp::Write, 1024, 512));
    assert_eq!((big.facts.page_bytes, big.tally.notes.len()), (Some(512), 0));
}

#[test]
fn every_type_every_name_and_ignored_bytes() {
    let mut bytes = vec![9, 9];
    bytes.extend((-3i32).to_be_bytes());
    bytes.extend(7u16.to_be_bytes());
    bytes.extend(5i64.to_be_bytes());
    bytes.extend(1.5f64.to_be_bytes());
    bytes.extend(2.0f64.to_be_bytes());
    bytes.push(8);
    bytes.extend([0xff; 5]);
    let fields = "> x2, i32 device, u16 op, i64 page, f64 time, f64 response, u8 length, x5";
    let trace = read_with(&FORMAT, bytes.repeat(2), "x", |o| {
        with(fields)(o);
        o.op_trim = vec!["7".to_owned()];
        (o.time_unit, o.length_unit) = (Some(TimeUnit::Us), Some(Unit::Bytes(512)));
    });
    let expected = Record { response_ns: 2_000, ..request(1_500, RecordOp::Trim, 5 * 4096, 4096) };
    assert_eq!(trace.records, [expected; 2]);
    assert_eq!((trace.devices, trace.facts.page_bytes), (vec!["-3".to_owned()], None));
}

#[test]
fn a_fault_names_record_byte_expected_and_found() {
    let float = |x: f64| x.to_le_bytes().repeat(2);
    let good = record(1, 0, 512, 0);
    let beside = |bad: Vec<u8>| [good.clone(), bad].concat();
    let cases = [
        (
            FIELDS,
            beside(record(1, 0, 512, 7)),
            "record 1 at byte 17: op: expected one of 0, 1, found 7",
        ),
        (
            FIELDS,
            beside(vec![0; 5]),
            "record 1 at byte 17: the file ends inside a record: expected 17 bytes, found 5",
        ),
        (FIELDS, beside(record(1, u64::MAX, 512, 0)), "record 1 at byte 17: "),
        (
            "<i64 offset,i64 length",
            (-5i64).to_le_bytes().repeat(2),
            "record 0 at byte 0: offset: expected a whole number from 0, found -5",
        ),
        (
            "<f64 offset,f64 length",
            float(0.5),
            "record 0 at byte 0: offset: expected a whole number from 0, below 2^53, found 0.5",
        ),
        (
            "<f64 time,f64 page",
            float(-1.0),
            "record 0 at byte 0: time: expected nanoseconds of 0 or later, found -1",
        ),
        (
            "<f64 time,f64 page",
            float(f64::NAN),
            "record 0 at byte 0: time: expected nanoseconds of 0 or later, found NaN",
        ),
        (
            "<f64 time,f64 page",
            float(1e18),
            "record 0 at byte 0: time: 1000000000000000000 nanoseconds as an f64 has \
             lost its nanoseconds (past 2^53 ns)",
        ),
        (
            "<i64 time,u64 page",
            (-2i64).to_le_bytes().repeat(2),
            "record 0 at byte 0: time: expected nanoseconds of 0 or later, found -2",
        ),
        (
            "<u64 page",
            u64::MAX.to_le_bytes().to_vec(),
            "record 0 at byte 0: page: 18446744073709551615 times 4096 bytes does not fit 64 bits",
        ),
    ];
    for (fields, bytes, expected) in cases {
        let error = message(fields, &bytes);
        assert!(error.starts_with(&format!("x: {expected}")), "{fields}: {error}");
        assert!(error.contains("format bin (detected); --on-error skip would skip such records"));
    }
}

#[test]
fn a_bad_record_is_skipped_and_counted_alone() {
    let bytes = [record(1, 0, 512, 0), record(2, 0, 512, 9), record(3, 0, 512, 1)].concat();
    let trace = read_with(&FORMAT, bytes, "x", |o| {
        with(FIELDS)(o);
        o.on_error = OnError::Skip;
    });
    assert_eq!(trace.records.len(), 2);
    assert_eq!(trace.tally.errors[&Category::UnknownOp].count, 1);
}

#[test]
fn a_list_of_fields_that_is_none_says_where_and_what_was_expected() {
    let cases = [
        ("u32 page", "fields: expected < or > (the byte order) and then TYPE NAME by commas"),
        ("", "fields: expected < or >"),
        (
            "<",
            "fields: \"\", the field 1: expected a type, u8, u16, u32, u64, i32, i64, f64, or xN",
        ),
        ("<u32 page,u128 time", "fields: \"u128 time\", the field 2: expected a type"),
        ("<u32 page,x0", "fields: \"x0\", the field 2: expected a type"),
        ("<u32", "fields: \"u32\", the field 1: expected TYPE NAME"),
        ("<u32 page 4", "fields: \"u32 page 4\", the field 1: expected TYPE NAME"),
        ("<u32 lba", "fields: \"u32 lba\", the field 1: there is no name lba; expected time"),
        ("<u32 page,u32 offset", "fields: \"u32 offset\", the field 2: offset or page is there"),
        ("<u8 op,u8 op,u8 page", "fields: \"u8 op\", the field 2: op is there already"),
        ("<f64 op,u8 page", "fields: \"f64 op\", the field 1: op is no f64: expected u8"),
        ("<u32 time", "fields: expected offset or page among the names"),
        ("<x1048576,u8 page", "fields: expected a record of at most 1048576 bytes, found 1048577"),
        ("<x18446744073709551615,x9,u8 page", "fields: expected a record of at most"),
    ];
    for (fields, expected) in cases {
        let error = message(fields, &[0; 64]);
        assert!(error.starts_with(expected), "{fields}: {error}");
    }
    let missing = testing::error_with(&FORMAT, [0; 8], "x", |_| ());
    assert_eq!(missing.exit_status(), 2);
    assert!(missing.to_string().starts_with("bin: fields (--fields) must be given, such as"));
    let clash = testing::error_with(&FORMAT, [0; 8], "x", |o| {
        with("<u32 page")(o);
        o.offset_unit = Some(Unit::Bytes(512));
    });
    assert!(clash.to_string().contains("page counts pages"), "{clash}");
    let offset = message("<u32 offset", &[0; 8]);
    assert!(offset.contains("columns.length must be given"), "{offset}");
}

#[test]
fn large_records_are_read_one_by_one() {
    let mut bytes = vec![0; 3 << 20];
    bytes[1 << 20] = 1;
    bytes[2 << 20] = 2;
    let trace = read_with(&FORMAT, bytes, "x", with("<u8 page,x1048575"));
    let pages: Vec<u64> = trace.records.iter().map(|r| r.offset_bytes / 4096).collect();
    assert_eq!(pages, [0, 1, 2]);
}

#[test]
fn a_file_cut_anywhere_is_an_error_or_a_clean_shorter_trace() {
    let whole = [record(1, 0, 512, 0), record(2, 512, 512, 1)].concat();
    for length in 0..whole.len() {
        let mut options = ReaderOptions::default();
        with(FIELDS)(&mut options);
        let read = try_read(&FORMAT, Input::from_bytes("x", &whole[..length]), options);
        match read {
            Ok(trace) => assert_eq!((length % 17, trace.records.len()), (0, length / 17)),
            Err(error) => assert!(error.to_string().contains("inside a record"), "{error}"),
        }
    }
}
