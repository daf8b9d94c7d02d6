//! BPAC. Mirrors `docs/spec/block-policies.md` 5.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{BlockModel, Group, Shape, Step};
use crate::{Op, Params, take_page};
use serde_json::{Value, json};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    Seq,
    Loop,
    Rand,
}

/// Pages of a run, first to last, and the cursor in it.
#[derive(Clone, Copy)]
struct Run {
    first: u64,
    last: u64,
    cursor: u64,
}

struct Record {
    cluster: BTreeSet<u64>, // b-list pages
    hot: BTreeSet<u64>,     // p-list pages
    recency: u64,
    pattern: Pattern,
    run: Option<Run>,
}

impl Record {
    fn new() -> Record {
        Record {
            cluster: BTreeSet::new(),
            hot: BTreeSet::new(),
            recency: 0,
            pattern: Pattern::Seq,
            run: None,
        }
    }

    fn run_length(&self) -> u64 {
        self.run.map_or(0, |run| run.last - run.first + 1)
    }

    fn insertion(&mut self, p: u64) {
        match (self.pattern, self.run) {
            (Pattern::Seq, None) => self.run = Some(Run { first: p, last: p, cursor: p }),
            (Pattern::Seq, Some(run)) if p == run.last + 1 => {
                self.run = Some(Run { last: p, cursor: p, ..run });
            }
            (Pattern::Loop, Some(run)) if p == run.last + 1 && run.cursor == run.last => {
                self.run = Some(Run { last: p, cursor: p, ..run });
            }
            _ => self.pattern = Pattern::Rand,
        }
    }

    fn b_list_hit(&mut self, p: u64, seq_min_pages: u64) {
        match (self.pattern, self.run) {
            (Pattern::Seq, Some(run)) if p == run.first && self.run_length() >= seq_min_pages => {
                self.pattern = Pattern::Loop;
                self.run = Some(Run { cursor: p, ..run });
            }
            (Pattern::Seq, Some(run)) if p == run.last => {}
            (Pattern::Loop, Some(run))
                if p == if run.cursor < run.last { run.cursor + 1 } else { run.first } =>
            {
                self.run = Some(Run { cursor: p, ..run });
            }
            _ => self.pattern = Pattern::Rand,
        }
    }

    fn return_of(&mut self, p: u64) {
        if self.run.is_none_or(|run| p < run.first || run.last < p) {
            self.pattern = Pattern::Rand;
        }
    }
}

pub(crate) struct Bpac {
    frames: u64,
    shape: Shape,
    sampling_period: u64,
    seq_min_pages: u64,
    seq_expiry: bool,
    all_hits: bool,
    t: u64,
    last_ref: BTreeMap<u64, u64>, // of every resident page
    p_list: VecDeque<u64>,        // MRU first
    records: BTreeMap<u64, Record>,
    pird_thd: u64,
    bird_thd: u64,
    pirds: Vec<u64>,
    birds: Vec<u64>,
    periods: Vec<Value>,
    counts: BTreeMap<&'static str, u64>,
}

/// 5.4.
fn knee(samples: &[u64]) -> u64 {
    let mut v = samples.to_vec();
    v.sort_unstable();
    let n = v.len();
    // The percentile of p is y[p - 1].
    let y: Vec<i128> = (1..=100).map(|p| i128::from(v[(p * n).div_ceil(100) - 1])).collect();
    let mut best = 0;
    let mut deepest = i128::MIN;
    for p in 1..=100 {
        let depth = (y[99] - y[0]) * (p as i128 - 1) - (y[p - 1] - y[0]) * 99;
        if depth >= deepest {
            (best, deepest) = (p, depth);
        }
    }
    y[best - 1] as u64
}

