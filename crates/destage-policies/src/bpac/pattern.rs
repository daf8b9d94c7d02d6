//! Write pattern of a block: sequential, looping or random (BPAC section 4.5).
//!
//! ```text
//!            first page again, after a run        out of turn
//!    seq ───────────────────────────────▶ loop ──────────────▶ rand
//!     └────────────── out of turn ─────────────────────────────▶┘
//! ```
//!
//! A block starts again, `seq` with an empty run, when its cluster is destaged.

use crate::clusters::NIL;

/// Write pattern of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WritePattern {
    /// Each page follows the one before.
    Seq,
    /// Repeated passes over the same pages in the same order.
    Loop,
    /// Neither.
    Rand,
}

/// The pattern of a block. Offsets in the block stand for its pages. Three words say all, so that a
/// block fits into one line of the processor's caches:
///
/// ```text
///          first  last   cursor
///   seq    p      q      NIL       or all three NIL: the run is empty
///   loop   p      q      r
///   rand   NIL    0      NIL
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pattern {
    first: u32,
    last: u32,
    cursor: u32,
}

impl Default for Pattern {
    fn default() -> Self {
        Pattern { first: NIL, last: NIL, cursor: NIL }
    }
}

impl Pattern {
    const RAND: Pattern = Pattern { first: NIL, last: 0, cursor: NIL };

    #[inline(always)]
    pub(super) fn kind(&self) -> WritePattern {
        if self.cursor != NIL {
            WritePattern::Loop
        } else if *self == Pattern::RAND {
            WritePattern::Rand
        } else {
            WritePattern::Seq
        }
    }

    /// Pages of the run.
    fn run(&self) -> u32 {
        if self.first == NIL { 0 } else { self.last - self.first + 1 }
    }

    /// The block is sequential.
    #[inline(always)]
    pub(super) fn is_sequential(&self, seq_min_pages: u32) -> bool {
        // Without a run, as in rand, it is 0.
        self.cursor == NIL && self.run() >= seq_min_pages
    }

    /// Last page of the run, if there is one.
    #[inline(always)]
    pub(super) fn last(&self) -> u32 {
        self.last
    }

    /// A page that was not in the buffer is written.
    #[inline(always)]
    pub(super) fn insertion(&mut self, p: u32) {
        // Without a run there is no last page.
        let follows = self.first != NIL && p == self.last + 1;
        match self.kind() {
            WritePattern::Seq if self.first == NIL => (self.first, self.last) = (p, p),
            WritePattern::Seq if follows => self.last = p,
            WritePattern::Loop if follows && self.cursor == self.last => {
                (self.last, self.cursor) = (p, p)
            }
            _ => *self = Pattern::RAND,
        }
    }

    /// A page of the cluster is written again.
    #[inline(always)]
    pub(super) fn hit(&mut self, p: u32, seq_min_pages: u32) {
        match self.kind() {
            WritePattern::Seq if p == self.first && self.run() >= seq_min_pages => self.cursor = p,
            WritePattern::Seq if p == self.last => {}
            WritePattern::Loop if p == self.expected() => self.cursor = p,
            _ => *self = Pattern::RAND,
        }
    }

    fn expected(&self) -> u32 {
        if self.cursor < self.last { self.cursor + 1 } else { self.first }
    }

    /// A hot page comes back to the cluster.
    #[inline(always)]
    pub(super) fn return_of(&mut self, p: u32) {
        let in_run = self.first != NIL && self.first <= p && p <= self.last;
        if !in_run {
            *self = Pattern::RAND;
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self.kind() {
            WritePattern::Seq => "seq",
            WritePattern::Loop => "loop",
            WritePattern::Rand => "rand",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pages: &[u32]) -> Pattern {
        let mut pattern = Pattern::default();
        pages.iter().for_each(|&p| pattern.insertion(p));
        pattern
    }

    #[test]
    fn a_gapless_run_is_sequential_from_the_shortest_length_on() {
        assert!(!written(&[3]).is_sequential(2));
        assert!(written(&[3, 4]).is_sequential(2));
        assert!(!written(&[3, 4]).is_sequential(3));
        assert_eq!(written(&[3, 5]).kind(), WritePattern::Rand);
        assert_eq!(written(&[3, 5, 6]).kind(), WritePattern::Rand, "for good");
    }

    #[test]
    fn the_newest_page_again_breaks_no_run() {
        let mut pattern = written(&[3, 4, 5]);
        pattern.hit(5, 2);
        assert!(pattern.is_sequential(2));
        pattern.insertion(6);
        assert!(pattern.is_sequential(4));
        pattern.hit(4, 2);
        assert_eq!(pattern.kind(), WritePattern::Rand);
    }

    #[test]
    fn a_run_from_its_first_page_again_is_a_loop_as_long_as_it_goes_round() {
        let mut pattern = written(&[3, 4, 5]);
        for p in [3, 4, 5, 3] {
            pattern.hit(p, 2);
            assert_eq!(pattern.kind(), WritePattern::Loop);
        }
        let mut longer = pattern;
        pattern.hit(5, 2);
        assert_eq!(pattern.kind(), WritePattern::Rand, "4 was due");
        longer.insertion(6);
        assert_eq!(longer.kind(), WritePattern::Rand, "a loop grows only at its end");
        let mut grown = written(&[3, 4, 5]);
        [3, 4, 5].into_iter().for_each(|p| grown.hit(p, 2));
        grown.insertion(6);
        assert_eq!((grown.kind(), grown.last()), (WritePattern::Loop, 6));
    }

    #[test]
    fn a_hot_page_returns_to_its_run_or_breaks_it() {
        let mut pattern = written(&[3, 4]);
        pattern.return_of(4);
        assert_eq!(pattern.kind(), WritePattern::Seq);
        pattern.return_of(5);
        assert_eq!(pattern.kind(), WritePattern::Rand);
        let mut empty = Pattern::default();
        empty.return_of(0);
        assert_eq!(empty.kind(), WritePattern::Rand);
    }
}
