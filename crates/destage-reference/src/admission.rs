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
    Rate(Rate),
    /// Pages with the times of their last offers.
    RejectFirst {
        window_ns: u64,
        now_ns: u64,
        last: BTreeMap<u64, u64>,
    },
    /// Blocks that take longer to compute than to read.
    Worth {
        read_ns: u64,
        compute_ns: BTreeMap<u64, u64>,
    },
    Larc {
        while_filling: bool,
        s: f64,
        c_r: f64,
        qr: VecDeque<u64>,
    },
}

impl Admission {
    pub(crate) fn new(
        name: &str,
        params: &Map<String, Value>,
        s: usize,
        page_bytes: u64,
    ) -> Admission {
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
            "rate" => Admission::Rate(Rate::new(&params, page_bytes as f64)),
            "reject-first" => Admission::RejectFirst {
                window_ns: params.time("window", 3_600_000_000_000),
                now_ns: 0,
                last: BTreeMap::new(),
            },
            "worth" => {
                Admission::Worth { read_ns: params.time("read_ns", 0), compute_ns: BTreeMap::new() }
            }
            "larc" => Admission::Larc {
                while_filling: params.flag("admit_while_filling"),
                s: s as f64,
                c_r: 0.1 * s as f64,
                qr: VecDeque::new(),
            },
            other => panic!("{other} is no admission filter"),
        }
    }

    /// A request arrives.
    pub(crate) fn arrived(&mut self, ns: u64) {
        match self {
            Admission::Rate(rate) => rate.arrived(ns),
            Admission::RejectFirst { now_ns, .. } => *now_ns = ns,
            _ => {}
        }
    }

    /// It is asked for pages that would be written over, too.
    pub(crate) fn counts_overwrites(&self) -> bool {
        matches!(self, Admission::Rate(_))
    }

    /// A page was written to flash without being asked for.
    pub(crate) fn wrote_unasked(&mut self) {
        if let Admission::Rate(rate) = self {
            rate.unasked += 1.0;
            rate.here += 1.0;
            rate.written += 1.0;
        }
    }

    /// The last offer was declined by a limit of the rate alone.
    pub(crate) fn capped(&self) -> bool {
        matches!(self, Admission::Rate(rate) if rate.capped)
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
            Admission::Rate(rate) => rate.takes(),
            Admission::RejectFirst { window_ns, now_ns, last } => {
                let before = last.insert(page, *now_ns);
                before.is_some_and(|before| *now_ns <= before + *window_ns)
            }
            Admission::Worth { read_ns, compute_ns } => compute_ns[&page] > *read_ns,
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
            Admission::RejectFirst { last, .. } => drop(last.remove(&page)),
            _ => {}
        }
    }
}

/// The filter `rate`; numbers of pages are reals, as in its formula.
pub(crate) struct Rate {
    target: f64,
    most: f64,
    h: f64,
    window_ns: u64,
    draws: Draws,
    start_ns: Option<u64>,
    window: u64,
    p: f64,
    limit: f64,
    offers: f64,
    unasked: f64,
    here: f64,
    written: f64,
    capped: bool,
}

impl Rate {
    fn new(params: &Params, page_bytes: f64) -> Rate {
        let window_ns = params.time("window", 60_000_000_000);
        let pages = |bytes: u64| bytes as f64 / page_bytes * (window_ns as f64 / 86_400e9);
        let target = pages(params.bytes("bytes_per_day").expect("it is needed"));
        let most = params.bytes("max_bytes_per_day").map_or(f64::INFINITY, pages);
        Rate {
            target,
            most,
            h: params.integer("catch_up").unwrap_or(1) as f64,
            window_ns,
            draws: Draws::new(params.integer("seed").unwrap_or(1)),
            start_ns: None,
            window: 0,
            p: 1.0,
            limit: target.min(most),
            offers: 0.0,
            unasked: 0.0,
            here: 0.0,
            written: 0.0,
            capped: false,
        }
    }

    fn arrived(&mut self, ns: u64) {
        let j = (ns - *self.start_ns.get_or_insert(ns)) / self.window_ns;
        if j > self.window {
            let r = (self.target * (j as f64 + self.h) - self.written) / self.h;
            if self.offers > 0.0 {
                self.p = ((r - self.unasked) / self.offers).clamp(0.0, 1.0);
            }
            (self.window, self.limit) = (j, r.min(self.most));
            (self.offers, self.unasked, self.here) = (0.0, 0.0, 0.0);
        }
    }

    fn takes(&mut self) -> bool {
        self.offers += 1.0;
        let lucky = self.draws.unit() < self.p;
        self.capped = lucky && self.here + 1.0 > self.limit;
        if lucky && !self.capped {
            self.here += 1.0;
            self.written += 1.0;
        }
        lucky && !self.capped
    }
}
