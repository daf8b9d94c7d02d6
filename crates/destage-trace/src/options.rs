//! How a trace is to be read: the `[trace]` table, the same keys as Python keywords and as flags.
//!
//! One list, [`OPTIONS`], names every key with its values, default and meaning; the parser, the
//! command line's help and the documentation all come from it. A key that is not there, or a value
//! that it does not take, is an error that names the nearest key or the values expected.

mod kinds;
mod table;
mod values;

use serde_json::{Map, Value};

use crate::error::{Result, TraceError};
use crate::record::RecordOp;

pub use kinds::*;
pub use table::{OPTIONS, OptionInfo};
pub(crate) use values::is_major_minor;
use values::*;

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
