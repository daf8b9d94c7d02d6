//! What a policy is told of an access, and what its look-up answers.

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
    /// Without a device: one unit for everything.
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
    /// Its logical page number: what clusters and stripes. Equal to `page` in live use.
    pub lpn: Lpn,
    /// Read or write.
    pub op: Op,
    /// First page of its host request.
    pub first_of_request: bool,
    /// With [`Requirements::NEXT_USE`](crate::Requirements): number of the next access to this page, counted in
    /// accesses from 0; [`NEVER`] if there is none, and without that need.
    pub next_use: u64,
    /// With [`Requirements::UNITS`](crate::Requirements): the page's units; else [`Units::NONE`].
    pub units: Units,
    /// In `admit` after a fetch: the submission number of the flash read that fills the page,
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

/// What the look-up found.
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
