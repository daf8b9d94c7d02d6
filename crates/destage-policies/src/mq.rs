//! MQ: rank pages by reference count, with ageing; made for second-level caches.
//!
//! Zhou, Philbin, Li. The multi-queue replacement algorithm for second level buffer caches. USENIX
//! ATC 2001 (the listing of the algorithm).
//!
//! Rules. Queues `Q0..Q(m-1)` of resident pages, oldest first; `Qout`, a FIFO of ghosts with their
//! counts. A hit takes the page out of its queue; a miss takes its count from `Qout`, where it then
//! leaves, or starts at 0, and, if the cache is full, evicts the oldest page of the lowest queue
//! that has one, which becomes a ghost. Then in both cases the count grows by one, and the page
//! goes to the end of queue `min(floor(log2(count)), m - 1)` with expiry `now + lifeTime`. Ageing,
//! after every access: `now + 1`; for k = 1, 2, .. m - 1: if the oldest page of `Qk` has expired,
//! it goes to the end of `Q(k-1)` with a new expiry.
//!
//! Readings.
//! * The listing looks into `Qout` after the eviction, which may have dropped the entry; here the
//!   look comes first, as in known implementations.
//! * `lifeTime` is tuned or learned on line in the paper and has no default; one cache-full of
//!   accesses is ours. Only the variant with a fixed one is here.
//! * A move to a lower queue leaves the count, so the next hit puts the page back where it was.
//!
//! Cost. O(m) for an access at which a page may expire, else O(1); a count and a place per page,
//! resident or ghost, and up to eight words of twelve bytes per page of a queue (`ring.rs`).

use crate::info::INTERVAL_FRAMES_ADAPTIVE;
use crate::params::{IfAbsent, Kind, Param};
use crate::ring::Ring;
use crate::{Info, Setup};
use destage_core::{
    DeviceView, Directory, Entry, Lookup, NEVER, Page, Part, Plan, Policy, Request, Slot, Table,
    share,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "mq",
    title: "Multi-Queue",
    source: "Zhou, Philbin, Li, USENIX ATC 2001",
    about: "Rank pages by reference count, with ageing, for second-level caches.",
    ghosts: true,
    time: "O(m), m queues",
    params: &[
        Param {
            name: "queues",
            symbol: "m",
            kind: Kind::Int { min: 1, max: 64 },
            default: IfAbsent::Int(8),
            unit: "queues",
            about: "Queue k holds pages referenced 2^k times or more; default of the paper.",
            ..Param::BLANK
        },
        Param {
            name: "life_time",
            symbol: "lifeTime",
            kind: Kind::OptionalInt { min: 1, max: u64::MAX },
            default: IfAbsent::None("frames"),
            unit: "accesses",
            about: "Time in a queue until a page moves down; the paper tunes it, the default is \
                    ours.",
            ..Param::BLANK
        },
        Param {
            name: "out_fraction",
            symbol: "Qout/s",
            kind: Kind::Real { min: 0.0, max: 64.0 },
            default: IfAbsent::Real(4.0),
            unit: "of frames",
            about: "Entries of Qout; default of the paper.",
            ..Param::BLANK
        },
    ],
    interval_frames: INTERVAL_FRAMES_ADAPTIVE,
    ..Info::BLANK
};

/// MQ's state of a page, resident or ghost.
#[derive(Clone, Copy, Default)]
struct Known {
    count: u64, // references; 0: the page is unknown
    place: u32, // in its queue
    queue: u8,  // k of Qk, or m: it is in Qout
    dirty: bool,
}

impl Entry for Known {
    #[inline(always)]
    fn known(&self) -> bool {
        self.count > 0
    }
}

/// The policy.
pub struct Mq<D> {
    pages: Table<D, Known>, // every resident page and every ghost
    queues: Vec<Ring>,      // Q0..Q(m-1), Qout
    due: Vec<u64>,          // the oldest page of Qk expires no earlier; NEVER for Q0
    earliest: (u64, usize), // the least of them, and whose it is
    m: usize,
    qout_max: u32,
    life_time: u64,
    now: u64,
    resident: u32,
    frames: u32,
}

