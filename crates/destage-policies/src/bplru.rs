//! BPLRU: a recency list of erase blocks, each written back as a whole.
//!
//! Kim, Ahn. BPLRU: a buffer management scheme for improving random writes in flash storage. USENIX
//! FAST 2008. Described in BPAC section 2.3 and AALRU sections II-C and II-D;
//! `docs/spec/block-policies.md` 3.
//!
//! Rules. The buffer holds written pages only, clustered by erase block; a write makes its block
//! the most recent. Victim: the least recent block. *Page padding*: the pages of the block that are
//! not in the buffer are read and written with it, so that it goes to flash as one ascending write.
//! *LRU compensation*: a block whose pages have all been written in order from the first one is
//! taken for part of a stream that will not come back, and moves to the LRU end.
//!
//! ```text
//!   MRU   #5{20 21}  #0{0 1}  #2{8 9 10 11}   LRU ──▶ out, with its padding
//!                                ▲ written in order: moved here
//! ```
//!
//! *run* counts the pages of a block that were written in ascending order without a gap, from
//! offset 0; the block is written sequentially when it reaches b. A write at offset o, first case
//! that applies:
//!
//! ```text
//!   o = run < b      run + 1
//!   o = run - 1      unchanged: the last page again, as unaligned requests write it
//!   o = 0            1
//!   else             0
//! ```
//!
//! Readings. Writes to other blocks in between do not matter: several streams may run side by side.
//! A compensated block waits for its turn (BPAC section 2.3); of several, the one completed last
//! goes first. Written again out of order, it is an ordinary block and moves to the MRU end; its
//! last page again leaves it where it is; a second sequential pass compensates again. A block of
//! one page has no sequence. Padding is unconditional (AALRU section II-D.3). Reads change nothing,
//! with `read_recency` they make the block the most recent, and never change *run*.
//!
//! With blocks of one page it is an LRU over writes, and a test says so.
//!
//! Cost. O(1), and O(b) per eviction with padding.

use crate::clusters::{Blocks, Chain, Linked, NIL, Padding, Pair, Share};
use crate::fab::READ_RECENCY;
use crate::params::{IfAbsent, Kind, Param};
use crate::{Info, Pads, Setup};
use destage_core::{DeviceView, Directory, Lookup, Lpn, Page, Part, Plan, Policy, Request, Slot};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "bplru",
    title: "Block Padding LRU",
    source: "Kim, Ahn. BPLRU: a buffer management scheme for improving random writes in flash \
             storage. USENIX FAST 2008",
    about: "A write buffer that destages the least recent erase block, padded to a whole one.",
    flash_aware: true,
    clusters: true,
    pads: Pads::Always,
    time: "O(1), eviction O(b), b pages of a block",
    params: &[
        Param {
            name: "padding",
            kind: Kind::Bool,
            default: IfAbsent::Bool(true),
            about: "Pages that are missing are read and written with their block. Default: as \
                    published.",
            ..Param::BLANK
        },
        Param {
            name: "compensation",
            kind: Kind::Bool,
            default: IfAbsent::Bool(true),
            about: "A block written in order moves to the LRU end. Default: as published.",
            ..Param::BLANK
        },
        READ_RECENCY,
    ],
    ..Info::BLANK
};

/// BPLRU's state of a block.
#[derive(Clone, Copy, Default)]
struct ClusterState {
    links: Pair,
    run: u32, // pages written in order from the first one, 0..=b
}

linked! { ClusterState: 1 => links }

/// The policy.
pub struct Bplru<D> {
    pages: Blocks<D, (), ClusterState>, // every resident page, in its cluster
    list: Chain<1>,                     // the clusters, MRU to LRU
    padding: Padding,
    compensation: bool,
    read_recency: bool,
    frames: u32,
}

impl<D: Directory> Bplru<D> {
    /// An empty cache of `setup.frames` frames and erase blocks of `setup.pages_per_block` pages.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let padding = setup.params.flag("padding");
        Bplru {
            pages: Blocks::new(setup, directory),
            list: Chain::default(),
            padding: if padding { Padding::WholeBlock } else { Padding::None },
            compensation: setup.params.flag("compensation") && setup.pages_per_block >= 2,
            read_recency: setup.params.flag(READ_RECENCY.name),
            frames: setup.frames,
        }
    }

    /// The cluster that is to go.
    #[inline(always)]
    pub(crate) fn least_recent(&self) -> Option<u32> {
        self.list.oldest()
    }

    /// The clusters from the LRU end on.
    pub(crate) fn oldest_first(&self) -> impl Iterator<Item = u32> {
        let newer = |&block: &u32| {
            let newer = Linked::<1>::pair(&self.pages.blocks[block as usize]).newer;
            (newer != NIL).then_some(newer)
        };
        std::iter::successors(self.least_recent(), newer)
    }

    /// This is so of a page that would be programmed if the block were destaged.
    pub(crate) fn programs_any(&self, block: u32, is_so: impl FnMut(Lpn) -> bool) -> bool {
        match self.padding {
            Padding::WholeBlock => self.pages.existing(block).map(Lpn).any(is_so),
            Padding::None => self.pages.lpns(block).any(is_so),
        }
    }

    /// Destages a cluster.
    #[inline(always)]
    pub(crate) fn destage(&mut self, block: u32, plan: &mut Plan) {
        self.list.unlink(&mut self.pages.blocks, block);
        self.pages.gather(block, |()| Share::Leaves);
        self.pages.destage(block, self.padding, plan);
    }

    /// A page of the cluster has been written; the block is on the list.
    #[inline(always)]
    fn written(&mut self, frame: u32) {
        let b = self.pages.pages_per_block();
        let o = self.pages.frames[frame as usize].offset;
        let block = self.pages.block_of(frame);
        let run = &mut self.pages.blocks[block as usize].own.run;
        *run = match *run {
            run if o == run && run < b => run + 1,
            run if o + 1 == run => run,
            _ => u32::from(o == 0),
        };
        if self.compensation && *run == b {
            self.list.unlink(&mut self.pages.blocks, block);
            self.list.push_oldest(&mut self.pages.blocks, block);
        } else {
            self.list.touch(&mut self.pages.blocks, block);
        }
    }
}

