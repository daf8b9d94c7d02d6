//! Observers of the tiers below tier 1: none, the record of decisions, or a device.

use destage_core::Page;

/// A page that leaves a tier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaving {
    /// The page.
    pub page: Page,
    /// Newer than what lies below.
    pub dirty: bool,
    /// A frame of tier 1 is free once it is written.
    pub is_awaited: bool,
}

/// Sees what happens below tier 1, in order. Tiers have their numbers, 2 and 3.
pub trait TierEvents {
    /// A look-up found the page in this tier: it is read there.
    fn found(&mut self, _tier: u8, _: Page) {}

    /// The page is read from the backing store.
    fn backing_read(&mut self, _: Page) {}

    /// The page is taken in; victims have left before.
    fn admitted(&mut self, _tier: u8, _: Leaving) {}

    /// The copy of the page is written over.
    fn written_over(&mut self, _tier: u8, _: Leaving) {}

    /// The page leaves the tier for another one, after it is read if it is written below.
    fn evicted(&mut self, _tier: u8, _: Page, _is_read: bool) {}

    /// The copy of the page leaves the tier without an eviction.
    fn dropped(&mut self, _tier: u8, _: Page) {}

    /// A dirty page of tier 2 is read and written to the backing store, and stays.
    fn cleaned(&mut self, _: Page) {}

    /// A dirty page is written to the backing store.
    fn backing_write(&mut self, _: Leaving) {}
}

/// No observer.
impl TierEvents for () {}

/// Decision below tier 1 on one access (`docs/spec/tiers.md` 4.7).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TierDecision {
    /// 1 to 3 if the page was found in that tier; 0 if it came from the backing store, or was
    /// written without a look-up.
    pub tier: u8,
    /// Pages that tier 2 took in, in order.
    pub admitted: Vec<Page>,
    /// Pages that tier 2 evicted, in order.
    pub tier2_evicted: Vec<Page>,
    /// Pages that tier 3 took in, in order.
    pub tier3_admitted: Vec<Page>,
    /// Pages that tier 3 evicted, in order.
    pub tier3_evicted: Vec<Page>,
    /// Pages written to the backing store, in order.
    pub written_back: Vec<Page>,
}

impl TierDecision {
    /// Begins the record of another access.
    pub fn clear(&mut self) {
        self.tier = 0;
        self.admitted.clear();
        self.tier2_evicted.clear();
        self.tier3_admitted.clear();
        self.tier3_evicted.clear();
        self.written_back.clear();
    }
}

impl TierEvents for TierDecision {
    fn found(&mut self, tier: u8, _: Page) {
        self.tier = tier;
    }

    fn admitted(&mut self, tier: u8, leaving: Leaving) {
        if tier == 2 { &mut self.admitted } else { &mut self.tier3_admitted }.push(leaving.page);
    }

    fn evicted(&mut self, tier: u8, page: Page, _is_read: bool) {
        if tier == 2 { &mut self.tier2_evicted } else { &mut self.tier3_evicted }.push(page);
    }

    fn cleaned(&mut self, page: Page) {
        self.written_back.push(page);
    }

    fn backing_write(&mut self, leaving: Leaving) {
        self.written_back.push(leaving.page);
    }
}
