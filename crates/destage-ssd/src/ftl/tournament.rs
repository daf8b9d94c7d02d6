//! The smallest key of every plane, and whose it is.
//!
//! Sixteen blocks a match, sixteen matches a match of the next round. A key that falls changes a
//! minimum or leaves it, without a look at its neighbours: that is what an invalidation does, some
//! dozen times per collection. A key that rises plays its matches again: once per collection.

use crate::geometry::BlockId;
use destage_core::PlaneId;

/// Key of a block that does not take part.
pub(super) const OUT: u64 = u64::MAX;

/// Contestants of a match: two cache lines of keys.
const MATCH: usize = 16;

/// One tournament per plane, over the blocks of the plane.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tournaments {
    blocks: usize,
    keys: Vec<u64>,     // by block, over the whole drive
    minima: Vec<u64>,   // per plane all rounds, one after the other
    rounds: Vec<Round>, // the last one has at most MATCH matches
    matches: usize,     // of all rounds of a plane
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Round {
    first: usize, // of its matches among those of the plane
    matches: usize,
}

impl Tournaments {
    /// `planes` tournaments of `blocks` blocks; all have the same key.
    pub(super) fn new(planes: u32, blocks: u32, key: u64) -> Self {
        let blocks = blocks as usize;
        let mut rounds = Vec::new();
        let (mut matches, mut contestants) = (0, blocks);
        while contestants > MATCH {
            contestants = contestants.div_ceil(MATCH);
            rounds.push(Round { first: matches, matches: contestants });
            matches += contestants;
        }
        Tournaments {
            blocks,
            keys: vec![key; planes as usize * blocks],
            minima: vec![key; planes as usize * matches],
            rounds,
            matches,
        }
    }

    /// The key of a block.
    #[inline(always)]
    pub(super) fn key(&self, block: BlockId) -> u64 {
        self.keys[block.index()]
    }

    /// All keys, by block.
    pub(super) fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// The keys of a plane, by block.
    pub(super) fn keys_of(&self, plane: PlaneId) -> &[u64] {
        &self.keys[plane.index() * self.blocks..][..self.blocks]
    }

    /// Lowers the key of a block of a plane.
    #[inline(always)]
    pub(super) fn lower(&mut self, plane: PlaneId, local: u32, key: u64) {
        let known = &mut self.keys[plane.index() * self.blocks + local as usize];
        debug_assert!(key <= *known, "a key is lowered");
        *known = key;
        let minima = &mut self.minima[plane.index() * self.matches..][..self.matches];
        let mut at = local as usize;
        for round in &self.rounds {
            at /= MATCH;
            let least = &mut minima[round.first + at];
            if *least <= key {
                return;
            }
            *least = key;
        }
    }

    /// Takes a block of a plane out.
    pub(super) fn remove(&mut self, plane: PlaneId, local: u32) {
        let keys = &mut self.keys[plane.index() * self.blocks..][..self.blocks];
        keys[local as usize] = OUT;
        let minima = &mut self.minima[plane.index() * self.matches..][..self.matches];
        let mut at = local as usize / MATCH;
        let mut contestants = &keys[..];
        let mut rest = minima;
        for round in &self.rounds {
            let (these, next) = rest.split_at_mut(round.matches);
            let match_ = &contestants[at * MATCH..];
            let least = match_.iter().take(MATCH).fold(OUT, |least, &key| least.min(key));
            if these[at] == least {
                return;
            }
            these[at] = least;
            at /= MATCH;
            (contestants, rest) = (these, next);
        }
    }

    /// Sets all keys, by block.
    pub(super) fn set_all(&mut self, keys: impl Iterator<Item = u64>) {
        for (known, key) in self.keys.iter_mut().zip(keys) {
            *known = key;
        }
        if self.matches == 0 {
            return;
        }
        let planes = self.keys.chunks(self.blocks).zip(self.minima.chunks_mut(self.matches));
        for (keys, minima) in planes {
            let mut contestants = keys;
            let mut rest = minima;
            for round in &self.rounds {
                let (these, next) = rest.split_at_mut(round.matches);
                for (least, match_) in these.iter_mut().zip(contestants.chunks(MATCH)) {
                    *least = match_.iter().fold(OUT, |least, &key| least.min(key));
                }
                (contestants, rest) = (these, next);
            }
        }
    }

    /// The smallest key of the plane, whosever it is.
    #[inline]
    pub(super) fn least_key(&self, plane: PlaneId) -> Option<u64> {
        let last = match self.rounds.last() {
            None => &self.keys[plane.index() * self.blocks..][..self.blocks],
            Some(last) => &self.minima[plane.index() * self.matches + last.first..][..last.matches],
        };
        let least = last.iter().fold(OUT, |least, &key| least.min(key));
        (least != OUT).then_some(least)
    }

    /// The smallest key of the plane and its block in the plane, the lowest one if several have it.
    #[inline]
    pub(super) fn least(&self, plane: PlaneId) -> Option<(u64, u32)> {
        let keys = &self.keys[plane.index() * self.blocks..][..self.blocks];
        let minima = &self.minima[plane.index() * self.matches..][..self.matches];
        let mut at = 0;
        for round in self.rounds.iter().rev() {
            let first = at * MATCH;
            let match_ = &minima[round.first..][first..round.matches.min(first + MATCH)];
            at = first + first_least(match_);
        }
        let first = at * MATCH;
        let block = first + first_least(&keys[first..self.blocks.min(first + MATCH)]);
        let least = keys[block];
        (least != OUT).then_some((least, block as u32))
    }
}

/// Index of the smallest key, the lowest one if several have it. From behind, and without a branch
/// that depends on the keys: nothing predicts it.
#[inline(always)]
fn first_least(keys: &[u64]) -> usize {
    let (mut least, mut at) = (OUT, 0);
    for (i, &key) in keys.iter().enumerate().rev() {
        at = if key <= least { i } else { at };
        least = least.min(key);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_key_wins_and_the_lowest_block_among_equals() {
        for blocks in [1, 2, 16, 17, 40, 256, 257, 5000] {
            let mut keys = vec![vec![3; blocks as usize]; 2];
            let mut trees = Tournaments::new(2, blocks, 3);
            let mut random = 12345u64;
            for step in 0..3000 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let plane = PlaneId((random >> 33) as u32 % 2);
                let block = (random >> 40) as u32 % blocks;
                let known = &mut keys[plane.index()][block as usize];
                if *known == OUT || *known > 0 && random >> 60 < 8 {
                    *known = if *known == OUT { (random >> 50) % 5 } else { *known - 1 };
                    trees.lower(plane, block, *known);
                } else {
                    *known = OUT;
                    trees.remove(plane, block);
                }
                if step % 500 == 0 {
                    let mut fresh = Tournaments::new(2, blocks, OUT);
                    fresh.set_all(keys.iter().flatten().copied());
                    assert_eq!(fresh.minima, trees.minima);
                    trees = fresh;
                }
                let whole = BlockId(plane.0 * blocks + block);
                assert_eq!(trees.key(whole), keys[plane.index()][block as usize]);
                let all = keys[plane.index()].iter().zip(0..);
                let least = all.map(|(&key, block)| (key, block)).min();
                assert_eq!(trees.least(plane), least.filter(|&(key, _)| key != OUT));
                assert_eq!(trees.least_key(plane), trees.least(plane).map(|(key, _)| key));
            }
        }
    }
}