impl<D: Directory> Policy for Bplru<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some((slot, frame)) = self.pages.find(r.page) else {
            return if r.op.is_write() { Lookup::Miss(()) } else { Lookup::Bypass };
        };
        if r.op.is_write() {
            self.written(frame);
        } else if self.read_recency {
            let block = self.pages.block_of(frame);
            self.list.touch(&mut self.pages.blocks, block);
        }
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let block = self.least_recent().expect("evict is only called on a full buffer");
        self.destage(block, plan);
        if let Some(next) = self.list.oldest() {
            let newer = |block: u32| {
                let block = self.pages.blocks.get(block as usize);
                block.map_or(NIL, |block| Linked::<1>::pair(block).newer)
            };
            let second = newer(next);
            self.pages.prefetch_victims(next, newer(second));
            self.pages.prefetch_number(second);
        }
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let (slot, frame) = self.pages.admit(r.page, r.lpn, ());
        let block = self.pages.block_of(frame);
        if self.pages.blocks[block as usize].len == 0 {
            self.list.push_newest(&mut self.pages.blocks, block);
        }
        self.pages.link(frame);
        self.written(frame);
        slot
    }

    in_blocks! { self.pages: |_: &()| true; frames: self.frames }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let (_, frame) = self.pages.find(page)?;
        let block = self.pages.block_of(frame);
        if self.pages.blocks[block as usize].len == 1 {
            self.list.unlink(&mut self.pages.blocks, block);
        }
        self.pages.forget(frame);
        Some(true)
    }

    hints! { self.pages: prefetch, prefetch_held, prefetch_block }

    fn inside(&self) -> Vec<(&'static str, Part)> {
        let clusters = self.list.iter(&self.pages.blocks);
        vec![("clusters", Part::list(clusters.map(|block| Part::list(self.pages.show(block)))))]
    }

    fn check(&self) {
        self.pages.check();
        let clusters = self.list.check(&self.pages.blocks);
        assert_eq!(clusters, self.pages.known().count() as u32, "every cluster is on the list");
        let b = self.pages.pages_per_block();
        assert!(self.pages.known().all(|block| self.pages.blocks[block as usize].own.run <= b));
        assert!(self.resident() <= self.frames);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::testing::{drive, setup, victims, writes};
    use destage_core::{Blind, Dense, Lpn, Page};

    fn bplru(frames: u32, padding: bool, device_pages: Option<u64>) -> Bplru<Dense> {
        let setup = setup("bplru", frames, &[("padding", Value::Bool(padding))]);
        Bplru::new(&Setup { pages_per_block: 4, device_pages, ..setup }, Dense::new(64))
    }

    #[test]
    fn a_block_written_in_order_is_the_next_victim_and_so_is_one_whose_last_page_is_written_again()
    {
        let mut p = bplru(6, false, None);
        drive(&mut p, &writes(&[8, 0, 1, 2, 3]));
        assert_eq!(victims(&drive(&mut p, &writes(&[9, 3, 12]))), [0, 1, 2, 3]);
    }

    #[test]
    fn a_completed_block_written_out_of_order_is_an_ordinary_one() {
        let mut p = bplru(6, false, None);
        drive(&mut p, &writes(&[8, 0, 1, 2, 3, 2]));
        assert_eq!(victims(&drive(&mut p, &writes(&[12, 13]))), [8]);
    }

    #[test]
    fn of_several_completed_blocks_the_last_goes_first() {
        let mut p = bplru(9, false, None);
        drive(&mut p, &writes(&[20, 0, 1, 2, 3, 4, 5, 6, 7]));
        assert_eq!(victims(&drive(&mut p, &writes(&[24]))), [4, 5, 6, 7]);
    }

    #[test]
    fn padding_completes_the_block_as_far_as_it_exists() {
        for (device_pages, padding) in [(None, vec![8, 10, 11]), (Some(11), vec![8, 10])] {
            let mut p = bplru(1, true, device_pages);
            drive(&mut p, &writes(&[9]));
            let mut plan = Plan::new();
            p.evict(&mut (), &Blind, &mut plan);
            let (pages, pads) = plan.groups().next().expect("a group");
            assert_eq!(pages, [Page(9)]);
            assert!(pads.iter().all(|pad| !pad.in_buffer));
            assert_eq!(pads.iter().map(|pad| pad.lpn).collect::<Vec<_>>(), padding_lpns(&padding));
        }
    }

    fn padding_lpns(pages: &[u64]) -> Vec<Lpn> {
        pages.iter().map(|&page| Lpn(page)).collect()
    }

    #[test]
    fn the_last_block_of_all_page_numbers_is_padded_to_its_end() {
        let setup = Setup { pages_per_block: 3, ..setup("bplru", 1, &[]) };
        let mut p = Bplru::new(&setup, destage_core::Hashed::new());
        // 2^64 - 1 is a multiple of 3: the last block has this one page.
        drive(&mut p, &writes(&[u64::MAX]));
        let mut plan = Plan::new();
        p.evict(&mut (), &Blind, &mut plan);
        assert!(plan.padded().is_empty());
    }
}
