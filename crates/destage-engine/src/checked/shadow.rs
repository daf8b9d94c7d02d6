//! Shadow of a policy's cache, built from its answers.

use destage_core::{Directory, Lpn, Near, Page, Slot};

/// Shadow entry of a resident page.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShadowPage {
    pub(super) lpn: Lpn,
    pub(super) dirty: bool,
    pub(super) slot: Slot,
    pub(super) flushed_by: u64, // number of the eviction that flushed it last; 0: none
}

/// Resident pages, as the policy's answers tell.
#[derive(Default)]
pub(super) struct Shadow {
    pub(super) pages: Near, // page -> index of `held`
    lpns: Near,             // LPN -> index of `names`, for padding, which has no other name
    pub(super) held: Vec<ShadowPage>,
    names: Vec<Page>,
    pub(super) resident: u32,
}

impl Shadow {
    pub(super) fn find(&mut self, page: Page) -> Option<&mut ShadowPage> {
        self.pages.slot(page).map(|slot| &mut self.held[slot.index()])
    }

    pub(super) fn find_lpn(&self, lpn: Lpn) -> Option<&ShadowPage> {
        let page = self.names[self.lpns.slot(Page(lpn.0))?.index()];
        self.pages.slot(page).map(|slot| &self.held[slot.index()])
    }

    pub(super) fn insert(&mut self, page: Page, held: ShadowPage) {
        put(&mut self.held, self.pages.insert(page), held);
        put(&mut self.names, self.lpns.insert(Page(held.lpn.0)), page);
        self.resident += 1;
    }

    pub(super) fn remove(&mut self, page: Page) {
        if let Some(slot) = self.pages.slot(page) {
            self.pages.remove(slot);
            if let Some(name) = self.lpns.slot(Page(self.held[slot.index()].lpn.0)) {
                self.lpns.remove(name);
            }
            self.resident -= 1;
        }
    }
}

fn put<T>(values: &mut Vec<T>, slot: Slot, value: T) {
    match values.get_mut(slot.index()) {
        Some(place) => *place = value,
        None => values.push(value),
    }
}
