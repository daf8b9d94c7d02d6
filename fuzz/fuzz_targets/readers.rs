//! Arbitrary bytes under every trace format: the first byte chooses the format and how bad records
//! are taken, the rest is the file. No reader may panic, hang, or hand out a record that breaks the
//! rules.

#![no_main]

use std::sync::Arc;

use destage_trace::options::OnError;
use destage_trace::{DeviceTable, FORMATS, Input, Opening, ReaderOptions, RecordOp, Sample, Tally};
use libfuzzer_sys::fuzz_target;

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
        ("tenant_is_device", "true"),
    ] {
        options.set_text(key, value).expect("the options of this target are right");
    }
    options
}

fuzz_target!(|data: &[u8]| {
    let Some((&chosen, bytes)) = data.split_first() else { return };
    let format = FORMATS[chosen as usize % FORMATS.len()];
    let size = Some(bytes.len() as u64);
    let _ = (format.detect)(&Sample { bytes, whole: true, size, name: "x" });
    for (mut options, on_error) in
        [(ReaderOptions::default(), OnError::Stop), (every_option(), OnError::Skip)]
    {
        options.on_error = on_error;
        let limit = options.max_request_bytes;
        let mut tally = Tally::new(&options);
        let options = Arc::new(options);
        let opening = Opening { options, format, detected: false, closest: None };
        let opened = (format.open)(Input::from_bytes("x", bytes), &opening);
        let Ok(mut reader) = opened else { continue };
        let (mut records, mut devices) = (Vec::new(), DeviceTable::new());
        while let Ok(true) = reader.fill(&mut records, &mut devices, &mut tally) {}
        for r in records.iter().filter(|r| r.op != RecordOp::Flush) {
            assert!(r.length_bytes > 0 && (r.length_bytes <= limit || r.op == RecordOp::Trim));
            assert!(r.offset_bytes.checked_add(r.length_bytes).is_some_and(|end| end <= 1 << 63));
        }
    }
});
