//! Runs with a flash tier below the cache, and runs of a language model's requests
//! (`docs/spec/tiers.md`).

use super::outcome::Outcome;
use super::requirements::needs_a_device;
use super::runner::{Followed, replay_of};
use crate::checked::Checked;
use crate::options::RunOptions;
use crate::spec::PolicySpec;
use destage_core::Policy;
use destage_policies::{Setup, dense};
use destage_replay::control::Control;
use destage_replay::error::RunError;
use destage_replay::input::Input;
use destage_replay::kv::{Chains, KvReplay, KvReplayed, page_counters, prefix_min};
use destage_replay::observe::Observer;
use destage_replay::replay::Replayed;
use destage_replay::tiers::{Tier2, untimed};

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
    if !tiers.kv && tiers.tier2.is_none() {
        return Ok(());
    }
    let key = if tiers.kv { "kv" } else { "tier2" };
    if options.drive.is_some() {
        return impossible(format!("{key} excludes a device: such runs have no times yet"));
    }
    if options.cost.is_some() {
        return impossible(format!("{key} excludes cost: the reads and writes are of two stores"));
    }
    if tiers.kv && options.check {
        return impossible("kv excludes check: its laws are of page accesses".into());
    }
    if let Some(tier2) = spec_of_tier2(options)? {
        return tier2.suits(spec);
    }
    let info = destage_policies::info(spec.name);
    if spec.is_none() || info.is_ok_and(|info| info.clusters) {
        return impossible(format!("kv excludes {}: it keeps no page that is read", spec.label()));
    }
    Ok(())
}

/// The flash tier; before the trace is known, of one frame.
fn spec_of_tier2(options: &RunOptions) -> Result<Option<crate::tiers::Tier2Spec>, RunError> {
    let mut tiers = options.tiers.clone();
    tiers.tier2_frames.get_or_insert(1);
    tiers.spec(options.fetch_on_write_miss)
}

impl TieredRunner<'_> {
    /// Runs the policy.
    pub(super) fn run(self, spec: &PolicySpec, setup: &Setup) -> Result<Outcome, RunError> {
        let tier2 = self.options.tiers.spec(self.options.fetch_on_write_miss)?;
        let says = self.options.says();
        let tier2 = tier2.map(|tier2| tier2.build(self.input.columns.lpns, &says)).transpose()?;
        match (self.options.tiers.kv, tier2) {
            (true, tier2) => self.requests(spec, setup, tier2),
            (false, Some(tier2)) => self.pages(spec, setup, tier2),
            (false, None) => Err(needs_a_device(&spec.label())),
        }
    }

    /// Page accesses, over two tiers.
    fn pages(
        self,
        spec: &PolicySpec,
        setup: &Setup,
        tier2: Tier2<'_>,
    ) -> Result<Outcome, RunError> {
        let TieredRunner { input, options, control, observer } = self;
        let replay = replay_of(input, options);
        let watches = observer.watches();
        let mut followed = Followed::new(observer, control);
        let pages = input.columns.lpns.len() as u32;
        let replayed = if options.check {
            let policy = dense(spec.name, setup, pages)?;
            let every = u64::from(policy.frames());
            let mut checked = Checked::new(policy, every);
            let replayed = untimed::run(&replay, &mut checked, tier2, &mut followed);
            checked.finish().map_err(|violation| RunError::Broken(violation.to_string()))?;
            replayed
        } else if watches {
            let mut policy = dense(spec.name, setup, pages)?;
            untimed::run(&replay, &mut policy, tier2, &mut followed)
        } else {
            untimed::run_unwatched(&replay, spec.name, setup, tier2, &mut followed)?
        };
        let requests = input.columns.first_ids.len() as u64;
        Ok(of_tiers(replayed.ok_or(RunError::Interrupted)?, requests, options))
    }

    /// Requests of a language model, over one tier or two.
    fn requests(
        self,
        spec: &PolicySpec,
        setup: &Setup,
        tier2: Option<Tier2<'_>>,
    ) -> Result<Outcome, RunError> {
        let TieredRunner { input, options, control, observer } = self;
        let chains = Chains::of(&input.columns, input.chains).map_err(RunError::Impossible)?;
        let replay = KvReplay {
            columns: input.columns,
            chains,
            next_uses: input.next_uses,
            arrivals_ns: input.arrivals_ns,
            warmup: options.warmup,
            touch: options.tiers.touch.unwrap_or_default(),
        };
        let mut followed = Followed::new(observer, control);
        let has_tier2 = tier2.is_some();
        let replayed = if spec.is_prefix_min() {
            prefix_min::run(&replay, setup.frames, &mut followed).map_err(RunError::Impossible)?
        } else {
            let policy = dense(spec.name, setup, input.columns.lpns.len() as u32)?;
            replay.run(policy, tier2, &mut followed)
        };
        Ok(of_requests(replayed.ok_or(RunError::Interrupted)?, has_tier2))
    }
}

/// Counts of two tiers; what is written to flash are the writes of tier 2.
fn of_tiers(mut replayed: Replayed, requests: u64, options: &RunOptions) -> Outcome {
    if options.flush_at_end {
        replayed.flush();
    }
    let to_flash = |counters: &mut destage_replay::Counters| {
        counters.physical_reads = counters.tiers.tier2_reads;
        counters.physical_writes = counters.tiers.tier2_writes;
    };
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
        // Whether a dirty page of tier 1 will be taken is not known: nothing is added.
        dirty_at_start: 0,
        dirty_left: 0,
        timing: None,
        profile: None,
        future: None,
        tiers: Some(counters.tiers),
        kv: None,
    }
}

/// Counts of requests; what is written to flash are the blocks that the lowest tier takes in.
fn of_requests(replayed: KvReplayed, has_tier2: bool) -> Outcome {
    let to_flash = |counters: &mut destage_replay::Counters| {
        counters.physical_reads = counters.tiers.tier2_reads;
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
        windows: replayed.parts.finish(None, &to_flash),
        dirty_at_start: 0,
        dirty_left: 0,
        timing: None,
        profile: None,
        future: None,
        tiers: has_tier2.then_some(replayed.tiers),
        kv: Some(replayed.kv),
    }
}
