//! Cache policies in front of the device, as the host sees them (`docs/spec/device-policies.md` 1
//! and 2), and the simplest of them.

use super::clusters::Clusters;
use super::config::Config;
use super::ecr::{Cqct, Ecr};
use super::ecr_over::EcrOver;
use super::gcar::Gcar;
use super::queue::Ssd;
use super::sac::Sac;
use crate::ace::Ordered;
use crate::block::{self, Group};
use crate::{Model, Op, Params, Step, model_with_trims, ordered, share};

/// Policies that only make sense in front of a device, and `cflru-e`, which came with them.
pub const DEVICE_POLICIES: &[&str] =
    &["cflru-e", "ecr", "ecr-e", "gcar-lru", "gcar-cflru", "sac", "ecr-over"];

/// The decision of one page access.
pub(crate) struct Answer {
    pub(crate) hit: bool,
    /// The page comes in.
    pub(crate) admitted: bool,
    /// The victim, if it is clean.
    pub(crate) dropped: Option<u64>,
    /// The victims that are dirty, with what is written beside them.
    pub(crate) group: Option<Group>,
    /// The list that they leave (`docs/spec/device-today.md` 8.4).
    pub(crate) label: u64,
    /// Pages that are written after that, and stay (`docs/spec/ace.md`).
    pub(crate) batch: Vec<u64>,
}

impl Answer {
    pub(crate) fn hit() -> Answer {
        Answer { hit: true, admitted: false, ..Answer::miss(None) }
    }

    /// A page policy: at most one victim, a group of its own if it is dirty.
    pub(crate) fn miss(victim: Option<(u64, bool)>) -> Answer {
        let of = |wanted| victim.filter(|&(_, dirty)| dirty == wanted).map(|(page, _)| page);
        let group = of(true).map(|page| Group { pages: [page].into(), ..Group::default() });
        let (dropped, batch) = (of(false), Vec::new());
        Answer { hit: false, admitted: true, dropped, group, label: 0, batch }
    }
}

/// A cache with its policy.
pub(crate) trait Cache {
    /// Runs one access. The flash read of a read miss, whose operation is `read`, has been
    /// submitted already.
    fn access(&mut self, op: Op, page: u64, read: Option<usize>, ssd: &Ssd) -> Answer;

    /// The page of a miss is installed, after its victim was written (`docs/spec/device.md` 7.3).
    fn installed(&mut self, _page: u64, _ssd: &Ssd) {}

    /// The page is trimmed, resident or not (`docs/spec/device-today.md` 4.2). Its dirty bit, if it
    /// was resident.
    fn forget(&mut self, page: u64) -> Option<bool>;

    /// A host page operation was submitted to the device.
    fn submitted(&mut self, _operation: usize) {}

    /// The resident pages in the order in which they would leave, each with whether it is dirty;
    /// `None` for a policy that has no order (`docs/spec/ace.md`, 2).
    fn order(&mut self) -> Option<Vec<(u64, bool)>> {
        None
    }

    /// A resident dirty page has been written, and stays.
    fn cleaned(&mut self, page: u64) {
        unreachable!("page {page} is written ahead by a policy without an order");
    }
}

/// A page policy, which does not see the device.
struct Blind(Box<dyn Model>);

/// A page policy with an order.
struct InOrder(Box<dyn Ordered>);

impl Cache for InOrder {
    fn access(&mut self, op: Op, page: u64, _: Option<usize>, _: &Ssd) -> Answer {
        blind(&mut *self.0, op, page)
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        self.0.forget(page)
    }

    fn order(&mut self) -> Option<Vec<(u64, bool)>> {
        Some(self.0.order())
    }

    fn cleaned(&mut self, page: u64) {
        self.0.cleaned(page);
    }
}

impl Cache for Blind {
    fn access(&mut self, op: Op, page: u64, _: Option<usize>, _: &Ssd) -> Answer {
        blind(&mut *self.0, op, page)
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        self.0.forget(page)
    }
}

/// The answer of a page policy, which does not see the device.
fn blind<T: Model + ?Sized>(policy: &mut T, op: Op, page: u64) -> Answer {
    let decision = policy.access(op, page);
    if decision.hit {
        return Answer::hit();
    }
    if policy.refused() {
        return Answer { admitted: false, ..Answer::miss(None) };
    }
    let dirty = |victim| decision.flushed.iter().any(|group| group.contains(&victim));
    assert!(decision.evicted.len() <= 1, "page policies evict one page");
    let batch = decision.flushed.concat().into_iter();
    Answer {
        batch: batch.filter(|page| !decision.evicted.contains(page)).collect(),
        label: policy.label(),
        ..Answer::miss(decision.evicted.first().map(|&victim| (victim, dirty(victim))))
    }
}

/// A resident page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resident {
    pub(crate) page: u64,
    pub(crate) dirty: bool,
    /// The list that it belongs to from its installation on, "as long as it stays in its state"
    /// (2.2): an FTL may copy a clean page to another unit meanwhile.
    pub(crate) list: usize,
}

/// Resident pages, from the oldest to the most recent one.
#[derive(Default)]
pub(crate) struct Recency {
    pub(crate) frames: usize,
    pub(crate) pages: Vec<Resident>,
}

