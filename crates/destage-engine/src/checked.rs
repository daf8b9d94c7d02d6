//! Asserts the laws that hold for every policy, whatever it decides.
//!
//! [`Checked`] wraps a policy, is itself one, and keeps a shadow: which pages are resident, and
//! which of them are dirty, as follows from what the policy has answered so far. Each answer is
//! compared with it:
//!
//! * an access hits if and only if its page is resident, and a page keeps its slot;
//! * a write is never bypassed, since nothing would hold it then, unless the policy writes through;
//! * the buffer never holds more pages than it has frames;
//! * an eviction gives up at least one page, only resident ones, each once and with its dirty bit;
//! * every dirty page is resident or was flushed; what is flushed was dirty, and if it is kept, it
//!   is clean from now on;
//! * the pages of a flush group ascend, and so do those that complete it, which say truly whether
//!   the buffer holds them;
//! * a trimmed page was dirty, clean or not resident as the policy says, and none of the lists that
//!   the policy shows names it until it is accessed again;
//! * `resident`, `for_each_resident` and `dirty_pages` tell the same as the shadow;
//! * the policy's own [`Policy::check`] holds.
//!
//! The last two cost time in proportion to the frames, and are looked at every so many accesses.
//!
//! The caller is checked too: it evicts only while every frame is taken, and admits the page that
//! missed, into a free frame.
//!
//! The first violation is kept as a value. From then on the policy is out of service: it is not
//! called any more, and every access is a bypass, so that a run still ends, even one whose policy
//! gives up nothing.

use destage_core::{
    Completion, DeviceView, Directory, Lookup, Lpn, Page, Part, Plan, Policy, Request,
    Requirements, Slot, UnitId, VictimList,
};
use shadow::{Shadow, ShadowPage};
use std::collections::HashSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

mod shadow;
#[cfg(test)]
mod tests;
mod trims;

/// A law that a policy has broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Number of the access, from 0.
    pub access: u64,
    /// The call that broke it: `request`, `evict`, `admit`, ...
    pub call: &'static str,
    /// The violation, as a sentence without its full stop.
    pub law: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "access {}, {}: {}", self.access, self.call, self.law)
    }
}

impl std::error::Error for Violation {}

/// A policy under watch.
pub struct Checked<P> {
    inner: P,
    shadow: Shadow,
    every: u64,
    accesses: u64,  // begun
    evictions: u64, // calls of `evict` and `idle`
    missed: Option<Page>,
    trimmed: HashSet<Page>, // and not accessed since
    call: &'static str,     // that is going on
    violation: Option<Violation>,
}

impl<P: Policy> Checked<P> {
    /// Watches an empty policy; compares whole contents and calls [`Policy::check`] after every
    /// `every` accesses (at least 1).
    pub fn new(policy: P, every: u64) -> Self {
        Checked {
            inner: policy,
            shadow: Shadow::default(),
            every: every.max(1),
            accesses: 0,
            evictions: 0,
            missed: None,
            trimmed: HashSet::new(),
            call: "request",
            violation: None,
        }
    }

    /// The first violation, if there was one.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// The policy.
    pub fn policy(&self) -> &P {
        &self.inner
    }

    /// Compares whole contents a last time. The policy, or the first violation.
    pub fn finish(mut self) -> Result<P, Violation> {
        if self.violation.is_none() {
            let whole = self.whole();
            self.judge(whole);
        }
        match self.violation {
            None => Ok(self.inner),
            Some(violation) => Err(violation),
        }
    }

    /// Keeps the first violation, under the number of the access that is going on.
    fn judge(&mut self, outcome: Result<(), String>) {
        if let (Err(law), None) = (outcome, &self.violation) {
            let access = self.accesses.saturating_sub(1);
            self.violation = Some(Violation { access, call: self.call, law });
        }
    }

