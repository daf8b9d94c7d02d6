//! The cache folder: what is kept, what is noticed, what goes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use destage_trace::cache::{Cache, CacheOptions};
use destage_trace::decode::{DecodeOptions, Hooks, NoHooks, Progress};
use destage_trace::trace::Trace;
use destage_trace::{DeviceTable, Record, RecordOp, RecordSource, Result, open_generated};
use serde_json::{Value, json};

/// Scattered requests of one to four pages, a third of them writes.
struct Scattered {
    random: u64,
    left: u64,
    devices: DeviceTable,
}

impl Scattered {
    fn new(seed: u64) -> Self {
        let mut devices = DeviceTable::new();
        devices.index(b"disk");
        Scattered { random: seed, left: 5000, devices }
    }
}

impl RecordSource for Scattered {
    fn next_batch(&mut self, batch: &mut Vec<Record>) -> Result<bool> {
        self.left -= 1;
        self.random =
            self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let bits = self.random >> 33;
        batch.push(Record {
            time_ns: (5000 - self.left) * 1000,
            offset_bytes: bits % 2000 * 4096,
            length_bytes: (1 + bits / 2000 % 4) * 4096,
            device: 0,
            op: if bits.is_multiple_of(3) { RecordOp::Write } else { RecordOp::Read },
            ..Record::EMPTY
        });
        Ok(self.left > 0)
    }

    fn devices(&self) -> &DeviceTable {
        &self.devices
    }

    fn summary(&self) -> Value {
        json!({ "format": "scattered" })
    }
}

fn open_scattered(
    seed: u64,
    decode: &DecodeOptions,
    options: &CacheOptions,
    hooks: &mut dyn Hooks,
) -> Arc<Trace> {
    let description = json!({ "seed": seed });
    let make = || Ok(Scattered::new(seed));
    open_generated("scattered".into(), description, decode, options, hooks, make).expect("opens")
}

/// Keeps what it is told.
#[derive(Default)]
struct Notes(Vec<String>);

impl Hooks for Notes {
    fn note(&mut self, text: String) {
        self.0.push(text);
    }
}

struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        Folder { dir: tempfile::tempdir().expect("a temporary folder") }
    }

    fn options(&self) -> CacheOptions {
        CacheOptions { dir: Some(self.dir.path().join("cache")), ..CacheOptions::default() }
    }

    fn open(&self, seed: u64) -> Arc<Trace> {
        open(seed, &self.options(), &mut NoHooks)
    }

    fn cache(&self) -> Cache {
        Cache::new(&self.options()).expect("a folder")
    }

    fn files(&self, ending: &str) -> Vec<PathBuf> {
        let entries = self.cache().entries().expect("readable");
        entries.into_iter().filter(|e| e.kind == ending).map(|e| e.path).collect()
    }
}

fn open(seed: u64, options: &CacheOptions, hooks: &mut dyn Hooks) -> Arc<Trace> {
    open_scattered(seed, &DecodeOptions::default(), options, hooks)
}

fn same(a: &Trace, b: &Trace) -> bool {
    a.first_ids() == b.first_ids()
        && a.pages_ops() == b.pages_ops()
        && a.arrivals_ns() == b.arrivals_ns()
        && a.lpns() == b.lpns()
        && a.meta() == b.meta()
}

#[test]
fn a_second_opening_maps_what_the_first_decoded() {
    let folder = Folder::new();
    let first = folder.open(1);
    let second = folder.open(1);
    assert!(!first.from_cache() && second.from_cache());
    assert!(same(&first, &second));
    assert!(!folder.open(2).from_cache());
    assert_eq!(folder.files("trace").len(), 2);
    let other = DecodeOptions { page_bytes: Some(8192), ..DecodeOptions::default() };
    let other = open_scattered(1, &other, &folder.options(), &mut NoHooks);
    assert!(!other.from_cache());
    assert_eq!(other.page_bytes(), 8192);
}

#[test]
fn without_a_cache_nothing_is_kept_and_the_trace_is_the_same() {
    let folder = Folder::new();
    let off = CacheOptions { enabled: false, ..folder.options() };
    let trace = open(1, &off, &mut NoHooks);
    assert!(trace.next_uses().is_ok());
    assert!(!folder.options().dir.expect("set").exists());
    assert!(same(&trace, &folder.open(1)));
}