impl<D: Directory> Mq<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let m = setup.params.int("queues") as usize; // 1..=64
        Mq {
            pages: Table::new(directory),
            queues: (0..=m)
                .map(|k| if 0 < k && k < m { Ring::with_expiries() } else { Ring::new() })
                .collect(),
            due: vec![NEVER; m],
            earliest: (NEVER, 0),
            m,
            qout_max: share(setup.params.real("out_fraction"), setup.frames),
            life_time: setup.params.optional_int("life_time").unwrap_or(setup.frames.into()),
            now: 0,
            resident: 0,
            frames: setup.frames,
        }
    }

    /// Puts a page at the end of Qk, with a new expiry; its place there.
    #[inline(always)]
    fn push(&mut self, slot: Slot, k: usize) -> u32 {
        let Mq { pages, queues, .. } = self;
        let moved = |at, place| pages[Slot(at)].place = place;
        if k == 0 {
            return queues[0].push(slot.0, moved);
        }
        let expiry = self.now.saturating_add(self.life_time);
        self.due[k] = self.due[k].min(expiry);
        if expiry < self.earliest.0 {
            self.earliest = (expiry, k);
        }
        queues[k].push_until(slot.0, expiry, moved)
    }

    /// Counts a reference to a page that is in no queue, and puts it into the queue of its count;
    /// then time goes on.
    #[inline(always)]
    fn reference(&mut self, slot: Slot, known: Known) {
        let count = known.count + 1;
        let k = (count.ilog2() as usize).min(self.m - 1);
        let place = self.push(slot, k);
        self.pages[slot] = Known { count, place, queue: k as u8, dirty: known.dirty };
        self.now += 1;
        while self.earliest.0 < self.now {
            self.age(self.earliest.1);
        }
    }

    /// The oldest page of Qk moves down if it has expired, at most one at each access.
    ///
    /// The order of the queues does not matter: each gets at most one page so, which stays.
    #[inline(never)]
    fn age(&mut self, k: usize) {
        let Mq { pages, queues, .. } = self;
        if let Some(oldest) = queues[k].pop_expired(self.now, |soon| prefetch(pages, soon)) {
            let place = self.push(Slot(oldest), k - 1);
            let page = &mut self.pages[Slot(oldest)];
            (page.place, page.queue) = (place, k as u8 - 1);
        }
        self.due[k] = self.queues[k].due().max(self.now);
        let mut earliest = (NEVER, 0);
        for (k, &due) in self.due.iter().enumerate() {
            if due < earliest.0 {
                earliest = (due, k);
            }
        }
        self.earliest = earliest;
    }
}

/// Prefetches what is kept of a page whose turn comes soon; what is no slot asks for the last one,
/// since no branch could tell.
#[inline(always)]
fn prefetch<D: Directory>(pages: &Table<D, Known>, soon: u32) {
    pages.prefetch_slot(Slot(soon.min(pages.slots() as u32)));
}

