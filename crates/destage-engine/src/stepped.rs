//! A policy that its user steps, one access at a time, without a trace and without a device
//! (`docs/spec/tiers.md` 10). Decides and counts as a run without a device.

use crate::options::RunOptions;
use crate::run::requirements;
use crate::spec::PolicySpec;
use destage_core::{
    AnyPolicy, Blind, Changes, Hashed, Lookup, Lpn, Op, Page, Part, Plan, Policy, Request,
    Requirements,
};
use destage_policies::params::{IfAbsent, Value};
use destage_policies::{Info, ORDERED, hashed_with, info};
use destage_replay::counters::Counters;
use destage_replay::error::RunError;
use std::sync::Arc;

/// A parameter that bounds the memory of a policy, and whose default is unlimited, is this many
/// times the frames: a live cache has no end.
const BOUND_FRAMES: u32 = 8;

/// How an access ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The page was resident.
    Hit,
    /// It was not, and was taken in.
    Admitted,
    /// It was not, and was not taken in.
    Bypassed,
}

/// A policy with its counters.
pub struct Stepped {
    kind: Kind,
    policy: AnyPolicy,
    plan: Plan,
    counters: Counters,
}

/// Where a policy comes from.
enum Kind {
    /// The table.
    Native(Box<Native>),
    /// Its user. What it remembers is not known, so it may be any page.
    Own { name: String, last: Option<Page> },
}

/// A policy of the table.
struct Native {
    spec: PolicySpec,
    given: String,
    info: &'static Info,
    options: RunOptions,
    changes: Arc<Changes>,
}

impl Stepped {
    /// The policy with all frames free. Of the options, `cost`, `pages_per_block` and
    /// `device_pages` apply. A parameter that is unlimited by default has a bound, unless it is
    /// given; the label names it.
    ///
    /// # Errors
    ///
    /// Errors of a run, and [`RunError::Impossible`] for a policy that needs a device or future
    /// knowledge.
    pub fn new(
        mut spec: PolicySpec,
        frames: u32,
        options: RunOptions,
    ) -> Result<Stepped, RunError> {
        if spec.is_none() {
            return impossible("none: expected a policy; without a cache there is nothing to step");
        }
        let info = info(spec.name)?;
        let needs = requirements(&spec);
        if needs.contains(Requirements::NEXT_USE) {
            return impossible(format!("{}: a live cache does not know the future", info.name));
        }
        if needs.device() || info.over.is_some() {
            return impossible(format!(
                "{}: a live cache has no device, and this policy looks at one",
                info.name
            ));
        }
        let given = spec.label();
        let bounds = info.params.iter().filter(|p| p.default == IfAbsent::None("unlimited"));
        for bound in bounds {
            if spec.given.iter().all(|(name, _)| name != bound.name) {
                let most = Value::Int(i128::from(frames) * i128::from(BOUND_FRAMES));
                spec.given.push((bound.name.to_string(), most));
            }
        }
        let changes = Arc::new(Changes::default());
        let policy = build(&spec, frames, &options, &changes)?;
        let native = Native { spec, given, info, options, changes };
        Ok(Self::with(Kind::Native(Box::new(native)), policy))
    }

    /// A policy of one's own, as errors call it, with all frames free.
    pub fn own(name: String, policy: AnyPolicy) -> Stepped {
        Self::with(Kind::Own { name, last: None }, policy)
    }

    fn with(kind: Kind, policy: AnyPolicy) -> Stepped {
        Stepped { kind, policy, plan: Plan::new(), counters: Counters::default() }
    }

    /// Resets the cache: pages, history, targets, counters and random numbers. A policy of one's
    /// own is replaced by `fresh`.
    pub fn clear(&mut self, fresh: Option<AnyPolicy>) {
        self.policy = match (&mut self.kind, fresh) {
            (Kind::Native(native), _) => {
                let Native { spec, options, changes, .. } = &**native;
                changes.take(&mut Vec::new());
                let built = build(spec, self.policy.frames(), options, changes);
                built.expect("it was built before")
            }
            (Kind::Own { last, .. }, Some(fresh)) => {
                *last = None;
                fresh
            }
            (Kind::Own { .. }, None) => return,
        };
        self.counters = Counters::default();
    }

    /// The policy as a user would type it for a run that decides the same.
    pub fn label(&self) -> String {
        match &self.kind {
            Kind::Native(native) => native.spec.label(),
            Kind::Own { name, .. } => name.clone(),
        }
    }

    /// The policy as the user has typed it, normalised.
    pub fn given(&self) -> &str {
        match &self.kind {
            Kind::Native(native) => &native.given,
            Kind::Own { name, .. } => name,
        }
    }

