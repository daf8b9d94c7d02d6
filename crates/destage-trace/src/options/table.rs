//! The one list of keys, from which reading, help, documentation and error messages come.

use destage_keys::IfAbsent::{Bool, From, Nothing, Word};
use destage_keys::{AsValue, Field, Kind, field};

use super::choices::{
    Columns, EtwTime, Event, Object, OnError, Order, Spread, TimeOrigin, TimeUnit, Volumes,
};
use super::reader_options::ReaderOptions as O;
use super::values::*;

const SIZE: Kind = Kind::Form("a size such as 256MiB");
const DURATION: Kind = Kind::Form("a duration such as 90s, 30m, 1h");
const BYTES: Kind = Kind::Form("a whole number of bytes");
const UNIT: Kind = Kind::Form("byte, sector, page, or a number of bytes");
const TEXTS: Kind = Kind::Form("a text, or several");
const ADDRESS: Kind = Kind::Form("a size in bytes");
const COLUMNS: Kind = Kind::Form(
    "time, device (a volume), op, offset, length or response, each with its column: \
     time=ts,offset=3; device=host+disk is a name of two",
);
const FIELDS: Kind = Kind::Form("fields such as \"<u32 time,u64 offset,u32 length,u8 op\"");
const SEPARATOR: Kind = Kind::Form("one character, tab or blank");
const RESPONSE_UNITS: &[&str] = &["s", "ms", "us", "ns", "ps", "filetime"];

const MAPPED: &[&str] = &["csv", "parquet"];
/// Formats whose units are options.
const UNITS: &[&str] = &["csv", "parquet", "bin"];
const OBJECTS: &[&str] = &["oracle-general", "oracle-general-op", "lcs"];
const EVENTS: &[&str] = &["blkparse", "blktrace", "tracefs"];

