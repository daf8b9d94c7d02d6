//! Response times, in buckets of 3 %, counted by any thread.

use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Buckets of each power of two.
const STEPS: u64 = 32;
const BUCKETS: usize = 60 * STEPS as usize;

pub(crate) struct Histogram {
    counts: Box<[AtomicU64]>,
    sum_ns: AtomicU64,
    max_ns: AtomicU64,
}

/// Response times of all requests, nanoseconds; quantiles within 3 %.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ResponseTimes {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<u64>,
    /// 90 % are at most this.
    pub p90: Option<u64>,
    /// 99 %.
    pub p99: Option<u64>,
    /// 99.9 %.
    pub p999: Option<u64>,
    /// Longest.
    pub max: Option<u64>,
}

/// Counts at an instant, to tell an interval from what was before.
#[derive(Default)]
pub(crate) struct Counted(Vec<u64>);

fn bucket(ns: u64) -> usize {
    if ns < STEPS {
        return ns as usize;
    }
    let power = ns.ilog2() - STEPS.ilog2();
    let at = (u64::from(power) + 1) * STEPS + ((ns >> power) - STEPS);
    (at as usize).min(BUCKETS - 1)
}

/// Largest value of a bucket.
fn value(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let power = bucket / STEPS - 1;
    ((bucket % STEPS + STEPS + 1) << power) - 1
}

impl Histogram {
    pub(crate) fn new() -> Histogram {
        Histogram {
            counts: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            sum_ns: AtomicU64::new(0),
            max_ns: AtomicU64::new(0),
        }
    }

    pub(crate) fn add(&self, ns: u64) {
        self.counts[bucket(ns)].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(ns, Relaxed);
        self.max_ns.fetch_max(ns, Relaxed);
    }

    pub(crate) fn counted(&self) -> Counted {
        Counted(self.counts.iter().map(|count| count.load(Relaxed)).collect())
    }

    pub(crate) fn all(&self) -> ResponseTimes {
        let counted = self.counted();
        let n = counted.requests(&Counted::default());
        let max = (n > 0).then(|| self.max_ns.load(Relaxed));
        let quantile = |q| counted.quantile(&Counted::default(), q).zip(max).map(|(a, b)| a.min(b));
        ResponseTimes {
            mean: (n > 0).then(|| self.sum_ns.load(Relaxed) as f64 / n as f64),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max,
        }
    }
}

impl Counted {
    fn since(&self, before: &Counted) -> impl Iterator<Item = u64> {
        let before = before.0.iter().copied().chain(std::iter::repeat(0));
        self.0.iter().zip(before).map(|(now, before)| now - before)
    }

    /// Requests since `before`.
    pub(crate) fn requests(&self, before: &Counted) -> u64 {
        self.since(before).sum()
    }

    /// A quantile of those since `before`, nanoseconds; `None` if there are none.
    pub(crate) fn quantile(&self, before: &Counted, q: f64) -> Option<u64> {
        let rank = (self.requests(before) as f64 * q).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.since(before).position(|count| {
            seen += count;
            seen >= rank
        });
        found.map(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_values_within_three_percent() {
        for ns in (0..100).chain([1_000, 4_095, 4_096, 123_456_789, u64::MAX / 4]) {
            let most = value(bucket(ns));
            assert!(most >= ns && (most - ns) as f64 <= 0.032 * ns as f64, "{ns}: {most}");
        }
    }

    #[test]
    fn an_interval_has_its_own_quantiles() {
        let times = Histogram::new();
        assert_eq!(times.all().p50, None);
        times.add(10);
        let before = times.counted();
        assert_eq!(times.counted().quantile(&before, 0.5), None);
        (0..99).for_each(|_| times.add(20));
        times.add(31);
        let now = times.counted();
        assert_eq!((now.requests(&before), now.quantile(&before, 0.5)), (100, Some(20)));
        assert_eq!(now.quantile(&before, 0.999), Some(31));
        assert_eq!(times.all().max, Some(31));
    }
}
