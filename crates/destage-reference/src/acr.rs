//! ACR: share the frames between clean and dirty pages by what each side has cost lately.
//!
//! Tang, Meng. ACR: an Adaptive Cost-Aware Buffer Replacement Algorithm for Flash Storage Devices,
//! section III, formulas 1-7, Algorithm 1. Mirrors
//! `docs/spec/page-policies.md` 3.16: `acr-c`, `acr-o` and `acr-h`, which differ in the cost
//! formula only.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, Params, Step, share, show, take, take_page};

/// How an eviction computes the costs of the two sides.
pub(crate) enum Scheme {
    Conservative, // acr-c
    Optimistic,   // acr-o
    Hybrid,       // acr-h
}

struct Entry {
    page: u64,
    hit: u64,
}

/// Which counters one access increased, or their sums over several.
#[derive(Clone, Copy, Default)]
struct OperationCounts {
    r_lc: u128,
    r_ld: u128,
    m_lc: u128,
    m_ld: u128,
}

pub(crate) struct Acr {
    scheme: Scheme,
    buffer: Buffer,
    l_ct: VecDeque<Entry>, // clean pages, top
    l_cb: VecDeque<Entry>, // clean pages, bottom
    l_dt: VecDeque<Entry>, // dirty pages, top
    l_db: VecDeque<Entry>, // dirty pages, bottom
    l_ch: VecDeque<u64>,   // ghosts of clean pages
    l_dh: VecDeque<u64>,   // ghosts of dirty pages
    delta_c: usize,
    delta_d: usize,
    window: VecDeque<OperationCounts>, // of the last m accesses, newest first
    m: usize,
    ghost_max: usize, // G
    cost_read: u128,
    cost_write: u128,
    s: u128,
    n: u128,   // pages of the file
    own: bool, // only reads of L_C and writes of L_D count in R
}

impl Acr {
    pub(crate) fn new(scheme: Scheme, frames: usize, params: &Params, trace: &[Step]) -> Acr {
        let n = params.integer("file_pages").unwrap_or_else(|| distinct_pages(trace));
        Acr {
            scheme,
            buffer: Buffer::new(frames),
            l_ct: VecDeque::new(),
            l_cb: VecDeque::new(),
            l_dt: VecDeque::new(),
            l_db: VecDeque::new(),
            l_ch: VecDeque::new(),
            l_dh: VecDeque::new(),
            delta_c: 0,
            delta_d: 0,
            window: VecDeque::new(),
            m: share(params.fraction("window_fraction", 0.5), frames).max(1),
            ghost_max: share(params.fraction("ghost_fraction", 0.5), frames),
            cost_read: u128::from(params.integer("cost_read").unwrap_or(1)),
            cost_write: u128::from(params.integer("cost_write").unwrap_or(118)),
            s: frames as u128,
            n: u128::from(n),
            own: params.text("logical_operations") == Some("own"),
        }
    }

    /// `|L_C|`
    fn l_c(&self) -> usize {
        self.l_ct.len() + self.l_cb.len()
    }

    /// `|L_D|`
    fn l_d(&self) -> usize {
        self.l_dt.len() + self.l_db.len()
    }

    /// Case I: a hit.
    fn case_1(&mut self, op: Op, page: u64, now: &mut OperationCounts) {
        let is_page = |entry: &Entry| entry.page == page;
        let in_c = self.l_ct.iter().any(is_page) || self.l_cb.iter().any(is_page);
        if in_c {
            now.r_lc += u128::from(op == Op::Read || !self.own);
            if self.l_cb.iter().any(is_page) {
                self.delta_c = self.delta_c.saturating_sub(1);
            }
        } else {
            now.r_ld += u128::from(op == Op::Write || !self.own);
            if self.l_db.iter().any(is_page) {
                self.delta_d = self.delta_d.saturating_sub(1);
            }
        }

        let mut entry = take(&mut self.l_ct, is_page)
            .or_else(|| take(&mut self.l_cb, is_page))
            .or_else(|| take(&mut self.l_dt, is_page))
            .or_else(|| take(&mut self.l_db, is_page))
            .expect("a resident page is in one of the four lists");
        match (in_c, op) {
            (true, Op::Read) => {
                entry.hit += 1;
                self.l_ct.push_front(entry);
            }
            (false, _) => {
                entry.hit += 1;
                self.l_dt.push_front(entry);
            }
            (true, Op::Write) => {
                entry.hit = 0;
                self.l_db.push_front(entry);
            }
        }
    }

    /// Case II: a miss on a ghost. Its list decides which delta grows, the operation where the
    /// page goes.
    fn case_2(&mut self, op: Op, page: u64, now: &mut OperationCounts) -> Decision {
        let in_ch = take_page(&mut self.l_ch, page);
        take_page(&mut self.l_dh, page);
        let decision = if self.buffer.full() { self.evict(now) } else { Decision::miss() };
        if in_ch {
            self.delta_c = self.l_c().min(self.delta_c + 1);
        } else {
            self.delta_d = self.l_d().min(self.delta_d + 1);
        }
        self.buffer.install(op, page);
        match op {
            Op::Read => {
                self.l_ct.push_front(Entry { page, hit: 0 });
                now.m_lc += 1;
                now.r_lc += 1;
            }
            Op::Write => {
                self.l_dt.push_front(Entry { page, hit: 0 });
                now.r_ld += 1;
            }
        }
        decision
    }

