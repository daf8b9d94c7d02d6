//! Helpers of the tests of formats: a file read whole, as a run reads it, and the invariants of
//! every binary reader.

use std::sync::Arc;

use crate::error::{Category, Result, TraceError};
use crate::format::{Facts, Format, Opening, Sample, Tally, Verdict};
use crate::input::Input;
use crate::options::{OnError, ReaderOptions};
use crate::record::{DeviceTable, Record, RecordOp};

/// Content of a file.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) records: Vec<Record>,
    pub(crate) devices: Vec<String>,
    pub(crate) tally: Tally,
    pub(crate) facts: Facts,
}

/// Bytes written as hexadecimal digits, blanks and line ends ignored.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let value = |digit: u8| (digit as char).to_digit(16).unwrap() as u8;
    digits.chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}

/// A record of the first device without a response time.
pub(crate) fn request(time_ns: u64, op: RecordOp, offset_bytes: u64, length_bytes: u64) -> Record {
    Record { time_ns, offset_bytes, length_bytes, device: 0, op, ..Record::EMPTY }
}

/// The beginning of a file whose whole is `bytes`.
pub(crate) fn sample(bytes: &[u8]) -> Sample<'_> {
    Sample { bytes, whole: true, size: Some(bytes.len() as u64), name: "x" }
}

/// Reads `input` to its end.
pub(crate) fn try_read(
    format: &'static Format,
    input: Input,
    options: ReaderOptions,
) -> Result<Whole> {
    let mut tally = Tally::new(&options);
    let (options, threads) = (Arc::new(options), Arc::default());
    let opening = Opening { options, format, detected: true, closest: None, draft: None, threads };
    let mut reader = (format.open)(input, &opening)?;
    let mut devices = DeviceTable::new();
    let mut records = Vec::new();
    while reader.fill(&mut records, &mut devices, &mut tally)? {}
    Ok(Whole { records, devices: devices.names(), facts: reader.facts(), tally })
}

/// Reads a file of these bytes that has nothing wrong.
pub(crate) fn read(format: &'static Format, bytes: impl Into<Vec<u8>>, name: &str) -> Whole {
    read_with(format, bytes, name, |_| ())
}

/// Reads a file of these bytes with options.
pub(crate) fn read_with(
    format: &'static Format,
    bytes: impl Into<Vec<u8>>,
    name: &str,
    set: impl FnOnce(&mut ReaderOptions),
) -> Whole {
    let mut options = ReaderOptions::default();
    set(&mut options);
    try_read(format, Input::from_bytes(name, bytes), options)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The message of a file that cannot be read, with options.
pub(crate) fn error_with(
    format: &'static Format,
    bytes: impl Into<Vec<u8>>,
    name: &str,
    set: impl FnOnce(&mut ReaderOptions),
) -> TraceError {
    let mut options = ReaderOptions::default();
    set(&mut options);
    try_read(format, Input::from_bytes(name, bytes), options).expect_err("an error")
}

/// The message of a file that cannot be read.
pub(crate) fn read_err(format: &'static Format, bytes: impl Into<Vec<u8>>, name: &str) -> String {
    error_with(format, bytes, name, |_| ()).to_string()
}

/// Detection says yes, with a reason.
pub(crate) fn detects(format: &Format, bytes: &[u8]) {
    match (format.detect)(&sample(bytes)) {
        Verdict::Yes(reason) => assert!(!reason.is_empty()),
        other => panic!("{}: {other:?}", format.name),
    }
}

/// The file is malformed in one record: under `stop` an error of exit status 65 that names the
/// place and what would skip it; under `skip` counted under `category`.
pub(crate) fn rejects(
    format: &'static Format,
    bytes: &[u8],
    category: Category,
    place_and_message: &str,
) {
    let error = error_with(format, bytes, "x", |_| ());
    let text = error.to_string();
    assert_eq!(error.exit_status(), 65, "{text}");
    assert!(text.starts_with(&format!("x: {place_and_message}")), "{text}");
    assert!(text.contains("--on-error skip"), "{text}");
    let trace = read_with(format, bytes, "x", |options| options.on_error = OnError::Skip);
    assert_eq!(trace.tally.errors[&category].count, 1, "{:?}", trace.tally.errors);
    assert_eq!(trace.tally.error_count(), 1);
}

/// A file cut at any byte is an error or, cut between records of `record_bytes`, a shorter trace;
/// `skip` makes a `truncated_record` of the rest. Never a panic, never a record that was not there.
pub(crate) fn cut_anywhere(format: &'static Format, bytes: &[u8], record_bytes: usize) {
    let whole = read(format, bytes, "x").records;
    for length in 0..bytes.len() {
        let cut = &bytes[..length];
        let skip = try_read(
            format,
            Input::from_bytes("x", cut),
            ReaderOptions { on_error: OnError::Skip, ..ReaderOptions::default() },
        );
        match try_read(format, Input::from_bytes("x", cut), ReaderOptions::default()) {
            Ok(trace) => {
                assert_eq!(length % record_bytes, 0, "a part of a record was taken at {length}");
                assert!(whole.starts_with(&trace.records));
            }
            Err(error) => {
                assert_eq!(error.exit_status(), 65);
                assert!(error.to_string().contains("record"), "{error}");
            }
        }
        if let Ok(trace) = skip {
            assert!(whole.starts_with(&trace.records));
            let short =
                trace.tally.errors.get(&Category::TruncatedRecord).map_or(0, |skips| skips.count);
            assert_eq!(short, u64::from(length % record_bytes != 0));
        }
    }
}
