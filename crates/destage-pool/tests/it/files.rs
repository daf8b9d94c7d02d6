//! The stores in a file.

use crate::support::{Random, file_stores};
use destage_pool::{FileOptions, Options, Pool, Store};
use std::io::ErrorKind;
use std::path::Path;

fn file(folder: &Path, bytes: u64) -> std::path::PathBuf {
    let path = folder.join("disk");
    std::fs::File::create(&path).unwrap().set_len(bytes).unwrap();
    path
}

#[test]
fn a_file_is_byte_for_byte_what_was_written() {
    for open in file_stores() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), 200 * 4096 + 100);
        let store = open(&path, FileOptions::new(4096)).unwrap();
        assert_eq!(store.pages(), 200, "a last part of a page is not served");
        let discards = store.discard(0..0).is_ok();
        let pool = Pool::open(store, "fab", Options::new(20)).unwrap();
        let mut plain = vec![0; 200 * 4096];
        let random = &mut Random::new(1);
        for turn in 0..500 {
            let range = random.range(plain.len() as u64, 30_000);
            let inside = range.start as usize..range.end as usize;
            if turn % 5 == 0 {
                pool.zero_at(range).unwrap();
                plain[inside].fill(0);
            } else {
                let bytes = vec![random.byte(); inside.len()];
                pool.write_at(range.start, &bytes).unwrap();
                plain[inside].copy_from_slice(&bytes);
            }
        }
        pool.close().map_err(|(_, error)| error).unwrap();
        let found = std::fs::read(&path).unwrap();
        assert_eq!(found.len(), 200 * 4096 + 100);
        assert!(found[..plain.len()] == plain, "bytes differ");
        assert!(
            discards || cfg!(not(target_os = "linux")),
            "a Linux file system that makes no holes"
        );
    }
}

#[test]
fn a_file_that_is_in_use_is_an_error() {
    for open in file_stores() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), 8192);
        let first = open(&path, FileOptions::new(4096)).unwrap();
        let error = open(&path, FileOptions::new(4096)).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::ResourceBusy);
        drop(first);
        open(&path, FileOptions::new(4096)).unwrap();
    }
}

#[test]
fn direct_io_has_the_same_bytes_or_is_refused_with_a_sentence() {
    for open in file_stores() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), 64 * 4096);
        let options = FileOptions { direct: true, ..FileOptions::new(4096) };
        let store = match open(&path, options) {
            Ok(store) => store,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
                continue;
            }
        };
        let pool = Pool::open(store, "lru", Options::new(4)).unwrap();
        for page in 0..64 {
            pool.overwrite(page).unwrap().fill(page as u8);
        }
        pool.close().map_err(|(_, error)| error).unwrap();
        let found = std::fs::read(&path).unwrap();
        for (page, bytes) in found.chunks(4096).enumerate() {
            assert_eq!(bytes, [page as u8; 4096]);
        }
    }
}

#[test]
fn a_read_only_file_is_read() {
    for open in file_stores() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        std::fs::write(&path, [9; 4096]).unwrap();
        let options = FileOptions { read_only: true, ..FileOptions::new(4096) };
        let pool = Pool::open(open(&path, options).unwrap(), "lru", Options::new(4)).unwrap();
        assert_eq!(pool.read(0).unwrap()[7], 9);
    }
}

#[test]
fn a_page_that_somebody_changed_behind_the_pool_has_another_checksum() {
    for open in file_stores() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), 8 * 4096);
        let mut options = Options::new(1);
        options.checksums = true;
        let store = open(&path, FileOptions::new(4096)).unwrap();
        let pool = Pool::open(store, "lru", options).unwrap();
        pool.overwrite(3).unwrap().fill(3);
        pool.flush().unwrap();
        drop(pool.read(4).unwrap());
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[3 * 4096 + 9] = 4;
        std::fs::write(&path, bytes).unwrap();
        let error = pool.read(3).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(error.to_string().starts_with("page 3: checksum "), "{error}");
        assert_eq!(pool.counters().store.checksum_errors, 1);
    }
}

#[test]
fn a_group_of_many_runs_and_of_a_long_one_is_written_whole() {
    for open in file_stores() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), 3000 * 512);
        let store = open(&path, FileOptions::new(512)).unwrap();
        let page = |page: u64| vec![1 + (page % 250) as u8; 512];
        let numbers: Vec<u64> = (0..600).step_by(3).chain(700..2900).collect();
        let pages: Vec<Vec<u8>> = numbers.iter().map(|number| page(*number)).collect();
        let group: Vec<(u64, &[u8])> =
            numbers.iter().zip(&pages).map(|(number, bytes)| (*number, &**bytes)).collect();
        store.write(&group).unwrap();
        store.sync().unwrap();
        let found = std::fs::read(&path).unwrap();
        for (number, bytes) in (0..).zip(found.chunks(512)) {
            let is_written = numbers.contains(&number);
            let expected = if is_written { page(number) } else { vec![0; 512] };
            assert!(bytes == expected, "page {number}");
            let read = &mut [7; 512];
            store.read(number, read).unwrap();
            assert!(read[..] == expected, "page {number}");
        }
    }
}

#[test]
fn what_the_file_refuses_is_an_error_and_the_store_goes_on() {
    for open in file_stores() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        std::fs::write(&path, [9; 8192]).unwrap();
        let options = FileOptions { read_only: true, ..FileOptions::new(4096) };
        let store = open(&path, options).unwrap();
        let bytes = &mut [0; 4096];
        assert!(store.write(&[(0, bytes), (1, bytes)]).is_err(), "it was opened for reading");
        assert_eq!(store.read(2, bytes).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        store.read(1, bytes).unwrap();
        assert_eq!(bytes, &[9; 4096]);
    }
}
