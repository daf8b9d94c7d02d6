//! The pictures by which BPAC and AALRU judge a workload: where heat is, how regular it is, what a
//! block's pages have to do with each other.
//!
//! Wu, He, Eckart. BPAC: an adaptive write buffer management scheme for flash-based solid state
//! drives. ACM TOS 2012, figures 2 to 6. Yao et al. An advanced adaptive least recently used buffer
//! management algorithm for SSD. IEEE Access 2019, figures 1 and 2.
//!
//! Virtual time counts page references: page writes, or all page accesses
//! ([`Counted`]). A distance is the number of references strictly between two (BPAC 4.3: 10 and 34
//! give 23). PIRD is the distance between two references to a page. BIRD is the distance from a
//! block's reference before to one of another page of the block: so reads the example of 4.3,
//! where 13, 13 gives none, and 8 after 10 one. A policy samples BIRD at misses only
//! (`docs/spec/block-policies.md` 5.7); a trace alone has no misses.
//!
//! One pass over the requests; memory grows with unique pages alone.

mod distances;
mod heat;
mod options;
mod ranked;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use distances::{Deviations, Distribution, Inflection};
pub use heat::{Heat, HeatCell};
pub use options::{Counted, ProfileOptions};
pub use ranked::RankedPoint;

use destage_trace::{Extent, Hooks, Result, Stage, Trace, step};
use distances::{DistanceHistogram, Sequence, bucket, bucket_from};
use heat::HeatMap;

/// Data of the papers' figures.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TraceProfile {
    /// Identity of the accesses.
    pub fingerprint: String,
    /// Page size, bytes.
    pub page_bytes: u64,
    /// Options that it was made with.
    pub options: ProfileOptions,
    /// References, of the kind that counts.
    pub references: u64,
    /// Different pages among them.
    pub pages: u64,
    /// Different erase blocks among them.
    pub blocks: u64,
    /// Block heat over time (BPAC, figure 2).
    pub heat: Heat,
    /// Blocks that the hottest pages are in (BPAC, figure 3).
    pub ranked: Vec<RankedPoint>,
    /// Deviations of the PIRD sequences, one a page (BPAC, figure 4a).
    pub pird_deviations: Deviations,
    /// Deviations of the BIRD sequences, one a block (BPAC, figure 4b).
    pub bird_deviations: Deviations,
    /// All PIRDs (BPAC, figures 5a and 6).
    pub pird: Distribution,
    /// All BIRDs (BPAC, figures 5a and 6).
    pub bird: Distribution,
    /// Pages by references and mean PIRD (BPAC, figure 5b).
    pub frequency: Vec<FrequencyCell>,
    /// Requests and read requests of each period (AALRU, figure 1).
    pub read_ratio: Vec<(u64, u64)>,
    /// The most accessed blocks, reads included (AALRU, figure 2).
    pub hottest: Vec<HotBlock>,
}

/// Pages with about so many references at about such a mean distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FrequencyCell {
    /// References from this many.
    pub references_from: u64,
    /// References to below this many.
    pub references_to: u64,
    /// Mean PIRD from this.
    pub pird_from: u64,
    /// Mean PIRD to below this.
    pub pird_to: u64,
    /// Pages.
    pub pages: u64,
}

/// Pages of one of the most accessed blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HotBlock {
    /// Number of the block.
    pub block: u64,
    /// Accesses to its pages, reads and writes.
    pub accesses: u64,
    /// Pages accessed more often than `hot_accesses`.
    pub hot: u32,
    /// Pages in between.
    pub warm: u32,
    /// Pages accessed less often than `cold_accesses`, but at all.
    pub cold: u32,
    /// Pages without an access.
    pub untouched: u32,
}

/// State of a page.
#[derive(Clone, Copy, Default)]
struct Page {
    /// Virtual time of its last reference; 0 before the first.
    last: u64,
    /// Reads and writes.
    accesses: u32,
    references: u32,
}

