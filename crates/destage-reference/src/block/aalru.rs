//! AALRU. Mirrors `docs/spec/block-policies.md` 6.

use std::collections::{BTreeSet, VecDeque};

use super::{BlockModel, Group, Shape, Step};
use crate::{Op, Params, take_page};
use serde_json::{Value, json};

#[derive(Clone, Copy, Default)]
struct Hits {
    rrh: u64,
    rwh: u64,
    wrh: u64,
    wwh: u64,
}

pub(crate) struct Aalru {
    bs: u64,
    shape: Shape,
    period: u64,
    beta: f64,
    f_r: u64,
    f_w: u64,
    rb: VecDeque<u64>, // MRU first
    wb: VecDeque<u64>,
    tau: f64,
    th: f64,
    d_r: f64,
    d_w: f64,
    of_period: Hits,
    of_run: Hits,
    reads: Vec<u64>, // latencies of the period
    writes: Vec<u64>,
    count: u64,
    updates: Vec<Value>,
}

impl Aalru {
    pub(crate) fn new(frames: u64, shape: Shape, params: &Params<'_>) -> Aalru {
        let f_r = params.integer("page_read_ns").unwrap_or(32_700);
        let f_w = params.integer("page_write_ns").unwrap_or(101_500);
        let mut aalru = Aalru {
            bs: frames,
            shape,
            period: params.integer("period").unwrap_or(8192),
            beta: params.fraction("beta", 5.0),
            f_r,
            f_w,
            rb: VecDeque::new(),
            wb: VecDeque::new(),
            tau: 0.0,
            th: shape.pages_per_block as f64,
            d_r: f_r as f64,
            d_w: f_w as f64,
            of_period: Hits::default(),
            of_run: Hits::default(),
            reads: Vec::new(),
            writes: Vec::new(),
            count: 0,
            updates: Vec::new(),
        };
        aalru.tau = aalru.clamp(params.fraction("initial_tau", frames as f64 / 2.0));
        aalru
    }

    fn clamp(&self, x: f64) -> f64 {
        if self.bs == 1 {
            return 0.5;
        }
        f64::min(f64::max(x, 1.0), self.bs as f64 - 1.0)
    }

    fn evict(&mut self, step: &mut Step) {
        let mut from_rb = self.rb.len() as f64 >= self.tau;
        if self.rb.is_empty() {
            from_rb = false;
        }
        if self.wb.is_empty() {
            from_rb = true;
        }
        if from_rb {
            step.dropped = self.rb.pop_back();
            return;
        }
        let lru = *self.wb.back().expect("one of the lists has a page");
        let block = self.shape.block(lru);
        let shape = self.shape;
        let pages: BTreeSet<u64> =
            self.wb.iter().copied().filter(|page| shape.block(*page) == block).collect();
        self.wb.retain(|page| !pages.contains(page));
        let mut group = Group { pages, ..Group::default() };
        if group.pages.len() as f64 > self.th {
            group.padding = shape.padding(block, &group.pages);
            group.in_buffer =
                group.padding.iter().copied().filter(|page| self.rb.contains(page)).collect();
        }
        step.group = Some(group);
    }

    fn update(&mut self) {
        let mean = |latencies: &[u64], before: f64| {
            if latencies.is_empty() {
                return before;
            }
            latencies.iter().sum::<u64>() as f64 / latencies.len() as f64
        };
        self.d_r = mean(&self.reads, self.d_r);
        self.d_w = mean(&self.writes, self.d_w);
        let Hits { rrh, rwh, wrh, wwh } = self.of_period;
        let bs = self.bs as f64;
        if self.bs > 1 {
            let wr = (wwh as f64 * self.d_w + wrh as f64 * self.d_r) / (bs - self.tau);
            let rr = (rwh as f64 * self.d_w + rrh as f64 * self.d_r) / self.tau;
            if wr + rr > 0.0 {
                self.tau = self.clamp(rr / (wr + rr) * bs);
            }
        }
        let wf = self.d_w / self.f_w as f64;
        let b = self.shape.pages_per_block as f64;
        self.th = if wf <= 1.0 {
            b
        } else if wf <= self.beta {
            f64::max(0.0, -(b / self.beta) * wf + b)
        } else {
            0.0
        };
        self.of_period = Hits::default();
        self.reads.clear();
        self.writes.clear();
        self.updates.push(json!([self.count, self.tau, self.th]));
    }
}

impl BlockModel for Aalru {
    fn access(&mut self, op: Op, page: u64) -> Step {
        let mut step = Step::default();
        for hits in [&mut self.of_period, &mut self.of_run] {
            match (self.rb.contains(&page), self.wb.contains(&page), op) {
                (true, _, Op::Read) => hits.rrh += 1,
                (true, _, Op::Write) => hits.rwh += 1,
                (_, true, Op::Read) => hits.wrh += 1,
                (_, true, Op::Write) => hits.wwh += 1,
                (false, false, _) => {}
            }
        }
        if take_page(&mut self.rb, page) {
            step.hit = true;
            let list = if op == Op::Read { &mut self.rb } else { &mut self.wb };
            list.push_front(page);
        } else if take_page(&mut self.wb, page) {
            step.hit = true;
            self.wb.push_front(page);
        } else {
            if (self.rb.len() + self.wb.len()) as u64 == self.bs {
                self.evict(&mut step);
            }
            let list = if op == Op::Read { &mut self.rb } else { &mut self.wb };
            list.push_front(page);
        }
        step
    }

    fn after(&mut self, reads: &[Option<u64>], writes: &[Option<u64>]) {
        self.reads.extend(reads.iter().map(|ns| ns.unwrap_or(self.f_r)));
        self.writes.extend(writes.iter().map(|ns| ns.unwrap_or(self.f_w)));
        self.count += 1;
        if self.count.is_multiple_of(self.period) {
            self.update();
        }
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        let clean = take_page(&mut self.rb, page);
        let dirty = take_page(&mut self.wb, page);
        (clean || dirty).then_some(dirty)
    }

    fn dirty(&self) -> u64 {
        self.wb.len() as u64
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Hits { rrh, rwh, wrh, wwh } = self.of_run;
        vec![
            ("rb_read_hits", rrh),
            ("rb_write_hits", rwh),
            ("wb_read_hits", wrh),
            ("wb_write_hits", wwh),
        ]
    }

    fn last(&self) -> Value {
        json!({
            "rb": self.rb,
            "wb": self.wb,
            "tau": self.tau,
            "th": self.th,
            "updates": self.updates,
        })
    }
}
