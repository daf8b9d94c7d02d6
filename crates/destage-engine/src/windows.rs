//! A run in parts: what was counted in each sixtieth of it.
//!
//! Sixty, because a tenth of the run is then six windows, a half thirty, and a bootstrap has twelve
//! blocks of five to draw from.

use crate::counters::Counters;
use destage_core::{Nanos, Op};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Windows that a run is cut into.
pub const WINDOWS: usize = 60;

/// Requests below which a run is not cut: windows of a handful of requests say nothing.
pub const LEAST_REQUESTS: u64 = 10 * WINDOWS as u64;

/// Requests of a run, cut into windows of equal numbers (to one request).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cuts {
    first: u64,
    requests: u64,
}

impl Cuts {
    pub(crate) fn of(requests: Range<u64>) -> Self {
        Cuts { first: requests.start, requests: requests.end.saturating_sub(requests.start) }
    }

    /// The first request of a window; of the one behind the last: the one behind the last.
    pub(crate) fn start(&self, window: usize) -> u64 {
        let past = u128::from(self.requests) * window as u128 / WINDOWS as u128;
        self.first + past as u64 // at most `requests`
    }

    /// The window of a request that is one of them.
    fn window(&self, request: u64) -> usize {
        let past = u128::from(request - self.first) + 1;
        ((past * WINDOWS as u128 - 1) / u128::from(self.requests)) as usize
    }
}

/// What was counted in one window.
#[derive(Clone, Copy, Default, Debug)]
pub struct Window {
    /// Requests; rows of the trace in a run without a device.
    pub requests: u64,
    /// Page accesses and what came of them; end flushes come after the last window.
    pub counters: Counters,
    /// By its end every frame had been taken.
    pub was_full: bool,
    /// Responses of the requests that it issued, with a device.
    pub responses: Responses,
}

/// Response times of a window.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Responses {
    reads: u64,
    read_ns: Nanos,
    all: u64,
    all_ns: Nanos,
}

impl Responses {
    #[inline]
    fn add(&mut self, op: Op, ns: Nanos) {
        if op == Op::Read {
            self.reads += 1;
            self.read_ns = self.read_ns.saturating_add(ns);
        }
        self.all += 1;
        self.all_ns = self.all_ns.saturating_add(ns);
    }
}

/// Collects windows while a run goes on.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    cuts: Cuts,
    next: u64, // the request that begins the next window
    seen: Counters,
    windows: Vec<Window>,
    open: Window,
    was_full: bool,
    was_full_before: bool,
}

impl Parts {
    /// Nothing is counted yet.
    pub(crate) fn none() -> Self {
        Parts {
            cuts: Cuts::of(0..0),
            next: u64::MAX,
            seen: Counters::default(),
            windows: Vec::new(),
            open: Window::default(),
            was_full: false,
            was_full_before: false,
        }
    }

    /// These requests count; whether every frame had been taken before.
    pub(crate) fn begin(&mut self, requests: Range<u64>, was_full: bool) {
        let cuts = Cuts::of(requests);
        *self = Parts { cuts, was_full, was_full_before: was_full, ..Parts::none() };
        self.next = cuts.start(1);
    }

    /// A request is about to be issued: is it the first of a window?
    #[inline(always)]
    pub(crate) fn is_cut(&self, request: u64) -> bool {
        request >= self.next
    }

    /// All that was counted before this request belongs to earlier windows.
    pub(crate) fn cut(&mut self, request: u64, counted: &Counters, is_full: bool) {
        while self.windows.len() < WINDOWS && self.is_cut(request) {
            let counters = counted.since(&self.seen);
            // A policy that gives up whole blocks is hardly ever full, but it has been.
            self.was_full |= is_full || counters.evictions > 0;
            self.seen = *counted;
            let window = self.windows.len();
            let requests = self.next - self.cuts.start(window);
            let was_full = self.was_full;
            self.windows.push(Window { requests, counters, was_full, ..self.open });
            self.open = Window::default();
            self.next = self.cuts.start(window + 2);
        }
    }

    /// A request of the open window has been served.
    #[inline]
    pub(crate) fn respond(&mut self, op: Op, ns: Nanos) {
        self.open.responses.add(op, ns);
    }

    /// One of an earlier window, perhaps.
    pub(crate) fn respond_late(&mut self, request: u64, op: Op, ns: Nanos) {
        let window = self.cuts.window(request);
        self.windows.get_mut(window).unwrap_or(&mut self.open).responses.add(op, ns);
    }

