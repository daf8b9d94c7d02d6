//! Collection of one block of a plane (`docs/spec/device.md` 5.4), and what the next one would cost
//! (section 6). `gc` has the rules that choose the block.

use super::gc::{Candidates, Collector, SealedBlock};
use super::points::{NONE, Point};
use super::state::PageFtl;
use crate::config::{Alloc, GcMode};
use crate::ftl::bitmap::{bits, lowest};
use crate::ftl::sink::{Moves, Sink};
use crate::placement::Victim;
use crate::timing::{Operation, OperationKind, Timing};
use destage_core::pages::prefetch;
use destage_core::{Nanos, PlaneId};

impl<const EXTENDED: bool> PageFtl<EXTENDED> {
    /// The block that a collection would take while the clock shows this, and its valid pages.
    #[inline]
    fn victim_at(&self, plane: PlaneId, clock: u64) -> Option<(u32, u32)> {
        if !EXTENDED {
            let (key, block) = self.sealed.least(plane)?;
            return self.collectable(key).map(|valid| (block, valid));
        }
        let candidates = Candidates::new(&self.sealed, plane, self.geometry.data_pages);
        let local = self.collector.victim(plane, clock, &candidates)?;
        let key = self.sealed.key(self.geometry.block(plane, local));
        self.collectable(key).map(|valid| (local, valid))
    }

    /// The block that a collection takes that begins now, and its valid pages.
    #[inline(always)]
    fn choose_victim(&mut self, plane: PlaneId) -> Option<(u32, u32)> {
        if !EXTENDED {
            return self.victim_at(plane, 0);
        }
        let candidates = Candidates::new(&self.sealed, plane, self.geometry.data_pages);
        let local = self.collector.choose(plane, self.points.clock, &candidates)?;
        let key = self.sealed.key(self.geometry.block(plane, local));
        self.collectable(key).map(|valid| (local, valid))
    }

    /// The plane has a collection to go on with or to begin.
    #[inline]
    pub(super) fn has_collection(&self, plane: PlaneId) -> bool {
        self.open_collection(plane).is_some() || self.has_victim(plane)
    }

    /// The plane has a block to collect. Under every rule that is so if the emptiest one has an
    /// invalid page.
    #[inline]
    pub(super) fn has_victim(&self, plane: PlaneId) -> bool {
        self.sealed.least_key(plane).is_some_and(|key| self.collectable(key).is_some())
    }

    /// Valid pages of a block with this key, if any of its pages is invalid.
    #[inline(always)]
    fn collectable(&self, key: u64) -> Option<u32> {
        let valid = (key >> 32) as u32;
        (valid < self.geometry.data_pages).then_some(valid)
    }

    /// A collection would precede the next program to the plane, if there is a victim (6).
    #[inline(always)]
    pub(super) fn is_due(&self, plane: PlaneId) -> bool {
        let free_pages = self.planes[plane.index()].free_pages;
        self.gc_mode != GcMode::Background && free_pages <= self.low
    }

    /// The victim of the collection that would precede the next program to the plane.
    pub(super) fn next_victim(&self, plane: PlaneId) -> Option<(u32, u32)> {
        if self.is_due(plane) { self.victim_at(plane, self.points.clock + 1) } else { None }
    }

    /// Valid pages of that victim. Asked for every plane at every eviction (ECR's
    /// equation 3), so the block itself is not looked up.
    pub(super) fn next_victim_pages(&self, plane: PlaneId) -> Option<u32> {
        if EXTENDED {
            if let Some(open) = self.open_collection(plane).filter(|_| self.is_due(plane)) {
                return Some(self.valid_pages(self.geometry.block(plane, open.local)));
            }
            return self.next_victim(plane).map(|(_, valid)| valid);
        }
        let least = if self.is_due(plane) { self.sealed.least_key(plane) } else { None };
        self.collectable(least?)
    }

    /// Collects one block of the plane (5.4). False if there is nothing to collect.
    pub(super) fn collect<S: Sink>(&mut self, plane: PlaneId, sink: &mut S) -> bool {
        let Some((local, valid)) = self.begin_collection(plane, sink) else { return false };
        let block = self.geometry.block(plane, local);
        let victim = if EXTENDED { Some(self.points.collects(block)) } else { None };
        self.move_pages(plane, local, victim, valid, sink);
        self.end_collection(plane, local, sink);
        true
    }

    /// The victim, and its valid pages: it takes no part in its own collection.
    #[inline(always)]
    pub(super) fn begin_collection<S: Sink>(
        &mut self,
        plane: PlaneId,
        sink: &mut S,
    ) -> Option<(u32, u32)> {
        let (local, valid) = self.choose_victim(plane)?;
        sink.collection();
        self.sealed.remove(plane, local);
        if EXTENDED {
            let block = self.geometry.block(plane, local);
            self.collector.collects(SealedBlock { plane, local, block });
        }
        Some((local, valid))
    }

