//! How a run develops: what was counted in each period of so many accesses.

use crate::counters::Counters;
use crate::replay::{Completed, Observer};
use destage_core::{Plan, Request};
use destage_ssd::OperationRecord;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one period counted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Period {
    /// First access of the period, counted from 0 over the whole run, warm-up included.
    pub first_access: u64,
    /// Counters of the period. `physical_reads` are read misses and padding reads,
    /// `physical_writes` destaged pages and padding: the run's options are not in them.
    #[serde(flatten)]
    pub counters: Counters,
    /// Where the policy had adapted to at the end of the period, if it adapts: ARC's p, BPAC's
    /// thresholds, AALRU's tau.
    #[serde(flatten)]
    pub gauges: BTreeMap<String, f64>,
}

impl Period {
    fn at(first_access: u64) -> Self {
        Period { first_access, counters: Counters::default(), gauges: BTreeMap::new() }
    }
}

/// Collects a [`Period`] every so many accesses; the last one may be shorter.
pub struct Series {
    period_accesses: u64,
    current: Period,
    done: Vec<Period>,
    accesses: u64,
}

impl Series {
    /// A period is at least one access.
    pub fn new(period_accesses: u64) -> Self {
        let period_accesses = period_accesses.max(1);
        Series { period_accesses, current: Period::at(0), done: Vec::new(), accesses: 0 }
    }

    /// All periods, the unfinished last one included.
    pub fn finish(mut self) -> Vec<Period> {
        if self.current.counters.accesses() > 0 {
            self.close();
        }
        self.done
    }

    /// The period has all its accesses; the next one closes it.
    fn is_full(&self) -> bool {
        self.accesses - self.current.first_access == self.period_accesses
    }

    fn close(&mut self) {
        let c = &mut self.current.counters;
        c.physical_reads = c.read_misses + c.padding_reads;
        c.physical_writes = c.destaged_pages + c.padding_writes;
        let next = Period::at(self.accesses);
        self.done.push(std::mem::replace(&mut self.current, next));
    }
}

impl Observer for Series {
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        if self.is_full() {
            self.close();
        }
        if hit {
            self.current.counters.hit(r.op);
        } else {
            self.current.counters.miss(r.op);
        }
        if let Some(plan) = plan {
            self.current.counters.evicted(plan);
        }
        self.accesses += 1;
    }

    const SEES_GAUGES: bool = true;

    fn wants_gauges(&self) -> bool {
        self.is_full()
    }

    fn gauge(&mut self, name: &'static str, value: f64) {
        self.current.gauges.insert(name.to_string(), value);
    }
}

/// Two observers of one run.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const SEES_ACCESSES: bool = A::SEES_ACCESSES || B::SEES_ACCESSES;
    const SEES_OPERATIONS: bool = A::SEES_OPERATIONS || B::SEES_OPERATIONS;
    const SEES_GAUGES: bool = A::SEES_GAUGES || B::SEES_GAUGES;

    fn wants_operations(&self) -> bool {
        self.0.wants_operations() || self.1.wants_operations()
    }

    fn wants_gauges(&self) -> bool {
        self.0.wants_gauges() || self.1.wants_gauges()
    }

    fn gauge(&mut self, name: &'static str, value: f64) {
        self.0.gauge(name, value);
        self.1.gauge(name, value);
    }

    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        self.0.access(r, hit, plan);
        self.1.access(r, hit, plan);
    }

    fn completed(&mut self, request: &Completed) {
        self.0.completed(request);
        self.1.completed(request);
    }

    fn operations(&mut self, operations: &mut dyn Iterator<Item = OperationRecord>) {
        if !(A::SEES_OPERATIONS && B::SEES_OPERATIONS) {
            // At most one of them looks.
            self.0.operations(operations);
            self.1.operations(operations);
            return;
        }
        for op in operations {
            self.0.operations(&mut std::iter::once(op));
            self.1.operations(&mut std::iter::once(op));
        }
    }

    fn progress(&mut self, accesses: u64) -> bool {
        let first = self.0.progress(accesses);
        self.1.progress(accesses) && first
    }
}

/// An observer that may be absent.
impl<O: Observer> Observer for Option<O> {
    const SEES_ACCESSES: bool = O::SEES_ACCESSES;
    const SEES_OPERATIONS: bool = O::SEES_OPERATIONS;
    const SEES_GAUGES: bool = O::SEES_GAUGES;

    fn wants_operations(&self) -> bool {
        self.as_ref().is_some_and(Observer::wants_operations)
    }

    fn wants_gauges(&self) -> bool {
        self.as_ref().is_some_and(Observer::wants_gauges)
    }

    fn gauge(&mut self, name: &'static str, value: f64) {
        if let Some(observer) = self {
            observer.gauge(name, value);
        }
    }

    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        if let Some(observer) = self {
            observer.access(r, hit, plan);
        }
    }

    fn completed(&mut self, request: &Completed) {
        if let Some(observer) = self {
            observer.completed(request);
        }
    }

    fn operations(&mut self, operations: &mut dyn Iterator<Item = OperationRecord>) {
        if let Some(observer) = self {
            observer.operations(operations);
        }
    }

    fn progress(&mut self, accesses: u64) -> bool {
        self.as_mut().is_none_or(|observer| observer.progress(accesses))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_core::{Lpn, Op, Page};

    /// Sees operations, if any are shown.
    struct Watcher;

    impl Observer for Watcher {
        const SEES_OPERATIONS: bool = true;

        fn access(&mut self, _: &Request, _: bool, _: Option<&Plan>) {}
    }

    #[test]
    fn an_observer_that_is_absent_wants_no_operations() {
        assert!((Series::new(1), Some(Watcher)).wants_operations());
        assert!(!(Series::new(1), None::<Watcher>).wants_operations());
    }

    #[test]
    fn periods_add_up_to_the_run() {
        let mut series = Series::new(3);
        for k in 0..8u64 {
            let op = if k % 2 == 0 { Op::Read } else { Op::Write };
            series.access(&Request::new(Page(k), Lpn(k), op), k % 4 == 0, None);
        }
        series.gauge("p", 7.0);
        let periods = series.finish();
        assert_eq!(periods.iter().map(|p| p.first_access).collect::<Vec<_>>(), [0, 3, 6]);
        assert_eq!(periods.iter().map(|p| p.counters.accesses()).collect::<Vec<_>>(), [3, 3, 2]);
        assert_eq!(periods.iter().map(|p| p.counters.hits()).sum::<u64>(), 2);
        assert_eq!(periods[2].gauges["p"], 7.0, "as it stands at the end");
    }
}
