//! A drive with another placement policy, or another host, than it was made with.

use super::tables::{Tables, tables_with};
use super::{Drive, DriveError, Record, spec};
use crate::config::{ConfigError, FlushMode, PlacementConfig, Value, nearest};
use crate::tables::HostConfig;
use serde::Deserialize;

impl Drive {
    /// The drive with another placement policy: `sepbit`, `by-size[thresholds=[65536]]`.
    ///
    /// Options of the drive's previous placement policy are dropped.
    ///
    /// # Errors
    ///
    /// [`DriveError::Spec`] for a policy or keys that cannot be read, [`DriveError::Change`] for
    /// what the drive cannot be with them.
    pub fn with_placement(&self, placement: &str) -> Result<Drive, DriveError> {
        let spec = format!("{} with the placement {}", self.name, placement.trim());
        let wrong = |what: String| DriveError::Spec { spec: spec.clone(), what };
        let (policy, changes) = spec::split(placement.trim())?;
        if !PlacementConfig::NAMES.contains(&policy) {
            let known = PlacementConfig::NAMES;
            let meant = nearest(policy, known.iter().copied());
            let known = known.join(", ");
            return Err(wrong(format!("unknown placement policy {policy:?}{meant} ({known})")));
        }
        let keys: Vec<String> = changes.iter().map(|(key, _)| format!("placement.{key}")).collect();
        let dotted = keys.iter().zip(&changes).map(|(key, &(_, value))| (key.as_str(), value));
        let mut upper = spec::tables(&spec, &dotted.collect())?;
        upper.placement.insert("policy".into(), Value::Text(policy.into()));
        let given = Record::deserialize(&self.to_json())
            .map_err(|error| wrong(format!("the device's own record: {error}")))?;
        let Record { device, cache, host, placement, ftl, trace, .. } = given;
        let has_no_preset = false;
        let given = Tables { device, cache, host, placement, ftl, trace, has_no_preset };
        let name = self.named_with(policy, &changes);
        let drive = Drive::from_tables(name, self.preset.clone(), given.under(upper))
            .map_err(|error| DriveError::Change { spec: spec.clone(), error })?;
        // A record has every key, given or default.
        let (notes, states_address_mode) = (self.notes.clone(), self.states_address_mode);
        Ok(Drive { notes, states_address_mode, ..drive })
    }

    /// A placement policy assigns its handles.
    pub fn placed(&self) -> bool {
        !self.placement.is_none()
    }

    /// Name of the drive with another placement policy, in the syntax of `--device`.
    fn named_with(&self, policy: &str, changes: &spec::Changes<'_>) -> String {
        // The stem of a file may have brackets of its own.
        let (base, own) = spec::split(&self.name).unwrap_or((&self.name, Vec::new()));
        let is_of_placement = |key: &str| match key.split_once('.') {
            Some((table, _)) => table == "placement",
            None => key == "placement" || tables_with(key).next() == Some("placement"),
        };
        let (dropped, kept): (Vec<_>, Vec<_>) =
            own.into_iter().partition(|(key, _)| is_of_placement(key));
        // What the name says already, or the drive is without a word.
        let is_plain = policy == "none" && (!dropped.is_empty() || self.placement.is_none());
        let said = (!is_plain).then_some(("placement", policy));
        let pairs = kept.iter().chain(&said).chain(changes);
        let pairs: Vec<String> = pairs.map(|(key, value)| format!("{key}={value}")).collect();
        if pairs.is_empty() { base.into() } else { format!("{base}[{}]", pairs.join(";")) }
    }

    /// The drive with this to become of flushes.
    ///
    /// # Errors
    ///
    /// [`DriveError::Change`] where it cannot be.
    pub fn with_flush(&self, flush: FlushMode) -> Result<Drive, DriveError> {
        self.hosted(self.host.with_flush(flush, &self.device))
    }

    /// The drive in a closed loop with so many requests outstanding, at least 1; `None`: in an open
    /// loop, at the trace's arrival times.
    ///
    /// # Errors
    ///
    /// [`DriveError::Change`] where it cannot be.
    pub fn with_queue_depth(&self, queue_depth: Option<u32>) -> Result<Drive, DriveError> {
        self.hosted(match queue_depth {
            Some(depth) => self.host.closed(depth, &self.device),
            None => self.host.open(&self.device),
        })
    }

    fn hosted(&self, host: Result<HostConfig, ConfigError>) -> Result<Drive, DriveError> {
        let host = host.map_err(|error| DriveError::Change { spec: self.name.clone(), error })?;
        Ok(Drive { host, ..self.clone() })
    }
}
