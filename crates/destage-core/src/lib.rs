//! Types that all parts of Destage share: no I/O, no clock, no policy.
//!
//! ```text
//!  huge      tables with an entry per page, in huge pages of memory
//!  types     Lpn, Page, Slot, Nanos, Op, UnitId, PlaneId
//!  request   what a policy is told of an access, and what it answers
//!  plan      what a policy gives up: pages evicted, groups flushed, pages padded
//!  policy    the trait: request, then (on a miss) evict until there is room, then admit
//!  any       a policy whose type is not known any more
//!  decision  a decision as a line of JSON
//!  device    what a policy may ask the device when it must evict
//!  inside    what a policy shows of itself
//!  pages     page -> slot, and the nodes of all known pages (dense or hashed)
//!  near      pages of small numbers: a table, and a hash map for the rest
//!  list      intrusive lists over those nodes
//!  table     the same with one small value per page in place of a node
//!  queue     FIFOs in an array, from which a page may be taken in the middle
//!  random    numbers drawn from a seed
//!  stack_distance  exact LRU stack distances of accesses to dense page ids
//! ```

pub mod any;
pub mod decision;
pub mod device;
pub mod huge;
pub mod inside;
pub mod list;
mod near;
pub mod pages;
pub mod plan;
pub mod policy;
pub mod queue;
pub mod random;
pub mod request;
pub mod stack_distance;
pub mod table;
pub mod types;

pub use any::AnyPolicy;
pub use device::{Blind, DeviceView, NominalTimes, Unfinished};
pub use inside::Part;
pub use list::List;
pub use near::Near;
pub use pages::{Changes, Dense, Directory, Hashed, Node, Pages, PerSlot};
pub use plan::{Evicted, Group, Pad, PadRun, Pads, Plan};
pub use policy::{Completion, Policy, Requirements, VictimList};
pub use queue::{Places, Queue};
pub use random::SplitMix64;
pub use request::{Lookup, Request, Units};
pub use table::{Brief, Entry, Table};
pub use types::{Lpn, NEVER, Nanos, Op, Page, PlaneId, Slot, UnitId};

/// Frames that a fraction of a size stands for: `floor(f * size + 0.5)`, in binary64.
///
/// Half a frame rounds up (`docs/spec/page-policies.md` 2.6). `fraction` is finite and not
/// negative.
pub fn share(fraction: f64, size: u32) -> u32 {
    debug_assert!(fraction.is_finite() && fraction >= 0.0);
    (fraction * f64::from(size) + 0.5).floor() as u32
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn half_a_frame_rounds_up() {
        assert_eq!(share(0.5, 3), 2);
        assert_eq!(share(0.25, 1), 0);
        assert_eq!(share(1.0 / 3.0, 4), 1);
        assert_eq!(share(16.0, 10), 160);
    }
}
