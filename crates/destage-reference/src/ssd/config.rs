//! The device section of a vector, read from the product's record of it, and where things are in
//! the geometry (`docs/spec/device.md` 3, 5.1).

use super::collectors::Rule;
use super::host_interface::HostInterface;
use super::map_cache::MapKeys;
use super::steps::Steps;
use crate::{Params, ftl};
use destage_ssd::config::Table;
use destage_ssd::{CacheConfig, ConfigError, DeviceConfig, HostConfig};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Which level of the geometry has the queues.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Channel,
    Chip,
    Die,
    Plane,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum GcMode {
    Foreground,
    Background,
    Idle,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precondition {
    None,
    Sequential,
    Random,
    Steady,
}

impl Precondition {
    fn of(word: Option<&str>) -> Precondition {
        match word {
            Some("sequential") => Precondition::Sequential,
            Some("random") => Precondition::Random,
            Some("steady") => Precondition::Steady,
            _ => Precondition::None,
        }
    }
}

/// The device section with every default filled in; letters are the specification's.
pub(crate) struct Config {
    pub(crate) channels: u64,
    pub(crate) chips_per_channel: u64,
    pub(crate) dies_per_chip: u64,
    pub(crate) planes_per_die: u64,
    pub(crate) blocks_per_plane: u64, // B
    pub(crate) pages_per_block: u64,  // N
    pub(crate) data_pages: u64,       // D, of a block
    pub(crate) page_bytes: u64,
    pub(crate) logical_pages: u64, // L
    pub(crate) queue_level: Level,
    pub(crate) read_first: bool,
    pub(crate) shared_bus: bool,
    pub(crate) cmd_ns: u64, // c
    pub(crate) read_ns: Vec<u64>,
    pub(crate) program_ns: Vec<u64>,
    pub(crate) erase_ns: u64,
    pub(crate) page_transfer_ns: u64,    // X
    pub(crate) summary_transfer_ns: u64, // X_s
    pub(crate) summary_page: bool,
    pub(crate) copyback: bool,
    pub(crate) dynamic: bool,
    pub(crate) striping: String, // four letters
    pub(crate) stripe_pages: u64,
    pub(crate) gc_mode: GcMode,
    pub(crate) gc_low_pages: u64,  // F
    pub(crate) gc_high_pages: u64, // H
    pub(crate) gc_idle_ns: u64,
    pub(crate) in_gc_if_begun: bool,
    pub(crate) wrap: bool,
    pub(crate) unmapped_read_is_free: bool,
    pub(crate) precondition: Precondition,
    pub(crate) precondition_writes: u64,
    pub(crate) precondition_seed: u64,
    pub(crate) precondition_ends_high: bool,
    pub(crate) cap: u64, // valid pages that a plane may hold; with the FTL `page` only
    /// Another FTL, with all its parameters (12).
    pub(crate) ftl: Option<OtherFtl>,
    /// Host interface, SLC cache and handles (`docs/spec/device-today.md`).
    pub(crate) interface: HostInterface,
    /// Which block is collected next (`docs/spec/collectors.md`).
    pub(crate) rule: Rule,
    /// How much of a block at once, and what reads interrupt (`docs/spec/gc-steps.md`).
    pub(crate) steps: Steps,
    /// A part of the map in memory (`docs/spec/map-cache.md` 2).
    pub(crate) map: Option<MapKeys>,
}

/// Name and parameters of an FTL of `docs/spec/ftl.md`.
pub(crate) type OtherFtl = (&'static str, Map<String, Value>);

/// "allocation, striping, summary pages, gc_mode and gc_* do not apply" to other FTLs (12), and a
/// page that was never written costs nothing there (`docs/spec/ftl.md` 1.2).
const OF_PAGE: &[&str] = &[
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

/// The sections of a vector as the product records them: checked, each with its defaults. Reading
/// them is no part of what the model is compared for.
///
/// # Errors
///
/// The product's, for a section that it refuses.
pub(crate) fn recorded(vector: &Value) -> Result<Value, String> {
    let table = |name: &str| match vector.get(name) {
        None => Ok(Table::new()),
        Some(keys) => Table::deserialize(keys).map_err(|error| format!("{name}: {error}")),
    };
    let message = |error: ConfigError| error.to_string();
    let device = DeviceConfig::from_tables(&table("device")?, &table("ftl")?).map_err(message)?;
    let device = device.with_placement(&table("placement")?).map_err(message)?;
    let host = HostConfig::from_table(&table("host")?, &device).map_err(message)?;
    let cache = CacheConfig::from_table(&table("cache")?).map_err(message)?;
    let mut keys = json!(cache.params);
    keys["policy"] = cache.policy.as_deref().unwrap_or("none").into();
    keys["frames"] = cache.frames.into();
    keys["hit_ns"] = cache.hit_ns.into();
    keys["evict_wait"] = cache.evict_wait.name().into();
    keys["staging_pages"] = cache.staging_pages.into();
    keys["read_wait"] = cache.read_wait.name().into();
    Ok(json!({
        "device": device,
        "ftl": device.ftl.to_table(),
        "placement": device.placement,
        "host": host,
        "cache": keys,
        "requests": vector["requests"],
    }))
}

/// A section of a recorded vector.
pub(crate) fn section<'a>(vector: &'a Value, name: &str) -> Params<'a> {
    Params(vector[name].as_object().expect("a recorded vector has every section"))
}

impl Config {
    /// The device section of a recorded vector.
    pub(crate) fn of(vector: &Value) -> Config {
        let mut keys = vector["device"].as_object().expect("a section").clone();
        let ftl = other_ftl(vector, &keys);
        if ftl.is_some() {
            keys.retain(|key, _| !OF_PAGE.contains(&key.as_str()));
        }
        let s = Params(&keys);
        let n = |key: &str| s.integer(key).unwrap_or(0);
        let is = |key: &str, word: &str| s.text(key) == Some(word);
        let interface = HostInterface::of(&s);
        let summary_page = s.flag("summary_page");
        let data_pages = n("pages_per_block") - u64::from(summary_page);
        let bus_ps_per_byte = n("bus_ps_per_byte");
        let transfer = |bytes: u64| (bytes * bus_ps_per_byte).div_ceil(1000);
        // "cap = B*D - F - A*D"
        let room = (n("blocks_per_plane") * data_pages).checked_sub(n("gc_low_pages"));
        let room =
            room.and_then(|room| room.checked_sub(interface.write_points() as u64 * data_pages));
        Config {
            channels: n("channels"),
            chips_per_channel: n("chips_per_channel"),
            dies_per_chip: n("dies_per_chip"),
            planes_per_die: n("planes_per_die"),
            blocks_per_plane: n("blocks_per_plane"),
            pages_per_block: n("pages_per_block"),
            data_pages,
            page_bytes: n("page_bytes"),
            logical_pages: n("logical_pages"),
            queue_level: match s.text("queue_level") {
                Some("channel") => Level::Channel,
                Some("die") => Level::Die,
                Some("plane") => Level::Plane,
                _ => Level::Chip,
            },
            read_first: is("sched", "read_first"),
            shared_bus: is("bus", "shared"),
            cmd_ns: n("cmd_ns"),
            read_ns: numbers(&keys["read_ns"]),
            program_ns: numbers(&keys["program_ns"]),
            erase_ns: n("erase_ns"),
            page_transfer_ns: transfer(n("page_bytes")),
            summary_transfer_ns: transfer(s.integer("summary_bytes").unwrap_or(512)),
            summary_page,
            copyback: s.flag("copyback"),
            dynamic: is("alloc", "dynamic"),
            striping: s.text("striping").unwrap_or("CWDP").to_string(),
            stripe_pages: s.integer("stripe_pages").unwrap_or(1),
            gc_mode: match s.text("gc_mode") {
                Some("background") => GcMode::Background,
                Some("idle") => GcMode::Idle,
                _ => GcMode::Foreground,
            },
            gc_low_pages: n("gc_low_pages"),
            gc_high_pages: n("gc_high_pages"),
            gc_idle_ns: n("gc_idle_ns"),
            in_gc_if_begun: is("in_gc", "executing"),
            wrap: is("address_mode", "wrap"),
            unmapped_read_is_free: is("unmapped_read", "free"),
            precondition: Precondition::of(s.text("precondition")),
            precondition_writes: n("precondition_writes"),
            precondition_seed: n("precondition_seed"),
            precondition_ends_high: is("precondition_end", "high"),
            cap: room.unwrap_or(0),
            ftl,
            interface,
            rule: Rule::of(&s),
            steps: Steps::of(&s),
            map: MapKeys::of(&s),
        }
    }

    /// Whether idle units have something to do (5.5, `docs/spec/device-today.md` 9.4).
    pub(crate) fn has_timers(&self) -> bool {
        self.gc_mode == GcMode::Idle || self.interface.folds_when_idle()
    }

    /// Operations may wait for others before they enter a queue (`docs/spec/map-cache.md` 7): for
    /// their map pages, or, where reads overtake, for their data (`docs/spec/device-today.md` 2).
    pub(crate) fn is_ordered(&self) -> bool {
        self.map.is_some() || self.read_first
    }

    /// Where a write goes is decided when it is written (`docs/spec/device-policies.md` 2.2).
    pub(crate) fn places_late(&self) -> bool {
        self.dynamic || self.ftl.is_some()
    }

    /// All planes of the device.
    pub(crate) fn planes(&self) -> usize {
        let planes =
            self.channels * self.chips_per_channel * self.dies_per_chip * self.planes_per_die;
        usize::try_from(planes).expect("few planes")
    }

    /// How many neighbouring planes share one unit.
    fn planes_of_a_unit(&self) -> usize {
        let planes = match self.queue_level {
            Level::Plane => 1,
            Level::Die => self.planes_per_die,
            Level::Chip => self.planes_per_die * self.dies_per_chip,
            Level::Channel => self.planes_per_die * self.dies_per_chip * self.chips_per_channel,
        };
        usize::try_from(planes).expect("few planes")
    }

    /// All units of the device, U.
    pub(crate) fn units(&self) -> usize {
        self.planes() / self.planes_of_a_unit()
    }

    pub(crate) fn unit_of_plane(&self, plane: usize) -> usize {
        plane / self.planes_of_a_unit()
    }

    pub(crate) fn planes_of(&self, unit: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.planes()).filter(move |&plane| self.unit_of_plane(plane) == unit)
    }

    pub(crate) fn channel_of_plane(&self, plane: usize) -> usize {
        let planes = self.chips_per_channel * self.dies_per_chip * self.planes_per_die;
        plane / usize::try_from(planes).expect("few planes")
    }

    /// The home plane of a page (5.2).
    pub(crate) fn home(&self, lpn: u64) -> usize {
        self.home_of_stripe(lpn / self.stripe_pages)
    }

    /// The plane of q (5.2).
    pub(crate) fn home_of_stripe(&self, mut q: u64) -> usize {
        let (mut channel, mut chip, mut die, mut plane) = (0, 0, 0, 0);
        for letter in self.striping.chars() {
            let (coordinate, size) = match letter {
                'C' => (&mut channel, self.channels),
                'W' => (&mut chip, self.chips_per_channel),
                'D' => (&mut die, self.dies_per_chip),
                _ => (&mut plane, self.planes_per_die),
            };
            *coordinate = q % size;
            q /= size;
        }
        let chip = channel * self.chips_per_channel + chip;
        let die = chip * self.dies_per_chip + die;
        usize::try_from(die * self.planes_per_die + plane).expect("few planes")
    }
}

