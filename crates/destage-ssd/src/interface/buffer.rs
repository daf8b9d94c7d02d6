//! The write buffer: a host page write takes the slot that is free earliest, and has it until its
//! program ends (`docs/spec/device-today.md` 6).
//!
//! Nothing is merged: a page that is written again while it is buffered takes a second slot, and
//! both are programmed.

use super::InterfaceCounts;
use crate::geometry::DriveLpn;
use destage_core::Nanos;
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// A version of a page that is in the buffer, or on its way there.
#[derive(Clone, Copy, Debug)]
struct BufferedPage {
    arrives_ns: Nanos,
    until_ns: Nanos, // the end of its program
}

/// Page numbers are spread by one multiplication.
#[derive(Clone, Default)]
struct ByNumber(u64);

impl Hasher for ByNumber {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(self.0 as u32 ^ u32::from(byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (u64::from(number) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}

#[derive(Clone, Debug)]
pub(super) struct Buffer {
    pages: u64,                        // P
    slots: BinaryHeap<Reverse<Nanos>>, // ends of the programs that have one
    held: HashMap<u32, BufferedPage, BuildHasherDefault<ByNumber>>,
    // Programs in the order of their decisions, for pages that leave `held`. Ends are unordered, so
    // that some stay a while longer: readers compare.
    leaving: VecDeque<(Nanos, u32)>,
    counts: InterfaceCounts,
}

impl Buffer {
    pub(super) fn new(pages: u64) -> Self {
        Buffer {
            pages,
            slots: BinaryHeap::new(),
            held: HashMap::default(),
            leaving: VecDeque::new(),
            counts: InterfaceCounts::default(),
        }
    }

    /// P.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// The instant from which on a page that could come at `acting` has a slot.
    #[inline]
    pub(super) fn take_slot(&mut self, acting: Nanos) -> Nanos {
        self.counts.buffer_writes += 1;
        if (self.slots.len() as u64) < self.pages {
            return acting; // one that was never used
        }
        let Reverse(free) = self.slots.peek().copied().unwrap_or(Reverse(0));
        if free > acting {
            self.counts.buffer_waits += 1;
            self.counts.buffer_wait_ns_sum =
                self.counts.buffer_wait_ns_sum.saturating_add(free - acting);
        }
        free.max(acting)
    }

    /// The page has its slot until its program ends.
    #[inline]
    pub(super) fn keep(&mut self, lpn: DriveLpn, arrives_ns: Nanos, until_ns: Nanos, now: Nanos) {
        if (self.slots.len() as u64) < self.pages {
            self.slots.push(Reverse(until_ns));
        } else if let Some(mut earliest) = self.slots.peek_mut() {
            *earliest = Reverse(until_ns); // that which `take_slot` took
        }
        while let Some(&(end, page)) = self.leaving.front().filter(|(end, _)| *end <= now) {
            self.leaving.pop_front();
            if let Entry::Occupied(held) = self.held.entry(page)
                && held.get().until_ns == end
            {
                held.remove();
            }
        }
        self.leaving.push_back((until_ns, lpn.0));
        self.held.insert(lpn.0, BufferedPage { arrives_ns, until_ns });
    }

    /// A slot holds the newest version of the page: when that is there.
    #[inline]
    pub(super) fn holds(&mut self, lpn: DriveLpn, now: Nanos) -> Option<Nanos> {
        let held = self.held.get(&lpn.0).filter(|held| held.until_ns > now)?;
        self.counts.buffer_reads += 1;
        Some(held.arrives_ns)
    }

    /// The page holds nothing any more.
    pub(super) fn drop_page(&mut self, lpn: DriveLpn) {
        self.held.remove(&lpn.0);
    }

    pub(super) fn counts(&self) -> InterfaceCounts {
        self.counts
    }
}
