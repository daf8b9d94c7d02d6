//! CLOCK and SIEVE at several sizes: a page's bits of all sizes lie in one word, so that a hit in
//! all of them is one step; only what misses moves a list, of its size alone.

use super::{LANES, Lanes};
use crate::counters::Counters;
use destage_core::pages::prefetch;
use std::collections::VecDeque;
use std::mem::swap;

/// How many pages before its turn a page under the hand is asked for.
const VICTIMS_AHEAD: usize = 8;

/// State of a page at all sizes: a bit each.
#[derive(Clone, Copy, Default)]
#[repr(align(4))]
struct Bits {
    resident: u8,
    /// Hit since the hand passed it last: CLOCK's `ref`, SIEVE's `visited`.
    hit: u8,
    dirty: u8,
}

/// The pages of one size in their order, and a hand over them.
pub(super) trait Hand {
    /// Hand of an empty cache of `frames` frames.
    fn new(frames: u32) -> Self;

    /// A page comes in; returns the page that leaves. `passes` is asked whether the hand passes a
    /// page.
    fn take(&mut self, id: u32, passes: impl FnMut(u32) -> bool) -> Option<u32>;

    /// A page that the hand will come to.
    fn ahead(&self) -> Option<u32>;
}

/// CLOCK's hand, as in `destage-policies`: a survivor keeps its place in the ring.
pub(super) struct Clock {
    ring: Vec<u32>,
    hand: usize,
    frames: u32,
}

impl Hand for Clock {
    fn new(frames: u32) -> Self {
        Clock { ring: Vec::new(), hand: 0, frames }
    }

    #[inline(always)]
    fn take(&mut self, id: u32, mut passes: impl FnMut(u32) -> bool) -> Option<u32> {
        if self.ring.len() < self.frames as usize {
            self.ring.push(id);
            return None;
        }
        loop {
            let at = self.hand;
            let page = self.ring[at];
            self.hand = if at + 1 == self.ring.len() { 0 } else { at + 1 };
            if !passes(page) {
                self.ring[at] = id;
                return Some(page);
            }
        }
    }

    #[inline(always)]
    fn ahead(&self) -> Option<u32> {
        self.ring.get(self.hand + VICTIMS_AHEAD).copied()
    }
}

/// SIEVE's hand, as in `destage-policies`: a survivor stays behind the hand, and new pages come
/// before it.
pub(super) struct Sieve {
    passed: VecDeque<u32>,
    ahead: VecDeque<u32>,
    frames: u32,
}

impl Hand for Sieve {
    fn new(frames: u32) -> Self {
        Sieve { passed: VecDeque::new(), ahead: VecDeque::new(), frames }
    }

    #[inline(always)]
    fn take(&mut self, id: u32, mut passes: impl FnMut(u32) -> bool) -> Option<u32> {
        if self.ahead.len() + self.passed.len() < self.frames as usize {
            self.ahead.push_back(id);
            return None;
        }
        let victim = loop {
            let page = self.ahead.pop_front().expect("the hand is on a page of a full cache");
            let stays = passes(page);
            if stays {
                self.passed.push_back(page);
            }
            if self.ahead.is_empty() {
                swap(&mut self.ahead, &mut self.passed); // from the head to the tail
            }
            if !stays {
                break page;
            }
        };
        self.ahead.push_back(id);
        Some(victim)
    }

    #[inline(always)]
    fn ahead(&self) -> Option<u32> {
        self.ahead.get(VICTIMS_AHEAD).copied()
    }
}

/// A policy with a hand, at up to eight sizes.
pub(super) struct Hands<H> {
    pages: Vec<Bits>,
    clock_multi_size: Vec<H>,
    /// Bits of the sizes that there are.
    lanes: u8,
    /// Reads and writes, by the sizes that they hit.
    hits: Vec<[u64; 2]>,
    evictions: [u64; LANES],
    flushes: [u64; LANES],
}

impl<H: Hand> Hands<H> {
    pub(super) fn new(pages: usize, frames: &[u32]) -> Self {
        assert!((1..=LANES).contains(&frames.len()), "a bit for each size");
        Hands {
            pages: vec![Bits::default(); pages],
            clock_multi_size: frames.iter().map(|&frames| H::new(frames)).collect(),
            lanes: u8::MAX >> (LANES - frames.len()),
            hits: vec![[0; 2]; 1 << LANES],
            evictions: [0; LANES],
            flushes: [0; LANES],
        }
    }

    /// A page comes in at a size that did not hold it.
    #[inline(always)]
    fn miss(&mut self, id: u32, lane: usize) {
        let (bit, pages) = (1 << lane, &mut self.pages);
        let Some(hand) = self.clock_multi_size.get_mut(lane) else { return };
        let victim = hand.take(id, |page| {
            let bits = &mut pages[page as usize];
            let hit = bits.hit & bit;
            bits.hit ^= hit;
            hit != 0
        });
        let Some(victim) = victim else { return };
        if let Some(ahead) = hand.ahead() {
            prefetch(pages, ahead as usize);
        }
        let bits = &mut pages[victim as usize];
        self.evictions[lane] += 1;
        self.flushes[lane] += u64::from(bits.dirty & bit != 0);
        bits.resident &= !bit;
        bits.dirty &= !bit;
    }
}

impl<H: Hand> Lanes for Hands<H> {
    #[inline(always)]
    fn prefetch(&self, id: u32) {
        prefetch(&self.pages, id as usize);
    }

    #[inline(always)]
    fn access(&mut self, id: u32, write: bool) {
        let bits = &mut self.pages[id as usize];
        let resident = bits.resident;
        bits.hit |= resident;
        bits.resident = self.lanes;
        if write {
            bits.dirty = self.lanes;
        }
        self.hits[usize::from(resident)][usize::from(write)] += 1;
        let mut missed = self.lanes & !resident;
        while missed != 0 {
            self.miss(id, missed.trailing_zeros() as usize);
            missed &= missed - 1;
        }
    }

    fn counters(&self, lane: usize) -> Counters {
        let bit = 1usize << lane;
        let mut counted = Counters {
            evictions: self.evictions[lane],
            clean_evictions: self.evictions[lane] - self.flushes[lane],
            destages: self.flushes[lane],
            destaged_pages: self.flushes[lane],
            ..Counters::default()
        };
        for (resident, [reads, writes]) in self.hits.iter().enumerate() {
            if resident & bit != 0 {
                counted.read_hits += reads;
                counted.write_hits += writes;
            } else {
                counted.read_misses += reads;
                counted.write_misses += writes;
            }
        }
        counted
    }

    fn dirty_pages(&self, lane: usize) -> u64 {
        self.pages.iter().filter(|bits| bits.dirty & 1 << lane != 0).count() as u64
    }
}
