//! The SLC cache (`docs/spec/device-today.md` 9).

use super::words::SlcPolicy;
use destage_core::Nanos;
use serde::Serialize;

/// The keys of `[device]` about it, of a drive that has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[expect(missing_docs, reason = "named as their keys, which the list describes one by one")]
pub struct SlcConfig {
    pub slc_blocks: u32,
    pub slc_pages_per_block: u32,
    pub slc_read_ns: Nanos,
    pub slc_program_ns: Nanos,
    pub slc_erase_ns: Nanos,
    pub slc_policy: SlcPolicy,
    pub slc_idle: bool,
}
