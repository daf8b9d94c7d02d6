//! Whatever the number of threads, the same is read.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;

use super::parallel::LineThreads;
use super::{Context, LineParser};
use crate::format::{Fault, Parsed, Tally};
use crate::hooks::ReadControls;
use crate::input::Input;
use crate::options::{OnError, Order, ReaderOptions};
use crate::record::Record;
use crate::stream::with_stream;

/// Records, devices, and what was counted; or the message.
type Read = Result<(Vec<Record>, Vec<String>, serde_json::Value), String>;

fn read(paths: &[PathBuf], options: &ReaderOptions, threads: usize) -> Read {
    let controls = ReadControls { threads: Some(threads), ..ReadControls::default() };
    let read = with_stream(paths, options, controls, |stream| {
        let (mut all, mut batch) = (Vec::new(), Vec::new());
        while stream.next_batch(&mut batch)? {
            all.append(&mut batch);
        }
        let summary = serde_json::to_value(stream.summary()).expect("plain data");
        Ok((all, stream.devices().names(), summary))
    });
    read.map_err(|error| error.to_string())
}

/// Files of these contents, in a folder that must be kept.
fn files(contents: &[&[u8]]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().expect("a folder");
    let paths = contents.iter().enumerate().map(|(k, bytes)| {
        let path = folder.path().join(format!("t{k}.csv"));
        std::fs::write(&path, bytes).expect("writes");
        path
    });
    let paths = paths.collect();
    (folder, paths)
}

fn assert_alike(contents: &[&[u8]], options: &ReaderOptions) -> Read {
    let (_folder, paths) = files(contents);
    let alone = read(&paths, options, 0);
    for threads in [1, 2, 5] {
        let beside = read(&paths, options, threads);
        assert_eq!(beside, alone, "{threads} threads");
    }
    alone
}

fn msr() -> ReaderOptions {
    ReaderOptions { format: Some("msr".into()), ..ReaderOptions::default() }
}

/// Of no line is asked anything where there is no thread.
#[derive(Clone)]
struct Unasked;

impl LineParser for Unasked {
    fn line(&mut self, _: &[u8], _: &mut Context) -> Result<Parsed, Fault> {
        unreachable!("no line is parsed")
    }
}

#[test]
fn without_a_thread_the_input_comes_back_as_it_was() {
    let text = line(1, "h", 0) + &line(2, "h", 0);
    let input = Input::from_bytes("t", text.as_bytes());
    let mut ahead = LineThreads::new(input, Vec::<Unasked>::new(), "t", &Tally::default());
    assert!(ahead.next().is_none());
    let mut shell = Input::from_bytes("t", []);
    ahead.finish(&mut shell);
    shell.ensure(text.len()).expect("reads");
    assert_eq!(shell.window(), text.as_bytes());
}

/// A line of a host's disk.
fn line(k: u64, host: &str, disk: u64) -> String {
    let op = if k.is_multiple_of(3) { "Write" } else { "Read" };
    format!("{},{host},{disk},{op},{},4096,{k}\n", 128_166_372_000_000_000 + k, k % 97 * 512)
}

/// Many plain lines, hosts that come up one after the other, then what `add` says.
fn text(lines: u64, add: impl Fn(u64) -> Option<String>) -> String {
    let plain = |k: u64| line(k, ["hm", "prxy", "web"][(k / 400 % 3) as usize], k * k / 700 % 5);
    (0..lines).map(|k| add(k).unwrap_or_else(|| plain(k))).collect()
}

#[test]
fn plain_lines_of_many_devices_come_in_the_order_of_the_file() {
    let text = text(3000, |_| None);
    let (records, devices, _) = assert_alike(&[text.as_bytes()], &msr()).expect("it is fine");
    assert_eq!(records.len(), 3000);
    assert_eq!(devices.len(), 15);
    assert_eq!(&devices[..2], ["hm_0", "hm_1"]);
    let cut = text.trim_end();
    assert_alike(&[cut.as_bytes()], &msr()).expect("a last line without an end is one");
    let windows = text.replace('\n', "\r\n");
    let (again, ..) = assert_alike(&[windows.as_bytes()], &msr()).expect("it is fine");
    assert_eq!(again, records);
}

#[test]
fn a_malformed_line_is_named_by_its_number_wherever_blocks_end() {
    for bad in [150, 151, 777, 1999] {
        let malformed = "128166372000000000,hm,0,Read,12x,4096,5\n";
        let text = text(2000, |k| (k == bad).then(|| malformed.into()));
        let error = assert_alike(&[text.as_bytes()], &msr()).expect_err("it is malformed");
        assert!(error.contains(&format!("t0.csv:{}:", bad + 1)), "{error}");
        assert!(error.contains("found \"12x\""), "{error}");
    }
    let nul = text(2000, |k| (k == 1500).then(|| "128166372000\0,hm\n".into()));
    let error = assert_alike(&[nul.as_bytes()], &msr()).expect_err("it is binary");
    assert!(error.contains("t0.csv:1501:13") && error.contains("NUL"), "{error}");
    let long = text(2000, |k| (k == 1500).then(|| "9".repeat(70_000)));
    let error = assert_alike(&[long.as_bytes()], &msr()).expect_err("it is too long");
    assert!(error.contains("t0.csv:1501") && error.contains("65536"), "{error}");
}

