//! How the caller takes part in long work: it hears how far the work has come, and may stop it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Result, TraceError};

/// Progress and interruption of the decoding of a trace.
pub trait Hooks {
    /// Progress so far; called some hundred times a second at most.
    fn progress(&mut self, _progress: Progress) {}

    /// A flag that another thread sets to stop; read once, for work that cannot call
    /// [`interrupted`](Self::interrupted) in between.
    fn interrupt_flag(&self) -> Option<Arc<AtomicBool>> {
        None
    }

    /// Called as often as `progress`; `true` ends the work with [`TraceError::Interrupted`].
    fn interrupted(&mut self) -> bool {
        self.interrupt_flag().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// As [`ReadControls::threads`].
    fn threads(&self) -> Option<usize> {
        None
    }

    /// Something the user should know, one line.
    fn note(&mut self, _text: String) {}
}

/// Hooks that ignore progress and never interrupt.
pub struct NoHooks;

impl Hooks for NoHooks {}

/// Progress of long work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Current stage.
    pub stage: Stage,
    /// Done so far, in the stage's unit.
    pub done: u64,
    /// Total in the stage's unit, if known.
    pub total: Option<u64>,
}

/// Stage of long work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Hashing the sources; bytes.
    Hashing,
    /// Reading and splitting; the source's own unit (bytes for files).
    Reading,
    /// Numbering pages; rows.
    Numbering,
    /// Looking for the next use of each access; accesses.
    NextUse,
    /// Gathering what the trace looks like; rows.
    Looking,
}

/// Counters of a reading of files, shared with an observer. Bytes are those on disk, still
/// compressed, of all files.
#[derive(Debug, Default)]
pub struct ReadMeter {
    /// Read so far.
    pub done_bytes: AtomicU64,
    /// Bytes of all files; 0 if standard input is among them.
    pub total_bytes: AtomicU64,
    /// Records delivered so far.
    pub records: AtomicU64,
}

impl ReadMeter {
    /// Back to nothing: the reading begins again.
    pub(crate) fn reset(&self) {
        for counter in [&self.done_bytes, &self.total_bytes, &self.records] {
            counter.store(0, Ordering::Relaxed);
        }
    }
}

/// Shared flags and counters of a reading that runs without calling back: by shared flags and
/// counters, where [`Hooks`] are called.
#[derive(Clone, Default)]
pub struct ReadControls {
    /// Set to stop; the next batch is then [`TraceError::Interrupted`].
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Counted up while reading.
    pub meter: Option<Arc<ReadMeter>>,
    /// Threads that parse plain text beside the reader's, 0 for none; `None`: as the machine has
    /// processors. What is read does not depend on it.
    pub threads: Option<usize>,
}

/// Tells the hooks how far the work has come, and asks whether to go on.
///
/// # Errors
///
/// `Interrupted`.
pub fn step(hooks: &mut dyn Hooks, stage: Stage, done: u64, total: Option<u64>) -> Result<()> {
    hooks.progress(Progress { stage, done, total });
    if hooks.interrupted() { Err(TraceError::Interrupted) } else { Ok(()) }
}
