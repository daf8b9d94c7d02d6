//! Handles and write points (`docs/spec/device-today.md` 7).

use super::words::{GcStream, Isolation};
use serde::Serialize;

/// The keys of `[device]` about them. A record has those that are not at their default, so that a
/// drive of one handle is recorded as ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[expect(missing_docs, reason = "named as their keys, which the list describes one by one")]
pub struct StreamsConfig {
    #[serde(skip_serializing_if = "is_one")]
    pub handles: u32,
    #[serde(skip_serializing_if = "is_initial")]
    pub isolation: Isolation,
    #[serde(skip_serializing_if = "is_shared")]
    pub gc_stream: GcStream,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_one(handles: &u32) -> bool {
    *handles == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_initial(isolation: &Isolation) -> bool {
    *isolation == Isolation::Initial
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_shared(stream: &GcStream) -> bool {
    *stream == GcStream::Shared
}

impl StreamsConfig {
    /// One handle, and one open block a plane.
    pub const ONE: StreamsConfig =
        StreamsConfig { handles: 1, isolation: Isolation::Initial, gc_stream: GcStream::Shared };

    /// A: places of a plane that have an open block of their own (7.1).
    pub fn write_points(&self) -> u32 {
        match (self.gc_stream, self.isolation) {
            (GcStream::Shared, _) => self.handles,
            (GcStream::Own, Isolation::Persistent) => 2 * self.handles,
            (GcStream::Own, _) => self.handles + 1,
        }
    }
}
