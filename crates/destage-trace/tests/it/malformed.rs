//! Bad input: each kind of malformed record in each text format, with its place and its count;
//! files that are damaged or no traces at all. Bytes of any kind are in `arbitrary_bytes.rs`.

use crate::support::{self, options, read, read_bytes, sample, with_bad_line};
use destage_trace::{Category, FORMATS};

use Category::{
    BadDevice, BadNumber, BadTime, OutOfRange, Oversized, TooFewFields, TooManyFields, UnknownOp,
};

/// A format, its sample, a bad line, and its fault: category, column (0: the whole line), and a
/// part
/// of the message.
type Case = (&'static str, &'static str, &'static str, Category, u32, &'static str);

/// Required option of `mooncake` alone.
const TOKEN: (&str, &str) = ("bytes_per_token", "1024");
const KV: &str = "mooncake.jsonl";
const QWEN: &str = "qwen-bailian.jsonl";
const CASES: &[Case] = &[
    ("mooncake", KV, r#"{"timestamp": 1}"#, TooFewFields, 0, "hash_ids: expected this key"),
    ("qwen-bailian", QWEN, r#"{"timestamp": 1}"#, TooFewFields, 0, "hash_ids: expected this"),
    ("mooncake", KV, r#"{"timestamp":1,"hash_ids":[1.5]}"#, BadNumber, 28, "found \"1.5\""),
    ("mooncake", KV, r#"{"timestamp":"x","hash_ids":[0]}"#, BadTime, 14, "timestamp: expected"),
    (
        "msr",
        "msr.csv",
        "128166372000051234,demo,0,Read,8192",
        TooFewFields,
        0,
        "expected 7 fields, got 5",
    ),
    (
        "msr",
        "msr.csv",
        "128166372000051234,demo,0,Read,8192,512,1,2",
        TooManyFields,
        43,
        "expected 6 to 7 fields, got 8",
    ),
    (
        "msr",
        "msr.csv",
        "128166372000051234,demo,0,Read,9x92,512,1",
        BadNumber,
        32,
        "Offset: expected a whole number of bytes, found \"9x92\"",
    ),
    ("msr", "msr.csv", "128166372000051234,demo,0,Read,-1,512,1", BadNumber, 32, "found \"-1\""),
    (
        "msr",
        "msr.csv",
        "128166372000051234,demo,0,Read,99999999999999999999,512,1",
        OutOfRange,
        32,
        "does not fit 64 bits",
    ),
    (
        "msr",
        "msr.csv",
        "128166372000051234,demo,0,Read,9223372036854775800,512,1",
        OutOfRange,
        52,
        "past 2^63",
    ),
    (
        "msr",
        "msr.csv",
        "128166372000051234,demo,0,Read,0,268435457,1",
        Oversized,
        34,
        "max_request_bytes",
    ),
    (
        "msr",
        "msr.csv",
        "128166372000051234,demo,0,Trim,0,512,1",
        UnknownOp,
        27,
        "Type: expected Read or Write, found \"Trim\"",
    ),
    ("msr", "msr.csv", "1234567,demo,0,Read,0,512,1", BadTime, 1, "--format csv"),
    ("msr", "msr.csv", "128166372000051234,demo,x,Read,0,512,1", BadDevice, 25, "DiskNumber"),
    ("msr", "msr.csv", "128166372000051234,,0,Read,0,512,1", BadDevice, 20, "Hostname"),
    ("spc", "spc.spc", "0,2048,4096,W", TooFewFields, 0, "expected 5 fields, got 4"),
    ("spc", "spc.spc", "0,2048,4096,T,0.1", UnknownOp, 13, "Opcode"),
    ("spc", "spc.spc", "0,2048,4096,W,x", BadTime, 15, "Timestamp"),
    ("spc", "spc.spc", "a,2048,4096,W,0.1", BadDevice, 1, "ASU"),
    ("spc", "spc.spc", "0,1e3,4096,W,0.1", BadNumber, 3, "LBA"),
    ("spc", "spc.spc", "0,36028797018963968,4096,W,0.1", OutOfRange, 3, "does not fit 64 bits"),
    (
        "systor17",
        "systor17.csv",
        "1456012801.0,0.1,R,3,4096",
        TooFewFields,
        0,
        "expected 6 fields, got 5",
    ),
    ("systor17", "systor17.csv", "1456012801.0,0.1,R,3,4096,512,9", TooManyFields, 0, "got 7"),
    ("systor17", "systor17.csv", "1456012801.0,0.1,X,3,4096,512", UnknownOp, 18, "IOType"),
    ("systor17", "systor17.csv", "soon,0.1,R,3,4096,512", BadTime, 1, "Timestamp"),
    ("systor17", "systor17.csv", "1456012801.0,0.1,R,three,4096,512", BadDevice, 20, "LUN"),
    (
        "ms-etw",
        "ms-etw.txt",
        "DiskRead, 2310, a ( 1), 7, 0x0, 0x1000",
        TooFewFields,
        0,
        "expected at least 9 fields, got 6",
    ),
    (
        "ms-etw",
        "ms-etw.txt",
        "DiskRead, 2310, a ( 1), 7, 0x0, 4096, 0x1000, 1, 0",
        BadNumber,
        33,
        "ByteOffset",
    ),
    (
        "ms-etw",
        "ms-etw.txt",
        "DiskRead, then, a ( 1), 7, 0x0, 0x1000, 0x1000, 1, 0",
        BadTime,
        11,
        "TimeStamp",
    ),
    (
        "ms-etw",
        "ms-etw.txt",
        "DiskRead, 9999, a ( 1), 7, 0x0, 0x1000, 0x1000, 1, zero",
        BadDevice,
        52,
        "DiskNum",
    ),
    ("ms-etw", "ms-etw.txt", "{!}, 9999, a ( 1)", UnknownOp, 1, "event"),
    ("alibaba", "alibaba.csv", "17,W,1048576,8192", TooFewFields, 0, "expected 5 fields, got 4"),
    ("alibaba", "alibaba.csv", "17,W,1048576,8192,1,2", TooManyFields, 21, "got 6"),
    ("alibaba", "alibaba.csv", "17,D,1048576,8192,1577808000000626", UnknownOp, 4, "opcode"),
    (
        "alibaba",
        "alibaba.csv",
        "17,W,1048576,8192,99999999999999999999999",
        BadTime,
        19,
        "timestamp",
    ),
    ("tencent", "tencent.csv", "1538323200,2048,16,2,901", UnknownOp, 20, "IOType"),
    ("tencent", "tencent.csv", "1538323200,2048,16,1", TooFewFields, 0, "expected 5 fields, got 4"),
    ("tencent", "tencent.csv", "1538323200,2048,1048576,1,901", Oversized, 17, "max_request_bytes"),
    ("tencent", "tencent.csv", "1538323200,2048,16,1,v9", BadDevice, 22, "VolumeID"),
    (
        "vscsi-text",
        "vscsi-text.txt",
        "2147483649,4096,1,unmap,20480,9000000",
        UnknownOp,
        19,
        "command",
    ),
    (
        "vscsi-text",
        "vscsi-text.txt",
        "2147483649,4096,1,read,20480",
        TooFewFields,
        0,
        "expected 6 fields, got 5",
    ),
    ("blkparse", "blkparse.txt", "  8,16 0 1 0.1 977 D WX 8 + 8 [a]", UnknownOp, 22, "rwbs"),
    ("blkparse", "blkparse.txt", "  8,16 0 1 0.1 977 D W 8 + x [a]", BadNumber, 28, "length"),
    ("blkparse", "blkparse.txt", "  8,16 0 1 zero 977 D W 8 + 8 [a]", BadTime, 12, "time"),
    ("blkparse", "blkparse.txt", "  8,16 0 1", TooFewFields, 0, "expected 7 fields, got 3"),
    ("blkparse", "blkparse.txt", "  8.16 0 1 0.1 977 D W 8 + 8 [a]", BadDevice, 3, "major,minor"),
    (
        "fio-iolog",
        "fio-iolog.log",
        "140 /dev/demo write 1048576",
        TooFewFields,
        0,
        "expected 5 fields, got 4",
    ),
    ("fio-iolog", "fio-iolog.log", "140 /dev/demo erase 0 4096", UnknownOp, 15, "action"),
    ("fio-iolog", "fio-iolog.log", "now /dev/demo write 0 4096", BadTime, 1, "time"),
    ("fio-iolog", "fio-iolog.log", "140 /dev/demo write 0 -4096", BadNumber, 23, "length"),
    ("disksim", "disksim.trace", "0.25 0 2048 8", TooFewFields, 0, "expected 5 fields, got 4"),
    (
        "disksim",
        "disksim.trace",
        "0.25 0 2048 8 1 2 3",
        TooManyFields,
        19,
        "expected 5 to 6 fields, got 7",
    ),
    ("disksim", "disksim.trace", "0.25 0 2048 8 w", UnknownOp, 15, "flags"),
    ("disksim", "disksim.trace", "soon 0 2048 8 1", BadTime, 1, "time"),
    ("mqsim", "mqsim.trace", "0 0 2048 8", TooFewFields, 0, "expected 5 fields, got 4"),
    ("mqsim", "mqsim.trace", "0 0 2048 8 2", UnknownOp, 12, "operation"),
    ("mqsim", "mqsim.trace", "0.5 0 2048 8 1", BadTime, 1, "time"),
    ("mqsim", "mqsim.trace", "0 sda 2048 8 1", BadDevice, 3, "device"),
    (
        "fiu",
        "fiu.blkparse",
        "700100200300 4100",
        TooFewFields,
        0,
        "expected at least 6 fields, got 2",
    ),
    (
        "fiu",
        "fiu.blkparse",
        "700100200300 4100 d 2048 8 X 6 0 0f1e2d3c4b5a69788796a5b4c3d2e1f0",
        UnknownOp,
        28,
        "operation",
    ),
    (
        "fiu",
        "fiu.blkparse",
        "later 4100 d 2048 8 W 6 0 0f1e2d3c4b5a69788796a5b4c3d2e1f0",
        BadTime,
        1,
        "time",
    ),
    (
        "fiu",
        "fiu.blkparse",
        "700100200300 4100 d x 8 W 6 0 0f1e2d3c4b5a69788796a5b4c3d2e1f0",
        BadNumber,
        21,
        "lba",
    ),
    ("k5cloud", "k5cloud.csv", "12,1527814800.0,RW,0,4096", UnknownOp, 17, "operation"),
    ("k5cloud", "k5cloud.csv", "12,1527814800.0,R,0", TooFewFields, 0, "expected 5 fields, got 4"),
    (
        "biosnoop",
        "biosnoop.txt",
        "0.0014 db 1950 nvme0n1 W 2048",
        TooFewFields,
        0,
        "expected at least 8 fields, got 6",
    ),
    ("biosnoop", "biosnoop.txt", "0.0014 db 1950 nvme0n1 W 2048 4096 fast", BadTime, 36, "LAT"),
    (
        "iosnoop",
        "iosnoop.txt",
        "1.0 1.1 db 1 W 202,1 2048 4096 fast",
        BadTime,
        32,
        "LATms: expected",
    ),
    ("iosnoop", "iosnoop.txt", "1.0 1.1 db 1 W 202,1 2048", TooFewFields, 0, "at least 9 fields"),
    (
        "tracefs",
        "tracefs.txt",
        "fio-1 [0] 1.0: block_rq_issue: 8,0 X 4096 () 8 + 8 [fio]",
        UnknownOp,
        36,
        "rwbs: expected",
    ),
    (
        "tracefs",
        "tracefs.txt",
        "fio-1 [0] 1.0: block_rq_issue: 8,0 W 4096 () [fio]",
        TooFewFields,
        0,
        "expected sector + sectors",
    ),
    (
        "io-tracer",
        "io-tracer.csv",
        "yesterday,1,x,8,read,4096,1.0",
        BadTime,
        0,
        "timestamp: expected a date",
    ),
    (
        "moe-routing",
        "moe-routing.jsonl",
        "{\"layer\": 0, \"t_us\": 1, \"topk_ids\": [4096]}",
        BadNumber,
        0,
        "experts: expected numbers below 4096",
    ),
    (
        "biosnoop",
        "biosnoop.txt",
        "0.0014 db 1950 nvme0n1 WR 2048 4096 0.1",
        UnknownOp,
        24,
        "T: expected",
    ),
    (
        "diskmon",
        "diskmon.txt",
        "0\t0.1\t0.1\t0\tWrite\t2048",
        TooFewFields,
        0,
        "expected 7 fields, got 6",
    ),
    ("diskmon", "diskmon.txt", "0\t0.1\t0.1\t0\tErase\t2048\t8", UnknownOp, 13, "operation"),
    ("diskmon", "diskmon.txt", "0\t0,1,1\t0.1\t0\tRead\t2048\t8", BadTime, 3, "time"),
    (
        "strace",
        "strace.txt",
        "0.000110 fsync(7</db>) = 0",
        BadTime,
        1,
        "expected seconds since 1970, as strace -ttt prints them",
    ),
    ("strace", "strace.txt", "1456012801.5 fsync(7</db>", TooFewFields, 0, "expected call("),
    (
        "strace",
        "strace.txt",
        "1456012801.5 pread64(7</db>, \"\"..., 4096, x) = 4096",
        BadNumber,
        0,
        "offset: expected a whole number of bytes, found \"x\"",
    ),
    ("strace", "strace.txt", "1456012801.5 fsync(</db>) = 0", BadDevice, 0, "expected fd<path>"),
    ("arc", "arc.lis", "100 4 0", TooFewFields, 0, "expected 4 fields, got 3"),
    ("arc", "arc.lis", "100 x 0 0", BadNumber, 5, "count"),
    ("arc", "arc.lis", "100 4 0 0 0", TooManyFields, 11, "got 5"),
    ("pages", "pages.trc", "x17", BadNumber, 1, "page"),
    ("pages", "pages.trc", "17 x", UnknownOp, 4, "operation"),
];

#[test]
fn each_malformed_category_stops_with_its_place_or_is_skipped_and_counted() {
    let mut wrong = Vec::new();
    for case @ &(format, file, bad, category, column, part) in CASES {
        let (bytes, line) = with_bad_line(file, bad);
        let stop = options(&[("format", format), TOKEN]);
        let error = read_bytes("t.txt", &bytes, &stop).unwrap_err();
        let text = error.to_string();
        assert_eq!(error.exit_status(), 65, "{text}");
        let place = if column == 0 {
            format!("t.txt:{line}: ")
        } else {
            format!("t.txt:{line}:{column}: ")
        };
        let hint = format!(
            "format {format} (given); --on-error skip would skip such lines and count them"
        );
        let excerpt = format!("\n  {}", bad.replace('\t', " "));
        if ![place.as_str(), part, &excerpt, &hint].iter().all(|p| text.contains(p)) {
            wrong.push(format!("{case:?}: {text}"));
            continue;
        }
        if column > 0 {
            let caret = text.lines().rev().nth(1).unwrap();
            assert_eq!(caret.find('^'), Some(column as usize + 1), "{text}");
        }
        let clean = read(&[sample(file)], &stop).unwrap();
        let skip = options(&[("format", format), ("on_error", "skip"), TOKEN]);
        let skipped = read_bytes("t.txt", &bytes, &skip).unwrap();
        assert_eq!(skipped.records.len(), clean.records.len(), "{case:?}");
        let errors = skipped.summary.errors;
        if errors.len() != 1
            || errors.get(&category).is_none_or(|e| e.count != 1 || !e.first[0].contains(part))
        {
            wrong.push(format!("{case:?}: {errors:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_message_has_the_shape_of_the_specification() {
    let mut text = std::fs::read_to_string(sample("msr.csv")).unwrap();
    text.push_str("128166374020004120,prxy,0,Read,9x437184,4096,310\n");
    let (folder, path) = support::file("prxy_0.csv", text.as_bytes());
    let error = read(&[path], &options(&[])).unwrap_err().to_string();
    assert_eq!(
        error.replace(&format!("{}/", folder.path().display()), ""),
        "prxy_0.csv:13:32: Offset: expected a whole number of bytes, found \"9x437184\"\n  \
         128166374020004120,prxy,0,Read,9x437184,4096,310\n  \
         \x20                              ^^^^^^^^\n  \
         format msr (detected); --on-error skip would skip such lines and count them"
    );
}

#[test]
fn a_long_line_is_cut_to_160_bytes_around_the_field() {
    let host = "h".repeat(500);
    let bad = format!("128166372000000000,{host},0,Read,x,512,1");
    let (bytes, _) = with_bad_line("msr.csv", &bad);
    let error = read_bytes("t", &bytes, &options(&[])).unwrap_err().to_string();
    let shown = error.lines().nth(1).unwrap();
    assert_eq!(shown.len(), 162);
    let caret = error.lines().nth(2).unwrap().find('^').unwrap();
    assert_eq!(&shown[caret..=caret], "x");
}

fn error_of(bytes: &[u8], settings: &[(&str, &str)]) -> String {
    let error = read_bytes("t", bytes, &options(settings)).unwrap_err();
    assert_eq!(error.exit_status(), 65, "{error}");
    error.to_string()
}

#[test]
fn files_without_a_request_are_errors() {
    assert!(error_of(b"", &[]).contains("0 requests: the file is empty"));
    assert!(error_of(b"", &[("format", "msr")]).contains("0 requests"));
    let header = b"Timestamp,Response,IOType,LUN,Offset,Size\n";
    let text = error_of(header, &[]);
    assert!(text.contains("0 requests in 1 lines") && text.contains("1 header lines"), "{text}");
    assert!(error_of(b"\n\n \n", &[("format", "msr")]).contains("3 blank lines"));
    assert!(error_of(b"0,0,0,r,1.0\n", &[("format", "spc")]).contains("1 of zero length"));
    assert!(error_of(b"0,0,0,r,1.0\n", &[]).contains("1 of its first lines have length 0"));
    assert!(error_of(b"0,0,8,r,1.0\n", &[("ops", "trim")]).contains("nothing is left by"));
    let late = error_of(b"0,0,8,r,1.0\n0,0,8,r,181.0\n", &[("from", "10h")]);
    assert!(late.contains("the trace ends after 3.00 min"), "{late}");
}

#[test]
fn text_that_is_no_text_is_an_error() {
    let good = "128166372000000000,demo,0,Read,0,512,1\n";
    let nul = error_of(format!("{good}12816\0,x\n").as_bytes(), &[("format", "msr")]);
    assert!(nul.contains("t:2:6: binary data in a text trace: a NUL byte"), "{nul}");
    assert!(nul.contains("head -n 1 FILE"), "{nul}");
    let cr = error_of(format!("{good}a\rb\n").as_bytes(), &[("format", "msr")]);
    assert!(cr.contains("t:2:2: binary data in a text trace: a carriage return"), "{cr}");
    let long = error_of(
        format!("{good}{}\n", "x".repeat(65_537)).as_bytes(),
        &[("format", "msr"), ("on_error", "skip")],
    );
    assert!(
        long.contains("t:2: binary data in a text trace: a line of more than 65536 bytes"),
        "{long}"
    );
    let endless =
        error_of(format!("{good}{}", "x".repeat(300_000)).as_bytes(), &[("format", "msr")]);
    assert!(endless.contains("65536"), "{endless}");
    let wide: Vec<u8> = "\u{feff}128,demo\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for settings in [&[][..], &[("format", "msr")]] {
        assert!(error_of(&wide, settings).contains("UTF-16"));
        assert!(error_of(&wide[2..], settings).contains("UTF-16"));
    }
    // 64 KiB exactly is a line like any other.
    let name = "h".repeat(65_503);
    let fits = format!("128166372000000000,{name},0,Read,0,512,1\n");
    assert_eq!(fits.len(), 65_537 + 1);
    assert!(error_of(fits.as_bytes(), &[("format", "msr")]).contains("65536"));
    let fits = fits.replacen('h', "", 1);
    assert_eq!(
        read_bytes("t", fits.as_bytes(), &options(&[("format", "msr")])).unwrap().records.len(),
        1
    );
}

#[test]
fn names_may_hold_any_bytes_and_are_shown_escaped() {
    let found =
        read_bytes("t", b"128166372000000000,d\xff\x01\xc3\xa9,0,Read,0,512,1\n", &options(&[]))
            .unwrap();
    assert_eq!(found.devices, ["d\\xff\\x01é_0"]);
}

#[test]
fn a_wrong_format_is_doubted_as_a_whole() {
    let msr = std::fs::read_to_string(sample("msr.csv")).unwrap();
    for on_error in ["stop", "skip"] {
        let text = error_of(msr.as_bytes(), &[("format", "spc"), ("on_error", on_error)]);
        assert!(
            text.contains("12 of the first 12 records are malformed as format spc (given)"),
            "{text}"
        );
        assert!(text.contains("closest formats: msr ("), "{text}");
        assert!(text.contains("\n  128166372000000000,demo,0,Write"), "{text}");
    }
    // Half good lines are no reason to doubt: the first bad one is named.
    let half: String =
        msr.lines().map(|l| format!("{l}\n{}\n", l.replace("emo", "emo,"))).collect();
    let text = error_of(half.as_bytes(), &[("format", "msr")]);
    assert!(text.contains("t:2:"), "{text}");
}

#[test]
fn too_many_errors_stop_even_a_skipping_run() {
    let good = "7\n".repeat(50);
    let text = |bad: usize| format!("{good}{}", "x\n".repeat(bad)).into_bytes();
    let skip = |bytes: &[u8], limit: &str| {
        read_bytes(
            "t",
            bytes,
            &options(&[("format", "pages"), ("on_error", "skip"), ("max_errors", limit)]),
        )
    };
    let some = skip(&text(20), "20").unwrap();
    let errors = &some.summary.errors[&BadNumber];
    assert_eq!((errors.count, errors.first.len()), (20, 3));
    assert!(some.summary.warnings.iter().any(|w| w.starts_with("20 records skipped (bad number)")));
    let error = skip(&text(21), "20").unwrap_err();
    assert!(
        error.to_string().contains("21 malformed records") && error.exit_status() == 65,
        "{error}"
    );
    // By default: 10,000, but 1 % once more than 100,000 lines were read.
    let by_default = |bytes: &[u8]| {
        read_bytes("t", bytes, &options(&[("format", "pages"), ("on_error", "skip")]))
    };
    let early = [&"7\n".repeat(30_000), &"x\n".repeat(10_001)].map(|s| s.as_bytes()).concat();
    assert!(by_default(&early).unwrap_err().to_string().contains("10001 malformed"));
    assert!(by_default(&early[..early.len() - 2]).is_ok());
    let share = [&"7\n".repeat(50_000), &"x\n".repeat(2_000), &"7\n".repeat(50_000)]
        .map(|s| s.as_bytes())
        .concat();
    assert!(by_default(&share).unwrap_err().to_string().contains("more than 1 %"));
    let few = [&"7\n".repeat(50_000), &"x\n".repeat(900), &"7\n".repeat(50_000)]
        .map(|s| s.as_bytes())
        .concat();
    assert_eq!(by_default(&few).unwrap().summary.requests, 100_000);
}

#[test]
fn unknown_formats_options_and_devices_are_usage_errors_that_name_the_nearest() {
    for (settings, part) in [
        (&[("format", "msrr")][..], "did you mean msr?"),
        (&[("volume", "demo_9")][..], "did you mean demo_"),
        (&[("volume", "xyzzyxyzzy")][..], "which has 3: demo_0, demo_1, other_0"),
        (&[("concat", "true"), ("time_origin", "absolute")][..], "concat"),
    ] {
        let error = read(&[sample("msr.csv")], &options(settings)).unwrap_err();
        assert!(error.exit_status() == 2 && error.to_string().contains(part), "{error}");
    }
}

#[test]
fn what_is_no_trace_is_refused_with_a_reason() {
    let garbage: Vec<u8> =
        (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let text = error_of(&garbage, &[]);
    assert!(text.contains("no format fits: it is binary and begins with 00 "), "{text}");
    assert!(
        error_of(b"hello world\nthis is prose\n", &[])
            .contains("its first line is \"hello world\"")
    );
    assert!(error_of(b"# tracer: blk\n#\n fio-1 [0] 1.2: 8,0 R 8 + 8\n", &[]).contains("tracefs"));
    assert!(error_of(b"Attaching 2 probes...\nTIME(ms) DISK\n", &[]).contains("bpftrace script"));
    assert!(error_of(&garbage, &[]).contains("bin reads any table of records"));
    assert!(error_of(b"a;b;c\n1;2;3\n", &[]).contains("\"a;b;c\" (3 fields between semicolons)"));
    assert!(error_of(b"\n\n\n", &[]).contains("its first lines are blank"));
    assert!(error_of(b"1, 500, 0, 4096, 0\n2, 600, 1, 4096, 8\n", &[]).contains("log of fio"));
    assert!(error_of(b"device_id,capacity\n1,100\n", &[]).contains("device sizes"));
    for (magic, name) in [
        (&b"\x1f\x9d\x90abc"[..], "compress (.Z)"),
        (b"\x04\x22\x4d\x18abc", "lz4"),
        (b"7z\xbc\xaf\x27\x1cabc", "7z"),
        (b"Rar!\x1a\x07\0abc", "rar"),
    ] {
        let text = error_of(magic, &[]);
        assert!(text.contains(&format!("this is {name}")) && text.contains("repack"), "{text}");
    }
    for format in
        FORMATS.iter().filter(|f| f.kind == destage_trace::FormatKind::Text && f.name != "csv")
    {
        let text = error_of(&garbage, &[("format", format.name), TOKEN]);
        assert!(text.contains("t:") || text.contains("t: "), "{}: {text}", format.name);
    }
}

#[test]
fn results_of_ours_are_no_trace() {
    let text =
        b"{\n \"version\": \"0.2.0\",\n \"schema\": \"destage.results\",\n \"runs\": []\n}\n";
    let error = read_bytes("r.json", text, &options(&[])).unwrap_err().to_string();
    assert!(error.contains("results of destage") && error.contains("destage report"), "{error}");
}
