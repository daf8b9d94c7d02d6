//! The tables `[device]`, `[cache]` and `[host]`: keys, ranges, defaults, and what excludes what
//! (`docs/spec/device.md` 3 and 5.1).
//!
//! A table comes from TOML or JSON, or from a program: anything that serde can read. A key that is
//! not listed, a value out of range and a drive that cannot work are errors before anything runs.

mod cache;
mod ftl;
mod keys;
mod table;
mod words;

pub use cache::{CacheConfig, CacheDefaults};
pub use ftl::FtlConfig;
pub use keys::{FTL_KEYS, IfAbsent, KEYS, Key, Takes, key, keys_of, keys_of_ftl};
pub use table::{ConfigError, Table, Value};
pub(crate) use table::{Reader, nearest};
pub use words::*;

use crate::ftl::PagesOfBlocks;
use destage_core::Nanos;
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error};

/// Most physical pages of a drive: page numbers are 32 bits wide, and one of them means "none".
pub const MOST_PAGES: u64 = u32::MAX as u64 - 1;

/// Longest single time, nanoseconds (ten seconds): a billion of them fit into 64 bits.
pub const LONGEST_NS: u64 = 10_000_000_000;

/// The table `[device]`, checked, defaults filled in; [`KEYS`] says what each field is.
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
    pub address_mode: AddressMode,
    pub unmapped_read: UnmappedRead,
    pub precondition: Precondition,
    pub precondition_writes: u64,
    pub precondition_seed: u64,
}

/// Keys of `[device]` that are about the FTL `page`: they have no meaning for another one
/// (`docs/spec/device.md` 12).
pub const OF_PAGE: [&str; 10] = [
    "summary_page",
    "summary_bytes",
    "alloc",
    "striping",
    "stripe_pages",
    "gc_mode",
    "gc_low_pages",
    "gc_high_pages",
    "gc_idle_ns",
    "unmapped_read",
];

/// The keys that have no meaning here are good ones all the same: a mistyped value is a mistake.
fn check_ranges(keys: &Reader<'_>) -> Result<(), ConfigError> {
    keys.bool("summary_page")?;
    keys.int("summary_bytes")?;
    keys.word::<Alloc>("alloc")?;
    keys.parsed("striping", Striping::parse)?;
    keys.int("stripe_pages")?;
    keys.word::<GcMode>("gc_mode")?;
    keys.int_or("gc_low_pages", 1, 1)?;
    keys.int_or("gc_high_pages", 0, 0)?;
    keys.int("gc_idle_ns")?;
    keys.word::<UnmappedRead>("unmapped_read")?;
    Ok(())
}

/// What decides whether `page` finds a block to collect.
struct Room {
    planes: u64,
    blocks: u64,
    data: u64,
    low: u64,
    stripe: u64,
    logical: u64,
    alloc: Alloc,
    source: &'static str,
}

impl Room {
    /// 5.1: cap = B*D - F - D pages may be valid in a plane, so that a collection finds a block.
    fn check(&self, keys: &Reader<'_>) -> Result<(), ConfigError> {
        let Room { planes, blocks, data, low, stripe, logical, alloc, source } = *self;
        let cap =
            (blocks * data).checked_sub(low + data).filter(|&cap| cap > 0).ok_or_else(|| {
                keys.impossible(format!(
                    "no room for collection: gc_low_pages = {low} and one active block of {data} \
                 pages leave nothing of the {} data pages of a plane",
                    blocks * data
                ))
            })?;
        match alloc {
            Alloc::Static => {
                let in_one = logical.div_ceil(stripe).div_ceil(planes) * stripe;
                if in_one > cap {
                    return Err(keys.impossible(format!(
                        "no room for collection: a plane would hold {in_one} of {logical} logical \
                         pages, but only {cap} fit beside gc_low_pages = {low} and an active \
                         block of {data} pages (change {source} or gc_low_pages)"
                    )));
                }
            }
            Alloc::Dynamic => {
                if logical >= planes * cap {
                    return Err(keys.impossible(format!(
                        "no room for collection: {logical} logical pages, but dynamic allocation \
                         needs fewer than {} ({planes} planes of {cap} pages; change {source} or \
                         gc_low_pages)",
                        planes * cap
                    )));
                }
            }
        }
        Ok(())
    }
}

