//! Trims: a policy that drops too little or too much, or remembers, is caught.

use super::*;

/// Fault of a policy when a page is trimmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TrimFault {
    None,
    Ignores,
    SaysClean,
    KeepsThePage,
    CountsTooMany,
    RemembersIt,
}

/// LRU, with a list of what it evicted or was told to forget.
struct Trimming {
    inner: destage_policies::lru::Lru<Dense>,
    past: Vec<Page>,
    fault: TrimFault,
}

impl Policy for Trimming {
    type Miss = ();

    fn request(&mut self, r: &Request) -> Lookup<()> {
        self.inner.request(r)
    }

    fn evict(&mut self, (): &mut (), device: &dyn DeviceView, plan: &mut Plan) {
        let before = plan.evicted().len();
        self.inner.evict(&mut (), device, plan);
        self.past.extend(plan.evicted()[before..].iter().map(|evicted| evicted.page));
    }

    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        self.past.retain(|&page| page != r.page);
        self.inner.admit(r, ())
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        match self.fault {
            TrimFault::Ignores => return None,
            TrimFault::KeepsThePage => {
                let mut held = None;
                self.for_each_resident(&mut |other, dirty| {
                    held = if other == page { Some(dirty) } else { held };
                });
                return held;
            }
            TrimFault::RemembersIt => {}
            _ => self.past.retain(|&other| other != page),
        }
        let held = self.inner.forget(page);
        if self.fault == TrimFault::SaysClean { held.map(|_| false) } else { held }
    }

    fn frames(&self) -> u32 {
        self.inner.frames()
    }

    fn resident(&self) -> u32 {
        self.inner.resident() + u32::from(self.fault == TrimFault::CountsTooMany && self.full())
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.inner.for_each_resident(visit);
    }

    fn inside(&self) -> Vec<(&'static str, Part)> {
        vec![("past", Part::pages(self.past.iter().copied()))]
    }
}

impl Trimming {
    /// It has been, and has lost a page since.
    fn full(&self) -> bool {
        !self.past.is_empty() && self.inner.resident() < self.inner.frames()
    }
}

/// Fills four frames twice over, trims a page that is resident and dirty, one that is not, and
/// reads both.
fn trimmed(fault: TrimFault) -> Result<(), String> {
    let inner = destage_policies::lru::Lru::new(&Setup::new(4), Dense::new(16));
    let mut checked = Checked::new(Trimming { inner, past: Vec::new(), fault }, 1);
    let writes: Vec<(Op, u64)> = (0..8).map(|page| (Write, page)).collect();
    drive(&mut checked, &writes);
    checked.forget(Page(6));
    checked.forget(Page(2));
    drive(&mut checked, &[(Read, 9), (Read, 6), (Read, 2)]);
    checked.finish().map(|_| ()).map_err(|violation| violation.to_string())
}

#[test]
fn a_trim_that_drops_too_little_or_too_much_is_caught() {
    assert_eq!(trimmed(TrimFault::None), Ok(()));
    for (fault, law) in [
        (TrimFault::Ignores, "page 6 is trimmed as not resident: it is dirty"),
        (TrimFault::SaysClean, "page 6 is trimmed as clean: it is dirty"),
        (TrimFault::KeepsThePage, "the policy says that 4 pages are resident: 3 are"),
        (TrimFault::CountsTooMany, "the policy says that 4 pages are resident: 3 are"),
        (TrimFault::RemembersIt, "page 2 is in past: it was trimmed"),
    ] {
        let found = trimmed(fault).expect_err("a wrong policy");
        assert!(found.contains(law), "{fault:?}: {found}");
    }
}
