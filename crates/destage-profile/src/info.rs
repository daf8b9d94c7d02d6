//! Statistics of a trace: the numbers that show whether it is the intended workload,
//! and how well it can be cached.
//!
//! Computed from the decoded trace in one pass over its accesses, and one over its pages; memory
//! grows with the pages alone.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use destage_core::stack_distance::{NO_SLOT, StackDistances};
use destage_trace::{
    Extent, Hooks, NO_RESPONSE, Result, Stage, Trace,
    meta::{DeviceMeta, SizeProfile, SourceMeta, TraceCounts, TraceMeta, WrapCounts},
    step,
};

/// A trace in numbers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TraceInfo {
    /// Identity of the accesses.
    pub fingerprint: String,
    /// Files, in the order given.
    pub sources: Vec<SourceMeta>,
    /// Page size, bytes.
    pub page_bytes: u64,
    /// Requests, accesses, bytes, partial pages, unique pages.
    pub counts: TraceCounts,
    /// Share of requests that read; 0..=1.
    pub read_share: f64,
    /// Lengths of reads, writes and both.
    pub sizes: Sizes,
    /// End of the one address space, pages: highest LPN plus one.
    pub span_pages: u64,
    /// End of the address space, bytes.
    pub span_bytes: u64,
    /// Whether the trace has times; without, durations and rates are 0.
    pub timed: bool,
    /// Time from the first to the last arrival, ns.
    pub duration_ns: u64,
    /// Requests per second over the duration; 0 if that is 0.
    pub mean_rate_per_s: f64,
    /// Gaps between arrivals that follow each other.
    pub interarrival: Option<GapProfile>,
    /// Measured responses, if the format has them.
    pub response: Option<GapProfile>,
    /// Sequentiality.
    pub sequentiality: Sequentiality,
    /// Reuse of pages.
    pub rereference: Rereference,
    /// Volumes in name order.
    pub volumes: Vec<DeviceMeta>,
    /// Effect of wrapping.
    pub wrap: Option<WrapCounts>,
    /// Numbers that a workload can hardly have: what each is about, its cause, and what to type.
    pub doubts: serde_json::Value,
    /// Report of the reading.
    pub summary: serde_json::Value,
}

/// Lengths of requests.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sizes {
    /// Reads.
    pub reads: SizeStats,
    /// Writes.
    pub writes: SizeStats,
    /// Reads and writes.
    pub all: SizeStats,
}

/// One distribution of lengths, bytes. Percentiles within 1.6 %, all else exact.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)] // the names say it
pub struct SizeStats {
    pub count: u64,
    pub mean_bytes: f64,
    pub min_bytes: u64,
    pub p50_bytes: u64,
    pub p90_bytes: u64,
    pub p99_bytes: u64,
    pub max_bytes: u64,
    /// Requests by length: a power of two, and how many are from it to below the next.
    pub histogram: Vec<(u64, u64)>,
}

impl SizeStats {
    fn of(profile: &SizeProfile) -> Self {
        let mut histogram: Vec<(u64, u64)> = Vec::new();
        for &(bytes, count) in &profile.buckets {
            let power = 1 << (63 - bytes.max(1).leading_zeros());
            match histogram.last_mut() {
                Some((last, sum)) if *last == power => *sum += count,
                _ => histogram.push((power, count)),
            }
        }
        SizeStats {
            count: profile.count,
            mean_bytes: profile.mean_bytes(),
            min_bytes: profile.min_bytes,
            p50_bytes: profile.percentile_bytes(0.5),
            p90_bytes: profile.percentile_bytes(0.9),
            p99_bytes: profile.percentile_bytes(0.99),
            max_bytes: profile.max_bytes,
            histogram,
        }
    }
}

