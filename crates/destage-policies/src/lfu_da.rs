//! LFU-DA: LFU that lets old favourites go.
//!
//! Arlitt, Cherkasova, Dilley, Friedrich, Jin. Evaluating content management techniques for Web
//! proxy caches. HPL-1999-69. Squid's heap policy LFUDA, by the same group: key = age + count, ties
//! by recency.
//!
//! Rules. A count and a key per resident page; an age `L`, first 0. Hit: count + 1, key = count +
//! `L`. Miss: the page with the smallest key is evicted, among equals the least recently used, and
//! `L` is its key. The new page has count 1 and key 1 + `L`.
//!
//! Readings. libCacheSim's LFUDA is another policy: a hit adds its smallest key in place of 1, and
//! the key holds no count. It is not followed.
//!
//! State. A list per key: keys only grow, so the order of arrival in a list is that of recency. No
//! key is below `L`.
//!
//! Cost. O(1); O(log s) for pages whose key is 4096 above `L` or more. Six words and a byte per
//! page.

use crate::info::INTERVAL_FRAMES;
use crate::ranks::Ranks;
use crate::{Gauge, Info, Setup};
use destage_core::{
    Brief, DeviceView, Directory, Lookup, Page, PerSlot, Plan, Policy, Request, Slot, Table,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "lfu-da",
    title: "LFU with Dynamic Aging",
    source: "Arlitt, Cherkasova, Dilley, Friedrich, Jin, HPL-1999-69",
    about: "LFU whose cache ages, so that old favourites go.",
    time: "O(1) to O(log s)",
    gauges: &[Gauge { name: "age", title: "L: age of the cache", unit: "uses" }],
    interval_frames: INTERVAL_FRAMES,
    ..Info::BLANK
};

/// The policy.
pub struct LfuDa<D> {
    pages: Table<D, Brief>, // every resident page
    counts: PerSlot<u64>,
    keys: Ranks,
    age: u64, // L
    frames: u32,
}

impl<D: Directory> LfuDa<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Table::new(directory);
        LfuDa {
            counts: PerSlot::with_slots(pages.slots()),
            keys: Ranks::new(pages.slots()),
            pages,
            age: 0,
            frames: setup.frames,
        }
    }
}

impl<D: Directory> Policy for LfuDa<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        self.pages[slot].access(r.op.is_write());
        self.counts[slot] += 1;
        self.keys.raise(slot, self.counts[slot] + self.age);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let victim = self.keys.least().expect("evict is only called on a full buffer");
        self.age = self.keys.rank(victim);
        self.keys.remove(victim);
        self.keys.raise_floor(self.age);
        let dirty = self.pages[victim].dirty();
        plan.evict(self.pages.remove(victim), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page, Brief::new(r.op.is_write(), 0));
        self.counts.set(slot, 1);
        self.keys.push(slot, 1 + self.age);
        slot
    }

    counted! { self: self.keys.len(), of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for slot in self.keys.order() {
            visit(self.pages.page(slot), self.pages[slot].dirty());
        }
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty();
        self.keys.remove(slot);
        self.pages.remove(slot);
        Some(dirty)
    }

    hints! { self.pages: prefetch; beside: self.counts, self.keys }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("age", self.age as f64);
    }

    fn check(&self) {
        self.keys.check();
        assert!(self.resident() <= self.frames);
        for slot in self.keys.order() {
            assert_eq!(self.pages.find(self.pages.page(slot)), Some(slot));
            let (count, key) = (self.counts[slot], self.keys.rank(slot));
            assert!(self.age <= key && key <= count + self.age, "a key is count and an older L");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{drive, reads, show, victims};
    use destage_core::Dense;

    /// `1/2/2 4/1/2 L=1`: page, count and key, the next victim first.
    fn order(p: &LfuDa<Dense>) -> String {
        let entry = |s: Slot| format!("{}/{}/{}", s.0, p.counts[s], p.keys.rank(s));
        format!("{} L={}", show(p.keys.order().into_iter().map(entry)), p.age)
    }

    #[test]
    fn a_page_comes_in_above_the_key_of_the_last_victim() {
        let mut p = LfuDa::new(&Setup::new(3), Dense::new(8));
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 1, 3, 4]))), [2]);
        assert_eq!(order(&p), "3/1/1 1/2/2 4/1/2 L=1");
    }

    #[test]
    fn an_old_favourite_goes_when_the_age_has_caught_up() {
        let mut p = LfuDa::new(&Setup::new(2), Dense::new(8));
        let steps = drive(&mut p, &reads(&[1, 1, 1, 2, 3, 4, 5]));
        assert_eq!(victims(&steps), [2, 3, 1], "1 has key 3, as 4 has, and is older");
        assert_eq!(order(&p), "4/1/3 5/1/4 L=3");
    }
}
