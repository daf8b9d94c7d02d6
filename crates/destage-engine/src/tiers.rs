//! The tiers below the cache of a run, as people write them and as they are built
//! (`docs/spec/tiers.md` 2).

use crate::spec::{PolicySpec, label};
use destage_core::Requirements;
use destage_policies::admission::{self, Admission};
use destage_policies::params::{Params, Value};
use destage_policies::{BuildError, FromRun, ORDERED, Setup, written};
use destage_replay::error::RunError;
use destage_replay::pinned::PinnedPages;
use destage_replay::tiers::rules::{AdmitDirty, Clean, FeedLists, Offer, Promote, TierRules};
use destage_replay::tiers::{LowerTierParts, LowerTiers, LowerTiersParts};
use std::sync::Arc;

/// Parameter of a policy that takes the pages of the trace by default.
const FILE_PAGES: &str = "file_pages";

/// An admission filter with the parameters that a user gave, by name and checked.
#[derive(Clone, PartialEq, Debug)]
pub struct AdmissionSpec {
    /// Name in the table.
    pub name: &'static str,
    /// Only what was given.
    pub given: Vec<(String, Value)>,
}

impl AdmissionSpec {
    /// With these parameters; names and ranges are checked.
    ///
    /// # Errors
    ///
    /// [`BuildError`] of an unknown name or a wrong parameter.
    pub fn new(name: &str, given: Vec<(String, Value)>) -> Result<AdmissionSpec, BuildError> {
        let spec = AdmissionSpec { name: admission::info(name)?.name, given };
        spec.params()?;
        Ok(spec)
    }

    /// Reads `name` or `name[key=value;key=value]`.
    ///
    /// # Errors
    ///
    /// Errors of [`new`](AdmissionSpec::new), and of text in another form.
    pub fn parse(text: &str) -> Result<AdmissionSpec, BuildError> {
        let (name, given) = written::read(text).map_err(|error| {
            let text = error.to_string();
            BuildError::Unknown(format!("admission{}", text.trim_start_matches("policy")))
        })?;
        AdmissionSpec::new(&name, given)
    }

    /// All parameters.
    ///
    /// # Errors
    ///
    /// [`BuildError`] of a wrong parameter.
    pub fn params(&self) -> Result<Params, BuildError> {
        let given = self.given.iter().map(|(key, value)| (key.as_str(), value));
        admission::check_params(self.name, given)
    }

    /// Label in tables: `nth[n=3]`.
    pub fn label(&self) -> String {
        label(self.name, self.given.iter().map(|(k, v)| (k.as_str(), v.spelled())))
    }
}

/// The tiers below the cache, in order.
#[derive(Clone, PartialEq, Debug)]
pub struct LowerTiersSpec {
    /// The flash tier.
    pub tier2: LowerTierSpec,
    /// The tier below it, if there is one.
    pub tier3: Option<LowerTierSpec>,
}

impl LowerTiersSpec {
    /// The tiers suit each other.
    ///
    /// # Errors
    ///
    /// [`RunError::Impossible`], which names both keys and says why.
    pub fn suits(&self, tier1: &PolicySpec) -> Result<(), RunError> {
        self.tier2.suits("tier2", tier1)?;
        if self.tier2.rules.clean.is_some() && self.tier3.is_some() {
            return Err(RunError::Impossible(
                "tier2_clean (--tier2-clean) excludes tier3 (--tier3): the page would be offered \
                 to it and stay: leave one of them out"
                    .into(),
            ));
        }
        self.suits_feed(tier1).map_err(RunError::Impossible)?;
        self.tier3.as_ref().map_or(Ok(()), |tier3| tier3.suits("tier3", tier1))
    }

