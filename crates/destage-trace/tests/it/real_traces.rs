//! Real traces through the whole pipeline: unique pages, as an independent count has them
//! (`docs/traces.md`). Skipped, with a word, where the traces are not available.

use std::path::{Path, PathBuf};

use destage_trace::cache::CacheOptions;
use destage_trace::decode::{DecodeOptions, NoHooks};
use destage_trace::open_trace;
use destage_trace::{ReaderOptions, TraceError};

fn traces() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let dir = std::env::var_os("DESTAGE_TRACES").map_or(beside, PathBuf::from);
    if !dir.join("arc_P3.lis.xz").is_file() {
        println!("skipped: no traces (set DESTAGE_TRACES)");
        return None;
    }
    Some(dir)
}

#[test]
fn page_references_have_the_counts_of_the_arc_paper() {
    let Some(dir) = traces() else { return };
    for (name, accesses, pages) in
        [("arc_OLTP.lis.xz", 914_145, 186_880), ("arc_P3.lis.xz", 3_912_296, 762_543)]
    {
        let trace = open_trace(
            &[dir.join(name)],
            &ReaderOptions::default(),
            &DecodeOptions::default(),
            &CacheOptions::off(),
            &mut NoHooks,
        )
        .expect("opens");
        assert_eq!((trace.accesses(), trace.pages()), (accesses, pages), "{name}");
        assert_eq!(trace.page_bytes(), 512);
        assert!(!trace.meta().clock.timed);
    }
}

#[test]
fn our_recordings_have_the_counts_of_their_index() {
    let Some(dir) = traces() else { return };
    // Requests, reads, bytes read and written, unique 4-KiB pages read, written, either.
    let table = [
        ("pgtpcb", 780_000, 431_904, 3_718_987_776, 4_965_687_296, [460_873, 645_590, 726_044]),
        ("postmark", 455_312, 217_509, 3_156_568_064, 6_118_460_928, [504_546, 944_184, 944_202]),
    ];
    for (name, requests, reads, read_bytes, write_bytes, unique) in table {
        let trace = open_trace(
            &[dir.join("own").join(format!("{name}.csv.xz"))],
            &ReaderOptions::default(),
            &DecodeOptions::default(),
            &CacheOptions::off(),
            &mut NoHooks,
        )
        .expect("opens");
        let counts = &trace.meta().counts;
        assert_eq!((counts.requests, counts.reads), (requests, reads), "{name}");
        assert_eq!((counts.read_bytes, counts.write_bytes), (read_bytes, write_bytes), "{name}");
        assert_eq!([counts.unique_read, counts.unique_written, counts.unique_pages], unique);
        assert!(trace.responses_ns().is_some());
    }
}

#[test]
fn a_changed_file_is_decoded_again_and_a_renamed_folder_is_not() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cache = CacheOptions { dir: Some(folder.path().join("cache")), ..CacheOptions::default() };
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    std::fs::create_dir(&one).expect("makes");
    let text = "128166372000000000,demo,0,Write,1048576,4096,2310\n\
                128166372000051234,demo,0,Read,8192,16384,780\n\
                128166372000051234,demo,1,Write,8192,512,95\n";
    std::fs::write(one.join("demo.csv"), text).expect("writes");
    let open = |path: PathBuf| {
        let (reader, decode) = (ReaderOptions::default(), DecodeOptions::default());
        open_trace(&[path], &reader, &decode, &cache, &mut NoHooks).expect("opens")
    };
    let first = open(one.join("demo.csv"));
    assert!(!first.from_cache());
    assert_eq!(first.meta().sources[0].name, "demo.csv");
    assert_eq!(first.meta().devices.len(), 2);
    assert!(open(one.join("demo.csv")).from_cache());
    std::fs::rename(&one, &two).expect("renames");
    assert!(open(two.join("demo.csv")).from_cache(), "the content decides, not the folder");
    std::fs::write(two.join("demo.csv"), text.replace("16384", "12288")).expect("writes");
    let changed = open(two.join("demo.csv"));
    assert!(!changed.from_cache());
    assert_eq!(changed.accesses() + 1, first.accesses());
    let skip: ReaderOptions =
        serde_json::from_value(serde_json::json!({ "on_error": "skip" })).expect("good options");
    let other =
        open_trace(&[two.join("demo.csv")], &skip, &DecodeOptions::default(), &cache, &mut NoHooks);
    assert!(!other.expect("opens").from_cache(), "options are part of the key");
}

#[test]
fn a_missing_file_is_the_readers_error_and_leaves_no_entry() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cache = CacheOptions { dir: Some(folder.path().join("cache")), ..CacheOptions::default() };
    let missing = folder.path().join("none.csv");
    let outcome = open_trace(
        std::slice::from_ref(&missing),
        &ReaderOptions::default(),
        &DecodeOptions::default(),
        &cache,
        &mut NoHooks,
    );
    assert!(matches!(outcome, Err(TraceError::Missing { path }) if path == missing));
    let bad = folder.path().join("bad.csv");
    std::fs::write(&bad, "128166372000000000,demo,0,Write,1048576,4096,2310\n1,2\n")
        .expect("writes");
    let outcome = open_trace(
        &[bad],
        &ReaderOptions::default(),
        &DecodeOptions::default(),
        &cache,
        &mut NoHooks,
    );
    assert!(outcome.is_err());
    let left = std::fs::read_dir(folder.path().join("cache")).map_or(0, |entries| {
        entries.filter(|e| e.as_ref().is_ok_and(|e| e.path().is_file())).count()
    });
    assert_eq!(left, 0, "nothing half-written stays");
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_once_and_not_hashed_away() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cache = CacheOptions { dir: Some(folder.path().join("cache")), ..CacheOptions::default() };
    let pipe = folder.path().join("demo.csv");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: no mkfifo");
        return;
    }
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, "128166372000000000,demo,0,Write,1048576,4096,2310\n")
    });
    let options: ReaderOptions =
        serde_json::from_value(serde_json::json!({ "format": "msr" })).expect("good options");
    let trace = open_trace(&[pipe], &options, &DecodeOptions::default(), &cache, &mut NoHooks);
    assert_eq!(trace.expect("opens").requests(), 1);
    writer.join().expect("no panic").expect("writes");
}
