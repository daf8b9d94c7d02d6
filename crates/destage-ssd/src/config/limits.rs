//! How large a drive and how long a time may be.

/// Most physical pages of a drive: page numbers are 32 bits wide, and one of them means "none".
pub const MOST_PAGES: u64 = u32::MAX as u64 - 1;

/// Longest single time, nanoseconds (ten seconds): a billion of them fit into 64 bits.
pub const LONGEST_NS: u64 = 10_000_000_000;
