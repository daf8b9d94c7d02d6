//! FAB, BPLRU and CLC: write buffers of whole clusters. Mirrors
//! `docs/spec/block-policies.md` 2, 3 and 4.

use std::collections::BTreeSet;

use super::{BlockModel, Group, Shape, Step};
use crate::{Op, Params};
use serde_json::{Value, json};

struct Cluster {
    block: u64,
    pages: BTreeSet<u64>,
    run: u64, // BPLRU's
}

enum Kind {
    Fab,
    Bplru { padding: bool, compensation: bool },
    Clc { alpha: f64 },
}

pub(crate) struct Buffer {
    kind: Kind,
    frames: u64,
    shape: Shape,
    read_recency: bool,
    clusters: Vec<Cluster>,    // MRU first
    collecting: BTreeSet<u64>, // pages whose unit is in GC; GCaR's
}

impl Buffer {
    fn new(kind: Kind, frames: u64, shape: Shape, params: &Params<'_>) -> Buffer {
        let read_recency = params.flag("read_recency");
        let collecting = BTreeSet::new();
        Buffer { kind, frames, shape, read_recency, clusters: Vec::new(), collecting }
    }

    pub(crate) fn fab(frames: u64, shape: Shape, params: &Params<'_>) -> Buffer {
        Buffer::new(Kind::Fab, frames, shape, params)
    }

    pub(crate) fn bplru(frames: u64, shape: Shape, params: &Params<'_>) -> Buffer {
        let on = |key: &str| params.get(key).is_none_or(|value| value == true);
        let kind = Kind::Bplru { padding: on("padding"), compensation: on("compensation") };
        Buffer::new(kind, frames, shape, params)
    }

    pub(crate) fn clc(frames: u64, shape: Shape, params: &Params<'_>) -> Buffer {
        Buffer::new(Kind::Clc { alpha: params.fraction("alpha", 0.1) }, frames, shape, params)
    }

    fn resident(&self) -> u64 {
        self.dirty()
    }

    fn holds(&self, page: u64) -> bool {
        self.clusters.iter().any(|cluster| cluster.pages.contains(&page))
    }

    fn position(&self, block: u64) -> Option<usize> {
        self.clusters.iter().position(|cluster| cluster.block == block)
    }

    fn move_to_mru(&mut self, block: u64) {
        if let Some(at) = self.position(block) {
            let cluster = self.clusters.remove(at);
            self.clusters.insert(0, cluster);
        }
    }

    /// Section 4: K, of the present number of clusters.
    fn k(&self) -> usize {
        match self.kind {
            Kind::Clc { alpha } => (alpha * self.clusters.len() as f64 + 1e-9).floor() as usize,
            _ => 0,
        }
    }

    /// Among the clusters from `first` on the largest, among equals the least recently used.
    fn largest(&self, first: usize) -> Option<usize> {
        let mut best = None;
        for at in first..self.clusters.len() {
            let size = self.clusters[at].pages.len();
            if best.is_none_or(|(_, largest)| size >= largest) {
                best = Some((at, size));
            }
        }
        best.map(|(at, _)| at)
    }

    /// `docs/spec/further-policies.md`, 5.2: any page that would be programmed for the cluster is.
    fn in_gc(&self, at: usize, padding: bool) -> bool {
        let Cluster { block, pages, .. } = &self.clusters[at];
        let padding = if padding { self.shape.padding(*block, pages) } else { BTreeSet::new() };
        pages.union(&padding).any(|page| self.collecting.contains(page))
    }

    fn evict(&mut self) -> Group {
        let lru = self.clusters.len() - 1;
        let at = match self.kind {
            Kind::Bplru { padding, .. } => {
                (0..=lru).rev().find(|&at| !self.in_gc(at, padding)).unwrap_or(lru)
            }
            Kind::Fab | Kind::Clc { .. } => self.largest(self.k()).unwrap_or(lru),
        };
        let Cluster { block, pages, .. } = self.clusters.remove(at);
        let padding = match self.kind {
            Kind::Bplru { padding: true, .. } => self.shape.padding(block, &pages),
            _ => BTreeSet::new(),
        };
        Group { pages, padding, in_buffer: BTreeSet::new() }
    }

    /// After the page is in its cluster.
    fn written(&mut self, page: u64) {
        let (block, o) = (self.shape.block(page), self.shape.offset(page));
        let b = self.shape.pages_per_block;
        let at = self.position(block).expect("the page is in its cluster");
        let run = &mut self.clusters[at].run;
        if o == *run && *run < b {
            *run += 1;
        } else if *run > 0 && o == *run - 1 {
            // the last page again
        } else if o == 0 {
            *run = 1;
        } else {
            *run = 0;
        }
        let is_sequential = *run == b;
        self.move_to_mru(block);
        if let Kind::Bplru { compensation: true, .. } = self.kind
            && b >= 2
            && is_sequential
        {
            let cluster = self.clusters.remove(0);
            self.clusters.push(cluster);
        }
    }
}

impl BlockModel for Buffer {
    fn access(&mut self, op: Op, page: u64) -> Step {
        let hit = self.holds(page);
        let block = self.shape.block(page);
        let mut group = None;
        match op {
            Op::Read if hit && self.read_recency => self.move_to_mru(block),
            Op::Read => {}
            Op::Write => {
                if !hit {
                    if self.resident() == self.frames {
                        group = Some(self.evict());
                    }
                    if self.position(block).is_none() {
                        self.clusters.push(Cluster { block, pages: BTreeSet::new(), run: 0 });
                    }
                    let at = self.position(block).expect("it is there now");
                    self.clusters[at].pages.insert(page);
                }
                self.written(page);
            }
        }
        Step { hit, group, dropped: None }
    }

    fn collecting(&mut self, pages: BTreeSet<u64>) {
        self.collecting = pages;
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        let at = self.position(self.shape.block(page))?;
        let held = self.clusters[at].pages.remove(&page);
        if self.clusters[at].pages.is_empty() {
            self.clusters.remove(at);
        }
        held.then_some(true)
    }

    fn dirty(&self) -> u64 {
        self.clusters.iter().map(|cluster| cluster.pages.len() as u64).sum()
    }

    fn last(&self) -> Value {
        let shown = |clusters: &[Cluster]| -> Value {
            clusters.iter().map(|cluster| json!([cluster.block, cluster.pages])).collect()
        };
        match self.kind {
            Kind::Clc { .. } => {
                let (recent, cold) = self.clusters.split_at(self.k());
                json!({"size_independent": shown(recent), "size_dependent": shown(cold)})
            }
            _ => json!({"clusters": shown(&self.clusters)}),
        }
    }
}
