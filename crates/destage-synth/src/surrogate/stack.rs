//! A stack of extents, the latest on top, in levels of doubling size.
//!
//! Inside a level what came first leaves first, but for what was taken from the middle: an extent
//! is at the depth where it belongs to within its level. So a look at a depth and a move to the top
//! take as many steps as there are levels above, not as there are extents.

/// Extents that count as the latest few, and the size of the stack's uppermost level.
pub(super) const NEAR: usize = 16;

#[derive(Default)]
pub(super) struct Stack {
    /// Level by level; level k has `NEAR << k` cells from `first(k)` on.
    cells: Vec<u32>,
    /// Cell at which each full level takes in the next.
    next: Vec<usize>,
    /// The cell of each extent.
    at: Vec<usize>,
}

/// First cell of a level.
fn first(level: usize) -> usize {
    NEAR * ((1 << level) - 1)
}

fn level_of(cell: usize) -> usize {
    (cell / NEAR + 1).ilog2() as usize
}

impl Stack {
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Puts the next extent on top, which is not there yet.
    pub(super) fn push(&mut self) {
        let mut carried = self.at.len() as u32;
        self.at.push(0);
        for level in 0..self.next.len() {
            carried = self.take_in(level, carried);
        }
        self.at[carried as usize] = self.cells.len();
        self.cells.push(carried);
        if self.cells.len() == first(self.next.len() + 1) {
            self.next.push(first(self.next.len()));
        }
    }

    /// A full level takes in an extent and gives up another one.
    fn take_in(&mut self, level: usize, extent: u32) -> u32 {
        let cell = self.next[level];
        self.at[extent as usize] = cell;
        let behind = first(level + 1);
        self.next[level] = if cell + 1 < behind { cell + 1 } else { first(level) };
        std::mem::replace(&mut self.cells[cell], extent)
    }

    /// The extent at a depth, from 0 on, below `len`.
    pub(super) fn extent(&self, depth: usize) -> u32 {
        let level = level_of(depth);
        let first = first(level);
        if level >= self.next.len() {
            // The lowest level has not been full: what came last is at its end.
            return self.cells[self.cells.len() - 1 - (depth - first)];
        }
        // `next - 1` is the youngest of the level, and so on backwards and round.
        let size = NEAR << level;
        self.cells[first + (self.next[level] + 2 * size - 1 - depth) % size]
    }

    /// Puts an extent on top that is in the stack; one of the uppermost level stays.
    pub(super) fn take(&mut self, extent: u32) {
        let hole = self.at[extent as usize];
        let mut carried = extent;
        for level in 0..level_of(hole) {
            carried = self.take_in(level, carried);
        }
        self.cells[hole] = carried;
        self.at[carried as usize] = hole;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_extent_is_there_once_and_what_is_taken_comes_to_the_top() {
        let mut stack = Stack::default();
        (0..200).for_each(|_| stack.push());
        assert_eq!(stack.extent(0), 199);
        // 16, 32 and 64 in the levels above: what is deepest came first.
        let mut deepest: Vec<u32> = (112..200).map(|depth| stack.extent(depth)).collect();
        deepest.sort_unstable();
        assert!(deepest.into_iter().eq(0..88));
        for step in 0..2_000 {
            let wanted = stack.extent(step * 37 % 200);
            stack.take(wanted);
            assert!((0..NEAR).any(|depth| stack.extent(depth) == wanted));
        }
        let mut held = stack.cells.clone();
        held.sort_unstable();
        assert!(held.into_iter().eq(0..200));
        assert!(stack.at.iter().enumerate().all(|(k, cell)| stack.cells[*cell] == k as u32));
    }

    #[test]
    fn depths_of_full_levels_are_each_another_extent() {
        let mut stack = Stack::default();
        (0..1000).for_each(|_| stack.push());
        let mut seen: Vec<u32> = (0..1000).map(|depth| stack.extent(depth)).collect();
        assert!(seen[..16].iter().copied().eq((984..1000).rev()));
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..1000));
    }
}
