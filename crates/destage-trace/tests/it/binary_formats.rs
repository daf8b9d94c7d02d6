//! The binary and column formats as a run reads them: the samples field by field, through every
//! packing, and several files of one recording.

use std::io::Write;

use crate::support::{self, options, read, sample};
use destage_trace::RecordOp::{Flush, Read as R, Trim, Write as W};
use destage_trace::{FORMATS, NO_RESPONSE, RecordOp};

/// Samples of the formats that detection recognises: file and format.
const SAMPLES: &[(&str, &str)] = &[
    ("srt.srt", "srt"),
    ("vscsi.vscsi", "vscsi"),
    ("vscsi-v2.vscsi", "vscsi"),
    ("oracle-general.bin", "oracle-general"),
    ("oracle-general-op.bin", "oracle-general-op"),
    ("lcs.lcs", "lcs"),
    ("blktrace-big-endian.bin", "blktrace"),
    ("parquet.parquet", "parquet"),
    ("lmcache.lct", "lmcache"),
];

/// How `csv.csv` is read.
const CSV: &[(&str, &str)] = &[
    ("format", "csv"),
    ("columns", "time=ts,device=vol,op=kind,offset=3,length=len"),
    ("time_unit", "us"),
    ("offset_unit", "sector"),
    ("length_unit", "byte"),
    ("op_read", "R"),
    ("op_write", "W"),
    ("op_trim", "D"),
    ("op_flush", "F"),
];

type Row = (u64, &'static str, u64, u64, RecordOp, Option<u64>);

/// Reads a sample and compares (time, device, offset, length, op, response).
fn golden(name: &str, settings: &[(&str, &str)], rows: &[Row]) -> support::Read {
    let found = read(&[sample(name)], &options(settings)).unwrap_or_else(|e| panic!("{e}"));
    let shown: Vec<_> = found
        .records
        .iter()
        .map(|r| {
            let response = (r.response_ns != NO_RESPONSE).then_some(r.response_ns);
            (
                r.time_ns,
                found.devices[r.device as usize].as_str(),
                r.offset_bytes,
                r.length_bytes,
                r.op,
                response,
            )
        })
        .collect();
    assert_eq!(shown, rows, "{name}");
    found
}

#[test]
fn srt_twin() {
    let start = 707_385_600_000_000_000; // 1 June 1992, 08:00 UTC
    let s = 1_000_000_000;
    let found = golden(
        "srt.srt",
        &[],
        &[
            (start + 500_000, "0", 2048 * 256, 4096, R, Some(9_040_000)),
            (start + 900_000, "1", 6144 * 512, 8192, W, Some(15_100_000)),
            (start + s + 20_000, "0", 2064 * 256, 1024, R, Some(7_035_000)),
            (start + s + 500_000, "0", 0, 2048, W, Some(6_000_000)),
            (start + 2 * s + 10_000, "0", 2048 * 256, 4096, R, Some(5_005_000)),
            (start + 2 * s + 900_000_000, "1", 6144 * 512, 8192, R, Some(4_005_000)),
        ],
    );
    let ignored = &found.summary.ignored_events;
    assert_eq!(
        (ignored["suspect I/O"], ignored["record type 9"], found.summary.zero_length),
        (1, 1, 1)
    );
}

#[test]
fn vscsi_twins() {
    let found = golden(
        "vscsi.vscsi",
        &[],
        &[
            (9_000_000_000, "vscsi", 20480 * 512, 4096, W, None),
            (9_000_390_000, "vscsi", 20488 * 512, 4096, W, None),
            (9_000_412_000, "vscsi", 81920 * 512, 16384, R, None),
            (9_001_007_000, "vscsi", 81920 * 512, 65536, R, None),
            (9_001_200_000, "vscsi", 0, 0, Flush, None),
            (9_001_300_000, "vscsi", 4096 * 512, 8192, W, None),
            (9_001_350_000, "vscsi", 63 * 512, 512, W, None),
            (9_001_400_000, "vscsi", 20480 * 512, 4096, R, None),
            (9_002_000_000, "vscsi", 409600 * 512, 1 << 20, W, None),
        ],
    );
    let summary = &found.summary;
    assert_eq!(
        (summary.ignored_events["SCSI command 0x12"], summary.zero_length, summary.stepped_back),
        (1, 1, 1)
    );
    golden(
        "vscsi-v2.vscsi",
        &[],
        &[
            (9_000_000_000, "vscsi-v2", 20480 * 512, 4096, W, Some(35_000)),
            (9_000_412_000, "vscsi-v2", 81920 * 512, 16384, R, Some(120_000)),
            (9_001_007_000, "vscsi-v2", 20488 * 512, 65536, Trim, Some(40_000)),
            (9_001_100_000, "vscsi-v2", 0, 0, Flush, Some(900_000)),
            (9_001_200_000, "vscsi-v2", 20496 * 512, 4096, W, Some(22_000)),
            (9_001_400_000, "vscsi-v2", 20480 * 512, 4096, R, Some(17_000)),
        ],
    );
}

/// The accesses of the three samples of libCacheSim's formats: seconds, page, operation.
const OBJECTS: [(u64, u64, RecordOp); 10] = [
    (100, 7, R),
    (100, 9, W),
    (101, 7, R),
    (101, 12, W),
    (101, 13, Trim),
    (103, 9, R),
    (103, 7, W),
    (110, 200, R),
    (110, 12, W),
    (3700, 7, R),
];

#[test]
fn oracle_general_and_lcs_twins() {
    let rows = |device: &'static str, with_op: bool| {
        OBJECTS.map(|(s, page, op)| {
            (s * 1_000_000_000, device, page * 4096, 4096, if with_op { op } else { R }, None)
        })
    };
    golden("oracle-general.bin", &[], &rows("oracle-general", false));
    golden("oracle-general-op.bin", &[], &rows("oracle-general-op", true));
    golden("lcs.lcs", &[], &rows("lcs.lcs", true));
    for name in ["oracle-general-op.bin", "lcs.lcs"] {
        let mut i = 0;
        let by_tenant = rows("", true).map(|(time, _, offset, length, op, response)| {
            i += 1;
            (time, if i % 2 == 1 { "1" } else { "2" }, offset, length, op, response)
        });
        golden(name, &[("tenant_is_volume", "true")], &by_tenant);
    }
}

