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
//! compares their heads, once per drained cluster.

use crate::params::{Default, Kind, Param};
use crate::{BuildError, Info, Setup};
use destage_core::{
    DeviceView, Directory, Hashed, List, Lookup, Page, Pages, PerSlot, Plan, Policy, Request, Slot,
    share,
};
use std::collections::{BTreeMap, BTreeSet};

/// Catalogue entry.
pub static INFO: Info = Info {
    name: "cfdc",
    title: "Clean-First Dirty-Clustered",
    source: "Ou, Haerder, Jin. CFDC: a flash-aware replacement policy for database buffer \
             management. DaMoN 2009",
    about: "Clean pages first; dirty pages leave in clusters of neighbouring page numbers.",
    flash_aware: true,
    ghosts: false,
    time: "O(log c), c clusters; once per cluster O(pairs of size and distance)",
    params: &[
        Param {
            name: "priority_fraction",
            symbol: "w",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: Default::Real(0.5),
            unit: "of frames",
            about: "The priority region, from which victims come. Default: ACR's experiments.",
        },
        Param {
            name: "cluster_size",
            symbol: "MAX_CLUSTER_SIZE",
            kind: Kind::Int { min: 1, max: 1 << 20 },
            default: Default::Int(64),
            unit: "pages",
            about: "Page numbers that share a cluster. Default: ACR's experiments.",
        },
    ],
};

/// No page: the end of a cluster's chain.
const NONE: u32 = u32::MAX;

/// A page's place in its cluster.
#[derive(Clone, Copy, std::default::Default)]
struct Place {
    lpn: u64,     // of any resident page
    earlier: u32, // page that entered the cluster before it, or NONE
    later: u32,   // page that entered the cluster after it, or NONE
    cluster: u32, // index in `Clusters`
}

/// Dirty pages of neighbouring numbers, chained in the order of entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cluster {
    first: u32,     // page that entered first
    last: u32,      // page that entered last
    n: u64,         // pages
    distances: u64, // sum of |p_i - p_(i+1)|
    timestamp: u64,
}

impl Cluster {
    fn ipd(&self) -> u64 {
        if self.n == 1 { 1 } else { self.distances }
    }
}

/// Size n and IPD of a cluster.
type Pair = (u64, u64);

/// A cluster among those of the same pair: timestamp, number, and index in the table.
type Entry = (u64, u64, u32);

/// The clusters of the priority region, and the order in which they give victims.
struct Clusters {
    numbers: Hashed, // cluster number -> index in `table`, of clusters that have pages
    table: Vec<Cluster>,
    places: PerSlot<Place>,
    cluster_size: u64,
    globaltime: u64,
    pages: u32,                               // in all clusters
    marked: Option<u32>,                      // the victim cluster
    waiting: BTreeMap<Pair, BTreeSet<Entry>>, // the clusters that are not marked
}

impl Clusters {
    fn key(&self, index: u32) -> (Pair, Entry) {
        let cluster = &self.table[index as usize];
        let number = self.numbers.page(Slot(index)).0;
        ((cluster.n, cluster.ipd()), (cluster.timestamp, number, index))
    }

    /// Puts a cluster among the waiting ones, unless it is marked.
    fn file(&mut self, index: u32) {
        if self.marked != Some(index) {
            let (pair, entry) = self.key(index);
            self.waiting.entry(pair).or_default().insert(entry);
        }
    }

    /// Takes a cluster from the waiting ones, before it changes.
    fn unfile(&mut self, index: u32) {
        if self.marked != Some(index) {
            let (pair, entry) = self.key(index);
            let equals = self.waiting.get_mut(&pair).expect("a waiting cluster is filed");
            equals.remove(&entry);
            if equals.is_empty() {
                self.waiting.remove(&pair);
            }
        }
    }

    /// Every cluster.
    fn indices(&self) -> impl Iterator<Item = u32> {
        self.waiting.values().flatten().map(|&(_, _, index)| index).chain(self.marked)
    }

    /// The pages of a cluster in the order of entry.
    fn chain(&self, index: u32) -> impl Iterator<Item = Slot> {
        let mut at = self.table[index as usize].first;
        std::iter::from_fn(move || {
            let slot = Slot(at);
            (at != NONE).then(|| {
                at = self.places[slot].later;
                slot
            })
        })
    }

