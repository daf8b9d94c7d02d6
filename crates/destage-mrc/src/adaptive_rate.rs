//! A rate for each size: as few pages as a wanted error allows, all of them where no sample serves.
//!
//! One rate for all sizes is too high for the large and too low for the small ones: the error of a
//! number depends on the sampled frames, hardly on the trace. So each size gets the
//! rate, a power of two, that keeps [`FRAMES`] for the error; samples of lower rates lie in those
//! of higher ones, and are drawn from them. A point whose interval turns out wider than wanted, and
//! no more than twice as wide, is drawn once more with [`GROWTH`] times the frames; then it runs
//! over the whole trace, as do those that no sample serves: policies whose intervals have not been
//! shown to hold, small caches, runs with trims.
//!
//! Keeping only narrow intervals is a selection bias. It costs little here:
//! a point is wrong only if one of its two intervals is, and what is run over the whole trace is
//! never wrong. But where intervals are mostly wide, the few narrow ones are the lucky ones, and
//! hold less often: hence no second look that would have to be luckier than four times the frames.

use super::confidence::{HIGHEST_RATE, least_frames, runs};
use super::curve::{EverySize, Mrc, MrcOptions, Point, SampleSize, Within};
use super::draw::{draw, next_uses, sampled_traces, with_groups};
use super::request::{Cell, Drawn, MrcRequest, in_one_pass, is_known, is_scaled, passes};
use super::sample::{Sample, Sampling};
use super::stratified_sample::ranks;
use destage_engine::sizes::Frames;
use destage_engine::spec::PolicySpec;
use destage_replay::error::RunError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// Frames of the first sample for an error of a hundredth; twice as many for half of it.
const FRAMES: f64 = 1024.0;

/// Samples of a point before it runs over the whole trace.
const ROUNDS: i32 = 2;

/// By how much the frames grow from one to the next.
const GROWTH: f64 = 4.0;

/// Places of a policy and of a size.
type Place = (usize, usize);

/// How often the pages are halved for a sample that keeps enough frames of a cache; `None`: no
/// sample does.
fn halvings(policy: &str, frames: u32, error: f64, round: i32) -> Option<i32> {
    let wanted = least_frames(policy)?.max(FRAMES * 0.01 / error) * GROWTH.powi(round);
    let halvings = (f64::from(frames) / wanted).log2().floor() as i32;
    (2f64.powi(-halvings) <= HIGHEST_RATE).then_some(halvings)
}

/// Page accesses that will be done if no interval is wider than wanted, for a progress bar.
pub(super) fn planned_accesses(
    accesses: u64,
    specs: &[PolicySpec],
    sizes: &[Frames],
    options: &MrcOptions,
    within: Within,
) -> u64 {
    let of_spec = |spec: &PolicySpec| {
        let each = sizes.iter().map(|size| {
            halvings(spec.name, size.frames, within.error, 0).map_or(1.0, |halvings| {
                let rate = 2f64.powi(-halvings);
                rate * runs(spec.name, f64::from(size.frames) * rate, rate)
            })
        });
        let whole: f64 = each.sum();
        // One pass over the whole trace has been made for all sizes.
        whole.min(passes(spec, sizes, options) as f64)
    };
    let variate = if options.control.is_some() { 1.0 } else { 0.0 };
    ((specs.iter().map(of_spec).sum::<f64>() + variate) * accesses as f64) as u64
}

/// Makes the curves, as [`mrc`](super::mrc()) does.
pub(super) fn mrc(asked: &MrcRequest<'_>, within: Within) -> Result<Mrc, RunError> {
    let mut board = Board::new(asked, within)?;
    for round in 0..ROUNDS {
        board.sample(round)?;
    }
    board.exactly()?;
    board.into_mrc()
}

