//! CLOCK-Pro: LIRS's test of reuse distances, with hits as cheap as CLOCK's.
//!
//! Jiang, Chen, Zhang. CLOCK-Pro: an effective improvement of the CLOCK replacement. USENIX
//! ATC 2005, as Caffeine's `ClockProPolicy` carries it out, which quotes the paper at each step.
//!
//! Rules. One list of pages from head (recent) to tail. A page is hot (H); cold (C); cold and in
//! its test period (T); or not resident any more and in its test period (N). A hit marks its page.
//! `m_c` is the wanted number of cold pages. Three hands stand at the page nearest to the tail of
//! their kind:
//!
//! ```text
//!   head ▶ T  H  N  T  H  C  N  T  H ◀ tail
//!                      │     │  │  └ HAND_hot: H
//!                            │  └─── HAND_cold: C or T;  HAND_test: T or N
//! ```
//!
//! A page that is accessed during its test period would have been a hit among the hot pages: its
//! reuse distance is shorter than theirs. So it becomes hot, and the last hot page that is not
//! marked becomes cold; `m_c` grows by one. A test period that ends without an access makes `m_c`
//! smaller by one. Room is made at HAND_cold: an unmarked page is evicted, and stays as N if it was
//! in its test period; a marked one becomes hot if it is in its test period and a hot page can be
//! made cold for it, else it starts a new one at the head. After every miss, no test period goes on
//! beyond the last hot page. The functions below are the procedures of
//! `docs/spec/further-policies.md`, 3.12.
//!
//! Readings.
//!
//! | open | here |
//! |---|---|
//! | does `m_c` adapt | yes (the paper, Caffeine); the authors' program has a fixed 5 % |
//! | pages in their test that are not resident | as many as frames (the authors' program); Caffeine: twice |
//! | one of them comes back, and no hot page can be cooled | it is cold, in a new test period (both programs) |
//! | two accesses in a row to one page | the second is not seen (both programs) |
//! | filling | the first pages are hot (both programs) |
//! | small caches | one cold page below 4 frames; the programs refuse them |
//!
//! State. Pages get a number at the head, so that of two the one nearer to the tail is known. A
//! hand is a page that none of its kind is behind; it moves on towards the head when it is asked
//! for, past pages that changed their kind: pages behind it never become of its kind, since kinds
//! change from T to C or N only, or at the head.
//!
//! Cost. O(1) amortised: a hand passes a page once, after each time that the page was put at the
//! head. Two links and a number per page, at most `s` and the ghosts and one of them.

use crate::params::{IfAbsent, Kind, Param};
use crate::{Gauge, Info, Setup};
use destage_core::{
    DeviceView, Directory, List, Lookup, Page, Pages, Part, PerSlot, Plan, Policy, Request, Slot,
    share,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "clock-pro",
    title: "CLOCK-Pro",
    source: "Jiang, Chen, Zhang, USENIX ATC 2005",
    about: "LIRS's test of reuse distances, with hits as cheap as CLOCK's.",
    ghosts: true,
    time: "O(1) amortised",
    params: &[
        Param {
            name: "cold_min_fraction",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: IfAbsent::Real(0.01),
            unit: "of frames",
            about: "Least wanted number of cold pages, where it starts; default of Caffeine.",
            ..Param::BLANK
        },
        Param {
            name: "cold_max_fraction",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: IfAbsent::Real(0.99),
            unit: "of frames",
            about: "Largest wanted number of cold pages; default of Caffeine.",
            ..Param::BLANK
        },
        Param {
            name: "ghost_fraction",
            kind: Kind::Real { min: 0.0, max: 16.0 },
            default: IfAbsent::Real(1.0),
            unit: "of frames",
            about: "Pages in their test period that are not resident; default of the authors' \
                    program.",
            ..Param::BLANK
        },
    ],
    gauges: &[
        Gauge { name: "m_c", title: "m_c: wanted number of cold pages", unit: "pages" },
        Gauge { name: "hot", title: "hot pages", unit: "pages" },
    ],
    ..Info::BLANK
};

// Kind of a page: the low bits of its mark.
const HOT: u16 = 0;
const COLD: u16 = 1;
const TEST: u16 = 2; // cold, in its test period
const GHOST: u16 = 3; // in its test period, not resident
const KIND: u16 = 3;
/// Hit since the page was put at the head.
const MARKED: u16 = 4;

/// HAND_hot, HAND_cold and HAND_test: the kinds that each looks for, a bit each.
const HOT_HAND: usize = 0;
const COLD_HAND: usize = 1;
const TEST_HAND: usize = 2;
const KINDS: [u16; 3] = [1 << HOT, 1 << COLD | 1 << TEST, 1 << TEST | 1 << GHOST];

