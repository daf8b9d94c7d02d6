//! ECR over other policies, one for the pages of each unit.
//!
//! Chen, Pan, Li, Xu 2019, section 3. Mirrors `docs/spec/device-policies.md` 3.4.

use super::ecr::{Cqct, cqct_of};
use super::policies::{Answer, Cache, Recency, Resident};
use super::queue::Ssd;
use crate::{Op, Params, ace, share};
use std::collections::BTreeMap;

/// The policy of each unit's pages.
#[derive(Clone, Copy)]
enum Base {
    Lru,
    Cflru { window: f64 },
    TwoQ { in_fraction: f64, out_fraction: f64 },
    Arc,
}

/// Where a missed page was remembered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Nowhere,
    /// A1out, or B1.
    First,
    /// B2.
    Second,
}

/// The pages of one unit; every list from the oldest entry to the newest.
struct Unit {
    base: Base,
    s: usize,             // frames
    first: Vec<u64>,      // LRU's and CFLRU's order, A1in, T1
    second: Vec<u64>,     // Am, T2
    first_out: Vec<u64>,  // A1out, B1
    second_out: Vec<u64>, // B2
    region: Vec<u64>,     // CFLRU's clean-first region
    p: f64,               // ARC's
}

fn take(list: &mut Vec<u64>, page: u64) -> bool {
    let before = list.len();
    list.retain(|&other| other != page);
    list.len() < before
}

impl Unit {
    fn new(base: Base) -> Unit {
        let none = Vec::new;
        let (first, second, first_out, second_out) = (none(), none(), none(), none());
        Unit { base, s: 0, first, second, first_out, second_out, region: none(), p: 0.0 }
    }

    fn resident(&self) -> usize {
        self.first.len() + self.second.len()
    }

    fn hit(&mut self, page: u64) {
        match self.base {
            Base::TwoQ { .. } if self.first.contains(&page) => {}
            Base::TwoQ { .. } | Base::Arc => {
                take(&mut self.first, page);
                take(&mut self.second, page);
                self.second.push(page);
            }
            Base::Lru | Base::Cflru { .. } => {
                take(&mut self.first, page);
                take(&mut self.region, page);
                self.first.push(page);
                self.fill_region();
            }
        }
    }

    /// A page that is not resident here is looked up.
    fn miss(&mut self, page: u64) -> Known {
        match self.base {
            Base::TwoQ { .. } if take(&mut self.first_out, page) => Known::First,
            Base::Arc if self.first_out.contains(&page) => {
                let (b1, b2) = (self.first_out.len() as f64, self.second_out.len() as f64);
                self.p = (self.s as f64).min(self.p + (b2 / b1).max(1.0));
                Known::First
            }
            Base::Arc if self.second_out.contains(&page) => {
                let (b1, b2) = (self.first_out.len() as f64, self.second_out.len() as f64);
                self.p = (self.p - (b1 / b2).max(1.0)).max(0.0);
                Known::Second
            }
            _ => Known::Nowhere,
        }
    }

    /// The next victim for such a miss, and whether it is of the first list.
    fn victim(&self, known: Known, dirty: &dyn Fn(u64) -> bool) -> Option<(u64, bool)> {
        let of_first = match self.base {
            Base::Lru => true,
            Base::Cflru { .. } => {
                let clean = self.region.iter().find(|&&page| !dirty(page));
                return Some((*clean.or(self.first.first())?, true));
            }
            Base::TwoQ { in_fraction, .. } => {
                self.first.len() > share(in_fraction, self.s) || self.second.is_empty()
            }
            Base::Arc => {
                let t1 = self.first.len() as f64;
                let replaced = t1 > self.p || (known == Known::Second && t1 == self.p);
                let all = known == Known::Nowhere && self.first.len() == self.s;
                !self.first.is_empty() && (replaced || all)
            }
        };
        let list = if of_first { &self.first } else { &self.second };
        Some((*list.first()?, of_first))
    }

    /// The victim leaves, for such a miss.
    fn evict(&mut self, known: Known, (victim, of_first): (u64, bool)) {
        let (t1, b1, b2) = (self.first.len(), self.first_out.len(), self.second_out.len());
        take(if of_first { &mut self.first } else { &mut self.second }, victim);
        take(&mut self.region, victim);
        match self.base {
            Base::Lru | Base::Cflru { .. } => {}
            Base::TwoQ { out_fraction, .. } => {
                let kout = share(out_fraction, self.s);
                if of_first && kout > 0 {
                    self.first_out.push(victim);
                    if self.first_out.len() > kout {
                        self.first_out.remove(0);
                    }
                }
            }
            Base::Arc => {
                if known == Known::Nowhere && t1 == self.s {
                    return; // case IV A, T1 is all of L1: no ghost
                }
                if known == Known::Nowhere && t1 + b1 == self.s {
                    self.first_out.remove(0);
                } else if known == Known::Nowhere && b1 + b2 == self.s {
                    self.second_out.remove(0);
                }
                if of_first { &mut self.first_out } else { &mut self.second_out }.push(victim);
            }
        }
    }

    /// A missed page comes in.
    fn admit(&mut self, page: u64, known: Known) {
        take(&mut self.first_out, page);
        take(&mut self.second_out, page);
        match known {
            Known::Nowhere => self.first.push(page),
            _ => self.second.push(page),
        }
    }

