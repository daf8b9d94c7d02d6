//! LB-CLOCK: evict the fullest of the erase blocks not used lately.
//!
//! Debnath, Subramanya, Du, Lilja. Large Block CLOCK (LB-CLOCK): a write caching algorithm for
//! solid state disks. MASCOTS 2009. The paper's text was not available; the rules are those of a
//! later simulator from the same university (`docs/spec/further-policies.md`, 4).
//!
//! Rules. The buffer holds written pages only, clustered by erase block. The blocks stand in a
//! ring, each hot or cold; a hand points to one of them. A write makes its block hot; a block that
//! has no page in the buffer yet comes in cold, directly before the hand, which will reach it last.
//!
//! ```text
//!  evict    the cold block with the most pages, or with no block cold, of all; among equals the
//!           first one from the hand on. If it was under the hand, the hand goes to the next block
//!  sweep    hot blocks under the hand become cold, one after the other; the hand then stands
//!           behind the first cold one that it met
//! ```
//!
//! Readings.
//! * Ties go to the block that has waited longest; the program takes the smallest number, because
//!   its map is sorted, and does so too with all blocks hot, where it takes block 0 for "none".
//! * The sweep comes after the choice, also if the victim was under the hand (the program).
//! * Hot by writes, as in the other write-only buffers; with `read_recency` by reads that hit, too.
//!   The program makes no difference between them.
//! * The incoming page's own block may be the victim; it then returns as a new, cold block.
//!
//! State. The ring is a list whose oldest block is under the hand. A block is put among the cold
//! ones of its size when it comes in or is cooled, and again when the hand passes it: each time it
//! is directly before the hand, so the cold blocks of a size stand in ring order.
//!
//! Cost. O(1) amortised: all steps of a sweep but the last undo a write. With all blocks hot the
//! choice looks at each; after that all are cold, and it takes as many writes until they are hot
//! again.

use crate::clusters::{Block, Blocks, Chain, Padding, Pair, Share, Sizes, newer_of};
use crate::fab::READ_RECENCY;
use crate::{Info, Setup};
use destage_core::{DeviceView, Directory, Lookup, Page, Part, Plan, Policy, Request, Slot};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "lb-clock",
    title: "Large Block CLOCK",
    source: "Debnath, Subramanya, Du, Lilja. Large Block CLOCK (LB-CLOCK): a write caching \
             algorithm for solid state disks. MASCOTS 2009",
    about: "A write buffer that destages the fullest of the erase blocks not used lately.",
    flash_aware: true,
    clusters: true,
    time: "O(1) amortised",
    params: &[READ_RECENCY],
    ..Info::BLANK
};

/// LB-CLOCK's state of a block.
#[derive(Clone, Copy, Default)]
struct ClusterState {
    links: Pair, // among the cold blocks of its size
    ring: Pair,
    hot: bool,
}

linked! { ClusterState: 1 => links, 2 => ring }

/// The policy.
pub struct LbClock<D> {
    pages: Blocks<D, (), ClusterState>, // every resident page, in its cluster
    ring: Chain<2>, // all blocks; the oldest is under the hand, the newest before it
    cold: Sizes<1>, // the cold blocks; those of a size in ring order
    read_recency: bool,
    frames: u32,
}

impl<D: Directory> LbClock<D> {
    /// An empty cache of `setup.frames` frames and erase blocks of `setup.pages_per_block` pages.
    pub fn new(setup: &Setup, directory: D) -> Self {
        LbClock {
            pages: Blocks::new(setup, directory),
            ring: Chain::default(),
            cold: Sizes::new(setup.pages_per_block),
            read_recency: setup.params.flag(READ_RECENCY.name),
            frames: setup.frames,
        }
    }

    #[inline(always)]
    fn heat(&mut self, block: u32) {
        let entry = &mut self.pages.blocks[block as usize];
        let (was_hot, size) = (std::mem::replace(&mut entry.own.hot, true), entry.len);
        if !was_hot {
            self.cold.unlink(&mut self.pages.blocks, block, size);
        }
    }

    /// The largest block of the ring, among equals the first one from the hand on.
    #[cold]
    fn largest(&self) -> Option<u32> {
        // From the newest on, so that the last of the largest is the first from the hand.
        self.ring.iter(&self.pages.blocks).max_by_key(|&at| self.pages.blocks[at as usize].len)
    }

    #[inline(always)]
    fn sweep(&mut self) {
        let mut met_cold = false;
        while !met_cold && let Some(at) = self.ring.oldest() {
            self.ring.touch(&mut self.pages.blocks, at); // the hand moves on
            let block = &mut self.pages.blocks[at as usize];
            let size = block.len;
            met_cold = !std::mem::replace(&mut block.own.hot, false);
            if met_cold {
                self.cold.unlink(&mut self.pages.blocks, at, size);
            }
            self.cold.push(&mut self.pages.blocks, at, size);
        }
    }
}

