//! Requests of a surrogate trace before they have addresses.

use rand_pcg::Pcg64;

use super::recipe::Recipe;
use crate::random::unit;

/// Room is made for so many requests at once.
pub(super) const AT_ONCE: u64 = 1 << 24;
/// Requests between two looks at whether a load is still wanted.
pub(super) const LOOK: u64 = 1 << 16;

/// Target of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestTarget {
    /// An extent, whole.
    Extent(u32),
    /// The log, from this page of it on; a write.
    Log(u32),
}

/// One request, without its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// When it comes, ns.
    pub time_ns: u64,
    /// Target.
    pub asked: RequestTarget,
    /// Length, pages.
    pub pages: u32,
    /// Whether it writes.
    pub writes: bool,
}

/// Extents and their groups.
#[derive(Clone, Default, Debug)]
pub struct Extents {
    /// Pages of each extent.
    pub pages: Vec<u32>,
    /// Group of each extent: what lies side by side, in the order of the extents.
    pub groups: Vec<u32>,
}

/// A load without addresses.
#[derive(Clone, Debug)]
pub struct SurrogateTrace {
    /// Recipe that it was generated from.
    pub recipe: Recipe,
    /// Requests, in the order of their times.
    pub requests: Vec<Request>,
    /// Extents that requests refer to.
    pub extents: Extents,
    /// Pages of the log.
    pub log_pages: u32,
}

/// Geometric from 1 on, `longest` at most.
pub(super) fn length(random: &mut Pcg64, mean: f64, longest: u64) -> u32 {
    if mean <= 1.0 {
        return 1;
    }
    let further = (1.0 - unit(random)).ln() / (1.0 - 1.0 / mean).ln();
    (1 + further as u64).min(longest) as u32
}