    /// "The oldest page outside the region enters it"
    fn fill_region(&mut self) {
        let Base::Cflru { window } = self.base else { return };
        while self.region.len() < share(window, self.s)
            && let Some(page) = self.first.iter().find(|page| !self.region.contains(page))
        {
            self.region.push(*page);
        }
    }

    /// The access is over: s is what is resident.
    fn settle(&mut self) {
        self.s = self.resident();
        self.fill_region();
        match self.base {
            Base::TwoQ { out_fraction, .. } => {
                while self.first_out.len() > share(out_fraction, self.s) {
                    self.first_out.remove(0);
                }
            }
            Base::Arc => {
                self.p = self.p.min(self.s as f64);
                while self.first.len() + self.first_out.len() > self.s {
                    self.first_out.remove(0);
                }
                while self.first_out.len() + self.second_out.len() > self.s {
                    self.second_out.remove(0);
                }
            }
            Base::Lru | Base::Cflru { .. } => {}
        }
    }

    /// A page leaves that is not evicted.
    fn leave(&mut self, page: u64) {
        for list in [&mut self.first, &mut self.second, &mut self.region] {
            take(list, page);
        }
        self.settle();
    }

    fn enter(&mut self, page: u64) {
        let known = self.miss(page);
        self.admit(page, known);
        self.settle();
    }
}

/// A miss, from the look-up to the installation.
struct Missed {
    list: usize,
    known: Known,
    victims_list: Option<usize>,
}

/// `ecr-over`.
pub(crate) struct EcrOver {
    recency: Recency,
    cqct: Cqct,
    base: Base,
    units: BTreeMap<usize, Unit>,
    missed: Option<Missed>,
}

impl EcrOver {
    pub(crate) fn new(recency: Recency, cqct: Cqct, params: &Params<'_>) -> EcrOver {
        let (name, own) = ace::written(params.text("base").unwrap_or("lru"));
        let own = Params(&own);
        let base = match name {
            "lru" => Base::Lru,
            "cflru" => Base::Cflru { window: own.fraction("window_fraction", 0.5) },
            "2q" => Base::TwoQ {
                in_fraction: own.fraction("in_fraction", 0.25),
                out_fraction: own.fraction("out_fraction", 0.5),
            },
            "arc" => Base::Arc,
            other => panic!("{other} manages no unit's pages"),
        };
        EcrOver { recency, cqct, base, units: BTreeMap::new(), missed: None }
    }

    fn unit(&mut self, list: usize) -> &mut Unit {
        self.units.entry(list).or_insert_with(|| Unit::new(self.base))
    }
}

impl Cache for EcrOver {
    fn access(&mut self, op: Op, page: u64, _: Option<usize>, ssd: &Ssd) -> Answer {
        let written = op == Op::Write;
        if let Some(at) = self.recency.pages.iter().position(|resident| resident.page == page) {
            let mut resident = self.recency.pages.remove(at);
            let before = resident.list;
            if written && !resident.dirty {
                resident = Resident { page, dirty: true, list: ssd.list_of(page, true) };
            }
            self.recency.pages.push(resident);
            if resident.list == before {
                self.unit(before).hit(page);
            } else {
                self.unit(before).leave(page);
                self.unit(resident.list).enter(page);
            }
            return Answer::hit();
        }
        let list = ssd.list_of(page, written);
        let known = self.unit(list).miss(page);
        let mut missed = Missed { list, known, victims_list: None };
        let mut evicted = None;
        if self.recency.pages.len() == self.recency.frames {
            let known_to = |unit| if unit == list { known } else { Known::Nowhere };
            let pages = &self.recency.pages;
            let find = |page| pages.iter().position(|other| other.page == page).expect("resident");
            let dirty = |page| pages[find(page)].dirty;
            let candidates = self.units.iter().filter_map(|(&at, unit)| {
                let victim = unit.victim(known_to(at), &dirty)?;
                Some((cqct_of(ssd, self.cqct, pages[find(victim.0)]), find(victim.0), at, victim))
            });
            let (_, at, unit, victim) = candidates.min().expect("a full cache has pages");
            self.units.get_mut(&unit).expect("it has pages").evict(known_to(unit), victim);
            let left = self.recency.pages.remove(at);
            evicted = Some((left.page, left.dirty));
            missed.victims_list = Some(unit);
        }
        self.recency.pages.push(Resident { page, dirty: written, list });
        self.missed = Some(missed);
        Answer::miss(evicted)
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        for unit in self.units.values_mut() {
            take(&mut unit.first_out, page);
            take(&mut unit.second_out, page);
            unit.leave(page);
        }
        self.recency.forget(page)
    }

    fn installed(&mut self, page: u64, ssd: &Ssd) {
        self.recency.installed(page, ssd);
        let to = self.recency.pages.last().expect("it came in").list;
        let Missed { list, known, victims_list } = self.missed.take().expect("it was missed");
        if to == list {
            self.unit(list).admit(page, known);
            self.unit(list).settle();
        } else {
            self.unit(to).enter(page);
        }
        if let Some(left) = victims_list {
            self.unit(left).settle();
        }
    }
}
