//! One run: a policy, a cache size, a trace; and many of them side by side.

use crate::accesses::Columns;
use crate::checked::Checked;
use crate::cost::Cost;
use crate::counters::{Counters, OwnCounters};
use crate::replay::{Completed, NextUses, Observer, Replay, Unobserved};
use crate::result::{RunConfig, RunResult, Warmup};
use crate::sizes::Frames;
use crate::spec::PolicySpec;
use crate::timed::{Profile, Profiler, Summary, TimedOutcome, TimedReplay, Timing};
use crate::warnings;
use destage_core::{Dense, DeviceView, Needs, Policy, Request};
use destage_policies::params::{Params, Value};
use destage_policies::{BuildError, Setup, Visitor, aalru, build};
use destage_ssd::{CacheConfig, Device, Ftl, HostConfig, OperationRecord};
use destage_trace::Trace;
use destage_trace::next_use::NextUse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Options of a run that hold for all policies of a comparison.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// What is not counted.
    pub warmup: Warmup,
    /// A write miss reads the page from flash first; counts, never decides.
    pub fetch_on_write_miss: bool,
    /// Dirty pages are written after the last access; counts, never decides.
    pub flush_at_end: bool,
    /// Assert every law at every access; some ten times slower.
    pub check: bool,
    /// Cost model.
    pub cost: Option<Cost>,
    /// Pages of an erase block, for policies that cluster by it; with a drive, the drive's.
    pub pages_per_block: Option<u32>,
    /// Pages that exist and may be padded; with a drive, the drive's.
    pub device_pages: Option<u64>,
    /// The drive behind the cache.
    pub drive: Option<Arc<Mounted>>,
    /// With a drive: keep how the run developed.
    pub profile: bool,
}

/// A drive that is ready to run: prepared once, and cloned for each run.
#[derive(Clone, Debug)]
pub struct Mounted {
    /// Name, for tables.
    pub name: String,
    /// All that is needed to make it again, as a result keeps it.
    pub record: serde_json::Value,
    /// The drive at time 0.
    pub device: Device,
    /// When a page has its frame, and its data; `policy` and `frames` are those of each run.
    pub cache: CacheConfig,
    /// Open or closed loop.
    pub host: HostConfig,
}

impl Mounted {
    /// Every page of a trace is one of the drive.
    fn holds(&self, lpns: &[u64]) -> Result<(), RunError> {
        let logical = self.device.geometry().logical_pages;
        match lpns.last() {
            Some(&last) if last >= logical.into() => Err(RunError::Impossible(format!(
                "page {last} of the trace is beyond the drive {}, which has {logical} pages: wrap \
                 the trace into it (wrap = modulo) or make it larger (wrap = extend)",
                self.name
            ))),
            _ => Ok(()),
        }
    }
}

/// What a run is made of.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The decoded trace.
    pub columns: Columns<'a>,
    /// Next uses of its accesses, if a policy of the run needs them.
    pub next_uses: NextUses<'a>,
    /// Arrivals of its rows, nanoseconds, not decreasing; for a warm-up by time, and for a device.
    pub arrivals_ns: &'a [u64],
    /// Rows that go on with the request of the row before them, ascending; for a device.
    pub continuations: &'a [u64],
}

impl<'a> Input<'a> {
    /// A whole trace, and its next uses if a policy of the run needs them.
    pub fn new(trace: &'a Trace, next_use: Option<&'a NextUse>) -> Self {
        Input {
            columns: Columns::of(trace),
            next_uses: match next_use.map(NextUse::uses) {
                None => NextUses::None,
                Some(destage_trace::next_use::NextUses::Narrow(uses)) => NextUses::Short(uses),
                Some(destage_trace::next_use::NextUses::Wide(uses)) => NextUses::Long(uses),
            },
            arrivals_ns: trace.arrivals_ns(),
            continuations: trace.continuations(),
        }
    }
}

/// How a long call is followed and stopped from outside.
#[derive(Default)]
pub struct Hooks {
    /// Set it to stop.
    pub stop: AtomicBool,
    /// Page accesses done so far, over all runs of the call.
    pub accesses_done: AtomicU64,
}

/// Why a run gave no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The policy cannot be built (exit status 2).
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The run asks for what it does not have (exit status 2).
    #[error("{0}")]
    Impossible(String),
    /// A law was broken (exit status 1).
    #[error("{0}")]
    Broken(String),
    /// It cannot be true (exit status 70).
    #[error("{0}: this is a bug of Destage")]
    Bug(String),
    /// It was stopped (exit status 130).
    #[error("interrupted")]
    Interrupted,
}

