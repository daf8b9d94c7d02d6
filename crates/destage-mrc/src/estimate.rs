//! From what a sample counted to what the trace would have.

use super::confidence::{Estimates, is_shown, needs_neighbours};
use super::curve::{MrcOptions, Point, SampledPoint};
use super::lru::LruCurve;
use super::min::MinCurve;
use super::sample::Sampling;
use destage_engine::sizes::Frames;
use destage_replay::accesses::{Columns, Extent};
use destage_replay::counters::Counters;
use destage_replay::warmup::Warmup;
use std::collections::BTreeMap;

/// Reads and writes of the whole trace that are counted, known without any run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Totals {
    reads: u64,
    writes: u64,
}

impl Totals {
    pub(super) fn of(columns: Columns<'_>, warmup_requests: usize) -> Totals {
        let mut totals = Totals { reads: 0, writes: 0 };
        for &extent in &columns.extents[warmup_requests.min(columns.extents.len())..] {
            let extent = Extent(extent);
            let pages = u64::from(extent.pages());
            *(if extent.is_write() { &mut totals.writes } else { &mut totals.reads }) += pages;
        }
        totals
    }

    pub(super) fn accesses(self) -> f64 {
        (self.reads + self.writes) as f64
    }
}

/// Share of LRU's error that a policy has, too: of reads, misses and evictions, and of writes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Shared {
    pub(super) fetched: f64,
    pub(super) written: f64,
}

/// Counts of one policy at one size. Real numbers, because a sample is scaled; below 2^53, so that
/// those of a whole trace stay exact.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Estimate {
    reads: f64,
    writes: f64,
    read_misses: f64,
    write_misses: f64,
    evictions: f64,
    padding_reads: f64,
    /// Pages written while the trace ran.
    destaged: f64,
    /// Dirty pages left at its end.
    end_dirty: f64,
}

impl Estimate {
    /// Estimate from the counters of a run that counted its end flushes.
    pub(super) fn of(counters: &Counters) -> Estimate {
        Estimate {
            reads: (counters.read_hits + counters.read_misses) as f64,
            writes: (counters.write_hits + counters.write_misses) as f64,
            read_misses: counters.read_misses as f64,
            write_misses: counters.write_misses as f64,
            evictions: counters.evictions as f64,
            padding_reads: counters.padding_reads as f64,
            destaged: (counters.destaged_pages + counters.padding_writes + counters.written_through)
                as f64,
            end_dirty: counters.end_flushes as f64,
        }
    }

    /// Of MIN at every size: what it writes is not known, and no number.
    pub(super) fn of_min(curve: &MinCurve, frames: u32) -> Estimate {
        let ([reads, writes], [read_hits, write_hits]) = (curve.uses(), curve.hits(frames));
        Estimate {
            reads: reads as f64,
            writes: writes as f64,
            read_misses: (reads - read_hits) as f64,
            write_misses: (writes - write_hits) as f64,
            evictions: curve.evictions(frames) as f64,
            padding_reads: 0.0,
            destaged: f64::NAN,
            end_dirty: f64::NAN,
        }
    }

    /// Of LRU with a real number of frames: on the line between the whole numbers beside it.
    pub(super) fn on_curve(curve: &LruCurve, frames: f64) -> Estimate {
        let below = frames.floor();
        let [a, b] = [below, frames.ceil()].map(|f| Estimate::of(&curve.counters(f as u32)));
        a.combined(b, |a, b| a + (b - a) * (frames - below))
    }

    pub(super) fn scaled(self, factor: f64) -> Estimate {
        self.combined(self, |count, _| count * factor)
    }

    /// Puts right what LRU was off: `lru` where it is `exact`, by what is shared with it.
    pub(super) fn put_right(self, exact: Estimate, lru: Estimate, shared: Shared) -> Estimate {
        let off = exact.combined(lru, |exact, lru| exact - lru);
        let Shared { fetched, written } = shared;
        Estimate {
            read_misses: self.read_misses + fetched * off.read_misses,
            write_misses: self.write_misses + fetched * off.write_misses,
            evictions: self.evictions + fetched * off.evictions,
            destaged: self.destaged + written * off.destaged,
            end_dirty: self.end_dirty + written * off.end_dirty,
            ..self
        }
    }

