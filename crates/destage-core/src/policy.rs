//! The policy interface: one look-up, on a miss as many evictions as it takes, then admission.
//!
//! ```text
//!             ┌───────────── Hit(slot) ─────────────────────────▶ done
//!  request ───┤                     ┌──────────┐
//!             ├── Miss(m) ─────────▶│ evict(m) │──▶ admit(r, m) ──▶ done
//!             │                     └──────────┘
//!             │              while no frame is free
//!             └── Bypass ───────────────────────────────────────▶ done
//! ```
//!
//! The engine owns the clock, the device, the "until there is room" loop and every counter, so no
//! policy can count differently. What the look-up learned ("the page was a ghost in B2") travels
//! as a value in [`Policy::Miss`], so the eviction that follows cannot destroy it; what an eviction
//! learns for the admission goes into the same value.

use crate::{DeviceView, Lookup, Nanos, Page, Part, Plan, Request, Slot, UnitId};

/// Requirements of a policy beyond the access itself; a run that cannot supply them is refused when
/// it is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Requirements(u8);

impl Requirements {
    /// Nothing: page and operation are enough.
    pub const NONE: Requirements = Requirements(0);
    /// The number of the page's next access, in [`Request::next_use`].
    pub const NEXT_USE: Requirements = Requirements(1);
    /// The page's units, in [`Request::units`].
    pub const UNITS: Requirements = Requirements(2);
    /// The units in garbage collection, from [`DeviceView::in_gc`].
    pub const GC_STATE: Requirements = Requirements(4);
    /// The stream of submissions and completions, in [`Policy::fetched`] and [`Policy::destaged`].
    pub const COMPLETIONS: Requirements = Requirements(8);
    /// Latencies of operations where there is a device: without one the policy assumes nominal
    /// times, and a result says so.
    pub const LATENCIES: Requirements = Requirements(16);
    /// The instants in which a unit of the device is idle, in [`Policy::idle`], where there is a
    /// device.
    pub const IDLE: Requirements = Requirements(32);

    /// Both.
    pub const fn and(self, other: Requirements) -> Requirements {
        Requirements(self.0 | other.0)
    }

    /// All of `other` is in `self`.
    pub const fn contains(self, other: Requirements) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the policy gets submissions and completions, if there is a device.
    pub const fn completions(self) -> bool {
        self.0 & (Requirements::COMPLETIONS.0 | Requirements::LATENCIES.0) != 0
    }

    /// Something that only a run with a device supplies.
    pub const fn device(self) -> bool {
        self.0 & (Requirements::UNITS.0 | Requirements::GC_STATE.0 | Requirements::COMPLETIONS.0)
            != 0
    }
}

/// A flash operation that the buffer caused, and that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Page of the operation; `None` for a padding page that has no name in this run.
    pub page: Option<Page>,
    /// Number of the operation among all host flash operations of the run, by submission, from 0.
    pub submission: u64,
    /// Submission to end, nanoseconds: queueing and collections are inside.
    pub latency_ns: Nanos,
    /// The part of it in which the unit worked for this page, nanoseconds: the operation and what
    /// the FTL had to do for it first. What a drive that serves one page at a time would have
    /// taken.
    pub service_ns: Nanos,
}

/// A list of resident pages that leave in its order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VictimList {
    /// All pages, in the order of [`Policy::next_victims`]: of a policy with an order.
    All,
    /// Pages that were used once, of a policy that keeps them apart.
    Recent,
    /// Pages that were used again, of such a policy.
    Frequent,
}

/// A cache or write-buffer policy: decides which pages stay.
///
/// An implementation keeps its own lists and the dirty bit of every resident page, and nothing
/// else: no clock, and no counter of what the engine counts for every policy alike. Randomness
/// comes from a seed in its parameters.
pub trait Policy {
    /// State of a miss, from the look-up to the admission.
    type Miss;

    /// Requirements of a run. A constant, so that the replay loop leaves out what is not needed.
    const REQUIREMENTS: Requirements = Requirements::NONE;

    /// [`REQUIREMENTS`](Policy::REQUIREMENTS) of this policy: what the loops ask, so that one whose
    /// type is not known ([`AnyPolicy`](crate::AnyPolicy)) can answer too.
    #[inline(always)]
    fn requirements(&self) -> Requirements {
        Self::REQUIREMENTS
    }

    /// Whether it reads [`Request::lpn`] of most accesses: the replay loop then brings the LPNs
    /// near. A policy without this flag may read it, too.
    const READS_LPN: bool = false;

    /// Looks the page up; a hit also runs the policy's hit rule. Never evicts.
    fn request(&mut self, r: &Request) -> Lookup<Self::Miss>;

    /// Gives up at least one page. Only called while every frame is taken; what it leaves in `miss`
    /// the next eviction and the admission find.
    fn evict(&mut self, miss: &mut Self::Miss, device: &dyn DeviceView, plan: &mut Plan);

    /// Takes the page in: clean after a read, dirty after a write. A frame is free.
    fn admit(&mut self, r: &Request, miss: Self::Miss) -> Slot;

    /// Frames of the buffer, at least 1.
    fn frames(&self) -> u32;

    /// Pages resident now, at most [`frames`](Policy::frames).
    fn resident(&self) -> u32;

