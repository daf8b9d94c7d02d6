//! Every key of the tables `[device]`, `[cache]`, `[host]` and `[placement]`, once
//! (`docs/spec/device.md` 3, `docs/spec/device-today.md` 3). The
//! parser, the documentation and the catalogue of the command line all read this list. Those of
//! `[ftl]` stand beside each FTL: two FTLs may mean different things by one name.

use crate::config::IfAbsent::{Bool, From, Int, List};
use crate::config::{
    AddressMode, Alloc, Bus, COUNT, EvictWait, FlushMode, GcMode, GcStream, GcVictim, HostMode,
    IfAbsent, InGc, Isolation, Key, Kind, LONGEST_NS, LinkDuplex, MOST_PAGES, MapGranularity,
    MapPolicy, PlacementConfig, Precondition, PreconditionEnd, QueueLevel, ReadWait, Reader, Sched,
    SlcPolicy, Steps, Suspend, Table, TrimMode, UnmappedRead, Writer, key,
};
use crate::ftl::{FTLS, NAMES};

/// The key of this table with this name; of `ftl` that of the first FTL that has it.
pub fn key_of(table: &str, name: &str) -> Option<&'static Key> {
    keys_of(table).find(|key| key.name == name)
}

/// The keys of a table, in the order of the list; of `ftl` those of all FTLs.
pub fn keys_of(table: &str) -> impl Iterator<Item = &'static Key> {
    let own = KEYS.iter().filter(move |(name, _)| *name == table).flat_map(|(_, keys)| *keys);
    let ftls = if table == "ftl" { FTLS } else { &[] };
    own.chain(ftls.iter().flat_map(|info| info.keys))
}

/// Reads a table by its keys.
pub(super) fn reader<'a>(name: &'static str, table: &'a Table) -> Reader<'a> {
    Reader::of(name, table, keys_of(name))
}

const NS: Kind = Kind::int(0, LONGEST_NS);
const NS_BY_TYPE: Kind = Kind::ints(0, LONGEST_NS);
const BYTES: u64 = u32::MAX as u64;
const ANY: Kind = Kind::WHOLE;

const fn word(text: &'static str) -> IfAbsent {
    IfAbsent::Word(text)
}

/// All keys, by table. `[trace]` takes the reader's options, `[ftl]` the parameters of the FTL.
pub static KEYS: &[(&str, &[Key])] =
    &[("device", DEVICE), ("cache", CACHE), ("host", HOST), ("placement", PLACEMENT)];

