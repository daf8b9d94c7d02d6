//! Requests of a vector, as columns: the same form that a decoded trace has.

use crate::accesses::{Columns, Extent};
use crate::asides::Asides;
use crate::error::RunError;
use crate::input::Input;
use crate::input::NextUses;
use destage_core::{Nanos, Op, Page};
use destage_ssd::DeviceConfig;
use destage_ssd::config::AddressMode;

/// Requests on a drive: page numbers brought into `0..L` and numbered by rank, so that policies
/// run over dense ids. A request that wraps at the end of the drive has several rows.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    first_ids: Vec<u32>,
    extents: Vec<u32>,
    arrivals_ns: Vec<Nanos>,
    continuations: Vec<u64>,
    lpns: Vec<u64>,      // LPN of each page, ascending
    next_uses: Vec<u64>, // of each access
}

impl Workload {
    /// From (arrival, operation, byte offset, length in bytes); arrivals do not decrease.
    ///
    /// # Errors
    ///
    /// [`RunError::Impossible`] for a page beyond the drive with `address_mode = error`, or an
    /// arrival before the previous one.
    pub fn new(
        requests: impl IntoIterator<Item = (Nanos, Op, u64, u64)>,
        device: &DeviceConfig,
    ) -> Result<Self, RunError> {
        let page = u64::from(device.page_bytes);
        let logical = u64::from(device.logical_pages);
        let mut workload = Workload::default();
        let mut pieces: Vec<(u64, u64)> = Vec::new(); // first page and number of pages of each row
        let mut previous = 0;
        for (number, (arrival_ns, op, offset, length)) in requests.into_iter().enumerate() {
            let impossible = |what| Err(RunError::Impossible(format!("request {number}: {what}")));
            if arrival_ns < previous {
                return impossible(format!("it arrives at {arrival_ns} ns, after {previous} ns"));
            }
            previous = arrival_ns;
            let first = offset / page;
            let mut left = match length {
                0 => 0,
                _ => offset.saturating_add(length - 1) / page - first + 1,
            };
            if left > 0 && first + left > logical && device.address_mode == AddressMode::Error {
                return impossible(format!(
                    "page {} is beyond the drive, which has {logical} pages \
                     (address_mode = error)",
                    first + left - 1
                ));
            }
            let mut at = first % logical;
            loop {
                let pages = left.min(logical - at).min(Extent::MAX_PAGES.into());
                pieces.push((at, pages));
                workload.extents.push(Extent::new(pages as u32, op.is_write(), false, false).0);
                at = (at + pages) % logical;
                left -= pages;
                workload.arrivals_ns.push(arrival_ns);
                if left == 0 {
                    break;
                }
                workload.continuations.push(pieces.len() as u64);
            }
        }
        let pages = |&(first, pages): &(u64, u64)| first..first + pages;
        workload.lpns = pieces.iter().flat_map(pages).collect();
        workload.lpns.sort_unstable();
        workload.lpns.dedup();
        let rank = |&(first, _): &(u64, u64)| {
            workload.lpns.partition_point(|&lpn| lpn < first) as u32 // fewer than 2^32 pages
        };
        workload.first_ids = pieces.iter().map(rank).collect();
        workload.next_uses = next_uses(&workload);
        Ok(workload)
    }

    /// As the engine takes it.
    pub fn input(&self) -> Input<'_> {
        Input {
            columns: Columns {
                first_ids: &self.first_ids,
                extents: &self.extents,
                lpns: &self.lpns,
            },
            next_uses: NextUses::Long(&self.next_uses),
            arrivals_ns: &self.arrivals_ns,
            continuations: &self.continuations,
            asides: Asides::NONE,
        }
    }

    /// Distinct pages: what the policy's directory is made for.
    pub fn pages(&self) -> u32 {
        self.lpns.len() as u32
    }

    /// Page accesses.
    pub fn accesses(&self) -> usize {
        self.next_uses.len()
    }

    /// Requests.
    pub fn requests(&self) -> usize {
        self.extents.len() - self.continuations.len()
    }

    /// LPN of a page.
    pub fn lpn(&self, page: Page) -> u64 {
        self.lpns[page.0 as usize]
    }
}

/// Number of the next access to the same page, for each access; `NEVER` if there is none.
fn next_uses(workload: &Workload) -> Vec<u64> {
    let rows = workload.first_ids.iter().zip(&workload.extents);
    let ids = rows.flat_map(|(&first, &extent)| first..first + Extent(extent).pages());
    let ids: Vec<u32> = ids.collect();
    let mut next = vec![destage_core::NEVER; workload.lpns.len()];
    let mut uses = vec![destage_core::NEVER; ids.len()];
    for (k, &id) in ids.iter().enumerate().rev() {
        uses[k] = std::mem::replace(&mut next[id as usize], k as u64);
    }
    uses
}
