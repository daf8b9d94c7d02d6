//! How a trace is to be read: the `[trace]` table, the same keys as Python keywords and as flags.
//!
//! One list, [`OPTIONS`], names every key with its values, default and meaning; the parser, the
//! command line's help and the documentation all come from it. A key that is not there, or a value
//! that it does not take, is an error that names the nearest key or the values expected.

mod choices;
pub(crate) mod flags;
mod parse;
mod reader_options;
mod table;
mod values;

pub use choices::*;
pub use parse::takes;
pub use reader_options::ReaderOptions;
pub use table::OPTIONS;
pub(crate) use values::is_major_minor;