    /// The windows, if there are enough requests for them; `physical` completes their counters.
    pub(crate) fn finish(
        self,
        is_timed: bool,
        physical: impl Fn(&mut Counters),
    ) -> Option<Windows> {
        let is_cut = self.cuts.requests >= LEAST_REQUESTS && self.windows.len() == WINDOWS;
        is_cut.then(|| Windows::of(self, is_timed, physical))
    }
}

/// The windows of a run as a result keeps them, a number for each in every list.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Windows {
    /// Share of what was counted after which every frame had been taken, 0..1, to a window; `None`:
    /// that was never so.
    pub filled_after: Option<f64>,
    /// Requests; rows of the trace in a run without a device.
    pub requests: Vec<u64>,
    /// Page accesses.
    pub accesses: Vec<u64>,
    /// Those that found their page.
    pub hits: Vec<u64>,
    /// Accesses that read.
    pub read_accesses: Vec<u64>,
    /// Those that found their page.
    pub read_hits: Vec<u64>,
    /// Pages read from flash.
    pub physical_reads: Vec<u64>,
    /// Pages written to flash; end flushes come after the last window.
    pub physical_writes: Vec<u64>,
    /// With a device: sum of the response times of the requests that were issued, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_ns_sum: Option<Vec<u64>>,
    /// With a device: requests that read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_requests: Option<Vec<u64>>,
    /// With a device: sum of their response times, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_response_ns_sum: Option<Vec<u64>>,
}

impl Windows {
    fn of(parts: Parts, is_timed: bool, physical: impl Fn(&mut Counters)) -> Self {
        let Parts { mut windows, was_full_before, .. } = parts;
        windows.iter_mut().for_each(|window| physical(&mut window.counters));
        let filled = windows.iter().position(|window| window.was_full);
        let after = filled.map(|window| (window + 1) as f64 / WINDOWS as f64);
        let each = |of: &dyn Fn(&Window) -> u64| windows.iter().map(of).collect::<Vec<_>>();
        let timed = |of: &dyn Fn(&Window) -> u64| is_timed.then(|| each(of));
        Windows {
            filled_after: if was_full_before { Some(0.0) } else { after },
            requests: each(&|w| w.requests),
            accesses: each(&|w| w.counters.accesses()),
            hits: each(&|w| w.counters.hits()),
            read_accesses: each(&|w| w.counters.read_hits + w.counters.read_misses),
            read_hits: each(&|w| w.counters.read_hits),
            physical_reads: each(&|w| w.counters.physical_reads),
            physical_writes: each(&|w| w.counters.physical_writes),
            response_ns_sum: timed(&|w| w.responses.all_ns),
            read_requests: timed(&|w| w.responses.reads),
            read_response_ns_sum: timed(&|w| w.responses.read_ns),
        }
    }

    /// The cache took longer than half of what was counted to fill, or never did.
    pub fn is_filling(&self) -> bool {
        self.filled_after.is_none_or(|after| after > 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_request_is_in_the_window_that_its_cuts_say(
            first in 0u64..1000, requests in 1u64..5000, share in 0.0f64..1.0
        ) {
            let cuts = Cuts::of(first..first + requests);
            let request = first + (share * requests as f64) as u64;
            let window = cuts.window(request);
            prop_assert!(window < WINDOWS);
            prop_assert!((cuts.start(window)..cuts.start(window + 1)).contains(&request));
            prop_assert_eq!((cuts.start(0), cuts.start(WINDOWS)), (first, first + requests));
        }
    }

    #[test]
    fn windows_hold_what_was_counted_between_their_cuts_and_late_responses_too() {
        let mut parts = Parts::none();
        parts.begin(100..700, false);
        let mut counted = Counters::default();
        for request in 100..700 {
            if parts.is_cut(request) {
                parts.cut(request, &counted, request >= 400);
            }
            counted.read_hits += 1;
            if request % 2 == 0 {
                parts.respond(Op::Read, request);
            }
        }
        parts.cut(700, &counted, true);
        (100..700).filter(|r| r % 2 == 1).for_each(|r| parts.respond_late(r, Op::Write, r));
        let windows = parts.finish(true, |_| ()).unwrap();
        assert_eq!(windows.requests, [10; WINDOWS]);
        assert_eq!(windows.hits, [10; WINDOWS]);
        assert_eq!(windows.read_requests, Some(vec![5; WINDOWS]));
        let sums: Vec<u64> = (0..60).map(|w| (100 + 10 * w..110 + 10 * w).sum()).collect();
        assert_eq!(windows.response_ns_sum, Some(sums));
        assert_eq!(windows.filled_after, Some(0.5));
        assert!(!windows.is_filling());
    }
}
