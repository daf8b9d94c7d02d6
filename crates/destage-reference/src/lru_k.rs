//! LRU-K: evict the page whose K-th last (uncorrelated) reference is oldest.
//!
//! O'Neil, O'Neil, Weikum. SIGMOD 1993, section 2 and figure 2.1. Mirrors
//! `docs/spec/page-policies.md` 3.4.

use crate::{Buffer, Decision, Model, Op, Params, show};

/// The history of a page that is resident or remembered.
struct History {
    page: u64,
    hist: Vec<u64>, // HIST(1..K), newest first, 0 = never; hist[0] is HIST(1)
    last: u64,      // LAST, the most recent reference of any kind
}

pub(crate) struct LruK {
    buffer: Buffer,
    histories: Vec<History>,
    time: u64, // t of the current access
    k: usize,
    correlated_period: u64,
    retained_period: Option<u64>, // none: unlimited
}

impl LruK {
    pub(crate) fn new(frames: usize, params: &Params) -> LruK {
        LruK {
            buffer: Buffer::new(frames),
            histories: Vec::new(),
            time: 0,
            k: params.integer("k").unwrap_or(2) as usize,
            correlated_period: params.integer("correlated_period").unwrap_or(0),
            retained_period: params.integer("retained_period"),
        }
    }

    fn history(&self, page: u64) -> &History {
        let history = self.histories.iter().find(|history| history.page == page);
        history.expect("a resident page has a history")
    }

    fn hit(&mut self, page: u64) {
        let t = self.time;
        let history = self.histories.iter_mut().find(|history| history.page == page);
        let history = history.expect("a resident page has a history");
        if t - history.last > self.correlated_period {
            let correlation = history.last - history.hist[0];
            for i in (1..self.k).rev() {
                let newer = history.hist[i - 1];
                history.hist[i] = if newer > 0 { newer + correlation } else { 0 };
            }
            history.hist[0] = t;
        }
        history.last = t;
    }

    /// The smallest HIST(K) outside the correlated period; LAST decides among equals.
    fn victim(&self) -> u64 {
        let resident = self.buffer.resident_pages();
        let mut candidates = resident.clone();
        candidates.retain(|&page| self.time - self.history(page).last > self.correlated_period);
        if candidates.is_empty() {
            candidates = resident;
        }
        let victim = candidates.into_iter().min_by_key(|&page| {
            let history = self.history(page);
            (history.hist[self.k - 1], history.last)
        });
        victim.expect("a full cache has resident pages")
    }

    fn load(&mut self, page: u64) {
        let t = self.time;
        let known = self.histories.iter().position(|history| history.page == page);
        let known = known.map(|at| self.histories.remove(at));
        let mut hist = vec![0; self.k];
        if let Some(old) = known
            && self.retained_period.is_none_or(|retained| t - old.last <= retained)
        {
            hist[1..].copy_from_slice(&old.hist[..self.k - 1]);
        }
        hist[0] = t;
        self.histories.push(History { page, hist, last: t });
    }
}

impl Model for LruK {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        self.time += 1;
        if self.buffer.hit(op, page) {
            self.hit(page);
            return Decision::hit();
        }
        let decision = if self.buffer.full() {
            let victim = self.victim();
            self.buffer.evict(victim)
        } else {
            Decision::miss()
        };
        self.buffer.install(op, page);
        self.load(page);
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        self.histories.retain(|history| history.page != page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let resident = self.buffer.resident_pages().into_iter().map(|page| {
            let times: Vec<String> = self.history(page).hist.iter().map(u64::to_string).collect();
            format!("{page}({})", times.join(","))
        });
        show("resident", resident)
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
