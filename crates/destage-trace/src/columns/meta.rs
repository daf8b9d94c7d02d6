//! Metadata of a decoded trace: counts, devices, sizes, and its sources.

use serde::{Deserialize, Serialize};

/// Everything but the columns.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TraceMeta {
    /// Version of the columns' layout and meaning.
    pub format_version: u32,
    /// Page size that requests were split by, bytes.
    pub page_bytes: u64,
    /// The files, in the order given, or the workload that was made.
    pub sources: Vec<SourceMeta>,
    /// Devices in name order, with their place in the one address space.
    pub devices: Vec<DeviceMeta>,
    /// Counts over the whole trace.
    pub counts: TraceCounts,
    /// Clock of the arrivals.
    pub clock: TraceClock,
    /// Set if page numbers were wrapped into a smaller drive.
    pub wrap: Option<WrapCounts>,
    /// Lengths of read requests.
    pub read_sizes: SizeProfile,
    /// Lengths of write requests.
    pub write_sizes: SizeProfile,
    /// Report of the reading: format, lines skipped, steps back, notes, warnings.
    pub summary: serde_json::Value,
    /// Identity of what a run can see: 32 hexadecimal digits over page size, arrivals, pages,
    /// operations, and trims and flushes where there are any. The same however the file was named
    /// or compressed.
    pub fingerprint: String,
}

/// One file of the run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SourceMeta {
    /// File name without folders, or the name of a workload.
    pub name: String,
    /// Length as stored (compressed), bytes; 0 if unknown.
    pub bytes: u64,
    /// XXH3-128 of the stored bytes, hexadecimal; empty if unknown.
    pub hash: String,
}

/// One device, and what was asked of it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DeviceMeta {
    /// Name of the device; bytes that cannot be shown are escaped.
    pub name: String,
    /// LPN of its first page in the run's one address space.
    pub base_lpn: u64,
    /// End of its highest request, bytes.
    pub span_bytes: u64,
    /// Pages it takes in the address space: its span rounded up to the alignment.
    pub span_pages: u64,
    /// Read and write requests.
    pub requests: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Different pages touched; 0 in a wrapped trace, whose pages belong to no device.
    pub unique_pages: u64,
}

/// Counts over the whole trace.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TraceCounts {
    /// Read and write requests.
    pub requests: u64,
    /// Rows of the columns: `requests`, plus one for each further piece of a request that wrapping
    /// cut, or that has more than 2^29 - 1 pages.
    pub rows: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Trim requests; replayed if the run asks for it.
    pub trims: u64,
    /// Flush requests; replayed if the run asks for it.
    pub flushes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Page accesses.
    pub accesses: u64,
    /// Page accesses of write requests.
    pub write_accesses: u64,
    /// Page accesses of reads that cover their page only in part.
    pub partial_reads: u64,
    /// Page accesses of writes that cover their page only in part.
    pub partial_writes: u64,
    /// Different pages touched.
    pub unique_pages: u64,
    /// Different pages read.
    pub unique_read: u64,
    /// Different pages written.
    pub unique_written: u64,
    /// Different pages both read and written.
    pub unique_both: u64,
    /// `unique_pages` in bytes.
    pub footprint_bytes: u64,
}

/// The clock of the arrivals.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TraceClock {
    /// Whether the format has times. Without, every arrival is 0.
    pub timed: bool,
    /// Time subtracted from the format's own times, ns.
    pub origin_ns: u64,
    /// Arrival of the first request, ns.
    pub first_ns: u64,
    /// Arrival of the last request, ns.
    pub last_ns: u64,
}

impl TraceClock {
    /// Time from the first to the last arrival, ns.
    pub fn duration_ns(&self) -> u64 {
        self.last_ns - self.first_ns
    }
}

/// Effect of wrapping.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WrapCounts {
    /// Logical pages of the drive.
    pub logical_pages: u64,
    /// Requests with at least one page beyond it.
    pub requests: u64,
    /// Page accesses beyond it.
    pub accesses: u64,
}

/// Distribution of request lengths.
///
/// Counted in buckets of a logarithmic scale with 64 steps to a power of two, so that common
/// lengths (multiples of a sector up to 32 KiB, and all powers of two) have a bucket of their own
/// and percentiles are within 1.6 %. Sum, smallest and largest are exact.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SizeProfile {
    /// Requests.
    pub count: u64,
    /// All lengths added up, bytes.
    pub sum_bytes: u64,
    /// Shortest, bytes; 0 without requests.
    pub min_bytes: u64,
    /// Longest, bytes.
    pub max_bytes: u64,
    /// Lower bound (bytes) and count of each bucket that is not empty, ascending.
    pub buckets: Vec<(u64, u64)>,
}

