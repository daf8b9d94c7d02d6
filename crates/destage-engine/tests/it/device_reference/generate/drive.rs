//! Small drives over all options, and the FTLs of `docs/spec/ftl.md` over them.

use super::map_cache::MapCache;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

/// Numbers from which a drive is made that fits the rules of sections 3 and 5.1.
#[derive(Clone, Debug)]
pub struct Drive {
    geometry: (u64, u64, u64, u64),
    blocks: u64,
    pages: u64,
    summary_page: bool,
    stripe_pages: u64,
    striping: &'static str,
    dynamic: bool,
    low: Option<Index>,
    high: Option<u64>,
    idle: u64,
    fill_permille: u64,
    by_permille: bool,
    level: &'static str,
    /// Scheduler, bus and collection mode exclude one another in part.
    modes: (&'static str, &'static str, &'static str),
    precondition: (&'static str, Index, u64),
    times: Times,
    copyback: bool,
    unmapped: &'static str,
    strict: bool,
    ftl: Option<Ftl>,
    write_points: u64, // of a plane
    steps: Steps,
    map: Option<MapCache>,
}

/// Keys of `docs/spec/gc-steps.md`; times in ticks.
#[derive(Clone, Debug)]
struct Steps {
    /// 0: `auto`.
    pages: Option<u64>,
    suspend: Option<(&'static str, u64, u64, u64)>,
}

fn steps() -> impl Strategy<Value = Steps> {
    let pages = prop_oneof![1 => Just(None), 2 => (0..6_u64).prop_map(Some)];
    let times = (0..3_u64, 0..3_u64, prop_oneof![3 => 1..4_u64, 1 => Just(100)]);
    let suspend = (select(vec!["erase", "program"]), times);
    let suspend = suspend.prop_map(|(word, (to, from, most))| (word, to, from, most));
    let suspend = prop_oneof![1 => Just(None), 3 => suspend.prop_map(Some)];
    (pages, suspend).prop_map(|(pages, suspend)| Steps { pages, suspend })
}

/// An FTL of `docs/spec/ftl.md`; each takes of the parameters what it has.
#[derive(Clone, Debug)]
pub struct Ftl {
    name: &'static str,
    log_blocks: u64,
    victim: &'static str,
    reserve: u64, // blocks beyond the least
    cmt_entries: u64,
    entries_per_page: u64,
    cmt_policy: &'static str,
    protected_percent: u64,
    batch_update: bool,
}

pub fn ftl() -> impl Strategy<Value = Ftl> {
    let name = select(vec!["bast", "fast", "page-ideal", "dftl"]);
    let log_blocks = prop_oneof![3 => 0..6_u64, 1 => 0..100_u64];
    let words = (select(vec!["lru", "fifo"]), select(vec!["slru", "lru"]));
    let cmt_entries = prop_oneof![1..10_u64, 1..100_u64];
    let entries_per_page = prop_oneof![1..10_u64, 1..100_u64];
    let rest = (0..4_u64, 0..=100_u64, any::<bool>());
    (name, log_blocks, words, cmt_entries, entries_per_page, rest).prop_map(
        |(name, log_blocks, words, cmt_entries, entries_per_page, rest)| {
            let (victim, cmt_policy) = words;
            let (reserve, protected_percent, batch_update) = rest;
            Ftl {
                name,
                log_blocks,
                victim,
                reserve,
                cmt_entries,
                entries_per_page,
                cmt_policy,
                protected_percent,
                batch_update,
            }
        },
    )
}

#[derive(Clone, Debug)]
struct Times {
    /// All times are multiples of one tick, so that ends, arrivals and timers meet.
    round: bool,
    command: u64,
    read: Vec<u64>,
    program: Vec<u64>,
    erase: u64,
    bus: u64,
    summary_bytes: u64,
}

fn times() -> impl Strategy<Value = Times> {
    let command = prop_oneof![3 => Just(0), 1 => 1..4_u64];
    let read = prop::collection::vec(1..5_u64, 1..4);
    let program = prop::collection::vec(1..12_u64, 1..4);
    let erase = prop_oneof![1 => 1..4_u64, 4 => 4..40_u64];
    let bus = prop_oneof![1 => Just(0), 3 => 1..4_u64];
    (any::<bool>(), command, read, program, erase, bus, 0..3_u64).prop_map(
        |(round, command, read, program, erase, bus, summary_bytes)| Times {
            round,
            command,
            read,
            program,
            erase,
            bus,
            summary_bytes,
        },
    )
}

fn striping() -> impl Strategy<Value = &'static str> {
    let orders = [
        "0", "1", "2", "3", "CWDP", "CWPD", "CDWP", "CDPW", "CPWD", "CPDW", "WCDP", "WCPD", "WDCP",
        "WDPC", "WPCD", "WPDC", "DCWP", "DCPW", "DWCP", "DWPC", "DPCW", "DPWC", "PCWD", "PCDW",
        "PWCD", "PWDC", "PDCW", "PDWC",
    ];
    prop_oneof![1 => Just("CWDP"), 2 => select(orders.to_vec())]
}

fn modes() -> impl Strategy<Value = (&'static str, &'static str, &'static str)> {
    prop_oneof![
        3 => (Just("fcfs"), Just("private"), gc_mode()),
        3 => (Just("fcfs"), Just("shared"), gc_mode()),
        2 => (Just("read_first"), Just("private"), gc_mode()),
    ]
}

fn gc_mode() -> impl Strategy<Value = &'static str> {
    select(vec!["foreground", "background", "idle"])
}

const MOST_PAGES: u64 = 4_000;

pub fn drive() -> impl Strategy<Value = Drive> {
    let geometry = (1..5_u64, 1..4_u64, 1..3_u64, 1..4_u64);
    let sizes = prop_oneof![19 => (4..13_u64, 1..10_u64), 1 => (4..80_u64, 1..140_u64)];
    let sizes = (sizes, any::<bool>());
    let placement = (prop_oneof![2 => Just(1), 1 => 1..6_u64], striping(), any::<bool>());
    let level = select(vec!["chip", "channel", "die", "plane"]);
    let fill = prop_oneof![1 => Just(1000), 2 => 850..1000_u64, 1 => 1..1000_u64];
    let low = prop_oneof![1 => Just(None), 1 => any::<Index>().prop_map(Some)];
    let high = prop_oneof![1 => Just(None), 2 => (0..80_u64).prop_map(Some)];
    let idle = prop_oneof![1 => Just(0), 4 => 1..60_u64];
    let before = select(vec!["random", "random", "sequential", "none", "steady"]);
    let precondition = (before, any::<Index>(), prop_oneof![0..100_u64, any::<u64>()]);
    let rest = (any::<bool>(), select(vec!["home", "free"]), any::<bool>(), any::<bool>());
    let first = (geometry, sizes, placement, level, modes(), fill);
    let second = (low, high, idle, precondition, times(), rest, steps());
    (first, second).prop_map(|(first, second)| {
        let (geometry, sizes, placement, level, modes, fill_permille) = first;
        let ((blocks, pages), summary_page) = sizes;
        let (stripe_pages, striping, dynamic) = placement;
        let (low, high, idle, precondition, times, rest, steps) = second;
        let (copyback, unmapped, strict, by_permille) = rest;
        let (channels, chips, dies, planes) = geometry;
        // Many planes or pages make the reference model slow (a write looks at all of them, and
        // `steady` makes sixteen writes a page: hours for 20,000 pages) and collections rare.
        let pages = pages.min(MOST_PAGES / blocks);
        let most_planes = (MOST_PAGES / (blocks * pages)).clamp(1, 20);
        let fit = |count: u64, others: u64| count.min((most_planes / others).max(1));
        let channels = fit(channels, 1);
        let chips = fit(chips, channels);
        let dies = fit(dies, channels * chips);
        let planes = fit(planes, channels * chips * dies);
        Drive {
            geometry: (channels, chips, dies, planes),
            blocks,
            pages: if summary_page { pages + 1 } else { pages },
            summary_page,
            stripe_pages,
            striping,
            dynamic,
            low,
            high,
            idle,
            fill_permille,
            by_permille,
            level,
            modes,
            precondition,
            times,
            copyback,
            unmapped,
            strict,
            ftl: None,
            write_points: 1,
            steps,
            map: None,
        }
    })
}

impl Drive {
    /// A device over another FTL than its own.
    pub fn with_ftl(self, ftl: Option<Ftl>) -> Drive {
        Drive { ftl, ..self }
    }

