//! The loop that a run takes: with or without a drive, checked or not, followed from outside.

use super::outcome::{Outcome, physical};
use super::requirements::{check_ttl, needs_a_device};
use crate::checked::Checked;
use crate::mounted::Mounted;
use crate::options::RunOptions;
use destage_core::{Nanos, Page, Policy, Request};
use destage_policies::Setup;
use destage_replay::control::Control;
use destage_replay::control_commands::ControlCommands;
use destage_replay::counters::Counters;
use destage_replay::error::RunError;
use destage_replay::input::Input;
use destage_replay::kv::KvDecision;
use destage_replay::observe::{Completed, Observer};
use destage_replay::pinned;
use destage_replay::replay::{Replay, Replayed};
use destage_replay::tiers::TierDecision;
use destage_replay::timed::{Profiler, TimedOutcome, TimedReplay};
use destage_replay::ttl;
use destage_ssd::{Device, OperationRecord};
use std::sync::atomic::Ordering;

/// One run.
pub(super) struct Runner<'a> {
    pub(super) input: &'a Input<'a>,
    pub(super) options: &'a RunOptions,
    pub(super) control: &'a Control,
    pub(super) observer: &'a mut dyn Observer,
}

impl Runner<'_> {
    /// A policy of the table: in a loop of its own without a drive and an observer.
    pub(super) fn named(self, name: &str, setup: &Setup) -> Result<Outcome, RunError> {
        let Runner { options, .. } = self;
        if let Some(ttl_ns) = options.tiers.ttl_ns() {
            return self.expiring(name, setup, ttl_ns);
        }
        let pins = options.tiers.pins.tier1.as_ref();
        let is_fast = options.drive.is_none() && pins.is_none();
        if !is_fast || options.check || self.observer.watches() {
            let pages = self.input.columns.lpns.len() as u32;
            let policy = pinned::dense(name, setup, pages, pins)?;
            return self.watched(policy);
        }
        let replay = replay_of(self.input, self.options);
        let mut followed = Followed::new(self.observer, self.control);
        let replayed = replay.run_unwatched(name, setup, &mut followed)?;
        Ok(untimed(replayed.ok_or(RunError::Interrupted)?, self.input, options))
    }

    /// A policy of the table, its pages with a time to live.
    fn expiring(self, name: &str, setup: &Setup, ttl_ns: u64) -> Result<Outcome, RunError> {
        check_ttl(self.options, self.input)?;
        let pages = self.input.columns.lpns.len() as u32;
        let mut policy = destage_policies::dense(name, setup, pages)?;
        let replay = replay_of(self.input, self.options);
        let mut followed = Followed::new(self.observer, self.control);
        let replayed = ttl::run(&replay, &mut policy, ttl_ns, &mut followed);
        Ok(untimed(replayed.ok_or(RunError::Interrupted)?, self.input, self.options))
    }

    /// Any policy; checked, if the options say so.
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
        let options = self.options;
        if let Some(drive) = &options.drive {
            let through = |counters: &mut Counters| physical(counters, options);
            return self.timed(drive, &through, &mut |replay, device, observer| {
                replay.run(device, policy, &drive.cache, observer)
            });
        }
        let replay = replay_of(self.input, self.options);
        let mut followed = Followed::new(self.observer, self.control);
        let replayed = replay.run(policy, &mut followed).ok_or(RunError::Interrupted)?;
        Ok(untimed(replayed, self.input, options))
    }

    pub(super) fn without_a_cache(self) -> Result<Outcome, RunError> {
        let Some(drive) = &self.options.drive else {
            return Err(needs_a_device("none"));
        };
        let through = |counters: &mut Counters| {
            counters.physical_reads = counters.read_misses;
            counters.physical_writes = counters.write_misses;
        };
        self.timed(drive, &through, &mut |replay, device, observer| {
            replay.run_bare(device, observer)
        })
    }

    /// A run in front of the drive; `physical` says what of it went to flash.
    pub(super) fn timed(
        self,
        drive: &Mounted,
        physical: &dyn Fn(&mut Counters),
        run: &mut Timed<'_>,
    ) -> Result<Outcome, RunError> {
        if self.options.tiers.tier2.is_none() {
            drive.holds(self.input.columns.lpns)?;
        }
        let mut device = drive.device.lend();
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
        let followed = Followed::new(self.observer, self.control);
        let mut observers = (followed, profiler);
        let outcome = run(&replay, &mut device, &mut observers)?;
        let TimedOutcome { pages: mut counters, destage_pages, timing, .. } = outcome;
        physical(&mut counters);
        Ok(Outcome {
            counters,
            own: outcome.own,
            gauges: outcome.gauges,
            destage_pages: destage_pages.summary(),
            warmup_requests: outcome.warmup_requests,
            requests: outcome.requests,
            started_ns: Some(outcome.started_ns),
            windows: outcome.parts.finish(Some(&timing), physical),
            dirty_at_start: outcome.dirty_at_start,
            dirty_left: outcome.dirty_left,
            timing: Some(timing),
            profile: observers.1.map(Profiler::finish),
            future: device.future(),
            tiers: None,
            disk: outcome.disk,
            kv: None,
        })
    }
}

