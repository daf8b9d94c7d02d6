//! A request on its way: what is asked, what was decided, what that asks for.

use crate::counters::{PolicyCounters, TrimCounters};
use crate::frame::Frame;
use crate::known::Known;
use crate::record::{Lines, Record};
use crate::resident::Resident;
use crate::table::Table;
use destage_core::{Op, Pad, Plan, Request, decision};
use std::ops::Range;
use std::sync::Arc;

/// Counters and records of decisions.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) known: Known,
    pub(crate) resident: Resident,
    pub(crate) counters: PolicyCounters,
    pub(crate) trims: TrimCounters,
    pub(crate) record: Option<Record>,
    pub(crate) decisions: Option<Decisions>,
}

/// Decisions as JSON lines.
pub(crate) struct Decisions {
    pub(crate) lines: Lines,
    pub(crate) index: u64,
}

/// Work of decisions: store writes, and a reply that is not sent before its time.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) groups: Vec<Group>,
    /// Dirty pages that the policy evicted as clean.
    pub(crate) late: Vec<Arc<Frame>>,
    /// Pages of groups that are in memory no more.
    pub(crate) gone: usize,
    /// A dirty page has been evicted.
    pub(crate) dirty_victim: bool,
    /// When the simulated SSD has served all requests, nanoseconds.
    pub(crate) completion_ns: Option<u64>,
}

impl Work {
    /// The store, or a counter, has to do with it.
    #[inline]
    pub(crate) fn is_some(&self) -> bool {
        !(self.groups.is_empty() && self.late.is_empty() && self.gone == 0)
    }
}

/// One flush group; its frames are pinned.
pub(crate) struct Group {
    pub(crate) frames: Vec<Arc<Frame>>,
    pub(crate) pads: Vec<Pad>,
}

/// An access that has been decided; its frame has a user for it.
pub(crate) struct Access {
    pub(crate) frame: Arc<Frame>,
    pub(crate) op: Op,
    /// Missed: it makes the bytes valid, and one of the frame's fillers stands for it.
    pub(crate) fills: bool,
    /// Missed: what it fetches is no refetch.
    pub(crate) missed: bool,
    /// A write that the policy bypassed.
    pub(crate) through: bool,
    /// It has the latch that its `op` asks for.
    pub(crate) latched: bool,
}

/// Accesses of a request, in order; those carried out are taken out. Most requests have one, which
/// is kept without an allocation.
#[derive(Default)]
pub(crate) struct Accesses {
    first: Option<Access>,
    others: Vec<Option<Access>>,
    length: usize,
}

impl Accesses {
    #[inline]
    pub(crate) fn push(&mut self, access: Access) {
        match self.length {
            0 => self.first = Some(access),
            _ => self.others.push(Some(access)),
        }
        self.length += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    #[inline]
    pub(crate) fn at(&mut self, at: usize) -> &mut Option<Access> {
        match at {
            0 => &mut self.first,
            _ => &mut self.others[at - 1],
        }
    }

    /// The accesses that have not been carried out.
    #[inline]
    pub(crate) fn left(&self) -> impl Iterator<Item = &Access> {
        self.first.iter().chain(self.others.iter().flatten())
    }
}

/// A request to decide: its bytes, and the pages that they touch or, of a trim, cover.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) op: Op,
    pub(crate) bytes: Range<u64>,
    pub(crate) pages: Range<u64>,
    /// A hit takes its latch at once, where it is free: the request has one page alone, so its
    /// thread waits for no other page meanwhile.
    pub(crate) latches: bool,
}

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Done {
    /// When the simulated SSD would have answered, nanoseconds; `None` without one.
    pub completion_ns: Option<u64>,
}

impl Done {
    /// Both have ended.
    #[must_use]
    pub fn and(self, other: Done) -> Done {
        Done { completion_ns: self.completion_ns.max(other.completion_ns) }
    }
}

impl Log {
    /// A page has been trimmed out of the cache.
    pub(crate) fn forgotten(&mut self, table: &Table, page: u64, dirty: bool) {
        self.trims.trim_cache_drops += 1;
        self.trims.trim_dirty_drops += u64::from(dirty);
        self.resident.remove(page);
        table.let_go(page, |_, state| {
            state.resident = false;
            state.stay = state.stay.wrapping_add(1);
        });
    }

    /// A line of the decisions.
    #[inline]
    pub(crate) fn decided(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        if let Some(decisions) = &mut self.decisions {
            decisions.append(r, hit, plan);
        }
    }
}

impl Decisions {
    fn append(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        decision::append_line(&mut self.lines.buffer, self.index, r, hit, plan, |page| page.0);
        self.index += 1;
        self.lines.appended();
    }
}
