//! Requests of a language model over two tiers, the simulated SSD behind the second
//! (`docs/spec/tiers.md` 6 and 7).
//!
//! A request completes when its hits in tier 2 have been read. Computing missing blocks is not
//! modelled, and blocks are written to flash from a staging buffer: nothing waits for them.

use super::control_commands::ControlQueue;
use super::course::{Course, TimedOutcome};
use super::frontend::Frontend;
use super::host::{TimedReplay, all_arrive_in_time};
use super::ledger::Ledger;
use super::request::{self, Counting, goes_on};
use super::tier_frontend::{BackingTimes, StoreTimes, Stores, Submitted, submit};
use crate::counters::OwnCounters;
use crate::error::RunError;
use crate::kv::replay::{KvReplay, Serves, Tier1};
use crate::observe::{Observer, Watcher};
use crate::tiers::below::LowerTiers;
use crate::tiers::slots::Slots;
use destage_core::{AnyPolicy, Nanos};
use destage_ssd::{Device, PendingTime};
use std::ops::Range;

/// Blocks between two looks at the observer's progress.
const PERIOD: usize = 1 << 10;

impl TimedReplay<'_> {
    /// Runs requests of a language model through a policy and the tiers below it.
    ///
    /// # Errors
    ///
    /// As [`run`](TimedReplay::run).
    pub fn run_chains(
        &self,
        kv: &KvReplay<'_>,
        device: &mut Device,
        (policy, lower): (AnyPolicy, LowerTiers<'_>),
        (slots, tier3): (Slots, StoreTimes),
        observer: &mut dyn Observer,
    ) -> Result<TimedOutcome, RunError> {
        let observer = &mut Watcher::new(observer);
        let mut frontend = ChainFrontend {
            tier1: Tier1::new(kv, policy, Some(lower), slots),
            submitted: Submitted::default(),
            // No block is read from the backing store or written there: a missing one is computed.
            stores: Stores::new(BackingTimes { tier3, ..BackingTimes::default() }, &[]),
        };
        let requests = kv.chains.requests();
        let warm = kv.warm_requests(requests).map(|warm| warm as usize);
        let mut course = Course::new(self.host, frontend.after_ns());
        // Trims and flushes are of no language model; the device is told what is asked of it.
        let _ = ControlQueue::new(&self.input, self.host, device);
        all_arrive_in_time(&self.input, self.host.mode)?;
        goes_on(device, &course)?;
        let operations_seen = observer.wants_operations();
        if operations_seen {
            device.queues().keep_operations();
        }
        device.queues().count_latencies(false);
        request::settle_later(device, &frontend, &mut course);
        let (mut row, mut reported) = (0, 0);
        for request in 0..requests as usize {
            let rows = kv.chains.rows_from(row);
            let arrival_ns = kv.arrivals_ns.get(row).copied().unwrap_or(0);
            let counting = Counting { row: request, warm_rows: warm, requests };
            let what = (arrival_ns, false, 0);
            request::issue(what, counting, device, &mut frontend, &mut course, observer);
            course.pages = rows.len() as u32;
            row = rows.end;
            course.end = frontend.serve(kv, rows, device, course.now, &mut course.ledger, observer);
            if operations_seen {
                observer.operations(&mut device.queues().take_operations());
            }
            if row - reported >= PERIOD {
                reported = row;
                goes_on(device, &course)?;
                if !observer.progress(row as u64) {
                    return Err(RunError::Interrupted);
                }
            }
        }
        let done = (row as u64, requests);
        let mut outcome =
            self.end(device, &mut frontend, course, observer, done, operations_seen)?;
        // The windows count tokens, the run blocks.
        let (counters, kv) = (&mut outcome.timing.counters, &outcome.kv);
        counters.page_accesses = kv.blocks;
        (counters.hits, counters.read_hits) = (kv.hit_blocks, kv.hit_blocks);
        Ok(outcome)
    }
}

/// Tier 1 of a language model, and the tiers below it.
struct ChainFrontend<'t> {
    tier1: Tier1<'t, Slots>,
    submitted: Submitted,
    stores: Stores<'static>,
}

impl ChainFrontend<'_> {
    /// Serves a request at `now`; when its blocks of the tiers below are there.
    fn serve(
        &mut self,
        kv: &KvReplay<'_>,
        rows: Range<usize>,
        device: &mut Device,
        now: Nanos,
        ledger: &mut Ledger,
        observer: &mut Watcher<'_>,
    ) -> PendingTime {
        // The ledger counts from the end of the warm-up on.
        self.tier1.count_on(ledger.kv, ledger.pages.tiers);
        self.tier1.serve(kv, rows, observer);
        ledger.kv = self.tier1.counted().0;
        ledger.pages = self.tier1.window_counters();
        let ChainFrontend { tier1, submitted, stores } = self;
        submit(device, tier1.events(), (now, stores), submitted, ledger, |_, _, _| {})
    }
}

impl Frontend for ChainFrontend<'_> {
    fn erased(&mut self) -> &mut dyn Frontend {
        self
    }

    fn host_operations(&self) -> (u64, u64) {
        self.submitted.operations()
    }

    fn own_counters(&self) -> OwnCounters {
        Serves::own_counters(&self.tier1)
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        Serves::gauges(&self.tier1, show);
    }

    fn is_full(&self) -> bool {
        Serves::is_full(&self.tier1)
    }
}
