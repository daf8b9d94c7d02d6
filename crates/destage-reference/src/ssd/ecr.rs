//! ECR: evict the dirty page whose chip is done first.
//!
//! Chen, Pan, Li, Xu 2019. Mirrors `docs/spec/device-policies.md` 3.

use super::operation::Kind;
use super::policies::{Answer, Cache, Recency, Resident};
use super::queue::Ssd;
use crate::Op;

/// How the time that a chip needs for its queue is read (3.2).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cqct {
    Backlog,
    Wait,
    Eq1Strict,
    Eq1,
}

/// `ecr`, and without the Clean list `ecr-e`.
pub(crate) struct Ecr {
    pub(crate) recency: Recency,
    pub(crate) clean_list: bool,
    pub(crate) cqct: Cqct,
}

impl Cache for Ecr {
    fn access(&mut self, op: Op, page: u64, _: Option<usize>, ssd: &Ssd) -> Answer {
        let (clean_list, cqct) = (self.clean_list, self.cqct);
        self.recency.access(op, page, ssd, |pages| {
            if clean_list && let Some(&oldest) = pages.iter().find(|resident| !resident.dirty) {
                return oldest;
            }
            // Candidates come from the oldest to the most recent, and `min_by_key` keeps the first.
            let oldest_of_its_list = |&(at, candidate): &(usize, &Resident)| {
                pages[..at].iter().all(|older| older.list != candidate.list)
            };
            let candidates = pages.iter().enumerate().filter(oldest_of_its_list);
            let candidates = candidates.map(|(_, &candidate)| candidate);
            candidates.min_by_key(|&page| cqct_of(ssd, cqct, page)).expect("a full cache has pages")
        })
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        self.recency.forget(page)
    }

    fn installed(&mut self, page: u64, ssd: &Ssd) {
        self.recency.installed(page, ssd);
    }
}

/// CQCT for a candidate page.
pub(super) fn cqct_of(ssd: &Ssd, cqct: Cqct, Resident { page, dirty, list }: Resident) -> u64 {
    if ssd.config.places_late() && !dirty {
        // "is `backlog` (or the counted queue, 3.2) of its unit"
        return match cqct {
            Cqct::Backlog | Cqct::Wait => ssd.backlog(list),
            Cqct::Eq1Strict | Cqct::Eq1 => counted(ssd, list),
        };
    }
    let g = ssd.target(page);
    let u = ssd.config.unit_of_plane(g);
    match cqct {
        Cqct::Backlog => ssd.backlog(u),
        Cqct::Wait => ssd.backlog(u) + ssd.gc_cost(g),
        Cqct::Eq1Strict => counted(ssd, u),
        Cqct::Eq1 => counted(ssd, u) + next_collection(ssd, g),
    }
}

/// The latencies of equations 1 to 4.
struct Latencies {
    r: u64,
    w: u64,
    gc: u64,
    sp: u64,
}

fn latencies(ssd: &Ssd) -> Latencies {
    let config = &ssd.config;
    let c = config.cmd_ns;
    Latencies {
        r: c + config.read_ns[0] + config.page_transfer_ns,
        w: c + config.program_ns[0] + config.page_transfer_ns,
        gc: c + config.erase_ns,
        sp: c + config.program_ns[0] + config.summary_transfer_ns,
    }
}

/// The unfinished operations of a unit, the one in service in full.
fn counted(ssd: &Ssd, unit: usize) -> u64 {
    let l = latencies(ssd);
    let latency = |kind| match kind {
        Kind::R { .. } => l.r,
        Kind::W { .. } => l.w,
        Kind::M { .. } => l.r + l.w,
        Kind::E { .. } => l.gc,
        Kind::S => l.sp,
        Kind::Zeros => unreachable!("it is in no queue"),
    };
    ssd.unfinished(unit).map(|operation| latency(operation.kind)).sum()
}

/// `S * T_gc`: the collection that the next program to a plane would set off.
fn next_collection(ssd: &Ssd, plane: usize) -> u64 {
    if !ssd.collection_is_due(plane) {
        return 0;
    }
    let l = latencies(ssd);
    let v = ssd.valid_pages_of_victim(plane);
    let f = ssd.unprogrammed_pages(plane);
    let n = match ssd.config.summary_page {
        false => 0,
        true if v < f - 1 => 0,
        true => 1 + (v - (f - 1)) / (ssd.config.pages_per_block - 1),
    };
    l.gc + v * (l.r + l.w) + n * l.sp
}
