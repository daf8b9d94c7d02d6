//! The rules of the flash tier that a user chooses (`docs/spec/tiers.md` 2).

use destage_keys::words;

words! {
    /// Pages that are offered to tier 2.
    #[derive(Default, Hash, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    Offer {
        /// Pages that tier 1 evicts: tier 2 is a victim cache.
        #[default]
        Evicted = "evicted",
        /// Pages that come from the backing store: tier 2 is written at insertion.
        Inserted = "inserted",
    }
}

words! {
    /// Treatment of a tier-2 copy that is hit.
    #[derive(Default, Hash, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    Promote {
        /// The copy stays.
        #[default]
        Copy = "copy",
        /// A clean copy is dropped.
        Move = "move",
    }
}

words! {
    /// Whether admission is asked for dirty pages.
    #[derive(Default, Hash, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    AdmitDirty {
        /// Admission is asked, as for clean pages.
        #[default]
        Ask = "ask",
        /// Dirty pages are admitted.
        Always = "always",
    }
}

/// The rules of tier 2.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TierRules {
    /// Pages that are offered to tier 2.
    pub offer: Offer,
    /// Treatment of a tier-2 copy that is hit.
    pub promote: Promote,
    /// Tier that decides on the admission of dirty pages.
    pub admit_dirty: AdmitDirty,
    /// A write miss reads the page first.
    pub fetch_on_write_miss: bool,
    /// Dirty pages that may stay: those above are written back, and stay clean. `None`: all.
    pub most_dirty: Option<u64>,
}
