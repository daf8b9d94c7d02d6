//! How large a drive and how long a time may be.

/// Most physical pages of a drive: page numbers are 32 bits wide, and one of them means "none".
pub const MOST_PAGES: u64 = u32::MAX as u64 - 1;

/// Longest single time, nanoseconds (ten seconds): a billion of them fit into 64 bits.
pub const LONGEST_NS: u64 = 10_000_000_000;

/// Latest instant of a run, nanoseconds (146 years): no request arrives later, and no drive is at
/// work for longer. What one access adds to it then still ends below 2^63, where instants end that
/// have no name ([`PendingTime`](crate::PendingTime)); and no sum of what a unit or a link did at
/// one time after
/// the other is greater than the instant at which it ends.
pub const LAST_NS: u64 = 1 << 62;
