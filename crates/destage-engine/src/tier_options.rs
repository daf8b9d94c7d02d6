//! Options of a flash tier and of language models, as part of a run's options
//! (`docs/spec/tiers.md` 2).

use crate::spec::PolicySpec;
use crate::tiers::{AdmissionSpec, Tier2Spec};
use destage_keys::Word;
use destage_replay::error::RunError;
use destage_replay::kv::Touch;
use destage_replay::tiers::rules::{AdmitDirty, Offer, Promote, TierRules};
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// Options of a flash tier below the cache, and of requests of a language model.
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
    /// Time of a read from the backing store, nanoseconds, with a device.
    #[serde(deserialize_with = "nanos", skip_serializing_if = "Option::is_none")]
    pub backing_read_ns: Option<u64>,
    /// Time of a write to the backing store, nanoseconds, with a device.
    #[serde(deserialize_with = "nanos", skip_serializing_if = "Option::is_none")]
    pub backing_write_ns: Option<u64>,
    /// Admission to tier 2: `nth[n=3]`.
    #[serde(deserialize_with = "filter", skip_serializing_if = "Option::is_none")]
    pub admit: Option<String>,
    /// Pages that are offered to tier 2.
    #[serde(deserialize_with = "word", skip_serializing_if = "Option::is_none")]
    pub offer: Option<Offer>,
    /// Treatment of a tier-2 copy that is hit.
    #[serde(deserialize_with = "word", skip_serializing_if = "Option::is_none")]
    pub promote: Option<Promote>,
    /// Whether admission is asked for dirty pages.
    #[serde(deserialize_with = "word", skip_serializing_if = "Option::is_none")]
    pub admit_dirty: Option<AdmitDirty>,
    /// Requests are chains of blocks, and a hit is a cached prefix.
    #[serde(deserialize_with = "flag", skip_serializing_if = "is_false")]
    pub kv: bool,
    /// Order in which a request's blocks meet the policy.
    #[serde(deserialize_with = "word", skip_serializing_if = "Option::is_none")]
    pub touch: Option<Touch>,
}

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
            ("backing_read_ns", self.backing_read_ns.is_some()),
            ("backing_write_ns", self.backing_write_ns.is_some()),
        ];
        let stray = of_tier2.iter().find(|(_, given)| *given && self.tier2.is_none());
        if let Some((key, _)) = stray {
            let flag = key.replace('_', "-");
            return Err(format!("{key} (--{flag}) is of a flash tier: add tier2 (--tier2)"));
        }
        if self.touch.is_some() && !self.kv {
            return Err("touch (--touch) is of a language model's requests: add kv (--kv)".into());
        }
        Ok(())
    }

    /// The flash tier, if there is one.
    ///
    /// # Errors
    ///
    /// [`RunError`] of an unknown name or a wrong parameter, or of an unknown size.
    pub fn spec(&self, fetch_on_write_miss: bool) -> Result<Option<Tier2Spec>, RunError> {
        let Some(policy) = &self.tier2 else { return Ok(None) };
        let frames = self.tier2_frames.ok_or_else(|| RunError::Impossible(NO_SIZE.into()))?;
        Ok(Some(Tier2Spec {
            policy: PolicySpec::parse(policy)?,
            frames,
            admit: AdmissionSpec::parse(self.admit.as_deref().unwrap_or("always"))?,
            rules: TierRules {
                offer: self.offer.unwrap_or_default(),
                promote: self.promote.unwrap_or_default(),
                admit_dirty: self.admit_dirty.unwrap_or_default(),
                fetch_on_write_miss,
            },
            page_bytes: self.page_bytes.unwrap_or(1),
        }))
    }

    /// Part of a run's label for tier 2: ` over s3-fifo 64GiB, admit nth, offer inserted`; empty
    /// with one tier.
    pub fn label(&self) -> String {
        let Some(tier2) = &self.tier2 else { return String::new() };
        let mut label = format!(" over {tier2}");
        if let Some(cache) = &self.tier2_cache {
            label += &format!(" {cache}");
        }
        let words = [
            ("admit", self.admit.clone()),
            ("offer", self.offer.map(|offer| offer.name().to_owned())),
            ("promote", self.promote.map(|promote| promote.name().to_owned())),
        ];
        for (key, value) in words {
            if let Some(value) = value {
                label += &format!(", {key} {value}");
            }
        }
        label
    }
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

fn word<'de, D: Deserializer<'de>, W: Word>(value: D) -> Result<Option<W>, D::Error> {
    let found = serde_json::Value::deserialize(value)?;
    if found.is_null() {
        return Ok(None);
    }
    let read = found.as_str().and_then(W::parse);
    read.map(Some)
        .ok_or_else(|| D::Error::custom(format!("expected {}, got {found}", W::NAMES.join(" or "))))
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
