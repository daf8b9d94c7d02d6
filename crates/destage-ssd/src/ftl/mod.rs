//! Flash translation layers: one FTL, one file, one row of the table.
//!
//! ```text
//!  layer, sink             what an FTL is, and where its operations go `docs/spec/device.md` 12
//!  page                    the drive's own, over many planes           `docs/spec/device.md` 5, 6
//!  block_ftl               what the FTLs of `docs/spec/ftl.md` are
//!  bast, fast, log_blocks  log blocks                                  `docs/spec/ftl.md` 2 to 4
//!  page_ideal, dftl, pool  page maps and greedy collection             `docs/spec/ftl.md` 5, 6
//!  cmt                     entries of a map that are in memory         `docs/spec/ftl.md` 6
//!  blocks, lists, bitmap   free queue, recency, valid pages
//!  tournament              the smallest key of every plane
//!  striped                 such an FTL on the planes of a drive        `docs/spec/device.md` 12
//!  counters, image         what they count; how a state is kept
//!  any, any_block_ftl      whichever was chosen, by the table below
//! ```

mod any;
mod any_block_ftl;
pub mod bast;
mod bitmap;
pub mod block_ftl;
mod blocks;
mod cmt;
mod counters;
pub mod dftl;
pub mod fast;
mod image;
mod layer;
mod lists;
mod log_blocks;
pub mod page;
pub mod page_ideal;
mod pool;
mod sink;
mod striped;
mod tournament;

pub use blocks::NoFreeBlock;
pub use counters::{Common, FtlCounters, MapCounts, SlcCounts, StreamCounts};
pub use image::ImageError;
pub use layer::{DeviceFull, FlashState, Ftl};
pub use sink::{Instantly, Moves, Need, Sink};
pub use striped::StripedFtl;

use crate::config::{Info, nearest};

/// The one table, in the order of the catalogue: modules, each with its `INFO`, and the type in it.
/// Those that know the planes of a drive, with a name for what they are with more write points or
/// an SLC cache (`docs/spec/device-today.md`), and those over one row of blocks.
///
/// `$d` is a dollar sign, for the macros that are made here.
macro_rules! ftls {
    ($d:tt
     planes { $($planes:ident :: $Planes:ident, $Extended:ident;)* }
     row { $($row:ident :: $Row:ident;)* }) => {
        /// Every FTL, in the order of a catalogue.
        pub static FTLS: &[&Info] = &[$(&$planes::INFO,)* $(&$row::INFO),*];

        /// Names of the FTLs, in the order of a catalogue.
        pub static NAMES: &[&str] = &[$($planes::INFO.name,)* $($row::INFO.name),*];

        /// The FTL of a drive.
        #[derive(Clone, PartialEq, Debug)]
        pub enum AnyFtl {
            $(
                #[doc = concat!("`", stringify!($planes), "`.")]
                $Planes($planes::$Planes),
                #[doc = concat!("`", stringify!($planes), "` with a host interface.")]
                $Extended($planes::$Planes<true>),
            )*
            /// An FTL over one row of blocks, striped over the planes.
            StripedFtl(StripedFtl<AnyBlockFtl>),
        }

        /// An FTL over one row of blocks.
        #[derive(Clone, PartialEq, Debug)]
        #[expect(clippy::large_enum_variant, reason = "there is one of it in a drive")]
        pub enum AnyBlockFtl {
            $(
                #[doc = concat!("`", stringify!($row), "`.")]
                $Row($row::$Row),
            )*
        }

        /// Evaluates one expression for the FTL in use.
        macro_rules! each_ftl {
            ($d any:expr, $d ftl:ident => $d body:expr) => {
                match $d any {
                    $(AnyFtl::$Planes($d ftl) => $d body,
                    AnyFtl::$Extended($d ftl) => $d body,)*
                    AnyFtl::StripedFtl($d ftl) => $d body,
                }
            };
        }

        /// Evaluates one expression with the type of the configured FTL and its variant of
        /// `AnyFtl`.
        macro_rules! ftl_of {
            ($d config:expr, $d Ftl:ident, $d any:ident => $d body:expr) => {
                match $d config.ftl.info().name {
                    $(name if name == $crate::ftl::$planes::INFO.name && $d config.is_plain() => {
                        type $d Ftl = $crate::ftl::$planes::$Planes;
                        let $d any = AnyFtl::$Planes;
                        $d body
                    }
                    name if name == $crate::ftl::$planes::INFO.name => {
                        type $d Ftl = $crate::ftl::$planes::$Planes<true>;
                        let $d any = AnyFtl::$Extended;
                        $d body
                    })*
                    _ => {
                        type $d Ftl = $crate::ftl::StripedFtl<$crate::ftl::AnyBlockFtl>;
                        let $d any = AnyFtl::StripedFtl;
                        $d body
                    }
                }
            };
        }

        /// Evaluates one expression for the FTL in use.
        macro_rules! each_machine {
            ($d any:expr, $d block_ftl:ident => $d body:expr) => {
                match $d any { $(AnyBlockFtl::$Row($d block_ftl) => $d body,)* }
            };
        }

        /// Evaluates one expression with the type of the FTL that `name` names, and its variant.
        macro_rules! machine_named {
            ($d name:expr, $d BlockFtl:ident, $d any:ident => $d body:expr) => {
                match $d name {
                    $(name if name == $crate::ftl::$row::INFO.name => {
                        type $d BlockFtl = $crate::ftl::$row::$Row;
                        let $d any = AnyBlockFtl::$Row;
                        $d body
                    })*
                    name => unreachable!("{name} is not over a row of blocks"),
                }
            };
        }
    };
}

#[rustfmt::skip] // one FTL, one line: it is a table
ftls! { $
    planes {
        page::PageFtl, PageExtended;
    }
    row {
        dftl::Dftl;
        bast::Bast;
        fast::Fast;
        page_ideal::PageIdeal;
    }
}

use {each_ftl, each_machine, ftl_of, machine_named};

/// The FTL of this name.
///
/// # Errors
///
/// A sentence with the nearest name, and all of them.
pub fn named(name: &str) -> Result<&'static Info, String> {
    FTLS.iter().find(|info| info.name == name).copied().ok_or_else(|| {
        let meant = nearest(name, NAMES.iter().copied());
        format!("unknown FTL {name:?}{meant} (known: {})", NAMES.join(", "))
    })
}
