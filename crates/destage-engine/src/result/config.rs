//! Configuration of a run.

use crate::options::RunOptions;
use crate::spec::{label, spelled};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Configuration of a run, after defaults.
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
    /// The cache size as the user gave it; `none` without a cache.
    pub cache: String,
    /// Options of all runs of the call. `pages_per_block` and `device_pages` only for policies that
    /// use them, in a run without a device.
    #[serde(flatten)]
    pub options: RunOptions,
    /// Name of the drive behind the cache, if there is one; all of it is in the result set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Placement policy in the syntax of the command line, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// SHA-256 of the Python file that the policy is in, if it is in one: hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_sha256: Option<String>,
}

/// The size of a run without a cache, as its configuration has it.
const NO_CACHE: &str = "none";

impl RunConfig {
    /// Whether there is no cache, nor a flash tier: its frames are of the cache whose measured part
    /// the run has.
    pub fn has_no_cache(&self) -> bool {
        let is_alone = self.options.tiers.tier2.is_none();
        is_alone && self.policy == NO_CACHE && self.cache == NO_CACHE
    }

    /// Label in tables and on the command line: `acr-h[file_pages=none]`.
    pub fn label(&self) -> String {
        let tier1 = label(&self.policy, self.given.iter().map(|(k, v)| (k.as_str(), spelled(v))));
        tier1 + &self.options.tiers.label()
    }
}
