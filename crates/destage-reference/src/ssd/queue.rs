//! The device over time: units with their queues, the shared bus, remaining work, who is
//! collecting, and the timers of idle collection (`docs/spec/device.md` 4.2 to 4.6 and 5.5).

use std::collections::{BTreeSet, VecDeque};

use super::config::{Config, GcMode};
use super::flash::Plane;
use super::map_cache::MapCache;
use super::mapped::Mapped;
use super::operation::{Kind, Operation, Phase};
use super::placement::{Event, Placement};
use super::way::Way;

/// One queue with the one operation that is being served.
pub(crate) struct Unit {
    waiting: VecDeque<usize>, // in the order of submission
    waiting_ns: u64,          // the sum of their durations, and of the gaps before them
    pub(super) in_service: Option<usize>,
    /// The operation that gave way to reads, and until when the unit prepares for them
    /// (`docs/spec/gc-steps.md` 6).
    pub(super) suspended: Option<usize>,
    pub(super) suspending_until: Option<u64>,
    /// When the unit, idle since before, may collect on its own.
    timer: Option<u64>,
}

/// The error *device full* of an FTL of `docs/spec/ftl.md` (1.6).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full;

/// A device at the instant `now`.
pub(crate) struct Ssd {
    pub(crate) config: Config,
    pub(crate) now: u64,
    pub(crate) operations: Vec<Operation>, // all of the run, by number
    pub(crate) units: Vec<Unit>,
    /// By channel, the disjoint intervals for which its bus is taken, in time order.
    reserved: Vec<Vec<(u64, u64)>>,
    pub(crate) planes: Vec<Plane>,
    /// By logical page: the plane, block and page that hold it.
    pub(crate) places: Vec<Option<(usize, usize, usize)>>,
    /// Nothing is submitted and nothing counted before time 0.
    pub(crate) preconditioning: bool,
    /// Preconditioning goes through the SLC cache.
    pub(crate) fills_slc: bool,
    /// Operations submitted now belong to an idle collection.
    timer_fires: bool,
    /// An operation has ended after which its unit had nothing left to do.
    pub(crate) went_idle: bool,
    /// Pages read and written for the host so far.
    pub(super) host_pages: u64,
    /// Host page writes so far, those of the preconditioning included
    /// (`docs/spec/device-today.md` 1).
    pub(crate) clock: u64,
    /// Writes and trims of the host, in order.
    pub(crate) history: Vec<Event>,
    /// Placement policy (`docs/spec/device-today.md` 8).
    pub(crate) placement: Box<dyn Placement>,
    /// By logical page, the handle of its last host write.
    pub(crate) handles: Vec<usize>,
    pub(crate) tallies: Tallies,
    pub(crate) way: Way,
    /// Another FTL, in whose place `planes` and `places` stay as they are.
    pub(crate) mapped: Option<Mapped>,
    /// A part of the map in memory.
    pub(crate) map: Option<MapCache>,
    /// Operations that wait for others, by number.
    pub(super) waiting: BTreeSet<usize>,
    entered: usize,
    /// The drive acts on the host's command from here on.
    pub(super) acting: u64,
    /// Instants that have names.
    pub(crate) instants: Vec<Option<u64>>,
}

/// An operation that is decided on.
#[derive(Clone, Copy)]
pub(super) struct Decision {
    pub(super) kind: Kind,
    pub(super) plane: usize,
    pub(super) collection: bool,
    /// A map read or map program.
    pub(super) map: bool,
    /// An M of a map page.
    pub(super) moves_map: bool,
    /// The operation that programmed the page that it reads.
    pub(super) by: Option<usize>,
    pub(super) ready: u64,
    /// Blocks that it reads, moves a page out of, programs and erases.
    pub(super) reads: Option<(usize, usize)>,
    pub(super) leaves: Option<(usize, usize)>,
    pub(super) programs: Option<(usize, usize)>,
    pub(super) erases: Option<(usize, usize)>,
    /// Block that it programs a page of elsewhere, having read it.
    pub(super) copies: Option<(usize, usize)>,
    /// The map read that it needs, or that of the page that it copies.
    pub(super) fetch: Option<usize>,
    /// It has no slot of the buffer yet.
    pub(super) holds: bool,
}

