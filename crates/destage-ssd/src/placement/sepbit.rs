//! SepBIT: pages whose data are likely to die at about the same time share a class.
//!
//! Wang, Wang, Hu, Wang, Lee et al. Separating data via block invalidation time inference for write
//! amplification reduction in log-structured storage. FAST 2022. The rules are those of its
//! simulator, as `docs/spec/device-today.md` 8.5 has them.
//!
//! Rules. A page that the host writes again soon after its last write is likely to be written again
//! as soon: class 0 if it lived shorter than l, the mean lifetime of the blocks of class 0; class 1
//! if not, or if it has never been written. A page that is moved out of class 0 goes to class 2,
//! any other by its age: class 3 below 4 l, 4 below 16 l, and so on by fours, the last class
//! without limit.
//!
//! l is infinite until the first window of blocks has been collected. Means are never divided:
//! `x < k l` is `x * window < k * sum`.

use super::{Assigns, Victim, WriteHint};
use destage_core::pages::prefetch;

/// By slot, the clock of its last host write; 0: none. Four bytes a page until the clock needs
/// more, which is after 2^32 page writes: a drive of 1 TiB shall not take more than 4 GiB.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Clocks {
    Short(Vec<u32>),
    Long(Vec<u64>),
}

impl Clocks {
    #[inline(always)]
    fn get(&self, slot: u32) -> u64 {
        match self {
            Clocks::Short(clocks) => clocks[slot as usize].into(),
            Clocks::Long(clocks) => clocks[slot as usize],
        }
    }

    /// Sets one; what it was.
    #[inline(always)]
    pub(super) fn set(&mut self, slot: u32, clock: u64) -> u64 {
        match self {
            Clocks::Short(clocks) => match u32::try_from(clock) {
                Ok(clock) => std::mem::replace(&mut clocks[slot as usize], clock).into(),
                Err(_) => self.lengthen().set(slot, clock),
            },
            Clocks::Long(clocks) => std::mem::replace(&mut clocks[slot as usize], clock),
        }
    }

    #[cold]
    fn lengthen(&mut self) -> &mut Self {
        if let Clocks::Short(clocks) = self {
            *self = Clocks::Long(clocks.iter().copied().map(u64::from).collect());
        }
        self
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Sepbit {
    window: u64,
    last_class: u32,
    pub(super) last: Clocks,
    lifetimes: u64,               // of the window that is being filled
    blocks: u64,                  // of it
    pub(super) sum: Option<u128>, // window * l; `None`: l is infinite
}

impl Sepbit {
    pub(super) fn new(window: u64, handles: u32, slots: usize) -> Self {
        let last_class = handles - 1;
        let last = Clocks::Short(vec![0; slots]);
        Sepbit { window, last_class, last, lifetimes: 0, blocks: 0, sum: None }
    }

    /// Brings near what is known of a page.
    #[inline(always)]
    pub(super) fn prefetch(&self, slot: u32) {
        match &self.last {
            Clocks::Short(clocks) => prefetch(clocks, slot as usize),
            Clocks::Long(clocks) => prefetch(clocks, slot as usize),
        }
    }

    /// x < k l.
    #[inline]
    fn is_below(&self, x: u64, k: u128) -> bool {
        let below = |sum: u128| u128::from(x) * u128::from(self.window) < k.saturating_mul(sum);
        self.sum.is_none_or(below)
    }
}

impl Assigns for Sepbit {
    fn written(&mut self, slot: u32, _: WriteHint, clock: u64) -> u32 {
        let last = self.last.set(slot, clock);
        u32::from(last == 0 || !self.is_below(clock - last, 1))
    }

    fn collected(&mut self, victim: Victim, clock: u64) {
        if victim.point != 0 {
            return;
        }
        self.lifetimes += clock - victim.opened;
        self.blocks += 1;
        if self.blocks == self.window {
            self.sum = Some(self.lifetimes.into());
            (self.lifetimes, self.blocks) = (0, 0);
        }
    }

    fn moved(&self, slot: u32, victim: Victim, clock: u64) -> u32 {
        if victim.point == 0 {
            return 2;
        }
        let age = clock - self.last.get(slot);
        let mut limit = 4; // times l
        (3..self.last_class)
            .find(|_| {
                let is_below = self.is_below(age, limit);
                limit *= 4;
                is_below
            })
            .unwrap_or(self.last_class)
    }

    fn trimmed(&mut self, slot: u32, _: u64) {
        self.last.set(slot, 0);
    }
}
