//! Runs with tiers below the cache, and runs of a language model's requests
//! (`docs/spec/tiers.md`).

use super::outcome::Outcome;
use super::requirements::{check_ttl, needs_a_device, requirements};
use super::runner::{Followed, Runner, replay_of};
use crate::checked::Checked;
use crate::mounted::Mounted;
use crate::options::RunOptions;
use crate::pinning;
use crate::spec::PolicySpec;
use crate::tier_options::{NO_SIZE, TierOptions};
use crate::tiers::LowerTiersSpec;
use destage_core::{AnyPolicy, Policy, Requirements};
use destage_policies::{Setup, admission, dense};
use destage_replay::control::Control;
use destage_replay::counters::Counters;
use destage_replay::error::RunError;
use destage_replay::input::Input;
use destage_replay::kv::{
    Chains, KvReplay, KvReplayed, TokenTime, Touch, page_counters, prefix_min,
};
use destage_replay::observe::Observer;
use destage_replay::pinned;
use destage_replay::replay::Replayed;
use destage_replay::tiers::through::Through;
use destage_replay::tiers::{LowerTiers, LowerTiersParts, Slots, untimed};
use destage_replay::timed::{BackingStore, BackingTimes, StoreTimes};
use destage_replay::windows::Windows;
use std::sync::Arc;

/// Time of a read or write of the backing store, nanoseconds, unless the run says otherwise.
const BACKING_NS: u64 = 1_000_000;

/// The same of tier 3.
const TIER3_NS: u64 = 200_000;

/// One run.
pub(super) struct TieredRunner<'a> {
    pub(super) input: &'a Input<'a>,
    pub(super) options: &'a RunOptions,
    pub(super) control: &'a Control,
    pub(super) observer: &'a mut dyn Observer,
}

/// The policy suits the flash tier and the requests that the options ask for.
///
/// # Errors
///
/// [`RunError::Impossible`], which names both keys and says why.
pub(super) fn suits(spec: &PolicySpec, options: &RunOptions) -> Result<(), RunError> {
    let impossible = |what: String| Err(RunError::Impossible(what));
    let tiers = &options.tiers;
    tiers.check().map_err(RunError::Impossible)?;
    if spec.is_prefix_min() && !tiers.kv {
        return impossible("prefix-min is the bound of cached prefixes: add kv (--kv)".into());
    }
    suits_ttl(spec, options)?;
    pinning::suits(spec, options).map_err(RunError::Impossible)?;
    if !tiers.kv && tiers.tier2.is_none() {
        return Ok(());
    }
    let key = if tiers.kv { "kv" } else { "tier2" };
    if let Some(drive) = &options.drive {
        suits_drive(drive, tiers)?;
    } else if tiers.tier2.is_some() && tiers.tier2_cache.is_none() {
        return impossible(NO_SIZE.into());
    }
    if options.cost.is_some() {
        return impossible(format!("{key} excludes cost: the reads and writes are of two stores"));
    }
    if tiers.kv && options.check {
        return impossible("kv excludes check: its laws are of page accesses".into());
    }
    tiers.check_times(options.drive.is_some()).map_err(RunError::Impossible)?;
    suits_touch(spec, tiers)?;
    if let Some(lower) = spec_of_tiers(options)? {
        if tiers.kv && spec.is_none() {
            return impossible("kv excludes none: blocks are offered by the cache above".into());
        }
        if options.check && spec.is_none() {
            return impossible("check excludes none: it keeps no page to check".into());
        }
        suits_worth(options, &lower)?;
        lower.suits(spec)?;
        return match lower.between() {
            Some(key) if options.drive.is_some() => impossible(format!(
                "{key} excludes device (--device): when it reads and writes there is not \
                 specified. Leave one of them out"
            )),
            _ => Ok(()),
        };
    }
    let info = destage_policies::info(spec.name);
    if spec.is_none() || info.is_ok_and(|info| info.clusters) {
        return impossible(format!("kv excludes {}: it keeps no page that is read", spec.label()));
    }
    Ok(())
}

