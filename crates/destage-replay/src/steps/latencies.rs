//! Latencies in fio's bins: 64 of equal width in each power of two, so that a value is at most
//! 0.8 % from the middle of its bin.

use destage_core::Nanos;
use serde::{Serialize, Serializer};

/// Values below are bins of their own.
const EXACT: u64 = 128;
/// Bins of a power of two.
const BINS: u64 = 64;

/// Latencies of one direction.
#[derive(Clone, Default, Serialize, Debug)]
pub struct Latencies {
    /// Requests.
    pub requests: u64,
    /// Bytes of all requests.
    pub bytes: u64,
    /// Sum, nanoseconds.
    pub sum_ns: u128,
    /// Sum of squares.
    pub square_sum: u128,
    /// Smallest; 0 if there is none.
    pub min_ns: Nanos,
    /// Largest.
    pub max_ns: Nanos,
    /// Middle of a bin and the requests in it, ascending.
    #[serde(serialize_with = "filled")]
    pub bins: Vec<u64>,
}

fn filled<S: Serializer>(bins: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
    let numbered = bins.iter().enumerate().filter(|(_, requests)| **requests > 0);
    serializer.collect_seq(numbered.map(|(bin, &requests)| (middle_ns(bin as u64), requests)))
}

fn bin_of(ns: Nanos) -> u64 {
    if ns < EXACT {
        return ns;
    }
    let shift = u64::from(ns.ilog2()) - 6;
    (shift + 1) * BINS + (ns >> shift) - BINS
}

/// Value that fio prints for the bin: its middle, nanoseconds.
fn middle_ns(bin: u64) -> Nanos {
    if bin < EXACT {
        return bin;
    }
    let shift = bin / BINS - 1;
    ((bin % BINS + BINS) << shift) + (1 << shift) / 2
}

impl Latencies {
    pub(super) fn record(&mut self, ns: Nanos, bytes: u64) {
        self.min_ns = if self.requests == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.requests += 1;
        self.bytes += bytes;
        self.sum_ns += u128::from(ns);
        self.square_sum += u128::from(ns) * u128::from(ns);
        let bin = bin_of(ns) as usize;
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_those_of_fio() {
        // As fio 3.33 names them: plat_idx_to_val.
        for (ns, middle) in [(0, 0), (127, 127), (128, 129), (129, 129), (255, 255), (256, 258)] {
            assert_eq!(middle_ns(bin_of(ns)), middle, "{ns}");
        }
        for ns in [1_000u64, 60_110, 999_999, 1 << 40] {
            let middle = middle_ns(bin_of(ns));
            assert!(middle.abs_diff(ns) as f64 <= ns as f64 / 128.0, "{ns}: {middle}");
        }
    }
}
