//! `lcs`: libCacheSim's format with a header, binary, little-endian, packed, versions 1 to 8.
//!
//! ```text
//! header, 8192 bytes: 0 u64 magic, 8 u64 version, statistics, 8184 u64 magic
//! v1, 24 bytes           v2, 28 bytes                 v3, 36 bytes; v4..v8 add 1, 2, 4, 8, 16 u32
//!  0 u32 time (s)         0 u32 time (s)               0 u32 time (s)    20 u32 operation, tenant
//!  4 u64 object id        4 u64 object id              4 u64 object id   24 u32 ttl
//! 12 u32 size (bytes)    12 u32 size (bytes)          12 i64 size        28 i64 next access
//! 16 i64 next access     16 u32 operation, tenant                        36 u32 features
//!                        20 i64 next access
//! ```
//!
//! The operation is in bits 0..7 of its word, the tenant in bits 8..31. Clock, ids and operations
//! are those of `oracle-general`; the statistics and next accesses are not used.

use super::binary::*;
use super::object::{self, Layout, ObjectReader, OpField};

/// The row of the table.
pub static FORMAT: Format = Format {
    blocks: false,
    coarse_ns: Some(object::TICK_NS),
    confirmed: false,
    name_parts: &[".lcs"],
    ..Format::binary(
        "lcs",
        "libCacheSim lcs",
        "a header of 8192 bytes, then records of 24 to 100 bytes by version 1 to 8; time in \
     whole seconds",
        detect,
        open,
    )
};

/// First and last word of the header.
const MAGIC: u64 = 0x1234_5678_9abc_def0;
/// Bytes of the header.
const HEADER_BYTES: usize = 8192;
/// Bytes of the header of an early layout, which has a format string where the version stands now.
const EARLY_HEADER_BYTES: usize = 1024;

/// The layout of one version's records; `None` of an unknown one.
fn layout_of(version: u64) -> Option<Layout> {
    let (record_bytes, op) = match version {
        1 => (24, OpField::None),
        2 => (28, OpField::Word(16)),
        3 => (36, OpField::Word(20)),
        4..=8 => (36 + 4 * (1 << (version - 4)), OpField::Word(20)),
        _ => return None,
    };
    Some(Layout { record_bytes, wide_size: version > 2, op })
}

/// Whether `bytes` begin with the early layout's header.
fn is_early(bytes: &[u8]) -> bool {
    bytes.len() >= EARLY_HEADER_BYTES && u64_le(bytes, EARLY_HEADER_BYTES - 8) == MAGIC
}

fn detect(sample: &Sample) -> Verdict {
    if sample.bytes.len() < 16 || u64_le(sample.bytes, 0) != MAGIC {
        return Verdict::No;
    }
    Verdict::Yes(match u64_le(sample.bytes, 8) {
        version @ 1..=8 => format!("the header's magic number and version {version}"),
        _ => "the header's magic number".to_owned(),
    })
}

/// Layout of the records, from the header.
fn layout(input: &mut Input) -> Result<Layout> {
    input.ensure(HEADER_BYTES)?;
    let wrong = |byte: u64, message: String, hint: Option<&str>| TraceError::Data {
        file: input.name().to_owned(),
        place: Location::Record { record: 0, byte },
        message: format!("header: {message}"),
        hint: hint.map(str::to_owned),
    };
    let short =
        |bytes: usize| wrong(0, format!("expected {HEADER_BYTES} bytes, found {bytes}"), None);
    let header = input.window();
    if header.len() < 16 {
        return Err(short(header.len()));
    }
    let magic = u64_le(header, 0);
    if magic != MAGIC {
        return Err(wrong(
            0,
            format!("expected the magic number {MAGIC:016x}, found {magic:016x}"),
            None,
        ));
    }
    let version = u64_le(header, 8);
    let Some(layout) = layout_of(version) else {
        let early = is_early(header);
        let message = if early {
            "the early lcs layout, with a format string instead of a version, is not read"
                .to_owned()
        } else {
            format!("expected version 1 to 8, found {version}")
        };
        return Err(wrong(
            8,
            message,
            early.then_some("convert it with libCacheSim's traceConv first"),
        ));
    };
    if header.len() < HEADER_BYTES {
        return Err(short(header.len()));
    }
    let end_magic = u64_le(header, HEADER_BYTES - 8);
    if end_magic != MAGIC {
        let message =
            format!("expected the magic number {MAGIC:016x} at its end, found {end_magic:016x}");
        return Err(wrong(HEADER_BYTES as u64 - 8, message, None));
    }
    Ok(layout)
}

