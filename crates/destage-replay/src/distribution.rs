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

/// A sum of squares, exact: 2^64 of 2^128 fit into 192 bits.
#[derive(Clone, Copy, Default, Debug)]
struct Squares {
    low: u128,
    carries: u64, // how often it went past 2^128
}

impl Squares {
    #[inline]
    fn add(&mut self, square: u128) {
        let (low, carries) = self.low.overflowing_add(square);
        self.low = low;
        self.carries += u64::from(carries);
    }

    fn add_many(&mut self, square: u128, times: u64) {
        // In two halves, of which each product fits.
        let times = u128::from(times);
        let (high, low) = ((square >> 64) * times, (square & u128::from(u64::MAX)) * times);
        self.add(low);
        self.add(high << 64);
        self.carries += (high >> 64) as u64;
    }

    fn times(self, n: u64) -> Option<u128> {
        if self.carries == 0 { self.low.checked_mul(n.into()) } else { None }
    }

    fn as_f64(self) -> f64 {
        self.carries as f64 * 2f64.powi(128) + self.low as f64
    }
}

/// Many values, of which a summary is known at any time.
#[derive(Clone, Debug)]
pub struct Values {
    count: u64,
    sum: u128,
    squares: Squares,
    max: u64,
    histogram: Histogram<u64>,
}

impl Default for Values {
    fn default() -> Self {
        let histogram = Histogram::new(3).expect("three significant digits are allowed");
        Values { count: 0, sum: 0, squares: Squares::default(), max: 0, histogram }
    }
}

impl Values {
    /// One more.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.squares.add(u128::from(value) * u128::from(value));
        self.max = self.max.max(value);
        self.histogram.record(value).expect("it grows by itself and holds every value of 64 bits");
    }

    /// Adds a value so many times.
    pub fn add_many(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.count += times;
        self.sum += u128::from(value) * u128::from(times);
        self.squares.add_many(u128::from(value) * u128::from(value), times);
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
        both.squares.add(other.squares.low);
        both.squares.carries += other.squares.carries;
        both.max = both.max.max(other.max);
        both.histogram.add(&other.histogram).expect("a histogram that resizes takes every value");
        both
    }

    /// The summary that a result keeps; `None` of no values.
    pub fn summary(&self) -> Option<Summary> {
        if self.count == 0 {
            return None;
        }
        let count = self.count as f64;
        let mean = self.sum as f64 / count;
        // n * sum(x^2) - sum(x)^2, exact as long as it fits; the difference of two large means
        // would lose the digits that matter.
        let spread =
            self.squares.times(self.count).zip(self.sum.checked_mul(self.sum)).map_or_else(
                || (self.squares.as_f64() / count - mean * mean).max(0.0),
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
    pub fn curve(&self) -> Vec<(f64, f64)> {
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
    fn a_billion_billion_values_of_2_to_the_63_are_summed_exactly() {
        let (times, value) = (10u64.pow(18), 1 << 63);
        let mut all = Values::default();
        all.add_many(value, times);
        all.add_many(0, times);
        assert_eq!(all.sum(), u128::from(times) * u128::from(value));
        let summary = all.summary().unwrap();
        assert_eq!((summary.count, summary.max), (2 * times, value));
        assert_eq!((summary.mean, summary.std), (2f64.powi(62), 2f64.powi(62)));
        assert_eq!((summary.p50, summary.p9999), (0, value));
        let twice = all.with(&all).summary().unwrap();
        assert_eq!((twice.count, twice.mean, twice.std), (4 * times, summary.mean, summary.std));
    }

    #[test]
    fn squares_are_the_same_one_by_one_and_many_at_once() {
        for value in [3, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let (mut many, one_by_one) = (Values::default(), of([value; 1000]));
            many.add_many(value, 1000);
            let parts = |v: &Values| (v.squares.low, v.squares.carries, v.sum);
            assert_eq!(parts(&many), parts(&one_by_one));
        }
    }

    #[test]
    fn two_parts_are_as_good_as_the_whole() {
        let whole = of(0..5000);
        let parts = of(0..1234).with(&of(1234..5000));
        assert_eq!(whole.summary(), parts.summary());
        assert_eq!(of([]).summary(), None);
    }
}
