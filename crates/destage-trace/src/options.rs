//! How a trace is to be read: the `[trace]` table, the same keys as Python keywords and as flags.
//!
//! One list, [`OPTIONS`], names every key with its values, default and meaning; the parser, the
//! command line's help and the documentation all come from it. A key that is not there, or a value
//! that it does not take, is an error that names the nearest key or the values expected.

use serde_json::{Map, Value};

use crate::error::{Result, TraceError};
use crate::record::RecordOp;

/// One key of the `[trace]` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct OptionInfo {
    /// As in TOML and Python; as a flag with `-` for `_`, but `--volume` and `--volumes` for
    /// `device` and `devices`.
    pub key: &'static str,
    /// The values it takes, as an error message names them.
    pub values: &'static str,
    /// Default, as it would be written.
    pub default: &'static str,
    /// One line.
    pub about: &'static str,
    /// Formats it means something to; empty for all.
    pub formats: &'static [&'static str],
}

const fn option(
    key: &'static str,
    values: &'static str,
    default: &'static str,
    about: &'static str,
    formats: &'static [&'static str],
) -> OptionInfo {
    OptionInfo { key, values, default, about, formats }
}

const MAPPED: &[&str] = &["csv", "parquet"];
const OBJECTS: &[&str] = &["oracle-general", "oracle-general-op", "lcs"];
const EVENTS: &[&str] = &["blkparse", "blktrace"];

