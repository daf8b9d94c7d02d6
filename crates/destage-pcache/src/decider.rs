//! The policy of one cache, and the counters of its decisions.

use crate::settings::build;
use destage_core::{AnyPolicy, Blind, Lookup, Lpn, Op, Page, Plan, Policy, Request};
use std::collections::BTreeSet;

/// Counters by the simulator's names (`docs/spec/pool.md` 9.1). A cache of SQLite sees no writes
/// and bypasses no page: those counters are 0.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Counters {
    pub(crate) read_hits: u64,
    pub(crate) read_misses: u64,
    pub(crate) evictions: u64,
    pub(crate) clean_evictions: u64,
    pub(crate) destages: u64,
    pub(crate) destaged_pages: u64,
    pub(crate) padding_reads: u64,
    pub(crate) padding_writes: u64,
    pub(crate) trim_requests: u64,
    pub(crate) trim_cache_drops: u64,
    pub(crate) trim_dirty_drops: u64,
}

impl Counters {
    /// Counters of accesses, each with its name.
    pub(crate) fn accesses(&self) -> [(&'static str, u64); 12] {
        [
            ("read_hits", self.read_hits),
            ("read_misses", self.read_misses),
            ("write_hits", 0),
            ("write_misses", 0),
            ("bypasses", 0),
            ("written_through", 0),
            ("evictions", self.evictions),
            ("clean_evictions", self.clean_evictions),
            ("destages", self.destages),
            ("destaged_pages", self.destaged_pages),
            ("padding_reads", self.padding_reads),
            ("padding_writes", self.padding_writes),
        ]
    }

    /// Counters of forgotten pages, each with its name.
    pub(crate) fn trims(&self) -> [(&'static str, u64); 3] {
        [
            ("trim_requests", self.trim_requests),
            ("trim_cache_drops", self.trim_cache_drops),
            ("trim_dirty_drops", self.trim_dirty_drops),
        ]
    }
}

/// A policy of so many frames.
pub(crate) struct Decider {
    policy: AnyPolicy,
    plan: Plan,
    pub(crate) words: String,
    pub(crate) frames: u32,
    pub(crate) counters: Counters,
    /// Pages that the policy may know, ghosts included: those that missed and were not forgotten.
    known: BTreeSet<u32>,
}

impl Decider {
    /// # Errors
    ///
    /// Why the policy cannot be built.
    pub(crate) fn new(words: &str, frames: u32) -> Result<Decider, String> {
        Ok(Decider {
            policy: build(words, frames)?,
            plan: Plan::new(),
            words: words.to_string(),
            frames,
            counters: Counters::default(),
            known: BTreeSet::new(),
        })
    }

    /// Another number of frames: a new policy, which knows no page.
    ///
    /// # Errors
    ///
    /// Why it cannot be built.
    pub(crate) fn resize(&mut self, frames: u32) -> Result<(), String> {
        self.policy = build(&self.words, frames)?;
        self.frames = frames;
        Ok(())
    }

    /// A read of a page, which is resident afterwards; the evicted pages.
    pub(crate) fn access(&mut self, key: u32) -> Vec<u32> {
        let page = u64::from(key);
        let r = Request::new(Page(page), Lpn(page), Op::Read);
        match self.policy.request(&r) {
            Lookup::Hit(_) => {
                self.counters.read_hits += 1;
                return Vec::new();
            }
            Lookup::Miss(()) => {}
            Lookup::Bypass => unreachable!("a policy that bypasses reads is refused"),
        }
        self.plan.clear();
        while self.policy.resident() >= self.policy.frames() {
            self.policy.evict(&mut (), &Blind, &mut self.plan);
        }
        self.policy.admit(&r, ());
        self.known.insert(key);
        let Decider { counters, plan, .. } = self;
        counters.read_misses += 1;
        counters.evictions += plan.evicted().len() as u64;
        counters.clean_evictions += plan.clean_evictions() as u64;
        counters.destages += plan.group_count() as u64;
        counters.destaged_pages += plan.flushed().len() as u64;
        counters.padding_reads += plan.padding_reads() as u64;
        counters.padding_writes += plan.padding_writes() as u64;
        plan.evicted().iter().map(|evicted| evicted.page.0 as u32).collect()
    }

    /// The page leaves all lists of the policy.
    pub(crate) fn forget(&mut self, key: u32) {
        self.known.remove(&key);
        self.counters.trim_requests += 1;
        if let Some(dirty) = self.policy.forget(Page(u64::from(key))) {
            self.counters.trim_cache_drops += 1;
            self.counters.trim_dirty_drops += u64::from(dirty);
        }
    }

    /// Pages from this one on that the policy may know.
    pub(crate) fn known_from(&self, key: u32) -> impl Iterator<Item = u32> {
        self.known.range(key..).copied()
    }
}
