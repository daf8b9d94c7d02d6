//! When the cache of a run was full, and what its halves counted.

use destage_replay::windows::{WINDOWS, Windows};
use serde::{Deserialize, Serialize};

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
    /// Steady-state check of a run in windows.
    pub fn of(windows: &Windows) -> Self {
        let halves = [(0, HALF), (HALF, WINDOWS)].map(|(from, to)| half(windows, from, to));
        Steady { filled_after: windows.filled_after, halves }
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
            response_ns_sum: None,
            read_requests: None,
            read_response_ns_sum: None,
            flash: None,
            requests_beyond: std::collections::BTreeMap::new(),
        };
        let steady = Steady::of(&windows);
        assert_eq!(steady.filled_after, Some(0.1));
        assert_eq!(steady.halves[1].physical_writes, 90);
        assert_eq!(steady.halves.map(|half| half.hit_ratio), [Some(0.4), Some(0.6)]);
    }
}
