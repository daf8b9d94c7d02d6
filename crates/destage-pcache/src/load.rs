//! How the library meets SQLite: it finds the shared libsqlite3 of the process and configures it
//! before its first use.
//!
//! When the program starts, a constructor looks for a libsqlite3 that the program was linked with.
//! One that is loaded later (Python's module) is found when it is initialised: this library's
//! `sqlite3_initialize` comes before all others in the order of symbols, and calls theirs.

use crate::block::Memory;
use crate::methods::{COMMON, Common, METHODS, Methods};
use crate::settings::{POLICY, Settings, report};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Once;

const RTLD_LAZY: c_int = 1;
#[cfg(target_os = "macos")]
const RTLD_NOLOAD: c_int = 0x10;
#[cfg(not(target_os = "macos"))]
const RTLD_NOLOAD: c_int = 4;

/// `SQLITE_CONFIG_PCACHE2`.
const CONFIG_PCACHE2: c_int = 18;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

type Configure = unsafe extern "C" fn(c_int, ...) -> c_int;
type Malloc = unsafe extern "C" fn(c_int) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);

/// A library that is loaded, and stays so: its handle is kept.
#[derive(Clone, Copy)]
struct Library(*mut c_void);

impl Library {
    fn loaded(name: &CStr) -> Option<Library> {
        // SAFETY: the name ends with a zero; nothing is loaded, so no constructor runs.
        let handle = unsafe { dlopen(name.as_ptr(), RTLD_LAZY | RTLD_NOLOAD) };
        (!handle.is_null()).then_some(Library(handle))
    }

    /// The address of a symbol of the library or of one that it needs.
    fn symbol(self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle came from `dlopen`, the name ends with a zero.
        let address = unsafe { dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

/// Gives SQLite the page cache, once a process, if the user asks for it.
fn configure(sqlite: Library) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let fault = match Settings::read() {
            None => return,
            Some(Ok(settings)) => give(sqlite, settings).err(),
            Some(Err(fault)) => Some(fault),
        };
        if let Some(fault) = fault {
            report(POLICY, &format!("{fault}; SQLite keeps its own page cache"));
        }
    });
}

fn give(sqlite: Library, settings: Settings) -> Result<(), String> {
    let symbol = |name: &CStr| {
        let missing = || format!("libsqlite3 has no {}", name.to_string_lossy());
        sqlite.symbol(name).ok_or_else(missing)
    };
    let (config, malloc, free) =
        (symbol(c"sqlite3_config")?, symbol(c"sqlite3_malloc")?, symbol(c"sqlite3_free")?);
    // SAFETY: these are SQLite's functions, of the types that its interface has had since 3.7.
    let (config, memory) = unsafe {
        let config = std::mem::transmute::<*mut c_void, Configure>(config);
        let malloc = std::mem::transmute::<*mut c_void, Malloc>(malloc);
        let free = std::mem::transmute::<*mut c_void, Free>(free);
        (config, Memory { malloc, free })
    };
    // A fault of a policy is one line of ours.
    std::panic::set_hook(Box::new(|_| {}));
    _ = COMMON.set(Common { settings, memory });
    // SAFETY: SQLite copies the table, whose functions keep its contract.
    match unsafe { config(CONFIG_PCACHE2, &raw const METHODS_TABLE.0) } {
        0 => Ok(()),
        status => Err(format!("sqlite3_config: status {status}, SQLite is in use already")),
    }
}

struct Table(Methods);

// SAFETY: functions, and a pointer that is null: nothing changes.
unsafe impl Sync for Table {}

static METHODS_TABLE: Table = Table(METHODS);

/// Runs when the library is loaded.
extern "C" fn at_load() {
    #[cfg(target_os = "linux")]
    linux::with_copies(|_| ());
    #[cfg(not(target_os = "linux"))]
    if let Some(sqlite) = [c"libsqlite3.dylib", c"/usr/lib/libsqlite3.dylib", c"libsqlite3.so"]
        .into_iter()
        .find_map(Library::loaded)
    {
        configure(sqlite);
    }
}

#[used]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_os = "macos"), unsafe(link_section = ".init_array"))]
static AT_LOAD: extern "C" fn() = at_load;