/// A time to live suits the run (`docs/spec/tiers.md` 4.10).
fn suits_ttl(spec: &PolicySpec, options: &RunOptions) -> Result<(), RunError> {
    let impossible = |what: String| Err(RunError::Impossible(what));
    if options.tiers.ttl.is_none() {
        return Ok(());
    }
    if options.drive.is_some() {
        let what = "ttl (--ttl) excludes device (--device): when an expired page is written there \
            is not specified. Leave one of them out";
        return impossible(what.into());
    }
    if options.check {
        return impossible(
            "ttl (--ttl) excludes check: a page leaves without a miss of its own".into(),
        );
    }
    let info = destage_policies::info(spec.name).ok(); // of prefix-min there is none
    let why = match () {
        () if requirements(spec).contains(Requirements::NEXT_USE) => {
            "it expects a page to be there at its next use"
        }
        () if info.is_some_and(|info| info.admission) => "it bypasses pages",
        () if info.is_some_and(|info| info.clusters) => "its pages leave by erase blocks",
        () => return Ok(()),
    };
    impossible(format!("ttl (--ttl) excludes {}: {why}", spec.label()))
}

/// A policy that holds blocks back for their successors meets these first.
fn suits_touch(spec: &PolicySpec, tiers: &TierOptions) -> Result<(), RunError> {
    let info = destage_policies::info(spec.name);
    if tiers.touch != Some(Touch::HeadFirst) || !info.is_ok_and(|info| info.tail_first) {
        return Ok(());
    }
    Err(RunError::Impossible(format!(
        "touch = head-first (--touch) excludes {}: a block is worth at least what its successors \
         are, which it must meet first. Leave touch out, or give tail-first",
        spec.name
    )))
}

/// A filter that weighs reading a block against computing it has both times.
fn suits_worth(options: &RunOptions, lower: &LowerTiersSpec) -> Result<(), RunError> {
    let reads = read_times(options);
    let tier3 = lower.tier3.as_ref().map(|tier3| (tier3, "tier3", reads.1));
    for (tier, key, read_ns) in [(&lower.tier2, "tier2", reads.0)].into_iter().chain(tier3) {
        let name = tier.admit.name;
        if !admission::info(name)?.reads_compute_time {
            continue;
        }
        if options.tiers.token_time().is_none() {
            return Err(RunError::Impossible(format!(
                "admit={name} weighs reading a block against computing it: add kv (--kv) and \
                 token_ns (--token-ns)"
            )));
        }
        if read_ns.is_none() && !tier.admit.given.iter().any(|(given, _)| given == "read_ns") {
            let flag = if options.drive.is_some() {
                String::new()
            } else {
                format!(" or add {key}_read_ns (--{key}-read-ns)")
            };
            return Err(RunError::Impossible(format!(
                "admit={name} needs the time of reading a block: give {name}[read_ns=200us]{flag}"
            )));
        }
    }
    Ok(())
}

/// Times of reads of tiers 2 and 3 that the options give, nanoseconds.
fn read_times(options: &RunOptions) -> (Option<u64>, Option<u64>) {
    let tiers = &options.tiers;
    let has_default = options.drive.is_some();
    (tiers.tier2_read_ns, tiers.tier3_read_ns.or(has_default.then_some(TIER3_NS)))
}

/// The device stands behind tier 2, and has its slots.
fn suits_drive(drive: &Mounted, tiers: &TierOptions) -> Result<(), RunError> {
    let impossible = |what: String| Err(RunError::Impossible(what));
    if tiers.tier2.is_none() {
        let what = "kv excludes a device without a flash tier: add tier2 (--tier2), whose blocks \
            are written to it";
        return impossible(what.into());
    }
    if drive.host.writer.is_some() {
        return impossible("tier2 excludes host: writer: it writes pages that stay".into());
    }
    if drive.placement.is_some() {
        let what = "tier2 excludes placement: policy: a slot is no page of the trace";
        return impossible(what.into());
    }
    let (Some(frames), slot) = (tiers.tier2_frames, tiers.slot_pages.unwrap_or(1)) else {
        return Ok(());
    };
    let logical = u64::from(drive.device.geometry().logical_pages);
    let needed = u64::from(frames) * u64::from(slot);
    if needed > logical {
        let each = if slot == 1 { String::new() } else { format!(", {slot} of the device each") };
        return impossible(format!(
            "tier2_cache (--tier2-cache): {frames} pages{each} are more than the device {} has: \
             {logical} logical pages",
            drive.name
        ));
    }
    Ok(())
}

/// The tiers below the cache; before the trace is known, of one frame each.
fn spec_of_tiers(options: &RunOptions) -> Result<Option<LowerTiersSpec>, RunError> {
    let mut tiers = options.tiers.clone();
    tiers.tier2_frames.get_or_insert(1);
    tiers.tier3_frames.get_or_insert(1);
    tiers.spec(options.fetch_on_write_miss)
}

