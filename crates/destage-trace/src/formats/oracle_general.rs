//! `oracle-general` and `oracle-general-op`: libCacheSim's compact traces, binary, little-endian,
//! packed, without a header; mostly found as `.zst`.
//!
//! ```text
//! oracle-general, 24 bytes      oracle-general-op, 27 bytes
//!  0 u32 time (s)                0 u32 time (s)
//!  4 u64 object id               4 u64 object id
//! 12 u32 size (bytes)           12 u32 size (bytes)
//! 16 i64 next access            16 u8 operation, 17 u16 namespace
//!                               19 i64 next access
//! ```
//!
//! The clock has whole seconds. Next access is the number of the next request for the object, or -1
//! or 2^63 - 1; it helps detection and is not trusted for anything else. `oracle-general` has no
//! operation: all are reads unless `default_op` says otherwise.

use super::binary::*;
use super::object::{self, Layout, ObjectReader, OpField};

/// The row of the table.
pub static FORMAT: Format = Format {
    blocks: false,
    has_ops: false,
    has_volumes: false,
    coarse_ns: Some(object::TICK_NS),
    name_parts: &["oraclegeneral"],
    ..Format::binary(
        "oracle-general",
        "libCacheSim oracleGeneral",
        "records of 24 bytes: time in whole seconds, object id, size, next access; no operation",
        |sample| detect(sample, LAYOUT),
        |input, opening| open(input, opening, LAYOUT),
    )
};

/// The row of the table.
pub static FORMAT_OP: Format = Format {
    blocks: false,
    coarse_ns: Some(object::TICK_NS),
    confirmed: false,
    ..Format::binary(
        "oracle-general-op",
        "libCacheSim oracleGeneral with operations",
        "records of 27 bytes: time in whole seconds, object id, size, operation, namespace, \
     next access",
        |sample| detect(sample, LAYOUT_WITH_OP),
        |input, opening| open(input, opening, LAYOUT_WITH_OP),
    )
};

const LAYOUT: Layout = Layout { record_bytes: 24, wide_size: false, op: OpField::None };
const LAYOUT_WITH_OP: Layout = Layout { record_bytes: 27, wide_size: false, op: OpField::Byte(16) };

/// Records that detection looks at.
const DETECT_RECORDS: usize = 1000;

fn detect(sample: &Sample, layout: Layout) -> Verdict {
    let size = layout.record_bytes;
    let (mut seen, mut last_time) = (0, 0);
    // A size below 16 MiB has a zero byte; text has none, and its digits look plausible.
    if sample.is_text() {
        return Verdict::No;
    }
    for record in sample.bytes.chunks_exact(size).take(DETECT_RECORDS) {
        let (time, next) = (u32_le(record, 0), u64_le(record, size - 8) as i64);
        let op_is_one = layout == LAYOUT || object::operation(record[16]).is_some();
        let plausible = time >= last_time
            && u32_le(record, 12) < 1 << 31
            && (next == -1 || next > seen)
            && op_is_one;
        if !plausible {
            return Verdict::No;
        }
        (seen, last_time) = (seen + 1, time);
    }
    if seen == 0 {
        return Verdict::No;
    }
    let reason = format!(
        "times do not decrease and next accesses lie ahead in {seen} records of {size} bytes"
    );
    match sample.size {
        Some(bytes) if bytes % size as u64 != 0 => Verdict::Maybe(format!(
            "{reason}, but the file's {bytes} bytes are no multiple of {size}"
        )),
        _ => Verdict::Yes(reason),
    }
}

