//! A policy whose type was known when it was made, and is not known any more.
//!
//! A run that nobody watches is compiled for each policy: that is what makes it fast. Runs that are
//! watched or checked, and the conformance vectors, would each be compiled for each policy again,
//! some fifty times over; they take this one in its place, for a virtual call each time it is
//! asked.

use crate::{
    Completion, DeviceView, Lookup, Page, Part, Plan, Policy, Request, Requirements, Slot, UnitId,
};

/// Any policy. Decides as the one that it was made of.
pub struct AnyPolicy {
    policy: Box<dyn Erased>,
    needs: Requirements,
}

impl AnyPolicy {
    /// Forgets the policy's type.
    pub fn new<P: Policy + 'static>(policy: P) -> Self {
        AnyPolicy { needs: policy.requirements(), policy: Box::new(Kept { policy, miss: None }) }
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
            fn request(&mut self, r: &Request) -> Lookup<()>;
            fn evict(&mut self, device: &dyn DeviceView, plan: &mut Plan);
            fn admit(&mut self, r: &Request) -> Slot;
            $(fn $look(&self, $($seen: $Seen),*) $(-> $Found)?;)*
            $(fn $change(&mut self, $($given: $Given),*) $(-> $Left)?;)*
        }

        impl<P: Policy> Erased for Kept<P> {
            fn request(&mut self, r: &Request) -> Lookup<()> {
                match self.policy.request(r) {
                    Lookup::Hit(slot) => Lookup::Hit(slot),
                    Lookup::Miss(miss) => {
                        self.miss = Some(miss);
                        Lookup::Miss(())
                    }
                    Lookup::Bypass => Lookup::Bypass,
                }
            }

            fn evict(&mut self, device: &dyn DeviceView, plan: &mut Plan) {
                let miss = self.miss.as_mut().expect("a page missed before one is evicted");
                self.policy.evict(miss, device, plan);
            }

            fn admit(&mut self, r: &Request) -> Slot {
                let miss = self.miss.take().expect("a page missed before it is admitted");
                self.policy.admit(r, miss)
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

            fn requirements(&self) -> Requirements {
                self.needs
            }

            fn request(&mut self, r: &Request) -> Lookup<()> {
                self.policy.request(r)
            }

            fn evict(&mut self, (): &mut (), device: &dyn DeviceView, plan: &mut Plan) {
                self.policy.evict(device, plan);
            }

            fn admit(&mut self, r: &Request, (): ()) -> Slot {
                self.policy.admit(r)
            }

            $(fn $look(&self, $($seen: $Seen),*) $(-> $Found)? {
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
        fn frames() -> u32;
        fn resident() -> u32;
        fn for_each_resident(visit: &mut dyn FnMut(Page, bool));
        fn dirty_pages() -> u64;
        fn writes_through() -> bool;
        fn counts_operations() -> bool;
        fn forgets() -> bool;
        fn next_victims(show: &mut dyn FnMut(Page, bool) -> bool);
        fn prefetch(page: Page);
        fn prefetch_links(page: Page);
        fn prefetch_neighbours(page: Page);
        fn coming_victim() -> Option<Page>;
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
        fn forget(page: Page) -> Option<bool>;
        fn keep_periods();
    }
}