impl Bpac {
    pub(crate) fn new(frames: u64, shape: Shape, params: &Params<'_>) -> Bpac {
        let sampling_period = params.integer("sampling_period").unwrap_or(10_000);
        let names = [
            "p_list_hits",
            "b_list_hits",
            "evictions_full",
            "evictions_done",
            "evictions_largest",
            "evictions_fallback",
            "evictions_p_list",
        ];
        Bpac {
            frames,
            shape,
            sampling_period,
            seq_min_pages: params.integer("seq_min_pages").unwrap_or(2),
            seq_expiry: params.get("seq_expiry").is_none_or(|value| value == true),
            // What a vector means that does not name it; a run's default is p_list.
            all_hits: params.get("pird_sampling").is_none_or(|value| value == "all_hits"),
            t: 0,
            last_ref: BTreeMap::new(),
            p_list: VecDeque::new(),
            records: BTreeMap::new(),
            pird_thd: params.integer("initial_pird_thd").unwrap_or(sampling_period),
            bird_thd: params.integer("initial_bird_thd").unwrap_or(sampling_period),
            pirds: Vec::new(),
            birds: Vec::new(),
            periods: Vec::new(),
            counts: names.into_iter().map(|name| (name, 0)).collect(),
        }
    }

    fn count(&mut self, name: &'static str) {
        *self.counts.get_mut(name).expect("a counter of this policy") += 1;
    }

    fn is_sequential(&self, record: &Record) -> bool {
        record.pattern == Pattern::Seq && record.run_length() >= self.seq_min_pages
    }

    fn is_full(&self, record: &Record) -> bool {
        self.is_sequential(record) && record.cluster.len() as u64 == self.shape.pages_per_block
    }

    fn is_done(&self, record: &Record) -> bool {
        let ends = |run: Run| self.shape.offset(run.last) == self.shape.pages_per_block - 1;
        self.is_sequential(record) && !self.is_full(record) && record.run.is_some_and(ends)
    }

    fn in_region(&self, record: &Record) -> bool {
        let expired = i128::from(record.recency) < i128::from(self.t) - i128::from(self.bird_thd);
        expired && (self.seq_expiry || !self.is_sequential(record))
    }

    /// The block with the smallest recency among those that fit.
    fn oldest(&self, fits: impl Fn(&Record) -> bool) -> Option<u64> {
        let candidates = self.records.iter().filter(|(_, r)| !r.cluster.is_empty() && fits(r));
        candidates.min_by_key(|(_, record)| record.recency).map(|(&block, _)| block)
    }

    fn victim(&mut self) -> u64 {
        if let Some(block) = self.oldest(|record| self.is_full(record)) {
            self.count("evictions_full");
            return block;
        }
        if let Some(block) = self.oldest(|record| self.is_done(record)) {
            self.count("evictions_done");
            return block;
        }
        let region = self.records.values().filter(|r| self.in_region(r) && !r.cluster.is_empty());
        if let Some(largest) = region.map(|record| record.cluster.len()).max() {
            self.count("evictions_largest");
            let block = self.oldest(|r| self.in_region(r) && r.cluster.len() == largest);
            return block.expect("the largest is one of them");
        }
        if let Some(block) = self.oldest(|_| true) {
            self.count("evictions_fallback");
            return block;
        }
        self.count("evictions_p_list");
        let page = *self.p_list.back().expect("a full buffer has a page");
        self.return_to_b_list(page);
        self.shape.block(page)
    }

    fn evict(&mut self) -> Group {
        let block = self.victim();
        let record = self.records.get_mut(&block).expect("a victim has a record");
        let pages = std::mem::take(&mut record.cluster);
        record.run = None;
        record.pattern = Pattern::Seq;
        if record.hot.is_empty() {
            self.records.remove(&block);
        }
        for page in &pages {
            self.last_ref.remove(page);
        }
        Group { pages, ..Group::default() }
    }

    fn return_to_b_list(&mut self, page: u64) {
        take_page(&mut self.p_list, page);
        let record = self.records.get_mut(&self.shape.block(page)).expect("it has a hot page");
        record.hot.remove(&page);
        record.return_of(page);
        record.cluster.insert(page);
    }