impl DeviceConfig {
    /// Reads and checks the table; the FTL has the parameters that it has by default.
    ///
    /// # Errors
    ///
    /// As [`from_tables`](DeviceConfig::from_tables).
    pub fn from_table(table: &Table) -> Result<Self, ConfigError> {
        DeviceConfig::from_tables(table, &Table::new())
    }

    /// Reads and checks the tables `[device]` and `[ftl]`.
    ///
    /// The keys that only `page` has ([`OF_PAGE`]) come to what they are by default for any other
    /// FTL, whatever the table says within their ranges.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the key, what was expected and what was found.
    pub fn from_tables(table: &Table, parameters: &Table) -> Result<Self, ConfigError> {
        let given = Reader::new("device", table);
        given.end()?;
        let kind: FtlKind = given.word("ftl")?;
        let ftl = FtlConfig::from_table(kind, parameters)?;
        let mut decides = table.clone();
        if kind != FtlKind::Page {
            check_ranges(&given)?;
            decides.retain(|name, _| !OF_PAGE.contains(&name.as_str()));
        }
        let keys = Reader::new("device", &decides);
        let channels = keys.int("channels")?;
        let chips = keys.int("chips_per_channel")?;
        let dies = keys.int("dies_per_chip")?;
        let planes_per_die = keys.int("planes_per_die")?;
        let blocks = keys.int("blocks_per_plane")?;
        let summary_page = keys.bool("summary_page")?;
        let pages = keys.int_at_least("pages_per_block", 1 + u64::from(summary_page))?;
        let data = pages - u64::from(summary_page);

        let sizes = [channels, chips, dies, planes_per_die, blocks, pages];
        let raw = sizes.iter().try_fold(1u64, |product, &size| product.checked_mul(size));
        let raw = raw.filter(|&raw| raw <= MOST_PAGES).ok_or_else(|| {
            let sizes = sizes.map(|size| size.to_string()).join(" x ");
            keys.impossible(format!(
                "channels x chips_per_channel x dies_per_chip x planes_per_die x \
                 blocks_per_plane x pages_per_block = {sizes} pages, but a drive has at most \
                 {MOST_PAGES}"
            ))
        })?;
        let planes = channels * chips * dies * planes_per_die;

        let stripe = keys.int("stripe_pages")?;
        let op_permille = keys.int("op_permille")?;
        let share = u128::from(raw) * u128::from(1000 - op_permille) / 1000;
        let whole_stripes = planes.checked_mul(stripe).map_or(0, |period| {
            let share = share as u64; // at most `raw`
            share / period * period
        });
        let logical = keys.int_or("logical_pages", 1, whole_stripes)?;
        if logical == 0 {
            return Err(keys.impossible(format!(
                "op_permille = {op_permille} leaves no logical page: less than one stripe of \
                 {stripe} pages for each of {planes} planes"
            )));
        }

        let default_low = data.max(blocks * data * 5 / 100);
        let low = keys.int_or("gc_low_pages", data, default_low)?;
        let high = keys.int_or("gc_high_pages", 0, 2 * low)?;
        let alloc = keys.word("alloc")?;
        let source = if given.given("logical_pages") { "logical_pages" } else { "op_permille" };
        match kind {
            FtlKind::Page => {
                let room = Room { planes, blocks, data, low, stripe, logical, alloc, source };
                room.check(&keys)?;
            }
            _ => {
                let pages = PagesOfBlocks {
                    logical_pages: logical as u32, // no more than MOST_PAGES, like all counts here
                    pages_per_block: pages as u32,
                };
                let (least, blocks) = (ftl.least_blocks(pages), planes * blocks);
                if least > blocks {
                    return Err(keys.impossible(format!(
                        "no room for ftl = {}: {logical} logical pages and what the FTL keeps \
                         beside them take {least} blocks, and the drive has {blocks} (change \
                         {source} or the table [ftl])",
                        kind.name()
                    )));
                }
            }
        }

        let config = DeviceConfig {
            channels: channels as u32, // at most MOST_PAGES, like all counts here
            chips_per_channel: chips as u32,
            dies_per_chip: dies as u32,
            planes_per_die: planes_per_die as u32,
            blocks_per_plane: blocks as u32,
            pages_per_block: pages as u32,
            page_bytes: keys.int("page_bytes")? as u32,
            logical_pages: logical as u32,
            queue_level: keys.word("queue_level")?,
            sched: keys.word("sched")?,
            bus: keys.word("bus")?,
            cmd_ns: keys.int("cmd_ns")?,
            read_ns: keys.list("read_ns")?,
            program_ns: keys.list("program_ns")?,
            erase_ns: keys.int("erase_ns")?,
            bus_ps_per_byte: keys.int("bus_ps_per_byte")?,
            summary_page,
            summary_bytes: keys.int("summary_bytes")?,
            copyback: keys.bool("copyback")?,
            ftl,
            alloc,
            striping: keys.parsed("striping", Striping::parse)?,
            stripe_pages: stripe as u32,
            gc_mode: keys.word("gc_mode")?,
            gc_low_pages: low as u32, // less than the pages of a plane, by the check above
            gc_high_pages: high,
            gc_idle_ns: keys.int("gc_idle_ns")?,
            address_mode: keys.word("address_mode")?,
            unmapped_read: keys.word("unmapped_read")?,
            precondition: keys.word("precondition")?,
            precondition_writes: keys.int("precondition_writes")?,
            precondition_seed: keys.int("precondition_seed")?,
        };
        config.check_times(&keys)?;
        if config.sched == Sched::ReadFirst {
            if config.bus == Bus::Shared {
                return Err(ConfigError::Together {
                    one: "sched = read_first",
                    other: "bus = shared",
                    need: "bus = private",
                });
            }
            if config.gc_mode == GcMode::Idle {
                return Err(ConfigError::Together {
                    one: "sched = read_first",
                    other: "gc_mode = idle",
                    need: "gc_mode = foreground or background",
                });
            }
        }
        Ok(config)
    }

