//! Message and exit status when memory runs out.
//!
//! Rust ends a process whose allocation fails with SIGABRT and a line without a cause. Here it
//! ends with a sentence and a status of its own: a run that does not fit is no bug, and what was
//! written before stays. An exception would be kinder to a notebook, but an allocation has nowhere
//! to raise it: the hook of the standard library for this is not stable.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// Exit status: the system has no more of something (`EX_OSERR` of `sysexits.h`).
const STATUS: i32 = 71;

/// The system's allocator, which ends the process where it has nothing left.
struct Told;

#[global_allocator]
static MEMORY: Told = Told;

// SAFETY: every call goes on to the system's allocator with the arguments it came with, and what
// that returns is returned, so that its guarantees are this one's; where it returns null, nothing
// is returned.
unsafe impl GlobalAlloc for Told {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that `System` asks for, here and below.
        there(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        there(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        there(unsafe { System.realloc(old, layout, size) }, size)
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(old, layout) }
    }
}

#[inline]
fn there(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        end(bytes)
    }
    memory
}

/// Says so without taking memory for it or a lock that the allocating code may hold, and ends the
/// process whatever its other threads do.
#[cold]
fn end(bytes: usize) -> ! {
    let mut text = [0; 256];
    let mut rest = &mut text[..];
    // It fits: the sentence and twenty digits.
    let _ = writeln!(
        rest,
        "destage: there is not enough memory for this: {bytes} bytes more could not be had \
         (smaller caches, fewer --jobs or a higher limit may help)"
    );
    let left = rest.len();
    // SAFETY: `write` reads as many bytes as there are from the start of `text`. `_exit` takes any
    // number, touches no memory of ours and does not return; not `std::process::exit`, which would
    // run what others have registered, and that may ask for memory.
    unsafe {
        libc::write(2, text.as_ptr().cast(), text.len() - left);
        libc::_exit(STATUS)
    }
}
