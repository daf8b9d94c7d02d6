//! The tables `[device]`, `[cache]` and `[host]`: keys, ranges, defaults, and what excludes what
//! (`spec/device.md` 3 and 5.1).
//!
//! A table comes from TOML or JSON, or from a program: anything that serde can read. A key that is
//! not listed, a value out of range and a drive that cannot work are errors before anything runs.

mod table;

pub use table::{ConfigError, Table, Value};

use destage_core::Nanos;
use table::Reader;

/// Most physical pages of a drive: page numbers are 32 bits wide, and one of them means "none".
pub const MOST_PAGES: u64 = u32::MAX as u64 - 1;

/// Longest single time, nanoseconds (ten seconds): a billion of them fit into 64 bits.
pub const LONGEST_NS: u64 = 10_000_000_000;

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$what:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $($(#[$what])* $word,)* }

        impl $name {
            const WORDS: &'static [(&'static str, $name)] = &[$(($text, $name::$word)),*];
        }
    };
}

words! {
    /// The level of the hierarchy that has the queue: what a unit is.
    QueueLevel {
        /// All chips of a channel share a queue (SAC).
        Channel = "channel",
        /// Each chip has a queue (ECR).
        Chip = "chip",
        /// Each die has a queue.
        Die = "die",
        /// Each plane has a queue.
        Plane = "plane",
    }
}

words! {
    /// In which order a unit serves its queue.
    Sched {
        /// First come, first served (4.2).
        Fcfs = "fcfs",
        /// Reads first (4.3).
        ReadFirst = "read_first",
    }
}

words! {
    /// Who waits for a transfer.
    Bus {
        /// The unit alone.
        Private = "private",
        /// All units of the channel (4.4).
        Shared = "shared",
    }
}

words! {
    /// The flash translation layer.
    FtlKind {
        /// Page-mapped, greedy (section 5).
        Page = "page",
    }
}

words! {
    /// Where a written page goes (5.2).
    Alloc {
        /// To its home plane.
        Static = "static",
        /// To the unit with the least work.
        Dynamic = "dynamic",
    }
}

words! {
    /// When blocks are collected (5.4, 5.5).
    GcMode {
        /// Before the program that needs the room.
        Foreground = "foreground",
        /// After the program that used it up.
        Background = "background",
        /// As foreground, and when a unit has been idle for a while.
        Idle = "idle",
    }
}

words! {
    /// What happens to a page number beyond the drive.
    AddressMode {
        /// It is taken modulo L.
        Wrap = "wrap",
        /// It is an error.
        Error = "error",
    }
}

words! {
    /// What reading a page costs that was never written.
    UnmappedRead {
        /// A read of page index 0 on the home plane.
        Home = "home",
        /// Nothing.
        Free = "free",
    }
}

words! {
    /// What the drive holds before the run (5.6).
    Precondition {
        /// Nothing.
        None = "none",
        /// Every page, written in order.
        Sequential = "sequential",
        /// The same, then random writes.
        Random = "random",
    }
}

words! {
    /// What a page that needs a frame waits for (7.4).
    EvictWait {
        /// The end of the victim's program.
        Program = "program",
        /// The end of its transfer.
        Transfer = "transfer",
        /// Nothing.
        None = "none",
    }
}

words! {
    /// When the data of a missed read may go to the host (7.4).
    ReadWait {
        /// When the page has its frame.
        Frame = "frame",
        /// When the data are read.
        Data = "data",
    }
}

words! {
    /// When requests are issued (7.5, 7.6).
    HostMode {
        /// At their arrivals.
        Open = "open",
        /// When a place among the outstanding ones is free.
        Closed = "closed",
    }
}

/// A permutation of `CWDP`; the first letter varies fastest (5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Striping([u8; 4]);

