//! WATT: rank pages by the best frequency that any suffix of their recent history shows, and count
//! writes extra.
//!
//! Vöhringer, Leis. Write-Aware Timestamp Tracking: effective and efficient page replacement for
//! modern hardware. PVLDB 16(11), 2023; the authors' simulator and LeanStore.
//!
//! Rules. Time is counted in epochs of `L` misses. Of each resident page: `A`, the last epochs in
//! which it was accessed, newest first, and `W`, those in which it was written. What a history
//! shows:
//!
//! ```text
//!     V(e_1, e_2, ..) = max over i of min(o_i / (epoch - e_i + 1), 1)   o_1 = first_value, o_i = i
//!     value(page)     = V(A) + write_cost V(W)
//! ```
//!
//! Miss: of a sample of pages, the one with the smallest value is evicted, among equals the one
//! whose last access is oldest; its history is forgotten. Every access is tracked, that of a miss
//! after the page has come in: the epoch goes in front of `A`, and of `W` if it is a write, unless
//! it is there; the oldest leaves a list that is full.
//!
//! Readings.
//!
//! | open | here |
//! |---|---|
//! | an epoch | a quarter of the frames in misses (the simulator), or in accesses (`epoch_on_hits`); LeanStore counts evictions |
//! | the miss that ends an epoch | belongs to it (the simulator) |
//! | age | from 1 on, quotients capped at 1 (the simulator) |
//! | slots not used yet | absent (the simulator); LeanStore has zeros there |
//! | ties | the oldest last access; the programs take what they meet first |
//! | precision | binary64; the simulator has single |
//! | sampling | with replacement (LeanStore); all pages if there are no more than the sample |
//! | `write_as_read` = false | a write counts in `W` alone, and `V(W)` once more |
//!
//! LeanStore is `first_value = 0.2; epoch_fraction = 0.001; sample = 50`.
//!
//! Cost. O(slots) per access that opens an epoch of its page, else O(1); an eviction looks at
//! `sample` frames, or at all. A word per slot and three per frame, two per page.

use crate::frames::{Frames, set};
use crate::info::INTERVAL_FRAMES;
use crate::params::{IfAbsent, Kind, Param, Params};
use crate::sample::{SAMPLE, SEED, Sample};
use crate::{Gauge, Info, Setup};
use destage_core::{DeviceView, Directory, Lookup, Op, Plan, Policy, Request, Slot, share};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "watt",
    title: "Write-Aware Timestamp Tracking",
    source: "Vöhringer, Leis, PVLDB 16(11), 2023",
    about: "Evict, of a sample, the page whose recent history shows the lowest frequency.",
    flash_aware: true,
    time: "O(1), eviction O(sample)",
    params: PARAMS,
    gauges: &[Gauge { name: "epoch", title: "epoch", unit: "epochs" }],
    interval_frames: INTERVAL_FRAMES,
    ..Info::BLANK
};

const SLOTS: Param = Param {
    name: "access_slots",
    symbol: "K_A",
    kind: Kind::Int { min: 1, max: 64 },
    default: IfAbsent::Int(8),
    unit: "epochs kept",
    about: "Length of the history of accesses; default of the authors' simulator.",
    ..Param::BLANK
};

static PARAMS: &[Param] = &[
    SLOTS,
    Param {
        name: "write_slots",
        symbol: "K_W",
        default: IfAbsent::Int(4),
        about: "Length of the history of writes; default of the authors' simulator.",
        ..SLOTS
    },
    Param {
        name: "first_value",
        symbol: "f_1",
        kind: Kind::Real { min: 0.0, max: 1.0 },
        default: IfAbsent::Real(0.1),
        about: "Weight of the newest epoch; default of the authors' talk.",
        ..Param::BLANK
    },
    Param {
        name: "write_cost",
        symbol: "c",
        kind: Kind::Real { min: 0.0, max: 1000.0 },
        default: IfAbsent::Real(1.0),
        unit: "in accesses",
        about: "Cost of a write relative to an access; default of the authors' simulator.",
        ..Param::BLANK
    },
    Param {
        name: "write_as_read",
        kind: Kind::Bool,
        default: IfAbsent::Bool(true),
        about: "A write is an access too; default of the authors' simulator.",
        ..Param::BLANK
    },
    Param {
        name: "epoch_fraction",
        symbol: "E/s",
        kind: Kind::Real { min: 0.0, max: 16.0 },
        default: IfAbsent::Real(0.25),
        unit: "of frames",
        about: "Misses in an epoch, at least one; default of the authors' simulator.",
        ..Param::BLANK
    },
    Param {
        name: "epoch_on_hits",
        kind: Kind::Bool,
        default: IfAbsent::Bool(false),
        about: "Epochs in accesses rather than misses; the authors' simulator has both.",
        ..Param::BLANK
    },
    Param {
        default: IfAbsent::Int(8),
        about: "Frames drawn per eviction; none: all frames. Default of the authors' \
                simulator.",
        ..SAMPLE
    },
    SEED,
];

