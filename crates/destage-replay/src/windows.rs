//! A run in parts: what was counted in each sixtieth of it.
//!
//! Sixty, because a tenth of the run is then six windows, a half thirty, and a bootstrap has twelve
//! blocks of five to draw from.

use crate::coarse_histogram::CoarseHistogram;
use crate::counters::Counters;
use crate::distribution::Summary;
use crate::tiers::counters::LowerCounters;
use crate::timing::Timing;
use destage_core::{Nanos, Op};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// Windows that a run is cut into.
pub const WINDOWS: usize = 60;

/// Requests below which a run is not cut: windows of a handful of requests say nothing.
pub const LEAST_REQUESTS: u64 = 10 * WINDOWS as u64;

/// Requests of a run, cut into windows of equal numbers (to one request).
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowBounds {
    first: u64,
    requests: u64,
}

impl WindowBounds {
    pub(crate) fn of(requests: Range<u64>) -> Self {
        WindowBounds {
            first: requests.start,
            requests: requests.end.saturating_sub(requests.start),
        }
    }

    /// The first request of a window; of the one behind the last: the one behind the last.
    pub(crate) fn start(&self, window: usize) -> u64 {
        let past = u128::from(self.requests) * window as u128 / WINDOWS as u128;
        self.first + past as u64 // at most `requests`
    }

    /// The window of a request that is one of them; `None` if nothing is cut: a live run knows no
    /// end.
    fn window(&self, request: u64) -> Option<usize> {
        let past = u128::from(request - self.first) + 1;
        let window = (past * WINDOWS as u128 - 1).checked_div(u128::from(self.requests))?;
        Some(window as usize) // below `WINDOWS`
    }
}

/// Work of a drive by an instant.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlashWork {
    /// The instant: when a request was issued.
    pub at_ns: Nanos,
    /// Programs for the host.
    pub host_programs: u64,
    /// Programs of all kinds.
    pub programs: u64,
    /// Erase blocks erased.
    pub erases: u64,
    /// Sum of the times that programs for the host waited in their unit's queue.
    pub wait_ns: Nanos,
    /// Dirty evictions whose unit was collecting.
    pub in_gc: u64,
    /// Sum of the unbalance rates at dirty evictions, thousandths.
    pub unbalance_permille: u64,
    /// Dirty evictions that had such a rate.
    pub unbalance_samples: u64,
}

impl FlashWork {
    /// Work since `before`.
    fn since(self, before: FlashWork) -> FlashWork {
        FlashWork {
            at_ns: self.at_ns.saturating_sub(before.at_ns),
            host_programs: self.host_programs - before.host_programs,
            programs: self.programs - before.programs,
            erases: self.erases - before.erases,
            wait_ns: self.wait_ns - before.wait_ns,
            in_gc: self.in_gc - before.in_gc,
            unbalance_permille: self.unbalance_permille - before.unbalance_permille,
            unbalance_samples: self.unbalance_samples - before.unbalance_samples,
        }
    }
}

/// Counts of one window.
#[derive(Clone, Default, Debug)]
pub struct Window {
    /// Requests; rows of the trace in a run without a device.
    pub requests: u64,
    /// Page accesses and what came of them; end flushes come after the last window.
    pub counters: Counters,
    /// By its end every frame had been taken.
    pub was_full: bool,
    /// Work of the drive, with a device.
    pub flash: FlashWork,
    /// Responses of the requests that it issued, with a device.
    pub responses: Responses,
}

/// Response times of a window.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Responses {
    reads: u64,
    read_ns: Nanos,
    all_ns: Nanos,
    read_spread: CoarseHistogram,
    write_spread: CoarseHistogram,
}

impl Responses {
    #[inline]
    fn add(&mut self, op: Op, ns: Nanos) {
        if op == Op::Read {
            self.reads += 1;
            self.read_ns = self.read_ns.saturating_add(ns);
            self.read_spread.add(ns);
        } else {
            self.write_spread.add(ns);
        }
        self.all_ns = self.all_ns.saturating_add(ns);
    }
}

/// Collects windows while a run goes on.
#[derive(Clone, Debug)]
pub struct WindowCounts {
    cuts: WindowBounds,
    next: u64, // the request that begins the next window
    seen: Counters,
    flash_seen: FlashWork,
    windows: Vec<Window>,
    open: Window,
    was_full: bool,
    was_full_before: bool,
}