/// Every key, in the order of help and documentation.
pub const OPTIONS: &[OptionInfo] = &[
    option("format", "a format's name", "", "read as this format instead of detecting one", &[]),
    option(
        "on_error",
        "stop or skip",
        "stop",
        "what a malformed record does: end the run, or be skipped and counted",
        &[],
    ),
    option(
        "max_errors",
        "a whole number",
        "",
        "malformed records allowed under skip (default 10000; 1 % of the records once more than 100000 were read)",
        &[],
    ),
    option(
        "max_request_bytes",
        "a size such as 256MiB",
        "256MiB",
        "longer reads and writes are malformed",
        &[],
    ),
    option(
        "allow_truncated",
        "true or false",
        "false",
        "use what came of a compressed stream that ends early",
        &[],
    ),
    option(
        "time_origin",
        "run, file or absolute",
        "run",
        "what time 0 is: the smallest time of all files, each file's own first record, or the epoch",
        &[],
    ),
    option(
        "concat",
        "true or false",
        "false",
        "each file starts where the one before it ended",
        &[],
    ),
    option(
        "order",
        "time, file or strict",
        "time",
        "sort by time; keep the stored order and lift late records to their predecessor's time; or refuse a step back",
        &[],
    ),
    option(
        "spread",
        "none or uniform",
        "",
        "what whole-second clocks do with the requests of one tick: keep them together, or space them evenly",
        &["tencent", "oracle-general", "oracle-general-op", "lcs"],
    ),
    option(
        "device",
        "a device's name, or several",
        "",
        "read only these devices (flag: --volume)",
        &[],
    ),
    option(
        "devices",
        "stack or separate",
        "stack",
        "place the devices one after another, or give each a run of its own (flag: --volumes)",
        &[],
    ),
    option(
        "wrap",
        "none, modulo or extend",
        "none",
        "what addresses past the end of the modelled device do: an error, wrap around, or enlarge the device",
        &[],
    ),
    option(
        "from",
        "a duration such as 90s, 30m, 1h",
        "",
        "start this long after the first record",
        &[],
    ),
    option("for", "a duration such as 90s, 30m, 1h", "", "stop this long after the start", &[]),
    option("requests", "a whole number", "", "stop after this many requests", &[]),
    option("ops", "read, write, trim, flush, or several", "", "keep only these operations", &[]),
    option(
        "offset_from",
        "a size in bytes",
        "",
        "keep only requests that reach this byte address of their device, or past it",
        &[],
    ),
    option(
        "offset_to",
        "a size in bytes",
        "",
        "keep only requests that begin below this byte address of their device",
        &[],
    ),
    option(
        "time_unit",
        "s, ms, us, ns, ps, filetime or none",
        "",
        "unit of the time column",
        &["mqsim", "csv", "parquet"],
    ),
    option(
        "block_bytes",
        "a whole number of bytes",
        "512",
        "unit of block addresses",
        &["spc", "disksim"],
    ),
    option(
        "page_bytes",
        "a whole number of bytes",
        "",
        "size of one page reference (512 for arc, 4096 for pages), and of the unit `page`",
        &["arc", "pages", "csv", "parquet"],
    ),
    option(
        "sector_bytes",
        "a whole number of bytes",
        "",
        "sector size of a trace whose header does not tell",
        &["srt"],
    ),
    option("srt_header", "true or false", "true", "the file begins with the text header", &["srt"]),
    option(
        "event",
        "D, Q or C",
        "D",
        "which event is the request: issued to the driver, queued, or completed",
        EVENTS,
    ),
    option(
        "only_this_file",
        "true or false",
        "false",
        "leave the files of the other CPUs alone",
        &["blktrace"],
    ),
    option(
        "etw_time",
        "issue or completion",
        "issue",
        "issue time is completion minus elapsed time",
        &["ms-etw"],
    ),
    option("etw_flush", "true or false", "false", "DiskFlush events become flushes", &["ms-etw"]),
    option(
        "object",
        "page, sector or opaque",
        "",
        "what an object id is: a 4096-byte block number, a sector number, or a name of one page",
        OBJECTS,
    ),
    option(
        "default_op",
        "read or write",
        "",
        "operation of records that carry none",
        &["oracle-general", "oracle-general-op", "lcs", "csv", "parquet"],
    ),
    option(
        "tenant_is_device",
        "true or false",
        "false",
        "each tenant is a device",
        &["lcs", "oracle-general-op"],
    ),
    option(
        "columns",
        "a table such as { time = \"ts\", offset = 3 }",
        "",
        "which column is what: time, device, op, offset, length, response; by name or number from 0",
        MAPPED,
    ),
    option(
        "offset_unit",
        "byte, sector, page, or a number of bytes",
        "",
        "unit of the offset column",
        MAPPED,
    ),
    option(
        "length_unit",
        "byte, sector, page, or a number of bytes",
        "",
        "unit of the length column",
        MAPPED,
    ),
    option(
        "response_unit",
        "s, ms, us, ns, ps or filetime",
        "",
        "unit of the response column (default: time_unit)",
        MAPPED,
    ),
    option("op_read", "a text, or several", "", "values of the op column that mean read", MAPPED),
    option("op_write", "a text, or several", "", "values of the op column that mean write", MAPPED),
    option("op_trim", "a text, or several", "", "values of the op column that mean trim", MAPPED),
    option("op_flush", "a text, or several", "", "values of the op column that mean flush", MAPPED),
    option(
        "delimiter",
        "one character, tab or blank",
        "",
        "what separates the columns (default: found out)",
        &["csv"],
    ),
    option(
        "header",
        "true or false",
        "",
        "the first line names the columns (default: found out)",
        &["csv"],
    ),
];

/// What a malformed record does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Ends the run.
    #[default]
    Stop,
    /// Is skipped and counted.
    Skip,
}

/// What time 0 is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeOrigin {
    /// The smallest time over all files of the run (the decoder subtracts it).
    #[default]
    Run,
    /// Each file's own first record.
    File,
    /// As the format has it.
    Absolute,
}

/// In which order records come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Stable by time; ties keep file order, then the order of the files.
    #[default]
    Time,
    /// As stored; a late record gets its predecessor's time.
    File,
    /// As stored; a step back is an error.
    Strict,
}

/// What a coarse clock's tick does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Keeps the burst.
    None,
    /// The i-th of n requests of a tick comes at tick + i/n.
    Uniform,
}

/// What becomes of several devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Devices {
    /// One after another in one address space.
    #[default]
    Stack,
    /// A run of its own for each.
    Separate,
}