/// Runs one policy at one size; `observer` sees every decision.
pub fn run(
    input: &Input<'_>,
    spec: &PolicySpec,
    frames: &Frames,
    options: &RunOptions,
    hooks: &Hooks,
    observer: &mut impl Observer,
) -> Result<RunResult, RunError> {
    supplies(spec, options.drive.is_some())?;
    options.suit(spec)?;
    let params = spec.params(&options.policy_defaults())?;
    let mut setup = options.setup(frames.frames, params.clone(), input.columns.lpns.len() as u64);
    if clusters(spec) {
        setup = setup.with_blocks_of(input.columns.lpns);
    }
    let directory = Dense::new(input.columns.lpns.len() as u32);
    let runner = Runner { input, options, hooks, observer };
    let outcome = match spec.is_none() {
        true => runner.without_a_cache(),
        false => build(spec.name, &setup, directory, runner)?,
    };
    let outcome = outcome.map_err(|error| match error {
        RunError::Broken(law) => RunError::Broken(format!("{}: {law}", spec.label())),
        other => other,
    })?;
    let json = |(k, v): (&str, &Value)| (k.to_string(), to_json(v));
    let named = Named {
        policy: spec.name.to_string(),
        given: spec.given.iter().map(|(k, v)| json((k, v))).collect(),
        params: params.iter().map(json).collect(),
    };
    let mut result = record(outcome, named, input, frames, options)?;
    if clusters(spec) && options.drive.is_none() {
        result.config.pages_per_block = Some(setup.pages_per_block);
        result.config.device_pages = setup.device_pages;
    }
    if needs(spec).contains(Needs::LATENCIES) && options.drive.is_none() {
        result.warnings.push(format!(
            "{}: without a device every flash operation takes its nominal time, so nothing is \
             ever padded",
            spec.label()
        ));
    }
    Ok(result)
}

/// The policy gathers pages by erase block.
fn clusters(spec: &PolicySpec) -> bool {
    destage_policies::info(spec.name).is_ok_and(|info| info.clusters)
}

impl RunOptions {
    /// The options are ones that this policy has, and agree with the drive.
    fn suit(&self, spec: &PolicySpec) -> Result<(), RunError> {
        if self.fetch_on_write_miss && clusters(spec) {
            return Err(RunError::Impossible(format!(
                "{}: fetch_on_write_miss is no option of a policy that clusters by erase block: \
                 its write misses never fetch",
                spec.label()
            )));
        }
        if self.drive.is_some() && (self.pages_per_block.is_some() || self.device_pages.is_some()) {
            let what = "pages_per_block and device_pages are the drive's in a run with a device";
            return Err(RunError::Impossible(what.into()));
        }
        Ok(())
    }

    /// What policies take from the run if they are not told otherwise.
    pub(crate) fn policy_defaults(&self) -> Vec<(&'static str, Value)> {
        let mut defaults = Cost::policy_defaults(self.cost);
        defaults.extend(self.drive.iter().flat_map(|drive| nominal_times(&drive.device)));
        defaults
    }

    /// What a policy is built from.
    fn setup(&self, frames: u32, params: Params, trace_pages: u64) -> Setup {
        let mut setup = Setup { params, trace_pages: Some(trace_pages), ..Setup::new(frames) };
        if let Some(pages) = self.pages_per_block {
            setup.pages_per_block = pages;
        }
        setup.device_pages = self.device_pages;
        match &self.drive {
            None => setup,
            Some(drive) => on_drive(setup, &drive.device),
        }
    }
}

/// AALRU's F_r and F_w: the drive's own page times (`docs/spec/block-policies.md` 6.3).
pub(crate) fn nominal_times<F: Ftl>(device: &Device<F>) -> Vec<(&'static str, Value)> {
    let times = device.nominal_times();
    times.map_or(Vec::new(), |times| {
        vec![
            (aalru::PAGE_READ_NS, Value::Int(times.read_ns.into())),
            (aalru::PAGE_WRITE_NS, Value::Int(times.program_ns.into())),
        ]
    })
}

/// With a device, blocks and pages are the drive's (`docs/spec/block-policies.md` 1.9).
pub(crate) fn on_drive<F: Ftl>(setup: Setup, device: &Device<F>) -> Setup {
    Setup {
        pages_per_block: device.pages_per_block(),
        device_pages: device.logical_pages(),
        ..setup
    }
}

