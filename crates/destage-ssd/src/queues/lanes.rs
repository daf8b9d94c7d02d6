//! Reads first: what happens when operations end, unit by unit (`docs/spec/device.md` 4.3,
//! `docs/spec/device-today.md` 2).

use super::counts::add;
use super::{Order, Queues};
use crate::ended::Released;
use crate::timing::OperationKind;
use destage_core::Nanos;
use std::cmp::Reverse;

impl Queues {
    /// Reads first, and what happens at an end is not only that a unit goes on: something stands
    /// in front of the flash, or units have timers.
    pub(super) fn steps_through_ends(&self) -> bool {
        matches!(self.order, Order::ReadFirst(_)) && (self.fronted || self.idle_ns.is_some())
    }

    /// Reads first: the end of the transfer of each of the host's programs is known when it comes.
    pub fn keep_transfers(&mut self) {
        self.exact_transfers = matches!(self.order, Order::ReadFirst(_));
    }

    /// Reads first: these units serve all that ends at or before `now`.
    pub(super) fn serve_lanes(&mut self, units: std::ops::Range<usize>, now: Nanos) {
        let Queues { program_wait_ns, read_latency_ns, times, ends, recorder, waits, .. } = self;
        let Queues { order, ended, fronted, idle_ns, .. } = self;
        let Queues { timers, no_timer_before, exact_transfers, .. } = self;
        let Order::ReadFirst(lanes) = order else { return };
        for (lane, timer) in lanes[units.clone()].iter_mut().zip(&mut timers[units]) {
            let mut last = None;
            lane.advance(now, |op, start, end| {
                last = Some((end, op.by_timer));
                match op.kind {
                    _ if !op.counts_latency => {}
                    OperationKind::Read if *fronted => {}
                    OperationKind::Read => add(read_latency_ns, end - op.submitted_ns),
                    OperationKind::Write => add(program_wait_ns, start - op.submitted_ns),
                    _ => {}
                }
                match op.end {
                    Some(name) if *fronted => ended.extend(op.ended_for_host(name, end)),
                    Some(name) => times.set(name, end),
                    None => {}
                }
                if let (Some(number), Some(waits)) = (op.watch, waits.as_mut()) {
                    Queues::watched_ended(waits, number, end);
                }
                if let (Some(name), Some(ns)) = (op.transferred, op.transferred_ns) {
                    times.set(name, ns);
                }
                if let (Some(ends), Some(submission)) = (ends.as_mut(), op.submission)
                    && !*fronted
                {
                    ends.push(Reverse((end, submission, op.duration_ns)));
                }
                if let (Some(recorder), Some(number)) = (recorder.as_mut(), op.number)
                    && let Some(record) = recorder.waiting.remove(&number)
                {
                    recorder.served.push(record.served(op.submitted_ns, start, end));
                }
            });
            if *exact_transfers && let Some((name, ns)) = lane.transferred(now) {
                times.set(name, ns);
            }
            if let (Some(idle_ns), Some((end, by_timer))) = (*idle_ns, last)
                && lane.is_idle()
            {
                *timer = if by_timer { end } else { end + idle_ns };
                *no_timer_before = (*no_timer_before).min(*timer);
            }
        }
    }

    /// Reads first: the next host operation that has ended, for which [`done`](Queues::done) comes
    /// next.
    pub(crate) fn next_ended(&mut self) -> Option<Released> {
        let (undone, released) = self.ended.pop_front()?;
        // The host has seen a buffered write done before.
        self.undone = (undone.is_read || !self.buffered).then_some(undone);
        Some(released)
    }
}