impl WindowCounts {
    /// Nothing is counted yet.
    pub(crate) fn none() -> Self {
        WindowCounts {
            cuts: WindowBounds::of(0..0),
            next: u64::MAX,
            seen: Counters::default(),
            flash_seen: FlashWork::default(),
            windows: Vec::new(),
            open: Window::default(),
            was_full: false,
            was_full_before: false,
        }
    }

    /// These requests count; whether every frame had been taken before, and what the drive had
    /// done.
    pub(crate) fn begin(&mut self, requests: Range<u64>, was_full: bool, flash_seen: FlashWork) {
        let cuts = WindowBounds::of(requests);
        *self = WindowCounts {
            cuts,
            was_full,
            was_full_before: was_full,
            flash_seen,
            ..WindowCounts::none()
        };
        self.next = cuts.start(1);
    }

    /// A request is about to be issued: is it the first of a window?
    #[inline(always)]
    pub(crate) fn is_cut(&self, request: u64) -> bool {
        request >= self.next
    }

    /// All that was counted before this request belongs to earlier windows.
    pub(crate) fn cut(
        &mut self,
        request: u64,
        counted: &Counters,
        flash: FlashWork,
        is_full: bool,
    ) {
        while self.windows.len() < WINDOWS && self.is_cut(request) {
            let counters = counted.since(&self.seen);
            // A policy that gives up whole blocks is hardly ever full, but it has been.
            self.was_full |= is_full || counters.evictions > 0;
            self.seen = *counted;
            let done = flash.since(std::mem::replace(&mut self.flash_seen, flash));
            let window = self.windows.len();
            let requests = self.next - self.cuts.start(window);
            let was_full = self.was_full;
            let Window { responses, .. } = std::mem::take(&mut self.open);
            self.windows.push(Window { requests, counters, was_full, flash: done, responses });
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
        let cut = self.cuts.window(request).and_then(|window| self.windows.get_mut(window));
        cut.unwrap_or(&mut self.open).responses.add(op, ns);
    }

    /// The windows, if there are enough requests for them; `physical` completes their counters.
    pub fn finish(
        self,
        timing: Option<&Timing>,
        physical: &dyn Fn(&mut Counters),
    ) -> Option<Windows> {
        let is_cut = self.cuts.requests >= LEAST_REQUESTS && self.windows.len() == WINDOWS;
        is_cut.then(|| Windows::of(self, timing, physical))
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
    /// Page accesses that found their page resident.
    pub hits: Vec<u64>,
    /// Accesses that read.
    pub read_accesses: Vec<u64>,
    /// Read accesses that found their page resident.
    pub read_hits: Vec<u64>,
    /// Pages read from flash.
    pub physical_reads: Vec<u64>,
    /// Pages written to flash; end flushes come after the last window.
    pub physical_writes: Vec<u64>,
    /// With a flash tier: page accesses that found their page in a tier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overall_hits: Option<Vec<u64>>,
    /// With a flash tier: pages read from the backing store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing_reads: Option<Vec<u64>>,
    /// With prefix semantics: counts of blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kv: Option<KvWindows>,
    /// With a device: sum of the response times of the requests that were issued, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_ns_sum: Option<Vec<u64>>,
    /// With a device: time from the issue of a window's first request to that of the next window's,
    /// of the last window to that of its last request, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_ns: Option<Vec<u64>>,
    /// With a device: requests that read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_requests: Option<Vec<u64>>,
    /// With a device: sum of their response times, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_response_ns_sum: Option<Vec<u64>>,
    /// With a device, what it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash: Option<FlashWindows>,
    /// With a device, for each percentile of a run's response times: requests above the percentile;
    /// ties in its bin split pro rata.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests_beyond: BTreeMap<String, Vec<f64>>,
}

/// Blocks of a language model's requests in the windows of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct KvWindows {
    /// Blocks of prompts.
    pub blocks: Vec<u64>,
    /// Blocks of cached prefixes.
    pub hit_blocks: Vec<u64>,
    /// Requests whose whole prompt was cached.
    pub full_hits: Vec<u64>,
    /// Cached blocks behind one that was missing.
    pub stranded_blocks: Vec<u64>,
    /// Blocks that tier 1 took in.
    pub insertions: Vec<u64>,
}

/// Work of a drive in the windows of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlashWindows {
    /// Programs for the host.
    pub host_programs: Vec<u64>,
    /// Programs of all kinds.
    pub programs: Vec<u64>,
    /// Erase blocks erased.
    pub erases: Vec<u64>,
    /// Pages that were evicted.
    pub evictions: Vec<u64>,
    /// Evicted pages that were dirty.
    pub dirty_victims: Vec<u64>,
    /// Dirty pages that were destaged, evicted ones and pages that stay.
    pub write_backs: Vec<u64>,
    /// Destaged pages whose unit was collecting garbage.
    pub write_backs_in_gc: Vec<u64>,
    /// Sum of the destaged pages' waits in their unit's queue, nanoseconds.
    pub eviction_wait_ns_sum: Vec<u64>,
    /// Sum of the unbalance rates at destages, thousandths.
    pub unbalance_permille_sum: Vec<u64>,
    /// Destages with a busy unit, for which the rate is defined.
    pub unbalance_samples: Vec<u64>,
}

