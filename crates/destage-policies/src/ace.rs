//! ACE: a dirty victim takes the next dirty victims along, and these stay, clean.
//!
//! Papon, Athanassoulis. ACEing the Bufferpool Management Paradigm for Modern Storage Devices. ICDE
//! 2023; the part without prefetching. Defined in `docs/spec/ace.md`.
//!
//! Rules. The base chooses the victim. If that is clean, it goes, and that is all. If it is dirty,
//! the next `writes` dirty pages of the base's order of eviction are written with it, so that a
//! drive with several units has work for all of them; they keep their places, and are clean when
//! their turn comes.
//!
//! ```text
//!   order of eviction   1d  2c  3d  4d  5c  6d      writes = 2
//!   victim 1, batch 3 4     2c  3c  4c  5c  6d      the next four evictions write nothing
//! ```
//!
//! Readings. The paper's n_w counts the victim: n_w = `writes` + 1, and `writes = 0` is the base.
//! Its n_e, several evictions at once, serves prefetching, which is left out. The order is asked
//! for after the base has given up its victim: the same but for the victim, which leads it.
//!
//! Over a base that does not look at clean and dirty, hits and victims are the base's own.
//!
//! Cost. That of the base, and the walk along its order for each dirty victim, O(s) at most; after
//! a walk the next `writes` dirty victims are clean.

use crate::params::{IfAbsent, Kind, Param};
use crate::{
    BuildError, Counter, FromRun, Info, Setup, Shown, Takes, Visitor, build_ordered, written,
};
use destage_core::{
    Completion, DeviceView, Directory, Lookup, Page, Part, Plan, Policy, Request, Requirements,
    Slot,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "ace",
    title: "ACE over another policy",
    source: "Papon, Athanassoulis. ACEing the Bufferpool Management Paradigm for Modern Storage \
             Devices. ICDE 2023",
    about: "Write the next dirty victims of another policy together with the first of them.",
    flash_aware: true,
    time: "its base's; O(s) per batch",
    over: Some("base"),
    params: &[
        Param {
            name: "base",
            kind: Kind::Form(
                "a policy with an eviction order, such as clock or cflru[window_fraction=0.5]",
            ),
            default: IfAbsent::Word("lru"),
            about: "The policy that chooses the victims, with its parameters. Default: chosen.",
            ..Param::BLANK
        },
        Param {
            name: "writes",
            symbol: "n_w - 1",
            kind: Kind::Int { min: 0, max: u32::MAX as u64 },
            default: IfAbsent::Int(8),
            unit: "pages",
            about: "Dirty pages that are written with a dirty victim. Default: the units of the \
                    drive; without one: chosen.",
            ..Param::BLANK
        },
    ],
    takes: &[Takes { param: "writes", from: FromRun::Units }],
    counters: &[
        Counter {
            name: "batches",
            title: "Batches",
            unit: "groups",
            about: "ACE: dirty victims that took other dirty pages along",
            shown: Shown::OnRequest,
        },
        Counter {
            name: "batch_writes",
            title: "Batch writes",
            unit: "pages",
            about: "ACE: pages written along with a dirty victim, which stay",
            shown: Shown::Always,
        },
    ],
    ..Info::BLANK
};

/// The policy, over another one.
pub struct Ace<P> {
    base: P,
    writes: usize, // n_w - 1
    batch: Vec<Page>,
    batches: u64,
    batch_writes: u64,
}

impl<P: Policy> Ace<P> {
    /// Over `base`, with batches of at most `writes` pages beside the victim.
    ///
    /// # Panics
    ///
    /// If the base has no order of eviction.
    pub fn new(base: P, writes: u32) -> Self {
        assert!(P::ORDERED, "the base shows its next victims");
        Ace { base, writes: writes as usize, batch: Vec::new(), batches: 0, batch_writes: 0 }
    }

    /// Writes the next dirty victims.
    #[inline(never)]
    fn write_batch(&mut self, plan: &mut Plan) {
        let Ace { base, writes, batch, .. } = self;
        batch.clear();
        base.next_victims(&mut |page, dirty| {
            if dirty {
                batch.push(page);
            }
            batch.len() < *writes
        });
        for &page in &*batch {
            base.cleaned(page);
            plan.open_group(); // a group each: the pages lie anywhere
            plan.flush_and_keep(page);
        }
        self.batches += u64::from(!self.batch.is_empty());
        self.batch_writes += self.batch.len() as u64;
    }
}

/// Hands ACE over the base to a visitor.
struct Over<V> {
    visitor: V,
    writes: u32,
}

impl<V: Visitor> Visitor for Over<V> {
    type Output = V::Output;

    fn visit<P: Policy<Miss: Send> + Send + 'static>(self, base: P) -> V::Output {
        self.visitor.visit(Ace::new(base, self.writes))
    }
}

pub(crate) fn build<D: Directory + 'static, V: Visitor>(
    setup: &Setup,
    directory: D,
    visitor: V,
) -> Result<V::Output, BuildError> {
    let (base, params) = written::base(&INFO, &setup.params)?;
    let writes = setup.params.int("writes") as u32; // in range
    let over = Over { visitor, writes };
    build_ordered(base, &Setup { params, ..setup.clone() }, directory, over)
}

impl<P: Policy> Policy for Ace<P> {
    type Miss = P::Miss;

    const REQUIREMENTS: Requirements = P::REQUIREMENTS;

    const READS_LPN: bool = P::READS_LPN;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<P::Miss> {
        self.base.request(r)
    }

