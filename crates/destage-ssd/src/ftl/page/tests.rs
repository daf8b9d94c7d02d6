//! Writing much at once gives the state that writing page by page gives.

use super::PageFtl;
use crate::config::{DeviceConfig, Table, Value};
use crate::ftl::{Ftl, Instantly};
use crate::geometry::{DriveLpn, Geometry};
use crate::precondition::{SplitMix64, precondition};

/// Configurations of all kinds: those that the checks refuse are left out.
fn configurations() -> impl Iterator<Item = DeviceConfig> {
    tables().filter_map(|table| DeviceConfig::from_table(&table).ok())
}

/// Their keys.
fn tables() -> impl Iterator<Item = Table> {
    let mut random = SplitMix64::new(2026);
    (0..400).filter_map(move |_| {
        let mut pick = |most: u32| i128::from(1 + random.below(most));
        let mut table = Table::new();
        for (key, most) in [
            ("channels", 4),
            ("chips_per_channel", 3),
            ("dies_per_chip", 2),
            ("planes_per_die", 3),
            ("stripe_pages", 7),
        ] {
            table.insert(key.into(), Value::Int(pick(most)));
        }
        let (most_pages, most_blocks) =
            [(12, 30), (150, 30), (12, 400), (70, 60)][pick(4) as usize - 1];
        let (pages, blocks) = (1 + pick(most_pages), 3 + pick(most_blocks));
        table.insert("pages_per_block".into(), Value::Int(pages));
        table.insert("blocks_per_plane".into(), Value::Int(blocks));
        table.insert("op_permille".into(), Value::Int(150 + pick(400)));
        table.insert("summary_page".into(), Value::Bool(pick(2) == 1));
        let word = |words: [&str; 3], at: i128| Value::Text(words[at as usize - 1].into());
        let alloc = word(["static", "static", "dynamic"], pick(3));
        table.insert("alloc".into(), alloc);
        let mode = word(["foreground", "background", "idle"], pick(3));
        table.insert("gc_mode".into(), mode);
        let level = word(["channel", "chip", "plane"], pick(3));
        table.insert("queue_level".into(), level);
        table.insert("striping".into(), word(["CWDP", "PDWC", "DPCW"], pick(3)));
        table.insert("precondition".into(), Value::Text("random".into()));
        let config = DeviceConfig::from_table(&table).ok()?;
        if pick(3) == 1 {
            // Not a multiple of anything.
            let most = i128::from(config.logical_pages);
            table.insert("logical_pages".into(), Value::Int((most - pick(9)).max(1)));
        }
        table.insert("precondition_writes".into(), Value::Int(pick(3 * config.logical_pages)));
        Some(table)
    })
}

fn empty(config: &DeviceConfig) -> PageFtl {
    PageFtl::build(config, &Geometry::new(config))
}

#[test]
fn filling_by_arithmetic_gives_the_state_of_writing_page_by_page() {
    let mut tried = 0;
    for config in configurations() {
        let config = DeviceConfig { precondition_writes: 0, ..config };
        let mut filled = empty(&config);
        precondition(&mut filled, &config, &mut |_, _| true).expect("no interruption");
        filled.check();
        let mut written = empty(&config);
        for lpn in (0..config.logical_pages).map(DriveLpn) {
            written.write(lpn, &mut Instantly);
        }
        assert!(filled == written, "{config:?}");
        tried += 1;
    }
    assert!(tried > 150, "{tried} configurations were possible");
}

#[test]
fn writing_plane_by_plane_gives_the_state_of_writing_in_order() {
    let (mut tried, mut collected) = (0, 0);
    for config in configurations().step_by(3) {
        let mut at_once = empty(&config);
        precondition(&mut at_once, &config, &mut |_, _| true).expect("no interruption");
        at_once.check();
        let mut written = empty(&config);
        for lpn in (0..config.logical_pages).map(DriveLpn) {
            written.write(lpn, &mut Instantly);
        }
        let mut random = SplitMix64::new(config.precondition_seed);
        for _ in 0..config.precondition_writes {
            written.write(DriveLpn(random.below(config.logical_pages)), &mut Instantly);
        }
        assert!(at_once == written, "{config:?}");
        tried += 1;
        collected += u32::from(at_once.flash_state().erases > 0);
    }
    assert!(tried > 50 && collected > tried / 2, "{collected} of {tried} collected");
}

#[test]
fn filling_by_map_pages_gives_the_state_of_writing_page_by_page() {
    let (mut tried, mut written_back) = (0, 0);
    for (number, mut table) in (0_u32..).zip(tables()) {
        table.remove("logical_pages"); // map pages need room too
        let entry_bytes = [4, 300, 1_000][number as usize % 3];
        let cached = 4_096 * (1 + i128::from(number % 5));
        table.insert("map_cache".into(), Value::Int(cached));
        table.insert("map_entry_bytes".into(), Value::Int(entry_bytes));
        let policy = if number % 2 == 0 { "lru" } else { "slru" };
        table.insert("map_policy".into(), Value::Text(policy.into()));
        let victim = ["greedy", "fifo", "d-choices", "windowed-greedy", "2r-fifo"];
        table.insert("gc_victim".into(), Value::Text(victim[number as usize % 5].into()));
        table.insert("precondition_writes".into(), Value::Int(0));
        let Ok(config) = DeviceConfig::from_table(&table) else { continue };
        let build = || PageFtl::<true>::build(&config, &Geometry::new(&config));
        let mut filled = build();
        precondition(&mut filled, &config, &mut |_, _| true).expect("no interruption");
        filled.check();
        let mut written = build();
        for lpn in (0..config.logical_pages).map(DriveLpn) {
            written.write(lpn, &mut Instantly);
        }
        written_back += u32::from(written.map_counts().is_some_and(|map| map.map_writes > 0));
        written.begin();
        assert!(filled == written, "{config:?}");
        tried += 1;
    }
    assert!(tried > 50 && written_back > tried / 3, "{written_back} of {tried}");
}