    /// Every resident page with its dirty bit, in any order.
    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool));

    /// Resident pages that are dirty; asked once, at the end of a run.
    fn dirty_pages(&self) -> u64 {
        let mut dirty = 0;
        self.for_each_resident(&mut |_, is_dirty| dirty += u64::from(is_dirty));
        dirty
    }

    /// A write that it answers with [`Lookup::Bypass`] goes through to flash. Where this is not
    /// said, such an answer is a lost write, and an error. Always the same answer.
    #[inline(always)]
    fn writes_through(&self) -> bool {
        false
    }

    /// Whether it asks for [`DeviceView::unfinished`]. A device counts operations by kind only if
    /// told to before its first: that takes a queue per unit.
    fn counts_operations(&self) -> bool {
        false
    }

    /// A flash read that the buffer caused has ended. Comes before `request` (in an untimed run
    /// before `admit`), in the order of ends.
    fn fetched(&mut self, _: &Completion) {}

    /// A flash program that the buffer caused has ended.
    fn destaged(&mut self, _: &Completion) {}

    /// Whether it has an order of eviction: [`next_victims`](Policy::next_victims) shows it, and
    /// [`cleaned`](Policy::cleaned) may be called. A constant, so that who needs it can refuse the
    /// others when a run is built.
    const ORDERED: bool = false;

    /// Shows the resident pages, each with its dirty bit, in the order in which it would evict them
    /// if every access from now on were the write of a new page; as many as `show` wants, which
    /// answers whether it wants another. Changes nothing.
    fn next_victims(&self, _show: &mut dyn FnMut(Page, bool) -> bool) {}

    /// Shows the resident pages of one of its lists, each with its dirty bit, from the page that
    /// would leave first, or with `newest_first` from the one that would leave last; as many as
    /// `show` wants, as [`next_victims`](Policy::next_victims). A list that it does not keep is
    /// empty. Changes nothing.
    fn show_list(
        &self,
        list: VictimList,
        newest_first: bool,
        show: &mut dyn FnMut(Page, bool) -> bool,
    ) {
        match (list, newest_first) {
            (VictimList::All, false) => self.next_victims(show),
            (VictimList::All, true) => {
                let mut pages = Vec::with_capacity(self.resident() as usize);
                self.next_victims(&mut |page, dirty| {
                    pages.push((page, dirty));
                    true
                });
                pages.into_iter().rev().all(|(page, dirty)| show(page, dirty));
            }
            _ => {}
        }
    }

    /// Pages will be [`cleaned`](Policy::cleaned) out of turn: also while clean pages come before
    /// them in the order. Called before the first access, if at all: a policy may have to remember
    /// more for it.
    fn keep_order(&mut self) {}

    /// A resident dirty page has been written to the device, and stays, at its place: it is clean
    /// from now on. Without [`keep_order`](Policy::keep_order) only the first page of the order, or
    /// the next one after those that were cleaned since it was.
    fn cleaned(&mut self, _: Page) {}

    /// Called with [`Requirements::IDLE`] when a unit of the device has nothing to do
    /// (`docs/spec/writer.md`, 5). The policy may write back pages that stay
    /// ([`Plan::flush_and_keep`]); it evicts none and pads none.
    fn idle(&mut self, _: UnitId, _: &dyn DeviceView, _: &mut Plan) {}

    /// The host has trimmed the page, resident or not: it leaves every list that names it, ghosts
    /// too, without being written. Its dirty bit if it was resident; its frame is free then. What
    /// else there is keeps its order, a hand on the page moves on as if it had been evicted, and
    /// what is not kept by page (targets, periods, sketches) stays
    /// (`docs/spec/device-today.md` 4.2).
    ///
    /// Never between a miss and its admission.
    fn forget(&mut self, _: Page) -> Option<bool> {
        None
    }

    /// Whether [`forget`](Policy::forget) works. It does for every policy of the table; one of the
    /// user's own may not, and a run with trims refuses it.
    fn forgets(&self) -> bool {
        true
    }

    /// Hint, some accesses ahead: this page is about to be looked up. Must not change a decision.
    ///
    /// No hint may panic for a page that the run does not have: the first page of a request without
    /// pages may be one past the last.
    #[inline(always)]
    fn prefetch(&self, _: Page) {}

    /// Hint, a few accesses ahead and after [`prefetch`](Policy::prefetch): fetch what hangs on the
    /// page's node, such as its neighbours in a list.
    #[inline(always)]
    fn prefetch_links(&self, _: Page) {}

    /// Hint, the last before the access: fetch what [`prefetch_links`](Policy::prefetch_links) has
    /// brought the way to.
    #[inline(always)]
    fn prefetch_neighbours(&self, _: Page) {}

    /// Hint, after an eviction: a page that is likely to leave some evictions from now, so that
    /// what its write-back touches can be brought near. Only if that is cheap to say.
    #[inline(always)]
    fn coming_victim(&self) -> Option<Page> {
        None
    }

    /// Counters that only this policy has, such as hits by list, by name, since the start.
    fn counters(&self, _count: &mut dyn FnMut(&'static str, u64)) {}

    /// Current values that it adapts, such as ARC's p, by name; always the same names
    /// in the same order, for plots over time.
    fn gauges(&self, _show: &mut dyn FnMut(&'static str, f64)) {}

    /// Keeps from now on what [`inside`](Policy::inside) shows of past periods. Called before the
    /// first access, if at all: such a record grows with the run.
    fn keep_periods(&mut self) {}

    /// Its lists and other state, each under its name; newest first where there is an
    /// order.
    fn inside(&self) -> Vec<(&'static str, Part)> {
        Vec::new()
    }

    /// Asserts every invariant of the policy's state. Slow; for tests, fuzzers and `--check`.
    fn check(&self) {}
}
