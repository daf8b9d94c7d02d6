//! The b-list: which cluster leaves next (`docs/spec/block-policies.md` 5.5).
//!
//! ```text
//!   order    newest ◀─▶ ... ◀─▶ border ◀─▶ ... ◀─▶ oldest     by recency
//!                       recent    │    expired: also in a list of each size, by recency
//!                            t - bird_thd
//! ```
//!
//! Clusters expire in the order of their recency, so the border moves by one, and what it passes
//! joins the new end of the list of its size. It goes back when BIRD_thd grows.
//!
//! A hot page that returns to a cluster comes out of turn: it makes an expired cluster
//! larger, or an empty one a cluster again, without making it recent. Such clusters are *odd*: off
//! the order, in maps by recency until they are used or destaged. So are the few that are ready to
//! go, beside their place.
//!
//! A block whose cluster is empty keeps its place among the recent ones, in case a page returns,
//! and is *parked*, off the order, when the border comes to it. So every step costs O(1) amortised,
//! and O(log c) of c clusters for those in the maps.

mod check;

use super::pattern::Pattern;
use crate::clusters::{Block, Chain, Linked, NIL, Pair, Sizes};
use destage_core::pages::prefetch;
use std::collections::BTreeMap;

/// BPAC's state of a block.
#[derive(Clone, Copy, Default)]
pub(super) struct ClusterState {
    /// Virtual time of its last insertion or hit in the b-list.
    pub(super) recency: u64,
    pub(super) pattern: Pattern,
    order: Pair,
    sizes: Pair, // among the expired of its size
    place: ClusterQueue,
    ready: Ready,
}

linked! { ClusterState: 1 => order, 2 => sizes }

/// Queue in which a block waits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum ClusterQueue {
    /// Nowhere: it is new, or its cluster is empty.
    #[default]
    Parked,
    Recent,
    RecentOdd,
    Expired,
    ExpiredOdd,
    /// Out of lifetime, but sequential, which `seq_expiry = false` does not let expire.
    Spared,
    SparedOdd,
}

impl ClusterQueue {
    fn is_odd(self) -> bool {
        matches!(self, ClusterQueue::RecentOdd | ClusterQueue::ExpiredOdd | ClusterQueue::SparedOdd)
    }
}

/// A sequential cluster that nothing can be added to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Ready {
    #[default]
    No,
    Full,
    Done,
}

/// The rule that found a victim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    Full,
    Done,
    Largest,
    Fallback,
}

type Blocks = [Block<ClusterState>];

/// All blocks with a resident page. Fresh means not out of lifetime.
pub(super) struct BList {
    order: Chain<1>,
    border: u32, // the oldest of the recent ones on the order, NIL if there is none
    recent_odd: BTreeMap<u64, u32>, // by recency
    expired: Sizes<2>,
    expired_odd: BTreeMap<(u32, u64), u32>, // by size, then falling recency
    spared: BTreeMap<u64, u32>,             // by recency
    full: BTreeMap<u64, u32>,               // by recency; in one of the places above too
    done: BTreeMap<u64, u32>,
    clusters: u64,       // not empty
    expired_blocks: u64, // on `expired` and `expired_odd`
    pub(super) bird_thd: u64,
    seq_min_pages: u32,
    seq_expiry: bool,
    pages_per_block: u32,
}

/// Key of a cluster among the expired that came out of turn: the last is the victim.
fn odd_key(block: &Block<ClusterState>) -> (u32, u64) {
    (block.len, u64::MAX - block.own.recency)
}

impl BList {
    pub(super) fn new(setup: &crate::Setup, bird_thd: u64) -> Self {
        let seq_min_pages = setup.params.int("seq_min_pages");
        BList {
            order: Chain::default(),
            border: NIL,
            recent_odd: BTreeMap::new(),
            expired: Sizes::new(setup.pages_per_block),
            expired_odd: BTreeMap::new(),
            spared: BTreeMap::new(),
            full: BTreeMap::new(),
            done: BTreeMap::new(),
            clusters: 0,
            expired_blocks: 0,
            bird_thd,
            // A run is never longer than a block, whose pages fit into 32 bits.
            seq_min_pages: u32::try_from(seq_min_pages).unwrap_or(u32::MAX),
            seq_expiry: setup.params.flag("seq_expiry"),
            pages_per_block: setup.pages_per_block,
        }
    }

    /// Clusters, none of them empty.
    pub(super) fn clusters(&self) -> u64 {
        self.clusters
    }

    /// Clusters outside the size-dependent region.
    pub(super) fn fresh(&self) -> u64 {
        self.clusters - self.expired_blocks
    }

    pub(super) fn seq_min_pages(&self) -> u32 {
        self.seq_min_pages
    }

    /// At time `t`.
    #[inline(always)]
    fn is_expired(&self, block: &Block<ClusterState>, t: u64) -> bool {
        block.own.recency.saturating_add(self.bird_thd) < t
    }

    fn is_spared(&self, block: &Block<ClusterState>) -> bool {
        !self.seq_expiry && block.own.pattern.is_sequential(self.seq_min_pages)
    }

