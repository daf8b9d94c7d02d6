//! Trims: every policy of the table against its reference model, on random traces with trims, over
//! both directories (`docs/spec/device-today.md` 4.2).
//!
//! Those that look at a device are compared with what they are without one: all units idle and
//! alike, no operation ever ends.

use crate::shapes::{frames, json, model_op, params, runner, trace};
use destage_core::{
    AnyPolicy, Blind, Dense, Directory, Hashed, Lookup, Lpn, NEVER, Op, Page, Plan, Policy,
    Request, UnitId, Units,
};
use destage_policies::params::Value;
use destage_policies::{POLICIES, Setup, Visitor, build, check_params};
use destage_reference::{Step, Trimmed};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::{BTreeSet, HashMap};

/// Pages of an erase block here.
const PAGES_PER_BLOCK: u32 = 8;

/// A trace with trims of pages, of runs of them and of all, few or many.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let percent = prop_oneof![1..5_u8, 5..40_u8];
    (trace(), percent).prop_flat_map(|(trace, percent)| {
        let draws = prop::collection::vec((0..100_u8, any::<u16>(), 0..200_u8), trace.len());
        draws.prop_map(move |draws| {
            let last = trace.iter().map(|&(_, page)| page).max().unwrap_or(0);
            let mut steps = Vec::new();
            for (&(op, page), (draw, which, length)) in trace.iter().zip(draws) {
                if draw < percent {
                    let (_, first) = trace[usize::from(which) % trace.len()];
                    let trimmed = match length {
                        0 => 0..last + 1,
                        1..100 => first..first + 1,
                        length => first..first + u64::from(length) / 5 - 19,
                    };
                    steps.extend(trimmed.map(Step::Trim));
                }
                steps.push(Step::Access(model_op(op), page));
            }
            steps
        })
    })
}

/// Number of the next access to the same page, for each access; never where a trim comes first.
fn next_uses(steps: &[Step]) -> Vec<u64> {
    let mut number = steps.iter().filter(|step| matches!(step, Step::Access(..))).count() as u64;
    let mut next: HashMap<u64, u64> = HashMap::new();
    let mut uses = Vec::new();
    for step in steps.iter().rev() {
        match *step {
            Step::Trim(page) => {
                next.remove(&page);
            }
            Step::Access(_, page) => {
                number -= 1;
                uses.push(next.insert(page, number).unwrap_or(NEVER));
            }
        }
    }
    uses.reverse();
    uses
}

/// Runs a policy over steps; checks the invariants of section 4.2 on the way.
struct Drive<'a> {
    steps: &'a [Step],
    names: &'a [u64], // ascending: the dense id of a page is its rank
    dense: bool,
    keeps_ghosts: bool, // wrongly: `forget` is not called for pages that are not resident
}

impl Drive<'_> {
    fn name(&self, page: Page) -> u64 {
        if self.dense { self.names[page.0 as usize] } else { page.0 }
    }

    fn page(&self, name: u64) -> Page {
        match self.dense {
            true => Page(self.names.binary_search(&name).expect("a page of the trace") as u64),
            false => Page(name),
        }
    }

    fn request(&self, op: destage_reference::Op, name: u64, next_use: u64) -> Request {
        let op = if op == destage_reference::Op::Read { Op::Read } else { Op::Write };
        let units = Units { clean: UnitId((name % 3) as u32), dirty: UnitId((name % 3) as u32) };
        Request { next_use, units, ..Request::new(self.page(name), Lpn(name), op) }
    }

    fn trim<P: Policy>(&self, policy: &mut P, name: u64) -> Option<bool> {
        let page = self.page(name);
        let mut held = None;
        policy.for_each_resident(&mut |other, dirty| {
            held = if other == page { Some(dirty) } else { held };
        });
        if self.keeps_ghosts && held.is_none() {
            return None;
        }
        let before = policy.resident();
        assert_eq!(policy.forget(page), held, "it says whether the page was resident, and dirty");
        assert_eq!(policy.resident(), before - u32::from(held.is_some()), "a frame is free");
        policy.for_each_resident(&mut |other, _| assert_ne!(other, page, "it is resident"));
        let shown = policy.inside();
        let named = shown.iter().find_map(|(_, part)| part.find_page(&mut |other| other == page));
        assert_eq!(named, None, "it is on a list");
        assert_eq!(policy.forget(page), None, "it is not there a second time");
        held
    }
}

