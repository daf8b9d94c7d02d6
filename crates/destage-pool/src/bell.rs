//! How the writer is woken and stopped.

use crate::lock::lock;
use std::sync::{Condvar, Mutex};
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
    pub(crate) fn wake(&self) {
        lock(&self.state).is_woken = true;
        self.rung.notify_one();
    }

    pub(crate) fn stop(&self) {
        lock(&self.state).is_stopped = true;
        self.rung.notify_one();
    }

    /// Waits until it is woken or the period is over; false when it has to stop.
    pub(crate) fn wait(&self, period: Duration) -> bool {
        let state = lock(&self.state);
        let still = |state: &mut State| !state.is_woken && !state.is_stopped;
        let (mut state, _) =
            self.rung.wait_timeout_while(state, period, still).expect("no holder panics");
        state.is_woken = false;
        !state.is_stopped
    }
}
