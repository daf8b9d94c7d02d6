//! A drive that is ready to run, and what policies are parameters of it.

use destage_core::DeviceView;
use destage_policies::params::Value;
use destage_policies::{FromRun, ORDERED, Setup};
use destage_replay::error::RunError;
use destage_ssd::config::Table;
use destage_ssd::tables::CacheConfig;
use destage_ssd::{Device, Drive, HostConfig, Prepared};

/// A drive that is ready to run: prepared once, and lent to each run.
#[derive(Clone, Debug)]
pub struct Mounted {
    /// Name, for tables.
    pub name: String,
    /// All that is needed to make it again, as a result keeps it.
    pub record: serde_json::Value,
    /// The drive at time 0.
    pub device: Prepared,
    /// When a page has its frame, and its data; `policy` and `frames` are those of each run.
    pub cache: CacheConfig,
    /// Open or closed loop, and the treatment of trims and flushes.
    pub host: HostConfig,
    /// Placement policy in the syntax of the command line, if there is one.
    pub placement: Option<String>,
}

impl Mounted {
    /// A drive whose device has been prepared.
    pub fn new(drive: &Drive, device: Device) -> Mounted {
        Mounted {
            name: drive.name.clone(),
            record: drive.to_json(),
            device: device.into(),
            cache: CacheConfig {
                policy: None,
                frames: 0,
                hit_ns: drive.cache.hit_ns,
                evict_wait: drive.cache.evict_wait,
                staging_pages: drive.cache.staging_pages,
                read_wait: drive.cache.read_wait,
                params: Table::new(),
            },
            host: drive.host,
            placement: drive.placed().then(|| drive.device.placement_label()),
        }
    }

    /// Every page of a trace is one of the drive.
    pub(crate) fn holds(&self, lpns: &[u64]) -> Result<(), RunError> {
        let logical = self.device.geometry().logical_pages;
        match lpns.last() {
            Some(&last) if last >= logical.into() => Err(RunError::Impossible(format!(
                "page {last} of the trace is beyond the device {}, which has {logical} pages: wrap \
                 the trace into it (wrap = modulo) or make it larger (wrap = extend)",
                self.name
            ))),
            _ => Ok(()),
        }
    }
}

/// Parameters of policies that a device sets: its units (`docs/spec/ace.md`, 1) and its page times
/// (`docs/spec/block-policies.md` 6.3).
pub fn device_parameters(device: &Device) -> Vec<(FromRun, Value)> {
    let mut parameters = vec![(FromRun::Units, Value::Int(device.units().into()))];
    if let Some(times) = device.nominal_times() {
        parameters.push((FromRun::PageReadNs, Value::Int(times.read_ns.into())));
        parameters.push((FromRun::PageProgramNs, Value::Int(times.program_ns.into())));
    }
    parameters
}

/// With a device, blocks and pages are the drive's (`docs/spec/block-policies.md` 1.9).
pub fn on_drive(setup: Setup, device: &Device) -> Setup {
    Setup {
        pages_per_block: device.pages_per_block(),
        device_pages: device.logical_pages(),
        ..setup
    }
}

/// The writer of a host finds its pages by the order of eviction (`docs/spec/writer.md`, 1).
///
/// # Errors
///
/// [`RunError::Impossible`], which names both.
pub fn has_an_order(policy: &str) -> Result<(), RunError> {
    if ORDERED.iter().any(|info| info.name == policy) {
        return Ok(());
    }
    let ordered: Vec<&str> = ORDERED.iter().map(|info| info.name).collect();
    Err(RunError::Impossible(format!(
        "host: writer = trickle excludes {policy}, which has no eviction order: it needs one \
         of {}",
        ordered.join(", ")
    )))
}
