//! Pinned pages of a run (`docs/spec/tiers.md` 4.13).

use crate::options::RunOptions;
use destage_replay::counters::Counters;
use serde::{Deserialize, Serialize};

/// Pinned pages, and the hits in them; `None` where a cache has none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct PinCounters {
    /// Pages of the trace that are pinned in the cache, or tier 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned_pages: Option<u64>,
    /// Accesses that found such a page there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned_hits: Option<u64>,
    /// Pages of the trace that are pinned in tier 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier2_pinned_pages: Option<u64>,
    /// Look-ups that found such a page there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier2_pinned_hits: Option<u64>,
}

impl PinCounters {
    /// Of a run with these options, which hit pinned pages so often; `None` without pinned pages.
    pub(crate) fn of(
        options: &RunOptions,
        pinned_hits: Option<u64>,
        counters: &Counters,
    ) -> Option<PinCounters> {
        let pins = &options.tiers.pins;
        if pins.tier1.is_none() && pins.tier2.is_none() {
            return None;
        }
        let tier2_hits = counters.tiers.tier2.tier2_pinned_hits;
        Some(PinCounters {
            pinned_pages: pins.tier1.as_ref().map(|pins| pins.count().into()),
            pinned_hits,
            tier2_pinned_pages: pins.tier2.as_ref().map(|pins| pins.count().into()),
            tier2_pinned_hits: pins.tier2.as_ref().map(|_| tier2_hits),
        })
    }
}
