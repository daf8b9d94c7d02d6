//! Damage at random: what the stable driver does to samples.

/// Numbers at which programs go wrong, as they are written.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "1e-400",
    "nan",
    "inf",
    "-0.0",
    "0x",
    "\"\"",
    "[]",
    "{}",
    "null",
];

/// Draws inputs: always the same ones for the same seed.
pub struct Mutator {
    state: u64,
    most_bytes: usize,
}

impl Mutator {
    /// Draws by `seed`, inputs of at most `most_bytes`.
    pub fn new(seed: u64, most_bytes: usize) -> Self {
        Mutator { state: seed ^ 0x5851_f42d_4c95_7f2d, most_bytes }
    }

    /// The next number (SplitMix64).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if there is none.
    fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }

    /// An input: one of `samples`, damaged; bytes without a sense where there are none, and now and
    /// then where there are.
    pub fn input(&mut self, samples: &[Vec<u8>]) -> Vec<u8> {
        if samples.is_empty() || self.below(50) == 0 {
            let length = 1 + self.below(256);
            return (0..length).map(|_| self.next() as u8).collect();
        }
        let mut bytes = samples[self.below(samples.len())].clone();
        for _ in 0..1 + self.below(6) {
            self.damage(&mut bytes, samples);
        }
        bytes.truncate(self.most_bytes);
        bytes
    }

    fn damage(&mut self, bytes: &mut Vec<u8>, samples: &[Vec<u8>]) {
        let at = self.below(bytes.len() + 1);
        let end = (at + 1 + self.below(16)).min(bytes.len());
        match self.below(10) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.next() as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            5 => {
                let number = NUMBERS[self.below(NUMBERS.len())];
                bytes.splice(at..at, number.bytes());
            }
            6 => self.renumber(bytes, at),
            7 => {
                let other = &samples[self.below(samples.len())];
                let from = self.below(other.len() + 1);
                let to = (from + 1 + self.below(64)).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            8 => {
                let other = &samples[self.below(samples.len())];
                bytes.truncate(at);
                bytes.extend_from_slice(&other[self.below(other.len() + 1)..]);
            }
            _ => {
                for byte in &mut bytes[at..end] {
                    *byte = if *byte == 0 { 0xff } else { 0 };
                }
            }
        }
    }

    /// Puts another number in the place of the digits at or after `at`.
    fn renumber(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let Some(first) = bytes[at..].iter().position(u8::is_ascii_digit).map(|i| at + i) else {
            return;
        };
        let digits = bytes[first..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = NUMBERS[self.below(NUMBERS.len())];
        bytes.splice(first..first + digits, number.bytes());
    }
}
