//! WATT: rank pages by the best frequency that any suffix of their recent history shows.
//!
//! Vöhringer, Leis. PVLDB 16(11), 2023. Mirrors
//! `docs/spec/further-policies.md`, 3.2.

use std::collections::VecDeque;

use crate::frames::{Draws, Frames, Sample};
use crate::{Buffer, Decision, Model, Op, Params, share, show};

struct History {
    page: u64,
    a: VecDeque<u64>, // epochs of accesses, newest first
    w: VecDeque<u64>, // epochs of writes, newest first
    last: u64,        // index of the last access
}

pub(crate) struct Watt {
    buffer: Buffer,
    frames: Frames,
    histories: Vec<History>, // of the resident pages
    epoch: u64,
    events: usize,
    index: u64, // of the access
    access_slots: usize,
    write_slots: usize,
    first_value: f64,
    write_cost: f64,
    write_as_read: bool,
    epoch_length: usize, // L
    epoch_on_hits: bool,
    sample: Sample,
    draws: Draws,
    s: usize,
}

/// Puts the epoch in front of a list that keeps the last `slots` different ones.
fn note(list: &mut VecDeque<u64>, epoch: u64, slots: usize) {
    if list.front() != Some(&epoch) {
        list.push_front(epoch);
    }
    list.truncate(slots);
}

impl Watt {
    pub(crate) fn new(frames: usize, params: &Params) -> Watt {
        Watt {
            buffer: Buffer::new(frames),
            frames: Frames::new(frames),
            histories: Vec::new(),
            epoch: 0,
            events: 0,
            index: 0,
            access_slots: params.integer("access_slots").unwrap_or(8) as usize,
            write_slots: params.integer("write_slots").unwrap_or(4) as usize,
            first_value: params.fraction("first_value", 0.1),
            write_cost: params.fraction("write_cost", 1.0),
            write_as_read: params.flag_or("write_as_read", true),
            epoch_length: share(params.fraction("epoch_fraction", 0.25), frames).max(1),
            epoch_on_hits: params.flag("epoch_on_hits"),
            sample: Sample::of(params, 8),
            draws: Draws::of(params),
            s: frames,
        }
    }

    /// Tracks an access of a resident page.
    fn track(&mut self, op: Op, page: u64, miss: bool) {
        let of_page = |history: &&mut History| history.page == page;
        let history = self.histories.iter_mut().find(of_page).expect("a resident page");
        if op == Op::Read || self.write_as_read {
            note(&mut history.a, self.epoch, self.access_slots);
        }
        if op == Op::Write {
            note(&mut history.w, self.epoch, self.write_slots);
        }
        history.last = self.index;
        if miss || self.epoch_on_hits {
            self.events += 1;
            if self.events == self.epoch_length {
                self.epoch += 1;
                self.events = 0;
            }
        }
    }

    /// V(list).
    fn best(&self, list: &VecDeque<u64>) -> f64 {
        let mut best = 0.0_f64;
        for (i, e) in (1..).zip(list) {
            let o = if i == 1 { self.first_value } else { f64::from(i) };
            let age = (self.epoch - e + 1) as f64;
            best = best.max((o / age).min(1.0));
        }
        best
    }

    fn value(&self, history: &History) -> f64 {
        let (a, w) = (self.best(&history.a), self.best(&history.w));
        if self.write_as_read { a + self.write_cost * w } else { (a + self.write_cost * w) + w }
    }

    fn victim(&mut self) -> u64 {
        let mut worst: Option<(f64, u64, u64)> = None; // value, last access, page
        for frame in self.sample.frames(&mut self.draws, self.s) {
            let page = self.frames.page(frame);
            let history = self.histories.iter().find(|history| history.page == page);
            let history = history.expect("a resident page has a history");
            let candidate = (self.value(history), history.last, page);
            if worst.is_none_or(|worst| candidate < worst) {
                worst = Some(candidate);
            }
        }
        worst.expect("there are candidates").2
    }
}

impl Model for Watt {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        let decision = if self.buffer.hit(op, page) {
            self.track(op, page, false);
            Decision::hit()
        } else {
            let mut decision = Decision::miss();
            if self.buffer.full() {
                let victim = self.victim();
                self.histories.retain(|history| history.page != victim);
                self.frames.free(victim);
                decision = self.buffer.evict(victim);
            }
            self.buffer.install(op, page);
            self.frames.place(page);
            let (a, w) = (VecDeque::new(), VecDeque::new());
            self.histories.push(History { page, a, w, last: self.index });
            self.track(op, page, true);
            decision
        };
        self.index += 1;
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        let dirty = self.buffer.forget(page)?;
        self.histories.retain(|history| history.page != page);
        self.frames.free(page);
        Some(dirty)
    }

    fn lists(&self) -> String {
        let epochs = |list: &VecDeque<u64>| {
            let epochs: Vec<String> = list.iter().map(u64::to_string).collect();
            format!("{{{}}}", epochs.join(" "))
        };
        let frames = self.frames.show(|page| {
            let history = self.histories.iter().find(|history| history.page == page);
            let history = history.expect("a resident page has a history");
            format!("{page}/{}/{}", epochs(&history.a), epochs(&history.w))
        });
        [show("frames", frames), format!("epoch={}", self.epoch)].join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