#[test]
fn the_files_of_all_cpus_are_one_trace() {
    let rows = [
        (1_000_000, "8:16", 2048 * 512, 4096, W, None),
        (1_500_000, "8:16", 8192 * 512, 8192, R, None),
        (2_000_000, "8:16", 4096 * 512, 16384, R, None),
        (2_000_000, "8:16", 2056 * 512, 4096, W, None),
        (2_500_000, "8:16", 0, 0, Flush, None),
        (3_000_000, "8:16", 81920 * 512, 65536, Trim, None),
        (4_000_000, "8:16", 2048 * 512, 4096, R, None),
    ];
    for name in ["blktrace.blktrace.0", "blktrace.blktrace.1"] {
        let found = golden(name, &[], &rows);
        let ignored = &found.summary.ignored_events;
        assert_eq!((ignored["C complete"], ignored["Q queue"], ignored["U unplug"]), (2, 1, 1));
        assert_eq!((ignored["note: process name"], ignored["D issue of a SCSI command"]), (1, 1));
    }
    // Named twice it is still one recording.
    let both = [sample("blktrace.blktrace.1"), sample("blktrace.blktrace.0")];
    assert_eq!(read(&both, &options(&[])).unwrap().records.len(), rows.len());
    golden("blktrace.blktrace.1", &[("only_this_file", "true")], &[rows[1], rows[3], rows[6]]);
    golden(
        "blktrace.blktrace.0",
        &[("event", "Q")],
        &[(990_000, "8:16", 2048 * 512, 4096, W, None)],
    );
    golden(
        "blktrace.blktrace.0",
        &[("event", "C")],
        &[
            (1_900_000, "8:16", 2048 * 512, 4096, W, None),
            (2_100_000, "8:16", 8192 * 512, 8192, R, None),
        ],
    );
}