    /// Moves so many valid pages of a victim, those with the lowest indices.
    #[inline(always)]
    pub(super) fn move_pages<S: Sink>(
        &mut self,
        plane: PlaneId,
        local: u32,
        victim: Option<Victim>,
        pages: u32,
        sink: &mut S,
    ) {
        let block = self.geometry.block(plane, local);
        let first = self.geometry.first_page(block);
        let words = self.words_of(block);
        // The map is written in no order: bring all that is needed near, side by side.
        let mut moving = self.moving.take().expect("collections follow each other");
        for (word, start) in words.zip((0..).step_by(64)) {
            let left = pages - moving.slots.len() as u32;
            let taken = lowest(self.valid[word], left);
            self.valid[word] &= !taken;
            for bit in bits(taken) {
                let slot = self.owners[(first + start + bit) as usize];
                prefetch(&self.map, slot as usize);
                if EXTENDED {
                    self.points.prefetch(slot);
                }
                moving.from.push(start + bit);
                moving.slots.push(slot);
            }
        }
        if let Some(victim) = victim {
            self.points.moves(victim, &moving.slots);
        }
        if EXTENDED {
            sink.moves_from(first);
        }
        let mut moved = 0;
        while moved < moving.slots.len() {
            let (slots, from) = (&moving.slots[moved..], &moving.from[moved..]);
            moved += match victim {
                None => self.program_moved(plane, 0, slots, from, sink),
                Some(victim) => {
                    let (point, alike) = self.points.destination(victim, slots);
                    self.program_moved(plane, point, &slots[..alike], from, sink)
                }
            };
        }
        if EXTENDED && victim.is_some_and(|victim| !self.points.is_of_map(victim.point)) {
            self.note_moved(&moving.slots);
        }
        moving.from.clear();
        moving.slots.clear();
        self.moving = Some(moving);
        if self.alloc == Alloc::Dynamic {
            let unit = self.geometry.place(plane).unit.index();
            self.units[unit].free_pages -= u64::from(pages);
        }
    }

    /// The victim has no valid page any more: it is erased.
    #[inline(always)]
    pub(super) fn end_collection<S: Sink>(&mut self, plane: PlaneId, local: u32, sink: &mut S) {
        let block = self.geometry.block(plane, local);
        let ppn = self.geometry.first_page(block);
        let kind = OperationKind::Erase;
        sink.submit(Operation { kind, collection: true, plane, index: 0, from: 0, ppn });
        let erases = &mut self.erases[block.index()];
        *erases += 1;
        self.free.lower(plane, local, (*erases).into());
        self.planes[plane.index()].free_pages += self.geometry.data_pages;
        if self.alloc == Alloc::Dynamic {
            let unit = self.geometry.place(plane).unit.index();
            self.units[unit].free_pages += u64::from(self.geometry.data_pages);
        }
    }

    /// Programs moved pages until the active block is full (5.3, steps 3 to 5). Returns their
    /// number.
    #[inline(always)]
    pub(super) fn program_moved<S: Sink>(
        &mut self,
        plane: PlaneId,
        point: u32,
        slots: &[u32],
        from: &[u32],
        sink: &mut S,
    ) -> usize {
        if self.point_mut(plane, point).active == NONE {
            self.open(plane, point);
        }
        let data_pages = self.geometry.data_pages;
        let at = self.point_mut(plane, point);
        let (active, index) = (at.active, at.next);
        let count = slots.len().min((data_pages - index) as usize);
        at.next += count as u32;
        self.planes[plane.index()].free_pages -= count as u32;
        let block = self.geometry.block(plane, active);
        if EXTENDED {
            self.points.programmed(point, count);
            let clock = self.points.clock;
            self.collector.touched(SealedBlock { plane, local: active, block }, clock);
        }
        let ppn = self.geometry.first_page(block) + index;
        let slots = &slots[..count];
        self.owners[ppn as usize..][..count].copy_from_slice(slots);
        match &mut self.map_cache {
            Some(map) if EXTENDED && self.points.is_of_map(point) => map.moved(slots, ppn),
            _ => {
                for (&slot, place) in slots.iter().zip(ppn + 1..) {
                    self.map[slot as usize] = place;
                }
            }
        }
        self.set_valid(block, index..index + count as u32);
        sink.submit_moves(Moves { plane, from: &from[..count], index, ppn });
        self.seal_if_full(plane, point, true, sink);
        count
    }

    #[inline(always)]
    pub(super) fn collect_down_to_threshold<S: Sink>(&mut self, plane: PlaneId, sink: &mut S) {
        while self.planes[plane.index()].free_pages <= self.low {
            let collected = self.collect(plane, sink);
            assert!(collected, "the configuration leaves an invalid page to every collection");
        }
    }

    /// Time of the collection, or of its step, that would precede the next program to the plane
    /// (6), with one write point; no policy asks for it with more.
    pub(super) fn next_collection_ns(&self, plane: PlaneId, timing: &Timing) -> Nanos {
        let Some((local, moves, erases)) = self.next_moves(plane) else { return 0 };
        let data_pages = self.geometry.data_pages;
        let Point { active, next } = self.points_of(plane)[0];
        let mut index = if active == NONE { 0 } else { next };
        let op = |kind, index, from| {
            let ppn = Operation::NO_PAGE;
            let op = Operation { kind, collection: true, plane, index, from, ppn };
            timing.duration_ns(&op)
        };
        let seals = self.summary_page && index + moves >= data_pages;
        let summary = if seals { op(OperationKind::Summary, data_pages, data_pages) } else { 0 };
        let cost = if erases { op(OperationKind::Erase, 0, 0) } else { 0 } + summary;
        if timing.is_uniform() {
            return cost + u64::from(moves) * op(OperationKind::Move, 0, 0);
        }
        let words = &self.valid[self.words_of(self.geometry.block(plane, local))];
        let pages = words.iter().zip((0..).step_by(64));
        let valid = pages.flat_map(|(&word, start)| bits(word).map(move |bit| start + bit));
        valid.take(moves as usize).fold(cost, |cost, from| {
            let to = index;
            index = if index + 1 == data_pages { 0 } else { index + 1 };
            cost + op(OperationKind::Move, to, from)
        })
    }
}
