//! Every policy over every FTL, and one over drives of more and more units.
//!
//! ```text
//!  pairs   timed runs with every law checked, compared with benches/record/policies-over-ftls.md
//!  newest  what every read returns, page by page
//!  ace     the running time of ACE and of its base, compared with docs/asking.md
//! ```

mod ace;
mod newest;
mod pairs;

use destage_core::{Nanos, Op};
use destage_ssd::config::{DeviceConfig, Table, Value};
use destage_ssd::precondition::SplitMix64;

/// 64 blocks of 16 pages on 4 planes, and an FTL that merges and collects all the time.
fn drive(ftl: &str) -> DeviceConfig {
    let sizes = [
        ("channels", 2),
        ("planes_per_die", 2),
        ("blocks_per_plane", 16),
        ("pages_per_block", 16),
        ("logical_pages", 700),
        ("gc_low_pages", 16),
    ];
    let int = |value: i128| Value::Int(value);
    let mut table: Table =
        sizes.into_iter().map(|(key, size)| (key.to_string(), int(size))).collect();
    table.insert("ftl".into(), Value::Text(ftl.into()));
    let parameters: &[(&str, i128)] = match ftl {
        "bast" | "fast" => &[("log_blocks", 8)],
        "dftl" => &[("cmt_entries", 40), ("entries_per_translation_page", 32)],
        _ => &[],
    };
    let parameters = parameters.iter().map(|&(key, value)| (key.to_string(), int(value)));
    DeviceConfig::from_tables(&table, &parameters.collect())
        .unwrap_or_else(|error| panic!("{ftl}: {error}"))
}

/// Requests of one to eight pages: runs of them in order, hot ones, and ones anywhere.
fn requests(count: usize) -> Vec<(Nanos, Op, u64, u64)> {
    let mut random = SplitMix64::new(4711);
    let (mut now, mut next) = (0, 0);
    let mut request = || {
        now += random.next() % 2_000_000;
        let pages = 1 + random.below(8);
        let first = match random.below(4) {
            0 => random.below(700 - 8),
            1 => random.below(60),
            _ => next,
        };
        next = (first + pages) % (700 - 8);
        let op = if random.below(10) < 7 { Op::Write } else { Op::Read };
        (now, op, u64::from(first) * 4096, u64::from(pages) * 4096)
    };
    (0..count).map(|_| request()).collect()
}
