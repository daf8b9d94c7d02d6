//! Tier 1 without frames: a cache on flash alone (`docs/spec/tiers.md` 3).

use destage_core::{DeviceView, Lookup, Page, Plan, Policy, Request, Slot};

/// No cache above tier 2: every access misses, and its page leaves at once, dirty after a write.
///
/// To the loops it has one frame, which the page of the access takes and gives up.
#[derive(Default)]
pub struct Through {
    is_leaving: bool,
}

impl Policy for Through {
    type Miss = (Page, bool);

    fn request(&mut self, r: &Request) -> Lookup<(Page, bool)> {
        Lookup::Miss((r.page, r.op.is_write()))
    }

    fn evict(
        &mut self,
        &mut (page, dirty): &mut (Page, bool),
        _: &dyn DeviceView,
        plan: &mut Plan,
    ) {
        self.is_leaving = true;
        plan.evict(page, dirty);
    }

    fn admit(&mut self, _: &Request, _: (Page, bool)) -> Slot {
        self.is_leaving = false;
        Slot(0)
    }

    fn frames(&self) -> u32 {
        1
    }

    fn resident(&self) -> u32 {
        u32::from(!self.is_leaving)
    }

    fn for_each_resident(&self, _: &mut dyn FnMut(Page, bool)) {}
}
