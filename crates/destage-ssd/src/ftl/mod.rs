//! Flash translation layers: one FTL, one file, one row of the table.
//!
//! ```text
//!  layer, sink             what an FTL is, and where its operations go `docs/spec/device.md` 12
//!  page                    the drive's own, over many planes           `docs/spec/device.md` 5, 6
//!  machine                 what the FTLs of `docs/spec/ftl.md` are
//!  bast, fast, log_blocks  log blocks                                  `docs/spec/ftl.md` 2 to 4
//!  page_ideal, dftl, pool  page maps and greedy collection             `docs/spec/ftl.md` 5, 6
//!  blocks, lists, bitmap   free queue, recency, valid pages
//!  placed                  a machine on the planes of a drive          `docs/spec/device.md` 12
//!  counters, image         what they count; how a state is kept
//!  table                   every FTL
//!  any, any_machine        whichever was chosen
//! ```

mod any;
mod any_machine;
pub mod bast;
mod bitmap;
mod blocks;
mod counters;
pub mod dftl;
pub mod fast;
mod image;
mod layer;
mod lists;
mod log_blocks;
pub mod machine;
pub mod page;
pub mod page_ideal;
mod placed;
mod pool;
mod sink;
mod table;
mod tournament;

pub use blocks::NoFreeBlock;
pub use counters::{Common, FtlCounters};
pub use image::ImageError;
pub use layer::{DeviceFull, FlashState, Ftl};
pub use placed::Placed;
pub use sink::{Instantly, Moves, Sink};
pub use table::{AnyFtl, AnyMachine, FTLS, NAMES, named};