impl Decision {
    pub(super) fn of(kind: Kind, plane: usize) -> Decision {
        Decision {
            kind,
            plane,
            collection: false,
            map: false,
            moves_map: false,
            by: None,
            ready: 0,
            reads: None,
            leaves: None,
            programs: None,
            erases: None,
            copies: None,
            fetch: None,
            holds: false,
        }
    }
}

/// Counters that no operation carries.
#[derive(Default)]
pub(crate) struct Tallies {
    pub(crate) gc_runs: u64,
    pub(crate) slc_folds: u64,
    /// W by handle, and M but for folds by the handle of the page's last host write.
    pub(crate) handle_programs: Vec<u64>,
    pub(crate) handle_moves: Vec<u64>,
    /// W and M by write point.
    pub(crate) stream_programs: Vec<u64>,
}

impl Ssd {
    pub(crate) fn new(config: Config, placement: Box<dyn Placement>) -> Result<Ssd, Full> {
        // "at the start of the run, for gc_idle_ns"
        let timer = config.has_timers().then_some(config.gc_idle_ns);
        let unit = || Unit {
            waiting: VecDeque::new(),
            waiting_ns: 0,
            in_service: None,
            suspended: None,
            suspending_until: None,
            timer,
        };
        let logical_pages = usize::try_from(config.logical_pages).expect("few pages");
        let mut ssd = Ssd {
            now: 0,
            operations: Vec::new(),
            units: (0..config.units()).map(|_| unit()).collect(),
            reserved: (0..config.channels).map(|_| Vec::new()).collect(),
            planes: (0..config.planes()).map(|number| Plane::new(&config, number)).collect(),
            places: vec![None; logical_pages],
            preconditioning: true,
            fills_slc: false,
            timer_fires: false,
            went_idle: false,
            host_pages: 0,
            clock: 0,
            history: Vec::new(),
            placement,
            handles: vec![0; logical_pages],
            tallies: Tallies {
                handle_programs: vec![0; config.interface.handles],
                handle_moves: vec![0; config.interface.handles],
                stream_programs: vec![0; config.interface.write_points()],
                ..Tallies::default()
            },
            way: Way::new(&config.interface),
            mapped: Mapped::new(&config),
            map: config.map.clone().map(MapCache::new),
            waiting: BTreeSet::new(),
            entered: 0,
            acting: 0,
            instants: Vec::new(),
            config,
        };
        ssd.precondition()?;
        if let Some(map) = &mut ssd.map {
            map.counts = Default::default();
        }
        if let Some(mapped) = &mut ssd.mapped {
            mapped.begin();
        }
        ssd.preconditioning = false;
        Ok(ssd)
    }

    /// Decides on an operation, which enters the queue of its unit or waits for others; says its
    /// number.
    pub(super) fn decide(&mut self, decision: Decision) -> Option<usize> {
        if self.preconditioning {
            return None;
        }
        let predecessors = self.predecessors(&decision);
        let number = self.operations.len();
        self.operations.push(Operation {
            kind: decision.kind,
            collection: decision.collection,
            plane: decision.plane,
            map: decision.map,
            moves_map: decision.moves_map,
            reads: decision.reads,
            leaves: decision.leaves,
            programs: decision.programs,
            erases: decision.erases,
            copies: decision.copies,
            predecessors,
            holds: decision.holds,
            slot: None,
            entered: None,
            later: None,
            caused_by: self.host_pages,
            submitted: self.now,
            ready: decision.ready,
            gap: 0,
            duration: 0,
            until_transferred: 0,
            by_timer: self.timer_fires,
            reads_after: decision.by,
            start: None,
            ends_at: None,
            end: None,
            work: 0,
            rest: 0,
            suspensions: 0,
            transferred: None,
            done: None,
        });
        match self.may_enter(number) {
            true => self.enter(number),
            false => _ = self.waiting.insert(number),
        }
        Some(number)
    }