/// A policy of the user's own, as a result names it.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// Its name.
    pub policy: String,
    /// Parameters that were given.
    pub given: BTreeMap<String, serde_json::Value>,
    /// All parameters, as far as they are known.
    pub params: BTreeMap<String, serde_json::Value>,
}

/// Runs a policy that is not in the table, at the size that it was made with; always checked.
///
/// # Errors
///
/// As [`run`]; [`RunError::Broken`] with the first law that it breaks.
pub fn run_own<P: Policy>(
    input: &Input<'_>,
    named: Named,
    policy: P,
    frames: &Frames,
    options: &RunOptions,
    hooks: &Hooks,
    observer: &mut impl Observer,
) -> Result<RunResult, RunError> {
    let options = &RunOptions { check: true, ..options.clone() };
    let outcome = Runner { input, options, hooks, observer }.visit(policy);
    let outcome = outcome.map_err(|error| match error {
        RunError::Broken(law) => RunError::Broken(format!("{}: {law}", named.policy)),
        other => other,
    })?;
    record(outcome, named, input, frames, options)
}

/// What a run leaves behind.
fn record(
    outcome: Outcome,
    named: Named,
    input: &Input<'_>,
    frames: &Frames,
    options: &RunOptions,
) -> Result<RunResult, RunError> {
    let timing = outcome.timing.as_ref();
    let warnings = warnings::of(&named.policy, &outcome.counters, timing, input, options);
    let running_time = match options.cost.map(|c| c.running_time(&outcome.counters)) {
        None => None,
        Some(time) => Some(u64::try_from(time).map_err(|_| {
            RunError::Impossible(
                "the running time is beyond 2^64 cost units: choose a coarser unit".into(),
            )
        })?),
    };
    Ok(RunResult {
        config: RunConfig {
            policy: named.policy,
            given: named.given,
            params: named.params,
            frames: frames.frames,
            cache: frames.given.clone(),
            warmup: options.warmup,
            fetch_on_write_miss: options.fetch_on_write_miss,
            flush_at_end: options.flush_at_end,
            check: options.check,
            cost: options.cost,
            device: options.drive.as_ref().map(|drive| drive.name.clone()),
            pages_per_block: None,
            device_pages: None,
        },
        warmup_requests: outcome.warmup_requests,
        counters: outcome.counters,
        policy_counters: outcome.own.by_name(),
        policy_gauges: outcome.gauges,
        destage_pages: outcome.destage_pages,
        running_time,
        timing: outcome.timing,
        profile: outcome.profile,
        warnings,
    })
}

pub(crate) fn to_json(value: &Value) -> serde_json::Value {
    match value {
        Value::None => serde_json::Value::Null,
        Value::Bool(b) => (*b).into(),
        Value::Int(i) => u64::try_from(*i).map_or_else(|_| (*i as f64).into(), Into::into),
        Value::Real(r) => (*r).into(),
        Value::Text(t) => t.clone().into(),
    }
}

struct Outcome {
    counters: Counters,
    own: OwnCounters,
    gauges: BTreeMap<String, f64>, // at the end
    destage_pages: Option<Summary>,
    warmup_requests: u64,
    timing: Option<Timing>,
    profile: Option<Profile>,
}

struct Runner<'a, O> {
    input: &'a Input<'a>,
    options: &'a RunOptions,
    hooks: &'a Hooks,
    observer: &'a mut O,
}

impl<O: Observer> Visitor for Runner<'_, O> {
    type Output = Result<Outcome, RunError>;

    fn visit<P: Policy>(self, mut policy: P) -> Self::Output {
        if !self.options.check {
            return self.replay(&mut policy);
        }
        // Whole contents as often as there are frames: a constant time per access.
        let every = u64::from(policy.frames());
        let mut checked = Checked::new(policy, every);
        let outcome = self.replay(&mut checked);
        checked.finish().map_err(|violation| RunError::Broken(violation.to_string()))?;
        outcome
    }
}