impl Recency {
    /// The access in every policy of recency order; `victim` picks a page of a full cache.
    pub(crate) fn access(
        &mut self,
        op: Op,
        page: u64,
        ssd: &Ssd,
        victim: impl FnOnce(&[Resident]) -> Resident,
    ) -> Answer {
        let written = op == Op::Write;
        if let Some(at) = self.pages.iter().position(|resident| resident.page == page) {
            let mut resident = self.pages.remove(at);
            if written && !resident.dirty {
                resident = Resident { page, dirty: true, list: ssd.list_of(page, true) };
            }
            self.pages.push(resident);
            return Answer::hit();
        }
        let mut evicted = None;
        if self.pages.len() == self.frames {
            let victim = victim(&self.pages);
            self.pages.retain(|&other| other != victim);
            evicted = Some((victim.page, victim.dirty));
        }
        self.pages.push(Resident { page, dirty: written, list: ssd.list_of(page, written) });
        Answer::miss(evicted)
    }

    /// A trimmed page leaves; the order of the others is as it was.
    pub(crate) fn forget(&mut self, page: u64) -> Option<bool> {
        let at = self.pages.iter().position(|resident| resident.page == page)?;
        Some(self.pages.remove(at).dirty)
    }

    /// The page that came in with the last access is installed.
    pub(crate) fn installed(&mut self, page: u64, ssd: &Ssd) {
        let newest = self.pages.last_mut().expect("it came in");
        assert_eq!(newest.page, page);
        newest.list = ssd.list_of(page, newest.dirty);
    }
}

/// `cflru-e` (3.1): the oldest clean page, or, if there is none, the oldest page.
struct CleanFirst(Recency);

impl Cache for CleanFirst {
    fn access(&mut self, op: Op, page: u64, _: Option<usize>, ssd: &Ssd) -> Answer {
        self.0.access(op, page, ssd, |pages| {
            *pages.iter().find(|resident| !resident.dirty).unwrap_or(&pages[0])
        })
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        self.0.forget(page)
    }
}

impl Ssd {
    /// The list that a page belongs to (2.2): a unit, or U, the common list.
    pub(crate) fn list_of(&self, page: u64, dirty: bool) -> usize {
        match (self.config.places_late(), dirty) {
            (false, _) => self.config.unit_of_plane(self.config.home(page)),
            (true, false) => self.config.unit_of_plane(self.plane_of(page)),
            (true, true) => self.config.units(),
        }
    }

    /// Whether the unit of a list is in GC; list U answers for the unit of the next write.
    pub(crate) fn list_in_gc(&self, list: usize) -> bool {
        if list < self.config.units() {
            self.in_gc(list)
        } else {
            self.in_gc(self.config.unit_of_plane(self.next_plane()))
        }
    }
}

/// Keys of the cache section that do not belong to the policy.
const HOST_KEYS: &[&str] =
    &["policy", "frames", "hit_ns", "evict_wait", "staging_pages", "read_wait"];

/// The cache of a recorded vector in front of a device; `None` with `policy = "none"`. `trace` is
/// the sequence of all page accesses and trims to come.
pub(crate) fn cache(s: &Params<'_>, device: &Config, trace: &[Step]) -> Option<Box<dyn Cache>> {
    let policy = s.text("policy").filter(|&policy| policy != "none")?;
    let frames = s.integer("frames").expect("a record has the frames");
    let frames = usize::try_from(frames).expect("few frames");
    let recency = Recency { frames, pages: Vec::new() };
    let cqct = match s.text("cqct") {
        Some("wait") => Cqct::Wait,
        Some("eq1_strict") => Cqct::Eq1Strict,
        Some("eq1") => Cqct::Eq1,
        _ => Cqct::Backlog,
    };
    let mut own = s.0.clone();
    own.retain(|key, _| !HOST_KEYS.contains(&key.as_str()));
    Some(match policy {
        "cflru-e" => Box::new(CleanFirst(recency)),
        "ecr" => Box::new(Ecr { recency, clean_list: true, cqct }),
        "ecr-e" => Box::new(Ecr { recency, clean_list: false, cqct }),
        "ecr-over" => Box::new(EcrOver::new(recency, cqct, s)),
        "gcar-lru" => Box::new(Gcar { recency, window: 0 }),
        "gcar-cflru" => {
            let window = share(s.fraction("window_fraction", 0.5), frames);
            Box::new(Gcar { recency, window })
        }
        "sac" => {
            let first = share(s.fraction("first_fraction", 1.0 / 3.0), frames).min(frames - 1);
            let starve_limit = s.integer("starve_limit").unwrap_or(frames as u64);
            let resize_step = s.integer("resize_step").unwrap_or((frames as u64 / 16).max(1));
            Box::new(Sac::new(frames, first, starve_limit, resize_step))
        }
        name if name == "gcar-bplru" || block::NAMES.contains(&name) => {
            Box::new(Clusters::new(name, frames, own, device))
        }
        name => {
            if name == "ace" {
                own.entry("writes").or_insert(device.units().into());
            }
            match ordered(name, frames, &Params(&own)) {
                Some(policy) => Box::new(InOrder(policy)),
                None => Box::new(Blind(
                    model_with_trims(name, frames, &own, trace).expect("a policy of the table"),
                )),
            }
        }
    })
}
