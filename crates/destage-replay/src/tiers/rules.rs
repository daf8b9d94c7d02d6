//! The rules of the flash tier that a user chooses (`docs/spec/tiers.md` 2).

use destage_core::VictimList;
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
        /// Pages that a thread finds at the tails of the lists of tier 1.
        Feed = "feed",
    }
}

words! {
    /// Lists of tier 1 that a feed goes through.
    #[derive(Default, Hash, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    FeedLists {
        /// All.
        #[default]
        All = "all",
        /// That of the pages which were used again.
        Mfu = "mfu",
    }
}

impl FeedLists {
    /// In the order of a pass; tier 1 shows those that it keeps.
    pub(super) const fn in_turn(self) -> &'static [VictimList] {
        match self {
            FeedLists::All => &[VictimList::All, VictimList::Frequent, VictimList::Recent],
            FeedLists::Mfu => &[VictimList::Frequent],
        }
    }
}

/// Parameters of the feed of ZFS's L2ARC (`docs/spec/tiers.md` 4.12). Times are nanoseconds, at
/// least 1; numbers of pages are 1 to the frames of the tier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeedRule {
    /// Time from a pass to the next.
    pub interval_ns: u64,
    /// The same after a pass that fed more than half of its limit.
    pub min_interval_ns: u64,
    /// Most pages that a pass feeds once tier 1 has evicted a page.
    pub warm_pages: u64,
    /// The same before.
    pub cold_pages: u64,
    /// Pages of each list that a pass looks at, in multiples of what it may feed; 0: all.
    pub headroom: u64,
    /// Lists that it goes through.
    pub lists: FeedLists,
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

/// Write-back of dirty pages of tier 2 that stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clean {
    /// While more pages than this number are dirty (4.9).
    Above(u64),
    /// Pages that were not written for a while, when the tier is idle (4.11).
    Stale(AlruRule),
}

/// Parameters of ALRU, the cleaning policy of Open CAS (`docs/spec/tiers.md` 4.11). Times are
/// nanoseconds, at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AlruRule {
    /// Time between two wake-ups that find nothing to do.
    pub wake_up_ns: u64,
    /// Age of its last write above which a dirty page is stale.
    pub staleness_ns: u64,
    /// Largest number of pages of a batch, at least 1.
    pub flush_max_buffers: u64,
    /// Time without an access after which the tier is idle.
    pub activity_ns: u64,
    /// Time of writing back one page, after which the next batch begins.
    pub page_ns: u64,
}

/// The rules of tier 2.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TierRules {
    /// Pages that are offered to tier 2.
    pub offer: Offer,
    /// The feed, with [`Offer::Feed`], and else none.
    pub feed: Option<FeedRule>,
    /// Treatment of a tier-2 copy that is hit.
    pub promote: Promote,
    /// Tier that decides on the admission of dirty pages.
    pub admit_dirty: AdmitDirty,
    /// A write miss reads the page first.
    pub fetch_on_write_miss: bool,
    /// Dirty pages that are written back, and stay clean. `None`: none.
    pub clean: Option<Clean>,
}
