//! The tables `[device]` and `[ftl]`: a checked drive.

use super::host_interface;
use super::keys::reader;
use crate::config::{
    Bus, ConfigError, DeviceConfig, FtlConfig, GcMode, GcStepsConfig, Info, LONGEST_NS, MOST_PAGES,
    MapCacheConfig, MapCacheSize, MapGranularity, PlacementConfig, Precondition, PreconditionEnd,
    Reader, Sched, Striping, Suspend, Table,
};
use crate::ftl::{AnyFtl, FTLS, Ftl};
use serde::de::{Deserialize, Deserializer, Error};

/// Keys of `[device]` that have no effect with this FTL: they say how another one works.
pub(crate) fn without_effect(info: &Info) -> impl Iterator<Item = (&'static str, &'static str)> {
    let others =
        FTLS.iter().flat_map(|other| other.device_keys.iter().map(|&key| (key, other.name)));
    others.filter(|(key, _)| !info.device_keys.contains(key))
}

/// Defaults of `gc_low_pages` and `precondition`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threshold {
    /// 5 % of a plane, at least a block: the specification's (`docs/spec/device.md` 3), which its
    /// vectors and the drives of the papers have. It takes that much of the over-provisioning.
    Share,
    /// Two blocks of a plane, one that is written next and one for the moves of a collection: what
    /// collection needs, whatever the size of the plane. With more write points, one for each and
    /// one more.
    TwoBlocks,
}

impl Threshold {
    /// `precondition_end`: as given, or for a drive that is no paper's the high mark. Without idle
    /// collection there is none.
    fn precondition_end(self, keys: &Reader<'_>) -> Result<Option<PreconditionEnd>, ConfigError> {
        let default = match self {
            Threshold::Share => PreconditionEnd::Low,
            Threshold::TwoBlocks => PreconditionEnd::High,
        };
        let end = keys.or("precondition_end", 0, default)?;
        let is_idle = keys.get::<GcMode>("gc_mode")? == GcMode::Idle;
        Ok(is_idle.then_some(end))
    }
}

/// Numbers of units, blocks and pages that follow from the geometry's keys.
struct Sizes {
    levels: [u64; 4], // channels, chips of a channel, dies of a chip, planes of a die
    blocks: u64,
    pages: u64,
    data: u64,
    raw: u64,
}

impl Sizes {
    fn read(keys: &Reader<'_>) -> Result<Sizes, ConfigError> {
        let levels = [
            keys.get("channels")?,
            keys.get("chips_per_channel")?,
            keys.get("dies_per_chip")?,
            keys.get("planes_per_die")?,
        ];
        let blocks = keys.get("blocks_per_plane")?;
        let summary_pages = u64::from(keys.get::<bool>("summary_page")?);
        let pages = keys.at_least("pages_per_block", 1 + summary_pages)?;
        let [channels, chips, dies, planes] = levels;
        let sizes = [channels, chips, dies, planes, blocks, pages];
        let raw = sizes.iter().try_fold(1u64, |product, &size| product.checked_mul(size));
        let raw = raw.filter(|&raw| raw <= MOST_PAGES).ok_or_else(|| {
            let sizes = sizes.map(|size| size.to_string()).join(" x ");
            keys.impossible(format!(
                "channels x chips_per_channel x dies_per_chip x planes_per_die x \
                 blocks_per_plane x pages_per_block = {sizes} pages, but a device has at most \
                 {MOST_PAGES}"
            ))
        })?;
        Ok(Sizes { levels, blocks, pages, data: pages - summary_pages, raw })
    }

    fn planes(&self) -> u64 {
        self.levels.iter().product()
    }

    /// L: as given, or what over-provisioning leaves, in whole stripes of every plane.
    fn logical_pages(&self, keys: &Reader<'_>) -> Result<u64, ConfigError> {
        let planes = self.planes();
        let stripe: u64 = keys.get("stripe_pages")?;
        let op_permille: u64 = keys.get("op_permille")?;
        let share = u128::from(self.raw) * u128::from(1000 - op_permille) / 1000;
        let whole_stripes = planes.checked_mul(stripe).map_or(0, |period| {
            let share = share as u64; // at most `raw`
            share / period * period
        });
        let logical = keys.or("logical_pages", 1, whole_stripes)?;
        if logical == 0 {
            return Err(keys.impossible(format!(
                "op_permille = {op_permille} leaves no logical page: less than one stripe of \
                 {stripe} pages for each of {planes} planes"
            )));
        }
        Ok(logical)
    }

