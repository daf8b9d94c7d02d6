//! Any bytes under every trace format.

use crate::{Target, files, root};
use destage_trace::options::OnError;
use destage_trace::{
    DeviceTable, FORMATS, Format, Input, Opening, ReaderOptions, RecordOp, Sample, Tally,
};
use std::sync::Arc;

pub const TARGET: Target = Target {
    name: "readers",
    takes: "a byte that chooses the trace format, then the file",
    holds: "a record has a length, a believable one, and lies below 2^63",
    run,
    samples,
};

/// Options under which formats that need some have them.
fn every_option() -> ReaderOptions {
    let mut options = ReaderOptions::default();
    for (key, value) in [
        ("bytes_per_token", "1024"),
        ("columns", "time=0,device=1,op=2,offset=3,length=4"),
        ("time_unit", "us"),
        ("offset_unit", "sector"),
        ("length_unit", "byte"),
        ("op_read", "R"),
        ("op_write", "W"),
        ("srt_header", "false"),
        ("sector_bytes", "512"),
        ("object", "opaque"),
        ("tenant_is_volume", "true"),
    ] {
        options.set_text(key, value).expect("the options of this target are right");
    }
    options
}

fn run(data: &[u8]) {
    let Some((&chosen, bytes)) = data.split_first() else { return };
    let format = FORMATS[usize::from(chosen) % FORMATS.len()];
    let size = Some(bytes.len() as u64);
    let _ = (format.detect)(&Sample { bytes, whole: true, size, name: "x" });
    read(format, bytes, ReaderOptions::default(), OnError::Stop);
    read(format, bytes, every_option(), OnError::Skip);
}

fn read(format: &'static Format, bytes: &[u8], mut options: ReaderOptions, on_error: OnError) {
    options.on_error = on_error;
    let limit = options.max_request_bytes;
    let mut tally = Tally::new(&options);
    let (options, threads) = (Arc::new(options), Arc::default());
    let opening = Opening { options, format, detected: false, closest: None, draft: None, threads };
    let Ok(mut reader) = (format.open)(Input::from_bytes("x", bytes), &opening) else { return };
    let (mut records, mut devices) = (Vec::new(), DeviceTable::new());
    while let Ok(true) = reader.fill(&mut records, &mut devices, &mut tally) {}
    for r in records.iter().filter(|r| r.op != RecordOp::Flush) {
        assert!(r.length_bytes > 0 && (r.length_bytes <= limit || r.op == RecordOp::Trim));
        assert!(r.offset_bytes.checked_add(r.length_bytes).is_some_and(|end| end <= 1 << 63));
    }
}

/// Each sample of `tests/data` under the format with whose name its own begins.
fn samples() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for (name, bytes) in files::of(&root().join("tests/data")) {
        let formats = FORMATS.iter().enumerate().filter(|(_, f)| name.starts_with(f.name));
        if let Some((place, _)) = formats.max_by_key(|(_, f)| f.name.len()) {
            found.push([&[place as u8], bytes.as_slice()].concat());
        }
    }
    found
}