/// Filters and rules that follow the arrivals of requests have them.
fn check_times(lower: Option<&LowerTiersSpec>, input: &Input<'_>) -> Result<(), RunError> {
    let has_times = input.arrivals_ns.last() > input.arrivals_ns.first();
    if let Some(key) = lower.and_then(LowerTiersSpec::between).filter(|_| !has_times) {
        return Err(RunError::Impossible(format!(
            "{key} needs arrival times, and the trace has none, or one for all requests: leave it \
             out, or take a trace with times"
        )));
    }
    let tiers = lower.into_iter().flat_map(|lower| {
        let tier3 = lower.tier3.iter().map(|tier3| ("tier3_admit", tier3));
        std::iter::once(("admit", &lower.tier2)).chain(tier3)
    });
    let mut filters = tiers.map(|(key, tier)| (key, tier.admit.name));
    let reads_time = |name: &str| admission::info(name).is_ok_and(|info| info.reads_time);
    let Some((key, name)) = filters.find(|(_, name)| reads_time(name)) else { return Ok(()) };
    if has_times {
        return Ok(());
    }
    Err(RunError::Impossible(format!(
        "{key}={name} needs arrival times, and the trace has none, or one for all requests: take \
         nth, probability, tinylfu or larc, or a trace with times"
    )))
}

impl TieredRunner<'_> {
    /// Runs the policy.
    pub(super) fn run(self, spec: &PolicySpec, setup: &Setup) -> Result<Outcome, RunError> {
        let lower = self.options.tiers.spec(self.options.fetch_on_write_miss)?;
        check_times(lower.as_ref(), self.input)?;
        check_ttl(self.options, self.input)?;
        let says = self.options.says();
        let compute_ns = self.compute_ns(spec, lower.as_ref());
        let mut lower =
            lower.map(|lower| lower.parts(self.input.columns.lpns, &says)).transpose()?;
        if let (Some(lower), Some(times)) = (&mut lower, &compute_ns) {
            lower.learn(times, read_times(self.options));
        }
        let setup = &Setup { compute_ns, ..setup.clone() };
        match (self.options.tiers.kv, lower, &self.options.drive) {
            (_, Some(lower), Some(drive)) => self.timed(drive, spec, setup, lower.erased()?),
            (true, lower, _) => {
                let lower = lower.map(LowerTiersParts::erased).transpose()?;
                self.requests(spec, setup, lower)
            }
            (false, Some(lower), None) => self.pages(spec, setup, lower),
            (false, None, _) => Err(needs_a_device(&spec.label())),
        }
    }

    /// Time of computing each block of prompts, by page, where it is asked for; a nanosecond a
    /// token if it is not given. The chains are checked later.
    fn compute_ns(&self, spec: &PolicySpec, lower: Option<&LowerTiersSpec>) -> Option<Arc<[u64]>> {
        let TieredRunner { input, options, .. } = self;
        let given = options.tiers.token_time();
        let below = lower.map(|lower| {
            std::iter::once(&lower.tier2).chain(&lower.tier3).map(|tier| &tier.policy)
        });
        let mut policies = std::iter::once(spec).chain(below.into_iter().flatten());
        let asks =
            |spec: &PolicySpec| destage_policies::info(spec.name).is_ok_and(|info| info.tail_first);
        if !options.tiers.kv || given.is_none() && !policies.any(asks) {
            return None;
        }
        let (ids, marks) = (input.columns.first_ids, input.chains);
        let chains = Chains { ids, marks, compute_ns: None };
        Some(given.unwrap_or(TokenTime::UNIT).of_blocks(&chains, input.columns.lpns.len()))
    }

    /// Page accesses, over several tiers.
    fn pages(
        self,
        spec: &PolicySpec,
        setup: &Setup,
        lower: LowerTiersParts<'_>,
    ) -> Result<Outcome, RunError> {
        let TieredRunner { input, options, control, observer } = self;
        let replay = replay_of(input, options);
        let watches = observer.watches();
        let mut followed = Followed::new(observer, control);
        let pages = input.columns.lpns.len() as u32;
        let (ttl_ns, pins) = (options.tiers.ttl_ns(), options.tiers.pins.tier1.as_ref());
        let replayed = if spec.is_none() {
            let (mut through, lower) = (Through::default(), lower.erased()?);
            untimed::run_expiring(&replay, &mut through, lower, ttl_ns, &mut followed)
        } else if ttl_ns.is_some() {
            let mut policy = dense(spec.name, setup, pages)?;
            untimed::run_expiring(&replay, &mut policy, lower.erased()?, ttl_ns, &mut followed)
        } else if options.check {
            let policy = dense(spec.name, setup, pages)?;
            let every = u64::from(policy.frames());
            let mut checked = Checked::new(policy, every);
            let replayed = untimed::run(&replay, &mut checked, lower.erased()?, &mut followed);
            checked.finish().map_err(|violation| RunError::Broken(violation.to_string()))?;
            replayed
        } else if watches || pins.is_some() {
            let mut policy = pinned::dense(spec.name, setup, pages, pins)?;
            untimed::run(&replay, &mut policy, lower.erased()?, &mut followed)
        } else {
            untimed::run_unwatched(&replay, spec.name, setup, lower, &mut followed)?
        };
        let requests = input.columns.first_ids.len() as u64;
        Ok(of_tiers(replayed.ok_or(RunError::Interrupted)?, requests, options))
    }

    /// Several tiers, the device behind the second.
    fn timed(
        self,
        drive: &Mounted,
        spec: &PolicySpec,
        setup: &Setup,
        lower: LowerTiers<'_>,
    ) -> Result<Outcome, RunError> {
        let TieredRunner { input, options, control, observer } = self;
        let pages = input.columns.lpns.len();
        let trims = options.drops_trims();
        let slots = Slots::new(pages, options.tiers.slot_pages.unwrap_or(1), trims);
        let runner = Runner { input, options, control, observer };
        if spec.is_none() {
            return through(runner, drive, &mut Through::default(), (lower, slots));
        }
        let pins = options.tiers.pins.tier1.as_ref();
        let policy = pinned::dense(spec.name, setup, pages as u32, pins)?;
        if options.tiers.kv {
            return prompts(runner, drive, (policy, setup), (lower, slots));
        }
        if !options.check {
            return through(runner, drive, &mut { policy }, (lower, slots));
        }
        let every = u64::from(policy.frames());
        let mut checked = Checked::new(policy, every);
        let outcome = through(runner, drive, &mut checked, (lower, slots));
        checked.finish().map_err(|violation| RunError::Broken(violation.to_string()))?;
        outcome
    }

    /// Requests of a language model, over one tier or several.
    fn requests(
        self,
        spec: &PolicySpec,
        setup: &Setup,
        lower: Option<LowerTiers<'_>>,
    ) -> Result<Outcome, RunError> {
        let replay = kv_replay(self.input, self.options, setup)?;
        let TieredRunner { input, control, observer, .. } = self;
        let mut followed = Followed::new(observer, control);
        let has_tier2 = lower.is_some();
        let replayed = if spec.is_prefix_min() {
            prefix_min::run(&replay, setup.frames, &mut followed).map_err(RunError::Impossible)?
        } else {
            let policy = dense(spec.name, setup, input.columns.lpns.len() as u32)?;
            replay.run(policy, lower, &mut followed)
        };
        Ok(of_requests(replayed.ok_or(RunError::Interrupted)?, has_tier2))
    }
}

