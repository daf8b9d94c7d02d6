//! Options of the tiers below the cache and of language models, as part of a run's options
//! (`docs/spec/tiers.md` 2).

use crate::backing::BackingSpec;
use crate::clean::CleanSpec;
use crate::offer::OfferSpec;
use crate::pin::{PinSpec, Pins};
use crate::spec::PolicySpec;
use crate::tiers::{AdmissionSpec, LowerTierSpec, LowerTiersSpec};
use destage_keys::{Word, duration_ns};
use destage_policies::BuildError;
use destage_replay::error::RunError;
use destage_replay::kv::{TokenTime, Touch};
use destage_replay::tiers::rules::{AdmitDirty, Clean, Offer, Promote, TierRules};
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// Options of a flash tier below the cache, of a tier below that, and of requests of a language
/// model.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TierOptions {
    /// Policy of tier 2, as written for tier 1; without it there is one tier.
    #[serde(deserialize_with = "policy", skip_serializing_if = "Option::is_none")]
    pub tier2: Option<String>,
    /// Size of tier 2, as written for tier 1.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub tier2_cache: Option<String>,
    /// Frames that the size stands for; known once the trace is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier2_frames: Option<u32>,
    /// Pages of the device that a page of the trace takes; known once both are.
    #[serde(skip)]
    pub slot_pages: Option<u32>,
    /// Bytes of a page of the trace; known once that is, and 1 until then.
    #[serde(skip)]
    pub page_bytes: Option<u64>,
    /// The store below all tiers, with a device: `disk[rpm=5400]`.
    #[serde(deserialize_with = "store", skip_serializing_if = "Option::is_none")]
    pub backing: Option<String>,
    /// Time of a read from the backing store, nanoseconds, with a device.
    #[serde(deserialize_with = "nanos", skip_serializing_if = "Option::is_none")]
    pub backing_read_ns: Option<u64>,
    /// Time of a write to the backing store, nanoseconds, with a device.
    #[serde(deserialize_with = "nanos", skip_serializing_if = "Option::is_none")]
    pub backing_write_ns: Option<u64>,
    /// Admission to tier 2: `nth[n=3]`.
    #[serde(deserialize_with = "filter", skip_serializing_if = "Option::is_none")]
    pub admit: Option<String>,
    /// Pages that are offered to tier 2: `inserted`, `feed[headroom=4]`.
    #[serde(deserialize_with = "offered", skip_serializing_if = "Option::is_none")]
    pub offer: Option<String>,
    /// Treatment of a tier-2 copy that is hit.
    #[serde(deserialize_with = "word", skip_serializing_if = "Option::is_none")]
    pub promote: Option<Promote>,
    /// Whether admission is asked for dirty pages.
    #[serde(deserialize_with = "word", skip_serializing_if = "Option::is_none")]
    pub admit_dirty: Option<AdmitDirty>,
    /// Write-back of dirty pages that stay: `dirty[max=0.2]`, `alru`.
    #[serde(deserialize_with = "clean", skip_serializing_if = "Option::is_none")]
    pub tier2_clean: Option<String>,
    /// Time of a read of tier 2, nanoseconds, without a device.
    #[serde(deserialize_with = "nanos", skip_serializing_if = "Option::is_none")]
    pub tier2_read_ns: Option<u64>,
    /// Policy of tier 3, as written for tier 1; without it there are no more than two tiers.
    #[serde(deserialize_with = "policy", skip_serializing_if = "Option::is_none")]
    pub tier3: Option<String>,
    /// Size of tier 3, as written for tier 1.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub tier3_cache: Option<String>,
    /// Frames that the size stands for; known once the trace is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier3_frames: Option<u32>,
    /// Admission to tier 3.
    #[serde(deserialize_with = "filter", skip_serializing_if = "Option::is_none")]
    pub tier3_admit: Option<String>,
    /// Pages that are offered to tier 3.
    #[serde(deserialize_with = "word", skip_serializing_if = "Option::is_none")]
    pub tier3_offer: Option<Offer>,
    /// Treatment of a tier-3 copy that is hit.
    #[serde(deserialize_with = "word", skip_serializing_if = "Option::is_none")]
    pub tier3_promote: Option<Promote>,
    /// Whether admission to tier 3 is asked for dirty pages.
    #[serde(deserialize_with = "word", skip_serializing_if = "Option::is_none")]
    pub tier3_admit_dirty: Option<AdmitDirty>,
    /// Time of a read of tier 3, nanoseconds.
    #[serde(deserialize_with = "nanos", skip_serializing_if = "Option::is_none")]
    pub tier3_read_ns: Option<u64>,
    /// Time of a write to tier 3, nanoseconds, with a device.
    #[serde(deserialize_with = "nanos", skip_serializing_if = "Option::is_none")]
    pub tier3_write_ns: Option<u64>,
    /// Requests are chains of blocks, and a hit is a cached prefix.
    #[serde(deserialize_with = "flag", skip_serializing_if = "is_false")]
    pub kv: bool,
    /// Order in which a request's blocks meet the policy.
    #[serde(deserialize_with = "word", skip_serializing_if = "Option::is_none")]
    pub touch: Option<Touch>,
    /// Pages that are pinned in the cache: `volume=3:0-1GiB`.
    #[serde(deserialize_with = "pinned", skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// Pages that are pinned in tier 2.
    #[serde(deserialize_with = "pinned", skip_serializing_if = "Option::is_none")]
    pub tier2_pin: Option<String>,
    /// These pages; known once the trace is.
    #[serde(skip)]
    pub pins: Pins,
    /// Time to live of cached pages, a duration as written.
    #[serde(deserialize_with = "duration", skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
    /// Time of computing the first token of a prompt, nanoseconds.
    #[serde(deserialize_with = "token_ns", skip_serializing_if = "Option::is_none")]
    pub token_ns: Option<u64>,
    /// Depth in the prompt that doubles a token's time.
    #[serde(deserialize_with = "double_tokens", skip_serializing_if = "Option::is_none")]
    pub double_tokens: Option<u64>,
}

