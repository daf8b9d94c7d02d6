//! Operations that wait are found, among more blocks than the small tables have room for.

use super::{FROM, Late, NO_BLOCK, ON, PROGRAMS, Waits};
use crate::config::{DeviceConfig, Table, Value};
use crate::device::Device;
use crate::geometry::DriveLpn;
use crate::precondition::SplitMix64;
use crate::queues::serve::{Class, Submission};
use crate::timing::{Operation, OperationKind};
use destage_core::{NEVER, PlaneId, UnitId};

const BLOCKS: u32 = 20_000;

fn late(kind: OperationKind, block: u32) -> Late {
    let plane = PlaneId(0);
    let op = Operation { kind, collection: true, plane, index: 0, from: 0, ppn: block };
    let submission = Submission {
        class: Class::Own,
        number: NEVER,
        decided: 0,
        ready: 0,
        counts: false,
        page: 0,
        by_timer: false,
        end: None,
        transferred: None,
        was_late: false,
    };
    let (unit, source) = (UnitId(0), NO_BLOCK);
    Late { op, submission, unit, block, source, waits: 0, due: 0, dependents: 0 }
}

/// Numbers of the operations that wait on a block, the last first.
fn found(waits: &Waits, of: usize, block: u32) -> Vec<u64> {
    waits.chain(of, block).flatten().map(|(number, _)| number).collect()
}

#[test]
fn chains_and_counts_agree_with_a_list_of_what_waits() {
    let mut random = SplitMix64::new(7);
    let mut waits = Waits::new(BLOCKS as usize);
    let mut waiting: Vec<(u64, OperationKind, u32)> = Vec::new();
    let (mut known, mut forgotten) = (0_usize, 0);
    let mut erases = vec![0; BLOCKS as usize]; // the last of each block
    for step in 0..30_000u32 {
        // First more comes than goes, then all of it goes; and again.
        let comes = if step % 6_000 < 3_000 { 80 } else { 20 };
        if random.below(100) < comes {
            let kind = [OperationKind::Read, OperationKind::Write, OperationKind::Erase]
                [random.below(3) as usize];
            let block = random.below(if step % 2 == 0 { 50 } else { BLOCKS });
            let number = waits.push(Some(late(kind, block)));
            waiting.push((number, kind, block));
            if kind == OperationKind::Erase {
                erases[block as usize] = number;
            }
        } else if !waiting.is_empty() {
            let (number, _, block) = waiting.remove(random.below(waiting.len() as u32) as usize);
            assert_eq!(waits.take(number).block, block);
        }
        forgotten += known.saturating_sub(waits.chains.len());
        known = waits.chains.len();
        let block = match waiting.get(step as usize % waiting.len().max(1)) {
            Some(&(_, _, block)) if step % 3 == 0 => block,
            _ => random.below(BLOCKS),
        };
        // What comes before the last erase is its business.
        let since = erases[block as usize];
        let is_on_it = |&&(number, _, at): &&(u64, _, u32)| at == block && number >= since;
        let on_it = waiting.iter().filter(is_on_it).rev();
        let all: Vec<u64> = on_it.clone().map(|&(number, ..)| number).collect();
        let programs = on_it.filter(|&&(_, kind, _)| kind != OperationKind::Read);
        let programs: Vec<u64> = programs.map(|&(number, ..)| number).collect();
        assert_eq!(found(&waits, ON, block), all);
        assert_eq!(found(&waits, PROGRAMS, block), programs);
        // Where the last has gone before others the answer is for a block in order alone.
        let last = waits.last(PROGRAMS, block);
        assert_eq!(waits.may_program(block), programs.first().is_none_or(|&first| first != last));
        assert!(!waits.busy.has_none(block) || programs.is_empty());
    }
    for kind in [OperationKind::Read, OperationKind::Write, OperationKind::Erase] {
        let all = waiting.iter().filter(|&&(_, of, _)| of == kind).count() as u64;
        assert_eq!(waits.waiting(kind), [0, all]);
    }
    assert!(forgotten > 1_000, "chains of which none waits are forgotten: {forgotten}");
    for (number, ..) in waiting {
        waits.take(number);
    }
    assert!(waits.is_empty() && waits.busy.0.iter().all(|&waiting| waiting == 0));
}

/// Writes so many pages at one instant: waiting operations, and edges between them.
fn overloaded(ftl: &str, writes: u32) -> (u64, u64) {
    let mut table = Table::new();
    for (key, whole) in [
        ("channels", 2),
        ("chips_per_channel", 2),
        ("blocks_per_plane", 16),
        ("pages_per_block", 8),
        ("logical_pages", 400),
    ] {
        table.insert(key.into(), Value::Int(whole));
    }
    for (key, text) in [("ftl", ftl), ("precondition", "sequential")] {
        table.insert(key.into(), Value::Text(text.into()));
    }
    let parameters = match ftl {
        "dftl" => Table::from([("cmt_entries".into(), Value::Int(8))]),
        _ => Table::from([("log_blocks".into(), Value::Int(4))]),
    };
    let config = DeviceConfig::from_tables(&table, &parameters).expect("a good drive");
    let mut device = Device::new(&config);
    let mut random = SplitMix64::new(5);
    device.advance(1);
    for _ in 0..writes {
        device.write(DriveLpn(random.below(400)));
    }
    let waits = device.queues().waits.as_deref().expect("operations may wait for others");
    let edges = waits.edges.nodes.len() as u64;
    let waiting = waits.waiting.iter().flatten().sum();
    device.finish();
    device.check_conservation().expect("all have been served");
    (waiting, edges)
}

#[test]
fn an_operation_of_a_device_that_is_behind_waits_for_few_others() {
    for ftl in ["bast", "fast", "dftl"] {
        for writes in [1_000, 4_000] {
            let (waiting, edges) = overloaded(ftl, writes);
            assert!(waiting > u64::from(writes), "{ftl}: {waiting} wait");
            assert!(edges < 4 * waiting, "{ftl}: {waiting} wait, {edges} edges");
        }
    }
}

#[test]
fn what_has_left_a_block_before_an_erase_is_not_found_after_it() {
    let mut waits = Waits::new(4);
    let first = waits.push(Some(late(OperationKind::Read, 0)));
    let moved = Late { source: 1, ..late(OperationKind::Move, 0) };
    let moved = waits.push(Some(moved));
    assert_eq!(found(&waits, FROM, 1), [moved]);
    let erase = waits.push(Some(late(OperationKind::Erase, 1)));
    assert!(found(&waits, FROM, 1).is_empty());
    assert_eq!(found(&waits, ON, 1), [erase]);
    assert_eq!(found(&waits, ON, 0), [moved, first]);
    waits.forget_chains_of(OperationKind::Erase, 0);
    assert!(found(&waits, ON, 0).is_empty());
}