/// The requests of a language model, with the options of the run.
fn kv_replay<'a>(
    input: &'a Input<'a>,
    options: &RunOptions,
    setup: &'a Setup,
) -> Result<KvReplay<'a>, RunError> {
    let chains = Chains::of(&input.columns, input.chains).map_err(RunError::Impossible)?;
    let is_counted = options.tiers.token_ns.is_some();
    Ok(KvReplay {
        columns: input.columns,
        chains: chains.with_compute_ns(setup.compute_ns.as_deref().filter(|_| is_counted)),
        next_uses: input.next_uses,
        arrivals_ns: input.arrivals_ns,
        warmup: options.warmup,
        touch: options.tiers.touch.unwrap_or_default(),
        ttl_ns: options.tiers.ttl_ns(),
    })
}

/// Times of the third tier.
fn tier3_times(tiers: &TierOptions) -> StoreTimes {
    StoreTimes {
        read_ns: tiers.tier3_read_ns.unwrap_or(TIER3_NS),
        write_ns: tiers.tier3_write_ns.unwrap_or(TIER3_NS),
    }
}

/// Times of the store below all tiers, which has pages with these LPNs.
fn backing_times(tiers: &TierOptions, lpns: &[u64]) -> Result<BackingStore, RunError> {
    if let Some(spec) = tiers.backing_spec()? {
        let disk = spec.disk_times(tiers.page_bytes.unwrap_or(1), lpns.last().copied())?;
        if let Some(disk) = disk {
            return Ok(BackingStore::Disk(disk));
        }
    }
    Ok(BackingStore::Constant(StoreTimes {
        read_ns: tiers.backing_read_ns.unwrap_or(BACKING_NS),
        write_ns: tiers.backing_write_ns.unwrap_or(BACKING_NS),
    }))
}

