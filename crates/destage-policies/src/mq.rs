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
//! Cost. O(m) for an access at which a page may expire, else O(1); two links and two counters per
//! page, and a word more per ghost.

use crate::params::{IfAbsent, Kind, Param};
use crate::{BuildError, Info, Setup};
use destage_core::{
    DeviceView, Directory, List, Lookup, NEVER, Page, Pages, PerSlot, Places, Plan, Policy, Queue,
    Request, Slot, share,
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
    ..Info::BLANK
};

/// Entries of Qout ahead of their turn that are asked for.
const SOON: u32 = 8;

/// What MQ counts of a page.
#[derive(Clone, Copy, Default)]
struct Rank {
    count: u64,  // references while resident or a ghost
    expiry: u64, // last access at which it stays in its queue
}

/// The policy.
pub struct Mq<D> {
    pages: Pages<D>, // every resident page and every ghost; list = queue + 1, or the tag of Qout
    ranks: PerSlot<Rank>,
    queues: Vec<List>, // Q0..Q(m-1); MRU is the end, LRU the oldest
    filled: u64,       // bit k: Qk is not empty
    qout: Queue,       // Qout
    places: Places,    // of the ghosts in Qout
    qout_max: u32,
    life_time: u64,
    now: u64,
    due: Vec<u64>, // the oldest page of Qk expires no earlier; NEVER for Q0
    earliest: u64, // the least of them
    resident: u32,
    frames: u32,
}

impl<D: Directory> Mq<D> {
    /// For `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let m = setup.params.int("queues") as u8; // 1..=64
        let pages = Pages::new(directory, m);
        Mq {
            ranks: PerSlot::new(&pages),
            queues: (1..=m).map(|tag| List::new(&pages, tag)).collect(),
            filled: 0,
            qout: Queue::new(),
            places: Places::new(&pages),
            pages,
            qout_max: share(setup.params.real("out_fraction"), setup.frames),
            life_time: setup.params.optional_int("life_time").unwrap_or(setup.frames.into()),
            now: 0,
            due: vec![NEVER; m.into()],
            earliest: NEVER,
            resident: 0,
            frames: setup.frames,
        }
    }

    pub(crate) fn build(setup: &Setup, directory: D) -> Result<Self, BuildError> {
        Ok(Mq::new(setup, directory))
    }

    /// Tag of the pages in Qout.
    fn out_tag(&self) -> u8 {
        self.queues.len() as u8 + 1
    }

    #[inline(always)]
    fn unlink(&mut self, slot: Slot) {
        let k = usize::from(self.pages[slot].list) - 1;
        self.queues[k].unlink(&mut self.pages, slot);
        self.filled &= !(u64::from(self.queues[k].is_empty()) << k);
    }

    /// Puts a page at the end of Qk, with a new expiry.
    #[inline(always)]
    fn append(&mut self, slot: Slot, k: usize) {
        let expiry = self.now.saturating_add(self.life_time);
        self.ranks[slot].expiry = expiry;
        self.queues[k].push_mru(&mut self.pages, slot);
        self.filled |= 1 << k;
        if k > 0 {
            self.due[k] = self.due[k].min(expiry);
            self.earliest = self.earliest.min(expiry);
        }
    }

    /// Counts a reference to a page that is in no queue, and puts it into the queue of its count;
    /// then time goes on.
    #[inline(always)]
    fn reference(&mut self, slot: Slot) {
        let rank = &mut self.ranks[slot];
        rank.count += 1;
        let k = rank.count.ilog2() as usize;
        self.append(slot, k.min(self.queues.len() - 1));
        self.now += 1;
        if self.earliest < self.now {
            self.age();
        }
    }

    /// The oldest page of each queue but the lowest moves down if it has expired.
    ///
    /// The next one is looked at only at the next access: not before may it move, and its rank is
    /// near by then.
    #[inline(never)]
    fn age(&mut self) {
        for k in 1..self.queues.len() {
            if self.due[k] >= self.now {
                continue;
            }
            let Some(oldest) = self.queues[k].lru(&self.pages) else {
                self.due[k] = NEVER;
                continue;
            };
            let expiry = self.ranks[oldest].expiry;
            self.due[k] = expiry;
            if expiry < self.now {
                self.unlink(oldest);
                self.append(oldest, k - 1);
                self.due[k] = match self.queues[k].lru(&self.pages) {
                    None => NEVER,
                    Some(next) => {
                        self.ranks.warm_slot(next);
                        self.now // it moves no earlier than when it is looked at
                    }
                };
            }
        }
        self.earliest = self.due[1..].iter().copied().min().unwrap_or(NEVER);
    }
}

