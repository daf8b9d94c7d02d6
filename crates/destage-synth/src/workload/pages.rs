//! Which page a request begins at.

use rand::distr::Distribution;
use rand_distr::{StandardNormal, Zipf};
use rand_pcg::Pcg64;

use super::description::{Workload, WorkloadKind, usage};
use crate::random::{Permutation, below, chance, unit};
use destage_trace::Result;

/// A request's first page, its length, and whether it must be a write.
pub(crate) struct SampledRequest {
    pub(crate) first: u64,
    pub(crate) pages: u64,
    /// Part of a log: a write whatever the read ratio.
    pub(crate) log: bool,
}

/// Sampler of the requests of one kind.
pub(crate) enum RequestSampler {
    Uniform,
    Normal { mean: f64, deviation: f64 },
    Zipf(Ranked),
    Locality { hot: u64, access_share: f64, order: Option<Permutation> },
    Sequential { at: u64, run_requests: u64 },
    Loop { at: u64, pages: u64 },
    Scan { hot: u64, access_share: f64, at: u64 },
    Oltp { ranked: Ranked, data: u64, log_share: f64, at: u64 },
}

/// Zipf ranks, and the page of each rank.
pub(crate) struct Ranked {
    zipf: Zipf<f64>,
    order: Option<Scattered>,
}

/// Puts clusters of ranks in a random order; inside a cluster pages follow each other as ranks do.
struct Scattered {
    order: Permutation,
    cluster: u64,
    /// Whole clusters; what is left over at the end stays where it is.
    clusters: u64,
}

impl Scattered {
    fn new(pages: u64, cluster: u64, random: &mut Pcg64) -> Self {
        let cluster = cluster.min(pages);
        let clusters = pages / cluster;
        Scattered { order: Permutation::new(clusters, random), cluster, clusters }
    }

    fn apply(&self, rank: u64) -> u64 {
        let (number, within) = (rank / self.cluster, rank % self.cluster);
        if number < self.clusters { self.order.apply(number) * self.cluster + within } else { rank }
    }
}

impl Ranked {
    fn new(w: &Workload, pages: u64, random: &mut Pcg64) -> Result<Self> {
        let alpha = w.alpha;
        let zipf = Zipf::new(pages as f64, alpha)
            .map_err(|_| usage(format!("alpha: no zipf distribution with alpha = {alpha}")))?;
        let order = w.permuted.then(|| Scattered::new(pages, w.cluster_pages, random));
        Ok(Ranked { zipf, order })
    }

    fn sample(&self, random: &mut Pcg64) -> u64 {
        let rank = self.zipf.sample(random) as u64 - 1;
        self.order.as_ref().map_or(rank, |order| order.apply(rank))
    }
}

impl RequestSampler {
    pub(crate) fn new(w: &Workload, random: &mut Pcg64) -> Result<Self> {
        let part = |share: f64, of: u64| ((share * of as f64).round() as u64).clamp(1, of);
        Ok(match w.kind {
            WorkloadKind::Uniform => RequestSampler::Uniform,
            WorkloadKind::Normal => RequestSampler::Normal { mean: w.mean, deviation: w.deviation },
            WorkloadKind::Zipf | WorkloadKind::Bursts => {
                RequestSampler::Zipf(Ranked::new(w, w.pages, random)?)
            }
            WorkloadKind::Locality => RequestSampler::Locality {
                hot: part(w.page_share, w.pages),
                access_share: w.access_share,
                order: w.permuted.then(|| Permutation::new(w.pages, random)),
            },
            WorkloadKind::Sequential => {
                RequestSampler::Sequential { at: 0, run_requests: w.run_requests }
            }
            WorkloadKind::Loop => RequestSampler::Loop {
                at: 0,
                pages: if w.loop_pages == 0 { w.pages } else { w.loop_pages },
            },
            WorkloadKind::Scan => {
                let hot = part(w.page_share, w.pages);
                RequestSampler::Scan { hot, access_share: w.access_share, at: hot }
            }
            WorkloadKind::Oltp => {
                let longest = w.size.longest();
                let log = part(w.log_page_share, w.pages).clamp(longest, w.pages - longest);
                let data = w.pages - log;
                let ranked = Ranked::new(w, data, random)?;
                RequestSampler::Oltp { ranked, data, log_share: w.log_share, at: data }
            }
        })
    }

