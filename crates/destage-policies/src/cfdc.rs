//! CFDC: clean pages first; dirty pages leave in clusters of neighbouring page numbers.
//!
//! Ou, Haerder, Jin. CFDC: a flash-aware replacement policy for database buffer management. DaMoN
//! 2009 (and ADBIS 2010). Described in ACR section II.B and AALRU.
//!
//! Rules. The working region `W` is an LRU list of at most `Wmax = s - P` pages. The priority
//! region, `P = share(priority_fraction)`, holds the others: an LRU list `clean`, and *clusters* of
//! dirty pages, numbered `page / cluster_size`, each with its pages in the order of entry.
//!
//! ```text
//!   new ─▶ W (LRU list) ─▶ clean (LRU list) ─────────────────▶ out first
//!          ▲             └▶ clusters: #0{1 3} #1{6} #2{9} ──▶ out cluster by cluster
//!          └──── hit ─────┘
//! ```
//!
//! Demotion, while `|W| > Wmax`: the LRU page of `W` goes to the MRU end of `clean`, or to the end
//! of its cluster, and then `globaltime` + 1. A new cluster has timestamp `globaltime`. A hit in
//! the priority region takes the page to the MRU end of `W`; its cluster, if there is one and pages
//! stay in it, gets timestamp `globaltime`. Victim: the LRU page of `clean`; else the page that
//! entered the victim cluster first; else the LRU page of `W`. The victim cluster is the one of
//! lowest priority `IPD / (n^2 (globaltime - timestamp))`; it is marked, and stays the victim
//! cluster until it is empty. IPD is the sum of the distances between pages that follow each other
//! in the order of entry, and 1 for `n = 1`.
//!
//! Readings. The priority changes with `globaltime` while nothing happens to the cluster: the
//! formula is taken at its word and evaluated when a victim cluster is chosen. Stored values would
//! let rarely used one-page clusters outlive everything, which the time term is there to prevent.
//! It is compared exactly, as fractions; ties go to the smaller timestamp, then to the smaller
//! number. A page that is demoted into a cluster, marked or not, does not change its timestamp.
//! `globaltime` counts every dirty page demoted. Pages of the victim cluster leave one at a time,
//! with the misses that need frames; clustering shows as locality in the sequence of flushes.
//! Demotion begins when `W` is full, also while frames are free. With `Wmax = 0` a page passes
//! through `W` in the access that brings it.
//!
//! `priority_fraction = 0` is LRU, and a test says so.
//!
//! Cost. O(log c) per page that enters or leaves one of c clusters, O(1) for most. For equal (n,
//! IPD) the order of clusters is that of their timestamps at any `globaltime`: one queue per pair,
//! and choosing compares their heads, once per drained cluster. `cfdc/clusters.rs` chains the
//! pages, `cfdc/waiting.rs` chooses.
//!
//! Frames are linked, not pages: a buffer has far fewer frames than a trace has pages, and
//! so they stay in the processor's caches.

mod clusters;
mod waiting;

use crate::params::{IfAbsent, Kind, Param};
use crate::ring::Ring;
use crate::{Info, Setup};
use clusters::Clusters;
use destage_core::pages::prefetch;
use destage_core::{
    DeviceView, Directory, Entry, Lookup, Page, Plan, Policy, Request, Slot, Table, huge, share,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "cfdc",
    title: "Clean-First Dirty-Clustered",
    source: "Ou, Haerder, Jin. CFDC: a flash-aware replacement policy for database buffer \
             management. DaMoN 2009",
    about: "Clean pages first; dirty pages leave in clusters of neighbouring page numbers.",
    flash_aware: true,
    page_numbers: true,
    time: "O(log c), c clusters; once per cluster O(pairs of size and distance)",
    params: &[
        Param {
            name: "priority_fraction",
            symbol: "w",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: IfAbsent::Real(0.5),
            unit: "of frames",
            about: "The priority region, from which victims come. Default: ACR's experiments.",
            ..Param::BLANK
        },
        Param {
            name: "cluster_size",
            symbol: "MAX_CLUSTER_SIZE",
            kind: Kind::Int { min: 1, max: 1 << 20 },
            default: IfAbsent::Int(64),
            unit: "pages",
            about: "Page numbers that share a cluster. Default: ACR's experiments.",
            ..Param::BLANK
        },
    ],
    ..Info::BLANK
};

