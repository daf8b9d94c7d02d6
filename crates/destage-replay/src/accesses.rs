//! Requests of a decoded trace, and the block of page accesses that the replay loop runs over.

use destage_core::Op;
pub use destage_trace::Extent;
use destage_trace::Trace;

/// The columns of a decoded trace that a replay needs.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// Dense id of each request's first page; the others follow without gaps.
    pub first_ids: &'a [u32],
    /// [`Extent`] of each request.
    pub extents: &'a [u32],
    /// LPN of each dense id, ascending.
    pub lpns: &'a [u64],
}

impl<'a> Columns<'a> {
    /// The columns of a trace.
    pub fn of(trace: &'a Trace) -> Self {
        Columns { first_ids: trace.first_ids(), extents: trace.pages_ops(), lpns: trace.lpns() }
    }

    /// Page accesses of all requests.
    pub fn accesses(&self) -> u64 {
        self.extents.iter().map(|&extent| u64::from(Extent(extent).pages())).sum()
    }
}

/// One access: dense id, and bit 0 write, bit 1 first of its request.
#[derive(Clone, Copy, Default, Debug)]
pub struct Access {
    /// Dense id of its page.
    pub id: u32,
    flags: u32,
}

impl Access {
    /// Read or write.
    #[inline(always)]
    pub fn op(self) -> Op {
        if self.flags & 1 == 0 { Op::Read } else { Op::Write }
    }

    #[inline(always)]
    pub(crate) fn first_of_request(self) -> bool {
        self.flags & 2 != 0
    }
}

/// Accesses that are expanded at a time: small enough to stay in the first-level cache.
pub const BLOCK: usize = 1024;

/// Expands requests into blocks of accesses; a request may be cut between two blocks.
pub struct Expander<'a> {
    columns: Columns<'a>,
    request: usize,
    page_in_request: u32,
    end: usize,
}

impl<'a> Expander<'a> {
    /// Over the requests `start..end`.
    pub fn new(columns: Columns<'a>, start: usize, end: usize) -> Self {
        Expander { columns, request: start, page_in_request: 0, end }
    }

    /// Fills `block` from `filled` on; returns how many are filled now.
    pub fn fill(&mut self, block: &mut [Access], mut filled: usize) -> usize {
        while filled < block.len() && self.request < self.end {
            let first = self.columns.first_ids[self.request];
            let extent = Extent(self.columns.extents[self.request]);
            let op = extent.0 & 1;
            // Most requests of most traces have one page; they need no inner loop.
            if extent.0 >> 3 == 1 {
                block[filled] = Access { id: first, flags: op | 2 };
                filled += 1;
                self.request += 1;
                continue;
            }
            let left = extent.pages() - self.page_in_request;
            let take = (left as usize).min(block.len() - filled) as u32;
            for (k, access) in block[filled..filled + take as usize].iter_mut().enumerate() {
                let page = self.page_in_request + k as u32;
                *access = Access { id: first + page, flags: op | u32::from(page == 0) << 1 };
            }
            filled += take as usize;
            if take == left {
                self.request += 1;
                self.page_in_request = 0;
            } else {
                self.page_in_request += take;
            }
        }
        filled
    }
}