    /// Catalogue entry of the policy, if it is of the table.
    pub fn info(&self) -> Option<&'static Info> {
        match &self.kind {
            Kind::Native(native) => Some(native.info),
            Kind::Own { .. } => None,
        }
    }

    /// Whether it can drop a page that its user names.
    pub fn forgets(&self) -> bool {
        self.policy.forgets()
    }

    /// Frames of the cache.
    pub fn frames(&self) -> u32 {
        self.policy.frames()
    }

    /// Resident pages.
    pub fn resident(&self) -> u32 {
        self.policy.resident()
    }

    /// Every resident page with its dirty bit, in any order.
    pub fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.policy.for_each_resident(visit);
    }

    /// Lists of the policy and other state, each under its name.
    pub fn inside(&self) -> Vec<(&'static str, Part)> {
        self.policy.inside()
    }

    /// Shows each value that the policy adapts.
    pub fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.policy.gauges(show);
    }

    /// Shows each counter that only this policy has.
    pub fn own_counters(&self, count: &mut dyn FnMut(&'static str, u64)) {
        self.policy.counters(count);
    }

    /// Counters since the start.
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        counters.add_up(false);
        counters
    }

    /// One page access, which is a request of its own; [`plan`](Stepped::plan) then has what left.
    pub fn access(&mut self, page: Page, op: Op) -> Ended {
        self.plan.clear();
        if let Kind::Own { last, .. } = &mut self.kind {
            *last = Some(page);
        }
        let request = Request::new(page, Lpn(page.0), op);
        match self.policy.request(&request) {
            Lookup::Hit(_) => {
                self.counters.hit(op);
                Ended::Hit
            }
            Lookup::Miss(()) => {
                self.counters.miss(op);
                while self.policy.resident() >= self.policy.frames() {
                    self.policy.evict(&mut (), &Blind, &mut self.plan);
                }
                self.policy.admit(&request, ());
                self.counters.evicted(&self.plan);
                Ended::Admitted
            }
            Lookup::Bypass => {
                self.counters.miss(op);
                self.counters.bypasses += 1;
                if op.is_write() && self.policy.writes_through() {
                    self.counters.written_through += 1;
                    self.plan.write_through(page);
                }
                Ended::Bypassed
            }
        }
    }

    /// Pages that left the cache in the last access.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The page leaves without being written. Its dirty bit, if it was resident.
    pub fn forget(&mut self, page: Page) -> Option<bool> {
        self.policy.forget(page)
    }

    /// The resident pages in the order of eviction, as many as `show` wants.
    ///
    /// # Errors
    ///
    /// [`RunError::Impossible`], which lists the policies that have such an order.
    pub fn next_victims(&self, show: &mut dyn FnMut(Page) -> bool) -> Result<(), RunError> {
        if !self.info().is_some_and(|info| ORDERED.iter().any(|one| one.name == info.name)) {
            let ordered: Vec<_> = ORDERED.iter().map(|info| info.name).collect();
            return impossible(format!(
                "{}: this policy has no eviction order; these have: {}",
                self.info().map_or(self.given(), |info| info.name),
                ordered.join(", ")
            ));
        }
        self.policy.next_victims(&mut |page, _| show(page));
        Ok(())
    }

    /// Evicts a resident page out of turn, as the host decides.
    pub fn evict(&mut self, page: Page) {
        let dirty = self.policy.forget(page).expect("a page that is evicted is resident");
        self.plan.clear();
        self.plan.evict(page, dirty);
        self.counters.evicted(&self.plan);
    }

    /// Moves the pages that the policy has forgotten since the last call to `forgotten`. Returns
    /// the page that it came to know last, if it still knows it.
    pub fn changes(&self, forgotten: &mut Vec<Page>) -> Option<Page> {
        match &self.kind {
            Kind::Native(native) => native.changes.take(forgotten),
            Kind::Own { last, .. } => *last,
        }
    }
}

fn impossible<T>(why: impl Into<String>) -> Result<T, RunError> {
    Err(RunError::Impossible(why.into()))
}

fn build(
    spec: &PolicySpec,
    frames: u32,
    options: &RunOptions,
    changes: &Arc<Changes>,
) -> Result<AnyPolicy, RunError> {
    let setup = options.setup(frames, spec.params(&options.says())?, None);
    Ok(hashed_with(spec.name, &setup, Hashed::telling(Arc::clone(changes)))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stepped(policy: &str, frames: u32) -> Result<Stepped, String> {
        let spec = PolicySpec::parse(policy).map_err(|e| e.to_string())?;
        Stepped::new(spec, frames, RunOptions::default()).map_err(|e| e.to_string())
    }

    #[test]
    fn what_a_live_cache_cannot_supply_is_refused_with_the_reason() {
        for (policy, why) in [
            ("min", "the future"),
            ("ecr", "device"),
            ("gcar-lru", "device"),
            ("ace[writes=8]", "device"),
            ("none", "nothing to step"),
            ("acr-h", "file_pages"),
        ] {
            let error = stepped(policy, 4).err().expect(policy);
            assert!(error.contains(why), "{policy}: {error}");
        }
        let error = stepped("arc", 4).unwrap().next_victims(&mut |_| true).unwrap_err();
        assert!(error.to_string().contains("lru, fifo, clock"), "{error}");
    }

    #[test]
    fn memory_without_a_limit_has_one_unless_it_is_asked_for() {
        for (policy, label) in [
            ("lirs", "lirs[ghost_max=32]"),
            ("lirs[hir_fraction=0.5]", "lirs[hir_fraction=0.5;ghost_max=32]"),
            ("lirs[ghost_max=none]", "lirs[ghost_max=none]"),
            ("lirs[ghost_max=1]", "lirs[ghost_max=1]"),
            ("lru-k", "lru-k[retained_period=32]"),
            ("lru", "lru"),
        ] {
            assert_eq!(stepped(policy, 4).unwrap().label(), label);
        }
    }

    #[test]
    fn evictions_by_the_host_count_and_leave_a_frame_free() {
        let mut lru = stepped("lru", 2).unwrap();
        lru.access(Page(1), Op::Write);
        lru.access(Page(2), Op::Read);
        let mut order = Vec::new();
        lru.next_victims(&mut |page| {
            order.push(page);
            true
        })
        .unwrap();
        assert_eq!(order, [Page(1), Page(2)]);
        lru.evict(Page(1));
        assert_eq!(lru.access(Page(3), Op::Read), Ended::Admitted);
        assert!(lru.plan().evicted().is_empty());
        let counters = lru.counters();
        assert_eq!((counters.evictions, counters.destages, counters.physical_writes), (1, 1, 1));
        lru.clear(None);
        assert_eq!((lru.resident(), lru.counters()), (0, Counters::default()));
    }
}
