//! FAB: evict the erase block that has the most pages in the buffer.
//!
//! Jo, Kang, Park, Kim, Lee. FAB: flash-aware buffer management policy for portable media players.
//! IEEE Trans. Consumer Electronics 52(2), 2006. Described in BPAC section 2.3 and AALRU section
//! II-C; `docs/spec/block-policies.md` 2.
//!
//! Rules. The buffer holds written pages only, clustered by erase block. A write makes its block
//! the most recent. Victim: the largest cluster, which frees the most frames and comes nearest to a
//! whole block; among equals the least recently used. It is destaged as one group.
//!
//! ```text
//!   size 3   #2{8 9 10} ──▶ out first
//!   size 2   newest #5{20 21} ◀─▶ #0{0 1} oldest
//!   size 1   newest #7{28} ◀─▶ #3{12} oldest
//! ```
//!
//! Readings. As published, FAB caches reads as well; here it is a write buffer, as in the
//! evaluations of BPAC and AALRU: a read that finds its page changes nothing, and `read_recency`
//! makes it count as a use of the block. Nothing protects the block that the incoming page belongs
//! to: it can be cut off in mid-stream, the early eviction that BPAC section 3.1 holds against FAB.
//!
//! Cost. O(1): a list for each size. Whatever changes a cluster's size makes it the most recent, so
//! it joins the new end of its next list, and each list stays in the order of use.

use crate::clusters::{Blocks, Linked, Padding, Pair, Share, Sizes};
use crate::params::{IfAbsent, Kind, Param};
use crate::{Info, Setup};
use destage_core::{DeviceView, Directory, Lookup, Page, Part, Plan, Policy, Request, Slot};

/// Effect of read hits on recency, a parameter of three policies.
pub(crate) const READ_RECENCY: Param = Param {
    name: "read_recency",
    kind: Kind::Bool,
    default: IfAbsent::Bool(false),
    about: "A read that finds its page makes its block the most recent, as a write does. Default: \
            reads change nothing in a write buffer.",
    ..Param::BLANK
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "fab",
    title: "Flash-Aware Buffer",
    source: "Jo, Kang, Park, Kim, Lee. FAB: flash-aware buffer management policy for portable \
             media players. IEEE Trans. Consumer Electronics 52(2), 2006",
    about: "A write buffer that destages the erase block with the most pages.",
    flash_aware: true,
    clusters: true,
    time: "O(1)",
    params: &[READ_RECENCY],
    ..Info::BLANK
};

/// FAB's state of a block.
#[derive(Clone, Copy, Default)]
struct ClusterState {
    links: Pair, // among the clusters of its size
    used: u64,   // number of its last use
}

linked! { ClusterState: 1 => links }

/// The policy.
pub struct Fab<D> {
    pages: Blocks<D, (), ClusterState>, // every resident page, in its cluster
    sizes: Sizes<1>,                    // the clusters
    uses: u64,
    read_recency: bool,
    frames: u32,
}

impl<D: Directory> Fab<D> {
    /// An empty cache of `setup.frames` frames and erase blocks of `setup.pages_per_block` pages.
    pub fn new(setup: &Setup, directory: D) -> Self {
        Fab {
            pages: Blocks::new(setup, directory),
            sizes: Sizes::new(setup.pages_per_block),
            uses: 0,
            read_recency: setup.params.flag(READ_RECENCY.name),
            frames: setup.frames,
        }
    }

    /// The block is the most recent.
    #[inline(always)]
    fn used(&mut self, block: u32) {
        self.uses += 1;
        self.pages.blocks[block as usize].own.used = self.uses;
        let size = self.pages.blocks[block as usize].len;
        self.sizes.push(&mut self.pages.blocks, block, size);
    }
}

