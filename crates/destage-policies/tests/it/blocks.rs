//! Policies that cluster by erase block: their invariants after every access, what they are with
//! extreme parameters, and that no write is ever lost, whatever a policy decides.
//!
//! That they decide as their reference models is tested where their vectors are run.

use destage_core::{Blind, Completion, Lookup, Lpn, Op, Page, Plan, Policy, Request};
use destage_policies::params::Value;
use destage_policies::{POLICIES, Setup, check_params};
use std::collections::BTreeMap;

/// Pages of the traces below: all of them occur, so that dense ids are LPNs.
const PAGES: u64 = 96;

/// Streams, loops, hot pages and noise, in no order but always the same.
fn trace(seed: u64, accesses: usize) -> Vec<(Op, u64)> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) % below
    };
    let mut trace: Vec<(Op, u64)> = (0..PAGES).map(|page| (Op::Read, page)).collect();
    while trace.len() < accesses {
        let (first, length) = (random(PAGES), 1 + random(14));
        let page = |k: u64| (first + k).min(PAGES - 1);
        let pages: Vec<u64> = match random(4) {
            0 => (0..length).map(page).collect(),
            1 => (0..3).flat_map(|_| (0..length).map(page)).collect(),
            2 => vec![first; 3],
            _ => (0..length).map(|_| random(PAGES)).collect(),
        };
        let read = random(4) == 0;
        let op = if read { Op::Read } else { Op::Write };
        trace.extend(pages.into_iter().map(|page| (op, page)));
    }
    trace
}

/// Result of one access.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Step {
    hit: bool,
    evicted: Vec<u64>,
    flushed: Vec<Vec<u64>>,
    padded: Vec<Vec<u64>>,
}

/// Runs the policy over a flash and a buffer of tokens, one per write, and looks for each page's
/// newest after every access: whatever the run is cut off after, no write is lost.
struct Tokens<'a> {
    trace: &'a [(Op, u64)],
    latency_ns: u64,
}

impl Tokens<'_> {
    fn through(self, mut policy: impl Policy) -> Vec<Step> {
        let mut newest = vec![0; PAGES as usize];
        let mut flash = newest.clone();
        let mut buffer = Held::new();
        let mut plan = Plan::new();
        let mut steps = Vec::new();
        for (index, &(op, page)) in self.trace.iter().enumerate() {
            let token = index as u64 + 1;
            let r = Request::new(Page(page), Lpn(page), op);
            plan.clear();
            let mut step = Step::default();
            match policy.request(&r) {
                Lookup::Hit(_) => {
                    step.hit = true;
                    let held = buffer.get_mut(&page).expect("a hit is resident");
                    assert_eq!(held.0, newest[page as usize], "a read hit returns the newest");
                }
                Lookup::Bypass => {
                    assert_eq!(op, Op::Read, "no write is bypassed");
                    assert!(!buffer.contains_key(&page));
                    assert_eq!(flash[page as usize], newest[page as usize], "as a miss does");
                }
                Lookup::Miss(mut miss) => {
                    while policy.resident() == policy.frames() {
                        policy.evict(&mut miss, &Blind, &mut plan);
                    }
                    write_back(&plan, &buffer, &mut flash);
                    for evicted in plan.evicted() {
                        buffer.remove(&evicted.page.0).expect("a victim is resident");
                    }
                    report(&mut policy, &plan, self.latency_ns);
                    policy.admit(&r, miss);
                    buffer.insert(page, (flash[page as usize], false));
                }
            }
            if op == Op::Write {
                newest[page as usize] = token;
                buffer.insert(page, (token, true));
            }
            nothing_is_lost(&policy, &buffer, &flash, &newest);
            step.evicted = plan.evicted().iter().map(|evicted| evicted.page.0).collect();
            step.flushed = plan.groups().map(|(p, _)| p.iter().map(|p| p.0).collect()).collect();
            step.padded = plan.groups().map(|(_, p)| p.iter().map(|p| p.lpn.0).collect()).collect();
            steps.push(step);
        }
        steps
    }
}

/// Pages of the buffer: token, dirty.
type Held = BTreeMap<u64, (u64, bool)>;

/// Writes the plan's groups to flash, their padding with them.
fn write_back(plan: &Plan, buffer: &Held, flash: &mut [u64]) {
    for (pages, pads) in plan.groups() {
        // Padding is read before anything of the group is written.
        let read = |pad: destage_core::Pad| {
            let page = pad.lpn.0;
            let held = buffer.get(&page);
            assert_eq!(held.is_some(), pad.in_buffer, "page {page}");
            assert!(held.is_none_or(|&(_, dirty)| !dirty), "page {page}");
            (page, held.map_or(flash[page as usize], |held| held.0))
        };
        let pads: Vec<_> = pads.iter().map(read).collect();
        let own = pages.iter().map(|page| {
            let (token, dirty) = buffer[&page.0];
            assert!(dirty, "page {} is flushed", page.0);
            (page.0, token)
        });
        for (page, token) in own.chain(pads).collect::<Vec<_>>() {
            flash[page as usize] = token;
        }
    }
}

