//! Dirty pages of tier 2 that were not written for a while are written back while the tier is idle,
//! and stay (`docs/spec/tiers.md` 4.11).
//!
//! After ALRU, the default cleaning policy of Open CAS (`src/cleaning/alru.c` of Open-CAS/ocf).
//! Its list of dirty cache lines is in the order of their last writes. A thread looks at it from
//! time to time.
//!
//! Cost. O(log d) whenever one of d dirty pages is written, leaves or is cleaned; a wake-up that
//! cannot find anything is not visited.

use super::rules::AlruRule;
use destage_core::Page;
use std::collections::{BTreeMap, BTreeSet};

/// Last write of a dirty page: its time, nanoseconds, and its number among all writes.
type Written = (u64, u64);

/// The dirty pages of a tier in the order of their last writes, and the thread that looks at them.
#[derive(Debug)]
pub(super) struct Alru {
    rule: AlruRule,
    now_ns: u64,
    accessed_ns: u64,     // last access that came to the tier
    wake_ns: Option<u64>, // next wake-up, or batch; none before the first request
    writes: u64,
    order: BTreeSet<(Written, u64)>, // by last write, oldest first
    last: BTreeMap<u64, Written>,    // of each dirty page
}

impl Alru {
    pub(super) fn new(rule: AlruRule) -> Self {
        let (order, last) = (BTreeSet::new(), BTreeMap::new());
        Alru { rule, now_ns: 0, accessed_ns: 0, wake_ns: None, writes: 0, order, last }
    }

    /// The next arrival that it must be told, ns: an access does not carry its own.
    pub(super) fn awaits_ns(&self) -> u64 {
        self.wake_ns.map_or(0, |_| self.now_ns + 1) // times are below 2^63
    }

    /// A request arrives, no earlier than the last one. Its [`batch`](Alru::batch)es come first.
    pub(super) fn arrived(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        self.wake_ns.get_or_insert(now_ns.saturating_add(self.rule.wake_up_ns));
    }

    /// An access has come to the tier.
    pub(super) fn accessed(&mut self) {
        self.accessed_ns = self.now_ns;
    }

    /// The page is dirty in the tier, written now, or is not dirty.
    pub(super) fn note(&mut self, page: Page, is_dirty: bool) {
        if let Some(written) = self.last.remove(&page.0) {
            self.order.remove(&(written, page.0));
        }
        if is_dirty {
            self.writes += 1;
            let written = (self.now_ns, self.writes);
            self.order.insert((written, page.0));
            self.last.insert(page.0, written);
        }
    }

    /// The pages of the next batch that was due before the request that arrives now, ascending.
    pub(super) fn batch(&mut self) -> Option<Vec<Page>> {
        let rule = self.rule;
        let mut wake_ns = self.wake_ns?;
        let fresh_until = |written: u64| written.saturating_add(rule.staleness_ns);
        // Between two requests pages only become stale, and the tier only becomes idle.
        let ready = self.order.first().map_or(self.now_ns + 1, |&((written, _), _)| {
            let idle = self.accessed_ns.saturating_add(rule.activity_ns);
            idle.max(fresh_until(written).saturating_add(1))
        });
        wake_ns = next_of(wake_ns, rule.wake_up_ns, ready.min(self.now_ns + 1));
        self.wake_ns = Some(wake_ns);
        if wake_ns > self.now_ns {
            return None;
        }
        let most = rule.flush_max_buffers as usize;
        let is_stale = |&&((written, _), _): &&(Written, u64)| fresh_until(written) < wake_ns;
        let stale = self.order.iter().take_while(is_stale);
        let mut batch: Vec<Page> = stale.take(most).map(|&(_, page)| Page(page)).collect();
        batch.sort_unstable();
        let time_ns = rule.page_ns.saturating_mul(batch.len() as u64);
        self.wake_ns = Some(wake_ns.saturating_add(time_ns));
        Some(batch)
    }
}

/// The first of the instants `from`, `from + every`, ... that is not before `ready`; the largest
/// number if there is none.
fn next_of(from: u64, every: u64, ready: u64) -> u64 {
    if ready <= from {
        return from;
    }
    let steps = (ready - from).div_ceil(every);
    steps.checked_mul(every).and_then(|later| from.checked_add(later)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batches(alru: &mut Alru, now_ns: u64) -> Vec<Vec<u64>> {
        alru.arrived(now_ns);
        let mut batches = Vec::new();
        while let Some(batch) = alru.batch() {
            batch.iter().for_each(|&page| alru.note(page, false));
            batches.push(batch.iter().map(|page| page.0).collect());
        }
        batches
    }

    fn write(alru: &mut Alru, pages: &[u64]) {
        alru.accessed();
        pages.iter().for_each(|&page| alru.note(Page(page), true));
    }

    #[test]
    fn stale_pages_go_in_batches_while_the_tier_is_idle() {
        let mut alru = Alru::new(AlruRule {
            wake_up_ns: 10,
            staleness_ns: 25,
            flush_max_buffers: 2,
            activity_ns: 7,
            page_ns: 3,
        });
        assert!(batches(&mut alru, 0).is_empty());
        write(&mut alru, &[5, 1, 4, 3]);
        assert!(batches(&mut alru, 24).is_empty(), "wake-ups at 10 and 20");
        write(&mut alru, &[4]);
        // At 30 the tier was accessed 6 ago. At 40 all but 4 are stale: a batch, and one at 46.
        assert_eq!(batches(&mut alru, 45), [vec![1, 5]]);
        assert!(batches(&mut alru, 45).is_empty());
        assert_eq!(batches(&mut alru, 100), [vec![3], vec![4]]);
        assert_eq!(
            alru.wake_ns,
            Some(102),
            "3 at 46; from 49 on every 10, 4 at 59; then 62 to 102"
        );
    }
}