fn open(mut input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    let layout = layout(&mut input)?;
    input.consume(HEADER_BYTES);
    let facts = Facts { has_ops: Some(layout.op != OpField::None), ..Facts::default() };
    Ok(ObjectReader::boxed(input, opening, layout, facts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{self, hex, read, read_err, read_with, request};

    const V2: &str = "65000000 07000000 00000000 00100000 0d020000 ffffffff ffffffff";

    fn file(version: u64, records: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..16].copy_from_slice(&version.to_le_bytes());
        bytes[HEADER_BYTES - 8..].copy_from_slice(&MAGIC.to_le_bytes());
        bytes.extend(records);
        bytes
    }

    /// A record of version 3 or later.
    fn wide(version: u64, time: u32, id: u64, size: i64, op: u32, tenant: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(time.to_le_bytes());
        bytes.extend(id.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend((op | tenant << 8).to_le_bytes());
        bytes.extend(3600u32.to_le_bytes());
        bytes.extend((-1i64).to_le_bytes());
        bytes.resize(layout_of(version).unwrap().record_bytes, 0xaa);
        bytes
    }

    #[test]
    fn the_example_of_the_specification() {
        let trace = read(&FORMAT, file(2, &hex(V2)), "w.lcs");
        assert_eq!(trace.records, [request(101_000_000_000, RecordOp::Write, 7 * 4096, 4096)]);
        assert_eq!(trace.devices, ["w.lcs"]);
        let trace = read_with(&FORMAT, file(2, &hex(V2)), "w.lcs", |o| o.tenant_is_volume = true);
        assert_eq!(trace.devices, ["2"]);
    }

    #[test]
    fn every_version_has_its_record_size() {
        let sizes: Vec<_> = (0..=9).map(|v| layout_of(v).map(|l| l.record_bytes)).collect();
        let sized = |n| Some(n);
        assert_eq!(
            sizes,
            [
                None,
                sized(24),
                sized(28),
                sized(36),
                sized(40),
                sized(44),
                sized(52),
                sized(68),
                sized(100),
                None
            ]
        );
        for version in 3..=8 {
            let mut records = wide(version, 5, 7, 4096, 12, 1);
            records.extend(wide(version, 6, 8, 4096, 13, 1));
            let trace = read(&FORMAT, file(version, &records), "x");
            assert_eq!(
                trace.records,
                [
                    request(5_000_000_000, RecordOp::Read, 7 * 4096, 4096),
                    request(6_000_000_000, RecordOp::Write, 8 * 4096, 4096),
                ]
            );
        }
    }

    #[test]
    fn version_1_has_no_operation() {
        let record = hex("64000000 07000000 00000000 00100000 03000000 00000000");
        let trace = read(&FORMAT, file(1, &record), "x");
        assert_eq!(trace.records, [request(100_000_000_000, RecordOp::Read, 7 * 4096, 4096)]);
        assert_eq!(trace.facts.has_ops, Some(false));
        let trace =
            read_with(&FORMAT, file(1, &record), "x", |o| o.default_op = Some(RecordOp::Write));
        assert_eq!(trace.records[0].op, RecordOp::Write);
    }

    #[test]
    fn detection_gives_its_reason() {
        testing::detects(&FORMAT, &file(2, &hex(V2)));
        assert_eq!((FORMAT.detect)(&testing::sample(&[0; 9000])), Verdict::No);
    }

    #[test]
    fn headers_that_are_not_read_say_why() {
        assert!(
            read_err(&FORMAT, file(9, &[]), "x")
                .starts_with("x: record 0 at byte 8: header: expected version 1 to 8, found 9")
        );
        let mut early = file(0x7f3c_3c3c, &[]);
        early[EARLY_HEADER_BYTES - 8..EARLY_HEADER_BYTES].copy_from_slice(&MAGIC.to_le_bytes());
        let error = read_err(&FORMAT, early, "x");
        assert!(error.contains("early lcs layout") && error.contains("convert"), "{error}");
        let mut end = file(2, &hex(V2));
        end[HEADER_BYTES - 1] ^= 1;
        assert!(
            read_err(&FORMAT, end, "x").contains("at byte 8184: header: expected the magic number")
        );
        for length in 0..HEADER_BYTES {
            let error = read_err(&FORMAT, &file(2, &[])[..length], "x");
            assert!(error.contains("header: expected"), "{length}: {error}");
        }
    }

    #[test]
    fn malformed_records() {
        let file_of = |record: Vec<u8>| file(3, &[wide(3, 5, 7, 4096, 12, 1), record].concat());
        let place = format!("record 1 at byte {}: ", HEADER_BYTES + 36);
        let rejects =
            |record, category| testing::rejects(&FORMAT, &file_of(record), category, &place);
        rejects(wide(3, 5, 7, 4096, 15, 1), Category::UnknownOp);
        rejects(wide(3, 5, 7, -4096, 12, 1), Category::OutOfRange);
        rejects(wide(3, 5, 1 << 60, 4096, 12, 1), Category::OutOfRange);
        rejects(wide(3, 5, 7, 4096, 12, 1)[..35].to_vec(), Category::TruncatedRecord);
        let huge = file_of(wide(3, 5, 7, 1 << 40, 12, 1));
        let error = testing::error_with(&FORMAT, huge, "x", |o| {
            o.object = Some(crate::options::Object::Page)
        });
        assert!(error.to_string().contains("length: 1099511627776 bytes"), "{error}");
    }

    #[test]
    fn a_file_cut_inside_its_records_is_an_error_or_a_clean_shorter_trace() {
        let bytes = file(2, &hex(V2).repeat(2));
        for length in HEADER_BYTES..bytes.len() {
            match testing::try_read(
                &FORMAT,
                Input::from_bytes("x", &bytes[..length]),
                Default::default(),
            ) {
                Ok(trace) => assert_eq!(trace.records.len() * 28, length - HEADER_BYTES),
                Err(error) => {
                    assert!(error.to_string().contains("the file ends inside a record"), "{error}")
                }
            }
        }
    }
}
