//! Helpers of the tests: reading files as a run does, and where things are.

use std::path::{Path, PathBuf};

use destage_trace::{ReaderOptions, Record, Result, Summary, with_stream};

/// A trace read to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    pub records: Vec<Record>,
    pub devices: Vec<String>,
    pub summary: Summary,
}

/// Reads files as a run does.
pub fn read(paths: &[PathBuf], options: &ReaderOptions) -> Result<Read> {
    with_stream(paths, options, Default::default(), |stream| {
        let (mut batch, mut records) = (Vec::new(), Vec::new());
        while stream.next_batch(&mut batch)? {
            records.extend_from_slice(&batch);
        }
        Ok(Read { records, devices: stream.devices().names(), summary: stream.summary() })
    })
}

/// Options from keys and values as flags give them.
pub fn options(settings: &[(&str, &str)]) -> ReaderOptions {
    let mut options = ReaderOptions::default();
    // Needed by some formats, and given to all.
    options.defaults.push("bytes_per_token".into());
    for (key, value) in settings {
        options.set_text(key, value).unwrap();
    }
    options
}

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The sample of this name.
pub fn sample(name: &str) -> PathBuf {
    root().join("tests/data").join(name)
}

/// The samples of the text formats: file and format.
pub const TEXT_SAMPLES: &[(&str, &str)] = &[
    ("msr.csv", "msr"),
    ("spc.spc", "spc"),
    ("systor17.csv", "systor17"),
    ("ms-etw.txt", "ms-etw"),
    ("alibaba.csv", "alibaba"),
    ("tencent.csv", "tencent"),
    ("vscsi-text.txt", "vscsi-text"),
    ("blkparse.txt", "blkparse"),
    ("fio-iolog.log", "fio-iolog"),
    ("fio-iolog-v2.log", "fio-iolog"),
    ("disksim.trace", "disksim"),
    ("mqsim.trace", "mqsim"),
    ("fiu.blkparse", "fiu"),
    ("k5cloud.csv", "k5cloud"),
    ("biosnoop.txt", "biosnoop"),
    ("biosnoop-libbpf.txt", "biosnoop"),
    ("iosnoop.txt", "iosnoop"),
    ("tracefs.txt", "tracefs"),
    ("io-tracer.csv", "io-tracer"),
    ("diskmon.txt", "diskmon"),
    ("strace.txt", "strace"),
    ("arc.lis", "arc"),
    ("pages.trc", "pages"),
    ("mooncake.jsonl", "mooncake"),
    ("qwen-bailian.jsonl", "qwen-bailian"),
    ("moe-routing.jsonl", "moe-routing"),
];

/// Required options of formats, given as defaults to all.
pub fn told() -> ReaderOptions {
    options(&[("bytes_per_token", "1024")])
}

/// The folder of real traces: `$DESTAGE_TRACES`, else beside the repository. `None`, and a line
/// that says so, where there is none.
pub fn traces() -> Option<PathBuf> {
    let folder = std::env::var_os("DESTAGE_TRACES")
        .map_or_else(|| root().join("../shared/traces"), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no real traces (DESTAGE_TRACES)");
    None
}

/// Writes a file into a fresh folder that lives as long as the first value.
pub fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Reads bytes as a file of this name.
pub fn read_bytes(name: &str, bytes: &[u8], options: &ReaderOptions) -> Result<Read> {
    let (_folder, path) = file(name, bytes);
    read(&[path], options)
}

/// The sample with a bad line as its third request line, and that line's number.
pub fn with_bad_line(file: &str, bad: &str) -> (Vec<u8>, u64) {
    let text = std::fs::read_to_string(sample(file)).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let at = lines.len().min(9); // behind every header
    lines.insert(at, bad);
    ((lines.join("\n") + "\n").into_bytes(), at as u64 + 1)
}
