//! The request at which the caches of a comparison are full, known without a run.
//!
//! Until as many distinct pages were accessed as a cache has frames, no policy evicts. A policy
//! with admission control fills its cache later; it is measured from the same request.

use crate::control_commands::ControlKind;
use crate::input::Input;
use destage_trace::Extent;
use serde::{Deserialize, Serialize};

/// The end of the warm-up `auto`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Filled {
    /// Requests (rows of the trace) before measurement.
    pub requests: u64,
    /// Most pages that a cache without a limit has held by then; larger caches are not full.
    pub pages: u64,
}

/// Pages that a cache without a limit holds.
struct UnboundedCache {
    pages: Vec<u64>, // a bit each
    count: u64,
}

impl UnboundedCache {
    fn add(&mut self, id: u32) {
        let (word, bit) = (id as usize / 64, 1 << (id % 64));
        self.count += u64::from(self.pages[word] & bit == 0);
        self.pages[word] |= bit;
    }

    fn drop(&mut self, id: u32) {
        let (word, bit) = (id as usize / 64, 1 << (id % 64));
        self.count -= u64::from(self.pages[word] & bit != 0);
        self.pages[word] &= !bit;
    }
}

impl Filled {
    /// The first request after which the largest cache is full that fills within half of the
    /// requests, of caches with so many frames; no request before `least_requests`.
    ///
    /// Pages that the trace trims leave the cache, if trims are part of the run.
    pub fn of(input: &Input<'_>, drops_trims: bool, frames: &[u32], least_requests: u64) -> Filled {
        let Input { columns, continuations, control_commands, .. } = *input;
        let mut sizes: Vec<u64> = frames.iter().map(|&frames| frames.into()).collect();
        sizes.sort_unstable();
        let mut held = UnboundedCache { pages: vec![0; columns.lpns.len().div_ceil(64)], count: 0 };
        let mut continued = continuations.iter().copied().peekable();
        let trims = if drops_trims { control_commands.list } else { &[] };
        let mut trims = trims.iter().peekable();
        let rows = columns.first_ids.len();
        let least = usize::try_from(least_requests).unwrap_or(rows).min(rows);
        let (mut found, mut most, mut full) = (Filled::default(), 0, 0);
        for (row, (&first, &extent)) in columns.first_ids.iter().zip(columns.extents).enumerate() {
            while let Some(trim) = trims.next_if(|trim| trim.row <= row as u64) {
                if trim.kind() != ControlKind::Flush {
                    let ids = control_commands.ids(trim, columns.lpns);
                    ids.into_iter().flatten().for_each(|id| held.drop(id));
                }
            }
            (first..first + Extent(extent).pages()).for_each(|id| held.add(id));
            most = most.max(held.count);
            let done = row + 1;
            // The request of this row may go on with the next one.
            if continued.next_if_eq(&(done as u64)).is_some() {
                continue;
            }
            let before = full;
            full += sizes[full..].iter().take_while(|&&frames| frames <= most).count();
            let is_late = done >= least && found.requests < least_requests.min(rows as u64);
            if (full > before && done <= rows / 2) || is_late {
                found = Filled { requests: done as u64, pages: most };
            }
            if done >= least && (full == sizes.len() || done >= rows / 2) {
                break;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accesses::Columns;
    use crate::control_commands::{ControlCommand, ControlCommands};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const PAGE: u64 = 4096;

    /// Request by request, with a set: (first page, pages) accessed, or trimmed before the request.
    fn counted(requests: &[(u32, u32)], trims: &[(usize, u64, u64)], sizes: &[u32]) -> (u64, u64) {
        let (mut held, mut most, mut found) = (BTreeSet::new(), 0, (0, 0));
        let mut left: BTreeSet<u32> = sizes.iter().copied().collect();
        for (k, &(first, pages)) in requests.iter().enumerate().take(requests.len() / 2) {
            for &(_, first, pages) in trims.iter().filter(|trim| trim.0 == k) {
                held.retain(|&page| !(first..first + pages).contains(&u64::from(page)));
            }
            held.extend(first..first + pages);
            most = most.max(held.len());
            let full: Vec<u32> = left.iter().copied().filter(|&s| s as usize <= most).collect();
            if !full.is_empty() {
                found = (k as u64 + 1, most as u64);
            }
            full.iter().for_each(|size| assert!(left.remove(size)));
        }
        found
    }

    proptest! {
        #[test]
        fn a_naive_count_finds_the_same_request(
            requests in prop::collection::vec((0u32..60, 1u32..5), 0..300),
            mut trims in prop::collection::vec((0usize..300, 0u64..64, 0u64..9), 0..40),
            sizes in prop::collection::vec(1u32..70, 1..6),
            drops_trims in any::<bool>(),
        ) {
            trims.sort_unstable_by_key(|trim| trim.0);
            let trim = |&(row, first, pages): &(usize, u64, u64)| {
                ControlCommand::new(ControlKind::Trim, row as u64, 0, 0)
                    .over(first * PAGE, pages * PAGE, PAGE)
            };
            let list: Vec<ControlCommand> = trims.iter().map(trim).collect();
            let first_ids: Vec<u32> = requests.iter().map(|r| r.0).collect();
            let extents: Vec<u32> =
                requests.iter().map(|r| Extent::new(r.1, true, false, false).0).collect();
            let lpns: Vec<u64> = (0..64).collect();
            let columns = Columns { first_ids: &first_ids, extents: &extents, lpns: &lpns };
            let control_commands = ControlCommands { list: &list, logical_pages: None };
            let input = Input { control_commands, ..Input::of(columns) };
            let found = Filled::of(&input, drops_trims, &sizes, 0);
            let expected = counted(&requests, if drops_trims { &trims } else { &[] }, &sizes);
            prop_assert_eq!((found.requests, found.pages), expected);
            // Of several traces or devices the latest request holds for all.
            let later = Filled::of(&input, drops_trims, &sizes, found.requests + 1);
            prop_assert_eq!(later.requests, (found.requests + 1).min(requests.len() as u64));
        }
    }

    #[test]
    fn a_request_in_two_rows_is_not_cut() {
        let extents = [Extent::new(2, true, false, false).0; 6];
        let lpns: Vec<u64> = (0..20).collect();
        let columns = Columns { first_ids: &[0, 2, 4, 6, 8, 10], extents: &extents, lpns: &lpns };
        let whole = Input::of(columns);
        let split = Input { continuations: &[2], ..whole };
        assert_eq!(Filled::of(&whole, false, &[4], 0), Filled { requests: 2, pages: 4 });
        assert_eq!(Filled::of(&split, false, &[4], 0), Filled { requests: 3, pages: 6 });
        assert_eq!(Filled::of(&whole, false, &[8], 0), Filled::default(), "past the half");
    }
}