    /// A device that serves first come, first served, with so many open blocks a plane and room for
    /// them.
    pub fn with_write_points(self, write_points: u64) -> Drive {
        let blocks = self.blocks + 2 * (write_points - 1);
        // More blocks make collections rare, fewer planes do not.
        let (channels, chips, dies, planes) = self.geometry;
        let geometry = match write_points {
            1 => self.geometry,
            _ => (channels.min(2), chips.min(1), dies.min(2), planes.min(1)),
        };
        Drive { write_points, blocks, geometry, ..self }
    }

    /// A device with a map cache and a write point for map pages.
    pub fn with_map_cache(self, map: MapCache) -> Drive {
        let low = self.low.filter(|_| !self.dynamic);
        let (blocks, write_points) = (self.blocks + 3, self.write_points + 1);
        Drive { map: Some(map), write_points, blocks, low, by_permille: false, ..self }
    }

    /// So many logical pages fit beside their map pages (`docs/spec/map-cache.md` 3).
    fn fits_with_map(&self, logical_pages: u64) -> bool {
        let Some(map) = &self.map else { return true };
        let map_pages = map.map_pages(self.page_bytes(), logical_pages);
        let (planes, stripe) = (self.planes(), self.stripe_pages());
        let most = map_pages.div_ceil(planes);
        let homed = logical_pages.div_ceil(stripe).div_ceil(planes) * stripe;
        match self.dynamic {
            true => logical_pages + map_pages < planes * self.cap() && most < self.cap(),
            false => homed + most <= self.cap(),
        }
    }