/// Result of a look-up that missed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Miss {
    full: bool,  // the cache
    ghost: bool, // the page, when it was looked up
}

/// The policy.
pub struct ClockPro<D> {
    pages: Pages<D>, // all pages of the list; mark = kind and MARKED
    list: List,      // head (MRU) to tail (LRU)
    placed: PerSlot<u64>,
    placements: u64,          // pages ever put at the head
    hands: [Option<Slot>; 3], // none of a hand's kinds is behind it; none at all, if it is None
    hot: u32,
    ghosts: u32,
    m_c: u32,
    lo: u32, // least m_c
    hi: u32, // largest m_c
    ghosts_max: u32,
    previous: Option<Page>, // of the access before
    forgot: bool,           // a page, since the last miss
    frames: u32,
}

impl<D: Directory> ClockPro<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let (frames, params) = (setup.frames, &setup.params);
        let least = if frames < 4 { 1 } else { 2 };
        let lo = share(params.real("cold_min_fraction"), frames).max(least);
        let hi = share(params.real("cold_max_fraction"), frames).min(frames - lo).max(lo);
        let pages = Pages::new(directory, 1);
        ClockPro {
            list: List::new(&pages, 1),
            placed: PerSlot::new(&pages),
            pages,
            placements: 0,
            hands: [None; 3],
            hot: 0,
            ghosts: 0,
            m_c: lo,
            lo,
            hi,
            ghosts_max: share(params.real("ghost_fraction"), frames),
            previous: None,
            forgot: false,
            frames,
        }
    }

    #[inline(always)]
    fn kind(&self, slot: Slot) -> u16 {
        self.pages[slot].mark & KIND
    }

    #[inline(always)]
    fn is_marked(&self, slot: Slot) -> bool {
        self.pages[slot].mark & MARKED != 0
    }

    /// The page is known, and in its test period.
    #[inline(always)]
    fn is_in_test(&self, slot: Slot) -> bool {
        self.list.holds(&self.pages, slot) && self.kind(slot) >= TEST
    }

    /// The page where a hand stands.
    #[inline(always)]
    fn hand(&mut self, hand: usize) -> Option<Slot> {
        while let Some(slot) = self.hands[hand]
            && KINDS[hand] & 1 << self.kind(slot) == 0
        {
            self.hands[hand] = self.after(slot);
        }
        self.hands[hand]
    }

    /// The next page for a hand. Prefetches the one after it: pages near a hand are cold in every
    /// sense.
    #[inline(always)]
    fn after(&self, slot: Slot) -> Option<Slot> {
        let next = self.list.newer(&self.pages, slot)?;
        if let Some(soon) = self.list.newer(&self.pages, next) {
            self.pages.prefetch_node(soon);
            self.placed.prefetch_slot(soon);
        }
        Some(next)
    }

    /// Takes a page off the list, from under the hands.
    #[inline(always)]
    fn unlink(&mut self, slot: Slot) {
        for hand in 0..3 {
            if self.hands[hand] == Some(slot) {
                self.hands[hand] = self.after(slot);
            }
        }
        self.list.unlink(&mut self.pages, slot);
        match self.kind(slot) {
            HOT => self.hot -= 1,
            GHOST => self.ghosts -= 1,
            _ => {}
        }
    }

    /// Puts a page that is on no list at the head, unmarked.
    #[inline(always)]
    fn place(&mut self, slot: Slot, kind: u16) {
        self.list.push_mru(&mut self.pages, slot);
        self.pages[slot].mark = kind;
        self.placements += 1;
        self.placed.set(slot, self.placements);
        self.hot += u32::from(kind == HOT);
        for hand in &mut self.hands {
            hand.get_or_insert(slot);
        }
    }

    #[inline(always)]
    fn move_to_head(&mut self, slot: Slot, kind: u16) {
        self.unlink(slot);
        self.place(slot, kind);
    }

    #[inline(always)]
    fn adjust(&mut self, up: bool) {
        let m_c = if up { self.m_c + 1 } else { self.m_c - 1 };
        self.m_c = m_c.clamp(self.lo, self.hi);
    }

    /// Ends the test period of a page, if it is in one.
    #[inline(always)]
    fn end_test(&mut self, slot: Slot) {
        match self.kind(slot) {
            TEST => {
                self.pages[slot].mark = COLD | self.pages[slot].mark & MARKED;
                self.adjust(self.is_marked(slot));
            }
            GHOST => {
                self.unlink(slot);
                self.pages.remove(slot);
                self.adjust(false);
            }
            _ => {}
        }
    }

    /// Ends the tests on the tail side of the last hot page, from the tail on.
    #[inline(always)]
    fn trim(&mut self) {
        let Some(last_hot) = self.hand(HOT_HAND) else { return };
        while let Some(slot) = self.hand(TEST_HAND)
            && self.placed[slot] < self.placed[last_hot]
        {
            self.end_test(slot);
        }
    }

    /// Makes a hot page cold that is on the tail side of x: the last one that is not marked. Marked
    /// ones go to the head, and tests on the way end. False if there is none.
    fn cool_for(&mut self, x: Slot) -> bool {
        let Some(mut at) = self.hand(HOT_HAND) else { return false };
        let end = self.placed[x];
        let mut made_cold = false;
        while !made_cold && self.placed[at] < end {
            let next = self.list.newer(&self.pages, at);
            match self.pages[at].mark {
                HOT => {
                    self.move_to_head(at, COLD);
                    made_cold = true;
                }
                mark if mark == HOT | MARKED => self.move_to_head(at, HOT),
                _ => self.end_test(at),
            }
            at = next.expect("x is nearer to the head");
        }
        self.trim();
        made_cold
    }

    /// x, a page in its test period that was accessed, may become hot: as many hot pages as it
    /// takes become cold. False if it is not in its test period, or there are not so many.
    fn promote(&mut self, x: Slot) -> bool {
        if !self.is_in_test(x) {
            return false;
        }
        self.adjust(true);
        self.pages[x].mark &= !MARKED;
        while self.hot >= self.frames - self.m_c {
            if !self.is_in_test(x) || !self.cool_for(x) {
                return false;
            }
        }
        true
    }

    /// Evicts the first page at HAND_cold that is not marked.
    #[inline(always)]
    fn make_room(&mut self, plan: &mut Plan) {
        let x = loop {
            let x = self.hand(COLD_HAND).expect("a full buffer has a cold page");
            if !self.is_marked(x) {
                break x;
            }
            let hot = self.kind(x) == TEST && self.promote(x);
            self.move_to_head(x, if hot { HOT } else { TEST });
        };
        plan.evict(self.pages.page(x), self.pages[x].dirty);
        if self.kind(x) == TEST {
            self.pages[x].mark = GHOST;
            self.ghosts += 1;
        } else {
            self.unlink(x);
            self.pages.remove(x);
        }
        while self.ghosts > self.ghosts_max {
            let last = self.hand(TEST_HAND).expect("there are ghosts");
            self.end_test(last);
        }
    }
}

