//! Extents by depth in a stack of all extents requested.
//!
//! A share `near` of the depths is among the latest few; the others are n * u^(1/depth) of the n
//! extents so far, u even in 0..1. A stack of x of all pages then catches of what comes again about
//! near + (1 - near) * (x + x^d * (1 - x^(1 - d)) / (1 - d)), d being `depth`, since it holds
//! everything while few pages are known. Requests come in runs over neighbours; new extents are
//! born on several streams side by side, and most of them early in each phase. So many are born
//! that the pages touched are as many as the recipe says.

use rand_pcg::Pcg64;

use super::load::{Extents, length};
use super::recipe::Recipe;
use super::stack::{NEAR, Stack};
use crate::random::{below, chance, unit};

/// No extent, no group.
const NONE: u32 = u32::MAX;

/// The youngest of a stream.
#[derive(Clone, Copy)]
struct Stream {
    extent: u32,
    group: u32,
}

pub(super) struct Recency {
    near: f64,
    exponent: f64,
    mean: f64,
    longest: u64,
    /// Probability that a run goes on.
    runs: f64,
    /// Probability that a new extent begins a new group.
    parting: f64,
    phases: u64,
    requests: u64,
    /// Requests to come.
    left: u64,
    /// Pages to be born.
    pages: u64,
    stack: Stack,
    /// The neighbour behind each extent.
    successor: Vec<u32>,
    streams: Vec<Stream>,
    groups: u32,
    /// The last request's extent, the stream of its run, and whether that is of new ones.
    run: u32,
    stream: usize,
    newborn: bool,
}

impl Recency {
    pub(super) fn new(recipe: &Recipe, pages: u64, requests: u64) -> Self {
        let log = recipe.log_share;
        let runs = if log < 1.0 { ((recipe.sequential - log) / (1.0 - log)).max(0.0) } else { 0.0 };
        let streams = recipe.streams.round() as usize;
        Recency {
            near: recipe.near,
            exponent: 1.0 / recipe.depth,
            mean: recipe.mean_pages,
            longest: recipe.longest(pages),
            runs,
            parting: recipe.mean_pages / recipe.cluster_pages,
            phases: recipe.phases.round() as u64,
            requests: requests.max(1),
            left: requests.max(1),
            pages,
            stack: Stack::default(),
            successor: Vec::new(),
            streams: vec![Stream { extent: NONE, group: NONE }; streams],
            groups: 0,
            run: NONE,
            stream: 0,
            newborn: false,
        }
    }

    /// The extent of the next request.
    pub(super) fn sample(&mut self, random: &mut Pcg64, extents: &mut Extents) -> u32 {
        let mut going = self.run != NONE && chance(random, self.runs);
        if going && !self.newborn {
            going = self.successor[self.run as usize] != NONE;
        }
        if !going {
            let birth = self.birth();
            self.newborn = chance(random, birth);
            self.stream = below(random, self.streams.len() as u64) as usize;
        }
        let found = if self.pages > 0 && (self.newborn || self.stack.len() == 0) {
            self.bear(random, extents)
        } else {
            self.newborn = false;
            let next = if going { self.successor[self.run as usize] } else { NONE };
            let found = if next == NONE { self.old(random) } else { next };
            self.stack.take(found);
            found
        };
        self.left = self.left.saturating_sub(1);
        self.run = found;
        found
    }

    /// Probability of a new extent: as many as are wanted, and more early in a phase.
    fn birth(&self) -> f64 {
        if self.pages == 0 || self.left == 0 {
            return 0.0;
        }
        let mean = self.pages as f64 / self.mean / self.left as f64;
        if mean >= 1.0 {
            return 1.0;
        }
        if self.left * self.phases <= self.requests {
            // In the last phase evenly, so that none are left over.
            return mean;
        }
        let done = (self.requests - self.left) * self.phases;
        let into = (done % self.requests) as f64 / self.requests as f64;
        mean * (1.0 + (1.0 / mean - 1.0).min(1.0) * (1.0 - 2.0 * into))
    }

    fn bear(&mut self, random: &mut Pcg64, extents: &mut Extents) -> u32 {
        let length = u64::from(length(random, self.mean, self.longest)).min(self.pages);
        self.pages -= length;
        let extent = extents.pages.len() as u32;
        let stream = &mut self.streams[self.stream];
        if stream.extent == NONE || chance(random, self.parting) {
            stream.group = self.groups;
            self.groups += 1;
        } else {
            self.successor[stream.extent as usize] = extent;
        }
        stream.extent = extent;
        self.successor.push(NONE);
        extents.pages.push(length as u32);
        extents.groups.push(stream.group);
        self.stack.push();
        extent
    }

    fn old(&self, random: &mut Pcg64) -> u32 {
        let count = self.stack.len();
        let u = unit(random);
        if chance(random, self.near) {
            return self.stack.extent((u * NEAR.min(count) as f64) as usize);
        }
        let depth = (count as f64 * u.powf(self.exponent)) as usize;
        self.stack.extent(depth.min(count - 1))
    }
}
