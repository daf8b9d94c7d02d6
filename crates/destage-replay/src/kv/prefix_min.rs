//! `prefix-min`: no schedule of any kind has more blocks of cached prefixes
//! (`docs/spec/tiers.md` 8.2).
//!
//! Belady's rule with bypass, on whole requests: behind the prefix, head first, a block takes a
//! free frame, or that of the cached block of another request whose next request is latest, if that
//! is later than its own; else the rest of the chain is not taken in. Every block has the same
//! predecessor wherever it occurs.
//!
//! Cost. O(log n) per block, n the frames; 24 bytes per block of the trace.

use super::chains::Chains;
use super::counters::KvCounters;
use super::decision::KvDecision;
use super::lookup::{Tier1Blocks, look_up};
use super::replay::{KvReplay, KvReplayed, Serves};
use crate::counters::OwnCounters;
use crate::observe::Observer;
use crate::tiers::counters::LowerCounters;
use destage_core::{NEVER, Page};
use std::collections::BTreeSet;
use std::ops::Range;

/// Name of the bound, as users write it.
pub const NAME: &str = "prefix-min";

/// Runs the bound over the requests, whose next uses are known.
///
/// Returns `None` when the observer stopped it.
///
/// # Errors
///
/// A sentence that names a block with two predecessors.
pub fn run(
    replay: &KvReplay<'_>,
    frames: u32,
    observer: &mut dyn Observer,
) -> Result<Option<KvReplayed>, String> {
    let mut bound = PrefixMin::new(replay, frames)?;
    bound.watched = observer.watches();
    Ok(replay.follow(&mut bound, observer))
}

struct PrefixMin {
    frames: usize,
    cached: Tier1Blocks,
    resident: usize,
    /// Cached blocks of other requests than the one that is served: next request, by the row of its
    /// head, and first row of all.
    others: BTreeSet<(u64, u64, u32)>,
    /// By block: the row in which it first occurs, and its next request.
    first: Vec<u64>,
    next: Vec<u64>,
    kv: KvCounters,
    watched: bool,
    /// Blocks of the request that are cached after it.
    kept: Vec<u32>,
}

impl PrefixMin {
    fn new(replay: &KvReplay<'_>, frames: u32) -> Result<Self, String> {
        let pages = replay.columns.lpns.len();
        Ok(PrefixMin {
            frames: frames as usize,
            cached: Tier1Blocks::none(pages),
            resident: 0,
            others: BTreeSet::new(),
            first: first_rows(&replay.chains, replay.columns.lpns)?,
            next: vec![NEVER; pages],
            kv: KvCounters::default(),
            watched: false,
            kept: Vec::new(),
        })
    }

    fn key(&self, id: u32) -> (u64, u64, u32) {
        (self.next[id as usize], self.first[id as usize], id)
    }
}

/// The first row of each block.
fn first_rows(chains: &Chains<'_>, lpns: &[u64]) -> Result<Vec<u64>, String> {
    const NONE: u32 = u32::MAX;
    let mut first = vec![NEVER; lpns.len()];
    let mut predecessors = vec![NONE; lpns.len()];
    for (row, &id) in chains.ids.iter().enumerate() {
        let begins = row == 0 || chains.marks[row].begins();
        let predecessor = if begins { NONE } else { chains.ids[row - 1] };
        let at = id as usize;
        if first[at] == NEVER {
            (first[at], predecessors[at]) = (row as u64, predecessor);
        } else if predecessors[at] != predecessor {
            let shown = |id: u32| match lpns.get(id as usize) {
                Some(lpn) => format!("block {lpn}"),
                None => "the head of a chain".into(),
            };
            return Err(format!(
                "{NAME}: block {} follows {} in one request and {} in another; the bound needs \
                 blocks that stand for all before them",
                lpns[at],
                shown(predecessors[at]),
                shown(predecessor)
            ));
        }
    }
    Ok(first)
}

impl Serves for PrefixMin {
    fn serve(&mut self, replay: &KvReplay<'_>, rows: Range<usize>, observer: &mut dyn Observer) {
        let chains = &replay.chains;
        let cached = &self.cached;
        let hit = look_up(chains, rows.clone(), &mut self.kv, |id| cached.has(id));
        let mut decision = KvDecision::default();
        self.kept.clear();
        for row in rows.clone() {
            let id = chains.ids[row];
            if row < rows.start + hit {
                let key = self.key(id);
                self.others.remove(&key);
                self.kept.push(id);
            }
            self.next[id as usize] = match replay.next_uses.of(row) {
                NEVER => NEVER,
                next => chains.head_of(next as usize) as u64,
            };
        }
        for &id in &chains.ids[rows.start + hit..rows.end] {
            if self.resident == self.frames {
                let Some(&(next, _, victim)) = self.others.last() else { break };
                if next <= self.next[id as usize] {
                    break;
                }
                self.others.pop_last();
                self.cached.set(victim, false);
                self.resident -= 1;
                self.kv.evictions += 1;
                if self.watched {
                    decision.evicted.push(Page(victim.into()));
                }
            }
            self.cached.set(id, true);
            self.resident += 1;
            self.kept.push(id);
            self.kv.insertions += 1;
            if self.watched {
                decision.inserted.push(Page(id.into()));
            }
        }
        for k in 0..self.kept.len() {
            let key = self.key(self.kept[k]);
            self.others.insert(key);
        }
        if self.watched {
            decision.tiers = vec![1; hit];
            observer.chain(&decision);
        }
    }

    fn is_full(&self) -> bool {
        self.resident == self.frames
    }

    fn has_tier2(&self) -> bool {
        false
    }

    fn begin_counting(&mut self) -> OwnCounters {
        self.kv = KvCounters::default();
        OwnCounters::default()
    }

    fn counted(&self) -> (KvCounters, LowerCounters) {
        (self.kv, LowerCounters::default())
    }

    fn own_counters(&self) -> OwnCounters {
        OwnCounters::default()
    }

    fn gauges(&self, _: &mut dyn FnMut(&'static str, f64)) {}
}