#[test]
fn a_requeued_request_of_blktrace_is_warned_of() {
    let event = |time: u64, action: u32| -> Vec<u8> {
        let (magic, sector, write) = (0x6561_7407_u32, 2048_u64, 1 << 17);
        let words = [4096, write | action, 1, 8 << 20, 0, 0];
        let heads = [&magic.to_le_bytes()[..], &[0; 4], &time.to_le_bytes(), &sector.to_le_bytes()];
        [heads.concat(), words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect()].concat()
    };
    let bytes = [event(1, 7), event(2, 6), event(3, 7), event(4, 8)].concat();
    let issued = support::read_bytes("x.bin", &bytes, &options(&[])).unwrap();
    let warning = "1 request was requeued (R) and counts twice: --event C counts it once";
    assert_eq!(issued.records.len(), 2);
    assert!(issued.summary.warnings.iter().any(|w| w == warning), "{:?}", issued.summary.warnings);
    let done = support::read_bytes("x.bin", &bytes, &options(&[("event", "C")])).unwrap();
    assert_eq!(done.records.len(), 1);
    assert!(done.summary.warnings.iter().all(|w| !w.contains("requeued")));
}

#[test]
fn big_endian_streams_of_tracefs() {
    golden(
        "blktrace-big-endian.bin",
        &[],
        &[
            // one stamp: by CPU
            (2_000, "8:16", 16 * 512, 512, W, None),
            (2_000, "8:16", 8 * 512, 512, R, None),
        ],
    );
}

#[test]
fn a_recording_without_the_chosen_event_lists_what_it_has() {
    let error =
        read(&[sample("blktrace-big-endian.bin")], &options(&[("event", "Q"), ("requests", "1")]));
    assert!(error.is_ok(), "it has one Q");
    let (_folder, path) =
        support::file("x.bin", &std::fs::read(sample("blktrace-big-endian.bin")).unwrap()[48..144]);
    let error = read(&[path], &options(&[("event", "C")])).unwrap_err();
    let text = error.to_string();
    assert!(
        error.exit_status() == 65 && text.contains("0 requests") && text.contains("D issue"),
        "{text}"
    );
}

const TABLE: [Row; 7] = [
    (1_000_000, "db", 2048 * 512, 4096, W, None),
    (1_400_000, "db", 2048 * 512, 4096, R, None),
    (1_450_000, "db", 81920 * 512, 16384, R, None),
    (1_450_000, "log, mirrored", 0, 512, W, None),
    (2_200_000, "db", 2048 * 512, 8192, Trim, None),
    (2_300_000, "log, mirrored", 0, 0, Flush, None),
    (2_400_000, "db", 0, 4096, R, Some(7_000)),
];

/// [`CSV`] with both words for a read.
fn csv_options() -> destage_trace::ReaderOptions {
    let mut options = options(CSV);
    options.op_read = vec!["R".to_owned(), "read".to_owned()];
    options
}

#[test]
fn csv_twin() {
    let found = read(&[sample("csv.csv")], &csv_options()).unwrap();
    let shown: Vec<_> = found
        .records
        .iter()
        .map(|r| {
            (
                r.time_ns,
                found.devices[r.device as usize].as_str(),
                r.offset_bytes,
                r.length_bytes,
                r.op,
            )
        })
        .collect();
    assert_eq!(
        shown,
        TABLE[..6].iter().map(|&(t, d, o, l, op, _)| (t, d, o, l, op)).collect::<Vec<_>>()
    );
    let summary = &found.summary;
    assert_eq!(
        (summary.header, summary.blank, summary.zero_length, summary.stepped_back),
        (2, 1, 1, 1)
    );
}

#[test]
fn our_own_parquet_needs_no_mapping() {
    golden("parquet.parquet", &[], &TABLE);
}

