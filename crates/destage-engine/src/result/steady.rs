//! When the cache of a run was full, and what its halves counted.

use destage_replay::windows::{WINDOWS, Windows};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// One half of what was counted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Half {
    /// Page accesses; of prompts, their tokens.
    pub accesses: u64,
    /// Hits / accesses; `None` of none, and of prompts.
    pub hit_ratio: Option<f64>,
    /// Of prompts: hit tokens / tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_hit_ratio: Option<f64>,
    /// Pages written to flash.
    pub physical_writes: u64,
    /// With a device: mean response time, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_ns_mean: Option<f64>,
}

/// When the cache of a run was full, and what its halves counted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Steady {
    /// Share of what was counted after which every frame had been taken, 0..1; `None`: never.
    pub filled_after: Option<f64>,
    /// The first and the second half.
    pub halves: [Half; 2],
}

const HALF: usize = WINDOWS / 2;

impl Steady {
    /// Steady-state check of a run in windows, which count tokens if it is `of_prompts`.
    pub fn of(windows: &Windows, of_prompts: bool) -> Self {
        let cuts = [(0, HALF), (HALF, WINDOWS)];
        let halves = cuts.map(|(from, to)| half(windows, of_prompts, from..to));
        Steady { filled_after: windows.filled_after, halves }
    }
}

fn half(windows: &Windows, of_prompts: bool, part: Range<usize>) -> Half {
    let sum = |list: &[u64]| list.get(part.clone()).unwrap_or(&[]).iter().sum::<u64>();
    let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    let accesses = sum(&windows.accesses);
    let hits = ratio(sum(&windows.hits), accesses);
    Half {
        accesses,
        hit_ratio: hits.filter(|_| !of_prompts),
        token_hit_ratio: hits.filter(|_| of_prompts),
        physical_writes: sum(&windows.physical_writes),
        response_ns_mean: windows
            .response_ns_sum
            .as_ref()
            .and_then(|times| ratio(sum(times), sum(&windows.requests))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_counted_apart() {
        let all = |each: u64| vec![each; WINDOWS];
        let windows = Windows {
            filled_after: Some(0.1),
            requests: all(100),
            accesses: all(100),
            hits: (0..WINDOWS).map(|k| if k < HALF { 40 } else { 60 }).collect(),
            read_accesses: all(0),
            read_hits: all(0),
            physical_reads: all(0),
            physical_writes: all(3),
            overall_hits: None,
            backing_reads: None,
            kv: None,
            response_ns_sum: None,
            span_ns: None,
            read_requests: None,
            read_response_ns_sum: None,
            flash: None,
            requests_beyond: std::collections::BTreeMap::new(),
        };
        let steady = Steady::of(&windows, false);
        assert_eq!(steady.filled_after, Some(0.1));
        assert_eq!(steady.halves[1].physical_writes, 90);
        assert_eq!(steady.halves.map(|half| half.hit_ratio), [Some(0.4), Some(0.6)]);
        let [first, second] = Steady::of(&windows, true).halves;
        assert_eq!([first.token_hit_ratio, second.token_hit_ratio], [Some(0.4), Some(0.6)]);
        assert_eq!([first.hit_ratio, second.hit_ratio], [None; 2]);
    }
}
