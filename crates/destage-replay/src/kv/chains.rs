//! Requests of a decoded trace of a language model: chains of blocks, a row each.

use crate::accesses::{Columns, Extent};
use destage_trace::ChainMark;
use std::ops::Range;

/// The chains of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Chains<'a> {
    /// Dense id of the block of each row.
    pub ids: &'a [u32],
    /// Place of each row in its chain.
    pub marks: &'a [ChainMark],
    /// Time of computing each block, nanoseconds, by dense id; `None`: it is not counted.
    pub compute_ns: Option<&'a [u64]>,
}

impl<'a> Chains<'a> {
    /// Requests of a trace, after checks of every row.
    ///
    /// # Errors
    ///
    /// A sentence: the trace has no chains, writes, blocks of several pages, or a request that has
    /// a block twice.
    pub fn of(columns: &Columns<'a>, marks: &'a [ChainMark]) -> Result<Self, String> {
        let chains = Chains { ids: columns.first_ids, marks, compute_ns: None };
        if marks.is_empty() {
            return Err(
                "kv: the trace has no chains of blocks; formats with chains: mooncake and \
                 qwen-bailian, read without offset_from and offset_to"
                    .into(),
            );
        }
        let mut seen_in = vec![0u32; columns.lpns.len()]; // request, from 1
        let mut request = 0;
        for (row, (&id, &extent)) in chains.ids.iter().zip(columns.extents).enumerate() {
            let extent = Extent(extent);
            request += u32::from(row == 0 || marks[row].begins());
            let lpn = columns.lpns.get(id as usize).copied().unwrap_or_default();
            let refused = |what: &str| {
                let number = request - 1;
                Err(format!("kv: request {number} of the trace, block {lpn}: {what}"))
            };
            if marks[row].tokens() == 0 {
                return refused("it is of no chain of blocks");
            }
            if extent.is_write() {
                return refused("it is written; blocks of a language model are only inserted");
            }
            if extent.pages() != 1 {
                return refused("it has several pages; the page size must be that of a block");
            }
            if std::mem::replace(&mut seen_in[id as usize], request) == request {
                return refused("the request has it twice");
            }
        }
        Ok(chains)
    }

    /// The same, with the time of computing each block.
    #[must_use]
    pub fn with_compute_ns(self, compute_ns: Option<&'a [u64]>) -> Self {
        Chains { compute_ns, ..self }
    }

    /// Number of requests.
    pub fn requests(&self) -> u64 {
        let begins = self.marks.iter().skip(1).filter(|mark| mark.begins()).count() as u64;
        begins + u64::from(!self.marks.is_empty())
    }

    /// The rows of the request that begins at this row; empty behind the last.
    #[inline]
    pub fn rows_from(&self, row: usize) -> Range<usize> {
        let behind = self.marks.get(row + 1..).unwrap_or(&[]);
        let more = behind.iter().position(|mark| mark.begins()).unwrap_or(behind.len());
        row..(row + 1 + more).min(self.marks.len())
    }

    /// The first row of the request that has this row.
    #[inline]
    pub fn head_of(&self, row: usize) -> usize {
        let before = self.marks[..=row].iter().rposition(|mark| mark.begins());
        before.unwrap_or(0)
    }

    /// Tokens of the blocks of these rows.
    #[inline]
    pub fn tokens(&self, rows: Range<usize>) -> u64 {
        self.marks[rows].iter().map(|mark| mark.tokens()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(begins: bool) -> ChainMark {
        ChainMark::new(16, begins)
    }

    #[test]
    fn requests_are_cut_at_their_first_blocks() {
        let ids = [0, 1, 0, 2, 3];
        let marks = [true, false, true, false, false].map(mark);
        let chains = Chains { ids: &ids, marks: &marks, compute_ns: None };
        assert_eq!(chains.requests(), 2);
        assert_eq!((chains.rows_from(0), chains.rows_from(2)), (0..2, 2..5));
        assert_eq!([0, 1, 2, 4].map(|row| chains.head_of(row)), [0, 0, 2, 2]);
        assert_eq!(chains.tokens(2..5), 48);
        // A slice may begin within a chain.
        let chains = Chains { ids: &ids[1..], marks: &marks[1..], compute_ns: None };
        assert_eq!((chains.requests(), chains.rows_from(0), chains.head_of(0)), (2, 0..1, 0));
    }

    #[test]
    fn rows_that_are_no_blocks_are_refused_with_request_and_block() {
        let one = Extent::new(1, false, false, false).0;
        let check = |ids: &[u32], extents: &[u32], marks: &[ChainMark]| {
            let columns = Columns { first_ids: ids, extents, lpns: &[10, 20] };
            Chains::of(&columns, marks).map(|chains| chains.requests())
        };
        let two = [mark(true), mark(false)];
        assert_eq!(check(&[0, 1], &[one; 2], &two), Ok(2 - 1));
        let write = Extent::new(1, true, false, false).0;
        let long = Extent::new(2, false, false, false).0;
        for (ids, extents, marks, said) in [
            ([0, 1], [one; 2], &[][..], "the trace has no chains"),
            ([0, 1], [one, write], &two[..], "request 0 of the trace, block 20: it is written"),
            ([0, 1], [one, long], &two[..], "it has several pages"),
            ([0, 0], [one; 2], &two[..], "block 10: the request has it twice"),
            ([0, 1], [one; 2], &[mark(true), ChainMark::NONE][..], "it is of no chain"),
        ] {
            let error = check(&ids, &extents, marks).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