/// A distribution of times, ns. Mean and extremes exact, percentiles to three digits.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)] // the names say it
pub struct GapProfile {
    pub count: u64,
    pub mean_ns: f64,
    pub min_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

/// Largest time that the histogram distinguishes: a day; longer ones count as a day in percentiles.
const LONGEST_NS: u64 = 24 * 3600 * 1_000_000_000;

struct GapCounter {
    histogram: hdrhistogram::Histogram<u64>,
    sum: u128,
    min: u64,
    max: u64,
}

impl GapCounter {
    fn new() -> Self {
        GapCounter {
            histogram: hdrhistogram::Histogram::new_with_bounds(1, LONGEST_NS, 3)
                .expect("the bounds are constants"),
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    fn add(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
        self.sum += u128::from(ns);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    fn profile(&self) -> Option<GapProfile> {
        let count = self.histogram.len();
        let quantile = |q| self.histogram.value_at_quantile(q).clamp(self.min, self.max);
        (count > 0).then(|| GapProfile {
            count,
            mean_ns: self.sum as f64 / count as f64,
            min_ns: self.min,
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: self.max,
        })
    }
}

/// Requests that continue where an earlier one ended.
///
/// A request goes on with another if its first page follows the other's last, or is the same page
/// and the other ended inside it. Shares of all requests, 0..=1.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sequentiality {
    /// Share that continues the request before it.
    pub with_previous: f64,
    /// Share that continues one of the last [`STREAMS`] streams, each of which is a run of requests
    /// that go on with each other.
    pub with_any_stream: f64,
}

/// Streams that are followed at a time; the one that went on longest ago is forgotten.
pub const STREAMS: usize = 32;

/// Page that would go on, and the page it ended inside or `u64::MAX`.
type End = (u64, u64);

/// Ends of streams, the latest last.
struct Streams {
    ends: VecDeque<End>,
    /// How many ends have a page here: most requests go on with none, and need not look at all.
    filter: [u8; Self::PLACES],
    previous: u64,
    any: u64,
}

impl Streams {
    const PLACES: usize = 1 << 10;

    fn new() -> Self {
        let ends = VecDeque::with_capacity(STREAMS);
        Streams { ends, filter: [0; Self::PLACES], previous: 0, any: 0 }
    }

    fn place(page: u64) -> usize {
        // Fibonacci hashing.
        (page.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - Self::PLACES.ilog2())) as usize
    }

    fn add(&mut self, first: u64, last: u64, ends_inside: bool) {
        let goes_on = |end: &End| first == end.0 || first == end.1;
        let found = match self.filter[Self::place(first)] {
            0 => None,
            _ => self.ends.iter().rposition(goes_on),
        };
        let left = if let Some(at) = found {
            self.any += 1;
            self.previous += u64::from(at + 1 == self.ends.len());
            self.ends.remove(at)
        } else if self.ends.len() == STREAMS {
            self.ends.pop_front()
        } else {
            None
        };
        let end = (last.saturating_add(1), if ends_inside { last } else { u64::MAX });
        self.ends.push_back(end);
        for page in [end.0, end.1] {
            self.filter[Self::place(page)] += 1; // at most 64: two pages of each stream
        }
        for page in left.into_iter().flat_map(|(next, inside)| [next, inside]) {
            self.filter[Self::place(page)] -= 1;
        }
    }
}

/// Reuse of pages.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rereference {
    /// Accesses to a page that was accessed before.
    pub repeated_accesses: u64,
    /// Mean number of accesses per page.
    pub mean_accesses_per_page: f64,
    /// Pages accessed exactly once.
    pub once_pages: u64,
    /// Exact LRU stack distances: a power of two, and how many repeated accesses have a distance
    /// above the power before it up to this one. A distance is the number of different pages since
    /// the page's last access, itself included, so that an LRU cache of that many pages hits.
    pub distance_histogram: Vec<(u64, u64)>,
    /// Median distance of the repeated accesses, as the upper bound of its bucket; 0 without.
    pub median_distance_pages: u64,
    /// Share of pages, and share of all accesses that the most accessed of them take: the hottest
    /// 1, 5, 10 and 20 % (rounded up to a whole page).
    pub hottest: Vec<(f64, f64)>,
    /// Exponent of the Zipf distribution over the touched pages that makes their access counts,
    /// ordered by count, most likely; 0 if all are alike. Below a few accesses per page ordering
    /// alone feigns some skew.
    pub zipf_skew: f64,
}

impl TraceInfo {
    /// Statistics of every access of a trace.
    ///
    /// # Errors
    ///
    /// `Interrupted`.
    pub fn of(trace: &Trace, hooks: &mut dyn Hooks) -> Result<Self> {
        const AT_A_TIME: usize = 1 << 16;
        let meta = trace.meta();
        let (lpns, arrivals) = (trace.lpns(), trace.arrivals_ns());
        let mut continuations = trace.continuations().iter().copied().peekable();
        let mut distances = Distances::new(trace.pages());
        let mut streams = Streams::new();
        let mut gaps = GapCounter::new();
        let mut previous_ns = None;
        let rows = trace.first_ids().iter().zip(trace.pages_ops()).zip(arrivals).enumerate();
        for (row, ((&first, &ops), &arrival_ns)) in rows {
            let extent = Extent(ops);
            if row % AT_A_TIME == 0 {
                step(hooks, Stage::Looking, row as u64, Some(trace.rows()))?;
            }
            for id in first..first + extent.pages() {
                distances.access(id);
            }
            let last = first + extent.pages() - 1;
            // A request that was cut counts once, with its first piece.
            if continuations.next_if_eq(&(row as u64)).is_some() {
                continue;
            }
            streams.add(lpns[first as usize], lpns[last as usize], extent.ends_inside());
            if let Some(previous) = previous_ns.replace(arrival_ns) {
                gaps.add(arrival_ns - previous);
            }
        }
        let counts = &meta.counts;
        let requests = counts.requests as f64;
        let duration_ns = meta.clock.duration_ns();
        let span_pages = lpns.last().map_or(0, |last| last.saturating_add(1));
        Ok(TraceInfo {
            fingerprint: meta.fingerprint.clone(),
            sources: meta.sources.clone(),
            page_bytes: meta.page_bytes,
            counts: counts.clone(),
            read_share: counts.reads as f64 / requests,
            sizes: Sizes::of(meta),
            span_pages,
            span_bytes: span_pages.saturating_mul(meta.page_bytes),
            timed: meta.clock.timed,
            duration_ns,
            mean_rate_per_s: if duration_ns == 0 {
                0.0
            } else {
                requests * 1e9 / duration_ns as f64
            },
            interarrival: gaps.profile().filter(|_| meta.clock.timed),
            response: responses(trace),
            sequentiality: Sequentiality {
                with_previous: streams.previous as f64 / requests,
                with_any_stream: streams.any as f64 / requests,
            },
            rereference: distances.profile(),
            volumes: meta.devices.clone(),
            wrap: meta.wrap.clone(),
            doubts: meta.summary.get("doubts").cloned().unwrap_or_else(|| Vec::<u8>::new().into()),
            summary: meta.summary.clone(),
        })
    }
}

impl Sizes {
    fn of(meta: &TraceMeta) -> Self {
        Sizes {
            reads: SizeStats::of(&meta.read_sizes),
            writes: SizeStats::of(&meta.write_sizes),
            all: SizeStats::of(&meta.read_sizes.merged(&meta.write_sizes)),
        }
    }
}

/// The measured responses that are known.
fn responses(trace: &Trace) -> Option<GapProfile> {
    let mut known = GapCounter::new();
    let all = trace.responses_ns().unwrap_or(&[]).iter();
    all.filter(|&&response| response != NO_RESPONSE).for_each(|&response| known.add(response));
    known.profile()
}

/// Stack distances and access counts, page by page.
struct Distances {
    stack: StackDistances,
    /// Slot of each page in `stack`.
    slots: Vec<u32>,
    /// By exponent of the power of two that a distance does not exceed.
    histogram: [u64; 33],
    per_page: Vec<u32>,
    accesses: u64,
}

impl Distances {
    fn new(pages: u32) -> Self {
        Distances {
            stack: StackDistances::new(pages as usize),
            slots: vec![NO_SLOT; pages as usize],
            histogram: [0; 33],
            per_page: vec![0; pages as usize],
            accesses: 0,
        }
    }

