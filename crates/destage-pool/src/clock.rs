//! The instants of requests.

use std::time::{Duration, Instant};

/// Clock of the simulated SSD.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Time {
    /// Simulated nanoseconds per nanosecond, from the first request on; more than 0.
    Wall {
        /// 1: as fast as the clock on the wall.
        speed: f64,
    },
    /// The last [`Pool::set_now_ns`](crate::Pool::set_now_ns).
    Manual,
}

impl Default for Time {
    fn default() -> Self {
        Time::Wall { speed: 1.0 }
    }
}

/// Instants that never decrease; 0 is the first request, as in a trace that is replayed.
pub(crate) struct Clock {
    time: Time,
    began: Option<Instant>,
    now_ns: u64,
}

impl Clock {
    pub(crate) fn new(time: Time) -> Clock {
        Clock { time, began: None, now_ns: 0 }
    }

    /// The instant of a request, nanoseconds.
    pub(crate) fn now_ns(&mut self) -> u64 {
        if let Time::Wall { speed } = self.time {
            let now = Instant::now();
            let elapsed = now.saturating_duration_since(*self.began.get_or_insert(now));
            let now_ns = if speed == 1.0 {
                elapsed.as_nanos() as u64
            } else {
                (elapsed.as_secs_f64() * speed * 1e9) as u64
            };
            self.now_ns = self.now_ns.max(now_ns);
        }
        self.now_ns
    }

    /// With [`Time::Manual`].
    pub(crate) fn set(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// When an instant is on the wall; `None` if the wall has no part in it.
    pub(crate) fn on_the_wall(&self, ns: u64) -> Option<Instant> {
        match self.time {
            Time::Wall { speed } => {
                self.began?.checked_add(Duration::try_from_secs_f64(ns as f64 / speed / 1e9).ok()?)
            }
            Time::Manual => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_begin_at_0_and_never_decrease() {
        let mut manual = Clock::new(Time::Manual);
        manual.set(7);
        manual.set(3);
        assert_eq!((manual.now_ns(), manual.on_the_wall(9)), (7, None));
        let mut wall = Clock::new(Time::Wall { speed: 2.0 });
        assert_eq!(wall.on_the_wall(9), None, "it has not begun");
        assert_eq!(wall.now_ns(), 0);
        let first = wall.now_ns();
        assert!(wall.now_ns() >= first);
        let second = Duration::from_secs(1);
        let apart = wall.on_the_wall(3_000_000_000).zip(wall.on_the_wall(1_000_000_000));
        assert_eq!(apart.map(|(late, early)| late - early), Some(second));
    }
}
