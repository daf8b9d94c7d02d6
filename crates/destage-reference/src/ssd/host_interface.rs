//! The device section's keys of `docs/spec/device-today.md` 3.

use super::collectors;
use crate::Params;

/// Where collected pages go (7.3).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isolation {
    Initial,
    Persistent,
    Assigned,
}

/// Keys of the host interface, the SLC cache and the handles, with every default filled in.
pub(crate) struct HostInterface {
    pub(crate) command_ns: u64,
    pub(crate) command_read_ns: u64,
    pub(crate) command_write_ns: u64,
    pub(crate) firmware_read_ns: u64,
    pub(crate) firmware_write_ns: u64,
    pub(crate) page_link_ns: u64, // x_L
    pub(crate) half_duplex: bool,
    pub(crate) buffer_pages: u64,        // P
    pub(crate) slc_blocks: u64,          // S, of a plane
    pub(crate) slc_pages_per_block: u64, // N_s
    pub(crate) slc_read_ns: u64,
    pub(crate) slc_program_ns: u64,
    pub(crate) slc_erase_ns: u64,
    /// A host program has a block folded where the SLC cache is full.
    pub(crate) slc_folds: bool,
    slc_idle: bool,
    pub(crate) handles: usize, // H
    pub(crate) isolation: Isolation,
    pub(crate) own_gc_stream: bool,
    pub(crate) by_generation: bool, // `docs/spec/collectors.md` 6
    map_stream: bool,               // `docs/spec/map-cache.md` 3
}

impl HostInterface {
    /// A device section; a record has nothing of a part that the device does not have.
    pub(crate) fn of(s: &Params<'_>) -> HostInterface {
        let n = |key: &str| s.integer(key).unwrap_or(0);
        let is = |key: &str, word: &str| s.text(key) == Some(word);
        HostInterface {
            command_ns: n("command_ns"),
            command_read_ns: s.integer("command_read_ns").unwrap_or(n("command_ns")),
            command_write_ns: s.integer("command_write_ns").unwrap_or(n("command_ns")),
            firmware_read_ns: n("firmware_read_ns"),
            firmware_write_ns: n("firmware_write_ns"),
            page_link_ns: (n("page_bytes") * n("link_ps_per_byte")).div_ceil(1000),
            half_duplex: is("link_duplex", "half"),
            buffer_pages: n("buffer_pages"),
            slc_blocks: n("slc_blocks"),
            slc_pages_per_block: n("slc_pages_per_block"),
            slc_read_ns: n("slc_read_ns"),
            slc_program_ns: n("slc_program_ns"),
            slc_erase_ns: n("slc_erase_ns"),
            slc_folds: is("slc_policy", "fold"),
            slc_idle: s.flag("slc_idle"),
            handles: usize::try_from(n("handles").max(1)).expect("at most 8"),
            isolation: match s.text("isolation") {
                Some("persistent") => Isolation::Persistent,
                Some("assigned") => Isolation::Assigned,
                _ => Isolation::Initial,
            },
            own_gc_stream: collectors::stream(s) == "own",
            by_generation: collectors::stream(s) == "by-generation",
            map_stream: s.get("map_cache").is_some(),
        }
    }

    /// Write points of a plane, that of map pages included.
    pub(crate) fn write_points(&self) -> usize {
        self.streams() + usize::from(self.map_stream)
    }

    /// A, of a plane (7.1).
    pub(crate) fn streams(&self) -> usize {
        match (self.own_gc_stream, self.isolation) {
            (_, Isolation::Persistent) if self.by_generation => 3 * self.handles,
            _ if self.by_generation => self.handles + 2,
            (false, _) => self.handles,
            (true, Isolation::Persistent) => 2 * self.handles,
            (true, _) => self.handles + 1,
        }
    }

    pub(crate) fn folds_when_idle(&self) -> bool {
        self.slc_idle && self.slc_blocks > 0
    }
}
