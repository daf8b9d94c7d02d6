//! CFDC's clusters: dirty pages of neighbouring numbers, chained in the order of entry.
//!
//! A page leaves from anywhere in its chain, so the chain is linked both ways. What a cluster's
//! priority depends on is kept up to date with each link: its pages, and the sum of their
//! distances. A victim cluster needs neither any more.
//!
//! Clusters that change are sorted in again ([`Waiting`]) only when the next victim cluster is
//! chosen: a run of pages demoted into one cluster then costs one filing.

use super::waiting::{Entry, Pair, Waiting};
use super::{Frame, NO_FRAME, NONE};
use destage_core::pages::prefetch;
use destage_core::{Directory, Near, Page, Slot};

/// One cluster; without pages it does not exist.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))] // one line of the processor's caches
struct Cluster {
    base: u64,      // the first page number that it may have
    last_lpn: u64,  // of the page that entered last
    distances: u64, // sum of |p_i - p_(i+1)|; not of the victim cluster
    timestamp: u64,
    first: u32,    // frame of the page that entered first
    last: u32,     // of the page that entered last
    n: u32,        // pages
    waits: u32,    // the set that it waits in, or NONE
    filed_at: u64, // its timestamp as it was filed
    changed: bool, // its index is in `Clusters::changed`
}

/// The clusters of the priority region.
pub(super) struct Clusters {
    numbers: Near, // cluster number -> index in `table`
    table: Vec<Cluster>,
    waiting: Waiting,  // the clusters that are not marked, but for what has changed
    changed: Vec<u32>, // clusters that may be filed wrongly or not at all
    marked: u32,       // the victim cluster, or NONE
    joined: u32,       // the cluster that a page joined last, or NONE
    pages: u32,        // in all clusters
    cluster_size: u64,
    globaltime: u64,
}

