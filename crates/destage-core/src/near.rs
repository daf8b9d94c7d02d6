//! Pages of mostly small numbers: a table from page to slot, and a hash map for the rest.
//!
//! The pages of a decoded trace are numbered without gaps, but not every user of a directory can be
//! generic over [`Dense`](crate::Dense): a policy made at run time, and checks of policies,
//! take any page. For them this is four bytes a page and one load a look-up, where
//! [`Hashed`] computes a hash and probes.

use crate::pages::{Directory, Hashed};
use crate::types::{Page, Slot};

/// Pages below this are in the table, which then takes at most 64 MiB.
const NEAR: u64 = 1 << 24;

/// A [`Directory`] for any page numbers, quick for small ones.
#[derive(Clone, Debug, Default)]
pub struct Near {
    slots: Vec<u32>, // slot + 1 by page; 0: none
    names: Vec<u64>,
    free: Vec<u32>,
    far: Hashed, // page -> index of `far_slots`
    far_slots: Vec<u32>,
}

impl Near {
    /// Empty; grows with the largest page below 2^24, and with the number of the others.
    pub fn new() -> Self {
        Near::default()
    }
}

impl Directory for Near {
    const DENSE: bool = false;

    fn initial_slots(&self) -> u32 {
        0
    }

    fn reserve(&mut self, reserved: u32) {
        self.names = vec![0; reserved as usize];
    }

    #[inline]
    fn slot(&self, page: Page) -> Option<Slot> {
        if page.0 < NEAR {
            let slot = *self.slots.get(page.0 as usize)?;
            return slot.checked_sub(1).map(Slot);
        }
        self.far.slot(page).map(|far| Slot(self.far_slots[far.index()]))
    }

    fn insert(&mut self, page: Page) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.names.push(0);
            // One less than fits, since the table holds slot + 1.
            u32::try_from(self.names.len()).expect("fewer than 2^32 pages are known at a time") - 1
        });
        self.names[slot as usize] = page.0;
        if page.0 < NEAR {
            let at = page.0 as usize;
            if at >= self.slots.len() {
                self.slots.resize((at + 1).next_power_of_two(), 0);
            }
            debug_assert!(self.slots[at] == 0, "a page has one slot");
            self.slots[at] = slot + 1;
        } else {
            let far = self.far.insert(page).index();
            self.far_slots.resize(self.far_slots.len().max(far + 1), 0);
            self.far_slots[far] = slot;
        }
        Slot(slot)
    }

    fn remove(&mut self, slot: Slot) {
        let page = Page(self.names[slot.index()]);
        if page.0 < NEAR {
            self.slots[page.0 as usize] = 0;
        } else if let Some(far) = self.far.slot(page) {
            self.far.remove(far);
        }
        self.free.push(slot.0);
    }

    fn page(&self, slot: Slot) -> Page {
        Page(self.names[slot.index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{List, Pages};
    use std::collections::BTreeMap;

    #[test]
    fn near_and_far_pages_are_found_as_in_a_map() {
        let (mut near, mut model) = (Near::new(), BTreeMap::new());
        near.reserve(2);
        let mut state = 7_u64;
        for step in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let few = state >> 33 & 63;
            let page = Page(if state >> 60 & 1 == 0 { few } else { NEAR - 20 + few });
            match model.remove(&page.0) {
                Some(slot) => near.remove(slot),
                None => {
                    model.insert(page.0, near.insert(page));
                }
            }
            assert_eq!(near.slot(page), model.get(&page.0).copied(), "step {step}");
        }
        assert!(model.len() > 20);
        for (&page, &slot) in &model {
            assert!(slot.0 >= 2, "slots below the reserved ones are heads of lists");
            assert_eq!((near.slot(Page(page)), near.page(slot)), (Some(slot), Page(page)));
        }
    }

    #[test]
    fn lists_work_over_it_as_over_any_directory() {
        let mut pages = Pages::new(Near::new(), 1);
        let mut list = List::new(&pages, 1);
        for page in [5, NEAR + 1, 0, u64::MAX] {
            let slot = pages.insert(Page(page));
            list.push_mru(&mut pages, slot);
        }
        let oldest = list.pop_lru(&mut pages).unwrap();
        assert_eq!(pages.remove(oldest), Page(5));
        assert_eq!((pages.find(Page(5)), pages.find(Page(u64::MAX)).is_some()), (None, true));
        let left: Vec<u64> = list.oldest_first(&pages).map(|slot| pages.page(slot).0).collect();
        assert_eq!(left, [NEAR + 1, 0, u64::MAX]);
        list.check(&pages);
    }
}
