//! Filling a drive: its progress, and its interruption by the caller.

/// The caller is told this often, in pages: some hundred times a second.
const TOLD_EVERY: u64 = 1 << 17;

/// Hears how many pages have been written, of how many, and says whether to go on.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

/// The caller did not want to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("interrupted while the device was being filled")]
pub struct Interrupted;

/// Progress of preconditioning writes, with its callback.
pub struct Writing<'a> {
    done: u64,
    told: u64,
    total: u64,
    progress: Progress<'a>,
}

impl<'a> Writing<'a> {
    pub(crate) fn new(total: u64, progress: Progress<'a>) -> Self {
        Writing { done: 0, told: 0, total, progress }
    }

    /// Counts `pages` more written pages.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] if the caller wants no more of it.
    #[inline(always)]
    pub fn wrote(&mut self, pages: u64) -> Result<(), Interrupted> {
        self.done += pages;
        if self.done - self.told < TOLD_EVERY { Ok(()) } else { self.tell() }
    }

    /// Tells the caller now.
    pub(crate) fn tell(&mut self) -> Result<(), Interrupted> {
        self.told = self.done;
        if (self.progress)(self.done, self.total) { Ok(()) } else { Err(Interrupted) }
    }
}
