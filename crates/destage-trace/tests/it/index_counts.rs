//! The real files of `docs/traces.md`: counts as their index gives them, and the same requests from
//! files that hold them in two formats. Skipped, and said so, where the files are not.

use std::collections::HashSet;

use crate::support::{self, options, read};
use destage_trace::{Record, RecordOp};

/// A line of the index.
struct Expected {
    file: &'static str,
    format: &'static str,
    /// Requests, reads, writes.
    counts: [u64; 3],
    devices: usize,
    /// Distinct 4-KiB pages per device; for page references, pages of the trace's own size.
    unique: usize,
    duration_ms: u64,
    /// Steps back, and the largest in ms.
    steps: (u64, u64),
}

const fn expect(
    file: &'static str,
    format: &'static str,
    counts: [u64; 3],
    devices: usize,
    unique: usize,
    duration_ms: u64,
    steps: (u64, u64),
) -> Expected {
    Expected { file, format, counts, devices, unique, duration_ms, steps }
}

#[rustfmt::skip] // a table
const FILES: &[Expected] = &[
    expect("msr_hm_0_excerpt20k.csv", "msr", [20_560, 16_344, 4_216], 1, 28_857, 799_526, (0, 0)),
    expect("financial1_first10k.ssdsim.ascii", "mqsim", [10_000, 4_077, 5_923], 22, 7_322, 259_601, (0, 0)),
    expect("financial1_first948.spc", "spc", [949, 183, 766], 16, 491, 28_443, (0, 0)),
    expect("mqsim_wsrch-small.trace", "mqsim", [24_783, 24_779, 4], 6, 93_029, 60_055, (0, 0)),
    expect("ms_DTRS_5min.ssdsim.trace", "mqsim", [127_043, 113_123, 13_920], 1, 1_272_267, 300_000, (0, 0)),
    expect("cloudphysics_libcachesim.vscsi", "vscsi", [113_872, 46_974, 66_898], 1, 269_210, 7_200_090, (0, 0)),
    expect("hplajw_1week_1992.srt", "srt", [44_519, 13_040, 31_479], 2, 7_344, 603_064_589, (0, 0)),
    expect("disksim_ascii.trace", "disksim", [100_000, 79_634, 20_366], 14, 158_355, 1_532_936, (0, 0)),
    expect("disksim_ssd-iozone-aligned2-100K.trace", "disksim", [100_000, 0, 100_000], 1, 271_320, 936_449, (0, 0)),
    expect("diskmon_mayun2.txt", "diskmon", [87_160, 36_705, 50_455], 1, 210_304, 11_719_769, (0, 0)),
    expect("blkparse_ycsb_f2fs.txt", "blkparse", [5_727, 4_722, 1_005], 1, 232_492, 1_651_023, (392, 49)),
    expect("fiu_mail_cheetah_first10k.blkparse", "fiu", [9_998, 8_896, 1_102], 1, 9_202, 23_571, (0, 0)),
    expect("systor17_sample.csv", "systor17", [999, 826, 173], 1, 9_831, 2_448, (243, 68)),
    expect("tencent_block_sample.csv", "tencent", [50_000, 24_521, 25_479], 2038, 348_239, 1_000, (144, 1_000)),
    expect("arc_OLTP.lis", "arc", [914_145, 914_145, 0], 1, 186_880, 0, (0, 0)),
    expect("arc_P3.lis", "arc", [238_578, 238_578, 0], 1, 762_543, 0, (0, 0)),
    expect("arc_P6.lis", "arc", [519_711, 519_711, 0], 1, 773_770, 0, (0, 0)),
    expect("lirs_2_pools.trc", "pages", [100_000, 100_000, 0], 1, 9_939, 0, (0, 0)),
    expect("lirs_cpp.trc", "pages", [9_047, 9_047, 0], 1, 1_223, 0, (0, 0)),
    expect("lirs_cs.trc", "pages", [6_781, 6_781, 0], 1, 1_409, 0, (0, 0)),
    expect("lirs_gli.trc", "pages", [6_015, 6_015, 0], 1, 2_529, 0, (0, 0)),
    expect("lirs_loop.trc", "pages", [505_500, 505_500, 0], 1, 1_011, 0, (0, 0)),
    expect("lirs_multi1.trc", "pages", [15_858, 15_858, 0], 1, 2_606, 0, (0, 0)),
    expect("lirs_multi2.trc", "pages", [26_311, 26_311, 0], 1, 5_684, 0, (0, 0)),
    expect("lirs_ps.trc", "pages", [10_448, 10_448, 0], 1, 3_083, 0, (0, 0)),
    expect("lirs_scan.trc", "pages", [50_025, 50_025, 0], 1, 2_001, 0, (0, 0)),
    expect("own/pgtpcb.csv", "msr", [780_000, 431_904, 348_096], 1, 726_044, 172_303, (0, 0)),
    expect("own/pgread.csv", "msr", [1_200_000, 870_238, 329_762], 1, 904_992, 124_533, (0, 0)),
    expect("own/postmark.csv", "msr", [455_312, 217_509, 237_803], 1, 944_202, 71_312, (0, 0)),
    expect("own/devel.csv", "msr", [554_120, 529_187, 24_933], 1, 1_292_255, 338_775, (0, 0)),
    expect("own/pgbackup.csv", "msr", [869_754, 392_933, 476_821], 1, 2_352_817, 230_985, (0, 0)),
];

