//! How far policies are apart: on the same sample, where they are off together, or on two.

use super::confidence::{Estimates, FLOOR};
use super::curve::{MrcOptions, PairedDifferences, Point, SizeDifferences};
use super::estimate::{Estimated, Number, Totals};
use std::collections::BTreeMap;

/// A point's place and what it was made of.
pub(super) struct Found {
    frames: u32,
    estimated: Estimated,
    /// Share of the pages that was looked at.
    rate: f64,
    /// The point is exact, or has intervals.
    is_known: bool,
}

impl Found {
    pub(super) fn of(point: &Point, estimated: Estimated, rate: f64) -> Found {
        let known = point.sampled.as_ref().is_none_or(|sampled| !sampled.intervals.is_empty());
        Found { frames: point.frames, estimated, rate, is_known: known }
    }
}

/// Metrics that policies are compared by.
const COMPARED: [(&str, Number); 3] = [
    ("hit_ratio", Number::Misses),
    ("physical_reads", Number::PhysicalReads),
    ("physical_writes", Number::PhysicalWrites),
];

/// The differences of all points of equal caches. `found` are all points, curve by curve.
pub(super) fn apart(
    found: &[Found],
    totals: Option<Totals>,
    options: &MrcOptions,
) -> PairedDifferences {
    let mut by_frames: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (place, found) in found.iter().enumerate() {
        by_frames.entry(found.frames).or_default().push(place);
    }
    let metrics = |runs: &[usize]| {
        let pairs: Vec<(&Found, &Found)> = runs
            .iter()
            .enumerate()
            .flat_map(|(k, &a)| runs[k + 1..].iter().map(move |&b| (&found[a], &found[b])))
            .collect();
        let of_metric = |(name, number): (&str, Number)| {
            let each =
                pairs.iter().map(|(a, b)| control_commands(a, b, name, number, totals, options));
            (name.to_string(), each.collect())
        };
        COMPARED.into_iter().map(of_metric).collect()
    };
    let groups =
        by_frames.into_values().map(|runs| SizeDifferences { metrics: metrics(&runs), runs });
    PairedDifferences { groups: groups.collect() }
}

/// Where the number of `b` less that of `a` lies.
fn control_commands(
    a: &Found,
    b: &Found,
    metric: &str,
    number: Number,
    totals: Option<Totals>,
    options: &MrcOptions,
) -> Option<[f64; 2]> {
    let accesses = totals?.accesses();
    if !(a.is_known && b.is_known) {
        return None;
    }
    let [of_a, of_b] = [a, b].map(|found| number.estimates(&found.estimated, options));
    let (difference, half) = if a.rate >= 1.0 && b.rate >= 1.0 {
        // Both are exact, of this trace: a lead has to be more than what one run happens to take.
        (of_b.whole - of_a.whole, FLOOR * accesses)
    } else if a.rate == b.rate {
        let difference = of_b.minus(&of_a);
        (difference.whole, difference.uncertain_difference(a.rate, accesses).half)
    } else {
        // Of two samples, or of one and the whole trace: each may be off its own way.
        let off = |of: &Estimates, found: &Found| of.uncertain(found.rate, accesses).half;
        (of_b.whole - of_a.whole, off(&of_a, a) + off(&of_b, b))
    };
    if difference.is_nan() {
        return None;
    }
    let (low, high) = (difference - half, difference + half);
    // More misses are fewer hits.
    Some(if metric == "hit_ratio" && accesses > 0.0 {
        [-high / accesses, -low / accesses]
    } else {
        [low, high]
    })
}
