//! Times of computing blocks of prompts (`docs/spec/tiers.md` 7.5).
//!
//! A token at depth d, that is with d tokens before it, takes `token_ns` x (1 + d / D): attention
//! reads all tokens before. At depth D it takes twice as long as at the head.

use super::chains::Chains;
use std::sync::Arc;

/// Longest time of a block, nanoseconds: 18 minutes.
pub const MOST_NS: u64 = 1 << 40;

/// Time of computing a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenTime {
    /// Of the first token of a prompt, nanoseconds.
    pub token_ns: u64,
    /// Depth at which a token takes twice the time, tokens; `None`: depth costs nothing.
    pub double_tokens: Option<u64>,
}

impl TokenTime {
    /// A token is a nanosecond, at any depth: for costs of which only the ratio matters.
    pub const UNIT: TokenTime = TokenTime { token_ns: 1, double_tokens: None };

    /// Time of a block of so many tokens with `depth` before it, nanoseconds: rounded down, 1 to
    /// [`MOST_NS`].
    pub fn of_block(&self, tokens: u64, depth: u64) -> u64 {
        let (n, d) = (u128::from(tokens), u128::from(depth));
        let before = n * d + n * n.saturating_sub(1) / 2; // of all its tokens together
        let token_ns = u128::from(self.token_ns);
        let ns = match self.double_tokens.map(u128::from) {
            None => token_ns * n,
            Some(double) => token_ns * (n * double + before) / double,
        };
        ns.clamp(1, MOST_NS.into()) as u64
    }

    /// Times of all blocks, by dense id, each where it first occurs.
    pub fn of_blocks(&self, chains: &Chains<'_>, pages: usize) -> Arc<[u64]> {
        let mut times = vec![0; pages];
        let mut depth = 0;
        for (row, (&id, mark)) in chains.ids.iter().zip(chains.marks).enumerate() {
            if row == 0 || mark.begins() {
                depth = 0;
            }
            let time = &mut times[id as usize];
            if *time == 0 {
                *time = self.of_block(mark.tokens(), depth);
            }
            depth += mark.tokens();
        }
        times.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_trace::ChainMark;

    #[test]
    fn a_block_takes_the_time_of_its_tokens_at_their_depths() {
        let time = TokenTime { token_ns: 10, double_tokens: Some(100) };
        // Depths 50, 51, 52: 10 x (1.50 + 1.51 + 1.52).
        assert_eq!(time.of_block(3, 50), 45);
        assert_eq!(time.of_block(1, 100), 20, "twice the time of the head");
        assert_eq!(TokenTime { double_tokens: None, ..time }.of_block(3, 50), 30);
        assert_eq!(
            TokenTime { token_ns: 1, double_tokens: Some(1) }.of_block(1, u64::MAX),
            MOST_NS
        );
    }

    #[test]
    fn a_block_has_the_depth_of_its_first_occurrence() {
        let ids = [0, 1, 2, 1];
        let marks = [(16, true), (8, false), (16, true), (8, false)];
        let marks = marks.map(|(tokens, begins)| ChainMark::new(tokens, begins));
        let chains = Chains { ids: &ids, marks: &marks, compute_ns: None };
        let time = TokenTime { token_ns: 10, double_tokens: Some(16) };
        let of = |tokens, depth| time.of_block(tokens, depth);
        let times = time.of_blocks(&chains, 4);
        assert_eq!(times[..], [of(16, 0), of(8, 16), of(16, 0), 0]);
    }
}
