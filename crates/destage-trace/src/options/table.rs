//! The one list of keys, from which help, documentation and error messages come.

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
        "error, modulo or extend",
        "error",
        "pages beyond the drive: an error, taken modulo its pages, or it is made larger",
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
