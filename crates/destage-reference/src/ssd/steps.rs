//! Collection in steps, and suspension (`docs/spec/gc-steps.md`).

use super::config::GcMode;
use super::flash::Source;
use super::operation::Kind;
use super::queue::Ssd;
use crate::Params;

/// The keys of section 2, with every default filled in.
pub(crate) struct Steps {
    step: Step,
    pub(super) suspends_erases: bool,
    pub(super) suspends_programs: bool,
    pub(super) suspend_ns: u64,
    pub(super) resume_ns: u64,
    pub(super) suspend_max: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    WholeBlocks,
    Pages(u64),
    Auto,
}

impl Steps {
    pub(crate) fn of(s: &Params<'_>) -> Steps {
        let suspend = s.text("suspend").unwrap_or("none");
        Steps {
            step: match s.get("gc_step_pages").map(|pages| (pages, pages.as_u64())) {
                None | Some((_, Some(0))) => Step::WholeBlocks,
                Some((_, Some(pages))) => Step::Pages(pages),
                Some((word, None)) => {
                    assert_eq!(word, "auto", "a record has a number or this word");
                    Step::Auto
                }
            },
            suspends_erases: suspend != "none",
            suspends_programs: suspend == "program",
            suspend_ns: s.integer("suspend_ns").unwrap_or(20_000),
            resume_ns: s.integer("resume_ns").unwrap_or(20_000),
            suspend_max: s.integer("suspend_max").unwrap_or(4),
        }
    }
}

/// The open collection of a plane.
#[derive(Clone, Copy)]
pub(crate) struct Open {
    victim: usize,
    /// The write point that opened the victim, by which its pages go on.
    write_point: usize,
    /// Most moves of a step.
    n: u64,
}

impl Ssd {
    /// Makes room before a program on a plane, or after it in the background: whole blocks until
    /// there is room, or one step (4).
    pub(super) fn make_room(&mut self, plane: usize) {
        if self.config.steps.step == Step::WholeBlocks || self.preconditioning {
            self.collect_while_low(plane);
        } else if self.free_pages(plane) <= self.config.gc_low_pages {
            self.collect_step(plane);
        }
    }

    /// Idle collection: a whole block, or one step.
    pub(super) fn collect_idle(&mut self, plane: usize) {
        match self.config.steps.step {
            Step::WholeBlocks => self.collect(plane),
            _ => self.collect_step(plane),
        }
    }

    /// Most pages that a step of a fold moves (4); `None` with whole blocks.
    fn fold_step(&self) -> Option<usize> {
        match self.config.steps.step {
            _ if self.preconditioning => None,
            Step::WholeBlocks => None,
            Step::Pages(n) => Some(usize::try_from(n).expect("few pages")),
            Step::Auto => Some(1),
        }
    }

    /// Folds before a host program to the SLC cache of a plane (`docs/spec/device-today.md` 9.2).
    pub(super) fn fold_for_room(&mut self, plane: usize) {
        if let Some(step) = self.fold_step()
            && self.slc_free_pages(plane) <= self.config.interface.slc_pages_per_block
            && !self.planes[plane].slc_sealed.is_empty()
        {
            self.fold_pages(plane, step);
        }
        if !self.slc_has_room(plane) {
            self.fold(plane);
        }
    }

    /// Folds in idle time: a whole block, or one step.
    pub(super) fn fold_idle(&mut self, plane: usize) {
        self.fold_pages(plane, self.fold_step().unwrap_or(usize::MAX));
    }

    /// The plane has something to collect.
    pub(super) fn has_collection(&self, plane: usize) -> bool {
        self.planes[plane].collecting.is_some() || self.victim(plane).is_some()
    }

    fn step_size(&self, valid: u64) -> u64 {
        match self.config.steps.step {
            Step::Auto => valid.div_ceil(self.config.data_pages - valid).max(1),
            Step::Pages(n) => n,
            Step::WholeBlocks => u64::MAX,
        }
    }

