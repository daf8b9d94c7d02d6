//! Threads of a pool: how they are started, woken and stopped.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that works whenever its bell is rung, and once a period at least. It ends when this is
/// dropped.
pub(crate) struct Helper {
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    pub(crate) fn start(
        name: &str,
        bell: &Arc<Bell>,
        period: Duration,
        mut work: impl FnMut() + Send + 'static,
    ) -> Helper {
        let rung = Arc::clone(bell);
        let run = move || {
            while rung.wait(period) {
                work();
            }
        };
        let thread = std::thread::Builder::new().name(name.to_string()).spawn(run);
        let thread = Some(thread.expect("a thread can be started"));
        Helper { bell: Arc::clone(bell), thread }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.bell.stop();
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

#[derive(Default)]
pub(crate) struct Bell {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Default)]
struct State {
    is_woken: bool,
    is_stopped: bool,
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// Waking up is a call of the system, also where it has been woken already.
    pub(crate) fn wake(&self) {
        if !std::mem::replace(&mut self.lock().is_woken, true) {
            self.rung.notify_one();
        }
    }

    fn stop(&self) {
        self.lock().is_stopped = true;
        self.rung.notify_one();
    }

    /// Waits until it is woken or the period is over; false when it has to stop.
    fn wait(&self, period: Duration) -> bool {
        let state = self.lock();
        let still = |state: &mut State| !state.is_woken && !state.is_stopped;
        let (mut state, _) =
            self.rung.wait_timeout_while(state, period, still).expect("no holder panics");
        state.is_woken = false;
        !state.is_stopped
    }
}