/// State of the page in a frame, beside its epochs.
#[derive(Clone, Copy, Default, Debug)]
struct Tracked {
    last: u64,    // number of its last access
    accesses: u8, // epochs in A
    writes: u8,   // epochs in W
}

/// Puts an epoch in front of `kept` that it does not open with; the last one leaves if it is full.
#[inline(always)]
fn note(epochs: &mut [u64], kept: &mut u8, epoch: u64) {
    if *kept > 0 && epochs[0] == epoch {
        return;
    }
    let moved = usize::from(*kept).min(epochs.len() - 1);
    epochs.copy_within(..moved, 1);
    epochs[0] = epoch;
    *kept = moved as u8 + 1;
}

/// The histories of the pages, by frame, and what they are worth.
#[derive(Debug)]
struct Histories {
    tracked: Vec<Tracked>,
    epochs: Vec<u64>,    // A, then W, each newest first
    access_slots: usize, // K_A
    write_slots: usize,  // K_W
    epoch: u64,
    first_value: f64,
    write_cost: f64,
    write_as_read: bool,
}

impl Histories {
    fn new(params: &Params) -> Self {
        Histories {
            tracked: Vec::new(),
            epochs: Vec::new(),
            access_slots: params.int("access_slots") as usize, // 1..=64
            write_slots: params.int("write_slots") as usize,   // 1..=64
            epoch: 0,
            first_value: params.real("first_value"),
            write_cost: params.real("write_cost"),
            write_as_read: params.flag("write_as_read"),
        }
    }

    /// Range of the epochs of a frame.
    #[inline(always)]
    fn range(&self, frame: u32) -> std::ops::Range<usize> {
        let slots = self.access_slots + self.write_slots;
        frame as usize * slots..(frame as usize + 1) * slots
    }

    /// Forgets the history of a frame, which may be a new one.
    #[inline(always)]
    fn clear(&mut self, frame: u32) {
        set(&mut self.tracked, frame, Tracked::default());
        let end = self.range(frame).end;
        if end > self.epochs.len() {
            self.epochs.resize(end, 0);
        }
    }

    /// Notes an access of the page in this frame.
    #[inline(always)]
    fn note(&mut self, frame: u32, op: Op, now: u64) {
        let range = self.range(frame);
        let (a, w) = self.epochs[range].split_at_mut(self.access_slots);
        let tracked = &mut self.tracked[frame as usize];
        tracked.last = now;
        if self.write_as_read || op == Op::Read {
            note(a, &mut tracked.accesses, self.epoch);
        }
        if op.is_write() {
            note(w, &mut tracked.writes, self.epoch);
        }
    }

    /// A and W of the page in this frame.
    #[inline(always)]
    fn of(&self, frame: u32) -> (&[u64], &[u64]) {
        let (a, w) = self.epochs[self.range(frame)].split_at(self.access_slots);
        let Tracked { accesses, writes, .. } = self.tracked[frame as usize];
        (&a[..accesses.into()], &w[..writes.into()])
    }

    /// V of some epochs, newest first.
    #[inline(always)]
    fn best(&self, epochs: &[u64]) -> f64 {
        let mut best: f64 = 0.0;
        for (i, &e) in epochs.iter().enumerate() {
            let o = if i == 0 { self.first_value } else { (i + 1) as f64 };
            let age = (self.epoch - e + 1) as f64;
            best = best.max((o / age).min(1.0));
        }
        best
    }

    /// The value of the page in this frame.
    #[inline(always)]
    fn value(&self, frame: u32) -> f64 {
        let (a, w) = self.of(frame);
        let (a, w) = (self.best(a), self.best(w));
        if self.write_as_read { a + self.write_cost * w } else { (a + self.write_cost * w) + w }
    }
}

/// The policy.
pub struct Watt<D> {
    pages: Frames<D>,
    histories: Histories,
    events: u32,       // of this epoch
    now: u64,          // accesses so far
    epoch_length: u32, // L
    epoch_on_hits: bool,
    sample: Sample,
    frames: u32,
}

impl<D: Directory> Watt<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let params = &setup.params;
        Watt {
            pages: Frames::new(directory),
            histories: Histories::new(params),
            events: 0,
            now: 0,
            epoch_length: share(params.real("epoch_fraction"), setup.frames).max(1),
            epoch_on_hits: params.flag("epoch_on_hits"),
            sample: Sample::new(params, setup.frames),
            frames: setup.frames,
        }
    }

    /// Tracks an access of the page in this frame; an epoch may end with it.
    #[inline(always)]
    fn track(&mut self, frame: u32, op: Op, counts: bool) {
        self.histories.note(frame, op, self.now);
        self.events += u32::from(counts);
        if self.events == self.epoch_length {
            self.histories.epoch += 1;
            self.events = 0;
        }
    }
}