    /// An operation enters the queue of its unit now.
    pub(super) fn enter(&mut self, number: usize) {
        self.operations[number].entered = Some((self.now, self.entered));
        self.entered += 1;
        let Operation { kind, plane, ready, .. } = self.operations[number];
        if kind == Kind::Zeros {
            self.operations[number].start = Some(self.now);
            self.operations[number].end = Some(self.now);
            return;
        }
        let unit = self.config.unit_of_plane(plane);
        let gap = ready.saturating_sub(self.now + self.backlog(unit));
        let (duration, until_transferred) = self.lay_out(kind, plane, gap);
        let operation = &mut self.operations[number];
        operation.gap = gap;
        operation.duration = duration;
        operation.work = duration;
        operation.rest = duration;
        operation.until_transferred = until_transferred;
        self.units[unit].timer = None;
        self.units[unit].waiting.push_back(number);
        self.units[unit].waiting_ns += gap + duration;
        if matches!(kind, Kind::R { .. }) {
            self.suspend(unit, number);
        }
        if self.units[unit].in_service.is_none() && self.units[unit].suspending_until.is_none() {
            self.serve_next(unit);
        }
        // An operation that takes no time is over before anything else is submitted.
        while self.next_end() == Some(self.now) {
            self.end_one();
        }
    }

    /// Duration of an operation submitted now, and the part of it until its data are transferred.
    fn lay_out(&mut self, kind: Kind, plane: usize, gap: u64) -> (u64, u64) {
        let start = self.now + self.backlog(self.config.unit_of_plane(plane)) + gap;
        let channel = self.config.channel_of_plane(plane);
        let mut at = start;
        let mut transferred = start;
        for phase in self.config.phases(kind) {
            match phase {
                Phase::Cell(ns) => at += ns,
                Phase::Bus(ns) => {
                    at = if self.config.shared_bus {
                        reserve(&mut self.reserved[channel], at, ns)
                    } else {
                        at
                    };
                    at += ns;
                    transferred = at;
                }
            }
        }
        (at - start, transferred - start)
    }

    /// The unit is free and takes its next operation, or becomes idle.
    fn serve_next(&mut self, unit: usize) {
        let waiting = &self.units[unit].waiting;
        let at = if self.config.read_first {
            let eligible = |number: &usize| self.is_eligible(*number);
            let other = |number: &usize| !matches!(self.operations[*number].kind, Kind::R { .. });
            let read = waiting.iter().position(eligible);
            if read.is_none() && self.units[unit].suspended.is_some() {
                self.resume(unit);
                return;
            }
            read.or_else(|| waiting.iter().position(other))
        } else {
            (!waiting.is_empty()).then_some(0)
        };
        let Some(at) = at else {
            assert!(waiting.is_empty(), "a read waits for a program that is nowhere");
            return;
        };
        let next = self.units[unit].waiting.remove(at).expect("it waits there");
        let operation = &mut self.operations[next];
        self.units[unit].waiting_ns -= operation.gap + operation.duration;
        self.units[unit].in_service = Some(next);
        // "one whose data are still on the way holds up those behind it"
        let start = operation.ready.max(self.now);
        operation.start = Some(start);
        operation.ends_at = Some(start + operation.duration);
    }

    /// A read whose page has been programmed.
    pub(super) fn is_eligible(&self, number: usize) -> bool {
        let operation = &self.operations[number];
        let programmed = operation.reads_after.is_none_or(|w| self.operations[w].end.is_some());
        matches!(operation.kind, Kind::R { .. }) && programmed
    }

    /// The operation that gave way to reads goes on.
    fn resume(&mut self, unit: usize) {
        let number = self.units[unit].suspended.take().expect("one is suspended");
        let x = &mut self.operations[number];
        x.ends_at = Some(self.now + self.config.steps.resume_ns + x.rest);
        self.units[unit].in_service = Some(number);
    }

    /// The earliest end of all operations in service, or of the preparation for reads.
    pub(super) fn next_end(&self) -> Option<u64> {
        self.units.iter().filter_map(|unit| self.next_choice(unit)).min()
    }

    /// When a unit chooses what it does next.
    fn next_choice(&self, unit: &Unit) -> Option<u64> {
        unit.suspending_until.or_else(|| self.end_of_service(unit))
    }