    /// Checks that are cheap enough for every call.
    fn counts(&self) -> Result<(), String> {
        let (says, holds, frames) =
            (self.inner.resident(), self.shadow.resident, self.inner.frames());
        if says != holds {
            return Err(format!("the policy says that {says} pages are resident: {holds} are"));
        }
        if holds > frames {
            return Err(format!("{holds} pages are resident in {frames} frames"));
        }
        Ok(())
    }

    /// Everything: each resident page and its dirty bit, and the policy's own invariants.
    fn whole(&mut self) -> Result<(), String> {
        self.counts()?;
        let (shadow, inner) = (&self.shadow, &self.inner);
        let mut seen = vec![false; shadow.held.len()];
        let mut outcome = Ok(());
        let mut dirty_pages = 0_u64;
        inner.for_each_resident(&mut |page, dirty| {
            dirty_pages += u64::from(dirty);
            if outcome.is_ok() {
                outcome = match shadow.pages.slot(page).map(Slot::index) {
                    None => Err(format!("page {} is among the resident ones: it is not", page.0)),
                    Some(i) if std::mem::replace(&mut seen[i], true) => {
                        Err(format!("page {} is resident twice", page.0))
                    }
                    Some(i) if shadow.held[i].dirty != dirty => Err(format!(
                        "page {} is kept as {}: it is {}",
                        page.0,
                        state(dirty),
                        state(!dirty)
                    )),
                    Some(_) => Ok(()),
                };
            }
        });
        outcome?;
        let visited = seen.iter().filter(|&&seen| seen).count();
        if visited != shadow.resident as usize {
            return Err(format!(
                "{visited} resident pages are shown of {}: one is lost",
                shadow.resident
            ));
        }
        self.shows_no_trimmed_page()?;
        let counted = inner.dirty_pages();
        if counted != dirty_pages {
            return Err(format!(
                "the policy says that {counted} pages are dirty: {dirty_pages} are"
            ));
        }
        catch_unwind(AssertUnwindSafe(|| inner.check())).map_err(|panic| {
            let message = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("an assertion failed");
            format!("the policy's own check: {message}")
        })
    }

    /// An access is over.
    fn end_access(&mut self) -> Result<(), String> {
        self.counts()?;
        if self.accesses.is_multiple_of(self.every) { self.whole() } else { Ok(()) }
    }

    fn looked_up(&mut self, r: &Request, found: &Lookup<P::Miss>) -> Result<(), String> {
        let page = r.page.0;
        match (found, self.shadow.find(r.page)) {
            (Lookup::Hit(slot), Some(held)) => {
                if *slot != held.slot {
                    return Err(format!(
                        "page {page} was admitted to slot {} and hits in slot {}",
                        held.slot.0, slot.0
                    ));
                }
                held.dirty |= r.op.is_write();
                self.end_access()
            }
            (Lookup::Hit(_), None) => Err(format!("page {page} hits: it is not resident")),
            (_, Some(_)) => Err(format!("page {page} misses: it is resident")),
            (Lookup::Miss(_), None) => {
                self.missed = Some(r.page);
                self.counts()
            }
            (Lookup::Bypass, None) if r.op.is_write() && !self.inner.writes_through() => {
                Err(format!("the write of page {page} is bypassed: it is lost"))
            }
            (Lookup::Bypass, None) => self.end_access(),
        }
    }

    /// Holds the flush groups that a call has added to the plan against the shadow.
    fn flushed(&mut self, plan: &Plan, groups: usize) -> Result<(), String> {
        self.evictions += 1;
        for (flushed, padded) in plan.groups().skip(groups) {
            let mut last = None;
            for &page in flushed {
                let number = page.0;
                let now = self.evictions;
                let Some(held) = self.shadow.find(page) else {
                    return Err(format!("page {number} is flushed: it is not resident"));
                };
                if !std::mem::replace(&mut held.dirty, false) {
                    return Err(format!("page {number} is flushed: it is clean"));
                }
                held.flushed_by = now;
                ascend(&mut last, held.lpn)?;
            }
            if last.is_none() {
                return Err("a flush group has no page of the buffer".to_string());
            }
            let mut last = None;
            for pad in padded.iter() {
                let lpn = pad.lpn.0;
                let held = self.shadow.find_lpn(pad.lpn);
                if held.is_some_and(|held| held.flushed_by == self.evictions) {
                    return Err(format!("LPN {lpn} is padded: it is flushed as well"));
                }
                if held.is_some() != pad.in_buffer {
                    let is = if held.is_some() { "is" } else { "is not" };
                    return Err(format!("LPN {lpn} is padded: it {is} in the buffer"));
                }
                ascend(&mut last, pad.lpn)?;
            }
        }
        Ok(())
    }

