//! Store writes: groups of the policy's plans, and pages that it does not hold any more.
//!
//! A group write waits for the store alone, never for a guard.

use crate::frame::{Exclusive, Frame, Mark};
use crate::shared::Shared;
use crate::store::Store;
use crate::work::{Group, Work};
use destage_core::Pad;
use std::io;
use std::sync::Arc;

/// Counter that a write belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// A group of a plan: all its pages are counted already, so those left out are counted too.
    Group,
    /// A group of a plan with padding, which is written whole.
    WholeGroup,
    /// A page that was not written when it left.
    Late,
    /// A page that the policy bypassed; counted already.
    Through,
    /// A flush.
    Flush,
    /// The writer, which counts by itself.
    Idle,
}

impl<S: Store> Shared<S> {
    /// Carries out what decisions have asked for. Errors leave pages dirty, for a flush to report.
    pub(crate) fn carry_out(&self, work: Work) {
        self.tally.already_written.add(work.gone);
        for group in work.groups {
            if group.pads.is_empty() {
                _ = self.write_pinned(group.frames, Reason::Group);
            } else {
                self.write_padded(group);
            }
        }
        for frame in work.late {
            _ = self.write_pinned(vec![frame], Reason::Late);
        }
    }

    /// Writes a page that the policy does not hold; `through` accesses of it were bypassed.
    pub(crate) fn write_late(&self, frame: &Arc<Frame>, through: usize) {
        let reason = if through > 0 { Reason::Through } else { Reason::Late };
        let written = self.write_pinned(vec![Arc::clone(frame)], reason);
        match written {
            Ok(written) if written.pages == 0 => self.tally.already_written.add(through),
            _ => self.tally.already_written.add(through.saturating_sub(1)),
        }
    }

    fn write_padded(&self, group: Group) {
        let mut frames = group.frames;
        for pad in &group.pads {
            match self.fetch_pad(*pad) {
                Ok(frame) => frames.push(frame),
                Err(_) => {
                    self.tally.failed_writes.add(1);
                    return self.unpin_failed(&frames);
                }
            }
        }
        frames.sort_by_key(|frame| frame.page);
        _ = self.write_pinned(frames, Reason::WholeGroup);
    }

    fn unpin_failed(&self, frames: &[Arc<Frame>]) {
        for frame in frames {
            let mut state = frame.lock(&self.table.beside);
            state.failed |= state.mark == Mark::Dirty;
        }
        self.unpin(frames);
    }

    /// A padding page, pinned, with its bytes unless somebody is changing them.
    fn fetch_pad(&self, pad: Pad) -> io::Result<Arc<Frame>> {
        loop {
            let frame = self.table.with_new(pad.lpn.0, |state| state.store_pins += 1);
            let mut state = frame.lock(&self.table.beside);
            while !state.detached && !state.valid && state.exclusive == Exclusive::Fill {
                state = state.wait();
            }
            if state.detached {
                drop(state);
                self.unpin(&[frame]);
                continue;
            }
            if state.valid {
                self.tally.limbo_hits.add((!pad.in_buffer).into());
                drop(state);
                return Ok(frame);
            }
            state.exclusive = Exclusive::Fill;
            drop(state);
            let fetched = self.fetch(&frame);
            let mut state = frame.lock(&self.table.beside);
            state.exclusive = Exclusive::No;
            state.valid = fetched.is_ok();
            drop(state);
            frame.notify();
            match fetched {
                Ok(()) => {
                    self.tally.refetches.add(pad.in_buffer.into());
                    return Ok(frame);
                }
                Err(error) => {
                    self.unpin(&[frame]);
                    return Err(error);
                }
            }
        }
    }

    /// Writes those pages that are dirty, and with [`Reason::WholeGroup`] all; gives the pins back.
    /// The frames are pinned and ascending.
    ///
    /// # Errors
    ///
    /// The store's; all pages are dirty then.
    pub(crate) fn write_pinned(
        &self,
        frames: Vec<Arc<Frame>>,
        reason: Reason,
    ) -> io::Result<Written> {
        let pages: Vec<u64> = frames.iter().map(|frame| frame.page).collect();
        let taken = self.in_flight.take(&pages);
        let mut written = Written::default();
        let latched: Vec<&Arc<Frame>> = frames
            .iter()
            .filter(|frame| self.latch_for_write(frame, reason, &mut written))
            .collect();
        let result = self.write_latched(&latched, reason);
        written.pages = latched.len();
        drop(taken);
        self.unpin(&frames);
        result.map(|()| written)
    }

