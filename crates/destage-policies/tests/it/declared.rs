//! Catalogue entries checked against the policies: every policy of the table.

use destage_core::{AnyPolicy, Lookup, Lpn, Op, Page, Policy, Request};
use destage_policies::params::Value;
use destage_policies::{
    ADVISED, COMPARED, Counter, Gauge, Info, ORDERED, POLICIES, Setup, check_params, dense, info,
};
use std::collections::BTreeMap;

/// The names that a policy counts and shows under.
fn names(info: &Info) -> (Vec<&'static str>, Vec<&'static str>) {
    let policy = with_defaults(info);
    let (mut counters, mut gauges) = (Vec::new(), Vec::new());
    policy.counters(&mut |name, _| counters.push(name));
    policy.gauges(&mut |name, _| gauges.push(name));
    (counters, gauges)
}

/// Pages of the runs here.
const PAGES: u32 = 64;

fn with_defaults(info: &Info) -> AnyPolicy {
    let params = check_params(info.name, []).expect("defaults are in range");
    let setup = Setup { params, trace_pages: Some(PAGES.into()), ..Setup::new(8) };
    dense(info.name, &setup, PAGES).expect("every policy of the table is built")
}

/// Asks for hints about pages that are there, and about those beyond the last.
fn hints(mut policy: AnyPolicy) {
    for page in [1, 2, 3].map(Page) {
        let r = Request::new(page, Lpn(page.0), Op::Write);
        if let Lookup::Miss(miss) = policy.request(&r) {
            policy.admit(&r, miss);
        }
    }
    for page in [0, 3, u64::from(PAGES) - 1, PAGES.into(), u64::from(PAGES) + 1].map(Page) {
        policy.prefetch(page);
        policy.prefetch_links(page);
        policy.prefetch_neighbours(page);
    }
    policy.check();
}

#[test]
fn no_hint_panics_for_a_page_that_the_run_does_not_have() {
    POLICIES.iter().for_each(|info| hints(with_defaults(info)));
}

#[test]
fn a_policy_that_another_may_stand_on_counts_nothing_and_takes_nothing_from_the_run() {
    for base in ORDERED {
        assert!(base.counters.is_empty() && base.takes.is_empty(), "{}: ace drops it", base.name);
    }
}

#[test]
fn a_policy_counts_and_shows_what_it_declares_in_that_order() {
    for info in POLICIES {
        let declared = (
            info.counters.iter().map(|counter| counter.name).collect(),
            info.gauges.iter().map(|gauge| gauge.name).collect(),
        );
        assert_eq!(names(info), declared, "{}", info.name);
    }
}

#[test]
fn a_name_that_two_policies_share_means_the_same() {
    let mut counters: BTreeMap<&str, Counter> = BTreeMap::new();
    let mut gauges: BTreeMap<&str, Gauge> = BTreeMap::new();
    for info in POLICIES {
        for &counter in info.counters {
            let known = *counters.entry(counter.name).or_insert(counter);
            assert_eq!(counter, known, "{}", info.name);
        }
        for &gauge in info.gauges {
            let known = *gauges.entry(gauge.name).or_insert(gauge);
            assert_eq!(gauge, known, "{}", info.name);
        }
    }
    assert!(counters.len() > 10 && gauges.len() > 10);
}

#[test]
fn what_a_run_supplies_is_a_parameter_of_the_policy() {
    let mut taken = 0;
    for info in POLICIES {
        for takes in info.takes {
            let known = info.params.iter().any(|param| param.name == takes.param);
            assert!(known, "{} takes {:?} as {}", info.name, takes.from, takes.param);
            taken += 1;
        }
    }
    assert!(taken > 0);
}

#[test]
fn restricted_values_are_values_of_a_parameter() {
    let mut restricted = 0;
    for info in POLICIES {
        let Some(one) = info.one_write_point else { continue };
        for value in one.values {
            let given = Value::Text((*value).into());
            let checked = check_params(info.name, [(one.param, &given)]);
            assert!(checked.is_ok(), "{}: {} = {value}", info.name, one.param);
            restricted += 1;
        }
    }
    assert!(restricted > 0);
}

#[test]
fn one_policy_is_the_baseline_and_lists_name_policies_once() {
    assert_eq!(POLICIES.iter().filter(|info| info.baseline).count(), 1);
    for list in [COMPARED, ADVISED] {
        for (at, name) in list.iter().enumerate() {
            assert!(info(name).is_ok(), "{name}");
            assert!(!list[..at].contains(name), "{name} twice");
        }
    }
}

#[test]
fn nothing_is_left_blank() {
    for info in POLICIES {
        for text in [info.name, info.title, info.source, info.about, info.time] {
            assert!(!text.is_empty(), "{info:?}");
        }
        for counter in info.counters {
            for text in [counter.name, counter.title, counter.unit, counter.about] {
                assert!(!text.is_empty(), "{counter:?}");
            }
        }
        assert!(info.gauges.iter().all(|gauge| !gauge.name.is_empty() && !gauge.title.is_empty()));
        assert!(info.caveats.iter().all(|caveat| !caveat.says.is_empty()));
    }
}

#[test]
fn an_alias_leads_to_a_policy_and_is_no_name_of_the_table() {
    for (alias, name) in destage_policies::ALIASES {
        assert_eq!(destage_policies::info(alias).map(|info| info.name).ok(), Some(*name));
        assert!(POLICIES.iter().all(|info| info.name != *alias), "{alias}");
    }
}
