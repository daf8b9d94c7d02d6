//! Observers of tier 2: none, the record of decisions, or a device.

use destage_core::Page;

/// Sees what happens below tier 1, in order.
pub trait TierEvents {
    /// A look-up found the page in tier 2: it is read there.
    fn found(&mut self, _: Page) {}

    /// The page is read from the backing store.
    fn backing_read(&mut self, _: Page) {}

    /// The page is taken in; victims have left before.
    fn admitted(&mut self, _: Page, _dirty: bool) {}

    /// The copy of the page is written over.
    fn written_over(&mut self, _: Page) {}

    /// The page leaves tier 2 for another one.
    fn evicted(&mut self, _: Page, _dirty: bool) {}

    /// The copy of the page leaves tier 2, by promotion or a trim.
    fn dropped(&mut self, _: Page) {}

    /// A declined dirty page is written to the backing store.
    fn declined(&mut self, _: Page) {}
}

/// No observer.
impl TierEvents for () {}

/// Decision below tier 1 on one access (`docs/spec/tiers.md` 4.7).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TierDecision {
    /// 1 or 2 if the page was found there; 0 if it came from the backing store, or was written
    /// without a look-up.
    pub tier: u8,
    /// Pages that tier 2 took in, in order.
    pub admitted: Vec<Page>,
    /// Pages that tier 2 evicted, in order.
    pub tier2_evicted: Vec<Page>,
    /// Pages written to the backing store, in order.
    pub written_back: Vec<Page>,
}

impl TierDecision {
    /// Begins the record of another access.
    pub fn clear(&mut self) {
        self.tier = 0;
        self.admitted.clear();
        self.tier2_evicted.clear();
        self.written_back.clear();
    }
}

impl TierEvents for TierDecision {
    fn found(&mut self, _: Page) {
        self.tier = 2;
    }

    fn admitted(&mut self, page: Page, _dirty: bool) {
        self.admitted.push(page);
    }

    fn evicted(&mut self, page: Page, dirty: bool) {
        self.tier2_evicted.push(page);
        if dirty {
            self.written_back.push(page);
        }
    }

    fn declined(&mut self, page: Page) {
        self.written_back.push(page);
    }
}
