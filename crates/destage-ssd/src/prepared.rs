//! A device at time 0, and the copies of it that runs take turns with.
//!
//! A short run changes a few entries of a map that has one for every page. So its copy is kept:
//! after the run, the changed entries are copied from the device at time 0
//! ([`Ftl::restore`](crate::Ftl::restore)).

use crate::Device;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Copies at time 0 that no run has, by the number of the device. A new copy takes the place of one
/// of another device: there are never more than runs at once.
static COPIES: Mutex<Vec<(u64, Device)>> = Mutex::new(Vec::new());

fn copies() -> MutexGuard<'static, Vec<(u64, Device)>> {
    COPIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A device at time 0.
#[derive(Debug)]
pub struct Prepared {
    device: Device,
    number: u64,
}

impl Prepared {
    /// The device at time 0, to run with. O(pages) for the first runs; for those after them
    /// O(blocks + pages that a run programs).
    pub fn lend(&self) -> Lent<'_> {
        let mut known = copies();
        let mine = known.iter().position(|&(number, _)| number == self.number);
        let copy = mine.or(known.len().checked_sub(1)).map(|at| known.swap_remove(at));
        drop(known);
        let device = match copy {
            Some((number, device)) if number == self.number => device,
            other => {
                drop(other);
                self.device.clone()
            }
        };
        Lent { from: self, device: Some(device) }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        copies().retain(|&(number, _)| number != self.number);
    }
}

impl From<Device> for Prepared {
    fn from(device: Device) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Prepared { device, number: NEXT.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Clone for Prepared {
    fn clone(&self) -> Self {
        self.device.clone().into()
    }
}

impl Deref for Prepared {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

/// A device to run with, which is kept for the next run.
#[derive(Debug)]
pub struct Lent<'a> {
    from: &'a Prepared,
    device: Option<Device>, // until it is dropped
}

impl Deref for Lent<'_> {
    type Target = Device;

    fn deref(&self) -> &Device {
        self.device.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut Device {
        self.device.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        // A run that panicked, or an FTL that gave up, may have stopped between two steps.
        let whole = |device: &Device| !std::thread::panicking() && device.failure().is_none();
        let Some(mut device) = self.device.take().filter(whole) else { return };
        if device.restore(&self.from.device) {
            copies().push((self.from.number, device));
        }
    }
}
