//! The b-list: which cluster leaves next (`spec/block-policies.md` 5.5).
//!
//! ```text
//!   recent   newest ◀─▶ ... ◀─▶ oldest │ expired   size 1 ... size 9
//!            in order of recency       │           a list of each size, in order of recency
//!                                 t - bird_thd
//! ```
//!
//! Clusters expire in the order of their recency, so each joins the new end of the list of its size.
//! What comes out of turn is a hot page that returns to a cluster: it makes an expired cluster
//! larger, or an empty one a cluster again, without making it recent. Such clusters are kept in maps
//! by recency beside the lists until they are used or destaged; so are the few that are ready to go.
//!
//! A block whose cluster is empty keeps its place among the recent ones, in case a page returns, and
//! is *parked*, on no list, when that place comes to the end. So every step costs O(1) amortised,
//! and O(log c) of c clusters for those in the maps.

use super::pattern::Pattern;
use crate::clusters::{Block, Chain, Linked, Pair, Sizes};
use destage_core::pages::prefetch;
use std::collections::BTreeMap;

/// What BPAC keeps of a block.
#[derive(Clone, Copy, Default)]
pub(super) struct Own {
    /// Virtual time of its last insertion or hit in the b-list.
    pub(super) recency: u64,
    pub(super) pattern: Pattern,
    links: Pair, // among the recent, or the expired of its size
    place: Place,
    ready: Ready,
}

impl Linked<1> for Own {
    #[inline(always)]
    fn pair(&self) -> Pair {
        self.links
    }
    #[inline(always)]
    fn pair_mut(&mut self) -> &mut Pair {
        &mut self.links
    }
}

/// Where a block waits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Place {
    /// Nowhere: it is new, or its cluster is empty.
    #[default]
    Parked,
    Recent,
    RecentOdd,
    Expired,
    ExpiredOdd,
    /// Out of lifetime, but sequential, which `seq_expiry = false` does not let expire.
    Spared,
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

type Blocks = [Block<Own>];

