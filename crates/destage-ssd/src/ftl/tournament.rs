//! The smallest key of every plane, and whose it is.
//!
//! A complete binary tree of minima over the blocks of each plane. A change goes up only as far as
//! it changes a minimum: some two levels on average for one block among many.

/// Key of a block that does not take part.
pub(super) const OUT: u64 = u64::MAX;

/// One tree per plane, over the blocks of the plane.
#[derive(Clone, Debug)]
pub(super) struct Tournaments {
    width: usize,   // leaves of a tree, a power of two
    keys: Vec<u64>, // per plane 2 * width: [unused, root, .., leaves]
}

impl Tournaments {
    /// `planes` trees of `blocks` blocks; all have the same key.
    pub(super) fn new(planes: u32, blocks: u32, key: u64) -> Self {
        let width = (blocks as usize).next_power_of_two();
        let mut one = vec![OUT; 2 * width];
        one[width..width + blocks as usize].fill(key);
        for at in (1..width).rev() {
            one[at] = one[2 * at].min(one[2 * at + 1]);
        }
        Tournaments { width, keys: one.repeat(planes as usize) }
    }

    #[inline(always)]
    fn tree(&self, plane: u32) -> &[u64] {
        let size = 2 * self.width;
        &self.keys[plane as usize * size..][..size]
    }

    /// The key of a block of the plane.
    #[inline(always)]
    pub(super) fn key(&self, plane: u32, block: u32) -> u64 {
        self.tree(plane)[self.width + block as usize]
    }

    /// Changes a key.
    #[inline(always)]
    pub(super) fn set(&mut self, plane: u32, block: u32, key: u64) {
        let size = 2 * self.width;
        let tree = &mut self.keys[plane as usize * size..][..size];
        let mut at = self.width + block as usize;
        tree[at] = key;
        while at > 1 {
            let least = tree[at].min(tree[at ^ 1]);
            at /= 2;
            if tree[at] == least {
                break;
            }
            tree[at] = least;
        }
    }

    /// The smallest key of the plane and its block, the lowest one if several have it.
    #[inline]
    pub(super) fn least(&self, plane: u32) -> Option<(u64, u32)> {
        let tree = self.tree(plane);
        let least = tree[1];
        if least == OUT {
            return None;
        }
        let mut at = 1;
        while at < self.width {
            at = 2 * at + usize::from(tree[2 * at] != least);
        }
        Some((least, (at - self.width) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_key_wins_and_the_lowest_block_among_equals() {
        for blocks in [1, 2, 5, 8, 13] {
            let mut keys = vec![vec![3; blocks as usize]; 2];
            let mut trees = Tournaments::new(2, blocks, 3);
            let mut random = 12345u64;
            for _ in 0..2000 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let (plane, block) = ((random >> 33) as u32 % 2, (random >> 40) as u32 % blocks);
                let key = match (random >> 50) % 5 {
                    4 => OUT,
                    key => key,
                };
                trees.set(plane, block, key);
                keys[plane as usize][block as usize] = key;
                assert_eq!(trees.key(plane, block), key);
                let all = keys[plane as usize].iter().zip(0..);
                let least = all.map(|(&key, block)| (key, block)).min();
                assert_eq!(trees.least(plane), least.filter(|&(key, _)| key != OUT));
            }
        }
    }
}
