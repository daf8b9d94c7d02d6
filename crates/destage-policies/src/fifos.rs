//! Functions of policies with FIFOs in arrays.

use destage_core::Slot;
use std::collections::VecDeque;

/// Takes a page out of a FIFO, wherever it is: walks there, and moves what lies on the nearer side.
/// True if it was there.
pub(crate) fn take(fifo: &mut VecDeque<Slot>, slot: Slot) -> bool {
    let at = fifo.iter().position(|&other| other == slot);
    at.and_then(|at| fifo.remove(at)).is_some()
}