    /// Distance of two pages of a cluster.
    fn distance(&self, a: u32, b: u32) -> u64 {
        self.places[Slot(a)].lpn.abs_diff(self.places[Slot(b)].lpn)
    }

    /// Appends a page that is demoted from `W`.
    fn join(&mut self, slot: Slot) {
        let number = Page(self.places[slot].lpn / self.cluster_size);
        let index = if let Some(Slot(index)) = self.numbers.slot(number) {
            self.unfile(index);
            let last = self.table[index as usize].last;
            let distance = self.distance(last, slot.0);
            self.places[Slot(last)].later = slot.0;
            self.places[slot].earlier = last;
            let cluster = &mut self.table[index as usize];
            cluster.last = slot.0;
            cluster.n += 1;
            cluster.distances += distance;
            index
        } else {
            let Slot(index) = self.numbers.insert(number);
            let cluster = Cluster {
                first: slot.0,
                last: slot.0,
                n: 1,
                distances: 0,
                timestamp: self.globaltime,
            };
            if index as usize == self.table.len() {
                self.table.push(cluster);
            } else {
                self.table[index as usize] = cluster;
            }
            self.places[slot].earlier = NONE;
            index
        };
        self.places[slot].later = NONE;
        self.places[slot].cluster = index;
        self.file(index);
        self.pages += 1;
        self.globaltime += 1;
    }

    /// Takes a page out of its cluster because of a hit.
    fn leave(&mut self, slot: Slot) {
        let index = self.places[slot].cluster;
        self.unfile(index);
        if self.take_out(slot) {
            self.table[index as usize].timestamp = self.globaltime;
            self.file(index);
        }
    }

    /// Unchains a page of a cluster that is not filed; false if the cluster is gone with it.
    fn take_out(&mut self, slot: Slot) -> bool {
        let Place { earlier, later, cluster: index, .. } = self.places[slot];
        let before = if earlier == NONE { 0 } else { self.distance(earlier, slot.0) };
        let after = if later == NONE { 0 } else { self.distance(slot.0, later) };
        let joined =
            if earlier == NONE || later == NONE { 0 } else { self.distance(earlier, later) };
        let cluster = &mut self.table[index as usize];
        cluster.distances = cluster.distances - before - after + joined;
        cluster.n -= 1;
        if earlier == NONE {
            cluster.first = later;
        } else {
            self.places[Slot(earlier)].later = later;
        }
        if later == NONE {
            cluster.last = earlier;
        } else {
            self.places[Slot(later)].earlier = earlier;
        }
        self.pages -= 1;
        if cluster.n > 0 {
            return true;
        }
        if self.marked == Some(index) {
            self.marked = None;
        }
        self.numbers.remove(Slot(index));
        false
    }

    /// Takes the page that entered the victim cluster first.
    fn pop_victim(&mut self) -> Option<Slot> {
        if self.marked.is_none() {
            let index = self.lowest_priority()?;
            self.unfile(index);
            self.marked = Some(index);
        }
        let slot = Slot(self.table[self.marked? as usize].first);
        self.take_out(slot);
        Some(slot)
    }

    /// The waiting cluster of lowest priority.
    fn lowest_priority(&self) -> Option<u32> {
        let mut lowest: Option<(Priority, Entry)> = None;
        for (&(n, ipd), equals) in &self.waiting {
            let &entry = equals.first().expect("no empty set is kept");
            let priority = Priority { ipd, n, age: self.globaltime - entry.0 };
            if lowest.is_none_or(|(p, e)| priority.cmp(p).then(entry.cmp(&e)).is_lt()) {
                lowest = Some((priority, entry));
            }
        }
        lowest.map(|(_, (_, _, index))| index)
    }

