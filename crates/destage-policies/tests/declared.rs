//! What a policy says of itself in the catalogue is what it does: every policy of the table.

use destage_core::{Dense, Policy};
use destage_policies::{Counter, Gauge, Info, POLICIES, Setup, Visitor, build, check_params};
use std::collections::BTreeMap;

/// The names that a policy counts and shows under.
struct Names;

impl Visitor for Names {
    type Output = (Vec<&'static str>, Vec<&'static str>);

    fn visit<P: Policy>(self, policy: P) -> Self::Output {
        let (mut counters, mut gauges) = (Vec::new(), Vec::new());
        policy.counters(&mut |name, _| counters.push(name));
        policy.gauges(&mut |name, _| gauges.push(name));
        (counters, gauges)
    }
}

fn names(info: &Info) -> (Vec<&'static str>, Vec<&'static str>) {
    let params = check_params(info.name, []).expect("defaults are in range");
    let setup = Setup { params, trace_pages: Some(64), ..Setup::new(8) };
    build(info.name, &setup, Dense::new(64), Names).expect("every policy of the table is built")
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