impl<O: Observer> Runner<'_, O> {
    fn replay<P: Policy>(self, policy: &mut P) -> Result<Outcome, RunError> {
        if let Some(drive) = self.options.drive.clone() {
            let mut outcome = self.timed(&drive, |replay, device, observer| {
                replay.run(device, policy, &drive.cache, observer)
            })?;
            outcome.gauges = gauges(policy);
            return Ok(outcome);
        }
        let replay = Replay {
            columns: self.input.columns,
            next_uses: self.input.next_uses,
            warmup: self.options.warmup,
            arrivals_ns: self.input.arrivals_ns,
        };
        let mut followed = Followed { observer: self.observer, hooks: self.hooks, reported: 0 };
        let replayed = replay.run(policy, &mut followed).ok_or(RunError::Interrupted)?;
        let mut counters = replayed.counters;
        if self.options.flush_at_end {
            let mut dirty = 0;
            policy.for_each_resident(&mut |_, is_dirty| dirty += u64::from(is_dirty));
            counters.end_flushes = dirty;
        }
        physical(&mut counters, self.options);
        Ok(Outcome {
            counters,
            own: replayed.own,
            gauges: gauges(policy),
            destage_pages: replayed.destage_pages.summary(),
            warmup_requests: replayed.warmup_requests,
            timing: None,
            profile: None,
        })
    }

    fn without_a_cache(self) -> Result<Outcome, RunError> {
        let Some(drive) = self.options.drive.clone() else {
            return Err(needs_a_device("none"));
        };
        let outcome =
            self.timed(&drive, |replay, device, observer| replay.run_bare(device, observer))?;
        let mut counters = outcome.counters;
        counters.physical_reads = counters.read_misses;
        counters.physical_writes = counters.write_misses;
        Ok(Outcome { counters, ..outcome })
    }

    /// A run in front of a clone of the drive.
    fn timed(
        self,
        drive: &Mounted,
        run: impl FnOnce(
            &TimedReplay<'_>,
            &mut Device,
            &mut (Followed<'_, O>, Option<Profiler>),
        ) -> Result<TimedOutcome, RunError>,
    ) -> Result<Outcome, RunError> {
        drive.holds(self.input.columns.lpns)?;
        let mut device = drive.device.clone();
        let replay = TimedReplay {
            input: *self.input,
            host: drive.host,
            warmup: self.options.warmup,
            fetch_on_write_miss: self.options.fetch_on_write_miss,
            flush_at_end: self.options.flush_at_end,
        };
        let profiler = self.options.profile.then(|| Profiler::new(device.geometry().units));
        let followed = Followed { observer: self.observer, hooks: self.hooks, reported: 0 };
        let mut observers = (followed, profiler);
        let outcome = run(&replay, &mut device, &mut observers)?;
        let TimedOutcome { warmup_requests, pages: mut counters, own, destage_pages, timing } =
            outcome;
        physical(&mut counters, self.options);
        Ok(Outcome {
            counters,
            own,
            gauges: BTreeMap::new(),
            destage_pages: destage_pages.summary(),
            warmup_requests,
            timing: Some(timing),
            profile: observers.1.map(Profiler::finish),
        })
    }
}

/// Where a policy has adapted to.
fn gauges<P: Policy>(policy: &P) -> BTreeMap<String, f64> {
    let mut gauges = BTreeMap::new();
    policy.gauges(&mut |name, value| {
        gauges.insert(name.to_string(), value);
    });
    gauges
}

/// What went to flash, by the options of the run.
fn physical(counters: &mut Counters, options: &RunOptions) {
    let fetches = if options.fetch_on_write_miss { counters.write_misses } else { 0 };
    counters.physical_reads = counters.read_misses + fetches + counters.padding_reads;
    counters.physical_writes =
        counters.destaged_pages + counters.padding_writes + counters.end_flushes;
}

fn needs_a_device(label: &str) -> RunError {
    let why = match label {
        "none" => "without a cache, only a device shows anything".to_string(),
        label => format!("{label} looks at the drive behind the cache"),
    };
    RunError::Impossible(format!(
        "{why}: add a device (--device, a preset such as small or a TOML file)"
    ))
}

/// A run with or without a device supplies what the policy needs.
///
/// # Errors
///
/// [`RunError::Impossible`], which says what to add.
pub fn supplies(spec: &PolicySpec, has_device: bool) -> Result<(), RunError> {
    let needs_one = spec.is_none() || needs(spec).device();
    if needs_one && !has_device {
        return Err(needs_a_device(&spec.label()));
    }
    Ok(())
}

/// Passes decisions on to the caller's observer, and progress to the hooks.
struct Followed<'a, O> {
    observer: &'a mut O,
    hooks: &'a Hooks,
    reported: u64,
}

