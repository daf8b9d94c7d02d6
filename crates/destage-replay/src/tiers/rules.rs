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
    /// What a hit in tier 2 does with the page's copy there.
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
        /// As for clean ones.
        #[default]
        Ask = "ask",
        /// They are taken.
        Always = "always",
    }
}

/// The rules of tier 2.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TierRules {
    /// What is offered.
    pub offer: Offer,
    /// What becomes of a copy that is found.
    pub promote: Promote,
    /// Who decides about dirty pages.
    pub admit_dirty: AdmitDirty,
    /// A write miss reads the page first.
    pub fetch_on_write_miss: bool,
}