    pub(super) fn end_of_service(&self, unit: &Unit) -> Option<u64> {
        Some(self.operations[unit.in_service?].ends_at.expect("in service"))
    }

    /// Ends the operation that ends first; its unit goes on or becomes idle.
    fn end_one(&mut self) {
        let end = self.next_end().expect("something is in service");
        let first = self.units.iter().position(|unit| self.next_choice(unit) == Some(end));
        let unit = first.expect("one ends then");
        self.now = end;
        if self.units[unit].suspending_until.take().is_some() {
            self.serve_next(unit);
            return;
        }
        let ended = self.units[unit].in_service.take().expect("in service");
        let operation = &mut self.operations[ended];
        operation.serve(end, operation.rest);
        operation.end = Some(end);
        self.serve_next(unit);
        if self.config.read_first {
            self.follow_end(ended);
        }
        self.went_idle |= self.units[unit].in_service.is_none();
        if self.units[unit].in_service.is_none() && self.config.has_timers() {
            // "without another idle time": the last operation of what a timer started.
            let again = self.operations[ended].by_timer;
            self.units[unit].timer = Some(if again { end } else { end + self.config.gc_idle_ns });
        }
    }

    /// The timer that fires next: the earliest, of several the one of the lowest unit.
    fn next_timer(&self) -> Option<(u64, usize)> {
        let timers = self.units.iter().enumerate();
        timers.filter_map(|(unit, state)| Some((state.timer?, unit))).min()
    }

    /// The timer of an idle unit fires: one fold (`docs/spec/device-today.md` 9.4), or else one
    /// collection, if there is one worth it (5.5).
    fn fire(&mut self, at: u64, unit: usize) {
        self.now = at;
        self.units[unit].timer = None;
        if self.config.interface.folds_when_idle() {
            let planes = self.config.planes_of(unit);
            let planes = planes.filter(|&plane| !self.planes[plane].slc_sealed.is_empty());
            if let Some(plane) = planes.min_by_key(|&plane| (self.slc_free_pages(plane), plane)) {
                self.timer_fires = true;
                self.fold_idle(plane);
                self.write_deferred();
                self.timer_fires = false;
                return;
            }
        }
        if self.config.gc_mode != GcMode::Idle {
            return;
        }
        let worth_it = |&plane: &usize| {
            self.free_pages(plane) < self.config.gc_high_pages && self.has_collection(plane)
        };
        let planes = self.config.planes_of(unit).filter(worth_it);
        if let Some(plane) = planes.min_by_key(|&plane| (self.free_pages(plane), plane)) {
            self.timer_fires = true;
            self.collect_idle(plane);
            self.write_deferred();
            self.timer_fires = false;
        }
    }

    /// Lets everything happen that is due before a request at `now` (7.5): ends up to then, and
    /// timers before then.
    pub(crate) fn advance(&mut self, now: u64) {
        while self.step(now) {}
        self.now = now;
    }

    /// Lets the first of that happen; false if there is nothing.
    pub(crate) fn step(&mut self, now: u64) -> bool {
        let event = self.next_event().filter(|&at| at <= now);
        let timer = self.next_timer().filter(|&(at, _)| at < now);
        match (event, timer) {
            (Some(event), Some((at, unit))) if at < event => self.fire(at, unit),
            (Some(event), _) => self.happen(event),
            (None, Some((at, unit))) => self.fire(at, unit),
            (None, None) => return false,
        }
        true
    }

    /// When that is.
    pub(crate) fn next_step(&self, now: u64) -> Option<u64> {
        let event = self.next_event().filter(|&at| at <= now);
        let timer = self.next_timer().map(|(at, _)| at).filter(|&at| at < now);
        event.into_iter().chain(timer).min()
    }

    /// Lets all operations end; no timer fires any more.
    pub(crate) fn finish(&mut self) {
        while let Some(event) = self.next_event() {
            self.happen(event);
        }
        assert!(self.waiting.is_empty(), "what waits for others goes on when they have ended");
    }

