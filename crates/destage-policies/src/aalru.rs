//! AALRU: clean and dirty pages share the frames by what they gain; write-backs are clustered, and
//! padded when collections are expensive.
//!
//! Yao, Kong, Zhou, Xu, Feng, Liu. An advanced adaptive least recently used buffer management
//! algorithm for SSD. IEEE Access 7, 2019. Section III, equations 1 to 6, Algorithms 1 and 2;
//! `docs/spec/block-policies.md` 6.
//!
//! State. Two LRU lists: RB of clean pages, the read buffer, and WB of dirty ones, the write
//! buffer. `tau` is the wanted size of RB, `Th` the padding threshold, both in pages.
//!
//! ```text
//!   RB   MRU 9 12 40 LRU ──▶ out, if |RB| >= tau
//!   WB   MRU 8 21 20 LRU ──▶ else out, with all pages of its block that are in WB (N_D of them),
//!                            padded to the whole block if N_D > Th
//! ```
//!
//! A hit page becomes the most recent of its list; a write moves a page of RB to WB. A read miss
//! goes to RB, a write miss to WB.
//!
//! After every T accesses, with the period's hits RRH (reads in RB), RWH (writes in RB), WRH, WWH
//! and its mean latencies D_r, D_w of a page read and a page write:
//!
//! ```text
//!   WR  = (WWH D_w + WRH D_r) / (BS - tau')        what a page of WB gains          (1)
//!   RR  = (RWH D_w + RRH D_r) / tau'               what a page of RB gains          (2)
//!   tau = RR / (WR + RR) BS                        within [1, BS - 1]               (3)
//!   Wf  = D_w / F_w                                write amplification, from outside (5)
//!   Th  = b if Wf <= 1;  b - (b / beta) Wf if Wf <= beta;  else 0                   (6)
//! ```
//!
//! Latencies are measured by the drive: what its unit worked for the operation, collections, merges
//! and translation pages that it set off included; F_r and F_w are the drive's nominal times.
//! Without a drive every operation takes its nominal time: Wf stays 1, and AALRU never pads. With
//! `latency = response` the wait behind other operations counts, too. The pages of a destage that
//! go to one chip wait for each other, so that Wf is then far above 1 without any collection.
//!
//! Readings. Where the paper is open or contradicts itself, and what is done here (the reasons are
//! in the specification, 6.4):
//!
//! | paper | here |
//! |---|---|
//! | pad if N_D >= Th (III-C), or N_D > Th (Algorithm 2, III-E) | N_D > Th: nothing is padded at Th = b |
//! | evict from RB if RL >= tau (III-B, Algorithm 2), or RL > tau (III-E) | RL >= tau |
//! | equation 6 gives 0.8 b at Wf = 1 where the text wants b | the text up to Wf = 1, the equation above it |
//! | T counts requests (III-B), or pages (Algorithm 1) | page accesses; the first update after T of them |
//! | tau' = 0 or BS divides by zero, 0/0 | tau is kept within [1, BS - 1]; without hits it stays |
//! | D_w from arrival to completion, or the standard delay and that of collection (III-C) | the latter: Wf = 1 is to mean that nothing was collected, and in the paper's simulator there was no queue |
//! | a period without reads or writes of flash | D_r, D_w stay |
//! | padding a page with a clean copy in RB | written from there, without a flash read; it stays in RB |
//!
//! If hits do not depend on the split, equations 1 to 3 make tau jump between two values for ever.
//! That is the paper's rule.
//!
//! Cost. O(1) per access, O(b) per write-back.

#[cfg(test)]
mod tests;

use crate::clusters::{Blocks, Chain, Padding, Pair, Share};
use crate::params::{IfAbsent, Kind, Param, ParamError};
use crate::{BuildError, Caveat, Circumstance, Counter, FromRun, Gauge, Info, Pads, Setup, Takes};
use destage_core::{
    Completion, DeviceView, Directory, Lookup, Nanos, Page, Part, Plan, Policy, Request,
    Requirements, Slot,
};

