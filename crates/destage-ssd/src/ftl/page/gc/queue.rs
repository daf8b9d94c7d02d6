//! Sealed blocks of each plane, in the order in which they were sealed
//! (`docs/spec/collectors.md` 3).

use super::SealedBlock;
use destage_core::PlaneId;
use std::collections::VecDeque;

/// One queue a plane; the oldest block is at the front.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Queues(Vec<VecDeque<u32>>);

impl Queues {
    pub(super) fn new(planes: u32) -> Self {
        Queues(vec![VecDeque::new(); planes as usize])
    }

    pub(super) fn push(&mut self, SealedBlock { plane, local, .. }: SealedBlock) {
        self.0[plane.index()].push_back(local);
    }

    /// Takes a block out, wherever it is: rules that keep a queue look near its front.
    pub(super) fn remove(&mut self, SealedBlock { plane, local, .. }: SealedBlock) {
        let queue = &mut self.0[plane.index()];
        let at = queue.iter().position(|&queued| queued == local);
        queue.remove(at.expect("a sealed block is in the queue of its plane"));
    }

    /// The blocks of a plane, oldest first.
    pub(super) fn of(&self, plane: PlaneId) -> impl Iterator<Item = u32> + Clone + '_ {
        self.0[plane.index()].iter().copied()
    }
}
