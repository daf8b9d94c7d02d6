//! A store of small records in a file, through a pool: the program of `docs/serve.md`. It records
//! what it does, and prints the counters of its policy.
//!
//! `cargo run -p destage-pool --example records -- FILE s3-fifo 256 record.csv`

use destage_pool::{FileOptions, FileStore, Options, Pool};
use std::error::Error;
use std::fs::File;
use std::path::Path;

const PAGES: u64 = 4096;
const RECORD_BYTES: u64 = 100;

/// Records by number, in the pages of a pool.
struct Records(Pool<FileStore>);

impl Records {
    fn open(file: &Path, policy: &str, frames: u32) -> Result<Records, Box<dyn Error>> {
        let options = Options::new(frames);
        File::options()
            .create(true)
            .write(true)
            .truncate(false)
            .open(file)?
            .set_len(PAGES << 12)?;
        let store = FileStore::open(file, FileOptions::new(options.page_bytes))?;
        Ok(Records(Pool::open(store, policy, options)?))
    }

    fn put(&self, number: u64, value: &[u8; RECORD_BYTES as usize]) -> std::io::Result<()> {
        self.0.write_at(number * RECORD_BYTES, value).map(drop)
    }

    fn get(&self, number: u64) -> std::io::Result<[u8; RECORD_BYTES as usize]> {
        let mut value = [0; RECORD_BYTES as usize];
        self.0.read_at(number * RECORD_BYTES, &mut value)?;
        Ok(value)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, policy, frames, record] = &words[..] else {
        return Err("expected FILE POLICY FRAMES RECORD".into());
    };
    let records = Records::open(Path::new(file), policy, frames.parse()?)?;
    records.0.record(Box::new(File::create(record)?))?;
    let all = PAGES * 4096 / RECORD_BYTES;
    let mut number = 1u64;
    for turn in 0..200_000u64 {
        // Most accesses go to few records: the square of a number that is spread evenly.
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let share = (number >> 33) as f64 / (1u64 << 31) as f64;
        let wanted = (share.powi(4) * all as f64) as u64 % all;
        if turn % 3 == 0 {
            records.put(wanted, &[turn as u8; RECORD_BYTES as usize])?;
        } else {
            records.get(wanted)?;
        }
        if turn % 10_000 == 0 {
            records.0.flush()?; // durable from here on
        }
    }
    let counters = records.0.counters();
    println!("accesses {} hits {}", counters.policy.accesses(), counters.policy.hits());
    println!("destaged_pages {}", counters.policy.destaged_pages);
    println!("already_written {}", counters.store.already_written);
    records.0.close().map(drop).map_err(|(_, error)| error.into())
}
