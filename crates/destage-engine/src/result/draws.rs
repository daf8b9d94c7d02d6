//! A block bootstrap over the windows of a run.
//!
//! Windows that follow one another are alike, so blocks of them are drawn, not windows: the
//! circular block bootstrap (Politis, Romano: A circular block-resampling procedure for stationary
//! data, 1992). Blocks of five of sixty windows: about the cube root of their number, rounded up.
//! Every run is drawn from in the same way, so that the difference between two runs of one trace is
//! that of the same parts of the trace.

use destage_replay::windows::WINDOWS;

/// Draws of every bootstrap.
pub(super) const DRAWS: usize = 1000;

/// Windows of a block.
pub(super) const BLOCK: usize = 5;

/// Seed of the draws.
pub(super) const SEED: u64 = 1;

/// Share of the draws that an interval holds.
pub(super) const LEVEL: f64 = 0.95;

/// A lower and an upper end.
pub(super) type Interval = [f64; 2];

/// How often each window of a run is in each draw.
pub(super) struct Draws {
    times: Vec<Vec<u8>>, // of each window, by draw: all draws are summed side by side
    drawn: Vec<f64>,     // windows in each draw
}

impl Draws {
    /// Draws from so many windows, at least one.
    pub(super) fn from(windows: usize) -> Self {
        let mut random = SplitMix(SEED);
        let mut times = vec![vec![0u8; DRAWS]; windows];
        let blocks = windows.div_ceil(BLOCK);
        for number in 0..DRAWS * blocks {
            let start = random.below(windows as u64) as usize;
            let draw = number / blocks;
            (start..start + BLOCK.min(windows)).for_each(|at| times[at % windows][draw] += 1);
        }
        // As many blocks of as many windows in each.
        let drawn = vec![(blocks * BLOCK.min(windows)) as f64; DRAWS];
        Draws { times, drawn }
    }

    /// From all windows of a run.
    pub(super) fn of_runs() -> Self {
        Draws::from(WINDOWS)
    }

    /// All windows but one in each draw, and in the last draw all of them: what the difference of a
    /// draw from the last says of its window.
    pub(super) fn without_each() -> Self {
        let but = |window: usize| (0..=WINDOWS).map(|draw| u8::from(draw != window)).collect();
        let drawn = (0..=WINDOWS).map(|draw| (WINDOWS - usize::from(draw < WINDOWS)) as f64);
        Draws { times: (0..WINDOWS).map(but).collect(), drawn: drawn.collect() }
    }

    /// The sum of a list, one for each draw, scaled to as many windows as there are.
    pub(super) fn sums(&self, list: &[u64]) -> Vec<f64> {
        self.sums_of(&list.iter().map(|&x| x as f64).collect::<Vec<_>>())
    }

    /// Sums of a list of real numbers, one for each draw, scaled to as many windows as there are.
    pub(super) fn sums_of(&self, list: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.drawn.len()];
        for (times, &x) in self.times.iter().zip(list) {
            for (sum, &n) in sums.iter_mut().zip(times) {
                *sum += f64::from(n) * x;
            }
        }
        let windows = list.len() as f64;
        sums.iter_mut().zip(&self.drawn).for_each(|(sum, drawn)| *sum = *sum * windows / drawn);
        sums
    }
}

/// The middle [`LEVEL`] of what was drawn; `None` if a draw has no value.
pub(super) fn interval(drawn: impl Iterator<Item = f64>) -> Option<Interval> {
    let mut drawn: Vec<f64> = drawn.collect();
    if drawn.is_empty() || drawn.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let tail = ((1.0 - LEVEL) / 2.0 * drawn.len() as f64) as usize;
    let last = drawn.len() - 1 - tail;
    // Two places of the order, not all of it: there is an interval for every pair and metric.
    let (below, high, _) = drawn.select_nth_unstable_by(last, f64::total_cmp);
    let high = *high;
    let low = match tail < last {
        true => *below.select_nth_unstable_by(tail, f64::total_cmp).1,
        false => high,
    };
    Some([low, high])
}

/// To six significant digits: more would claim what a bootstrap does not know.
pub(super) fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// `SplitMix64` (Steele, Lea, Flood 2014): the same draws everywhere and always.
pub(super) struct SplitMix(pub(super) u64);

impl SplitMix {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((u128::from(z) * u128::from(end)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_draw_has_as_many_windows_as_the_run_in_blocks_that_may_wrap() {
        let draws = Draws::of_runs();
        assert_eq!(draws.drawn, vec![WINDOWS as f64; DRAWS]);
        let wraps = |draw: usize| draws.times[WINDOWS - 1][draw] > 0 && draws.times[0][draw] > 0;
        assert!((0..DRAWS).any(wraps));
        assert_eq!(draws.sums(&[7; WINDOWS]), vec![420.0; DRAWS]);
    }

    #[test]
    fn an_interval_is_about_as_wide_as_the_spread_of_the_windows_says() {
        // Independent windows of variance v: the sum of sixty has 60 v, and 95 % lie within 1.96
        // standard deviations. A block hides nothing where windows do not follow one another.
        let mut random = SplitMix(7);
        let list: Vec<u64> = (0..WINDOWS).map(|_| 1000 + random.below(1000)).collect();
        let mean = list.iter().sum::<u64>() as f64 / 60.0;
        let squares: f64 = list.iter().map(|&x| (x as f64 - mean).powi(2)).sum();
        let half = 1.96 * squares.sqrt();
        let [low, high] = interval(Draws::of_runs().sums(&list).into_iter()).unwrap();
        let sum = 60.0 * mean;
        assert!(low < sum && sum < high);
        assert!(((high - low) / 2.0 / half - 1.0).abs() < 0.35, "{low} {high} {half}");
    }
}
