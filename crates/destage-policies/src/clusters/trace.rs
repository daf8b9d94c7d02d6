//! The erase blocks that a decoded trace has pages in, known before the first access.

use destage_core::Lpn;

/// The erase blocks of a decoded trace: those in which it has a page, numbered in ascending order.
#[derive(Clone, Debug)]
pub struct EraseBlocks {
    pub(super) pages_per_block: u32,
    pub(super) of_page: Vec<(u32, u32)>, // by dense id of a page: id of its block, its offset there
    pub(super) numbers: Vec<u64>,
    firsts: Vec<u32>, // dense id of each block's first page, and of none at the end
}

impl EraseBlocks {
    /// The blocks of pages with these LPNs, ascending, of `pages_per_block` pages each.
    pub fn new(lpns: impl IntoIterator<Item = u64>, pages_per_block: u32) -> Self {
        let size = BlockSize::new(pages_per_block);
        let mut of_page = Vec::new();
        let mut numbers: Vec<u64> = Vec::new();
        let mut firsts = Vec::new();
        for lpn in lpns {
            let (number, offset) = size.split(Lpn(lpn));
            if numbers.last() != Some(&number) {
                numbers.push(number);
                firsts.push(of_page.len() as u32); // ids have 32 bits
            }
            of_page.push((numbers.len() as u32 - 1, offset)); // no more blocks than pages
        }
        firsts.push(of_page.len() as u32);
        EraseBlocks { pages_per_block, of_page, numbers, firsts }
    }
}

impl EraseBlocks {
    /// Dense ids of a block's pages.
    #[inline(always)]
    pub(super) fn ids(&self, id: u32) -> std::ops::Range<usize> {
        self.firsts[id as usize] as usize..self.firsts[id as usize + 1] as usize
    }
}

/// Splits LPNs into the number of a block and an offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockSize {
    pub(super) pages: u64,
    shift: Option<u32>, // pages is 2^shift
}

impl BlockSize {
    pub(super) fn new(pages_per_block: u32) -> Self {
        let power = pages_per_block.is_power_of_two();
        let shift = power.then(|| pages_per_block.trailing_zeros());
        BlockSize { pages: pages_per_block.into(), shift }
    }

    #[inline(always)]
    pub(super) fn split(&self, lpn: Lpn) -> (u64, u32) {
        match self.shift {
            Some(shift) => (lpn.0 >> shift, (lpn.0 & (self.pages - 1)) as u32),
            None => (lpn.0 / self.pages, (lpn.0 % self.pages) as u32),
        }
    }
}
