//! Slots that were trimmed since time 0: the only changes of the map that no programmed page names.

/// Of the slots and physical pages, the share (one of so many) from which on all are copied: in
/// order that is faster than so many here and there.
pub(super) const FEW: usize = 16;

/// Slots that were trimmed since time 0; not all of them, if they are many.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct Trimmed {
    slots: Vec<u32>,
    are_many: bool,
}

impl Trimmed {
    /// One more.
    pub(super) fn push(&mut self, slot: u32, all: usize) {
        self.are_many |= self.slots.len() >= all / FEW;
        if !self.are_many {
            self.slots.push(slot);
        }
    }

    /// They are not all here.
    pub(super) fn are_many(&self) -> bool {
        self.are_many
    }

    pub(super) fn slots(&self) -> &[u32] {
        &self.slots
    }
}
