//! A page access, and the answers of a policy's look-up.

use crate::types::{Lpn, NEVER, Op, Page, Slot, UnitId};

/// The units a page belongs to, if clean and if dirty (`docs/spec/device-policies.md` 2.2).
///
/// They do not change while the page stays in its state. Under dynamic allocation the dirty one
/// is the common list U, one past the last unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Units {
    /// Unit that holds, or would hold, the page's flash copy.
    pub clean: UnitId,
    /// Unit that a write-back of the page will go to, or list U.
    pub dirty: UnitId,
}

impl Units {
    /// Units without a device: one for everything.
    pub const NONE: Units = Units { clean: UnitId(0), dirty: UnitId(0) };
}

/// One page access.
///
/// The same value goes to [`request`](crate::Policy::request) and, on a miss, to
/// [`admit`](crate::Policy::admit); only `fetch` differs between the two.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The page as the policy's directory names it.
    pub page: Page,
    /// Logical page number, by which policies cluster and devices stripe. Equal to `page` in live
    /// use.
    pub lpn: Lpn,
    /// Read or write.
    pub op: Op,
    /// First page of its host request.
    pub first_of_request: bool,
    /// Number of the next access to this page ([`Requirements::NEXT_USE`](crate::Requirements)),
    /// counted in accesses from 0; [`NEVER`] if there is none, and without that need.
    pub next_use: u64,
    /// Units of the page with [`Requirements::UNITS`](crate::Requirements); else [`Units::NONE`].
    pub units: Units,
    /// Submission number of the flash read that fills the page, in `admit` after a fetch;
    /// counted over all host flash operations of the run; else [`NEVER`].
    pub fetch: u64,
}

impl Request {
    /// An access that carries nothing but page and operation.
    #[inline(always)]
    pub fn new(page: Page, lpn: Lpn, op: Op) -> Self {
        Request {
            page,
            lpn,
            op,
            first_of_request: true,
            next_use: NEVER,
            units: Units::NONE,
            fetch: NEVER,
        }
    }
}

/// Result of a look-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup<M> {
    /// Resident; its slot.
    Hit(Slot),
    /// Not resident, and wants a frame; what the policy learned travels to `evict` and `admit`.
    Miss(M),
    /// Not resident, and is not taken in: a read miss of a write buffer, or a page that an
    /// admission policy refuses. Counts as a miss. A write only if the policy
    /// [writes through](crate::Policy::writes_through).
    Bypass,
}
