//! FIFO at several sizes: no list, only when each page came in.
//!
//! A page that came in with the n-th miss of a cache of `c` frames leaves with miss `n + c`, so it
//! is resident as long as fewer than `c` misses have followed. It does not matter *which* page
//! leaves: that one has left shows at its next use, or at the end, and then a dirty one is counted.
//!
//! ```text
//!  of a page, of each size    2 n + dirty              eight numbers, half a line of memory
//!  of each size               2 m, m misses so far     resident: 2 m - 2 n < 2 c
//! ```

use super::{LANES, Lanes};
use crate::counters::Counters;
use destage_core::pages::prefetch;
use std::array::from_fn;

/// A number of each size. They wrap: only what lies between two of them counts.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Numbers([i32; LANES]);

/// The bit beside a miss's number that says that the page is dirty, or was when it left.
const DIRTY: i32 = 1;

/// Counts of a size.
#[derive(Clone, Copy, Default)]
struct Totals {
    misses: u64,
    write_misses: u64,
    flushes: u64,
}

/// FIFO at up to eight sizes.
pub(super) struct Fifo {
    came: Vec<Numbers>,
    /// Twice the frames.
    frames: Numbers,
    /// Twice the misses.
    misses: Numbers,
    write_misses: Numbers,
    flushes: Numbers,
    /// Misses when counts were last taken out of the lanes.
    taken: Numbers,
    totals: [Totals; LANES],
    /// Pages that had left dirty, without a next use that would have told, when it was settled.
    left: [u64; LANES],
    accesses: u64,
    writes: u64,
}

impl Fifo {
    pub(super) fn new(pages: usize, frames: &[u32]) -> Self {
        let frames = Numbers(from_fn(|k| 2 * frames.get(k).map_or(1, |&frames| frames as i32)));
        // As if each had left just now.
        let gone = Numbers(frames.0.map(|frames| -frames));
        Fifo {
            came: vec![gone; pages],
            frames,
            misses: Numbers::default(),
            write_misses: Numbers::default(),
            flushes: Numbers::default(),
            taken: Numbers::default(),
            totals: [Totals::default(); LANES],
            left: [0; LANES],
            accesses: 0,
            writes: 0,
        }
    }

    /// All ones where a page has left, which came in as `came` says.
    #[inline(always)]
    fn gone(&self, came: &Numbers) -> [i32; LANES] {
        let (misses, frames) = (self.misses.0, self.frames.0);
        from_fn(|k| {
            let since = misses[k].wrapping_sub(came.0[k] & !DIRTY);
            -i32::from(since >= frames[k])
        })
    }
}

impl Fifo {
    /// Takes counts out of the lanes.
    fn take(&mut self) {
        for (k, total) in self.totals.iter_mut().enumerate() {
            total.misses += (self.misses.0[k].wrapping_sub(self.taken.0[k]) / 2) as u64;
            total.write_misses += std::mem::take(&mut self.write_misses.0[k]) as u64;
            total.flushes += std::mem::take(&mut self.flushes.0[k]) as u64;
        }
        self.taken = self.misses;
    }
}

impl Lanes for Fifo {
    #[inline(always)]
    fn prefetch(&self, id: u32) {
        prefetch(&self.came, id as usize);
    }

    #[inline(always)]
    fn access(&mut self, id: u32, write: bool) {
        self.accesses += 1;
        self.writes += u64::from(write);
        let write = i32::from(write);
        let came = self.came[id as usize];
        let gone = self.gone(&came);
        for (k, &gone) in gone.iter().enumerate() {
            self.misses.0[k] = self.misses.0[k].wrapping_sub(gone << 1);
            self.write_misses.0[k] += gone & write;
            self.flushes.0[k] += gone & came.0[k] & DIRTY;
        }
        self.came[id as usize] =
            Numbers(from_fn(|k| (gone[k] & self.misses.0[k] | !gone[k] & came.0[k]) | write));
    }

    /// Also counts what has left dirty without a next use, and keeps its number near.
    fn widen(&mut self) {
        for at in 0..self.came.len() {
            let came = self.came[at];
            let gone = self.gone(&came);
            for (k, &gone) in gone.iter().enumerate() {
                self.flushes.0[k] += gone & came.0[k] & DIRTY;
                let left = self.misses.0[k].wrapping_sub(self.frames.0[k]);
                self.came[at].0[k] = gone & left | !gone & came.0[k];
            }
        }
        self.take();
        self.left = [0; LANES];
    }

    fn settle(&mut self) {
        self.take();
        let mut left = Numbers::default(); // as many as there are pages, at most
        for came in &self.came {
            let gone = self.gone(came);
            for (k, &gone) in gone.iter().enumerate() {
                left.0[k] += gone & came.0[k] & DIRTY;
            }
        }
        self.left = left.0.map(|left| left as u64);
    }

    fn counters(&self, lane: usize) -> Counters {
        let Totals { misses, write_misses, flushes } = self.totals[lane];
        let flushes = flushes + self.left[lane];
        let (read_misses, reads) = (misses - write_misses, self.accesses - self.writes);
        // Every miss takes a frame; it was free until all were taken.
        let evictions = misses - misses.min((self.frames.0[lane] / 2) as u64);
        Counters {
            read_hits: reads - read_misses,
            read_misses,
            write_hits: self.writes - write_misses,
            write_misses,
            evictions,
            clean_evictions: evictions - flushes,
            destages: flushes,
            destaged_pages: flushes,
            ..Counters::default()
        }
    }
    fn dirty_pages(&self, lane: usize) -> u64 {
        self.came.iter().filter(|came| came.0[lane] & DIRTY != 0).count() as u64
    }
}
