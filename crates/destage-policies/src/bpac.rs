//! BPAC: hot pages apart from cold blocks, and of the blocks that have stopped growing the largest.
//!
//! Wu, He, Eckart. An adaptive write buffer management scheme for flash-based SSDs. ACM Trans.
//! Storage 8(1), 2012 ("block-page adaptive cache"). Section 4 and Algorithm 1;
//! `docs/spec/block-policies.md` 5.
//!
//! State (4.2). Written pages, each in one of two lists. The *p-list* holds hot pages in LRU order;
//! the *b-list* holds clusters, the other pages of each erase block. Virtual time `t` counts page
//! writes.
//!
//! ```text
//!   p-list   MRU 8 12 40 LRU ──────── not written for PIRD_thd ─┐
//!               ▲                                              ▼
//!   b-list      └── hit ──  #2{9 10} #3{13} │ #0{1 2 3} #5{20}
//!                           size-independent │ size-dependent: no new page for BIRD_thd
//! ```
//!
//! Distances (4.3). PIRD, page inter-reference distance: writes between two writes of a page. BIRD,
//! block inter-reference distance: writes between two uses of a block, a use being a page that
//! joins its cluster from outside the buffer or a hit in its cluster. A period's samples give the
//! lifetimes of the next one: `PIRD_thd` and `BIRD_thd` are where the distribution's percentile
//! curve turns upright (4.4.3, `bpac/knee.rs`).
//!
//! A write (Algorithm 1). Hit in the b-list: the page becomes hot, unless its block loops. Hit in
//! the p-list: it moves to the MRU end. Miss: evict if full; the page joins its cluster. Then hot
//! pages that are out of lifetime return to their clusters, and at the end of a period the
//! thresholds are recomputed.
//!
//! Patterns (4.5). A block is sequential, looping or random by the order in which its pages come
//! (`bpac/pattern.rs`). BIRDs of sequential blocks are not sampled.
//!
//! Victim (4.5), the first rule that finds a cluster (`bpac/b_list.rs`): a sequential one that is
//! *full*, all pages of its block; one that is *done*, run to the last page of its block; the
//! largest in the size-dependent region; the least recent. If every page is hot, the LRU page of
//! the p-list goes alone. Hot pages stay when their cluster is destaged.
//!
//! Readings. Where the paper is open or contradicts itself, and what is done here (the reasons are
//! in the specification, 5.7):
//!
//! | paper | here |
//! |---|---|
//! | what virtual time counts | page writes; reads change nothing |
//! | distances less 1 (4.3), or not (Algorithm 1) | less 1: consecutive writes are 0 apart |
//! | PIRD of p-list hits (Algorithm 1), or of all page hits (4.4.3) | `pird_sampling`: `all_hits`, those that make a page hot included, or `p_list` |
//! | BIRD on misses (Algorithm 1); an example with a hit (4.3) | on misses, of resident blocks |
//! | when a cluster is sequential or looping | a gapless ascending run of `seq_min_pages`; the run's first page again |
//! | only looping and random clusters are in the size-dependent region (4.5) | `seq_expiry`: sequential ones too when their lifetime is over, or not |
//! | thresholds of the first period | `initial_pird_thd`, `initial_bird_thd`: nothing expires without evidence |
//! | which of several full or done clusters; the region is empty | the least recent |
//! | whether a returning page makes its block recent | no, it is no reference |
//!
//! Cost. O(1) amortised per access, O(log c) of c clusters for those that hot pages return to and
//! those that are ready; a period of n samples costs O(n), and O(c) if BIRD_thd grows.

mod b_list;
mod knee;
mod pattern;
#[cfg(test)]
mod tests;

