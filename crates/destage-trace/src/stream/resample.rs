//! `resample = SEED`: another trace of the same workload, by a block bootstrap of its requests.
//!
//! Künsch, The jackknife and the bootstrap for general stationary observations, Annals of
//! Statistics 17 (1989): blocks of consecutive requests, each beginning at a place that the seed
//! draws, follow each other until there are as many requests as the trace has. Within a block
//! order, times and pages are the trace's own, so that reuse at distances below a block's length
//! is kept; between blocks the gap is the one before the block's first request.
//!
//! ```text
//! trace   0 1 2 3 4 5 6 7 8      blocks of 3, drawn at 4, 0, 5      4 5 6 0 1 2 5 6 7
//! ```
//! A prompt of a language model is one request, whatever its blocks. Cost: all requests in memory.

use crate::record::Record;

/// Blocks that a trace is cut into where no length is given: enough to differ from each other, and
/// long enough to fill a cache.
const BLOCKS: usize = 32;

/// The requests of a trace, and the state of the draw that makes another trace of them.
pub(super) struct Resampler {
    state: u64,
    block: Option<u64>,
    pool: Vec<Record>,
    /// Where requests begin, and behind the last one the end.
    begins: Vec<usize>,
    /// Requests delivered.
    made: usize,
    clock_ns: u64,
}

impl Resampler {
    pub(super) fn new(seed: u64, block: Option<u64>) -> Resampler {
        Resampler { state: seed, block, pool: Vec::new(), begins: Vec::new(), made: 0, clock_ns: 0 }
    }

    /// Takes requests of the trace, in order.
    pub(super) fn take(&mut self, records: &mut Vec<Record>) {
        for record in records.drain(..) {
            if !record.chain.continues() || self.pool.is_empty() {
                self.begins.push(self.pool.len());
            }
            self.pool.push(record);
        }
    }

    /// The trace is whole.
    pub(super) fn close(&mut self) {
        self.clock_ns = self.pool.first().map_or(0, |first| first.time_ns);
        self.begins.push(self.pool.len());
    }

    /// Fills `out` with the next block; `false` at the end.
    pub(super) fn next(&mut self, out: &mut Vec<Record>) -> bool {
        let requests = self.begins.len() - 1;
        let left = requests - self.made;
        if left == 0 {
            return false;
        }
        let default = requests.div_ceil(BLOCKS);
        let block = self.block.map_or(default, |block| block as usize).min(requests);
        let start = self.below(requests - block + 1);
        let count = block.min(left);
        let mut before = self.begins[start].saturating_sub(1);
        for at in self.begins[start]..self.begins[start + count] {
            // Times may step back where the order is the file's.
            self.clock_ns += self.pool[at].time_ns.saturating_sub(self.pool[before].time_ns);
            out.push(Record { time_ns: self.clock_ns, ..self.pool[at] });
            before = at;
        }
        self.made += count;
        true
    }

    /// A whole number below `n`, by SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) and a product.
    fn below(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((u128::from(z) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ChainMark;

    fn trace(count: u64) -> Vec<Record> {
        let at = |k| Record { time_ns: 100 + k * k, offset_bytes: k, ..Record::EMPTY };
        (0..count).map(at).collect()
    }

    fn resampled(mut records: Vec<Record>, seed: u64, block: Option<u64>) -> Vec<Record> {
        let mut one = Resampler::new(seed, block);
        one.take(&mut records);
        one.close();
        let mut out = Vec::new();
        while one.next(&mut out) {}
        out
    }

    #[test]
    fn blocks_of_the_trace_follow_each_other_with_their_own_gaps() {
        let found = resampled(trace(100), 7, Some(8));
        assert_eq!(found.len(), 100);
        assert_eq!(found, resampled(trace(100), 7, Some(8)), "a seed has one trace");
        assert_ne!(found, resampled(trace(100), 8, Some(8)));
        for (k, pair) in found.windows(2).enumerate() {
            let (a, b) = (pair[0].offset_bytes, pair[1].offset_bytes);
            let joint = (k + 1) % 8 == 0;
            assert!(joint || b == a + 1, "inside a block its order is the trace's");
            let gap = if b == 0 { 0 } else { b * b - (b - 1) * (b - 1) };
            assert_eq!(pair[1].time_ns - pair[0].time_ns, gap);
        }
    }

    #[test]
    fn a_time_that_steps_back_is_no_gap() {
        let mut records = trace(64);
        records[20].time_ns = 3;
        let found = resampled(records, 1, Some(64));
        assert!(found.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
        assert!(found[63].time_ns < 1 << 40);
    }

    #[test]
    fn every_request_is_drawn_about_once() {
        let mut drawn = vec![0u32; 1000];
        for seed in 0..200 {
            for record in resampled(trace(1000), seed, Some(10)) {
                drawn[record.offset_bytes as usize] += 1;
            }
        }
        let inner = &drawn[10..990];
        assert!(inner.iter().all(|&count| (140..270).contains(&count)), "{inner:?}");
    }

    #[test]
    fn a_prompt_stays_whole_and_a_block_is_a_32nd_of_the_trace() {
        let mut records = trace(128);
        for (k, record) in records.iter_mut().enumerate() {
            record.chain = ChainMark::new(16, k % 2 == 0);
        }
        let found = resampled(records, 3, None);
        assert_eq!(found.len(), 128);
        for pair in found.chunks(2) {
            assert!(pair[0].chain.begins() && !pair[1].chain.begins());
            assert_eq!(pair[1].offset_bytes, pair[0].offset_bytes + 1);
        }
        for block in found.chunks(4) {
            assert_eq!(block[3].offset_bytes, block[0].offset_bytes + 3);
        }
    }
}