/// Where each policy stands at each size.
struct Board<'a> {
    asked: &'a MrcRequest<'a>,
    within: Within,
    /// Places that a sample may serve and none has.
    open: BTreeSet<Place>,
    /// Places that run over the whole trace.
    exact: BTreeSet<Place>,
    /// Known points; those of open places have too wide an interval.
    found: BTreeMap<Place, Cell>,
    every_size: BTreeMap<usize, EverySize>,
    /// Samples by the number of halvings of the rate.
    samples: BTreeMap<i32, SampleSize>,
    /// Rank of every page in the order of sampling.
    ranks: Option<Vec<u32>>,
    stopped: bool,
}

impl<'a> Board<'a> {
    fn new(asked: &'a MrcRequest<'a>, within: Within) -> Result<Self, RunError> {
        let (mut open, mut exact) = (BTreeSet::new(), BTreeSet::new());
        // Trims are not kept in a sample, and a warm-up until the cache is full has no interval.
        let can_sample = !asked.options.run.drops_trims() && asked.warmup_requests().is_some();
        for (k, (spec, params)) in asked.specs.iter().zip(asked.params).enumerate() {
            let is_scaled = is_scaled(spec, params)?.is_ok();
            let places = (0..asked.sizes.len()).map(|size| (k, size));
            if can_sample && is_scaled && !is_known(spec, asked.options) {
                open.extend(places)
            } else {
                exact.extend(places)
            }
        }
        Ok(Board {
            asked,
            within,
            open,
            exact,
            found: BTreeMap::new(),
            every_size: BTreeMap::new(),
            samples: BTreeMap::new(),
            ranks: None,
            stopped: false,
        })
    }

    /// Frames by which a size chooses its sample: beyond the trace's pages all are alike.
    fn frames(&self, size: usize) -> u32 {
        let pages = u32::try_from(self.asked.input.columns.lpns.len()).unwrap_or(u32::MAX);
        self.asked.sizes[size].frames.min(pages)
    }

    /// Draws a sample for each open place, and settles those whose intervals are narrow enough.
    fn sample(&mut self, round: i32) -> Result<(), RunError> {
        let mut by_halvings: BTreeMap<i32, Vec<Place>> = BTreeMap::new();
        for (spec, size) in std::mem::take(&mut self.open) {
            let policy = self.asked.specs[spec].name;
            let rate = halvings(policy, self.frames(size), self.within.error, round);
            match rate.filter(|_| self.is_within_reach((spec, size))) {
                Some(halvings) => by_halvings.entry(halvings).or_default().push((spec, size)),
                None => drop(self.exact.insert((spec, size))),
            }
        }
        // A policy that tells of every size in one pass over the whole trace needs no sample.
        for places in by_halvings.values_mut() {
            let at_hand: Vec<Place> =
                places.iter().copied().filter(|&(spec, _)| self.is_at_hand(spec)).collect();
            places.retain(|place| !at_hand.contains(place));
            self.exact.extend(at_hand);
        }
        let mut above: Option<Sample> = None;
        for (halvings, places) in by_halvings {
            if places.is_empty() || self.stopped {
                self.open.extend(places);
                continue;
            }
            let Some(whole) = self.drawn(halvings, above.as_ref())? else {
                self.stopped = true;
                self.open.extend(places);
                continue;
            };
            let sampling = self.sampling(halvings);
            self.samples.insert(halvings, SampleSize::of(&whole, sampling));
            let samples = with_groups(whole, sampling);
            self.run(&places, Some((&samples, sampling)))?;
            for place in places {
                let found = self.found.get(&place);
                if !found.is_some_and(|cell| half_width(&cell.point) <= self.within.error) {
                    self.open.insert(place);
                }
            }
            above = samples.into_iter().next();
        }
        Ok(())
    }

    /// Whether the next sample may be as sure as wanted: four times the frames halve an error, and
    /// one that looks surer than that is lucky.
    fn is_within_reach(&self, place: Place) -> bool {
        let reach = GROWTH.sqrt() * self.within.error;
        self.found.get(&place).is_none_or(|cell| half_width(&cell.point) <= reach)
    }

    fn sampling(&self, halvings: i32) -> Sampling {
        Sampling { rate: 2f64.powi(-halvings), seed: self.within.seed }
    }