/// Parameter F_r; a run with a drive gives the drive's.
const PAGE_READ_NS: &str = "page_read_ns";
/// Parameter F_w; a run with a drive gives the drive's.
const PAGE_WRITE_NS: &str = "page_write_ns";

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "aalru",
    title: "Advanced Adaptive LRU",
    source: "Yao, Kong, Zhou, Xu, Feng, Liu. An advanced adaptive least recently used buffer \
             management algorithm for SSD. IEEE Access 7, 2019, section III",
    about: "Clean and dirty pages share the frames by gain; blocks are padded when writes are \
            slow.",
    flash_aware: true,
    clusters: true,
    pads: Pads::WithDevice,
    time: "O(1), destage O(b), b pages of a block",
    params: &[
        Param {
            name: "period",
            symbol: "T",
            kind: Kind::Int { min: 1, max: u64::MAX },
            default: IfAbsent::Int(8192),
            unit: "page accesses",
            about: "Interval between updates of tau and Th. Default: section IV.",
            ..Param::BLANK
        },
        Param {
            name: "beta",
            symbol: "beta",
            kind: Kind::RealAbove { above: 1.0 },
            default: IfAbsent::Real(5.0),
            about: "Write amplification from which on everything is padded. Default: section IV.",
            ..Param::BLANK
        },
        Param {
            name: "latency",
            symbol: "D_r, D_w",
            kind: Kind::Choice(&["service", "response"]),
            default: IfAbsent::Word("service"),
            about: "Latency of an operation. service: the time that its unit (chip) worked for it, \
                    GC included. response: from submission to end, so with the wait for other \
                    pages of the same destage.",
            ..Param::BLANK
        },
        Param {
            name: PAGE_READ_NS,
            symbol: "F_r",
            kind: Kind::Int { min: 1, max: u64::MAX },
            default: IfAbsent::Int(32_700),
            unit: "ns",
            about: "Nominal time of a page read. Default: the run's device, else table 3.",
            ..Param::BLANK
        },
        Param {
            name: PAGE_WRITE_NS,
            symbol: "F_w",
            kind: Kind::Int { min: 1, max: u64::MAX },
            default: IfAbsent::Int(101_500),
            unit: "ns",
            about: "Nominal time of a page write. Default: the run's device, else table 3.",
            ..Param::BLANK
        },
        Param {
            name: "initial_tau",
            symbol: "tau",
            kind: Kind::OptionalReal { min: 0.0, max: u32::MAX as f64 },
            default: IfAbsent::None("half of the frames"),
            unit: "pages, at most the frames",
            about: "Wanted size of the read buffer at first. Default: a neutral split.",
            ..Param::BLANK
        },
    ],
    takes: &[
        Takes { param: PAGE_READ_NS, from: FromRun::PageReadNs },
        Takes { param: PAGE_WRITE_NS, from: FromRun::PageProgramNs },
    ],
    counters: &[
        Counter {
            name: "rb_read_hits",
            title: "RRH",
            about: "AALRU: reads that hit a clean page",
            ..Counter::BLANK
        },
        Counter {
            name: "rb_write_hits",
            title: "RWH",
            about: "AALRU: writes that hit a clean page",
            ..Counter::BLANK
        },
        Counter {
            name: "wb_read_hits",
            title: "WRH",
            about: "AALRU: reads that hit a dirty page",
            ..Counter::BLANK
        },
        Counter {
            name: "wb_write_hits",
            title: "WWH",
            about: "AALRU: writes that hit a dirty page",
            ..Counter::BLANK
        },
    ],
    gauges: &[
        Gauge { name: "tau", title: "tau: share of the read buffer", unit: "" },
        Gauge { name: "th", title: "Th: dirty pages that are padded", unit: "pages" },
        Gauge { name: "wf", title: "Wf: write amplification", unit: "" },
        Gauge { name: "rb_pages", title: "Pages of the read buffer", unit: "" },
    ],
    caveats: &[Caveat {
        when: Circumstance::NoDevice,
        says: "without a device every flash operation takes its nominal time, so nothing is ever \
               padded",
    }],
    ..Info::BLANK
};

