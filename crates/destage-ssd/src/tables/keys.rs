//! Every key of the tables `[device]`, `[cache]` and `[host]`, once (`docs/spec/device.md` 3). The
//! parser, the documentation and the catalogue of the command line all read this list. Those of
//! `[ftl]` stand beside each FTL: two FTLs may mean different things by one name.

use crate::config::{
    AddressMode, Alloc, Bus, COUNT, EvictWait, GcMode, HostMode, IfAbsent, Key, LONGEST_NS,
    Precondition, QueueLevel, ReadWait, Reader, Sched, Table, Takes, UnmappedRead,
};
use crate::ftl::{FTLS, NAMES};

/// The key of this table with this name; of `ftl` that of the first FTL that has it.
pub fn key(table: &str, name: &str) -> Option<&'static Key> {
    keys_of(table).find(|key| key.name == name)
}

/// The keys of a table, in the order of the list; of `ftl` those of all FTLs.
pub fn keys_of(table: &str) -> impl Iterator<Item = &'static Key> {
    let ftl = FTLS.iter().flat_map(|info| info.keys);
    KEYS.iter().chain(ftl).filter(move |key| key.table == table)
}

/// Reads a table by its keys.
pub(super) fn reader<'a>(name: &'static str, table: &'a Table) -> Reader<'a> {
    Reader::of(name, table, keys_of(name))
}

const NS: Takes = Takes::Int(0..=LONGEST_NS);
const NS_BY_TYPE: Takes = Takes::Ints(0..=LONGEST_NS);
const BYTES: u64 = u32::MAX as u64;
const ANY: Takes = Takes::Int(0..=u64::MAX);

const fn device(
    name: &'static str,
    takes: Takes,
    default: IfAbsent,
    unit: &'static str,
    about: &'static str,
) -> Key {
    Key { table: "device", name, takes, default, unit, about }
}

const fn cache(
    name: &'static str,
    takes: Takes,
    default: IfAbsent,
    unit: &'static str,
    about: &'static str,
) -> Key {
    Key { table: "cache", name, takes, default, unit, about }
}

const fn host(
    name: &'static str,
    takes: Takes,
    default: IfAbsent,
    unit: &'static str,
    about: &'static str,
) -> Key {
    Key { table: "host", name, takes, default, unit, about }
}

use crate::config::IfAbsent::{Bool, From, Int, List};
const fn word(text: &'static str) -> IfAbsent {
    IfAbsent::Word(text)
}

