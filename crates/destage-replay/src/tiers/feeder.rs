//! The feed of ZFS's L2ARC: a thread copies clean pages that tier 1 would evict next
//! (`docs/spec/tiers.md` 4.12).
//!
//! After `l2arc_feed_thread` and `l2arc_write_buffers` of OpenZFS (`module/zfs/arc.c`), for pages
//! of one size, without compression and with one list in place of its several.
//!
//! Cost. A pass looks at `headroom` times the pages that it may feed, of each list; nothing per
//! access. While tier 1 is cold, a policy without a list from its other end shows all its pages.

use super::rules::FeedRule;
use destage_core::{Page, VictimList};

/// Shows the pages of a list of tier 1, each with its dirty bit, from the page that would leave
/// first, or from the other end; as many as are wanted.
pub type VictimLists<'a> = dyn Fn(VictimList, bool, &mut dyn FnMut(Page, bool) -> bool) + 'a;

/// The thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feeder {
    rule: FeedRule,
    pass_ns: Option<u64>, // next pass; none before the first request
    is_warm: bool,        // a page has left tier 1
}

impl Feeder {
    pub(super) fn new(rule: FeedRule) -> Self {
        Feeder { rule, pass_ns: None, is_warm: false }
    }

    /// The next arrival that it must be told, ns.
    pub(super) fn awaits_ns(&self) -> u64 {
        self.pass_ns.unwrap_or(0)
    }

    /// A request arrives, no earlier than the last one, and its accesses are still to come.
    pub(super) fn arrived(&mut self, now_ns: u64) {
        self.pass_ns.get_or_insert(now_ns.saturating_add(self.rule.interval_ns));
    }

    /// A page leaves tier 1.
    pub(super) fn warm(&mut self) {
        self.is_warm = true;
    }

    /// Most pages that a pass feeds.
    fn most(&self) -> u64 {
        if self.is_warm { self.rule.warm_pages } else { self.rule.cold_pages }
    }

    /// A pass has fed so many pages. After one that has fed none, nothing changes until the next
    /// request.
    pub(super) fn passed(&mut self, pass_ns: u64, fed: u64, now_ns: u64) {
        let FeedRule { interval_ns, min_interval_ns, .. } = self.rule;
        let later = if fed.saturating_mul(2) > self.most() { min_interval_ns } else { interval_ns };
        let skipped = if fed == 0 { (now_ns - pass_ns) / interval_ns } else { 0 };
        let later = later.saturating_add(skipped.saturating_mul(interval_ns));
        self.pass_ns = Some(pass_ns.saturating_add(later));
    }

    /// The time of the next pass, ns, if it is due before the request that arrives now.
    pub(super) fn due_ns(&self, now_ns: u64) -> Option<u64> {
        self.pass_ns.filter(|&pass_ns| pass_ns <= now_ns)
    }

    /// One pass; how many pages it feeds. `lacks` says whether the tier lacks a page, which it
    /// takes in if it is told to.
    pub(super) fn pass(
        &self,
        lists: &VictimLists<'_>,
        mut lacks: impl FnMut(Page, bool) -> bool,
    ) -> u64 {
        let most = self.most();
        let depth = match self.rule.headroom {
            0 => u64::MAX,
            headroom => headroom.saturating_mul(most),
        };
        let (mut fed, mut is_over) = (0, false);
        for &list in self.rule.lists.in_turn() {
            let mut seen = 0;
            lists(list, !self.is_warm, &mut |page, dirty| {
                seen += 1;
                if !dirty && lacks(page, fed < most) {
                    is_over = fed == most;
                    if is_over {
                        return false;
                    }
                    fed += 1;
                }
                seen < depth
            });
            if is_over {
                break;
            }
        }
        fed
    }
}
