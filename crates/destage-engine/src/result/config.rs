//! What a run was asked to do.

use crate::cost::Cost;
use crate::warmup::Warmup;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a run was asked to do, after defaults.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunConfig {
    /// Name of the policy.
    pub policy: String,
    /// Only the parameters that the user gave: what distinguishes two runs of one policy.
    pub given: BTreeMap<String, serde_json::Value>,
    /// All parameters, after defaults.
    pub params: BTreeMap<String, serde_json::Value>,
    /// Frames of the cache.
    pub frames: u32,
    /// The cache size as the user gave it.
    pub cache: String,
    /// What was not counted.
    pub warmup: Warmup,
    /// A write miss reads the page from flash first.
    pub fetch_on_write_miss: bool,
    /// Dirty pages are written after the last access.
    pub flush_at_end: bool,
    /// Every law was checked at every access (`--check`).
    pub check: bool,
    /// Cost model, if one was given.
    pub cost: Option<Cost>,
    /// Name of the drive behind the cache, if there is one; all of it is in the result set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Pages of an erase block, of a policy that clusters by it, in a run without a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_per_block: Option<u32>,
    /// Pages that may be padded, of such a policy; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_pages: Option<u64>,
}