    /// The next request. Page numbers lie in `0..w.pages`, the last page included.
    pub(crate) fn sample(&mut self, w: &Workload, random: &mut Pcg64) -> SampledRequest {
        let (all, size) = (w.pages, &w.size);
        match self {
            RequestSampler::Uniform => inside(below(random, all), size.sample(random, all), 0, all),
            RequestSampler::Normal { mean, deviation } => {
                let first = normal(random, *mean, *deviation, all);
                inside(first, size.sample(random, all), 0, all)
            }
            RequestSampler::Zipf(ranked) => {
                inside(ranked.sample(random), size.sample(random, all), 0, all)
            }
            RequestSampler::Locality { hot, access_share, order } => {
                let rest = all - *hot;
                let first = if rest == 0 || chance(random, *access_share) {
                    below(random, *hot)
                } else {
                    *hot + below(random, rest)
                };
                let first = order.as_ref().map_or(first, |order| order.apply(first));
                inside(first, size.sample(random, all), 0, all)
            }
            RequestSampler::Sequential { at, run_requests } => {
                if *run_requests > 0 && below(random, *run_requests) == 0 {
                    *at = below(random, all);
                }
                next(at, size.sample(random, all), 0, all)
            }
            RequestSampler::Loop { at, pages } => next(at, size.sample(random, *pages), 0, *pages),
            RequestSampler::Scan { hot, access_share, at } => {
                if *hot == all || chance(random, *access_share) {
                    inside(below(random, *hot), size.sample(random, *hot), 0, *hot)
                } else {
                    next(at, size.sample(random, all - *hot), *hot, all)
                }
            }
            RequestSampler::Oltp { ranked, data, log_share, at } => {
                if chance(random, *log_share) {
                    let draw = next(at, size.sample(random, all - *data), *data, all);
                    SampledRequest { log: true, ..draw }
                } else {
                    inside(ranked.sample(random), size.sample(random, *data), 0, *data)
                }
            }
        }
    }
}

/// Moves a request that would run over the end of `from..to` back, so that it ends there.
fn inside(first: u64, pages: u64, from: u64, to: u64) -> SampledRequest {
    SampledRequest { first: first.min(to - pages).max(from), pages, log: false }
}

/// The next request of a walk over `from..to`, which starts over where one does not fit.
fn next(at: &mut u64, pages: u64, from: u64, to: u64) -> SampledRequest {
    let first = if *at + pages > to { from } else { *at };
    *at = first + pages;
    SampledRequest { first, pages, log: false }
}

/// A page around `mean`, both as shares of the footprint; drawn again while outside, and after 64
/// vain trials (a centre far outside) uniform.
fn normal(random: &mut Pcg64, mean: f64, deviation: f64, pages: u64) -> u64 {
    for _ in 0..64 {
        let sample: f64 = StandardNormal.sample(random);
        let share = mean + deviation * sample;
        if (0.0..1.0).contains(&share) {
            return ((share * pages as f64) as u64).min(pages - 1);
        }
    }
    (unit(random) * pages as f64) as u64
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn scattered_clusters_reach_every_page_once_and_keep_neighbours_together() {
        for (pages, cluster) in [(1, 1), (10, 3), (64, 16), (1000, 7), (5, 8)] {
            let mut random = Pcg64::seed_from_u64(pages);
            let scattered = Scattered::new(pages, cluster, &mut random);
            let images: Vec<u64> = (0..pages).map(|rank| scattered.apply(rank)).collect();
            let cluster = cluster.min(pages);
            for rank in (0..pages).filter(|rank| (rank + 1) % cluster != 0 && rank + 1 < pages) {
                let (here, next) = (images[rank as usize], images[rank as usize + 1]);
                assert_eq!(next, here + 1, "{pages} pages in clusters of {cluster}, rank {rank}");
            }
            let mut sorted = images;
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..pages), "{pages} pages in clusters of {cluster}");
        }
    }
}
