//! What the drive holds before time 0 (`spec/device.md` 5.6).

use crate::config::{DeviceConfig, Precondition};
use crate::ftl::{Ftl, Sink};
use crate::timing::Operation;
use destage_core::Nanos;

/// Takes operations in no time: every backlog is 0 and nothing is counted.
struct Instantly;

impl Sink for Instantly {
    type Served = ();
    #[inline(always)]
    fn submit(&mut self, _: Operation) {}
    #[inline(always)]
    fn backlog_ns(&self, _: u32) -> Nanos {
        0
    }
    #[inline(always)]
    fn collection(&mut self) {}
}

/// Fills the drive as its configuration says.
pub(crate) fn precondition(ftl: &mut impl Ftl, config: &DeviceConfig) {
    if config.precondition == Precondition::None {
        return;
    }
    for lpn in 0..config.logical_pages {
        ftl.write(lpn, &mut Instantly);
    }
    if config.precondition == Precondition::Random {
        let mut random = SplitMix64::new(config.precondition_seed);
        for _ in 0..config.precondition_writes {
            let product = u128::from(random.next()) * u128::from(config.logical_pages);
            ftl.write((product >> 64) as u32, &mut Instantly);
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// The next output.
    #[expect(clippy::should_implement_trait, reason = "it never ends, and is no iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
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
}