#[cfg(target_os = "linux")]
mod linux {
    use super::{Library, configure};
    use std::collections::BTreeSet;
    use std::ffi::{CStr, CString, c_char, c_int, c_void};
    use std::sync::{Mutex, PoisonError};

    /// The first members of `struct dl_phdr_info`.
    #[repr(C)]
    struct Object {
        address: usize,
        name: *const c_char,
        headers: *const c_void,
        header_count: u16,
        loaded: u64,
        unloaded: u64,
    }

    type Visit = unsafe extern "C" fn(*mut Object, usize, *mut c_void) -> c_int;
    type Initialise = unsafe extern "C" fn() -> c_int;

    unsafe extern "C" {
        fn dl_iterate_phdr(visit: Visit, data: *mut c_void) -> c_int;
    }

    /// How many libraries were loaded and unloaded so far: it changes when the list does.
    fn changes() -> u64 {
        unsafe extern "C" fn first(object: *mut Object, size: usize, data: *mut c_void) -> c_int {
            if size >= size_of::<Object>() {
                // SAFETY: the loader passes an object of `size` bytes, and the data is a u64.
                unsafe { *data.cast::<u64>() = (*object).loaded + (*object).unloaded };
            }
            1
        }
        let mut changes = 0_u64;
        // SAFETY: the function keeps the loader's contract, and the number outlives the call.
        unsafe { dl_iterate_phdr(first, (&raw mut changes).cast()) };
        changes
    }

    /// Names of the libraries that are loaded.
    fn names() -> Vec<CString> {
        unsafe extern "C" fn each(object: *mut Object, _: usize, data: *mut c_void) -> c_int {
            // SAFETY: the loader passes an object whose name is null or ends with a zero; the data
            // is the list below.
            unsafe {
                let name = (*object).name;
                if !name.is_null() && *name != 0 {
                    (*data.cast::<Vec<CString>>()).push(CStr::from_ptr(name).to_owned());
                }
            }
            0
        }
        let mut names: Vec<CString> = Vec::new();
        // SAFETY: as above; the list outlives the call.
        unsafe { dl_iterate_phdr(each, (&raw mut names).cast()) };
        names
    }

    /// `sqlite3_initialize` of each copy of SQLite in the process, as of some number of changes.
    static COPIES: Mutex<(Option<u64>, Vec<Initialise>)> = Mutex::new((None, Vec::new()));

    /// Looks for copies of SQLite, configures the shared library, and shows them all.
    pub(super) fn with_copies<T>(show: impl FnOnce(Vec<Initialise>) -> T) -> T {
        let now = changes();
        let known = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 == Some(now) {
            let copies = known.1.clone();
            drop(known);
            return show(copies);
        }
        drop(known); // The loader has a lock of its own.
        let mut addresses = BTreeSet::new();
        for name in names() {
            let Some(library) = Library::loaded(&name) else { continue };
            let found = library.symbol(c"sqlite3_initialize").map(|address| address as usize);
            let own = sqlite3_initialize as *const () as usize;
            let Some(address) = found.filter(|address| *address != own) else { continue };
            let file = name.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            if file.starts_with(b"libsqlite3") {
                configure(library);
            }
            addresses.insert(address);
        }
        // SAFETY: each is SQLite's function of this name, in a library whose handle is kept.
        let copies = addresses
            .into_iter()
            .map(|address| unsafe { std::mem::transmute::<usize, Initialise>(address) })
            .collect::<Vec<_>>();
        let mut known = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
        *known = (Some(now), copies.clone());
        drop(known);
        show(copies)
    }

    /// SQLite's own of this name, after the page cache is configured. With several copies of SQLite
    /// in a process the caller's is not known: each is initialised, which does no harm twice.
    ///
    /// # Safety
    ///
    /// As SQLite's.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn sqlite3_initialize() -> c_int {
        const ERROR: c_int = 1;
        // SAFETY: by the caller.
        let call = |copy: Initialise| unsafe { copy() };
        with_copies(|copies| {
            copies
                .into_iter()
                .map(call)
                .fold(None, |all, status| Some(all.filter(|status| *status != 0).unwrap_or(status)))
        })
        .unwrap_or(ERROR)
    }
}
