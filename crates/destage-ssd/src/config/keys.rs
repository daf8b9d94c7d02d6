//! Value types that the keys of several tables share.

use super::limits::MOST_PAGES;
use destage_keys::{IfAbsent, Key, Kind};

/// A number of pages, blocks or parts of a drive.
pub const COUNT: Kind = Kind::int(1, MOST_PAGES);

/// A row of a table: name, type and range, default, unit, one line about it.
pub const fn key(
    name: &'static str,
    kind: Kind,
    default: IfAbsent,
    unit: &'static str,
    about: &'static str,
) -> Key {
    Key::new(name, kind, default).unit(unit).about(about)
}

/// Accepted values of a key, worded to follow "expected" in a message and for documentation.
pub fn takes(kind: Kind) -> String {
    match kind {
        Kind::Real { min, max } if max.is_infinite() => format!("number >= {min}"),
        Kind::Real { .. } => format!("number {kind}"),
        other => other.to_string(),
    }
}
