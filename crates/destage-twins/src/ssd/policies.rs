//! Cache policies in front of the device, as the host sees them (`device-policies.md` 1 and 2), and
//! the simplest of them.

use serde_json::Value;

use super::config::Section;
use super::ecr::{Cqct, Ecr};
use super::gcar::Gcar;
use super::queue::Ssd;
use super::sac::Sac;
use crate::{NAMES, Op, Twin, parameters, share, twin};

/// Policies that only make sense in front of a device, and `cflru-e`, which came with them.
pub const DEVICE_POLICIES: &[&str] = &["cflru-e", "ecr", "ecr-e", "gcar-lru", "gcar-cflru", "sac"];

/// What one access of a page decided.
pub(crate) struct Answer {
    pub(crate) hit: bool,
    /// The victims in order, each with whether it is dirty.
    pub(crate) evicted: Vec<(u64, bool)>,
}

/// A cache with its policy.
pub(crate) trait Cache {
    /// Runs one access. The flash read of a read miss, whose operation is `read`, has been
    /// submitted already.
    fn access(&mut self, op: Op, page: u64, read: Option<usize>, ssd: &Ssd) -> Answer;

    /// A host page operation was submitted to the device.
    fn submitted(&mut self, _operation: usize) {}
}

/// A page policy, which does not see the device.
struct Blind(Box<dyn Twin>);

impl Cache for Blind {
    fn access(&mut self, op: Op, page: u64, _: Option<usize>, _: &Ssd) -> Answer {
        let decision = self.0.access(op, page);
        let dirty = |victim| decision.flushed.iter().any(|group| group.contains(&victim));
        let evicted = decision.evicted.iter().map(|&victim| (victim, dirty(victim)));
        Answer { hit: decision.hit, evicted: evicted.collect() }
    }
}

/// Resident pages, from the oldest to the most recent one.
#[derive(Default)]
pub(crate) struct Recency {
    pub(crate) frames: usize,
    pub(crate) pages: Vec<(u64, bool)>, // with whether they are dirty
}

impl Recency {
    /// The access in every policy of recency order; `victim` picks a page of a full cache.
    pub(crate) fn access(
        &mut self,
        op: Op,
        page: u64,
        victim: impl FnOnce(&[(u64, bool)]) -> (u64, bool),
    ) -> Answer {
        let written = op == Op::Write;
        if let Some(at) = self.pages.iter().position(|&(other, _)| other == page) {
            let (_, dirty) = self.pages.remove(at);
            self.pages.push((page, dirty || written));
            return Answer { hit: true, evicted: Vec::new() };
        }
        let mut evicted = Vec::new();
        if self.pages.len() == self.frames {
            let victim = victim(&self.pages);
            self.pages.retain(|&other| other != victim);
            evicted.push(victim);
        }
        self.pages.push((page, written));
        Answer { hit: false, evicted }
    }
}

/// `cflru-e` (3.1): the oldest clean page, or, if there is none, the oldest page.
struct CleanFirst(Recency);

impl Cache for CleanFirst {
    fn access(&mut self, op: Op, page: u64, _: Option<usize>, _: &Ssd) -> Answer {
        self.0.access(op, page, |pages| {
            *pages.iter().find(|&&(_, dirty)| !dirty).unwrap_or(&pages[0])
        })
    }
}

impl Ssd {
    /// The list that a page belongs to (2.2): a unit, or U, the common list.
    pub(crate) fn list_of(&self, page: u64, dirty: bool) -> usize {
        match (self.config.dynamic, dirty) {
            (false, _) => self.config.unit_of_plane(self.config.home(page)),
            (true, false) => self.config.unit_of_plane(self.plane_of(page)),
            (true, true) => self.config.units(),
        }
    }

    /// Whether the unit of a page is in GC; list U answers for the unit of the next write.
    pub(crate) fn page_in_gc(&self, page: u64, dirty: bool) -> bool {
        let list = self.list_of(page, dirty);
        if list < self.config.units() {
            self.in_gc(list)
        } else {
            self.in_gc(self.config.unit_of_plane(self.dynamic_plane()))
        }
    }
}

/// Keys of the cache section that do not belong to the policy.
const HOST_KEYS: &[&str] = &["policy", "frames", "hit_ns", "evict_wait", "read_wait"];

/// The cache of a vector; `None` with `policy = "none"`. `trace` is the sequence of all page
/// accesses to come.
pub(crate) fn cache(vector: &Value, trace: &[(Op, u64)]) -> Result<Option<Box<dyn Cache>>, String> {
    let s = Section::of(vector, "cache")?;
    let policy = match s.get("policy") {
        None => "none",
        Some(value) => value
            .as_str()
            .ok_or_else(|| format!("cache: policy: expected a name, found {value}"))?,
    };
    let own: &[&str] = match policy {
        "none" | "cflru-e" | "gcar-lru" => &[],
        "ecr" | "ecr-e" => &["cqct"],
        "gcar-cflru" => &["window_fraction"],
        "sac" => &["first_fraction", "starve_limit", "resize_step"],
        name if NAMES.contains(&name) => parameters(name),
        name => return Err(format!("cache: policy: unknown policy {name}")),
    };
    s.only(&[HOST_KEYS, own].concat())?;
    if policy == "none" {
        return Ok(None);
    }
    let frames = s.optional("frames", 1)?.ok_or("cache: frames: missing")?;
    let frames = usize::try_from(frames).expect("few frames");
    let recency = Recency { frames, pages: Vec::new() };
    let cqct = || {
        Ok::<_, String>(match s.word("cqct", &["backlog", "wait", "eq1_strict", "eq1"])? {
            "wait" => Cqct::Wait,
            "eq1_strict" => Cqct::Eq1Strict,
            "eq1" => Cqct::Eq1,
            _ => Cqct::Backlog,
        })
    };
    Ok(Some(match policy {
        "cflru-e" => Box::new(CleanFirst(recency)),
        "ecr" => Box::new(Ecr { recency, clean_list: true, cqct: cqct()? }),
        "ecr-e" => Box::new(Ecr { recency, clean_list: false, cqct: cqct()? }),
        "gcar-lru" => Box::new(Gcar { recency, window: 0 }),
        "gcar-cflru" => {
            let window = share(s.fraction("window_fraction", 0.5)?, frames);
            Box::new(Gcar { recency, window })
        }
        "sac" => {
            let first = share(s.fraction("first_fraction", 1.0 / 3.0)?, frames).min(frames - 1);
            let starve_limit = s.integer("starve_limit", frames as u64, 1)?;
            let resize_step = s.integer("resize_step", (frames as u64 / 16).max(1), 1)?;
            Box::new(Sac::new(frames, first, starve_limit, resize_step))
        }
        name => {
            let own = s.without(HOST_KEYS);
            Box::new(Blind(twin(name, frames, &own, trace).expect("a policy of the table")))
        }
    }))
}