    /// Whether all times are multiples of one tick.
    pub fn is_round(&self) -> bool {
        self.times.round
    }

    /// Whether a page beyond the last one is an error.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    fn planes(&self) -> u64 {
        let (channels, chips, dies, planes) = self.geometry;
        channels * chips * dies * planes
    }

    /// Pages of a block, the summary page included.
    pub fn pages_per_block(&self) -> u64 {
        self.pages
    }

    fn data_pages(&self) -> u64 {
        self.pages - u64::from(self.summary_page)
    }

    /// F: as a rule the default, at most what leaves a plane room for two valid pages.
    fn low_pages(&self) -> u64 {
        let (all, open) = (self.blocks * self.data_pages(), self.write_points * self.data_pages());
        match self.low {
            None => open.max(all * 5 / 100),
            Some(low) => open + low.index((all - 2 * open - 1) as usize) as u64,
        }
    }

    /// Valid pages that a plane may hold, at least 2.
    fn cap(&self) -> u64 {
        (self.blocks - self.write_points) * self.data_pages() - self.low_pages()
    }

    fn stripe_pages(&self) -> u64 {
        // A map page beside a stripe.
        self.stripe_pages.min(self.cap() - u64::from(self.map.is_some()))
    }

    /// The largest L, and a share of it.
    pub fn logical_pages(&self) -> u64 {
        if let Some((_, pages)) = self.permille() {
            return pages;
        }
        let mut pages = (self.most_pages() * self.fill_permille / 1000).max(1);
        while !self.fits_with_map(pages) {
            pages = (pages * 15 / 16).max(1);
        }
        pages
    }

