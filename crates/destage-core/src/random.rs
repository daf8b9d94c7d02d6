//! The one generator of random numbers: small, seeded, the same on every machine.

/// Increment of SplitMix64's state for each output.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator from a seed.
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// The next output, scaled to `0..n`: `floor(next * n / 2^64)`.
    #[inline(always)]
    pub fn below(&mut self, n: u32) -> u32 {
        let product = u128::from(self.next()) * u128::from(n);
        (product >> 64) as u32
    }

    /// The next output as a real number in [0, 1), a multiple of 2^-53.
    #[inline(always)]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
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

    /// `docs/spec/further-policies.md`, 2.4.
    #[test]
    fn integers_and_reals_are_scaled_outputs() {
        let mut random = SplitMix64::new(7);
        let drawn: [u32; 9] = std::array::from_fn(|_| random.below(3));
        assert_eq!(drawn, [1, 0, 2, 1, 1, 0, 1, 0, 0]);
        let mut random = SplitMix64::new(1);
        assert_eq!(random.unit(), (10451216379200822465_u64 >> 11) as f64 / 2_f64.powi(53));
    }
}