/// What addresses past the end of the modelled device do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrap {
    /// An error.
    #[default]
    None,
    /// Page number modulo the device's logical pages.
    Modulo,
    /// The device gets as many more blocks per plane as it takes.
    Extend,
}

/// Unit of a time column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
    /// Picoseconds.
    Ps,
    /// 100-nanosecond ticks since 1601.
    Filetime,
    /// There is no time.
    None,
}

/// Which event of a block-layer trace is the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Event {
    /// Issued to the driver, after merging.
    #[default]
    D,
    /// Submitted to the block layer.
    Q,
    /// Completed.
    C,
}

impl Event {
    /// Its letter in blkparse's output.
    pub fn letter(self) -> char {
        match self {
            Event::D => 'D',
            Event::Q => 'Q',
            Event::C => 'C',
        }
    }
}

/// When an event of `ms-etw` happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EtwTime {
    /// TimeStamp minus ElapsedTime.
    #[default]
    Issue,
    /// TimeStamp.
    Completion,
}

/// What an object id is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// Number of a 4096-byte block.
    Page,
    /// Number of a 512-byte sector.
    Sector,
    /// A name: each id is one page, sizes are ignored.
    Opaque,
}

/// Unit of an address or length column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// This many bytes.
    Bytes(u64),
    /// `page_bytes` (4096 unless given).
    Page,
}

/// A column of a mapped format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// By its name in the header.
    Name(String),
    /// By its number, from 0.
    Number(usize),
}

/// Which column is what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Arrival time.
    pub time: Option<Column>,
    /// Device name.
    pub device: Option<Column>,
    /// Operation.
    pub op: Option<Column>,
    /// Address.
    pub offset: Option<Column>,
    /// Length.
    pub length: Option<Column>,
    /// Measured service time.
    pub response: Option<Column>,
}

/// The roles that `columns` may name.
pub const COLUMN_ROLES: &[&str] = &["time", "device", "op", "offset", "length", "response"];

/// How a trace is to be read. Fields are named as their keys; times in ns, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each is described under its key in `OPTIONS`
pub struct ReaderOptions {
    pub format: Option<String>,
    pub on_error: OnError,
    pub max_errors: Option<u64>,
    pub max_request_bytes: u64,
    pub allow_truncated: bool,
    pub time_origin: TimeOrigin,
    pub concat: bool,
    pub order: Order,
    pub spread: Option<Spread>,
    pub device: Vec<String>,
    /// `None`: stacked, but formats that meet several devices by accident ask.
    pub devices: Option<Devices>,
    pub wrap: Wrap,
    pub from_ns: Option<u64>,
    pub for_ns: Option<u64>,
    pub requests: Option<u64>,
    /// Empty: all.
    pub ops: Vec<RecordOp>,
    pub offset_from: Option<u64>,
    pub offset_to: Option<u64>,
    pub time_unit: Option<TimeUnit>,
    pub block_bytes: Option<u64>,
    pub page_bytes: Option<u64>,
    pub sector_bytes: Option<u64>,
    pub srt_header: bool,
    pub event: Event,
    pub only_this_file: bool,
    pub etw_time: EtwTime,
    pub etw_flush: bool,
    pub object: Option<Object>,
    /// Read or write.
    pub default_op: Option<RecordOp>,
    pub tenant_is_device: bool,
    pub columns: Columns,
    pub offset_unit: Option<Unit>,
    pub length_unit: Option<Unit>,
    pub response_unit: Option<TimeUnit>,
    pub op_read: Vec<String>,
    pub op_write: Vec<String>,
    pub op_trim: Vec<String>,
    pub op_flush: Vec<String>,
    pub delimiter: Option<u8>,
    pub header: Option<bool>,
    /// Records that the window of `order = "time"` holds; not a key, smaller only in tests.
    pub sort_window_records: usize,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        ReaderOptions {
            format: None,
            on_error: OnError::default(),
            max_errors: None,
            max_request_bytes: 256 << 20,
            allow_truncated: false,
            time_origin: TimeOrigin::default(),
            concat: false,
            order: Order::default(),
            spread: None,
            device: Vec::new(),
            devices: None,
            wrap: Wrap::default(),
            from_ns: None,
            for_ns: None,
            requests: None,
            ops: Vec::new(),
            offset_from: None,
            offset_to: None,
            time_unit: None,
            block_bytes: None,
            page_bytes: None,
            sector_bytes: None,
            srt_header: true,
            event: Event::default(),
            only_this_file: false,
            etw_time: EtwTime::default(),
            etw_flush: false,
            object: None,
            default_op: None,
            tenant_is_device: false,
            columns: Columns::default(),
            offset_unit: None,
            length_unit: None,
            response_unit: None,
            op_read: Vec::new(),
            op_write: Vec::new(),
            op_trim: Vec::new(),
            op_flush: Vec::new(),
            delimiter: None,
            header: None,
            sort_window_records: 1 << 20,
        }
    }
}

