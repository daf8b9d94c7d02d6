//! Division by a number that is known beforehand.
//!
//! Every page access divides by the pages of a block and by the planes, and neither need be a power
//! of two. A multiplication takes a third of the time of a division.

/// A divisor, `1..2^32`, of 32-bit numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Divisor {
    by: u32,
    reciprocal: u64, // floor((2^64 - 1) / by)
}

impl Divisor {
    /// `by` is not 0.
    pub(crate) fn new(by: u32) -> Self {
        Divisor { by, reciprocal: u64::MAX / u64::from(by) }
    }

    /// n / by. Exact: (n + 1) * reciprocal / 2^64 is less than (n + 1) / by, by at most
    /// (n + 1) / 2^64 <= 2^-32 < 1 / by.
    #[inline(always)]
    pub(crate) fn quotient(self, n: u32) -> u32 {
        let product = (u128::from(n) + 1) * u128::from(self.reciprocal);
        (product >> 64) as u32
    }

    /// (n / by, n % by).
    #[inline(always)]
    pub(crate) fn split(self, n: u32) -> (u32, u32) {
        let quotient = self.quotient(n);
        (quotient, n - quotient * self.by)
    }
}

#[cfg(test)]
mod tests {
    use super::Divisor;

    #[test]
    fn quotient_and_remainder_are_exact_at_every_edge() {
        let edges = [1, 2, 3, 5, 63, 64, 65, 641, 0xFFFF, 0x1_0000, 6_700_417, 1 << 31];
        let large = [u32::MAX - 1, u32::MAX, (1 << 31) - 1, (1 << 31) + 1, 4_294_967_291];
        for by in edges.into_iter().chain(large) {
            let divisor = Divisor::new(by);
            let multiples = (0..40).map(|k| by.wrapping_mul(k * 104_729));
            for n in multiples.chain([0, u32::MAX]).chain(edges).chain(large) {
                for n in [n.wrapping_sub(1), n, n.wrapping_add(1)] {
                    assert_eq!(divisor.split(n), (n / by, n % by), "{n} / {by}");
                }
            }
        }
    }
}