use crate::clusters::{Blocks, Chain, Padding, Share};
use crate::params::{IfAbsent, Kind, Param};
use crate::{Counter, Gauge, Info, Setup};
use b_list::{BList, ClusterState, Rule};
use destage_core::{DeviceView, Directory, Lookup, Page, Part, Plan, Policy, Request, Slot};
use knee::Samples;

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "bpac",
    title: "Block-Page Adaptive Cache",
    source: "Wu, He, Eckart. An adaptive write buffer management scheme for flash-based SSDs. ACM \
             Trans. Storage 8(1), 2012, section 4 and Algorithm 1",
    about: "A write buffer that keeps hot pages apart and finds which erase blocks stopped \
            growing.",
    flash_aware: true,
    clusters: true,
    time: "O(1) amortised; O(log c), c clusters, when a hot page cools",
    params: &[
        Param {
            name: "sampling_period",
            kind: Kind::Int { min: 1, max: u64::MAX },
            default: IfAbsent::Int(10_000),
            unit: "page writes",
            about: "Sampling time of distances before they set the thresholds. Default: \
                    section 4.4.1.",
            ..Param::BLANK
        },
        Param {
            name: "initial_pird_thd",
            symbol: "PIRD_thd",
            kind: Kind::OptionalInt { min: 0, max: u64::MAX },
            default: IfAbsent::None("sampling_period"),
            unit: "page writes",
            about: "Lifetime of hot pages in the first period: PIRD is the page inter-reference \
                    distance. Default: no longer distance can be seen in one period.",
            ..Param::BLANK
        },
        Param {
            name: "initial_bird_thd",
            symbol: "BIRD_thd",
            kind: Kind::OptionalInt { min: 0, max: u64::MAX },
            default: IfAbsent::None("sampling_period"),
            unit: "page writes",
            about: "Lifetime of clusters in the first period: BIRD is the block inter-reference \
                    distance. Default: as initial_pird_thd.",
            ..Param::BLANK
        },
        Param {
            name: "seq_min_pages",
            kind: Kind::Int { min: 2, max: u64::MAX },
            default: IfAbsent::Int(2),
            unit: "pages",
            about: "From this length on a gapless ascending run is sequential. Default: the \
                    shortest sequence.",
            ..Param::BLANK
        },
        Param {
            name: "seq_expiry",
            kind: Kind::Bool,
            default: IfAbsent::Bool(true),
            about: "Sequential clusters expire like others; false is section 4.5 to the letter. \
                    Default: a stream that stopped would hold its frames.",
            ..Param::BLANK
        },
        Param {
            name: "pird_sampling",
            kind: Kind::Choice(&["all_hits", "p_list"]),
            default: IfAbsent::Word("p_list"),
            about: "Hits that give a PIRD: only those in the p-list (the hot pages), or those that \
                    make a page hot too (section 4.4.3). Default: Algorithm 1, as `reproduce \
                    bpac` runs it.",
            ..Param::BLANK
        },
    ],
    counters: &[
        Counter {
            name: "p_list_hits",
            title: "p-list hits",
            about: "BPAC: writes that hit a hot page",
            ..Counter::BLANK
        },
        Counter {
            name: "b_list_hits",
            title: "b-list hits",
            about: "BPAC: writes that hit a cluster",
            ..Counter::BLANK
        },
        Counter {
            name: "evictions_full",
            title: "Full",
            unit: "groups",
            about: "BPAC: sequential clusters of a whole block",
            ..Counter::BLANK
        },
        Counter {
            name: "evictions_done",
            title: "Done",
            unit: "groups",
            about: "BPAC: sequential clusters that reached the end of their block",
            ..Counter::BLANK
        },
        Counter {
            name: "evictions_largest",
            title: "Largest",
            unit: "groups",
            about: "BPAC: largest clusters out of lifetime",
            ..Counter::BLANK
        },
        Counter {
            name: "evictions_fallback",
            title: "Fallback",
            unit: "groups",
            about: "BPAC: least recent clusters, with none out of lifetime",
            ..Counter::BLANK
        },
        Counter {
            name: "evictions_p_list",
            title: "From the p-list",
            unit: "groups",
            about: "BPAC: hot pages, with no cluster left",
            ..Counter::BLANK
        },
    ],
    gauges: &[
        Gauge { name: "pird_thd", title: "PIRD_thd", unit: "page writes" },
        Gauge { name: "bird_thd", title: "BIRD_thd", unit: "page writes" },
        Gauge { name: "p_list_pages", title: "Pages of the p-list", unit: "" },
        Gauge { name: "clusters", title: "Clusters", unit: "" },
        Gauge { name: "alpha", title: "alpha: share of clusters in lifetime", unit: "" },
        Gauge { name: "alpha_mean", title: "Mean alpha", unit: "" },
    ],
    ..Info::BLANK
};

/// BPAC's state of a page: the virtual time of its last write, and whether it is in the p-list.
/// In one word, because two frames then share a line of the processor's caches.
#[derive(Clone, Copy)]
struct PageState(u64);