/// Of a third tier, which has no device.
const NO_SIZE_3: &str = "tier3 (--tier3) has no size: add tier3_cache (--tier3-cache)";

/// Of a flash tier without a device, whose logical pages would be its size.
pub(crate) const NO_SIZE: &str = "tier2 (--tier2) has no size: add tier2_cache (--tier2-cache)";

fn is_false(flag: &bool) -> bool {
    !flag
}

impl TierOptions {
    /// Options go with those that they belong to.
    ///
    /// # Errors
    ///
    /// A sentence that names both.
    pub fn check(&self) -> Result<(), String> {
        let of_tier2 = [
            ("tier2_cache", self.tier2_cache.is_some()),
            ("admit", self.admit.is_some()),
            ("offer", self.offer.is_some()),
            ("promote", self.promote.is_some()),
            ("admit_dirty", self.admit_dirty.is_some()),
            ("tier2_clean", self.tier2_clean.is_some()),
            ("tier2_pin", self.tier2_pin.is_some()),
            ("backing", self.backing.is_some()),
            ("backing_read_ns", self.backing_read_ns.is_some()),
            ("backing_write_ns", self.backing_write_ns.is_some()),
            ("tier2_read_ns", self.tier2_read_ns.is_some()),
            ("tier3", self.tier3.is_some()),
        ];
        let of_tier3 = [
            ("tier3_cache", self.tier3_cache.is_some()),
            ("tier3_admit", self.tier3_admit.is_some()),
            ("tier3_offer", self.tier3_offer.is_some()),
            ("tier3_promote", self.tier3_promote.is_some()),
            ("tier3_admit_dirty", self.tier3_admit_dirty.is_some()),
            ("tier3_read_ns", self.tier3_read_ns.is_some()),
            ("tier3_write_ns", self.tier3_write_ns.is_some()),
        ];
        let stray = |of: &[(&'static str, bool)], has: bool| {
            let key = of.iter().find(|(_, given)| *given && !has).map(|(key, _)| *key)?;
            Some(format!("{key} (--{})", key.replace('_', "-")))
        };
        if let Some(key) = stray(&of_tier2, self.tier2.is_some()) {
            return Err(format!("{key} needs a flash tier: add tier2 (--tier2)"));
        }
        if let Some(key) = stray(&of_tier3, self.tier3.is_some()) {
            return Err(format!("{key} needs a third tier: add tier3 (--tier3)"));
        }
        if self.tier3.is_some() && self.tier3_cache.is_none() {
            return Err(NO_SIZE_3.into());
        }
        let of_kv = [
            ("touch", self.touch.is_some()),
            ("token_ns", self.token_ns.is_some()),
            ("double_tokens", self.double_tokens.is_some()),
        ];
        if let Some(key) = stray(&of_kv, self.kv) {
            return Err(format!("{key} needs requests of a language model: add kv (--kv)"));
        }
        self.check_pins()?;
        self.check_tokens()
    }

    /// Times of computing go together.
    fn check_tokens(&self) -> Result<(), String> {
        if self.double_tokens.is_some() && self.token_ns.is_none() {
            return Err("double_tokens (--double-tokens) is of the time of a token: add token_ns \
                (--token-ns)"
                .into());
        }
        if self.token_ns.is_some() && self.backing_read_ns.is_some() {
            return Err(
                "token_ns (--token-ns) excludes backing_read_ns (--backing-read-ns): both \
                are the time of computing a block"
                    .into(),
            );
        }
        if self.kv && self.offer_spec().map_err(|e| e.to_string())?.offer() == Offer::Feed {
            return Err("kv (--kv) excludes offer = feed (--offer): a page is fed in the pauses \
                between requests of pages. Take evicted or inserted"
                .into());
        }
        if self.kv && self.tier2_clean.is_some() {
            return Err("kv (--kv) excludes tier2_clean (--tier2-clean): no block is dirty".into());
        }
        self.check_backing()
    }

    /// A disk has times of its own, and serves pages.
    fn check_backing(&self) -> Result<(), String> {
        let Some(BackingSpec::Disk(_)) = self.backing_spec().map_err(|e| e.to_string())? else {
            return Ok(());
        };
        let constants = [
            ("backing_read_ns", self.backing_read_ns),
            ("backing_write_ns", self.backing_write_ns),
        ];
        if let Some((key, _)) = constants.iter().find(|(_, given)| given.is_some()) {
            return Err(format!(
                "backing = disk (--backing) excludes {key} (--{}): a disk has times of its own, \
                 leave one of them out",
                key.replace('_', "-")
            ));
        }
        match self.kv {
            true => Err("kv (--kv) excludes backing = disk (--backing): a block that no tier has \
                is computed"
                .into()),
            false => Ok(()),
        }
    }

    /// The store below all tiers.
    ///
    /// # Errors
    ///
    /// [`BuildError`] of an unknown name or a wrong parameter.
    pub fn backing_spec(&self) -> Result<Option<BackingSpec>, BuildError> {
        self.backing.as_deref().map(BackingSpec::parse).transpose()
    }

    /// Time to live, nanoseconds, if it is given.
    pub fn ttl_ns(&self) -> Option<u64> {
        duration_ns(self.ttl.as_deref()?)
    }

    /// Time of computing a token, if it is given.
    pub fn token_time(&self) -> Option<TokenTime> {
        let double_tokens = self.double_tokens;
        self.token_ns.map(|token_ns| TokenTime { token_ns, double_tokens })
    }

    /// Times go with a device, or, of reads, all together without one.
    ///
    /// # Errors
    ///
    /// A sentence with the option that is missing, or does not apply.
    pub fn check_times(&self, has_device: bool) -> Result<(), String> {
        if has_device {
            return match self.tier2_read_ns {
                None => Ok(()),
                Some(_) => Err("tier2_read_ns (--tier2-read-ns) excludes a device, which has a \
                    time of its own"
                    .into()),
            };
        }
        let of_devices = [
            ("backing", self.backing.is_some()),
            ("tier3_write_ns", self.tier3_write_ns.is_some()),
            ("backing_write_ns", self.backing_write_ns.is_some()),
        ];
        if let Some((key, _)) = of_devices.iter().find(|(_, given)| *given) {
            let flag = key.replace('_', "-");
            return Err(format!("{key} (--{flag}) needs a device: add device (--device)"));
        }
        let of_reads = [
            ("tier2_read_ns", self.tier2_read_ns.is_some()),
            ("tier3_read_ns", self.tier3_read_ns.is_some() || self.tier3.is_none()),
            ("backing_read_ns", self.backing_read_ns.or(self.token_ns).is_some()),
        ];
        let missing = of_reads.iter().find(|(_, given)| !given);
        let any = self.tier2_read_ns.or(self.tier3_read_ns).or(self.backing_read_ns);
        match missing.filter(|_| any.is_some()) {
            None => Ok(()),
            Some((key, _)) => Err(format!(
                "without a device, times of reads give read_time_ns, which needs them all: add \
                 {key} (--{})",
                key.replace('_', "-")
            )),
        }
    }

    /// The tiers below the cache, if there are any.
    ///
    /// # Errors
    ///
    /// [`RunError`] of an unknown name or a wrong parameter, or of an unknown size.
    pub fn spec(&self, fetch_on_write_miss: bool) -> Result<Option<LowerTiersSpec>, RunError> {
        let Some(policy) = &self.tier2 else { return Ok(None) };
        let frames = self.tier2_frames.ok_or_else(|| RunError::Impossible(NO_SIZE.into()))?;
        let offer = self.offer_spec()?;
        let page_bytes = self.page_bytes.unwrap_or(1);
        let tier2 = LowerTierSpec {
            policy: PolicySpec::parse(policy)?,
            frames,
            admit: AdmissionSpec::parse(self.admit.as_deref().unwrap_or("always"))?,
            rules: TierRules {
                offer: offer.offer(),
                feed: offer.feed(frames, page_bytes)?,
                promote: self.promote.unwrap_or_default(),
                admit_dirty: self.admit_dirty.unwrap_or_default(),
                fetch_on_write_miss,
                clean: self.clean(frames)?,
            },
            page_bytes,
            pins: self.pins.tier2.clone(),
        };
        Ok(Some(LowerTiersSpec { tier2, tier3: self.third(fetch_on_write_miss)? }))
    }

    /// Pages that are offered to tier 2.
    fn offer_spec(&self) -> Result<OfferSpec, BuildError> {
        self.offer.as_deref().map_or(Ok(OfferSpec::At(Offer::default())), OfferSpec::parse)
    }

    /// Dirty pages of tier 2 that are written back and stay.
    fn clean(&self, frames: u32) -> Result<Option<Clean>, RunError> {
        let Some(clean) = &self.tier2_clean else { return Ok(None) };
        Ok(CleanSpec::parse(clean)?.rule(frames)?)
    }

    /// The third tier, if there is one.
    fn third(&self, fetch_on_write_miss: bool) -> Result<Option<LowerTierSpec>, RunError> {
        let Some(policy) = &self.tier3 else { return Ok(None) };
        let frames = self.tier3_frames.ok_or_else(|| RunError::Impossible(NO_SIZE_3.into()))?;
        Ok(Some(LowerTierSpec {
            policy: PolicySpec::parse(policy)?,
            frames,
            admit: AdmissionSpec::parse(self.tier3_admit.as_deref().unwrap_or("always"))?,
            rules: TierRules {
                offer: self.tier3_offer.unwrap_or_default(),
                feed: None,
                promote: self.tier3_promote.unwrap_or_default(),
                admit_dirty: self.tier3_admit_dirty.unwrap_or_default(),
                fetch_on_write_miss,
                clean: None,
            },
            page_bytes: self.page_bytes.unwrap_or(1),
            pins: None,
        }))
    }

    /// Mean time of an access that is served by these tiers, nanoseconds: the times of their reads
    /// alone, of `hits` in tiers 2 and 3 and of all reads of the backing store, over `accesses`.
    ///
    /// `None` unless all these times are given.
    pub fn read_time_ns(
        &self,
        hits: (u64, u64),
        backing_ns: Option<f64>,
        accesses: u64,
    ) -> Option<f64> {
        let tier3 = if self.tier3.is_some() { self.tier3_read_ns? } else { 0 };
        let parts = [(hits.0, self.tier2_read_ns?), (hits.1, tier3)];
        let below: f64 = parts.iter().map(|&(pages, ns)| pages as f64 * ns as f64).sum();
        let sum = below + backing_ns?;
        (accesses > 0).then(|| sum / accesses as f64)
    }

    /// Part of a run's label for the tiers below: ` over s3-fifo 64GiB, admit nth, offer inserted`;
    /// empty with one tier.
    pub fn label(&self) -> String {
        let tier2 = (&self.tier2, &self.tier2_cache);
        let tier3 = (&self.tier3, &self.tier3_cache);
        let backing = self.backing.as_ref().map(|backing| format!(", backing {backing}"));
        let clean = self.tier2_clean.as_ref().map(|clean| format!(", clean {clean}"));
        let pin = |pin: &Option<String>| pin.as_ref().map(|pin| format!(", pin {pin}"));
        let of_tier3 = self.tier3_offer.map(|offer| offer.name().to_owned());
        pin(&self.pin).unwrap_or_default()
            + &tier_label(tier2, (&self.admit, &self.offer, self.promote))
            + &clean.unwrap_or_default()
            + &pin(&self.tier2_pin).unwrap_or_default()
            + &tier_label(tier3, (&self.tier3_admit, &of_tier3, self.tier3_promote))
            + &backing.unwrap_or_default()
    }
}

/// Part of a run's label for one tier.
fn tier_label(
    (policy, cache): (&Option<String>, &Option<String>),
    (admit, offer, promote): (&Option<String>, &Option<String>, Option<Promote>),
) -> String {
    let Some(policy) = policy else { return String::new() };
    let mut label = format!(" over {policy}");
    if let Some(cache) = cache {
        label += &format!(" {cache}");
    }
    let words = [
        ("admit", admit.clone()),
        ("offer", offer.clone()),
        ("promote", promote.map(|promote| promote.name().to_owned())),
    ];
    for (key, value) in words {
        if let Some(value) = value {
            label += &format!(", {key} {value}");
        }
    }
    label
}

fn text<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let found = serde_json::Value::deserialize(value)?;
    if found.is_null() {
        return Ok(None);
    }
    let given = found.as_str().map(|text| text.trim().to_owned());
    given.map(Some).ok_or_else(|| D::Error::custom(format!("expected text, got {found}")))
}