    /// Holds what an eviction has added to the plan against the shadow.
    fn given_up(&mut self, plan: &Plan, evicted: usize, groups: usize) -> Result<(), String> {
        self.flushed(plan, groups)?;
        let evicted = &plan.evicted()[evicted..];
        if evicted.is_empty() {
            return Err("an eviction gives up no page".to_string());
        }
        for e in evicted {
            let (page, now) = (e.page.0, self.evictions);
            let Some(held) = self.shadow.find(e.page) else {
                return Err(format!("page {page} is evicted: it is not resident"));
            };
            let was_dirty = held.dirty || held.flushed_by == now;
            if e.dirty != was_dirty {
                let (says, was) = (state(e.dirty), state(was_dirty));
                return Err(format!("page {page} is evicted as {says}: it is {was}"));
            }
            if held.dirty {
                return Err(format!("page {page} is evicted: it is dirty and was not flushed"));
            }
            self.shadow.remove(e.page);
        }
        self.counts()
    }
}

fn state(dirty: bool) -> &'static str {
    if dirty { "dirty" } else { "clean" }
}

fn ascend(last: &mut Option<Lpn>, lpn: Lpn) -> Result<(), String> {
    match last.replace(lpn) {
        Some(before) if before >= lpn => {
            Err(format!("LPN {} follows LPN {} in a flush group", lpn.0, before.0))
        }
        _ => Ok(()),
    }
}

impl<P: Policy> Policy for Checked<P> {
    type Miss = P::Miss;

    const REQUIREMENTS: Requirements = P::REQUIREMENTS;

    fn requirements(&self) -> Requirements {
        self.inner.requirements()
    }

    fn writes_through(&self) -> bool {
        self.inner.writes_through()
    }

    const ORDERED: bool = P::ORDERED;

    const READS_LPN: bool = P::READS_LPN;

    fn request(&mut self, r: &Request) -> Lookup<P::Miss> {
        if self.violation.is_some() {
            return Lookup::Bypass;
        }
        self.accesses += 1;
        self.call = "request";
        if !self.trimmed.is_empty() {
            self.trimmed.remove(&r.page);
        }
        let found = self.inner.request(r);
        let outcome = self.looked_up(r, &found);
        self.judge(outcome);
        if self.violation.is_some() { Lookup::Bypass } else { found }
    }

    fn evict(&mut self, miss: &mut P::Miss, device: &dyn DeviceView, plan: &mut Plan) {
        if self.violation.is_some() {
            return;
        }
        if self.shadow.resident < self.inner.frames() {
            return self.judge(Err("evict is called while a frame is free".to_string()));
        }
        self.call = "evict";
        // The caller may collect the evictions of several accesses in one plan.
        let (evicted, groups) = (plan.evicted().len(), plan.group_count());
        self.inner.evict(miss, device, plan);
        let outcome = self.given_up(plan, evicted, groups);
        self.judge(outcome);
    }