impl Striping {
    const LETTERS: [u8; 4] = *b"CWDP";
    const SCHEMES: [&'static [u8; 4]; 4] = [b"CWDP", b"PCWD", b"PDCW", b"PDWC"];

    fn parse(value: &Value) -> Option<Striping> {
        let text = match value {
            Value::Int(scheme) => scheme.to_string(),
            Value::Text(text) => text.clone(),
            _ => return None,
        };
        if let Ok(scheme) = text.parse::<usize>() {
            return Striping::SCHEMES.get(scheme).map(|&&order| Striping(order));
        }
        let order: [u8; 4] = text.as_bytes().try_into().ok()?;
        Striping::LETTERS.iter().all(|letter| order.contains(letter)).then_some(Striping(order))
    }

    /// The levels in order: 0 channel, 1 chip, 2 die, 3 plane.
    pub(crate) fn levels(self) -> impl Iterator<Item = usize> {
        let level = |letter| Striping::LETTERS.iter().position(|&l| l == letter);
        self.0.into_iter().filter_map(level)
    }

    /// As a word, such as `CWDP`.
    pub fn name(self) -> String {
        self.0.iter().map(|&letter| char::from(letter)).collect()
    }
}

/// The table `[device]`, checked, defaults filled in. Keys, units and ranges: `spec/device.md` 3.
#[derive(Clone, PartialEq, Debug)]
#[expect(missing_docs, reason = "the table of section 3 says what each key is, name by name")]
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
    pub ftl: FtlKind,
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

impl DeviceConfig {
    /// Reads and checks the table.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the key, what was expected and what was found.
    pub fn from_table(table: &Table) -> Result<Self, ConfigError> {
        let mut keys = Reader::new("device", table);
        let count = 1..=MOST_PAGES;
        let channels = keys.int("channels", 1, count.clone())?;
        let chips = keys.int("chips_per_channel", 1, count.clone())?;
        let dies = keys.int("dies_per_chip", 1, count.clone())?;
        let planes_per_die = keys.int("planes_per_die", 1, count.clone())?;
        let blocks = keys.int("blocks_per_plane", 64, count.clone())?;
        let summary_page = keys.bool("summary_page", false)?;
        let least = 1 + u64::from(summary_page);
        let pages = keys.int("pages_per_block", 64, least..=MOST_PAGES)?;
        let data = pages - u64::from(summary_page);

        let sizes = [channels, chips, dies, planes_per_die, blocks, pages];
        let raw = sizes.iter().try_fold(1u64, |product, &size| product.checked_mul(size));
        let raw = raw.filter(|&raw| raw <= MOST_PAGES).ok_or_else(|| {
            let sizes = sizes.map(|size| size.to_string()).join(" x ");
            keys.impossible(format!(
                "the geometry has {sizes} pages, but a drive has at most {MOST_PAGES}"
            ))
        })?;
        let planes = channels * chips * dies * planes_per_die;

        let stripe = keys.int("stripe_pages", 1, count)?;
        let op_permille = keys.int("op_permille", 150, 0..=999)?;
        let share = u128::from(raw) * u128::from(1000 - op_permille) / 1000;
        let whole_stripes = planes.checked_mul(stripe).map_or(0, |period| {
            let share = share as u64; // at most `raw`
            share / period * period
        });
        let given = keys.given("logical_pages");
        let logical = keys.int("logical_pages", whole_stripes, 1..=MOST_PAGES)?;
        if logical == 0 {
            return Err(keys.impossible(format!(
                "op_permille = {op_permille} leaves no logical page: less than one stripe of \
                 {stripe} pages for each of {planes} planes"
            )));
        }

        let default_low = data.max(blocks * data * 5 / 100);
        let low = keys.int("gc_low_pages", default_low, data..=MOST_PAGES)?;
        let high = keys.int("gc_high_pages", 2 * low, 0..=u64::MAX)?;
        let alloc = keys.word("alloc", Alloc::Static, Alloc::WORDS)?;

        // 5.1: cap = B*D - F - D pages may be valid in a plane, so that a collection finds a block.
        let cap =
            (blocks * data).checked_sub(low + data).filter(|&cap| cap > 0).ok_or_else(|| {
                keys.impossible(format!(
                    "no room for collection: gc_low_pages = {low} and one active block of {data} \
                 pages leave nothing of the {} data pages of a plane",
                    blocks * data
                ))
            })?;
        let source = if given { "logical_pages" } else { "op_permille" };
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

        let ns = 0..=LONGEST_NS;
        let striping = match keys.take("striping") {
            None => Striping(*Striping::SCHEMES[0]),
            Some(value) => Striping::parse(value).ok_or_else(|| {
                keys.value("striping", "0..3 or a permutation of the letters CWDP", value)
            })?,
        };
        let config = DeviceConfig {
            channels: channels as u32, // at most MOST_PAGES, like all counts here
            chips_per_channel: chips as u32,
            dies_per_chip: dies as u32,
            planes_per_die: planes_per_die as u32,
            blocks_per_plane: blocks as u32,
            pages_per_block: pages as u32,
            page_bytes: keys.int("page_bytes", 4096, 1..=u32::MAX.into())? as u32,
            logical_pages: logical as u32,
            queue_level: keys.word("queue_level", QueueLevel::Chip, QueueLevel::WORDS)?,
            sched: keys.word("sched", Sched::Fcfs, Sched::WORDS)?,
            bus: keys.word("bus", Bus::Private, Bus::WORDS)?,
            cmd_ns: keys.int("cmd_ns", 0, ns.clone())?,
            read_ns: keys.list("read_ns", 25_000, ns.clone())?,
            program_ns: keys.list("program_ns", 200_000, ns.clone())?,
            erase_ns: keys.int("erase_ns", 1_500_000, ns.clone())?,
            bus_ps_per_byte: keys.int("bus_ps_per_byte", 25_000, ns.clone())?,
            summary_page,
            summary_bytes: keys.int("summary_bytes", 512, 0..=u32::MAX.into())?,
            copyback: keys.bool("copyback", true)?,
            ftl: keys.word("ftl", FtlKind::Page, FtlKind::WORDS)?,
            alloc,
            striping,
            stripe_pages: stripe as u32,
            gc_mode: keys.word("gc_mode", GcMode::Foreground, GcMode::WORDS)?,
            gc_low_pages: low as u32, // less than the pages of a plane, by the check above
            gc_high_pages: high,
            gc_idle_ns: keys.int("gc_idle_ns", 1_000_000, 0..=u64::MAX / 4)?,
            address_mode: keys.word("address_mode", AddressMode::Wrap, AddressMode::WORDS)?,
            unmapped_read: keys.word("unmapped_read", UnmappedRead::Home, UnmappedRead::WORDS)?,
            precondition: keys.word("precondition", Precondition::None, Precondition::WORDS)?,
            precondition_writes: keys.int("precondition_writes", 0, 0..=u64::MAX)?,
            precondition_seed: keys.int("precondition_seed", 1, 0..=u64::MAX)?,
        };
        keys.end()?;
        for (key, bytes) in
            [("page_bytes", config.page_bytes.into()), ("summary_bytes", config.summary_bytes)]
        {
            if u128::from(bytes) * u128::from(config.bus_ps_per_byte)
                > u128::from(LONGEST_NS) * 1000
            {
                return Err(keys.impossible(format!(
                    "{key} = {bytes} and bus_ps_per_byte = {} make a transfer of more than \
                     {LONGEST_NS} ns",
                    config.bus_ps_per_byte
                )));
            }
        }
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

/// The table `[cache]`: the policy's own parameters are left to the policy.
#[derive(Clone, PartialEq, Debug)]
pub struct CacheConfig {
    /// Name of the policy; `None` for `none`, no cache.
    pub policy: Option<String>,
    /// Frames; 0 without a cache.
    pub frames: u32,
    /// DRAM access, nanoseconds, charged to every page access of a cached run.
    pub hit_ns: Nanos,
    /// What a page that needs a frame waits for.
    pub evict_wait: EvictWait,
    /// When a missed read's data may go to the host.
    pub read_wait: ReadWait,
    /// What is left: the policy's parameters, not checked.
    pub params: Table,
}

impl CacheConfig {
    /// Reads and checks the table, but for the policy's name and parameters.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the key, what was expected and what was found.
    pub fn from_table(table: &Table) -> Result<Self, ConfigError> {
        let mut keys = Reader::new("cache", table);
        let policy = match keys.take("policy") {
            None => None,
            Some(Value::Text(name)) => Some(name.clone()).filter(|name| name != "none"),
            Some(other) => return Err(keys.value("policy", "none or a policy's name", other)),
        };
        let frames = keys.int("frames", 0, 1..=u32::MAX.into())? as u32;
        if policy.is_some() && frames == 0 {
            return Err(keys.impossible("the key frames is missing: a cache has a size".into()));
        }
        if policy.is_none() && frames > 0 {
            return Err(ConfigError::Together {
                one: "policy = none",
                other: "frames",
                need: "a policy, or no frames",
            });
        }
        let hit_ns = keys.int("hit_ns", 0, 0..=LONGEST_NS)?;
        let evict_wait = keys.word("evict_wait", EvictWait::Program, EvictWait::WORDS)?;
        let read_wait = keys.word("read_wait", ReadWait::Frame, ReadWait::WORDS)?;
        let params = keys.rest();
        if policy.is_none() {
            keys.end()?; // without a policy, nothing else can have a meaning
        }
        Ok(CacheConfig { policy, frames, hit_ns, evict_wait, read_wait, params })
    }
}

/// The table `[host]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
        let mut keys = Reader::new("host", table);
        let mode = keys.word("mode", HostMode::Open, HostMode::WORDS)?;
        let queue_depth = keys.int("queue_depth", 1, 1..=u32::MAX.into())? as u32;
        keys.end()?;
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
