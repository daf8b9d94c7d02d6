//! Staging pages of the host (`docs/spec/device.md` 7.4, `evict_wait = staged`): a bounded number
//! of evicted pages whose programs have not ended. O(log `staging_pages`) for each.

use destage_core::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Ends of the programs of dirty victims.
///
/// Only the K + 1 latest can delay an eviction, and none that has passed: memory grows with what is
/// unfinished, at most with K.
#[derive(Clone, Default, Debug)]
pub(crate) struct Staging {
    latest: BinaryHeap<Reverse<Nanos>>, // the earliest of them on top
}

impl Staging {
    /// Becomes what another one is, in the memory that it has.
    pub(crate) fn copy_from(&mut self, other: &Staging) {
        self.latest.clone_from(&other.latest);
    }

    /// The program of a victim that is evicted now ends at this instant; there are K pages.
    pub(crate) fn push(&mut self, end: Nanos, now: Nanos, pages: u32) {
        while self.latest.peek().is_some_and(|&Reverse(earliest)| earliest <= now) {
            self.latest.pop();
        }
        if end > now {
            self.latest.push(Reverse(end));
            if self.latest.len() as u64 > u64::from(pages) + 1 {
                self.latest.pop();
            }
        }
    }

    /// The earliest instant, not before `now`, at which at most K of the programs are unfinished.
    pub(crate) fn free(&self, now: Nanos, pages: u32) -> Nanos {
        let waits = self.latest.len() as u64 > u64::from(pages);
        let earliest = self.latest.peek().filter(|_| waits);
        earliest.map_or(now, |&Reverse(end)| end.max(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_core::random::SplitMix64;

    #[test]
    fn an_eviction_waits_for_all_but_the_latest_k() {
        let mut random = SplitMix64::new(7);
        for pages in 1..6_u32 {
            let (mut staging, mut ends, mut now) = (Staging::default(), Vec::new(), 0 as Nanos);
            for _ in 0..400 {
                now += Nanos::from(random.below(20));
                let end = now + Nanos::from(random.below(100));
                staging.push(end, now, pages);
                ends.push(end);
                ends.sort_unstable_by_key(|&end| Reverse(end));
                let expected = ends.get(pages as usize).map_or(now, |&end| end.max(now));
                assert_eq!(staging.free(now, pages), expected);
                assert!(staging.latest.len() <= pages as usize + 1);
            }
        }
    }
}