impl<D: Directory> Policy for Fab<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some((slot, frame)) = self.pages.find(r.page) else {
            return if r.op.is_write() { Lookup::Miss(()) } else { Lookup::Bypass };
        };
        if r.op.is_write() || self.read_recency {
            let block = self.pages.block_of(frame);
            let size = self.pages.blocks[block as usize].len;
            self.sizes.unlink(&mut self.pages.blocks, block, size);
            self.used(block);
        }
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let (block, size) = self.sizes.victim().expect("evict is only called on a full buffer");
        self.sizes.unlink(&mut self.pages.blocks, block, size);
        self.pages.gather(block, |()| Share::Leaves);
        self.pages.destage(block, Padding::None, plan);
        if let Some((next, _)) = self.sizes.victim() {
            let newer = Linked::<1>::pair(&self.pages.blocks[next as usize]).newer;
            self.pages.prefetch_victims(next, newer);
        }
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let (slot, frame) = self.pages.admit(r.page, r.lpn, ());
        let block = self.pages.block_of(frame);
        let size = self.pages.blocks[block as usize].len;
        if size > 0 {
            self.sizes.unlink(&mut self.pages.blocks, block, size);
        }
        self.pages.link(frame);
        self.used(block);
        slot
    }

    in_blocks! { self.pages: |_: &()| true; frames: self.frames }

    /// The cluster keeps its recency: among those of its new size it stands where that says.
    fn forget(&mut self, page: Page) -> Option<bool> {
        let (_, frame) = self.pages.find(page)?;
        let block = self.pages.block_of(frame);
        let (size, used) = {
            let block = &self.pages.blocks[block as usize];
            (block.len, block.own.used)
        };
        self.sizes.unlink(&mut self.pages.blocks, block, size);
        self.pages.forget(frame);
        if size > 1 {
            let blocks = &mut self.pages.blocks;
            let newer = |&at: &u32| blocks[at as usize].own.used > used;
            let newer = self.sizes.of_size(blocks, size - 1).take_while(newer).last();
            self.sizes.shrunk(blocks, block, size - 1, newer);
        }
        Some(true)
    }

    hints! { self.pages: prefetch, prefetch_held, prefetch_block }

    fn inside(&self) -> Vec<(&'static str, Part)> {
        let mut blocks: Vec<u32> = self.pages.known().collect();
        blocks.sort_unstable_by_key(|&b| u64::MAX - self.pages.blocks[b as usize].own.used);
        let clusters = blocks.into_iter().map(|block| Part::list(self.pages.show(block)));
        vec![("clusters", Part::list(clusters))]
    }

    fn check(&self) {
        self.pages.check();
        let clusters = self.sizes.check(&self.pages.blocks);
        assert_eq!(clusters, self.pages.known().count() as u32, "every cluster has its size");
        for (size, chain) in self.sizes.iter() {
            let mut newer = u64::MAX;
            for block in chain.iter(&self.pages.blocks) {
                let block = &self.pages.blocks[block as usize];
                assert_eq!(block.len, size, "a cluster is among those of its size");
                assert!(block.own.used < newer, "clusters of a size stand in the order of use");
                newer = block.own.used;
            }
        }
        assert!(self.resident() <= self.frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::{drive, setup, victims, writes};
    use destage_core::{Dense, Op, Page};

    fn fab(frames: u32, read_recency: bool) -> Fab<Dense> {
        let params = [("read_recency", Value::Bool(read_recency))];
        let setup = Setup { pages_per_block: 4, ..setup("fab", frames, &params) };
        Fab::new(&setup, Dense::new(64))
    }

    #[test]
    fn the_largest_cluster_goes_and_among_equals_the_least_recent() {
        let mut p = fab(6, false);
        // Two pages of blocks 0, 1 and 2, then a seventh page.
        assert_eq!(victims(&drive(&mut p, &writes(&[0, 4, 8, 5, 1, 9, 12]))), [4, 5]);
        assert_eq!(victims(&drive(&mut p, &writes(&[13, 14]))), [0, 1]);
    }

    #[test]
    fn the_block_of_the_incoming_page_is_not_protected() {
        let mut p = fab(3, false);
        assert_eq!(victims(&drive(&mut p, &writes(&[0, 1, 2, 3]))), [0, 1, 2]);
        assert_eq!(
            p.inside()[0].1,
            Part::list([Part::list([Part::Count(0), Part::pages([Page(3)]),])])
        );
    }

    #[test]
    fn a_read_is_a_use_only_if_it_is_asked_for() {
        for (read_recency, victim) in [(false, 0), (true, 4)] {
            let mut p = fab(2, read_recency);
            drive(&mut p, &writes(&[0, 4]));
            drive(&mut p, &[(Op::Read, 0), (Op::Read, 40)]);
            assert_eq!(victims(&drive(&mut p, &writes(&[8]))), [victim]);
        }
    }
}