    fn combined(self, other: Estimate, f: impl Fn(f64, f64) -> f64) -> Estimate {
        Estimate {
            reads: f(self.reads, other.reads),
            writes: f(self.writes, other.writes),
            read_misses: f(self.read_misses, other.read_misses),
            write_misses: f(self.write_misses, other.write_misses),
            evictions: f(self.evictions, other.evictions),
            padding_reads: f(self.padding_reads, other.padding_reads),
            destaged: f(self.destaged, other.destaged),
            end_dirty: f(self.end_dirty, other.end_dirty),
        }
    }
}

/// The numbers of a point that a sample estimates; each has an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Number {
    Misses,
    ReadMisses,
    WriteMisses,
    PhysicalReads,
    PhysicalWrites,
    Evictions,
}

impl Number {
    const ALL: [Number; 6] = [
        Number::Misses,
        Number::ReadMisses,
        Number::WriteMisses,
        Number::PhysicalReads,
        Number::PhysicalWrites,
        Number::Evictions,
    ];

    fn name(self) -> &'static str {
        match self {
            Number::Misses => "misses",
            Number::ReadMisses => "read_misses",
            Number::WriteMisses => "write_misses",
            Number::PhysicalReads => "physical_reads",
            Number::PhysicalWrites => "physical_writes",
            Number::Evictions => "evictions",
        }
    }

    fn of(self, found: &Estimate, options: &MrcOptions) -> f64 {
        match self {
            Number::Misses => found.read_misses + found.write_misses,
            Number::ReadMisses => found.read_misses,
            Number::WriteMisses => found.write_misses,
            Number::PhysicalReads => {
                let fetched =
                    if options.run.fetch_on_write_miss { found.write_misses } else { 0.0 };
                found.read_misses + fetched + found.padding_reads
            }
            Number::PhysicalWrites => {
                found.destaged + if options.run.flush_at_end { found.end_dirty } else { 0.0 }
            }
            Number::Evictions => found.evictions,
        }
    }

    /// Whether it says which accesses are writes: pages that are used alike may differ there.
    fn depends_on_writes(self, options: &MrcOptions) -> bool {
        match self {
            Number::Misses | Number::Evictions => false,
            Number::PhysicalReads => !options.run.fetch_on_write_miss,
            Number::ReadMisses | Number::WriteMisses | Number::PhysicalWrites => true,
        }
    }

    /// From what was estimated of a point.
    pub(super) fn estimates(self, found: &Estimated, options: &MrcOptions) -> Estimates {
        let each = |of: &[Estimate]| of.iter().map(|one| self.of(one, options)).collect();
        Estimates {
            whole: self.of(&found.whole, options),
            groups: each(&found.groups),
            beside: each(&found.beside),
            finer: if self.depends_on_writes(options) { found.finer } else { 0.0 },
            before: found.before.as_ref().map(|before| Box::new(self.estimates(before, options))),
        }
    }
}

/// Estimates of a point: by the sample and its groups.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Estimated {
    /// By the whole sample, or by the trace.
    pub(super) whole: Estimate,
    /// By its groups; none of the trace.
    pub(super) groups: Vec<Estimate>,
    /// By the whole sample with a few frames less, and with a few more; none where it does not
    /// matter ([`Estimated::is_steep`]).
    pub(super) beside: Vec<Estimate>,
    /// Variance of what neighbours in the sample's order are written
    /// ([`neighbours_variance`](super::stratified_sample::neighbours_variance)).
    pub(super) finer: f64,
    /// The estimates before the correction by LRU; `None` without a correction.
    pub(super) before: Option<Box<Estimated>>,
}

impl Estimated {
    /// By the trace.
    pub(super) fn exact(whole: Estimate) -> Estimated {
        Estimated { whole, groups: Vec::new(), beside: Vec::new(), finer: 1.0, before: None }
    }

    /// Whether the groups are far apart: the size may lie on a step of the curve.
    pub(super) fn is_steep(&self, accesses: f64, options: &MrcOptions) -> bool {
        let of = |number: Number| number.estimates(self, options).is_steep(accesses);
        of(Number::Misses) || of(Number::PhysicalWrites)
    }

    /// Whether the sizes beside it agree with it.
    fn agrees(&self, rate: f64, accesses: f64, options: &MrcOptions) -> bool {
        let of = |number: Number| number.estimates(self, options).agree(rate, accesses);
        of(Number::Misses) && of(Number::PhysicalWrites)
    }
}

