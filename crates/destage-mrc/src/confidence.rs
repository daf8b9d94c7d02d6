//! How far an estimate may be off: from the groups of a sample to a 95 % interval.
//!
//! The groups are samples of a share of the rate, drawn like the whole; each runs like the whole,
//! with its share of the frames. With their estimates e_j and that of the whole, e:
//!
//! * The variance is that of random groups (Wolter, Introduction to Variance Estimation, 2007,
//!   chapter 2), `(1 - R) * sum((e_j - mean)^2) / (groups * (groups - 1))`, times [`FINER`] or
//!   more; with `1 - R`, since pages in and out of a sample exclude each other.
//! * Student's t, of as many degrees of freedom as groups leave, makes it a half width.
//! * A sample of few frames is off on average, too, not only by chance: lists that are a tenth of a
//!   cache have a frame or two. Its groups, of fewer frames, are off farther: [`BIAS`] of what they
//!   are apart from the whole is added. What is off on average has no sign that could cancel.
//! * A curve may have a step: a loop fits or does not. The sample has a frame or two more or less
//!   of the loop than its share, and the groups, each on its side of the step, do not average that
//!   out. Where they are far apart ([`STEEP`]) the sample runs with a few frames less, and with a
//!   few more ([`beside`]), and the interval reaches beyond the farther of the two.
//! * ARC and CAR turn within a few frames from a state that follows recency to one that follows
//!   frequency, and all groups may turn on the same wrong side. Their samples always run with
//!   [`NEIGHBOUR`] less and more frames, the interval reaches beyond both, and there is none where
//!   the three sizes do not lie on a line within what the groups allow ([`Estimates::agree`]).
//! * One run takes one way of many, whatever the sample: [`FLOOR`] of the accesses is added.
//! * What LRU was off is taken out where it is known (`variate.rs`): the groups then
//!   also said how much of it to take, which costs a degree of freedom; and what they do not show
//!   does not shrink with them ([`LEAST_LEFT`]).
//!
//! The coverage of the intervals has been measured (`benches/coverage.py`, `docs/sampling.md`);
//! policies whose coverage was not shown have none: [`is_shown`].

use super::sample::GROUPS;
use destage_policies::info;

/// Least variance of the sample relative to that of its groups: the strata of the sample are finer
/// than those of its groups. It is more where the strata say little of a number, as of what is
/// written to pages that are all used equally often: what neighbours in the sample's order differ
/// in writes, relative to what pages of a group's stretch do, and at most 1.
const FINER: f64 = 0.5;

/// Bias allowance of the sample, as a share of its distance to the mean of the groups.
const BIAS: f64 = 0.6;

/// Smallest standard error of a sample, as a share of the accesses.
pub(super) const FLOOR: f64 = 0.0003;

/// Share of the accesses by which the groups are apart where a step of the curve may be near.
const STEEP: f64 = 0.007;

/// Roots of its frames by which a sample may lie beside its place on the curve.
const SHIFT: f64 = 0.8;

/// Share of the frames by which the neighbouring sizes differ whose estimates have to agree.
/// With 0.015, intervals miss beside a turn of ARC or CAR; with 0.05, they hold no oftener.
const NEIGHBOUR: f64 = 0.03;

/// How far an interval reaches, of what the sample is off beside its place.
const REACH: f64 = 1.1;

/// By how much more what is left varies where what LRU was off is taken out of the groups, too: the
/// strata had helped with that.
const LESS_FINE: f64 = 1.2;

/// Share of an interval that is left, however much of it was what LRU was off: a bias that groups
/// do not show stays.
const LEAST_LEFT: f64 = 0.5;

/// The sizes beside a step: a little smaller and a little larger than so many frames, of which the
/// sample has the share `rate`.
pub(super) fn beside(policy: &str, frames: u32, rate: f64) -> [u32; 2] {
    let sampled = f64::from(frames) * rate;
    let neighbour = if needs_neighbours(policy) { NEIGHBOUR * sampled } else { 1.0 };
    let shift = (SHIFT * sampled.sqrt()).max(neighbour) / rate;
    [-shift, shift].map(|shift| (f64::from(frames) + shift).round().max(1.0) as u32)
}

/// Share of the pages above which no interval is given: whole and groups have hardly any choice
/// left within a stratum, and 77 % of FIFO's intervals held at 35 % of an MSR trace.
pub(super) const HIGHEST_RATE: f64 = 0.25;

/// Whether the intervals of a policy have been shown to hold with so many frames in the sample, and
/// with this share of the pages.
pub(super) fn is_shown(policy: &str, frames: f64, rate: f64) -> bool {
    let enough = least_frames(policy).is_some_and(|least| frames >= least);
    // A sample of all pages is the trace.
    rate >= 1.0 || rate <= HIGHEST_RATE && enough
}

/// The frames that a sample must have for an interval; `None`: none is ever given.
pub(super) fn least_frames(policy: &str) -> Option<f64> {
    info(policy).ok()?.interval_frames.map(f64::from)
}