/// AALRU's state of a page.
#[derive(Clone, Copy)]
struct PageState {
    links: Pair, // in RB or WB
    dirty: bool, // in WB
}

linked! { PageState: 1 => links }

/// AALRU's state of a block.
#[derive(Clone, Copy, Default)]
struct BlockState {
    dirty: u32, // its pages in WB: N_D when it is written back
}

/// Hits by list.
#[derive(Clone, Copy, Default)]
struct Hits {
    rrh: u64, // reads in RB
    rwh: u64, // writes in RB
    wrh: u64, // reads in WB
    wwh: u64, // writes in WB
}

impl Hits {
    fn since(self, before: Hits) -> Hits {
        Hits {
            rrh: self.rrh - before.rrh,
            rwh: self.rwh - before.rwh,
            wrh: self.wrh - before.wrh,
            wwh: self.wwh - before.wwh,
        }
    }
}

/// Latencies of one kind of operation.
#[derive(Clone, Copy)]
struct Latencies {
    sum_ns: u128, // of the period
    count: u64,   // of the period
    mean_ns: f64, // of the last period that had any: D_r, D_w
}

impl Latencies {
    fn new(nominal_ns: Nanos) -> Self {
        Latencies { sum_ns: 0, count: 0, mean_ns: nominal_ns as f64 }
    }

    fn add(&mut self, latency_ns: Nanos) {
        self.sum_ns += u128::from(latency_ns);
        self.count += 1;
    }

    fn end_period(&mut self) {
        if self.count > 0 {
            self.mean_ns = self.sum_ns as f64 / self.count as f64;
        }
        (self.sum_ns, self.count) = (0, 0);
    }
}

/// The policy.
pub struct Aalru<D> {
    // every resident page, clean or dirty, linked to its block
    pages: Blocks<D, PageState, BlockState>,
    rb: Chain<1>,
    wb: Chain<1>,
    rb_len: u32, // RL
    tau: f64,
    th: f64,
    d_r: Latencies,
    d_w: Latencies,
    f_w: f64,
    beta: f64,
    service_only: bool, // parameter latency
    hits: Hits,         // of the whole run
    hits_before: Hits,  // when the period began
    period: u64,        // T
    period_left: u64,   // accesses
    count: u64,         // accesses, up to the last update
    updates: Option<Vec<(u64, f64, f64)>>,
    frames: u32, // BS
}

impl<D: Directory> Aalru<D> {
    /// An empty cache of `setup.frames` frames and erase blocks of `setup.pages_per_block` pages.
    /// An error if `initial_tau` is more than the frames.
    pub fn build(setup: &Setup, directory: D) -> Result<Self, BuildError> {
        let (params, frames) = (&setup.params, setup.frames);
        let tau = params.optional_real("initial_tau").unwrap_or(f64::from(frames) / 2.0);
        if tau > f64::from(frames) {
            return Err(BuildError::Param(ParamError(format!(
                "aalru: initial_tau = {tau:?}: expected 0..{frames}, pages: the buffer has {frames}"
            ))));
        }
        let period = params.int("period");
        let f_w = params.int(PAGE_WRITE_NS);
        Ok(Aalru {
            pages: Blocks::new(setup, directory),
            rb: Chain::default(),
            wb: Chain::default(),
            rb_len: 0,
            tau: clamp(tau, frames),
            th: f64::from(setup.pages_per_block),
            d_r: Latencies::new(params.int(PAGE_READ_NS)),
            d_w: Latencies::new(f_w),
            f_w: f_w as f64,
            beta: params.real("beta"),
            service_only: params.word("latency") == "service",
            hits: Hits::default(),
            hits_before: Hits::default(),
            period,
            period_left: period,
            count: 0,
            updates: None,
            frames,
        })
    }

    fn latency_ns(&self, done: &Completion) -> Nanos {
        if self.service_only { done.service_ns } else { done.latency_ns }
    }

    fn wf(&self) -> f64 {
        self.d_w.mean_ns / self.f_w
    }

