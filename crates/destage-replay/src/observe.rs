//! Observers of a run's decisions: one, a pair, or none.

use crate::control_commands::ControlKind;
use crate::kv::decision::KvDecision;
use crate::tiers::events::TierDecision;
use destage_core::{Nanos, Op, Page, Plan, Policy, Request};
use destage_ssd::OperationRecord;
use std::ops::Range;

/// A request of a run with a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completed {
    /// Number of the request, from 0, warm-up included.
    pub number: u64,
    /// Read or write; of no meaning for a trim or flush.
    pub op: Op,
    /// It is a trim or flush.
    pub control_command: Option<ControlKind>,
    /// When it was issued, nanoseconds.
    pub issued_ns: Nanos,
    /// When it completes, nanoseconds.
    pub completion_ns: Nanos,
    /// Numbers of the host operations (R and W) that it caused, among all of the run.
    pub operations: Range<u64>,
}

/// Sees every decision of a run.
pub trait Observer {
    /// Whether this observer records anything beyond progress; asked once, before the run. An
    /// unobserved run is faster: its loop is compiled for the policy.
    fn watches(&self) -> bool {
        true
    }

    /// After each access: what it was, whether it hit, what it evicted (`None` on a hit).
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>);

    /// After a miss that the policy did not admit: nothing was evicted, and the plan is the write
    /// that goes through to flash, or empty.
    fn refused(&mut self, r: &Request, plan: &Plan) {
        self.access(r, false, Some(plan));
    }

    /// With two tiers, before each [`access`](Observer::access): what was decided below tier 1.
    fn tiers(&mut self, _: &TierDecision) {}

    /// With prefix semantics: what was decided on a request.
    fn chain(&mut self, _: &KvDecision) {}

    /// Whether this observer records flash operations; asked once, before the first. Otherwise the
    /// device keeps no record of them.
    fn wants_operations(&self) -> bool {
        false
    }

    /// With a device: a page is written at this instant, nanoseconds, because a unit was idle, and
    /// stays.
    fn idle_write(&mut self, _at_ns: Nanos, _page: Page) {}

    /// With a device: it is known when a request completes. In the order of requests, but where
    /// reads go first.
    fn completed(&mut self, _: &Completed) {}

    /// With a device: operations of its units, those of a unit in the order of service.
    fn operations(&mut self, _: &mut dyn Iterator<Item = OperationRecord>) {}

    /// Whether this observer records adapted parameters; called after each access.
    fn wants_gauges(&self) -> bool {
        false
    }

    /// A gauge of the policy ([`Policy::gauges`]), when it was asked for and when the run has
    /// ended.
    fn gauge(&mut self, _name: &'static str, _value: f64) {}

    /// After each block of accesses: how many in all. False stops the run.
    fn progress(&mut self, _accesses: u64) -> bool {
        true
    }
}

/// Shows the policy's gauges to an observer that wants them now.
#[inline(always)]
pub(crate) fn show_gauges<P: Policy>(policy: &P, observer: &mut dyn Observer) {
    if observer.wants_gauges() {
        policy.gauges(&mut |name, value| observer.gauge(name, value));
    }
}

/// The observer of a run with a device: called only if it watches, so that an unobserved run pays a
/// branch and no call.
pub(crate) struct Watcher<'o> {
    observer: &'o mut dyn Observer,
    watches: bool,
}

impl<'o> Watcher<'o> {
    pub(crate) fn new(observer: &'o mut dyn Observer) -> Self {
        Watcher { watches: observer.watches(), observer }
    }
}

