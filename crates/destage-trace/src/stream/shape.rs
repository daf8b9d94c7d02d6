//! Options that change a run's records: ticks of a coarse clock spread out, and a slice.

use std::sync::Arc;

use crate::options::{ReaderOptions, Spread};
use crate::record::{ChainMark, Record, RecordOp};

/// Spaces the requests of each tick of a coarse clock evenly.
pub(super) struct Spreader {
    tick_ns: u64,
    /// Records of the current tick, held until it is whole.
    tick: Vec<Record>,
}

impl Spreader {
    /// As the options say, for a clock of this tick; a warning where they cannot be followed.
    pub(super) fn new(
        options: &ReaderOptions,
        coarse_ns: Option<u64>,
    ) -> Result<Option<Self>, &'static str> {
        match (options.spread, coarse_ns) {
            (Some(Spread::Uniform), Some(tick_ns)) => {
                Ok(Some(Spreader { tick_ns, tick: Vec::new() }))
            }
            (Some(Spread::Uniform), None) => {
                Err("spread = \"uniform\" has no effect: the clock is not coarse")
            }
            _ => Ok(None),
        }
    }

    /// Spreads the ticks that are whole; the last one waits for the rest of it while there is more.
    pub(super) fn apply(&mut self, out: &mut Vec<Record>, more: bool) {
        self.tick.append(out);
        let open = match self.tick.last() {
            Some(last) if more => self.tick.partition_point(|r| r.time_ns < last.time_ns),
            _ => self.tick.len(),
        };
        out.extend(self.tick.drain(..open));
        for group in out.chunk_by_mut(|a, b| a.time_ns == b.time_ns) {
            let count = group.len() as u128;
            for (i, record) in group.iter_mut().enumerate() {
                record.time_ns += (u128::from(self.tick_ns) * i as u128 / count) as u64;
            }
        }
    }
}

/// Applies `from`, `for`, `ops`, `offset_from`, `offset_to` and `requests`.
pub(super) struct Slice {
    options: Arc<ReaderOptions>,
    first_ns: Option<u64>,
    last_ns: u64,
    /// Requests counted so far, where their number is limited.
    requests: u64,
    /// The slice has ended: no later record is in it.
    pub(super) closed: bool,
    /// Requests left out.
    pub(super) filtered_out: u64,
}

impl Slice {
    pub(super) fn new(options: &Arc<ReaderOptions>) -> Self {
        let options = Arc::clone(options);
        Slice { options, first_ns: None, last_ns: 0, requests: 0, closed: false, filtered_out: 0 }
    }

    /// Leaves the selected requests in `out`.
    pub(super) fn apply(&mut self, out: &mut Vec<Record>) {
        let Some(first) = out.first() else { return };
        let first_ns = *self.first_ns.get_or_insert(first.time_ns);
        self.last_ns = out.last().map_or(first_ns, |last| last.time_ns);
        let options = &*self.options;
        let before = out.len();
        if options.from_ns.is_some() || options.for_ns.is_some() {
            let from = first_ns.saturating_add(options.from_ns.unwrap_or(0));
            let to = options.for_ns.map_or(u64::MAX, |length| from.saturating_add(length));
            self.closed |= out.last().is_some_and(|r| r.time_ns >= to) && options.for_ns.is_some();
            out.retain(|r| r.time_ns >= from && (r.time_ns < to || options.for_ns.is_none()));
        }
        if !options.ops.is_empty() {
            out.retain(|r| options.ops.contains(&r.op));
        }
        if options.offset_from.is_some() || options.offset_to.is_some() {
            let (from, to) =
                (options.offset_from.unwrap_or(0), options.offset_to.unwrap_or(u64::MAX));
            out.retain(|r| {
                r.op == RecordOp::Flush
                    || r.offset_bytes < to && r.offset_bytes + r.length_bytes > from
            });
            // Some blocks of a prompt are no prompt.
            out.iter_mut().for_each(|record| record.chain = ChainMark::NONE);
        }
        self.filtered_out += (before - out.len()) as u64;
        if let Some(most) = options.requests {
            self.limit(most, out);
        }
    }

    /// Length of the trace, if the slice begins after its end.
    pub(super) fn too_late(&self) -> Option<u64> {
        let length = self.last_ns.saturating_sub(self.first_ns?);
        self.options.from_ns.filter(|&from| from > length).map(|_| length)
    }

    /// Ends the slice behind this many requests. A prompt is one, whatever its blocks.
    fn limit(&mut self, most: u64, out: &mut Vec<Record>) {
        let end = out.iter().position(|record| {
            self.requests += u64::from(!record.chain.continues());
            self.requests > most
        });
        if let Some(end) = end {
            out.truncate(end);
        }
        let is_whole = out.last().is_none_or(|last| last.chain == ChainMark::NONE);
        self.closed |= end.is_some() || is_whole && self.requests == most;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_chosen_by_address_are_of_no_prompt() {
        let options = ReaderOptions { offset_to: Some(8), ..ReaderOptions::default() };
        let block = |k: u64| Record { offset_bytes: 4 * k, length_bytes: 4, ..Record::EMPTY };
        let chain = |k: u64| Record { chain: ChainMark::new(16, k == 0), ..block(k) };
        let mut out: Vec<Record> = (0..3).map(chain).collect();
        Slice::new(&Arc::new(options)).apply(&mut out);
        assert_eq!(out, [block(0), block(1)]);
    }

    fn cut(most: u64, batches: &[&[ChainMark]]) -> Vec<usize> {
        let options = ReaderOptions { requests: Some(most), ..ReaderOptions::default() };
        let mut slice = Slice::new(&Arc::new(options));
        let left = |batch: &&[ChainMark]| {
            let record = |&chain| Record { chain, length_bytes: 1, ..Record::EMPTY };
            let mut out: Vec<Record> = batch.iter().map(record).collect();
            if slice.closed {
                return 0;
            }
            slice.apply(&mut out);
            out.len()
        };
        batches.iter().map(left).collect()
    }

    #[test]
    fn requests_are_counted_and_prompts_stay_whole() {
        let (one, head, next) =
            (ChainMark::NONE, ChainMark::new(16, true), ChainMark::new(16, false));
        assert_eq!(cut(0, &[&[one]]), [0]);
        assert_eq!(cut(3, &[&[one, one], &[one, one], &[one]]), [2, 1, 0]);
        assert_eq!(cut(2, &[&[one, one], &[one]]), [2, 0]);
        assert_eq!(cut(1, &[&[head, next], &[next, head, next]]), [2, 1]);
        assert_eq!(cut(2, &[&[head, next, head], &[next], &[head, next]]), [3, 1, 0]);
    }
}
