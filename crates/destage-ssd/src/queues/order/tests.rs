//! Operations that wait are found, among more blocks than the small tables have room for.

use super::{Late, NO_BLOCK, ON, PROGRAMS, Waits};
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
    for step in 0..30_000u32 {
        // First more comes than goes, then all of it goes; and again.
        let comes = if step % 6_000 < 3_000 { 80 } else { 20 };
        if random.below(100) < comes {
            let kind = [OperationKind::Read, OperationKind::Write, OperationKind::Erase]
                [random.below(3) as usize];
            let block = random.below(if step % 2 == 0 { 50 } else { BLOCKS });
            waiting.push((waits.push(Some(late(kind, block))), kind, block));
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
        let on_it = waiting.iter().filter(|&&(_, _, at)| at == block).rev();
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
    assert!(forgotten > 1_000, "chains of which none waits are forgotten: {forgotten}");
    for (number, ..) in waiting {
        waits.take(number);
    }
    assert!(waits.is_empty() && waits.busy.0.iter().all(|&waiting| waiting == 0));
}