impl Observer for Watcher<'_> {
    #[inline(always)]
    fn watches(&self) -> bool {
        self.watches
    }

    #[inline(always)]
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        if self.watches {
            self.observer.access(r, hit, plan);
        }
    }

    #[inline(always)]
    fn refused(&mut self, r: &Request, plan: &Plan) {
        if self.watches {
            self.observer.refused(r, plan);
        }
    }

    fn wants_operations(&self) -> bool {
        self.watches && self.observer.wants_operations()
    }

    fn tiers(&mut self, decision: &TierDecision) {
        if self.watches {
            self.observer.tiers(decision);
        }
    }

    fn chain(&mut self, decision: &KvDecision) {
        if self.watches {
            self.observer.chain(decision);
        }
    }

    fn idle_write(&mut self, at_ns: Nanos, page: Page) {
        self.observer.idle_write(at_ns, page);
    }

    #[inline(always)]
    fn completed(&mut self, request: &Completed) {
        if self.watches {
            self.observer.completed(request);
        }
    }

    fn operations(&mut self, operations: &mut dyn Iterator<Item = OperationRecord>) {
        self.observer.operations(operations);
    }

    #[inline(always)]
    fn wants_gauges(&self) -> bool {
        self.watches && self.observer.wants_gauges()
    }

    fn gauge(&mut self, name: &'static str, value: f64) {
        self.observer.gauge(name, value);
    }

    fn progress(&mut self, accesses: u64) -> bool {
        self.observer.progress(accesses)
    }
}

/// Sees nothing.
pub struct Unobserved;

impl Observer for Unobserved {
    fn watches(&self) -> bool {
        false
    }

    fn access(&mut self, _: &Request, _: bool, _: Option<&Plan>) {}
}

/// Two observers of one run.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn watches(&self) -> bool {
        self.0.watches() || self.1.watches()
    }

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

    fn refused(&mut self, r: &Request, plan: &Plan) {
        self.0.refused(r, plan);
        self.1.refused(r, plan);
    }

    fn tiers(&mut self, decision: &TierDecision) {
        self.0.tiers(decision);
        self.1.tiers(decision);
    }

    fn chain(&mut self, decision: &KvDecision) {
        self.0.chain(decision);
        self.1.chain(decision);
    }

    fn idle_write(&mut self, at_ns: Nanos, page: Page) {
        self.0.idle_write(at_ns, page);
        self.1.idle_write(at_ns, page);
    }

    fn completed(&mut self, request: &Completed) {
        self.0.completed(request);
        self.1.completed(request);
    }

    fn operations(&mut self, operations: &mut dyn Iterator<Item = OperationRecord>) {
        if !(self.0.wants_operations() && self.1.wants_operations()) {
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
    fn watches(&self) -> bool {
        self.as_ref().is_some_and(Observer::watches)
    }

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

    fn refused(&mut self, r: &Request, plan: &Plan) {
        if let Some(observer) = self {
            observer.refused(r, plan);
        }
    }

    fn tiers(&mut self, decision: &TierDecision) {
        if let Some(observer) = self {
            observer.tiers(decision);
        }
    }

    fn chain(&mut self, decision: &KvDecision) {
        if let Some(observer) = self {
            observer.chain(decision);
        }
    }

    fn idle_write(&mut self, at_ns: Nanos, page: Page) {
        if let Some(observer) = self {
            observer.idle_write(at_ns, page);
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

    #[derive(Default)]
    struct Gauges(Vec<(&'static str, f64)>);

    impl Observer for Gauges {
        fn access(&mut self, _: &Request, _: bool, _: Option<&Plan>) {}
        fn gauge(&mut self, name: &'static str, value: f64) {
            self.0.push((name, value));
        }
    }

    #[test]
    fn a_gauge_is_shown_to_both_of_a_pair() {
        let mut pair = (Gauges::default(), Some(Gauges::default()));
        pair.gauge("p", 2.0);
        assert_eq!(pair.0.0, [("p", 2.0)]);
        assert_eq!(pair.1.expect("it is there").0, [("p", 2.0)]);
    }

    #[test]
    fn one_that_is_absent_watches_nothing() {
        assert!(Some(Gauges::default()).watches());
        assert!(!None::<Gauges>.watches());
        assert!(!Some(Unobserved).watches());
    }
}