impl<O: Observer> Observer for Followed<'_, O> {
    const SEES_ACCESSES: bool = O::SEES_ACCESSES;
    const SEES_OPERATIONS: bool = O::SEES_OPERATIONS;
    const SEES_GAUGES: bool = O::SEES_GAUGES;

    fn wants_operations(&self) -> bool {
        self.observer.wants_operations()
    }

    #[inline(always)]
    fn wants_gauges(&self) -> bool {
        self.observer.wants_gauges()
    }

    fn gauge(&mut self, name: &'static str, value: f64) {
        self.observer.gauge(name, value);
    }

    #[inline(always)]
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&destage_core::Plan>) {
        self.observer.access(r, hit, plan);
    }

    fn completed(&mut self, request: &Completed) {
        self.observer.completed(request);
    }

    fn operations(&mut self, operations: &mut dyn Iterator<Item = OperationRecord>) {
        self.observer.operations(operations);
    }

    fn progress(&mut self, accesses: u64) -> bool {
        self.hooks.accesses_done.fetch_add(accesses - self.reported, Ordering::Relaxed);
        self.reported = accesses;
        self.observer.progress(accesses) && !self.hooks.stop.load(Ordering::Relaxed)
    }
}

/// Runs every policy at every size on `jobs` threads.
///
/// The result's order is that of policies, then sizes, whatever the number of threads.
pub fn compare(
    input: &Input<'_>,
    specs: &[PolicySpec],
    sizes: &[Frames],
    options: &RunOptions,
    jobs: usize,
    hooks: &Hooks,
) -> Result<Vec<RunResult>, RunError> {
    compare_each(input, specs, sizes, options, jobs, hooks)?.into_iter().collect()
}

/// As [`compare`], with an outcome for each run: when it is stopped, those that ended are kept.
pub fn compare_each(
    input: &Input<'_>,
    specs: &[PolicySpec],
    sizes: &[Frames],
    options: &RunOptions,
    jobs: usize,
    hooks: &Hooks,
) -> Result<Vec<Result<RunResult, RunError>>, RunError> {
    // All are built once before the first runs: a typing error shows at once, not after an hour.
    for spec in specs {
        spec.params(&options.policy_defaults())?;
        options.suit(spec)?;
        supplies(spec, options.drive.is_some())?;
    }
    let runs = |spec: &PolicySpec| runs_of(spec, sizes.len());
    let tasks: Vec<_> =
        specs.iter().flat_map(|p| sizes[..runs(p)].iter().map(move |s| (p, s))).collect();
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<RunResult, RunError>>>> =
        Mutex::new((0..tasks.len()).map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, tasks.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    let Some((spec, size)) = tasks.get(k) else { break };
                    if hooks.stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let result = run(input, spec, size, options, hooks, &mut Unobserved);
                    results.lock().expect("no thread panics while it holds the lock")[k] =
                        Some(result);
                }
            });
        }
    });
    let results = results.into_inner().expect("all threads have ended");
    let mut done = results.into_iter().map(|r| r.unwrap_or(Err(RunError::Interrupted)));
    let mut all = Vec::with_capacity(specs.len() * sizes.len());
    for spec in specs {
        let first = all.len();
        all.extend(done.by_ref().take(runs(spec)));
        for size in &sizes[runs(spec)..] {
            let same = match &all[first] {
                Ok(run) => Ok(at_size(run, size)),
                Err(_) => Err(RunError::Interrupted),
            };
            all.push(same);
        }
    }
    Ok(all)
}

/// Runs that a policy takes for so many sizes: without a cache one does for all.
pub fn runs_of(spec: &PolicySpec, sizes: usize) -> usize {
    if spec.is_none() { sizes.min(1) } else { sizes }
}

/// A run without a cache, under another size of the cache that it does not have.
fn at_size(run: &RunResult, size: &Frames) -> RunResult {
    let config = RunConfig { frames: size.frames, cache: size.given.clone(), ..run.config.clone() };
    RunResult { config, ..run.clone() }
}

/// True if a policy of the list needs the next use of every access.
pub fn needs_next_use(specs: &[PolicySpec]) -> bool {
    specs.iter().any(|spec| needs(spec).contains(Needs::NEXT_USE))
}

/// What a policy needs of a run; no cache needs nothing.
pub fn needs(spec: &PolicySpec) -> Needs {
    destage_policies::needs(spec.name).unwrap_or(Needs::NONE)
}