    /// F: as given, or as the threshold has it, with so many write points.
    fn gc_low_pages(
        &self,
        keys: &Reader<'_>,
        threshold: Threshold,
        points: u32,
    ) -> Result<u64, ConfigError> {
        let points = u64::from(points);
        let least = points * self.data;
        let default = match threshold {
            Threshold::Share => least.max(self.blocks * self.data * 5 / 100),
            Threshold::TwoBlocks => least + self.data,
        };
        keys.or("gc_low_pages", least, default)
    }
}

impl DeviceConfig {
    /// Reads and checks the table; the FTL has the parameters that it has by default.
    ///
    /// # Errors
    ///
    /// Errors of [`from_tables`](DeviceConfig::from_tables).
    pub fn from_table(table: &Table) -> Result<Self, ConfigError> {
        DeviceConfig::from_tables(table, &Table::new())
    }

    /// Reads and checks the tables `[device]` and `[ftl]`, as the specification has them.
    ///
    /// # Errors
    ///
    /// Errors of [`with_threshold`](DeviceConfig::with_threshold).
    pub fn from_tables(table: &Table, parameters: &Table) -> Result<Self, ConfigError> {
        DeviceConfig::with_threshold(table, parameters, Threshold::Share)
    }

    /// Reads and checks the tables `[device]` and `[ftl]`.
    ///
    /// The keys that say how another FTL works ([`Info::device_keys`]) come to what they are by
    /// default, whatever the table says within their ranges.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the key, what was expected and what was found.
    pub fn with_threshold(
        table: &Table,
        parameters: &Table,
        threshold: Threshold,
    ) -> Result<Self, ConfigError> {
        let given = reader("device", table);
        given.end()?;
        let name: String = given.get("ftl")?;
        let info = FTLS.iter().find(|info| info.name == name).expect("the key takes these names");
        let ftl = FtlConfig::from_table(info, parameters)?;
        let mut decides = table.clone();
        for (key, _) in without_effect(info) {
            given.check(key)?;
            if key == "striping" {
                given.get::<Striping>(key)?;
            }
            decides.remove(key);
        }
        let keys = reader("device", &decides);
        let config = DeviceConfig::read(&keys, ftl, threshold)?;
        let source = if given.given("logical_pages") { "logical_pages" } else { "op_permille" };
        AnyFtl::room(&config, source).map_err(|what| keys.impossible(what))?;
        config.check_times(&keys)?;
        config.check_order()?;
        config.check_suspension()?;
        config.check_map_cache()?;
        config.check_interface(&keys)?;
        Ok(config)
    }

    /// Every key by itself, and what depends on sizes.
    fn read(keys: &Reader<'_>, ftl: FtlConfig, threshold: Threshold) -> Result<Self, ConfigError> {
        let sizes = Sizes::read(keys)?;
        let [channels, chips, dies, planes] = sizes.levels;
        let logical = sizes.logical_pages(keys)?;
        let streams = host_interface::streams(keys)?;
        let map_cache = map_cache(keys)?;
        let points = streams.write_points() + u32::from(map_cache.is_some());
        let low = sizes.gc_low_pages(keys, threshold, points)?;
        let precondition = keys.get("precondition")?;
        let writes = match (threshold, precondition) {
            (Threshold::TwoBlocks, Precondition::Random) => 2 * logical,
            _ => 0,
        };
        Ok(DeviceConfig {
            channels: channels as u32, // at most MOST_PAGES, like all counts here
            chips_per_channel: chips as u32,
            dies_per_chip: dies as u32,
            planes_per_die: planes as u32,
            blocks_per_plane: sizes.blocks as u32,
            pages_per_block: sizes.pages as u32,
            page_bytes: keys.get("page_bytes")?,
            logical_pages: logical as u32,
            queue_level: keys.get("queue_level")?,
            sched: keys.get("sched")?,
            bus: keys.get("bus")?,
            cmd_ns: keys.get("cmd_ns")?,
            read_ns: keys.get("read_ns")?,
            program_ns: keys.get("program_ns")?,
            erase_ns: keys.get("erase_ns")?,
            bus_ps_per_byte: keys.get("bus_ps_per_byte")?,
            summary_page: keys.get("summary_page")?,
            summary_bytes: keys.get("summary_bytes")?,
            copyback: keys.get("copyback")?,
            ftl,
            alloc: keys.get("alloc")?,
            striping: keys.get("striping")?,
            stripe_pages: keys.get("stripe_pages")?,
            gc_mode: keys.get("gc_mode")?,
            gc_low_pages: low as u32,
            gc_high_pages: keys.or("gc_high_pages", 0, 2 * low)?,
            gc_idle_ns: keys.get("gc_idle_ns")?,
            in_gc: keys.get("in_gc")?,
            address_mode: keys.get("address_mode")?,
            unmapped_read: keys.get("unmapped_read")?,
            precondition,
            precondition_writes: keys.or("precondition_writes", 0, writes)?,
            precondition_seed: keys.get("precondition_seed")?,
            precondition_end: threshold.precondition_end(keys)?,
            pe_cycles: keys.get("pe_cycles")?,
            interface: host_interface::interface(keys)?,
            slc: host_interface::slc(keys, (sizes.planes(), sizes.pages, sizes.raw))?,
            streams,
            steps: steps(keys)?,
            map_cache,
            placement: PlacementConfig::None,
        })
    }