    fn collect_step(&mut self, plane: usize) {
        let open = match self.planes[plane].collecting {
            Some(open) => open,
            None if self.victim(plane).is_none() => return,
            None => {
                let (victim, write_point) = self.begin_collection(plane);
                let n = self.step_size(self.valid_pages(plane, victim).len() as u64);
                Open { victim, write_point, n }
            }
        };
        let valid = self.valid_pages(plane, open.victim);
        for &page in &valid[..self.moves(plane, open.n, valid.len())] {
            self.move_page(plane, open.victim, open.write_point, page);
        }
        let left = self.valid_pages(plane, open.victim).len();
        self.planes[plane].collecting = (left > 0).then_some(open);
        if left == 0 {
            self.end_collection(plane, open.victim);
        }
    }

    /// m of section 3.
    fn moves(&self, plane: usize, n: u64, r: usize) -> usize {
        let m = n.min(r as u64);
        let floor = self.config.interface.write_points() as u64 * self.config.data_pages;
        let after = self.free_pages(plane).checked_sub(m + 1);
        match after.is_some_and(|after| after >= floor) {
            true => usize::try_from(m).expect("at most r"),
            false => r,
        }
    }

    /// Moves a page of a victim (5.4 of `docs/spec/device.md`).
    pub(super) fn move_page(
        &mut self,
        plane: usize,
        victim: usize,
        write_point: usize,
        page: usize,
    ) {
        let lpn = self.planes[plane].blocks[victim].lpn(page);
        let to = self.destination(write_point, lpn);
        let is_map = write_point == self.config.interface.streams();
        self.program(lpn, plane, to, Source::Victim { page: page as u64, block: victim, is_map });
        if is_map {
            return;
        }
        self.note_moved(lpn);
        if !self.preconditioning {
            let handle = self.handles[usize::try_from(lpn).expect("few pages")];
            self.tallies.handle_moves[handle] += 1;
        }
    }

    /// The victim, and those of its valid pages that the step before the next program moves; and
    /// whether the erase follows (5).
    pub(super) fn next_moves(&self, plane: usize) -> (Vec<usize>, bool) {
        let open = self.planes[plane].collecting;
        let victim = open.map_or_else(|| self.next_victim(plane), |open| open.victim);
        let mut valid = self.valid_pages(plane, victim);
        let r = valid.len();
        if self.config.steps.step == Step::WholeBlocks {
            return (valid, true);
        }
        let n = open.map_or_else(|| self.step_size(r as u64), |open| open.n);
        let m = self.moves(plane, n, r);
        valid.truncate(m);
        (valid, m == r)
    }

    /// Valid pages of the block that the next step is about.
    pub(crate) fn valid_pages_of_victim(&self, plane: usize) -> u64 {
        let open = self.planes[plane].collecting;
        let victim = open.map_or_else(|| self.next_victim(plane), |open| open.victim);
        self.valid_pages(plane, victim).len() as u64
    }

    /// Whether the next program on a plane has a collection before it (D 5.3 step 2, 6).
    pub(crate) fn collection_is_due(&self, plane: usize) -> bool {
        self.mapped.is_none()
            && self.config.gc_mode != GcMode::Background
            && self.free_pages(plane) <= self.config.gc_low_pages
            && self.has_collection(plane)
    }

    /// A read has come to a unit: it suspends what is in service if it may (6, rule 1).
    pub(super) fn suspend(&mut self, unit: usize, read: usize) {
        let Some(number) = self.units[unit].in_service else { return };
        let steps = &self.config.steps;
        let (suspend_ns, resume_ns, now) = (steps.suspend_ns, steps.resume_ns, self.now);
        let x = &self.operations[number];
        let named = match x.kind {
            Kind::R { .. } => false,
            Kind::E { .. } => steps.suspends_erases,
            _ => steps.suspends_programs,
        };
        let end = self.end_of_service(&self.units[unit]).expect("in service");
        let may = x.suspensions < steps.suspend_max && end > now + suspend_ns;
        if !named || !may || !self.is_eligible(read) {
            return;
        }
        let x = &mut self.operations[number];
        let rest = x.rest.min(end - now);
        x.serve(end, x.rest - rest);
        x.suspensions += 1;
        // What it occupies its unit for beyond what was planned.
        x.duration += suspend_ns + resume_ns + rest - (end - now);
        self.units[unit].in_service = None;
        self.units[unit].suspended = Some(number);
        self.units[unit].suspending_until = Some(now + suspend_ns);
    }
}