/// State of a block.
#[derive(Clone, Copy, Default)]
struct Block {
    /// Virtual time of the last reference to one of its pages; 0 before the first.
    last: u64,
    last_id: u32,
    birds: Sequence,
}

impl TraceProfile {
    /// Profile of every access of a trace.
    ///
    /// # Errors
    ///
    /// `Usage`, `Interrupted`.
    pub fn of(trace: &Trace, options: &ProfileOptions, hooks: &mut dyn Hooks) -> Result<Self> {
        options.check()?;
        let (block_of, blocks) = blocks_of(trace.lpns(), options.pages_per_block);
        let referenced = referenced(trace, options, &block_of, blocks.len());
        let mut pass = ProfilePass::new(trace, options, &block_of, &blocks, &referenced);
        pass.run(trace, hooks)?;
        Ok(pass.finish(trace, &blocks))
    }
}

/// Rank of the block of each page, and the number of each block.
fn blocks_of(lpns: &[u64], pages_per_block: u32) -> (Vec<u32>, Vec<u64>) {
    let mut blocks: Vec<u64> = Vec::new();
    let ranks = lpns.iter().map(|lpn| {
        let block = lpn / u64::from(pages_per_block);
        if blocks.last() != Some(&block) {
            blocks.push(block);
        }
        blocks.len() as u32 - 1
    });
    (ranks.collect(), blocks)
}

/// Whether a reference goes to the block, by its rank.
fn referenced(
    trace: &Trace,
    options: &ProfileOptions,
    block_of: &[u32],
    blocks: usize,
) -> Vec<bool> {
    if options.counted == Counted::All {
        return vec![true; blocks];
    }
    let mut found = vec![false; blocks];
    for (&first, &ops) in trace.first_ids().iter().zip(trace.pages_ops()) {
        let extent = Extent(ops);
        if extent.is_write() {
            let (low, high) = (first as usize, (first + extent.pages() - 1) as usize);
            // Pages of a request follow each other: so do the ranks of their blocks.
            found[block_of[low] as usize..=block_of[high] as usize].fill(true);
        }
    }
    found
}

/// The pass over the trace.
struct ProfilePass<'a> {
    options: &'a ProfileOptions,
    /// References so far.
    time: u64,
    block_of: &'a [u32],
    pages: Vec<Page>,
    pirds: Vec<Sequence>,
    blocks: Vec<Block>,
    pird: DistanceHistogram,
    bird: DistanceHistogram,
    heat: HeatMap,
    read_ratio: Vec<(u64, u64)>,
}

impl<'a> ProfilePass<'a> {
    fn new(
        trace: &Trace,
        options: &'a ProfileOptions,
        block_of: &'a [u32],
        blocks: &[u64],
        referenced: &[bool],
    ) -> Self {
        let counts = &trace.meta().counts;
        let references = match options.counted {
            Counted::Writes => counts.write_accesses,
            Counted::All => counts.accesses,
        };
        ProfilePass {
            options,
            time: 0,
            block_of,
            pages: vec![Page::default(); block_of.len()],
            pirds: vec![Sequence::default(); block_of.len()],
            blocks: vec![Block::default(); blocks.len()],
            pird: DistanceHistogram::new(),
            bird: DistanceHistogram::new(),
            heat: HeatMap::new(blocks, referenced, references, options),
            read_ratio: Vec::new(),
        }
    }

    fn run(&mut self, trace: &Trace, hooks: &mut dyn Hooks) -> Result<()> {
        const AT_A_TIME: usize = 1 << 14;
        let mut continuations = trace.continuations().iter().copied().peekable();
        for (row, (&first, &ops)) in trace.first_ids().iter().zip(trace.pages_ops()).enumerate() {
            if row % AT_A_TIME == 0 {
                step(hooks, Stage::Looking, row as u64, Some(trace.rows()))?;
            }
            let extent = Extent(ops);
            // A request that was cut counts once, with its first piece.
            if continuations.next_if_eq(&(row as u64)).is_none() {
                self.request(extent.is_write());
            }
            let counts = extent.is_write() || self.options.counted == Counted::All;
            for id in first..first + extent.pages() {
                let page = &mut self.pages[id as usize];
                page.accesses = page.accesses.saturating_add(1);
                if counts {
                    self.reference(id);
                }
            }
        }
        Ok(())
    }

