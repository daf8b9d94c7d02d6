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
        "pages of a block; with a summary page at least 2"),
    key("page_bytes", Kind::int(1, BYTES), Int(4096), "bytes",
        "size of a page, for mapping, flash and cache"),
    key("logical_pages", COUNT, From("from op_permille"), "pages",
        "capacity visible to the host; overrides op_permille"),
    key("op_permille", Kind::int(0, 999), Int(150), "1/1000 of raw",
        "over-provisioning: raw pages hidden from the host"),
    key("queue_level", Kind::Choice(QueueLevel::NAMES), word("chip"), "",
        "level with its own queue: defines the unit"),
    key("sched", Kind::Choice(Sched::NAMES), word("fcfs"), "",
        "order in a queue: first come first served, or reads first (needs bus = private)"),
    key("bus", Kind::Choice(Bus::NAMES), word("private"), "",
        "a transfer occupies its unit, or its channel"),
    key("cmd_ns", NS, Int(0), "ns", "overhead of every command"),
    key("read_ns", NS_BY_TYPE, List(25_000), "ns",
        "cell to register, by page type: index in the block modulo the list's length"),
    key("program_ns", NS_BY_TYPE, List(200_000), "ns", "register to cell, by page type"),
    key("erase_ns", NS, Int(1_500_000), "ns", "erasing a block"),
    key("bus_ps_per_byte", NS, Int(25_000), "ps/byte", "transfer time; 1000000 / (MB/s)"),
    key("summary_page", Kind::Bool, Bool(false), "",
        "the FTL writes each block's last page"),
    key("summary_bytes", Kind::int(0, BYTES), Int(512), "bytes",
        "transfer of a summary page"),
    key("copyback", Kind::Bool, Bool(true), "",
        "moved pages do not cross the pins"),
    key("ftl", Kind::Choice(NAMES), word("page"), "", "flash translation layer"),
    key("alloc", Kind::Choice(Alloc::NAMES), word("static"), "",
        "target of a write: its home plane, or the least loaded unit"),
    key("striping", Kind::Form("0..3 or a permutation of the letters CWDP"), word("CWDP"), "",
        "channel, chip (W), die and plane in a home plane's number, fastest first; 0 to 3: CWDP, \
         PCWD, PDCW, PDWC"),
    key("stripe_pages", COUNT, Int(1), "pages", "consecutive pages that stay together"),
    key("gc_mode", Kind::Choice(GcMode::NAMES), word("foreground"), "",
        "GC before the program that needs room, after the one that took it, or also idle"),
    key("gc_low_pages", COUNT, From("2*D"), "pages of a plane",
        "free pages at which GC starts, at least D, the data pages of a block; with A write points \
         a plane (handles, gc_stream) at least A*D, by default (A+1)*D. Devices of papers and \
         vectors have max(D, B*D*5/100), B = blocks_per_plane"),
    key("gc_high_pages", ANY, From("2*gc_low_pages"), "pages of a plane",
        "free pages at which idle GC stops"),
    key("gc_idle_ns", Kind::int(0, u64::MAX / 4), Int(1_000_000), "ns",
        "idle time before idle GC"),
    key("in_gc", Kind::Choice(InGc::NAMES), word("queued"), "",
        "a unit is in GC while GC waits in its queue or is served, or only while it is served \
         (GCaR, victims in GC)"),
    key("address_mode", Kind::Choice(AddressMode::NAMES), word("wrap"), "",
        "a page number beyond the device: modulo its size, or an error"),
    key("unmapped_read", Kind::Choice(UnmappedRead::NAMES), word("home"), "",
        "a read of a page never written: a read on its home plane, or free"),
    key("precondition", Kind::Choice(Precondition::NAMES), word("none"), "",
        "writes before time 0: none, every page in order, then precondition_writes random ones, or \
         random ones until write amplification is steady"),
    key("precondition_writes", ANY, From("2*logical_pages"), "pages",
        "of precondition = random; devices of papers and vectors have 0"),
    key("precondition_seed", ANY, Int(1), "", "seed of these writes"),
    key("precondition_end", Kind::Choice(PreconditionEnd::NAMES), From("high"), "",
        "gc_mode = idle: preconditioning ends as the last write left it, or with gc_high_pages \
         free a plane; devices of papers and vectors have low"),
    key("pe_cycles", Kind::int(0, u32::MAX as u64), Int(0), "erases",
        "P/E cycle rating, for the lifetime in results; 0: unknown"),
    key("command_ns", NS, Int(0), "ns",
        "command processor, a command at a time: 10^9 / IOPS"),
    key("command_read_ns", NS, From("command_ns"), "ns", "command_ns of a read"),
    key("command_write_ns", NS, From("command_ns"), "ns", "command_ns of a write"),
    key("firmware_read_ns", NS, Int(0), "ns",
        "delay of a read after its command; occupies nothing"),
    key("firmware_write_ns", NS, Int(0), "ns", "delay of a write after its command"),
    key("link_ps_per_byte", ANY, Int(0), "ps/byte",
        "link to the host, 1000000 / (MB/s); 0: none"),
    key("link_duplex", Kind::Choice(LinkDuplex::NAMES), word("full"), "",
        "link for each direction (PCIe), or for both (SATA)"),
    key("buffer_pages", Kind::int(0, MOST_PAGES), Int(0), "pages",
        "slots of the write buffer, which completes a write; 0: none"),
    key("slc_blocks", Kind::int(0, MOST_PAGES), Int(0), "blocks of a plane",
        "SLC blocks beside blocks_per_plane, for host writes; 0: none"),
    key("slc_pages_per_block", COUNT, From("max(1, pages_per_block/3)"), "pages",
        "at most pages_per_block"),
    key("slc_read_ns", NS, Int(25_000), "ns", "cell to register, of an SLC block"),
    key("slc_program_ns", NS, Int(150_000), "ns", "register to cell, of an SLC block"),
    key("slc_erase_ns", NS, Int(1_500_000), "ns", "erasing an SLC block"),
    key("slc_policy", Kind::Choice(SlcPolicy::NAMES), word("direct"), "",
        "host program while its SLC cache is full: to the main area, or after folding a block"),
    key("slc_idle", Kind::Bool, Bool(true), "",
        "a unit idle for gc_idle_ns folds its SLC cache"),
    key("handles", Kind::int(1, 8), Int(1), "",
        "placement handles (FDP): host writes of each have blocks of their own"),
    key("isolation", Kind::Choice(Isolation::NAMES), word("initial"), "",
        "target of moved pages: one write point, their handle's, or the placement policy's \
         (sepbit, fk)"),
    key("gc_stream", Kind::Choice(GcStream::NAMES), word("shared"), "",
        "open blocks of moved pages: the host's, their own, or two, for pages moved once and more \
         often (default of 2r-fifo)"),
    key("gc_victim", Kind::Choice(GcVictim::NAMES), word("greedy"), "",
        "GC policy: rule for the victim block"),
    key("gc_choices", Kind::int(1, 1024), Int(10), "blocks",
        "d-choices: blocks sampled"),
    key("gc_window_permille", Kind::int(0, 1000), From("250; 2r-fifo: 700"),
        "1/1000 of blocks_per_plane", "window of oldest blocks: windowed-greedy, 2r-fifo"),
    key("gc_limit_permille", Kind::int(1, 1000), Int(700), "1/1000 of D",
        "2r-fifo: valid pages below which a block goes to GC at once"),
    key("gc_seed", ANY, Int(1), "", "seed of random and d-choices"),
    key("gc_step_pages", Kind::Form("integer 0..4294967294, or auto"), Int(0), "pages",
        "most pages moved by GC and folds before a program to the plane; 0: whole blocks; \
         auto: as few as free a block in time, the default of a file without a preset"),
    key("suspend", Kind::Choice(Suspend::NAMES), word("none"), "",
        "operations that a read interrupts: none, erases, or programs too (needs sched = \
         read_first)"),
    key("suspend_ns", NS, Int(20_000), "ns", "from the interruption to the first read"),
    key("resume_ns", NS, Int(20_000), "ns",
        "from the last read to the rest of the operation"),
    key("suspend_max", Kind::int(1, u32::MAX as u64), Int(4), "",
        "most interruptions of one operation"),
    key("map_cache", Kind::Form("bytes, a size such as 512KiB, or all"), word("all"), "bytes",
        "memory for the map of logical pages; other entries are read from flash before their page; \
         all: the whole map"),
    key("map_entry_bytes", Kind::int(1, BYTES), Int(4), "bytes", "size of an entry of the map"),
    key("map_granularity", Kind::Choice(MapGranularity::NAMES), word("page"), "",
        "items of the map cache: entries, or map pages"),
    key("map_policy", Kind::Choice(MapPolicy::NAMES), word("lru"), "",
        "eviction of items: LRU, or segmented LRU (4/5 protected)"),
    key("map_batch_update", Kind::Bool, Bool(true), "",
        "map_granularity = entry: a write of a map page includes all its dirty entries"),
];

