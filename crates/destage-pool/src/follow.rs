//! Effects of a decision: counts, and the frames of the pages that it names.

use crate::frame::{Frame, FrameState, Mark};
use crate::table::Table;
use crate::work::{Access, Accesses, Group, Log, Work};
use destage_core::{Op, Plan, Request};
use std::sync::Arc;

/// Follows the decisions of a request.
pub struct Follower<'a> {
    pub(crate) log: &'a mut Log,
    pub(crate) table: &'a Table,
    /// `None`: the access was a hit, and has been carried out.
    pub(crate) accesses: Option<&'a mut Accesses>,
    /// As [`Asked::latches`](crate::work::Asked::latches).
    pub(crate) latches: bool,
    pub(crate) work: &'a mut Work,
    /// The policy writes through.
    pub(crate) through: bool,
}

impl Follower<'_> {
    #[inline]
    pub(crate) fn hit(&mut self, r: &Request) {
        self.count_hit(r);
        if self.accesses.is_some() {
            let (mut latched, latches) = (false, self.latches);
            let frame = self.table.with_new(r.page.0, |state| latched = join(state, r.op, latches));
            self.found(r.op, frame, latched);
        }
    }

    /// A hit of the page whose frame this is.
    #[inline]
    pub(crate) fn hit_in(&mut self, r: &Request, frame: &Arc<Frame>) {
        self.count_hit(r);
        let is_quick = self.latches && r.op == Op::Read && self.table.arrives(r.page.0, frame);
        let latched = is_quick || join(&mut frame.lock(&self.table.beside), r.op, self.latches);
        self.found(r.op, Arc::clone(frame), latched);
    }

    #[inline]
    fn count_hit(&mut self, r: &Request) {
        self.log.counters.hit(r.op);
        self.log.decided(r, true, None);
    }

    fn found(&mut self, op: Op, frame: Arc<Frame>, latched: bool) {
        let Some(accesses) = &mut self.accesses else { return };
        if latched {
            // SAFETY: the latch has just been taken.
            unsafe { frame.prefetch() };
        }
        accesses.push(Access { frame, op, fills: false, missed: false, through: false, latched });
    }

    pub(crate) fn admitted(&mut self, r: &Request, plan: &Plan) {
        self.log.counters.evicted(plan);
        self.log.resident.add(r.page.0);
        self.missed(r, Some(plan), false, |state| {
            state.resident = true;
            state.stay = state.stay.wrapping_add(1);
        });
        self.evict(plan);
    }

    pub(crate) fn bypassed(&mut self, r: &Request, plan: &Plan) {
        self.log.counters.bypasses += 1;
        let through = r.op.is_write();
        debug_assert!(
            !through || self.through,
            "a policy that does not write through bypassed the write of page {}",
            r.page.0
        );
        self.log.counters.written_through += u64::from(through);
        self.missed(r, Some(plan), through, |_| {});
    }

    pub(crate) fn missed(
        &mut self,
        r: &Request,
        plan: Option<&Plan>,
        through: bool,
        and: impl Fn(&mut FrameState),
    ) {
        debug_assert!(self.accesses.is_some(), "page {} is resident", r.page.0);
        self.log.known.add(r.page.0);
        self.log.counters.miss(r.op);
        self.log.decided(r, false, plan);
        let frame = self.table.with_likely_new(r.page.0, |state| {
            state.users += 1;
            state.fillers += 1;
            and(state);
        });
        let op = r.op;
        if let Some(accesses) = &mut self.accesses {
            let latched = false;
            accesses.push(Access { frame, op, fills: true, missed: true, through, latched });
        }
    }

    /// Applies an eviction plan to the frames.
    fn evict(&mut self, plan: &Plan) {
        let Follower { log, table, work, .. } = self;
        for (pages, pads) in plan.groups() {
            let mut frames = Vec::with_capacity(pages.len());
            for page in pages {
                let found = table.with(page.0, |frame, state| {
                    state.store_pins += 1;
                    // Where it stays, it is clean for the policy.
                    state.stay = state.stay.wrapping_add(1);
                    frames.push(Arc::clone(frame));
                });
                work.gone += usize::from(found.is_none());
            }
            work.groups.push(Group { frames, pads: pads.iter().collect() });
        }
        for evicted in plan.evicted() {
            let page = evicted.page.0;
            work.dirty_victim |= evicted.dirty;
            log.resident.remove(page);
            table.let_go(page, |frame, state| {
                state.resident = false;
                if !evicted.dirty && state.mark == Mark::Dirty {
                    state.store_pins += 1;
                    work.late.push(Arc::clone(frame));
                }
            });
        }
    }
}

/// An access of a resident page; whether it has its latch.
fn join(state: &mut FrameState, op: Op, latches: bool) -> bool {
    state.resident = true;
    state.users += 1;
    latches && state.try_latch(op.is_write())
}
