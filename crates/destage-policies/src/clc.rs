//! CLC: recent clusters are safe; of the cold ones the largest goes.
//!
//! Kang, Park, Jung, Shim, Cha. Performance trade-offs in using NVRAM write buffer for flash
//! memory-based storage devices. IEEE Trans. Computers 58(6), 2009 ("cold and largest cluster").
//! Described in BPAC sections 2.3 and 3.1, AALRU section II-C and table 2;
//! `docs/spec/block-policies.md` 4.
//!
//! Rules. The buffer holds written pages only, clustered by erase block; a write makes its block
//! the most recent. Of N clusters the K most recent are the *size-independent region*, the others
//! the *size-dependent* one:
//!
//! ```text
//!   K = floor(alpha * N + 1e-9)
//!
//!   MRU   #6 #5 #0 │ #1{4 5} #3{12} #7{28 29 30}   LRU
//!           K      │    the largest goes: #7, among equals the one nearest the LRU end
//! ```
//!
//! Without a size-dependent region (alpha = 1) the LRU cluster goes.
//!
//! Readings. Published descriptions keep two lists, demote the LRU cluster of the first when it is
//! too long, and promote a cluster that is used. Since the quota is a share of all clusters, that
//! is one recency list cut at K. Rounding is down, with 1e-9 against representation error: 0.29
//! of 100 is 29. N is counted before the incoming page. alpha is meant to be tuned: BPAC
//! section 5.2.1 reports best values from 0.1 to 0.5. Reads change nothing, with `read_recency`
//! they make the block the most recent.
//!
//! `alpha = 0` is FAB; `alpha = 1` is BPLRU without padding and compensation; tests say so.
//!
//! Cost. O(1) amortised: N changes by one, so the border moves by at most one cluster; a cluster
//! that crosses it is the most recent of the cold ones, and joins the new end of the list of its
//! size.

use crate::clusters::{Blocks, Chain, Linked, Padding, Pair, Share, Sizes, newer_of};
use crate::fab::READ_RECENCY;
use crate::params::{IfAbsent, Kind, Param};
use crate::{Info, Setup};
use destage_core::{DeviceView, Directory, Lookup, Page, Part, Plan, Policy, Request, Slot};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "clc",
    title: "Cold and Largest Cluster",
    source: "Kang, Park, Jung, Shim, Cha. Performance trade-offs in using NVRAM write buffer for \
             flash memory-based storage devices. IEEE Trans. Computers 58(6), 2009",
    about: "A write buffer that destages the largest of the erase blocks that are not recent.",
    flash_aware: true,
    clusters: true,
    time: "O(1) amortised",
    params: &[
        Param {
            name: "alpha",
            symbol: "alpha",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: IfAbsent::Real(0.1),
            unit: "of clusters",
            about: "Clusters that are safe because they are recent. Default: the lower end of the \
                    best values in BPAC section 5.2.1.",
            ..Param::BLANK
        },
        READ_RECENCY,
    ],
    ..Info::BLANK
};

/// CLC's state of a block.
#[derive(Clone, Copy, Default)]
struct ClusterState {
    links: Pair, // in its region
    sizes: Pair, // among the cold clusters of its size
    cold: bool,  // in the size-dependent region
}

linked! { ClusterState: 1 => links, 2 => sizes }

/// The policy.
pub struct Clc<D> {
    pages: Blocks<D, (), ClusterState>, // every resident page, in its cluster
    recent: Chain<1>,                   // the size-independent region
    cold: Chain<1>,                     // the size-dependent region
    sizes: Sizes<2>,                    // the same by size
    recent_clusters: u32,
    clusters: u32, // N
    k: u32,        // K
    alpha: f64,
    read_recency: bool,
    frames: u32,
}

impl<D: Directory> Clc<D> {
    /// An empty cache of `setup.frames` frames and erase blocks of `setup.pages_per_block` pages.
    pub fn new(setup: &Setup, directory: D) -> Self {
        Clc {
            pages: Blocks::new(setup, directory),
            recent: Chain::default(),
            cold: Chain::default(),
            sizes: Sizes::new(setup.pages_per_block),
            recent_clusters: 0,
            clusters: 0,
            k: 0,
            alpha: setup.params.real("alpha"),
            read_recency: setup.params.flag(READ_RECENCY.name),
            frames: setup.frames,
        }
    }

    #[inline(always)]
    fn set_clusters(&mut self, n: u32) {
        self.clusters = n;
        self.k = (self.alpha * f64::from(n) + 1e-9).floor() as u32;
    }

    /// Takes a cluster off the lists.
    #[inline(always)]
    fn take(&mut self, block: u32) {
        let blocks = &mut self.pages.blocks;
        if blocks[block as usize].own.cold {
            let size = blocks[block as usize].len;
            self.cold.unlink(blocks, block);
            self.sizes.unlink(blocks, block, size);
        } else {
            self.recent.unlink(blocks, block);
            self.recent_clusters -= 1;
        }
    }

    /// A cluster that is on no list is the most recent; then the border is recomputed.
    #[inline(always)]
    fn used(&mut self, block: u32) {
        let blocks = &mut self.pages.blocks;
        blocks[block as usize].own.cold = false;
        self.recent.push_newest(blocks, block);
        self.recent_clusters += 1;
        self.draw_border();
    }

