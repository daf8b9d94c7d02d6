//! Pages that may be read without a lock: an entry for each, found by the page alone.
//!
//! Most accesses read a resident page that no other thread changes. Such a reader counts itself in
//! the page's entry, where it also finds the address of the bytes: of all that the pool keeps, it
//! touches that one cache line.
//!
//! The frame's lock alone opens and closes an entry. Closing it adds its readers to the frame's
//! state, as users and readers, so under the lock the state is whole. Readers are alike: one that
//! came with the lock may go without it, and the other way round. An entry stays its frame's as
//! long as the frame is in the table or has a user: a reader that is counted there can leave there.
//!
//! A page whose neighbourhood in the table of entries is full has none: its readers take the lock.

use crate::bytes::prefetch_to_change;
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, ENTRIES_PER_FRAME};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// The value of `readers` while the frame's lock is taken or the page is not to be read without it.
const CLOSED: u32 = 1 << 31;
/// The value of `page` in an entry of no frame; no store has so many pages.
const FREE: u64 = u64::MAX;
/// The same in the entry of a frame that has left the table and still has users.
const GONE: u64 = u64::MAX - 1;
/// Frames that all have entries: of 16 GiB, in pages of 4 KiB. Where there are more, pages compete.
const MOST: usize = 1 << 22;
/// The most entries that a page may have.
const NEAR: usize = 8;

/// Two lie on one cache line.
#[repr(C, align(32))]
struct Entry<F> {
    page: AtomicU64,
    readers: AtomicU32, // those that came without the lock, or `CLOSED`
    frame: AtomicPtr<F>,
    bytes: AtomicPtr<u8>,
}

/// The entries of a pool, for frames of the type `F`.
pub(crate) struct Quick<F> {
    entries: Box<[Entry<F>]>, // a power of two
    near: usize,              // entries that a page may have
}

/// An entry, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place(usize);

/// A reader that has come without the lock.
pub(crate) enum Arrived<F> {
    /// It reads the page that it asked for.
    Reads(NonNull<F>, Place),
    /// The entry has become that of another page meanwhile: it has to go again.
    Strays(NonNull<F>, Place),
}

impl<F> Quick<F> {
    /// Room for the pages of `frames` frames, of [`MOST`] at most, and as much again.
    pub(crate) fn new(frames: usize) -> Quick<F> {
        let entry = |_| Entry {
            page: AtomicU64::new(FREE),
            readers: AtomicU32::new(CLOSED),
            frame: AtomicPtr::new(ptr::null_mut()),
            bytes: AtomicPtr::new(ptr::null_mut()),
        };
        let length = (frames.min(MOST) * ENTRIES_PER_FRAME).next_power_of_two();
        let mut entries = destage_core::huge::room(length);
        entries.extend((0..length).map(entry));
        Quick { entries: entries.into_boxed_slice(), near: NEAR.min(length) }
    }

    /// The first entry that the page may have.
    #[inline]
    fn start(&self, page: u64) -> usize {
        // Fibonacci hashing: neighbours in the store, and pages in strides, lie apart.
        self.wrapped((page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize)
    }

    #[inline]
    fn wrapped(&self, at: usize) -> usize {
        at & (self.entries.len() - 1)
    }

    /// The entries that the page may have.
    fn near(&self, page: u64) -> impl Iterator<Item = (Place, &Entry<F>)> {
        let start = self.start(page);
        (0..self.near).map(move |step| {
            let at = self.wrapped(start + step);
            (Place(at), &self.entries[at])
        })
    }

    #[inline]
    fn at(&self, place: Place) -> &Entry<F> {
        &self.entries[place.0]
    }

    /// The page's entry is used soon.
    #[inline]
    pub(crate) fn prefetch(&self, page: u64) {
        prefetch_to_change(&self.entries[self.start(page)]);
    }

    /// Takes the shared latch of the page, and an access with it, if its entry is open.
    #[inline]
    pub(crate) fn arrive(&self, page: u64) -> Option<Arrived<F>> {
        let start = self.start(page);
        prefetch_to_change(&self.entries[start]);
        for step in 0..self.near {
            let at = self.wrapped(start + step);
            let entry = &self.entries[at];
            if entry.page.load(Relaxed) == page && entry.count(|readers| Some(readers + 1)) {
                let frame = NonNull::new(entry.frame.load(Relaxed)).expect("open entries have one");
                let place = Place(at);
                return Some(match entry.page.load(Relaxed) == page {
                    true => Arrived::Reads(frame, place),
                    false => Arrived::Strays(frame, place),
                });
            }
        }
        None
    }

    /// Gives a shared latch back, and the access with it, as long as nothing follows from it.
    /// False: the reader takes the lock.
    #[inline]
    pub(crate) fn leave(&self, place: Place) -> bool {
        self.at(place).count(|readers| readers.checked_sub(1))
    }

    /// The address of the bytes, for a reader that has arrived.
    #[inline]
    pub(crate) fn bytes(&self, place: Place) -> *mut u8 {
        self.at(place).bytes.load(Relaxed)
    }

    /// The entry of a frame of which the caller is a user.
    #[inline]
    pub(crate) fn place_of(&self, page: u64, frame: *const F) -> Option<Place> {
        let is_its = |entry: &Entry<F>| {
            entry.page.load(Relaxed) == page && ptr::eq(entry.frame.load(Relaxed), frame)
        };
        self.near(page).find(|(_, entry)| is_its(entry)).map(|(place, _)| place)
    }

    /// A closed entry for a frame; the caller has its lock.
    pub(crate) fn claim(&self, page: u64, frame: *const F, bytes: *mut u8) -> Option<Place> {
        // Acquire: the last frame has given it back.
        let is_claimed = |entry: &Entry<F>| {
            entry.page.load(Relaxed) == FREE
                && entry.page.compare_exchange(FREE, page, Acquire, Relaxed).is_ok()
        };
        let (place, entry) = self.near(page).find(|(_, entry)| is_claimed(entry))?;
        entry.frame.store(frame.cast_mut(), Relaxed);
        entry.bytes.store(bytes, Relaxed);
        Some(place)
    }

    /// Readers may come without the lock, which the caller has.
    #[inline]
    pub(crate) fn open(&self, place: Place) {
        self.at(place).readers.store(0, Release);
    }

    /// Readers may not come without the lock, which the caller has; those that are there.
    #[inline]
    pub(crate) fn close(&self, place: Place) -> u32 {
        let readers = &self.at(place).readers;
        // Opened and closed under the lock alone.
        match readers.load(Relaxed) {
            CLOSED => 0,
            _ => readers.swap(CLOSED, Acquire),
        }
    }

    /// The frame of a closed entry has left the table. The caller has its lock.
    pub(crate) fn hide(&self, place: Place) {
        self.at(place).page.store(GONE, Relaxed);
    }

    /// The frame of a closed entry has also no user. The caller has its lock.
    pub(crate) fn free(&self, place: Place) {
        self.at(place).page.store(FREE, Release);
    }
}

impl<F> Entry<F> {
    #[inline]
    fn count(&self, next: impl Fn(u32) -> Option<u32>) -> bool {
        // Acquire: the bytes as the thread that opened it left them. Release: they have been read.
        let next = |readers| if readers == CLOSED { None } else { next(readers) };
        self.readers.fetch_update(AcqRel, Relaxed, next).is_ok()
    }
}
