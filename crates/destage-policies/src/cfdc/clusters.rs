//! CFDC's clusters: dirty pages of neighbouring numbers, chained in the order of entry.
//!
//! A page leaves from anywhere in its chain, so the chain is linked both ways, in a column beside
//! the nodes. What a cluster's priority depends on is kept up to date with each link: its pages,
//! and the sum of their distances.
//!
//! Clusters that change are filed anew ([`Waiting`]) only when the next victim cluster is chosen: a
//! run of pages demoted into one cluster then costs one filing.

use super::waiting::{Entry, Pair, Waiting};
use destage_core::{Directory, Hashed, Lpn, Page, Pages, PerSlot, Slot};

/// No page: the end of a chain.
const NONE: u32 = u32::MAX;

/// A page's place in its cluster.
#[derive(Clone, Copy, Default)]
struct Place {
    lpn: u64,     // of any resident page
    earlier: u32, // page that entered the cluster before it, or NONE
    later: u32,   // page that entered the cluster after it, or NONE
    cluster: u32, // index in the table
}

/// One cluster; without pages it does not exist.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    first: u32,     // page that entered first
    last: u32,      // page that entered last
    n: u32,         // pages
    waits: u32,     // the set that it waits in, or NONE
    distances: u64, // sum of |p_i - p_(i+1)|
    timestamp: u64,
    filed_at: u64, // its timestamp as it was filed
    changed: bool, // its index is in `Clusters::changed`
}

/// The clusters of the priority region.
pub(super) struct Clusters {
    numbers: Hashed, // cluster number -> index in `table`
    table: Vec<Cluster>,
    places: PerSlot<Place>,
    waiting: Waiting,  // the clusters that are not marked, but for what has changed
    changed: Vec<u32>, // clusters that may be filed wrongly or not at all
    marked: Option<u32>, // the victim cluster
    coming: u32,       // a likely next victim, or NONE
    pages: u32,        // in all clusters
    cluster_size: u64,
    globaltime: u64,
}

impl Clusters {
    pub(super) fn new<D: Directory>(pages: &Pages<D>, cluster_size: u64) -> Self {
        Clusters {
            numbers: Hashed::new(),
            table: Vec::new(),
            places: PerSlot::new(pages),
            waiting: Waiting::new(),
            changed: Vec::new(),
            marked: None,
            coming: NONE,
            pages: 0,
            cluster_size,
            globaltime: 0,
        }
    }

    /// Pages in all clusters.
    #[inline(always)]
    pub(super) fn pages(&self) -> u32 {
        self.pages
    }

    /// Notes the number of a page that has become resident.
    #[inline(always)]
    pub(super) fn admit(&mut self, slot: Slot, lpn: Lpn) {
        self.places.set(slot, Place { lpn: lpn.0, ..Place::default() });
    }

    #[inline(always)]
    pub(super) fn warm(&self, page: Page) {
        self.places.warm(page);
    }

    /// Hint: this page is about to join a cluster.
    #[inline(always)]
    pub(super) fn warm_slot(&self, slot: Slot) {
        self.places.warm_slot(slot);
    }

    /// Distance of two pages of a cluster; 0 if one of them is [`NONE`].
    #[inline(always)]
    fn distance(&self, a: u32, b: u32) -> u64 {
        if a == NONE || b == NONE {
            return 0;
        }
        self.places[Slot(a)].lpn.abs_diff(self.places[Slot(b)].lpn)
    }

    fn note_change(&mut self, index: u32) {
        let cluster = &mut self.table[index as usize];
        if !cluster.changed {
            cluster.changed = true;
            self.changed.push(index);
        }
    }

    /// Appends a page that is demoted from `W`.
    pub(super) fn join(&mut self, slot: Slot) {
        let number = Page(self.places[slot].lpn / self.cluster_size);
        let index = match self.numbers.slot(number) {
            Some(Slot(index)) => index,
            None => self.create(number),
        };
        let last = self.table[index as usize].last;
        let distance = self.distance(last, slot.0);
        let cluster = &mut self.table[index as usize];
        cluster.distances += distance;
        cluster.n += 1;
        cluster.last = slot.0;
        if last == NONE {
            cluster.first = slot.0;
        } else {
            self.places[Slot(last)].later = slot.0;
        }
        let place = &mut self.places[slot];
        place.earlier = last;
        place.later = NONE;
        place.cluster = index;
        self.note_change(index);
        self.pages += 1;
        self.globaltime += 1;
    }