    /// A feed suits tier 1 and the other rules.
    fn suits_feed(&self, tier1: &PolicySpec) -> Result<(), String> {
        let LowerTiersSpec { tier2, tier3 } = self;
        if tier3.as_ref().is_some_and(|tier3| tier3.rules.offer == Offer::Feed) {
            return Err(
                "tier3_offer = feed (--tier3-offer): only tier 2 is fed from the lists of \
                tier 1. Take evicted or inserted"
                    .into(),
            );
        }
        let Some(feed) = tier2.rules.feed else { return Ok(()) };
        let info = destage_policies::info(tier1.name);
        let has_two = info.is_ok_and(|info| info.two_lists);
        let ordered: Vec<_> = ORDERED.iter().map(|info| info.name).collect();
        if !has_two && !ordered.contains(&tier1.name) {
            return Err(format!(
                "offer = feed (--offer) excludes tier 1 {}: it has no list of the pages that it \
                 evicts next. Take one of {}, arc",
                tier1.label(),
                ordered.join(", ")
            ));
        }
        if !has_two && feed.lists == FeedLists::Mfu {
            return Err(format!(
                "offer = feed[lists=mfu] (--offer) needs arc as tier 1: {} has one list",
                tier1.label()
            ));
        }
        let (rules, admit) = (&tier2.rules, tier2.admit.name);
        let excluded = [
            (tier3.is_some(), "tier3 (--tier3)", "a page that is fed is not offered below"),
            (rules.promote == Promote::Move, "promote = move", "a page that moves up is fed again"),
            (admit != "always", "admit (--admit)", "every pass would ask for the same pages again"),
            (
                rules.admit_dirty == AdmitDirty::Always,
                "admit_dirty (--admit-dirty)",
                "dirty pages go to the backing store",
            ),
            (rules.clean.is_some(), "tier2_clean (--tier2-clean)", "no page of tier 2 is dirty"),
            (
                tier2.pins.is_some(),
                "tier2_pin (--tier2-pin)",
                "the copy of a page that becomes dirty is dropped",
            ),
        ];
        match excluded.iter().find(|(is_given, ..)| *is_given) {
            None => Ok(()),
            Some((_, key, why)) => {
                Err(format!("offer = feed (--offer) excludes {key}: {why}. Leave one of them out"))
            }
        }
    }

    /// The option, with its flag, of work that is done between two requests and follows their
    /// arrivals.
    pub fn between(&self) -> Option<&'static str> {
        match self.tier2.rules.clean {
            _ if self.tier2.rules.feed.is_some() => Some("offer = feed (--offer)"),
            Some(Clean::Stale(_)) => Some("tier2_clean = alru (--tier2-clean)"),
            _ => None,
        }
    }

    /// The parts of empty tiers over pages with these LPNs, with what the run `says` to their
    /// policies.
    ///
    /// # Errors
    ///
    /// [`RunError::Build`] of a wrong parameter.
    pub fn parts<'a>(
        &self,
        lpns: &'a [u64],
        says: &[(FromRun, Value)],
    ) -> Result<LowerTiersParts<'a>, RunError> {
        let tier3 = self.tier3.as_ref().map(|tier3| tier3.parts(lpns, says)).transpose()?;
        Ok(LowerTiersParts { tier2: self.tier2.parts(lpns, says)?, tier3 })
    }

    /// Empty tiers, as [`parts`](LowerTiersSpec::parts).
    ///
    /// # Errors
    ///
    /// [`RunError::Build`] of a wrong parameter.
    pub fn build<'a>(
        &self,
        lpns: &'a [u64],
        says: &[(FromRun, Value)],
    ) -> Result<LowerTiers<'a>, RunError> {
        Ok(self.parts(lpns, says)?.erased()?)
    }
}

/// A tier below the cache.
#[derive(Clone, PartialEq, Debug)]
pub struct LowerTierSpec {
    /// Its policy.
    pub policy: PolicySpec,
    /// Its frames, at least 1.
    pub frames: u32,
    /// Which offers it takes.
    pub admit: AdmissionSpec,
    /// Rules between the tiers.
    pub rules: TierRules,
    /// Bytes of a page, for filters that count bytes.
    pub page_bytes: u64,
    /// Pages that are pinned in it, fewer than its frames.
    pub pins: Option<Arc<PinnedPages>>,
}

