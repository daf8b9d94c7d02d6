//! How the writer is woken and stopped.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

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

    pub(crate) fn wake(&self) {
        self.lock().is_woken = true;
        self.rung.notify_one();
    }

    pub(crate) fn stop(&self) {
        self.lock().is_stopped = true;
        self.rung.notify_one();
    }

    /// Waits until it is woken or the period is over; false when it has to stop.
    pub(crate) fn wait(&self, period: Duration) -> bool {
        let state = self.lock();
        let still = |state: &mut State| !state.is_woken && !state.is_stopped;
        let (mut state, _) =
            self.rung.wait_timeout_while(state, period, still).expect("no holder panics");
        state.is_woken = false;
        !state.is_stopped
    }
}