    /// An access is over.
    #[inline(always)]
    fn end_access(&mut self) {
        self.period_left -= 1;
        if self.period_left == 0 {
            self.update();
        }
    }

    #[cold]
    #[inline(never)]
    fn update(&mut self) {
        self.count += self.period;
        self.period_left = self.period;
        self.d_r.end_period();
        self.d_w.end_period();
        let (d_r, d_w) = (self.d_r.mean_ns, self.d_w.mean_ns);
        let Hits { rrh, rwh, wrh, wwh } = self.hits.since(self.hits_before);
        self.hits_before = self.hits;
        if self.frames > 1 {
            let bs = f64::from(self.frames);
            let wr = (wwh as f64 * d_w + wrh as f64 * d_r) / (bs - self.tau); // (1)
            let rr = (rwh as f64 * d_w + rrh as f64 * d_r) / self.tau; // (2)
            if wr + rr > 0.0 {
                self.tau = clamp(rr / (wr + rr) * bs, self.frames); // (3)
            }
        }
        self.th = threshold(self.wf(), self.pages.pages_per_block().into(), self.beta);
        if let Some(updates) = &mut self.updates {
            updates.push((self.count, self.tau, self.th));
        }
    }

    fn drop_clean(&mut self, plan: &mut Plan) {
        let frame = self.rb.oldest().expect("a list that is chosen has a page");
        self.rb.unlink(&mut self.pages.frames, frame);
        self.rb_len -= 1;
        self.pages.unlink(frame);
        plan.evict(self.pages.leave(frame), false);
        if let Some(next) = self.rb.oldest() {
            self.pages.prefetch_linked::<1>(next);
            self.pages.prefetch_leaving(next);
        }
    }

    fn write_back(&mut self, plan: &mut Plan) {
        let lru = self.wb.oldest().expect("a list that is chosen has a page");
        let block = self.pages.block_of(lru);
        let n_d = std::mem::take(&mut self.pages.blocks[block as usize].own.dirty);
        let pads = f64::from(n_d) > self.th;
        let padding = if pads { Padding::WholeBlock } else { Padding::None };
        // With no clean page in the block, no page has to be asked.
        let has_clean = n_d < self.pages.blocks[block as usize].len;
        let share = |own: &PageState| match has_clean && !own.dirty {
            true => Share::Stays,
            false => Share::Leaves,
        };
        self.pages.gather(block, share);
        self.pages.unlink_gathered(&mut self.wb);
        self.pages.destage(block, padding, plan);
    }
}

/// Keeps both lists alive, and equations 1 and 2 defined.
fn clamp(tau: f64, frames: u32) -> f64 {
    if frames == 1 { 0.5 } else { tau.max(1.0).min(f64::from(frames - 1)) }
}

/// Equation 6, and the text around it.
fn threshold(wf: f64, b: f64, beta: f64) -> f64 {
    if wf <= 1.0 {
        b
    } else if wf <= beta {
        (-(b / beta) * wf + b).max(0.0)
    } else {
        0.0
    }
}

impl<D: Directory> Policy for Aalru<D> {
    type Miss = ();

