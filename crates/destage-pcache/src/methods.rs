//! `sqlite3_pcache_methods2`, version 1: the C interface of SQLite 3.7.14 and later.

use crate::block::{Block, Layout, Memory, Shown};
use crate::cache::{Cache, Create};
use crate::decider::Decider;
use crate::record;
use crate::settings::{POLICY, Settings, report};
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// `sqlite3_pcache`: a cache behind its lock.
type Handle = Mutex<Cache>;

/// The table of functions that SQLite copies.
#[repr(C)]
pub(crate) struct Methods {
    version: c_int,
    argument: *mut c_void,
    init: unsafe extern "C" fn(*mut c_void) -> c_int,
    shutdown: unsafe extern "C" fn(*mut c_void),
    create: unsafe extern "C" fn(c_int, c_int, c_int) -> *mut Handle,
    resize: unsafe extern "C" fn(*mut Handle, c_int),
    count: unsafe extern "C" fn(*mut Handle) -> c_int,
    fetch: unsafe extern "C" fn(*mut Handle, c_uint, c_int) -> *mut Shown,
    unpin: unsafe extern "C" fn(*mut Handle, *mut Shown, c_int),
    rekey: unsafe extern "C" fn(*mut Handle, *mut Shown, c_uint, c_uint),
    truncate: unsafe extern "C" fn(*mut Handle, c_uint),
    destroy: unsafe extern "C" fn(*mut Handle),
    shrink: unsafe extern "C" fn(*mut Handle),
}

/// The one table.
pub(crate) const METHODS: Methods = Methods {
    version: 1,
    argument: ptr::null_mut(),
    init,
    shutdown,
    create,
    resize,
    count,
    fetch,
    unpin,
    rekey,
    truncate,
    destroy,
    shrink,
};

/// Settings and memory of all caches of the process.
pub(crate) struct Common {
    pub(crate) settings: Settings,
    pub(crate) memory: Memory,
}

pub(crate) static COMMON: OnceLock<Common> = OnceLock::new();

/// Caches made so far.
static MADE: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn init(_: *mut c_void) -> c_int {
    0
}

unsafe extern "C" fn shutdown(_: *mut c_void) {}

unsafe extern "C" fn create(page: c_int, extra: c_int, purgeable: c_int) -> *mut Handle {
    let (Some(common), Ok(page), Ok(extra)) =
        (COMMON.get(), u32::try_from(page), u32::try_from(extra))
    else {
        return ptr::null_mut();
    };
    let Common { settings, memory } = common;
    record::begin(settings.record.as_deref(), settings.stats.as_deref());
    let name = format!("c{}", MADE.fetch_add(1, Ordering::Relaxed));
    // SQLite says how many frames before it fetches a page.
    let decider = (purgeable != 0).then(|| Decider::new(&settings.policy, 1));
    let decider = match decider.transpose() {
        Ok(decider) => decider,
        Err(fault) => {
            report(POLICY, &format!("{fault}; {name} keeps all its pages"));
            None
        }
    };
    let cache = Cache::new(name, Layout { page, extra }, *memory, decider);
    Box::into_raw(Box::new(Mutex::new(cache)))
}

/// # Safety
///
/// `handle` came from [`create`] and was not destroyed.
unsafe fn locked<'a>(handle: *mut Handle) -> MutexGuard<'a, Cache> {
    // SAFETY: by the caller, it points to a cache.
    unsafe { &*handle }.lock().unwrap_or_else(PoisonError::into_inner)
}

unsafe extern "C" fn resize(handle: *mut Handle, frames: c_int) {
    // SAFETY: SQLite passes a cache that it made.
    unsafe { locked(handle) }.resize(frames.max(1).unsigned_abs());
}

unsafe extern "C" fn count(handle: *mut Handle) -> c_int {
    // SAFETY: SQLite passes a cache that it made.
    c_int::try_from(unsafe { locked(handle) }.len()).unwrap_or(c_int::MAX)
}

unsafe extern "C" fn fetch(handle: *mut Handle, key: c_uint, create: c_int) -> *mut Shown {
    let create = match create {
        0 => Create::No,
        1 => Create::IfEasy,
        _ => Create::Yes,
    };
    // SAFETY: SQLite passes a cache that it made.
    let block = unsafe { locked(handle) }.fetch(key, create);
    block.map_or(ptr::null_mut(), |block| block.as_ptr().cast())
}

unsafe extern "C" fn unpin(handle: *mut Handle, page: *mut Shown, discard: c_int) {
    if let Some(block) = NonNull::new(page.cast::<Block>()) {
        // SAFETY: SQLite passes a cache that it made, and a page that `fetch` gave it, which is
        // the start of a block.
        unsafe { locked(handle).unpin(block, discard != 0) }
    }
}

unsafe extern "C" fn rekey(handle: *mut Handle, page: *mut Shown, _: c_uint, new: c_uint) {
    if let Some(block) = NonNull::new(page.cast::<Block>()) {
        // SAFETY: as in `unpin`.
        unsafe { locked(handle).rekey(block, new) }
    }
}

unsafe extern "C" fn truncate(handle: *mut Handle, limit: c_uint) {
    // SAFETY: SQLite passes a cache that it made.
    unsafe { locked(handle) }.truncate(limit);
}

unsafe extern "C" fn destroy(handle: *mut Handle) {
    // SAFETY: SQLite passes a cache that it made, once, and does not use it again.
    drop(unsafe { Box::from_raw(handle) });
}

unsafe extern "C" fn shrink(handle: *mut Handle) {
    // SAFETY: SQLite passes a cache that it made.
    unsafe { locked(handle) }.shrink();
}