#[test]
fn what_is_skipped_is_counted_with_its_first_messages() {
    let options = ReaderOptions { on_error: OnError::Skip, ..msr() };
    let text = text(3000, |k| match k % 50 {
        7 => Some("\n".into()),
        11 => Some(line(k, "new", k)), // a device of its own
        // Devices that only lines name which are not taken.
        13 => Some(format!("128166372000000000,odd,{k},Read,0,{},5\n", u64::MAX)),
        17 => Some("not a line\n".into()),
        19 => Some("128166372000000000,hm,0,Read,0,0,5\n".into()), // no length
        23 => Some("Timestamp,Hostname\n".into()),
        _ => None,
    });
    let (_, devices, summary) = assert_alike(&[text.as_bytes()], &options).expect("skipped");
    assert!(devices.len() > 100, "{devices:?}");
    let text = summary.to_string();
    assert!(text.contains("not a line") && text.contains("t0.csv:18:"), "{text}");
}

#[test]
fn files_that_interleave_and_files_out_of_order_are_merged_alike() {
    let (one, two) = (text(1500, |_| None), text(1200, |k| Some(line(2 * k, "b", k % 3))));
    assert_alike(&[one.as_bytes(), two.as_bytes()], &msr()).expect("they are fine");
    let back = text(2000, |k| k.is_multiple_of(90).then(|| line(k / 2, "hm", 0)));
    assert_alike(&[back.as_bytes()], &msr()).expect("times may step back");
    let strict = ReaderOptions { order: Order::Strict, ..msr() };
    assert!(
        assert_alike(&[back.as_bytes()], &strict).expect_err("strictly").contains("steps back")
    );
}

#[test]
fn a_compressed_file_that_was_cut_off_ends_alike() {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text(4000, |_| None).as_bytes()).expect("packs");
    let packed = packed.finish().expect("packs");
    let cut = &packed[..packed.len() * 2 / 3];
    let error = assert_alike(&[cut], &msr()).expect_err("it is cut off");
    assert!(error.contains("ends early"), "{error}");
    let options = ReaderOptions { allow_truncated: true, ..msr() };
    let (records, ..) = assert_alike(&[cut], &options).expect("what came is taken");
    assert!(records.len() > 1000, "{} records", records.len());
}

#[test]
fn other_formats_and_notes_are_alike() {
    let spc = |k: u64, more: &str| format!("{},{},512,{},{}.5{more}\n", k % 3, k * 8, "rW", k);
    let spc: String = (0..1500)
        .map(|k| spc(k, if k > 900 { ",x" } else { "" }).replace("rW", ["r", "W"][k as usize % 2]))
        .collect();
    let options = ReaderOptions { format: Some("spc".into()), ..ReaderOptions::default() };
    let (.., summary) = assert_alike(&[spc.as_bytes()], &options).expect("it is fine");
    assert!(summary.to_string().contains("after the fifth"), "{summary}");
    let disksim: String =
        (0..1500).map(|k| format!("{k}.25 {} {} 8 {}\n", k % 2, k * 8, k % 2)).collect();
    let options = ReaderOptions { format: Some("disksim".into()), ..ReaderOptions::default() };
    assert_alike(&[disksim.as_bytes()], &options).expect("it is fine");
}

#[test]
fn it_stops_when_it_is_told_to_with_blocks_under_way() {
    let (_folder, paths) = files(&[text(20_000, |_| None).as_bytes()]);
    let stop = Arc::new(AtomicBool::new(false));
    let controls = ReadControls {
        threads: Some(3),
        interrupt: Some(Arc::clone(&stop)),
        ..ReadControls::default()
    };
    let read = with_stream(&paths, &msr(), controls, |stream| {
        let mut batch = Vec::new();
        while stream.next_batch(&mut batch)? {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    });
    assert!(matches!(read, Err(crate::error::TraceError::Interrupted)), "{read:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_lines_are_read_alike(
        kinds in prop::collection::vec(0u8..40, 300..900),
        skip in any::<bool>(),
    ) {
        let text: String = (0..).zip(&kinds).map(|(k, kind)| match kind {
            0 => " \t\n".to_owned(),
            1 => line(k, "hm", 0).replace("4096", "0"),
            2 if skip => "x,y\n".to_owned(),
            3 => line(k, "hm", 0).replace('R', "r"),
            4 => line(k, "hm ", 7),
            5..9 => line(k, "b", k % 4).replace('\n', "\r\n"),
            _ => line(k, "a", k / 100),
        }).collect();
        let on_error = if skip { OnError::Skip } else { OnError::Stop };
        assert_alike(&[text.as_bytes()], &ReaderOptions { on_error, ..msr() }).expect("it is fine");
    }
}