    #[inline]
    fn access(&mut self, id: u32) {
        self.accesses += 1;
        let count = &mut self.per_page[id as usize];
        *count = count.saturating_add(1);
        if self.stack.is_full() {
            self.stack.compact(self.slots.iter_mut());
        }
        let slot = &mut self.slots[id as usize];
        if *slot == NO_SLOT {
            *slot = self.stack.first_use();
        } else {
            let distance;
            (*slot, distance) = self.stack.reuse(*slot);
            self.histogram[(u32::BITS - (distance - 1).leading_zeros()) as usize] += 1;
        }
    }

    fn profile(mut self) -> Rereference {
        let pages = self.per_page.len();
        let repeated: u64 = self.histogram.iter().sum();
        self.per_page.sort_unstable_by(|a, b| b.cmp(a));
        let hottest = [0.01, 0.05, 0.1, 0.2].map(|share| {
            let top = ((share * pages as f64).ceil() as usize).min(pages);
            let taken: u64 = self.per_page[..top].iter().map(|c| u64::from(*c)).sum();
            (share, taken as f64 / self.accesses.max(1) as f64)
        });
        let mut seen = 0;
        let median = self.histogram.iter().position(|count| {
            seen += count;
            repeated > 0 && seen * 2 >= repeated
        });
        let power = |k: usize| 1u64.checked_shl(k as u32).unwrap_or(u64::MAX);
        let last = self.histogram.iter().rposition(|count| *count > 0).map_or(0, |k| k + 1);
        Rereference {
            repeated_accesses: repeated,
            mean_accesses_per_page: self.accesses as f64 / pages.max(1) as f64,
            once_pages: self.per_page.iter().rev().take_while(|c| **c == 1).count() as u64,
            distance_histogram: (0..last).map(|k| (power(k), self.histogram[k])).collect(),
            median_distance_pages: median.map_or(0, power),
            hottest: hottest.to_vec(),
            zipf_skew: zipf_skew(&self.per_page),
        }
    }
}

/// Maximum-likelihood exponent of a Zipf distribution for counts in descending order: where the
/// mean of ln(rank) under the distribution is that of the counts. Between 0 and 10.
fn zipf_skew(counts: &[u32]) -> f64 {
    if counts.len() < 2 {
        return 0.0;
    }
    let total: f64 = counts.iter().map(|c| f64::from(*c)).sum();
    let logs = counts.iter().enumerate().map(|(k, c)| f64::from(*c) * (k as f64 + 1.0).ln());
    let wanted = logs.sum::<f64>() / total;
    // The mean falls as the exponent grows.
    let (mut low, mut high) = (0.0, 10.0);
    if wanted >= mean_log_rank(counts.len(), low) {
        return 0.0;
    }
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if mean_log_rank(counts.len(), middle) > wanted { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Mean of ln(rank) under a Zipf distribution over `1..=n`: the first ranks one by one, the others
/// by the midpoint rule over stretches that grow with the rank (error below 1e-6 of the mean).
fn mean_log_rank(n: usize, alpha: f64) -> f64 {
    const EXACT: usize = 1024;
    let (mut weight, mut weighted) = (0.0, 0.0);
    let mut add = |rank: f64, ranks: f64| {
        let p = ranks * rank.powf(-alpha);
        weight += p;
        weighted += p * rank.ln();
    };
    for rank in 1..=n.min(EXACT) {
        add(rank as f64, 1.0);
    }
    let mut from = EXACT + 1;
    while from <= n {
        let to = (from + from / 256).min(n);
        add((from + to) as f64 / 2.0, (to - from + 1) as f64);
        from = to + 1;
    }
    weighted / weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_skew_of_zipf_counts_is_their_exponent() {
        for alpha in [0.0, 0.5, 0.9, 1.0, 1.3] {
            let counts: Vec<u32> =
                (1..=50_000).map(|k| (4e9 / 5.0 * f64::from(k).powf(-alpha)) as u32).collect();
            let skew = zipf_skew(&counts);
            assert!((skew - alpha).abs() < 2e-3, "{alpha}: {skew}");
        }
    }

    #[test]
    fn stretches_give_the_mean_of_the_sum() {
        for alpha in [0.3, 1.0, 2.0] {
            let n = 100_000;
            let (mut weight, mut weighted) = (0.0, 0.0);
            for k in 1..=n {
                let p = f64::from(k).powf(-alpha);
                weight += p;
                weighted += p * f64::from(k).ln();
            }
            let want = weighted / weight;
            assert!((mean_log_rank(n as usize, alpha) / want - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn streams_go_on_from_page_to_page_and_inside_a_page() {
        let mut streams = Streams::new();
        streams.add(10, 11, false); // nothing before
        streams.add(12, 12, true); // follows 11
        streams.add(12, 12, true); // goes on inside 12
        streams.add(50, 50, false); // elsewhere
        streams.add(13, 13, false); // follows 12, which is not the previous one
        streams.add(50, 50, false); // the same whole page again is no continuation
        assert_eq!((streams.previous, streams.any), (2, 3));
    }

    #[test]
    fn only_the_latest_streams_are_followed() {
        let mut streams = Streams::new();
        for k in 0..=STREAMS as u64 {
            streams.add(k * 100, k * 100, false);
        }
        streams.add(1, 1, false); // stream 0 is forgotten
        assert_eq!(streams.any, 0);
        streams.add(201, 201, false);
        assert_eq!(streams.any, 1);
    }

    /// As the definition reads: each end looked at for each request.
    fn slow(requests: &[(u64, u64, bool)]) -> (u64, u64) {
        let (mut ends, mut previous, mut any) = (Vec::<End>::new(), 0, 0);
        for &(first, last, ends_inside) in requests {
            if let Some(at) = ends.iter().rposition(|end| first == end.0 || first == end.1) {
                any += 1;
                previous += u64::from(at + 1 == ends.len());
                ends.remove(at);
            } else if ends.len() == STREAMS {
                ends.remove(0);
            }
            ends.push((last.saturating_add(1), if ends_inside { last } else { u64::MAX }));
        }
        (previous, any)
    }

    proptest::proptest! {
        #[test]
        fn streams_are_those_of_the_definition(
            all in proptest::collection::vec((0u64..150, 0u64..4, proptest::bool::ANY), 0..400),
            far in 0u64..3,
        ) {
            let mut streams = Streams::new();
            let requests: Vec<_> = all
                .into_iter()
                .map(|(first, pages, inside)| {
                    // Near the end of all pages as well, where no page follows.
                    let first = if far == 0 { u64::MAX - 150 + first } else { first * far };
                    (first, first.saturating_add(pages), inside)
                })
                .collect();
            for &(first, last, inside) in &requests {
                streams.add(first, last, inside);
            }
            proptest::prop_assert_eq!((streams.previous, streams.any), slow(&requests));
        }
    }
}