/// A list of names and what each stands for, read in both directions.
type Choices<T> = &'static [(&'static str, T)];

const ON_ERROR: Choices<OnError> = &[("stop", OnError::Stop), ("skip", OnError::Skip)];
const TIME_ORIGIN: Choices<TimeOrigin> =
    &[("run", TimeOrigin::Run), ("file", TimeOrigin::File), ("absolute", TimeOrigin::Absolute)];
const ORDER: Choices<Order> =
    &[("time", Order::Time), ("file", Order::File), ("strict", Order::Strict)];
const SPREAD: Choices<Option<Spread>> =
    &[("none", Some(Spread::None)), ("uniform", Some(Spread::Uniform))];
const DEVICES: Choices<Option<Devices>> =
    &[("stack", Some(Devices::Stack)), ("separate", Some(Devices::Separate))];
const WRAP: Choices<Wrap> =
    &[("none", Wrap::None), ("modulo", Wrap::Modulo), ("extend", Wrap::Extend)];
const EVENT: Choices<Event> = &[("D", Event::D), ("Q", Event::Q), ("C", Event::C)];
const ETW_TIME: Choices<EtwTime> =
    &[("issue", EtwTime::Issue), ("completion", EtwTime::Completion)];
const OBJECT: Choices<Option<Object>> = &[
    ("page", Some(Object::Page)),
    ("sector", Some(Object::Sector)),
    ("opaque", Some(Object::Opaque)),
];
const OPS: Choices<RecordOp> = &[
    ("read", RecordOp::Read),
    ("write", RecordOp::Write),
    ("trim", RecordOp::Trim),
    ("flush", RecordOp::Flush),
];
const DEFAULT_OP: Choices<Option<RecordOp>> =
    &[("read", Some(RecordOp::Read)), ("write", Some(RecordOp::Write)), ("", None)];
const TIME_UNIT: Choices<Option<TimeUnit>> = &[
    ("s", Some(TimeUnit::S)),
    ("ms", Some(TimeUnit::Ms)),
    ("us", Some(TimeUnit::Us)),
    ("ns", Some(TimeUnit::Ns)),
    ("ps", Some(TimeUnit::Ps)),
    ("filetime", Some(TimeUnit::Filetime)),
    ("none", Some(TimeUnit::None)),
];
const RESPONSE_UNIT: Choices<Option<TimeUnit>> = &[
    ("s", Some(TimeUnit::S)),
    ("ms", Some(TimeUnit::Ms)),
    ("us", Some(TimeUnit::Us)),
    ("ns", Some(TimeUnit::Ns)),
    ("ps", Some(TimeUnit::Ps)),
    ("filetime", Some(TimeUnit::Filetime)),
];
const UNIT: Choices<Option<Unit>> = &[
    ("byte", Some(Unit::Bytes(1))),
    ("sector", Some(Unit::Bytes(512))),
    ("page", Some(Unit::Page)),
];

impl ReaderOptions {
    /// Reads a `[trace]` table or Python keywords.
    ///
    /// Errors: an unknown key (names the nearest), a value that the key does not take (names what
    /// it takes).
    pub fn from_map(map: &Map<String, Value>) -> Result<Self> {
        let mut options = ReaderOptions::default();
        for (key, value) in map {
            options.set(key, value)?;
        }
        Ok(options)
    }

