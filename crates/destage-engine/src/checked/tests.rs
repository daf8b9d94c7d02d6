//! A policy that obeys passes; each kind of wrong one is caught, and named by its first wrong act.

use super::*;
use destage_core::{Blind, Dense, NEVER, Op, Op::*};
use destage_policies::{POLICIES, Setup, check_params, dense};
use std::collections::HashMap;

mod trims;

/// The engine's loop; returns how many accesses hit.
fn drive<P: Policy>(policy: &mut P, accesses: &[(Op, u64)]) -> usize {
    let mut plan = Plan::new();
    let mut hits = 0;
    for (&(op, page), next_use) in accesses.iter().zip(next_uses(accesses)) {
        let r = Request { next_use, ..Request::new(Page(page), Lpn(page), op) };
        match policy.request(&r) {
            Lookup::Hit(_) => hits += 1,
            Lookup::Bypass => {}
            Lookup::Miss(mut miss) => {
                while policy.resident() >= policy.frames() {
                    policy.evict(&mut miss, &Blind, &mut plan);
                }
                policy.admit(&r, miss);
            }
        }
    }
    hits
}

fn next_uses(accesses: &[(Op, u64)]) -> Vec<u64> {
    let mut next = HashMap::new();
    let mut uses: Vec<u64> = accesses
        .iter()
        .enumerate()
        .rev()
        .map(|(access, &(_, page))| next.insert(page, access as u64).unwrap_or(NEVER))
        .collect();
    uses.reverse();
    uses
}

/// Reads and writes in no order.
fn mixed(accesses: usize, pages: u64) -> Vec<(Op, u64)> {
    let mut state = 7_u64;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (if state >> 63 == 0 { Read } else { Write }, (state >> 33) % pages)
    })
    .take(accesses)
    .collect()
}

/// Fault of a [`Faulty`] policy, from its third eviction or hit on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    EvictsAStranger,
    GivesUpNothing,
    GivesUpTwice,
    DropsDirtyAsClean,
    EvictsCleanAsDirty,
    FlushesClean,
    FlushesEmptyGroups,
    FlushesDescending,
    StaysDirtyAfterFlush,
    PadsWhatItFlushes,
    PadsAsIfInBuffer,
    PadsAsIfNotInBuffer,
    KeepsTheVictim,
    LosesAPage,
    MissesAResident,
    HitsAGhost,
    MovesSlots,
    BypassesWrites,
    CountsTooFew,
    ShowsTwice,
    MiscountsDirtyPages,
    BreaksItsInvariant,
}

/// FIFO that flushes the victim's dirty neighbour too, and keeps it: every kind of plan occurs.
struct Faulty {
    pages: Vec<(Page, bool)>, // oldest first
    frames: u32,
    fault: Fault,
    hits: u32,
    evictions: u32,
}

impl Faulty {
    fn new(fault: Fault) -> Checked<Faulty> {
        let faulty = Faulty { pages: Vec::new(), frames: 4, fault, hits: 0, evictions: 0 };
        Checked::new(faulty, 1)
    }

    fn does(&self, fault: Fault) -> bool {
        self.fault == fault && (self.evictions > 2 || self.hits > 2)
    }
}

impl Policy for Faulty {
    type Miss = ();

    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(entry) = self.pages.iter_mut().find(|(page, _)| *page == r.page) else {
            if self.does(Fault::HitsAGhost) {
                return Lookup::Hit(Slot(0));
            }
            let bypassed = self.does(Fault::BypassesWrites) && r.op.is_write();
            return if bypassed { Lookup::Bypass } else { Lookup::Miss(()) };
        };
        entry.1 |= r.op.is_write();
        self.hits += 1;
        if self.does(Fault::MissesAResident) {
            return Lookup::Miss(());
        }
        Lookup::Hit(Slot(r.page.0 as u32 + u32::from(self.does(Fault::MovesSlots))))
    }

    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        self.evictions += 1;
        if self.does(Fault::GivesUpNothing) {
            return;
        }
        if self.does(Fault::EvictsAStranger) {
            return plan.evict(Page(999), false);
        }
        let (page, dirty) = self.pages.remove(0);
        if self.does(Fault::KeepsTheVictim) {
            self.pages.insert(0, (page, dirty));
        }
        if self.does(Fault::LosesAPage) {
            self.pages.pop();
        }
        if self.does(Fault::DropsDirtyAsClean) || !dirty {
            plan.evict(page, self.does(Fault::EvictsCleanAsDirty));
        } else {
            let below = Page(page.0.wrapping_sub(1));
            let neighbour = self.pages.iter_mut().find(|(p, dirty)| *p == below && *dirty);
            plan.open_group();
            if let Some(neighbour) = neighbour {
                neighbour.1 = false;
                if self.does(Fault::FlushesDescending) {
                    plan.flush_and_evict(page);
                    plan.flush_and_keep(below);
                    return;
                }
                plan.flush_and_keep(below);
                if self.does(Fault::StaysDirtyAfterFlush) {
                    self.pages.iter_mut().find(|(p, _)| *p == below).unwrap().1 = true;
                }
            }
            plan.flush_and_evict(page);
            let above = Page(page.0 + 1);
            let held = self.pages.iter().any(|(p, _)| *p == above);
            let lie = match held {
                true => self.does(Fault::PadsAsIfNotInBuffer),
                false => self.does(Fault::PadsAsIfInBuffer),
            };
            let padded = if self.does(Fault::PadsWhatItFlushes) { page } else { above };
            plan.pad(Lpn(padded.0), held != lie);
        }
        if self.does(Fault::GivesUpTwice) {
            plan.evict(page, false);
        }
        if self.does(Fault::FlushesClean)
            && let Some((clean, _)) = self.pages.iter().find(|(_, dirty)| !dirty)
        {
            plan.open_group();
            plan.flush_and_keep(*clean);
        }
        if self.does(Fault::FlushesEmptyGroups) {
            plan.open_group();
        }
    }

    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        self.pages.push((r.page, r.op.is_write()));
        Slot(r.page.0 as u32)
    }

    fn frames(&self) -> u32 {
        self.frames
    }

    fn resident(&self) -> u32 {
        self.pages.len() as u32 - u32::from(self.does(Fault::CountsTooFew))
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.pages.iter().for_each(|&(page, dirty)| visit(page, dirty));
        if self.does(Fault::ShowsTwice) {
            visit(self.pages[0].0, self.pages[0].1);
        }
    }

    fn dirty_pages(&self) -> u64 {
        let dirty = self.pages.iter().filter(|&&(_, dirty)| dirty).count() as u64;
        dirty + u64::from(self.does(Fault::MiscountsDirtyPages))
    }

    fn check(&self) {
        assert!(!self.does(Fault::BreaksItsInvariant), "two and two are four");
    }
}

