//! Carries out the requests of a record on a pool in memory, and prints the counters of its policy:
//! those of `destage serve`, which recorded them, and of `destage compare` (`docs/serve.md`).
//!
//! `cargo run -p destage-pool --example replay -- record.csv s3-fifo 256 67108864`

use destage_pool::{MemoryStore, Options, Pool};
use std::error::Error;
use std::io::{BufRead, BufReader};

const PAGE_BYTES: u32 = 4096;

fn carry_out(pool: &Pool<MemoryStore>, line: &str) -> Result<(), Box<dyn Error>> {
    let fields: Vec<&str> = line.split(',').collect();
    let [_, _, op, offset, length, _] = fields[..] else {
        return Err(format!("expected six fields, found {line:?}").into());
    };
    let (offset, length): (u64, u64) = (offset.parse()?, length.parse()?);
    match op {
        "read" => _ = pool.read_at(offset, &mut vec![0; length as usize])?,
        "write" => _ = pool.write_at(offset, &vec![1; length as usize])?,
        "trim" => _ = pool.trim_at(offset..offset + length)?,
        "flush" => pool.flush()?,
        _ => return Err(format!("expected read, write, trim or flush, found {op:?}").into()),
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [record, policy, frames, bytes] = &words[..] else {
        return Err("expected RECORD POLICY FRAMES BYTES".into());
    };
    let pages = bytes.parse::<u64>()? / u64::from(PAGE_BYTES);
    let store = MemoryStore::new(pages, PAGE_BYTES);
    let pool = Pool::open(store, policy, Options::new(frames.parse()?))?;
    let lines = BufReader::new(std::fs::File::open(record)?).lines();
    for line in lines.skip(1) {
        carry_out(&pool, &line?)?;
    }
    let counters = pool.counters().policy;
    println!("accesses {} hits {}", counters.accesses(), counters.hits());
    println!("destaged_pages {}", counters.destaged_pages);
    println!("clean_evictions {}", counters.clean_evictions);
    Ok(())
}