// Where a page is, if not in the cluster of that index.
const WORKING: u32 = u32::MAX;
const CLEAN: u32 = u32::MAX - 1;

/// No cluster.
const NONE: u32 = u32::MAX;

/// The frame that holds no page.
const NO_FRAME: u32 = 0;

/// Room for a page, and what is kept of the page in it.
#[derive(Clone, Copy, Default, Debug)]
#[repr(align(32))] // in one line of the processor's caches
struct Frame {
    lpn: u64,
    slot: u32,
    list: u32,    // WORKING, CLEAN, or the index of its cluster
    earlier: u32, // frame of the page that entered the cluster before it; its place in a list
    later: u32,   // frame of the page that entered the cluster after it, or NO_FRAME
    dirty: bool,
}

/// Frame of a page, or [`NO_FRAME`]: it is not resident.
#[derive(Clone, Copy, Default)]
struct At(u32);

impl Entry for At {
    #[inline(always)]
    fn known(&self) -> bool {
        self.0 != NO_FRAME
    }
}

/// The policy.
pub struct Cfdc<D> {
    pages: Table<D, At>, // every resident page
    slab: Vec<Frame>,    // NO_FRAME, and frames as many as were ever taken
    free: Vec<u32>,      // of those that have been in use
    working: Ring,       // W, LRU to MRU
    clean: Ring,         // clean pages of the priority region, LRU to MRU
    clusters: Clusters,  // dirty pages of the priority region, and globaltime
    working_max: u32,    // Wmax
    frames: u32,
}

impl<D: Directory> Cfdc<D> {
    /// An empty cache of `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Table::new(directory);
        let priority = share(setup.params.real("priority_fraction"), setup.frames);
        let mut slab = huge::room(pages.slots().min(setup.frames as usize) + 1);
        slab.push(Frame::default());
        Cfdc {
            slab,
            pages,
            free: Vec::new(),
            working: Ring::new(),
            clean: Ring::new(),
            clusters: Clusters::new(setup.params.int("cluster_size")),
            working_max: setup.frames - priority,
            frames: setup.frames,
        }
    }

    #[inline(always)]
    fn find(&self, page: Page) -> Option<(Slot, u32)> {
        let slot = self.pages.find(page)?;
        Some((slot, self.pages[slot].0))
    }

    /// Puts a page that is in no list to the MRU end of one.
    #[inline(always)]
    fn push(&mut self, at: u32, list: u32) {
        let Cfdc { slab, working, clean, .. } = self;
        let ring = if list == WORKING { working } else { clean };
        let place = ring.push(at, |other, place| slab[other as usize].earlier = place);
        let frame = &mut slab[at as usize];
        (frame.list, frame.earlier) = (list, place);
    }

    #[inline(always)]
    fn demote(&mut self) {
        while self.working.len() > self.working_max {
            let x = self.working.pop(|soon| prefetch_frame(&self.slab, soon));
            let x = x.expect("a list too long has a page");
            if self.slab[x as usize].dirty {
                self.clusters.join(&mut self.slab, x);
            } else {
                self.push(x, CLEAN);
            }
        }
    }

    /// Takes a page out of where it is.
    #[inline(always)]
    fn take(&mut self, at: u32, is_hit: bool) {
        let Frame { list, earlier: place, .. } = self.slab[at as usize];
        match list {
            WORKING => self.working.take(place),
            CLEAN => self.clean.take(place),
            _ if is_hit => self.clusters.leave(&mut self.slab, at),
            _ => self.clusters.take_out(&mut self.slab, at),
        }
    }
}