    /// Sets one key. Numbers, sizes and truth values may also come as text, as from a flag.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<()> {
        let Some(info) = OPTIONS.iter().find(|o| o.key == key) else {
            return Err(unknown_key(key));
        };
        let taken = self.assign(key, value);
        taken.ok_or_else(|| usage(format!("{key}: expected {}, found {value}", info.values)))
    }

    /// Sets one key from a flag's text.
    pub fn set_text(&mut self, key: &str, text: &str) -> Result<()> {
        self.set(key, &Value::String(text.to_owned()))
    }

    /// `None`: not a value of this key.
    fn assign(&mut self, key: &str, value: &Value) -> Option<()> {
        match key {
            "format" => self.format = optional(value, |v| v.as_str().map(str::to_owned))?,
            "on_error" => self.on_error = choice(ON_ERROR, value)?,
            "max_errors" => self.max_errors = optional(value, whole)?,
            "max_request_bytes" => self.max_request_bytes = size(value).filter(|&b| b > 0)?,
            "allow_truncated" => self.allow_truncated = truth(value)?,
            "time_origin" => self.time_origin = choice(TIME_ORIGIN, value)?,
            "concat" => self.concat = truth(value)?,
            "order" => self.order = choice(ORDER, value)?,
            "spread" => self.spread = choice(SPREAD, value)?,
            "device" => self.device = names(value)?,
            "devices" => self.devices = choice(DEVICES, value)?,
            "wrap" => self.wrap = choice(WRAP, value)?,
            "from" => self.from_ns = optional(value, duration_ns)?,
            "for" => self.for_ns = optional(value, duration_ns)?,
            "requests" => self.requests = optional(value, whole)?,
            "ops" => {
                let parts = names(value)?;
                self.ops = parts.iter().map(|p| find(OPS, p)).collect::<Option<Vec<_>>>()?;
            }
            "offset_from" => self.offset_from = optional(value, size)?,
            "offset_to" => self.offset_to = optional(value, size)?,
            "time_unit" => self.time_unit = choice(TIME_UNIT, value)?,
            "block_bytes" => self.block_bytes = unit_bytes(value)?,
            "page_bytes" => self.page_bytes = unit_bytes(value)?,
            "sector_bytes" => self.sector_bytes = unit_bytes(value)?,
            "srt_header" => self.srt_header = truth(value)?,
            "event" => self.event = choice(EVENT, value)?,
            "only_this_file" => self.only_this_file = truth(value)?,
            "etw_time" => self.etw_time = choice(ETW_TIME, value)?,
            "etw_flush" => self.etw_flush = truth(value)?,
            "object" => self.object = choice(OBJECT, value)?,
            "default_op" => self.default_op = choice(DEFAULT_OP, value)?,
            "tenant_is_device" => self.tenant_is_device = truth(value)?,
            "columns" => self.columns = columns(value)?,
            "offset_unit" => self.offset_unit = unit(value)?,
            "length_unit" => self.length_unit = unit(value)?,
            "response_unit" => self.response_unit = choice(RESPONSE_UNIT, value)?,
            "op_read" => self.op_read = texts(value)?,
            "op_write" => self.op_write = texts(value)?,
            "op_trim" => self.op_trim = texts(value)?,
            "op_flush" => self.op_flush = texts(value)?,
            "delimiter" => self.delimiter = optional(value, delimiter)?,
            "header" => self.header = optional(value, truth)?,
            _ => return None,
        }
        Some(())
    }

    /// The keys that differ from their defaults, as `from_map` reads them: for results and the
    /// cache's key.
    pub fn to_map(&self) -> Map<String, Value> {
        let plain = ReaderOptions::default();
        let mut map = Map::new();
        let mut put = |key: &str, differs: bool, value: Value| {
            if differs {
                map.insert(key.to_owned(), value);
            }
        };
        macro_rules! named {
            ($($field:ident: $list:ident),*) => {$(
                put(stringify!($field), self.$field != plain.$field, name_of($list, self.$field).into());
            )*};
        }
        macro_rules! direct {
            ($($field:ident),*) => {$(
                put(stringify!($field), self.$field != plain.$field, self.$field.clone().into());
            )*};
        }
        direct!(format);
        named!(on_error: ON_ERROR);
        direct!(max_errors, max_request_bytes, allow_truncated);
        named!(time_origin: TIME_ORIGIN);
        direct!(concat);
        named!(order: ORDER, spread: SPREAD);
        direct!(device);
        named!(devices: DEVICES, wrap: WRAP);
        put("from", self.from_ns.is_some(), self.from_ns.map(|ns| format!("{ns}ns")).into());
        put("for", self.for_ns.is_some(), self.for_ns.map(|ns| format!("{ns}ns")).into());
        direct!(requests);
        let ops: Vec<&str> = self.ops.iter().map(|&op| name_of(OPS, op)).collect();
        put("ops", !ops.is_empty(), ops.into());
        direct!(offset_from, offset_to);
        named!(time_unit: TIME_UNIT);
        direct!(block_bytes, page_bytes, sector_bytes, srt_header);
        named!(event: EVENT);
        direct!(only_this_file);
        named!(etw_time: ETW_TIME);
        direct!(etw_flush);
        named!(object: OBJECT, default_op: DEFAULT_OP);
        direct!(tenant_is_device);
        put("columns", self.columns != plain.columns, self.columns.to_value());
        put("offset_unit", self.offset_unit.is_some(), unit_value(self.offset_unit));
        put("length_unit", self.length_unit.is_some(), unit_value(self.length_unit));
        named!(response_unit: RESPONSE_UNIT);
        direct!(op_read, op_write, op_trim, op_flush);
        put(
            "delimiter",
            self.delimiter.is_some(),
            self.delimiter.map(|c| char::from(c).to_string()).into(),
        );
        direct!(header);
        map
    }
}