/// A file written by another library, with every column type that is read.
#[test]
fn parquet_of_other_writers_by_a_mapping() {
    let rows = |times: [u64; 5], response: bool| -> Vec<Row> {
        let rest = [
            ("b", 8 * 512, 512, W, None),
            ("a", 2048 * 512, 4096, R, Some(410_000)),
            ("a", 81920 * 512, 16384, R, Some(95_000)),
            ("a", 2048 * 512, 4096, W, Some(120_000)),
            ("b", 0, 1 << 20, Trim, Some(7_000)),
        ];
        let mut rows: Vec<Row> = times
            .into_iter()
            .zip(rest)
            .map(|(t, (d, o, l, op, took))| (t, d, o, l, op, took.filter(|_| response)))
            .collect();
        rows.push((times[4] + 800_000_000, "a", 0, 0, Flush, Some(1_000).filter(|_| response)));
        rows
    };
    let epoch = 1_456_012_801_000_000_000;
    let base = [
        ("offset_unit", "sector"),
        ("length_unit", "byte"),
        ("response_unit", "us"),
        ("op_read", "R"),
        ("op_write", "W"),
        ("op_trim", "D"),
        ("op_flush", "F"),
    ];
    let with = |columns: &'static str, more: &[(&'static str, &'static str)]| {
        let mut settings = base.to_vec();
        settings.push(("columns", columns));
        settings.extend_from_slice(more);
        settings
    };
    let name = "parquet-mapped.parquet";
    // a timestamp brings its unit
    let stamps = "time=when,device=volume,op=kind,offset=sector,length=bytes,response=took_us";
    let times = [120_000, 250_000, 100_000_000, 100_000_000, 200_000_000].map(|ns| epoch + ns);
    golden(name, &with(stamps, &[]), &rows(times, true));
    // a decimal keeps its last digit
    let decimals = "time=seconds,device=volume,op=kind,offset=sector,length=bytes";
    let exact = [120_000, 250_000, 100_000_000, 100_000_001, 200_000_000].map(|ns| epoch + ns);
    golden(name, &with(decimals, &[("time_unit", "s")]), &rows(exact, false));
    // floats are fine while they hold nanoseconds
    let floats = "time=float_s,device=volume,op=kind,offset=sector,length=bytes";
    let small = [120_000, 250_000, 100_000_000, 100_000_000, 200_000_000];
    golden(name, &with(floats, &[("time_unit", "s")]), &rows(small, false));
    // whole numbers as names and operations, columns by number
    let mut numbers = with("time=0,device=5,op=7,offset=8,length=9", &[]);
    numbers.retain(|(key, _)| !key.starts_with("op_"));
    numbers.extend([("op_read", "0"), ("op_write", "1"), ("on_error", "skip")]);
    let found = read(&[sample(name)], &options(&numbers)).unwrap();
    assert_eq!(found.devices, ["3", "4"]);
    assert_eq!(found.records.len(), 5, "the last has no offset");
    assert_eq!(found.summary.errors.values().map(|skips| skips.count).sum::<u64>(), 1);
}

#[test]
fn parquet_columns_that_cannot_be_what_they_shall_be_are_named() {
    let base = "offset=sector,length=bytes,op=kind,time=";
    let error = |column: &str, settings: &[(&str, &str)]| {
        let columns = format!("{base}{column}");
        let mut all = vec![
            ("columns", columns.as_str()),
            ("offset_unit", "sector"),
            ("length_unit", "byte"),
            ("op_read", "R"),
            ("op_write", "W"),
        ];
        all.extend_from_slice(settings);
        let error = read(&[sample("parquet-mapped.parquet")], &options(&all)).unwrap_err();
        (error.exit_status(), error.to_string())
    };
    let (status, text) = error("epoch_float_s", &[("time_unit", "s")]);
    assert!(status == 65 && text.contains("record 0 at byte") && text.contains("2^53"), "{text}");
    let (status, text) = error("kind", &[("time_unit", "s")]);
    assert!(status == 2 && text.contains("\"kind\" holds text; expected timestamps"), "{text}");
    let (status, text) = error("tags.list.element", &[("time_unit", "s")]);
    assert!(status == 2 && text.contains("is a list"), "{text}");
    let (status, text) = error("nowhere", &[("time_unit", "s")]);
    assert!(
        status == 2
            && text.contains("no column \"nowhere\"; columns found: when, seconds, float_s"),
        "{text}"
    );
    let (status, text) = error("took_us", &[]);
    assert!(status == 2 && text.contains("time_unit"), "{text}");
    let (status, text) = error("took_us", &[("time_unit", "us")]);
    assert!(
        status == 65 && text.contains("time: expected a time of 0 or later, found nothing"),
        "{text}"
    );
}