/// Percentiles whose requests are counted in the windows, and the share of each.
const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];

/// The percentile of a distribution that has this name.
fn percentile(of: &Summary, name: &str) -> u64 {
    match name {
        "p50" => of.p50,
        "p90" => of.p90,
        "p95" => of.p95,
        "p99" => of.p99,
        _ => of.p999,
    }
}

impl Windows {
    fn of(parts: WindowCounts, timing: Option<&Timing>, physical: &dyn Fn(&mut Counters)) -> Self {
        let WindowCounts { mut windows, was_full_before, .. } = parts;
        windows.iter_mut().for_each(|window| physical(&mut window.counters));
        let filled = windows.iter().position(|window| window.was_full);
        let after = filled.map(|window| (window + 1) as f64 / WINDOWS as f64);
        let each = |of: &dyn Fn(&Window) -> u64| windows.iter().map(of).collect::<Vec<_>>();
        let timed = |of: &dyn Fn(&Window) -> u64| timing.map(|_| each(of));
        let has_tiers = windows.iter().any(|w| w.counters.tiers != LowerCounters::default());
        let tiered = |of: &dyn Fn(&Window) -> u64| has_tiers.then(|| each(of));
        Windows {
            filled_after: if was_full_before { Some(0.0) } else { after },
            requests: each(&|w| w.requests),
            accesses: each(&|w| w.counters.accesses()),
            hits: each(&|w| w.counters.hits()),
            read_accesses: each(&|w| w.counters.read_hits + w.counters.read_misses),
            read_hits: each(&|w| w.counters.read_hits),
            physical_reads: each(&|w| w.counters.physical_reads),
            physical_writes: each(&|w| w.counters.physical_writes),
            overall_hits: tiered(&|w| w.counters.hits() + w.counters.tiers.hits()),
            backing_reads: tiered(&|w| w.counters.tiers.backing_reads()),
            kv: windows.iter().any(|w| w.counters.kv.blocks > 0).then(|| KvWindows {
                blocks: each(&|w| w.counters.kv.blocks),
                hit_blocks: each(&|w| w.counters.kv.hit_blocks),
                full_hits: each(&|w| w.counters.kv.full_hits),
                stranded_blocks: each(&|w| w.counters.kv.stranded_blocks),
                insertions: each(&|w| w.counters.kv.insertions),
            }),
            response_ns_sum: timed(&|w| w.responses.all_ns),
            span_ns: timed(&|w| w.flash.at_ns),
            read_requests: timed(&|w| w.responses.reads),
            read_response_ns_sum: timed(&|w| w.responses.read_ns),
            flash: timing.map(|_| FlashWindows {
                host_programs: each(&|w| w.flash.host_programs),
                programs: each(&|w| w.flash.programs),
                erases: each(&|w| w.flash.erases),
                evictions: each(&|w| w.counters.evictions),
                dirty_victims: each(&|w| w.counters.dirty_victims()),
                write_backs: each(&|w| w.counters.destaged_pages),
                write_backs_in_gc: each(&|w| w.flash.in_gc),
                eviction_wait_ns_sum: each(&|w| w.flash.wait_ns),
                unbalance_permille_sum: each(&|w| w.flash.unbalance_permille),
                unbalance_samples: each(&|w| w.flash.unbalance_samples),
            }),
            requests_beyond: timing.map_or_else(BTreeMap::new, |timing| beyond(&windows, timing)),
        }
    }
}

