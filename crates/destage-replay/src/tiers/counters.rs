//! Counts of the flash tier (`docs/spec/tiers.md` 4.6).

/// Defines the counters once: the struct, their names and the difference of two counts.
macro_rules! tier_counters {
    ($($(#[$about:meta])+ $name:ident;)+) => {
        /// Counts of the flash tier, pages all.
        #[derive(
            Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize,
        )]
        #[serde(default)]
        pub struct TierCounters {
            $($(#[$about])+ pub $name: u64,)+
        }

        impl TierCounters {
            /// Counts since `before`, of the same run.
            pub(crate) fn since(&self, before: &TierCounters) -> TierCounters {
                TierCounters { $($name: self.$name - before.$name,)+ }
            }

            /// Names and values, in the order of the specification.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),+].into_iter()
            }
        }
    };
}

tier_counters! {
    /// Look-ups that found their page.
    tier2_hits;
    /// Look-ups that did not.
    tier2_misses;
    /// Pages offered to admission.
    offers;
    /// Offers declined by a limit of the rate alone.
    offers_capped;
    /// Clean pages that tier 1 evicted and tier 2 had.
    offers_present;
    /// Pages taken in.
    admitted;
    /// Pages written to flash: taken in, and written over.
    tier2_writes;
    /// Pages read from flash: hits, and dirty victims.
    tier2_reads;
    /// Pages evicted from tier 2.
    tier2_evictions;
    /// Copies that left tier 2 by promotion.
    tier2_drops;
    /// Pages read from the backing store.
    backing_reads;
    /// Pages written to the backing store.
    backing_writes;
    /// Pages dirty in tier 1 when measurement ends.
    pending_tier1;
    /// Pages dirty in tier 2 when measurement ends.
    pending_tier2;
}
