//! Admission filters of the flash tier. Mirrors `docs/spec/tiers.md`, 5.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

use crate::frames::Draws;
use crate::{Params, remember, share, take, take_page};

/// The state of tier 2 that a filter may ask for.
pub(crate) struct Tier2State {
    /// A frame of tier 2 is free.
    pub(crate) free: bool,
    /// The first page of its order of eviction, if it has an order.
    pub(crate) next_victim: Option<u64>,
}

pub(crate) enum Admission {
    Always,
    /// (page, offers so far), the newest first.
    Nth {
        n: u64,
        g: usize,
        list: VecDeque<(u64, u64)>,
    },
    Probability {
        p: f64,
        draws: Draws,
    },
    TinyLfu {
        threshold: Option<u64>,
        sample: u64,
        seen: u64,
        counts: BTreeMap<u64, u64>,
    },
    Larc {
        while_filling: bool,
        s: f64,
        c_r: f64,
        qr: VecDeque<u64>,
    },
}

impl Admission {
    pub(crate) fn new(name: &str, params: &Map<String, Value>, s: usize) -> Admission {
        let params = Params(params);
        match name {
            "always" => Admission::Always,
            "nth" => Admission::Nth {
                n: params.integer("n").unwrap_or(2),
                g: share(params.fraction("ghost_fraction", 1.0), s).max(1),
                list: VecDeque::new(),
            },
            "probability" => Admission::Probability {
                p: params.fraction("p", 0.5),
                draws: Draws::new(params.integer("seed").unwrap_or(1)),
            },
            "tinylfu" => Admission::TinyLfu {
                threshold: params.integer("threshold"),
                sample: params.integer("sample_factor").unwrap_or(10) * s as u64,
                seen: 0,
                counts: BTreeMap::new(),
            },
            "larc" => Admission::Larc {
                while_filling: params.flag("admit_while_filling"),
                s: s as f64,
                c_r: 0.1 * s as f64,
                qr: VecDeque::new(),
            },
            other => panic!("{other} is no admission filter"),
        }
    }

    /// An access missed tier 1.
    pub(crate) fn missed(&mut self, page: u64) {
        let Admission::TinyLfu { sample, seen, counts, .. } = self else { return };
        let count = counts.entry(page).or_insert(0);
        *count = 15.min(*count + 1);
        *seen += 1;
        if *seen == *sample {
            counts.values_mut().for_each(|count| *count /= 2);
            *seen /= 2;
        }
    }

    pub(crate) fn tier2_hit(&mut self) {
        if let Admission::Larc { s, c_r, .. } = self {
            *c_r = (0.1 * *s).max(*c_r - *s / (*s - *c_r));
        }
    }

    /// Whether an offered page is taken.
    pub(crate) fn takes(&mut self, page: u64, asked: &Tier2State) -> bool {
        match self {
            Admission::Always => true,
            Admission::Nth { n, g, list } => {
                let k = 1 + take(list, |&(known, _)| known == page).map_or(0, |(_, k)| k);
                if k >= *n {
                    return true;
                }
                if list.len() == *g {
                    list.pop_back();
                }
                list.push_front((page, k));
                false
            }
            Admission::Probability { p, draws } => draws.unit() < *p,
            Admission::TinyLfu { threshold, counts, .. } => {
                let count = |page: u64| counts.get(&page).copied().unwrap_or(0);
                match (threshold, asked.next_victim) {
                    (Some(threshold), _) => count(page) >= *threshold,
                    (None, _) if asked.free => true,
                    (None, victim) => count(page) > count(victim.expect("tier 2 has an order")),
                }
            }
            Admission::Larc { while_filling, s, c_r, qr } => {
                *c_r = (0.9 * *s).min(*c_r + *s / *c_r);
                if take_page(qr, page) || *while_filling && asked.free {
                    return true;
                }
                remember(qr, page, usize::MAX);
                if qr.len() as f64 > 1.0_f64.max(*c_r) {
                    qr.pop_back();
                }
                false
            }
        }
    }

    /// A trim.
    pub(crate) fn forget(&mut self, page: u64) {
        match self {
            Admission::Nth { list, .. } => drop(take(list, |&(known, _)| known == page)),
            Admission::Larc { qr, .. } => drop(take_page(qr, page)),
            _ => {}
        }
    }
}