impl<D: Directory> Policy for Mq<D> {
    /// The references that Qout remembered.
    type Miss = u64;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<u64> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(0) };
        let mut known = self.pages[slot];
        self.queues[usize::from(known.queue)].take(known.place);
        if usize::from(known.queue) == self.m {
            self.pages.remove(slot);
            return Lookup::Miss(known.count);
        }
        known.dirty |= r.op.is_write();
        self.reference(slot, known);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, _: &mut u64, _: &dyn DeviceView, plan: &mut Plan) {
        let Mq { pages, queues, .. } = self;
        let lowest = queues.iter_mut().find(|queue| !queue.is_empty());
        let lowest = lowest.expect("a full buffer has pages");
        let victim =
            Slot(lowest.pop(|soon| prefetch(pages, soon)).expect("the queue is not empty"));
        self.resident -= 1;
        plan.evict(pages.page(victim), pages[victim].dirty);
        if self.qout_max == 0 {
            pages.remove(victim);
            return;
        }
        let qout = &mut queues[self.m];
        if qout.len() == self.qout_max {
            let oldest = qout.pop(|soon| prefetch(pages, soon));
            pages.remove(Slot(oldest.expect("a full Qout has an oldest entry")));
        }
        let place = qout.push(victim.0, |at, place| pages[Slot(at)].place = place);
        let page = &mut pages[victim];
        (page.place, page.queue) = (place, self.m as u8);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, count: u64) -> Slot {
        let known = Known { count, dirty: r.op.is_write(), ..Known::default() };
        let slot = self.pages.insert(r.page, Known { count: count + 1, ..known });
        self.resident += 1;
        self.reference(slot, known);
        slot
    }

    counted! { self: self.resident, of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for slot in self.queues[..self.m].iter().flat_map(Ring::iter).map(Slot) {
            visit(self.pages.page(slot), self.pages[slot].dirty);
        }
    }

    /// The page leaves its queue, or Qout with its count.
    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty;
        let Known { place, queue, .. } = self.pages[slot];
        self.queues[usize::from(queue)].take(place);
        self.pages.remove(slot);
        let resident = usize::from(queue) < self.m;
        self.resident -= u32::from(resident);
        resident.then_some(dirty)
    }

    fn inside(&self) -> Vec<(&'static str, Part)> {
        let page = |slot| self.pages.page(Slot(slot));
        let shown = |queue: &Ring| Part::pages(queue.iter().rev().map(page));
        let (qout, queues) = self.queues.split_last().expect("Qout");
        vec![("queues", Part::list(queues.iter().map(shown))), ("Qout", shown(qout))]
    }

    #[inline(always)]
    fn prefetch(&self, page: Page) {
        self.pages.prefetch(page);
    }

    #[inline(always)]
    fn prefetch_links(&self, page: Page) {
        // What is kept of an unknown page names a place of Q0, which is asked for in vain.
        if let Some(&Known { queue, place, .. }) = self.pages.near(page) {
            self.queues[usize::from(queue)].prefetch(place);
        }
    }

    fn check(&self) {
        assert!(self.resident <= self.frames);
        let (qout, queues) = self.queues.split_last().expect("Qout");
        assert!(qout.len() <= self.qout_max);
        assert_eq!(queues.iter().map(Ring::len).sum::<u32>(), self.resident);
        assert_eq!(self.due.iter().min(), Some(&self.earliest.0));
        for (k, queue) in self.queues.iter().enumerate() {
            queue.check(|slot| self.pages[Slot(slot)].place);
            for (slot, expiry) in queue.expiring() {
                let known = self.pages[Slot(slot)];
                assert_eq!(usize::from(known.queue), k, "a page knows its queue");
                let in_qout = k == self.m;
                assert!(
                    in_qout || known.count >= 1 << k,
                    "a page is in its count's queue or below"
                );
                assert!(in_qout || expiry.max(self.now) >= self.due[k]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_params;
    use crate::params::Value;
    use crate::testing::{drive, reads, show, victims};
    use destage_core::Dense;

    fn mq(frames: u32, queues: i128, life_time: i128, out: f64) -> Mq<Dense> {
        let (queues, life_time) = (Value::Int(queues), Value::Int(life_time));
        let out = Value::Real(out);
        let given = [("queues", &queues), ("life_time", &life_time), ("out_fraction", &out)];
        let params = check_params("mq", given).unwrap();
        Mq::new(&Setup { params, ..Setup::new(frames) }, Dense::new(16))
    }

    /// `Q0[5] Q1[2 1] Qout[3 4]`: queues that are not empty, oldest first.
    fn lists(p: &Mq<Dense>) -> String {
        let mut shown = String::new();
        let (qout, queues) = p.queues.split_last().unwrap();
        for (k, queue) in queues.iter().enumerate().filter(|(_, queue)| !queue.is_empty()) {
            shown += &format!("Q{k}[{}] ", show(queue.iter()));
        }
        shown + &format!("Qout[{}]", show(qout.iter()))
    }

    #[test]
    fn a_page_is_in_the_queue_of_the_logarithm_of_its_count() {
        let mut p = mq(3, 3, 3, 1.0);
        drive(&mut p, &reads(&[1, 1, 2, 3, 1, 1]));
        assert_eq!(lists(&p), "Q0[2 3] Q2[1] Qout[]");
    }

    #[test]
    fn a_ghost_comes_back_with_its_count_and_an_expired_page_moves_down() {
        let mut p = mq(3, 3, 3, 1.0);
        let steps = drive(&mut p, &reads(&[1, 1, 2, 3, 1, 1, 4, 5]));
        assert_eq!(victims(&steps), [2, 3]);
        assert_eq!(lists(&p), "Q0[4 5] Q2[1] Qout[2 3]");
        drive(&mut p, &reads(&[2]));
        assert_eq!(lists(&p), "Q0[5] Q1[2 1] Qout[3 4]");
    }

    #[test]
    fn a_page_that_moved_down_goes_back_by_its_full_count() {
        let mut p = mq(3, 3, 3, 1.0);
        drive(&mut p, &reads(&[1, 1, 2, 3, 1, 1, 4, 5, 2, 3, 6, 7]));
        assert_eq!(lists(&p), "Q0[7] Q1[1 3] Qout[5 2 6]");
        drive(&mut p, &reads(&[1]));
        assert_eq!(lists(&p), "Q0[7 3] Q2[1] Qout[5 2 6]");
    }

    #[test]
    fn the_only_ghost_is_found_although_the_eviction_of_its_return_would_drop_it() {
        let mut p = mq(1, 8, 100, 1.0);
        drive(&mut p, &reads(&[1, 2, 1]));
        assert_eq!(lists(&p), "Q1[1] Qout[2]");
    }

    #[test]
    fn with_one_queue_it_is_lru() {
        let mut p = mq(3, 1, 1, 0.0);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 3, 1, 4, 2]))), [2, 3]);
    }
}