impl Columns {
    fn role(&mut self, role: &str) -> Option<&mut Option<Column>> {
        Some(match role {
            "time" => &mut self.time,
            "device" => &mut self.device,
            "op" => &mut self.op,
            "offset" => &mut self.offset,
            "length" => &mut self.length,
            "response" => &mut self.response,
            _ => return None,
        })
    }

    fn to_value(&self) -> Value {
        let all = [&self.time, &self.device, &self.op, &self.offset, &self.length, &self.response];
        let given = COLUMN_ROLES.iter().zip(all).filter_map(|(role, column)| {
            let value = match column.as_ref()? {
                Column::Name(name) => Value::from(name.as_str()),
                Column::Number(number) => Value::from(*number),
            };
            Some((role.to_string(), value))
        });
        Value::Object(given.collect())
    }
}

impl serde::Serialize for ReaderOptions {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        self.to_map().serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for ReaderOptions {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        let map = Map::deserialize(deserializer)?;
        ReaderOptions::from_map(&map).map_err(serde::de::Error::custom)
    }
}

fn usage(message: String) -> TraceError {
    TraceError::Usage { message }
}

fn unknown_key(key: &str) -> TraceError {
    let nearest = nearest(key, OPTIONS.iter().map(|o| o.key));
    usage(match nearest {
        Some(near) => format!("{key}: no such key of [trace]; did you mean {near}?"),
        None => {
            let keys: Vec<&str> = OPTIONS.iter().map(|o| o.key).collect();
            format!("{key}: no such key of [trace]; expected one of {}", keys.join(", "))
        }
    })
}

/// The name nearest to `given` by edit distance, if any is near enough to be meant.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_ascii_lowercase().replace('-', "_");
    let reach = (given.chars().count() / 3).max(1);
    names
        .into_iter()
        .map(|name| (edit_distance(&given, &name.to_ascii_lowercase().replace('-', "_")), name))
        .filter(|&(distance, _)| distance <= reach)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

fn find<T: Copy>(list: Choices<T>, text: &str) -> Option<T> {
    list.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|&(_, value)| value)
}

fn choice<T: Copy>(list: Choices<T>, value: &Value) -> Option<T> {
    find(list, value.as_str()?)
}

