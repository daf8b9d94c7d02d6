//! The reader that all text formats share: it splits lines, counts, builds messages with their
//! place, and applies `on_error`; a format only parses one line.
//!
//! Speed. A trace is read line by line hundreds of millions of times, so a format may offer
//! [`LineParser::quick`]: it takes one whole, ordinary line straight from the window and leaves
//! everything that is unusual to the careful [`LineParser::line`]. The two must agree where both
//! answer; a property test of each format says so. A format whose lines do not lean on each other
//! says so ([`LineParser::parallel`]), and a long file of it is parsed on several threads
//! (`parallel`).

mod excerpt;
mod line_parser;
mod parallel;
mod reader;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use line_parser::assert_paths_agree;
pub use line_parser::{Context, LineParser, MAX_LINE_BYTES};
pub use reader::TextReader;
pub(crate) use reader::never_written;
