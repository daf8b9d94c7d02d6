//! FK, future knowledge: pages whose data die at about the same time share a class. An offline
//! reference, as MIN is for caches, and no bound: it is not proven that these classes are best for
//! greedy collection.
//!
//! From the simulator of SepBIT (FAST 2022), as `docs/spec/device-today.md` 8.6 has it. The steps
//! there are linear; geometric ones say more of a large drive.
//!
//! The data of a host page write die at the next write of the page, or at a trim of it. With T host
//! page writes to go until then, the class is 0 if T < u, else the largest k with
//! T >= u * base^(k-1) (geometric), or T / u (linear), at most the last one; data that never die
//! are of the last class.

use super::{Assigns, Victim, WriteHint};
use crate::config::Steps;
use destage_core::pages::prefetch;
use std::sync::Arc;

/// At which clock the data of every host page write die, as the first run saw it.
#[derive(Clone, PartialEq, Debug)]
pub struct Future {
    deaths: Arc<[u32]>, // by clock - 1; NEVER: they do not
}

/// Data that live on.
pub(super) const NEVER: u32 = u32::MAX;

impl Future {
    /// From the slots of all host page writes in order, and trims, each with its clock.
    pub(super) fn of(writes: &[u32], trims: &[(u64, u32)]) -> Self {
        let slots = writes.iter().max().map_or(0, |&most| most as usize + 1);
        let mut last = vec![NEVER; slots]; // write of each page, as an index
        let mut deaths = vec![NEVER; writes.len()];
        let mut trims = trims.iter().copied().peekable();
        for (at, &slot) in writes.iter().enumerate() {
            while let Some((clock, slot)) = trims.next_if(|&(clock, _)| clock <= at as u64) {
                end(&mut last, &mut deaths, slot, clock);
            }
            end(&mut last, &mut deaths, slot, at as u64 + 1);
            last[slot as usize] = at as u32;
        }
        for (clock, slot) in trims {
            end(&mut last, &mut deaths, slot, clock);
        }
        Future { deaths: deaths.into() }
    }
}

/// The data of a page die.
fn end(last: &mut [u32], deaths: &mut [u32], slot: u32, clock: u64) {
    let Some(write) = last.get_mut(slot as usize) else { return };
    if *write != NEVER {
        deaths[*write as usize] = clock as u32; // fewer than 2^32 writes are recorded
        *write = NEVER;
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Fk {
    steps: Steps,
    base: u64,
    unit: u64,
    last_class: u32,
    deaths: Vec<u32>, // by slot, of the data that it holds
    future: Option<Future>,
}

impl Fk {
    pub(super) fn new((steps, base, unit): (Steps, u64, u64), handles: u32, slots: usize) -> Self {
        Fk { steps, base, unit, last_class: handles - 1, deaths: vec![NEVER; slots], future: None }
    }

    /// Brings near what is known of a page.
    #[inline(always)]
    pub(super) fn prefetch(&self, slot: u32) {
        prefetch(&self.deaths, slot as usize);
    }

    pub(super) fn foresee(&mut self, future: Future) {
        self.future = Some(future);
    }

    pub(super) fn class(&self, death: u32, clock: u64) -> u32 {
        if death == NEVER {
            return self.last_class;
        }
        let left = u64::from(death).saturating_sub(clock);
        match self.steps {
            Steps::Linear => (left / self.unit).min(self.last_class.into()) as u32,
            Steps::Geometric => {
                let mut step = Some(self.unit);
                let mut class = 0;
                while class < self.last_class && step.is_some_and(|step| left >= step) {
                    class += 1;
                    step = step.and_then(|step| step.checked_mul(self.base));
                }
                class
            }
        }
    }
}

impl Assigns for Fk {
    fn written(&mut self, slot: u32, _: WriteHint, clock: u64) -> u32 {
        let future = self.future.as_ref().expect("the first run comes before this one");
        let death = future.deaths.get(clock as usize - 1).copied();
        let death = death.expect("both runs write the same pages in the same order");
        self.deaths[slot as usize] = death;
        self.class(death, clock)
    }

    fn moved(&self, slot: u32, _: Victim, clock: u64) -> u32 {
        self.class(self.deaths[slot as usize], clock)
    }
}
