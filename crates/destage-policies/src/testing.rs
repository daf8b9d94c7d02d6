//! Drives a policy access by access; for the unit tests beside the policies.

use crate::params::Value;
use crate::{Setup, check_params};
use destage_core::{
    Blind, DeviceView, Lookup, Lpn, NEVER, Nanos, NominalTimes, Op, Page, Plan, PlaneId, Policy,
    Request, Unfinished, UnitId, Units,
};
use std::fmt::Display;

/// Result of one access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub(crate) hit: bool,
    /// Evicted pages and whether they were dirty.
    pub(crate) evicted: Vec<(u64, bool)>,
}

/// A read of each page.
pub(crate) fn reads(pages: &[u64]) -> Vec<(Op, u64)> {
    pages.iter().map(|&page| (Op::Read, page)).collect()
}

/// A write of each page.
pub(crate) fn writes(pages: &[u64]) -> Vec<(Op, u64)> {
    pages.iter().map(|&page| (Op::Write, page)).collect()
}

/// Reads and writes of pages `0..pages`, in no order but always the same.
pub(crate) fn mixed(accesses: usize, pages: u64) -> Vec<(Op, u64)> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let op = if state >> 63 == 0 { Op::Read } else { Op::Write };
        (op, (state >> 32) % pages * ((state >> 20) % 4) / 3)
    };
    std::iter::repeat_with(next).take(accesses).collect()
}

/// A buffer of `frames` frames with these parameters, the others at their defaults.
pub(crate) fn setup(policy: &str, frames: u32, params: &[(&str, Value)]) -> Setup {
    let given = params.iter().map(|(key, value)| (*key, value));
    let params = check_params(policy, given).expect("parameters in range");
    Setup { params, ..Setup::new(frames) }
}

/// Parts of a list, as a failure message shows them: `3 1 7`.
pub(crate) fn show(parts: impl IntoIterator<Item = impl Display>) -> String {
    parts.into_iter().map(|part| part.to_string()).collect::<Vec<_>>().join(" ")
}

/// Chips as a test wants a policy to see them: one plane each, page p at home on chip p mod chips.
#[derive(Clone, Default, Debug)]
pub(crate) struct Chips {
    pub(crate) backlog_ns: Vec<Nanos>, // as many as there are chips
    pub(crate) in_gc: Vec<bool>,
    pub(crate) gc_cost_ns: Vec<Nanos>,
    pub(crate) gc_victim_pages: Option<u32>,
    pub(crate) active_block_free_pages: u32,
    pub(crate) unfinished: Vec<Unfinished>,
    pub(crate) times: Option<NominalTimes>,
    /// Dynamic allocation, which would choose this chip now.
    pub(crate) dynamic: Option<u32>,
}

impl Chips {
    /// Nothing collects, nothing is counted.
    pub(crate) fn new(backlog_ns: &[Nanos]) -> Self {
        let chips = backlog_ns.len();
        Chips {
            backlog_ns: backlog_ns.to_vec(),
            in_gc: vec![false; chips],
            gc_cost_ns: vec![0; chips],
            unfinished: vec![Unfinished::default(); chips],
            ..Chips::default()
        }
    }

    /// Idle; these collect.
    pub(crate) fn collecting<const N: usize>(in_gc: [bool; N]) -> Self {
        Chips { in_gc: in_gc.to_vec(), ..Chips::new(&[0; N]) }
    }

    fn units_of(&self, page: u64) -> Units {
        let home = UnitId((page % self.backlog_ns.len() as u64) as u32);
        let dirty = self.dynamic.map_or(home, |_| UnitId(self.units()));
        Units { clean: home, dirty }
    }

    fn of<T: Copy>(&self, values: &[T], unit: UnitId) -> T {
        let unit = if unit.0 == self.units() { self.dynamic.expect("list U") } else { unit.0 };
        values[unit as usize]
    }
}

impl DeviceView for Chips {
    fn units(&self) -> u32 {
        self.backlog_ns.len() as u32
    }
    fn backlog_ns(&self, unit: UnitId) -> Nanos {
        self.of(&self.backlog_ns, unit)
    }
    fn in_gc(&self, unit: UnitId) -> bool {
        self.of(&self.in_gc, unit)
    }
    fn gc_cost_ns(&self, plane: PlaneId) -> Nanos {
        self.gc_cost_ns[plane.0 as usize]
    }
    fn gc_victim_pages(&self, _: PlaneId) -> Option<u32> {
        self.gc_victim_pages
    }
    fn active_block_free_pages(&self, _: PlaneId) -> u32 {
        self.active_block_free_pages
    }
    fn pages_per_block(&self) -> u32 {
        8
    }
    fn target(&self, lpn: Lpn) -> PlaneId {
        PlaneId(self.dynamic.unwrap_or((lpn.0 % self.backlog_ns.len() as u64) as u32))
    }
    fn unit_of(&self, plane: PlaneId) -> UnitId {
        UnitId(plane.0)
    }
    fn unfinished(&self, unit: UnitId) -> Unfinished {
        self.of(&self.unfinished, unit)
    }
    fn nominal_times(&self) -> Option<NominalTimes> {
        self.times
    }
    fn logical_pages(&self) -> Option<u64> {
        None
    }
}

/// Runs all accesses, checks the policy's invariants after each, and returns what each did.
pub(crate) fn drive<P: Policy>(policy: &mut P, accesses: &[(Op, u64)]) -> Vec<Step> {
    drive_over(policy, &Blind, |_| Units::NONE, accesses)
}

/// Runs accesses in front of a device whose state stays as it is.
pub(crate) fn drive_on<P: Policy>(
    policy: &mut P,
    chips: &Chips,
    accesses: &[(Op, u64)],
) -> Vec<Step> {
    drive_over(policy, chips, |page| chips.units_of(page), accesses)
}

fn drive_over<P: Policy>(
    policy: &mut P,
    device: &dyn DeviceView,
    units_of: impl Fn(u64) -> Units,
    accesses: &[(Op, u64)],
) -> Vec<Step> {
    let mut plan = Plan::new();
    let step = |(i, &(op, page)): (usize, &(Op, u64))| {
        let next = accesses[i + 1..].iter().position(|&(_, p)| p == page);
        let mut r = Request::new(Page(page), Lpn(page), op);
        r.units = units_of(page);
        r.next_use = next.map_or(NEVER, |ahead| (i + 1 + ahead) as u64);
        plan.clear();
        let hit = match policy.request(&r) {
            Lookup::Hit(_) => true,
            Lookup::Bypass => false,
            Lookup::Miss(mut miss) => {
                while policy.resident() == policy.frames() {
                    policy.evict(&mut miss, device, &mut plan);
                }
                policy.admit(&r, miss);
                false
            }
        };
        policy.check();
        Step { hit, evicted: plan.evicted().iter().map(|e| (e.page.0, e.dirty)).collect() }
    };
    accesses.iter().enumerate().map(step).collect()
}

/// The evicted pages of all accesses, in order.
pub(crate) fn victims(steps: &[Step]) -> Vec<u64> {
    steps.iter().flat_map(|s| s.evicted.iter().map(|&(page, _)| page)).collect()
}
