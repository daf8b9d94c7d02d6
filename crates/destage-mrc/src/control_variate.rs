//! LRU as control variate: what a sample is off for LRU, it is off for policies alike.
//!
//! LRU is known exactly at every size after one pass over the trace. So the sample's error for LRU
//! is known, and a policy's estimate is corrected by the part of it that the policy shares
//! (Cochran, Sampling Techniques, 1977, chapter 7, regression estimators):
//!
//! ```text
//!  estimate = sample(policy) + c (LRU - sample(LRU))
//! ```
//!
//! The groups of the sample say what c is: how far their estimates for the policy and for LRU move
//! together. One c is of what is read, misses and evictions, and another of what is written, so
//! that the numbers of a point still add up.

use super::confidence::beside;
use super::curve::MrcOptions;
use super::estimate::{Estimate, Estimated, Number, Shared};
use super::lru::LruCurve;
use super::sample::GROUPS;
use super::tasks::{Outcome, Sizes, Task, Trace, in_parallel};
use destage_engine::spec::PolicySpec;
use destage_policies::{Info, POLICIES, StackOrder};
use destage_replay::control::Control;
use destage_replay::error::RunError;

/// LRU of a sample and of its groups; `None` when it was stopped.
///
/// # Errors
///
/// None that LRU over the whole trace has not met before.
pub(super) fn lru_of_samples(
    traces: &[Trace<'_>],
    options: &MrcOptions,
    control: &Control,
) -> Result<Option<Vec<LruCurve>>, RunError> {
    let recency = |info: &&&Info| info.stack_order == Some(StackOrder::Recency);
    let lru = POLICIES.iter().find(recency).expect("LRU is in the table");
    let spec = &PolicySpec::new(lru.name, Vec::new())?;
    let tasks: Vec<Task<'_>> =
        traces.iter().map(|trace| Task { trace, spec, sizes: Sizes::Every }).collect();
    let curve = |outcome| match outcome {
        Some(Outcome::OnePass(curve)) => Some(curve),
        _ => None,
    };
    Ok(in_parallel(&tasks, options, control)?.into_iter().map(curve).collect())
}

/// LRU of the trace, and of a sample and its groups.
pub(super) struct Variate<'a> {
    pub(super) exact: &'a LruCurve,
    /// LRU's curves: of the whole sample, then of its groups.
    pub(super) samples: Vec<LruCurve>,
    /// Share of the pages in the whole sample.
    pub(super) rate: f64,
}

/// A larger share would correct by more than LRU's error.
const MOST_SHARED: f64 = 1.5;

impl Variate<'_> {
    /// Takes out what LRU was off of what a policy's sample and groups estimate at a size, and at
    /// the sizes beside it.
    pub(super) fn put_right(
        &self,
        found: &Estimated,
        (policy, frames): (&str, u32),
        options: &MrcOptions,
    ) -> Estimated {
        let exact = Estimate::on_curve(self.exact, f64::from(frames));
        let lru = Estimated {
            whole: self.sampled(0, frames),
            groups: (1..self.samples.len()).map(|group| self.sampled(group, frames)).collect(),
            beside: beside(policy, frames, self.rate)
                .map(|frames| self.sampled(0, frames))
                .to_vec(),
            finer: found.finer,
            before: None,
        };
        let of = |number: Number| {
            let [policy, lru] = [found, &lru].map(|of| number.estimates(of, options).groups);
            shared(&policy, &lru)
        };
        let shared = Shared { fetched: of(Number::Misses), written: of(Number::PhysicalWrites) };
        let each = |of: &[Estimate], lru: &[Estimate]| {
            of.iter().zip(lru).map(|(of, lru)| of.put_right(exact, *lru, shared)).collect()
        };
        Estimated {
            whole: found.whole.put_right(exact, lru.whole, shared),
            groups: each(&found.groups, &lru.groups),
            beside: each(&found.beside, &lru.beside),
            finer: found.finer,
            before: Some(Box::new(found.clone())),
        }
    }

    /// Sample's estimate for LRU with `frames` frames over the whole trace.
    fn sampled(&self, sample: usize, frames: u32) -> Estimate {
        let rate = if sample == 0 { self.rate } else { self.rate / GROUPS as f64 };
        let frames = f64::from(frames) * rate;
        Estimate::on_curve(&self.samples[sample], frames).scaled(1.0 / rate)
    }
}