/// The policy has what the buffer has, and each page's newest is in the buffer or on flash.
fn nothing_is_lost<P: Policy>(policy: &P, buffer: &Held, flash: &[u64], newest: &[u64]) {
    policy.check();
    assert_eq!(policy.resident() as usize, buffer.len());
    policy.for_each_resident(&mut |page, dirty| {
        assert_eq!(buffer.get(&page.0).map(|held| held.1), Some(dirty), "page {}", page.0);
    });
    for page in 0..PAGES {
        let found = buffer.get(&page).map_or(flash[page as usize], |held| held.0);
        assert_eq!(found, newest[page as usize], "page {page}");
    }
}

/// Completes operations as a device that is always as slow.
fn report<P: Policy>(policy: &mut P, plan: &Plan, latency_ns: u64) {
    let done = Completion { page: None, submission: 0, latency_ns, service_ns: latency_ns };
    plan.padded().iter().filter(|pad| !pad.in_buffer).for_each(|_| policy.fetched(&done));
    plan.flushed().iter().for_each(|_| policy.destaged(&done));
    plan.padded().iter().for_each(|_| policy.destaged(&done));
}

type Given<'a> = &'a [(&'a str, Value)];

fn run(policy: &str, setup: (u32, u32), given: Given<'_>, trace: &[(Op, u64)]) -> Vec<Step> {
    let (frames, pages_per_block) = setup;
    let setup = Setup {
        params: check_params(policy, given.iter().map(|(k, v)| (*k, v))).expect("in range"),
        trace_pages: Some(PAGES),
        pages_per_block,
        device_pages: Some(PAGES),
        ..Setup::new(frames)
    };
    // Slow enough for AALRU to pad.
    let tokens = || Tokens { trace, latency_ns: 400_000 };
    let dense = destage_policies::dense(policy, &setup, PAGES as u32).expect("a policy");
    let hashed = destage_policies::hashed(policy, &setup).expect("a policy");
    let [dense, hashed] = [dense, hashed].map(|policy| tokens().through(policy));
    assert_eq!(dense, hashed, "{policy}: both directories decide alike");
    dense
}

fn clustering() -> impl Iterator<Item = &'static str> {
    POLICIES.iter().filter(|policy| policy.clusters).map(|policy| policy.name)
}

#[test]
fn no_write_is_lost_whenever_the_run_is_cut_off() {
    for (setup, seed) in [(1, 4), (7, 8), (24, 8), (40, 16), (90, 5)].into_iter().zip(0..) {
        let trace = trace(seed, 900);
        for policy in clustering() {
            run(policy, setup, &[], &trace);
        }
        run("bplru", setup, &[("read_recency", Value::Bool(true))], &trace);
        let short = [("sampling_period", Value::Int(40))];
        run("bpac", setup, &short, &trace);
        let literal = [
            ("sampling_period", Value::Int(25)),
            ("seq_expiry", Value::Bool(false)),
            ("pird_sampling", Value::Text("p_list".into())),
        ];
        run("bpac", setup, &literal, &trace);
        run("aalru", setup, &[("period", Value::Int(30))], &trace);
    }
}

#[test]
fn slow_writes_make_aalru_pad_and_clean_copies_are_among_the_padding() {
    let trace = trace(3, 900);
    let steps = run("aalru", (40, 8), &[("period", Value::Int(30))], &trace);
    let padded: usize = steps.iter().flat_map(|step| &step.padded).map(Vec::len).sum();
    assert!(padded > 0);
    let nominal = run("aalru", (40, 8), &[("page_write_ns", Value::Int(400_000))], &trace);
    assert!(nominal.iter().all(|step| step.padded.iter().all(Vec::is_empty)), "Wf is 1");
}

#[test]
fn clc_is_fab_without_a_recent_region_and_an_lru_of_blocks_with_nothing_else() {
    for seed in 0..4 {
        let trace = trace(seed, 900);
        let alpha = |alpha| run("clc", (24, 8), &[("alpha", Value::Real(alpha))], &trace);
        assert_eq!(alpha(0.0), run("fab", (24, 8), &[], &trace));
        let plain = [("padding", Value::Bool(false)), ("compensation", Value::Bool(false))];
        assert_eq!(alpha(1.0), run("bplru", (24, 8), &plain, &trace));
    }
}

#[test]
fn bplru_with_blocks_of_one_page_is_an_lru_over_writes() {
    let writes: Vec<_> = trace(5, 900).into_iter().filter(|&(op, _)| op == Op::Write).collect();
    assert_eq!(run("bplru", (24, 1), &[], &writes), run("lru", (24, 64), &[], &writes));
}

#[test]
fn aalru_is_refused_a_read_buffer_larger_than_the_buffer() {
    let given = [("initial_tau", Value::Real(9.0))];
    let params =
        check_params("aalru", given.iter().map(|(k, v)| (*k, v))).expect("some size has it");
    let setup = Setup { params, ..Setup::new(8) };
    let error = destage_policies::hashed("aalru", &setup).err().expect("refused").to_string();
    assert!(error.contains("initial_tau = 9.0: expected 0..8, pages"), "{error}");
}