#[rustfmt::skip] // as above
static CACHE: &[Key] = &[
    key("policy", Kind::Form("none or a policy's name"), word("none"), "",
        "the cache policy; its parameters stand beside it"),
    key("frames", COUNT, From("none"), "pages",
        "cache size; in a device file also \"32MiB\", or a list: the default of runs"),
    key("hit_ns", NS, Int(0), "ns", "DRAM access, of every page access"),
    key("evict_wait", Kind::Choice(EvictWait::NAMES), word("staged"), "",
        "eviction wait: for a staging page of the host (staged), the end of the victim's program \
         or transfer, or nothing. Vectors have program"),
    key("staging_pages", Kind::int(1, u32::MAX as u64), Int(64), "pages",
        "staged: dirty victims that may be unfinished before an eviction waits"),
    key("read_wait", Kind::Choice(ReadWait::NAMES), word("frame"), "",
        "end of a missed read: when it has its frame, or its data"),
];

#[rustfmt::skip] // as above
static HOST: &[Key] = &[
    key("mode", Kind::Choice(HostMode::NAMES), word("open"), "",
        "issue of requests: at their arrivals, or when one before is done"),
    key("queue_depth", Kind::int(1, u32::MAX as u64), Int(1), "requests",
        "closed: outstanding requests"),
    key("writer", Kind::Choice(Writer::NAMES), word("none"), "",
        "idle-time writer: none, or the host's, with a policy with an order of eviction"),
    key("writer_low_pages", Kind::int(1, u32::MAX as u64), Int(64), "pages",
        "next victims kept free or clean"),
    key("writer_batch", Kind::int(1, u32::MAX as u64), From("the device's units"), "pages",
        "most pages written at one instant"),
    key("trim", Kind::Choice(TrimMode::NAMES), word("ignore"), "",
        "the trace's trims: ignored, or drop pages from cache and device"),
    key("flush", Kind::Choice(FlushMode::NAMES), word("ignore"), "",
        "the trace's flushes: ignored, or wait for the host's programs"),
];

#[rustfmt::skip] // as above
static PLACEMENT: &[Key] = &[
    key("policy", Kind::Choice(PlacementConfig::NAMES), word("none"), "",
        "policy that assigns handles to host page writes"),
    key("thresholds", Kind::ints(1, u64::MAX), From("none"), "bytes",
        "by-size: handles - 1 ascending sizes; the handle is the number at or below the write's"),
    key("window", Kind::int(1, u64::MAX), Int(16), "blocks",
        "sepbit: blocks of class 0, for their mean lifetime"),
    key("steps", Kind::Choice(Steps::NAMES), word("geometric"), "",
        "fk: classes of lifetimes grow by a factor, or are equal"),
    key("base", Kind::int(2, u64::MAX), Int(4), "", "fk: that factor"),
    key("unit_pages", Kind::int(1, u64::MAX), From("planes*D"), "host page writes",
        "fk: the first step; by default one block of every plane"),
];