fn name_of<T: Copy + PartialEq>(list: Choices<T>, value: T) -> &'static str {
    list.iter().find(|&&(_, v)| v == value).map_or("", |&(name, _)| name)
}

/// `null` takes the option back.
fn optional<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<Option<T>> {
    if value.is_null() { Some(None) } else { read(value).map(Some) }
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}

/// Bytes: a whole number, or text with `B`, `KiB`, `MiB`, `GiB`, `TiB` or their decimal cousins.
fn size(value: &Value) -> Option<u64> {
    let Value::String(text) = value else { return whole(value) };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let count: u64 = text[..digits].parse().ok()?;
    let scale = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kib" | "k" => 1 << 10,
        "mib" | "m" => 1 << 20,
        "gib" | "g" => 1 << 30,
        "tib" | "t" => 1u64 << 40,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    };
    count.checked_mul(scale)
}

/// Sector, block and page sizes: 1 byte to 1 GiB.
fn unit_bytes(value: &Value) -> Option<Option<u64>> {
    optional(value, |v| size(v).filter(|&bytes| (1..=1 << 30).contains(&bytes)))
}

/// `90s`, `1.5h`, `250ms`: nanoseconds. A bare number has no unit and is refused.
fn duration_ns(value: &Value) -> Option<u64> {
    let text = value.as_str()?.trim();
    let number = text.bytes().take_while(|c| c.is_ascii_digit() || *c == b'.').count();
    let unit: u128 = match &text[number..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = text[..number].split_once('.').unwrap_or((&text[..number], ""));
    if whole.is_empty() || fraction.len() > 9 {
        return None;
    }
    let mut ns = whole.parse::<u64>().ok()? as u128 * unit;
    if !fraction.is_empty() {
        ns += fraction.parse::<u128>().ok()? * unit / 10u128.pow(fraction.len() as u32);
    }
    u64::try_from(ns).ok()
}

/// One name or a list of names; a comma in text separates, unless it is that of a block device's
/// `major,minor`.
fn names(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) if is_major_minor(text) => Some(vec![text.clone()]),
        Value::String(text) => {
            let parts: Vec<String> = text.split(',').map(|p| p.trim().to_owned()).collect();
            parts.iter().all(|p| !p.is_empty()).then_some(parts)
        }
        Value::Number(number) => Some(vec![number.to_string()]),
        other => texts(other),
    }
}

/// Two numbers with a comma between.
pub(crate) fn is_major_minor(text: &str) -> bool {
    text.split_once(',').is_some_and(|(major, minor)| {
        [major, minor]
            .iter()
            .all(|part| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit()))
    })
}

