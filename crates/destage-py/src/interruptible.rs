//! Long work on a thread of its own, while the calling thread listens: to Ctrl-C, and for progress.
//!
//! Python runs signal handlers on the main thread only, between byte codes. So the work runs
//! without the GIL on another thread, and the calling one comes back some ten times a second, lets
//! Python look for signals, calls the progress callback and goes to sleep again. If either raises,
//! the work is told to stop and the exception goes on.

use crate::errors::{ErrorClass, error};
use crate::signals::stuck;
use destage_replay::control::Control;
use destage_replay::error::RunError;
use destage_ssd::{Device, DeviceConfig};
use destage_trace::{Progress, ReadControls, Stage};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often the calling thread looks up.
const PERIOD: Duration = Duration::from_millis(100);

/// How long work may take to stop before it counts as stuck. It looks at the flag some thousand
/// times in this.
const PATIENCE: Duration = Duration::from_secs(1);

/// State that the two threads share.
#[derive(Default)]
pub struct Watch {
    /// Stop flag, and what was done.
    pub control: Control,
    /// The stop flag once more, for readers that keep it.
    stop_reading: Arc<AtomicBool>,
    total: AtomicU64,
    stage: Mutex<&'static str>,
    notes: Mutex<Vec<String>>,
}

impl Watch {
    /// The work enters a stage of `total` units; 0 if unknown.
    pub fn enter(&self, stage: &'static str, total: u64) {
        *locked(&self.stage) = stage;
        self.control.accesses_done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// Notes for the user, in the order of their events.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.notes))
    }

    /// A drive at time 0, out of the cache folder if it lies there.
    pub fn prepare(
        &self,
        config: &DeviceConfig,
        folder: Option<&Path>,
    ) -> Result<Device, RunError> {
        self.enter("preparing the device", 0);
        let prepared = Device::prepare(config, folder, &mut |done, total| {
            self.control.accesses_done.store(done, Ordering::Relaxed);
            self.total.store(total, Ordering::Relaxed);
            !self.control.stop.load(Ordering::Relaxed)
        });
        prepared.map(|(device, _)| device).map_err(|_| RunError::Interrupted)
    }

    /// As a stream of records takes it.
    pub fn reading(&self) -> ReadControls {
        ReadControls { interrupt: Some(self.stop_reading.clone()), ..ReadControls::default() }
    }

    fn stop(&self) {
        self.control.stop.store(true, Ordering::Relaxed);
        self.stop_reading.store(true, Ordering::Relaxed);
    }

    /// Calls `progress(done, total, stage)`; `total` is `None` where it is unknown.
    pub fn report(&self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        let Some(progress) = progress else { return Ok(()) };
        let stage = *locked(&self.stage);
        if stage.is_empty() {
            return Ok(());
        }
        let done = self.control.accesses_done.load(Ordering::Relaxed);
        let total = Some(self.total.load(Ordering::Relaxed)).filter(|&t| t > 0);
        progress.call1(py, (done, total, stage))?;
        Ok(())
    }
}

impl destage_trace::Hooks for &Watch {
    fn progress(&mut self, progress: Progress) {
        let stage = match progress.stage {
            Stage::Hashing => "hashing",
            Stage::Reading => "reading",
            Stage::Numbering => "numbering pages",
            Stage::NextUse => "looking ahead",
            Stage::Looking => "looking",
        };
        *locked(&self.stage) = stage;
        self.control.accesses_done.store(progress.done, Ordering::Relaxed);
        self.total.store(progress.total.unwrap_or(0), Ordering::Relaxed);
    }

    fn interrupted(&mut self) -> bool {
        self.control.stop.load(Ordering::Relaxed)
    }

    fn interrupt_flag(&self) -> Option<Arc<AtomicBool>> {
        Some(self.stop_reading.clone())
    }

    fn note(&mut self, text: String) {
        locked(&self.notes).push(text);
    }
}

/// Says that the work has ended.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    ring: Condvar,
}

impl Bell {
    /// Waits for it, a period at most; whether it has rung.
    fn wait(&self) -> bool {
        let (rung, _) = self
            .ring
            .wait_timeout_while(locked(&self.rung), PERIOD, |rung| !*rung)
            .unwrap_or_else(PoisonError::into_inner);
        *rung
    }
}

struct Ringer<'a>(&'a Bell);

impl Drop for Ringer<'_> {
    fn drop(&mut self) {
        *locked(&self.0.rung) = true;
        self.0.ring.notify_all();
    }
}

/// Locks a mutex, after a panic too: the values here are consistent at every moment.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` on another thread and waits for it, listening.
///
/// Raises what the signal handler or the callback raised, after the work has stopped; and
/// `InternalError` if the work panicked.
pub fn follow<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    watch: &Watch,
    work: impl FnOnce(&Watch) -> T + Send,
) -> PyResult<T> {
    let bell = &Bell::default();
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().spawn_scoped(scope, move || {
            // Rings at the end of the work, also when that is a panic.
            let _ringer = Ringer(bell);
            work(watch)
        });
        let no_room = |e| PyMemoryError::new_err(format!("no thread could be started: {e}"));
        let worker = worker.map_err(no_room)?;
        let mut raised = None;
        while !py.detach(|| bell.wait()) {
            // A second signal is looked for as well: what it raises is no news, but its handler may
            // end the process.
            let heard = py.check_signals();
            match &raised {
                None => {
                    if let Err(e) = heard.and_then(|()| watch.report(py, progress)) {
                        watch.stop();
                        raised = Some((e, Instant::now()));
                    }
                }
                Some((_, since)) if since.elapsed() > PATIENCE => stuck(py)?,
                Some(_) => {}
            }
        }
        let result = py.detach(|| worker.join());
        // A signal that came with the last moments of the work is still a signal.
        let raised = raised.map_or_else(|| py.check_signals(), |(e, _)| Err(e));
        match (raised, result) {
            (Err(e), _) => Err(e),
            (Ok(()), Ok(result)) => {
                watch.report(py, progress)?;
                Ok(result)
            }
            (Ok(()), Err(panic)) => Err(error(py, ErrorClass::Internal, panic_text(&*panic))),
        }
    })
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a thread panicked without a message").to_string()
}