impl<D: Directory> Policy for Mq<D> {
    /// The references that Qout remembered.
    type Miss = u64;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<u64> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(0) };
        if self.pages[slot].list == self.out_tag() {
            self.qout.take(slot, &self.places);
            self.pages.remove(slot);
            return Lookup::Miss(self.ranks[slot].count);
        }
        self.pages[slot].dirty |= r.op.is_write();
        self.unlink(slot);
        self.reference(slot);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, _: &mut u64, _: &dyn DeviceView, plan: &mut Plan) {
        let lowest = self.filled.trailing_zeros() as usize;
        let victim = self.queues[lowest].pop_lru(&mut self.pages).expect("a full buffer has pages");
        self.filled &= !(u64::from(self.queues[lowest].is_empty()) << lowest);
        self.resident -= 1;
        plan.evict(self.pages.page(victim), self.pages[victim].dirty);
        if self.qout_max == 0 {
            self.pages.remove(victim);
            return;
        }
        if self.qout.len() == self.qout_max {
            let oldest = self.qout.pop().expect("a full Qout has an oldest entry");
            self.pages.remove(oldest);
            self.pages.warm_slot(self.qout.ahead(SOON));
        }
        self.pages[victim].list = self.out_tag();
        self.qout.push(victim, &mut self.places);
        if let Some(next) = self.queues[lowest].lru(&self.pages) {
            self.places.warm_slot(next);
        }
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, count: u64) -> Slot {
        let slot = self.pages.insert(r.page);
        self.pages[slot].dirty = r.op.is_write();
        self.ranks.set(slot, Rank { count, expiry: 0 });
        self.resident += 1;
        self.reference(slot);
        slot
    }

    fn frames(&self) -> u32 {
        self.frames
    }

    #[inline(always)]
    fn resident(&self) -> u32 {
        self.resident
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for slot in self.queues.iter().flat_map(|queue| queue.iter(&self.pages)) {
            visit(self.pages.page(slot), self.pages[slot].dirty);
        }
    }

    hints! { self.pages: warm, warm_links; beside: self.ranks, self.places }

    fn check(&self) {
        assert!(self.resident <= self.frames);
        assert!(self.qout.len() <= self.qout_max);
        self.qout.check(&self.places);
        assert!(self.qout.iter().all(|slot| self.pages[slot].list == self.out_tag()));
        assert_eq!(self.queues.iter().map(List::len).sum::<u32>(), self.resident);
        for (k, queue) in self.queues.iter().enumerate() {
            queue.check(&self.pages);
            assert_eq!(self.filled >> k & 1 == 0, queue.is_empty());
            assert!(self.earliest <= self.due[k]);
            let mut newer_expiry = NEVER;
            for slot in queue.iter(&self.pages) {
                let Rank { count, expiry } = self.ranks[slot];
                assert!(
                    count.ilog2() as usize >= k,
                    "a page is in the queue of its count or below"
                );
                assert!(expiry <= newer_expiry, "the oldest page of a queue expires first");
                assert!(k == 0 || expiry >= self.due[k] || self.due[k] <= self.now);
                newer_expiry = expiry;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_params;
    use crate::params::Value;
    use crate::testing::{drive, reads, victims};
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
        for (k, queue) in p.queues.iter().enumerate().filter(|(_, queue)| !queue.is_empty()) {
            let mut slots: Vec<String> = queue.iter(&p.pages).map(|s| s.0.to_string()).collect();
            slots.reverse();
            shown += &format!("Q{k}[{}] ", slots.join(" "));
        }
        let out: Vec<String> = p.qout.iter().map(|s| s.0.to_string()).collect();
        shown + &format!("Qout[{}]", out.join(" "))
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
