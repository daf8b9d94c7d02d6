//! The loop that a run takes: with or without a drive, checked or not, followed from outside.

use super::outcome::{Outcome, physical};
use super::requirements::needs_a_device;
use crate::checked::Checked;
use crate::control::Control;
use crate::control_commands::ControlCommands;
use crate::counters::Counters;
use crate::error::RunError;
use crate::input::Input;
use crate::mounted::Mounted;
use crate::observe::{Completed, Observer, Unobserved};
use crate::options::RunOptions;
use crate::replay::{Replay, Replayed};
use crate::timed::{Profiler, TimedOutcome, TimedReplay};
use destage_core::{Nanos, Page, Policy, Request};
use destage_policies::Visitor;
use destage_ssd::{Device, OperationRecord};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// One run.
pub(super) struct Runner<'a, O> {
    pub(super) input: &'a Input<'a>,
    pub(super) options: &'a RunOptions,
    pub(super) control: &'a Control,
    pub(super) observer: &'a mut O,
}

/// A run that nobody watches: compiled for each policy.
impl Visitor for Runner<'_, Unobserved> {
    type Output = Result<Outcome, RunError>;

    fn visit<P: Policy>(self, mut policy: P) -> Self::Output {
        self.replay(&mut policy)
    }
}

impl<O: Observer> Runner<'_, O> {
    /// A run that is watched; or checked, if the options say so.
    pub(super) fn watched<P: Policy>(self, mut policy: P) -> Result<Outcome, RunError> {
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

    fn replay<P: Policy>(self, policy: &mut P) -> Result<Outcome, RunError> {
        if let Some(drive) = self.options.drive.clone() {
            let options = self.options;
            let through = |counters: &mut Counters| physical(counters, options);
            let mut outcome = self.timed(&drive, &through, &mut |replay, device, observer| {
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
            trims: if self.options.drops_trims() {
                self.input.control_commands
            } else {
                ControlCommands::NONE
            },
        };
        let mut followed = Followed { observer: self.observer, control: self.control, reported: 0 };
        let replayed = replay.run(policy, &mut followed).ok_or(RunError::Interrupted)?;
        Ok(untimed(replayed, gauges(policy), policy.dirty_pages(), self.options))
    }

    pub(super) fn without_a_cache(self) -> Result<Outcome, RunError> {
        let Some(drive) = self.options.drive.clone() else {
            return Err(needs_a_device("none"));
        };
        let through = |counters: &mut Counters| {
            counters.physical_reads = counters.read_misses;
            counters.physical_writes = counters.write_misses;
        };
        self.timed(&drive, &through, &mut |replay, device, observer| {
            replay.run_bare(device, observer)
        })
    }

    /// A run in front of a clone of the drive; `physical` says what of it went to flash.
    fn timed(
        self,
        drive: &Mounted,
        physical: &dyn Fn(&mut Counters),
        run: &mut Timed<'_, O>,
    ) -> Result<Outcome, RunError> {
        drive.holds(self.input.columns.lpns)?;
        let mut device = drive.device.clone();
        let trim = self.options.trims(Some(&drive.host)).into();
        let host = drive.host.with_trim(trim, device.config());
        let host = host.map_err(|e| RunError::Impossible(e.to_string()))?;
        let replay = TimedReplay {
            input: *self.input,
            host,
            warmup: self.options.warmup,
            fetch_on_write_miss: self.options.fetch_on_write_miss,
            flush_at_end: self.options.flush_at_end,
        };
        let geometry = device.geometry();
        let main_blocks = geometry.planes * geometry.blocks_per_plane;
        let profiler = self.options.profile.then(|| Profiler::new(geometry.units, main_blocks));
        let followed = Followed { observer: self.observer, control: self.control, reported: 0 };
        let mut observers = (followed, profiler);
        let outcome = run(&replay, &mut device, &mut observers)?;
        let TimedOutcome { pages: mut counters, destage_pages, timing, .. } = outcome;
        physical(&mut counters);
        Ok(Outcome {
            counters,
            own: outcome.own,
            gauges: BTreeMap::new(),
            destage_pages: destage_pages.summary(),
            warmup_requests: outcome.warmup_requests,
            windows: outcome.parts.finish(Some(&timing), physical),
            dirty_left: outcome.dirty_left,
            timing: Some(timing),
            profile: observers.1.map(Profiler::finish),
            future: device.future(),
        })
    }
}

/// What a run without a drive counted, with the options of the run put in.
pub(super) fn untimed(
    replayed: Replayed,
    gauges: BTreeMap<String, f64>,
    mut dirty_left: u64,
    options: &RunOptions,
) -> Outcome {
    let mut counters = replayed.counters;
    if options.flush_at_end {
        counters.end_flushes = std::mem::take(&mut dirty_left);
    }
    physical(&mut counters, options);
    Outcome {
        counters,
        own: replayed.own,
        gauges,
        destage_pages: replayed.destage_pages.summary(),
        warmup_requests: replayed.warmup_requests,
        windows: replayed.parts.finish(None, &|counters| physical(counters, options)),
        dirty_left,
        timing: None,
        profile: None,
        future: None,
    }
}

/// A run in front of a drive, by whoever knows the policy.
type Timed<'r, O> = dyn FnMut(
        &TimedReplay<'_>,
        &mut Device,
        &mut (Followed<'_, O>, Option<Profiler>),
    ) -> Result<TimedOutcome, RunError>
    + 'r;

/// Where a policy has adapted to.
fn gauges<P: Policy>(policy: &P) -> BTreeMap<String, f64> {
    let mut gauges = BTreeMap::new();
    policy.gauges(&mut |name, value| {
        gauges.insert(name.to_string(), value);
    });
    gauges
}

/// Passes decisions on to the caller's observer, and progress to the control.
struct Followed<'a, O> {
    observer: &'a mut O,
    control: &'a Control,
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

    fn refused(&mut self, r: &Request, plan: &destage_core::Plan) {
        self.observer.refused(r, plan);
    }

    fn idle_write(&mut self, at_ns: Nanos, page: Page) {
        self.observer.idle_write(at_ns, page);
    }

    fn completed(&mut self, request: &Completed) {
        self.observer.completed(request);
    }

    fn operations(&mut self, operations: &mut dyn Iterator<Item = OperationRecord>) {
        self.observer.operations(operations);
    }

    fn progress(&mut self, accesses: u64) -> bool {
        self.control.accesses_done.fetch_add(accesses - self.reported, Ordering::Relaxed);
        self.reported = accesses;
        self.observer.progress(accesses) && !self.control.stop.load(Ordering::Relaxed)
    }
}
