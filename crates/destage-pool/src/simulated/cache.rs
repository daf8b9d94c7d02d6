//! Decisions in front of a simulated SSD: the policy, the SSD, and their end
//! (`docs/spec/pool.md` 10.3).

use super::SimulatedDevice;
use crate::decide::Decider;
use crate::follow::Follower;
use crate::options::{OpenError, Options};
use destage_core::{AnyPolicy, Op, Plan, Request};
use destage_engine::live;
use destage_engine::result::Number;
use destage_engine::spec::PolicySpec;
use destage_replay::error::RunError;
use destage_replay::timed::{LiveRun, TimedOutcome};
use destage_replay::{Observer, Unobserved};
use destage_ssd::DeviceCounters;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

/// The policy and the simulated SSD behind it.
pub(crate) struct DeviceCache {
    run: Box<LiveRun>,
    policy: &'static str,
    frames: u32,
    device: SimulatedDevice,
    ended: Option<String>,
}

impl DeviceCache {
    /// A policy of the table, or none, for a store of so many pages.
    pub(crate) fn open(
        device: &SimulatedDevice,
        policy: &str,
        options: &Options,
        pages: u64,
    ) -> Result<DeviceCache, OpenError> {
        suits(device, options, pages)?;
        let spec = PolicySpec::parse(policy)?;
        let run = live::start(&spec, options.frames, pages, &device.0);
        Ok(Self::new(run.map_err(impossible)?, spec.name, options.frames, device))
    }

    /// A policy over hashed pages.
    pub(crate) fn with_policy(
        device: &SimulatedDevice,
        policy: AnyPolicy,
        options: &Options,
        pages: u64,
    ) -> Result<DeviceCache, OpenError> {
        suits(device, options, pages)?;
        let run = live::with_policy(Some(policy), &device.0);
        Ok(Self::new(run.map_err(impossible)?, "", options.frames, device))
    }

    fn new(run: LiveRun, policy: &'static str, frames: u32, device: &SimulatedDevice) -> Self {
        let (run, device) = (Box::new(run), device.clone());
        DeviceCache { run, policy, frames, device, ended: None }
    }

    fn unless_ended<T>(&mut self, result: Result<T, RunError>) -> io::Result<T> {
        result.map_err(|error| {
            self.ended = Some(error.to_string());
            io::Error::other(format!("simulated SSD: {error}"))
        })
    }

    pub(crate) fn counters(&self) -> DeviceCounters {
        self.run.counters()
    }

    pub(crate) fn outcome(&self) -> io::Result<TimedOutcome> {
        self.check()?;
        self.run.outcome().map_err(|error| io::Error::other(format!("simulated SSD: {error}")))
    }

    pub(crate) fn metrics(&self) -> io::Result<BTreeMap<&'static str, Option<Number>>> {
        Ok(live::metrics(self.outcome()?, self.policy, self.frames, &self.device.0))
    }
}

impl Decider for DeviceCache {
    fn check(&self) -> io::Result<()> {
        match &self.ended {
            None => Ok(()),
            Some(why) => Err(io::Error::other(format!("simulated SSD: {why}"))),
        }
    }

    fn is_timed(&self) -> bool {
        true
    }

    fn writes_through(&self) -> bool {
        true
    }

    fn request(
        &mut self,
        now_ns: u64,
        op: Op,
        pages: &Range<u64>,
        follower: &mut Follower<'_>,
    ) -> io::Result<Option<u64>> {
        let pages = pages.start as u32..pages.end as u32; // pages of the SSD: fewer than 2^32
        let end = self.run.request(now_ns, op, pages, follower);
        self.unless_ended(end).map(Some)
    }

    fn trim(
        &mut self,
        now_ns: u64,
        known: &[u64],
        pages: Range<u64>,
        forgotten: &mut dyn FnMut(u64, bool),
    ) -> io::Result<Option<u64>> {
        let end = self.run.trim(now_ns, known, pages, forgotten, &mut Unobserved);
        self.unless_ended(end).map(Some)
    }

    fn flush(&mut self, now_ns: u64) -> io::Result<Option<u64>> {
        let end = self.run.flush(now_ns, &mut Unobserved);
        self.unless_ended(end)
    }

    fn policy(&mut self) -> Option<&mut AnyPolicy> {
        None
    }
}

/// A page that the policy writes while a unit is idle is clean for it and the simulated SSD alone:
/// the pool writes it when it leaves, as any other that is evicted as clean.
impl Observer for Follower<'_> {
    fn access(&mut self, r: &Request, hit: bool, plan: Option<&Plan>) {
        match (hit, plan) {
            (true, _) => self.hit(r),
            (false, Some(plan)) => self.admitted(r, plan),
            // There is no cache.
            (false, None) => self.missed(r, None, r.op.is_write(), |_| {}),
        }
    }

    fn refused(&mut self, r: &Request, plan: &Plan) {
        self.bypassed(r, plan);
    }
}

/// The pool is one that the simulated SSD can stand behind.
fn suits(device: &SimulatedDevice, options: &Options, pages: u64) -> Result<(), OpenError> {
    let mounted = &device.0;
    let wrong = |what: String| Err(OpenError::Device(format!("device {}: {what}", mounted.name)));
    if options.page_bytes != device.page_bytes() {
        let own = device.page_bytes();
        return wrong(format!("its pages have {own} bytes, the pool's {}", options.page_bytes));
    }
    if pages > device.pages() {
        return wrong(format!("it has {} pages, the store {pages}", device.pages()));
    }
    if options.writer.is_some() {
        return wrong("it excludes a writer in the background".to_string());
    }
    Ok(())
}

fn impossible(error: RunError) -> OpenError {
    OpenError::Device(error.to_string())
}