impl SizeProfile {
    /// Mean, bytes; 0 without requests.
    pub fn mean_bytes(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_bytes as f64 / self.count as f64 }
    }

    /// The length that a share of the requests (0..=1) does not exceed, by nearest rank, bytes.
    pub fn percentile_bytes(&self, share: f64) -> u64 {
        let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for &(bytes, count) in &self.buckets {
            seen += count;
            if seen >= rank {
                return bytes.clamp(self.min_bytes, self.max_bytes);
            }
        }
        self.max_bytes
    }

    /// Distribution of both together.
    pub fn merged(&self, other: &SizeProfile) -> SizeProfile {
        let mut buckets = std::collections::BTreeMap::new();
        for &(bytes, count) in self.buckets.iter().chain(&other.buckets) {
            *buckets.entry(bytes).or_insert(0) += count;
        }
        let min_bytes = match (self.count, other.count) {
            (0, _) => other.min_bytes,
            (_, 0) => self.min_bytes,
            _ => self.min_bytes.min(other.min_bytes),
        };
        SizeProfile {
            count: self.count + other.count,
            sum_bytes: self.sum_bytes + other.sum_bytes,
            min_bytes,
            max_bytes: self.max_bytes.max(other.max_bytes),
            buckets: buckets.into_iter().collect(),
        }
    }
}

/// Steps to a power of two, as a power of two.
const STEP_BITS: u32 = 6;

/// Counts lengths for a [`SizeProfile`].
pub(crate) struct SizeCounter {
    buckets: Vec<u64>,
    min_bytes: u64,
    max_bytes: u64,
}

impl SizeCounter {
    pub(crate) fn new() -> Self {
        SizeCounter { buckets: vec![0; 64 << STEP_BITS], min_bytes: u64::MAX, max_bytes: 0 }
    }

    /// Counts one length.
    #[inline(always)]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.buckets[bucket(bytes)] += 1;
        self.min_bytes = self.min_bytes.min(bytes);
        self.max_bytes = self.max_bytes.max(bytes);
    }

    /// `sum_bytes` are the lengths added up, which others count too.
    pub(crate) fn profile(&self, sum_bytes: u64) -> SizeProfile {
        let buckets: Vec<_> = (0..self.buckets.len())
            .filter(|k| self.buckets[*k] > 0)
            .map(|k| (lower_bound(k), self.buckets[k]))
            .collect();
        let count: u64 = buckets.iter().map(|b| b.1).sum();
        SizeProfile {
            count,
            sum_bytes,
            min_bytes: if count == 0 { 0 } else { self.min_bytes },
            max_bytes: self.max_bytes,
            buckets,
        }
    }
}

/// Values below 64 have a bucket each; from there on the exponent and the six bits below the
/// leading one choose it.
#[inline(always)]
fn bucket(bytes: u64) -> usize {
    let octave = 63 - (bytes | 1 << STEP_BITS).leading_zeros();
    let below = bytes >> (octave - STEP_BITS);
    // `below` carries the leading one, so that the octaves follow each other without gaps.
    (((octave - STEP_BITS) as usize) << STEP_BITS) + below as usize
}

fn lower_bound(bucket: usize) -> u64 {
    if bucket < 2 << STEP_BITS {
        return bucket as u64;
    }
    let octave = (bucket >> STEP_BITS) - 1;
    ((bucket - (octave << STEP_BITS)) as u64) << octave
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bucket_starts_at_most_a_64th_below_its_values(shift in 0u32..64, low in any::<u64>()) {
            let bytes = low >> shift;
            let bound = lower_bound(bucket(bytes));
            prop_assert!(bound <= bytes);
            prop_assert!(bytes - bound <= bytes / 64);
            prop_assert_eq!(bucket(bound), bucket(bytes));
        }
    }

    #[test]
    fn common_lengths_have_their_own_bucket() {
        for sectors in 1..=64u64 {
            assert_eq!(lower_bound(bucket(sectors * 512)), sectors * 512);
        }
        assert!(bucket(u64::MAX) < 64 << STEP_BITS);
    }

    #[test]
    fn percentiles_are_the_nearest_rank() {
        let mut sizes = SizeCounter::new();
        for bytes in [512, 4096, 4096, 8192] {
            sizes.add(bytes);
        }
        let profile = sizes.profile(16_896);
        assert_eq!(
            [0.25, 0.5, 0.75, 1.0].map(|p| profile.percentile_bytes(p)),
            [512, 4096, 4096, 8192]
        );
        assert_eq!(profile.mean_bytes(), 4224.0);
        assert_eq!(profile.merged(&SizeCounter::new().profile(0)), profile);
    }
}
