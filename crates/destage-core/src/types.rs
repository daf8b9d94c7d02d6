//! The small types, so that two bare integers are never swapped.

/// A page as the directory in use names it: a dense id in a replay, the LPN in live use.
///
/// A policy never looks inside: it hands the page back in its [`Plan`](crate::Plan).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Page(pub u64);

/// Logical page number: byte address divided by the page size, in the one address space of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lpn(pub u64);

/// Index of a page's node in [`Pages`](crate::Pages); a page keeps it while it is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Slot(pub u32);

impl Slot {
    /// The slot as an index of a slice.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Time or duration, nanoseconds.
pub type Nanos = u64;

/// Next use of a page that is never used again; also a stamp that was never given.
pub const NEVER: u64 = u64::MAX;

/// Operation of an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// The page is wanted.
    Read,
    /// The whole page is replaced.
    Write,
}

impl Op {
    /// True for a write.
    #[inline(always)]
    pub fn is_write(self) -> bool {
        matches!(self, Op::Write)
    }
}

/// A flash unit: what has a queue of its own (a chip in ECR, a die in ONFI's words).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnitId(pub u32);

impl UnitId {
    /// The number as an index of a slice.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A plane, counted over the whole drive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PlaneId(pub u32);

impl PlaneId {
    /// The number as an index of a slice.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