/// The first violation in a trace in which every fault shows.
fn caught(fault: Fault) -> String {
    let mut policy = Faulty::new(fault);
    drive(&mut policy, &mixed(2000, 12));
    match policy.finish() {
        Ok(_) => "nothing".to_string(),
        Err(violation) => violation.law,
    }
}

#[test]
fn a_policy_that_obeys_passes_with_groups_and_padding() {
    assert_eq!(caught(Fault::None), "nothing");
}

#[test]
fn every_policy_of_the_table_obeys() {
    for info in POLICIES {
        for (frames, pages) in [(1, 3), (2, 9), (10, 40), (60, 50)] {
            let params = check_params(info.name, []).unwrap();
            let setup = Setup { params, trace_pages: Some(pages), ..Setup::new(frames) };
            let policy = dense(info.name, &setup, pages as u32).unwrap();
            let mut policy = Checked::new(policy, 1);
            drive(&mut policy, &mixed(3000, pages));
            assert_eq!(policy.finish().map(|_| ()), Ok(()), "{} with {frames} frames", info.name);
        }
    }
}

#[test]
fn every_wrong_policy_is_caught() {
    for (fault, law) in [
        (Fault::EvictsAStranger, "page 999 is evicted: it is not resident"),
        (Fault::GivesUpNothing, "an eviction gives up no page"),
        (Fault::GivesUpTwice, "is evicted: it is not resident"),
        (Fault::DropsDirtyAsClean, "is evicted as clean: it is dirty"),
        (Fault::EvictsCleanAsDirty, "is flushed: it is clean"),
        (Fault::FlushesClean, "is flushed: it is clean"),
        (Fault::FlushesEmptyGroups, "a flush group has no page of the buffer"),
        (Fault::FlushesDescending, "in a flush group"),
        (Fault::StaysDirtyAfterFlush, "is kept as dirty: it is clean"),
        (Fault::PadsWhatItFlushes, "is padded: it is flushed as well"),
        (Fault::PadsAsIfInBuffer, "is padded: it is not in the buffer"),
        (Fault::PadsAsIfNotInBuffer, "is padded: it is in the buffer"),
        (Fault::KeepsTheVictim, "the policy says that 4 pages are resident: 3 are"),
        (Fault::LosesAPage, "the policy says that 2 pages are resident: 3 are"),
        (Fault::MissesAResident, "misses: it is resident"),
        (Fault::HitsAGhost, "hits: it is not resident"),
        (Fault::MovesSlots, "and hits in slot"),
        (Fault::BypassesWrites, "is bypassed: it is lost"),
        (Fault::CountsTooFew, "the policy says that 2 pages are resident: 3 are"),
        (Fault::ShowsTwice, "is resident twice"),
        (Fault::MiscountsDirtyPages, "pages are dirty: "),
        (Fault::BreaksItsInvariant, "the policy's own check: two and two are four"),
    ] {
        let caught = caught(fault);
        assert!(caught.contains(law), "{fault:?}: {caught}");
    }
}