    /// A transfer is no longer than any other time, and something takes time at all.
    fn check_times(&self, keys: &Reader<'_>) -> Result<(), ConfigError> {
        for (key, bytes) in
            [("page_bytes", self.page_bytes.into()), ("summary_bytes", self.summary_bytes)]
        {
            let ps = u128::from(bytes) * u128::from(self.bus_ps_per_byte);
            if ps > u128::from(LONGEST_NS) * 1000 {
                return Err(keys.impossible(format!(
                    "{key} = {bytes} and bus_ps_per_byte = {} make a transfer of more than \
                     {LONGEST_NS} ns",
                    self.bus_ps_per_byte
                )));
            }
        }
        let times = [self.cmd_ns, self.erase_ns, self.bus_ps_per_byte];
        let mut times = times.iter().chain(&self.read_ns).chain(&self.program_ns);
        if times.all(|&time| time == 0) {
            return Err(keys.impossible(
                "read_ns, program_ns, erase_ns, cmd_ns and bus_ps_per_byte are all 0: nothing \
                 would take any time"
                    .into(),
            ));
        }
        Ok(())
    }

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

    /// `cap`: most valid pages of a plane (5.1).
    pub fn valid_cap(&self) -> u32 {
        let data = self.data_pages();
        self.blocks_per_plane * data - self.gc_low_pages - data
    }
}

impl<'de> Deserialize<'de> for DeviceConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        DeviceConfig::from_table(&Table::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// The table `[host]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct HostConfig {
    /// Open or closed loop.
    pub mode: HostMode,
    /// Outstanding requests of the closed loop, at least 1.
    pub queue_depth: u32,
}

impl HostConfig {
    /// Reads and checks the table, also against the device.
    ///
    /// # Errors
    ///
    /// [`ConfigError`]; the closed loop needs `sched = fcfs`.
    pub fn from_table(table: &Table, device: &DeviceConfig) -> Result<Self, ConfigError> {
        let keys = Reader::new("host", table);
        keys.end()?;
        let mode = keys.word("mode")?;
        let queue_depth = keys.int("queue_depth")? as u32;
        if mode == HostMode::Closed && device.sched == Sched::ReadFirst {
            return Err(ConfigError::Together {
                one: "mode = closed",
                other: "sched = read_first",
                need: "sched = fcfs",
            });
        }
        Ok(HostConfig { mode, queue_depth })
    }
}

#[cfg(test)]
mod tests;
