//! Requests of a vector, as columns: the same form that a decoded trace has.

use crate::accesses::{Columns, Extent};
use crate::control_commands::{ControlCommand, ControlCommands, ControlKind};
use crate::error::RunError;
use crate::input::Input;
use crate::input::NextUses;
use destage_core::{Nanos, Op, Page};
use destage_ssd::DeviceConfig;
use destage_ssd::config::AddressMode;

/// Kind of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// To read or write.
    Access(Op),
    /// To drop the pages that lie wholly inside.
    Trim,
    /// That what has been written is programmed.
    Flush,
}

impl From<Op> for Ask {
    fn from(op: Op) -> Ask {
        Ask::Access(op)
    }
}

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
    bytes: Vec<u64>,     // of the request of each row
    control_commands: Vec<ControlCommand>,
    logical_pages: u64,
}

impl Workload {
    /// From (arrival, what is asked for, byte offset, length in bytes); arrivals do not decrease.
    ///
    /// # Errors
    ///
    /// [`RunError::Impossible`] for a page beyond the drive with `address_mode = error`, or an
    /// arrival before the previous one.
    pub fn new<A: Into<Ask>>(
        requests: impl IntoIterator<Item = (Nanos, A, u64, u64)>,
        device: &DeviceConfig,
    ) -> Result<Self, RunError> {
        let page = u64::from(device.page_bytes);
        let logical = u64::from(device.logical_pages);
        let mut workload = Workload { logical_pages: logical, ..Workload::default() };
        let mut pieces: Vec<(u64, u64)> = Vec::new(); // first page and number of pages of each row
        let mut previous = 0;
        for (number, (arrival_ns, ask, offset, length)) in requests.into_iter().enumerate() {
            let impossible = |what| Err(RunError::Impossible(format!("request {number}: {what}")));
            if arrival_ns < previous {
                return impossible(format!("it arrives at {arrival_ns} ns, after {previous} ns"));
            }
            previous = arrival_ns;
            let ask = ask.into();
            let first = offset / page;
            let left = match length {
                0 => 0,
                _ => offset.saturating_add(length - 1) / page - first + 1,
            };
            let beyond = left > 0 && first + left > logical && ask != Ask::Flush;
            if beyond && device.address_mode == AddressMode::Error {
                return impossible(format!(
                    "page {} is beyond the device, which has {logical} pages \
                     (address_mode = error)",
                    first + left - 1
                ));
            }
            let kind = match ask {
                Ask::Access(op) => {
                    let rows = (first % logical, left, length);
                    workload.take_rows(arrival_ns, op, rows, &mut pieces);
                    continue;
                }
                Ask::Flush => ControlKind::Flush,
                Ask::Trim if length == 0 => ControlKind::Empty,
                Ask::Trim => ControlKind::Trim,
            };
            let control_command = ControlCommand::new(kind, pieces.len() as u64, arrival_ns, 0);
            let covers = if kind == ControlKind::Trim { length } else { 0 };
            workload.control_commands.push(control_command.over(offset, covers, page));
        }
        let pages = |&(first, pages): &(u64, u64)| first..first + pages;
        workload.lpns = pieces.iter().flat_map(pages).collect();
        workload.lpns.sort_unstable();
        workload.lpns.dedup();
        let rank = |&(first, _): &(u64, u64)| {
            workload.lpns.partition_point(|&lpn| lpn < first) as u32 // fewer than 2^32 pages
        };
        workload.first_ids = pieces.iter().map(rank).collect();
        workload.next_uses = next_uses(&workload, &[]);
        Ok(workload)
    }

    /// The workload of a run that drops what is trimmed: a page has no next use beyond its trim.
    #[must_use]
    pub fn dropping_trims(self) -> Self {
        let next_uses = next_uses(&self, &self.control_commands);
        Workload { next_uses, ..self }
    }

    /// The rows of an access: its first page, how many, and its length in bytes.
    fn take_rows(
        &mut self,
        arrival_ns: Nanos,
        op: Op,
        (mut at, mut left, bytes): (u64, u64, u64),
        pieces: &mut Vec<(u64, u64)>,
    ) {
        loop {
            let pages = left.min(self.logical_pages - at).min(Extent::MAX_PAGES.into());
            pieces.push((at, pages));
            self.extents.push(Extent::new(pages as u32, op.is_write(), false, false).0);
            self.arrivals_ns.push(arrival_ns);
            self.bytes.push(bytes);
            at = (at + pages) % self.logical_pages;
            left -= pages;
            if left == 0 {
                break;
            }
            self.continuations.push(pieces.len() as u64);
        }
    }

    /// The workload as input of a run.
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
            request_bytes: &self.bytes,
            chains: &[],
            control_commands: ControlCommands {
                list: &self.control_commands,
                logical_pages: Some(self.logical_pages),
            },
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

    /// Requests, but for trims and flushes.
    pub fn requests(&self) -> usize {
        self.extents.len() - self.continuations.len()
    }

    /// Trims and flushes.
    pub fn control_commands(&self) -> &[ControlCommand] {
        &self.control_commands
    }

    /// LPN of a page.
    pub fn lpn(&self, page: Page) -> u64 {
        self.lpns[page.0 as usize]
    }
}

/// Number of the next access to the same page, for each access; `NEVER` if there is none, or if a
/// trim among these comes first.
fn next_uses(workload: &Workload, trims: &[ControlCommand]) -> Vec<u64> {
    let control_commands =
        ControlCommands { list: trims, logical_pages: Some(workload.logical_pages) };
    let rows = workload.first_ids.iter().zip(&workload.extents).enumerate();
    let pages = |extent: u32| Extent(extent).pages() as usize;
    let accesses: usize = workload.extents.iter().map(|&extent| pages(extent)).sum();
    let mut next = vec![destage_core::NEVER; workload.lpns.len()];
    let mut uses = vec![destage_core::NEVER; accesses];
    let (mut trims, mut access) = (trims, uses.len());
    for (row, (&first, &extent)) in rows.rev() {
        // Those that come after this row, and before the one that was done last.
        while let Some((trim, before)) =
            trims.split_last().filter(|(trim, _)| trim.row > row as u64)
        {
            for ids in control_commands.ids(trim, &workload.lpns) {
                next[ids.start as usize..ids.end as usize].fill(destage_core::NEVER);
            }
            trims = before;
        }
        for id in (first..first + Extent(extent).pages()).rev() {
            access -= 1;
            uses[access] = std::mem::replace(&mut next[id as usize], access as u64);
        }
    }
    uses
}