/// A point from what was estimated of it.
///
/// Without `totals` (a warm-up that ends elsewhere at each size) the accesses are an estimate too,
/// and no interval is known.
pub(super) fn point(
    policy: &str,
    size: &Frames,
    found: &Estimated,
    totals: Option<Totals>,
    sampling: Option<Sampling>,
    options: &MrcOptions,
) -> Point {
    let whole = found.whole;
    let (reads, writes) = match totals {
        Some(Totals { reads, writes }) => (reads, writes),
        None => (whole.reads.round() as u64, whole.writes.round() as u64),
    };
    let read_misses = (whole.read_misses.round() as u64).min(reads);
    let write_misses = (whole.write_misses.round() as u64).min(writes);
    let fetches = if options.run.fetch_on_write_miss { write_misses } else { 0 };
    let accesses = reads + writes;
    let ratio = |misses: f64| if accesses == 0 { 0.0 } else { misses / accesses as f64 };
    let mut written = Number::PhysicalWrites.of(&whole, options);
    let mut evictions = whole.evictions;
    // No page is evicted without a miss, none destaged without a write or before the start.
    let is_cold = options.run.warmup == Warmup::None;
    let most_written = (writes + if is_cold { 0 } else { u64::from(size.frames) }) as f64;
    if sampling.is_some() {
        written = written.clamp(0.0, most_written); // (NaN, of MIN, stays.)
        evictions = evictions.min((read_misses + write_misses) as f64);
    }
    let sampled = sampling.map(|sampling| {
        let rate = sampling.rounded_rate();
        let frames = f64::from(size.frames) * rate;
        let is_known = |totals: &Totals| {
            let agrees = || rate >= 1.0 || found.agrees(rate, totals.accesses(), options);
            is_shown(policy, frames, rate) && (!needs_neighbours(policy) || agrees())
        };
        match totals.filter(is_known) {
            Some(totals) => with_intervals(frames, rate, found, (totals, most_written), options),
            None => SampledPoint {
                frames,
                miss_ratio_error: None,
                physical_writes_error: None,
                intervals: BTreeMap::new(),
            },
        }
    });
    Point {
        frames: size.frames,
        cache: size.given.clone(),
        cache_bytes: u64::from(size.frames) * options.page_bytes,
        accesses,
        misses: read_misses + write_misses,
        read_misses,
        write_misses,
        miss_ratio: ratio((read_misses + write_misses) as f64),
        physical_reads: read_misses + fetches + whole.padding_reads.round() as u64,
        physical_writes: (!written.is_nan()).then(|| written.round() as u64),
        evictions: evictions.round() as u64,
        sampled,
    }
}

/// Sample and intervals of a point.
fn with_intervals(
    frames: f64,
    rate: f64,
    estimated: &Estimated,
    (totals, most_written): (Totals, f64),
    options: &MrcOptions,
) -> SampledPoint {
    let accesses = totals.accesses();
    let ratio = |count: f64| if accesses == 0.0 { 0.0 } else { count / accesses };
    let mut intervals = BTreeMap::new();
    let mut error = [0.0; 2];
    for number in Number::ALL {
        let found = number.estimates(estimated, options);
        let uncertain = found.uncertain(rate, accesses);
        let most = match number {
            Number::Misses | Number::PhysicalReads | Number::Evictions => accesses,
            Number::ReadMisses => totals.reads as f64,
            Number::WriteMisses => totals.writes as f64,
            Number::PhysicalWrites => most_written,
        };
        let [low, high] = [-1.0, 1.0].map(|side| found.whole + side * uncertain.half);
        let (low, high) = (low.clamp(0.0, most).floor(), high.clamp(0.0, most).ceil());
        match number {
            Number::Misses => {
                error[0] = ratio(uncertain.error);
                intervals.insert("miss_ratio_low".into(), ratio(low));
                intervals.insert("miss_ratio_high".into(), ratio(high));
            }
            Number::PhysicalWrites => error[1] = uncertain.error,
            _ => (),
        }
        intervals.insert(format!("{}_low", number.name()), low);
        intervals.insert(format!("{}_high", number.name()), high);
    }
    SampledPoint {
        frames,
        miss_ratio_error: Some(error[0]),
        physical_writes_error: Some(error[1]),
        intervals,
    }
}