fn open(input: Input, opening: &Opening, layout: Layout) -> Result<Box<dyn RecordReader>> {
    Ok(ObjectReader::boxed(input, opening, layout, Facts::default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{self, hex, read, read_with, request};
    use crate::options::Object;

    const PLAIN: &str = "64000000 07000000 00000000 00100000 03000000 00000000
                         64000000 09000000 00000000 00100000 ffffffff ffffffff";

    /// A record of `oracle-general-op`.
    fn with_op(time: u32, id: u64, size: u32, op: u8, namespace: u16, next: i64) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(time.to_le_bytes());
        bytes.extend(id.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.push(op);
        bytes.extend(namespace.to_le_bytes());
        bytes.extend(next.to_le_bytes());
        bytes
    }

    #[test]
    fn the_examples_of_the_specification() {
        let trace = read(&FORMAT, hex(PLAIN), "w01.oracleGeneral");
        assert_eq!(
            trace.records,
            [
                request(100_000_000_000, RecordOp::Read, 7 * 4096, 4096),
                request(100_000_000_000, RecordOp::Read, 9 * 4096, 4096),
            ]
        );
    }

    #[test]
    fn an_operation_can_be_given_where_the_format_has_none() {
        let trace = read_with(&FORMAT, hex(PLAIN), "x", |o| o.default_op = Some(RecordOp::Write));
        assert!(trace.records.iter().all(|r| r.op == RecordOp::Write));
    }

    #[test]
    fn operations_and_namespaces() {
        let mut bytes = with_op(5, 1, 4096, 12, 3, -1);
        bytes.extend(with_op(6, 2, 4096, 13, 4, i64::MAX));
        bytes.extend(with_op(6, 2, 4096, 9, 3, -1));
        let trace = read(&FORMAT_OP, bytes.clone(), "x");
        let ops: Vec<_> = trace.records.iter().map(|r| (r.op, r.device)).collect();
        assert_eq!(ops, [(RecordOp::Read, 0), (RecordOp::Write, 0), (RecordOp::Trim, 0)]);

        let trace = read_with(&FORMAT_OP, bytes, "x", |o| o.tenant_is_volume = true);
        assert_eq!(trace.devices, ["3", "4"]);
        assert_eq!(trace.records.iter().map(|r| r.device).collect::<Vec<_>>(), [0, 1, 0]);
    }

    #[test]
    fn an_operation_without_a_meaning_is_never_a_read() {
        let mut bytes = with_op(5, 1, 4096, 12, 3, -1);
        bytes.extend(with_op(5, 1, 4096, 15, 3, -1));
        testing::rejects(&FORMAT_OP, &bytes, Category::UnknownOp, "record 1 at byte 27: op: ");
    }

    #[test]
    fn detection_gives_its_reason() {
        testing::detects(&FORMAT, &hex(PLAIN));
        testing::detects(&FORMAT_OP, &with_op(5, 1, 4096, 12, 3, -1));
        let verdict = |bytes: &[u8]| (FORMAT.detect)(&testing::sample(bytes));
        let mut longer = hex(PLAIN);
        longer.push(0);
        assert!(
            matches!(verdict(&longer), Verdict::Maybe(why) if why.contains("no multiple of 24"))
        );
        let mut back = hex(PLAIN);
        back[24] = 0x63;
        assert_eq!(verdict(&back), Verdict::No, "time steps back");
        let mut past = hex(PLAIN);
        past[24 + 16..].copy_from_slice(&1u64.to_le_bytes());
        assert_eq!(verdict(&past), Verdict::No, "next access is the access itself");
        assert_eq!(verdict(&[0; 48]), Verdict::No);
    }

    #[test]
    fn other_sizes_than_a_page_need_a_word_about_what_an_id_is() {
        let mut bytes = hex(PLAIN);
        bytes[24 + 12] = 1;
        let error = testing::error_with(&FORMAT, bytes.clone(), "x", |_| ());
        assert_eq!(error.exit_status(), 2);
        let text = error.to_string();
        assert!(text.contains("record 1 at byte 24") && text.contains("object"), "{text}");

        let sector = read_with(&FORMAT, bytes.clone(), "x", |o| o.object = Some(Object::Sector));
        assert_eq!(sector.records[1], request(100_000_000_000, RecordOp::Read, 9 * 512, 4097));
        let page = read_with(&FORMAT, bytes.clone(), "x", |o| o.object = Some(Object::Page));
        assert_eq!(page.records[1], request(100_000_000_000, RecordOp::Read, 9 * 4096, 4097));
        assert_eq!(page.facts.page_bytes, None);
        let opaque = read_with(&FORMAT, bytes, "x", |o| o.object = Some(Object::Opaque));
        assert_eq!(opaque.records[1], request(100_000_000_000, RecordOp::Read, 9 * 4096, 4096));
        assert_eq!(opaque.facts.page_bytes, Some(4096));
    }

    #[test]
    fn an_object_of_no_bytes_is_counted_and_left_out() {
        let mut bytes = hex(PLAIN);
        bytes[12..16].fill(0);
        let trace = read(&FORMAT, bytes, "x");
        assert_eq!((trace.records.len(), trace.tally.zero_length), (1, 1));
    }

    #[test]
    fn an_id_past_all_addresses_is_out_of_range() {
        let mut bytes = hex(PLAIN);
        bytes[24 + 4..24 + 12].fill(0xff);
        testing::rejects(&FORMAT, &bytes, Category::OutOfRange, "record 1 at byte 24: ");
        let trace = read_with(&FORMAT, bytes, "x", |o| o.object = Some(Object::Opaque));
        assert_eq!(trace.records.len(), 2);
    }

    #[test]
    fn an_incredible_length_is_oversized() {
        let mut bytes = hex(PLAIN);
        bytes[24 + 12..24 + 16].fill(0xff);
        let error = testing::error_with(&FORMAT, bytes, "x", |o| o.object = Some(Object::Page));
        assert!(
            error.to_string().starts_with("x: record 1 at byte 24: length: 4294967295"),
            "{error}"
        );
    }

    #[test]
    fn the_sweep_and_the_careful_way_agree() {
        // More than a batch, with one page in the middle that is no page.
        let mut bytes = Vec::new();
        for i in 0..10_000u32 {
            bytes.extend(i.to_le_bytes());
            bytes.extend(u64::from(i * 7 % 977).to_le_bytes());
            bytes.extend(4096u32.to_le_bytes());
            bytes.extend((-1i64).to_le_bytes());
        }
        let simple = read(&FORMAT, bytes.clone(), "x").records;
        bytes[5000 * 24 + 12..5000 * 24 + 16].fill(0);
        let mut careful = read(&FORMAT, bytes, "x").records;
        careful.insert(5000, simple[5000]);
        assert_eq!(simple, careful);
        assert_eq!(
            simple[9999],
            request(9_999_000_000_000, RecordOp::Read, 9999 * 7 % 977 * 4096, 4096)
        );
    }

    #[test]
    fn a_file_cut_anywhere_is_an_error_or_a_clean_shorter_trace() {
        testing::cut_anywhere(&FORMAT, &hex(PLAIN), 24);
        testing::cut_anywhere(&FORMAT_OP, &with_op(5, 1, 4096, 12, 3, -1).repeat(2), 27);
    }
}