    fn create(&mut self, number: Page) -> u32 {
        let Slot(index) = self.numbers.insert(number);
        let mut cluster = Cluster {
            first: NONE,
            last: NONE,
            n: 0,
            distances: 0,
            timestamp: self.globaltime,
            waits: NONE,
            filed_at: 0,
            changed: false,
        };
        match self.table.get_mut(index as usize) {
            Some(before) => {
                cluster.changed = before.changed;
                *before = cluster;
            }
            None => self.table.push(cluster),
        }
        index
    }

    /// Takes a page out of its cluster because of a hit.
    pub(super) fn leave(&mut self, slot: Slot) {
        let index = self.places[slot].cluster;
        self.take_out(slot);
        let cluster = &mut self.table[index as usize];
        if cluster.n > 0 {
            cluster.timestamp = self.globaltime;
            self.note_change(index);
        }
    }

    /// Takes a page out of its cluster because it was trimmed: no use of the cluster.
    pub(super) fn forget(&mut self, slot: Slot) {
        let index = self.places[slot].cluster;
        self.take_out(slot);
        if self.table[index as usize].n > 0 {
            self.note_change(index);
        }
    }

    /// Unlinks a page; a cluster that has become empty is gone.
    fn take_out(&mut self, slot: Slot) {
        let Place { earlier, later, cluster: index, .. } = self.places[slot];
        let gone = self.distance(earlier, slot.0) + self.distance(slot.0, later);
        let new = self.distance(earlier, later);
        let cluster = &mut self.table[index as usize];
        cluster.distances = cluster.distances - gone + new;
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
        if cluster.n == 0 {
            self.withdraw(index);
            if self.marked == Some(index) {
                self.marked = None;
            }
            self.numbers.remove(Slot(index));
        }
    }

    /// Takes the page that entered the victim cluster first.
    pub(super) fn pop_victim(&mut self) -> Option<Slot> {
        let index = match self.marked {
            Some(index) => index,
            None => self.mark()?,
        };
        let slot = Slot(self.table[index as usize].first);
        self.take_out(slot);
        Some(slot)
    }

    /// Makes the waiting cluster of lowest priority the victim cluster.
    fn mark(&mut self) -> Option<u32> {
        while let Some(index) = self.changed.pop() {
            self.table[index as usize].changed = false;
            self.file(index);
        }
        let index = self.waiting.lowest(self.globaltime).or_else(|| self.first_of_young())?;
        self.marked = Some(index);
        self.file(index);
        Some(index)
    }

    /// The first of the clusters that wait, by the tie-break, where all have age 0 and so an
    /// infinite priority: a hit that demotes nothing, which takes a trim in W before it.
    #[cold]
    fn first_of_young(&self) -> Option<u32> {
        let waiting = self.indices().filter(|&at| self.table[at as usize].waits != NONE);
        waiting.min_by_key(|&at| (self.table[at as usize].timestamp, self.numbers.page(Slot(at)).0))
    }

    /// Brings what the cluster waits under up to date; a marked or empty one does not wait.
    fn file(&mut self, index: u32) {
        let cluster = &self.table[index as usize];
        if cluster.n == 0 || self.marked == Some(index) {
            return self.withdraw(index);
        }
        let ipd = if cluster.n == 1 { 1 } else { cluster.distances };
        let pair = Pair::new(cluster.n.into(), ipd);
        let timestamp = cluster.timestamp;
        if cluster.waits != NONE
            && cluster.filed_at == timestamp
            && self.waiting.pair(cluster.waits) == pair
        {
            return;
        }
        self.withdraw(index);
        let number = self.numbers.page(Slot(index)).0;
        let set = self.waiting.insert(pair, Entry { timestamp, number, index });
        let cluster = &mut self.table[index as usize];
        (cluster.waits, cluster.filed_at) = (set, timestamp);
    }

