//! From what a sample counted to what the trace would have: scaling, and the standard error.

use super::curve::{GROUPS, MrcOptions, Point, SampledPoint};
use super::lru::LruCurve;
use super::min::MinCurve;
use crate::accesses::{Columns, Extent};
use crate::counters::Counters;
use crate::sizes::Frames;

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
    /// Of a run that counted its end flushes.
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

    fn misses(&self) -> f64 {
        self.read_misses + self.write_misses
    }

    fn physical_writes(&self, options: &MrcOptions) -> f64 {
        self.destaged + if options.run.flush_at_end { self.end_dirty } else { 0.0 }
    }
}

/// A point from the estimates of the trace or of the sample (first), and of its groups (the rest).
///
/// Without `totals` (a warm-up that ends elsewhere at each size) the accesses are an estimate too.
pub(super) fn point(
    size: &Frames,
    estimates: &[Estimate],
    totals: Option<Totals>,
    options: &MrcOptions,
) -> Point {
    let (whole, groups) = (estimates[0], &estimates[1..]);
    let (reads, writes) = match totals {
        Some(Totals { reads, writes }) => (reads, writes),
        None => (whole.reads.round() as u64, whole.writes.round() as u64),
    };
    let read_misses = (whole.read_misses.round() as u64).min(reads);
    let write_misses = (whole.write_misses.round() as u64).min(writes);
    let fetches = if options.run.fetch_on_write_miss { write_misses } else { 0 };
    let accesses = reads + writes;
    let ratio = |misses: f64| if accesses == 0 { 0.0 } else { misses / accesses as f64 };
    let written = whole.physical_writes(options);
    let sampled = options.sampling.map(|sampling| {
        let rate = sampling.rounded_rate();
        let frames = f64::from(size.frames) * rate;
        let error = |count: &dyn Fn(&Estimate) -> f64| {
            let of_groups: Vec<f64> = groups.iter().map(count).collect();
            (frames >= GROUPS as f64).then(|| standard_error(&of_groups, rate))
        };
        SampledPoint {
            frames,
            miss_ratio_error: error(&|group| ratio(group.misses())),
            physical_writes_error: error(&|group| group.physical_writes(options)),
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
        evictions: whole.evictions.round() as u64,
        sampled,
    }
}

/// Standard error of the whole sample's estimate from those of its random groups.
///
/// Groups of one sample exclude each other, as do the pages in and out of it: hence the factor
/// `1 - rate`, which makes the error of the whole trace 0.
fn standard_error(of_groups: &[f64], rate: f64) -> f64 {
    let n = of_groups.len() as f64;
    let mean = of_groups.iter().sum::<f64>() / n;
    let squares: f64 = of_groups.iter().map(|x| (x - mean) * (x - mean)).sum();
    ((1.0 - rate) * squares / (n * (n - 1.0))).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_equal_groups_is_0_and_that_of_a_whole_trace_too() {
        assert_eq!(standard_error(&[5.0; 10], 0.1), 0.0);
        assert_eq!(standard_error(&[1.0, 9.0], 1.0), 0.0);
        // Two groups: half their distance.
        assert!((standard_error(&[1.0, 9.0], 0.0) - 4.0).abs() < 1e-12);
    }
}
