//! LIRS: keep pages with a small distance between their last two references.
//!
//! Jiang, Zhang. SIGMETRICS 2002, and IEEE TC 54(8), 2005. Mirrors `docs/spec/page-policies.md`
//! 3.7.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, Params, share, show, take, take_page};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lir,
    ResidentHir,
    Ghost,
}

struct Entry {
    page: u64,
    kind: Kind,
}

pub(crate) struct Lirs {
    buffer: Buffer,
    s: VecDeque<Entry>, // stack S, top to bottom
    q: VecDeque<u64>,   // queue Q, front to back: all resident HIR pages
    llirs: usize,
    ghost_max: Option<usize>, // none: unlimited
}

impl Lirs {
    pub(crate) fn new(frames: usize, params: &Params) -> Lirs {
        let lhirs = share(params.fraction("hir_fraction", 0.01), frames).max(1).min(frames);
        Lirs {
            buffer: Buffer::new(frames),
            s: VecDeque::new(),
            q: VecDeque::new(),
            llirs: frames - lhirs,
            ghost_max: params.integer("ghost_max").map(|pages| pages as usize),
        }
    }

    fn count(&self, kind: Kind) -> usize {
        self.s.iter().filter(|entry| entry.kind == kind).count()
    }

    /// Whenever a page has just become LIR: one LIR page too many leaves the bottom of S for Q.
    fn demote(&mut self) {
        if self.count(Kind::Lir) > self.llirs {
            let bottom = self.s.pop_back().expect("S holds LIR pages");
            assert!(bottom.kind == Kind::Lir, "pruning leaves a LIR page at the bottom");
            self.q.push_back(bottom.page);
        }
    }

    fn prune(&mut self) {
        while self.s.back().is_some_and(|bottom| bottom.kind != Kind::Lir) {
            self.s.pop_back();
        }
    }

    fn drop_ghosts(&mut self) {
        let Some(ghost_max) = self.ghost_max else { return };
        while self.count(Kind::Ghost) > ghost_max {
            let lowest = self.s.iter().rposition(|entry| entry.kind == Kind::Ghost);
            self.s.remove(lowest.expect("there are ghosts"));
        }
    }

    fn hit(&mut self, page: u64) {
        match take(&mut self.s, |entry| entry.page == page).map(|entry| entry.kind) {
            Some(Kind::Lir) => self.s.push_front(Entry { page, kind: Kind::Lir }),
            Some(Kind::ResidentHir) => {
                self.s.push_front(Entry { page, kind: Kind::Lir });
                take_page(&mut self.q, page);
                self.demote();
            }
            None => {
                self.s.push_front(Entry { page, kind: Kind::ResidentHir });
                take_page(&mut self.q, page);
                self.q.push_back(page);
            }
            Some(Kind::Ghost) => unreachable!("a page that is hit is no ghost"),
        }
    }

    fn evict(&mut self) -> Decision {
        let victim = self.q.pop_front().expect("a full cache has a HIR page");
        for entry in &mut self.s {
            if entry.page == victim {
                entry.kind = Kind::Ghost;
            }
        }
        self.buffer.evict(victim)
    }

    fn miss(&mut self, op: Op, page: u64) -> Decision {
        // Any entry of a page that is not resident is a ghost.
        let ghost = self.s.iter().any(|entry| entry.page == page);
        let decision = if self.buffer.full() { self.evict() } else { Decision::miss() };
        self.buffer.install(op, page);
        if self.count(Kind::Lir) < self.llirs {
            take(&mut self.s, |entry| entry.page == page); // a ghost, where a LIR page was trimmed
            self.s.push_front(Entry { page, kind: Kind::Lir });
        } else if ghost {
            take(&mut self.s, |entry| entry.page == page);
            self.s.push_front(Entry { page, kind: Kind::Lir });
            self.demote();
        } else {
            self.s.push_front(Entry { page, kind: Kind::ResidentHir });
            self.q.push_back(page);
        }
        decision
    }
}

impl Model for Lirs {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        let decision = if self.buffer.hit(op, page) {
            self.hit(page);
            Decision::hit()
        } else {
            self.miss(op, page)
        };
        self.prune();
        self.drop_ghosts();
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        take(&mut self.s, |entry| entry.page == page);
        take_page(&mut self.q, page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let stack = self.s.iter().map(|entry| {
            let kind = match entry.kind {
                Kind::Lir => 'L',
                Kind::ResidentHir => 'H',
                Kind::Ghost => 'G',
            };
            format!("{}{kind}", entry.page)
        });
        [show("S", stack), show("Q", &self.q)].join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
