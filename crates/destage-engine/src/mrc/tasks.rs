//! The passes and runs that curves are made of, on as many threads as there are.

use super::curve::MrcOptions;
use super::estimate::Estimate;
use super::lru::LruCurve;
use super::min::MinCurve;
use crate::control::Control;
use crate::counters::Counters;
use crate::error::RunError;
use crate::input::Input;
use crate::observe::Unobserved;
use crate::options::RunOptions;
use crate::run::{in_threads, run};
use crate::sizes::Frames;
use crate::spec::PolicySpec;
use crate::warmup::Warmup;
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
}

/// One pass over, or one run through, a trace.
pub(super) struct Task<'a> {
    pub(super) trace: &'a Trace<'a>,
    pub(super) spec: &'a PolicySpec,
    /// `None`: LRU or MIN at all sizes.
    pub(super) size: Option<&'a Frames>,
}

/// What a task found.
pub(super) enum Outcome {
    OnePass(LruCurve),
    Min(MinCurve),
    Run(Counters),
}

impl Outcome {
    /// What it says of a size of the whole trace.
    pub(super) fn estimate(&self, size: &Frames, trace: &Trace<'_>) -> Estimate {
        let of_sample = match self {
            Outcome::OnePass(curve) => Estimate::on_curve(curve, trace.frames(size)),
            // Of the whole trace: it is not sampled.
            Outcome::Min(curve) => Estimate::of_min(curve, size.frames),
            Outcome::Run(counters) => Estimate::of(counters),
        };
        of_sample.scaled(1.0 / trace.rate)
    }
}

impl Task<'_> {
    fn run(&self, options: &MrcOptions, control: &Control) -> Result<Outcome, RunError> {
        let Task { trace, spec, size } = self;
        let warmup = match trace.warmup_requests {
            Some(requests) => Warmup::Requests(requests as u64),
            None => Warmup::Full,
        };
        let Some(size) = size else {
            let (Input { columns, next_uses, .. }, warmup) =
                (trace.input, trace.warmup_requests.unwrap_or(0));
            let curve = match spec.name {
                "min" => MinCurve::new(columns, next_uses, warmup, control).map(Outcome::Min),
                _ => LruCurve::new(columns, warmup, control).map(Outcome::OnePass),
            };
            return curve.ok_or(RunError::Interrupted);
        };
        let frames = (trace.frames(size).round() as u32).max(1);
        let frames = Frames { frames, given: size.given.clone() };
        // End flushes are counted always, and left out later if they are not wanted.
        let options = RunOptions { warmup, flush_at_end: true, ..options.run.clone() };
        let result = run(&trace.input, spec, &frames, &options, control, &mut Unobserved)?;
        Ok(Outcome::Run(result.counters))
    }
}

/// Runs all tasks; outcomes come in the order of the tasks, whatever the number of threads.
///
/// `None` is one that had not ended when it was told to stop.
pub(super) fn in_parallel(
    tasks: &[Task<'_>],
    options: &MrcOptions,
    control: &Control,
) -> Result<Vec<Option<Outcome>>, RunError> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let outcomes: Mutex<Vec<Option<Result<Outcome, RunError>>>> =
        Mutex::new(tasks.iter().map(|_| None).collect());
    let work = || {
        while !failed.load(Ordering::Relaxed) && !control.stop.load(Ordering::Relaxed) {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(k) else { break };
            let outcome = task.run(options, control);
            failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
            outcomes.lock().expect("no thread panics while it holds the lock")[k] = Some(outcome);
        }
    };
    in_threads(options.jobs.clamp(1, tasks.len().max(1)), &work);
    let outcomes = outcomes.into_inner().expect("all threads have ended");
    // The error that stopped the others is told, not that they were stopped.
    let ended = |outcome| match outcome {
        None | Some(Err(RunError::Interrupted)) => Ok(None),
        Some(outcome) => outcome.map(Some),
    };
    outcomes.into_iter().map(ended).collect()
}
