//! AD-LRU: as CCF-LRU, but the cold region cannot shrink below a minimum.
//!
//! Jin, Ou, Haerder, Li. Data & Knowledge Engineering 72, 2012. Mirrors
//! `docs/spec/page-policies.md` 3.14.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, Params, bit, share, show, state, take};

struct Entry {
    page: u64,
    referenced: bool, // ref
}

pub(crate) struct AdLru {
    buffer: Buffer,
    cold: VecDeque<Entry>, // MRU to LRU, clean and dirty pages
    hot: VecDeque<Entry>,  // the same
    min_lc: usize,
}

impl AdLru {
    pub(crate) fn new(frames: usize, params: &Params) -> AdLru {
        AdLru {
            buffer: Buffer::new(frames),
            cold: VecDeque::new(),
            hot: VecDeque::new(),
            min_lc: share(params.fraction("min_lc_fraction", 0.2), frames),
        }
    }

    fn victim(&mut self) -> u64 {
        if self.cold.len() > self.min_lc || self.hot.is_empty() {
            victim_of(&mut self.cold, &self.buffer)
        } else {
            victim_of(&mut self.hot, &self.buffer)
        }
    }
}

/// The clean page nearest the LRU end, or the first dirty one there without ref.
fn victim_of(list: &mut VecDeque<Entry>, buffer: &Buffer) -> u64 {
    if let Some(at) = list.iter().rposition(|entry| !buffer.dirty(entry.page)) {
        return list.remove(at).expect("a position inside the list").page;
    }
    loop {
        let last = list.pop_back().expect("an empty list gives no victim");
        if !last.referenced {
            return last.page;
        }
        list.push_front(Entry { page: last.page, referenced: false });
    }
}

impl Model for AdLru {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        if self.buffer.hit(op, page) {
            take(&mut self.cold, |entry| entry.page == page);
            take(&mut self.hot, |entry| entry.page == page);
            self.hot.push_front(Entry { page, referenced: true });
            return Decision::hit();
        }
        let decision = if self.buffer.full() {
            let victim = self.victim();
            self.buffer.evict(victim)
        } else {
            Decision::miss()
        };
        self.buffer.install(op, page);
        self.cold.push_front(Entry { page, referenced: true });
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        take(&mut self.cold, |entry| entry.page == page);
        take(&mut self.hot, |entry| entry.page == page);
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let entry = |e: &Entry| {
            format!("{}/{}/{}", e.page, state(self.buffer.dirty(e.page)), bit(e.referenced))
        };
        let cold = show("cold", self.cold.iter().map(entry));
        let hot = show("hot", self.hot.iter().map(entry));
        format!("{cold} {hot}")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