    #[inline(always)]
    fn draw_border(&mut self) {
        let blocks = &mut self.pages.blocks;
        while self.recent_clusters > self.k {
            let block = self.recent.oldest().expect("a region too long has a cluster");
            self.recent.unlink(blocks, block);
            self.recent_clusters -= 1;
            blocks[block as usize].own.cold = true;
            let size = blocks[block as usize].len;
            self.cold.push_newest(blocks, block);
            self.sizes.push(blocks, block, size);
        }
        while self.recent_clusters < self.k {
            let block = self.cold.newest().expect("K is at most N");
            let size = blocks[block as usize].len;
            self.cold.unlink(blocks, block);
            self.sizes.unlink(blocks, block, size);
            blocks[block as usize].own.cold = false;
            self.recent.push_oldest(blocks, block);
            self.recent_clusters += 1;
        }
    }
}

impl<D: Directory> Policy for Clc<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some((slot, frame)) = self.pages.find(r.page) else {
            return if r.op.is_write() { Lookup::Miss(()) } else { Lookup::Bypass };
        };
        if r.op.is_write() || self.read_recency {
            let block = self.pages.block_of(frame);
            self.take(block);
            self.used(block);
        }
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let largest = self.sizes.victim().map(|(block, _)| block);
        let block = largest
            .or_else(|| self.recent.oldest())
            .expect("evict is only called on a full buffer");
        self.take(block);
        self.set_clusters(self.clusters - 1);
        self.draw_border();
        self.pages.gather(block, |()| Share::Leaves);
        self.pages.destage(block, Padding::None, plan);
        if let Some((next, _)) = self.sizes.victim() {
            let newer = Linked::<2>::pair(&self.pages.blocks[next as usize]).newer;
            self.pages.prefetch_victims(next, newer);
        }
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let (slot, frame) = self.pages.admit(r.page, r.lpn, ());
        let block = self.pages.block_of(frame);
        if self.pages.blocks[block as usize].len == 0 {
            self.set_clusters(self.clusters + 1);
        } else {
            self.take(block);
        }
        self.pages.link(frame);
        self.used(block);
        slot
    }

    in_blocks! { self.pages: |_: &()| true; frames: self.frames }

    /// The cluster keeps its place in its region. With one cluster fewer the border is recomputed.
    fn forget(&mut self, page: Page) -> Option<bool> {
        let (_, frame) = self.pages.find(page)?;
        let block = self.pages.block_of(frame);
        let size = self.pages.blocks[block as usize].len;
        if size == 1 {
            self.take(block);
            self.pages.forget(frame);
            self.set_clusters(self.clusters - 1);
            self.draw_border();
            return Some(true);
        }
        if self.pages.blocks[block as usize].own.cold {
            let blocks = &mut self.pages.blocks;
            let newer = newer_of::<1, _>(blocks, block, |other| other.len == size - 1);
            self.sizes.unlink(blocks, block, size);
            self.sizes.shrunk(blocks, block, size - 1, newer);
        }
        self.pages.forget(frame);
        Some(true)
    }

    hints! { self.pages: prefetch, prefetch_held, prefetch_block }

    fn inside(&self) -> Vec<(&'static str, Part)> {
        let region = |chain: &Chain<1>| {
            let clusters = chain.iter(&self.pages.blocks);
            Part::list(clusters.map(|block| Part::list(self.pages.show(block))))
        };
        vec![("size_independent", region(&self.recent)), ("size_dependent", region(&self.cold))]
    }

    fn check(&self) {
        self.pages.check();
        let blocks = &self.pages.blocks;
        let recent = self.recent.check(blocks);
        assert_eq!(recent, self.recent_clusters);
        assert_eq!(recent, self.k, "K clusters are recent");
        let cold = self.cold.check(blocks);
        assert_eq!(cold, self.sizes.check(blocks), "every cold cluster has its size");
        assert_eq!(self.clusters, recent + cold);
        assert_eq!(self.clusters, self.pages.known().count() as u32, "every cluster is somewhere");
        assert!(self.cold.iter(blocks).all(|block| blocks[block as usize].own.cold));
        for (size, chain) in self.sizes.iter() {
            assert!(chain.iter(blocks).all(|block| blocks[block as usize].len == size));
        }
        assert!(self.resident() <= self.frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::{drive, setup, victims, writes};
    use destage_core::Dense;

    fn clc(frames: u32, alpha: f64) -> Clc<Dense> {
        let setup = setup("clc", frames, &[("alpha", Value::Real(alpha))]);
        Clc::new(&Setup { pages_per_block: 4, ..setup }, Dense::new(512))
    }

    fn recent(p: &Clc<Dense>) -> Vec<u64> {
        p.recent.iter(&p.pages.blocks).map(|block| p.pages.number(block)).collect()
    }

    #[test]
    fn of_the_cold_clusters_the_largest_goes_and_the_recent_ones_are_safe() {
        let mut p = clc(6, 0.5);
        drive(&mut p, &writes(&[0, 1, 4, 8, 9, 10]));
        assert_eq!(recent(&p), [2], "one of three");
        assert_eq!(victims(&drive(&mut p, &writes(&[12]))), [0, 1]);
        assert_eq!(recent(&p), [3]);
    }

    #[test]
    fn the_border_is_rounded_down_but_not_by_an_error_of_representation() {
        let mut p = clc(200, 0.29);
        let pages: Vec<u64> = (0..100).map(|block| block * 4).collect();
        drive(&mut p, &writes(&pages));
        assert_eq!(recent(&p).len(), 29);
    }

    #[test]
    fn with_every_cluster_recent_the_least_recent_goes() {
        let mut p = clc(4, 1.0);
        assert_eq!(victims(&drive(&mut p, &writes(&[0, 4, 5, 6, 8]))), [0]);
    }
}