/// All keys. `[trace]` takes the reader's options, `[ftl]` the parameters of the FTL.
#[rustfmt::skip] // one key, one or two lines: it is a table
pub static KEYS: &[Key] = &[
    device("channels", COUNT, Int(1), "", "channels"),
    device("chips_per_channel", COUNT, Int(1), "", "chips of a channel"),
    device("dies_per_chip", COUNT, Int(1), "", "dies of a chip"),
    device("planes_per_die", COUNT, Int(1), "", "planes of a die"),
    device("blocks_per_plane", COUNT, Int(64), "", "erase blocks of a plane"),
    device("pages_per_block", COUNT, Int(64), "pages",
        "pages of a block, the summary page included: then at least 2"),
    device("page_bytes", Takes::Int(1..=BYTES), Int(4096), "bytes",
        "size of a page: the unit of mapping, reading, programming and caching"),
    device("logical_pages", COUNT, From("from op_permille"), "pages",
        "what the host sees; given, it decides and op_permille does not count"),
    device("op_permille", Takes::Int(0..=999), Int(150), "1/1000 of raw",
        "over-provisioning: share of the raw pages that the host does not see"),
    device("queue_level", Takes::Word(QueueLevel::NAMES), word("chip"), "",
        "the level that has the queue: what a unit is"),
    device("sched", Takes::Word(Sched::NAMES), word("fcfs"), "",
        "order in a queue: first come, first served, or reads first (needs bus = private)"),
    device("bus", Takes::Word(Bus::NAMES), word("private"), "",
        "who waits for a transfer: the unit alone, or all units of the channel"),
    device("cmd_ns", NS, Int(0), "ns", "overhead of every command"),
    device("read_ns", NS_BY_TYPE, List(25_000), "ns",
        "cell to register, by page type: index in the block modulo the length of the list"),
    device("program_ns", NS_BY_TYPE, List(200_000), "ns", "register to cell, by page type"),
    device("erase_ns", NS, Int(1_500_000), "ns", "erasing a block"),
    device("bus_ps_per_byte", NS, Int(25_000), "ps/byte", "transfer time; 1000000 / (MB/s)"),
    device("summary_page", Takes::Bool, Bool(false), "",
        "the FTL writes the last page of each block itself"),
    device("summary_bytes", Takes::Int(0..=BYTES), Int(512), "bytes",
        "transferred for a summary page"),
    device("copyback", Takes::Bool, Bool(true), "",
        "a page that collection moves does not cross the pins"),
    device("ftl", Takes::Word(NAMES), word("page"), "", "flash translation layer"),
    device("alloc", Takes::Word(Alloc::NAMES), word("static"), "",
        "where a written page goes: its home plane, or the unit with the least work"),
    device("striping", Takes::Else("0..3 or a permutation of the letters CWDP"), word("CWDP"), "",
        "order of channel, chip (W), die and plane in a home plane's number, fastest first; \
         0 to 3 are CWDP, PCWD, PDCW, PDWC"),
    device("stripe_pages", COUNT, Int(1), "pages", "consecutive pages that stay together"),
    device("gc_mode", Takes::Word(GcMode::NAMES), word("foreground"), "",
        "collect before the program that needs room, after the one that took it, or also when \
         idle"),
    device("gc_low_pages", COUNT, From("2*D"), "pages of a plane",
        "collect when so many are free; at least D, the data pages of a block. The drives of the \
         papers and the vectors have max(D, B*D*5/100), with B blocks a plane"),
    device("gc_high_pages", ANY, From("2*gc_low_pages"), "pages of a plane",
        "idle collection stops when so many are free"),
    device("gc_idle_ns", Takes::Int(0..=u64::MAX / 4), Int(1_000_000), "ns",
        "idle time before an idle collection"),
    device("address_mode", Takes::Word(AddressMode::NAMES), word("wrap"), "",
        "a page number beyond the drive is taken modulo its size, or is an error"),
    device("unmapped_read", Takes::Word(UnmappedRead::NAMES), word("home"), "",
        "reading a page never written costs a read on its home plane, or nothing"),
    device("precondition", Takes::Word(Precondition::NAMES), word("none"), "",
        "before time 0: nothing, every page in order, or that and then random writes"),
    device("precondition_writes", ANY, Int(0), "pages", "random writes of precondition = random"),
    device("precondition_seed", ANY, Int(1), "", "seed of these writes"),

    cache("policy", Takes::Else("none or a policy's name"), word("none"), "",
        "the cache policy; its parameters stand beside it"),
    cache("frames", COUNT, From("none"), "pages",
        "cache size; in a drive file also a size such as \"32MiB\", or a list: what a run takes \
         that names none"),
    cache("hit_ns", NS, Int(0), "ns", "DRAM access, charged to every page access"),
    cache("evict_wait", Takes::Word(EvictWait::NAMES), word("program"), "",
        "what a page that needs a frame waits for: the end of the victim's program or transfer, \
         or nothing"),
    cache("read_wait", Takes::Word(ReadWait::NAMES), word("frame"), "",
        "a missed read is complete when it has its frame, or when its data are read"),

    host("mode", Takes::Word(HostMode::NAMES), word("open"), "",
        "requests are issued at their arrivals, or when one before them is done (needs sched = \
         fcfs)"),
    host("queue_depth", Takes::Int(1..=u32::MAX as u64), Int(1), "requests",
        "outstanding requests of mode = closed"),
];