    /// Whether a policy's whole curve comes with one of its points.
    fn is_at_hand(&self, spec: usize) -> bool {
        in_one_pass(&self.asked.specs[spec], self.asked.options)
            && self.exact.iter().any(|&(other, _)| other == spec)
    }

    /// A sample, from a larger one if there is any; `None` when it was stopped.
    fn drawn(&mut self, halvings: i32, above: Option<&Sample>) -> Result<Option<Sample>, RunError> {
        let MrcRequest { input, control, .. } = *self.asked;
        let sampling = self.sampling(halvings);
        if let Some(above) = above {
            return Ok(above.lower(sampling, control));
        }
        if self.ranks.is_none() {
            self.ranks = ranks(input.columns, self.within.seed, control);
        }
        let warm = self.asked.warmup_requests().unwrap_or(0);
        let of = |ranks: &Vec<u32>| Sample::new(input.columns, ranks, sampling, warm, control);
        Ok(self.ranks.as_ref().and_then(of))
    }

    /// Runs what is left over the whole trace.
    fn exactly(&mut self) -> Result<(), RunError> {
        if self.stopped {
            return Ok(());
        }
        let places: Vec<Place> = self.exact.union(&self.open).copied().collect();
        // What the samples had is no longer needed, and may be large.
        self.ranks = None;
        self.run(&places, None)
    }

    /// Runs places over the whole trace, or over a sample and its groups.
    fn run(
        &mut self,
        places: &[Place],
        sampled: Option<(&[Sample], Sampling)>,
    ) -> Result<(), RunError> {
        let mut by_sizes: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        for &spec in &places.iter().map(|&(spec, _)| spec).collect::<BTreeSet<_>>() {
            let sizes = places.iter().filter(|place| place.0 == spec).map(|place| place.1);
            by_sizes.entry(sizes.collect()).or_default().push(spec);
        }
        for (sizes, specs) in by_sizes {
            let of_specs: Vec<PolicySpec> =
                specs.iter().map(|&k| self.asked.specs[k].clone()).collect();
            let params: Vec<_> = specs.iter().map(|&k| self.asked.params[k].clone()).collect();
            let of_sizes: Vec<Frames> =
                sizes.iter().map(|&k| self.asked.sizes[k].clone()).collect();
            let asked =
                MrcRequest { specs: &of_specs, params: &params, sizes: &of_sizes, ..*self.asked };
            let Drawn { cells, every_size, unfinished, .. } = match sampled {
                None => draw(&asked, &[asked.whole()], None),
                Some((samples, sampling)) => {
                    let uses = next_uses(samples, &of_specs);
                    draw(&asked, &sampled_traces(samples, &uses, sampling, true), Some(sampling))
                }
            }?;
            self.stopped |= unfinished > 0 || asked.control.stop.load(Ordering::Relaxed);
            for cell in cells {
                let place = (specs[cell.spec], sizes[cell.size]);
                self.found.insert(place, Cell { spec: place.0, size: place.1, ..cell });
            }
            self.every_size.extend(every_size.into_iter().map(|(spec, e)| (specs[spec], e)));
        }
        Ok(())
    }

    fn into_mrc(self) -> Result<Mrc, RunError> {
        let all = self.asked.specs.len() * self.asked.sizes.len();
        let drawn = Drawn {
            unfinished: all - self.found.len(),
            cells: self.found.into_values().collect(),
            every_size: self.every_size,
            tasks: all,
        };
        let samples: Vec<SampleSize> = self.samples.into_values().collect();
        // Where all ran over the whole trace nothing differs by the chance of a sample.
        let is_sampled = !samples.is_empty();
        self.asked.curves(drawn, None, samples, is_sampled)
    }
}

