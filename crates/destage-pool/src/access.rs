//! The bytes of an access: latched, filled, given back.
//!
//! An access that missed fills its page before it waits for anything but the store, so a thread
//! that finds the page resident may wait for it.

use crate::bytes::prefetch;
use crate::frame::{Exclusive, Frame, FrameLock, Mark, Used};
use crate::lock::lock;
use crate::quick::Arrived;
use crate::shared::Shared;
use crate::store::Store;
use crate::work::Access;
use destage_core::Op;
use std::io;
use std::sync::Arc;

impl<S: Store> Shared<S> {
    /// Makes the bytes valid. With `whole` it does not fetch them: if they were not there, the
    /// access has the exclusive latch, and its thread makes them. With `latch` it takes the latch
    /// of the access, if no other is in the way.
    ///
    /// # Errors
    ///
    /// The fetch's; the page then stays as it is, without bytes.
    pub(crate) fn fill(&self, access: &mut Access, whole: bool, latch: bool) -> io::Result<()> {
        loop {
            let Access { frame, op, fills, missed, latched, .. } = &mut *access;
            let mut state = frame.lock(&self.table.beside);
            if state.detached {
                drop(state);
                self.renew(access);
            } else if state.valid {
                self.tally.limbo_hits.add((*missed && *op == Op::Read).into());
                has_filled(&mut state, fills, missed);
                *latched = latch && state.try_latch(op.is_write());
                drop(state);
                frame.notify();
                return Ok(());
            } else if state.exclusive != Exclusive::No || (!*fills && state.fillers > 0) {
                drop(state.wait());
            } else if whole {
                state.exclusive = Exclusive::Guard;
                state.valid = true;
                *latched = true;
                has_filled(&mut state, fills, missed);
                return Ok(());
            } else {
                state.exclusive = Exclusive::Fill;
                drop(state);
                let fetched = self.fetch(frame);
                let mut state = frame.lock(&self.table.beside);
                state.exclusive = Exclusive::No;
                state.valid = fetched.is_ok();
                if fetched.is_ok() {
                    self.tally.partial_fetches.add((*missed && op.is_write()).into());
                    self.tally.refetches.add((!*missed).into());
                }
                has_filled(&mut state, fills, missed);
                *latched = latch && !state.detached && state.try_latch(op.is_write());
                let is_done = *latched || (!latch && !state.detached);
                drop(state);
                frame.notify();
                fetched?;
                if is_done {
                    return Ok(());
                }
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
        let bytes = unsafe { frame.bytes_mut(|| self.memory()) };
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

    /// Takes the latch of the access: shared, or exclusive to change the page.
    ///
    /// # Errors
    ///
    /// The fetch's.
    pub(crate) fn latch(&self, access: &mut Access, whole: bool) -> io::Result<()> {
        while !access.latched {
            self.fill(access, whole, true)?;
            if access.latched {
                break;
            }
            let Access { frame, op, latched, .. } = &mut *access;
            let mut state = frame.lock(&self.table.beside);
            while !state.detached && state.valid && !*latched {
                *latched = state.try_latch(op.is_write());
                if !*latched {
                    state = state.wait();
                }
            }
        }
        Ok(())
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
        self.end_user(&old, old.lock(&self.table.beside));
    }

    /// Takes the shared latch of a resident page without a lock, if its entry is open: so it is a
    /// page of the store, and this thread does not change it.
    #[inline]
    pub(crate) fn latch_quick(&self, page: u64) -> Option<Used> {
        let quick = &self.table.beside.quick;
        match quick.arrive(page)? {
            Arrived::Reads(frame, place) => {
                prefetch(quick.bytes(place));
                Some(Used::by(frame, place))
            }
            Arrived::Strays(frame, place) => {
                self.end_read(Used::by(frame, place));
                None
            }
        }
    }

    /// Takes the latch of a resident page at once, if its bytes are there and no other latch is in
    /// the way.
    #[inline]
    pub(crate) fn latch_resident(&self, page: u64, change: bool) -> Option<Used> {
        self.table.near(page, |frame| {
            let frame = frame?;
            let mut state = frame.lock(&self.table.beside);
            if !(state.resident && state.try_latch(change)) {
                return None;
            }
            state.users += 1;
            drop(state);
            // SAFETY: the latch has just been taken.
            unsafe { frame.prefetch() };
            Some(Used::new(frame))
        })
    }

    /// Gives a shared latch back, and the access with it.
    #[inline]
    pub(crate) fn end_read(&self, frame: Used) {
        let quick = &self.table.beside.quick;
        let place = frame.place.or_else(|| quick.place_of(frame.page, frame.at()));
        if place.is_some_and(|place| quick.leave(place)) {
            return;
        }
        let frame = &frame.counted();
        let mut state = frame.lock(&self.table.beside);
        state.readers -= 1;
        let is_last = state.readers == 0;
        self.end_user(frame, state);
        if is_last {
            frame.notify();
        }
    }

    /// Gives the exclusive latch back after a change, and the access with it.
    pub(crate) fn end_change(&self, frame: &Arc<Frame>, through: bool) {
        let mut state = frame.lock(&self.table.beside);
        state.exclusive = Exclusive::No;
        state.mark = Mark::Dirty;
        state.failed = false;
        state.late |= !state.resident;
        state.through += u32::from(through);
        self.end_user(frame, state);
        frame.notify();
    }

    /// An access that has not been carried out ends.
    pub(crate) fn end_access(&self, access: &Access) {
        let mut state = access.frame.lock(&self.table.beside);
        if access.fills {
            state.fillers -= 1;
        }
        match access.op {
            _ if !access.latched => {}
            Op::Read => state.readers -= 1,
            Op::Write => state.exclusive = Exclusive::No,
        }
        self.end_user(&access.frame, state);
        access.frame.notify();
    }

    /// One user less; the last one writes what the policy does not hold.
    #[inline]
    fn end_user(&self, frame: &Arc<Frame>, mut state: FrameLock<'_>) {
        state.users -= 1;
        if state.users > 0 {
            return;
        }
        let _kept = state.kept.take(); // the caller has the frame
        if state.detached {
            state.give_place_back();
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

fn has_filled(state: &mut FrameLock<'_>, fills: &mut bool, missed: &mut bool) {
    state.fillers -= u32::from(std::mem::take(fills));
    *missed = false;
}