impl LowerTierSpec {
    /// The tier, the option `key`, suits tier 1.
    ///
    /// # Errors
    ///
    /// [`RunError::Impossible`], which names both keys and says why.
    fn suits(&self, key: &str, tier1: &PolicySpec) -> Result<(), RunError> {
        let LowerTierSpec { policy, admit, rules, .. } = self;
        let refused = |what: String| Err(RunError::Impossible(what));
        let of_tier = if key == "tier2" { String::new() } else { format!("{key}_") };
        if tier1.is_none() && key == "tier2" && rules.promote == Promote::Move {
            return refused(
                "tier 1 none excludes promote = move: a page that moves up leaves again at once"
                    .into(),
            );
        }
        if let Some(why) = unsuited(tier1) {
            let label = tier1.label();
            return refused(format!("tier 1 cannot be {label} with a tier 2: {why}"));
        }
        if policy.is_none() {
            return refused(format!("{key} = none: leave {key} out for a tier less"));
        }
        if let Some(why) = unsuited(policy) {
            return refused(format!("{key} cannot be {}: {why}", policy.label()));
        }
        if requirements(policy).contains(Requirements::NEXT_USE) {
            return refused(format!(
                "{key} cannot be {}: the accesses that reach it are not known beforehand",
                policy.label()
            ));
        }
        if rules.clean.is_some() && !ORDERED.iter().any(|info| info.name == policy.name) {
            let ordered: Vec<_> = ORDERED.iter().map(|info| info.name).collect();
            return refused(format!(
                "tier2_clean (--tier2-clean) excludes {key} = {}: it keeps no page that is \
                 written out of turn: take one of {}",
                policy.label(),
                ordered.join(", ")
            ));
        }
        // Its default are the pages of the trace.
        let params = destage_policies::info(policy.name)?.params;
        let counts_pages = params.iter().any(|param| param.name == FILE_PAGES);
        if counts_pages && !policy.given.iter().any(|(key, _)| key == FILE_PAGES) {
            let name = policy.name;
            return refused(format!(
                "{key} = {name} needs {FILE_PAGES} ({key} {name}[{FILE_PAGES}=100000]): the pages \
                 that reach it are not known beforehand"
            ));
        }
        if rules.promote == Promote::Move && rules.offer == Offer::Inserted {
            return refused(format!(
                "{of_tier}promote = move excludes {of_tier}offer = inserted: a page that moves up \
                 would be offered again"
            ));
        }
        if rules.promote == Promote::Move && self.pins.is_some() {
            return refused(
                "promote = move (--promote) excludes tier2_pin (--tier2-pin): a pinned page would \
                 leave at a hit. Leave one of them out"
                    .into(),
            );
        }
        let filter = (&*format!("{of_tier}admit"), admit.name, &admit.params()?);
        admission::suits(filter, (key, policy.name)).map_err(RunError::Impossible)
    }

    /// The parts of an empty tier over pages with these LPNs, with what the run `says` to its
    /// policy.
    ///
    /// # Errors
    ///
    /// [`RunError::Build`] of a wrong parameter.
    fn parts<'a>(
        &self,
        lpns: &'a [u64],
        says: &[(FromRun, Value)],
    ) -> Result<LowerTierParts<'a>, RunError> {
        let pages = lpns.len() as u32;
        let (params, frames) = (self.policy.params(says)?, self.frames);
        let setup = Setup { params, trace_pages: Some(pages.into()), ..Setup::new(frames) };
        let (name, given) = (self.admit.name, self.admit.params()?);
        let admission = Admission::new(name, &given, (frames, pages), self.page_bytes)?;
        let (policy, pins, rules) = (self.policy.name, self.pins.clone(), self.rules);
        Ok(LowerTierParts { policy, setup, pins, admission, rules, lpns })
    }
}

fn requirements(spec: &PolicySpec) -> Requirements {
    destage_policies::requirements(spec.name).unwrap_or(Requirements::NONE)
}

