//! How values spread, coarsely: buckets a thirty-second of an octave wide.
//!
//! Each window of a run keeps two, so they are small and cost one increment a request; the
//! percentiles themselves come from [`Values`](crate::distribution::Values).

/// Buckets of an octave, as a power of two.
const FINE: u32 = 5;

/// Counts of values, by bucket.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct CoarseHistogram(Vec<u32>);

/// Values below 2^FINE have a bucket each; then every octave has 2^FINE.
#[inline]
fn bucket(value: u64) -> usize {
    let shift = (value | ((1 << FINE) - 1)).ilog2().saturating_sub(FINE);
    (u64::from(shift) << FINE) as usize + (value >> shift) as usize
}

impl CoarseHistogram {
    /// One more.
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        let bucket = bucket(value);
        if bucket >= self.0.len() {
            self.0.resize(bucket + 1, 0);
        }
        // A window of 2^32 requests and more of one duration: enough of them to know.
        self.0[bucket] = self.0[bucket].saturating_add(1);
    }

    /// Both together.
    pub(crate) fn with(&self, other: &CoarseHistogram) -> CoarseHistogram {
        let (mut both, other) = if self.0.len() < other.0.len() {
            (other.clone(), self)
        } else {
            (self.clone(), other)
        };
        both.0.iter_mut().zip(&other.0).for_each(|(both, n)| *both = both.saturating_add(*n));
        both
    }

    /// Values of each that are beyond a value; of those in its bucket as large a part as makes the
    /// values up to it `share` of all. To a thousandth of a value.
    pub(crate) fn beyond(spreads: &[CoarseHistogram], value: u64, share: f64) -> Vec<f64> {
        let at = bucket(value);
        let sum = |part: &[u32]| part.iter().map(|&n| f64::from(n)).sum::<f64>();
        let above = |s: &CoarseHistogram| sum(s.0.get(at + 1..).unwrap_or(&[]));
        let within = |s: &CoarseHistogram| f64::from(s.0.get(at).copied().unwrap_or(0));
        let all: f64 = spreads.iter().map(|s| sum(&s.0)).sum();
        let wanted = (1.0 - share) * all - spreads.iter().map(above).sum::<f64>();
        let there: f64 = spreads.iter().map(within).sum();
        let part = if there > 0.0 { (wanted / there).clamp(0.0, 1.0) } else { 0.0 };
        let beyond =
            |s: &CoarseHistogram| ((above(s) + part * within(s)) * 1000.0).round() / 1000.0;
        spreads.iter().map(beyond).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another_without_a_gap_and_none_is_wider_than_a_thirty_second() {
        let mut last = 0;
        for value in 0..100_000u64 {
            let now = bucket(value);
            assert!(now == last || now == last + 1, "{value}: {now} after {last}");
            last = now;
        }
        for value in [1u64 << 20, 3 << 30, 1 << 63] {
            assert_eq!(bucket(value - 1) + 1, bucket(value));
            assert_ne!(bucket(value), bucket(value + value / 16));
        }
        assert_eq!(bucket(u64::MAX), 60 * 32 - 1);
    }

    #[test]
    fn as_many_values_are_beyond_a_percentile_as_it_says() {
        let of = |values: std::ops::Range<u64>| {
            let mut spread = CoarseHistogram::default();
            values.for_each(|value| spread.add(value * 1000));
            spread
        };
        let spreads = [of(0..500), of(500..1000)];
        let beyond = CoarseHistogram::beyond(&spreads, 900_000, 0.9);
        assert_eq!(beyond, [0.0, 100.0]);
        let same = [of(7..8), of(7..8).with(&of(7..8))];
        // All alike: a tenth of each is taken to be beyond.
        assert_eq!(CoarseHistogram::beyond(&same, 7000, 0.9), [0.1, 0.2]);
        assert_eq!(CoarseHistogram::beyond(&[CoarseHistogram::default()], 7, 0.5), [0.0]);
    }
}