    /// The cluster does not wait any more.
    fn withdraw(&mut self, index: u32) {
        let cluster = &mut self.table[index as usize];
        let set = std::mem::replace(&mut cluster.waits, NONE);
        if set == NONE {
            return;
        }
        let filed_at = cluster.filed_at;
        let table = &self.table;
        let oldest = self.waiting.remove(set, filed_at, |entry| {
            let cluster = &table[entry.index as usize];
            cluster.waits == set && cluster.filed_at == entry.timestamp
        });
        if let Some(oldest) = oldest {
            // It may well be the next victim cluster.
            self.coming = table[oldest.index as usize].first;
            self.places.warm_slot(Slot(self.coming));
        }
    }

    /// A page that is likely to be the next victim of a cluster.
    #[inline(always)]
    pub(super) fn coming(&self) -> Option<Slot> {
        (self.coming != NONE).then_some(Slot(self.coming))
    }

    /// Every cluster that has pages.
    fn indices(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.table).filter(|(_, cluster)| cluster.n > 0).map(|(index, _)| index)
    }

    /// The pages of a cluster in the order of entry.
    fn chain(&self, index: u32) -> impl Iterator<Item = Slot> {
        let mut at = self.table[index as usize].first;
        std::iter::from_fn(move || {
            (at != NONE).then(|| {
                let slot = Slot(at);
                at = self.places[slot].later;
                slot
            })
        })
    }

    /// Every page of every cluster.
    pub(super) fn iter(&self) -> impl Iterator<Item = Slot> {
        self.indices().flat_map(|index| self.chain(index))
    }

    /// Asserts that chains, numbers, sums and filings agree.
    pub(super) fn check(&self) {
        let mut pages = 0;
        for index in self.indices() {
            let cluster = &self.table[index as usize];
            let number = self.numbers.page(Slot(index));
            assert_eq!(self.numbers.slot(number), Some(Slot(index)), "one cluster, one number");
            assert!(cluster.timestamp <= self.globaltime);
            let chain: Vec<Slot> = self.chain(index).collect();
            assert_eq!(cluster.n as usize, chain.len(), "a cluster knows its pages");
            assert_eq!(chain.last(), Some(&Slot(cluster.last)));
            let distances = chain.windows(2).map(|p| self.distance(p[0].0, p[1].0)).sum::<u64>();
            assert_eq!(cluster.distances, distances, "a cluster knows its distances");
            for slot in chain {
                let place = &self.places[slot];
                assert_eq!(place.cluster, index, "a page knows its cluster");
                assert_eq!(place.lpn / self.cluster_size, number.0);
                pages += 1;
            }
            if self.marked == Some(index) {
                assert_eq!(cluster.waits, NONE, "a marked cluster does not wait");
            } else if !cluster.changed {
                assert_ne!(cluster.waits, NONE, "an unchanged cluster waits");
                assert_eq!(cluster.filed_at, cluster.timestamp);
                assert_eq!(self.waiting.pair(cluster.waits).n(), cluster.n.into());
            }
        }
        assert_eq!(pages, self.pages);
        let filed: Vec<_> = (0..)
            .zip(&self.table)
            .filter(|(_, cluster)| cluster.waits != NONE)
            .map(|(index, cluster)| {
                let (timestamp, number) = (cluster.filed_at, self.numbers.page(Slot(index)).0);
                (cluster.waits, Entry { timestamp, number, index })
            })
            .collect();
        self.waiting.check(&filed);
    }

    /// As the specification's tables: `#0{1 3}@5! #1{6}@4`.
    #[cfg(test)]
    pub(super) fn show(&self) -> String {
        let mut shown: Vec<(u64, String)> = self
            .indices()
            .map(|index| {
                let number = self.numbers.page(Slot(index)).0;
                let pages: Vec<String> =
                    self.chain(index).map(|slot| self.places[slot].lpn.to_string()).collect();
                let mark = if self.marked == Some(index) { "!" } else { "" };
                let timestamp = self.table[index as usize].timestamp;
                (number, format!("#{number}{{{}}}@{timestamp}{mark}", pages.join(" ")))
            })
            .collect();
        shown.sort();
        shown.into_iter().map(|(_, cluster)| cluster).collect::<Vec<_>>().join(" ")
    }
}