/// Changes an entry through `change`, and expects it to be noticed, reported, and replaced.
fn noticed(folder: &Folder, whole: &Trace, path: &Path, what: &str, change: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("reads");
    change(&mut bytes);
    // Mapped files are replaced, never written: as an ill-behaved copy would.
    let damaged = path.with_extension("damaged");
    fs::write(&damaged, bytes).expect("writes");
    fs::rename(&damaged, path).expect("renames");
    let mut notes = Notes::default();
    let again = open(1, &folder.options(), &mut notes);
    assert!(!again.from_cache(), "{what}");
    assert_eq!(notes.0.len(), 1, "{what}");
    assert!(notes.0[0].contains("decoding the trace again"), "{what}: {}", notes.0[0]);
    assert!(same(whole, &again), "{what}");
    assert!(folder.open(1).from_cache(), "{what}: it is whole again");
}

#[test]
fn a_damaged_entry_is_noticed_wherever_the_damage_is() {
    let folder = Folder::new();
    let whole = folder.open(1);
    let path = folder.files("trace").remove(0);
    let length = fs::metadata(&path).expect("is there").len() as usize;
    for at in (0..length).step_by(length / 61).chain([0, 8, 12, 16, 600, 4095, length - 1]) {
        noticed(&folder, &whole, &path, &format!("byte {at} of {length}"), |bytes| bytes[at] ^= 1);
    }
    for cut in [0, 1, 4095, 4096, 4097, length / 2, length - 1] {
        noticed(&folder, &whole, &path, &format!("cut to {cut}"), |bytes| bytes.truncate(cut));
    }
    noticed(&folder, &whole, &path, "a byte too many", |bytes| bytes.push(0));
}

#[test]
fn an_entry_of_another_version_is_stale() {
    let folder = Folder::new();
    let whole = folder.open(1);
    let path = folder.files("trace").remove(0);
    // The version word, with a header checksum that fits.
    noticed(&folder, &whole, &path, "a later version", |bytes| {
        bytes[8..12].copy_from_slice(&99u32.to_ne_bytes());
        let end = 8 + 4 + 4 + 8 + 8 + 16 * 32;
        let hash = xxhash_rust::xxh3::xxh3_64(&bytes[..end]);
        bytes[end..end + 8].copy_from_slice(&hash.to_ne_bytes());
    });
}

#[test]
fn next_uses_are_kept_and_noticed_when_damaged() {
    let folder = Folder::new();
    let trace = folder.open(1);
    assert!(folder.files("next").is_empty(), "made only when asked for");
    let uses = |trace: &Trace| -> Vec<u64> {
        let next = trace.next_uses().expect("makes them");
        (0..trace.accesses() as usize).map(|k| next.uses().get(k)).collect()
    };
    let first = uses(&trace);
    let path = folder.files("next").remove(0);
    let kept = fs::metadata(&path).expect("is there").modified().expect("has a time");
    assert_eq!(uses(&folder.open(1)), first);
    assert_eq!(fs::metadata(&path).expect("is there").modified().expect("has a time"), kept);
    let length = fs::read(&path).expect("reads").len();
    for at in [0, 100, 4096, 4200, length - 1] {
        let mut bytes = fs::read(&path).expect("reads");
        bytes[at] ^= 4;
        fs::remove_file(&path).expect("removes");
        fs::write(&path, &bytes).expect("writes");
        assert_eq!(uses(&folder.open(1)), first, "byte {at}");
        assert_ne!(fs::read(&path).expect("reads"), bytes, "byte {at}: replaced");
    }
}