    #[inline(always)]
    fn evict(&mut self, miss: &mut P::Miss, device: &dyn DeviceView, plan: &mut Plan) {
        let before = plan.evicted().len();
        self.base.evict(miss, device, plan);
        if self.writes > 0 && plan.evicted()[before..].iter().any(|victim| victim.dirty) {
            self.write_batch(plan);
        }
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, miss: P::Miss) -> Slot {
        self.base.admit(r, miss)
    }

    fn frames(&self) -> u32 {
        self.base.frames()
    }

    #[inline(always)]
    fn resident(&self) -> u32 {
        self.base.resident()
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.base.for_each_resident(visit);
    }

    fn dirty_pages(&self) -> u64 {
        self.base.dirty_pages()
    }

    #[inline(always)]
    fn writes_through(&self) -> bool {
        self.base.writes_through()
    }

    fn counts_operations(&self) -> bool {
        self.base.counts_operations()
    }

    fn fetched(&mut self, completion: &Completion) {
        self.base.fetched(completion);
    }

    fn destaged(&mut self, completion: &Completion) {
        self.base.destaged(completion);
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        self.base.forget(page)
    }

    #[inline(always)]
    fn prefetch(&self, page: Page) {
        self.base.prefetch(page);
    }

    #[inline(always)]
    fn prefetch_links(&self, page: Page) {
        self.base.prefetch_links(page);
    }

    #[inline(always)]
    fn prefetch_neighbours(&self, page: Page) {
        self.base.prefetch_neighbours(page);
    }

    #[inline(always)]
    fn coming_victim(&self) -> Option<Page> {
        self.base.coming_victim()
    }

    fn counters(&self, count: &mut dyn FnMut(&'static str, u64)) {
        count("batches", self.batches);
        count("batch_writes", self.batch_writes);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.base.gauges(show);
    }

    fn keep_periods(&mut self) {
        self.base.keep_periods();
    }

    fn inside(&self) -> Vec<(&'static str, Part)> {
        self.base.inside()
    }

    fn check(&self) {
        self.base.check();
        assert!(self.batch.len() <= self.writes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cflru::Cflru;
    use crate::lru::Lru;
    use crate::params::Value;
    use crate::testing::{drive, mixed, setup};
    use destage_core::{Dense, Op::*};

    fn over_lru(frames: u32, writes: u32) -> Ace<Lru<Dense>> {
        Ace::new(Lru::new(&Setup::new(frames), Dense::new(64)), writes)
    }

    fn counted<P: Policy>(policy: &P) -> [u64; 2] {
        let mut counted = Vec::new();
        policy.counters(&mut |_, value| counted.push(value));
        counted.try_into().expect("two counters")
    }

    /// Rows 0 to 7 of the micro-trace (`docs/spec/ace.md`, 6).
    #[test]
    fn micro_trace_of_the_specification() {
        let mut p = over_lru(3, 1);
        let trace = [(1, Write), (2, Write), (3, Write), (4, Read), (2, Write), (5, Read)];
        let trace: Vec<_> = trace.into_iter().chain([(6, Write), (1, Read)]).collect();
        let trace: Vec<_> = trace.into_iter().map(|(page, op)| (op, page)).collect();
        let steps = drive(&mut p, &trace);
        let evicted: Vec<_> = steps.iter().flat_map(|step| step.evicted.clone()).collect();
        assert_eq!(evicted, [(1, true), (3, true), (4, false), (2, false)]);
        assert_eq!(counted(&p), [2, 2]);
        let mut left = Vec::new();
        p.for_each_resident(&mut |page, dirty| left.push((page.0, dirty)));
        left.sort_unstable();
        assert_eq!(left, [(1, false), (5, false), (6, true)]);
    }

    #[test]
    fn a_clean_victim_takes_no_batch() {
        let mut p = over_lru(3, 8);
        let steps = drive(&mut p, &[(Read, 1), (Write, 2), (Write, 3), (Read, 4)]);
        assert_eq!(steps[3].evicted, [(1, false)]);
        assert_eq!(counted(&p), [0, 0]);
    }

    #[test]
    fn a_batch_is_as_large_as_there_are_dirty_pages() {
        let mut p = over_lru(4, 8);
        drive(&mut p, &[(Write, 1), (Read, 2), (Write, 3), (Write, 4), (Read, 5)]);
        assert_eq!(counted(&p), [1, 2]);
        let steps = drive(&mut p, &[(Read, 6), (Read, 7), (Read, 8)]);
        assert!(steps.iter().all(|step| !step.evicted[0].1), "{steps:?}");
    }

    #[test]
    fn a_page_that_was_written_goes_first_over_a_base_that_prefers_clean_ones() {
        // LRU 1d 2d 3d | 4d MRU, all of the window: the batch of 1 is 2, which is clean then.
        let fraction = [("window_fraction", Value::Real(1.0))];
        let base = Cflru::new(&setup("cflru", 4, &fraction), Dense::new(64));
        let mut p = Ace::new(base, 1);
        let writes = [1, 2, 3, 4, 5, 6].map(|page| (Write, page));
        let steps = drive(&mut p, &writes);
        assert_eq!(steps[4].evicted, [(1, true)]);
        assert_eq!(steps[5].evicted, [(2, false)]);
    }

    #[test]
    fn without_writes_it_is_its_base() {
        let trace = mixed(2000, 48);
        let mut lru = Lru::new(&Setup::new(7), Dense::new(64));
        assert_eq!(drive(&mut over_lru(7, 0), &trace), drive(&mut lru, &trace));
    }
}
