//! Tables of results as Parquet files.
//!
//! ```text
//!  table   typed columns, some thousand rows      counts   long columns of counts
//! ```

mod counts;
mod table;

pub use counts::{Counts, counts_bytes};
pub use parquet::errors::ParquetError;
pub use table::{Column, Columns, read_table, table_bytes};
