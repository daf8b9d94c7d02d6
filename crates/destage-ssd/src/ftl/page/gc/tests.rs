//! The worked example of `docs/spec/collectors.md` 4.8.

use super::*;
use crate::config::{StreamsConfig, Table, Value};
use crate::ftl::tournament::{OUT, Tournaments};

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

/// A collector of planes with so many blocks.
fn collector(streams: StreamsConfig, blocks: u32) -> AnyCollector {
    let mut table = Table::new();
    table.insert("blocks_per_plane".into(), Value::Int(blocks.into()));
    table.insert("pages_per_block".into(), Value::Int(DATA.into()));
    table.insert("logical_pages".into(), Value::Int(40));
    let config = DeviceConfig::from_table(&table).expect("a good configuration");
    AnyCollector::new(&DeviceConfig { streams, ..config })
}

/// The victim of the example's plane, at a clock.
fn victim(streams: StreamsConfig, clock: u64) -> Option<u32> {
    let mut collector = collector(streams, 10);
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

/// Sealed blocks are invalidated at random, and now and then one is collected and filled again:
/// whatever was ranked before, the choice is the largest age * (D - v) / v (4.6).
#[test]
fn a_ranking_changes_no_choice_of_cost_benefit() {
    const BLOCKS: u32 = 80;
    let plane = PlaneId(0);
    let of = |local: u32| SealedBlock { plane, local, block: BlockId(local) };
    let mut collector = collector(rule(GcVictim::CostBenefit), BLOCKS);
    let mut sealed = Tournaments::new(1, BLOCKS, OUT);
    let (mut valid, mut touched) = ([DATA; BLOCKS as usize], [0; BLOCKS as usize]);
    for local in 0..BLOCKS {
        sealed.lower(plane, local, DATA << 32);
        collector.sealed(of(local), false);
    }
    let mut random = destage_core::SplitMix64::new(5);
    let (mut chosen, mut ranked) = (0, 0);
    for clock in 1..40_000 {
        // Half of the writes go to an eighth of the blocks.
        let local = random.below(if clock % 2 == 0 { BLOCKS } else { BLOCKS / 8 });
        let at = local as usize;
        if valid[at] > 0 {
            valid[at] -= 1;
            touched[at] = clock;
            sealed.lower(plane, local, valid[at] << 32);
            collector.touched(of(local), clock);
        }
        if clock % 4 != 0 {
            continue;
        }
        let candidates = Candidates::new(&sealed, plane, DATA as u32);
        let gain = |&(local, v): &(u32, u64)| {
            (u128::from(clock - touched[local as usize]) * u128::from(DATA - v), u128::from(v))
        };
        let best = candidates.iter().max_by(|a, b| {
            let ((gain_a, v_a), (gain_b, v_b)) = (gain(a), gain(b));
            let by_value = (gain_a * v_b).cmp(&(gain_b * v_a));
            let empty = a.1 == 0 || b.1 == 0;
            let by_value = if empty { b.1.cmp(&a.1) } else { by_value };
            by_value.then_with(|| candidates.greedy_order(b.0).cmp(&candidates.greedy_order(a.0)))
        });
        let expected = best.map(|(local, _)| local);
        assert_eq!(collector.victim(plane, clock, &candidates), expected, "seen at {clock}");
        let AnyCollector::CostBenefit(rule) = &collector else {
            panic!("the rule is cost-benefit")
        };
        ranked += u64::from(rule.knows_ranked(plane, clock, &candidates));
        assert_eq!(collector.choose(plane, clock, &candidates), expected, "taken at {clock}");
        if let Some(local) = expected.filter(|_| clock % 8 == 0) {
            chosen += 1;
            sealed.remove(plane, local);
            collector.collects(of(local));
            valid[local as usize] = DATA;
            touched[local as usize] = clock;
            collector.touched(of(local), clock);
            sealed.lower(plane, local, DATA << 32);
            collector.sealed(of(local), false);
        }
    }
    assert!(chosen > 1000 && ranked > 1000, "{chosen} collections, {ranked} by a ranking");
}