    /// Takes the shared latch if the page is to be written now.
    fn latch_for_write(&self, frame: &Arc<Frame>, reason: Reason, written: &mut Written) -> bool {
        let mut state = frame.lock(&self.table.beside);
        let is_group = matches!(reason, Reason::Group | Reason::WholeGroup);
        let counted = |counter: &crate::counters::Count| counter.add(is_group.into());
        if state.detached {
            counted(&self.tally.dropped);
        } else if state.exclusive != Exclusive::No || !state.valid {
            counted(&self.tally.left_out);
            if state.mark == Mark::Dirty {
                written.busy.push(Arc::clone(frame));
            }
        } else if state.mark != Mark::Dirty && reason != Reason::WholeGroup {
            counted(&self.tally.already_written);
        } else {
            state.readers += 1;
            return true;
        }
        false
    }

    /// Writes pages whose shared latch the caller has, and gives the latches back.
    pub(crate) fn write_latched(&self, frames: &[&Arc<Frame>], reason: Reason) -> io::Result<()> {
        if frames.is_empty() {
            return Ok(());
        }
        let failures = *self.sync.failures.read().expect("no holder of this lock panics");
        // SAFETY: each page's shared latch is the caller's, and only valid pages are latched.
        let group: Vec<(u64, &[u8])> =
            frames.iter().map(|frame| (frame.page, unsafe { frame.bytes() })).collect();
        if let Some(sums) = &self.sums {
            group.iter().for_each(|(page, bytes)| sums.set(*page, bytes));
        }
        let result = self.store.write(&group);
        match &result {
            Ok(()) => {
                self.tally.store_writes.add(frames.len());
                self.tally.store_groups.add(1);
            }
            Err(_) => {
                self.tally.failed_writes.add(1);
                if let Some(sums) = &self.sums {
                    frames.iter().for_each(|frame| sums.forget(frame.page));
                }
            }
        }
        drop(group);
        self.mark_written(frames, reason, failures, result.is_ok());
        result
    }

    /// Marks pages after their write, and gives their latches back.
    fn mark_written(&self, frames: &[&Arc<Frame>], reason: Reason, failures: u64, is_ok: bool) {
        let durable = self.store.writes_are_durable();
        let failures_now = self.sync.failures.read().expect("no holder of this lock panics");
        let is_kept = is_ok && (durable || *failures_now == failures);
        for frame in frames {
            let mut state = frame.lock(&self.table.beside);
            state.readers -= 1;
            if is_ok {
                self.count_written(reason, state.failed);
            }
            if is_kept {
                state.mark = if durable { Mark::Clean } else { Mark::Unsynced };
                state.failed = false;
            } else {
                state.mark = Mark::Dirty;
                state.failed = true;
            }
            drop(state);
            frame.notify();
        }
    }

    fn count_written(&self, reason: Reason, was_failed: bool) {
        match reason {
            Reason::Group | Reason::WholeGroup | Reason::Through | Reason::Idle => {}
            _ if was_failed => self.tally.rewrites.add(1),
            Reason::Late => self.tally.late_writes.add(1),
            Reason::Flush => self.tally.flush_writes.add(1),
        }
    }

    /// Gives pins back.
    pub(crate) fn unpin(&self, frames: &[Arc<Frame>]) {
        for frame in frames {
            let mut state = frame.lock(&self.table.beside);
            state.store_pins -= 1;
            let is_free = state.is_free();
            drop(state);
            if is_free {
                self.table.remove_if_free(frame.page);
            }
        }
    }
}

/// Outcome of a group write.
#[derive(Default)]
pub(crate) struct Written {
    /// Pages written.
    pub(crate) pages: usize,
    /// Dirty pages that somebody is changing; their pins are given back.
    pub(crate) busy: Vec<Arc<Frame>>,
}
