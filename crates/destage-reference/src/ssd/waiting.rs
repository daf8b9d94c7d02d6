//! Operations that wait for others before they enter a queue, and what then happens to the page of
//! the host (`docs/spec/map-cache.md` 7 and 8).

use super::operation::{Kind, Operation};
use super::queue::{Decision, Ssd};

impl Ssd {
    /// Section 7, and `docs/spec/device.md` 12: the operations that this one, which is about to be
    /// decided on, waits for.
    pub(super) fn predecessors(&self, decision: &Decision) -> Vec<usize> {
        if !self.config.is_ordered() && self.mapped.is_none() {
            return Vec::new(); // all are on its unit, and have been submitted
        }
        let all = || self.operations.iter().enumerate();
        let last_into = |block: Option<(usize, usize)>, erases: bool| {
            let block = block?;
            let into = |(_, o): &(usize, &super::operation::Operation)| {
                o.programs == Some(block) || erases && o.erases == Some(block)
            };
            all().filter(into).map(|(number, _)| number).next_back()
        };
        let mut found: Vec<usize> = decision.fetch.into_iter().chain(decision.by).collect();
        found.extend(last_into(decision.leaves, false));
        found.extend(last_into(decision.programs, true));
        if let Some(block) = decision.erases {
            let uses = |(_, o): &(usize, &super::operation::Operation)| {
                [o.reads, o.leaves, o.programs, o.copies].contains(&Some(block))
            };
            found.extend(all().filter(uses).map(|(number, _)| number));
        }
        found.retain(|&before| self.operations[before].end.is_none());
        found
    }

    /// Each predecessor has ended, or has been submitted to the same unit; a program has its slot;
    /// and where reads overtake, nothing of it is still on the way.
    pub(super) fn may_enter(&self, number: usize) -> bool {
        let operation = &self.operations[number];
        let unit = |plane: usize| self.config.unit_of_plane(plane);
        let met = |&before: &usize| {
            let before = &self.operations[before];
            let same_unit = operation.kind != Kind::Zeros
                && before.kind != Kind::Zeros
                && unit(before.plane) == unit(operation.plane);
            before.end.is_some() || before.entered.is_some() && same_unit
        };
        let is_ready = !self.config.read_first || operation.ready <= self.now;
        is_ready && !operation.holds && operation.predecessors.iter().all(met)
    }

    /// The first instant at which an operation ends, its transfer ends, or its data are there.
    pub(super) fn next_event(&self) -> Option<u64> {
        let others = self.next_ready().into_iter().chain(self.next_transfer());
        self.next_end().into_iter().chain(others).min()
    }

    /// When the transfer of an operation in service ends, if that does not follow from its start.
    pub(super) fn next_transfer(&self) -> Option<u64> {
        let serving = self.units.iter().filter_map(|unit| unit.in_service);
        let serving = serving.map(|number| &self.operations[number]);
        let ends = serving.filter_map(|operation| operation.transfer_ends());
        ends.filter(|_| self.config.steps.suspends_programs).min()
    }

    /// The next instant at which data are there that an operation waits for, where reads overtake.
    pub(super) fn next_ready(&self) -> Option<u64> {
        let waiting = self.waiting.iter().map(|&number| &self.operations[number]);
        let on_the_way = waiting.filter(|o| !o.holds && o.ready > self.now);
        on_the_way.map(|operation| operation.ready).min().filter(|_| self.config.read_first)
    }

    /// Step 2 of section 7, at this instant. None that was passed over can enter now, unless a slot
    /// has become free: an operation waits for earlier ones.
    pub(super) fn release(&mut self) {
        let mut passed = 0;
        loop {
            let mut waiting = self.waiting.range(passed..).copied();
            let Some(number) = waiting.find(|&number| self.may_enter(number)) else { return };
            self.waiting.remove(&number);
            self.enter(number);
            self.follow(number);
            passed = if self.config.read_first { number + 1 } else { 0 };
        }
    }

    /// Zeros of a page that was never written, known to be that when a map read has ended.
    pub(super) fn zeros(&mut self, fetch: Option<usize>, ready: u64) -> Option<usize> {
        let fetch = fetch.filter(|&fetch| self.operations[fetch].end.is_none());
        fetch?;
        self.decide(Decision { ready, fetch, ..Decision::of(Kind::Zeros, 0) })
    }

    /// A new name of an instant.
    pub(super) fn later(&mut self) -> usize {
        self.instants.push(None);
        self.instants.len() - 1
    }

    /// An operation has ended where reads overtake: its page crosses the link, or its slot is free.
    pub(super) fn follow_end(&mut self, number: usize) {
        let Operation { kind, later, collection, map, .. } = self.operations[number];
        match (kind, later) {
            _ if collection || map => {}
            (Kind::R { .. }, Some(later)) => {
                let done = self.transfer_out(self.now);
                self.operations[number].done = Some(done);
                self.instants[later] = Some(done);
            }
            (Kind::W { .. }, _) => self.pass_slot(number),
            _ => {}
        }
    }

    /// Operations that waited have entered their queue: section 8.
    fn follow(&mut self, number: usize) {
        let operation = &self.operations[number];
        let (kind, later, ready) = (operation.kind, operation.later, operation.ready);
        match (kind, later) {
            (Kind::Zeros, later) => {
                let done = self.transfer_out(ready.max(self.now));
                self.instants[later.expect("zeros are waited for")] = Some(done);
            }
            _ if self.config.read_first => {} // when they end
            (Kind::R { .. }, Some(later)) => {
                let done = self.transfer_out(self.end(number));
                self.operations[number].done = Some(done);
                self.instants[later] = Some(done);
            }
            (Kind::W { .. }, _) => self.pass_slot(number),
            _ => {}
        }
    }
}
