//! The way from the host to the flash: command processor, link and write buffer
//! (`docs/spec/device-today.md` 5 and 6).

use super::words::LinkDuplex;
use destage_core::Nanos;
use serde::Serialize;

/// The keys of `[device]` about it. A record has those that are not at their default, so that a
/// drive without any of it is recorded as ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[expect(missing_docs, reason = "named as their keys, which the list describes one by one")]
pub struct InterfaceConfig {
    #[serde(skip_serializing_if = "is_zero")]
    pub command_ns: Nanos,
    /// As `command_ns`, unless the two differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_read_ns: Option<Nanos>,
    /// As `command_ns`, unless the two differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_write_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "is_zero")]
    pub firmware_read_ns: Nanos,
    #[serde(skip_serializing_if = "is_zero")]
    pub firmware_write_ns: Nanos,
    #[serde(skip_serializing_if = "is_zero")]
    pub link_ps_per_byte: u64,
    #[serde(skip_serializing_if = "is_full")]
    pub link_duplex: LinkDuplex,
    #[serde(skip_serializing_if = "is_zero")]
    pub buffer_pages: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_full(duplex: &LinkDuplex) -> bool {
    *duplex == LinkDuplex::Full
}

impl InterfaceConfig {
    /// A drive that acts at once: no command takes time, there is no link and no buffer.
    pub const NONE: InterfaceConfig = InterfaceConfig {
        command_ns: 0,
        command_read_ns: None,
        command_write_ns: None,
        firmware_read_ns: 0,
        firmware_write_ns: 0,
        link_ps_per_byte: 0,
        link_duplex: LinkDuplex::Full,
        buffer_pages: 0,
    };

    /// The first of its keys that changes a run, if one does.
    pub fn acting_key(&self) -> Option<&'static str> {
        [
            ("command_ns", self.command_ns),
            ("command_read_ns", self.command_read_ns.unwrap_or(0)),
            ("command_write_ns", self.command_write_ns.unwrap_or(0)),
            ("firmware_read_ns", self.firmware_read_ns),
            ("firmware_write_ns", self.firmware_write_ns),
            ("link_ps_per_byte", self.link_ps_per_byte),
            ("buffer_pages", self.buffer_pages),
        ]
        .into_iter()
        .find_map(|(key, value)| (value > 0).then_some(key))
    }

    /// Time of a page on the link, nanoseconds (`docs/spec/device-today.md` 5.2); 0: no link.
    pub fn transfer_ns(&self, page_bytes: u32) -> Nanos {
        let ps = u128::from(page_bytes) * u128::from(self.link_ps_per_byte);
        ps.div_ceil(1000) as Nanos // at most LONGEST_NS, checked with the configuration
    }
}
