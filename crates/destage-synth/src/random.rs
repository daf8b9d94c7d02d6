//! Uniform numbers and a permutation, from integers alone, so that they are the same everywhere.

use rand::Rng;
use rand_pcg::Pcg64;

/// A number in `0..n`; `n` is at least 1.
///
/// The high half of a product: its bias, at most n / 2^64, is far below what a trace could show.
#[inline]
pub(crate) fn below(random: &mut Pcg64, n: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64
}

/// True with this probability, in steps of 2^-53.
#[inline]
pub(crate) fn chance(random: &mut Pcg64, probability: f64) -> bool {
    unit(random) < probability
}

/// A number in [0, 1), a multiple of 2^-53.
#[inline]
pub(crate) fn unit(random: &mut Pcg64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A permutation of `0..n` without a table: a Feistel network of four rounds over the next even
/// number of bits, applied again while the result is not below `n` (at most four times on average).
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    n: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    pub(crate) fn new(n: u64, random: &mut Pcg64) -> Self {
        let bits = 64 - (n.max(2) - 1).leading_zeros();
        Permutation {
            n,
            half_bits: bits.div_ceil(2),
            keys: std::array::from_fn(|_| random.next_u64()),
        }
    }

    pub(crate) fn apply(&self, mut value: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        loop {
            let (mut left, mut right) = (value >> self.half_bits, value & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (mix(right ^ key) & mask));
            }
            value = left << self.half_bits | right;
            if value < self.n {
                return value;
            }
        }
    }
}

/// The finaliser of MurmurHash3: every bit of the input moves every bit of the output.
fn mix(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ x >> 33
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_permutation_reaches_every_number_once() {
        for n in [1, 2, 3, 5, 64, 100, 1000, 4097] {
            let permutation = Permutation::new(n, &mut Pcg64::seed_from_u64(n));
            let mut images: Vec<u64> = (0..n).map(|x| permutation.apply(x)).collect();
            images.sort_unstable();
            assert!(images.into_iter().eq(0..n), "{n}");
        }
    }

    #[test]
    fn numbers_below_reach_both_ends() {
        let mut random = Pcg64::seed_from_u64(7);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[below(&mut random, 10) as usize] += 1;
        }
        // 10,000 each, standard deviation 95.
        assert!(counts.iter().all(|c| (9_500..10_500).contains(c)), "{counts:?}");
    }
}