/// A recorded list of integers.
pub(crate) fn numbers(list: &Value) -> Vec<u64> {
    let list = list.as_array().expect("a list");
    list.iter().map(|number| number.as_u64().expect("an integer")).collect()
}

/// The parameters of an FTL of `docs/spec/ftl.md`, all blocks in common; `None` for the device's
/// own.
fn other_ftl(vector: &Value, device: &Map<String, Value>) -> Option<OtherFtl> {
    let s = Params(device);
    let n = |key: &str| s.integer(key).expect("a record has the geometry");
    let name = ftl::NAMES.into_iter().find(|&name| s.text("ftl") == Some(name))?;
    let mut params = vector["ftl"].as_object().expect("a section").clone();
    let (logical_pages, pages_per_block) = (n("logical_pages"), n("pages_per_block"));
    params.insert("logical_pages".to_string(), logical_pages.into());
    params.insert("pages_per_block".to_string(), pages_per_block.into());
    let geometry = ["channels", "chips_per_channel", "dies_per_chip", "planes_per_die"];
    let blocks = geometry.map(n).iter().product::<u64>() * n("blocks_per_plane");
    if let Some(log_blocks) = Params(&params).integer("log_blocks") {
        let others = logical_pages.div_ceil(pages_per_block) + log_blocks;
        params.insert("spare_blocks".to_string(), (blocks - others).into());
    } else {
        params.insert("physical_blocks".to_string(), blocks.into());
    }
    Some((name, params))
}