fn policy<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let given = text(value)?;
    let read = |text: String| PolicySpec::parse(&text).map(|spec| spec.label());
    given.map(read).transpose().map_err(D::Error::custom)
}

fn filter<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let given = text(value)?;
    let read = |text: String| AdmissionSpec::parse(&text).map(|spec| spec.label());
    given.map(read).transpose().map_err(D::Error::custom)
}

fn offered<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let given = text(value)?;
    let read = |text: String| OfferSpec::parse(&text).map(|spec| spec.label());
    given.map(read).transpose().map_err(D::Error::custom)
}

fn clean<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let given = text(value)?;
    let read = |text: String| CleanSpec::parse(&text).map(|spec| spec.label());
    given.map(read).transpose().map_err(D::Error::custom)
}

fn pinned<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let given = text(value)?;
    let read = |text: String| PinSpec::parse(&text).map(|spec| spec.label().to_owned());
    given.map(read).transpose().map_err(D::Error::custom)
}

fn store<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let given = text(value)?;
    let read = |text: String| BackingSpec::parse(&text).map(|spec| spec.label());
    given.map(read).transpose().map_err(D::Error::custom)
}

fn word<'de, D: Deserializer<'de>, W: Word>(value: D) -> Result<Option<W>, D::Error> {
    let found = serde_json::Value::deserialize(value)?;
    if found.is_null() {
        return Ok(None);
    }
    let read = found.as_str().and_then(W::parse);
    read.map(Some)
        .ok_or_else(|| D::Error::custom(format!("expected {}, got {found}", W::NAMES.join(" or "))))
}