/// Page accesses through several tiers in front of a device.
fn through<P: Policy>(
    runner: Runner<'_>,
    drive: &Mounted,
    policy: &mut P,
    below: (LowerTiers<'_>, Slots),
) -> Result<Outcome, RunError> {
    let tiers = &runner.options.tiers;
    let backing = backing_times(tiers, runner.input.columns.lpns)?;
    let backing = BackingTimes { tier3: tier3_times(tiers), backing };
    let mut below = Some(below);
    let outcome = runner.timed(drive, &to_flash, &mut |replay, device, observer| {
        let (lower, slots) = below.take().expect("a run is done once");
        let times = (&drive.cache, backing);
        replay.run_tiers(device, (&mut *policy, lower), slots, times, observer)
    })?;
    let tiers = Some(outcome.counters.tiers);
    Ok(Outcome { tiers, ..outcome })
}

/// Requests of a language model through several tiers in front of a device.
fn prompts(
    runner: Runner<'_>,
    drive: &Mounted,
    (policy, setup): (AnyPolicy, &Setup),
    below: (LowerTiers<'_>, Slots),
) -> Result<Outcome, RunError> {
    let kv = kv_replay(runner.input, runner.options, setup)?;
    let tier3 = tier3_times(&runner.options.tiers);
    let (mut parts, mut counted) = (Some((policy, below)), None);
    let outcome = runner.timed(drive, &to_flash, &mut |replay, device, observer| {
        let (policy, (lower, slots)) = parts.take().expect("a run is done once");
        let slots = (slots, tier3);
        let outcome = replay.run_chains(&kv, device, (policy, lower), slots, observer)?;
        counted = Some(outcome.kv);
        Ok(outcome)
    })?;
    let (kv, tiers) = (counted.expect("the run has ended"), outcome.counters.tiers);
    let mut counters = page_counters(&kv, &tiers, true);
    to_flash(&mut counters);
    let windows = outcome.windows.map(of_prompts);
    Ok(Outcome { counters, tiers: Some(tiers), kv: Some(kv), windows, ..outcome })
}

/// Windows of prompts: their hits are tokens, to which those of tier 2, blocks, are not added.
fn of_prompts(windows: Windows) -> Windows {
    Windows { overall_hits: None, backing_reads: None, ..windows }
}

/// Sets the flash reads and writes of two tiers, which are those of tier 2.
fn to_flash(counters: &mut Counters) {
    counters.physical_reads = counters.tiers.tier2.tier2_reads;
    counters.physical_writes = counters.tiers.tier2.tier2_writes;
}

/// Counts of two tiers; what is written to flash are the writes of tier 2.
fn of_tiers(mut replayed: Replayed, requests: u64, options: &RunOptions) -> Outcome {
    if options.flush_at_end {
        replayed.flush();
    }
    let mut counters = replayed.counters;
    to_flash(&mut counters);
    Outcome {
        counters,
        own: replayed.own,
        gauges: replayed.gauges,
        destage_pages: replayed.destage_pages.summary(),
        warmup_requests: replayed.warmup_requests,
        requests,
        started_ns: None,
        windows: replayed.parts.finish(None, &to_flash),
        dirty_at_start: replayed.dirty_at_start,
        dirty_left: replayed.dirty_left,
        timing: None,
        profile: None,
        future: None,
        tiers: Some(counters.tiers),
        disk: None,
        kv: None,
    }
}

/// Counts of requests; what is written to flash are the blocks that the lowest tier takes in.
fn of_requests(replayed: KvReplayed, has_tier2: bool) -> Outcome {
    let to_flash = |counters: &mut Counters| {
        counters.physical_reads = counters.tiers.tier2.tier2_reads;
        counters.physical_writes = counters.destaged_pages;
    };
    let mut counters = page_counters(&replayed.kv, &replayed.tiers, has_tier2);
    to_flash(&mut counters);
    Outcome {
        counters,
        own: replayed.own,
        gauges: replayed.gauges,
        destage_pages: None,
        warmup_requests: replayed.warmup_requests,
        requests: replayed.warmup_requests + replayed.kv.requests,
        started_ns: None,
        windows: replayed.parts.finish(None, &to_flash).map(of_prompts),
        dirty_at_start: 0,
        dirty_left: 0,
        timing: None,
        profile: None,
        future: None,
        tiers: has_tier2.then_some(replayed.tiers),
        disk: None,
        kv: Some(replayed.kv),
    }
}