/// Every key, in the order of help and documentation: as in TOML and Python; as a flag with `-`
/// for `_`. A key belongs to the formats that use it.
#[rustfmt::skip] // one key, two or three lines: it is a table
pub static OPTIONS: &[Field<O>] = &[
    field!(O.format, Kind::Form("a format's name"), Nothing)
        .about("read as this format instead of detecting one"),
    field!(O.on_error, Kind::Choice(OnError::NAMES), Word("stop"))
        .about("malformed records: end the run, or skip and count them"),
    field!(O.max_errors, Kind::OPTIONAL_WHOLE, Nothing)
        .about("malformed records allowed under skip. Default: 10000, or 1 % of the records once \
            more than 100000 were read"),
    field!(O.max_request_bytes, SIZE, Word("256MiB"), some_bytes, AsValue::value)
        .about("size above which a read or write is malformed"),
    field!(O.allow_truncated, Kind::Bool, Bool(false))
        .about("accept a compressed stream that ends early"),
    field!(O.time_origin, Kind::Choice(TimeOrigin::NAMES), Word("run"))
        .about("time 0: the smallest of all files, of each, or the epoch"),
    field!(O.concat, Kind::Bool, Bool(false))
        .about("append the files in time, one after another"),
    field!(O.order, Kind::Choice(Order::NAMES), Word("time"))
        .about("sort by time, keep the stored order, or reject steps back. Kept order: late times \
            are raised to the previous one"),
    field!(O.spread, Kind::Choice(Spread::NAMES), Nothing)
        .of(&["tencent", "oracle-general", "oracle-general-op", "lcs"])
        .about("requests of one whole-second tick: together, or spaced"),
    field!(O.volume, Kind::Form("a volume's name, or several"), Nothing, names, AsValue::value)
        .about("read only these volumes"),
    field!(O.volumes, Kind::Choice(Volumes::NAMES), From("stack"))
        .about("several volumes: one after another, or one run each"),
    field!(O.wrap, Kind::Form("error, modulo or extend"), Word("error"), wrap, AsValue::value)
        .about("pages beyond the device: error, modulo, or a larger device"),
    field!(O.from_ns as "from", DURATION, Nothing, optional_duration, duration_text)
        .about("start this long after the first record"),
    field!(O.for_ns as "for", DURATION, Nothing, optional_duration, duration_text)
        .about("stop this long after the start"),
    field!(O.requests, Kind::OPTIONAL_WHOLE, Nothing)
        .about("stop after this many requests, or prompts"),
    field!(O.resample, Kind::OPTIONAL_WHOLE, Nothing)
        .about("bootstrap sample of the trace: blocks chosen by this seed"),
    field!(O.resample_block, Kind::OptionalInt { min: 1, max: u64::MAX }, Nothing)
        .about("requests per resampled block (default: 1/32 of the trace)"),
    field!(O.ops, Kind::Form("read, write, trim, flush, or several"), Nothing, ops, AsValue::value)
        .about("keep only these operations"),
    field!(O.offset_from, ADDRESS, Nothing, optional_size, AsValue::value)
        .about("keep requests that reach this byte address of the volume"),
    field!(O.offset_to, ADDRESS, Nothing, optional_size, AsValue::value)
        .about("keep requests that begin below this byte address"),
    field!(O.time_unit, Kind::Choice(TimeUnit::NAMES), Nothing)
        .of(&["disksim", "mqsim", "mooncake", "qwen-bailian", "csv", "parquet", "bin"])
        .about("unit of the time column. Default: ms for disksim and mooncake, ns for mqsim"),
    field!(O.block_bytes, BYTES, Nothing, unit_size_or_none, AsValue::value)
        .of(&["spc", "disksim", "mooncake", "qwen-bailian", "lmcache"])
        .about("unit of block addresses (512), or size of a KV block"),
    field!(O.page_bytes, BYTES, Nothing, unit_size_or_none, AsValue::value)
        .of(&["arc", "pages", "moe-routing", "csv", "parquet", "bin"])
        .about("bytes of a page reference or of the unit `page`. Default: 512 for arc, 4096 for \
            pages"),
    field!(O.sector_bytes, BYTES, Nothing, unit_size_or_none, AsValue::value)
        .of(&["srt"])
        .about("sector size if the header does not have it"),
    field!(O.srt_header, Kind::Bool, Bool(true))
        .of(&["srt"])
        .about("the file begins with the text header"),
    field!(O.event, Kind::Choice(Event::NAMES), Word("D"))
        .of(EVENTS)
        .about("request event: issued to the driver, queued or completed"),
    field!(O.only_this_file, Kind::Bool, Bool(false))
        .of(&["blktrace"])
        .about("ignore the files of the other CPUs"),
    field!(O.etw_time, Kind::Choice(EtwTime::NAMES), Word("issue"))
        .of(&["ms-etw"])
        .about("issue time is completion minus elapsed time"),
    field!(O.etw_flush, Kind::Bool, Bool(false))
        .of(&["ms-etw"])
        .about("DiskFlush events become flushes"),
    field!(O.object, Kind::Choice(Object::NAMES), Nothing)
        .of(OBJECTS)
        .about("object id: 4096-byte block, sector, name without address"),
    field!(O.default_op, Kind::Form("read or write"), Nothing, default_op, AsValue::value)
        .of(&[
            "oracle-general", "oracle-general-op", "lcs", "mooncake", "qwen-bailian", "csv",
            "parquet", "bin",
        ])
        .about("operation of records without one"),
    field!(O.tenant_is_volume, Kind::Bool, Bool(false))
        .of(&["lcs", "oracle-general-op"])
        .about("each tenant is a volume"),
    field!(O.columns, COLUMNS, Nothing, columns, Columns::value)
        .of(MAPPED)
        .about("columns by name, or by number from 0"),
    field!(O.offset_unit, UNIT, Nothing, unit, unit_value)
        .of(UNITS)
        .about("unit of the offset column"),
    field!(O.length_unit, UNIT, Nothing, unit, unit_value)
        .of(UNITS)
        .about("unit of the length column"),
    field!(O.response_unit, Kind::Choice(RESPONSE_UNITS), Nothing)
        .of(UNITS)
        .about("unit of the response column (default: time_unit)"),
    field!(O.op_read, TEXTS, Nothing, op_texts, AsValue::value)
        .of(UNITS)
        .about("values of the op column that mean read"),
    field!(O.op_write, TEXTS, Nothing, op_texts, AsValue::value)
        .of(UNITS)
        .about("values of the op column that mean write"),
    field!(O.op_trim, TEXTS, Nothing, op_texts, AsValue::value)
        .of(UNITS)
        .about("values of the op column that mean trim"),
    field!(O.op_flush, TEXTS, Nothing, op_texts, AsValue::value)
        .of(UNITS)
        .about("values of the op column that mean flush"),
    field!(O.delimiter, SEPARATOR, Nothing, delimiter, delimiter_text)
        .of(&["csv"])
        .about("column separator (default: detected)"),
    field!(O.header, Kind::OptionalBool, Nothing)
        .of(&["csv"])
        .about("the first line names the columns (default: detected)"),
    field!(O.fields, FIELDS, Nothing)
        .of(&["bin"])
        .about("record layout: < or > (byte order), then TYPE NAME,... TYPE is u8, \
            u16, u32, u64, i32, i64, f64 or xN (N bytes skipped), NAME as in columns, or page"),
    field!(O.bytes_per_token, BYTES, Nothing, unit_size_or_none, AsValue::value)
        .of(&["mooncake", "qwen-bailian"])
        .about("bytes of keys and values per token (or give block_bytes)"),
];
