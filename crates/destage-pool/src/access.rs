//! The bytes of an access: latched, filled, given back.
//!
//! An access that missed fills its page before it waits for anything but the store, so a thread
//! that finds the page resident may wait for it.

use crate::frame::{Exclusive, Frame, FrameLock, Mark};
use crate::lock::lock;
use crate::shared::Shared;
use crate::store::Store;
use crate::work::Access;
use destage_core::Op;
use std::io;
use std::sync::Arc;

impl<S: Store> Shared<S> {
    /// Makes the bytes valid. With `whole` it does not fetch them: if they were not there it
    /// returns true, and the access has the exclusive latch.
    ///
    /// # Errors
    ///
    /// The fetch's; the page then stays as it is, without bytes.
    pub(crate) fn fill(&self, access: &mut Access, whole: bool) -> io::Result<bool> {
        loop {
            let frame = Arc::clone(&access.frame);
            let mut state = frame.lock(&self.table.marks);
            if state.detached {
                drop(state);
                self.renew(access);
            } else if state.valid {
                if access.missed && access.op == Op::Read {
                    self.tally.limbo_hits.add(1);
                }
                has_filled(&mut state, access);
                frame.notify();
                return Ok(false);
            } else if state.exclusive != Exclusive::No || (!access.fills && state.fillers > 0) {
                drop(state.wait());
            } else if whole {
                state.exclusive = Exclusive::Guard;
                state.valid = true;
                has_filled(&mut state, access);
                // SAFETY: the exclusive latch has just been taken.
                _ = unsafe { frame.bytes_mut(self.page_bytes()) };
                return Ok(true);
            } else {
                state.exclusive = Exclusive::Fill;
                drop(state);
                let fetched = self.fetch(&frame);
                let mut state = frame.lock(&self.table.marks);
                state.exclusive = Exclusive::No;
                state.valid = fetched.is_ok();
                if fetched.is_ok() {
                    self.tally.partial_fetches.add((access.missed && access.op.is_write()).into());
                    self.tally.refetches.add((!access.missed).into());
                }
                has_filled(&mut state, access);
                drop(state);
                frame.notify();
                fetched?;
            }
        }
    }

    /// Reads the page of a frame whose exclusive latch the caller has.
    ///
    /// # Errors
    ///
    /// The store's; [`io::ErrorKind::InvalidData`] if the checksum differs.
    pub(crate) fn fetch(&self, frame: &Frame) -> io::Result<()> {
        let page = [frame.page];
        // SAFETY: the caller has the exclusive latch.
        let bytes = unsafe { frame.bytes_mut(self.page_bytes()) };
        let taken = self.in_flight.take(&page);
        let mut read = self.store.read(frame.page, bytes);
        if read.is_ok() {
            self.tally.store_reads.add(1);
            if lock(&self.sync.discards).may_be_lost(frame.page) {
                bytes.fill(0); // it was trimmed, and the store may show what was there before
            }
            if let Some(sums) = &self.sums {
                read = sums.check(frame.page, bytes);
                self.tally.checksum_errors.add(read.is_err().into());
            }
        }
        drop(taken);
        if read.is_err() {
            bytes.fill(0); // half a page is no page
        }
        read
    }

    /// Takes the latch: shared, or exclusive to change the page.
    ///
    /// # Errors
    ///
    /// The fetch's.
    pub(crate) fn latch(&self, access: &mut Access, change: bool, whole: bool) -> io::Result<()> {
        loop {
            if self.fill(access, whole)? {
                return Ok(());
            }
            let frame = Arc::clone(&access.frame);
            let mut state = frame.lock(&self.table.marks);
            while !state.detached
                && state.valid
                && (state.exclusive != Exclusive::No || (change && state.readers > 0))
            {
                state = state.wait();
            }
            if state.detached || !state.valid {
                continue;
            }
            match change {
                true => state.exclusive = Exclusive::Guard,
                false => state.readers += 1,
            }
            return Ok(());
        }
    }

    /// The frame was trimmed meanwhile: the access goes on with the page's new one. It may have
    /// been the last user of the old one, whose bypassed writes are counted then.
    fn renew(&self, access: &mut Access) {
        let fills = access.fills;
        let new = self.table.with_new(access.frame.page, |state| {
            state.users += 1;
            state.fillers += u32::from(fills);
        });
        let old = std::mem::replace(&mut access.frame, new);
        self.end_user(&old, old.lock(&self.table.marks));
    }

    /// Takes the latch of a resident page at once, if its bytes are there and no other latch is in
    /// the way.
    pub(crate) fn latch_resident(&self, page: u64, change: bool) -> Option<Arc<Frame>> {
        self.table.with(page, |frame, state| {
            let free = state.exclusive == Exclusive::No && !(change && state.readers > 0);
            if !(state.resident && state.valid && free) {
                return None;
            }
            state.users += 1;
            match change {
                true => state.exclusive = Exclusive::Guard,
                false => state.readers += 1,
            }
            Some(Arc::clone(frame))
        })?
    }

    /// Gives a shared latch back, and the access with it.
    pub(crate) fn end_read(&self, frame: &Arc<Frame>) {
        let mut state = frame.lock(&self.table.marks);
        state.readers -= 1;
        let is_last = state.readers == 0;
        self.end_user(frame, state);
        if is_last {
            frame.notify();
        }
    }

    /// Gives the exclusive latch back after a change, and the access with it.
    pub(crate) fn end_change(&self, frame: &Arc<Frame>, through: bool) {
        let mut state = frame.lock(&self.table.marks);
        state.exclusive = Exclusive::No;
        state.mark = Mark::Dirty;
        state.failed = false;
        state.late |= !state.resident;
        state.through += u32::from(through);
        self.end_user(frame, state);
        frame.notify();
    }

    /// An access that has no latch ends.
    pub(crate) fn end_access(&self, access: &Access) {
        let mut state = access.frame.lock(&self.table.marks);
        if access.fills {
            state.fillers -= 1;
        }
        self.end_user(&access.frame, state);
        access.frame.notify();
    }

    /// One user less; the last one writes what the policy does not hold.
    fn end_user(&self, frame: &Arc<Frame>, mut state: FrameLock<'_>) {
        state.users -= 1;
        if state.users > 0 {
            return;
        }
        let is_due = state.through > 0 || (state.late && !state.resident);
        let through = std::mem::take(&mut state.through) as usize;
        state.late = false;
        if is_due && state.mark == Mark::Dirty {
            state.store_pins += 1;
            drop(state);
            frame.notify();
            self.write_late(frame, through);
            return;
        }
        let is_free = state.is_free();
        drop(state);
        self.tally.already_written.add(through);
        if is_free {
            self.table.remove_if_free(frame.page);
        }
    }
}

fn has_filled(state: &mut FrameLock<'_>, access: &mut Access) {
    state.fillers -= u32::from(access.fills);
    access.fills = false;
    access.missed = false;
}
