//! CFDC: clean pages first; dirty pages leave in clusters of neighbouring page numbers.
//!
//! Ou, Haerder, Jin. DaMoN 2009, and ADBIS 2010; described in ACR section II.B.
//! Mirrors `docs/spec/page-policies.md` 3.15.

use std::collections::VecDeque;

use crate::{Buffer, Decision, Model, Op, Params, share, show, take_page};

struct Cluster {
    number: u64,
    pages: Vec<u64>, // in the order in which they entered
    timestamp: u64,
    marked: bool,
}

pub(crate) struct Cfdc {
    buffer: Buffer,
    working: VecDeque<u64>, // W, MRU to LRU
    clean: VecDeque<u64>,   // priority region: clean pages, MRU to LRU
    clusters: Vec<Cluster>, // priority region: dirty pages; no cluster is empty
    globaltime: u64,
    wmax: usize,
    cluster_size: u64,
    trimmed: bool, // a page, at some time
}

impl Cfdc {
    pub(crate) fn new(frames: usize, params: &Params) -> Cfdc {
        Cfdc {
            buffer: Buffer::new(frames),
            working: VecDeque::new(),
            clean: VecDeque::new(),
            clusters: Vec::new(),
            globaltime: 0,
            wmax: frames - share(params.fraction("priority_fraction", 0.5), frames),
            cluster_size: params.integer("cluster_size").unwrap_or(64),
            trimmed: false,
        }
    }

    fn demote(&mut self) {
        while self.working.len() > self.wmax {
            let page = self.working.pop_back().expect("W is too long");
            if !self.buffer.dirty(page) {
                self.clean.push_front(page);
                continue;
            }
            let number = page / self.cluster_size;
            match self.clusters.iter_mut().find(|cluster| cluster.number == number) {
                Some(cluster) => cluster.pages.push(page),
                None => self.clusters.push(Cluster {
                    number,
                    pages: vec![page],
                    timestamp: self.globaltime,
                    marked: false,
                }),
            }
            self.globaltime += 1;
        }
    }

    /// Takes a page that is hit from wherever it is.
    fn take_out(&mut self, page: u64) {
        if take_page(&mut self.working, page) || take_page(&mut self.clean, page) {
            return;
        }
        for cluster in &mut self.clusters {
            if cluster.pages.contains(&page) {
                cluster.pages.retain(|&other| other != page);
                cluster.timestamp = self.globaltime;
            }
        }
        self.clusters.retain(|cluster| !cluster.pages.is_empty());
    }

    /// `IPD / (n^2 * (globaltime - timestamp))` as numerator and denominator. A cluster that was
    /// hit since anything was demoted has age 0 only if a trim has made room in W (open point 8):
    /// its priority is infinite.
    fn priority(&self, cluster: &Cluster) -> (u128, u128) {
        let n = cluster.pages.len() as u128;
        let mut ipd = 0;
        for pair in cluster.pages.windows(2) {
            ipd += u128::from(pair[0].abs_diff(pair[1]));
        }
        if n == 1 {
            ipd = 1;
        }
        let age = u128::from(self.globaltime - cluster.timestamp);
        assert!(age > 0 || self.trimmed, "globaltime has moved on before a cluster is judged");
        (ipd, n * n * age)
    }

    /// Whether `a` gives victims before `b`: lower priority, then timestamp, then number.
    fn before(&self, a: &Cluster, b: &Cluster) -> bool {
        let (a_ipd, a_den) = self.priority(a);
        let (b_ipd, b_den) = self.priority(b);
        // a_ipd / a_den < b_ipd / b_den, without the division
        let (left, right) = (a_ipd * b_den, b_ipd * a_den);
        (left, a.timestamp, a.number) < (right, b.timestamp, b.number)
    }

    /// The marked cluster if there is one, else the one that goes before all others.
    fn victim_cluster(&self) -> usize {
        if let Some(marked) = self.clusters.iter().position(|cluster| cluster.marked) {
            return marked;
        }
        let mut best = 0;
        for at in 1..self.clusters.len() {
            if self.before(&self.clusters[at], &self.clusters[best]) {
                best = at;
            }
        }
        best
    }

    fn victim(&mut self) -> u64 {
        if let Some(last) = self.clean.pop_back() {
            return last;
        }
        if self.clusters.is_empty() {
            return self.working.pop_back().expect("everything is in W");
        }
        let at = self.victim_cluster();
        self.clusters[at].marked = true;
        let victim = self.clusters[at].pages.remove(0);
        if self.clusters[at].pages.is_empty() {
            self.clusters.remove(at);
        }
        victim
    }
}

impl Model for Cfdc {
    fn access(&mut self, op: Op, page: u64) -> Decision {
        let decision;
        if self.buffer.hit(op, page) {
            self.take_out(page);
            decision = Decision::hit();
        } else {
            decision = if self.buffer.full() {
                let victim = self.victim();
                self.buffer.evict(victim)
            } else {
                Decision::miss()
            };
            self.buffer.install(op, page);
        }
        self.working.push_front(page);
        self.demote();
        decision
    }

    fn forget(&mut self, page: u64) -> Option<bool> {
        self.trimmed = true;
        take_page(&mut self.working, page);
        take_page(&mut self.clean, page);
        for cluster in &mut self.clusters {
            cluster.pages.retain(|&other| other != page);
        }
        self.clusters.retain(|cluster| !cluster.pages.is_empty());
        self.buffer.forget(page)
    }

    fn lists(&self) -> String {
        let mut clusters: Vec<&Cluster> = self.clusters.iter().collect();
        clusters.sort_by_key(|cluster| cluster.number);
        let clusters = clusters.into_iter().map(|cluster| {
            let pages: Vec<String> = cluster.pages.iter().map(u64::to_string).collect();
            let mark = if cluster.marked { "!" } else { "" };
            format!("#{}{{{}}}@{}{mark}", cluster.number, pages.join(" "), cluster.timestamp)
        });
        [
            show("working", &self.working),
            show("clean", &self.clean),
            show("clusters", clusters),
            format!("globaltime={}", self.globaltime),
        ]
        .join(" ")
    }

    fn dirty_pages(&self) -> Vec<u64> {
        self.buffer.dirty_pages()
    }
}
