//! A policy under all its laws, with trims, at random.

use crate::Target;
use crate::drawn::draw;
use crate::targets::shapes;
use destage_core::{Blind, Lookup, Lpn, NEVER, Page, Plan, Policy, Request, Requirements};
use destage_engine::checked::Checked;
use destage_policies::params::Value;
use destage_policies::{Info, POLICIES, Setup, check_params, dense};
use std::collections::HashMap;

pub const TARGET: Target = Target {
    name: "policies",
    takes: "a byte that chooses a policy; what frames, parameters, accesses, trims follow from",
    holds: "every law that the engine checks (`destage_engine::checked`)",
    run,
    samples: Vec::new,
};

/// Frames, parameters, the trace, and how many of a hundred accesses a trim follows.
type Case = (u32, Vec<(String, Value)>, shapes::Trace, u8);

fn run(data: &[u8]) {
    let Some((&chosen, rest)) = data.split_first() else { return };
    let info: &Info = POLICIES[usize::from(chosen) % POLICIES.len()];
    if !destage_reference::NAMES.contains(&info.name)
        && !destage_reference::WRAPPERS.contains(&info.name)
    {
        return; // those that look at blocks or at a drive meet both in `drives`
    }
    let strategy = (shapes::frames(), shapes::params(info.name), shapes::trace(), 0..30_u8);
    if let Some(case) = draw(&strategy, rest) {
        obeys(info.name, case);
    }
}

fn obeys(name: &'static str, (frames, params, trace, trims): Case) {
    let mut ids = HashMap::new();
    let ids: Vec<u64> = trace
        .iter()
        .map(|&(_, page)| {
            let next = ids.len() as u64;
            *ids.entry(page).or_insert(next)
        })
        .collect();
    let pages = ids.iter().max().map_or(0, |&last| last + 1);
    let given = params.iter().map(|(key, value)| (key.as_str(), value));
    let Ok(checked) = check_params(name, given) else { return };
    let setup = Setup { params: checked, trace_pages: Some(pages), ..Setup::new(frames) };
    let Ok(policy) = dense(name, &setup, pages as u32) else { return };
    // Offline policies run without trims, which would change the future.
    let trims = if policy.requirements().contains(Requirements::NEXT_USE) { 0 } else { trims };
    let mut policy = Checked::new(policy, 1);
    let mut plan = Plan::new();
    let uses = next_uses(&ids);
    for (index, (&(op, _), &id)) in trace.iter().zip(&ids).enumerate() {
        let page = Page(id);
        let r = Request { next_use: uses[index], ..Request::new(page, Lpn(id), op) };
        plan.clear();
        if let Lookup::Miss(mut miss) = policy.request(&r) {
            while policy.resident() == policy.frames() && policy.violation().is_none() {
                policy.evict(&mut miss, &Blind, &mut plan);
            }
            if policy.violation().is_none() {
                policy.admit(&r, miss);
            }
        }
        if id.wrapping_mul(2_654_435_761).wrapping_add(index as u64) % 100 < u64::from(trims) {
            policy.forget(Page(ids[(index * 7 + 3) % ids.len()]));
        }
        if let Some(violation) = policy.violation() {
            panic!("{name}: {violation}");
        }
    }
    if let Err(violation) = policy.finish() {
        panic!("{name}: {violation}");
    }
}

/// For each access the number of the next one to its page.
fn next_uses(ids: &[u64]) -> Vec<u64> {
    let mut next: HashMap<u64, u64> = HashMap::new();
    let earlier = ids.iter().enumerate().rev();
    let mut uses: Vec<u64> =
        earlier.map(|(index, &id)| next.insert(id, index as u64).unwrap_or(NEVER)).collect();
    uses.reverse();
    uses
}