/// Whether a policy's intervals depend on the neighbouring sizes.
pub(super) fn needs_neighbours(policy: &str) -> bool {
    info(policy).is_ok_and(|info| info.interval_needs_neighbours)
}

/// How often the accesses of a sample are run for a point: all of it, once more in its groups, and
/// with the neighbouring sizes.
pub(super) fn runs(policy: &str, frames: f64, rate: f64) -> f64 {
    if needs_neighbours(policy) && rate < 1.0 && is_shown(policy, frames, rate) { 4.0 } else { 2.0 }
}

/// A number, estimated from a sample and from each of its groups, as of the whole trace.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Estimates {
    pub(super) whole: f64,
    pub(super) groups: Vec<f64>,
    /// With a few frames less, and with a few more; none where it does not matter.
    pub(super) beside: Vec<f64>,
    /// Variance of neighbours in the sample's order relative to those of a group's stretch; 0
    /// where it is not looked at.
    pub(super) finer: f64,
    /// The estimates before the correction by LRU; `None` without a correction.
    pub(super) before: Option<Box<Estimates>>,
}

/// How far a number may be off.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct ConfidenceInterval {
    /// Standard error.
    pub(super) error: f64,
    /// Half the width of the 95 % interval.
    pub(super) half: f64,
}

impl Estimates {
    /// How much more this is than another number of the same sample.
    pub(super) fn minus(&self, other: &Estimates) -> Estimates {
        let pairs = self.groups.iter().zip(&other.groups);
        // One of the two may be on a step, and the other not.
        let beside = |of: &Estimates| match of.beside[..] {
            [less, more] => [less, more],
            _ => [of.whole; 2],
        };
        let has_any = !(self.beside.is_empty() && other.beside.is_empty());
        let ends = beside(self).into_iter().zip(beside(other)).filter(|_| has_any);
        let before = match (&self.before, &other.before) {
            (None, None) => None,
            (a, b) => {
                let [a, b] = [(a, self), (b, other)].map(|(of, now)| of.as_deref().unwrap_or(now));
                Some(Box::new(a.minus(b)))
            }
        };
        Estimates {
            whole: self.whole - other.whole,
            groups: pairs.map(|(a, b)| a - b).collect(),
            beside: ends.map(|(a, b)| a - b).collect(),
            finer: 1.0,
            before,
        }
    }

    /// How far it may be off; of so many accesses, from a sample of this rate.
    pub(super) fn uncertain(&self, rate: f64, accesses: f64) -> ConfidenceInterval {
        self.with(self.finer.clamp(FINER, 1.0), rate, accesses)
    }

    /// Interval of a difference of two policies. Strata help less here, since pages are ordered by
    /// use, not by the policies' difference.
    pub(super) fn uncertain_difference(&self, rate: f64, accesses: f64) -> ConfidenceInterval {
        self.with(1.0, rate, accesses)
    }

    fn with(&self, finer: f64, rate: f64, accesses: f64) -> ConfidenceInterval {
        if rate >= 1.0 {
            // The trace itself.
            return ConfidenceInterval { error: 0.0, half: 0.0 };
        }
        let ConfidenceInterval { error, half } = self.by_groups(finer, rate, accesses);
        let step = self.beside.iter().map(|end| (end - self.whole).abs()).fold(0.0, f64::max);
        let half = half.max(REACH * step);
        let before = self.before.as_ref().map(|before| before.with(finer, rate, accesses).half);
        ConfidenceInterval { error, half: half.max(LEAST_LEFT * before.unwrap_or(0.0)) }
    }

    /// How far it may be off as the groups say, wherever it lies on the curve.
    fn by_groups(&self, finer: f64, rate: f64, accesses: f64) -> ConfidenceInterval {
        let n = self.groups.len() as f64;
        let mean = self.groups.iter().sum::<f64>() / n;
        let squares: f64 = self.groups.iter().map(|one| (one - mean) * (one - mean)).sum();
        let (free, student, less) = match self.before {
            None => (n - 1.0, STUDENT, 1.0),
            Some(_) => (n - 2.0, STUDENT_OF_ONE_LESS, LESS_FINE),
        };
        let error = (less * finer * (1.0 - rate) * squares / (n * free)).sqrt();
        let apart = (mean - self.whole).abs();
        ConfidenceInterval { error, half: student * error + BIAS * apart + FLOOR * accesses }
    }

    /// Whether the sizes beside this one agree with it: it lies on the line between them, as far
    /// as the groups tell.
    pub(super) fn agree(&self, rate: f64, accesses: f64) -> bool {
        let [less, more] = self.beside[..] else { return true };
        let off = (self.whole - (less + more) / 2.0).abs();
        off <= self.by_groups(FINER, rate, accesses).half
    }

    /// Whether the groups are far apart: the size may lie on a step of the curve.
    pub(super) fn is_steep(&self, accesses: f64) -> bool {
        let most = self.groups.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = self.groups.iter().copied().fold(f64::INFINITY, f64::min);
        most - least > STEEP * accesses
    }
}

/// The 97.5 % quantile of Student's t of as many degrees of freedom as eight groups leave.
const STUDENT: f64 = 2.3646;

