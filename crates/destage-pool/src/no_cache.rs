//! `none`: a policy that keeps no page. Reads and writes go to the store.

use destage_core::{DeviceView, Lookup, Page, Plan, Policy, Request, Slot};

pub(crate) struct NoCache;

impl Policy for NoCache {
    type Miss = ();

    fn request(&mut self, _: &Request) -> Lookup<()> {
        Lookup::Bypass
    }

    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, _: &mut Plan) {
        unreachable!("nothing is admitted")
    }

    fn admit(&mut self, _: &Request, (): ()) -> Slot {
        unreachable!("nothing is admitted")
    }

    fn frames(&self) -> u32 {
        1
    }

    fn resident(&self) -> u32 {
        0
    }

    fn for_each_resident(&self, _: &mut dyn FnMut(Page, bool)) {}

    fn writes_through(&self) -> bool {
        true
    }
}