    fn admit(&mut self, r: &Request, miss: P::Miss) -> Slot {
        if self.violation.is_none() && self.missed.take() != Some(r.page) {
            self.judge(Err(format!("page {} is admitted: it did not miss", r.page.0)));
        }
        if self.violation.is_none() && self.shadow.resident >= self.inner.frames() {
            self.judge(Err(format!("page {} is admitted: no frame is free", r.page.0)));
        }
        if self.violation.is_some() {
            return Slot(0);
        }
        self.call = "admit";
        let slot = self.inner.admit(r, miss);
        let held = ShadowPage { lpn: r.lpn, dirty: r.op.is_write(), slot, flushed_by: 0 };
        self.shadow.insert(r.page, held);
        let outcome = self.end_access();
        self.judge(outcome);
        slot
    }

    fn frames(&self) -> u32 {
        self.inner.frames()
    }

    /// 0 once the policy is out of service: there is room for ever.
    fn resident(&self) -> u32 {
        if self.violation.is_some() { 0 } else { self.inner.resident() }
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.inner.for_each_resident(visit);
    }

    fn dirty_pages(&self) -> u64 {
        self.inner.dirty_pages()
    }

    fn counts_operations(&self) -> bool {
        self.inner.counts_operations()
    }

    fn fetched(&mut self, completion: &Completion) {
        self.inner.fetched(completion);
    }

    fn destaged(&mut self, completion: &Completion) {
        self.inner.destaged(completion);
    }

    fn counters(&self, count: &mut dyn FnMut(&'static str, u64)) {
        self.inner.counters(count);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.inner.gauges(show);
    }

    fn keep_periods(&mut self) {
        self.inner.keep_periods();
    }

    fn inside(&self) -> Vec<(&'static str, Part)> {
        self.inner.inside()
    }

    fn next_victims(&self, show: &mut dyn FnMut(Page, bool) -> bool) {
        self.inner.next_victims(show);
    }

    fn show_list(
        &self,
        list: VictimList,
        newest_first: bool,
        show: &mut dyn FnMut(Page, bool) -> bool,
    ) {
        self.inner.show_list(list, newest_first, show);
    }

    fn keep_order(&mut self) {
        self.inner.keep_order();
    }

    fn cleaned(&mut self, page: Page) {
        if self.violation.is_some() {
            return;
        }
        let outcome = match self.shadow.find(page) {
            None => Err(format!("page {} is written: it is not resident", page.0)),
            Some(held) if held.dirty => {
                held.dirty = false;
                self.inner.cleaned(page);
                Ok(())
            }
            Some(_) => Err(format!("page {} is written: it is clean", page.0)),
        };
        self.judge(outcome);
    }

    fn idle(&mut self, unit: UnitId, device: &dyn DeviceView, plan: &mut Plan) {
        if self.violation.is_some() {
            return;
        }
        self.call = "idle";
        let (evicted, groups) = (plan.evicted().len(), plan.group_count());
        self.inner.idle(unit, device, plan);
        let outcome = match (plan.evicted().get(evicted), plan.pad_runs().first()) {
            (Some(e), _) => Err(format!("page {} is evicted while there is no miss", e.page.0)),
            (None, Some(run)) => Err(format!("page {} is padded while a unit idles", run.first.0)),
            (None, None) => self.flushed(plan, groups).and_then(|()| self.counts()),
        };
        self.judge(outcome);
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        if self.violation.is_some() {
            return None;
        }
        self.call = "forget";
        let held = self.shadow.find(page).map(|held| held.dirty);
        let forgotten = self.inner.forget(page);
        let outcome = self.trimmed(page, held, forgotten);
        self.judge(outcome);
        forgotten
    }

    fn forgets(&self) -> bool {
        self.inner.forgets()
    }

    #[inline(always)]
    fn prefetch(&self, page: Page) {
        self.inner.prefetch(page);
    }

    #[inline(always)]
    fn prefetch_links(&self, page: Page) {
        self.inner.prefetch_links(page);
    }

    #[inline(always)]
    fn prefetch_neighbours(&self, page: Page) {
        self.inner.prefetch_neighbours(page);
    }

    fn check(&self) {
        if let Some(violation) = &self.violation {
            panic!("{violation}");
        }
        self.inner.check();
    }
}
