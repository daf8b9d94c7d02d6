//! A mapped file that shrinks: an error message in place of SIGBUS.
//!
//! Files of columns are mapped, which is what lets a second run start at once and a trace be larger
//! than memory. Where one is cut while it is mapped, or the disk beneath it goes
//! away, the page that is asked for next is not there, and the system answers with SIGBUS, whose
//! default is to kill the process without a word. No check before the access can rule that out, so
//! a command line lets the signal itself say what happened ([`report_shrunk_files`]).
//!
//! ```text
//!  SIGBUS ──▶ which file lies at this address? ──▶ its sentence to standard error, status 65
//!                              none of ours ──▶ the default action
//! ```

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use memmap2::Mmap;

use destage_keys::printable;

/// Files that are known to the signal at once; beyond it, SIGBUS kills the process as usual.
const SLOTS: usize = 1024;

/// A slot that is being filled; no file is mapped there.
const TAKEN: usize = 1;

/// Address range of a mapped file, and the message if the file is cut.
struct Slot {
    /// 0 if the slot is free.
    start: AtomicUsize,
    end: AtomicUsize,
    sentence: AtomicPtr<String>,
}

static MAPPED: [Slot; SLOTS] = [const {
    Slot {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        sentence: AtomicPtr::new(ptr::null_mut()),
    }
}; SLOTS];

/// A mapped file.
pub(crate) struct Mapped {
    map: Mmap,
    file: File,
    slot: Option<usize>,
}

impl Mapped {
    /// Maps all of a file; `path` is what the sentence names.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    pub(crate) fn new(file: &File, path: &Path) -> io::Result<Self> {
        let file = file.try_clone()?;
        // SAFETY: a column file is never written again once its header is there: the writer gives
        // the handle away, or renames the file into the cache, where files are only replaced by
        // renaming and removed. Somebody who truncates one by hand while it is mapped gets what the
        // top of this file says. Mapping is what lets a second run start at once (bench `decode`,
        // "mapped and checked").
        let map = unsafe { Mmap::map(&file) }?;
        let slot = register(&map, path);
        Ok(Mapped { map, file, slot })
    }

    /// Whether the file is still as long as what is mapped of it.
    pub(crate) fn is_whole(&self) -> bool {
        self.file.metadata().is_ok_and(|facts| facts.len() >= self.map.len() as u64)
    }
}

impl Deref for Mapped {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let Some(slot) = self.slot.map(|slot| &MAPPED[slot]) else { return };
        slot.start.store(TAKEN, Ordering::SeqCst);
        let sentence = slot.sentence.swap(ptr::null_mut(), Ordering::SeqCst);
        // SAFETY: it was made by `Box::into_raw` in `register`, and this slot alone held it. The
        // signal reads it only for an address within the mapping, which no thread can be reading
        // while its owner is dropped.
        drop(unsafe { Box::from_raw(sentence) });
        slot.start.store(0, Ordering::SeqCst);
    }
}

fn register(map: &Mmap, path: &Path) -> Option<usize> {
    let take = |slot: &Slot| {
        slot.start.compare_exchange(0, TAKEN, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    };
    let free = MAPPED.iter().position(take)?;
    let sentence = format!(
        "destage: {}: the file was cut or its disk went away while it was read; run again\n",
        printable(path.as_os_str().as_encoded_bytes())
    );
    let start = map.as_ptr() as usize;
    let slot = &MAPPED[free];
    slot.sentence.store(Box::into_raw(Box::new(sentence)), Ordering::SeqCst);
    slot.end.store(start + map.len(), Ordering::SeqCst);
    slot.start.store(start, Ordering::SeqCst);
    Some(free)
}

/// Makes this process end with a sentence on standard error and status 65 where a mapped file is
/// not whole any more, in place of SIGBUS. For command lines: it takes the signal over.
///
/// # Errors
///
/// Errors of the system.
#[cfg(unix)]
pub fn report_shrunk_files() -> io::Result<()> {
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_sigbus;
    // SAFETY: all bytes zero are a valid `sigaction`: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: `action` is whole, and its handler calls nothing that a signal may not.
    match unsafe { libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// No handler to install on this system.
#[cfg(not(unix))]
pub fn report_shrunk_files() -> io::Result<()> {
    Ok(())
}

/// Exit status: the data are wrong (`TraceError::exit_status`).
#[cfg(unix)]
const STATUS: libc::c_int = 65;

#[cfg(unix)]
extern "C" fn on_sigbus(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the system hands over a whole `siginfo_t`.
    let address = unsafe { (*info).si_addr() } as usize;
    for slot in &MAPPED {
        let (start, end) = (slot.start.load(Ordering::SeqCst), slot.end.load(Ordering::SeqCst));
        if start <= TAKEN || !(start..end).contains(&address) {
            continue;
        }
        // SAFETY: the address lies in this mapping, so its reader keeps the mapping, and with
        // it the sentence, alive. `write` and `_exit` may be called in a signal.
        unsafe {
            if let Some(sentence) = slot.sentence.load(Ordering::SeqCst).as_ref() {
                let _ = libc::write(libc::STDERR_FILENO, sentence.as_ptr().cast(), sentence.len());
            }
            libc::_exit(STATUS);
        }
    }
    // SAFETY: `signal` is the number that we were called with. The access happens again on return,
    // and the default ends the process.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}