#[rustfmt::skip] // one key, one or two lines: it is a table
static DEVICE: &[Key] = &[
    key("channels", COUNT, Int(1), "", "channels"),
    key("chips_per_channel", COUNT, Int(1), "", "chips of a channel"),
    key("dies_per_chip", COUNT, Int(1), "", "dies of a chip"),
    key("planes_per_die", COUNT, Int(1), "", "planes of a die"),
    key("blocks_per_plane", COUNT, Int(64), "", "erase blocks of a plane"),
    key("pages_per_block", COUNT, Int(64), "pages",
        "pages of a block, the summary page included: then at least 2"),
    key("page_bytes", Kind::int(1, BYTES), Int(4096), "bytes",
        "size of a page: the unit of mapping, reading, programming and caching"),
    key("logical_pages", COUNT, From("from op_permille"), "pages",
        "capacity visible to the host; overrides op_permille"),
    key("op_permille", Kind::int(0, 999), Int(150), "1/1000 of raw",
        "over-provisioning: share of the raw pages hidden from the host"),
    key("queue_level", Kind::Choice(QueueLevel::NAMES), word("chip"), "",
        "level with its own queue: defines the unit"),
    key("sched", Kind::Choice(Sched::NAMES), word("fcfs"), "",
        "order in a queue: first come, first served, or reads first (needs bus = private)"),
    key("bus", Kind::Choice(Bus::NAMES), word("private"), "",
        "a transfer occupies its unit alone, or all units of the channel"),
    key("cmd_ns", NS, Int(0), "ns", "overhead of every command"),
    key("read_ns", NS_BY_TYPE, List(25_000), "ns",
        "cell to register, by page type: index in the block modulo the length of the list"),
    key("program_ns", NS_BY_TYPE, List(200_000), "ns", "register to cell, by page type"),
    key("erase_ns", NS, Int(1_500_000), "ns", "erasing a block"),
    key("bus_ps_per_byte", NS, Int(25_000), "ps/byte", "transfer time; 1000000 / (MB/s)"),
    key("summary_page", Kind::Bool, Bool(false), "",
        "the FTL writes the last page of each block itself"),
    key("summary_bytes", Kind::int(0, BYTES), Int(512), "bytes",
        "transferred for a summary page"),
    key("copyback", Kind::Bool, Bool(true), "",
        "a page moved by garbage collection does not cross the pins"),
    key("ftl", Kind::Choice(NAMES), word("page"), "", "flash translation layer"),
    key("alloc", Kind::Choice(Alloc::NAMES), word("static"), "",
        "target of a write: its home plane, or the least loaded unit"),
    key("striping", Kind::Form("0..3 or a permutation of the letters CWDP"), word("CWDP"), "",
        "order of channel, chip (W), die and plane in a home plane's number, fastest first; \
         0 to 3 are CWDP, PCWD, PDCW, PDWC"),
    key("stripe_pages", COUNT, Int(1), "pages", "consecutive pages that stay together"),
    key("gc_mode", Kind::Choice(GcMode::NAMES), word("foreground"), "",
        "collect before the program that needs room, after the one that took it, or also when \
         idle"),
    key("gc_low_pages", COUNT, From("2*D"), "pages of a plane",
        "free pages at which collection starts; at least D, the data pages of a block. The devices \
         of the papers and the vectors have max(D, B*D*5/100), with B blocks a plane. With A write \
         points (handles, gc_stream) a plane: at least A*D, by default (A+1)*D"),
    key("gc_high_pages", ANY, From("2*gc_low_pages"), "pages of a plane",
        "free pages at which idle collection stops"),
    key("gc_idle_ns", Kind::int(0, u64::MAX / 4), Int(1_000_000), "ns",
        "idle time before an idle collection"),
    key("in_gc", Kind::Choice(InGc::NAMES), word("queued"), "",
        "a unit is in GC while a collection waits in its queue or is served, or while one is \
         served: for GCaR and the ratio of victims in GC"),
    key("address_mode", Kind::Choice(AddressMode::NAMES), word("wrap"), "",
        "a page number beyond the device: taken modulo its size, or an error"),
    key("unmapped_read", Kind::Choice(UnmappedRead::NAMES), word("home"), "",
        "reading a page never written costs a read on its home plane, or nothing"),
    key("precondition", Kind::Choice(Precondition::NAMES), word("none"), "",
        "before time 0: nothing, every page in order, the same and then precondition_writes random \
         writes, or random writes until write amplification is steady"),
    key("precondition_writes", ANY, From("2*logical_pages"), "pages",
        "random writes of precondition = random; the devices of the papers and the vectors have 0"),
    key("precondition_seed", ANY, Int(1), "", "seed of these writes"),
    key("precondition_end", Kind::Choice(PreconditionEnd::NAMES), From("high"), "",
        "gc_mode = idle: preconditioning ends where the last write left it, or with gc_high_pages \
         free pages a plane; the devices of the papers and the vectors have low"),
    key("pe_cycles", Kind::int(0, u32::MAX as u64), Int(0), "erases",
        "P/E cycle rating of a block, for the lifetime in results; 0: unknown. Does not affect \
         times"),
    key("command_ns", NS, Int(0), "ns",
        "time of the serial command processor for one command: 10^9 / IOPS"),
    key("command_read_ns", NS, From("command_ns"), "ns", "the same for the command of a read"),
    key("command_write_ns", NS, From("command_ns"), "ns", "the same for the command of a write"),
    key("firmware_read_ns", NS, Int(0), "ns", "delay of a read after that; occupies nothing"),
    key("firmware_write_ns", NS, Int(0), "ns", "the same of a write"),
    key("link_ps_per_byte", ANY, Int(0), "ps/byte",
        "link to the host; 0: none. 1000000 / (MB/s)"),
    key("link_duplex", Kind::Choice(LinkDuplex::NAMES), word("full"), "",
        "the link has one resource for each direction (PCIe), or one for both (SATA)"),
    key("buffer_pages", Kind::int(0, MOST_PAGES), Int(0), "pages",
        "slots of the SSD's write buffer, in which a write is complete; 0: none"),
    key("slc_blocks", Kind::int(0, MOST_PAGES), Int(0), "blocks of a plane",
        "SLC blocks, besides blocks_per_plane, through which host writes go; 0: none"),
    key("slc_pages_per_block", COUNT, From("max(1, pages_per_block/3)"), "pages",
        "pages of an SLC block, at most pages_per_block"),
    key("slc_read_ns", NS, Int(25_000), "ns", "cell to register, of an SLC block"),
    key("slc_program_ns", NS, Int(150_000), "ns", "register to cell, of an SLC block"),
    key("slc_erase_ns", NS, Int(1_500_000), "ns", "erasing an SLC block"),
    key("slc_policy", Kind::Choice(SlcPolicy::NAMES), word("direct"), "",
        "host program while the SLC cache of its plane is full: to the main area, or after \
         folding a block"),
    key("slc_idle", Kind::Bool, Bool(true), "",
        "a unit that has been idle for gc_idle_ns folds its SLC cache"),
    key("handles", Kind::int(1, 8), Int(1), "",
        "placement handles (FDP): labels of host writes that keep them in blocks of their own"),
    key("isolation", Kind::Choice(Isolation::NAMES), word("initial"), "",
        "target of moved pages: one write point, that of their handle, or as the placement policy \
         decides (sepbit, fk)"),
    key("gc_stream", Kind::Choice(GcStream::NAMES), word("shared"), "",
        "open blocks of moved pages: the host's, their own, or two (pages moved once, and more \
         often; the default of gc_victim = 2r-fifo)"),
    key("gc_victim", Kind::Choice(GcVictim::NAMES), word("greedy"), "",
        "collector: the rule that chooses which block is collected next"),
    key("gc_choices", Kind::int(1, 1024), Int(10), "blocks",
        "sampled blocks of gc_victim = d-choices"),
    key("gc_window_permille", Kind::int(0, 1000), From("250; 2r-fifo: 700"),
        "1/1000 of blocks_per_plane", "window of windowed-greedy and 2r-fifo: the oldest blocks"),
    key("gc_limit_permille", Kind::int(1, 1000), Int(700), "1/1000 of D",
        "2r-fifo: share of valid pages below which a block is collected at once"),
    key("gc_seed", ANY, Int(1), "", "seed of random and d-choices"),
    key("gc_step_pages", Kind::Form("integer 0..4294967294, or auto"), Int(0), "pages",
        "collection and folds in steps: most pages that are moved before a program to the plane; \
         0: whole blocks; auto: as few as free a block in time, the default of a file without a \
         preset"),
    key("suspend", Kind::Choice(Suspend::NAMES), word("none"), "",
        "what a read interrupts: nothing, erases, or erases and programs (needs sched = \
         read_first)"),
    key("suspend_ns", NS, Int(20_000), "ns", "from the interruption to the first read"),
    key("resume_ns", NS, Int(20_000), "ns",
        "from the last read to the rest of what it interrupted"),
    key("suspend_max", Kind::int(1, u32::MAX as u64), Int(4), "",
        "most interruptions of one operation"),
    key("map_cache", Kind::Form("bytes, a size such as 512KiB, or all"), word("all"), "bytes",
        "memory for the map of logical pages; what it does not hold is read from flash before the \
         page itself; all: the whole map is in memory"),
    key("map_entry_bytes", Kind::int(1, BYTES), Int(4), "bytes", "size of an entry of the map"),
    key("map_granularity", Kind::Choice(MapGranularity::NAMES), word("page"), "",
        "the map cache holds entries of single pages, or whole map pages"),
    key("map_policy", Kind::Choice(MapPolicy::NAMES), word("lru"), "",
        "which of them leaves: LRU or segmented LRU (4/5 protected)"),
    key("map_batch_update", Kind::Bool, Bool(true), "",
        "map_granularity = entry: a map page that is written takes all its dirty entries along"),
];