/// Prefetches a frame whose turn comes soon; what is none asks for one past the last, since no
/// branch could tell.
#[inline(always)]
fn prefetch_frame(slab: &[Frame], soon: u32) {
    prefetch(slab, (soon as usize).min(slab.len()));
}

impl<D: Directory> Policy for Cfdc<D> {
    type Miss = ();

    const READS_LPN: bool = true;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some((slot, at)) = self.find(r.page) else { return Lookup::Miss(()) };
        self.take(at, true);
        self.slab[at as usize].dirty |= r.op.is_write();
        self.push(at, WORKING);
        self.demote();
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let victim = self
            .clean
            .pop(|soon| prefetch_frame(&self.slab, soon))
            .or_else(|| self.clusters.pop_victim(&self.slab))
            .or_else(|| self.working.pop(|_| ()))
            .expect("evict is only called on a full buffer");
        let Frame { slot, dirty, .. } = self.slab[victim as usize];
        self.free.push(victim);
        plan.evict(self.pages.remove(Slot(slot)), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let at = self.free.pop().unwrap_or(self.slab.len() as u32);
        let slot = self.pages.insert(r.page, At(at));
        let frame =
            Frame { lpn: r.lpn.0, slot: slot.0, dirty: r.op.is_write(), ..Frame::default() };
        match self.slab.get_mut(at as usize) {
            Some(free) => *free = frame,
            None => self.slab.push(frame),
        }
        self.push(at, WORKING);
        self.demote();
        slot
    }

