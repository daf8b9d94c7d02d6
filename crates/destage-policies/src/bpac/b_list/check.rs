//! The invariants of the b-list: each block in one place, the one that its lifetime gives it.

use super::{BList, Blocks, ClusterQueue, ClusterState, NIL, odd_key};
use crate::clusters::Block;

impl BList {
    /// Asserts that every block is where it belongs after the write at time `t`; `is_new_lifetime`
    /// if no write has come since it changed.
    pub(in crate::bpac) fn check(
        &self,
        blocks: &Blocks,
        known: impl Iterator<Item = u32>,
        t: u64,
        is_new_lifetime: bool,
    ) {
        self.check_order(blocks);
        let mut places = [0; 7];
        let (mut clusters, mut full, mut done) = (0, 0, 0);
        for at in known {
            let block = &blocks[at as usize];
            clusters += u64::from(block.len > 0);
            places[block.own.place as usize] += 1;
            self.check_place(at, block, t, is_new_lifetime);
            let (is_full, is_done) = self.check_pattern(at, block);
            full += usize::from(is_full);
            done += usize::from(is_done);
        }
        let [_, recent, recent_odd, expired, expired_odd, spared, spared_odd] = places;
        assert_eq!(clusters, self.clusters);
        assert_eq!(u64::from(expired + expired_odd), self.expired_blocks);
        assert_eq!((full, done), (self.full.len(), self.done.len()));
        assert_eq!(self.order.check(blocks), recent + expired + spared, "every block is once");
        assert_eq!(self.expired.check(blocks), expired);
        let maps = [&self.recent_odd, &self.spared].map(|map| map.len() as u32);
        assert_eq!(maps, [recent_odd, spared + spared_odd]);
        assert_eq!(self.expired_odd.len() as u32, expired_odd);
    }

    /// The order and the chains run from recent to old, and the border is on the order.
    fn check_order(&self, blocks: &Blocks) {
        let mut newer = u64::MAX;
        let mut recent = self.border != NIL;
        for at in self.order.iter(blocks) {
            let block = &blocks[at as usize];
            let expected: &[ClusterQueue] = if recent {
                &[ClusterQueue::Recent]
            } else {
                &[ClusterQueue::Expired, ClusterQueue::Spared]
            };
            assert!(expected.contains(&block.own.place), "the border is where the recent ones end");
            recent &= at != self.border;
            assert!(block.own.recency < newer, "blocks stand in the order of recency");
            newer = block.own.recency;
        }
        assert!(!recent, "the border is on the order");
        for (size, chain) in self.expired.iter() {
            let mut newer = u64::MAX;
            for at in chain.iter(blocks) {
                let block = &blocks[at as usize];
                assert_eq!((block.len, block.own.place), (size, ClusterQueue::Expired));
                assert!(block.own.recency < newer, "clusters of a size stand in their order");
                newer = block.own.recency;
            }
        }
    }

    /// A block is where its lifetime puts it, after the write at time `t`.
    fn check_place(&self, at: u32, block: &Block<ClusterState>, t: u64, is_new_lifetime: bool) {
        let recency = &block.own.recency;
        let is_fresh = is_new_lifetime || !self.is_expired(block, t);
        let is_expired = self.is_expired(block, t + 1);
        match block.own.place {
            ClusterQueue::Parked => assert_eq!(block.len, 0, "a cluster waits somewhere"),
            ClusterQueue::Recent => assert!(is_fresh),
            ClusterQueue::RecentOdd => {
                assert!(is_fresh && self.recent_odd.get(recency) == Some(&at))
            }
            ClusterQueue::Expired => assert!(is_expired && !self.is_spared(block)),
            ClusterQueue::ExpiredOdd => {
                assert!(is_expired && !self.is_spared(block));
                assert_eq!(self.expired_odd.get(&odd_key(block)), Some(&at));
            }
            ClusterQueue::Spared | ClusterQueue::SparedOdd => {
                assert!(is_expired && self.is_spared(block));
                assert_eq!(self.spared.get(recency), Some(&at));
            }
        }
    }

    /// A block is among the full or the done ones if and only if it is; which it is.
    fn check_pattern(&self, at: u32, block: &Block<ClusterState>) -> (bool, bool) {
        let recency = &block.own.recency;
        let sequential = block.len > 0 && block.own.pattern.is_sequential(self.seq_min_pages);
        let is_full = sequential && block.len == self.pages_per_block;
        let at_end = block.own.pattern.last() == self.pages_per_block - 1;
        let is_done = sequential && !is_full && at_end;
        assert_eq!(self.full.get(recency) == Some(&at), is_full, "full blocks are known");
        assert_eq!(self.done.get(recency) == Some(&at), is_done, "done blocks are known");
        (is_full, is_done)
    }
}