impl PageState {
    const HOT: u64 = 1 << 63; // no run has so many writes

    #[inline(always)]
    fn new(last_ref: u64, hot: bool) -> Self {
        PageState(last_ref | if hot { PageState::HOT } else { 0 })
    }

    #[inline(always)]
    fn last_ref(self) -> u64 {
        self.0 & !PageState::HOT
    }

    #[inline(always)]
    fn is_hot(self) -> bool {
        self.0 & PageState::HOT != 0
    }
}

/// Counters of BPAC.
#[derive(Clone, Copy, Default)]
struct BpacCounters {
    p_list_hits: u64,
    b_list_hits: u64,
    evictions_full: u64,
    evictions_done: u64,
    evictions_largest: u64,
    evictions_fallback: u64,
    evictions_p_list: u64,
}

/// The end of a period.
#[derive(Clone, Copy, Default)]
struct Period {
    t: u64,
    pird_thd: u64,
    bird_thd: u64,
    fresh: u64,    // clusters outside the size-dependent region, by the old BIRD_thd
    clusters: u64, // not empty
}

impl Period {
    /// CLC's parameter alpha, adapted here (figure 10).
    fn alpha(&self) -> f64 {
        self.fresh as f64 / self.clusters.max(1) as f64
    }
}

/// The policy.
pub struct Bpac<D> {
    // every resident page; clusters hold those that are not hot
    pages: Blocks<D, PageState, ClusterState>,
    p_list: Chain<0>,
    p_list_len: u32,
    b_list: BList,
    t: u64,
    pird_thd: u64,
    pirds: Samples,
    birds: Samples,
    sampling_period: u64,
    period_left: u64, // writes
    sample_all_hits: bool,
    counts: BpacCounters,
    last_period: Period,
    alphas: f64, // sum over all periods
    ended_periods: u64,
    periods: Option<Vec<Period>>,
    frames: u32,
}

impl<D: Directory> Bpac<D> {
    /// An empty cache of `setup.frames` frames and erase blocks of `setup.pages_per_block` pages.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let sampling_period = setup.params.int("sampling_period");
        let threshold = |key| setup.params.optional_int(key).unwrap_or(sampling_period);
        Bpac {
            pages: Blocks::new(setup, directory),
            p_list: Chain::default(),
            p_list_len: 0,
            b_list: BList::new(setup, threshold("initial_bird_thd")),
            t: 0,
            pird_thd: threshold("initial_pird_thd"),
            pirds: Samples::default(),
            birds: Samples::default(),
            sampling_period,
            period_left: sampling_period,
            sample_all_hits: setup.params.word("pird_sampling") == "all_hits",
            counts: BpacCounters::default(),
            last_period: Period::default(),
            alphas: 0.0,
            ended_periods: 0,
            periods: None,
            frames: setup.frames,
        }
    }

    #[inline(always)]
    fn hit_in_p_list(&mut self, frame: u32) {
        let own = &mut self.pages.frames[frame as usize].own;
        self.pirds.push(self.t - own.last_ref() - 1);
        *own = PageState::new(self.t, true);
        self.p_list.touch(&mut self.pages.frames, frame);
        self.counts.p_list_hits += 1;
    }

    #[inline(always)]
    fn hit_in_b_list(&mut self, frame: u32) {
        let block = self.pages.block_of(frame);
        self.b_list.take_for_use(&mut self.pages.blocks, block);
        let p = self.pages.frames[frame as usize].offset;
        let pattern = &mut self.pages.blocks[block as usize].own.pattern;
        pattern.hit(p, self.b_list.seq_min_pages());
        let becomes_hot = pattern.kind() != pattern::WritePattern::Loop;
        if becomes_hot {
            self.pages.unlink(frame);
            self.p_list.push_newest(&mut self.pages.frames, frame);
            self.p_list_len += 1;
        }
        let own = &mut self.pages.frames[frame as usize].own;
        if becomes_hot && self.sample_all_hits {
            self.pirds.push(self.t - own.last_ref() - 1);
        }
        *own = PageState::new(self.t, becomes_hot);
        self.pages.blocks[block as usize].own.recency = self.t;
        self.b_list.put_newest(&mut self.pages.blocks, block);
        self.counts.b_list_hits += 1;
    }

    /// Ends a write.
    #[inline(always)]
    fn end_write(&mut self) {
        while let Some(frame) = self.p_list.oldest()
            && self.pages.frames[frame as usize].own.last_ref().saturating_add(self.pird_thd)
                < self.t
        {
            self.return_to_b_list(frame);
        }
        self.period_left -= 1;
        if self.period_left == 0 {
            self.end_period();
        }
    }

    /// A hot page is out of lifetime.
    fn return_to_b_list(&mut self, frame: u32) {
        self.p_list.unlink(&mut self.pages.frames, frame);
        self.p_list_len -= 1;
        let block = self.pages.block_of(frame);
        self.b_list.before_return(&mut self.pages.blocks, block);
        let held = &mut self.pages.frames[frame as usize];
        held.own = PageState::new(held.own.last_ref(), false);
        self.pages.blocks[block as usize].own.pattern.return_of(held.offset);
        self.pages.link(frame);
        self.b_list.after_return(&mut self.pages.blocks, block, self.t);
        if let Some(next) = self.p_list.oldest() {
            self.pages.prefetch_leaving(next); // a lifetime that shrinks ends many pages'
        }
    }

    #[cold]
    #[inline(never)]
    fn end_period(&mut self) {
        let (fresh, clusters) = (self.b_list.fresh(), self.b_list.clusters());
        if let Some(threshold) = self.pirds.take_knee() {
            self.pird_thd = threshold;
        }
        if let Some(threshold) = self.birds.take_knee() {
            self.b_list.set_bird_thd(&mut self.pages.blocks, threshold, self.t + 1);
        }
        let (pird_thd, bird_thd) = (self.pird_thd, self.b_list.bird_thd);
        self.last_period = Period { t: self.t, pird_thd, bird_thd, fresh, clusters };
        self.alphas += self.last_period.alpha();
        self.ended_periods += 1;
        if let Some(periods) = &mut self.periods {
            periods.push(self.last_period);
        }
        self.period_left = self.sampling_period;
    }
}