/// Why a policy is no tier of two.
fn unsuited(spec: &PolicySpec) -> Option<&'static str> {
    if spec.is_prefix_min() {
        return Some("it is the bound of one tier");
    }
    let info = destage_policies::info(spec.name).ok()?;
    if info.over.is_some() {
        return Some("it writes pages that stay");
    }
    if info.admission {
        return Some("it bypasses pages: put admission between the tiers (admit = larc)");
    }
    if info.clusters {
        return Some("it groups or pads its writes, and a page is offered alone");
    }
    requirements(spec).device().then_some("it reads the state of the device behind it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::OfferSpec;
    use destage_policies::POLICIES;

    /// `docs/spec/tiers.md` 2: policies of tier 1.
    const TIER1: &str = "lru fifo clock lru-k 2q arc lirs mq min dual-queue cflru cflru-e lru-wsr \
        ccf-lru ad-lru cfdc acr-c acr-o acr-h s3-fifo sieve w-tinylfu casa watt car clock-sweep \
        lfu lfu-da slru hyperbolic lecar random clock-pro sampled-lru sampled-lfu \
        pgdsf";

    fn tier2(policy: &str, admit: &str, rules: TierRules) -> LowerTierSpec {
        let policy = PolicySpec::parse(policy).expect("a policy");
        let admit = AdmissionSpec::parse(admit).expect("a filter");
        LowerTierSpec { policy, frames: 10, admit, rules, page_bytes: 4096, pins: None }
    }

    #[test]
    fn the_policies_of_each_tier_are_those_of_the_specification() {
        let lru = PolicySpec::parse("lru").expect("a policy");
        for info in POLICIES {
            let listed = TIER1.split_whitespace().any(|name| name == info.name);
            let spec = PolicySpec::parse(info.name).expect("a policy");
            let above = tier2("lru", "always", TierRules::default()).suits("tier2", &spec);
            assert_eq!(above.is_ok(), listed, "{} as tier 1: {above:?}", info.name);
            let below = tier2(info.name, "always", TierRules::default()).suits("tier3", &lru);
            let listed = listed && !["min", "acr-h"].contains(&info.name);
            assert_eq!(below.is_ok(), listed, "{} as tier 2: {below:?}", info.name);
        }
        let hybrid = tier2("acr-h[file_pages=9]", "always", TierRules::default());
        assert!(hybrid.suits("tier2", &lru).is_ok());
    }

    #[test]
    fn a_feed_names_what_it_excludes() {
        let of = |text: &str| {
            let spec = OfferSpec::parse(text).expect("an offer");
            let feed = spec.feed(10, 4096).expect("its parameters are right");
            TierRules { offer: Offer::Feed, feed, ..TierRules::default() }
        };
        let suits = |tier1: &str, tier2: LowerTierSpec, tier3: Option<LowerTierSpec>| {
            let tier1 = PolicySpec::parse(tier1).expect("a policy");
            LowerTiersSpec { tier2, tier3 }.suits(&tier1).map_err(|error| error.to_string())
        };
        let fed = |rules| tier2("fifo", "always", rules);
        for tier1 in ["lru", "fifo", "clock", "clock-sweep", "cflru", "lru-wsr", "arc"] {
            assert_eq!(suits(tier1, fed(of("feed")), None), Ok(()));
        }
        assert_eq!(suits("arc", fed(of("feed[lists=mfu]")), None), Ok(()));
        let plain = TierRules::default();
        let (feed, third) = (of("feed"), Some(fed(plain)));
        let clean = Some(Clean::Above(3));
        for (refused, said) in [
            (suits("none", fed(feed), None), "excludes tier 1 none: it has no list"),
            (suits("2q", fed(feed), None), "excludes tier 1 2q: it has no list"),
            (suits("lru", fed(of("feed[lists=mfu]")), None), "needs arc as tier 1: lru has one"),
            (suits("arc", fed(feed), third), "excludes tier3 (--tier3)"),
            (suits("arc", fed(plain), Some(fed(feed))), "tier3_offer = feed (--tier3-offer)"),
            (suits("arc", tier2("fifo", "nth", feed), None), "excludes admit (--admit)"),
            (
                suits("arc", fed(TierRules { promote: Promote::Move, ..feed }), None),
                "excludes promote = move",
            ),
            (
                suits("arc", fed(TierRules { admit_dirty: AdmitDirty::Always, ..feed }), None),
                "excludes admit_dirty (--admit-dirty)",
            ),
            (suits("arc", fed(TierRules { clean, ..feed }), None), "excludes tier2_clean"),
        ] {
            let error = refused.expect_err(said);
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn what_excludes_what_is_named() {
        let lru = PolicySpec::parse("lru").expect("a policy");
        let rules =
            TierRules { promote: Promote::Move, offer: Offer::Inserted, ..TierRules::default() };
        for (tier2, said) in [
            (tier2("lru", "always", rules), "promote = move excludes offer = inserted"),
            (tier2("arc", "tinylfu", TierRules::default()), "admit=tinylfu without threshold"),
            (tier2("none", "always", TierRules::default()), "tier2 = none"),
            (tier2("larc", "always", TierRules::default()), "admit = larc"),
            (tier2("acr-h", "always", TierRules::default()), "needs file_pages"),
        ] {
            let error = tier2.suits("tier2", &lru).expect_err("refused").to_string();
            assert!(error.contains(said), "{error}");
        }
        let error = AdmissionSpec::parse("nth[n").unwrap_err().to_string();
        assert_eq!(error, "admission \"nth[n\": the closing ] is missing");
        assert_eq!(AdmissionSpec::parse("nth[n=3]").unwrap().label(), "nth[n=3]");
    }
}
