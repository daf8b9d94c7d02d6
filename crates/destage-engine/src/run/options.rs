//! What holds for all runs of a call.

use super::mounted::{Mounted, nominal_times, on_drive};
use super::needs::clusters;
use crate::cost::Cost;
use crate::error::RunError;
use crate::spec::PolicySpec;
use crate::warmup::Warmup;
use destage_policies::Setup;
use destage_policies::params::{Params, Value};
use std::sync::Arc;

/// Options of a run that hold for all policies of a comparison.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// What is not counted.
    pub warmup: Warmup,
    /// A write miss reads the page from flash first; counts, never decides.
    pub fetch_on_write_miss: bool,
    /// Dirty pages are written after the last access; counts, never decides.
    pub flush_at_end: bool,
    /// Assert every law at every access; some ten times slower.
    pub check: bool,
    /// Cost model.
    pub cost: Option<Cost>,
    /// Pages of an erase block, for policies that cluster by it; with a drive, the drive's.
    pub pages_per_block: Option<u32>,
    /// Pages that exist and may be padded; with a drive, the drive's.
    pub device_pages: Option<u64>,
    /// The drive behind the cache.
    pub drive: Option<Arc<Mounted>>,
    /// With a drive: keep how the run developed.
    pub profile: bool,
}

impl RunOptions {
    /// The options are ones that this policy has, and agree with the drive.
    pub(super) fn suit(&self, spec: &PolicySpec) -> Result<(), RunError> {
        if self.fetch_on_write_miss && clusters(spec) {
            return Err(RunError::Impossible(format!(
                "{}: fetch_on_write_miss is no option of a policy that clusters by erase block: \
                 its write misses never fetch",
                spec.label()
            )));
        }
        if self.drive.is_some() && (self.pages_per_block.is_some() || self.device_pages.is_some()) {
            let what = "pages_per_block and device_pages are the drive's in a run with a device";
            return Err(RunError::Impossible(what.into()));
        }
        Ok(())
    }

    /// What policies take from the run if they are not told otherwise.
    pub(crate) fn policy_defaults(&self) -> Vec<(&'static str, Value)> {
        let mut defaults = Cost::policy_defaults(self.cost);
        defaults.extend(self.drive.iter().flat_map(|drive| nominal_times(&drive.device)));
        defaults
    }

    /// What a policy is built from.
    pub(super) fn setup(&self, frames: u32, params: Params, trace_pages: u64) -> Setup {
        let mut setup = Setup { params, trace_pages: Some(trace_pages), ..Setup::new(frames) };
        if let Some(pages) = self.pages_per_block {
            setup.pages_per_block = pages;
        }
        setup.device_pages = self.device_pages;
        match &self.drive {
            None => setup,
            Some(drive) => on_drive(setup, &drive.device),
        }
    }
}