    /// Rejects combinations of keys that `sched = read_first` excludes.
    fn check_order(&self) -> Result<(), ConfigError> {
        if self.sched != Sched::ReadFirst {
            return Ok(());
        }
        if self.bus == Bus::Shared {
            let (one, other) = ("sched = read_first", "bus = shared");
            let need = "bus = private: transfers are reserved when operations are submitted";
            return Err(ConfigError::Together { table: "device", one, other, need });
        }
        Ok(())
    }

    /// Other FTLs have a map of their own (`docs/spec/map-cache.md` 2).
    fn check_map_cache(&self) -> Result<(), ConfigError> {
        if self.map_cache.is_none() || self.ftl.info().name == "page" {
            return Ok(());
        }
        let need = "ftl = page (cmt_entries is the cache of another FTL)";
        Err(ConfigError::Together { table: "device", one: "map_cache", other: "ftl", need })
    }

    /// Reads interrupt nothing where they do not go first (`docs/spec/gc-steps.md` 2).
    fn check_suspension(&self) -> Result<(), ConfigError> {
        if self.steps.suspend == Suspend::None || self.sched == Sched::ReadFirst {
            return Ok(());
        }
        let need = "sched = read_first, or suspend = none: nothing overtakes otherwise";
        Err(ConfigError::Together { table: "device", one: "suspend", other: "sched = fcfs", need })
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
}

/// Collection in steps, and suspension.
fn steps(keys: &Reader<'_>) -> Result<GcStepsConfig, ConfigError> {
    Ok(GcStepsConfig {
        gc_step_pages: keys.get("gc_step_pages")?,
        suspend: keys.get("suspend")?,
        suspend_ns: keys.get("suspend_ns")?,
        resume_ns: keys.get("resume_ns")?,
        suspend_max: keys.get("suspend_max")?,
    })
}

/// The map cache, unless the whole map is in memory (`docs/spec/map-cache.md` 2).
fn map_cache(keys: &Reader<'_>) -> Result<Option<MapCacheConfig>, ConfigError> {
    let MapCacheSize::Bytes(map_cache_bytes) = keys.get("map_cache")? else { return Ok(None) };
    let page_bytes: u32 = keys.get("page_bytes")?;
    let map_entry_bytes: u32 = keys.get("map_entry_bytes")?;
    if map_entry_bytes > page_bytes {
        return Err(keys.impossible(format!(
            "map_entry_bytes = {map_entry_bytes} and page_bytes = {page_bytes}: a map page has \
             room for no entry"
        )));
    }
    let config = MapCacheConfig {
        map_cache_bytes,
        map_entry_bytes,
        map_policy: keys.get("map_policy")?,
        map_granularity: keys.get("map_granularity")?,
        map_batch_update: keys.get("map_batch_update")?,
    };
    if config.capacity(page_bytes) == 0 {
        let item = match config.map_granularity {
            MapGranularity::Entry => format!("an entry of map_entry_bytes = {map_entry_bytes}"),
            MapGranularity::Page => format!("a map page of page_bytes = {page_bytes}"),
        };
        return Err(keys.impossible(format!(
            "map_cache = {map_cache_bytes} bytes holds nothing: it takes at least {item} bytes \
             (all: the whole map in memory)"
        )));
    }
    Ok(Some(config))
}

impl<'de> Deserialize<'de> for DeviceConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        DeviceConfig::from_table(&Table::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
