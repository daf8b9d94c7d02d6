//! Counts of the tiers below tier 1 (`docs/spec/tiers.md` 4.6).

/// Defines the counters once: the struct, their names and the difference of two counts.
macro_rules! tier_counters {
    ($(#[$of:meta])+ $counters:ident: $($(#[$about:meta])+ $name:ident;)+) => {
        $(#[$of])+
        #[derive(
            Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize,
        )]
        #[serde(default)]
        pub struct $counters {
            $($(#[$about])+ pub $name: u64,)+
        }

        impl $counters {
            /// Counts since `before`, of the same run.
            pub fn since(&self, before: &$counters) -> $counters {
                $counters { $($name: self.$name - before.$name,)+ }
            }

            /// Names and values, in the order of the specification.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),+].into_iter()
            }
        }
    };
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

tier_counters! {
    /// Counts of a tier below tier 1, pages all, under the names of tier 2.
    TierCounters:
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
    /// Pages read from flash: hits, and victims that are written below.
    tier2_reads;
    /// Pages evicted from tier 2.
    tier2_evictions;
    /// Copies that left tier 2 without an eviction.
    tier2_drops;
    /// Dirty pages that were written back, and stayed. Only counted with a threshold, and so absent
    /// from results without one.
    #[serde(skip_serializing_if = "is_zero")]
    tier2_cleaned;
    /// Hits in pages that are pinned in tier 2; a result has them apart.
    #[serde(skip)]
    tier2_pinned_hits;
    /// Pages read from the backing store.
    backing_reads;
    /// Pages written to the backing store.
    backing_writes;
    /// Pages dirty in tier 1 when measurement ends.
    pending_tier1;
    /// Pages dirty in tier 2 when measurement ends.
    pending_tier2;
}

tier_counters! {
    /// Counts of tier 3, pages all.
    Tier3Counters:
    /// Look-ups that found their page.
    tier3_hits;
    /// Look-ups that did not.
    tier3_misses;
    /// Pages offered to admission.
    tier3_offers;
    /// Offers declined by a limit of the rate alone.
    tier3_offers_capped;
    /// Clean pages that tier 2 gave up or declined, and tier 3 had.
    tier3_offers_present;
    /// Pages taken in.
    tier3_admitted;
    /// Pages written: taken in, and written over.
    tier3_writes;
    /// Pages read: hits, and dirty victims.
    tier3_reads;
    /// Pages evicted.
    tier3_evictions;
    /// Copies that left without an eviction.
    tier3_drops;
    /// Pages dirty in it when measurement ends.
    pending_tier3;
}

/// Pages that are dirty.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DirtyPages {
    /// In tier 2.
    pub in_tier2: u64,
    /// In tier 3.
    pub in_tier3: u64,
    /// In any tier.
    pub in_any: u64,
}

/// Counts of the tiers below tier 1.
///
/// The backing store is read and written by the lowest tier: the others have 0 there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LowerCounters {
    /// Of tier 2, and the pages that are dirty in tier 1.
    pub tier2: TierCounters,
    /// Of tier 3, its pending pages among those of tier 2's name.
    pub tier3: TierCounters,
}

impl LowerCounters {
    /// Counts since `before`, of the same run.
    pub(crate) fn since(&self, before: &LowerCounters) -> LowerCounters {
        LowerCounters {
            tier2: self.tier2.since(&before.tier2),
            tier3: self.tier3.since(&before.tier3),
        }
    }

    /// Hits in these tiers.
    pub fn hits(&self) -> u64 {
        self.tier2.tier2_hits + self.tier3.tier2_hits
    }

    /// Pages read from the backing store.
    pub fn backing_reads(&self) -> u64 {
        self.tier2.backing_reads + self.tier3.backing_reads
    }

    /// Those of tier 2, with what the run has once: reads and writes of the backing store.
    pub fn of_tier2(&self) -> TierCounters {
        let backing_writes = self.tier2.backing_writes + self.tier3.backing_writes;
        TierCounters { backing_reads: self.backing_reads(), backing_writes, ..self.tier2 }
    }

    /// Those of tier 3 under its own names.
    pub fn of_tier3(&self) -> Tier3Counters {
        let of = &self.tier3;
        Tier3Counters {
            tier3_hits: of.tier2_hits,
            tier3_misses: of.tier2_misses,
            tier3_offers: of.offers,
            tier3_offers_capped: of.offers_capped,
            tier3_offers_present: of.offers_present,
            tier3_admitted: of.admitted,
            tier3_writes: of.tier2_writes,
            tier3_reads: of.tier2_reads,
            tier3_evictions: of.tier2_evictions,
            tier3_drops: of.tier2_drops,
            pending_tier3: of.pending_tier2,
        }
    }

    /// Sets the pages that are dirty in each tier.
    pub(crate) fn set_pending(&mut self, in_tier1: u64, below: DirtyPages) {
        self.tier2.pending_tier1 = in_tier1;
        self.tier2.pending_tier2 = below.in_tier2;
        self.tier3.pending_tier2 = below.in_tier3;
    }
}
