//! Collectors: the rule that chooses which sealed block of a plane is collected next
//! (`docs/spec/collectors.md` 4). One collector, one file, one row of the table.
//!
//! ```text
//!  candidates      what a rule chooses among
//!  queue           sealed blocks of a plane, oldest first                        3
//!  greedy          the fewest valid pages: no history, the tournament's winner  4.1
//!  fifo            the oldest                                                    4.2
//!  d_choices       the best of d drawn ones; `random` draws one             4.3, 4.4
//!  windowed_greedy the best of the oldest w                                      4.5
//!  cost_benefit    the largest age times gain over cost                          4.6
//!  two_region_fifo the oldest below a utilisation that grows                     4.7
//! ```
//!
//! A rule only chooses. When a block is collected, where its pages go and what that costs is the
//! same under every rule.

mod candidates;
mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod queue;
mod two_region_fifo;
mod windowed_greedy;

pub(super) use candidates::{Candidates, SealedBlock};

use crate::config::{DeviceConfig, GcVictim};
use crate::geometry::BlockId;
use destage_core::PlaneId;

/// A victim rule, with what it remembers of every plane.
pub(super) trait Collector {
    /// A full block is no longer written to; some of its pages may be invalid already.
    fn sealed(&mut self, _: SealedBlock, _is_candidate: bool) {}

    /// A page of the block was programmed or became invalid while the clock showed this.
    fn touched(&mut self, _: SealedBlock, _clock: u64) {}

    /// The first page of a sealed block became invalid.
    fn became_candidate(&mut self, _: SealedBlock) {}

    /// The block that the rule names at this clock, of a plane with a candidate or without. Draws
    /// nothing for good: the same question has the same answer until the plane changes.
    fn victim(&self, plane: PlaneId, clock: u64, candidates: &Candidates<'_>) -> Option<u32>;

    /// The same for a collection that begins now: what the rule sees on the way may help it later.
    #[inline]
    fn choose(&mut self, plane: PlaneId, clock: u64, of: &Candidates<'_>) -> Option<u32> {
        self.victim(plane, clock, of)
    }

    /// Hint: a page of this block is about to become invalid.
    #[inline(always)]
    fn prefetch(&self, _: BlockId) {}

    /// That block is going to be collected.
    fn collects(&mut self, _: SealedBlock) {}

    /// Whether the victim depends on the clock: planes then cannot be preconditioned one by one.
    fn uses_clock(&self) -> bool {
        false
    }
}

/// The one table: the word of `gc_victim`, the module and its type.
macro_rules! collectors {
    ($($Word:ident => $module:ident :: $Rule:ident;)*) => {
        /// Whichever collector the device has.
        #[derive(Clone, PartialEq, Debug)]
        pub(in crate::ftl::page) enum AnyCollector {
            $(
                #[doc = concat!("`", stringify!($module), "`.")]
                $Word($module::$Rule),
            )*
        }

        impl AnyCollector {
            /// The collector of a device, at its beginning.
            pub(in crate::ftl::page) fn new(config: &DeviceConfig) -> Self {
                match config.streams.gc_victim {
                    $(GcVictim::$Word => AnyCollector::$Word($module::$Rule::new(config)),)*
                }
            }
        }

        /// Evaluates one expression for the collector in use.
        macro_rules! each {
            ($any:expr, $rule:ident => $body:expr) => {
                match $any { $(AnyCollector::$Word($rule) => $body,)* }
            };
        }
    };
}

collectors! {
    Greedy => greedy::Greedy;
    Fifo => fifo::Fifo;
    Random => d_choices::DChoices;
    DChoices => d_choices::DChoices;
    WindowedGreedy => windowed_greedy::WindowedGreedy;
    CostBenefit => cost_benefit::CostBenefit;
    TwoRegionFifo => two_region_fifo::TwoRegionFifo;
}

impl Collector for AnyCollector {
    #[inline]
    fn sealed(&mut self, block: SealedBlock, is_candidate: bool) {
        each!(self, rule => rule.sealed(block, is_candidate));
    }

    #[inline(always)]
    fn touched(&mut self, block: SealedBlock, clock: u64) {
        each!(self, rule => rule.touched(block, clock));
    }

    #[inline]
    fn became_candidate(&mut self, block: SealedBlock) {
        each!(self, rule => rule.became_candidate(block));
    }

    #[inline]
    fn victim(&self, plane: PlaneId, clock: u64, candidates: &Candidates<'_>) -> Option<u32> {
        each!(self, rule => rule.victim(plane, clock, candidates))
    }

    #[inline]
    fn choose(&mut self, plane: PlaneId, clock: u64, of: &Candidates<'_>) -> Option<u32> {
        each!(self, rule => rule.choose(plane, clock, of))
    }

    #[inline(always)]
    fn prefetch(&self, block: BlockId) {
        each!(self, rule => rule.prefetch(block));
    }

    #[inline]
    fn collects(&mut self, block: SealedBlock) {
        each!(self, rule => rule.collects(block));
    }

    fn uses_clock(&self) -> bool {
        each!(self, rule => rule.uses_clock())
    }
}

/// Length of a window: `permille` of the blocks of a plane, at least one block.
fn window(config: &DeviceConfig) -> usize {
    let blocks = u64::from(config.blocks_per_plane);
    (blocks * u64::from(config.streams.gc_window_permille) / 1000).max(1) as usize
}

#[cfg(test)]
mod tests;
