//! The order of eviction that a policy shows is the one that it follows, and a page that is cleaned
//! is clean: every policy of the table that has an order.

use crate::shapes::runner;
use destage_core::{Blind, Dense, Lookup, Lpn, Op, Page, Plan, Policy, Request, Requirements};
use destage_policies::params::Value;
use destage_policies::{
    ORDERED, POLICIES, Setup, Visitor, build, check_params, dense, info, requirements,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Pages of the traces; those from here on come in only to drive others out.
const PAGES: u64 = 48;

/// One access; what it evicted.
fn access<P: Policy>(policy: &mut P, op: Op, page: u64) -> Vec<(u64, bool)> {
    let r = Request::new(Page(page), Lpn(page), op);
    let mut plan = Plan::new();
    if let Lookup::Miss(mut miss) = policy.request(&r) {
        while policy.resident() == policy.frames() {
            policy.evict(&mut miss, &Blind, &mut plan);
        }
        policy.admit(&r, miss);
    }
    policy.check();
    plan.evicted().iter().map(|e| (e.page.0, e.dirty)).collect()
}

fn resident<P: Policy>(policy: &P) -> BTreeMap<u64, bool> {
    let mut pages = BTreeMap::new();
    policy.for_each_resident(&mut |page, dirty| {
        pages.insert(page.0, dirty);
    });
    pages
}

/// The first `wanted` pages of the order, at least one.
fn order<P: Policy>(policy: &P, wanted: usize) -> Vec<(u64, bool)> {
    let mut shown = Vec::new();
    policy.next_victims(&mut |page, dirty| {
        shown.push((page.0, dirty));
        shown.len() < wanted
    });
    shown
}

/// Cleans some of the next dirty victims after a trace, then asks for the order, and lets new pages
/// drive all others out.
struct Follow<'a> {
    trace: &'a [(Op, u64)],
    cleaned: usize,
}

impl Follow<'_> {
    fn through(self, mut policy: impl Policy) -> Result<(), TestCaseError> {
        policy.keep_order(); // pages are cleaned while clean ones come before them
        for &(op, page) in self.trace {
            access(&mut policy, op, page);
        }
        let before = order(&policy, usize::MAX);
        let dirty = before.iter().filter(|&&(_, dirty)| dirty).take(self.cleaned);
        for &(page, _) in dirty {
            policy.cleaned(Page(page));
            policy.check();
            prop_assert!(!resident(&policy)[&page], "page {page} is clean");
        }
        let order_now = order(&policy, usize::MAX);
        let all: BTreeMap<_, _> = order_now.iter().copied().collect();
        prop_assert_eq!(order_now.len(), all.len(), "each page once: {:?}", order_now);
        prop_assert_eq!(&all, &resident(&policy));
        prop_assert_eq!(&order(&policy, 3)[..], &order_now[..order_now.len().min(3)]);
        prop_assert_eq!(&order(&policy, usize::MAX), &order_now, "to ask changes nothing");

        let mut left = Vec::new();
        // A free frame takes a page without an eviction; a second chance is over after one round.
        for page in PAGES..PAGES + 3 * u64::from(policy.frames()) {
            left.extend(access(&mut policy, Op::Write, page));
        }
        let left: Vec<_> = left.into_iter().filter(|&(page, _)| page < PAGES).collect();
        prop_assert_eq!(left, order_now, "the order that was shown, and dirty pages as shown");
        Ok(())
    }
}

fn trace() -> impl Strategy<Value = Vec<(Op, u64)>> {
    let access = (any::<bool>(), prop_oneof![0..PAGES, 0..PAGES / 6]);
    let op = |write| if write { Op::Write } else { Op::Read };
    prop::collection::vec(access.prop_map(move |(write, page)| (op(write), page)), 0..400)
}

fn follows_its_order(policy: &'static str) {
    let case = (1..40_u32, 0..=4_u8, trace(), prop_oneof![Just(0), 0..8_usize]);
    let verdict = runner(200).run(&case, |(frames, quarters, trace, cleaned)| {
        let window = ("window_fraction", &Value::Real(f64::from(quarters) / 4.0));
        let has_window =
            info(policy).expect("of the table").params.iter().any(|p| p.name == window.0);
        let params = check_params(policy, has_window.then_some(window)).expect("in range");
        let setup = Setup { params, ..Setup::new(frames) };
        let policy = dense(policy, &setup, PAGES as u32 + 3 * frames).expect("it is built");
        Follow { trace: &trace, cleaned }.through(policy)
    });
    if let Err(failure) = verdict {
        panic!("{policy}: {failure}");
    }
}

#[test]
fn lru_leaves_in_the_order_that_it_shows() {
    follows_its_order("lru");
}

#[test]
fn fifo_leaves_in_the_order_that_it_shows() {
    follows_its_order("fifo");
}

#[test]
fn clock_leaves_in_the_order_that_it_shows() {
    follows_its_order("clock");
}

#[test]
fn cflru_leaves_in_the_order_that_it_shows() {
    follows_its_order("cflru");
}

#[test]
fn lru_wsr_leaves_in_the_order_that_it_shows() {
    follows_its_order("lru-wsr");
}

#[test]
fn clock_sweep_leaves_in_the_order_that_it_shows() {
    follows_its_order("clock-sweep");
}

/// Visitor that returns whether a policy has an order.
struct Ordered;

impl Visitor for Ordered {
    type Output = bool;

    fn visit<P: Policy>(self, policy: P) -> bool {
        assert!(P::ORDERED || order(&policy, 1).is_empty());
        P::ORDERED
    }
}

#[test]
fn every_policy_with_an_order_has_its_test_here() {
    let ordered = POLICIES.iter().filter(|info| {
        let params = check_params(info.name, []).expect("defaults are in range");
        let setup = Setup { params, trace_pages: Some(8), ..Setup::new(4) };
        build(info.name, &setup, Dense::new(8), Ordered).expect("every policy is built")
    });
    let names: Vec<_> = ordered.map(|info| info.name).collect();
    assert_eq!(names, ["lru", "fifo", "clock", "cflru", "lru-wsr", "clock-sweep"]);
    let marked: Vec<_> = ORDERED.iter().map(|info| info.name).collect();
    assert_eq!(names, marked, "the rows of the table that are marked");
    assert!(
        names.iter().all(|name| requirements(name) == Ok(Requirements::NONE)),
        "what stands on it asks that"
    );
}
