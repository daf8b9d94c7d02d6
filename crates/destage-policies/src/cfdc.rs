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
//! Cost. O(log c) per page that enters or leaves one of c clusters. For equal (n, IPD) the order of
//! clusters is that of their timestamps at any `globaltime`: one ordered set per pair, and choosing
//! compares their heads, once per drained cluster. `cfdc/clusters.rs` chains the pages,
//! `cfdc/waiting.rs` chooses.

mod clusters;
mod waiting;

use crate::params::{IfAbsent, Kind, Param};
use crate::{BuildError, Info, Setup};
use clusters::Clusters;
use destage_core::{
    DeviceView, Directory, List, Lookup, Page, Pages, Plan, Policy, Request, Slot, share,
};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "cfdc",
    title: "Clean-First Dirty-Clustered",
    source: "Ou, Haerder, Jin. CFDC: a flash-aware replacement policy for database buffer \
             management. DaMoN 2009",
    about: "Clean pages first; dirty pages leave in clusters of neighbouring page numbers.",
    flash_aware: true,
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

const WORKING: u8 = 1;
const CLEAN: u8 = 2;
/// On no list: in a cluster.
const CLUSTERED: u8 = 3;

/// The policy.
pub struct Cfdc<D> {
    pages: Pages<D>,    // every resident page
    working: List,      // W, MRU to LRU
    clean: List,        // clean pages of the priority region, MRU to LRU
    clusters: Clusters, // dirty pages of the priority region, and globaltime
    working_max: u32,   // Wmax
    frames: u32,
}

impl<D: Directory> Cfdc<D> {
    /// For `setup.frames` frames.
    pub fn new(setup: &Setup, directory: D) -> Self {
        let pages = Pages::new(directory, 3);
        let priority = share(setup.params.real("priority_fraction"), setup.frames);
        Cfdc {
            working: List::new(&pages, WORKING),
            clean: List::new(&pages, CLEAN),
            clusters: Clusters::new(&pages, setup.params.int("cluster_size")),
            pages,
            working_max: setup.frames - priority,
            frames: setup.frames,
        }
    }

    pub(crate) fn build(setup: &Setup, directory: D) -> Result<Self, BuildError> {
        Ok(Cfdc::new(setup, directory))
    }

    #[inline(always)]
    fn demote(&mut self) {
        while self.working.len() > self.working_max {
            let x = self.working.pop_lru(&mut self.pages).expect("a list too long has a page");
            if self.pages[x].dirty {
                self.pages[x].list = CLUSTERED;
                self.clusters.join(x);
            } else {
                self.clean.push_mru(&mut self.pages, x);
            }
            if let Some(soon) = self.working.nth_lru(&self.pages, 1) {
                self.clusters.warm_slot(soon);
            }
        }
    }
}

impl<D: Directory> Policy for Cfdc<D> {
    type Miss = ();

    const READS_LPN: bool = true;

    #[inline(always)]
    fn request(&mut self, r: &Request) -> Lookup<()> {
        let Some(slot) = self.pages.find(r.page) else { return Lookup::Miss(()) };
        match self.pages[slot].list {
            WORKING => self.working.unlink(&mut self.pages, slot),
            CLEAN => self.clean.unlink(&mut self.pages, slot),
            _ => self.clusters.leave(slot),
        }
        self.pages[slot].dirty |= r.op.is_write();
        self.working.push_mru(&mut self.pages, slot);
        self.demote();
        Lookup::Hit(slot)
    }

    #[inline(always)]
    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let victim = self
            .clean
            .pop_lru(&mut self.pages)
            .or_else(|| self.clusters.pop_victim())
            .or_else(|| self.working.pop_lru(&mut self.pages))
            .expect("evict is only called on a full buffer");
        if let Some(coming) = self.clusters.coming() {
            self.pages.warm_slot(coming);
        }
        let dirty = self.pages[victim].dirty;
        plan.evict(self.pages.remove(victim), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page);
        self.pages[slot].dirty = r.op.is_write();
        self.clusters.admit(slot, r.lpn);
        self.working.push_mru(&mut self.pages, slot);
        self.demote();
        slot
    }

    fn frames(&self) -> u32 {
        self.frames
    }

    #[inline(always)]
    fn resident(&self) -> u32 {
        self.working.len() + self.clean.len() + self.clusters.pages()
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for list in [&self.working, &self.clean] {
            list.iter(&self.pages)
                .for_each(|slot| visit(self.pages.page(slot), self.pages[slot].dirty));
        }
        self.clusters.iter().for_each(|slot| visit(self.pages.page(slot), true));
    }

    fn forget(&mut self, page: Page) -> Option<bool> {
        let slot = self.pages.find(page)?;
        let dirty = self.pages[slot].dirty;
        match self.pages[slot].list {
            WORKING => self.working.unlink(&mut self.pages, slot),
            CLEAN => self.clean.unlink(&mut self.pages, slot),
            _ => self.clusters.forget(slot),
        }
        self.pages.remove(slot);
        Some(dirty)
    }

    #[inline(always)]
    fn warm(&self, page: Page) {
        self.pages.warm(page);
        self.clusters.warm(page);
    }

    #[inline(always)]
    fn warm_links(&self, page: Page) {
        self.pages.warm_links(page);
    }

    fn check(&self) {
        self.working.check(&self.pages);
        self.clean.check(&self.pages);
        assert!(self.clean.iter(&self.pages).all(|slot| !self.pages[slot].dirty));
        assert!(self.working.len() <= self.working_max, "W is demoted after each access");
        self.clusters.check();
        let clustered = |slot| self.pages[slot].list == CLUSTERED && self.pages[slot].dirty;
        assert!(self.clusters.iter().all(clustered), "clusters hold dirty pages");
        assert!(self.resident() <= self.frames);
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

    fn lists(p: &Cfdc<Dense>) -> String {
        format!(
            "W[{}] clean[{}] {}",
            show(p.working.iter(&p.pages).map(|slot| slot.0)),
            show(p.clean.iter(&p.pages).map(|slot| slot.0)),
            p.clusters.show()
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
