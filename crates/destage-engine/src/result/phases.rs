//! How long neighbouring windows of a run are alike, and what that does to an interval.
//!
//! A trace that changes phase has fewer independent parts than windows. The block of the bootstrap
//! has to be longer than a phase, so its length follows from the autocorrelation of the difference,
//! window by window; with few blocks the interval takes a quantile of Student's t in place of the
//! normal one (Politis, White: Automatic block-length selection for the dependent bootstrap, 2004).

use super::draws::{BLOCK, Interval};

/// Windows of the longest block; with fewer than three blocks no interval is known.
const LONGEST: usize = 20;

/// Blocks are longer than the time over which windows are alike: a block cuts phases at its ends.
const BLOCKS_A_TIME: f64 = 1.5;

/// Autocorrelation that counts; less is taken for none.
const LEAST: f64 = 0.1;

/// 97.5 % quantiles of Student's t, from two degrees of freedom on.
const STUDENT: [f64; 10] = [4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201];

/// 97.5 % quantile of the normal distribution.
const NORMAL: f64 = 1.96;

/// Windows of a block for this series; `None` if it has too few independent parts.
pub(super) fn block(series: &[f64]) -> Option<usize> {
    let length = (BLOCKS_A_TIME * alike(series)).ceil() as usize;
    (length <= LONGEST).then_some(length.max(BLOCK))
}

/// Windows over which a series is alike: 1 + 2 times the sum of its autocorrelations, as far as
/// they are above 0. Those of a series of n about its own mean are too small by that over n.
fn alike(series: &[f64]) -> f64 {
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    let centred: Vec<f64> = series.iter().map(|x| x - mean).collect();
    let variance: f64 = centred.iter().map(|x| x * x).sum();
    if !variance.is_finite() || variance <= 0.0 {
        return 1.0;
    }
    let at = |lag: usize| -> f64 {
        centred.iter().zip(&centred[lag..]).map(|(a, b)| a * b).sum::<f64>() / variance
    };
    let lags: Vec<f64> = (1..=series.len() / 2).map(at).collect();
    let mut time = 1.0;
    for _ in 0..5 {
        let above = lags.iter().map(|r| (r + time / n).min(1.0)).take_while(|&r| r > LEAST);
        time = 1.0 + 2.0 * above.sum::<f64>();
    }
    time
}

/// An interval of blocks of [`BLOCK`] windows about `centre`, as wide as blocks of this length make
/// it for the series.
pub(super) fn widened(
    [low, high]: Interval,
    centre: f64,
    series: &[f64],
    block: usize,
) -> Interval {
    let blocks = series.len() as f64 / block as f64;
    let student = STUDENT[(blocks as usize).clamp(3, 12) - 3];
    let few = student / NORMAL * (blocks / (blocks - 1.0)).sqrt();
    let [longer, usual] = [block, BLOCK].map(|length| variance_of_blocks(series, length));
    let factor = if usual > 0.0 { few * (longer / usual).sqrt() } else { few };
    [centre - factor * (centre - low), centre + factor * (high - centre)]
}

/// Variance of the sums over circular blocks, by window.
fn variance_of_blocks(series: &[f64], block: usize) -> f64 {
    let n = series.len();
    let mean = series.iter().sum::<f64>() / n as f64;
    let sum = |start: usize| -> f64 { (start..start + block).map(|k| series[k % n] - mean).sum() };
    (0..n).map(|start| sum(start).powi(2)).sum::<f64>() / (n * block) as f64
}

#[cfg(test)]
mod tests {
    use super::super::draws::{Draws, SplitMix, interval};
    use super::*;
    use destage_replay::windows::WINDOWS;

    /// Nearly normal, mean 0, variance 1.
    fn normal(random: &mut SplitMix) -> f64 {
        (0..12).map(|_| random.below(1_000_001) as f64 / 1e6).sum::<f64>() - 6.0
    }

    /// Share of traces of so many phases whose interval, if there is one, holds the true sum; and
    /// the share that has one.
    fn covered(phases: usize) -> (f64, f64) {
        let mut random = SplitMix(phases as u64);
        let (mut held, mut known) = (0, 0);
        for _ in 0..300 {
            let levels: Vec<f64> = (0..phases).map(|_| normal(&mut random)).collect();
            let noise = if phases < WINDOWS { 0.3 } else { 0.0 };
            let window = |k| levels[k * phases / WINDOWS] + noise * normal(&mut random);
            let series: Vec<f64> = (0..WINDOWS).map(window).collect();
            let Some(block) = block(&series) else { continue };
            let drawn = interval(Draws::of_runs().sums_of(&series).into_iter()).unwrap();
            let [low, high] = widened(drawn, series.iter().sum(), &series, block);
            known += 1;
            held += u32::from((low..=high).contains(&0.0));
        }
        (f64::from(held) / f64::from(known.max(1)), f64::from(known) / 300.0)
    }

    #[test]
    fn intervals_hold_the_truth_of_traces_with_a_few_phases_too() {
        let [six, twenty, sixty] = [6, 20, WINDOWS].map(covered);
        assert!(six.0 > 0.87, "{six:?}");
        assert!(twenty.0 > 0.9 && twenty.1 > 0.9, "{twenty:?}");
        assert!(sixty.0 > 0.92 && sixty.1 > 0.98, "{sixty:?}");
    }

    #[test]
    fn two_phases_are_too_few_and_independent_windows_take_the_usual_block() {
        let two: Vec<f64> = (0..WINDOWS).map(|k| if k < 30 { 1.0 } else { 2.0 }).collect();
        assert_eq!(block(&two), None);
        let mut random = SplitMix(3);
        let each: Vec<f64> = (0..WINDOWS).map(|_| normal(&mut random)).collect();
        assert_eq!(block(&each), Some(BLOCK));
        assert_eq!(block(&[7.0; WINDOWS]), Some(BLOCK));
    }
}
