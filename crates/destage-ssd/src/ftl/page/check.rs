//! Consistency check of the page-mapped FTL's tables.

use super::points::NONE;
use super::slc::Slc;
use super::state::{PageFtl, UNMAPPED, UnitRoom};
use crate::config::Alloc;
use crate::ftl::bitmap::bits;
use crate::ftl::layer::FlashState;
use crate::ftl::tournament::OUT;
use crate::geometry::BlockId;
use destage_core::PlaneId;

impl<const EXTENDED: bool> PageFtl<EXTENDED> {
    /// A block is erased only when all its pages have been programmed: erases and what is
    /// programmed now tell how much was programmed ever.
    pub(super) fn sums(&self) -> FlashState {
        let data = self.geometry.data_pages;
        let erases: u64 = self.erases.iter().copied().map(u64::from).sum();
        let (mut written_blocks, mut open_pages) = (erases, 0);
        for (number, plane) in (0..).map(PlaneId).zip(&self.planes) {
            let open = self.points_of(number).iter().filter(|point| point.active != NONE);
            let (blocks, programmed) =
                open.fold((0, 0), |(blocks, pages), open| (blocks + 1, pages + open.next));
            let free_blocks = (plane.free_pages - (blocks * data - programmed)) / data;
            let sealed = self.geometry.blocks_per_plane - free_blocks - blocks;
            written_blocks += u64::from(sealed);
            open_pages += u64::from(programmed);
        }
        let [cached, cached_programs, cached_erases] = self.slc.as_ref().map_or([0; 3], Slc::sums);
        FlashState {
            mapped_pages: self.map.iter().filter(|&&place| place != UNMAPPED).count() as u64
                + self.map_cache.as_ref().map_or(0, |map| map.versions()),
            valid_pages: cached
                + self.valid.iter().map(|word| u64::from(word.count_ones())).sum::<u64>(),
            programs: cached_programs + written_blocks * u64::from(data) + open_pages,
            summaries: if self.summary_page { written_blocks } else { 0 },
            erases: cached_erases + erases,
        }
    }

    /// Mapping and owners agree; valid pages, free pages and keys are those of the tables.
    pub(super) fn check_all(&self) {
        self.check_map();
        self.check_map_cache();
        let state = self.sums();
        assert_eq!(state.mapped_pages, state.valid_pages, "a valid page is mapped");
        let (blocks, data) = (self.geometry.blocks_per_plane, self.geometry.data_pages);
        let mut units = vec![UnitRoom { free_pages: 0, open_planes: 0 }; self.units.len()];
        for (number, plane) in (0..).map(PlaneId).zip(&self.planes) {
            let cached = self.slc.as_ref().map_or(0, |slc| slc.check(number));
            let (mut free_pages, mut valid, mut map_pages) = (0, cached, 0);
            for local in 0..blocks {
                let block = self.geometry.block(number, local);
                let counted = self.valid_pages(block);
                valid += counted;
                if self.points.is_of_map(self.opener(block)) {
                    map_pages += counted;
                }
                let erases = u64::from(self.erases[block.index()]);
                let (free, sealed) = (self.free.key(block), self.sealed.key(block));
                let words = &self.valid[self.words_of(block)];
                let last = words
                    .iter()
                    .zip((0..).step_by(64))
                    .flat_map(|(&w, start)| bits(w).map(move |bit| start + bit));
                let end = last.last().map_or(0, |last: u32| last + 1);
                if free != OUT {
                    assert_eq!((counted, free, sealed), (0, erases, OUT), "a free block is empty");
                    free_pages += data;
                } else if let Some(open) =
                    self.points_of(number).iter().find(|open| open.active == local)
                {
                    assert_eq!(sealed, OUT, "an active block is not sealed");
                    assert!(end <= open.next && open.next < data, "the rest is not programmed");
                    free_pages += data - open.next;
                } else if self.open_collection(number).is_some_and(|open| open.local == local) {
                    assert!(sealed == OUT && end <= data, "what is collected is no candidate");
                } else {
                    let key = u64::from(counted) << 32 | erases;
                    assert_eq!(sealed, key, "a sealed block has its key");
                    assert!(end <= data, "a summary page holds no data");
                }
            }
            // Map pages count where they are at home, written or not.
            valid += self.map_cache.as_ref().map_or(0, |map| map.homed(number)) - map_pages;
            assert_eq!((free_pages, valid), (plane.free_pages, plane.valid), "sums of a plane");
            assert!(valid <= self.cap, "a plane holds at most cap valid pages");
            let is_low = match self.steps {
                Some(_) => free_pages < self.points_of(number).len() as u32 * data,
                None => free_pages + data <= self.low,
            };
            assert!(!is_low, "free pages near threshold");
            let unit = &mut units[self.geometry.place(number).unit.index()];
            unit.free_pages += u64::from(free_pages);
            unit.open_planes += u32::from(valid < self.cap);
        }
        if self.alloc == Alloc::Dynamic {
            assert_eq!(units, self.units, "a unit knows its room");
        }
    }

    /// The write point that opened a block last.
    fn opener(&self, block: BlockId) -> u32 {
        if EXTENDED { self.points.opener(block) } else { 0 }
    }

    /// A mapped page is valid, and owned by the page that maps to it.
    fn check_map(&self) {
        for (slot, &place) in (0u32..).zip(self.map.iter()) {
            if place == UNMAPPED {
                continue;
            }
            if let Some(slc) = self.slc.as_ref().filter(|slc| slc.holds(place - 1)) {
                let owner = slc.owner(place - 1);
                assert_eq!(owner, slot, "a mapped page is owned by the page that maps to it");
            } else {
                let (block, index) = self.by_block_pages.split(place - 1);
                let word = self.valid[(block * self.words + index / 64) as usize];
                assert!(word >> (index % 64) & 1 == 1, "a mapped page is valid");
                let owner = self.owners[place as usize - 1];
                assert_eq!(owner, slot, "a mapped page is owned by the page that maps to it");
            }
        }
    }
}