impl<D: Directory> Policy for ClockPro<D> {
    type Miss = Miss;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<Miss> {
        let again = self.previous.replace(r.page) == Some(r.page);
        let full = self.resident() == self.frames;
        let Some(slot) = self.pages.find(r.page) else {
            return Lookup::Miss(Miss { full, ghost: false });
        };
        if self.kind(slot) == GHOST {
            return Lookup::Miss(Miss { full, ghost: true });
        }
        let page = &mut self.pages[slot];
        page.dirty |= r.op.is_write();
        if !again {
            page.mark |= MARKED;
        }
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, _: &mut Miss, _: &dyn DeviceView, plan: &mut Plan) {
        self.make_room(plan);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, miss: Miss) -> Slot {
        let hot = if miss.full {
            // The ghost may be gone by now: making room ends tests.
            miss.ghost && self.pages.find(r.page).is_some_and(|ghost| self.promote(ghost))
        } else {
            self.frames - self.resident() > self.lo
        };
        let slot = match self.pages.find(r.page) {
            Some(ghost) => {
                self.unlink(ghost);
                ghost
            }
            None => self.pages.insert(r.page),
        };
        self.place(slot, if hot { HOT } else { TEST });
        self.pages[slot].dirty = r.op.is_write();
        self.trim();
        slot
    }

    counted! { self: self.list.len() - self.ghosts, of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for slot in self.list.iter(&self.pages).filter(|&slot| self.kind(slot) != GHOST) {
            visit(self.pages.page(slot), self.pages[slot].dirty);
        }
    }