    fn check<D: Directory>(&self, resident: &Pages<D>) {
        let mut pages = 0;
        for index in self.indices() {
            let cluster = &self.table[index as usize];
            let number = self.numbers.page(Slot(index));
            assert_eq!(self.numbers.slot(number), Some(Slot(index)), "a cluster has one number");
            assert!(cluster.timestamp <= self.globaltime);
            let chain: Vec<Slot> = self.chain(index).collect();
            assert!(!chain.is_empty(), "an empty cluster does not exist");
            assert_eq!(cluster.n, chain.len() as u64);
            assert_eq!(Some(&Slot(cluster.last)), chain.last());
            let distances = chain.windows(2).map(|p| self.distance(p[0].0, p[1].0)).sum::<u64>();
            assert_eq!(cluster.distances, distances);
            for slot in chain {
                assert!(resident[slot].list == CLUSTERED && resident[slot].dirty);
                assert_eq!(self.places[slot].cluster, index);
                assert_eq!(self.places[slot].lpn / self.cluster_size, number.0);
                pages += 1;
            }
        }
        assert_eq!(pages, self.pages);
        for (&pair, equals) in &self.waiting {
            assert!(!equals.is_empty());
            for &(timestamp, _, index) in equals {
                let cluster = &self.table[index as usize];
                assert_eq!((pair, timestamp), ((cluster.n, cluster.ipd()), cluster.timestamp));
            }
        }
    }
}

/// `ipd / (n^2 age)`.
#[derive(Clone, Copy, Debug)]
struct Priority {
    ipd: u64,
    n: u64,
    age: u64,
}

impl Priority {
    /// Exactly. With clusters of at most 2^20 pages n^2 and IPD are at most 2^40, which leaves 2^48
    /// dirty pages demoted before a product could pass 2^128.
    fn cmp(self, other: Priority) -> std::cmp::Ordering {
        let product = |a: Priority, b: Priority| {
            u128::from(a.ipd) * u128::from(b.n * b.n) * u128::from(b.age)
        };
        product(self, other).cmp(&product(other, self))
    }
}

const WORKING: u8 = 1;
const CLEAN: u8 = 2;
/// On no list: in a cluster.
const CLUSTERED: u8 = 3;

/// The policy.
pub struct Cfdc<D> {
    pages: Pages<D>, // every resident page
    working: List,   // W, MRU to LRU
    clean: List,     // clean pages of the priority region, MRU to LRU
    clusters: Clusters,
    working_max: u32, // Wmax
    frames: u32,
}

impl<D: Directory> Cfdc<D> {
    pub(crate) fn build(setup: &Setup, directory: D) -> Result<Self, BuildError> {
        let pages = Pages::new(directory, 3);
        let priority = share(setup.params.real("priority_fraction"), setup.frames);
        Ok(Cfdc {
            working: List::new(&pages, WORKING),
            clean: List::new(&pages, CLEAN),
            clusters: Clusters {
                numbers: Hashed::new(),
                table: Vec::new(),
                places: PerSlot::new(&pages),
                cluster_size: setup.params.int("cluster_size"),
                globaltime: 0,
                pages: 0,
                marked: None,
                waiting: BTreeMap::new(),
            },
            pages,
            working_max: setup.frames - priority,
            frames: setup.frames,
        })
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
        }
    }
}

impl<D: Directory> Policy for Cfdc<D> {
    type Miss = ();

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
    fn evict(&mut self, (): &(), _: &dyn DeviceView, plan: &mut Plan) {
        let victim = self
            .clean
            .pop_lru(&mut self.pages)
            .or_else(|| self.clusters.pop_victim())
            .or_else(|| self.working.pop_lru(&mut self.pages))
            .expect("evict is only called on a full buffer");
        let dirty = self.pages[victim].dirty;
        plan.evict(self.pages.remove(victim), dirty);
    }

    #[inline(always)]
    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        let slot = self.pages.insert(r.page);
        self.pages[slot].dirty = r.op.is_write();
        self.clusters.places.set(slot, Place { lpn: r.lpn.0, ..Place::default() });
        self.working.push_mru(&mut self.pages, slot);
        self.demote();
        slot
    }

    fn frames(&self) -> u32 {
        self.frames
    }

    #[inline(always)]
    fn resident(&self) -> u32 {
        self.working.len() + self.clean.len() + self.clusters.pages
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        for list in [&self.working, &self.clean] {
            list.iter(&self.pages)
                .for_each(|slot| visit(self.pages.page(slot), self.pages[slot].dirty));
        }
        for index in self.clusters.indices() {
            self.clusters.chain(index).for_each(|slot| visit(self.pages.page(slot), true));
        }
    }

    #[inline(always)]
    fn warm(&self, page: Page) {
        self.pages.warm(page);
        self.clusters.places.warm(page);
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
        self.clusters.check(&self.pages);
        assert!(self.resident() <= self.frames);
    }
}
