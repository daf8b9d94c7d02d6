//! Collections that go on in steps (`docs/spec/gc-steps.md` 3): which are open, and how many pages
//! the next step moves.

use crate::config::{DeviceConfig, StepPages};
use crate::placement::Victim;
use destage_core::PlaneId;

/// Planes whose victim is on its way.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Steps {
    pages: StepPages,
    floor: u32, // free pages with which every collection can be finished
    open: Vec<Option<OpenCollection>>, // by plane
}

/// A collection that has begun.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct OpenCollection {
    pub(super) local: u32, // the victim, a block of the plane
    pub(super) victim: Victim,
    pub(super) step: u32, // most moves at once
}

impl Steps {
    /// None of a device that collects whole blocks.
    pub(super) fn new(config: &DeviceConfig) -> Option<Steps> {
        let pages = config.steps.gc_step_pages;
        (pages != StepPages::WholeBlocks).then(|| Steps {
            pages,
            floor: config.write_points() * config.data_pages(),
            open: vec![None; config.planes() as usize],
        })
    }

    /// The collection of a plane that has begun.
    #[inline]
    pub(super) fn of(&self, plane: PlaneId) -> Option<OpenCollection> {
        self.open[plane.index()]
    }

    /// Most moves at once of a victim with so many valid pages.
    pub(super) fn step_of(&self, valid: u32, data_pages: u32) -> u32 {
        match self.pages {
            StepPages::WholeBlocks => u32::MAX,
            StepPages::Pages(pages) => pages,
            StepPages::Auto => valid.div_ceil(data_pages - valid).max(1),
        }
    }

    /// Most pages that a step of a fold moves. The block that is being filled meanwhile has as many
    /// as the one that is folded, so that `auto` needs one for each.
    pub(super) fn fold_step(&self) -> u32 {
        match self.pages {
            StepPages::WholeBlocks => u32::MAX,
            StepPages::Pages(pages) => pages,
            StepPages::Auto => 1,
        }
    }

    /// Moves of the next step, with so many valid pages left: all of them at the floor.
    pub(super) fn moves(&self, free_pages: u32, step: u32, left: u32) -> u32 {
        let moves = step.min(left);
        let after = u64::from(free_pages).checked_sub(u64::from(moves) + 1);
        if after.is_some_and(|after| after >= self.floor.into()) { moves } else { left }
    }

    /// The collection of a plane goes on, or has ended.
    pub(super) fn keep(&mut self, plane: PlaneId, open: Option<OpenCollection>) {
        self.open[plane.index()] = open;
    }
}