#[test]
fn a_violation_names_its_access_and_takes_the_policy_out_of_service() {
    let mut policy = Faulty::new(Fault::GivesUpNothing);
    let writes: Vec<_> = (0..100).map(|page| (Write, page)).collect();
    drive(&mut policy, &writes);
    let violation = policy.violation().unwrap();
    assert_eq!(violation.to_string(), "access 6, evict: an eviction gives up no page");
    assert_eq!(drive(&mut policy, &writes), 0, "nothing hits any more");
    assert!(catch_unwind(AssertUnwindSafe(|| policy.check())).is_err(), "and `check` asserts it");
}

#[test]
fn the_caller_must_evict_when_full_and_only_then() {
    let read = |page| Request::new(Page(page), Lpn(page), Read);
    let mut early = Faulty::new(Fault::None);
    assert_eq!(early.request(&read(1)), Lookup::Miss(()));
    early.evict(&mut (), &Blind, &mut Plan::new());
    assert_eq!(early.violation().unwrap().law, "evict is called while a frame is free");

    let mut late = Faulty::new(Fault::None);
    for page in 0..5 {
        assert_eq!(late.request(&read(page)), Lookup::Miss(()));
        late.admit(&read(page), ());
    }
    assert_eq!(late.violation().unwrap().law, "page 4 is admitted: no frame is free");

    let mut other = Faulty::new(Fault::None);
    assert_eq!(other.request(&read(1)), Lookup::Miss(()));
    other.admit(&read(2), ());
    assert_eq!(other.violation().unwrap().law, "page 2 is admitted: it did not miss");
}

#[test]
fn contents_are_compared_as_often_as_asked_and_at_the_end() {
    let faulty = |every| {
        let policy = Faulty {
            pages: Vec::new(),
            frames: 4,
            fault: Fault::BreaksItsInvariant,
            hits: 3,
            evictions: 0,
        };
        let mut policy = Checked::new(policy, every);
        drive(&mut policy, &[(Read, 1), (Read, 2), (Read, 3)]);
        policy
    };
    assert_eq!(faulty(1).violation().unwrap().access, 0);
    assert_eq!(faulty(2).violation().unwrap().access, 1);
    let seldom = faulty(100);
    assert_eq!(seldom.violation(), None);
    assert!(seldom.finish().is_err());
}

/// An LRU that writes back what it is told to in idle instants.
struct Writer {
    lru: destage_policies::lru::Lru<Dense>,
    gives_up: bool,
}

impl Policy for Writer {
    type Miss = ();

    fn request(&mut self, r: &Request) -> Lookup<()> {
        self.lru.request(r)
    }
    fn evict(&mut self, (): &mut (), device: &dyn DeviceView, plan: &mut Plan) {
        self.lru.evict(&mut (), device, plan);
    }
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        self.lru.admit(r, ())
    }
    fn frames(&self) -> u32 {
        self.lru.frames()
    }
    fn resident(&self) -> u32 {
        self.lru.resident()
    }
    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.lru.for_each_resident(visit);
    }
    fn next_victims(&self, show: &mut dyn FnMut(Page, bool) -> bool) {
        self.lru.next_victims(show);
    }
    fn cleaned(&mut self, page: Page) {
        self.lru.cleaned(page);
    }
    fn idle(&mut self, _: UnitId, device: &dyn DeviceView, plan: &mut Plan) {
        if self.gives_up {
            return self.lru.evict(&mut (), device, plan);
        }
        let mut first = None;
        self.lru.next_victims(&mut |page, _| {
            first = Some(page);
            false
        });
        let page = first.expect("a page is resident");
        plan.open_group();
        plan.flush_and_keep(page);
        self.lru.cleaned(page);
    }
}

fn writer(gives_up: bool) -> Checked<Writer> {
    let lru = destage_policies::lru::Lru::new(&Setup::new(4), Dense::new(8));
    let mut policy = Checked::new(Writer { lru, gives_up }, 1);
    drive(&mut policy, &[(Write, 1), (Read, 2), (Write, 3)]);
    policy
}

#[test]
fn a_page_that_is_written_and_stays_was_dirty_and_is_clean() {
    let mut policy = writer(false);
    policy.cleaned(Page(3));
    policy.idle(UnitId(0), &Blind, &mut Plan::new()); // writes page 1
    assert_eq!(drive(&mut policy, &[(Read, 3), (Read, 1)]), 2);
    assert_eq!(policy.violation(), None);
    policy.cleaned(Page(1));
    assert_eq!(policy.violation().unwrap().law, "page 1 is written: it is clean");

    let mut policy = writer(false);
    policy.cleaned(Page(5));
    assert_eq!(policy.violation().unwrap().law, "page 5 is written: it is not resident");

    let mut policy = writer(false);
    let mut plan = Plan::new();
    policy.idle(UnitId(0), &Blind, &mut plan);
    policy.idle(UnitId(0), &Blind, &mut plan);
    assert_eq!(policy.violation().unwrap().law, "page 1 is flushed: it is clean");
}

#[test]
fn no_page_leaves_in_an_idle_instant() {
    let mut policy = writer(true);
    policy.idle(UnitId(0), &Blind, &mut Plan::new());
    assert_eq!(policy.violation().unwrap().law, "page 1 is evicted while there is no miss");
}