/// Half the width of the interval of the hit ratio; infinite where none is known.
fn half_width(point: &Point) -> f64 {
    let Some(sampled) = &point.sampled else { return 0.0 };
    let end = |name: &str| sampled.intervals.get(name);
    match (end("miss_ratio_low"), end("miss_ratio_high")) {
        (Some(low), Some(high)) => (high - low) / 2.0,
        _ => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Owned, exact, options, run_options, sizes, specs, zipf};
    use crate::{Mrc, mrc};
    use destage_engine::options::RunOptions;
    use destage_replay::control::Control;
    use destage_replay::warmup::Warmup;
    use std::sync::atomic::Ordering::Relaxed;

    fn within(trace: &Owned, policies: &str, sizes: &[Frames], error: f64, seed: u64) -> Mrc {
        let within = Some(Within::new(error, seed).expect("an error"));
        let options = MrcOptions { within, ..options(RunOptions::default(), None) };
        mrc(&trace.input(), &specs(policies), sizes, &options, &Control::default()).expect("curves")
    }

    fn rates(found: &Mrc, curve: usize) -> Vec<f64> {
        let rate = |point: &Point| {
            let sampled = point.sampled.as_ref();
            sampled.map_or(1.0, |sampled| sampled.frames / f64::from(point.frames))
        };
        found.curves[curve].points.iter().map(rate).collect()
    }

    #[test]
    fn a_sample_keeps_the_frames_that_the_error_needs() {
        // 2,048 for half a point: of 8,192 a quarter is needed, of 8,191 more than that.
        assert_eq!(halvings("lru", 8_191, 0.005, 0), None);
        assert_eq!(halvings("lru", 8_192, 0.005, 0), Some(2));
        assert_eq!(halvings("lru", 16_383, 0.005, 0), Some(2));
        assert_eq!(halvings("lru", 16_384, 0.005, 0), Some(3));
        assert_eq!(halvings("lru", 16_384, 0.0025, 0), Some(2));
        // Four times as many in the second round; never fewer than have been shown to hold.
        assert_eq!(halvings("lru", 32_768, 0.005, 1), Some(2));
        assert_eq!(halvings("lru", 1 << 20, 0.9, 0), Some(11));
        assert_eq!(halvings("arc", 1 << 20, 0.9, 0), Some(9));
        assert_eq!(halvings("sieve", 1 << 30, 0.9, 0), None);
    }

    #[test]
    fn every_point_is_as_sure_as_wanted_or_exact() {
        let trace = zipf(60_000, 240_000, 21);
        let sizes = sizes([200, 9_000, 18_000, 30_000, 70_000]);
        let exact = exact(&trace, "fifo,slru,sieve", &sizes, RunOptions::default());
        let (mut of, mut held, mut sampled) = (0, 0, 0);
        for seed in 0..12 {
            let found = within(&trace, "fifo,slru,sieve", &sizes, 0.01, seed);
            assert_eq!(rates(&found, 2), [1.0; 5], "of sieve no interval is known");
            assert_eq!(rates(&found, 0)[0], 1.0, "no sample keeps enough of 200 frames");
            for (curve, exact) in found.curves.iter().zip(&exact.curves) {
                for (point, exact) in curve.points.iter().zip(&exact.points) {
                    let Some(behind) = &point.sampled else {
                        assert_eq!(point, exact);
                        continue;
                    };
                    let [low, high] =
                        ["low", "high"].map(|e| behind.intervals[&format!("misses_{e}")]);
                    assert!(high - low <= 2.0 * 0.01 * point.accesses as f64 + 2.0);
                    sampled += 1;
                    of += 1;
                    held += u32::from((low..=high).contains(&(exact.misses as f64)));
                }
            }
        }
        assert!(sampled >= 60, "{sampled} points of 120 came from samples");
        assert!(10 * held >= 9 * of, "{held} of {of} intervals hold");
    }

    #[test]
    fn differences_hold_between_samples_of_two_rates_and_the_whole_trace() {
        let trace = zipf(60_000, 240_000, 22);
        let sizes = sizes([18_000]);
        let policies = "fifo,arc,sieve";
        let exact = exact(&trace, policies, &sizes, RunOptions::default());
        let (mut of, mut held) = (0, 0);
        for seed in 0..20 {
            let found = within(&trace, policies, &sizes, 0.02, seed);
            let groups = &found.differences.as_ref().expect("of samples").groups;
            assert_eq!(groups[0].runs, [0, 1, 2]);
            for (pair, (a, b)) in [(0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
                let [low, high] = groups[0].metrics["hit_ratio"][pair].expect("is known");
                let [a, b] = [a, b].map(|k: usize| exact.curves[k].points[0].miss_ratio);
                of += 1;
                held += u32::from((low..=high).contains(&(a - b)));
            }
        }
        assert!(10 * held >= 9 * of, "{held} of {of} differences hold");
        let found = within(&trace, policies, &sizes, 0.02, 0);
        assert!(rates(&found, 0)[0] < rates(&found, 1)[0], "arc needs more frames");
        assert_eq!(rates(&found, 2), [1.0]);
    }

    #[test]
    fn what_no_sample_serves_runs_over_the_whole_trace() {
        let trace = zipf(40_000, 80_000, 23);
        let sizes = sizes([10_000, 20_000, 200_000]);
        let policies = "cfdc,acr-h[file_pages=40000]";
        let found = within(&trace, policies, &sizes, 0.02, 1);
        let exact = exact(&trace, policies, &sizes, RunOptions::default());
        assert_eq!(found.curves, exact.curves);
        assert!(found.samples.is_empty());
        // Until the cache is full: elsewhere in each group.
        let within = Some(Within::new(0.02, 1).expect("an error"));
        let filled = MrcOptions { within, ..options(run_options(Warmup::Full, true), None) };
        let found = mrc(&trace.input(), &specs("fifo"), &sizes, &filled, &Control::default());
        let found = found.expect("curves");
        assert_eq!(rates(&found, 0), [1.0; 3]);
        assert_eq!(found.differences, None, "an exact curve as any other");
    }

    #[test]
    fn a_curve_that_one_pass_tells_is_exact_at_all_sizes_if_it_is_at_one() {
        let trace = zipf(40_000, 80_000, 24);
        let all = within(&trace, "lru", &sizes([10, 20_000]), 0.02, 1);
        assert_eq!(rates(&all, 0), [1.0, 1.0]);
        assert!(all.curves[0].every_size.is_some());
        let some = within(&trace, "lru", &sizes([10_000, 20_000]), 0.02, 1);
        assert!(rates(&some, 0)[1] < 1.0 && some.curves[0].every_size.is_none());
    }

    #[test]
    fn a_sample_of_a_sample_is_the_sample_and_threads_change_nothing() {
        let trace = zipf(20_000, 60_000, 25);
        let columns = trace.input().columns;
        let control = Control::default();
        let ranks = ranks(columns, 3, &control).expect("ranks");
        let [quarter, low] = [0.25, 1.0 / 64.0].map(|rate| Sampling { rate, seed: 3 });
        let of = |sampling| Sample::new(columns, &ranks, sampling, 1_000, &control).expect("it");
        let (direct, nested) = (of(low), of(quarter).lower(low, &control).expect("it"));
        assert_eq!(direct.lpns, nested.lpns);
        assert_eq!((direct.first_ids, direct.extents), (nested.first_ids, nested.extents));
        assert_eq!(direct.warmup_requests, nested.warmup_requests);

        let with = |jobs| {
            let within = Some(Within::new(0.02, 1).expect("an error"));
            let options = MrcOptions { within, jobs, ..options(RunOptions::default(), None) };
            let (specs, sizes) = (specs("fifo,arc,lru,sieve"), sizes([30, 6_000, 12_000]));
            mrc(&trace.input(), &specs, &sizes, &options, &Control::default()).expect("curves")
        };
        assert_eq!(with(1), with(2));
        assert_eq!(with(1), with(5));
    }

    #[test]
    fn it_stops_when_it_is_told_to() {
        let trace = zipf(20_000, 60_000, 26);
        let within = Some(Within::new(0.02, 1).expect("an error"));
        let options = MrcOptions { within, ..options(RunOptions::default(), None) };
        let control = Control::default();
        control.stop.store(true, Relaxed);
        let stopped = mrc(&trace.input(), &specs("fifo"), &sizes([6_000]), &options, &control);
        assert!(matches!(stopped, Err(RunError::Interrupted)), "{stopped:?}");
    }
}
