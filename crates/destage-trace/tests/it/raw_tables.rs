//! Tables that no format describes, as a run reads them: `bin`, and what is read by a mapping.

use crate::support::{self, options, read, sample};
use destage_trace::RecordOp::{Read as R, Trim, Write as W};

#[test]
fn bin_twin() {
    let fields = "<u32 time,u16 device,x2,u64 offset,u32 length,u8 op,x3,f64 response";
    let settings = [
        ("format", "bin"),
        ("fields", fields),
        ("time_unit", "us"),
        ("offset_unit", "sector"),
        ("length_unit", "byte"),
        ("op_read", "0"),
        ("op_write", "1"),
        ("on_error", "skip"),
    ];
    let rows = [
        (1_000_000, "3", 2048 * 512, 4096, W, 310_000),
        (1_200_000, "4", 8 * 512, 512, W, 95_500),
        (1_450_000, "3", 81920 * 512, 16384, R, 780_000),
        (1_450_000, "3", 2048 * 512, 4096, R, 20_000),
    ];
    let found = read(&[sample("bin.bin")], &options(&settings)).unwrap();
    let shown: Vec<_> = found
        .records
        .iter()
        .map(|r| {
            let device = found.devices[r.device as usize].as_str();
            (r.time_ns, device, r.offset_bytes, r.length_bytes, r.op, r.response_ns)
        })
        .collect();
    assert_eq!(shown, rows);
    let summary = &found.summary;
    let errors: u64 = summary.errors.values().map(|skips| skips.count).sum();
    assert_eq!((errors, summary.stepped_back, summary.zero_length), (1, 1, 1));
    let stop = settings.iter().filter(|(key, _)| *key != "on_error").copied();
    let error = read(&[sample("bin.bin")], &options(&stop.collect::<Vec<_>>())).unwrap_err();
    assert!(
        error.to_string().contains(
            "bin.bin: record 3 at byte 96: op: expected one of 0, 1, found 7\n  format bin \
             (given); \
             --on-error skip would skip such records and count them"
        ),
        "{error}"
    );
    let (_folder, empty) = support::file("w.bin", b"");
    let pages = [("format", "bin"), ("fields", "<u32 page")];
    let error = read(&[empty], &options(&pages)).unwrap_err();
    assert!(error.to_string().ends_with("w.bin: 0 requests: the file is empty"), "{error}");
}

/// The columns that iotrace of Open CAS prints; rows of our own making.
#[test]
fn the_table_of_iotrace_is_read_by_the_mapping_of_the_specification() {
    let table = b"device.id,device.name,device.partition,file.eventType,file.id,file.offset,\
        file.path,file.size,header.sid,header.timestamp,io.error,io.flush,io.fua,io.ioClass,\
        io.latency,io.lba,io.len,io.operation,io.qd,io.writeHint\n\
        5,sdx,5,,,,,,1,7000,false,false,false,1,145000,2048,8,Write,1,0\n\
        5,sdx,5,,,,,,2,7500,false,true,false,0,85000,0,0,Write,1,0\n\
        5,sdx,9,Access,17,0,/a \"b\",64,3,9000,false,false,false,13,90,81920,32,Read,2,0\n\
        5,sdx,5,,,,,,4,9900,false,false,false,0,10,2048,16,Discard,1,0\n";
    let settings = [
        ("format", "csv"),
        ("time_unit", "ns"),
        ("offset_unit", "sector"),
        ("length_unit", "sector"),
        (
            "columns",
            "time=header.timestamp,device=device.name,op=io.operation,offset=io.lba,length=io.len,\
             response=io.latency",
        ),
        ("op_read", "Read"),
        ("op_write", "Write"),
        ("op_trim", "Discard"),
    ];
    let found = support::read_bytes("io.csv", table, &options(&settings)).unwrap();
    let rows: Vec<_> =
        found.records.iter().map(|r| (r.time_ns, r.offset_bytes, r.length_bytes, r.op)).collect();
    assert_eq!(
        rows,
        [(7000, 1 << 20, 4096, W), (9000, 40 << 20, 16384, R), (9900, 1 << 20, 8192, Trim)]
    );
    assert_eq!((found.devices, found.summary.zero_length), (vec!["sdx".to_owned()], 1));
}
