//! Distributions: counts, exact sums, and a histogram of three significant digits
//! (`docs/spec/device.md` 8).

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Shares of the distribution that a result keeps, in ten-thousandths: enough to draw it, the last
/// fiftieth in finer steps.
const SHARES: [u64; 60] = {
    let mut shares = [0; 60];
    let mut k = 0;
    while k < 60 {
        shares[k] = match k {
            0..50 => k as u64 * 200,                // 0, 2 %, .. 98 %
            50..59 => 9_800 + (k as u64 - 49) * 22, // 98.22 %, .. 99.98 %
            _ => 10_000,
        };
        k += 1;
    }
    shares
};

/// What is known of many values, at any time.
#[derive(Clone, Debug)]
pub struct Values {
    count: u64,
    sum: u128,
    squares: u128,
    max: u64,
    histogram: Histogram<u64>,
}

impl Default for Values {
    fn default() -> Self {
        let histogram = Histogram::new(3).expect("three significant digits are allowed");
        Values { count: 0, sum: 0, squares: 0, max: 0, histogram }
    }
}

impl Values {
    /// One more.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        // 2^64 values of 2^32 ns, or 2^20 of 2^54 ns: far beyond any run.
        self.squares = self.squares.saturating_add(u128::from(value) * u128::from(value));
        self.max = self.max.max(value);
        self.histogram.record(value).expect("it grows by itself and holds every value of 64 bits");
    }

    /// The same value so many times more.
    pub fn add_many(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.count += times;
        self.sum += u128::from(value) * u128::from(times);
        let squares = (u128::from(value) * u128::from(value)).saturating_mul(times.into());
        self.squares = self.squares.saturating_add(squares);
        self.max = self.max.max(value);
        self.histogram.record_n(value, times).expect("it grows by itself and holds every value");
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The largest; 0 if there is none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Both together.
    pub fn with(&self, other: &Values) -> Values {
        let mut both = self.clone();
        both.count += other.count;
        both.sum += other.sum;
        both.squares = both.squares.saturating_add(other.squares);
        both.max = both.max.max(other.max);
        both.histogram.add(&other.histogram).expect("a histogram that resizes takes every value");
        both
    }

    /// What a result keeps. `None` of no values.
    pub fn summary(&self) -> Option<Summary> {
        if self.count == 0 {
            return None;
        }
        let count = self.count as f64;
        let mean = self.sum as f64 / count;
        // n * sum(x^2) - sum(x)^2, exact as long as it fits; the difference of two large means
        // would lose the digits that matter.
        let spread = u128::from(self.count)
            .checked_mul(self.squares)
            .zip(self.sum.checked_mul(self.sum))
            .map_or_else(
                || (self.squares as f64 / count - mean * mean).max(0.0),
                |(squares, square)| (squares - square) as f64 / (count * count),
            );
        let at = |shares: &[u64]| self.quantiles(shares);
        let [p50, p90, p95, p99, p999, p9999] = at(&[5_000, 9_000, 9_500, 9_900, 9_990, 9_999])[..]
        else {
            unreachable!("one value for each share")
        };
        let quantiles = SHARES.iter().zip(at(&SHARES)).map(|(&s, v)| (s as f64 / 1e4, v)).collect();
        Some(Summary {
            count: self.count,
            mean,
            std: spread.sqrt(),
            max: self.max,
            p50,
            p90,
            p95,
            p99,
            p999,
            p9999,
            quantiles,
        })
    }

    /// For each share, ascending, the smallest value with at least that share at or below it, to
    /// three significant digits.
    fn quantiles(&self, shares: &[u64]) -> Vec<u64> {
        let mut values = Vec::with_capacity(shares.len());
        let mut below = 0;
        let mut recorded = self.histogram.iter_recorded();
        let mut value = 0;
        for &share in shares {
            let rank = (u128::from(self.count) * u128::from(share)).div_ceil(10_000).max(1) as u64;
            while below < rank
                && let Some(next) = recorded.next()
            {
                below += next.count_since_last_iteration();
                value = next.value_iterated_to().min(self.max);
            }
            values.push(value);
        }
        values
    }
}

/// A distribution as a result keeps it, in the unit of its values.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Number of values.
    pub count: u64,
    /// Mean, from the exact sum.
    pub mean: f64,
    /// Population standard deviation, from the exact sum of squares.
    pub std: f64,
    /// Largest, exact.
    pub max: u64,
    /// Median, to three significant digits like all that follow.
    pub p50: u64,
    /// 90 %.
    pub p90: u64,
    /// 95 %.
    pub p95: u64,
    /// 99 %.
    pub p99: u64,
    /// 99.9 %.
    pub p999: u64,
    /// 99.99 %.
    pub p9999: u64,
    /// (share, value): what a curve is drawn from, from 0 to 1.
    pub quantiles: Vec<(f64, u64)>,
}

impl Summary {
    /// (share, value) of all that is known, ascending: the percentiles too.
    pub(crate) fn curve(&self) -> Vec<(f64, f64)> {
        let named = [(0.5, self.p50), (0.9, self.p90), (0.95, self.p95), (0.99, self.p99)];
        let tail = [(0.999, self.p999), (0.9999, self.p9999)];
        let all = self.quantiles.iter().copied().chain(named).chain(tail);
        let mut curve: Vec<_> = all.map(|(share, value)| (share, value as f64)).collect();
        curve.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        curve
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Values {
        let mut all = Values::default();
        values.into_iter().for_each(|value| all.add(value));
        all
    }

    #[test]
    fn percentiles_are_the_smallest_value_with_that_share_at_or_below_it() {
        let summary = of(1..=1000).summary().unwrap();
        let got = [summary.p50, summary.p90, summary.p95, summary.p99, summary.p999, summary.p9999];
        assert_eq!(got, [500, 900, 950, 990, 999, 1000]);
        assert_eq!((summary.quantiles[0], summary.quantiles[59]), ((0.0, 1), (1.0, 1000)));
        let summary = of([7]).summary().unwrap();
        assert_eq!((summary.p50, summary.p9999, summary.std), (7, 7, 0.0));
    }

    #[test]
    fn mean_and_deviation_are_exact_where_floating_sums_are_not() {
        let base = 4_000_000_000_000;
        let summary = of([base, base + 2, base + 4]).summary().unwrap();
        assert_eq!(summary.mean, (base + 2) as f64);
        assert_eq!(summary.std, (8.0f64 / 3.0).sqrt());
        assert_eq!(summary.max, base + 4);
    }

    #[test]
    fn large_values_keep_three_digits() {
        let summary = of((0..10_000).map(|k| k * 1_000_003)).summary().unwrap();
        let exact = 4_999 * 1_000_003;
        assert!(summary.p50.abs_diff(exact) * 1000 <= exact, "{}", summary.p50);
        assert!(summary.p9999 <= summary.max);
    }

    #[test]
    fn two_parts_are_as_good_as_the_whole() {
        let whole = of(0..5000);
        let parts = of(0..1234).with(&of(1234..5000));
        assert_eq!(whole.summary(), parts.summary());
        assert_eq!(of([]).summary(), None);
    }
}