/// A run without a drive, with the options of the run.
pub(super) fn replay_of<'a>(input: &'a Input<'a>, options: &RunOptions) -> Replay<'a> {
    Replay {
        columns: input.columns,
        next_uses: input.next_uses,
        warmup: options.warmup,
        arrivals_ns: input.arrivals_ns,
        trims: if options.drops_trims() { input.control_commands } else { ControlCommands::NONE },
    }
}

/// Counts of a run without a drive, with the options of the run put in.
pub(super) fn untimed(replayed: Replayed, input: &Input<'_>, options: &RunOptions) -> Outcome {
    let Replayed { mut counters, mut dirty_left, .. } = replayed;
    if options.flush_at_end {
        counters.end_flushes = std::mem::take(&mut dirty_left);
    }
    physical(&mut counters, options);
    Outcome {
        counters,
        own: replayed.own,
        gauges: replayed.gauges,
        destage_pages: replayed.destage_pages.summary(),
        warmup_requests: replayed.warmup_requests,
        requests: input.columns.first_ids.len() as u64,
        started_ns: None,
        windows: replayed.parts.finish(None, &|counters| physical(counters, options)),
        dirty_at_start: replayed.dirty_at_start,
        dirty_left,
        timing: None,
        profile: None,
        future: None,
        tiers: None,
        disk: None,
        kv: None,
    }
}

/// Outcome of a timed replay.
pub(super) type TimedResult = Result<TimedOutcome, RunError>;

/// A run in front of a device, by the caller, with the policy's type.
pub(super) type Timed<'r> =
    dyn FnMut(&TimedReplay<'_>, &mut Device, &mut dyn Observer) -> TimedResult + 'r;

/// Passes decisions on to the caller's observer, and progress to the control.
pub(super) struct Followed<'a> {
    observer: &'a mut dyn Observer,
    control: &'a Control,
    reported: u64,
}

impl<'a> Followed<'a> {
    /// Follows a run from its beginning.
    pub(super) fn new(observer: &'a mut dyn Observer, control: &'a Control) -> Self {
        Followed { observer, control, reported: 0 }
    }
}

impl Observer for Followed<'_> {
    fn watches(&self) -> bool {
        self.observer.watches()
    }

    fn wants_operations(&self) -> bool {
        self.observer.wants_operations()
    }

    fn wants_gauges(&self) -> bool {
        self.observer.wants_gauges()
    }

    fn gauge(&mut self, name: &'static str, value: f64) {
        self.observer.gauge(name, value);
    }

    fn access(&mut self, r: &Request, hit: bool, plan: Option<&destage_core::Plan>) {
        self.observer.access(r, hit, plan);
    }

    fn refused(&mut self, r: &Request, plan: &destage_core::Plan) {
        self.observer.refused(r, plan);
    }

    fn tiers(&mut self, decision: &TierDecision) {
        self.observer.tiers(decision);
    }

    fn chain(&mut self, decision: &KvDecision) {
        self.observer.chain(decision);
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
