//! How near in time the references to a block are, block by block and epoch by epoch.

use serde::{Deserialize, Serialize};

use super::options::ProfileOptions;

/// BPAC's figure 2.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Heat {
    /// Epochs of equally many references.
    pub epochs: u32,
    /// First and last block number of each row. Blocks without a reference have no place; all
    /// others share the rows evenly, in ascending order.
    pub rows: Vec<(u64, u64)>,
    /// By epoch, then row; cells without a reference are left out.
    pub cells: Vec<HeatCell>,
}

/// References to the blocks of one row in one epoch.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct HeatCell {
    /// Counted from 0.
    pub epoch: u32,
    /// Counted from 0.
    pub row: u32,
    /// References.
    pub references: u64,
    /// Mean distance from the reference before to the same block, references between the two;
    /// `None` if all were first references to their block.
    pub mean_distance: Option<f64>,
}

#[derive(Clone, Copy, Default)]
struct Cell {
    references: u64,
    distances: u64,
    sum: u128,
}

/// Collects a [`Heat`].
pub struct HeatMap {
    epochs: u32,
    references: u64,
    rows: Vec<(u64, u64)>,
    /// Row of each block, by its rank; none of one without a reference.
    row_of: Vec<u32>,
    cells: Vec<Cell>,
}

impl HeatMap {
    /// Over so many references to those of these blocks, ascending, that are `referenced`.
    pub fn new(
        blocks: &[u64],
        referenced: &[bool],
        references: u64,
        options: &ProfileOptions,
    ) -> Self {
        let all = referenced.iter().filter(|referenced| **referenced).count();
        let count = (options.rows as usize).min(all);
        let mut rows: Vec<(u64, u64)> = Vec::with_capacity(count);
        let mut row_of = Vec::with_capacity(blocks.len());
        let mut rank = 0;
        for (&block, &referenced) in blocks.iter().zip(referenced) {
            if !referenced {
                row_of.push(u32::MAX);
                continue;
            }
            let row = rank * count / all;
            rank += 1;
            row_of.push(row as u32);
            match rows.get_mut(row) {
                Some(place) => place.1 = block,
                None => rows.push((block, block)),
            }
        }
        let cells = vec![Cell::default(); rows.len() * options.epochs as usize];
        HeatMap { epochs: options.epochs, references, rows, row_of, cells }
    }

    /// Reference number `at`, counted from 0, to the block of this rank.
    #[inline]
    pub fn add(&mut self, at: u64, rank: u32, distance: Option<u64>) {
        let epoch = u128::from(at) * u128::from(self.epochs) / u128::from(self.references);
        let row = self.row_of[rank as usize] as usize;
        let cell = &mut self.cells[epoch as usize * self.rows.len() + row];
        cell.references += 1;
        if let Some(distance) = distance {
            cell.distances += 1;
            cell.sum += u128::from(distance);
        }
    }

    /// The heat map of all references added.
    pub fn finish(self) -> Heat {
        let rows = self.rows.len();
        let used = self.cells.iter().enumerate().filter(|(_, cell)| cell.references > 0);
        let cells = used.map(|(k, cell)| HeatCell {
            epoch: (k / rows) as u32,
            row: (k % rows) as u32,
            references: cell.references,
            mean_distance: (cell.distances > 0).then(|| cell.sum as f64 / cell.distances as f64),
        });
        Heat { epochs: self.epochs, cells: cells.collect(), rows: self.rows }
    }
}