impl<D: Directory> Policy for LbClock<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some((slot, frame)) = self.pages.find(r.page) else {
            return if r.op.is_write() { Lookup::Miss(()) } else { Lookup::Bypass };
        };
        if r.op.is_write() || self.read_recency {
            self.heat(self.pages.block_of(frame));
        }
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let block = if let Some((block, size)) = self.cold.victim() {
            self.cold.unlink(&mut self.pages.blocks, block, size);
            block
        } else {
            self.largest().expect("evict is only called on a full buffer")
        };
        self.ring.unlink(&mut self.pages.blocks, block);
        self.sweep();
        self.pages.gather(block, |()| Share::Leaves);
        self.pages.destage(block, Padding::None, plan);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let (slot, frame) = self.pages.admit(r.page, r.lpn, ());
        let block = self.pages.block_of(frame);
        if self.pages.blocks[block as usize].len > 0 {
            self.heat(block);
            self.pages.link(frame);
        } else {
            self.pages.link(frame);
            self.ring.push_newest(&mut self.pages.blocks, block);
            self.cold.push(&mut self.pages.blocks, block, 1);
        }
        slot
    }

    in_blocks! { self.pages: |_: &()| true; frames: self.frames }

    /// The block keeps its place in the ring; if it has no page left, a hand on it moves on.
    fn forget(&mut self, page: Page) -> Option<bool> {
        let (_, frame) = self.pages.find(page)?;
        let block = self.pages.block_of(frame);
        let blocks = &mut self.pages.blocks;
        let (size, hot) = (blocks[block as usize].len, blocks[block as usize].own.hot);
        if !hot {
            self.cold.unlink(blocks, block, size);
        }
        if size == 1 {
            self.ring.unlink(blocks, block);
        } else if !hot {
            let same = |other: &Block<ClusterState>| !other.own.hot && other.len == size - 1;
            let newer = newer_of::<2, _>(blocks, block, same);
            self.cold.shrunk(blocks, block, size - 1, newer);
        }
        self.pages.forget(frame);
        Some(true)
    }

    hints! { self.pages: prefetch, prefetch_held, prefetch_block }

    fn inside(&self) -> Vec<(&'static str, Part)> {
        let mut ring: Vec<u32> = self.ring.iter(&self.pages.blocks).collect();
        ring.reverse();
        let block = |at: u32| {
            let [number, pages] = self.pages.show(at);
            let hot = self.pages.blocks[at as usize].own.hot;
            Part::list([number, pages, Part::Count(hot.into())])
        };
        vec![("ring", Part::list(ring.into_iter().map(block)))]
    }

    fn check(&self) {
        self.pages.check();
        let blocks = &self.pages.blocks;
        let ring: Vec<u32> = self.ring.iter(blocks).collect();
        assert_eq!(self.ring.check(blocks), self.pages.known().count() as u32, "all are in it");
        let cold = ring.iter().filter(|&&at| !blocks[at as usize].own.hot).count();
        assert_eq!(self.cold.check(blocks), cold as u32, "every cold block has its size");
        for (size, chain) in self.cold.iter() {
            let of_size = |at: &&u32| {
                let block = &blocks[**at as usize];
                block.len == size && !block.own.hot
            };
            assert!(chain.iter(blocks).eq(ring.iter().filter(of_size).copied()), "in ring order");
        }
        assert!(self.resident() <= self.frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{drive, setup, victims, writes};
    use destage_core::{Dense, Op, Page};

    fn lb_clock(frames: u32) -> LbClock<Dense> {
        let setup = Setup { pages_per_block: 4, ..setup("lb-clock", frames, &[]) };
        LbClock::new(&setup, Dense::new(64))
    }

    /// Blocks from the hand on, `*`: hot.
    fn ring(p: &LbClock<Dense>) -> String {
        let mut ring: Vec<String> = p
            .ring
            .iter(&p.pages.blocks)
            .map(|at| {
                let block = &p.pages.blocks[at as usize];
                format!("{}{}", p.pages.number(at), if block.own.hot { "*" } else { "" })
            })
            .collect();
        ring.reverse();
        ring.join(" ")
    }

    /// Rows 0 to 10 of the micro-trace (`docs/spec/further-policies.md`, 4).
    #[test]
    fn the_fullest_cold_block_goes_and_the_sweep_cools_those_that_it_passes() {
        let mut p = lb_clock(6);
        drive(&mut p, &writes(&[0, 1, 4, 8, 5, 9]));
        assert_eq!(ring(&p), "0* 1* 2*");
        assert_eq!(victims(&drive(&mut p, &writes(&[12]))), [0, 1], "all are hot");
        assert_eq!(ring(&p), "2 1 3");
        assert_eq!(victims(&drive(&mut p, &writes(&[0, 13]))), [8, 9]);
        assert_eq!(ring(&p), "3* 0 1");
        assert_eq!(victims(&drive(&mut p, &writes(&[8, 16]))), [4, 5]);
        assert_eq!(ring(&p), "2 3 0 4");
    }

    #[test]
    fn the_block_of_the_incoming_page_may_be_the_victim_and_returns_cold() {
        let mut p = lb_clock(2);
        assert_eq!(victims(&drive(&mut p, &writes(&[0, 1, 2]))), [0, 1]);
        assert_eq!(ring(&p), "0");
    }

    #[test]
    fn a_read_that_hits_heats_its_block_only_if_it_is_asked_for() {
        for (read_recency, after) in [(false, "0 1"), (true, "0* 1")] {
            let mut p = lb_clock(4);
            p.read_recency = read_recency;
            drive(&mut p, &[(Op::Write, 0), (Op::Write, 4), (Op::Read, 0), (Op::Read, 40)]);
            assert_eq!(ring(&p), after);
            assert!(p.pages.find(Page(40)).is_none(), "a read that misses is bypassed");
        }
    }
}
