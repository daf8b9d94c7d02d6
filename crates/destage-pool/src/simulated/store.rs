//! A store behind a simulated SSD: times and wear are the SSD's, bytes go to the store
//! (`docs/spec/pool.md` 10.3).

use super::SimulatedDevice;
use crate::store::{Device, Store};
use std::io;
use std::ops::Range;

/// Bytes in a store, behind a simulated SSD.
pub struct DeviceStore<S> {
    store: S,
    device: SimulatedDevice,
}

impl<S: Store> DeviceStore<S> {
    /// A store of at most as many pages as the SSD has.
    pub fn new(store: S, device: SimulatedDevice) -> Self {
        DeviceStore { store, device }
    }

    /// The store of the bytes.
    pub fn into_inner(self) -> S {
        self.store
    }
}

impl<S: Store> Store for DeviceStore<S> {
    fn pages(&self) -> u64 {
        self.store.pages()
    }
    fn read(&self, page: u64, into: &mut [u8]) -> io::Result<()> {
        self.store.read(page, into)
    }
    fn write(&self, group: &[(u64, &[u8])]) -> io::Result<()> {
        self.store.write(group)
    }
    fn discard(&self, pages: Range<u64>) -> io::Result<()> {
        self.store.discard(pages)
    }
    fn sync(&self) -> io::Result<()> {
        self.store.sync()
    }
    fn writes_are_durable(&self) -> bool {
        self.store.writes_are_durable()
    }
    fn alignment(&self) -> usize {
        self.store.alignment()
    }
    fn device(&self) -> Option<&dyn Device> {
        Some(&self.device)
    }
}
