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

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Sepbit {
    window: u64,
    last_class: u32,
    pub(super) last: Vec<u64>, // by slot, the clock of its last host write; 0: none
    lifetimes: u64,            // of the window that is being filled
    blocks: u64,               // of it
    pub(super) sum: Option<u128>, // window * l; `None`: l is infinite
}

impl Sepbit {
    pub(super) fn new(window: u64, handles: u32, slots: usize) -> Self {
        let last_class = handles - 1;
        Sepbit { window, last_class, last: vec![0; slots], lifetimes: 0, blocks: 0, sum: None }
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
        let last = std::mem::replace(&mut self.last[slot as usize], clock);
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
        let age = clock - self.last[slot as usize];
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
        self.last[slot as usize] = 0;
    }
}