/// All blocks with a resident page. Fresh means not out of lifetime.
pub(super) struct BList {
    recent: Chain<1>,
    recent_odd: BTreeMap<u64, u32>, // by recency
    expired: Sizes<1>,
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
fn odd_key(block: &Block<Own>) -> (u32, u64) {
    (block.len, u64::MAX - block.own.recency)
}

impl BList {
    pub(super) fn new(setup: &crate::Setup, bird_thd: u64) -> Self {
        let seq_min_pages = setup.params.int("seq_min_pages");
        BList {
            recent: Chain::default(),
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
    fn is_expired(&self, block: &Block<Own>, t: u64) -> bool {
        block.own.recency.saturating_add(self.bird_thd) < t
    }

    fn is_spared(&self, block: &Block<Own>) -> bool {
        !self.seq_expiry && block.own.pattern.is_sequential(self.seq_min_pages)
    }

    /// It is time `t`: whatever is out of lifetime expires.
    #[inline(always)]
    pub(super) fn advance(&mut self, blocks: &mut Blocks, t: u64) {
        while let Some(at) = self.recent.oldest()
            && self.is_expired(&blocks[at as usize], t)
        {
            self.recent.unlink(blocks, at);
            let block = &mut blocks[at as usize];
            block.own.place = Place::Parked;
            if block.len > 0 {
                self.expire(blocks, at);
            }
            // The next one is looked at right now, the one after it at the next write.
            if let Some(next) = self.recent.oldest() {
                let newer = Linked::<1>::pair(&blocks[next as usize]).newer;
                prefetch(blocks, newer as usize);
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
            block.own.place = Place::Spared;
            self.spared.insert(block.own.recency, at);
            return;
        }
        block.own.place = Place::Expired;
        let size = block.len;
        self.expired.push(blocks, at, size);
        self.expired_blocks += 1;
    }

    fn expire_out_of_turn(&mut self, blocks: &mut Blocks, at: u32) {
        let block = &mut blocks[at as usize];
        if self.is_spared(block) {
            block.own.place = Place::Spared;
            self.spared.insert(block.own.recency, at);
            return;
        }
        block.own.place = Place::ExpiredOdd;
        self.expired_odd.insert(odd_key(block), at);
        self.expired_blocks += 1;
    }

    /// Takes a block out, before its cluster or its recency changes.
    #[inline(always)]
    pub(super) fn take(&mut self, blocks: &mut Blocks, at: u32) {
        let block = &mut blocks[at as usize];
        self.clusters -= u64::from(block.len > 0);
        if block.own.ready != Ready::No {
            self.unready(block);
        }
        match std::mem::take(&mut block.own.place) {
            Place::Parked => {}
            Place::Recent => self.recent.unlink(blocks, at),
            Place::Expired => {
                let size = block.len;
                self.expired.unlink(blocks, at, size);
                self.expired_blocks -= 1;
            }
            Place::RecentOdd => {
                self.recent_odd.remove(&block.own.recency);
            }
            Place::ExpiredOdd => {
                self.expired_odd.remove(&odd_key(block));
                self.expired_blocks -= 1;
            }
            Place::Spared => {
                self.spared.remove(&block.own.recency);
            }
        }
    }

    /// The same, of a block that is put back as the newest right away: one that is the newest
    /// already keeps its place, as in every run of pages.
    #[inline(always)]
    pub(super) fn take_for_use(&mut self, blocks: &mut Blocks, at: u32) {
        let block = &mut blocks[at as usize];
        if block.own.place == Place::Recent && self.recent.newest() == Some(at) {
            self.clusters -= u64::from(block.len > 0);
            if block.own.ready != Ready::No {
                self.unready(block);
            }
        } else {
            self.take(blocks, at);
        }
    }

    fn unready(&mut self, block: &mut Block<Own>) {
        match std::mem::take(&mut block.own.ready) {
            Ready::No => None,
            Ready::Full => self.full.remove(&block.own.recency),
            Ready::Done => self.done.remove(&block.own.recency),
        };
    }

    #[inline(always)]
    fn make_ready(&mut self, block: &mut Block<Own>, at: u32) {
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
        if block.own.place != Place::Recent {
            block.own.place = Place::Recent;
            self.recent.push_newest(blocks, at);
        }
    }

    /// A hot page is about to return to the cluster of a block.
    #[inline(always)]
    pub(super) fn before_return(&mut self, blocks: &mut Blocks, at: u32) {
        let block = &mut blocks[at as usize];
        match block.own.place {
            Place::Recent | Place::RecentOdd => {
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
        if block.own.place != Place::Parked {
            return;
        }
        if self.is_expired(block, t) {
            self.expire_out_of_turn(blocks, at);
        } else {
            block.own.place = Place::RecentOdd;
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
        while let Some(at) = self.recent.oldest()
            && blocks[at as usize].len == 0
        {
            self.recent.unlink(blocks, at);
            blocks[at as usize].own.place = Place::Parked;
        }
        let in_turn = self.recent.oldest().map(|at| (blocks[at as usize].own.recency, at));
        let odd = self.recent_odd.first_key_value().map(|(&recency, &at)| (recency, at));
        let (_, at) = match (in_turn, odd) {
            (Some(in_turn), Some(odd)) => in_turn.min(odd),
            (one, other) => one.or(other)?,
        };
        Some((at, Rule::Fallback))
    }

    /// Hint: what is likely to be the next victim, and the one after it.
    #[inline(always)]
    pub(super) fn coming_victims(&self, blocks: &Blocks) -> (Option<u32>, Option<u32>) {
        let next = self.expired.victim().map(|(at, _)| at).or_else(|| self.recent.oldest());
        (next, next.map(|next| Linked::<1>::pair(&blocks[next as usize]).newer))
    }

    /// The lifetime changes, from time `t` on: what is within it again is recent. O(clusters).
    pub(super) fn set_bird_thd(&mut self, blocks: &mut Blocks, bird_thd: u64, t: u64) {
        let longer = bird_thd > self.bird_thd;
        self.bird_thd = bird_thd;
        if !longer {
            return; // what expires now does so with `advance`
        }
        let mut again: Vec<(u64, u32)> = Vec::new();
        let aged = |at: u32| (u64::MAX - blocks[at as usize].own.recency, at);
        let fresh = |at: &u32| !self.is_expired(&blocks[*at as usize], t);
        for (_, chain) in self.expired.iter() {
            again.extend(chain.iter(blocks).take_while(fresh).map(aged));
        }
        let odd = self.expired_odd.values().chain(self.spared.values()).copied();
        again.extend(odd.filter(fresh).map(aged));
        // All are older than the recent ones in turn.
        again.sort_unstable();
        for (_, at) in again {
            self.take(blocks, at);
            let block = &mut blocks[at as usize];
            self.clusters += 1;
            block.own.place = Place::Recent;
            self.make_ready(block, at);
            self.recent.push_oldest(blocks, at);
        }
    }

    /// Asserts that every block is where it belongs after the write at time `t`; `is_new_lifetime`
    /// if no write has come since it changed.
    pub(super) fn check(
        &self,
        blocks: &Blocks,
        known: impl Iterator<Item = u32>,
        t: u64,
        is_new_lifetime: bool,
    ) {
        let mut newer = u64::MAX;
        for at in self.recent.iter(blocks) {
            let block = &blocks[at as usize];
            assert_eq!(block.own.place, Place::Recent);
            assert!(block.own.recency < newer, "recent blocks stand in the order of recency");
            newer = block.own.recency;
        }
        for (size, chain) in self.expired.iter() {
            let mut newer = u64::MAX;
            for at in chain.iter(blocks) {
                let block = &blocks[at as usize];
                assert_eq!((block.len, block.own.place), (size, Place::Expired));
                assert!(block.own.recency < newer, "clusters of a size stand in their order");
                newer = block.own.recency;
            }
        }
        let (mut clusters, mut expired) = (0, 0);
        let mut places = [0; 6];
        let (mut full, mut done) = (0, 0);
        for at in known {
            let block = &blocks[at as usize];
            clusters += u64::from(block.len > 0);
            places[block.own.place as usize] += 1;
            let recency = &block.own.recency;
            let is_fresh = is_new_lifetime || !self.is_expired(block, t);
            let is_expired = self.is_expired(block, t + 1);
            match block.own.place {
                Place::Parked => assert_eq!(block.len, 0, "a cluster waits somewhere"),
                Place::Recent => assert!(is_fresh),
                Place::RecentOdd => {
                    assert!(is_fresh && self.recent_odd.get(recency) == Some(&at));
                }
                Place::Expired => assert!(is_expired && !self.is_spared(block)),
                Place::ExpiredOdd => {
                    assert!(is_expired && !self.is_spared(block));
                    assert_eq!(self.expired_odd.get(&odd_key(block)), Some(&at));
                }
                Place::Spared => {
                    assert!(is_expired && self.is_spared(block));
                    assert_eq!(self.spared.get(recency), Some(&at));
                }
            }
            expired += u64::from(matches!(block.own.place, Place::Expired | Place::ExpiredOdd));
            let sequential = block.len > 0 && block.own.pattern.is_sequential(self.seq_min_pages);
            let is_full = sequential && block.len == self.pages_per_block;
            let at_end = block.own.pattern.last() == self.pages_per_block - 1;
            let is_done = sequential && !is_full && at_end;
            assert_eq!(self.full.get(recency) == Some(&at), is_full, "full blocks are known");
            assert_eq!(self.done.get(recency) == Some(&at), is_done, "done blocks are known");
            full += usize::from(is_full);
            done += usize::from(is_done);
        }
        assert_eq!((clusters, expired), (self.clusters, self.expired_blocks));
        assert_eq!((full, done), (self.full.len(), self.done.len()));
        let lists = [
            self.recent.check(blocks) as usize,
            self.recent_odd.len(),
            self.expired.check(blocks) as usize,
            self.expired_odd.len(),
            self.spared.len(),
        ];
        assert_eq!(lists, places[1..], "every block is in one place");
    }
}
