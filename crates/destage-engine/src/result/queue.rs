//! The queue of an open loop: whether response times are those of a device, or mostly waiting in
//! a queue that the trace's times built up in front of it.
//!
//! By Little's law (Operations Research 9, 1961) the requests outstanding are the sum of the
//! response times over the time that they span. A trace keeps to its times however far the device
//! is behind, and a burst of one window may hold most of a run's response time; so the law is
//! applied to each window too, over the time in which its requests came: no more can be outstanding
//! than have come by then.

use destage_replay::windows::Windows;
use serde::{Deserialize, Serialize};

/// Requests that a host may keep outstanding; more of them are a queue in front of the device.
/// Native command queuing of SATA has 32.
const OUTSTANDING: u32 = 32;

/// Share of the response time from which on a run has measured the queue.
const MOST: f64 = 0.5;

/// The requests that were outstanding in an open loop.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Queue {
    /// Requests outstanding, mean over the measured time.
    pub outstanding_mean: f64,
    /// The same of the window with the most.
    pub outstanding_max: f64,
    /// Share of the response time, 0..1, of windows with a queue: more requests outstanding than 32
    /// and than the device has units.
    pub share: f64,
    /// Whether that is half or more: response times are mostly waiting in a queue.
    pub grows: bool,
}

impl Queue {
    /// The queue of an open loop in windows that took so long to the last completion, in front of
    /// so many units; `None` without response times.
    pub fn of(windows: &Windows, makespan_ns: u64, units: u32) -> Option<Queue> {
        let (responses, spans) = windows.response_ns_sum.as_ref().zip(windows.span_ns.as_ref())?;
        let all: u64 = responses.iter().sum();
        // Requests that all come at one instant are outstanding together.
        let outstanding = |response: u64, span: u64| response as f64 / span.max(1) as f64;
        let come = windows.requests.iter().scan(0, |come, &requests| {
            *come += requests;
            Some(*come as f64)
        });
        let each = responses.iter().zip(spans).zip(come);
        let each = each.map(|((&r, &s), come)| (r, outstanding(r, s).min(come)));
        let limit = f64::from(OUTSTANDING.max(units));
        let queued: u64 = each.clone().filter(|(_, n)| *n > limit).map(|(r, _)| r).sum();
        let share = queued as f64 / all.max(1) as f64;
        Some(Queue {
            outstanding_mean: outstanding(all, makespan_ns),
            outstanding_max: each.map(|(_, n)| n).fold(0.0, f64::max),
            share,
            grows: share >= MOST,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_replay::windows::WINDOWS;

    /// Windows of a hundred requests each, with a mean response time and a time in which they came.
    fn queue(each: impl Fn(usize) -> (u64, u64), units: u32) -> Queue {
        let list = |of: &dyn Fn(usize) -> u64| (0..WINDOWS).map(of).collect::<Vec<u64>>();
        let json = serde_json::json!({
            "filled_after": 0.0, "requests": list(&|_| 100), "accesses": list(&|_| 100),
            "hits": list(&|_| 0), "read_accesses": list(&|_| 0), "read_hits": list(&|_| 0),
            "physical_reads": list(&|_| 0), "physical_writes": list(&|_| 0),
            "response_ns_sum": list(&|k| 100 * each(k).0), "span_ns": list(&|k| each(k).1),
        });
        let makespan_ns = (0..WINDOWS).map(|k| each(k).1).sum();
        Queue::of(&serde_json::from_value(json).unwrap(), makespan_ns, units).unwrap()
    }

    #[test]
    fn requests_outstanding_are_response_times_over_the_time_in_which_requests_came() {
        let found = queue(|_| (50_000, 1_000_000), 8);
        assert_eq!((found.outstanding_mean, found.outstanding_max), (5.0, 5.0));
        assert_eq!((found.share, found.grows), (0.0, false));
    }

    #[test]
    fn a_queue_that_grows_with_the_trace_is_found() {
        // Each window leaves ten requests more than the one before.
        let found = queue(|k| (100_000 * k as u64, 1_000_000), 8);
        assert_eq!(found.outstanding_max, 590.0);
        assert!(found.grows && found.share > 0.95, "{found:?}");
    }

    #[test]
    fn a_burst_that_holds_most_of_the_response_time_is_a_queue_and_a_small_one_is_none() {
        let burst = |response, span| {
            queue(move |k| if k == 30 { (response, span) } else { (1_000, 1_000_000) }, 8)
        };
        assert!(burst(10_000_000, 100_000).grows);
        assert!(!burst(10_000, 100_000).grows, "ten requests outstanding");
        assert!(!burst(40_000, 100_000).grows, "forty, in less than half of the response time");
        let at_once = queue(|_| (1_000, 0), 8);
        assert!(at_once.grows && at_once.outstanding_max == 6000.0, "all at one instant");
    }

    #[test]
    fn a_device_with_many_units_serves_as_many_requests_at_once() {
        let outstanding = |units| queue(|_| (500_000, 1_000_000), units);
        assert_eq!(outstanding(8).outstanding_mean, 50.0);
        assert!(outstanding(8).grows && !outstanding(64).grows);
    }
}