    fn request(&mut self, write: bool) {
        match self.read_ratio.last_mut() {
            Some((requests, reads)) if *requests < self.options.period_requests => {
                *requests += 1;
                *reads += u64::from(!write);
            }
            _ => self.read_ratio.push((1, u64::from(!write))),
        }
    }

    #[inline]
    fn reference(&mut self, id: u32) {
        self.time += 1;
        let page = &mut self.pages[id as usize];
        page.references = page.references.saturating_add(1);
        if page.last > 0 {
            let distance = self.time - page.last - 1;
            self.pirds[id as usize].add(distance);
            self.pird.add(distance);
        }
        page.last = self.time;

        let rank = self.block_of[id as usize];
        let block = &mut self.blocks[rank as usize];
        let distance = (block.last > 0).then(|| self.time - block.last - 1);
        if let Some(distance) = distance
            && block.last_id != id
        {
            block.birds.add(distance);
            self.bird.add(distance);
        }
        (block.last, block.last_id) = (self.time, id);
        self.heat.add(self.time - 1, rank, distance);
    }

    fn finish(self, trace: &Trace, blocks: &[u64]) -> TraceProfile {
        let references: Vec<u32> = self.pages.iter().map(|page| page.references).collect();
        TraceProfile {
            fingerprint: trace.meta().fingerprint.clone(),
            page_bytes: trace.page_bytes(),
            options: self.options.clone(),
            references: self.time,
            pages: references.iter().filter(|count| **count > 0).count() as u64,
            blocks: self.blocks.iter().filter(|block| block.last > 0).count() as u64,
            ranked: ranked::ranked(&self.pirds, &references, self.block_of),
            pird_deviations: Deviations::of(self.pirds.iter()),
            bird_deviations: Deviations::of(self.blocks.iter().map(|block| &block.birds)),
            pird: self.pird.distribution(),
            bird: self.bird.distribution(),
            frequency: frequency(&self.pirds, &references),
            hottest: self.hottest(blocks),
            heat: self.heat.finish(),
            read_ratio: self.read_ratio,
        }
    }

    fn hottest(&self, blocks: &[u64]) -> Vec<HotBlock> {
        let mut found: Vec<HotBlock> = blocks
            .iter()
            .map(|&block| HotBlock {
                block,
                accesses: 0,
                hot: 0,
                warm: 0,
                cold: 0,
                untouched: self.options.pages_per_block,
            })
            .collect();
        for (page, rank) in self.pages.iter().zip(self.block_of) {
            let block = &mut found[*rank as usize];
            let accesses = u64::from(page.accesses);
            block.accesses += accesses;
            block.untouched -= 1;
            if accesses > self.options.hot_accesses {
                block.hot += 1;
            } else if accesses < self.options.cold_accesses {
                block.cold += 1;
            } else {
                block.warm += 1;
            }
        }
        found.sort_unstable_by_key(|block| (std::cmp::Reverse(block.accesses), block.block));
        found.truncate(self.options.hottest_blocks as usize);
        found
    }
}

/// Counts pages of two references and more by references and mean PIRD.
fn frequency(pirds: &[Sequence], references: &[u32]) -> Vec<FrequencyCell> {
    let mut cells: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (pird, &count) in pirds.iter().zip(references) {
        if let Some((sum, distances)) = pird.mean() {
            let place = (bucket(count.into()), bucket(sum / u64::from(distances)));
            *cells.entry(place).or_default() += 1;
        }
    }
    cells
        .into_iter()
        .map(|((count, pird), pages)| FrequencyCell {
            references_from: bucket_from(count),
            references_to: bucket_from(count + 1),
            pird_from: bucket_from(pird),
            pird_to: bucket_from(pird + 1),
            pages,
        })
        .collect()
}
