//! The memory of one page, as SQLite sees it and as the cache does.
//!
//! One allocation: the page, SQLite's extra bytes, the [`Block`]. SQLite may read a few bytes past
//! the end of a damaged page, and finds memory there.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

/// `sqlite3_pcache_page`.
#[repr(C)]
pub(crate) struct Shown {
    /// The page's bytes.
    pub(crate) buffer: *mut c_void,
    /// SQLite's own bytes beside them.
    pub(crate) extra: *mut c_void,
}

/// A page in memory.
#[repr(C)]
pub(crate) struct Block {
    /// First, so that a pointer to it is one to the block.
    pub(crate) shown: Shown,
    pub(crate) key: u32,
    /// SQLite uses the page now.
    pub(crate) pinned: bool,
    /// The policy holds the page.
    pub(crate) resident: bool,
}

/// Where memory comes from: `sqlite3_malloc` and `sqlite3_free`.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) malloc: unsafe extern "C" fn(c_int) -> *mut c_void,
    pub(crate) free: unsafe extern "C" fn(*mut c_void),
}

/// Sizes of the parts of an allocation.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// Bytes of a page.
    pub(crate) page: u32,
    /// SQLite's bytes beside each.
    pub(crate) extra: u32,
}

impl Layout {
    fn extra_at(self) -> usize {
        (self.page as usize).next_multiple_of(8)
    }

    fn block_at(self) -> usize {
        (self.extra_at() + self.extra as usize).next_multiple_of(align_of::<Block>())
    }
}

impl Memory {
    /// A pinned page with its extra bytes zero; `None` if there is no memory.
    pub(crate) fn block(self, layout: Layout, key: u32) -> Option<NonNull<Block>> {
        let bytes = c_int::try_from(layout.block_at() + size_of::<Block>()).ok()?;
        // SAFETY: `malloc` takes any positive size.
        let start = NonNull::new(unsafe { (self.malloc)(bytes) }.cast::<u8>())?;
        // SAFETY: the offsets are inside the allocation, which is aligned for any type as
        // `sqlite3_malloc` promises eight bytes, and `block_at` a multiple of the block's
        // alignment.
        unsafe {
            let extra = start.add(layout.extra_at());
            extra.write_bytes(0, layout.extra as usize);
            let block = start.add(layout.block_at()).cast::<Block>();
            let shown = Shown { buffer: start.as_ptr().cast(), extra: extra.as_ptr().cast() };
            block.write(Block { shown, key, pinned: true, resident: false });
            Some(block)
        }
    }

    /// Gives a block back.
    ///
    /// # Safety
    ///
    /// It came from [`Memory::block`] of the same memory, and is not used afterwards.
    pub(crate) unsafe fn release(self, block: NonNull<Block>) {
        // SAFETY: by the caller, the block is alive; its buffer is the start of the allocation.
        unsafe { (self.free)(block.as_ref().shown.buffer) }
    }
}
