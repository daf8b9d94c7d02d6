//! What the drive holds before time 0 (`docs/spec/device.md` 5.6).

use crate::config::{DeviceConfig, Precondition};
use crate::filling::{Interrupted, Progress, Writing};
use crate::ftl::Ftl;

/// Random writes that an FTL gets at once: enough that each of some hundred planes has a few
/// thousand, and 16 MiB of page numbers.
const AT_ONCE: u64 = 1 << 22;

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