fn rounded_ms(ns: u64) -> u64 {
    (ns + 500_000) / 1_000_000
}

fn unique_pages(records: &[Record], page_bytes: u64) -> usize {
    let mut pages: HashSet<(u32, u64)> = HashSet::new();
    for r in records.iter().filter(|r| r.op != RecordOp::Flush) {
        let (first, last) =
            (r.offset_bytes / page_bytes, (r.offset_bytes + r.length_bytes - 1) / page_bytes);
        pages.extend((first..=last).map(|page| (r.device, page)));
    }
    pages.len()
}

#[test]
fn every_file_decodes_with_the_counts_of_its_index() {
    let Some(folder) = support::traces() else { return };
    let mut wrong = Vec::new();
    for e in FILES {
        let settings: &[(&str, &str)] =
            if e.file.starts_with("ms_DTRS") { &[("time_unit", "us")] } else { &[] };
        let path = folder.join(format!("{}.xz", e.file));
        let found = match read(&[path], &options(settings)) {
            Ok(found) => found,
            Err(error) => {
                wrong.push(format!("{}: {error}", e.file));
                continue;
            }
        };
        let s = &found.summary;
        let is = (
            s.files[0].format.as_str(),
            [s.requests, s.reads, s.writes],
            found.devices.len(),
            unique_pages(&found.records, s.page_bytes.unwrap_or(4096)),
            rounded_ms(s.duration_ns()),
            (s.stepped_back, rounded_ms(s.largest_step_ns)),
            s.errors.len(),
        );
        let should = (e.format, e.counts, e.devices, e.unique, e.duration_ms, e.steps, 0);
        if is != should {
            wrong.push(format!("{}: {is:?}, but should be {should:?}", e.file));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn markers_blanks_and_summaries_are_counted() {
    let Some(folder) = support::traces() else { return };
    let files = [
        ("lirs_2_pools.trc.xz", 2, 0),
        ("lirs_cs.trc.xz", 2, 0),
        ("lirs_gli.trc.xz", 0, 1),
        ("blkparse_ycsb_f2fs.txt.xz", 42, 2), // 44 lines of summary, two of them blank
    ];
    for (file, comments, blanks) in files {
        let summary = read(&[folder.join(file)], &options(&[])).unwrap().summary;
        assert_eq!((summary.comment, summary.blank), (comments, blanks), "{file}");
    }
}

#[test]
fn the_same_requests_come_out_of_two_formats() {
    let Some(folder) = support::traces() else { return };
    let open = |file: &str, settings: &[(&str, &str)]| {
        read(&[folder.join(file)], &options(settings)).unwrap()
    };
    let extent = |r: &Record| (r.offset_bytes, r.length_bytes, r.op);
    // SPC and SSDsim columns of Financial1: times within 20 us, everything else equal.
    let spc = open("financial1_first948.spc.xz", &[]);
    let ssdsim = open("financial1_first10k.ssdsim.ascii.xz", &[]);
    for (a, b) in spc.records.iter().zip(&ssdsim.records) {
        assert_eq!(spc.devices[a.device as usize], ssdsim.devices[b.device as usize]);
        assert_eq!(extent(a), extent(b));
        assert!(a.time_ns.abs_diff(b.time_ns) <= 20_000, "{a:?} {b:?}");
    }
    // blkparse's text and the binary streams it was made from; the text is rebased to its first
    // event.
    for event in ["D", "Q", "C"] {
        let text = open("own/pgtpcb_raw.blkparse.txt.xz", &[("event", event)]);
        let binary = open("own/pgtpcb_raw.blktrace.tar.xz", &[("event", event)]);
        assert_eq!(text.records.len(), binary.records.len(), "{event}");
        assert_eq!(text.devices, binary.devices);
        let base = binary.records[0].time_ns - text.records[0].time_ns;
        let sorted = |records: &[Record], base: u64| {
            let mut keys: Vec<_> = records
                .iter()
                .map(|r| (r.time_ns - base, r.offset_bytes, r.length_bytes, r.op as u8))
                .collect();
            keys.sort_unstable();
            keys
        };
        assert_eq!(sorted(&text.records, 0), sorted(&binary.records, base), "{event}");
    }
    // fio's log of the first 200,000 requests of the CSV, in whole microseconds.
    let fio = open("own/pgtpcb_first200k.fio3.log.xz", &[]);
    let csv = open("own/pgtpcb.csv.xz", &[("requests", "200000")]);
    assert_eq!(
        (fio.summary.reads, fio.summary.writes, csv.records.len()),
        (118_272, 81_728, fio.records.len())
    );
    let start = csv.records[0].time_ns;
    for (a, b) in fio.records.iter().zip(&csv.records) {
        assert_eq!(extent(a), extent(b));
        assert!(a.time_ns.abs_diff(b.time_ns - start) < 1_000, "{a:?} {b:?}");
    }
    // The recorder's own CSV begins with the D records of the raw piece, flushes aside.
    let raw = open("own/pgtpcb_raw.blkparse.txt.xz", &[]);
    let moved = raw.records.iter().filter(|r| r.op != RecordOp::Flush);
    for (a, b) in moved.take(20_000).zip(&csv.records) {
        assert_eq!(extent(a), extent(b));
    }
}
