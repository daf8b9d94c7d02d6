use serde_json::json;

use super::*;
use crate::formats::testing::{self, read_with, request};
use crate::options::ReaderOptions;

const EXAMPLE: &str = "ts,vol,kind,sector,len\n1000,db,W,2048,4096\n1450,db,R,81920,16384\n";

fn set(table: serde_json::Value) -> impl FnOnce(&mut ReaderOptions) {
    move |options| *options = serde_json::from_value(table).unwrap()
}

fn mapping() -> serde_json::Value {
    json!({
        "columns": {"time": "ts", "device": "vol", "op": "kind", "offset": 3, "length": "len"},
        "time_unit": "us", "offset_unit": "sector", "length_unit": "byte",
        "op_read": ["R", "read", "0"], "op_write": ["W", "write", "1"], "op_trim": ["D"],
    })
}

fn expected() -> Vec<Record> {
    vec![
        request(1_000_000, RecordOp::Write, 2048 * 512, 4096),
        request(1_450_000, RecordOp::Read, 81_920 * 512, 16_384),
    ]
}

#[test]
fn the_example_of_the_specification_however_its_lines_end() {
    let trimmed = EXAMPLE.trim_end().to_owned();
    let forms =
        [EXAMPLE.to_owned(), EXAMPLE.replace('\n', "\r\n"), format!("\u{feff}{EXAMPLE}"), trimmed];
    for text in forms {
        let trace = read_with(&FORMAT, text.clone(), "t.csv", set(mapping()));
        assert_eq!(trace.records, expected(), "{text:?}");
        assert_eq!(trace.devices, ["db"]);
        assert_eq!(trace.tally.header, 1);
        assert_eq!((trace.facts.has_times, trace.facts.has_ops), (Some(true), Some(true)));
    }
}

#[test]
fn delimiters_are_found_out() {
    for delimiter in [";", "\t", "|", "  ", " ; ", " \t"] {
        let text = EXAMPLE.replace(',', delimiter);
        assert_eq!(
            read_with(&FORMAT, text, "x", set(mapping())).records,
            expected(),
            "{delimiter:?}"
        );
    }
}

#[test]
fn a_header_is_found_out_and_may_come_again() {
    let mut table = mapping();
    table["columns"] = json!({"time": 0, "device": 1, "op": 2, "offset": 3, "length": 4});
    for text in [EXAMPLE.to_owned(), EXAMPLE.replace("ts,vol,kind,sector,len\n", "")] {
        assert_eq!(read_with(&FORMAT, text, "x", set(table.clone())).records, expected());
    }
    let twice = format!("{EXAMPLE}{EXAMPLE}");
    let trace = read_with(&FORMAT, twice, "x", set(mapping()));
    assert_eq!((trace.records.len(), trace.tally.header), (4, 2));
}

#[test]
fn quotes_are_those_of_rfc_4180() {
    let text = "ts,vol,kind,sector,len\n\"1000\",\"a \"\"b\"\", c\" \
     ,W,2048,4096\n1000,a\"b,W,2048,4096\n";
    let trace = read_with(&FORMAT, text, "x", set(mapping()));
    assert_eq!(trace.devices, ["a \"b\", c", "a\"b"]);
    assert_eq!(trace.records[0], expected()[0]);
    let open = "ts,vol,kind,sector,len\n1000,\"db,W,2048,4096\n";
    let error = testing::error_with(&FORMAT, open, "x", set(mapping())).to_string();
    assert!(error.starts_with("x:2:7: a quoted field without its closing quote"), "{error}");
}

