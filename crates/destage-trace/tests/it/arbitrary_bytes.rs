//! No bytes make a reader panic, hang, or break the rules of a record: arbitrary bytes under every
//! format, samples with damage, also under formats not theirs, and samples cut at every byte.
//!
//! The fuzz targets in `fuzz/` look for the same with coverage; this runs everywhere, and over what
//! they found before (`fuzz/regressions`).

use crate::support;
use std::path::PathBuf;
use std::sync::Arc;

use destage_trace::FormatKind;
use destage_trace::options::OnError;
use destage_trace::{
    DeviceTable, FORMATS, Format, Input, Opening, ReaderOptions, Record, RecordOp, Result, Sample,
    Tally,
};
use proptest::prelude::*;

/// Options under which formats that need some have them; what a format does not know it ignores.
fn every_option(on_error: OnError) -> ReaderOptions {
    let mut options = support::options(&[
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
        ("bytes_per_token", "1024"),
    ]);
    options.on_error = on_error;
    options
}

/// Reads `bytes` to their end or to an error; whatever comes out obeys the rules of a record.
fn read(format: &'static Format, bytes: &[u8], options: ReaderOptions) -> Result<Vec<Record>> {
    let mut tally = Tally::new(&options);
    let limit = options.max_request_bytes;
    let (options, threads) = (Arc::new(options), Arc::default());
    let opening = Opening { options, format, detected: false, closest: None, draft: None, threads };
    let mut reader = (format.open)(Input::from_bytes("x", bytes), &opening)?;
    let (mut records, mut devices) = (Vec::new(), DeviceTable::new());
    while reader.fill(&mut records, &mut devices, &mut tally)? {}
    for r in &records {
        assert!((r.device as usize) < devices.len().max(1));
        if r.op == RecordOp::Flush {
            assert_eq!(r.length_bytes, 0, "{r:?}");
            continue;
        }
        assert!(r.length_bytes > 0 && (r.length_bytes <= limit || r.op == RecordOp::Trim), "{r:?}");
        assert!(
            r.offset_bytes.checked_add(r.length_bytes).is_some_and(|end| end <= 1 << 63),
            "{r:?}"
        );
    }
    Ok(records)
}

/// Detection and every way of reading.
fn survive(format: &'static Format, bytes: &[u8]) {
    let sample = Sample { bytes, whole: true, size: Some(bytes.len() as u64), name: "x" };
    let _ = (format.detect)(&sample);
    for on_error in [OnError::Stop, OnError::Skip] {
        let plain = ReaderOptions { on_error, ..ReaderOptions::default() };
        for options in [plain, every_option(on_error)] {
            if let Err(error) = read(format, bytes, options) {
                assert!(matches!(error.exit_status(), 2 | 65), "{error}");
                assert!(!error.to_string().is_empty());
            }
        }
    }
}

/// The files of a folder with the format that each is read as: that of the longest name with which
/// the file's own begins (`vscsi-text` before `vscsi`). Others are left out.
fn by_name(folder: PathBuf) -> Vec<(&'static Format, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let format =
            FORMATS.iter().filter(|f| name.starts_with(f.name)).max_by_key(|f| f.name.len());
        found.extend(format.map(|format| (*format, std::fs::read(&path).unwrap())));
    }
    found
}

/// The samples by format.
fn samples() -> Vec<(&'static Format, Vec<u8>)> {
    let samples = by_name(support::sample(""));
    assert!(samples.len() >= FORMATS.len(), "every format has a sample");
    samples
}

#[test]
fn twins_cut_at_every_byte() {
    for (format, bytes) in samples() {
        // A long header (lcs, parquet) is cut at fewer places.
        let step = (bytes.len() / 1000).max(1);
        for length in
            (0..bytes.len()).step_by(step).chain(bytes.len().saturating_sub(64)..bytes.len())
        {
            survive(format, &bytes[..length]);
        }
    }
}

#[test]
fn a_text_file_cut_at_any_byte_has_no_more_records_than_the_whole() {
    for (format, bytes) in
        samples().into_iter().filter(|(format, _)| format.kind == FormatKind::Text)
    {
        let records = |bytes| read(format, bytes, ReaderOptions::default()).map(|r| r.len());
        let Ok(whole) = records(&bytes) else { continue };
        for cut in 0..bytes.len() {
            if let Ok(part) = records(&bytes[..cut]) {
                assert!(part <= whole, "{} cut at {cut}", format.name);
            }
        }
    }
}

#[test]
fn what_fuzzing_found_before_stays_fixed() {
    let found = by_name(support::root().join("fuzz/regressions"));
    assert!(!found.is_empty());
    for (format, bytes) in found {
        survive(format, &bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        for format in FORMATS {
            survive(format, &bytes);
        }
    }

    #[test]
    fn arbitrary_lines(
        text in "([ ,;\t|]?([0-9]{1,21}|[RWrwDQC]|Read|Write|-1|0x[0-9a-f]{1,17}|\"|\\*|[a-z]{1,5}\
            )){0,9}\
            (\r?\n([ ,;\t|]?([0-9]{1,21}|[RWDQC]|\"[^\"]?\"|[a-z]{1,5})){0,9}){0,12}",
    ) {
        for format in FORMATS {
            survive(format, text.as_bytes());
        }
    }

    #[test]
    fn text_of_the_right_letters(
        text in "([0-9]{1,20}|[RWrwDFN*+ \
         ,.\t-]|Read|Write|0x|\n|\r\n|8,16|\\[a\\]|DiskRead){0,120}",
    ) {
        for format in FORMATS {
            survive(format, text.as_bytes());
        }
    }

    #[test]
    fn damaged_twins_of_one_format_under_every_other(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        for (_, mut bytes) in samples() {
            for (place, value) in &damage {
                let place = place.index(bytes.len());
                bytes[place] = *value;
            }
            let skip = ReaderOptions { on_error: OnError::Skip, ..ReaderOptions::default() };
            for format in FORMATS {
                let _ = read(format, &bytes, skip.clone());
            }
        }
    }

    #[test]
    fn damaged_twins(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        for (format, mut bytes) in samples() {
            for (place, value) in &damage {
                let place = place.index(bytes.len());
                bytes[place] = *value;
            }
            if !whole {
                bytes.truncate(cut.index(bytes.len()));
            }
            survive(format, &bytes);
        }
    }
}