    const REQUIREMENTS: Requirements = Requirements::LATENCIES;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some((slot, frame)) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        let frames = &mut self.pages.frames;
        let own = &mut frames[frame as usize].own;
        match (own.dirty, r.op.is_write()) {
            (false, false) => {
                self.hits.rrh += 1;
                self.rb.touch(frames, frame);
            }
            (false, true) => {
                self.hits.rwh += 1;
                own.dirty = true;
                self.rb.unlink(frames, frame);
                self.rb_len -= 1;
                self.wb.push_newest(frames, frame);
                let block = frames[frame as usize].block;
                self.pages.blocks[block as usize].own.dirty += 1;
            }
            (true, write) => {
                self.hits.wwh += u64::from(write);
                self.hits.wrh += u64::from(!write);
                self.wb.touch(frames, frame);
            }
        }
        self.end_access();
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let from_rb = f64::from(self.rb_len) >= self.tau;
        if (from_rb && !self.rb.is_empty()) || self.wb.is_empty() {
            self.drop_clean(plan);
        } else {
            self.write_back(plan);
        }
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let dirty = r.op.is_write();
        let own = PageState { links: Pair::default(), dirty };
        let (slot, frame) = self.pages.admit(r.page, r.lpn, own);
        self.pages.link(frame);
        if dirty {
            self.wb.push_newest(&mut self.pages.frames, frame);
            let block = self.pages.block_of(frame);
            self.pages.blocks[block as usize].own.dirty += 1;
        } else {
            self.rb.push_newest(&mut self.pages.frames, frame);
            self.rb_len += 1;
        }
        self.end_access();
        slot
    }

    fn fetched(&mut self, read: &Completion) {
        self.d_r.add(self.latency_ns(read));
    }

    fn destaged(&mut self, write: &Completion) {
        self.d_w.add(self.latency_ns(write));
    }

    in_blocks! { self.pages: |own: &PageState| own.dirty; frames: self.frames }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let (_, frame) = self.pages.find(page)?;
        let dirty = self.pages.frames[frame as usize].own.dirty;
        if dirty {
            self.wb.unlink(&mut self.pages.frames, frame);
            let block = self.pages.block_of(frame);
            self.pages.blocks[block as usize].own.dirty -= 1;
        } else {
            self.rb.unlink(&mut self.pages.frames, frame);
            self.rb_len -= 1;
        }
        self.pages.forget(frame);
        Some(dirty)
    }

    #[inline(always)]
    fn prefetch(&self, page: Page) {
        self.pages.prefetch(page);
    }

    #[inline(always)]
    fn prefetch_links(&self, page: Page) {
        self.pages.prefetch_held(page);
    }

    #[inline(always)]
    fn prefetch_neighbours(&self, page: Page) {
        let frame = self.pages.prefetch_block(page);
        self.pages.prefetch_linked::<1>(frame);
    }

    fn counters(&self, count: &mut dyn FnMut(&'static str, u64)) {
        count("rb_read_hits", self.hits.rrh);
        count("rb_write_hits", self.hits.rwh);
        count("wb_read_hits", self.hits.wrh);
        count("wb_write_hits", self.hits.wwh);
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("tau", self.tau);
        show("th", self.th);
        show("wf", self.wf());
        show("rb_pages", f64::from(self.rb_len));
    }

    fn keep_periods(&mut self) {
        self.updates = Some(Vec::new());
    }

    fn inside(&self) -> Vec<(&'static str, Part)> {
        let list = |chain: &Chain<1>| {
            Part::pages(chain.iter(&self.pages.frames).map(|frame| self.pages.page(frame)))
        };
        let update = |&(count, tau, th): &(u64, f64, f64)| {
            Part::list([Part::Count(count), Part::Real(tau), Part::Real(th)])
        };
        vec![
            ("rb", list(&self.rb)),
            ("wb", list(&self.wb)),
            ("tau", Part::Real(self.tau)),
            ("th", Part::Real(self.th)),
            ("updates", Part::list(self.updates.iter().flatten().map(update))),
        ]
    }

    fn check(&self) {
        self.pages.check();
        let frames = &self.pages.frames;
        assert_eq!(self.rb.check(frames), self.rb_len, "RB knows its length");
        assert_eq!(self.rb_len + self.wb.check(frames), self.resident(), "a page is on one list");
        assert!(self.rb.iter(frames).all(|frame| !frames[frame as usize].own.dirty));
        assert!(self.wb.iter(frames).all(|frame| frames[frame as usize].own.dirty));
        for block in self.pages.known() {
            let block = &self.pages.blocks[block as usize];
            let dirty = block.pages.iter(frames).filter(|&f| frames[f as usize].own.dirty);
            assert_eq!(dirty.count() as u32, block.own.dirty, "a block knows its dirty pages");
        }
        assert!(self.tau >= clamp(0.0, self.frames) && self.tau <= clamp(f64::MAX, self.frames));
        assert!(self.resident() <= self.frames);
    }
}
