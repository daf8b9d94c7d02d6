//! Counters of the host interface, handles, SLC cache and trims (`docs/spec/device-today.md` 10).

use super::Device;
use crate::ftl::Ftl;
use destage_core::Nanos;
use serde::{Deserialize, Serialize};

/// Counters of the host interface, handles, SLC cache and trims (`docs/spec/device-today.md` 10).
/// They cover the measured part only; `slc_block_erases_max` covers the device's life.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the table of section 10 says what each one is, name by name")]
pub struct InterfaceCounters {
    pub trimmed_pages: u64,
    pub trim_misses: u64,
    pub commands: u64,
    pub link_busy_ns: Nanos,
    /// Pages that crossed the link; like the next one in no vector, since the section has it not.
    #[serde(default)]
    pub link_transfers: u64,
    /// From when they were ready.
    #[serde(default)]
    pub link_wait_ns_sum: Nanos,
    pub buffer_writes: u64,
    pub buffer_waits: u64,
    pub buffer_wait_ns_sum: Nanos,
    pub buffer_reads: u64,
    pub slc_programs: u64,
    pub slc_migrations: u64,
    pub slc_folds: u64,
    pub slc_erases: u64,
    pub slc_block_erases_max: u64,
    /// By handle, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handle_programs: Vec<u64>,
    /// By handle, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handle_moves: Vec<u64>,
    /// By write point, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stream_programs: Vec<u64>,
}

impl InterfaceCounters {
    /// Counters that conformance vectors do not list.
    pub const BEYOND_VECTORS: &'static [&'static str] = &["link_transfers", "link_wait_ns_sum"];

    /// Counts since `before`.
    #[must_use]
    pub fn since(mut self, before: &InterfaceCounters) -> Self {
        for (all, before) in [
            (&mut self.trimmed_pages, before.trimmed_pages),
            (&mut self.trim_misses, before.trim_misses),
            (&mut self.commands, before.commands),
            (&mut self.link_busy_ns, before.link_busy_ns),
            (&mut self.link_transfers, before.link_transfers),
            (&mut self.link_wait_ns_sum, before.link_wait_ns_sum),
            (&mut self.buffer_writes, before.buffer_writes),
            (&mut self.buffer_waits, before.buffer_waits),
            (&mut self.buffer_wait_ns_sum, before.buffer_wait_ns_sum),
            (&mut self.buffer_reads, before.buffer_reads),
            (&mut self.slc_programs, before.slc_programs),
            (&mut self.slc_migrations, before.slc_migrations),
            (&mut self.slc_folds, before.slc_folds),
            (&mut self.slc_erases, before.slc_erases),
        ] {
            *all -= before;
        }
        for (all, before) in [
            (&mut self.handle_programs, &before.handle_programs),
            (&mut self.handle_moves, &before.handle_moves),
            (&mut self.stream_programs, &before.stream_programs),
        ] {
            for (all, before) in all.iter_mut().zip(before) {
                *all -= before;
            }
        }
        self
    }
}

impl Device {
    /// From now on, [`counters`](Device::counters) has those of `docs/spec/device-today.md` 10,
    /// which it otherwise has of a drive with a key of its section 3 alone.
    pub fn count_interface(&mut self) {
        self.counts_interface = true;
    }

    /// All of them.
    pub(super) fn interface_counts(&self) -> InterfaceCounters {
        let interface = self.interface.as_ref().map(|interface| interface.counts());
        let interface = interface.unwrap_or_default();
        let slc = self.ftl.slc_counts().unwrap_or_default();
        let streams = self.ftl.stream_counts().cloned().unwrap_or_default();
        let [trimmed_pages, trim_misses] = self.trims;
        InterfaceCounters {
            trimmed_pages,
            trim_misses,
            commands: self.commands,
            link_busy_ns: interface.link_busy_ns,
            link_transfers: interface.link_transfers,
            link_wait_ns_sum: interface.link_wait_ns_sum,
            buffer_writes: interface.buffer_writes,
            buffer_waits: interface.buffer_waits,
            buffer_wait_ns_sum: interface.buffer_wait_ns_sum,
            buffer_reads: interface.buffer_reads,
            slc_programs: slc.programs,
            slc_migrations: slc.migrations,
            slc_folds: slc.folds,
            slc_erases: slc.folds,
            slc_block_erases_max: slc.block_erases_max,
            handle_programs: streams.handle_programs,
            handle_moves: streams.handle_moves,
            stream_programs: streams.stream_programs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_before_is_taken_off_each_count() {
        let none = InterfaceCounters::default;
        let before = InterfaceCounters { commands: 4, handle_programs: vec![1, 2], ..none() };
        let all = InterfaceCounters {
            commands: 9,
            slc_programs: 7,
            handle_programs: vec![5, 2],
            ..none()
        };
        let since = InterfaceCounters { commands: 5, slc_programs: 7, ..none() };
        let want = InterfaceCounters { handle_programs: vec![4, 0], ..since };
        assert_eq!(all.since(&before), want);
    }
}