/// Requests beyond the percentiles of all, and beyond the 99th of reads and of writes.
fn beyond(windows: &[Window], timing: &Timing) -> BTreeMap<String, Vec<f64>> {
    let mut lists = BTreeMap::new();
    let mut add =
        |kind: &str, of: &Option<Summary>, names: &[&str], spreads: Vec<CoarseHistogram>| {
            let Some(of) = of else { return };
            for &(name, share) in PERCENTILES.iter().filter(|(name, _)| names.contains(name)) {
                let list = CoarseHistogram::beyond(&spreads, percentile(of, name), share);
                lists.insert(format!("{kind}_{name}"), list);
            }
        };
    let each = |of: &dyn Fn(&Responses) -> CoarseHistogram| -> Vec<CoarseHistogram> {
        windows.iter().map(|window| of(&window.responses)).collect()
    };
    let all = each(&|r| r.read_spread.with(&r.write_spread));
    add("response_ns", &timing.response_ns, &PERCENTILES.map(|(name, _)| name), all);
    add("read_response_ns", &timing.read_response_ns, &["p99"], each(&|r| r.read_spread.clone()));
    add(
        "write_response_ns",
        &timing.write_response_ns,
        &["p99"],
        each(&|r| r.write_spread.clone()),
    );
    lists
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Values;
    use crate::timing::{EraseSpread, TimedCounters};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_request_is_in_the_window_that_its_cuts_say(
            first in 0u64..1000, requests in 1u64..5000, share in 0.0f64..1.0
        ) {
            let cuts = WindowBounds::of(first..first + requests);
            let request = first + (share * requests as f64) as u64;
            let window = cuts.window(request).expect("a request of a run that is cut");
            prop_assert!(window < WINDOWS);
            prop_assert!((cuts.start(window)..cuts.start(window + 1)).contains(&request));
            prop_assert_eq!((cuts.start(0), cuts.start(WINDOWS)), (first, first + requests));
            prop_assert_eq!(WindowBounds::of(first..first).window(request), None);
        }
    }

    #[test]
    fn a_cache_that_was_full_before_is_filled_from_the_beginning() {
        for (was_full, filled_after) in [(true, Some(0.0)), (false, None)] {
            let mut parts = WindowCounts::none();
            parts.begin(0..600, was_full, FlashWork::default());
            parts.cut(600, &Counters::default(), FlashWork::default(), false);
            let windows = parts.finish(None, &|_| ()).expect("requests enough");
            assert_eq!(windows.filled_after, filled_after);
        }
    }

    #[test]
    fn windows_hold_what_was_counted_between_their_cuts_and_late_responses_too() {
        let mut parts = WindowCounts::none();
        let mut all = Values::default();
        (100..700).for_each(|response| all.add(response));
        let before = FlashWork { at_ns: 30, erases: 1000, ..FlashWork::default() };
        parts.begin(100..700, false, before);
        let mut counted = Counters::default();
        let flash = |request: u64| FlashWork {
            at_ns: 30 + 7 * (request.min(699) - 100),
            erases: 900 + request,
            ..FlashWork::default()
        };
        for request in 100..700 {
            if parts.is_cut(request) {
                parts.cut(request, &counted, flash(request), request >= 400);
            }
            counted.read_hits += 1;
            if request % 2 == 0 {
                parts.respond(Op::Read, request);
            }
        }
        parts.cut(700, &counted, flash(700), true);
        (100..700).filter(|r| r % 2 == 1).for_each(|r| parts.respond_late(r, Op::Write, r));
        let timing = Timing {
            counters: TimedCounters::default(),
            response_ns: all.summary(),
            read_response_ns: None,
            write_response_ns: None,
            unbalance_permille: None,
            block_erases: EraseSpread { blocks: 1, mean: 0.0, std: 0.0 },
        };
        let windows = parts.finish(Some(&timing), &|_| ()).unwrap();
        let span_ns = windows.span_ns.as_ref().unwrap();
        assert_eq!((span_ns[0], span_ns[58], span_ns[59]), (70, 70, 63));
        let flash = windows.flash.as_ref().unwrap();
        assert_eq!((&flash.erases, flash.programs[7]), (&vec![10; WINDOWS], 0));
        // Responses are 100..700 ns, so that the upper half is longer than the median.
        let beyond = &windows.requests_beyond["response_ns_p50"];
        assert_eq!(beyond.iter().sum::<f64>().round(), 300.0);
        assert_eq!((beyond[0], beyond[59]), (0.0, 10.0));
        assert_eq!(windows.requests, [10; WINDOWS]);
        assert_eq!(windows.hits, [10; WINDOWS]);
        assert_eq!(windows.read_requests, Some(vec![5; WINDOWS]));
        let sums: Vec<u64> = (0..60).map(|w| (100 + 10 * w..110 + 10 * w).sum()).collect();
        assert_eq!(windows.response_ns_sum, Some(sums));
        assert_eq!(windows.filled_after, Some(0.5));
    }
}
