//! A stepped policy (`docs/spec/tiers.md` 10) whose pages are keys.
//!
//! A key lives as long as the policy knows its page, resident or remembered. Code of the key's type
//! can run where a key is compared and where one is dropped: comparing comes before anything is
//! changed, and the caller drops the released keys.

use crate::keys::{Found, Kept, Keys, State};
use destage_core::{AnyPolicy, Op, Page};
use destage_engine::stepped::{Ended, Stepped};

/// A policy and the keys that it knows.
pub struct Keyed<K> {
    policy: Stepped,
    keys: Keys<K>,
    forgotten: Vec<Page>, // kept for its memory
}

/// Keys to drop; the first one apart, since most accesses release no other.
pub struct Released<K> {
    first: Option<Kept<K>>,
    others: Vec<Kept<K>>,
}

impl<K> Released<K> {
    fn none() -> Self {
        Released { first: None, others: Vec::new() }
    }

    fn push(&mut self, kept: Option<Kept<K>>) {
        if self.first.is_none() {
            self.first = kept;
        } else {
            self.others.extend(kept);
        }
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

impl<K> Keyed<K> {
    /// The policy, which knows no page yet.
    pub fn new(policy: Stepped) -> Keyed<K> {
        let integers = policy.info().is_some_and(|info| info.by_page_number());
        Keyed { policy, keys: Keys::new(integers), forgotten: Vec::new() }
    }

    /// The policy.
    pub fn policy(&self) -> &Stepped {
        &self.policy
    }

    /// The keys that it knows.
    pub fn keys(&self) -> &Keys<K> {
        &self.keys
    }

    /// One page access: how it ended, and the page. The policy's plan has what left; then
    /// [`settle`](Keyed::settle) has to be called.
    pub fn access(&mut self, found: Found, key: impl FnOnce() -> K, op: Op) -> (Page, Ended) {
        let page = self.keys.page(found, key);
        (page, self.policy.access(page, op))
    }

    /// Brings the keys up to date after an access. Returns those that the policy has forgotten.
    pub fn settle(&mut self, found: Found, page: Page, ended: Ended, op: Op) -> Released<K> {
        for &flushed in self.policy.plan().flushed() {
            self.keys.set_state(flushed, State::Clean);
        }
        for evicted in self.policy.plan().evicted() {
            self.keys.set_state(evicted.page, State::Remembered);
        }
        match ended {
            Ended::Hit if op.is_write() => self.keys.set_state(page, State::Dirty),
            Ended::Admitted => {
                let state = if op.is_write() { State::Dirty } else { State::Clean };
                self.keys.set_state(page, state);
            }
            Ended::Hit => {}
            // A bypassed write is in the plan, and its page is not resident.
            Ended::Bypassed => self.keys.set_state(page, State::Remembered),
        }
        let is_resident = ended != Ended::Bypassed;
        self.release(Some((page, is_resident, found.page.is_some())))
    }

    /// State of a key that was looked up; no policy remembers an unknown key.
    pub fn state(&self, found: Found) -> State {
        found.page.map_or(State::Remembered, |page| self.keys.kept(page).state)
    }

    /// The page leaves without being written: its dirty bit, if it was resident. Then
    /// [`settle_forgotten`](Keyed::settle_forgotten) has to be called, unless the policy failed.
    pub fn forget(&mut self, page: Page) -> Option<bool> {
        self.policy.forget(page)
    }

    /// Brings the keys up to date after a page was to leave. Returns those that the policy has
    /// forgotten.
    pub fn settle_forgotten(&mut self, page: Page) -> Released<K> {
        self.keys.set_state(page, State::Remembered);
        self.release(None)
    }

    /// Evicts resident pages out of turn. Returns the keys that the policy has forgotten.
    pub fn evict(&mut self, pages: &[Page]) -> Released<K> {
        for &page in pages {
            self.policy.evict(page);
            self.keys.set_state(page, State::Remembered);
        }
        self.release(None)
    }

    /// Resets the cache; a policy of one's own is replaced by `fresh`. Returns all keys.
    pub fn clear(&mut self, fresh: Option<AnyPolicy>) -> Vec<Kept<K>> {
        self.policy.clear(fresh);
        self.keys.clear()
    }

    /// Shows the key of every resident page, or of every dirty one.
    pub fn for_each_resident(&self, dirty_only: bool, mut visit: impl FnMut(&K)) {
        self.policy.for_each_resident(&mut |page, dirty| {
            if dirty || !dirty_only {
                visit(&self.keys.kept(page).key);
            }
        });
    }

    /// Takes out the keys that the policy has forgotten. Of a page that was accessed: whether it is
    /// resident, or was known before.
    fn release(&mut self, accessed: Option<(Page, bool, bool)>) -> Released<K> {
        let inserted = self.policy.changes(&mut self.forgotten);
        let mut released = Released::none();
        if let Some((page, is_resident, was_known)) = accessed {
            let remembered = was_known && !self.forgotten.contains(&page);
            self.forgotten.retain(|&other| other != page);
            if !is_resident && inserted != Some(page) && !remembered {
                released.push(self.keys.remove(page));
            }
        }
        self.forgotten.drain(..).for_each(|page| released.push(self.keys.remove(page)));
        released
    }
}
