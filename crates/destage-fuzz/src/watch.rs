//! Runs a target on one input after another, and notices what goes wrong.

use crate::Target;
use cpu_time::ProcessTime;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// An input that breaks a target.
#[derive(Clone, Debug)]
pub struct Find {
    /// The input, cut down as far as it still breaks it.
    pub bytes: Vec<u8>,
    /// The panic's message and place.
    pub said: String,
}

/// The work of a run and its start, for the thread that looks after it.
type Busy = Arc<Mutex<Option<(Since, Vec<u8>)>>>;

/// An instant by both clocks: on a busy machine a run waits long for the processor and does not
/// hang; and one that waits for itself takes no processor time.
#[derive(Clone, Copy)]
struct Since(ProcessTime, Instant);

impl Since {
    fn now() -> Since {
        Since(ProcessTime::now(), Instant::now())
    }

    fn is_longer_than(self, patience: Duration) -> bool {
        self.0.elapsed() > patience || self.1.elapsed() > 10 * patience
    }
}

/// Watches one target.
pub struct Watch {
    target: &'static Target,
    busy: Busy,
    over: Arc<AtomicBool>,
}

impl Watch {
    /// Begins to watch; `hangs` is called, in a thread of its own, with an input that takes longer
    /// than `patience` of processor time, or ten times as long by the clock.
    pub fn new(
        target: &'static Target,
        patience: Duration,
        hangs: impl Fn(&[u8]) + Send + 'static,
    ) -> Watch {
        let watch = Watch { target, busy: Busy::default(), over: Arc::default() };
        let (busy, over) = (Arc::clone(&watch.busy), Arc::clone(&watch.over));
        thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                thread::sleep(patience.min(Duration::from_millis(500)));
                let now = busy.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some((began, bytes)) = now {
                    if began.is_longer_than(patience) {
                        hangs(&bytes);
                        return;
                    }
                    let mut place = busy.lock().unwrap_or_else(PoisonError::into_inner);
                    if place.is_none() {
                        *place = Some((began, bytes));
                    }
                }
            }
        });
        watch
    }

    /// Feeds one input. What it breaks is cut down.
    pub fn feed(&self, bytes: &[u8]) -> Option<Find> {
        self.note(Some((Since::now(), bytes.to_vec())));
        let said = fails(self.target, bytes);
        self.note(None);
        said.map(|said| Find { bytes: shrunk(self.target, bytes), said })
    }

    fn note(&self, what: Option<(Since, Vec<u8>)>) {
        *self.busy.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// The message of the target's panic on these bytes, if it panics.
fn fails(target: &Target, bytes: &[u8]) -> Option<String> {
    let panicked = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))).err()?;
    let text = panicked.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panicked.downcast_ref::<&str>().map(ToString::to_string));
    Some(text.unwrap_or_else(|| "a panic without a word".to_string()))
}

/// The input without what is not needed to break the target: parts are left out, halves first.
fn shrunk(target: &Target, bytes: &[u8]) -> Vec<u8> {
    let mut least = bytes.to_vec();
    let mut part = least.len() / 2;
    while part > 0 {
        let mut from = 0;
        while from + part <= least.len() {
            let mut without = least.clone();
            without.drain(from..from + part);
            if fails(target, &without).is_some() {
                least = without;
            } else {
                from += part;
            }
        }
        part /= 2;
    }
    least
}
