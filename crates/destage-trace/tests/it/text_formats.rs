//! Every text format: the specification's example decoded field by field.

use crate::support::{TEXT_SAMPLES, options, read, read_bytes, sample, told};
use destage_trace::RecordOp::{Flush, Read as R, Trim, Write as W};
use destage_trace::{FORMATS, NO_RESPONSE, RecordOp};

type Row = (u64, &'static str, u64, u64, RecordOp, Option<u64>);

/// Decodes text in stored order and compares (time, device, offset, length, op, response).
fn golden(format: &str, text: &str, settings: &[(&str, &str)], rows: &[Row]) {
    let mut settings = settings.to_vec();
    settings.push(("format", format));
    let found = read_bytes("demo.txt", text.as_bytes(), &options(&settings)).unwrap();
    let shown: Vec<_> = found
        .records
        .iter()
        .map(|r| {
            let response = (r.response_ns != NO_RESPONSE).then_some(r.response_ns);
            let device = found.devices[r.device as usize].as_str();
            (r.time_ns, device, r.offset_bytes, r.length_bytes, r.op, response)
        })
        .collect();
    assert_eq!(shown, rows, "{format}");
}

#[test]
fn msr_example() {
    let t = 12_816_637_200_000_000_000;
    golden(
        "msr",
        "128166372000000000,demo,0,Write,1048576,4096,2310\n\
         128166372000051234,demo,0,Read,8192,16384,780\n\
         128166372000051234,demo,1,Write,8192,512,95\n",
        &[],
        &[
            (t, "demo_0", 1048576, 4096, W, Some(231_000)),
            (t + 5_123_400, "demo_0", 8192, 16384, R, Some(78_000)),
            (t + 5_123_400, "demo_1", 8192, 512, W, Some(9_500)),
        ],
    );
    // A header, any letter case, blanks, no response.
    golden(
        "msr",
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n128166372000000000, demo \
         ,0, WRITE,0, 512\n",
        &[],
        &[(t, "demo_0", 0, 512, W, None)],
    );
}

#[test]
fn msr_between_tabs() {
    golden(
        "msr",
        "Timestamp\tHostname\tDiskNumber\tType\tOffset\tSize\tResponseTime\n\
         128166372000000000\tdemo\t0\tWrite\t1048576\t4096\t2310\n",
        &[],
        &[(12_816_637_200_000_000_000, "demo_0", 1048576, 4096, W, Some(231_000))],
    );
}

#[test]
fn spc_example() {
    let text = "0,2048,4096,W,0.000000\n2,77,3584,r,0.014200\n0,2056,1024,w,0.014200,more,fields\n";
    golden(
        "spc",
        text,
        &[],
        &[
            (0, "0", 1048576, 4096, W, None),
            (14_200_000, "2", 39424, 3584, R, None),
            (14_200_000, "0", 1052672, 1024, W, None),
        ],
    );
    golden(
        "spc",
        "1, 3 , 5,R,1e-3\n",
        &[("block_bytes", "4096")],
        &[(1_000_000, "1", 12288, 5, R, None)],
    );
    let found = read_bytes("x", text.as_bytes(), &options(&[])).unwrap();
    assert_eq!(found.summary.notes, ["spc: fields after the fifth are ignored"]);
}

#[test]
fn systor17_example() {
    let text = "Timestamp,Response,IOType,LUN,Offset,Size\n\
                1456012801.000250000,0.000410000,W,3,1048576,8192\n\
                1456012801.000120000,,R,3,4096,4096\n1456012801.5,0.1,,3,4096,4096\n";
    golden(
        "systor17",
        text,
        &[],
        &[
            (1_456_012_801_000_120_000, "3", 4096, 4096, R, None),
            (1_456_012_801_000_250_000, "3", 1048576, 8192, W, Some(410_000)),
        ],
    );
    let summary = read_bytes("x", text.as_bytes(), &options(&[])).unwrap().summary;
    assert_eq!((summary.stepped_back, summary.largest_step_ns, summary.header), (1, 130_000, 1));
    assert_eq!(summary.ignored_events["no response"], 1);
}

const ETW: &str = "BeginHeader
            DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,  \
\x20ByteOffset,     IOSize, ElapsedTime,  DiskNum
EndHeader
            DiskRead,       2310,             demo.exe ( 412),        77, 0x00000000fa10b2c0, \
0x00100000, 0x00002000,         310,        1
           DiskWrite,       2988,             demo.exe ( 412),        77, 0x00000000fa10b5e8, \
0x00400000, 0x00001000,          95,        1
";

#[test]
fn ms_etw_example() {
    // The example's header does not name DiskWrite, whose columns are those of DiskRead.
    let both = ETW.replace(
        "EndHeader",
        &format!("{}\nEndHeader", ETW.lines().nth(1).unwrap().replace("DiskRead", "DiskWrite")),
    );
    let rows = |issue: bool| {
        let at = |done: u64, elapsed: u64| if issue { done - elapsed } else { done };
        [
            (at(2_310_000, 310_000), "1", 1048576, 8192, R, Some(310_000)),
            (at(2_988_000, 95_000), "1", 4194304, 4096, W, Some(95_000)),
        ]
    };
    golden("ms-etw", ETW, &[], &rows(true));
    golden("ms-etw", &both, &[], &rows(true));
    golden("ms-etw", &both, &[("etw_time", "completion")], &rows(false));
    // Without a header the old order holds; with a CPU column the header says so.
    let bare: String = ETW.lines().skip(3).map(|l| format!("{l}\n")).collect();
    golden("ms-etw", &bare, &[], &rows(true));
    let newer = both
        .replace("             IrpPtr,", " CPU, IrpPtr,")
        .replace("        77, ", "        77, 2, ");
    golden("ms-etw", &newer, &[], &rows(true));
    // A start of the trace gives absolute times; a quoted file name with commas comes last.
    let started = both.replace(
        "EndHeader\n",
        "EndHeader\nOS Version: 6.0, Trace Start: 128166372000000000, PointerSize: 8\n",
    );
    let named = started.replace("        95,        1", "        95,        1, \"C:\\a,b\"");
    let base = 12_816_637_200_000_000_000;
    let later = rows(true).map(|(t, d, o, l, op, r)| (t + base, d, o, l, op, r));
    golden("ms-etw", &named, &[], &later);
}

#[test]
fn ms_etw_flushes_on_request() {
    let plain = read(&[sample("ms-etw.txt")], &options(&[])).unwrap();
    assert_eq!((plain.summary.flushes, plain.summary.ignored_events["DiskFlush"]), (0, 1));
    let asked = read(&[sample("ms-etw.txt")], &options(&[("etw_flush", "true")])).unwrap();
    assert_eq!((asked.summary.flushes, asked.summary.requests), (1, plain.summary.requests + 1));
    let flush = asked.records.iter().find(|r| r.op == Flush).unwrap();
    assert_eq!((flush.time_ns, flush.length_bytes), (3_570_000, 0));
}

#[test]
fn alibaba_example() {
    golden(
        "alibaba",
        "device_id,opcode,offset,length,timestamp\n17,W,1048576,8192,1577808000000626\n\
         3,R,0,4096,1577808000000940\n\
         17,W,1056768,4096,1577808000001733\n",
        &[],
        &[
            (1_577_808_000_000_626_000, "17", 1048576, 8192, W, None),
            (1_577_808_000_000_940_000, "3", 0, 4096, R, None),
            (1_577_808_000_001_733_000, "17", 1056768, 4096, W, None),
        ],
    );
}

#[test]
fn tencent_example() {
    let s = 1_538_323_200_000_000_000;
    let text = "1538323200,2048,16,1,901\n1538323200,2064,8,0,901\n1538323199,65536,128,1,44\n";
    golden(
        "tencent",
        text,
        &[],
        &[
            (s - 1_000_000_000, "44", 33554432, 65536, W, None),
            (s, "901", 1048576, 8192, W, None),
            (s, "901", 1056768, 4096, R, None),
        ],
    );
    golden(
        "tencent",
        text,
        &[("spread", "uniform")],
        &[
            (s - 1_000_000_000, "44", 33554432, 65536, W, None),
            (s, "901", 1048576, 8192, W, None),
            (s + 500_000_000, "901", 1056768, 4096, R, None),
        ],
    );
    let summary = read_bytes("x", text.as_bytes(), &options(&[])).unwrap().summary;
    assert_eq!(summary.coarse_clock_ns, Some(1_000_000_000));
}

#[test]
fn vscsi_text_example() {
    golden(
        "vscsi-text",
        "# comment\n2147483649,4096,1,write,20480,9000000\n2147483650,16384,1,read,81920,9000412\n",
        &[],
        &[
            (9_000_000_000, "demo", 10485760, 4096, W, None),
            (9_000_412_000, "demo", 41943040, 16384, R, None),
        ],
    );
}

const BLKPARSE: &str = "  8,16   0       11     0.000120450   977  D  WS 2048 + 8 [my job/1]
  8,16   1        7     0.000988001   977  D   R 81920 + 64 [my job/1]
  8,16   0       12     0.001500020     0  C  WS 2048 + 8 [0]
";

#[test]
fn blkparse_example() {
    golden(
        "blkparse",
        BLKPARSE,
        &[],
        &[(120_450, "8:16", 1048576, 4096, W, None), (988_001, "8:16", 41943040, 32768, R, None)],
    );
    golden("blkparse", BLKPARSE, &[("event", "C")], &[(1_500_020, "8:16", 1048576, 4096, W, None)]);
    let error = read_bytes("x.txt", BLKPARSE.as_bytes(), &options(&[("event", "Q")])).unwrap_err();
    assert_eq!(error.exit_status(), 65);
    let text = error.to_string();
    assert!(
        text.contains("1 ignored events C, 2 ignored events D") && text.contains("Q events"),
        "{text}"
    );
}

#[test]
fn blkparse_ops_summary_and_warnings() {
    let found = read(&[sample("blkparse.txt")], &options(&[])).unwrap();
    let ops: Vec<RecordOp> = found.records.iter().map(|r| r.op).collect();
    assert_eq!(ops, [W, R, Flush, W, R, Trim]);
    assert_eq!(found.summary.comment, 7);
    assert_eq!(found.summary.ignored_events["m"], 1);
    let sample = std::fs::read_to_string(sample("blkparse.txt")).unwrap();
    let lossy = sample.replace("Skips: 0 forward", "Skips: 3 forward");
    let warnings = read_bytes("x", lossy.as_bytes(), &options(&[])).unwrap().summary.warnings;
    assert_eq!(warnings, ["blkparse lost events: Skips: 3 forward (0 -   0.0%)"]);
    let zoned = "  8,0 0 1 0.1 1 D R 0 + 8 [a]\n  8,0 0 2 0.2 1 D W 8 + 8 [a]\n  8,0 0 3 0.3 1 D \
     ZRS 0 + 8 [a]\n";
    let summary = read_bytes("x", zoned.as_bytes(), &options(&[])).unwrap().summary;
    assert!(summary.warnings.iter().any(|w| w.contains("zoned")), "{:?}", summary.warnings);
}

#[test]
fn a_requeued_request_is_warned_of_as_it_is_issued_twice() {
    let events = |name: [&str; 3], line: &dyn Fn(u64, &str, &str) -> String| -> String {
        let [issue, requeue, complete] = name;
        [(1, issue), (2, requeue), (3, issue), (4, complete)]
            .map(|(k, name)| line(k, name, if name == complete { "[0]" } else { "[a]" }))
            .concat()
    };
    let blkparse = events(["D", "R", "C"], &|k, name, tail| {
        format!("  8,0 0 {k} 0.{k} 1 {name} W 2048 + 8 {tail}\n")
    });
    let tracefs =
        events(["block_rq_issue", "block_rq_requeue", "block_rq_complete"], &|k, name, tail| {
            format!("  fio-1 [003] d..1. 1.{k}: {name}: 8,0 W () 2048 + 8 {tail}\n")
        });
    let warning = "request was requeued (R) and counts twice: --event C counts it once";
    let once = format!("1 {warning}");
    for text in [&blkparse, &tracefs] {
        let issued = read_bytes("x.txt", text.as_bytes(), &options(&[])).unwrap();
        assert_eq!(issued.records.len(), 2);
        assert!(issued.summary.warnings.contains(&once), "{:?}", issued.summary.warnings);
        let done = read_bytes("x.txt", text.as_bytes(), &options(&[("event", "C")])).unwrap();
        assert_eq!(done.records.len(), 1);
        assert!(!done.summary.warnings.iter().any(|w| w.contains("requeued")));
    }
    let mut twice = blkparse.clone();
    twice.push_str("  8,1 0 5 0.5 1 R W 2048 + 8 [a]\n");
    let all = read_bytes("x.txt", twice.as_bytes(), &options(&[])).unwrap().summary;
    let several = "2 requests were requeued (R) and count twice: --event C counts each once";
    assert!(all.warnings.iter().any(|w| w == several), "{:?}", all.warnings);
    let one = read_bytes("x.txt", blkparse.as_bytes(), &options(&[("volume", "8,0")])).unwrap();
    assert!(one.summary.warnings.contains(&format!("up to 1 {warning}")));
    let usual = read_bytes("x.txt", BLKPARSE.as_bytes(), &options(&[])).unwrap().summary;
    assert!(usual.warnings.iter().all(|w| !w.contains("requeued")));
}

#[test]
fn several_block_devices_must_be_meant() {
    let text = "  252,0 0 1 0.100 1 Q R 0 + 8 [a]\n  8,0 0 2 0.101 1 A R 2048 + 8 <- (252,0) 0\n  \
                8,0 0 3 0.102 1 Q R 2048 + 8 [a]\n";
    let q = ("event", "Q");
    let error = read_bytes("x", text.as_bytes(), &options(&[q])).unwrap_err();
    assert!(error.to_string().contains("252:0, 8:0") && error.exit_status() == 2, "{error}");
    let one = read_bytes("x", text.as_bytes(), &options(&[q, ("volume", "8,0")])).unwrap();
    assert_eq!(
        (one.devices, one.records.len(), one.summary.warnings.len()),
        (vec!["8:0".to_owned()], 1, 0)
    );
    let both = read_bytes("x", text.as_bytes(), &options(&[q, ("volumes", "stack")])).unwrap();
    assert_eq!(both.records.len(), 2);
    assert!(
        both.summary.warnings.iter().any(|w| w.contains("252:0 are remapped to 8:0")),
        "{:?}",
        both.summary.warnings
    );
}

#[test]
fn fio_iolog_examples() {
    golden(
        "fio-iolog",
        "fio version 3 iolog\n0 /dev/demo open\n140 /dev/demo write 1048576 4096\n",
        &[],
        &[(140_000, "/dev/demo", 1048576, 4096, W, None)],
    );
    golden(
        "fio-iolog",
        &std::fs::read_to_string(sample("fio-iolog-v2.log")).unwrap(),
        &[],
        &[
            (0, "/dev/demo", 1048576, 4096, W, None),
            (500_000, "/dev/demo", 0, 8192, R, None),
            (500_000, "/dev/demo", 8192, 8192, R, None),
            (750_000, "/dev/demo", 4096, 4096, W, None),
            (750_000, "/dev/demo", 0, 0, Flush, None),
            (2_000_000, "/dev/demo", 0, 65536, Trim, None),
        ],
    );
    let still =
        read_bytes("x", b"fio version 2 iolog\nf read 0 4096\nf write 0 4096\n", &options(&[]))
            .unwrap();
    assert!(!still.summary.has_times && still.summary.notes[0].contains("--queue-depth"));
    let joined = "fio version 3 iolog\n0 a write 0 512\nfio version 3 iolog\n5 b read 0 512\n";
    let warnings = read_bytes("x", joined.as_bytes(), &options(&[])).unwrap().summary.warnings;
    assert!(warnings[0].contains("the logs of 2 jobs"), "{warnings:?}");
    for first in ["fio version 1 iolog", "0, 1024, 4096"] {
        let text = format!("{first}\nf read 0 4096\n");
        let error =
            read_bytes("x", text.as_bytes(), &options(&[("format", "fio-iolog")])).unwrap_err();
        assert!(error.to_string().contains("version 1"), "{error}");
    }
}

#[test]
fn disksim_example() {
    let text = "0.250000 0 2048 8 0\n1.031250 0 81920 32 1\n1.031250\t1 0 8 1\n";
    let rows = [
        (250_000, "0", 1048576, 4096, W, None),
        (1_031_250, "0", 41943040, 16384, R, None),
        (1_031_250, "1", 0, 4096, R, None),
    ];
    golden("disksim", text, &[], &rows);
    golden(
        "disksim",
        "2.5 0 1 2 1b 77\n",
        &[("block_bytes", "1024")],
        &[(2_500_000, "0", 1024, 2048, R, None)],
    );
    let notes = read_bytes("x", b"2.5 0 1 2 1b 77\n2.5 0 1 2 10 77\n", &options(&[]))
        .unwrap()
        .summary
        .notes;
    assert_eq!(notes.len(), 3, "the unit, the sixth column and the other bits, once: {notes:?}");
}

#[test]
fn mqsim_example() {
    let text = "0 0 2048 8 0\n51200 0 81920 32 1\n51200 1 0 8 1\n";
    for (unit, scale, divide) in [("ns", 1, 1), ("us", 1000, 1), ("ps", 1, 1000)] {
        let t = 51_200 * scale / divide;
        let rows = [
            (0, "0", 1048576, 4096, W, None),
            (t, "0", 41943040, 16384, R, None),
            (t, "1", 0, 4096, R, None),
        ];
        golden("mqsim", text, &[("time_unit", unit)], &rows);
    }
    let detected = read_bytes("x", text.as_bytes(), &options(&[])).unwrap().summary;
    assert!(
        detected.warnings.iter().any(|w| w.contains("times taken as ns")),
        "{:?}",
        detected.warnings
    );
    let given = read_bytes("x", text.as_bytes(), &options(&[("format", "mqsim")])).unwrap().summary;
    assert!(given.notes.iter().any(|n| n.contains("times taken as ns")), "{:?}", given.notes);
}

#[test]
fn fiu_example() {
    let hash = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
    let row = (700_100_200_300, "6:0", 1048576, 4096, W, None);
    golden("fiu", &format!("700100200300 4100 my daemon 2048 8 W 6 0 {hash}\n"), &[], &[row]);
    golden("fiu", "700100200300 4100 my daemon 2048 8 W 6 0\n", &[], &[row]);
    let file = (700_100_200_300, "demo", 1048576, 4096, W, None);
    golden("fiu", &format!("700100200300 4100 my 9 daemon 2048 8 W {hash}\n"), &[], &[file]);
    golden("fiu", "700100200300 4100 daemon 2048 8 W\n", &[], &[file]);
}

#[test]
fn k5cloud_example() {
    let s = 1_527_814_800_000_000_000;
    golden(
        "k5cloud",
        "12,1527814800.001210,W,1048576,4096\n12,1527814800.001950,R,0,8192\n\
         7,1527814800.002400,W,65536,16384\n",
        &[],
        &[
            (s + 1_210_000, "12", 1048576, 4096, W, None),
            (s + 1_950_000, "12", 0, 8192, R, None),
            (s + 2_400_000, "7", 65536, 16384, W, None),
        ],
    );
}

#[test]
fn biosnoop_example() {
    golden(
        "biosnoop",
        "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES   LAT(ms)\n\
         0.001400    my db          1950   nvme0n1 W 2048       4096       0.40\n\
         0.002010    my db          1950   nvme0n1 R 81920      16384      0.11\n",
        &[],
        &[
            (1_000_000, "nvme0n1", 1048576, 4096, W, Some(400_000)),
            (1_900_000, "nvme0n1", 41943040, 16384, R, Some(110_000)),
        ],
    );
    let text = "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n0.001400 db 1 sda W 2048 \
     4096 0.10 0.40\n\
                Possibly lost 7 samples\n0.002 db 1 sda F 0 0 0.0 0.1\n";
    golden(
        "biosnoop",
        text,
        &[],
        &[
            (900_000, "sda", 1048576, 4096, W, Some(500_000)),
            (1_900_000, "sda", 0, 0, Flush, Some(100_000)),
        ],
    );
    let summary = read_bytes("x", text.as_bytes(), &options(&[])).unwrap().summary;
    assert_eq!(summary.warnings, ["biosnoop lost events: Possibly lost 7 samples"]);
    let other = "TIME(ms)     COMM           PID    DISK     LAT(ms)\n611      bash           \
     4179   nvme0n1     10\n";
    let error = read_bytes("x", other.as_bytes(), &options(&[])).unwrap_err().to_string();
    assert!(error.contains("bpftrace"), "{error}");
}

/// Time, device, offset, length, operation and response of a sample's requests.
fn decoded(name: &str) -> Vec<(u64, String, u64, u64, RecordOp, Option<u64>)> {
    let found = read(&[sample(name)], &told()).unwrap();
    let request = |r: &destage_trace::Record| {
        let device = found.devices[r.device as usize].clone();
        let response = (r.response_ns != NO_RESPONSE).then_some(r.response_ns);
        (r.time_ns, device, r.offset_bytes, r.length_bytes, r.op, response)
    };
    found.records.iter().map(request).collect()
}

#[test]
fn biosnoop_of_libbpf_twin() {
    let found = decoded("biosnoop-libbpf.txt");
    let sector = |n: u64| n * 512;
    let row = |time, offset, length, op, response| {
        (time, "sde".to_owned(), offset, length, op, Some(response))
    };
    assert_eq!(
        found,
        [
            row(968_000, sector(41_944_043), 524_288, W, 432_000),
            row(1_551_000, sector(41_945_067), 524_288, R, 449_000),
            row(1_751_000, sector(41_946_091), 524_288, Trim, 749_000),
            row(2_251_000, 0, 0, Flush, 749_000),
            row(3_500_000, sector(41_945_000), 4096, R, 500_000),
            row(4_500_000, sector(41_944_043), 4096, W, 500_000),
            row(5_500_000, sector(41_945_000), 4096, R, 500_000),
        ]
    );
    let summary = read(&[sample("biosnoop-libbpf.txt")], &told()).unwrap().summary;
    assert_eq!(summary.ignored_events["T = N"], 1);
}

#[test]
fn iosnoop_twin() {
    let found = decoded("iosnoop.txt");
    let base: u64 = 5_982_800_000_000_000;
    let row = |ns: u64, offset, length, op, response| {
        (base + ns, "202:1".to_owned(), offset, length, op, Some(response))
    };
    assert_eq!(
        found,
        [
            row(302_061_000, 1_048_576, 4096, W, 620_000),
            row(302_423_000, 41_943_040, 16_384, R, 420_000),
            row(304_962_000, 2_097_152, 8192, W, 480_000),
            row(305_250_000, 0, 0, Flush, 430_000),
            row(308_000_000, 83_886_080, 131_072, Trim, 1_450_000),
            row(308_849_000, 41_959_424, 16_384, R, 600_000),
            row(312_500_000, 1_048_576, 4096, R, 400_000),
        ]
    );
}

#[test]
fn tracefs_twin() {
    let found = decoded("tracefs.txt");
    let base: u64 = 1_234_000_000_000;
    let row = |us: u64, offset, length, op| {
        (base + us * 1000, "259:0".to_owned(), offset, length, op, None)
    };
    assert_eq!(
        found,
        [
            row(567_890, 1_048_576, 4096, W),
            row(577_890, 41_943_040, 16_384, R),
            row(578_990, 2_097_152, 4096, R),
            row(579_100, 83_886_080, 131_072, Trim),
            row(579_500, 0, 0, Flush),
            row(580_000, 1_048_576, 8192, W),
        ]
    );
    let summary = read(&[sample("tracefs.txt")], &options(&[])).unwrap().summary;
    assert_eq!(summary.warnings, ["the tracer lost events: CPU:1 [LOST 12 EVENTS]"]);
    let queued = read(&[sample("tracefs.txt")], &options(&[("event", "Q")])).unwrap();
    assert_eq!(queued.records.len(), 1);
}

#[test]
fn io_tracer_twin() {
    let found = decoded("io-tracer.csv");
    let base: u64 = 1_705_314_600_000_000_000;
    let row = |us: u64, device: &str, offset, length, op, response| {
        (base + us * 1000, device.to_owned(), offset, length, op, response)
    };
    assert_eq!(
        found,
        [
            row(45_122_222, "259:0", 1_048_576_000, 8192, W, Some(1_234_000)),
            row(45_234_000, "259:0", 1_048_584_192, 4096, R, Some(567_000)),
            row(45_343_333, "259:0", 0, 0, Flush, Some(2_345_000)),
            row(45_997_655, "259:0", 2_097_152, 65_536, Trim, Some(2_345_000)),
            row(45_998_600, "8:16", 1_048_576_000, 8192, R, Some(1_500_000)),
            row(46_000_300, "259:0", 1_048_588_288, 4096, R, None),
        ]
    );
}

#[test]
fn moe_routing_twin() {
    let found = decoded("moe-routing.jsonl");
    let pages: Vec<(u64, u64)> = found.iter().map(|r| (r.0 / 1000, r.2 / 4096)).collect();
    let page = |layer: u64, expert: u64| layer * 4096 + expert;
    assert_eq!(
        pages,
        [
            (100, page(0, 5)),
            (100, page(0, 61)),
            (100, page(0, 5)),
            (100, page(0, 9)),
            (140, page(1, 7)),
            (140, page(1, 3)),
            (140, page(1, 7)),
            (140, page(1, 8)),
            (240, page(0, 5)),
            (240, page(0, 61)),
            (300, page(0, 5)),
            (300, page(0, 9)),
            (300, page(1, 7)),
            (300, page(1, 3)),
        ]
    );
    let summary = read(&[sample("moe-routing.jsonl")], &told()).unwrap().summary;
    assert_eq!(summary.ignored_events["no expert"], 1);
}

#[test]
fn diskmon_example() {
    golden(
        "diskmon",
        "0\t0.000210\t0.00038147\t0\tWrite\t2048\t8\r\n\
         1\t0.000210\t0.00012398\t0\tRead\t81920\t32\t\r\n\
         0\t0,410000\t0,00000000\t0\tWrite\t2056\t8\r\n",
        &[],
        &[
            (210_000, "0", 1048576, 4096, W, Some(381_470)),
            (210_000, "0", 41943040, 16384, R, Some(123_980)),
            (410_000_000, "0", 1052672, 4096, W, Some(0)),
        ],
    );
}

#[test]
fn strace_example() {
    let text = "1456012801.000250 pread64(7</var/lib/db/16384>, \"\\0) = 3\"..., 8192, 16384) = \
                8192 <0.000110>\n\
                [pid 512] 1456012801.000300 pwrite64(7</var/lib/db/16384>, \"a\"..., 8192, 24576 \
                <unfinished ...>\n\
                strace: Process 513 attached\n\
                513   1456012801.000310 pread64(4</a> b>,  <unfinished ...>\n\
                513   1456012801.000320 pwritev(4</dev/sda<block 8:0>>, [{iov_base=\"x\", \
                iov_len=4096}, {iov_base=\"y\", iov_len=4096}], 2, 65536) = 8192\n\
                [pid 512] 1456012801.000420 <... pwrite64 resumed>) = 8192\n\
                513 1456012801.000430 <... pread64 resumed>\"\"..., 512, 1024) = 512\n\
                1456012801.000500 fsync(7</var/lib/db/16384>) = 0\n\
                1456012801.000600 fallocate(4</a>, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, \
                4096, 8192) = 0\n\
                1456012801.000700 pread64(7</a>, 0x7f, 8192, 0) = -1 EIO (Input/output error)\n\
                1456012801.000700 pread64(7</a>, \"\", 8192, 0) = 0\n\
                1456012801.000800 read(7</a>, \"\", 8192) = 5\n\
                1456012801.000900 pread64(9, \"\", 8192, 4096)      = 8192\n\
                1456012801.001000 --- SIGCHLD {si_signo=SIGCHLD} ---\n\
                1456012801.001100 pread64(9</a>, <unfinished ...>\n\
                1456012801.001200 +++ exited with 0 +++\n";
    let (db, start) = ("/var/lib/db/16384", 1_456_012_801_000_000_000);
    golden(
        "strace",
        text,
        &[],
        &[
            (start + 250_000, db, 16384, 8192, R, Some(110_000)),
            (start + 300_000, db, 24576, 8192, W, None),
            (start + 310_000, "/a> b", 1024, 512, R, None),
            (start + 320_000, "/dev/sda<block 8:0>", 65536, 8192, W, None),
            (start + 500_000, db, 0, 0, RecordOp::Flush, None),
            (start + 600_000, "/a", 4096, 8192, RecordOp::Trim, None),
            (start + 900_000, "demo:9", 4096, 8192, R, None),
        ],
    );
}

#[test]
fn page_reference_examples() {
    golden(
        "arc",
        "100 4 0 0\n104 1 0 1\n100 2 0 2\n",
        &[],
        &[
            (0, "demo", 51200, 2048, R, None),
            (0, "demo", 53248, 512, R, None),
            (0, "demo", 51200, 1024, R, None),
        ],
    );
    golden("arc", "3 2 9 0\n", &[("page_bytes", "4096")], &[(0, "demo", 12288, 8192, R, None)]);
    golden(
        "pages",
        "7\n*\n 3 w\n",
        &[],
        &[(0, "demo", 28672, 4096, R, None), (0, "demo", 12288, 4096, W, None)],
    );
    for (file, page_bytes, has_ops) in [("arc.lis", 512, false), ("pages.trc", 4096, false)] {
        let summary = read(&[sample(file)], &options(&[])).unwrap().summary;
        assert_eq!(
            (summary.page_bytes, summary.has_times, summary.has_ops),
            (Some(page_bytes), false, has_ops)
        );
        assert_eq!(summary.warnings, [""; 0]);
    }
}

#[test]
fn mooncake_twin() {
    let block = 512 * 1024;
    let found = read(&[sample("mooncake.jsonl")], &told()).unwrap();
    let blocks: Vec<(u64, u64)> =
        found.records.iter().map(|r| (r.time_ns / 1_000, r.offset_bytes / block)).collect();
    let late = 6_052_500;
    assert_eq!(
        blocks,
        [
            (0, 0),
            (0, 1),
            (0, 2),
            (0, 0),
            (0, 3),
            (3_000_000, 0),
            (3_000_000, 1),
            (3_000_000, 4),
            (late, 0),
            (late, 1),
            (late, 2)
        ]
    );
    assert!(found.records.iter().all(|r| r.op == R && r.length_bytes == block));
    assert_eq!(
        (found.devices, found.summary.page_bytes),
        (vec!["mooncake.jsonl".into()], Some(block))
    );
    assert_eq!(found.summary.ignored_events["no block"], 1);
}

#[test]
fn every_text_format_has_a_twin_and_is_detected_in_it() {
    let text =
        FORMATS.iter().filter(|f| f.kind == destage_trace::FormatKind::Text && f.name != "csv");
    for format in text {
        assert!(TEXT_SAMPLES.iter().any(|(_, name)| *name == format.name), "{}", format.name);
    }
    for (file, format) in TEXT_SAMPLES {
        // The name must not help.
        let found = read_bytes("x", &std::fs::read(sample(file)).unwrap(), &told()).unwrap();
        assert_eq!(found.summary.files[0].format, *format, "{file}");
        assert!(found.records.len() >= 6, "{file}");
    }
}
