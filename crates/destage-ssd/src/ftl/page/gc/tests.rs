//! The worked example of `docs/spec/collectors.md` 4.8.

use super::*;
use crate::config::{StreamsConfig, Table, Value};
use crate::ftl::tournament::{OUT, Tournaments};
use crate::geometry::BlockId;

const DATA: u64 = 8;

/// Valid pages, erase count, place in the queue and touched, by block.
const BLOCKS: [(u64, u64, usize, u64); 7] = [
    (3, 2, 5, 90),
    (8, 0, 1, 10),
    (5, 0, 2, 40),
    (3, 1, 7, 99),
    (7, 0, 3, 12),
    (6, 4, 4, 70),
    (4, 1, 6, 96),
];

/// The victim of the example's plane, at a clock.
fn victim(streams: StreamsConfig, clock: u64) -> Option<u32> {
    let mut table = Table::new();
    table.insert("blocks_per_plane".into(), Value::Int(10));
    table.insert("pages_per_block".into(), Value::Int(DATA.into()));
    table.insert("logical_pages".into(), Value::Int(40));
    let config = DeviceConfig::from_table(&table).expect("a good configuration");
    let mut collector = AnyCollector::new(&DeviceConfig { streams, ..config });
    let mut sealed = Tournaments::new(1, 10, OUT);
    let plane = PlaneId(0);
    let of =
        |local: usize| SealedBlock { plane, local: local as u32, block: BlockId(local as u32) };
    for place in 1..=BLOCKS.len() {
        let local = BLOCKS.iter().position(|block| block.2 == place).expect("each place once");
        let (valid, erases, _, touched) = BLOCKS[local];
        sealed.lower(plane, local as u32, valid << 32 | erases);
        collector.touched(of(local), touched);
        collector.sealed(of(local), valid < DATA);
    }
    collector.victim(plane, clock, &Candidates::new(&sealed, plane, DATA as u32))
}

fn rule(gc_victim: GcVictim) -> StreamsConfig {
    StreamsConfig::of_collector(gc_victim)
}

#[test]
fn the_worked_example_of_4_8() {
    use GcVictim::{CostBenefit, DChoices, Fifo, Greedy, Random, TwoRegionFifo, WindowedGreedy};
    let windowed =
        |gc_window_permille| StreamsConfig { gc_window_permille, ..rule(WindowedGreedy) };
    let two_region = |gc_window_permille, gc_limit_permille| StreamsConfig {
        gc_window_permille,
        gc_limit_permille,
        ..rule(TwoRegionFifo)
    };
    for (streams, clock, expected) in [
        (rule(Greedy), 100, 3),
        (rule(Fifo), 100, 2),
        (rule(Random), 100, 4),
        (StreamsConfig { gc_choices: 3, ..rule(DChoices) }, 100, 6),
        (windowed(300), 100, 2),
        (windowed(400), 100, 0),
        (windowed(0), 100, 2),
        (windowed(1000), 100, 3),
        (rule(CostBenefit), 100, 2),
        (rule(CostBenefit), 2000, 0),
        (two_region(500, 600), 100, 0),
        (two_region(500, 700), 100, 2),
        (two_region(300, 600), 100, 2),
        (two_region(100, 600), 100, 2),
    ] {
        assert_eq!(victim(streams, clock), Some(expected), "{streams:?} at {clock}");
    }
}