#[test]
fn every_malformed_field_has_its_category_and_its_place() {
    for (line, category, message) in [
        ("1000,db,W,2048", Category::TooFewFields, "x:2: expected 5 fields, got 4"),
        ("1000,db,W,2048,4096,9", Category::TooManyFields, "x:2:21: expected 5 fields, got 6"),
        (
            "1000,db,W,20x48,4096",
            Category::BadNumber,
            "x:2:11: offset: expected a whole number, found \"20x48\"",
        ),
        (
            "1000,db,W,2048,-1",
            Category::BadNumber,
            "x:2:16: length: expected a whole number, found \"-1\"",
        ),
        (
            "1e,db,W,2048,4096",
            Category::BadTime,
            "x:2:1: time: expected a decimal number of microseconds, found \"1e\"",
        ),
        ("1000,db,w,2048,4096", Category::UnknownOp, "x:2:9: op: expected one of \"R\", \"read\""),
        ("1000,,W,2048,4096", Category::BadDevice, "x:2:6: device: expected a name, found \"\""),
        (
            "1000,db,W,2048,999999999999",
            Category::Oversized,
            "x:2:16: length: 999999999999 bytes is more than",
        ),
        (
            "1000,db,W,99999999999999999999,1",
            Category::OutOfRange,
            "x:2:11: offset: \"99999999999999999999\" does not fit",
        ),
        ("1000,db,W,36028797018963967,1", Category::OutOfRange, "x:2:"),
    ] {
        let bytes = EXAMPLE.replace("1000,db,W,2048,4096", line);
        let error = testing::error_with(&FORMAT, bytes.clone(), "x", set(mapping()));
        let text = error.to_string();
        assert!(error.exit_status() == 65 && text.starts_with(message), "{line}: {text}");
        assert!(text.contains("--on-error skip"), "{text}");
        let mut skip = mapping();
        skip["on_error"] = json!("skip");
        let trace = read_with(&FORMAT, bytes, "x", set(skip));
        assert_eq!(trace.tally.errors[&category].count, 1, "{line}: {:?}", trace.tally.errors);
        assert_eq!(trace.records, expected()[1..]);
    }
}

#[test]
fn a_column_that_is_not_there_lists_those_that_are() {
    let mut table = mapping();
    table["columns"]["length"] = json!("size");
    let error = testing::error_with(&FORMAT, EXAMPLE, "x", set(table));
    assert_eq!(error.exit_status(), 2);
    assert!(error.to_string().contains("columns found: ts, vol, kind, sector, len"), "{error}");
}

#[test]
fn pages_alone_are_a_trace_too() {
    let table = json!({"columns": {"offset": 0}, "offset_unit": "page", "default_op": "read"});
    let trace = read_with(&FORMAT, "7\n9\n7\n", "x", set(table));
    assert_eq!(trace.records.iter().map(|r| r.offset_bytes / 4096).collect::<Vec<_>>(), [7, 9, 7]);
    assert_eq!(
        trace.facts,
        Facts {
            has_times: Some(false),
            has_ops: Some(false),
            page_bytes: Some(4096),
            ..Facts::default()
        }
    );
}

#[test]
fn flushes_need_no_extent() {
    let mut table = mapping();
    table["op_flush"] = json!(["F"]);
    let trace = read_with(&FORMAT, EXAMPLE.replace("W,2048,4096", "F,,"), "x", set(table));
    assert_eq!(trace.records[0], request(1_000_000, RecordOp::Flush, 0, 0));
}

#[test]
fn a_file_cut_anywhere_never_panics_and_never_changes_a_line_before_the_last() {
    for length in 0..EXAMPLE.len() {
        let input = Input::from_bytes("x", &EXAMPLE.as_bytes()[..length]);
        let options = serde_json::from_value(mapping()).unwrap();
        if let Ok(trace) = testing::try_read(&FORMAT, input, options) {
            // The last number of a text without its final newline may be any prefix.
            let sure = EXAMPLE[..length].matches('\n').count().saturating_sub(1);
            assert_eq!(trace.records[..sure], expected()[..sure]);
            assert!(trace.records.len() <= sure + 1);
        }
    }
}

#[test]
fn a_recording_has_comments_and_further_columns() {
    let columns = EXPORT_COLUMNS.join(",");
    let text = format!(
        "# destage record 1\n# device: a, b\n{columns},flags,pid,process\n\
         5,db,write,4096,512,70,S+FUA,12,\"a, b\"\n# lost 3 events on CPU 0\n\
         9,db,flush,0,0,,S,12,db\n"
    );
    let trace = read_with(&FORMAT, text.clone(), "t.csv", |_| ());
    let write = Record { response_ns: 70, ..request(5, RecordOp::Write, 4096, 512) };
    assert_eq!(trace.records, [write, request(9, RecordOp::Flush, 0, 0)]);
    assert_eq!((trace.tally.header, trace.tally.comment), (1, 3));
    let sample = |text: &str| detect(&Sample::of(&mut Input::from_bytes("t", text)).unwrap());
    assert!(matches!(sample(&text), Verdict::Yes(_)));
    assert!(matches!(sample(&text.replace("process", "uid")), Verdict::No));
    assert!(matches!(sample(&text.replace("# device: a", "device: a")), Verdict::No));
}
