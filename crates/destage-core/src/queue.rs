//! A FIFO of slots in one array, from which a slot may also be taken in the middle.
//!
//! ```text
//!    oldest ─▶ 7 · 4 9 · 1 2 ◀─ newest        (· a hole: taken from the middle)
//! ```
//!
//! Against a linked list: the two ends are read and written one after the other, so taking from the
//! middle touches one word instead of two neighbours, and the next victims are known ahead. For
//! ghost lists above all, whose entries are cold when their turn comes.

use crate::pages::PerSlot;
use crate::types::Slot;

/// Stands for a slot that was taken from the middle.
const HOLE: u32 = u32::MAX;

/// The places of slots in their [`Queue`]; one column may serve several queues if a slot is in at
/// most one of them at a time.
pub type Places = PerSlot<u32>;

/// A FIFO of slots. All operations are O(1) amortised, but `iter`.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    ring: Vec<u32>, // a power of two long, or empty
    oldest: u32,    // counted over all pushes, modulo 2^32
    end: u32,       // one past the newest
    len: usize,     // holes not counted; no u32, lest it share a load with its neighbours' stores
}

impl Queue {
    /// Empty; grows with what it holds.
    pub fn new() -> Self {
        Queue::default()
    }

    /// Number of slots in the queue.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len as u32 // at most 2^30
    }

    /// No slot in the queue.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    fn mask(&self) -> u32 {
        (self.ring.len() as u32).wrapping_sub(1)
    }

    /// Puts a slot at the newest end.
    #[inline(always)]
    pub fn push(&mut self, slot: Slot, places: &mut Places) {
        if self.end.wrapping_sub(self.oldest) == self.ring.len() as u32 {
            self.make_room(places);
        }
        let at = (self.end & self.mask()) as usize;
        self.ring[at] = slot.0;
        places.set(slot, self.end);
        self.end = self.end.wrapping_add(1);
        self.len += 1;
    }

    /// Takes a slot of this queue out, wherever it is.
    #[inline(always)]
    pub fn take(&mut self, slot: Slot, places: &Places) {
        let at = (places[slot] & self.mask()) as usize;
        debug_assert_eq!(self.ring[at], slot.0, "the slot is in this queue");
        self.ring[at] = HOLE;
        self.len -= 1;
    }

    /// Takes the oldest slot out.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Slot> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        loop {
            let slot = self.ring[(self.oldest & self.mask()) as usize];
            self.oldest = self.oldest.wrapping_add(1);
            if slot != HOLE {
                return Some(Slot(slot));
            }
        }
    }

    /// A slot that will be popped some pops from now, for a prefetch: exact where no hole is before
    /// it, otherwise one that comes sooner, or none.
    #[inline(always)]
    pub fn ahead(&self, pops: u32) -> Slot {
        let at = self.oldest.wrapping_add(pops) & self.mask();
        Slot(self.ring.get(at as usize).copied().unwrap_or(HOLE))
    }

    /// Squeezes the holes out, into a ring twice as long as what it holds: the next squeeze comes
    /// after as many pushes as this one moves slots.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, places: &mut Places) {
        let slots: Vec<u32> = self.iter().map(|slot| slot.0).collect();
        let room = (2 * slots.len()).next_power_of_two().max(64);
        assert!(room <= 1 << 31, "a queue holds at most 2^30 pages");
        self.ring.clear();
        self.ring.resize(room, HOLE);
        self.oldest = 0;
        self.end = slots.len() as u32;
        for (at, slot) in slots.into_iter().enumerate() {
            self.ring[at] = slot;
            places[Slot(slot)] = at as u32;
        }
    }

    /// All slots, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Slot> {
        (0..self.end.wrapping_sub(self.oldest))
            .map(|i| self.ring[(self.oldest.wrapping_add(i) & self.mask()) as usize])
            .filter(|&slot| slot != HOLE)
            .map(Slot)
    }

    /// Asserts that every slot knows its place and that the length is true.
    pub fn check(&self, places: &Places) {
        let mut count = 0;
        for slot in self.iter() {
            let at = (places[slot] & self.mask()) as usize;
            assert_eq!(self.ring[at], slot.0, "a slot knows its place in the queue");
            count += 1;
        }
        assert_eq!(count as usize, self.len, "a queue knows its length");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_leave_in_the_order_they_came_but_for_those_taken_from_the_middle() {
        let mut places = Places::with_slots(4);
        let mut queue = Queue::new();
        for slot in 0..4 {
            queue.push(Slot(slot), &mut places);
        }
        queue.take(Slot(0), &places);
        queue.take(Slot(2), &places);
        queue.check(&places);
        assert_eq!(queue.pop(), Some(Slot(1)));
        queue.push(Slot(0), &mut places);
        assert_eq!(queue.iter().collect::<Vec<_>>(), [Slot(3), Slot(0)]);
        assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Some(Slot(3)), Some(Slot(0)), None));
    }

    #[test]
    fn holes_are_squeezed_out_and_the_order_is_kept() {
        let mut places = Places::with_slots(1000);
        let mut queue = Queue::new();
        queue.push(Slot(999), &mut places); // stays while all others come and go
        for slot in 0..900 {
            queue.push(Slot(slot), &mut places);
            if slot >= 10 {
                queue.take(Slot(slot - 10), &places);
            }
            queue.check(&places);
        }
        assert!(queue.ring.len() <= 64, "eleven slots at a time need no long ring");
        assert_eq!(queue.pop(), Some(Slot(999)));
        assert_eq!(queue.pop(), Some(Slot(890)));
    }
}
