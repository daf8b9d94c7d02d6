//! The invariants of LRU-K's state.

use super::{HISTORY, LruK, RIPE};
use destage_core::{Directory, Policy, Slot};

impl<D: Directory> LruK<D> {
    /// Asserts all of them.
    pub(super) fn check_all(&self) {
        assert!(self.resident <= self.frames);
        let mut shown = 0;
        self.for_each_resident(&mut |_, _| shown += 1);
        assert_eq!(shown, self.resident, "a resident page is filed once");
        self.few.check(|slot| (self.key(slot).0 == 0).then(|| self.last(slot)));
        self.many.check(|slot| Some(self.key(slot).0));
        self.correlated.check(&self.pages);
        self.ripe.check(&self.places, |slot| self.key(slot));
        self.correlated_heap.check(&self.places, |slot| self.key(slot));
        assert_eq!(self.correlated.len() as usize, self.correlated_heap.len());
        assert!(self.ripe.iter().all(|slot| self.pages[slot].list == RIPE));
        let mut newer = u64::MAX;
        for slot in self.correlated.iter(&self.pages) {
            assert!(self.last(slot) < newer, "the list of the correlated period is in order");
            newer = self.last(slot);
        }
        let slots = (0..self.pages.slots() as u32).map(Slot);
        let histories = slots.filter(|&slot| self.pages[slot].list == HISTORY);
        assert_eq!(histories.count(), self.histories);
    }
}