impl<D: Directory> Policy for Bpac<D> {
    type Miss = ();

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let found = self.pages.find(r.page);
        if !r.op.is_write() {
            return found.map_or(Lookup::Bypass, |(slot, _)| Lookup::Hit(slot));
        }
        self.t += 1;
        self.b_list.advance(&mut self.pages.blocks, self.t);
        let Some((slot, frame)) = found else { return Lookup::Miss(()) };
        if self.pages.frames[frame as usize].own.is_hot() {
            self.hit_in_p_list(frame);
        } else {
            self.hit_in_b_list(frame);
        }
        self.end_write();
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let block = match self.b_list.victim(&mut self.pages.blocks) {
            Some((block, rule)) => {
                *match rule {
                    Rule::Full => &mut self.counts.evictions_full,
                    Rule::Done => &mut self.counts.evictions_done,
                    Rule::Largest => &mut self.counts.evictions_largest,
                    Rule::Fallback => &mut self.counts.evictions_fallback,
                } += 1;
                block
            }
            None => {
                self.counts.evictions_p_list += 1;
                let frame = self.p_list.oldest().expect("evict is only called on a full buffer");
                self.return_to_b_list(frame);
                self.pages.block_of(frame)
            }
        };
        self.b_list.take(&mut self.pages.blocks, block);
        // With no hot page in the block, no page has to be asked.
        let has_hot = self.pages.blocks[block as usize].has_more_than_its_cluster();
        let share = |own: &PageState| match has_hot && own.is_hot() {
            true => Share::Elsewhere,
            false => Share::Leaves,
        };
        self.pages.gather(block, share);
        let forgotten = self.pages.destage(block, Padding::None, plan);
        if !forgotten {
            self.pages.blocks[block as usize].own.pattern = pattern::Pattern::default();
        }
        let (next, newer) = self.b_list.coming_victims(&self.pages.blocks);
        self.pages.prefetch_victims(next, newer);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let own = PageState::new(self.t, false);
        let (slot, frame) = self.pages.admit(r.page, r.lpn, own);
        let block = self.pages.block_of(frame);
        let is_new = self.pages.blocks[block as usize].is_new();
        if !is_new {
            self.b_list.take_for_use(&mut self.pages.blocks, block);
        }
        self.pages.link(frame);
        let p = self.pages.frames[frame as usize].offset;
        let own = &mut self.pages.blocks[block as usize].own;
        own.pattern.insertion(p);
        if !is_new && !own.pattern.is_sequential(self.b_list.seq_min_pages()) {
            self.birds.push(self.t - own.recency - 1);
        }
        own.recency = self.t;
        self.b_list.put_newest(&mut self.pages.blocks, block);
        self.end_write();
        slot
    }

    in_blocks! { self.pages: |_: &PageState| true; frames: self.frames }

    /// Pattern and recency of the block stay while it has a page, hot or not.
    fn forget(&mut self, page: Page) -> Option<bool> {
        let (_, frame) = self.pages.find(page)?;
        let block = self.pages.block_of(frame);
        if self.pages.frames[frame as usize].own.is_hot() {
            self.p_list.unlink(&mut self.pages.frames, frame);
            self.p_list_len -= 1;
            if self.pages.blocks[block as usize].is_new() {
                self.b_list.take(&mut self.pages.blocks, block); // it was its block's only page
            }
            self.pages.leave(frame);
            return Some(true);
        }
        self.b_list.take(&mut self.pages.blocks, block);
        self.pages.unlink(frame);
        if self.pages.blocks[block as usize].len > 0 {
            self.b_list.after_return(&mut self.pages.blocks, block, self.t);
        }
        self.pages.leave(frame);
        Some(true)
    }

    hints! { self.pages: prefetch, prefetch_held, prefetch_block }

    fn counters(&self, count: &mut dyn FnMut(&'static str, u64)) {
        let c = &self.counts;
        count("p_list_hits", c.p_list_hits);
        count("b_list_hits", c.b_list_hits);
        count("evictions_full", c.evictions_full);
        count("evictions_done", c.evictions_done);
        count("evictions_largest", c.evictions_largest);
        count("evictions_fallback", c.evictions_fallback);
        count("evictions_p_list", c.evictions_p_list);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("pird_thd", self.pird_thd as f64);
        show("bird_thd", self.b_list.bird_thd as f64);
        show("p_list_pages", f64::from(self.p_list_len));
        show("clusters", self.b_list.clusters() as f64);
        show("alpha", self.last_period.alpha());
        show("alpha_mean", self.alphas / self.ended_periods.max(1) as f64);
    }

    fn keep_periods(&mut self) {
        self.periods = Some(Vec::new());
    }

    fn inside(&self) -> Vec<(&'static str, Part)> {
        let p_list = self.p_list.iter(&self.pages.frames).map(|frame| self.pages.page(frame));
        let mut blocks: Vec<u32> = self.pages.known().collect();
        blocks.retain(|&block| self.pages.blocks[block as usize].len > 0);
        blocks.sort_unstable_by_key(|&b| u64::MAX - self.pages.blocks[b as usize].own.recency);
        let cluster = |block: u32| {
            let [number, pages] = self.pages.show(block);
            let pattern = self.pages.blocks[block as usize].own.pattern.name();
            Part::list([number, pages, Part::Word(pattern)])
        };
        let period = |p: &Period| {
            Part::list([p.t, p.pird_thd, p.bird_thd, p.fresh, p.clusters].map(Part::Count))
        };
        vec![
            ("p_list", Part::pages(p_list)),
            ("b_list", Part::list(blocks.into_iter().map(cluster))),
            ("time", Part::Count(self.t)),
            ("pird_thd", Part::Count(self.pird_thd)),
            ("bird_thd", Part::Count(self.b_list.bird_thd)),
            ("periods", Part::list(self.periods.iter().flatten().map(period))),
        ]
    }

    fn check(&self) {
        self.pages.check();
        // Right after the end of a period, what the new lifetime lets expire is still recent.
        let is_new_lifetime = self.period_left == self.sampling_period;
        self.b_list.check(&self.pages.blocks, self.pages.known(), self.t, is_new_lifetime);
        let mut newer = u64::MAX;
        for frame in self.p_list.iter(&self.pages.frames) {
            let own = &self.pages.frames[frame as usize].own;
            assert!(own.is_hot() && own.last_ref() < newer, "the p-list is in the order of writes");
            newer = own.last_ref();
        }
        assert_eq!(self.p_list.check(&self.pages.frames), self.p_list_len);
        let mut hot = 0;
        self.pages.for_each(&mut |_, own| hot += u32::from(own.is_hot()));
        assert_eq!(hot, self.p_list_len);
        assert!(self.resident() <= self.frames);
    }
}