    /// Takes a block off the order.
    #[inline(always)]
    fn leave_order(&mut self, blocks: &mut Blocks, at: u32) {
        if self.border == at {
            self.border = Linked::<1>::pair(&blocks[at as usize]).newer;
        }
        self.order.unlink(blocks, at);
    }

    /// Advances to time `t`: clusters beyond their lifetime expire.
    #[inline(always)]
    pub(super) fn advance(&mut self, blocks: &mut Blocks, t: u64) {
        while self.border != NIL && self.is_expired(&blocks[self.border as usize], t) {
            let at = self.border;
            self.border = Linked::<1>::pair(&blocks[at as usize]).newer;
            if blocks[at as usize].len > 0 {
                self.expire(blocks, at);
            } else {
                self.order.unlink(blocks, at);
                blocks[at as usize].own.place = ClusterQueue::Parked;
            }
            // The next one is looked at right now, the one after it at the next write.
            if let Some(next) = blocks.get(self.border as usize) {
                prefetch(blocks, Linked::<1>::pair(next).newer as usize);
            }
        }
        while let Some((&recency, &at)) = self.recent_odd.first_key_value()
            && self.is_expired(&blocks[at as usize], t)
        {
            self.recent_odd.remove(&recency);
            self.expire_out_of_turn(blocks, at);
        }
    }

    /// A cluster that is newer than all that have expired in turn.
    #[inline(always)]
    fn expire(&mut self, blocks: &mut Blocks, at: u32) {
        let block = &mut blocks[at as usize];
        if self.is_spared(block) {
            block.own.place = ClusterQueue::Spared;
            self.spared.insert(block.own.recency, at);
            return;
        }
        block.own.place = ClusterQueue::Expired;
        let size = block.len;
        self.expired.push(blocks, at, size);
        self.expired_blocks += 1;
    }

    /// A cluster that is off the order.
    fn expire_out_of_turn(&mut self, blocks: &mut Blocks, at: u32) {
        let block = &mut blocks[at as usize];
        if self.is_spared(block) {
            block.own.place = ClusterQueue::SparedOdd;
            self.spared.insert(block.own.recency, at);
            return;
        }
        block.own.place = ClusterQueue::ExpiredOdd;
        self.expired_odd.insert(odd_key(block), at);
        self.expired_blocks += 1;
    }

    /// Undoes the expiry of a cluster, which stays on the order if it was.
    #[inline(always)]
    fn unexpire(&mut self, blocks: &mut Blocks, at: u32) {
        let block = &mut blocks[at as usize];
        match block.own.place {
            ClusterQueue::Expired => {
                let size = block.len;
                self.expired.unlink(blocks, at, size);
                self.expired_blocks -= 1;
            }
            ClusterQueue::ExpiredOdd => {
                self.expired_odd.remove(&odd_key(block));
                self.expired_blocks -= 1;
            }
            ClusterQueue::Spared | ClusterQueue::SparedOdd => {
                self.spared.remove(&block.own.recency);
            }
            ClusterQueue::RecentOdd => {
                self.recent_odd.remove(&block.own.recency);
            }
            ClusterQueue::Parked | ClusterQueue::Recent => {}
        }
    }

    /// Takes a block out, before its cluster or its recency changes.
    #[inline(always)]
    pub(super) fn take(&mut self, blocks: &mut Blocks, at: u32) {
        let block = &mut blocks[at as usize];
        self.clusters -= u64::from(block.len > 0);
        if block.own.ready != Ready::No {
            self.unready(block);
        }
        let place = block.own.place;
        self.unexpire(blocks, at);
        if place != ClusterQueue::Parked && !place.is_odd() {
            self.leave_order(blocks, at);
        }
        blocks[at as usize].own.place = ClusterQueue::Parked;
    }

    /// Takes a block that is put back as the newest right away: one that is the newest
    /// already keeps its place, as in every run of pages.
    #[inline(always)]
    pub(super) fn take_for_use(&mut self, blocks: &mut Blocks, at: u32) {
        let block = &mut blocks[at as usize];
        if block.own.place == ClusterQueue::Recent && self.order.newest() == Some(at) {
            self.clusters -= u64::from(block.len > 0);
            if block.own.ready != Ready::No {
                self.unready(block);
            }
        } else {
            self.take(blocks, at);
        }
    }

    fn unready(&mut self, block: &mut Block<ClusterState>) {
        match std::mem::take(&mut block.own.ready) {
            Ready::No => None,
            Ready::Full => self.full.remove(&block.own.recency),
            Ready::Done => self.done.remove(&block.own.recency),
        };
    }

    #[inline(always)]
    fn make_ready(&mut self, block: &mut Block<ClusterState>, at: u32) {
        let Block { len, own, .. } = block;
        let at_end = own.pattern.last() == self.pages_per_block - 1;
        let full = *len == self.pages_per_block;
        if (at_end || full) && *len > 0 && own.pattern.is_sequential(self.seq_min_pages) {
            let (ready, set) = match full {
                true => (Ready::Full, &mut self.full),
                false => (Ready::Done, &mut self.done),
            };
            own.ready = ready;
            set.insert(own.recency, at);
        }
    }