/// One text or a list of texts, taken as they are.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::String(text) => Some(vec![text.clone()]),
        Value::Number(number) => Some(vec![number.to_string()]),
        Value::Array(items) => items
            .iter()
            .map(|item| match item {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

fn unit(value: &Value) -> Option<Option<Unit>> {
    optional(value, |v| match v.as_str().and_then(|text| find(UNIT, text)) {
        Some(named) => named,
        None => size(v).filter(|&bytes| (1..=1 << 30).contains(&bytes)).map(Unit::Bytes),
    })
}

fn unit_value(unit: Option<Unit>) -> Value {
    match unit {
        Some(Unit::Bytes(bytes)) => bytes.into(),
        Some(Unit::Page) => "page".into(),
        None => Value::Null,
    }
}

/// A table of roles; as a flag `time=ts,offset=3`.
fn columns(value: &Value) -> Option<Columns> {
    let mut columns = Columns::default();
    let mut put = |role: &str, column: Column| {
        *columns.role(role.trim())? = Some(column);
        Some(())
    };
    match value {
        Value::Object(map) => {
            for (role, column) in map {
                put(
                    role,
                    match column {
                        Value::String(name) => Column::Name(name.clone()),
                        other => Column::Number(usize::try_from(other.as_u64()?).ok()?),
                    },
                )?;
            }
        }
        Value::String(text) => {
            for part in text.split(',') {
                let (role, column) = part.split_once('=')?;
                let column = column.trim();
                put(
                    role,
                    match column.parse() {
                        Ok(number) => Column::Number(number),
                        Err(_) => Column::Name(column.to_owned()),
                    },
                )?;
            }
        }
        _ => return None,
    }
    Some(columns)
}

fn delimiter(value: &Value) -> Option<u8> {
    match value.as_str()? {
        "tab" | "\\t" => Some(b'\t'),
        "blank" | "blanks" | "space" => Some(b' '),
        text if text.len() == 1 => text.bytes().next().filter(|c| !c.is_ascii_alphanumeric()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> std::result::Result<ReaderOptions, String> {
        serde_json::from_value(value).map_err(|e| e.to_string())
    }

    #[test]
    fn a_table_comes_back_as_it_was_written() {
        let table = json!({
            "format": "csv", "on_error": "skip", "max_errors": 5, "max_request_bytes": 1 << 30,
            "allow_truncated": true, "time_origin": "file", "concat": true, "order": "strict",
            "spread": "uniform", "device": ["hm_0", "hm_1"], "devices": "separate", "wrap": "modulo",
            "from": "5000000000ns", "for": "7ns", "requests": 9, "ops": ["read", "trim"],
            "offset_from": 1, "offset_to": 2, "time_unit": "ps", "block_bytes": 4096, "page_bytes": 512,
            "sector_bytes": 256, "srt_header": false, "event": "Q", "only_this_file": true,
            "etw_time": "completion", "etw_flush": true, "object": "opaque", "default_op": "write",
            "tenant_is_device": true, "columns": {"time": "ts", "offset": 3}, "offset_unit": 8,
            "length_unit": "page", "response_unit": "us", "op_read": ["R"], "op_write": ["W"],
            "op_trim": ["D"], "op_flush": ["F"], "delimiter": ";", "header": false,
        });
        let options = read(table.clone()).unwrap();
        assert_eq!(serde_json::to_value(&options).unwrap(), table);
        let keys: Vec<&str> = OPTIONS.iter().map(|o| o.key).collect();
        assert!(keys.iter().all(|k| table.get(k).is_some()), "every key of the list is tried here");
    }

    #[test]
    fn every_key_refuses_a_wrong_value_and_names_what_it_takes() {
        for info in OPTIONS {
            let error = read(json!({ info.key: {"x": {"y": 1}} })).unwrap_err();
            assert!(error.contains(info.key) && error.contains(info.values), "{error}");
        }
    }

    #[test]
    fn an_unknown_key_names_the_nearest() {
        let error = read(json!({"on_eror": "skip"})).unwrap_err();
        assert_eq!(error, "on_eror: no such key of [trace]; did you mean on_error?");
        assert!(
            read(json!({"xyzzy": 1})).unwrap_err().contains("expected one of format, on_error")
        );
    }

    #[test]
    fn flags_give_the_same_as_tables() {
        let mut options = ReaderOptions::default();
        for (key, text) in [
            ("max_request_bytes", "1GiB"),
            ("from", "1.5h"),
            ("device", "hm_0,hm_1"),
            ("columns", "time=ts,offset=3"),
            ("ops", "read,write"),
            ("header", "true"),
            ("offset_unit", "sector"),
            ("delimiter", "tab"),
        ] {
            options.set_text(key, text).unwrap();
        }
        assert_eq!(options.max_request_bytes, 1 << 30);
        assert_eq!(options.from_ns, Some(5_400_000_000_000));
        assert_eq!(options.device, ["hm_0", "hm_1"]);
        assert_eq!(options.columns.offset, Some(Column::Number(3)));
        assert_eq!(options.offset_unit, Some(Unit::Bytes(512)));
        assert_eq!(options.delimiter, Some(b'\t'));
        options.set_text("device", "8,16").unwrap();
        assert_eq!(options.device, ["8,16"]);
        for bad in ["90", "h", "-1s", "1.2.3s", ""] {
            assert!(options.set_text("from", bad).is_err(), "{bad:?}");
        }
    }
}
