//! What the FTLs of `docs/spec/ftl.md` count (1.4).

use serde::{Deserialize, Serialize};

macro_rules! counters {
    ($($(#[$about:meta])* $name:ident,)*) => {
        /// The counters of section 1.4, and three of log blocks beside them; what an FTL has none
        /// of is 0.
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
        pub struct FtlCounters { $($(#[$about])* pub $name: u64,)* }

        impl FtlCounters {
            /// Every name, in order.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// A counter by its name.
            pub fn get(&self, name: &str) -> Option<u64> {
                match name { $(stringify!($name) => Some(self.$name),)* _ => None }
            }

            fn each(&mut self, other: &Self, apply: impl Fn(&mut u64, u64)) {
                $(apply(&mut self.$name, other.$name);)*
            }
        }
    };
}

counters! {
    /// Reads received.
    host_reads,
    /// Writes received.
    host_writes,
    /// Reads of pages never written.
    unmapped_reads,
    /// Pages read of the flash, for whatever reason.
    flash_reads,
    /// Pages programmed, for whatever reason.
    flash_programs,
    /// Blocks erased.
    erases,
    /// BAST, FAST: merges in which a log block became the data block as it was.
    switch_merges,
    /// BAST, FAST: merges in which a log block became the data block after copies into it.
    partial_merges,
    /// BAST, FAST: merges of data block and log blocks into a free block.
    full_merges,
    /// BAST, FAST: pages read by merges.
    merge_reads,
    /// BAST, FAST: pages programmed by merges.
    merge_programs,
    /// page-ideal, DFTL: data blocks collected.
    gc_runs,
    /// page-ideal, DFTL: data pages copied by that.
    gc_copies,
    /// DFTL: translation blocks collected.
    gc_translation_runs,
    /// DFTL: translation pages read, for whatever reason.
    translation_reads,
    /// DFTL: translation pages programmed, for whatever reason.
    translation_writes,
    /// DFTL: look-ups that found their entry in the cached mapping table.
    cmt_hits,
    /// DFTL: look-ups that did not.
    cmt_misses,
    /// DFTL: entries that left the cached mapping table.
    cmt_evictions,
    /// DFTL: those of them that were dirty.
    cmt_dirty_evictions,
    /// DFTL: entries that a collection changed in the cached mapping table alone.
    lazy_updates,
    /// DFTL: dirty entries that were written back with another one.
    batched_entries,
    /// BAST, FAST: log blocks that were allocated.
    log_blocks_taken,
    /// BAST, FAST: pages programmed in log blocks for the host.
    log_pages,
    /// BAST, FAST: most log blocks in use at a time.
    log_blocks_used_max,
    /// Largest number of erases of one block.
    max_erase_count,
    /// Length of the free queue at the end.
    free_blocks,
}

impl FtlCounters {
    /// What was counted since these were `before`. The three states of the flash stay as they are:
    /// `log_blocks_used_max`, `max_erase_count` and `free_blocks`.
    pub fn since(mut self, before: &FtlCounters) -> FtlCounters {
        let now = self;
        self.each(before, |count, before| *count = count.wrapping_sub(before));
        self.log_blocks_used_max = now.log_blocks_used_max;
        self.max_erase_count = now.max_erase_count;
        self.free_blocks = now.free_blocks;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [&str; 3] = ["log_blocks_used_max", "max_erase_count", "free_blocks"];

    #[test]
    fn counts_are_taken_from_an_instant_and_states_as_they_are() {
        let mut late = FtlCounters::default();
        late.each(&FtlCounters::default(), |count, _| *count = 9);
        let mut early = FtlCounters::default();
        early.each(&late, |count, _| *count = 4);
        let since = late.since(&early);
        for name in FtlCounters::NAMES {
            let expected = if STATES.contains(name) { 9 } else { 5 };
            assert_eq!(since.get(name), Some(expected), "{name}");
        }
        assert_eq!(since.get("gc_moves"), None);
    }
}