    fn blocks_in_all(&self) -> u64 {
        self.planes() * self.blocks
    }

    /// The FTL's name; DFTL takes more blocks than the smallest drives have.
    fn ftl_name(&self, ftl: &Ftl) -> &'static str {
        if ftl.name == "dftl" && self.blocks_in_all() < 8 { "page-ideal" } else { ftl.name }
    }

    /// A size that leaves room for a data block and a spare one.
    fn log_blocks(&self, ftl: &Ftl) -> u64 {
        let least = if ftl.name == "fast" { 2 } else { 1 };
        (least + ftl.log_blocks).min(self.blocks_in_all() - 2)
    }

    /// `gc_reserve_blocks`, which leaves room for a data block.
    fn reserve_blocks(&self, ftl: &Ftl) -> u64 {
        let (least, frontiers) = if self.ftl_name(ftl) == "dftl" { (4, 2) } else { (2, 1) };
        // A block of data, and with one page a block another for the map.
        (least + ftl.reserve).min(self.blocks_in_all() - frontiers - if least == 4 { 2 } else { 1 })
    }

    /// The largest L over an FTL.
    fn most_pages_over(&self, ftl: &Ftl) -> u64 {
        let (blocks, n) = (self.blocks_in_all(), self.pages);
        match self.ftl_name(ftl) {
            "bast" | "fast" => (blocks - self.log_blocks(ftl) - 1) * n,
            "dftl" => {
                let stored = (blocks - self.reserve_blocks(ftl) - 2) * n;
                stored * ftl.entries_per_page / (ftl.entries_per_page + 1)
            }
            _ => (blocks - self.reserve_blocks(ftl) - 1) * n,
        }
    }

    pub fn ftl_table(&self) -> Option<Value> {
        let ftl = self.ftl.as_ref()?;
        Some(match self.ftl_name(ftl) {
            "bast" => json!({"log_blocks": self.log_blocks(ftl), "victim": ftl.victim}),
            "fast" => json!({"log_blocks": self.log_blocks(ftl)}),
            "dftl" => json!({
                "gc_reserve_blocks": self.reserve_blocks(ftl),
                "cmt_entries": ftl.cmt_entries,
                "entries_per_translation_page": ftl.entries_per_page,
                "cmt_policy": ftl.cmt_policy,
                "protected_fraction": ftl.protected_percent as f64 / 100.0,
                "batch_update": ftl.batch_update,
            }),
            _ => json!({"gc_reserve_blocks": self.reserve_blocks(ftl)}),
        })
    }

    fn most_pages(&self) -> u64 {
        if let Some(ftl) = &self.ftl {
            return self.most_pages_over(ftl);
        }
        if self.dynamic {
            self.planes() * self.cap() - 1
        } else {
            self.planes() * (self.cap() / self.stripe_pages() * self.stripe_pages())
        }
    }

    /// Over-provisioning that gives about the same L, and that L, where there is one.
    fn permille(&self) -> Option<(u64, u64)> {
        if !self.by_permille {
            return None;
        }
        let raw = self.planes() * self.blocks * self.pages;
        let wanted = self.most_pages() * self.fill_permille / 1000;
        let permille = 1000 - wanted * 1000 / raw;
        let step = self.planes() * self.stripe_pages();
        let pages = raw * (1000 - permille) / 1000 / step * step;
        (permille < 1000 && (1..=self.most_pages()).contains(&pages)).then_some((permille, pages))
    }

    pub fn read_first(&self) -> bool {
        self.modes.0 == "read_first"
    }

    /// Whether an operation may wait for one of another unit.
    pub fn orders(&self) -> bool {
        let (channels, chips, dies, planes) = self.geometry;
        let units = match self.level {
            "channel" => channels,
            "chip" => channels * chips,
            "die" => channels * chips * dies,
            _ => channels * chips * dies * planes,
        };
        self.map.is_some() || self.ftl.is_some() && units > 1
    }

    /// About a tenth of a program.
    pub fn tick_ns(&self) -> u64 {
        if self.times.round { 1000 } else { 10_007 }
    }

    pub fn page_bytes(&self) -> u64 {
        if self.times.round { 1000 } else { 4096 }
    }

    /// Times in ticks as nanoseconds, by themselves no two alike unless round.
    fn ns(&self, ticks: &[u64]) -> Vec<u64> {
        let odd = |i: usize| if self.times.round { 0 } else { 13 * i as u64 };
        ticks.iter().enumerate().map(|(i, &t)| t * self.tick_ns() + odd(i)).collect()
    }

    pub fn table(&self) -> Value {
        let (channels, chips, dies, planes) = self.geometry;
        let (sched, bus, gc_mode) = self.modes;
        let tick = self.tick_ns();
        let (before, writes, seed) = self.precondition;
        let mut table = json!({
            "channels": channels,
            "chips_per_channel": chips,
            "dies_per_chip": dies,
            "planes_per_die": planes,
            "blocks_per_plane": self.blocks,
            "pages_per_block": self.pages,
            "page_bytes": self.page_bytes(),
            "queue_level": self.level,
            "sched": sched,
            "bus": bus,
            "cmd_ns": self.times.command * tick / 4,
            "read_ns": self.ns(&self.times.read),
            "program_ns": self.ns(&self.times.program),
            "erase_ns": self.times.erase * tick,
            "bus_ps_per_byte": self.times.bus * tick * 1000 / self.page_bytes(),
            "copyback": self.copyback,
            "alloc": if self.dynamic { "dynamic" } else { "static" },
            "striping": self.striping,
            "stripe_pages": self.stripe_pages(),
            "gc_mode": gc_mode,
            "gc_idle_ns": self.idle * tick,
            "unmapped_read": self.unmapped,
            "precondition": before,
        });
        let mut add = |key: &str, value: u64| table[key] = value.into();
        match self.permille() {
            Some((permille, _)) => add("op_permille", permille),
            None => add("logical_pages", self.logical_pages()),
        }
        if self.low.is_some() {
            add("gc_low_pages", self.low_pages());
        }
        if let Some(high) = self.high {
            add("gc_high_pages", high);
        }
        if before == "random" {
            let writes = writes.index(2 * self.logical_pages() as usize + 1);
            add("precondition_writes", writes as u64);
            add("precondition_seed", seed);
        }
        if self.summary_page {
            add("summary_bytes", self.times.summary_bytes * self.page_bytes() / 2);
            table["summary_page"] = true.into();
        }
        self.add_steps(&mut table);
        let map = self.map.as_ref().map(|map| map.keys(self.page_bytes()));
        table.as_object_mut().expect("a table").extend(map.into_iter().flatten());
        if before == "steady" {
            table["precondition_seed"] = seed.into();
        }
        if seed % 2 == 1 {
            table["precondition_end"] = "high".into(); // without idle collection of no effect
        }
        if seed % 3 == 1 {
            table["in_gc"] = "executing".into();
        }
        if self.strict {
            table["address_mode"] = "error".into();
        }
        if let Some(ftl) = &self.ftl {
            table["ftl"] = self.ftl_name(ftl).into();
        }
        table
    }

    /// Keys of `docs/spec/gc-steps.md`.
    fn add_steps(&self, table: &mut Value) {
        if let Some(pages) = self.steps.pages.filter(|_| self.ftl.is_none()) {
            table["gc_step_pages"] = if pages == 0 { "auto".into() } else { pages.into() };
        }
        let suspend = self.steps.suspend.filter(|_| self.read_first());
        let Some((word, to, from, most)) = suspend else { return };
        table["suspend"] = word.into();
        table["suspend_ns"] = (to * self.tick_ns()).into();
        table["resume_ns"] = (from * self.tick_ns()).into();
        table["suspend_max"] = most.into();
    }
}
