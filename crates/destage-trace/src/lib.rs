//! From a trace file to columns that a replay can run over.
//!
//! ```text
//!  source    open, peel compression and archives off, from content
//!  format    what a format is: its row, its reader, what that says of each record
//!  formats/  one file a format: bytes -> records; one table of all of them
//!  detect    which format is this, and why
//!  stream    records of all files in one order, on one clock, in one address space
//!  decode    records -> page accesses with dense ids; columns in a file
//!  hooks     progress and interruption of long work
//!  cache     decoded traces kept: the folder, its limit, its entries
//!  store     a file of columns, put there or into a temporary file
//!  open      a trace from the cache, or decoded and put there
//!  aside     trims and flushes, between the rows
//!  next_use  the next access of each access, for MIN
//!  info      what a trace looks like
//!  profile   the papers' pictures of a workload: heat, distances, blocks
//!  synth     workloads made from a seed
//!  convert   records -> other formats
//! ```

mod behind;
pub mod cache;
mod columns;
mod control_command;
pub mod convert;
pub mod decode;
pub mod detect;
pub mod device_table;
mod disk;
pub mod error;
mod extent;
pub mod fields;
pub mod format;
pub mod formats;
mod held;
pub mod hooks;
pub mod info;
pub mod input;
mod json;
mod mapped;
pub mod meta;
pub mod next_use;
mod open;
pub mod options;
mod page_set;
pub(crate) mod peel;
pub mod profile;
pub mod record;
mod sample;
pub(crate) mod sorting;
pub(crate) mod source;
mod spool;
pub mod stack_distance;
pub mod standin;
mod store;
pub mod stream;
pub mod summary;
pub mod synth;
pub mod tally;
mod temporary;
pub mod text;
pub mod trace;

pub use cache::{Cache, CacheOptions};
pub use control_command::{ControlCommand, ControlKind};
pub use decode::{DecodeOptions, RecordSource};
pub use device_table::DeviceTable;
pub use error::{Category, Place, Result, TraceError};
pub use extent::Extent;
pub use format::{Facts, Fault, Format, Opening, Parsed, RecordReader, Skipped};
pub use formats::FORMATS;
pub use hooks::{Hooks, NoHooks, Progress, ReadControls, ReadMeter, Stage};
pub use info::TraceInfo;
pub use input::Input;
pub use mapped::report_shrunk_files;
pub use open::{decode_records, open_trace};
pub use options::ReaderOptions;
pub use profile::{ProfileOptions, TraceProfile};
pub use record::{NO_RESPONSE, Record, RecordOp};
pub use sample::{Sample, Verdict};
pub use stream::{Stream, with_stream};
pub use summary::{FileSummary, Summary};
pub use tally::{Limits, Tally};
pub use trace::Trace;
