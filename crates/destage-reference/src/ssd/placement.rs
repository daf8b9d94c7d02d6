//! Who assigns the handle of a host page write, and where a collected page goes if the policy says
//! so (`docs/spec/device-today.md` 8). Times are clocks: host page writes so far.

use std::collections::BTreeMap;

use super::config::{Config, numbers, section};
use serde_json::Value;

/// A host page write, the clock grown by it.
pub(crate) struct HostWrite {
    pub(crate) page: u64,
    /// Bytes of the request that it comes from.
    pub(crate) size: u64,
    /// The list of the cache that the page leaves.
    pub(crate) label: u64,
    pub(crate) clock: u64,
}

/// A write or a trim of the host.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Write(u64),
    /// Of a page that was mapped.
    Trim(u64),
}

/// Section 8.1.
pub(crate) trait Placement {
    fn handle(&mut self, write: &HostWrite) -> usize;

    /// A block is about to be collected that this write point opened at the clock `opened`.
    fn victim(&mut self, _write_point: usize, _opened: u64, _clock: u64) {}

    /// The write point for a page of a block that this write point had opened.
    fn moved(&mut self, page: u64, _write_point: usize, _clock: u64) -> usize {
        unreachable!("page {page} is moved by a policy that does not assign it")
    }

    /// The page, which was mapped, is trimmed.
    fn trimmed(&mut self, _page: u64) {}
}

/// 8.2.
pub(crate) struct Unplaced;

impl Placement for Unplaced {
    fn handle(&mut self, _: &HostWrite) -> usize {
        0
    }
}

/// 8.3.
struct BySize {
    thresholds: Vec<u64>,
}

impl Placement for BySize {
    fn handle(&mut self, write: &HostWrite) -> usize {
        self.thresholds.iter().filter(|&&threshold| threshold <= write.size).count()
    }
}

/// 8.4.
struct ByCache {
    handles: usize,
}

impl Placement for ByCache {
    fn handle(&mut self, write: &HostWrite) -> usize {
        usize::try_from(write.label).expect("few lists").min(self.handles - 1)
    }
}

/// 8.5.
struct SepBit {
    handles: usize,
    window: u64,
    last: BTreeMap<u64, u64>,
    /// The sum of the lifetimes of the last full window, `window * l`; infinite at first.
    sum: Option<u64>,
    lifetimes: Vec<u64>, // of the window that is being filled
}

impl SepBit {
    /// `age < factor * l`
    fn is_younger(&self, age: u64, factor: u64) -> bool {
        let Some(sum) = self.sum else { return true };
        u128::from(age) * u128::from(self.window) < u128::from(factor) * u128::from(sum)
    }
}

impl Placement for SepBit {
    fn handle(&mut self, write: &HostWrite) -> usize {
        let last = self.last.insert(write.page, write.clock);
        let overwrites_young = last.is_some_and(|last| self.is_younger(write.clock - last, 1));
        if overwrites_young { 0 } else { 1 }
    }

    fn victim(&mut self, write_point: usize, opened: u64, clock: u64) {
        if write_point != 0 {
            return;
        }
        self.lifetimes.push(clock - opened);
        if self.lifetimes.len() as u64 == self.window {
            self.sum = Some(self.lifetimes.iter().sum());
            self.lifetimes.clear();
        }
    }

    fn moved(&mut self, page: u64, write_point: usize, clock: u64) -> usize {
        if write_point == 0 {
            return 2;
        }
        let age = clock - self.last[&page];
        let mut limit = 4; // of class 3, in l
        for class in 3..self.handles - 1 {
            if self.is_younger(age, limit) {
                return class;
            }
            limit *= 4;
        }
        self.handles - 1
    }

    fn trimmed(&mut self, page: u64) {
        self.last.remove(&page);
    }
}

/// 8.6.
struct FutureKnowledge {
    handles: usize,
    geometric: bool,
    base: u64,
    unit_pages: u64, // u
    /// When the data die that were written at clock 1, 2, ..; never, if there is no such clock.
    deaths: Vec<Option<u64>>,
    /// The clock at which a page was written last. As with SepBIT (8.5), that is now for the page
    /// that is being written, though a collection may move its old version yet.
    last: BTreeMap<u64, u64>,
}

impl FutureKnowledge {
    fn class(&self, written: u64, clock: u64) -> usize {
        let last = self.handles - 1;
        let Some(death) = self.deaths[usize::try_from(written - 1).expect("few writes")] else {
            return last;
        };
        let t = death - clock;
        if !self.geometric {
            return last.min(usize::try_from(t / self.unit_pages).expect("few steps"));
        }
        let step = |k: &usize| {
            let k = u32::try_from(k - 1).expect("few handles");
            u128::from(self.unit_pages) * u128::from(self.base).pow(k)
        };
        (1..=last).rev().find(|k| u128::from(t) >= step(k)).unwrap_or(0)
    }
}

impl Placement for FutureKnowledge {
    fn handle(&mut self, write: &HostWrite) -> usize {
        self.last.insert(write.page, write.clock);
        self.class(write.clock, write.clock)
    }

    fn moved(&mut self, page: u64, _write_point: usize, clock: u64) -> usize {
        self.class(self.last[&page], clock)
    }
}

/// For every write, the clock at which its data are overwritten or trimmed.
fn deaths(history: &[Event]) -> Vec<Option<u64>> {
    let mut deaths = Vec::new();
    let mut newest = BTreeMap::new(); // the clock at which a page was written last
    for &event in history {
        let clock = deaths.len() as u64;
        let (page, dies) = match event {
            Event::Write(page) => (page, clock + 1),
            Event::Trim(page) => (page, clock),
        };
        if let Some(written) = newest.remove(&page) {
            let written: usize = written;
            deaths[written] = Some(dies);
        }
        if matches!(event, Event::Write(_)) {
            newest.insert(page, deaths.len());
            deaths.push(None);
        }
    }
    deaths
}

/// The policy of a recorded vector; `history` is what a first run wrote and trimmed, for one that
/// knows it.
pub(crate) fn placement(vector: &Value, config: &Config, history: &[Event]) -> Box<dyn Placement> {
    let s = section(vector, "placement");
    let n = |key: &str| s.integer(key).expect("a record has the key");
    let handles = config.interface.handles;
    match s.text("policy") {
        Some("by-size") => {
            Box::new(BySize { thresholds: numbers(&vector["placement"]["thresholds"]) })
        }
        Some("by-cache") => Box::new(ByCache { handles }),
        Some("sepbit") => Box::new(SepBit {
            handles,
            window: n("window"),
            last: BTreeMap::new(),
            sum: None,
            lifetimes: Vec::new(),
        }),
        Some("fk") => Box::new(FutureKnowledge {
            handles,
            geometric: s.text("steps") == Some("geometric"),
            base: n("base"),
            unit_pages: n("unit_pages"),
            deaths: deaths(history),
            last: BTreeMap::new(),
        }),
        _ => Box::new(Unplaced),
    }
}