impl Visitor for Drive<'_> {
    type Output = Trimmed;

    fn visit<P: Policy<Miss: Send> + Send + 'static>(self, policy: P) -> Trimmed {
        let mut policy = AnyPolicy::new(policy);
        let mut next_uses = next_uses(self.steps).into_iter();
        let mut run = Trimmed { decisions: Vec::new(), dropped: Vec::new() };
        let mut plan = Plan::new();
        for &step in self.steps {
            let (op, name) = match step {
                Step::Access(op, name) => (op, name),
                Step::Trim(name) => {
                    run.dropped.push(self.trim(&mut policy, name));
                    policy.check();
                    continue;
                }
            };
            let r = self.request(op, name, next_uses.next().expect("one per access"));
            plan.clear();
            let mut through = None;
            let hit = match policy.request(&r) {
                Lookup::Hit(_) => true,
                Lookup::Bypass => {
                    through = (r.op.is_write() && policy.writes_through()).then(|| vec![name]);
                    false
                }
                Lookup::Miss(mut miss) => {
                    while policy.resident() == policy.frames() {
                        policy.evict(&mut miss, &Blind, &mut plan);
                    }
                    policy.admit(&r, miss);
                    false
                }
            };
            policy.check();
            let flushed = plan.groups().map(|(p, _)| p.iter().map(|&p| self.name(p)).collect());
            run.decisions.push(destage_reference::Decision {
                hit,
                evicted: plan.evicted().iter().map(|e| self.name(e.page)).collect(),
                flushed: flushed.chain(through).collect(),
            });
        }
        run
    }
}

/// Runs a policy of the table over both directories.
fn run(policy: &str, frames: u32, params: &[(String, Value)], steps: &[Step]) -> Trimmed {
    run_with(policy, frames, params, steps, false)
}

fn run_with(
    policy: &str,
    frames: u32,
    params: &[(String, Value)],
    steps: &[Step],
    keeps_ghosts: bool,
) -> Trimmed {
    let names: BTreeSet<u64> = steps.iter().map(Step::page).collect();
    let names: Vec<u64> = names.into_iter().collect();
    let accessed = steps.iter().filter(|step| matches!(step, Step::Access(..)));
    let accessed: BTreeSet<u64> = accessed.map(Step::page).collect();
    let given = params.iter().map(|(key, value)| (key.as_str(), value));
    let setup = Setup {
        params: check_params(policy, given).expect("parameters in range"),
        trace_pages: Some(accessed.len() as u64),
        pages_per_block: PAGES_PER_BLOCK,
        ..Setup::new(frames)
    };
    fn over<D: Directory + 'static>(
        policy: &str,
        setup: &Setup,
        directory: D,
        drive: Drive,
    ) -> Trimmed {
        build(policy, setup, directory, drive).expect("a policy of the table")
    }
    let drive = |dense| Drive { steps, names: &names, dense, keeps_ghosts };
    let dense = Dense::new(names.len() as u32);
    let in_blocks = setup.clone().with_blocks_of(&names);
    let dense = over(policy, &in_blocks, dense, drive(true));
    let hashed = over(policy, &setup, Hashed::new(), drive(false));
    assert_eq!(dense, hashed, "{policy}: dense and hashed decide alike");
    dense
}

/// The reference model's run; of a policy that looks at a device, that of what it is without one.
fn model_run(policy: &str, frames: u32, params: &[(String, Value)], steps: &[Step]) -> Trimmed {
    let mut given = json(params);
    let page_policy = match policy {
        "cflru-e" | "ecr" => {
            given.clear();
            given.insert("window_fraction".into(), 1.0.into());
            "cflru"
        }
        "ecr-e" | "ecr-over" | "gcar-lru" => {
            given.clear();
            "lru"
        }
        "gcar-cflru" => "cflru",
        "sac" => {
            given.retain(|key, _| key == "first_fraction");
            "dual-queue"
        }
        name => name,
    };
    let s = frames as usize;
    if let Some(run) = destage_reference::run_with_trims(page_policy, s, &given, steps) {
        return run;
    }
    let policy = if policy == "gcar-bplru" { "bplru" } else { policy };
    let per_block = u64::from(PAGES_PER_BLOCK);
    let run =
        destage_reference::block::run_with_trims(policy, frames.into(), per_block, &given, steps);
    run.expect("every policy has a reference model")
}