    /// An operation ends at this instant; after the last end of an instant, waiting ones enter.
    fn happen(&mut self, event: u64) {
        self.now = event;
        if self.next_transfer() == Some(event) {
            for number in self.units.iter().filter_map(|unit| unit.in_service) {
                let operation = &mut self.operations[number];
                if operation.transfer_ends() == Some(event) {
                    operation.transferred = Some(event);
                }
            }
        }
        if self.next_end() == Some(event) {
            self.end_one();
        }
        if self.next_end() != Some(self.now) {
            self.release();
        }
    }

    /// Operations of a unit that have not ended.
    pub(crate) fn unfinished(&self, unit: usize) -> impl Iterator<Item = &Operation> {
        let unit = &self.units[unit];
        let begun = unit.in_service.iter().chain(&unit.suspended);
        begun.chain(&unit.waiting).map(|&number| &self.operations[number])
    }

    /// The remaining work of a unit (4.5).
    pub(crate) fn backlog(&self, unit: usize) -> u64 {
        // A sum that is kept: an overloaded drive has tens of thousands of them waiting.
        let unit = &self.units[unit];
        let choice = self.next_choice(unit).map_or(0, |at| at - self.now);
        let resumed = |number: usize| self.config.steps.resume_ns + self.operations[number].rest;
        unit.waiting_ns + choice + unit.suspended.map_or(0, resumed)
    }

    /// Whether a unit is in GC (4.6).
    pub(crate) fn in_gc(&self, unit: usize) -> bool {
        let begun = |operation: &Operation| operation.start.is_some_and(|at| at <= self.now);
        self.unfinished(unit).any(|operation| {
            operation.collection && (!self.config.in_gc_if_begun || begun(operation))
        })
    }

    /// How long a unit worked for the page of an operation: for the operation and, but where reads
    /// overtake, for what the FTL had to do on that unit before it.
    pub(crate) fn service(&self, number: usize) -> u64 {
        let operation = &self.operations[number];
        if self.config.read_first {
            // A write that the buffer completes is heard of before it is served.
            return if operation.slot.is_some() { operation.work } else { operation.duration };
        }
        let unit = |operation: &Operation| self.config.unit_of_plane(operation.plane);
        let (_, last) = operation.entered.expect("it has ended");
        let same = |other: &&Operation| {
            let before = other.entered.is_some_and(|(_, sequence)| sequence <= last);
            before && other.caused_by == operation.caused_by && unit(other) == unit(operation)
        };
        self.operations.iter().filter(same).map(|operation| operation.duration).sum()
    }

    /// When an operation starts: known if it has, and ahead of time where nothing overtakes.
    pub(crate) fn start(&self, number: usize) -> Option<u64> {
        if let Some(start) = self.operations[number].start {
            return Some(start);
        }
        if self.config.read_first || self.operations[number].entered.is_none() {
            return None;
        }
        let unit = &self.units[self.config.unit_of_plane(self.operations[number].plane)];
        let ahead = unit.waiting.iter().take_while(|&&other| other != number);
        let taken = |operation: &Operation| operation.gap + operation.duration;
        let ahead: u64 = ahead.map(|&other| taken(&self.operations[other])).sum();
        let free = self.end_of_service(unit).expect("one waits for it") + ahead;
        Some(free + self.operations[number].gap)
    }

    /// When an operation ends, where nothing overtakes.
    pub(crate) fn end(&self, number: usize) -> u64 {
        self.start(number).expect("nothing overtakes it") + self.operations[number].duration
    }
}

/// Reserves `ns` of a resource from the earliest instant from `ready` on at which it is free; says
/// that instant. `taken` has the intervals reserved before, disjoint and in time order.
pub(super) fn reserve(taken: &mut Vec<(u64, u64)>, ready: u64, ns: u64) -> u64 {
    if ns == 0 {
        return ready;
    }
    // The first gap that is long enough, among those that end after `ready`.
    let mut place = taken.partition_point(|&(_, to)| to <= ready);
    let mut at = ready;
    while let Some(&(_, to)) = taken.get(place).filter(|&&(from, _)| from < at + ns) {
        at = to;
        place += 1;
    }
    taken.insert(place, (at, at + ns));
    at
}
