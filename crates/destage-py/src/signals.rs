//! Signals, where Python cannot listen: behind native code, and in work that waits for a pipe.
//!
//! Python runs its handlers on the main thread, between byte codes. That is soon enough as long as
//! the main thread comes back; a library that computes for minutes, or a read that waits for a pipe
//! without a writer, keeps it. The command line makes both calls here; a notebook neither.

use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Callback for work that does not stop after its stop flag was set.
static STUCK: Mutex<Option<Py<PyAny>>> = Mutex::new(None);

/// Sets what to call, on the calling thread and about ten times a second, when work that was told
/// to stop has not done so for a second. Such work waits for something that a flag does not reach.
#[pyfunction]
#[pyo3(signature = (call))]
pub fn when_stuck(call: Option<Py<PyAny>>) {
    *STUCK.lock().unwrap_or_else(PoisonError::into_inner) = call;
}

/// Calls what [`when_stuck`] was given.
pub fn stuck(py: Python<'_>) -> PyResult<()> {
    let call = STUCK
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()
        .map(|call| call.clone_ref(py));
    call.map_or(Ok(()), |call| call.call0(py).map(|_| ()))
}

/// Ends the process at the second of these signals, whatever its threads are doing: status 128 and
/// the signal's number. Returns the descriptor for `signal.set_wakeup_fd`, to which Python's own
/// handler writes the number of each signal at once; none where there is no such thing.
#[cfg(unix)]
#[pyfunction]
pub fn end_at_second_signal(signals: Vec<u8>) -> PyResult<Option<i32>> {
    use std::io::Read;
    use std::os::fd::IntoRawFd;

    let (mut numbers, writer) = std::io::pipe()?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let (mut seen, mut number) = (0, [0]);
        while numbers.read_exact(&mut number).is_ok() {
            seen += u32::from(signals.contains(&number[0]));
            if seen == 2 {
                // SAFETY: `_exit` takes any number, touches no memory of ours and does not return.
                // Not `std::process::exit`: it would wait for what the other threads hold.
                unsafe { libc::_exit(128 + i32::from(number[0])) }
            }
        }
    })?;
    Ok(Some(writer.into_raw_fd()))
}

/// Without effect on systems without these signals.
#[cfg(not(unix))]
#[pyfunction]
pub fn end_at_second_signal(_signals: Vec<u8>) -> Option<i32> {
    None
}