    /// Case III: any other miss.
    fn case_3(&mut self, op: Op, page: u64, now: &mut OperationCounts) -> Decision {
        let decision = if self.buffer.full() { self.evict(now) } else { Decision::miss() };
        self.buffer.install(op, page);
        match op {
            Op::Read => {
                self.l_cb.push_front(Entry { page, hit: 0 });
                now.r_lc += 1;
                now.m_lc += 1;
            }
            Op::Write => {
                self.l_db.push_front(Entry { page, hit: 0 });
                now.r_ld += 1;
            }
        }
        decision
    }

    /// The counters: sums over the m accesses before the current one.
    fn counters(&self) -> OperationCounts {
        let mut sum = OperationCounts::default();
        for access in &self.window {
            sum.r_lc += access.r_lc;
            sum.r_ld += access.r_ld;
            sum.m_lc += access.m_lc;
            sum.m_ld += access.m_ld;
        }
        sum
    }

    /// C_LC and C_LD, both times n under the hybrid scheme so that they stay integers.
    fn costs(&self) -> (u128, u128) {
        let OperationCounts { r_lc, r_ld, m_lc, m_ld } = self.counters();
        let (c_r, c_w) = (self.cost_read, self.cost_write);
        let costs = match self.scheme {
            Scheme::Conservative => (
                if m_lc == 0 { c_r } else { m_lc * c_r },
                if m_ld == 0 { c_w } else { m_ld * (c_w + c_r) },
            ),
            Scheme::Optimistic => (r_lc * c_r, r_ld * (c_w + c_r)),
            Scheme::Hybrid => {
                // n * (1 - s/n), or 0 if s > n
                let rest = self.n.saturating_sub(self.s);
                ((r_lc * rest + m_lc * self.n) * c_r, (r_ld * rest + m_ld * self.n) * (c_w + c_r))
            }
        };
        if costs == (0, 0) { (c_r, c_w) } else { costs }
    }

    fn evict(&mut self, now: &mut OperationCounts) -> Decision {
        let (c_lc, c_ld) = self.costs();
        // |L_C| < beta * s with beta = C_LC / (C_LC + C_LD)
        let l_c_is_small = self.l_c() as u128 * (c_lc + c_ld) < c_lc * self.s;
        let from_d = if l_c_is_small { self.l_d() > 0 } else { self.l_c() == 0 };
        let q = if from_d {
            now.m_ld += 1;
            self.l_db.pop_back().or_else(|| self.l_dt.pop_back())
        } else {
            self.l_cb.pop_back().or_else(|| self.l_ct.pop_back())
        };
        let q = q.expect("a full cache has a victim on one side");
        if q.hit == 0 {
            self.leave_ghost(q.page, from_d);
        }
        self.buffer.evict(q.page)
    }

    fn leave_ghost(&mut self, page: u64, from_d: bool) {
        if self.ghost_max == 0 {
            return;
        }
        let full = self.l_ch.len() + self.l_dh.len() == self.ghost_max;
        let (own, other) = if from_d {
            (&mut self.l_dh, &mut self.l_ch)
        } else {
            (&mut self.l_ch, &mut self.l_dh)
        };
        if full && own.pop_back().is_none() {
            other.pop_back();
        }
        own.push_front(page);
    }

    fn adjust(&mut self) {
        if self.buffer.full() {
            fit(&mut self.l_ct, &mut self.l_cb, self.delta_c);
            fit(&mut self.l_dt, &mut self.l_db, self.delta_d);
        }
        self.delta_c = self.l_cb.len();
        self.delta_d = self.l_db.len();
    }
}

/// Moves pages between the top and the bottom of a list until the bottom has `delta` of them, or
/// the top has no more to give.
fn fit(top: &mut VecDeque<Entry>, bottom: &mut VecDeque<Entry>, delta: usize) {
    while bottom.len() > delta {
        top.push_back(bottom.pop_front().expect("the bottom is too long"));
    }
    while bottom.len() < delta && !top.is_empty() {
        bottom.push_front(top.pop_back().expect("the top is not empty"));
    }
}

fn distinct_pages(trace: &[Step]) -> u64 {
    let accessed = trace.iter().filter(|step| matches!(step, Step::Access(..)));
    let mut pages: Vec<u64> = accessed.map(Step::page).collect();
    pages.sort_unstable();
    pages.dedup();
    pages.len() as u64
}

impl Model for Acr {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        let mut now = OperationCounts::default();
        let decision = if self.buffer.hit(op, page) {
            self.case_1(op, page, &mut now);
            Decision::hit()
        } else if self.l_ch.contains(&page) || self.l_dh.contains(&page) {
            self.case_2(op, page, &mut now)
        } else {
            self.case_3(op, page, &mut now)
        };
        self.adjust();
        self.window.push_front(now);
        self.window.truncate(self.m);
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        for list in [&mut self.l_ct, &mut self.l_cb, &mut self.l_dt, &mut self.l_db] {
            take(list, |entry| entry.page == page);
        }
        take_page(&mut self.l_ch, page);
        take_page(&mut self.l_dh, page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let pages = |name, list: &VecDeque<Entry>| show(name, list.iter().map(|e| e.page));
        [
            pages("L_CT", &self.l_ct),
            pages("L_CB", &self.l_cb),
            pages("L_DT", &self.l_dt),
            pages("L_DB", &self.l_db),
            show("L_CH", &self.l_ch),
            show("L_DH", &self.l_dh),
            format!("delta_C={} delta_D={}", self.delta_c, self.delta_d),
        ]
        .join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
