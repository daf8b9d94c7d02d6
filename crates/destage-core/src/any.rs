//! A policy whose type was known when it was made, and is not known any more.
//!
//! An unobserved run is compiled for each policy: that is what makes it fast. Runs that are
//! watched or checked, and the conformance vectors, would each be compiled for each policy again,
//! some fifty times over; they take this one in its place, for a virtual call each time it is
//! asked.

use crate::{
    Completion, DeviceView, Lookup, Page, Part, Plan, Policy, Request, Requirements, Slot, UnitId,
    VictimList,
};

/// Any policy. Decides as the one that it was made of, on whichever thread it is.
///
/// The numbers that a run reads several times an access are kept here; the calls that change them
/// return them.
pub struct AnyPolicy {
    policy: Box<dyn Erased + Send>,
    requirements: Requirements,
    frames: u32,
    resident: u32,
    coming_victim: Option<Page>, // after the last eviction
}

impl AnyPolicy {
    /// Forgets the policy's type.
    pub fn new<P: Policy<Miss: Send> + Send + 'static>(policy: P) -> Self {
        AnyPolicy {
            requirements: policy.requirements(),
            frames: policy.frames(),
            resident: policy.resident(),
            coming_victim: policy.coming_victim(),
            policy: Box::new(Kept { policy, miss: None }),
        }
    }
}

/// A policy, and what its look-up learned, which has a type of its own.
struct Kept<P: Policy> {
    policy: P,
    miss: Option<P::Miss>,
}

/// The two policies below, from one list: methods that are passed on as they are. Those with a
/// [`Policy::Miss`] stand apart.
macro_rules! passed_on {
    (
        looks { $(fn $look:ident($($seen:ident: $Seen:ty),*) $(-> $Found:ty)?;)* }
        changes { $(fn $change:ident($($given:ident: $Given:ty),*) $(-> $Left:ty)?;)* }
    ) => {
        /// [`Policy`], without what has to do with its types.
        trait Erased {
            /// With the resident pages, as the others.
            fn request(&mut self, r: &Request) -> (Lookup<()>, u32);
            fn evict(&mut self, device: &dyn DeviceView, plan: &mut Plan) -> (u32, Option<Page>);
            fn admit(&mut self, r: &Request) -> (Slot, u32);
            fn forget(&mut self, page: Page) -> (Option<bool>, u32);
            $(fn $look(&self, $($seen: $Seen),*) $(-> $Found)?;)*
            $(fn $change(&mut self, $($given: $Given),*) $(-> $Left)?;)*
        }

        impl<P: Policy> Erased for Kept<P> {
            fn request(&mut self, r: &Request) -> (Lookup<()>, u32) {
                let found = match self.policy.request(r) {
                    Lookup::Hit(slot) => Lookup::Hit(slot),
                    Lookup::Miss(miss) => {
                        self.miss = Some(miss);
                        Lookup::Miss(())
                    }
                    Lookup::Bypass => Lookup::Bypass,
                };
                (found, self.policy.resident())
            }

            fn evict(&mut self, device: &dyn DeviceView, plan: &mut Plan) -> (u32, Option<Page>) {
                let miss = self.miss.as_mut().expect("a page missed before one is evicted");
                self.policy.evict(miss, device, plan);
                (self.policy.resident(), self.policy.coming_victim())
            }

            fn admit(&mut self, r: &Request) -> (Slot, u32) {
                let miss = self.miss.take().expect("a page missed before it is admitted");
                (self.policy.admit(r, miss), self.policy.resident())
            }

            fn forget(&mut self, page: Page) -> (Option<bool>, u32) {
                (self.policy.forget(page), self.policy.resident())
            }

            $(fn $look(&self, $($seen: $Seen),*) $(-> $Found)? {
                self.policy.$look($($seen),*)
            })*
            $(fn $change(&mut self, $($given: $Given),*) $(-> $Left)? {
                self.policy.$change($($given),*)
            })*
        }

        impl Policy for AnyPolicy {
            type Miss = ();

            /// An erased policy may have an order: only its builder knows.
            const ORDERED: bool = true;

            #[inline]
            fn requirements(&self) -> Requirements {
                self.requirements
            }

            #[inline]
            fn frames(&self) -> u32 {
                self.frames
            }

            #[inline]
            fn resident(&self) -> u32 {
                self.resident
            }

            #[inline]
            fn coming_victim(&self) -> Option<Page> {
                self.coming_victim
            }

            #[inline]
            fn request(&mut self, r: &Request) -> Lookup<()> {
                let found;
                (found, self.resident) = self.policy.request(r);
                found
            }

            #[inline]
            fn evict(&mut self, (): &mut (), device: &dyn DeviceView, plan: &mut Plan) {
                (self.resident, self.coming_victim) = self.policy.evict(device, plan);
            }

            #[inline]
            fn admit(&mut self, r: &Request, (): ()) -> Slot {
                let slot;
                (slot, self.resident) = self.policy.admit(r);
                slot
            }

            #[inline]
            fn forget(&mut self, page: Page) -> Option<bool> {
                let dropped;
                (dropped, self.resident) = self.policy.forget(page);
                dropped
            }

            $(#[inline]
            fn $look(&self, $($seen: $Seen),*) $(-> $Found)? {
                self.policy.$look($($seen),*)
            })*
            $(fn $change(&mut self, $($given: $Given),*) $(-> $Left)? {
                self.policy.$change($($given),*)
            })*
        }
    };
}

passed_on! {
    looks {
        fn for_each_resident(visit: &mut dyn FnMut(Page, bool));
        fn dirty_pages() -> u64;
        fn writes_through() -> bool;
        fn counts_operations() -> bool;
        fn forgets() -> bool;
        fn next_victims(show: &mut dyn FnMut(Page, bool) -> bool);
        fn show_list(list: VictimList, from: bool, show: &mut dyn FnMut(Page, bool) -> bool);
        fn prefetch(page: Page);
        fn prefetch_links(page: Page);
        fn prefetch_neighbours(page: Page);
        fn counters(count: &mut dyn FnMut(&'static str, u64));
        fn gauges(show: &mut dyn FnMut(&'static str, f64));
        fn inside() -> Vec<(&'static str, Part)>;
        fn check();
    }
    changes {
        fn fetched(completion: &Completion);
        fn destaged(completion: &Completion);
        fn keep_order();
        fn cleaned(page: Page);
        fn idle(unit: UnitId, device: &dyn DeviceView, plan: &mut Plan);
        fn keep_periods();
    }
}
