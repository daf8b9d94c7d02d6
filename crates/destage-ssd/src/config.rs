//! Checked device configuration, and the values, keys, words and errors of its tables. The keys
//! themselves are declared and read in `tables`.

mod device;
mod ftl;
mod interface;
mod keys;
mod limits;
mod map_cache;
mod placement;
mod slc;
mod steps;
mod streams;
mod table;
mod words;

pub use destage_keys::{IfAbsent, Key, Kind, Value};
pub use device::DeviceConfig;
pub use ftl::{Alone, Counter, FtlConfig, Info, PagesOfBlocks, Row, Sort};
pub use interface::InterfaceConfig;
pub use keys::{COUNT, key, takes};
pub use limits::{LAST_NS, LONGEST_NS, MOST_PAGES};
pub use map_cache::{MapCacheConfig, MapCacheSize};
pub use placement::PlacementConfig;
pub use slc::SlcConfig;
pub use steps::{GcStepsConfig, StepPages};
pub use streams::StreamsConfig;
pub use table::{ConfigError, Table};
pub(crate) use table::{Reader, nearest};
pub use words::{
    AddressMode, Alloc, Bus, EvictWait, FlushMode, GcMode, GcStream, GcVictim, HostMode, InGc,
    Isolation, LinkDuplex, MapGranularity, MapPolicy, Precondition, PreconditionEnd, QueueLevel,
    ReadWait, Sched, SlcPolicy, Steps, Striping, Suspend, TrimMode, UnmappedRead, Writer,
};
