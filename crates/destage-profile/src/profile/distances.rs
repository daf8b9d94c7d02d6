//! Distances between references: one sequence a page or block, and the distribution of them all.
//!
//! Sums are integers, so that the same trace gives the same numbers in any order and anywhere.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Distances of one page or one block, to the point where mean and deviation follow from them.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sequence {
    sum: u64,
    /// Sum of squares, low and high half: a `u128` would make every sequence eight bytes longer.
    squares: [u64; 2],
    /// Number of distances.
    pub count: u32,
}

impl Sequence {
    /// Adds a distance.
    #[inline]
    pub fn add(&mut self, distance: u64) {
        self.count = self.count.saturating_add(1);
        // Distances of one sequence do not overlap: their sum is below the length of the trace.
        self.sum += distance;
        let squares = self.squares() + u128::from(distance) * u128::from(distance);
        self.squares = [squares as u64, (squares >> 64) as u64];
    }

    fn squares(&self) -> u128 {
        u128::from(self.squares[1]) << 64 | u128::from(self.squares[0])
    }

    /// Sum and count, to compare means without rounding; `None` of no distance.
    pub fn mean(&self) -> Option<(u64, u32)> {
        (self.count > 0).then_some((self.sum, self.count))
    }

    /// Standard deviation (of the whole sequence, not of a sample); `None` below two distances.
    pub fn deviation(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let (count, sum) = (u128::from(self.count), u128::from(self.sum));
        // Never negative (Cauchy-Schwarz), and exact until the division.
        let scaled = count * self.squares() - sum * sum;
        Some((scaled as f64).sqrt() / count as f64)
    }
}

/// Buckets of one octave; below as many each value has one of its own.
const PER_OCTAVE: u64 = 8;

/// The bucket of a value: each an eighth of an octave wide, in whole numbers.
pub fn bucket(value: u64) -> usize {
    if value < PER_OCTAVE {
        return value as usize;
    }
    let octave = u64::from(value.ilog2() - PER_OCTAVE.ilog2());
    (octave * PER_OCTAVE + (value >> octave)) as usize
}

/// Lowest value of a bucket.
pub fn bucket_from(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * PER_OCTAVE {
        return bucket;
    }
    let octave = bucket / PER_OCTAVE - 1;
    let from = u128::from(PER_OCTAVE + bucket % PER_OCTAVE) << octave;
    u64::try_from(from).unwrap_or(u64::MAX) // what comes after the last one
}

/// Counts by bucket.
#[derive(Clone, Default, Debug)]
pub struct Buckets(Vec<u64>);

impl Buckets {
    /// `count` more of this value.
    pub fn add(&mut self, value: u64, count: u64) {
        let at = bucket(value);
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] += count;
    }

    /// Lowest value of each bucket that is not empty, of the one after it, and its count.
    pub fn list(&self) -> Vec<(u64, u64, u64)> {
        let full = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        full.map(|(k, count)| (bucket_from(k), bucket_from(k + 1), *count)).collect()
    }
}

/// All distances of a kind together.
pub struct DistanceHistogram(Histogram<u64>);

impl DistanceHistogram {
    /// An empty histogram.
    pub fn new() -> Self {
        // Exact below 2^18; above that within 1e-5.
        DistanceHistogram(Histogram::new(5).expect("five significant digits are allowed"))
    }

    /// Adds a distance.
    #[inline]
    pub fn add(&mut self, distance: u64) {
        self.0.record(distance).expect("it grows by itself and holds every value of 64 bits");
    }

    /// Distribution, as a profile keeps it.
    pub fn distribution(&self) -> Distribution {
        let samples = self.0.len();
        let mut buckets = Buckets::default();
        let mut cover = Vec::with_capacity(100);
        let mut seen = 0;
        for step in self.0.iter_recorded() {
            let count = step.count_since_last_iteration();
            buckets.add(step.value_iterated_to(), count);
            seen += count;
            while cover.len() < 100
                && (cover.len() as u64 + 1) as u128 * samples as u128 <= seen as u128 * 100
            {
                cover.push(step.value_iterated_to());
            }
        }
        Distribution { samples, inflection: inflection(&cover), buckets: buckets.list(), cover }
    }
}

/// Distribution of distances.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Distribution {
    /// Distances.
    pub samples: u64,
    /// Histogram: from, to below, count. Buckets that hold none are left out.
    pub buckets: Vec<(u64, u64, u64)>,
    /// `cover[p - 1]` is the least distance within which p % of them lie, p = 1..=100; empty of
    /// none. Exact below 2^18, else within 1e-5.
    pub cover: Vec<u64>,
    /// BPAC's inflection point.
    pub inflection: Option<Inflection>,
}