    fn write(&mut self, page: u64) -> Step {
        let mut step = Step::default();
        self.t += 1;
        let t = self.t;
        let block = self.shape.block(page);
        let last_ref = self.last_ref.get(&page).copied();
        step.hit = last_ref.is_some();
        match last_ref {
            Some(last_ref) if self.p_list.contains(&page) => {
                self.count("p_list_hits");
                self.pirds.push(t - last_ref - 1);
                take_page(&mut self.p_list, page);
                self.p_list.push_front(page);
            }
            Some(last_ref) => {
                self.count("b_list_hits");
                let record = self.records.get_mut(&block).expect("a resident page has a record");
                record.b_list_hit(page, self.seq_min_pages);
                if record.pattern != Pattern::Loop {
                    record.cluster.remove(&page);
                    record.hot.insert(page);
                    self.p_list.push_front(page);
                    if self.all_hits {
                        self.pirds.push(t - last_ref - 1);
                    }
                }
                record.recency = t;
            }
            None => {
                if self.last_ref.len() as u64 == self.frames {
                    step.group = Some(self.evict());
                }
                let bird = self.records.get(&block).map(|record| t - record.recency - 1);
                let record = self.records.entry(block).or_insert_with(Record::new);
                record.insertion(page);
                record.cluster.insert(page);
                record.recency = t;
                let is_sequential = self.is_sequential(&self.records[&block]);
                if let Some(bird) = bird
                    && !is_sequential
                {
                    self.birds.push(bird);
                }
            }
        }
        self.last_ref.insert(page, t);
        // Expiry.
        while let Some(&page) = self.p_list.back()
            && i128::from(self.last_ref[&page]) < i128::from(t) - i128::from(self.pird_thd)
        {
            self.return_to_b_list(page);
        }
        if t.is_multiple_of(self.sampling_period) {
            self.end_period();
        }
        step
    }

    fn end_period(&mut self) {
        let clusters = self.records.values().filter(|record| !record.cluster.is_empty());
        let fresh = clusters.clone().filter(|record| !self.in_region(record)).count();
        let clusters = clusters.count();
        if !self.pirds.is_empty() {
            self.pird_thd = knee(&self.pirds);
        }
        if !self.birds.is_empty() {
            self.bird_thd = knee(&self.birds);
        }
        self.pirds.clear();
        self.birds.clear();
        self.periods.push(json!([self.t, self.pird_thd, self.bird_thd, fresh, clusters]));
    }
}

impl BlockModel for Bpac {
    fn access(&mut self, op: Op, page: u64) -> Step {
        match op {
            Op::Read => Step { hit: self.last_ref.contains_key(&page), ..Step::default() },
            Op::Write => self.write(page),
        }
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        self.last_ref.remove(&page)?;
        take_page(&mut self.p_list, page);
        let block = self.shape.block(page);
        let record = self.records.get_mut(&block).expect("a resident page has a record");
        record.cluster.remove(&page);
        record.hot.remove(&page);
        if record.cluster.is_empty() && record.hot.is_empty() {
            self.records.remove(&block);
        }
        Some(true)
    }

    fn dirty(&self) -> u64 {
        self.last_ref.len() as u64
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.counts.iter().map(|(&name, &count)| (name, count)).collect()
    }

    fn last(&self) -> Value {
        let mut records: Vec<_> =
            self.records.iter().filter(|(_, record)| !record.cluster.is_empty()).collect();
        records.sort_by_key(|(_, record)| std::cmp::Reverse(record.recency));
        let shown = |(block, record): (&u64, &Record)| {
            let pattern = match record.pattern {
                Pattern::Seq => "seq",
                Pattern::Loop => "loop",
                Pattern::Rand => "rand",
            };
            json!([block, record.cluster, pattern])
        };
        json!({
            "p_list": self.p_list,
            "b_list": records.into_iter().map(shown).collect::<Value>(),
            "time": self.t,
            "pird_thd": self.pird_thd,
            "bird_thd": self.bird_thd,
            "periods": self.periods,
        })
    }
}
