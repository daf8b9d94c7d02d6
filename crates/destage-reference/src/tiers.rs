//! A DRAM cache over a flash cache, perhaps over a third tier, over a backing store. Mirrors
//! `docs/spec/tiers.md`, 3 to 5.

mod alru;
mod feed;
mod run;
mod third;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::ace::Ordered;
use crate::admission::{Admission, Tier2State};
use crate::pgdsf::Pgdsf;
use crate::{Decision, Model, Op, Params, model_with_trims, ordered};
pub use run::{run_tiers, run_tiers_at, run_tiers_pinned, run_tiers_with_ttl};

/// A decision of two tiers or three (4.7).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TierDecision {
    /// Tier 1 had the page.
    pub hit: bool,
    /// Where it was found: 1, 2, 3, or 0.
    pub tier: u64,
    /// Pages that tier 1 evicted.
    pub evicted: Vec<u64>,
    /// Its flush groups.
    pub flushed: Vec<Vec<u64>>,
    /// Pages that tier 2 took in.
    pub admitted: Vec<u64>,
    /// Pages that tier 2 evicted.
    pub tier2_evicted: Vec<u64>,
    /// Pages that tier 3 took in.
    pub tier3_admitted: Vec<u64>,
    /// Pages that tier 3 evicted.
    pub tier3_evicted: Vec<u64>,
    /// Pages written to the backing store.
    pub written_back: Vec<u64>,
}

/// Everything that a run of several tiers leaves behind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TierOutcome {
    /// One per access; trims have none.
    pub decisions: Vec<TierDecision>,
    /// All counters of 4.6, and with three tiers of 4.8.
    pub counters: BTreeMap<&'static str, u64>,
    /// Pages in tier 2 at the end.
    pub tier2_pages: BTreeSet<u64>,
    /// Pages that are dirty in either tier before a flush at the end.
    pub dirty: BTreeSet<u64>,
}

/// A page that a tier gives up, or declines.
struct Leaves {
    page: u64,
    dirty: bool,
    /// It was in the tier.
    was_in: bool,
}

/// A tier below the first, as if the backing store were below it.
pub(crate) struct Lower {
    policy: Box<dyn Model>,
    /// The same policy again, if it has an order: beside the other, access by access.
    order: Option<Box<dyn Ordered>>,
    frames: usize,
    /// Pages that are pinned (4.13): each has a frame, which the policy has not.
    pinned: BTreeSet<u64>,
    /// Pages, and whether each is dirty.
    pub(crate) pages: BTreeMap<u64, bool>,
    admission: Admission,
    move_up: bool,
    on_insertion: bool,
    dirty_always: bool,
    /// Dirty pages that may stay (4.9).
    most_dirty: Option<u64>,
    /// One past the page that was cleaned last.
    clean_from: u64,
    /// Stale dirty pages (4.11).
    alru: Option<alru::Alru>,
    /// The feed (4.12).
    feed: Option<feed::Feed>,
    /// Of the access that is being served.
    pub(crate) decision: TierDecision,
    /// Of the access that is being served: what goes on to what lies below, in order.
    gone: Vec<Leaves>,
    pub(crate) counters: BTreeMap<&'static str, u64>,
}

pub(crate) const TIER2_COUNTERS: [&str; 12] = [
    "tier2_hits",
    "tier2_misses",
    "offers",
    "offers_capped",
    "offers_present",
    "admitted",
    "tier2_writes",
    "tier2_reads",
    "tier2_evictions",
    "tier2_drops",
    "backing_reads",
    "backing_writes",
];

impl Lower {
    /// Consequences of a miss in tier 1: the look-up, what leaves tier 1, what is inserted.
    fn missed_above(&mut self, op: Op, page: u64, above: &Decision, fetch_on_write_miss: bool) {
        self.missed(page);
        if let Some(alru) = &mut self.alru {
            alru.accessed();
        }
        if op == Op::Read || fetch_on_write_miss {
            self.look_up(page);
        }
        if op == Op::Write && self.move_up && self.pages.contains_key(&page) {
            self.drop_copy(page);
        }
        for &victim in &above.evicted {
            self.leaves(victim, above.flushed.iter().flatten().any(|&dirty| dirty == victim));
        }
        if op == Op::Read && self.decision.tier == 0 {
            self.inserted(page);
        }
        self.clean();
    }

    /// 4.9: the dirty pages above the threshold, in order of address.
    fn clean(&mut self) {
        let Some(most) = self.most_dirty else { return };
        loop {
            let dirty = self.pages.iter().filter(|(_, dirty)| **dirty);
            let dirty: Vec<u64> = dirty.map(|(page, _)| *page).collect();
            if dirty.len() as u64 <= most {
                return;
            }
            let ahead = dirty.iter().find(|page| **page >= self.clean_from);
            let page = *ahead.unwrap_or(&dirty[0]);
            self.clean_from = page + 1;
            self.cleans(page);
        }
    }