/// Few parameters of these are of a kind that [`params`] draws.
fn block_params(policy: &str) -> BoxedStrategy<Vec<(String, Value)>> {
    let one = |key: &'static str, values: Vec<Value>| {
        prop::sample::select(values).prop_map(move |value| (key.to_string(), value)).boxed()
    };
    let flag = |key| one(key, vec![Value::Bool(false), Value::Bool(true)]);
    let given: Vec<BoxedStrategy<(String, Value)>> = match policy {
        "fab" | "lb-clock" => vec![flag("read_recency")],
        "bplru" | "gcar-bplru" => {
            vec![flag("padding"), flag("compensation"), flag("read_recency")]
        }
        "clc" => {
            let alpha = [0.0, 0.1, 0.5, 1.0].map(Value::Real).to_vec();
            vec![one("alpha", alpha), flag("read_recency")]
        }
        "bpac" => {
            let short = [5, 40, 300].map(Value::Int).to_vec();
            let hits = ["p_list", "all_hits"].map(|hits| Value::Text(hits.into())).to_vec();
            vec![one("sampling_period", short), flag("seq_expiry"), one("pird_sampling", hits)]
        }
        "aalru" => vec![one("period", [5, 40, 300].map(Value::Int).to_vec())],
        _ => panic!("{policy} does not cluster"),
    };
    given.boxed()
}

fn decides_as_its_model(policy: &'static str) {
    let clusters = destage_policies::info(policy).expect("a policy of the table").clusters;
    let params = if clusters { block_params(policy) } else { params(policy).boxed() };
    let params = match policy {
        "ecr" | "ecr-e" | "ecr-over" | "sac" => Just(Vec::new()).boxed(),
        _ => params,
    };
    // Few cases, since each trim looks through the whole cache.
    let verdict = runner(24).run(&(frames(), params, steps()), |(frames, params, steps)| {
        let model = model_run(policy, frames, &params, &steps);
        let fast = run(policy, frames, &params, &steps);
        for (index, (ours, theirs)) in fast.decisions.iter().zip(&model.decisions).enumerate() {
            prop_assert_eq!(ours, theirs, "{}, access {}", policy, index);
        }
        prop_assert_eq!(&fast.dropped, &model.dropped, "{}: what trims dropped", policy);
        Ok(())
    });
    if let Err(failure) = verdict {
        panic!("{policy}: {failure}");
    }
}

macro_rules! with_trims {
    ($($test:ident: [$($policy:literal),+];)*) => {
        $(#[test]
        fn $test() {
            [$($policy),+].into_iter().for_each(decides_as_its_model);
        })*

        #[test]
        fn every_policy_of_the_table_is_compared() {
            let mut compared: Vec<&str> = [$($($policy),+),*].to_vec();
            let mut table: Vec<&str> = POLICIES.iter().map(|policy| policy.name).collect();
            compared.sort_unstable();
            table.sort_unstable();
            assert_eq!(compared, table);
        }
    };
}

with_trims! {
    lists_lose_trimmed_pages_and_keep_their_order:
        ["lru", "cflru", "lru-wsr", "ccf-lru", "ad-lru", "dual-queue", "casa", "slru", "cflru-e"];
    queues_in_arrays_lose_trimmed_pages: ["fifo", "2q", "s3-fifo", "sieve", "clock", "mq"];
    directories_lose_trimmed_ghosts: ["arc", "car", "acr-c", "acr-o", "acr-h", "larc"];
    stacks_lose_trimmed_pages: ["lirs", "clock-pro"];
    counts_and_histories_are_dropped_with_their_pages:
        ["lru-k", "lfu", "lfu-da", "pgdsf", "lecar", "w-tinylfu"];
    frames_are_taken_again_by_number:
        ["random", "hyperbolic", "watt", "clock-sweep", "sampled-lru", "sampled-lfu"];
    data_die_at_a_trim: ["min"];
    clusters_lose_trimmed_pages: ["cfdc", "fab", "bplru", "clc", "lb-clock", "bpac", "aalru"];
    lists_of_units_lose_trimmed_pages:
        ["ecr", "ecr-e", "ecr-over", "gcar-lru", "gcar-cflru", "gcar-bplru", "sac"];
    a_policy_over_another_forgets_what_that_forgets: ["ace"];
}

/// The exact counts of `w-tinylfu` stand for a sketch, which stays.
#[test]
fn a_ghost_that_survives_its_trim_is_told_from_one_that_does_not() {
    for policy in POLICIES.iter().filter(|policy| policy.ghosts && policy.name != "w-tinylfu") {
        let name = policy.name;
        let config = Config {
            cases: 200,
            failure_persistence: None,
            max_shrink_iters: 0,
            ..Config::default()
        };
        let case = (4..40_u32, steps());
        let verdict = TestRunner::new(config).run(&case, |(frames, steps)| {
            let wrong = run_with(name, frames, &[], &steps, true);
            prop_assert_eq!(wrong, model_run(name, frames, &[], &steps));
            Ok(())
        });
        assert!(verdict.is_err(), "{name}: surviving ghosts went unnoticed");
    }
}