    /// Puts in a block that has just been used: none is more recent.
    #[inline(always)]
    pub(super) fn put_newest(&mut self, blocks: &mut Blocks, at: u32) {
        let block = &mut blocks[at as usize];
        self.clusters += u64::from(block.len > 0);
        self.make_ready(block, at);
        if block.own.place != ClusterQueue::Recent {
            block.own.place = ClusterQueue::Recent;
            self.order.push_newest(blocks, at);
            if self.border == NIL {
                self.border = at;
            }
        }
    }

    /// A hot page is about to return to the cluster of a block.
    #[inline(always)]
    pub(super) fn before_return(&mut self, blocks: &mut Blocks, at: u32) {
        let block = &mut blocks[at as usize];
        match block.own.place {
            ClusterQueue::Recent | ClusterQueue::RecentOdd => {
                self.clusters -= u64::from(block.len > 0);
                self.unready(block);
            }
            _ => self.take(blocks, at),
        }
    }

    /// The page has returned, at time `t`; the block's recency is what it was.
    #[inline(always)]
    pub(super) fn after_return(&mut self, blocks: &mut Blocks, at: u32, t: u64) {
        self.clusters += 1;
        self.make_ready(&mut blocks[at as usize], at);
        let block = &mut blocks[at as usize];
        if block.own.place != ClusterQueue::Parked {
            return;
        }
        if self.is_expired(block, t) {
            self.expire_out_of_turn(blocks, at);
        } else {
            block.own.place = ClusterQueue::RecentOdd;
            self.recent_odd.insert(block.own.recency, at);
        }
    }

    /// The next victim and the rule that chose it; none if all clusters are empty.
    #[inline(always)]
    pub(super) fn victim(&mut self, blocks: &mut Blocks) -> Option<(u32, Rule)> {
        if let Some((_, &at)) = self.full.first_key_value() {
            return Some((at, Rule::Full));
        }
        if let Some((_, &at)) = self.done.first_key_value() {
            return Some((at, Rule::Done));
        }
        let in_turn = self.expired.victim().map(|(at, _)| (odd_key(&blocks[at as usize]), at));
        let odd = self.expired_odd.last_key_value().map(|(&key, &at)| (key, at));
        if let Some((_, at)) = in_turn.max(odd) {
            return Some((at, Rule::Largest));
        }
        if let Some((_, &at)) = self.spared.first_key_value() {
            return Some((at, Rule::Fallback));
        }
        while self.border != NIL && blocks[self.border as usize].len == 0 {
            let at = self.border;
            self.leave_order(blocks, at);
            blocks[at as usize].own.place = ClusterQueue::Parked;
        }
        let in_turn = blocks.get(self.border as usize);
        let in_turn = in_turn.map(|block| (block.own.recency, self.border));
        let odd = self.recent_odd.first_key_value().map(|(&recency, &at)| (recency, at));
        let (_, at) = match (in_turn, odd) {
            (Some(in_turn), Some(odd)) => in_turn.min(odd),
            (one, other) => one.or(other)?,
        };
        Some((at, Rule::Fallback))
    }

    /// Hint: what is likely to be the next victim, and the one after it; [`NIL`] for none.
    #[inline(always)]
    pub(super) fn coming_victims(&self, blocks: &Blocks) -> (u32, u32) {
        let (next, is_expired) = match self.expired.victim() {
            Some((at, _)) => (at, true),
            None => (self.border, false),
        };
        let newer = |block: &Block<ClusterState>| match is_expired {
            true => Linked::<2>::pair(block).newer,
            false => Linked::<1>::pair(block).newer,
        };
        (next, blocks.get(next as usize).map_or(NIL, newer))
    }

    /// The lifetime changes, from time `t` on: what is within it again is recent. O(clusters).
    pub(super) fn set_bird_thd(&mut self, blocks: &mut Blocks, bird_thd: u64, t: u64) {
        let longer = bird_thd > self.bird_thd;
        self.bird_thd = bird_thd;
        if !longer {
            return; // what expires now does so with `advance`
        }
        let odd = self.expired_odd.values().chain(self.spared.values()).copied();
        let again = |at: &u32| {
            let block = &blocks[*at as usize];
            block.own.place.is_odd() && !self.is_expired(block, t)
        };
        for at in odd.filter(again).collect::<Vec<_>>() {
            self.unexpire(blocks, at);
            let own = &mut blocks[at as usize].own;
            own.place = ClusterQueue::RecentOdd;
            self.recent_odd.insert(own.recency, at);
        }
        loop {
            let older = match blocks.get(self.border as usize) {
                Some(border) => Linked::<1>::pair(border).older,
                None => self.order.newest().unwrap_or(NIL),
            };
            if older == NIL || self.is_expired(&blocks[older as usize], t) {
                return;
            }
            self.unexpire(blocks, older);
            blocks[older as usize].own.place = ClusterQueue::Recent;
            self.border = older;
        }
    }
}
