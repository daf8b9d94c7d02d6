//! A policy that decides alone, as in a run without a device.

use crate::decide::Decider;
use crate::follow::Follower;
use destage_core::{AnyPolicy, Blind, Lookup, Lpn, Op, Page, Plan, Policy, Request};
use std::io;
use std::ops::Range;

/// A policy without an SSD behind it.
pub(crate) struct Alone {
    policy: AnyPolicy,
    plan: Plan, // kept for its memory
    through: bool,
}

impl Alone {
    pub(crate) fn new(policy: AnyPolicy) -> Alone {
        let through = policy.writes_through();
        Alone { policy, plan: Plan::new(), through }
    }
}

impl Decider for Alone {
    fn check(&self) -> io::Result<()> {
        Ok(())
    }

    fn is_timed(&self) -> bool {
        false
    }

    fn writes_through(&self) -> bool {
        self.through
    }

    fn request(
        &mut self,
        _: u64,
        op: Op,
        pages: &Range<u64>,
        follower: &mut Follower<'_>,
    ) -> io::Result<Option<u64>> {
        for page in pages.clone() {
            let r = request(page, op, page == pages.start);
            ask(&mut self.policy, &mut self.plan, &r, follower);
        }
        Ok(None)
    }

    fn trim(
        &mut self,
        _: u64,
        known: &[u64],
        _: Range<u64>,
        forgotten: &mut dyn FnMut(u64, bool),
    ) -> io::Result<Option<u64>> {
        for &page in known {
            if let Some(dirty) = self.policy.forget(Page(page)) {
                forgotten(page, dirty);
            }
        }
        Ok(None)
    }

    fn flush(&mut self, _: u64) -> io::Result<Option<u64>> {
        Ok(None)
    }

    fn policy(&mut self) -> Option<&mut AnyPolicy> {
        Some(&mut self.policy)
    }

    fn hint(&mut self, hits: &[(u64, Op)]) {
        // A hint for all pages before the next: their cache misses overlap.
        hits.iter().for_each(|&(page, _)| self.policy.prefetch(Page(page)));
        hits.iter().for_each(|&(page, _)| self.policy.prefetch_links(Page(page)));
        hits.iter().for_each(|&(page, _)| self.policy.prefetch_neighbours(Page(page)));
    }

    fn hits(&mut self, hits: &[(u64, Op)], follower: &mut Follower<'_>) -> bool {
        for &(page, op) in hits {
            let r = request(page, op, true);
            match self.policy.request(&r) {
                Lookup::Hit(_) => follower.hit(&r),
                found => {
                    self.plan.clear();
                    answered(&mut self.policy, &mut self.plan, &r, found, follower);
                }
            }
        }
        true
    }
}

fn request(page: u64, op: Op, first_of_request: bool) -> Request {
    let mut r = Request::new(Page(page), Lpn(page), op);
    r.first_of_request = first_of_request;
    r
}

/// Asks a policy about one access, as a run without a device does.
fn ask(policy: &mut AnyPolicy, plan: &mut Plan, r: &Request, follower: &mut Follower<'_>) {
    plan.clear();
    let table = follower.table;
    let mut is_done = false;
    let found = match &follower.accesses {
        None => policy.request(r),
        // The frame comes near while the policy looks for the page.
        Some(_) => table.near(r.page.0, |frame| {
            let found = policy.request(r);
            if let (Lookup::Hit(_), Some(frame)) = (&found, frame) {
                follower.hit_in(r, frame);
                is_done = true;
            }
            found
        }),
    };
    if !is_done {
        answered(policy, plan, r, found, follower);
    }
}

/// Does what the policy's answer to an access asks for.
fn answered(
    policy: &mut AnyPolicy,
    plan: &mut Plan,
    r: &Request,
    found: Lookup<()>,
    follower: &mut Follower<'_>,
) {
    let table = follower.table;
    match found {
        Lookup::Hit(_) => follower.hit(r),
        Lookup::Miss(mut miss) => {
            while policy.resident() >= policy.frames() {
                policy.evict(&mut miss, &Blind, plan);
            }
            if let Some(victim) = plan.evicted().last() {
                table.near(victim.page.0, |_| ()); // its frame comes near until it is let go
            }
            policy.admit(r, miss);
            follower.admitted(r, plan);
        }
        Lookup::Bypass => {
            if r.op.is_write() {
                plan.write_through(r.page);
            }
            follower.bypassed(r, plan);
        }
    }
}