fn duration<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let Some(given) = text(value)? else { return Ok(None) };
    if duration_ns(&given).is_none_or(|ns| ns == 0) {
        let what = format!("expected a duration such as 60s, 30m, 1h, got {given:?}");
        return Err(D::Error::custom(what));
    }
    Ok(Some(given))
}

/// A whole number of a range.
fn within<'de, D: Deserializer<'de>>(
    value: D,
    most: u64,
    unit: &str,
) -> Result<Option<u64>, D::Error> {
    let found = serde_json::Value::deserialize(value)?;
    if found.is_null() {
        return Ok(None);
    }
    let read = found.as_u64().filter(|number| (1..=most).contains(number));
    let wanted = || D::Error::custom(format!("expected {unit}, 1 to {most}, got {found}"));
    read.map(Some).ok_or_else(wanted)
}

fn token_ns<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    within(value, 1_000_000_000, "nanoseconds")
}

fn double_tokens<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    within(value, u32::MAX.into(), "tokens")
}

fn nanos<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    let found = serde_json::Value::deserialize(value)?;
    if found.is_null() {
        return Ok(None);
    }
    let read = found.as_u64().filter(|&ns| ns < 1 << 63);
    read.map(Some).ok_or_else(|| {
        D::Error::custom(format!("expected nanoseconds, 0 to 2^63 - 1, got {found}"))
    })
}

fn flag<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    let found = serde_json::Value::deserialize(value)?;
    found.as_bool().ok_or_else(|| D::Error::custom(format!("expected true or false, got {found}")))
}
