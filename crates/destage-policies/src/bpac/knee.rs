//! The inflection point of a distribution of distances (BPAC section 4.4.3, figure 6).

/// Below so many values a comparison sort is faster than two passes over counts.
const FEW: usize = 256;

/// Bits of a digit.
const DIGIT: u32 = 11;

/// Collects distances, and finds what most of them stay below.
#[derive(Clone, Default, Debug)]
pub(super) struct Samples {
    values: Vec<u64>,
    scratch: Vec<u64>,
}

impl Samples {
    #[inline(always)]
    pub(super) fn push(&mut self, distance: u64) {
        self.values.push(distance);
    }

    /// Forgets all samples, and says where their percentile curve turns upright: at the largest
    /// depth below its chord. `None` of no samples.
    pub(super) fn take_knee(&mut self) -> Option<u64> {
        if self.values.is_empty() {
            return None;
        }
        self.sort();
        let knee = knee(&self.values);
        self.values.clear();
        Some(knee)
    }

    /// Ascending: by digits, from the least, as many as the largest value has. All are counted in
    /// one pass.
    fn sort(&mut self) {
        if self.values.len() < FEW {
            return self.values.sort_unstable();
        }
        let largest = self.values.iter().copied().max().unwrap_or(0);
        let digits = (u64::BITS - largest.leading_zeros()).div_ceil(DIGIT);
        let digit = |value: u64, k: u32| (value >> (k * DIGIT)) as usize & ((1 << DIGIT) - 1);
        let mut places = vec![[0u32; 1 << DIGIT]; digits as usize];
        for &value in &self.values {
            (0..).zip(&mut places).for_each(|(k, places)| places[digit(value, k)] += 1);
        }
        self.scratch.resize(self.values.len(), 0);
        for (k, places) in (0..).zip(&mut places) {
            let mut next = 0;
            for place in places.iter_mut() {
                next += std::mem::replace(place, next);
            }
            for &value in &self.values {
                let place = &mut places[digit(value, k)];
                self.scratch[*place as usize] = value;
                *place += 1;
            }
            std::mem::swap(&mut self.values, &mut self.scratch);
        }
    }
}

/// `y[p*]` of ascending values (`docs/spec/block-policies.md` 5.4): `y[p]` covers p per cent, and
/// `p*` is the p of 1..=100 with the largest depth
///
/// ```text
///   D[p] = (y[100] - y[1]) * (p - 1) - (y[p] - y[1]) * 99
/// ```
///
/// and among equals the largest.
fn knee(v: &[u64]) -> u64 {
    let n = v.len() as u128;
    let y = |p: u128| v[(p * n).div_ceil(100) as usize - 1];
    let (first, last) = (y(1), y(100));
    let depth = |p: u128| {
        let chord = i128::from(last - first) * (p as i128 - 1);
        chord - i128::from(y(p) - first) * 99
    };
    // Of fewer than 100 values each covers several p; y is the same for all, and the last of them
    // has the largest depth.
    let points = n.min(100);
    let p = (1..=points).map(|k| k * 100 / points).max_by_key(|&p| depth(p)).unwrap_or(100);
    y(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, word by word.
    fn by_definition(v: &[u64]) -> u64 {
        let y = |p: usize| v[(p * v.len()).div_ceil(100) - 1] as i128;
        let mut best = (i128::MIN, 0);
        for p in 1..=100 {
            let d = (y(100) - y(1)) * (p as i128 - 1) - (y(p) - y(1)) * 99;
            if d >= best.0 {
                best = (d, y(p) as u64);
            }
        }
        best.1
    }

    #[test]
    fn the_knee_is_the_defined_one_for_any_number_of_samples() {
        let mut state = 1u64;
        for n in (1..240).chain([400, 1000, 10_000]) {
            let mut samples = Samples::default();
            let mut sorted = Vec::new();
            for _ in 0..n {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let spread = [7, 1 << 8, 1 << 13, 1 << 40][(state >> 20) as usize % 4];
                let distance = (state >> 33) % spread;
                samples.push(distance);
                sorted.push(distance);
            }
            sorted.sort_unstable();
            assert_eq!(samples.take_knee(), Some(by_definition(&sorted)), "{n} samples");
            assert_eq!(samples.take_knee(), None);
        }
    }

    #[test]
    fn values_over_the_whole_range_are_sorted() {
        let mut samples = Samples::default();
        let step = u64::MAX / 999;
        (0..1000).for_each(|k| samples.push((k * 7 % 1000) * step));
        samples.sort();
        assert!(samples.values.is_sorted());
        assert_eq!(samples.values.last(), Some(&(999 * step)));
    }

    #[test]
    fn a_few_long_distances_lie_beyond_the_inflection_point() {
        let distances: Vec<u64> = (0..97).map(|k| k / 4).chain([4000, 6000, 9000]).collect();
        assert_eq!(knee(&distances), 24);
        assert_eq!(knee(&[5]), 5);
        assert_eq!(knee(&[5, 5, 5]), 5);
    }
}