impl Clusters {
    pub(super) fn new(cluster_size: u64) -> Self {
        Clusters {
            numbers: Near::new(),
            table: Vec::new(),
            waiting: Waiting::new(),
            changed: Vec::new(),
            marked: NONE,
            joined: NONE,
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

    fn note_change(&mut self, index: u32) {
        let cluster = &mut self.table[index as usize];
        if !cluster.changed {
            cluster.changed = true;
            self.changed.push(index);
        }
    }

    /// The cluster of a page that joins it. Pages come in runs of neighbours.
    #[inline(always)]
    fn cluster_of(&mut self, lpn: u64) -> u32 {
        if let Some(cluster) = self.table.get(self.joined as usize)
            && lpn.wrapping_sub(cluster.base) < self.cluster_size
        {
            return self.joined;
        }
        let number = Page(lpn / self.cluster_size);
        self.joined = match self.numbers.slot(number) {
            Some(Slot(index)) => index,
            None => self.create(number),
        };
        self.joined
    }

    fn create(&mut self, number: Page) -> u32 {
        let Slot(index) = self.numbers.insert(number);
        let before = self.table.get(index as usize);
        let cluster = Cluster {
            base: number.0 * self.cluster_size,
            last_lpn: 0,
            distances: 0,
            timestamp: self.globaltime,
            first: NO_FRAME,
            last: NO_FRAME,
            n: 0,
            waits: NONE,
            filed_at: 0,
            changed: before.is_some_and(|before| before.changed),
        };
        if before.is_some() {
            self.table[index as usize] = cluster;
        } else {
            self.table.push(cluster);
        }
        index
    }

    /// Appends a page that is demoted from `W`.
    #[inline(always)]
    pub(super) fn join(&mut self, frames: &mut [Frame], at: u32) {
        let lpn = frames[at as usize].lpn;
        let index = self.cluster_of(lpn);
        let cluster = &mut self.table[index as usize];
        let last = std::mem::replace(&mut cluster.last, at);
        cluster.n += 1;
        let last_lpn = std::mem::replace(&mut cluster.last_lpn, lpn);
        if last == NO_FRAME {
            cluster.first = at;
        } else {
            frames[last as usize].later = at;
            cluster.distances += last_lpn.abs_diff(lpn);
        }
        let frame = &mut frames[at as usize];
        (frame.list, frame.earlier, frame.later) = (index, last, NO_FRAME);
        self.note_change(index);
        self.pages += 1;
        self.globaltime += 1;
    }

    /// Takes a page out of its cluster because of a hit.
    pub(super) fn leave(&mut self, frames: &mut [Frame], at: u32) {
        let index = frames[at as usize].list;
        self.take_out(frames, at);
        self.table[index as usize].timestamp = self.globaltime; // if it still has pages
    }

    /// Takes a page out of its cluster, as a trim does: no use of the cluster, whose timestamp
    /// stays.
    pub(super) fn take_out(&mut self, frames: &mut [Frame], at: u32) {
        let Frame { lpn, earlier, later, list: index, .. } = frames[at as usize];
        let cluster = &mut self.table[index as usize];
        let [is_first, is_last] = [cluster.first == at, cluster.last == at];
        if is_first {
            cluster.first = later;
        } else {
            let earlier = &mut frames[earlier as usize];
            cluster.distances -= earlier.lpn.abs_diff(lpn);
            earlier.later = later;
        }
        if is_last {
            (cluster.last, cluster.last_lpn) = (earlier, frames[earlier as usize].lpn);
        } else {
            cluster.distances -= frames[later as usize].lpn.abs_diff(lpn);
            frames[later as usize].earlier = earlier;
        }
        if !is_first && !is_last {
            let [earlier, later] = [earlier, later].map(|at| frames[at as usize].lpn);
            cluster.distances += earlier.abs_diff(later);
        }
        self.note_change(index);
        self.lose_page(index);
    }

    /// A page has been taken out; a cluster that has become empty is gone.
    #[inline(always)]
    fn lose_page(&mut self, index: u32) {
        self.pages -= 1;
        let cluster = &mut self.table[index as usize];
        cluster.n -= 1;
        if cluster.n == 0 {
            self.withdraw(index);
            for known in [&mut self.marked, &mut self.joined] {
                if *known == index {
                    *known = NONE;
                }
            }
            self.numbers.remove(Slot(index));
        }
    }

    /// Takes the page that entered the victim cluster first.
    #[inline(always)]
    pub(super) fn pop_victim(&mut self, frames: &[Frame]) -> Option<u32> {
        if self.marked == NONE {
            self.marked = self.choose()?;
        }
        let cluster = &mut self.table[self.marked as usize];
        let at = cluster.first;
        // The next page's `earlier` is stale now, and not looked at: that page is the first.
        cluster.first = frames[at as usize].later;
        prefetch(frames, cluster.first as usize);
        self.lose_page(self.marked);
        Some(at)
    }

    /// The waiting cluster of lowest priority, which waits no more.
    fn choose(&mut self) -> Option<u32> {
        while let Some(index) = self.changed.pop() {
            self.table[index as usize].changed = false;
            self.file(index);
        }
        let index = self.waiting.lowest(self.globaltime).or_else(|| self.first_of_young())?;
        self.withdraw(index);
        Some(index)
    }

    /// The first of the clusters that wait, by the tie-break, where all have age 0 and so an
    /// infinite priority: a hit that demotes nothing, which takes a trim in W before it.
    #[cold]
    fn first_of_young(&self) -> Option<u32> {
        let waiting = self.indices().filter(|&at| self.table[at as usize].waits != NONE);
        waiting.min_by_key(|&at| (self.table[at as usize].timestamp, self.numbers.page(Slot(at)).0))
    }

    /// Pair under which a cluster waits.
    fn pair(&self, index: u32) -> Pair {
        let Cluster { n, distances, .. } = self.table[index as usize];
        Pair::new(n.into(), if n == 1 { 1 } else { distances })
    }

    /// Brings what a cluster waits under up to date; a marked or empty one does not wait.
    fn file(&mut self, index: u32) {
        let Cluster { n, timestamp, waits, filed_at, .. } = self.table[index as usize];
        if n == 0 || self.marked == index {
            return;
        }
        let pair = self.pair(index);
        if waits != NONE && filed_at == timestamp && self.waiting.pair(waits) == pair {
            return;
        }
        self.withdraw(index);
        let number = self.numbers.page(Slot(index)).0;
        let set = self.waiting.insert(pair, Entry { timestamp, number, index }, self.globaltime);
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
        self.waiting.remove(set, filed_at, |entry| {
            let cluster = &table[entry.index as usize];
            cluster.waits == set && cluster.filed_at == entry.timestamp
        });
    }

    /// Every cluster that has pages.
    fn indices(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.table).filter(|(_, cluster)| cluster.n > 0).map(|(index, _)| index)
    }

    /// The frames of a cluster's pages in the order of entry.
    fn chain(&self, frames: &[Frame], index: u32) -> impl Iterator<Item = u32> {
        let first = Some(self.table[index as usize].first);
        std::iter::successors(first, |&at| Some(frames[at as usize].later))
            .take_while(|&at| at != NO_FRAME)
    }

    /// Asserts that chains, numbers, sums and filings agree.
    pub(super) fn check(&self, frames: &[Frame]) {
        let mut pages = 0;
        for index in self.indices() {
            let cluster = &self.table[index as usize];
            let number = self.numbers.page(Slot(index));
            assert_eq!(self.numbers.slot(number), Some(Slot(index)), "one cluster, one number");
            assert!(cluster.timestamp <= self.globaltime);
            let chain: Vec<u32> = self.chain(frames, index).collect();
            assert_eq!(cluster.n as usize, chain.len(), "a cluster knows its pages");
            let frame = |at: u32| &frames[at as usize];
            assert_eq!(chain.last(), Some(&cluster.last));
            assert_eq!(frame(cluster.last).lpn, cluster.last_lpn);
            let pairs = || chain.windows(2).map(|pair| (frame(pair[0]), frame(pair[1])));
            let distances: u64 = pairs().map(|(a, b)| a.lpn.abs_diff(b.lpn)).sum();
            let is_marked = self.marked == index;
            assert!(is_marked || cluster.distances == distances, "it knows its distances");
            let linked = chain.windows(2).all(|pair| frame(pair[1]).earlier == pair[0]);
            assert!(linked, "links of a chain agree in both directions");
            for &at in &chain {
                assert_eq!(frame(at).list, index, "a page knows its cluster");
                assert_eq!(frame(at).lpn / self.cluster_size, number.0);
                pages += 1;
            }
        }
        assert_eq!(pages, self.pages);
        let waiting = || (0..).zip(&self.table).filter(|(_, cluster)| cluster.waits != NONE);
        for (index, cluster) in (0..).zip(&self.table).filter(|(_, cluster)| cluster.n > 0) {
            if self.marked == index {
                assert_eq!(cluster.waits, NONE, "a marked cluster does not wait");
            } else if !cluster.changed {
                assert_ne!(cluster.waits, NONE, "an unchanged cluster waits");
                assert_eq!(cluster.filed_at, cluster.timestamp);
                assert_eq!(self.waiting.pair(cluster.waits), self.pair(index));
            }
        }
        let entry = |(index, cluster): (u32, &Cluster)| {
            let (timestamp, number) = (cluster.filed_at, self.numbers.page(Slot(index)).0);
            (cluster.waits, Entry { timestamp, number, index })
        };
        self.waiting.check(&waiting().map(entry).collect::<Vec<_>>());
    }

    /// The clusters as in the specification's tables: `#0{1 3}@5! #1{6}@4`.
    #[cfg(test)]
    pub(super) fn show(&self, frames: &[Frame]) -> String {
        let mut shown: Vec<(u64, String)> = self
            .indices()
            .map(|index| {
                let number = self.numbers.page(Slot(index)).0;
                let pages = self.chain(frames, index).map(|at| frames[at as usize].lpn);
                let mark = if self.marked == index { "!" } else { "" };
                let timestamp = self.table[index as usize].timestamp;
                let pages = crate::testing::show(pages);
                (number, format!("#{number}{{{pages}}}@{timestamp}{mark}"))
            })
            .collect();
        shown.sort();
        shown.into_iter().map(|(_, cluster)| cluster).collect::<Vec<_>>().join(" ")
    }
}