    counted! { self: self.working.len() + self.clean.len() + self.clusters.pages(), of self.frames }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for slot in self.pages.iter() {
            visit(self.pages.page(slot), self.slab[self.pages[slot].0 as usize].dirty);
        }
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let (slot, at) = self.find(page)?;
        self.take(at, false);
        self.free.push(at);
        self.pages.remove(slot);
        Some(self.slab[at as usize].dirty)
    }

    #[inline(always)]
    fn prefetch(&self, page: Page) {
        self.pages.prefetch(page);
    }

    #[inline(always)]
    fn prefetch_links(&self, page: Page) {
        if let Some(At(at)) = self.pages.near(page) {
            prefetch(&self.slab, *at as usize);
        }
    }

    fn check(&self) {
        assert!(self.working.len() <= self.working_max, "W is demoted after each access");
        assert!(self.resident() <= self.frames);
        assert_eq!(self.slab.len(), 1 + self.resident() as usize + self.free.len());
        for (ring, list) in [(&self.working, WORKING), (&self.clean, CLEAN)] {
            ring.check(|at| self.slab[at as usize].earlier);
            assert!(ring.iter().all(|at| self.slab[at as usize].list == list));
        }
        assert!(self.clean.iter().all(|at| !self.slab[at as usize].dirty));
        self.clusters.check(&self.slab);
        for slot in self.pages.iter() {
            let frame = &self.slab[self.pages[slot].0 as usize];
            assert_eq!(frame.slot, slot.0, "a page and its frame know each other");
            assert!(frame.dirty || [WORKING, CLEAN].contains(&frame.list), "clusters are dirty");
        }
        assert_eq!(self.pages.iter().count(), self.resident() as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lru::Lru;
    use crate::params::Value;
    use crate::testing::{drive, mixed, setup, show, victims};
    use destage_core::{Dense, Op, Op::*};

    fn cfdc(frames: u32, priority_fraction: f64, cluster_size: i128) -> Cfdc<Dense> {
        let params = [
            ("priority_fraction", Value::Real(priority_fraction)),
            ("cluster_size", Value::Int(cluster_size)),
        ];
        Cfdc::new(&setup("cfdc", frames, &params), Dense::new(64))
    }

    /// Lists from MRU to LRU.
    fn lists(p: &Cfdc<Dense>) -> String {
        let pages = |ring: &Ring| {
            let oldest_first: Vec<u32> = ring.iter().collect();
            oldest_first.into_iter().rev().map(|at| p.slab[at as usize].slot).collect::<Vec<_>>()
        };
        format!(
            "W[{}] clean[{}] {}",
            show(pages(&p.working)),
            show(pages(&p.clean)),
            p.clusters.show(&p.slab)
        )
    }

    /// The first accesses of the specification's micro-trace, whose buffer this is.
    const MICRO: [(Op, u64); 13] = [
        (Write, 1),
        (Write, 5),
        (Write, 2),
        (Write, 9),
        (Read, 20),
        (Write, 6),
        (Read, 1),
        (Write, 3),
        (Read, 21),
        (Write, 7),
        (Read, 20),
        (Read, 22),
        (Write, 5),
    ];

    #[test]
    fn a_hit_that_takes_a_page_out_gives_the_cluster_the_present_as_timestamp() {
        let mut p = cfdc(6, 0.5, 4);
        drive(&mut p, &MICRO[..6]);
        assert_eq!(lists(&p), "W[6 20 9] clean[] #0{1 2}@0 #1{5}@1");
        drive(&mut p, &MICRO[6..7]);
        assert_eq!(lists(&p), "W[1 6 20] clean[] #0{2}@3 #1{5}@1 #2{9}@3");
    }

    #[test]
    fn the_older_one_page_cluster_gives_the_victim_and_ties_go_to_the_smaller_number() {
        let mut p = cfdc(6, 0.5, 4);
        drive(&mut p, &MICRO[..7]);
        assert_eq!(drive(&mut p, &MICRO[7..8])[0].evicted, [(5, true)]);
        assert_eq!(drive(&mut p, &MICRO[8..9])[0].evicted, [(20, false)], "a clean page first");
        assert_eq!(lists(&p), "W[21 3 1] clean[] #0{2}@3 #1{6}@4 #2{9}@3");
        assert_eq!(drive(&mut p, &MICRO[9..10])[0].evicted, [(2, true)]);
    }

    #[test]
    fn the_victim_cluster_is_drained_before_any_other_gives_a_page() {
        let mut p = cfdc(6, 0.5, 4);
        drive(&mut p, &MICRO[..12]);
        assert_eq!(lists(&p), "W[22 20 7] clean[21] #0{3}@5! #1{6}@4");
        let steps = drive(&mut p, &[(Write, 5), (Read, 23)]);
        assert_eq!(victims(&steps), [21, 3]);
        assert_eq!(lists(&p), "W[23 5 22] clean[20] #1{6 7}@4");
    }

    #[test]
    fn a_cluster_of_distant_pages_outlives_a_cluster_of_neighbours() {
        // W holds one page; 0 and 15 against 16 and 17, both of two pages.
        let mut p = cfdc(5, 0.8, 16);
        drive(&mut p, &[(Write, 0), (Write, 15), (Write, 16), (Write, 17), (Write, 32)]);
        assert_eq!(lists(&p), "W[32] clean[] #0{0 15}@0 #1{16 17}@2");
        let steps = drive(&mut p, &[(Write, 48), (Write, 49)]);
        assert_eq!(victims(&steps), [16, 17]);
    }

    #[test]
    fn with_the_priority_region_everywhere_a_page_passes_through_w() {
        let mut p = cfdc(3, 1.0, 4);
        let steps = drive(&mut p, &[(Write, 0), (Read, 1), (Write, 2), (Write, 1), (Read, 9)]);
        assert_eq!(steps[4].evicted, [(0, true)]);
        assert_eq!(lists(&p), "W[] clean[9] #0{2 1}@0!");
    }

    #[test]
    fn without_a_priority_region_it_is_lru() {
        let trace = mixed(2000, 48);
        for frames in [1, 2, 7, 24] {
            let mut lru = Lru::new(&Setup::new(frames), Dense::new(64));
            let mut p = cfdc(frames, 0.0, 8);
            assert_eq!(drive(&mut p, &trace), drive(&mut lru, &trace), "{frames} frames");
        }
    }
}