/// How much of what LRU is off a policy is off, by their groups: the slope of the one over the
/// other, less where they hardly move together, since the slope of eight points is luck then.
fn shared(policy: &[f64], lru: &[f64]) -> f64 {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (mean_policy, mean_lru) = (mean(policy), mean(lru));
    let (mut both, mut of_policy, mut of_lru) = (0.0, 0.0, 0.0);
    for (policy, lru) in policy.iter().zip(lru) {
        let (policy, lru) = (policy - mean_policy, lru - mean_lru);
        both += policy * lru;
        of_policy += policy * policy;
        of_lru += lru * lru;
    }
    let alike = both * both / (of_policy * of_lru);
    let slope = (both / of_lru).clamp(0.0, MOST_SHARED);
    // The expected square of a slope that is nothing but luck is taken off (James and Stein).
    let luck = (1.0 - alike) / (alike * (policy.len() as f64 - 2.0));
    let shared = slope * (1.0 - luck).clamp(0.0, 1.0);
    if shared.is_finite() { shared } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Owned, exact, options, run_options, sizes, specs, zipf};
    use crate::{ControlVariate, Mrc, MrcOptions, Sampling, Within, mrc};
    use destage_engine::options::RunOptions;
    use destage_replay::warmup::Warmup;

    fn put_right(trace: &Owned, policies: &str, frames: &[u32], options: MrcOptions) -> Mrc {
        let options = MrcOptions { control: Some(ControlVariate::Lru), ..options };
        let sizes = sizes(frames.iter().copied());
        mrc(&trace.input(), &specs(policies), &sizes, &options, &Control::default())
            .expect("curves")
    }

    fn of_a_sample(run: RunOptions, seed: u64) -> MrcOptions {
        options(run, Some(Sampling::new(0.1, seed).expect("a rate")))
    }

    #[test]
    fn what_is_like_lru_is_less_off_its_intervals_are_narrower_and_hold() {
        let (trace, frames) = (zipf(30_000, 200_000, 9), [6_000, 9_000, 14_000]);
        let run = run_options(Warmup::Percent(10.0), true);
        let exact = exact(&trace, "clock,2q", &sizes(frames), run.clone());
        let (mut off, mut wide, mut held) = ([0.0; 2], [0.0; 2], 0);
        for seed in 0..20 {
            let options = of_a_sample(run.clone(), seed);
            let right = put_right(&trace, "clock,2q", &frames, options.clone());
            let policies = specs("clock,2q");
            let plain =
                mrc(&trace.input(), &policies, &sizes(frames), &options, &Control::default());
            for (k, found) in [plain.expect("curves"), right].iter().enumerate() {
                for (curve, exact) in found.curves.iter().zip(&exact.curves) {
                    for (at, exact) in curve.points.iter().zip(&exact.points) {
                        assert_eq!(at.misses, at.read_misses + at.write_misses);
                        let ends = &at.sampled.as_ref().expect("of a sample").intervals;
                        let of = |name: &str, end: &str| ends[&format!("{name}_{end}")];
                        let [low, high] = ["low", "high"]
                            .map(|end| [of("misses", end), of("physical_writes", end)]);
                        let written = [at, exact].map(|of| of.physical_writes.expect("by runs"));
                        let true_ones = [exact.misses, written[1]].map(|of| of as f64);
                        for (number, of) in true_ones.iter().enumerate() {
                            let holds = (low[number]..=high[number]).contains(of);
                            held += u32::from(k == 1 && holds);
                        }
                        if curve.policy == "clock" {
                            off[k] += (written[0] as f64 - written[1] as f64).powi(2);
                            wide[k] += high[1] - low[1];
                        }
                    }
                }
            }
        }
        assert!(held >= 225, "{held} of 240 intervals hold");
        assert!(off[1] < 0.6 * off[0], "{off:?}: squares of what clock's writes are off");
        assert!(wide[1] < 0.8 * wide[0], "{wide:?}: how wide their intervals are");
    }

    #[test]
    fn lru_itself_is_exact_at_every_size() {
        let (trace, frames) = (zipf(20_000, 60_000, 10), [300, 9_000]);
        let exact = exact(&trace, "lru", &sizes(frames), RunOptions::default());
        let one = of_a_sample(RunOptions::default(), 1);
        let within = Some(Within::new(0.02, 1).expect("an error"));
        let auto = MrcOptions { within, ..options(RunOptions::default(), None) };
        for of in [one, auto] {
            for policies in ["lru", "lru,fifo"] {
                let found = put_right(&trace, policies, &frames, of.clone());
                assert_eq!(found.curves[0], exact.curves[0]);
                assert_eq!(found.control, Some(ControlVariate::Lru));
                // The others have what is theirs.
                let alone = put_right(&trace, "fifo", &frames, of.clone());
                let others: Vec<_> = found.curves[1..].iter().map(|of| &of.points).collect();
                assert!(others.iter().all(|points| **points == alone.curves[0].points));
            }
            let with = |jobs| {
                let of = MrcOptions { jobs, ..of.clone() };
                put_right(&trace, "fifo,lru,sieve", &frames, of)
            };
            assert_eq!(with(1), with(3));
            // Of sieve no interval is known, but for what ran over the whole trace.
            let sieve = &with(1).curves[2].points[1];
            assert!(sieve.sampled.as_ref().is_none_or(|of| of.intervals.is_empty()));
        }
        // The whole trace needs no correction.
        let whole = put_right(&trace, "lru", &frames, options(RunOptions::default(), None));
        assert_eq!((whole.curves, whole.control), (exact.curves, None));
    }

    #[test]
    fn where_lru_is_not_known_in_one_pass_it_puts_nothing_right() {
        let (trace, frames) = (zipf(20_000, 60_000, 11), [6_000]);
        let full = run_options(Warmup::Full, false);
        let with = |of: MrcOptions| {
            let of = MrcOptions { control: Some(ControlVariate::Lru), ..of };
            mrc(&trace.input(), &specs("lru,fifo"), &sizes(frames), &of, &Control::default())
        };
        let refused = with(of_a_sample(full.clone(), 1)).unwrap_err().to_string();
        assert!(refused.contains("lru as control: it begins to count"), "{refused}");
        // Of its own accord it samples nothing there.
        let within = Some(Within::new(0.02, 1).expect("an error"));
        let found = with(MrcOptions { within, ..options(full, None) }).expect("curves");
        assert_eq!(found.control, None);
        assert!(found.curves.iter().flat_map(|of| &of.points).all(|of| of.sampled.is_none()));
    }

    #[test]
    fn what_groups_share_with_lru_is_the_slope_of_one_over_the_other() {
        let lru = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        let half: Vec<f64> = lru.iter().map(|of| 10.0 + of / 2.0).collect();
        assert!((shared(&half, &lru) - 0.5).abs() < 1e-12);
        // Steeper than anything that is known to be right, the other way, or without a slope.
        assert_eq!(shared(&lru.map(|of| 9.0 * of), &lru), MOST_SHARED);
        assert_eq!(shared(&lru.map(|of| -of), &lru), 0.0);
        assert_eq!(shared(&lru, &[4.0; 8]), 0.0);
        assert_eq!(shared(&[4.0; 8], &lru), 0.0);
        assert_eq!(shared(&[f64::NAN; 8], &lru), 0.0);
        // Hardly alike: the slope of 0.16 is what luck makes of eight points.
        assert_eq!(shared(&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.5], &lru), 0.0);
    }
}