#[test]
fn what_was_used_longest_ago_goes_first() {
    let folder = Folder::new();
    let one = folder.open(1).file_bytes();
    folder.open(2);
    let path_of = |seed| {
        let before = folder.files("trace");
        let off = folder.open(seed);
        assert!(off.from_cache());
        drop(off);
        before
    };
    // Entry 1 is old but used now; entry 2 is the one that goes.
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    for path in folder.files("trace") {
        fs::File::open(path).expect("opens").set_modified(hour_ago).expect("sets");
    }
    path_of(1);
    let tight = CacheOptions { limit_bytes: one * 5 / 2, ..folder.options() };
    open(3, &tight, &mut NoHooks);
    assert_eq!(folder.files("trace").len(), 2);
    assert!(folder.open(1).from_cache());
    assert!(folder.open(3).from_cache());
    assert!(!folder.open(2).from_cache());
}

#[test]
fn a_trace_above_the_limit_is_used_but_not_kept() {
    let folder = Folder::new();
    let tiny = CacheOptions { limit_bytes: 100, ..folder.options() };
    let trace = open(1, &tiny, &mut NoHooks);
    assert_eq!(trace.requests(), 5000);
    assert!(trace.next_uses().is_ok());
    assert!(folder.files("trace").is_empty() && folder.files("next").is_empty());
}

#[test]
fn clearing_removes_what_the_cache_made_and_nothing_else() {
    let folder = Folder::new();
    let trace = folder.open(1);
    trace.next_uses().expect("makes them");
    let stranger = folder.cache().dir().join("notes.trace");
    fs::write(&stranger, "mine").expect("writes");
    fs::write(folder.cache().dir().join(".tmp-left"), "1234").expect("writes");
    // A drive that another part of the program keeps in the same folder.
    let drive = folder.cache().dir().join(format!("{:032x}.flash", 1));
    fs::write(drive, "a drive").expect("writes");
    let entries = folder.cache().entries().expect("readable");
    assert_eq!(entries.len(), 3);
    assert!(entries.iter().any(|e| e.kind == "flash" && e.usable));
    let listed: u64 = entries.iter().map(|e| e.bytes).sum();
    let removed = folder.cache().clear().expect("clears");
    assert_eq!((removed.files, removed.bytes), (4, listed + 4));
    assert!(stranger.exists());
    assert!(folder.cache().entries().expect("readable").is_empty());
    // The mapping outlives the name.
    assert_eq!(trace.first_ids().len(), 5000);
}

/// Empties the folder at each step, as another process might.
struct Emptied<'a> {
    steps: u32,
    empty: &'a dyn Fn(),
    notes: Notes,
}

impl Hooks for Emptied<'_> {
    fn progress(&mut self, _: Progress) {
        self.steps += 1;
        (self.empty)();
    }

    fn note(&mut self, text: String) {
        self.notes.note(text);
    }
}

#[test]
#[cfg(unix)]
fn a_folder_emptied_while_a_trace_is_decoded_costs_no_second_decoding() {
    let folder = Folder::new();
    let whole = folder.open(1);
    let dir = folder.cache().dir().to_owned();
    let clear = || assert!(folder.cache().clear().is_ok());
    let remove = || drop(fs::remove_dir_all(&dir));
    for (empty, is_kept) in [(&clear as &dyn Fn(), true), (&remove, false)] {
        let (mut made, mut hooks) = (0, Emptied { steps: 0, empty, notes: Notes::default() });
        let make = || {
            made += 1;
            Ok(Scattered::new(1))
        };
        clear();
        let (decode, options) = (DecodeOptions::default(), folder.options());
        let opened = open_generated(
            "scattered".into(),
            json!({ "seed": 1 }),
            &decode,
            &options,
            &mut hooks,
            make,
        )
        .expect("opens");
        assert!(hooks.steps > 0 && hooks.notes.0.is_empty(), "{:?}", hooks.notes.0);
        assert!(made == 1 && same(&opened, &whole), "decoded {made} times");
        assert_eq!(folder.open(1).from_cache(), is_kept);
        opened.next_uses_with(&mut hooks).expect("made or mapped");
        assert!(hooks.notes.0.is_empty(), "{:?}", hooks.notes.0);
    }
}

#[test]
fn two_processes_may_clear_at_once() {
    let folder = Folder::new();
    for seed in 0..6 {
        folder.open(seed);
    }
    let cleared: u64 = std::thread::scope(|scope| {
        let clear = || folder.cache().clear().expect("clears").files;
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(clear)).collect();
        threads.into_iter().map(|t| t.join().expect("no thread panics")).sum()
    });
    assert_eq!(cleared, 6);
}

