//! Blocks of a trace, groups and their padding, and places that serve again.

use super::*;
use crate::Setup;
use destage_core::{Dense, Lpn, Page, Plan};

#[test]
fn the_blocks_of_a_trace_are_those_it_has_a_page_in() {
    for (pages_per_block, big) in [(4, 1 << 40), (5, 5 << 40)] {
        let blocks = EraseBlocks::new([1, 2, 9, big, big + 3], pages_per_block);
        let (b, last) = (u64::from(pages_per_block), big / u64::from(pages_per_block));
        assert_eq!(blocks.numbers, [0, 9 / b, last]);
        let offset = (9 % b) as u32;
        assert_eq!(blocks.of_page, [(0, 1), (0, 2), (1, offset), (2, 0), (2, 3)]);
        assert_eq!((blocks.ids(0), blocks.ids(1), blocks.ids(2)), (0..2, 2..3, 3..5));
    }
}

/// Pages 0 to 7 of a block of 8, admitted in this order.
fn cluster(order: [u64; 8]) -> Blocks<Dense, bool, ()> {
    let setup = Setup { pages_per_block: 8, ..Setup::new(8) };
    let mut pages: Blocks<Dense, bool, ()> = Blocks::new(&setup, Dense::new(16));
    for page in order {
        let (_, frame) = pages.admit(Page(page), Lpn(page), page % 3 == 0);
        pages.link(frame);
    }
    pages
}

#[test]
fn a_group_ascends_and_what_stays_is_padding_that_the_buffer_has() {
    for order in [[0, 1, 2, 3, 4, 5, 6, 7], [5, 1, 7, 0, 2, 6, 4, 3]] {
        let mut pages = cluster(order);
        let mut plan = Plan::new();
        let share = |stays: &bool| if *stays { Share::Stays } else { Share::Leaves };
        pages.gather(0, share);
        let forgotten = pages.destage(0, Padding::WholeBlock, &mut plan);
        assert!(!forgotten);
        pages.check();
        let (group, pads) = plan.groups().next().expect("a group");
        assert_eq!(group, [1, 2, 4, 5, 7].map(Page));
        assert!(pads.iter().all(|pad| pad.in_buffer));
        assert_eq!(pads.iter().map(|pad| pad.lpn.0).collect::<Vec<_>>(), [0, 3, 6]);
        assert_eq!((pages.resident(), pages.blocks[0].len), (3, 3));
        plan.clear();
        pages.gather(0, |_| Share::Leaves);
        assert!(pages.destage(0, Padding::None, &mut plan));
        pages.check();
        assert_eq!(plan.flushed(), [0, 3, 6].map(Page));
    }
}

#[test]
fn a_block_that_was_forgotten_gives_its_place_to_another() {
    let mut pages = cluster([0, 1, 2, 3, 4, 5, 6, 7]);
    let mut plan = Plan::new();
    pages.gather(0, |_| Share::Leaves);
    pages.destage(0, Padding::None, &mut plan);
    let (_, frame) = pages.admit(Page(9), Lpn(9), false);
    pages.link(frame);
    pages.check();
    assert_eq!((pages.block_of(frame), pages.number(0)), (0, 1));
}
