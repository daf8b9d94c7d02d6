//! Drives a policy of the table over a short trace, over either directory, and records every
//! decision; shared by the tests that compare with the vectors and with the reference models.

use destage_core::{Blind, Lookup, Lpn, NEVER, Op, Page, Plan, Policy, Request, Slot};
use destage_policies::params::Value;
use destage_policies::{Setup, check_params, dense, hashed};
use std::collections::{BTreeSet, HashMap};

/// Decision of one access (`docs/spec/page-policies.md` 2.4), pages by their number in the trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The page was resident when the access arrived.
    pub hit: bool,
    /// Evicted pages in order.
    pub evicted: Vec<u64>,
    /// Pages written to flash, as groups.
    pub flushed: Vec<Vec<u64>>,
}

/// Everything that a run leaves behind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// One per access.
    pub decisions: Vec<Decision>,
    /// Accesses, by number, whose page was not taken in.
    pub bypasses: Vec<usize>,
    /// The resident pages at the end with their dirty bits, in ascending order.
    pub resident: Vec<(u64, bool)>,
}

/// Directory of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// Pages renumbered in ascending order.
    Dense,
    /// Page numbers as they are.
    Hashed,
}

/// Runs a policy by name; `checked` asserts its invariants after every access.
pub fn run(
    policy: &str,
    frames: u32,
    params: &[(String, Value)],
    trace: &[(Op, u64)],
    over: Over,
    checked: bool,
) -> Outcome {
    let names: Vec<u64> =
        trace.iter().map(|&(_, page)| page).collect::<BTreeSet<_>>().into_iter().collect();
    let given = params.iter().map(|(key, value)| (key.as_str(), value));
    let setup = Setup {
        params: check_params(policy, given).expect("parameters in range"),
        trace_pages: Some(names.len() as u64),
        ..Setup::new(frames)
    };
    let drive = Drive { names: &names, trace, over, checked };
    let policy = match over {
        Over::Dense => {
            let setup = setup.with_blocks_of(&names);
            dense(policy, &setup, names.len() as u32)
        }
        Over::Hashed => hashed(policy, &setup),
    };
    drive.through(policy.expect("a policy of the table"))
}

struct Drive<'a> {
    names: &'a [u64], // ascending: the dense id of a page is its rank
    trace: &'a [(Op, u64)],
    over: Over,
    checked: bool,
}

impl Drive<'_> {
    fn name(&self, page: Page) -> u64 {
        match self.over {
            Over::Dense => self.names[page.0 as usize],
            Over::Hashed => page.0,
        }
    }

    fn page(&self, name: u64) -> Page {
        match self.over {
            Over::Dense => {
                Page(self.names.binary_search(&name).expect("a page of the trace") as u64)
            }
            Over::Hashed => Page(name),
        }
    }
}

impl Drive<'_> {
    fn through(self, mut policy: impl Policy) -> Outcome {
        let next_uses = next_uses(self.trace);
        let mut plan = Plan::new();
        let mut decisions = Vec::new();
        let mut bypasses = Vec::new();
        for (&(op, name), next_use) in self.trace.iter().zip(next_uses) {
            let r = Request { next_use, ..Request::new(self.page(name), Lpn(name), op) };
            policy.prefetch(r.page);
            policy.prefetch_links(r.page);
            plan.clear();
            let mut through = None;
            let hit = match policy.request(&r) {
                Lookup::Hit(_) => true,
                Lookup::Bypass => {
                    let write = op.is_write();
                    assert!(
                        policy.writes_through() || !write,
                        "a write that is not taken in is lost"
                    );
                    through = write.then(|| vec![name]);
                    bypasses.push(decisions.len());
                    false
                }
                Lookup::Miss(mut miss) => {
                    while policy.resident() == policy.frames() {
                        policy.evict(&mut miss, &Blind, &mut plan);
                    }
                    let _: Slot = policy.admit(&r, miss);
                    false
                }
            };
            if self.checked {
                policy.check();
            }
            decisions.push(Decision {
                hit,
                evicted: plan.evicted().iter().map(|e| self.name(e.page)).collect(),
                flushed: plan
                    .groups()
                    .map(|(pages, _)| pages.iter().map(|&p| self.name(p)).collect())
                    .chain(through)
                    .collect(),
            });
        }
        let mut resident = Vec::new();
        policy.for_each_resident(&mut |page, dirty| resident.push((self.name(page), dirty)));
        resident.sort_unstable();
        assert_eq!(resident.len(), policy.resident() as usize, "every resident page is visited");
        Outcome { decisions, bypasses, resident }
    }
}

/// Index of the next access to the same page, for each access.
fn next_uses(trace: &[(Op, u64)]) -> Vec<u64> {
    let mut next: HashMap<u64, u64> = HashMap::new();
    let mut uses: Vec<u64> = trace
        .iter()
        .enumerate()
        .rev()
        .map(|(index, &(_, page))| next.insert(page, index as u64).unwrap_or(NEVER))
        .collect();
    uses.reverse();
    uses
}
