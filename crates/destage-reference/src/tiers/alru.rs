//! Write-back of stale dirty pages. Mirrors `docs/spec/tiers.md` 4.11: every wake-up is made.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Lower;

/// The letters of 4.11.
pub(super) struct Alru {
    v: u64,
    s: u64,
    b: usize,
    i: u64,
    p: u64,
    now: u64,
    /// The next wake-up; none before the first request.
    wake: Option<u64>,
    /// The last access of tier 2.
    access: Option<u64>,
    /// Of each page the time of its last write, and the number of that write.
    written: BTreeMap<u64, (u64, usize)>,
    writes: usize,
}

impl Alru {
    /// From the object `alru` of a vector, if there is one.
    pub(super) fn new(given: Option<&Value>) -> Option<Alru> {
        let given = given.filter(|given| !given.is_null())?;
        let number = |key: &str| given[key].as_u64().expect("a number");
        Some(Alru {
            v: number("wake_up_ns"),
            s: number("staleness_ns"),
            b: number("flush_max_buffers") as usize,
            i: number("activity_ns"),
            p: number("page_ns"),
            now: 0,
            wake: None,
            access: None,
            written: BTreeMap::new(),
            writes: 0,
        })
    }

    /// An access has missed tier 1.
    pub(super) fn accessed(&mut self) {
        self.access = Some(self.now);
    }

    /// The page is taken in dirty, or written over.
    pub(super) fn writes(&mut self, page: u64) {
        self.writes += 1;
        self.written.insert(page, (self.now, self.writes));
    }

    /// The pages that a wake-up at `w` cleans, in order.
    fn batch(&self, w: u64, dirty: &[u64]) -> Vec<u64> {
        if self.access.is_some_and(|access| w - access < self.i) {
            return Vec::new();
        }
        let mut stale: Vec<u64> =
            dirty.iter().copied().filter(|page| w - self.written[page].0 > self.s).collect();
        stale.sort_by_key(|page| self.written[page]);
        stale.truncate(self.b);
        stale.sort();
        stale
    }
}

impl Lower {
    /// A request arrives: the wake-ups until then are made.
    pub(crate) fn wakes(&mut self, now: u64) {
        let Some(mut alru) = self.alru.take() else { return };
        let mut w = alru.wake.unwrap_or(now + alru.v);
        while w <= now {
            let dirty = self.pages.iter().filter(|(_, dirty)| **dirty);
            let dirty: Vec<u64> = dirty.map(|(page, _)| *page).collect();
            let batch = alru.batch(w, &dirty);
            w += if batch.is_empty() { alru.v } else { batch.len() as u64 * alru.p };
            for page in batch {
                self.cleans(page);
            }
        }
        (alru.wake, alru.now) = (Some(w), now);
        self.alru = Some(alru);
    }
}