impl<D: Directory> Policy for Watt<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        self.now += 1;
        let Some((slot, frame)) = self.pages.access(r) else { return Lookup::Miss(()) };
        self.track(frame, r.op, self.epoch_on_hits);
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let histories = &self.histories;
        let mut victim: Option<(f64, u64, u32)> = None;
        self.sample.for_each(|frame| {
            let last = histories.tracked[frame as usize].last;
            let candidate = (histories.value(frame), last, frame);
            if victim.is_none_or(|least| candidate < least) {
                victim = Some(candidate);
            }
        });
        let (_, _, frame) = victim.expect("a sample has a frame");
        self.pages.evict(frame, plan);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let (slot, frame) = self.pages.admit(r);
        self.histories.clear(frame);
        self.track(frame, r.op, true);
        slot
    }

    in_frames! { self.pages; frames: self.frames }

    hints! { self.pages: prefetch }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("epoch", self.histories.epoch as f64);
    }

    fn check(&self) {
        self.pages.check(self.frames);
        assert!(self.events < self.epoch_length, "an epoch ends in time");
        for (frame, _, dirty) in self.pages.iter() {
            let (a, w) = self.histories.of(frame);
            let falls = |epochs: &[u64]| epochs.windows(2).all(|pair| pair[0] > pair[1]);
            assert!(falls(a) && falls(w), "newest first");
            assert!(!a.is_empty() || !w.is_empty(), "a page came in by an access");
            assert_eq!(dirty, !w.is_empty(), "a page written is dirty until it leaves");
            assert!(self.histories.tracked[frame as usize].last <= self.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::{drive, reads, setup, show, victims};
    use destage_core::{Dense, Op::*, Page};

    fn watt(frames: u32, given: &[(&str, Value)]) -> Watt<Dense> {
        let all = [("sample", Value::None)];
        Watt::new(&setup("watt", frames, &[&all, given].concat()), Dense::new(16))
    }

    /// `frames[1/{1 0}/{} 4/{1}/{}] epoch=2`.
    fn lists(p: &Watt<Dense>) -> String {
        let page = |(frame, page, _): (u32, Page, bool)| {
            let (a, w) = p.histories.of(frame);
            let (a, w) = (show(a), show(w));
            format!("{}/{{{a}}}/{{{w}}}", page.0)
        };
        format!("frames[{}] epoch={}", show(p.pages.iter().map(page)), p.histories.epoch)
    }

    /// Rows 0 to 8 of the micro-trace (`docs/spec/further-policies.md`, 3.2).
    #[test]
    fn a_page_seen_in_more_epochs_outlives_one_seen_lately() {
        let given = [("epoch_fraction", Value::Real(0.67)), ("first_value", Value::Real(0.25))];
        let mut p = watt(3, &given);
        let accesses = [(Read, 1), (Write, 2), (Read, 3), (Read, 1), (Read, 4)];
        assert_eq!(victims(&drive(&mut p, &accesses)), [2]);
        assert_eq!(lists(&p), "frames[1/{1 0}/{} 4/{1}/{} 3/{1}/{}] epoch=2");
        let accesses = [(Write, 2), (Read, 5), (Read, 1), (Write, 2)];
        assert_eq!(victims(&drive(&mut p, &accesses)), [3, 4]);
        assert_eq!(lists(&p), "frames[1/{3 1 0}/{} 5/{2}/{} 2/{3 2}/{3 2}] epoch=3");
    }

    #[test]
    fn a_history_keeps_its_newest_epochs_and_no_epoch_twice() {
        let given = [
            ("access_slots", Value::Int(2)),
            ("write_slots", Value::Int(1)),
            ("epoch_fraction", Value::Real(0.0)),
            ("epoch_on_hits", Value::Bool(true)),
        ];
        let mut p = watt(2, &given);
        drive(&mut p, &[(Write, 1), (Write, 1), (Read, 1), (Read, 1)]);
        assert_eq!(lists(&p), "frames[1/{3 2}/{1}] epoch=4");
    }

    #[test]
    fn a_write_that_is_no_read_is_worth_more_by_itself() {
        let given = [("first_value", Value::Real(1.0)), ("write_as_read", Value::Bool(false))];
        let mut p = watt(8, &given);
        drive(&mut p, &[(Read, 1), (Write, 2)]);
        assert_eq!(lists(&p), "frames[1/{0}/{} 2/{}/{0}] epoch=1");
        assert_eq!(
            (p.histories.value(0), p.histories.value(1)),
            (0.5, 1.0),
            "age 2; V(W) at write_cost 1, and once more"
        );
    }

    #[test]
    fn among_pages_of_equal_value_the_one_not_accessed_for_longest_goes() {
        let mut p = watt(3, &[("epoch_fraction", Value::Real(16.0))]);
        assert_eq!(victims(&drive(&mut p, &reads(&[1, 2, 3, 1, 4, 5]))), [2, 3]);
    }
}