/// Where they also said how much of what LRU was off to take.
const STUDENT_OF_ONE_LESS: f64 = 2.4469;
const _: () = assert!(GROUPS == 8);

#[cfg(test)]
mod tests {
    use super::*;

    fn estimates(whole: f64, groups: &[f64]) -> Estimates {
        Estimates { whole, groups: groups.to_vec(), beside: Vec::new(), finer: 0.0, before: None }
    }

    #[test]
    fn groups_that_agree_leave_what_no_sample_knows_and_a_whole_trace_has_no_error() {
        let same = estimates(5.0, &[5.0; 8]).uncertain(0.1, 1000.0);
        assert_eq!((same.error, same.half), (0.0, 1000.0 * FLOOR));
        assert_eq!(estimates(5.0, &[1.0, 9.0]).uncertain(1.0, 1000.0).half, 0.0);
        // Two groups: half their distance.
        let two = estimates(5.0, &[1.0, 9.0]).uncertain(0.0, 0.0);
        assert!((two.error - 4.0 * FINER.sqrt()).abs() < 1e-12);
        assert!((two.half - two.error * STUDENT).abs() < 1e-12);
        // Strata that say nothing do not narrow it.
        let alike = Estimates { finer: 1.01, ..estimates(5.0, &[1.0, 9.0]) };
        assert!((alike.uncertain(0.0, 0.0).error - 4.0).abs() < 1e-12);
    }

    #[test]
    fn what_groups_are_off_together_widens_the_interval() {
        let found = estimates(102.0, &[108.0; 8]).uncertain(0.1, 0.0);
        assert_eq!(found.error, 0.0);
        assert!((found.half - 6.0 * BIAS).abs() < 1e-12);
    }

    #[test]
    fn a_step_of_the_curve_widens_the_interval_to_both_of_its_sides() {
        let flat = estimates(50.0, &[49.0, 51.0, 50.0, 50.0, 50.0, 50.0, 49.5, 50.5]);
        assert!(!flat.is_steep(1_000.0) && flat.is_steep(100.0));
        let on_a_step = Estimates { beside: vec![58.0, 50.0], ..flat.clone() };
        assert_eq!(on_a_step.uncertain(0.0, 0.0).half, 8.0 * REACH);
        let no_step = Estimates { beside: vec![50.1, 49.9], ..flat.clone() };
        assert_eq!(no_step.uncertain(0.0, 0.0), flat.uncertain(0.0, 0.0));
        // Two policies that step together are no farther apart for it.
        let other = Estimates { whole: 40.0, beside: vec![48.0, 40.0], ..flat.clone() };
        assert_eq!(on_a_step.minus(&other).beside, [10.0, 10.0]);
        assert_eq!(on_a_step.minus(&flat).beside, [8.0, 0.0]);
        assert!(flat.minus(&flat).beside.is_empty());
        assert_eq!(beside("lru", 10_000, 0.25), [9_840, 10_160]);
        assert_eq!(beside("lru", 1, 0.25), [1, 5]);
        assert_eq!(beside("arc", 10_000, 0.25), [9_700, 10_300]);
    }

    #[test]
    fn sizes_agree_that_lie_on_a_line_within_what_the_groups_allow() {
        let groups = [49.0, 51.0, 50.0, 50.0, 50.0, 50.0, 49.5, 50.5];
        let with =
            |beside: [f64; 2]| Estimates { beside: beside.to_vec(), ..estimates(50.0, &groups) };
        let allowed = estimates(50.0, &groups).uncertain(0.0, 0.0).half;
        assert!(with([60.0, 40.0]).agree(0.0, 0.0), "a slope is no disagreement");
        assert!(with([60.0, 40.0 + 1.9 * allowed]).agree(0.0, 0.0));
        assert!(!with([60.0, 40.0 + 2.1 * allowed]).agree(0.0, 0.0));
        assert!(!with([50.0, 40.0]).agree(0.0, 0.0), "a step on one side");
        assert!(estimates(50.0, &groups).agree(0.0, 0.0), "nothing beside it");
    }

    #[test]
    fn a_difference_is_surer_than_its_two_ends() {
        let a = estimates(50.0, &[46.0, 48.0, 52.0, 54.0]);
        let b = estimates(49.0, &[45.1, 47.0, 50.9, 53.0]);
        let difference = a.minus(&b).uncertain_difference(0.0, 0.0);
        assert!(difference.half < 0.5 && a.uncertain(0.0, 0.0).half > 2.0);
    }

    #[test]
    fn an_interval_is_given_where_it_has_been_measured() {
        assert!(is_shown("lru", 512.0, 0.1) && !is_shown("lru", 511.0, 0.1));
        assert!(is_shown("lru", 512.0, 0.25) && !is_shown("lru", 512.0, 0.26));
        assert!(is_shown("arc", 2048.0, 0.1) && !is_shown("arc", 2047.0, 0.1));
        assert!(!is_shown("sieve", 1e6, 0.1) && is_shown("sieve", 1.0, 1.0));
        assert!(!is_shown("casa", 1e6, 0.1));
    }
}
