//! How a run with a device develops: responses, and what each unit was busy with, over time.

use crate::observe::{Completed, Observer};
use destage_core::{Nanos, Plan, Request};
use destage_ssd::OperationRecord;
use destage_ssd::timing::OperationKind;
use serde::{Deserialize, Serialize};

/// Most periods that are kept. When a run needs more, pairs are joined and a period is twice as
/// long: the length of the run need not be known beforehand.
const MOST_PERIODS: usize = 240;

/// Requests and operations that began in one period.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Period {
    /// Requests issued.
    pub requests: u64,
    /// Sum of their response times, nanoseconds.
    pub response_ns_sum: Nanos,
    /// The longest, nanoseconds.
    pub response_ns_max: Nanos,
    /// Host reads that began.
    pub flash_reads: u64,
    /// Programs for the host that began.
    pub flash_programs: u64,
    /// Pages moved by collections, and other programs of the FTL's own.
    pub collection_programs: u64,
    /// Erases that began.
    pub erases: u64,
    /// Host programs to the SLC cache.
    #[serde(default, skip_serializing_if = "is_none")]
    pub slc_programs: u64,
    /// Erases of SLC blocks.
    #[serde(default, skip_serializing_if = "is_none")]
    pub slc_erases: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Period {
    fn join(&mut self, other: &Period) {
        self.requests += other.requests;
        self.response_ns_sum = self.response_ns_sum.saturating_add(other.response_ns_sum);
        self.response_ns_max = self.response_ns_max.max(other.response_ns_max);
        self.flash_reads += other.flash_reads;
        self.flash_programs += other.flash_programs;
        self.collection_programs += other.collection_programs;
        self.erases += other.erases;
        self.slc_programs += other.slc_programs;
        self.slc_erases += other.slc_erases;
    }
}

/// A run over time, warm-up included.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Profile {
    /// Length of a period; the first begins at time 0.
    pub period_ns: Nanos,
    /// The periods.
    pub periods: Vec<Period>,
    /// For each unit, how long it was busy in each period, nanoseconds.
    pub unit_busy_ns: Vec<Vec<Nanos>>,
    /// For each unit, how long it was busy with collections.
    pub unit_collecting_ns: Vec<Vec<Nanos>>,
}

/// Collects a [`Profile`].
pub struct Profiler {
    profile: Profile,
    main_blocks: u32, // those from there on are SLC blocks
}

impl Profiler {
    /// Profiler of a device with `units` units, whose blocks from `main_blocks` on are an SLC
    /// cache.
    pub fn new(units: u32, main_blocks: u32) -> Self {
        let none = vec![Vec::new(); units as usize];
        let (unit_busy_ns, unit_collecting_ns) = (none.clone(), none);
        let (period_ns, periods) = (1 << 10, Vec::new());
        let profile = Profile { period_ns, periods, unit_busy_ns, unit_collecting_ns };
        Profiler { profile, main_blocks }
    }

    /// The profile; every period of every unit is there.
    pub fn finish(mut self) -> Profile {
        let units = || self.profile.unit_busy_ns.iter().chain(&self.profile.unit_collecting_ns);
        let busy = units().map(Vec::len).max().unwrap_or(0);
        let periods = self.profile.periods.len().max(busy);
        self.profile.periods.resize(periods, Period::default());
        let Profile { unit_busy_ns, unit_collecting_ns, .. } = &mut self.profile;
        for unit in unit_busy_ns.iter_mut().chain(unit_collecting_ns) {
            unit.resize(periods, 0);
        }
        self.profile
    }

    /// The period of an instant.
    fn at(&mut self, ns: Nanos) -> usize {
        while ns / self.profile.period_ns >= MOST_PERIODS as u64 {
            self.double();
        }
        (ns / self.profile.period_ns) as usize
    }

    fn period(&mut self, ns: Nanos) -> &mut Period {
        let at = self.at(ns);
        let periods = &mut self.profile.periods;
        if periods.len() <= at {
            periods.resize(at + 1, Period::default());
        }
        &mut periods[at]
    }

    fn double(&mut self) {
        let Profile { period_ns, periods, unit_busy_ns, unit_collecting_ns } = &mut self.profile;
        *period_ns *= 2;
        for k in 0..periods.len().div_ceil(2) {
            let mut joined = periods[2 * k];
            if let Some(second) = periods.get(2 * k + 1) {
                joined.join(second);
            }
            periods[k] = joined;
        }
        periods.truncate(periods.len().div_ceil(2));
        for unit in unit_busy_ns.iter_mut().chain(unit_collecting_ns) {
            *unit = unit.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
    }
}

/// Spreads a time from `start` to `end` over the periods that it lies in.
fn spread(unit: &mut Vec<Nanos>, period_ns: Nanos, mut start: Nanos, end: Nanos) {
    while start < end {
        let at = (start / period_ns) as usize;
        let until = end.min((at as u64 + 1) * period_ns);
        if unit.len() <= at {
            unit.resize(at + 1, 0);
        }
        unit[at] += until - start;
        start = until;
    }
}

impl Observer for Profiler {
    fn wants_operations(&self) -> bool {
        true
    }

