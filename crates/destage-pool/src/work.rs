//! A request on its way: what is asked, what was decided, what that asks for.

use crate::counters::{PolicyCounters, TrimCounters};
use crate::frame::Frame;
use crate::known::Known;
use crate::record::{Lines, Record};
use crate::table::Table;
use destage_core::{Op, Pad, Plan, Request, decision};
use std::ops::Range;
use std::sync::Arc;

/// Counters and records of decisions.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) known: Known,
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
}

/// A request to decide: its bytes, and the pages that they touch or, of a trim, cover.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) op: Op,
    pub(crate) bytes: Range<u64>,
    pub(crate) pages: Range<u64>,
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
        let is_free = table.with(page, |_, state| {
            state.resident = false;
            state.stay += 1;
            state.is_free()
        });
        if is_free == Some(true) {
            table.remove_if_free(page);
        }
    }

    /// A line of the decisions.
    pub(crate) fn decided(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        let Some(log) = &mut self.decisions else { return };
        decision::append_line(&mut log.lines.buffer, log.index, r, hit, plan, |page| page.0);
        log.index += 1;
        log.lines.appended();
    }
}
