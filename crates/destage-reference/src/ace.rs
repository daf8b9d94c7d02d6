//! ACE: a dirty victim takes the next dirty victims along.
//!
//! Papon, Athanassoulis. ICDE 2023. Mirrors `docs/spec/ace.md`: the order of section 2 is found as
//! it is defined there, by writing new pages to a copy of the base until all others have left.

use serde_json::{Map, Value};

use crate::{Buffer, Decision, Model, Op, Params};

/// A policy that ACE may stand on.
pub(crate) trait Base: Model + Clone {
    fn buffer(&mut self) -> &mut Buffer;
}

pub(crate) struct Ace<B> {
    base: B,
    writes: usize,
}

/// `name[key=number;key=number]`, as the parameter `base` has it.
pub(crate) fn written(text: &str) -> (&str, Map<String, Value>) {
    let Some((name, inside)) = text.split_once('[') else { return (text, Map::new()) };
    let inside = inside.strip_suffix(']').expect("a closing bracket");
    let pairs = inside.split(';').map(|pair| {
        let (key, value) = pair.split_once('=').expect("key=value");
        (key.to_string(), serde_json::from_str(value).expect("a number"))
    });
    (name, pairs.collect())
}

impl<B: Base> Ace<B> {
    /// Over this base, empty as yet.
    pub(crate) fn new(base: B, params: &Params) -> Ace<B> {
        Ace { base, writes: params.integer("writes").unwrap_or(8) as usize }
    }
}

/// A policy whose order of eviction can be told (section 2).
pub(crate) trait Ordered: Model {
    /// The resident pages in the order in which they would leave, and whether each is dirty.
    fn order(&mut self) -> Vec<(u64, bool)>;

    /// A resident dirty page is written, and stays.
    fn cleaned(&mut self, page: u64);
}

impl<B: Base> Ordered for B {
    fn order(&mut self) -> Vec<(u64, bool)> {
        let resident = self.buffer().resident_pages();
        let mut copy = self.clone();
        let mut order = Vec::new();
        let mut fresh = (0..u64::MAX).rev().filter(|page| !resident.contains(page));
        while order.len() < resident.len() {
            let decision = copy.access(Op::Write, fresh.next().expect("few are resident"));
            let left = decision.evicted.into_iter().filter(|page| resident.contains(page));
            order.extend(left);
        }
        order.into_iter().map(|page| (page, self.buffer().dirty(page))).collect()
    }

    fn cleaned(&mut self, page: u64) {
        self.buffer().clean(page);
    }
}

impl<B: Base> Model for Ace<B> {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        let full = self.base.buffer().full();
        let mut before = self.base.clone();
        let mut decision = self.base.access(op, page);
        let Some(&victim) = decision.flushed.first().and_then(|group| group.first()) else {
            return decision;
        };
        assert!(full, "a victim leaves a full cache");
        let mut order = before.order();
        assert_eq!(order.remove(0), (victim, true), "the victim leads the order");
        order.retain(|&(_, dirty)| dirty);
        for (page, _) in order.into_iter().take(self.writes) {
            self.base.cleaned(page);
            decision.flushed.push(vec![page]);
        }
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        self.base.forget(page)
    }

    fn lists(&self) -> String {
        self.base.lists()
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.base.dirty_pages()
    }
}
