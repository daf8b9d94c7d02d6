//! A drive, checked: sizes, times, and how its FTL works.

use super::ftl::FtlConfig;
use super::interface::InterfaceConfig;
use super::map_cache::MapCacheConfig;
use super::placement::PlacementConfig;
use super::slc::SlcConfig;
use super::steps::{GcStepsConfig, StepPages};
use super::streams::StreamsConfig;
use super::words::{
    AddressMode, Alloc, Bus, GcMode, GcVictim, InGc, Isolation, Precondition, PreconditionEnd,
    QueueLevel, Sched, Striping, UnmappedRead,
};
use destage_core::Nanos;
use serde::Serialize;

/// The table `[device]`, checked, defaults filled in; the list of keys says what each field is.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[expect(missing_docs, reason = "named as their keys, which the list describes one by one")]
pub struct DeviceConfig {
    pub channels: u32,
    pub chips_per_channel: u32,
    pub dies_per_chip: u32,
    pub planes_per_die: u32,
    pub blocks_per_plane: u32,
    pub pages_per_block: u32,
    pub page_bytes: u32,
    pub logical_pages: u32,
    pub queue_level: QueueLevel,
    pub sched: Sched,
    pub bus: Bus,
    pub cmd_ns: Nanos,
    pub read_ns: Vec<Nanos>,
    pub program_ns: Vec<Nanos>,
    pub erase_ns: Nanos,
    pub bus_ps_per_byte: u64,
    pub summary_page: bool,
    pub summary_bytes: u64,
    pub copyback: bool,
    pub ftl: FtlConfig,
    pub alloc: Alloc,
    pub striping: Striping,
    pub stripe_pages: u32,
    pub gc_mode: GcMode,
    pub gc_low_pages: u32,
    pub gc_high_pages: u64,
    pub gc_idle_ns: Nanos,
    #[serde(skip_serializing_if = "is_queued")]
    pub in_gc: InGc,
    pub address_mode: AddressMode,
    pub unmapped_read: UnmappedRead,
    pub precondition: Precondition,
    pub precondition_writes: u64,
    pub precondition_seed: u64,
    /// Where units collect when idle, which alone it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precondition_end: Option<PreconditionEnd>,
    #[serde(skip_serializing_if = "is_unknown")]
    pub pe_cycles: u32,
    #[serde(flatten)]
    pub interface: InterfaceConfig,
    #[serde(flatten)]
    pub slc: Option<SlcConfig>,
    #[serde(flatten)]
    pub streams: StreamsConfig,
    #[serde(flatten)]
    pub steps: GcStepsConfig,
    #[serde(flatten)]
    pub map_cache: Option<MapCacheConfig>,
    /// The table `[placement]`, which stands by itself.
    #[serde(skip)]
    pub placement: PlacementConfig,
}

/// Whether the endurance of a block is unknown; the record then leaves the key out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_unknown(pe_cycles: &u32) -> bool {
    *pe_cycles == 0
}

/// Whether a queued collection counts, as by default; the record then leaves the key out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_queued(in_gc: &InGc) -> bool {
    *in_gc == InGc::Queued
}

impl DeviceConfig {
    /// Physical pages, summary pages included.
    pub fn raw_pages(&self) -> u64 {
        u64::from(self.planes())
            * u64::from(self.blocks_per_plane)
            * u64::from(self.pages_per_block)
    }

    /// Planes of the drive.
    pub fn planes(&self) -> u32 {
        self.sizes().iter().product()
    }

    /// Units: what has a queue.
    pub fn units(&self) -> u32 {
        let levels = match self.queue_level {
            QueueLevel::Channel => 1,
            QueueLevel::Chip => 2,
            QueueLevel::Die => 3,
            QueueLevel::Plane => 4,
        };
        self.sizes()[..levels].iter().product()
    }

    /// Over-provisioning as it came out: the share of the raw pages that the host does not see.
    pub fn op(&self) -> f64 {
        1.0 - f64::from(self.logical_pages) / self.raw_pages() as f64
    }

    /// Channels, chips of a channel, dies of a chip, planes of a die.
    pub(crate) fn sizes(&self) -> [u32; 4] {
        [self.channels, self.chips_per_channel, self.dies_per_chip, self.planes_per_die]
    }

    /// D: pages of a block that hold data.
    pub fn data_pages(&self) -> u32 {
        self.pages_per_block - u32::from(self.summary_page)
    }

    /// `cap`: most valid pages of a plane (5.1; `docs/spec/device-today.md` 7.2).
    pub fn valid_cap(&self) -> u32 {
        let data = self.data_pages();
        self.blocks_per_plane * data - self.gc_low_pages - self.write_points() * data
    }

    /// Places of a plane that have an open block of their own, that of map pages among them.
    pub fn write_points(&self) -> u32 {
        self.streams.write_points() + u32::from(self.map_cache.is_some())
    }

    /// T: map pages on flash (`docs/spec/map-cache.md` 1); 0 with the whole map in memory.
    pub fn map_pages(&self) -> u32 {
        self.map_cache.map_or(0, |map| map.map_pages(self.page_bytes, self.logical_pages))
    }

    /// An operation may have to wait for others before it enters a queue, since they are on another
    /// unit (`docs/spec/device.md` 12, `docs/spec/map-cache.md` 7).
    pub fn orders(&self) -> bool {
        self.map_cache.is_some() || self.ftl.info().row.is_some() && self.units() > 1
    }

    /// The end of an operation may not be known when it is decided on.
    pub(crate) fn ends_are_late(&self) -> bool {
        self.orders() || self.sched == Sched::ReadFirst
    }

    /// One open block a plane, the greedy collector over whole blocks, no SLC cache, and no host
    /// program that other operations wait for.
    pub(crate) fn is_plain(&self) -> bool {
        self.write_points() == 1
            && self.streams.gc_victim == GcVictim::Greedy
            && self.steps.gc_step_pages == StepPages::WholeBlocks
            && self.slc.is_none()
            && self.placement.is_none()
            && !(self.sched == Sched::ReadFirst && self.interface.acting_key().is_some())
    }

    /// The drive of the first run, if its placement needs two.
    pub(crate) fn for_first_run(&self) -> Self {
        let placement = match self.placement.is_offline() {
            true => PlacementConfig::Recording,
            false => self.placement.clone(),
        };
        // What it records does not depend on where pages go.
        let isolation = match placement {
            PlacementConfig::Recording => Isolation::Initial,
            _ => self.streams.isolation,
        };
        DeviceConfig {
            placement,
            streams: StreamsConfig { isolation, ..self.streams },
            ..self.clone()
        }
    }

    /// The drive with this in `[placement]`.
    ///
    /// # Errors
    ///
    /// Errors of [`PlacementConfig::from_table`].
    pub fn with_placement(mut self, table: &super::Table) -> Result<Self, super::ConfigError> {
        self.placement = PlacementConfig::from_table(table, &self)?;
        Ok(self)
    }
}
