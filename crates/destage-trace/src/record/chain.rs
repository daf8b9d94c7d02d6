//! Place of a block in the prompt of a language model (`docs/spec/tiers.md` 7.1).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A block of a chain: its tokens, and whether the chain begins with it.
///
/// ```text
///  15 | 14 ........ 0
///  b  | tokens           b  first block of its request; 0 as a whole: of no chain
/// ```
#[derive(
    Clone, Copy, PartialEq, Eq, Default, Debug, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct ChainMark(u16);

impl ChainMark {
    /// Of no chain.
    pub const NONE: ChainMark = ChainMark(0);

    /// Most tokens of a block.
    pub const MOST_TOKENS: u64 = (1 << 15) - 1;

    /// A block of 1..=[`MOST_TOKENS`](Self::MOST_TOKENS) tokens.
    pub fn new(tokens: u64, begins: bool) -> ChainMark {
        assert!((1..=Self::MOST_TOKENS).contains(&tokens), "a block has 1 to 32767 tokens");
        ChainMark(tokens as u16 | u16::from(begins) << 15)
    }

    /// Stored form.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// From the stored form.
    pub fn from_bits(bits: u16) -> ChainMark {
        ChainMark(bits)
    }

    /// Tokens of the block; 0 if it is of no chain.
    #[inline(always)]
    pub fn tokens(self) -> u64 {
        u64::from(self.0) & Self::MOST_TOKENS
    }

    /// The block is the first of its request.
    #[inline(always)]
    pub fn begins(self) -> bool {
        self.0 >> 15 != 0
    }

    /// The block belongs to the request of the record before.
    pub fn continues(self) -> bool {
        self != ChainMark::NONE && !self.begins()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back_as_made() {
        for (tokens, begins) in [(1, false), (512, true), (ChainMark::MOST_TOKENS, true)] {
            let mark = ChainMark::from_bits(ChainMark::new(tokens, begins).bits());
            assert_eq!((mark.tokens(), mark.begins()), (tokens, begins));
        }
        assert_eq!((ChainMark::NONE.tokens(), ChainMark::NONE.begins()), (0, false));
    }
}
