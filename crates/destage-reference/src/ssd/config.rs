//! The device and host sections: their keys, ranges and excluded combinations
//! (`docs/spec/device.md` 3, 5.1), and where things are in the geometry.

use super::collectors::{self, Rule};
use super::host_interface::{self, Today};
pub(crate) use super::section::Section;
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
    pub(crate) wrap: bool,
    pub(crate) unmapped_read_is_free: bool,
    pub(crate) precondition: Precondition,
    pub(crate) precondition_writes: u64,
    pub(crate) precondition_seed: u64,
    pub(crate) cap: u64, // valid pages that a plane may hold; with the FTL `page` only
    /// Another FTL, with all its parameters (12).
    pub(crate) ftl: Option<OtherFtl>,
    /// What drives of today add (`docs/spec/device-today.md`).
    pub(crate) today: Today,
    /// Which block is collected next (`docs/spec/collectors.md`).
    pub(crate) rule: Rule,
}

/// Name and parameters of an FTL of `docs/spec/ftl.md`.
pub(crate) type OtherFtl = (&'static str, Map<String, Value>);

const DEVICE_KEYS: &[&str] = &[
    "channels",
    "chips_per_channel",
    "dies_per_chip",
    "planes_per_die",
    "blocks_per_plane",
    "pages_per_block",
    "page_bytes",
    "logical_pages",
    "op_permille",
    "queue_level",
    "sched",
    "bus",
    "cmd_ns",
    "read_ns",
    "program_ns",
    "erase_ns",
    "bus_ps_per_byte",
    "summary_page",
    "summary_bytes",
    "copyback",
    "ftl",
    "alloc",
    "striping",
    "stripe_pages",
    "gc_mode",
    "gc_low_pages",
    "gc_high_pages",
    "gc_idle_ns",
    "address_mode",
    "unmapped_read",
    "precondition",
    "precondition_writes",
    "precondition_seed",
];

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

/// How much flash there is (section 3).
struct Extent {
    channels: u64,
    chips_per_channel: u64,
    dies_per_chip: u64,
    planes_per_die: u64,
    blocks_per_plane: u64,
    pages_per_block: u64,
    data_pages: u64,
    summary_page: bool,
    stripe_pages: u64,
    write_points: u64, // A
}

impl Extent {
    fn of(s: &Section<'_>, write_points: usize) -> Result<Extent, String> {
        let pages_per_block = s.integer("pages_per_block", 64, 1)?;
        let summary_page = s.flag("summary_page", false)?;
        if summary_page && pages_per_block < 2 {
            return Err("device: pages_per_block: at least 2 with summary_page".to_string());
        }
        Ok(Extent {
            channels: s.integer("channels", 1, 1)?,
            chips_per_channel: s.integer("chips_per_channel", 1, 1)?,
            dies_per_chip: s.integer("dies_per_chip", 1, 1)?,
            planes_per_die: s.integer("planes_per_die", 1, 1)?,
            blocks_per_plane: s.integer("blocks_per_plane", 64, 1)?,
            pages_per_block,
            data_pages: if summary_page { pages_per_block - 1 } else { pages_per_block },
            summary_page,
            stripe_pages: s.integer("stripe_pages", 1, 1)?,
            write_points: write_points as u64,
        })
    }

    fn planes(&self) -> u64 {
        self.channels * self.chips_per_channel * self.dies_per_chip * self.planes_per_die
    }

    fn logical_pages(&self, s: &Section<'_>) -> Result<u64, String> {
        let op_permille = s.integer("op_permille", 150, 0)?;
        if op_permille > 999 {
            return Err(format!("device: op_permille: expected 0 to 999, found {op_permille}"));
        }
        if let Some(given) = s.optional("logical_pages", 1)? {
            return Ok(given);
        }
        let raw = self.planes() * self.blocks_per_plane * self.pages_per_block;
        let share = raw * (1000 - op_permille) / 1000;
        let stripes = share / (self.planes() * self.stripe_pages);
        match stripes * (self.planes() * self.stripe_pages) {
            0 => Err("device: op_permille: leaves no logical page".to_string()),
            pages => Ok(pages),
        }
    }

    /// The pages of as many blocks as a plane may have open, A*D.
    fn open_pages(&self) -> u64 {
        self.write_points * self.data_pages
    }

    /// The least and the greatest number of free pages between which a plane collects.
    fn thresholds(&self, s: &Section<'_>) -> Result<(u64, u64), String> {
        let share = self.blocks_per_plane * self.data_pages * 5 / 100;
        let low = s.integer("gc_low_pages", self.open_pages().max(share), 0)?;
        if low < self.open_pages() {
            return Err(format!("device: gc_low_pages: {low} is less than the open blocks"));
        }
        Ok((low, s.integer("gc_high_pages", low.saturating_mul(2), 0)?))
    }

    /// "cap = B*D - F - A*D", which may be nothing or less.
    fn room(&self, gc_low_pages: u64) -> i128 {
        i128::from(self.blocks_per_plane * self.data_pages)
            - i128::from(gc_low_pages)
            - i128::from(self.open_pages())
    }

    /// Collection always finds something to do: no plane has to hold more than its room.
    fn holds(&self, logical_pages: u64, room: i128, dynamic: bool) -> Result<(), String> {
        let planes = self.planes();
        let fits = if dynamic {
            i128::from(logical_pages) < i128::from(planes) * room
        } else {
            let stripes = logical_pages.div_ceil(self.stripe_pages);
            i128::from(stripes.div_ceil(planes) * self.stripe_pages) <= room
        };
        if fits {
            return Ok(());
        }
        Err(format!(
            "device: logical_pages: {logical_pages} pages leave no room for collection \
             (a plane may hold {room} valid pages)"
        ))
    }
}

/// What stands in each other's way (section 3).
fn excluded(read_first: bool, shared_bus: bool, gc_mode: GcMode) -> Result<(), String> {
    if read_first && shared_bus {
        return Err("device: sched=read_first needs bus=private".to_string());
    }
    if read_first && gc_mode == GcMode::Idle {
        return Err("device: sched=read_first excludes gc_mode=idle".to_string());
    }
    Ok(())
}

impl GcMode {
    fn of(s: &Section<'_>) -> Result<GcMode, String> {
        Ok(match s.word("gc_mode", &["foreground", "background", "idle"])? {
            "foreground" => GcMode::Foreground,
            "background" => GcMode::Background,
            _ => GcMode::Idle,
        })
    }
}

impl Level {
    fn of(s: &Section<'_>) -> Result<Level, String> {
        Ok(match s.word("queue_level", &["chip", "channel", "die", "plane"])? {
            "channel" => Level::Channel,
            "die" => Level::Die,
            "plane" => Level::Plane,
            _ => Level::Chip,
        })
    }
}

impl Precondition {
    fn of(s: &Section<'_>) -> Result<Precondition, String> {
        Ok(match s.word("precondition", &["none", "sequential", "random"])? {
            "sequential" => Precondition::Sequential,
            "random" => Precondition::Random,
            _ => Precondition::None,
        })
    }
}

impl Config {
    /// The device section of a vector.
    pub(crate) fn of(vector: &Value) -> Result<Config, String> {
        let s = Section::of(vector, "device")?;
        s.only(&[DEVICE_KEYS, host_interface::DEVICE_KEYS, collectors::DEVICE_KEYS].concat())?;
        let ftl = s.word("ftl", &["page", "dftl", "bast", "fast", "page-ideal"])?;
        if ftl == "page" {
            return Config::of_section(vector, &s, ftl);
        }
        let applying = json!({"device": s.without(OF_PAGE)});
        Config::of_section(vector, &Section::of(&applying, "device")?, ftl)
    }

    fn of_section(vector: &Value, s: &Section<'_>, ftl: &'static str) -> Result<Config, String> {
        let page_bytes = s.integer("page_bytes", 4096, 1)?;
        let today = Today::of(s, page_bytes, s.integer("pages_per_block", 64, 1)?)?;
        let extent = Extent::of(s, today.write_points())?;
        let logical_pages = extent.logical_pages(s)?;
        let read_first = s.word("sched", &["fcfs", "read_first"])? == "read_first";
        let shared_bus = s.word("bus", &["private", "shared"])? == "shared";
        let gc_mode = GcMode::of(s)?;
        excluded(read_first, shared_bus, gc_mode)?;
        let dynamic = s.word("alloc", &["static", "dynamic"])? == "dynamic";
        let (gc_low_pages, gc_high_pages) = extent.thresholds(s)?;
        let room = extent.room(gc_low_pages);
        let blocks = extent.planes() * extent.blocks_per_plane;
        let ftl = other_ftl(vector, ftl, extent.pages_per_block, logical_pages, blocks)?;
        if ftl.is_none() {
            extent.holds(logical_pages, room, dynamic)?; // the others have been seen to
        }
        let bus_ps_per_byte = s.integer("bus_ps_per_byte", 25_000, 0)?;
        let transfer = |bytes: u64| (bytes * bus_ps_per_byte).div_ceil(1000);
        Ok(Config {
            channels: extent.channels,
            chips_per_channel: extent.chips_per_channel,
            dies_per_chip: extent.dies_per_chip,
            planes_per_die: extent.planes_per_die,
            blocks_per_plane: extent.blocks_per_plane,
            pages_per_block: extent.pages_per_block,
            data_pages: extent.data_pages,
            page_bytes,
            logical_pages,
            queue_level: Level::of(s)?,
            read_first,
            shared_bus,
            cmd_ns: s.integer("cmd_ns", 0, 0)?,
            read_ns: s.list("read_ns", 25_000)?,
            program_ns: s.list("program_ns", 200_000)?,
            erase_ns: s.integer("erase_ns", 1_500_000, 0)?,
            page_transfer_ns: transfer(page_bytes),
            summary_transfer_ns: transfer(s.integer("summary_bytes", 512, 0)?),
            summary_page: extent.summary_page,
            copyback: s.flag("copyback", true)?,
            dynamic,
            striping: striping(s.get("striping"))?,
            stripe_pages: extent.stripe_pages,
            gc_mode,
            gc_low_pages,
            gc_high_pages,
            gc_idle_ns: s.integer("gc_idle_ns", 1_000_000, 0)?,
            wrap: s.word("address_mode", &["wrap", "error"])? == "wrap",
            unmapped_read_is_free: s.word("unmapped_read", &["home", "free"])? == "free",
            precondition: Precondition::of(s)?,
            precondition_writes: s.integer("precondition_writes", 0, 0)?,
            precondition_seed: s.integer("precondition_seed", 1, 0)?,
            cap: u64::try_from(room).unwrap_or(0),
            ftl,
            today,
            rule: Rule::of(s)?,
        })
    }

    /// Whether idle units have something to do (5.5, `docs/spec/device-today.md` 9.4).
    pub(crate) fn has_timers(&self) -> bool {
        self.gc_mode == GcMode::Idle || self.today.folds_when_idle()
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
        let mut q = lpn / self.stripe_pages;
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

/// The parameters of an FTL of `docs/spec/ftl.md` over `blocks` blocks in all; `None` for the
/// device's own.
fn other_ftl(
    vector: &Value,
    name: &'static str,
    pages_per_block: u64,
    logical_pages: u64,
    blocks: u64,
) -> Result<Option<OtherFtl>, String> {
    let s = Section::of(vector, "ftl")?;
    let logs = ["log_blocks"];
    let map = ["gc_reserve_blocks"];
    s.only(&match name {
        "bast" => [&logs[..], &["victim"]].concat(),
        "fast" => logs.to_vec(),
        "page-ideal" => map.to_vec(),
        "dftl" => {
            let own = ["cmt_entries", "entries_per_translation_page", "cmt_policy"];
            [&map[..], &own, &["protected_fraction", "batch_update"]].concat()
        }
        _ => Vec::new(),
    })?;
    let mut params = s.without(&[]);
    let too_few = |least: u64| {
        format!("device: logical_pages: {name} needs {least} blocks, the device has {blocks}")
    };
    params.insert("logical_pages".to_string(), logical_pages.into());
    params.insert("pages_per_block".to_string(), pages_per_block.into());
    match name {
        "page" => return Ok(None),
        "bast" | "fast" => {
            s.word("victim", &["lru", "fifo"])?;
            let log_blocks = s.integer("log_blocks", 50, if name == "fast" { 2 } else { 1 })?;
            let others = logical_pages.div_ceil(pages_per_block) + log_blocks;
            if blocks <= others {
                return Err(too_few(others + 1));
            }
            params.insert("spare_blocks".to_string(), (blocks - others).into());
        }
        _ => {
            let (least, frontiers) = if name == "dftl" { (4, 2) } else { (2, 1) };
            let reserve = s.integer("gc_reserve_blocks", least, least)?;
            let mut stored = logical_pages;
            if name == "dftl" {
                s.integer("cmt_entries", 4096, 1)?;
                s.word("cmt_policy", &["slru", "lru"])?;
                s.fraction("protected_fraction", 0.8)?;
                s.flag("batch_update", true)?;
                let entries = s.integer("entries_per_translation_page", 1024, 1)?;
                stored += logical_pages.div_ceil(entries);
            }
            let needed = stored.div_ceil(pages_per_block) + reserve + frontiers;
            if blocks < needed {
                return Err(too_few(needed));
            }
            params.insert("physical_blocks".to_string(), blocks.into());
        }
    }
    Ok(Some((name, params)))
}

/// The four letters of a striping order (5.2).
fn striping(value: Option<&Value>) -> Result<String, String> {
    let Some(value) = value else { return Ok("CWDP".to_string()) };
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let order = match text.as_str() {
        "0" => "CWDP",
        "1" => "PCWD",
        "2" => "PDCW",
        "3" => "PDWC",
        order => order,
    };
    let mut letters: Vec<char> = order.chars().collect();
    letters.sort_unstable();
    if letters == ['C', 'D', 'P', 'W'] {
        Ok(order.to_string())
    } else {
        Err(format!("device: striping: expected 0 to 3 or a permutation of CWDP, found {value}"))
    }
}
