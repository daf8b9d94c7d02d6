//! Options of a reader, as a struct.

use super::choices::*;
use crate::record::RecordOp;

/// Options of a reader. Fields are named as their keys; times in ns, sizes in bytes.
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
    pub volume: Vec<String>,
    /// `None`: stacked; formats whose files often hold volumes by accident reject several.
    pub volumes: Option<Volumes>,
    pub wrap: Wrap,
    pub from_ns: Option<u64>,
    pub for_ns: Option<u64>,
    pub requests: Option<u64>,
    pub resample: Option<u64>,
    pub resample_block: Option<u64>,
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
    pub tenant_is_volume: bool,
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
    pub fields: Option<String>,
    pub bytes_per_token: Option<u64>,
    /// Keys that stand in a file of defaults: without effect where the format does not have them.
    /// Not a key.
    pub defaults: Vec<String>,
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
            volume: Vec::new(),
            volumes: None,
            wrap: Wrap::default(),
            from_ns: None,
            for_ns: None,
            requests: None,
            resample: None,
            resample_block: None,
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
            tenant_is_volume: false,
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
            fields: None,
            bytes_per_token: None,
            defaults: Vec::new(),
            sort_window_records: 1 << 20,
        }
    }
}