    /// 4.9: a dirty page is read and written, and stays.
    fn cleans(&mut self, page: u64) {
        self.pages.insert(page, false);
        if !self.pinned.contains(&page) {
            self.order.as_mut().expect("a policy with an order").cleaned(page);
        }
        for counter in ["tier2_cleaned", "tier2_reads", "backing_writes"] {
            self.count(counter);
        }
        self.decision.written_back.push(page);
    }

    /// From the object `tier2` of a vector.
    pub(crate) fn new(tier2: &Map<String, Value>) -> Lower {
        let text = |key: &str, default: &'static str| -> String {
            tier2.get(key).map_or(default, |value| value.as_str().expect("a text")).to_owned()
        };
        let object = |key: &str| -> Map<String, Value> {
            tier2.get(key).map_or_else(Map::new, |value| value.as_object().expect("one").clone())
        };
        let name = text("policy", "");
        let frames = tier2["frames"].as_u64().expect("a number") as usize;
        let params = object("params");
        let pinned = tier2.get("pinned").and_then(Value::as_array).into_iter().flatten();
        let pinned: BTreeSet<u64> = pinned.map(|page| page.as_u64().expect("a page")).collect();
        let others = frames - pinned.len();
        Lower {
            policy: model_with_trims(&name, others, &params, &[]).expect("a known policy"),
            order: ordered(&name, others, &Params(&params)),
            frames,
            pinned,
            pages: BTreeMap::new(),
            admission: Admission::new(
                &text("admit", "always"),
                &object("admit_params"),
                frames,
                Params(tier2).integer("page_bytes").unwrap_or(4096),
            ),
            move_up: text("promote", "copy") == "move",
            on_insertion: text("offer", "evicted") == "inserted",
            dirty_always: text("admit_dirty", "ask") == "always",
            most_dirty: tier2.get("most_dirty").and_then(Value::as_u64),
            clean_from: 0,
            alru: alru::Alru::new(tier2.get("alru")),
            feed: None,
            decision: TierDecision::default(),
            gone: Vec::new(),
            counters: TIER2_COUNTERS.map(|name| (name, 0)).into(),
        }
    }

    /// The same, over blocks of prompts with these times of computing (7.5).
    pub(crate) fn of_blocks(tier: &Map<String, Value>, times: &BTreeMap<u64, u64>) -> Lower {
        let mut lower = Lower::new(tier);
        if let Admission::Worth { compute_ns, .. } = &mut lower.admission {
            *compute_ns = times.clone();
        }
        if tier["policy"] == "pgdsf" {
            let params = tier.get("params").and_then(Value::as_object).cloned();
            let params = params.unwrap_or_default();
            let params = &Params(&params);
            lower.policy = Box::new(Pgdsf::of_prompts(lower.frames, params, times.clone(), false));
        }
        lower
    }

    pub(crate) fn count(&mut self, counter: &'static str) {
        *self.counters.entry(counter).or_insert(0) += 1;
    }

    /// P2 sees an access.
    fn sees(&mut self, op: Op, page: u64) -> Vec<u64> {
        if self.pinned.contains(&page) {
            *self.pages.entry(page).or_insert(false) |= op == Op::Write;
            if let Some(alru) = self.alru.as_mut().filter(|_| op == Op::Write) {
                alru.writes(page);
            }
            return Vec::new();
        }
        // Only an ordered policy is told that a page was cleaned.
        let decision = match &mut self.order {
            Some(order) if self.most_dirty.is_some() || self.alru.is_some() => {
                order.access(op, page)
            }
            order => {
                let decision = self.policy.access(op, page);
                if let Some(order) = order {
                    assert_eq!(order.access(op, page), decision);
                }
                decision
            }
        };
        assert_eq!(decision.hit, self.pages.contains_key(&page));
        *self.pages.entry(page).or_insert(false) |= op == Op::Write;
        if let Some(alru) = self.alru.as_mut().filter(|_| op == Op::Write) {
            alru.writes(page);
        }
        decision.evicted
    }

    /// P2 forgets a page.
    fn forget(&mut self, page: u64) {
        self.policy.forget(page);
        if let Some(order) = &mut self.order {
            order.forget(page);
        }
        self.pages.remove(&page);
    }

    /// A trim of the trace.
    fn trims(&mut self, page: u64) {
        if let Some(feed) = &mut self.feed {
            feed.forget(page);
        }
        self.forget(page);
        self.admission.forget(page);
    }

    /// 4.10: its copy leaves. The dirty bit, if there was one.
    pub(crate) fn expires(&mut self, page: u64) -> Option<bool> {
        let dirty = *self.pages.get(&page)?;
        self.drop_copy(page);
        Some(dirty)
    }

    /// Step 2 of 4.1.
    pub(crate) fn missed(&mut self, page: u64) {
        if !self.pinned.contains(&page) {
            self.admission.missed(page);
        }
    }

    /// 4.2, as far as it changes no list of P2.
    pub(crate) fn found(&mut self) {
        self.count("tier2_hits");
        self.count("tier2_reads");
        self.admission.tier2_hit();
    }

    /// 4.2, what a hit does to the copy.
    pub(crate) fn promote(&mut self, page: u64) {
        if self.move_up && !self.pages[&page] {
            self.drop_copy(page);
        } else {
            self.sees(Op::Read, page);
        }
    }

    fn drop_copy(&mut self, page: u64) {
        self.forget(page);
        self.count("tier2_drops");
    }

    fn look_up(&mut self, page: u64) {
        if self.pages.contains_key(&page) && self.pinned.contains(&page) {
            for counter in ["tier2_hits", "tier2_reads", "tier2_pinned_hits"] {
                self.count(counter);
            }
            self.decision.tier = 2;
        } else if self.pages.contains_key(&page) {
            self.found();
            self.promote(page);
            self.decision.tier = 2;
        } else {
            self.count("tier2_misses");
            self.count("backing_reads");
        }
    }

    /// 4.3: a page that tier 1 evicts.
    pub(crate) fn leaves(&mut self, page: u64, dirty: bool) {
        if let Some(feed) = &mut self.feed {
            feed.leaves();
            return self.leaves_above_a_feed(page, dirty);
        }
        match (dirty, self.pages.contains_key(&page)) {
            (true, true) => {
                let is_asked = !self.dirty_always && !self.pinned.contains(&page);
                if self.admission.counts_overwrites() && is_asked {
                    self.count("offers");
                    if !self.admission.takes(page, &Tier2State { free: false, next_victim: None }) {
                        self.drop_copy(page);
                        self.declined(page, true);
                        return;
                    }
                } else {
                    self.admission.wrote_unasked();
                }
                self.sees(Op::Write, page);
                self.count("tier2_writes");
            }
            (true, false) => self.offer(page, true),
            (false, _) if self.on_insertion => {}
            (false, true) => self.count("offers_present"),
            (false, false) => self.offer(page, false),
        }
    }

    /// Step 6 of 4.1.
    pub(crate) fn inserted(&mut self, page: u64) {
        if !self.on_insertion {
            return;
        }
        if self.pages.contains_key(&page) {
            self.count("offers_present");
        } else {
            self.offer(page, false);
        }
    }

    fn offer(&mut self, page: u64, dirty: bool) {
        let taken = if self.dirty_always && dirty || self.pinned.contains(&page) {
            self.admission.wrote_unasked();
            true
        } else {
            self.count("offers");
            let others = self.pages.keys().filter(|page| !self.pinned.contains(page)).count();
            let free = others < self.frames - self.pinned.len();
            let next_victim = self.order.as_mut().and_then(|order| Some(order.order().first()?.0));
            self.admission.takes(page, &Tier2State { free, next_victim })
        };
        if taken {
            self.takes_in(page, dirty);
        } else {
            self.declined(page, dirty);
        }
    }

    /// A page that is not here is written: it is offered and taken, or fed.
    fn takes_in(&mut self, page: u64, dirty: bool) {
        self.count("admitted");
        self.count("tier2_writes");
        let evicted = self.sees(if dirty { Op::Write } else { Op::Read }, page);
        evicted.into_iter().for_each(|victim| self.evicts(victim));
        self.decision.admitted.push(page);
    }

    fn declined(&mut self, page: u64, dirty: bool) {
        if self.admission.capped() {
            self.count("offers_capped");
        }
        self.gone.push(Leaves { page, dirty, was_in: false });
        if dirty {
            self.count("backing_writes");
            self.decision.written_back.push(page);
        }
    }

    /// 4.4.
    fn evicts(&mut self, page: u64) {
        self.count("tier2_evictions");
        self.decision.tier2_evicted.push(page);
        let dirty = self.pages.remove(&page).expect("tier 2 had it");
        self.gone.push(Leaves { page, dirty, was_in: true });
        if dirty {
            self.count("tier2_reads");
            self.count("backing_writes");
            self.decision.written_back.push(page);
        }
    }
}

/// Names of the counters of tier 3, each with its name in tier 2.
pub(crate) const TIER3_COUNTERS: [(&str, &str); 10] = [
    ("tier3_hits", "tier2_hits"),
    ("tier3_misses", "tier2_misses"),
    ("tier3_offers", "offers"),
    ("tier3_offers_capped", "offers_capped"),
    ("tier3_offers_present", "offers_present"),
    ("tier3_admitted", "admitted"),
    ("tier3_writes", "tier2_writes"),
    ("tier3_reads", "tier2_reads"),
    ("tier3_evictions", "tier2_evictions"),
    ("tier3_drops", "tier2_drops"),
];

/// The decision of tier 3 as part of that of all.
pub(crate) fn merge(decision: &mut TierDecision, third: TierDecision) {
    if third.tier == 2 {
        decision.tier = 3;
    }
    decision.tier3_admitted.extend(third.admitted);
    decision.tier3_evicted.extend(third.tier2_evicted);
    decision.written_back = third.written_back;
}
