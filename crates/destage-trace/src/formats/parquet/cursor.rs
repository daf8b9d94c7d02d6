//! One column of the row group that is being read, cell by cell.

use parquet::column::reader::ColumnReader;

use crate::error::Category;
use crate::formats::mapping::Clock;
use crate::formats::parquet_column::{Cell, ColumnType, NumberFault};

/// Why a row is no record.
pub(super) type RowFault = (Category, String);

/// One mapped column of the row group that is being read.
pub(super) struct Cursor {
    pub(super) reader: ColumnReader,
    pub(super) kind: ColumnType,
    pub(super) cells: Vec<Cell>,
}

impl Cursor {
    /// Cell `i` as a time, ns, `origin_ns` added; `name` is for the message.
    pub(super) fn time_ns(
        &self,
        i: usize,
        name: &str,
        clock: Option<Clock>,
        origin_ns: u64,
    ) -> Result<u64, RowFault> {
        let cell = &self.cells[i];
        let ns = self.kind.time_ns(cell, clock);
        ns.and_then(|ns| ns.checked_add(origin_ns).ok_or(NumberFault::TooLarge))
            .map_err(|why| (Category::BadTime, self.kind.time_message(name, cell, why)))
    }

    /// Cell `i` as a whole number of `unit` bytes each, in bytes.
    pub(super) fn bytes(&self, i: usize, name: &str, unit: u64) -> Result<u64, RowFault> {
        let cell = &self.cells[i];
        let bytes = self.kind.whole(cell);
        bytes.and_then(|n| n.checked_mul(unit).ok_or(NumberFault::TooLarge)).map_err(|why| {
            let found = self.kind.show(cell);
            match why {
                NumberFault::TooLarge => {
                    (Category::OutOfRange, format!("{name}: {found} does not fit 64 bits"))
                }
                NumberFault::NotANumber => {
                    let message = format!("{name}: expected a whole number, found {found}");
                    (Category::BadNumber, message)
                }
            }
        })
    }
}