#[rustfmt::skip] // as above
static CACHE: &[Key] = &[
    key("policy", Kind::Form("none or a policy's name"), word("none"), "",
        "the cache policy; its parameters stand beside it"),
    key("frames", COUNT, From("none"), "pages",
        "cache size; in a device file also a size such as \"32MiB\", or a list: the default of \
         runs"),
    key("hit_ns", NS, Int(0), "ns", "DRAM access, charged to every page access"),
    key("evict_wait", Kind::Choice(EvictWait::NAMES), word("staged"), "",
        "eviction wait of a page that needs a frame: staged, a staging page of the host for each \
         dirty victim; program or transfer, the end of the victim's; none, nothing. The vectors \
         have program"),
    key("staging_pages", Kind::int(1, u32::MAX as u64), Int(64), "pages",
        "evict_wait = staged: dirty victims whose programs may be unfinished before an eviction \
         waits"),
    key("read_wait", Kind::Choice(ReadWait::NAMES), word("frame"), "",
        "a missed read is complete when it has its frame, or when its data are read"),
];

#[rustfmt::skip] // as above
static HOST: &[Key] = &[
    key("mode", Kind::Choice(HostMode::NAMES), word("open"), "",
        "requests are issued at their arrivals, or when one before them is done"),
    key("queue_depth", Kind::int(1, u32::MAX as u64), Int(1), "requests",
        "outstanding requests of mode = closed"),
    key("writer", Kind::Choice(Writer::NAMES), word("none"), "",
        "idle-time writer: none, or the host, whose policy must expose its eviction order"),
    key("writer_low_pages", Kind::int(1, u32::MAX as u64), Int(64), "pages",
        "next victims that the writer keeps free or clean"),
    key("writer_batch", Kind::int(1, u32::MAX as u64), From("the device's units"), "pages",
        "most pages written by the writer at one instant"),
    key("trim", Kind::Choice(TrimMode::NAMES), word("ignore"), "",
        "the trace's trims are no part of the run, or drop their pages from cache and device"),
    key("flush", Kind::Choice(FlushMode::NAMES), word("ignore"), "",
        "the trace's flushes are no part of the run, or wait for the host's programs"),
];

#[rustfmt::skip] // as above
static PLACEMENT: &[Key] = &[
    key("policy", Kind::Choice(PlacementConfig::NAMES), word("none"), "",
        "placement policy: assigns the handle of a host page write"),
    key("thresholds", Kind::ints(1, u64::MAX), From("none"), "bytes",
        "by-size: handles - 1 ascending sizes; a write has as many of them at or below its size \
         as its handle says"),
    key("window", Kind::int(1, u64::MAX), Int(16), "blocks",
        "sepbit: blocks of class 0 whose mean lifetime is taken"),
    key("steps", Kind::Choice(Steps::NAMES), word("geometric"), "",
        "fk: classes of lifetimes grow by a factor, or are all alike"),
    key("base", Kind::int(2, u64::MAX), Int(4), "", "fk: that factor"),
    key("unit_pages", Kind::int(1, u64::MAX), From("planes*D"), "host page writes",
        "fk: the first step; by default what fills one block of every plane"),
];
