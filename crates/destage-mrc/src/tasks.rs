//! The passes and runs that curves are made of, on as many threads as there are.

use super::curve::{EverySize, MrcOptions};
use super::estimate::Estimate;
use super::lru::LruCurve;
use super::min::MinCurve;
use destage_engine::options::RunOptions;
use destage_engine::run::{in_threads, run};
use destage_engine::sizes::Frames;
use destage_engine::spec::PolicySpec;
use destage_policies::{StackOrder, info};
use destage_replay::control::Control;
use destage_replay::counters::Counters;
use destage_replay::error::RunError;
use destage_replay::input::Input;
use destage_replay::observe::Unobserved;
use destage_replay::replay::Replayed;
use destage_replay::shared;
use destage_replay::warmup::Warmup;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A trace, or a sample of one.
pub(super) struct Trace<'a> {
    pub(super) input: Input<'a>,
    /// Share of the pages, above 0 and at most 1.
    pub(super) rate: f64,
    /// `None`: until the cache is full.
    pub(super) warmup_requests: Option<usize>,
}

impl Trace<'_> {
    /// Frames that a size has in this sample.
    fn frames(&self, size: &Frames) -> f64 {
        f64::from(size.frames) * self.rate
    }

    /// And as a run has them: whole, and at least one.
    fn run_frames(&self, size: &Frames) -> u32 {
        (self.frames(size).round() as u32).max(1)
    }
}

/// One pass over, or one run through, a trace.
pub(super) struct Task<'a> {
    pub(super) trace: &'a Trace<'a>,
    pub(super) spec: &'a PolicySpec,
    pub(super) sizes: Sizes<'a>,
}

/// Cache sizes of one task.
#[derive(Clone, Copy)]
pub(super) enum Sizes<'a> {
    /// All sizes, of LRU or MIN: one outcome.
    Every,
    /// One, or some that are shared: an outcome each.
    These(&'a [Frames]),
}

/// Outcome of a task.
#[expect(clippy::large_enum_variant, reason = "one for each size, and they are few")]
pub(super) enum Outcome {
    OnePass(LruCurve),
    Min(MinCurve),
    Run(Counters),
}

impl Outcome {
    /// Estimate at a size of the whole trace.
    pub(super) fn estimate(&self, size: &Frames, trace: &Trace<'_>) -> Estimate {
        let of_sample = match self {
            Outcome::OnePass(curve) => Estimate::on_curve(curve, trace.frames(size)),
            // Of the whole trace: it is not sampled.
            Outcome::Min(curve) => Estimate::of_min(curve, size.frames),
            Outcome::Run(counters) => Estimate::of(counters),
        };
        of_sample.scaled(1.0 / trace.rate)
    }

    /// Results of a pass at every size; `None` for a run.
    pub(super) fn every_size(&self, options: &RunOptions) -> Option<EverySize> {
        match self {
            Outcome::OnePass(curve) => Some(curve.every_size(options)),
            Outcome::Min(curve) => Some(curve.every_size(options)),
            Outcome::Run(_) => None,
        }
    }
}

impl Task<'_> {
    /// Outcomes that it has.
    pub(super) fn outcomes(&self) -> usize {
        match self.sizes {
            Sizes::Every => 1,
            Sizes::These(sizes) => sizes.len(),
        }
    }

    fn run(&self, options: &MrcOptions, control: &Control) -> Result<Vec<Outcome>, RunError> {
        let Task { trace, spec, sizes } = self;
        match sizes {
            Sizes::Every => self.every_size(control).map(|curve| vec![curve]),
            Sizes::These([size]) => self.one_size(size, options, control).map(|run| vec![run]),
            Sizes::These(sizes) => {
                let frames: Vec<u32> = sizes.iter().map(|size| trace.run_frames(size)).collect();
                let warmup = trace.warmup_requests.unwrap_or(0);
                let columns = trace.input.columns;
                let found = shared::run(spec.name, columns, &frames, warmup, false, control);
                // End flushes are counted always, as below.
                let counted = |at: Replayed| Counters { end_flushes: at.dirty_left, ..at.counters };
                found
                    .map(|sizes| sizes.into_iter().map(counted).map(Outcome::Run).collect())
                    .ok_or(RunError::Interrupted)
            }
        }
    }

    fn every_size(&self, control: &Control) -> Result<Outcome, RunError> {
        let Input { columns, next_uses, .. } = self.trace.input;
        let warmup = self.trace.warmup_requests.unwrap_or(0);
        let curve = match stack_order(self.spec) {
            Some(StackOrder::NextUse) => {
                MinCurve::new(columns, next_uses, warmup, control).map(Outcome::Min)
            }
            _ => LruCurve::new(columns, warmup, control).map(Outcome::OnePass),
        };
        curve.ok_or(RunError::Interrupted)
    }

    fn one_size(
        &self,
        size: &Frames,
        options: &MrcOptions,
        control: &Control,
    ) -> Result<Outcome, RunError> {
        let Task { trace, spec, .. } = self;
        let warmup = match trace.warmup_requests {
            Some(requests) => Warmup::Requests(requests as u64),
            None => Warmup::Full,
        };
        let frames = Frames { frames: trace.run_frames(size), given: size.given.clone() };
        // End flushes are counted always, and left out later if they are not wanted.
        let options = RunOptions { warmup, flush_at_end: true, ..options.run.clone() };
        let result = run(&trace.input, spec, &frames, &options, control, &mut Unobserved)?;
        Ok(Outcome::Run(result.counters))
    }
}

/// Order of the policy's stack, if one pass over a trace gives its numbers at every size.
pub(super) fn stack_order(spec: &PolicySpec) -> Option<StackOrder> {
    info(spec.name).ok()?.stack_order
}

/// Result of a task; `None` if it had not begun.
type Ended = Option<Result<Vec<Outcome>, RunError>>;

/// Runs all tasks; outcomes come in the order of the tasks and of their sizes, whatever the number
/// of threads.
///
/// `None` is one that had not ended when it was told to stop.
pub(super) fn in_parallel(
    tasks: &[Task<'_>],
    options: &MrcOptions,
    control: &Control,
) -> Result<Vec<Option<Outcome>>, RunError> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let found: Mutex<Vec<Ended>> = Mutex::new(tasks.iter().map(|_| None).collect());
    let work = || {
        while !failed.load(Ordering::Relaxed) && !control.stop.load(Ordering::Relaxed) {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(k) else { break };
            let outcomes = task.run(options, control);
            failed.fetch_or(outcomes.is_err(), Ordering::Relaxed);
            found.lock().expect("no thread panics while it holds the lock")[k] = Some(outcomes);
        }
    };
    in_threads(options.jobs.clamp(1, tasks.len().max(1)), &work);
    let found = found.into_inner().expect("all threads have ended");
    let mut all = Vec::new();
    for (task, outcomes) in tasks.iter().zip(found) {
        match outcomes {
            // The error that stopped the others is told, not that they were stopped.
            None | Some(Err(RunError::Interrupted)) => {
                all.extend((0..task.outcomes()).map(|_| None));
            }
            Some(outcomes) => all.extend(outcomes?.into_iter().map(Some)),
        }
    }
    Ok(all)
}