#[test]
fn lmcache_twin() {
    let found = read(&[sample("lmcache.lct")], &options(&[])).unwrap();
    let block = 2 * 4 * 256 * 8 * 2;
    let calls: Vec<(u64, u64, RecordOp)> = found
        .records
        .iter()
        .map(|r| (r.time_ns / 1_000_000, r.offset_bytes / r.length_bytes, r.op))
        .collect();
    let (read_op, write_op) = (RecordOp::Read, RecordOp::Write);
    assert_eq!(
        calls,
        [
            (500, 0, read_op),
            (500, 1, read_op),
            (750, 0, write_op),
            (750, 1, write_op),
            (1500, 0, read_op),
            (1500, 1, read_op),
            (1500, 2, read_op),
            (1600, 2, write_op),
            (2250, 3, read_op),
        ]
    );
    assert!(found.records.iter().all(|r| r.length_bytes == block));
    assert_eq!(found.summary.page_bytes, Some(block));
    assert_eq!(found.summary.ignored_events["finish_write"], 1);
    let given = read(&[sample("lmcache.lct")], &options(&[("block_bytes", "4096")])).unwrap();
    assert!(given.records.iter().all(|r| r.length_bytes == 4096));
}

#[test]
fn every_binary_format_has_a_twin_and_is_detected_in_it() {
    for (name, format) in SAMPLES {
        let found = read(&[sample(name)], &options(&[])).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(found.summary.files[0].format, *format, "{name}");
        assert!(!found.summary.files[0].reason.as_deref().unwrap_or("").is_empty(), "{name}");
    }
    // Of `bin` only the user knows what it is made of.
    let told = |format: &destage_trace::Format| {
        format.kind != destage_trace::FormatKind::Text && format.name != "bin"
    };
    for format in FORMATS.iter().filter(|f| told(f)) {
        assert!(
            SAMPLES.iter().any(|(_, name)| name == &format.name),
            "{} has no sample",
            format.name
        );
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    builder.append_data(&mut header, name, bytes).unwrap();
    builder.into_inner().unwrap()
}

fn zip(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    writer.start_file(name, stored).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap().into_inner()
}

/// Three members one after another, as `cat a.gz b.gz c.gz` leaves them.
fn thirds(bytes: &[u8], pack: fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    bytes.chunks(bytes.len().div_ceil(3)).flat_map(pack).collect()
}

/// The other samples go through every packing beside the text formats; these need a name or
/// options.
#[test]
fn every_packing_gives_identical_records() {
    for (name, options) in [("blktrace-big-endian.bin", options(&[])), ("csv.csv", csv_options())] {
        let plain = std::fs::read(sample(name)).unwrap();
        let expected = read(&[sample(name)], &options).unwrap();
        for (packing, bytes) in [
            ("gz", gzip(&plain)),
            ("gz", thirds(&plain, gzip)),
            ("bz2", bzip2(&plain)),
            ("xz", xz(&plain)),
            ("zst", zstd::encode_all(&plain[..], 1).unwrap()),
            ("zip", zip(name, &plain)),
            ("tar.gz", gzip(&tar(name, &plain))),
        ] {
            let (_folder, path) = support::file(&format!("{name}.{packing}"), &bytes);
            let found = read(&[path], &options).unwrap_or_else(|e| panic!("{name}.{packing}: {e}"));
            assert_eq!(
                (&found.records, &found.devices),
                (&expected.records, &expected.devices),
                "{name}.{packing}"
            );
        }
    }
}

#[test]
fn the_members_of_an_archive_are_one_recording() {
    let mut builder = tar::Builder::new(Vec::new());
    for name in ["blktrace.blktrace.0", "blktrace.blktrace.1"] {
        builder.append_path_with_name(sample(name), name).unwrap();
    }
    let (_folder, path) = support::file("x.tar.gz", &gzip(&builder.into_inner().unwrap()));
    let found = read(&[path], &options(&[])).unwrap();
    assert_eq!(
        found.records,
        read(&[sample("blktrace.blktrace.0")], &options(&[])).unwrap().records
    );
}