#[test]
fn entries_say_what_they_hold() {
    let folder = Folder::new();
    folder.open(1);
    let entry = folder.cache().entries().expect("readable").remove(0);
    assert_eq!((entry.kind.as_str(), entry.requests, entry.page_bytes), ("trace", 5000, 4096));
    assert_eq!(entry.sources, ["scattered"]);
    assert!(entry.usable);
    fs::write(&entry.path, "rubbish").expect("writes");
    assert!(!folder.cache().entries().expect("readable")[0].usable);
}

#[test]
fn a_folder_that_cannot_be_made_costs_only_the_keeping() {
    let folder = Folder::new();
    let file = folder.dir.path().join("file");
    fs::write(&file, "not a folder").expect("writes");
    let options = CacheOptions { dir: Some(file.join("cache")), ..CacheOptions::default() };
    let mut notes = Notes::default();
    let trace = open(1, &options, &mut notes);
    assert_eq!(trace.requests(), 5000);
    assert!(notes.0[0].contains("going on without the cache"), "{:?}", notes.0);
}

#[test]
fn many_threads_may_open_the_same_trace_at_once() {
    let folder = Folder::new();
    let fingerprints: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| folder.open(1).meta().fingerprint.clone())).collect();
        threads.into_iter().map(|t| t.join().expect("no thread panics")).collect()
    });
    assert!(fingerprints.iter().all(|f| *f == fingerprints[0]));
    assert_eq!(folder.files("trace").len(), 1);
    assert!(folder.open(1).from_cache());
}

#[test]
#[cfg(unix)]
fn what_dead_processes_left_goes_at_the_next_start_whatever_its_age() {
    let folder = Folder::new();
    drop(folder.open(1));
    let dir = folder.cache().dir().to_owned();
    let [dead, flash, alive] =
        [".tmp-1-dead", ".tmp-1-0.flash", ".tmp-1-alive"].map(|name| dir.join(name));
    let hash = dir.join("hashes").join(".tmp-1-hash");
    fs::create_dir_all(dir.join("hashes")).unwrap();
    for path in [&dead, &flash, &alive, &hash] {
        fs::write(path, "half").unwrap();
    }
    let writer = fs::File::open(&alive).unwrap();
    rustix::fs::flock(&writer, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    assert!(folder.open(1).from_cache());
    assert!(!dead.exists() && !flash.exists() && !hash.exists());
    assert!(alive.exists(), "somebody writes it");
}

#[test]
#[cfg(unix)]
fn a_pipe_called_like_an_entry_is_passed_over() {
    let folder = Folder::new();
    let first = folder.open(1);
    let entry = folder.files("trace").remove(0);
    fs::remove_file(&entry).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &entry, mode).unwrap();
    let second = folder.open(1);
    assert!(!second.from_cache() && same(&first, &second));
    assert!(folder.open(1).from_cache());
}

/// Set in the process that [`a_mapped_entry_cut_by_hand_ends_with_a_sentence`] starts.
const CHILD: &str = "DESTAGE_TEST_CUT";

#[test]
#[cfg(unix)]
fn a_mapped_entry_cut_by_hand_ends_with_a_sentence() {
    if std::env::var_os(CHILD).is_some() {
        destage_trace::report_shrunk_files().unwrap();
        let folder = Folder::new();
        drop(folder.open(1));
        let trace = folder.open(1);
        assert!(trace.from_cache() && trace.check_whole().is_ok());
        let file = fs::File::options().write(true).open(folder.files("trace").remove(0)).unwrap();
        file.set_len(4096).unwrap();
        let error = trace.check_whole().unwrap_err();
        assert_eq!(error.exit_status(), 65);
        let sum: u64 = trace.arrivals_ns().iter().sum();
        panic!("read what is not there: {sum}");
    }
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "cache::a_mapped_entry_cut_by_hand_ends_with_a_sentence", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stderr);
    assert_eq!(child.status.code(), Some(65), "{text}");
    assert!(text.contains(".trace: the file was cut or its disk went away"), "{text}");
}
