//! What the drive holds before time 0 (`docs/spec/device.md` 5.6).

use crate::config::{DeviceConfig, Precondition};
use crate::ftl::{Ftl, Moves, Sink};
use crate::timing::Operation;
use destage_core::Nanos;

/// Random writes that an FTL gets at once: enough that each of some hundred planes has a few
/// thousand, and 16 MiB of page numbers.
const AT_ONCE: u64 = 1 << 22;

/// The caller is told this often, in pages: some hundred times a second.
const TOLD_EVERY: u64 = 1 << 17;

/// Takes operations in no time: every backlog is 0 and nothing is counted.
pub(crate) struct Instantly;

impl Sink for Instantly {
    type Served = ();
    #[inline(always)]
    fn submit(&mut self, _: Operation) {}
    #[inline(always)]
    fn submit_moves(&mut self, _: Moves) {}
    #[inline(always)]
    fn is_uniform(&self) -> bool {
        true
    }
    #[inline(always)]
    fn submit_equal(&mut self, _: Operation, _: u32) {}
    #[inline(always)]
    fn backlog_ns(&self, _: u32) -> Nanos {
        0
    }
    #[inline(always)]
    fn collection(&mut self) {}
}

/// Hears how many pages have been written, of how many, and says whether to go on.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

/// The caller did not want to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("interrupted while the drive was being filled")]
pub struct Interrupted;

/// How far the writing has come, and who wants to know.
pub struct Writing<'a> {
    done: u64,
    told: u64,
    total: u64,
    progress: Progress<'a>,
}

impl<'a> Writing<'a> {
    fn new(total: u64, progress: Progress<'a>) -> Self {
        Writing { done: 0, told: 0, total, progress }
    }

    /// So many more pages have been written.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] if the caller wants no more of it.
    #[inline(always)]
    pub fn wrote(&mut self, pages: u64) -> Result<(), Interrupted> {
        self.done += pages;
        if self.done - self.told < TOLD_EVERY { Ok(()) } else { self.tell() }
    }

    fn tell(&mut self) -> Result<(), Interrupted> {
        self.told = self.done;
        if (self.progress)(self.done, self.total) { Ok(()) } else { Err(Interrupted) }
    }
}

/// Fills the drive as its configuration says, and sets what the FTL counts to zero.
pub(crate) fn precondition(
    ftl: &mut impl Ftl,
    config: &DeviceConfig,
    progress: Progress,
) -> Result<(), Interrupted> {
    fill(ftl, config, progress)?;
    ftl.begin();
    Ok(())
}

fn fill(ftl: &mut impl Ftl, config: &DeviceConfig, progress: Progress) -> Result<(), Interrupted> {
    let random = match config.precondition {
        Precondition::None => return Ok(()),
        Precondition::Sequential => 0,
        Precondition::Random => config.precondition_writes,
    };
    let pages = config.logical_pages;
    let mut writing = Writing::new(random.saturating_add(pages.into()), progress);
    writing.tell()?;
    ftl.fill(pages, &mut writing)?;
    let mut source = SplitMix64::new(config.precondition_seed);
    let mut left = random;
    while left > 0 {
        let now = left.min(AT_ONCE);
        let mut numbers = source.clone();
        let lpns = std::iter::repeat_with(move || numbers.below(pages)).take(now as usize);
        ftl.write_ahead(lpns, &mut writing)?;
        source.skip(now);
        left -= now;
    }
    Ok(())
}

/// What SplitMix64 adds to its state for each output.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// The next output, scaled to `0..pages`.
    #[inline(always)]
    pub fn below(&mut self, pages: u32) -> u32 {
        let product = u128::from(self.next()) * u128::from(pages);
        (product >> 64) as u32
    }

    /// Leaves out so many outputs.
    pub fn skip(&mut self, outputs: u64) {
        self.0 = self.0.wrapping_add(STEP.wrapping_mul(outputs));
    }

    /// The next output.
    #[inline(always)]
    #[expect(clippy::should_implement_trait, reason = "it never ends, and is no iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    #[test]
    fn outputs_are_those_of_the_published_generator() {
        let mut random = SplitMix64::new(1234567);
        let outputs: [u64; 3] = std::array::from_fn(|_| random.next());
        assert_eq!(outputs, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    #[test]
    fn skipped_outputs_are_those_that_would_have_come() {
        let mut random = SplitMix64::new(9);
        let mut skipping = random.clone();
        let all: Vec<u64> = (0..10).map(|_| random.next()).collect();
        skipping.skip(7);
        assert_eq!(skipping.next(), all[7]);
    }
}
