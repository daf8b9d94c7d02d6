//! Replies at the instants at which a simulated SSD would have answered (`docs/spec/pool.md` 11.3).

use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

/// Replies whose real work took longer than the simulated SSD would have.
#[derive(Default)]
pub(crate) struct Late {
    replies: AtomicU64,
    most_ns: AtomicU64,
}

/// Replies that came later than the simulated SSD would have answered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct LateReplies {
    /// How many.
    pub late_replies: u64,
    /// The latest, nanoseconds.
    pub lateness_ns_max: u64,
}

impl Late {
    /// Returns at this instant, or at once if it has passed.
    pub(crate) fn wait_until(&self, due: Instant) {
        let now = Instant::now();
        if let Some(left) = due.checked_duration_since(now) {
            thread::sleep(left);
            return;
        }
        self.replies.fetch_add(1, Relaxed);
        self.most_ns.fetch_max((now - due).as_nanos() as u64, Relaxed);
    }

    pub(crate) fn counted(&self) -> LateReplies {
        LateReplies {
            late_replies: self.replies.load(Relaxed),
            lateness_ns_max: self.most_ns.load(Relaxed),
        }
    }
}

/// The calling thread's sleeps end when they should: Linux lets them be 50 us longer, which is a
/// read of flash.
pub(crate) fn wake_in_time() {
    #[cfg(target_os = "linux")]
    {
        // Without it, replies are later by that much.
        _ = rustix::thread::set_current_timer_slack(Some(std::num::NonZeroU64::MIN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_instant_that_has_passed_is_counted_and_one_that_has_not_is_waited_for() {
        let late = Late::default();
        let now = Instant::now();
        late.wait_until(now + Duration::from_millis(2));
        assert!(now.elapsed() >= Duration::from_millis(2));
        assert_eq!(late.counted(), LateReplies::default());
        late.wait_until(now);
        let counted = late.counted();
        assert_eq!(counted.late_replies, 1);
        assert!(counted.lateness_ns_max >= 2_000_000, "{counted:?}");
    }
}
