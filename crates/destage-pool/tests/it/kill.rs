//! A process that is killed at any moment has lost nothing that a flush acknowledged.

use crate::support::named_file_stores;
use destage_pool::{FileOptions, Options, Pool};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

const PAGES: u64 = 64;
const FILE: &str = "DESTAGE_POOL_KILLED_FILE";
const STORE: &str = "DESTAGE_POOL_KILLED_STORE";

/// Runs in a process of its own, until it is killed: round after round every page is written, and
/// after each flush the round is printed.
#[test]
fn child_that_writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let name = std::env::var(STORE).unwrap();
    let stores = named_file_stores();
    let (_, open) = stores.iter().find(|(store, _)| *store == name).unwrap();
    // The kernel ends the ring of a killed process, and its lock of the file, a moment later.
    let opened = || match open(&PathBuf::from(&path), FileOptions::new(512)) {
        Err(error) if error.kind() == ErrorKind::ResourceBusy => {
            std::thread::sleep(Duration::from_millis(10));
            None
        }
        opened => Some(opened),
    };
    let store = (0..500).find_map(|_| opened()).expect("the file is free in time").unwrap();
    let mut options = Options::new(16);
    options.page_bytes = 512;
    options.limbo_pages = 4;
    options.early_sync = true;
    let pool = Pool::open(store, "cflru", options).unwrap();
    for round in 1u32.. {
        for page in 0..PAGES {
            let bytes = round.to_le_bytes().repeat(128);
            pool.write_at(page * 512, &bytes).unwrap();
        }
        pool.flush().unwrap();
        // Past the test harness, which keeps what a test prints.
        let mut out = std::io::stderr().lock();
        writeln!(out, "flushed {round}").unwrap();
    }
}

#[test]
fn a_killed_process_has_lost_nothing_that_a_flush_acknowledged() {
    kill_often(20);
}

#[test]
#[ignore = "takes half a minute; twenty kills always run"]
fn sixty_killed_processes_have_lost_nothing_that_a_flush_acknowledged() {
    kill_often(60);
}

fn kill_often(kills: u32) {
    named_file_stores().iter().for_each(|(store, _)| kill_often_over(store, kills));
}

fn kill_often_over(store: &str, kills: u32) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    for kill in 0..kills {
        std::fs::File::create(&path).unwrap().set_len(PAGES * 512).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::child_that_writes_until_it_is_killed", "--nocapture"])
            .env(FILE, &path)
            .env(STORE, store)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let rounds = |line: String| line.strip_prefix("flushed ").and_then(|n| n.parse().ok());
        let mut flushed: u32 = 0;
        while flushed < 1 + kill % 7 {
            flushed = rounds(lines.next().unwrap().unwrap()).unwrap_or(flushed);
        }
        std::thread::sleep(Duration::from_micros(u64::from(kill) * 150));
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
        flushed = lines.map_while(Result::ok).filter_map(rounds).last().unwrap_or(flushed);
        let bytes = std::fs::read(&path).unwrap();
        for (page, bytes) in bytes.chunks(512).enumerate() {
            let words: Vec<u32> =
                bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
            let is_allowed = |word: &u32| *word == flushed || *word == flushed + 1;
            assert!(words.iter().all(is_allowed), "page {page} after round {flushed}: {words:?}");
        }
    }
}
