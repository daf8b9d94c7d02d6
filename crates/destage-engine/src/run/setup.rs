//! From the options of a call to what a policy is built from.

use super::requirements::clusters;
use crate::cost::Cost;
use crate::mounted::{Mounted, device_parameters, has_an_order, on_drive};
use crate::options::RunOptions;
use crate::spec::PolicySpec;
use destage_policies::params::{Params, Value};
use destage_policies::{FromRun, Setup};
use destage_replay::error::RunError;

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
        if self.drive.as_ref().is_some_and(|drive| drive.host.writer.is_some()) && !spec.is_none() {
            has_an_order(spec.name)?;
        }
        let of_devices = [
            ("pages_per_block (--pages-per-block)", self.pages_per_block.is_some()),
            ("device_pages (--device-pages)", self.device_pages.is_some()),
        ];
        let given = of_devices.iter().find(|(_, given)| *given && self.drive.is_some());
        if let Some((key, _)) = given {
            let what = format!("{key}: a run with a device takes the device's; leave it out");
            return Err(RunError::Impossible(what));
        }
        Ok(())
    }

    /// There is something behind the cache that shows what it does: a drive, or without a cache a
    /// flash tier.
    pub(super) fn shows(&self, spec: &PolicySpec) -> bool {
        self.drive.is_some() || spec.is_none() && self.tiers.tier2.is_some()
    }

    /// Values that policies may take from the run.
    pub(crate) fn says(&self) -> Vec<(FromRun, Value)> {
        let mut said = Cost::says(self.cost);
        said.extend(self.drive_below().iter().flat_map(|drive| device_parameters(&drive.device)));
        said
    }

    /// The setup that a policy is built from; `trace_pages` where a trace is replayed.
    pub fn setup(&self, frames: u32, params: Params, trace_pages: Option<u64>) -> Setup {
        let mut setup = Setup { params, trace_pages, ..Setup::new(frames) };
        if let Some(pages) = self.pages_per_block {
            setup.pages_per_block = pages;
        }
        setup.device_pages = self.device_pages;
        match self.drive_below() {
            None => setup,
            Some(drive) => on_drive(setup, &drive.device),
        }
    }

    /// The drive that the cache is told of: with two tiers none, which decide as without it.
    fn drive_below(&self) -> Option<&Mounted> {
        self.drive.as_deref().filter(|_| self.tiers.tier2.is_none())
    }
}
