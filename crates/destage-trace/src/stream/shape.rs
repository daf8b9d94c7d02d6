//! Options that change a run's records: ticks of a coarse clock spread out, and a slice.

use std::sync::Arc;

use crate::options::{ReaderOptions, Spread};
use crate::record::{Record, RecordOp};

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
    /// Requests delivered so far.
    requests: u64,
    /// The slice has ended: no later record is in it.
    pub(super) closed: bool,
    /// Requests left out.
    pub(super) filtered_out: u64,
}

impl Slice {
    pub(super) fn new(options: &Arc<ReaderOptions>) -> Self {
        let options = Arc::clone(options);
        Slice { options, first_ns: None, requests: 0, closed: false, filtered_out: 0 }
    }

    /// Leaves the selected requests in `out`.
    pub(super) fn apply(&mut self, out: &mut Vec<Record>) {
        let Some(first) = out.first() else { return };
        let first_ns = *self.first_ns.get_or_insert(first.time_ns);
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
        }
        self.filtered_out += (before - out.len()) as u64;
        if let Some(requests) = options.requests {
            let left = requests - self.requests;
            if out.len() as u64 >= left {
                out.truncate(left as usize);
                self.closed = true;
            }
        }
        self.requests += out.len() as u64;
    }
}
