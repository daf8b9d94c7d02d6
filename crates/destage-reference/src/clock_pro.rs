//! CLOCK-Pro: LIRS's test of reuse distances, with hits as cheap as CLOCK's.
//!
//! Jiang, Chen, Zhang. USENIX ATC 2005. Mirrors `docs/spec/further-policies.md`, 3.12: each of its
//! procedures is a function here.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, Params, share, show, take};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    H, // hot
    C, // cold
    T, // cold and in its test period
    N, // not resident and in its test period
}

use Kind::{C, H, N, T};

struct Entry {
    page: u64,
    kind: Kind,
    marked: bool,
}

pub(crate) struct ClockPro {
    buffer: Buffer,
    list: VecDeque<Entry>, // head to tail
    m_c: usize,
    lo: usize,
    hi: usize,
    g: usize,              // G
    previous: Option<u64>, // page of the access before
    s: usize,
}

impl ClockPro {
    pub(crate) fn new(s: usize, params: &Params) -> ClockPro {
        let least = if s < 4 { 1 } else { 2 };
        let lo = share(params.fraction("cold_min_fraction", 0.01), s).max(least);
        let hi = (s - lo).min(share(params.fraction("cold_max_fraction", 0.99), s));
        ClockPro {
            buffer: Buffer::new(s),
            list: VecDeque::new(),
            m_c: lo,
            lo,
            hi: hi.max(lo),
            g: share(params.fraction("ghost_fraction", 1.0), s),
            previous: None,
            s,
        }
    }

    fn place(&self, page: u64) -> Option<usize> {
        self.list.iter().position(|entry| entry.page == page)
    }

    fn kind(&self, page: u64) -> Option<Kind> {
        self.place(page).map(|at| self.list[at].kind)
    }

    fn count(&self, kind: Kind) -> usize {
        self.list.iter().filter(|entry| entry.kind == kind).count()
    }

    /// Place of the page of one of these kinds that is nearest to the tail.
    fn last(&self, kinds: &[Kind]) -> Option<usize> {
        self.list.iter().rposition(|entry| kinds.contains(&entry.kind))
    }

    fn move_to_head(&mut self, page: u64, kind: Kind) {
        take(&mut self.list, |entry| entry.page == page);
        self.list.push_front(Entry { page, kind, marked: false });
    }

    fn adjust(&mut self, up: bool) {
        let m_c = if up { self.m_c + 1 } else { self.m_c - 1 };
        self.m_c = m_c.max(self.lo).min(self.hi);
    }

    fn end_test(&mut self, page: u64) {
        let at = self.place(page).expect("a page of the list");
        match self.list[at].kind {
            T => {
                self.list[at].kind = C;
                self.adjust(self.list[at].marked);
            }
            N => {
                self.list.remove(at);
                self.adjust(false);
            }
            H | C => {}
        }
    }

    fn trim(&mut self) {
        let Some(last_hot) = self.last(&[H]) else { return };
        let below: Vec<u64> = self.list.range(last_hot + 1..).map(|entry| entry.page).collect();
        for &page in below.iter().rev() {
            self.end_test(page);
        }
    }

    fn cool(&mut self, x: u64) -> bool {
        let Some(last_hot) = self.last(&[H]) else { return false };
        let end = self.place(x).map_or(0, |at| at + 1);
        let path: Vec<u64> = if end > last_hot {
            Vec::new()
        } else {
            self.list.range(end..=last_hot).rev().map(|entry| entry.page).collect()
        };
        let mut made_cold = false;
        for page in path {
            let at = self.place(page).expect("the path only loses pages that it has passed");
            match (self.list[at].kind, self.list[at].marked) {
                (H, true) => self.move_to_head(page, H),
                (H, false) => {
                    self.move_to_head(page, C);
                    made_cold = true;
                    break;
                }
                _ => self.end_test(page),
            }
        }
        self.trim();
        made_cold
    }

    fn in_test(&self, page: u64) -> bool {
        matches!(self.kind(page), Some(T | N))
    }

    fn promote(&mut self, x: u64) -> bool {
        if !self.in_test(x) {
            return false;
        }
        self.adjust(true);
        let at = self.place(x).expect("it is in its test");
        self.list[at].marked = false;
        while self.count(H) >= self.s - self.m_c {
            if !self.in_test(x) || !self.cool(x) {
                return false;
            }
        }
        true
    }

    fn make_room(&mut self) -> Decision {
        loop {
            let at = self.last(&[C, T]).expect("there is a cold page");
            let Entry { page: x, kind, marked } = self.list[at];
            if marked {
                if kind == T && self.promote(x) {
                    self.move_to_head(x, H);
                } else {
                    self.move_to_head(x, T);
                }
                continue;
            }
            if kind == T {
                self.list[at].kind = N;
            } else {
                self.list.remove(at);
            }
            while self.count(N) > self.g {
                let last = self.last(&[T, N]).expect("there is an N page");
                self.end_test(self.list[last].page);
            }
            return self.buffer.evict(x);
        }
    }

    fn miss(&mut self, op: Op, page: u64) -> Decision {
        let free = self.s - self.buffer.resident_pages().len();
        let mut decision = Decision::miss();
        if free > self.lo {
            self.move_to_head(page, H);
        } else if free > 0 {
            self.move_to_head(page, T);
        } else {
            let was_ghost = self.kind(page) == Some(N);
            decision = self.make_room();
            let kind = if was_ghost && self.promote(page) { H } else { T };
            self.move_to_head(page, kind);
        }
        self.trim();
        self.buffer.install(op, page);
        decision
    }
}

impl Model for ClockPro {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        let decision = if self.buffer.hit(op, page) {
            if self.previous != Some(page) {
                let at = self.place(page).expect("a resident page");
                self.list[at].marked = true;
            }
            Decision::hit()
        } else {
            self.miss(op, page)
        };
        self.previous = Some(page);
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        take(&mut self.list, |entry| entry.page == page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let entries = self.list.iter().map(|entry| {
            format!("{}{:?}{}", entry.page, entry.kind, if entry.marked { "*" } else { "" })
        });
        [show("list", entries), format!("m_c={}", self.m_c)].join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
