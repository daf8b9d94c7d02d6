//! Decisions: what the policy says to each access, under the pool's one lock and without I/O.

use crate::counters::{PolicyCounters, TrimCounters};
use crate::frame::{Frame, Mark};
use crate::known::Known;
use crate::record::{Lines, Record, Recorded};
use crate::table::Table;
use destage_core::{AnyPolicy, Blind, Lookup, Lpn, Op, Pad, Page, Plan, Policy, Request, decision};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// The policy, and all that has to follow its order.
pub(crate) struct Core {
    pub(crate) policy: AnyPolicy,
    plan: Plan,
    known: Known,
    pub(crate) counters: PolicyCounters,
    pub(crate) trims: TrimCounters,
    pub(crate) record: Option<Record>,
    pub(crate) decisions: Option<Decisions>,
    /// Ranges whose pages are being trimmed: accesses to them wait.
    pub(crate) trimming: Vec<Range<u64>>,
    opened: Instant,
}

/// Decisions as JSON lines.
pub(crate) struct Decisions {
    pub(crate) lines: Lines,
    pub(crate) index: u64,
}

/// Store writes that decisions ask for.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) groups: Vec<Group>,
    /// Dirty pages that the policy evicted as clean.
    pub(crate) late: Vec<Arc<Frame>>,
    /// Pages of groups that are in memory no more.
    pub(crate) gone: usize,
    /// A dirty page has been evicted.
    pub(crate) dirty_victim: bool,
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

impl Core {
    pub(crate) fn new(policy: AnyPolicy) -> Core {
        Core {
            policy,
            plan: Plan::new(),
            known: Known::default(),
            counters: PolicyCounters::default(),
            trims: TrimCounters::default(),
            record: None,
            decisions: None,
            trimming: Vec::new(),
            opened: Instant::now(),
        }
    }

    /// A line of the record, before the decisions of the request.
    pub(crate) fn record(&mut self, what: Recorded, bytes: &Range<u64>) {
        if let Some(record) = &mut self.record {
            record.request(self.opened, what, bytes.start, bytes.end - bytes.start);
        }
    }

    /// Asks the policy about one access.
    pub(crate) fn decide(
        &mut self,
        table: &Table,
        (page, op, first): (u64, Op, bool),
        work: &mut Work,
    ) -> Access {
        let mut r = Request::new(Page(page), Lpn(page), op);
        r.first_of_request = first;
        self.plan.clear();
        match self.policy.request(&r) {
            Lookup::Hit(_) => {
                self.counters.hit(op);
                self.log(&r, true);
                let frame = table.with_new(page, |state| {
                    state.resident = true;
                    state.users += 1;
                });
                Access { frame, op, fills: false, missed: false, through: false }
            }
            Lookup::Miss(mut miss) => {
                self.known.add(page);
                self.counters.miss(op);
                while self.policy.resident() >= self.policy.frames() {
                    self.policy.evict(&mut miss, &Blind, &mut self.plan);
                }
                self.policy.admit(&r, miss);
                self.counters.evicted(&self.plan);
                self.log(&r, false);
                let frame = table.with_new(page, |state| {
                    state.resident = true;
                    state.stay += 1;
                    state.users += 1;
                    state.fillers += 1;
                });
                self.evict(table, work);
                Access { frame, op, fills: true, missed: true, through: false }
            }
            Lookup::Bypass => {
                self.known.add(page);
                self.counters.miss(op);
                self.counters.bypasses += 1;
                let through = op.is_write();
                debug_assert!(
                    !through || self.policy.writes_through(),
                    "a policy that does not write through bypassed the write of page {page}"
                );
                if through {
                    self.counters.written_through += 1;
                    self.plan.write_through(Page(page));
                }
                self.log(&r, false);
                let frame = table.with_new(page, |state| {
                    state.users += 1;
                    state.fillers += 1;
                });
                Access { frame, op, fills: true, missed: true, through }
            }
        }
    }

    /// Applies an eviction plan to the frames.
    fn evict(&self, table: &Table, work: &mut Work) {
        for (pages, pads) in self.plan.groups() {
            let mut frames = Vec::with_capacity(pages.len());
            for page in pages {
                let found = table.with(page.0, |frame, state| {
                    state.store_pins += 1;
                    state.stay += 1; // where it stays, it is clean for the policy
                    frames.push(Arc::clone(frame));
                });
                work.gone += usize::from(found.is_none());
            }
            work.groups.push(Group { frames, pads: pads.iter().collect() });
        }
        for evicted in self.plan.evicted() {
            let page = evicted.page.0;
            work.dirty_victim |= evicted.dirty;
            let is_free = table.with(page, |frame, state| {
                state.resident = false;
                if !evicted.dirty && state.mark == Mark::Dirty {
                    state.store_pins += 1;
                    work.late.push(Arc::clone(frame));
                }
                state.is_free()
            });
            if is_free == Some(true) {
                table.remove_if_free(page);
            }
        }
    }

    /// An access of a batch; false if its page has left meanwhile.
    pub(crate) fn note_hit(&mut self, table: &Table, page: u64, op: Op, page_bytes: u64) -> bool {
        if table.with(page, |_, state| state.resident) != Some(true) {
            return false;
        }
        let what = if op.is_write() { Recorded::Write } else { Recorded::Read };
        self.record(what, &(page * page_bytes..(page + 1) * page_bytes));
        let r = Request::new(Page(page), Lpn(page), op);
        let found = self.policy.request(&r);
        debug_assert!(matches!(found, Lookup::Hit(_)), "page {page} is resident");
        self.counters.hit(op);
        self.plan.clear();
        self.log(&r, true);
        true
    }

    /// The policy forgets the pages.
    pub(crate) fn forget(&mut self, table: &Table, pages: &Range<u64>) {
        self.trims.trim_requests += 1;
        for page in self.known.take(pages) {
            let Some(dirty) = self.policy.forget(Page(page)) else { continue };
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
    }

    fn log(&mut self, r: &Request, hit: bool) {
        let Some(log) = &mut self.decisions else { return };
        let plan = (!hit).then_some(&self.plan);
        decision::append_line(&mut log.lines.buffer, log.index, r, hit, plan, |page| page.0);
        log.index += 1;
        log.lines.appended();
    }
}
