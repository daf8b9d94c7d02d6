//! Whether a run had settled: its halves compared.

use super::draws::{Draws, interval};
use destage_replay::windows::{WINDOWS, Windows};
use serde::{Deserialize, Serialize};

/// What the halves of a run say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The cache took longer than half of what was counted to fill, or never did.
    Filling,
    /// Hit ratio or mean response of the halves differ by more than their windows spread.
    Changing,
    /// Neither.
    Steady,
}

/// One half of what was counted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Half {
    /// Page accesses.
    pub accesses: u64,
    /// Hits / accesses; `None` of none.
    pub hit_ratio: Option<f64>,
    /// Pages written to flash.
    pub physical_writes: u64,
    /// With a device: mean response time, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_ns_mean: Option<f64>,
}

/// Whether a run had settled.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Steady {
    /// In a word.
    pub verdict: Verdict,
    /// Share of what was counted after which every frame had been taken, 0..1; `None`: never.
    pub filled_after: Option<f64>,
    /// The first and the second half.
    pub halves: [Half; 2],
}

const HALF: usize = WINDOWS / 2;

impl Steady {
    /// Of a run in windows.
    pub fn of(windows: &Windows) -> Self {
        let verdict = match () {
            () if windows.is_filling() => Verdict::Filling,
            () if is_changing(windows) => Verdict::Changing,
            () => Verdict::Steady,
        };
        let halves = [(0, HALF), (HALF, WINDOWS)].map(|(from, to)| half(windows, from, to));
        Steady { verdict, filled_after: windows.filled_after, halves }
    }
}

fn half(windows: &Windows, from: usize, to: usize) -> Half {
    let sum = |list: &[u64]| list.get(from..to).unwrap_or(&[]).iter().sum::<u64>();
    let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    let accesses = sum(&windows.accesses);
    Half {
        accesses,
        hit_ratio: ratio(sum(&windows.hits), accesses),
        physical_writes: sum(&windows.physical_writes),
        response_ns_mean: windows
            .response_ns_sum
            .as_ref()
            .and_then(|times| ratio(sum(times), sum(&windows.requests))),
    }
}

/// The halves differ in hits, or in response times, by more than a bootstrap of each explains.
fn is_changing(windows: &Windows) -> bool {
    let draws = Draws::from(HALF);
    let differ = |part: &[u64], whole: &[u64]| {
        let half = |from: usize, to: usize| {
            let sums = |list: &[u64]| draws.sums(list.get(from..to).unwrap_or(&[]));
            let (part, whole) = (sums(part), sums(whole));
            part.into_iter().zip(whole).map(|(p, w)| p / w).collect::<Vec<_>>()
        };
        // The second half in another order: its draws are not those of the first.
        let (first, second) = (half(0, HALF), half(HALF, WINDOWS));
        let difference = first.iter().zip(second.iter().rev()).map(|(a, b)| b - a);
        interval(difference).is_some_and(|[low, high]| low > 0.0 || high < 0.0)
    };
    let times = windows.response_ns_sum.as_deref();
    differ(&windows.hits, &windows.accesses)
        || times.is_some_and(|times| differ(times, &windows.requests))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(hits: impl Fn(usize) -> u64) -> Windows {
        let all = |each: u64| vec![each; WINDOWS];
        Windows {
            filled_after: Some(0.1),
            requests: all(100),
            accesses: all(100),
            hits: (0..WINDOWS).map(hits).collect(),
            read_accesses: all(0),
            read_hits: all(0),
            physical_reads: all(0),
            physical_writes: all(3),
            response_ns_sum: None,
            read_requests: None,
            read_response_ns_sum: None,
            flash: None,
            requests_beyond: std::collections::BTreeMap::new(),
        }
    }

    #[test]
    fn halves_that_spread_alike_are_steady_and_a_step_between_them_is_a_change() {
        let spread = |k: usize| 40 + (k as u64 * 7) % 11;
        assert_eq!(Steady::of(&windows(spread)).verdict, Verdict::Steady);
        let step = |k: usize| spread(k) + if k < HALF { 0 } else { 20 };
        let steady = Steady::of(&windows(step));
        assert_eq!(steady.verdict, Verdict::Changing);
        assert_eq!(steady.halves[1].physical_writes, 90);
        assert!(steady.halves[1].hit_ratio > steady.halves[0].hit_ratio);
    }

    #[test]
    fn a_half_that_asks_for_more_and_hits_as_often_is_no_change() {
        let twice = |k: usize| if k < HALF { 1 } else { 2 };
        let busier = Windows {
            accesses: (0..WINDOWS).map(|k| 100 * twice(k)).collect(),
            ..windows(|k| twice(k) * (40 + (k as u64 * 7) % 11))
        };
        assert_eq!(Steady::of(&busier).verdict, Verdict::Steady);
    }

    #[test]
    fn a_cache_that_fills_late_or_never_is_filling_whatever_it_hits() {
        for filled_after in [Some(0.6), None] {
            let late = Windows { filled_after, ..windows(|_| 50) };
            assert_eq!(Steady::of(&late).verdict, Verdict::Filling);
        }
    }
}