    fn access(&mut self, _: &Request, _: bool, _: Option<&Plan>) {}

    fn completed(&mut self, request: &Completed) {
        if request.control_command.is_some() {
            return; // a trim or flush is no response
        }
        let response_ns = request.completion_ns - request.issued_ns;
        self.period(request.issued_ns).join(&Period {
            requests: 1,
            response_ns_sum: response_ns,
            response_ns_max: response_ns,
            ..Period::default()
        });
    }

    fn operations(&mut self, operations: &mut dyn Iterator<Item = OperationRecord>) {
        for op in operations {
            self.at(op.end_ns); // all of it lies in a period, however far it goes
            let in_slc = u64::from(op.block.is_some_and(|block| block >= self.main_blocks));
            let began = self.period(op.start_ns);
            match op.kind {
                OperationKind::Erase => {
                    began.erases += 1;
                    began.slc_erases += in_slc;
                }
                OperationKind::Read if !op.collection => began.flash_reads += 1,
                OperationKind::Read => {}
                OperationKind::Write if !op.collection => {
                    began.flash_programs += 1;
                    began.slc_programs += in_slc;
                }
                OperationKind::Write | OperationKind::Move | OperationKind::Summary => {
                    began.collection_programs += 1
                }
            }
            let Profile { period_ns, unit_busy_ns, unit_collecting_ns, .. } = &mut self.profile;
            let unit = op.unit as usize;
            spread(&mut unit_busy_ns[unit], *period_ns, op.start_ns, op.end_ns);
            if op.collection {
                spread(&mut unit_collecting_ns[unit], *period_ns, op.start_ns, op.end_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_core::{NEVER, Op};

    /// Block 9 is one of ten, block 10 an SLC block.
    fn operation(
        kind: OperationKind,
        unit: u32,
        start_ns: Nanos,
        end_ns: Nanos,
    ) -> OperationRecord {
        let collection = matches!(kind, OperationKind::Move | OperationKind::Erase);
        OperationRecord {
            number: 0,
            submission: NEVER,
            kind,
            collection,
            unit,
            channel: 0,
            plane: 0,
            block: Some(9 + (start_ns / 7000 % 2) as u32),
            index: 0,
            submitted_ns: start_ns,
            start_ns,
            end_ns,
        }
    }

    #[test]
    fn times_are_kept_when_periods_are_joined() {
        let mut profiler = Profiler::new(2, 10);
        let ops: Vec<_> = (0..1000)
            .map(|k| {
                let kind = if k % 3 == 0 { OperationKind::Erase } else { OperationKind::Write };
                operation(kind, k % 2, u64::from(k) * 7000, u64::from(k) * 7000 + 6500)
            })
            .collect();
        profiler.operations(&mut ops.iter().copied());
        for number in 0..1000 {
            let issued_ns = number * 7000;
            let completion_ns = issued_ns + number;
            let op = Op::Write;
            profiler.completed(&Completed {
                number,
                op,
                control_command: None,
                issued_ns,
                completion_ns,
                operations: 0..0,
            });
        }
        let profile = profiler.finish();
        assert!(profile.periods.len() <= MOST_PERIODS && profile.periods.len() > MOST_PERIODS / 3);
        let total = |units: &[Vec<Nanos>]| units.iter().flatten().sum::<Nanos>();
        assert_eq!(total(&profile.unit_busy_ns), 1000 * 6500);
        assert_eq!(total(&profile.unit_collecting_ns), 334 * 6500);
        let sum = |of: fn(&Period) -> u64| profile.periods.iter().map(of).sum::<u64>();
        assert_eq!(sum(|p| p.requests), 1000);
        assert_eq!(sum(|p| p.response_ns_sum), 999 * 1000 / 2);
        assert_eq!(sum(|p| p.erases), 334);
        assert_eq!(sum(|p| p.flash_programs), 666);
        assert_eq!((sum(|p| p.slc_erases), sum(|p| p.slc_programs)), (167, 333));
        assert_eq!(profile.periods.iter().map(|p| p.response_ns_max).max(), Some(999));
        for unit in &profile.unit_busy_ns {
            assert_eq!(unit.len(), profile.periods.len());
            assert!(unit.iter().all(|&busy| busy <= profile.period_ns));
        }
    }

    #[test]
    fn each_kind_of_operation_is_counted_and_stays_when_periods_are_joined() {
        let kinds = [
            OperationKind::Read,
            OperationKind::Write,
            OperationKind::Move,
            OperationKind::Summary,
            OperationKind::Erase,
        ];
        let mut profiler = Profiler::new(1, 10);
        let ops = (0..1000).map(|k| operation(kinds[k as usize % 5], 0, k * 7000, k * 7000 + 6500));
        profiler.operations(&mut ops.into_iter());
        let periods = profiler.finish().periods;
        let sum = |of: fn(&Period) -> u64| periods.iter().map(of).sum::<u64>();
        assert_eq!((sum(|p| p.flash_reads), sum(|p| p.flash_programs)), (200, 200));
        assert_eq!((sum(|p| p.collection_programs), sum(|p| p.erases)), (400, 200));
    }
}