    /// m_c stays. Tests that go on beyond what is now the last hot page end with the next miss.
    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty;
        let resident = self.kind(slot) != GHOST;
        self.forgot = true;
        self.unlink(slot);
        self.pages.remove(slot);
        resident.then_some(dirty)
    }

    fn inside(&self) -> Vec<(&'static str, Part)> {
        let shown = |kinds: &[u16]| {
            let list = self.list.iter(&self.pages).filter(|&slot| kinds.contains(&self.kind(slot)));
            Part::pages(list.map(|slot| self.pages.page(slot)))
        };
        vec![
            ("hot", shown(&[HOT])),
            ("cold", shown(&[COLD, TEST])),
            ("test", shown(&[TEST, GHOST])),
        ]
    }

    hints! { self.pages: prefetch; beside: self.placed }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("m_c", f64::from(self.m_c));
        show("hot", f64::from(self.hot));
    }

    fn check(&self) {
        self.list.check(&self.pages);
        let list: Vec<Slot> = self.list.iter(&self.pages).collect();
        let with = |kind| list.iter().filter(|&&slot| self.kind(slot) == kind).count();
        assert_eq!((with(HOT), with(GHOST)), (self.hot as usize, self.ghosts as usize));
        assert!(self.resident() <= self.frames);
        assert!(self.ghosts <= self.ghosts_max);
        assert!((self.lo..=self.hi).contains(&self.m_c), "lo <= m_c <= hi");
        assert!(
            list.windows(2).all(|pair| self.placed[pair[0]] > self.placed[pair[1]]),
            "numbers grow towards the head"
        );
        for (hand, kinds) in self.hands.iter().zip(KINDS) {
            let place = list.iter().rposition(|&slot| Some(slot) == *hand);
            let last = list.iter().rposition(|&slot| kinds & 1 << self.kind(slot) != 0);
            assert_eq!(place.is_some(), hand.is_some(), "a hand stands on the list");
            assert!(last <= place, "none of a hand's kinds is behind it");
        }
        let last_hot = list.iter().rposition(|&slot| self.kind(slot) == HOT);
        let tests = last_hot
            .map_or(0, |hot| list[hot..].iter().filter(|&&slot| self.kind(slot) >= TEST).count());
        assert!(tests == 0 || self.forgot, "no test goes on beyond the last hot page");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::{drive, reads, setup, show, victims};
    use destage_core::Dense;

    fn clock_pro(frames: u32, given: &[(&str, Value)]) -> ClockPro<Dense> {
        ClockPro::new(&setup("clock-pro", frames, given), Dense::new(16))
    }

    /// `list[8H* 5C 4N] m_c=2`, from the head.
    fn lists(p: &ClockPro<Dense>) -> String {
        let page = |slot: Slot| {
            let kind = ["H", "C", "T", "N"][usize::from(p.kind(slot))];
            format!("{}{kind}{}", slot.0, if p.is_marked(slot) { "*" } else { "" })
        };
        format!("list[{}] m_c={}", show(p.list.iter(&p.pages).map(page)), p.m_c)
    }

    /// Rows 0 to 6 of the micro-trace (`docs/spec/further-policies.md`, 3.12).
    #[test]
    fn a_ghost_that_comes_back_is_hot_and_hot_pages_not_hit_are_cooled_for_it() {
        let mut p = clock_pro(5, &[]);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 3, 4, 5, 6]))), [4]);
        assert_eq!(lists(&p), "list[6T 5T 4N 3H 2H 1H] m_c=2");
        assert_eq!(victims(&drive(&mut p, &reads(&[4]))), [5]);
        assert_eq!(lists(&p), "list[4H 2C 1C 6T 5N 3H] m_c=3");
    }

    #[test]
    fn a_cold_page_hit_in_its_test_period_becomes_hot_when_room_is_made() {
        let mut p = clock_pro(5, &[]);
        drive(&mut p, &reads(&[1, 2, 3, 4, 5, 4]));
        assert_eq!(lists(&p), "list[5T 4T* 3H 2H 1H] m_c=2");
        assert_eq!(victims(&drive(&mut p, &reads(&[6]))), [5]);
        assert_eq!(lists(&p), "list[6T 4H 2C 1C 5N 3H] m_c=3");
    }

    #[test]
    fn the_second_of_two_accesses_in_a_row_is_not_seen() {
        let mut p = clock_pro(3, &[]);
        drive(&mut p, &reads(&[1, 2, 2, 1]));
        assert_eq!(lists(&p), "list[2H 1H*] m_c=1");
    }

    #[test]
    fn without_ghosts_a_test_period_ends_with_the_eviction() {
        let mut p = clock_pro(5, &[("ghost_fraction", Value::Int(0))]);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 3, 4, 5, 6]))), [4]);
        assert_eq!(lists(&p), "list[6T 5T 3H 2H 1H] m_c=2");
    }

    #[test]
    fn one_frame_is_one_cold_page() {
        let mut p = clock_pro(1, &[]);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 1, 2, 1]))), [1, 2]);
        assert_eq!(lists(&p), "list[1T 2N] m_c=1");
    }
}