/// The point where the curve of a cover turns upright (`docs/spec/block-policies.md` 5.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Inflection {
    /// The cover, per cent.
    pub percent: u32,
    /// The distance that covers it: BPAC's threshold, were all distances one period's.
    pub threshold: u64,
}

/// The largest depth below the chord of the cover, among equals at the largest cover.
fn inflection(cover: &[u64]) -> Option<Inflection> {
    let (&first, &last) = (cover.first()?, cover.last()?);
    let depth = |p: usize| {
        let run = i128::from(last - first) * (p as i128 - 1);
        run - i128::from(cover[p - 1] - first) * 99
    };
    let p = (1..=cover.len()).max_by_key(|p| (depth(*p), *p))?;
    Some(Inflection { percent: p as u32, threshold: cover[p - 1] })
}

/// Regularity of sequences: their standard deviations.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Deviations {
    /// Sequences of two distances and more.
    pub sequences: u64,
    /// Sequences of one distance, which have no deviation.
    pub too_short: u64,
    /// Histogram: deviation from, to below, sequences. Buckets that hold none are left out.
    pub buckets: Vec<(u64, u64, u64)>,
    /// Median deviation; 0 without.
    pub median: f64,
}

impl Deviations {
    /// Deviations of these sequences; those of no distance do not count.
    pub fn of<'a>(sequences: impl Iterator<Item = &'a Sequence>) -> Self {
        let mut buckets = Buckets::default();
        let (mut too_short, mut all) = (0, Vec::new());
        for sequence in sequences {
            match sequence.deviation() {
                Some(deviation) => {
                    buckets.add(deviation as u64, 1);
                    all.push(deviation);
                }
                None => too_short += u64::from(sequence.count == 1),
            }
        }
        let middle = all.len() / 2;
        let median = match all.len() {
            0 => 0.0,
            _ => *all.select_nth_unstable_by(middle, f64::total_cmp).1,
        };
        Deviations { sequences: all.len() as u64, too_short, buckets: buckets.list(), median }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        let mut before = 0;
        for value in (0..100_000).chain((17..64).flat_map(|k| [(1 << k) - 1, 1 << k])) {
            let at = bucket(value);
            assert!(bucket_from(at) <= value && value < bucket_from(at + 1), "{value}");
            assert!(at >= before || value < 1 << 17);
            before = at;
        }
        assert_eq!(bucket_from(bucket(u64::MAX) + 1), u64::MAX);
    }

    #[test]
    fn the_cover_is_that_of_the_sorted_distances() {
        let distances: Vec<u64> = (0..1017u64).map(|k| k * k * 7919 % 200_000).collect();
        let mut overall = DistanceHistogram::new();
        distances.iter().for_each(|d| overall.add(*d));
        let mut sorted = distances;
        sorted.sort_unstable();
        let n = sorted.len();
        let cover: Vec<u64> = (1..=100).map(|p| sorted[(p * n).div_ceil(100) - 1]).collect();
        assert_eq!(overall.distribution().cover, cover);
    }

    #[test]
    fn the_inflection_is_where_the_cover_turns_upright() {
        // 90 distances of 0..=8, ten that climb to 1000.
        let mut overall = DistanceHistogram::new();
        (0..90).for_each(|k| overall.add(k / 10));
        (1..=10).for_each(|k| overall.add(100 * k));
        let found = overall.distribution().inflection.expect("there are distances");
        assert_eq!(found, Inflection { percent: 90, threshold: 8 });
    }

    #[test]
    fn equal_distances_have_their_inflection_at_all_of_them() {
        let mut overall = DistanceHistogram::new();
        (0..7).for_each(|_| overall.add(3));
        let found = overall.distribution();
        assert_eq!(found.inflection, Some(Inflection { percent: 100, threshold: 3 }));
        assert_eq!(DistanceHistogram::new().distribution().inflection, None);
    }

    #[test]
    fn a_deviation_is_exact() {
        let mut sequence = Sequence::default();
        [2, 4, 4, 4, 5, 5, 7, 9].iter().for_each(|d| sequence.add(*d));
        assert_eq!(sequence.deviation(), Some(2.0));
        let mut far = Sequence::default();
        (0..5).for_each(|_| far.add((1 << 40) + 3));
        assert_eq!(far.deviation(), Some(0.0));
    }
}
