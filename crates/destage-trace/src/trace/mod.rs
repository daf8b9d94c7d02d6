//! A decoded trace: columns of requests over dense page ids, mapped into memory.

pub mod next_use;
pub(crate) mod open;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::cache::file_name;
use crate::cache::store::NextUsePlace;
use crate::columns::{ColumnKind, Columns, meta::TraceMeta};
use crate::error::{Location, Result, TraceError};
use crate::hooks::{Hooks, NoHooks};
use crate::record::{ChainMark, ControlCommand};
use crate::trace::next_use::{NextUse, Rows, Trims};
use destage_keys::printable;

/// A decoded trace. Shared between threads behind an [`Arc`]; the columns are mapped, so it costs
/// memory only where it is read.
///
/// Rows are in the order of the run. Accesses are the pages of the rows, in order, counted from 0.
pub struct Trace {
    columns: Columns,
    meta: TraceMeta,
    /// Place of the next uses in the cache; `None` for a trace outside the cache.
    place: Option<NextUsePlace>,
    next_use: Mutex<Option<Arc<NextUse>>>,
    trimmed_use: Mutex<Option<Arc<NextUse>>>,
    from_cache: bool,
}

/// End of a file's path in the name that messages have for it, or for a
/// member of it: `folder/file!member`.
fn end_of_file(name: &str, base: &str) -> Option<usize> {
    let starts = name.match_indices(base).map(|(start, _)| start);
    let whole = |start: usize| start == 0 || name[..start].ends_with(['/', '\\']);
    let ends = starts.filter(|start| whole(*start)).map(|start| start + base.len());
    ends.filter(|end| name[*end..].is_empty() || name[*end..].starts_with('!')).last()
}

impl Trace {
    /// `None` if the file has not what a trace has (which its checksums make a stale layout).
    pub(crate) fn new(
        columns: Columns,
        place: Option<NextUsePlace>,
        from_cache: bool,
    ) -> Option<Self> {
        let meta: TraceMeta = serde_json::from_slice(columns.bytes(ColumnKind::Meta)?).ok()?;
        let rows = meta.counts.rows;
        let long = |kind, width: u64, rows: u64| {
            columns.bytes(kind).unwrap_or(&[]).len() as u64 == rows * width
        };
        let whole = long(ColumnKind::FirstIds, 4, rows)
            && long(ColumnKind::PagesOps, 4, rows)
            && long(ColumnKind::Arrivals, 8, rows)
            && long(ColumnKind::Lpns, 8, meta.counts.unique_pages)
            && (columns.bytes(ColumnKind::Responses).is_none()
                || long(ColumnKind::Responses, 8, rows))
            && (columns.bytes(ColumnKind::Chains).is_none() || long(ColumnKind::Chains, 2, rows))
            && long(
                ColumnKind::ControlCommands,
                size_of::<ControlCommand>() as u64,
                meta.counts.trims + meta.counts.flushes,
            );
        let (next_use, trimmed_use) = (Mutex::new(None), Mutex::new(None));
        whole.then_some(Trace { columns, meta, place, next_use, trimmed_use, from_cache })
    }

    /// Gives the files that were read the names by which they are opened now: a decoded trace is
    /// kept under what its files hold, and knows the first decoder.
    pub(crate) fn called(&mut self, files: &[PathBuf]) {
        let Some(read) = self.meta.summary.get_mut("files").and_then(Value::as_array_mut) else {
            return;
        };
        let mut left: Vec<_> = files.iter().map(|f| (file_name(f), Some(f))).collect();
        for file in read {
            let Some(Value::String(name)) = file.get_mut("name") else { continue };
            // The key holds the names without their folders: those are the same.
            let found = left.iter_mut().find(|(base, path)| {
                path.is_some() && end_of_file(name, base).is_some_and(|end| end == name.len())
            });
            if let Some((_, path)) = found {
                let path = path.take().expect("it was looked at just now");
                *name = printable(path.as_os_str().as_encoded_bytes());
                continue;
            }
            // Members of an archive have its name before theirs.
            let within = files.iter().find_map(|f| Some((f, end_of_file(name, &file_name(f))?)));
            if let Some((path, end)) = within {
                *name = printable(path.as_os_str().as_encoded_bytes()) + &name[end..];
            }
        }
    }

    /// Counts, devices, sizes, sources, fingerprint.
    pub fn meta(&self) -> &TraceMeta {
        &self.meta
    }

    /// Number of different pages; ids are `0..pages()`.
    pub fn pages(&self) -> u32 {
        self.meta.counts.unique_pages as u32
    }

    /// Read and write requests.
    pub fn requests(&self) -> u64 {
        self.meta.counts.requests
    }

    /// Rows of the columns. One for each request; more than that only if a request was cut
    /// ([`continuations`](Self::continuations)).
    pub fn rows(&self) -> u64 {
        self.meta.counts.rows
    }

    /// Page accesses: the pages of all rows.
    pub fn accesses(&self) -> u64 {
        self.meta.counts.accesses
    }

    /// Page size, bytes.
    pub fn page_bytes(&self) -> u64 {
        self.meta.page_bytes
    }

    /// Dense id of each row's first page; the ids of its other pages follow.
    pub fn first_ids(&self) -> &[u32] {
        self.columns.column(ColumnKind::FirstIds)
    }

    /// [`Extent`](crate::Extent) of each row.
    pub fn pages_ops(&self) -> &[u32] {
        self.columns.column(ColumnKind::PagesOps)
    }

    /// Arrival of each row, ns after the origin; not decreasing. All 0 in a trace without times.
    pub fn arrivals_ns(&self) -> &[u64] {
        self.columns.column(ColumnKind::Arrivals)
    }

    /// Measured response of each row, ns, [`NO_RESPONSE`](crate::NO_RESPONSE) where it is unknown;
    /// `None` if the format has none. For comparison only.
    pub fn responses_ns(&self) -> Option<&[u64]> {
        self.columns.bytes(ColumnKind::Responses)?;
        Some(self.columns.column(ColumnKind::Responses))
    }

    /// Place of each row in the chain of blocks of its request; empty in a trace without chains.
    pub fn chains(&self) -> &[ChainMark] {
        self.columns.column(ColumnKind::Chains)
    }

    /// Logical page number of each dense id, in the run's one address space; ascending.
    pub fn lpns(&self) -> &[u64] {
        self.columns.column(ColumnKind::Lpns)
    }

    /// Rows that go on with the request of the row before them, ascending. Empty unless wrapping
    /// cut a request at the end of the drive, or one has more pages than a row holds
    /// ([`Extent::MAX_PAGES`](crate::Extent::MAX_PAGES)).
    pub fn continuations(&self) -> &[u64] {
        self.columns.column(ColumnKind::Continuations)
    }

    /// Trims and flushes, in the order of the run: each comes before the row that it names. No
    /// access of them, and no page of theirs that no row accesses, has an id.
    pub fn control_commands(&self) -> &[ControlCommand] {
        self.columns.column(ColumnKind::ControlCommands)
    }

    /// Whether it came from the cache, decoded by an earlier run.
    pub fn from_cache(&self) -> bool {
        self.from_cache
    }

    /// Whether the file of the columns is as it was when it was opened, as far as is known
    /// without reading it: to be asked before long work.
    ///
    /// # Errors
    ///
    /// `Data` if it was cut.
    pub fn check_whole(&self) -> Result<()> {
        if self.columns.is_whole() {
            return Ok(());
        }
        let names: Vec<&str> = self.meta.sources.iter().map(|s| s.name.as_str()).collect();
        Err(TraceError::data(
            names.join(", "),
            Location::File,
            "the decoded trace in the cache was cut while it was open",
        )
        .with_hint("open the trace again: it is decoded again"))
    }

    /// Length of the decoded file, bytes.
    pub fn file_bytes(&self) -> u64 {
        self.columns.file_bytes()
    }

    /// Next use of every access: made at the first call, or mapped from the cache.
    ///
    /// # Errors
    ///
    /// `Write` if neither the cache nor a temporary file can be written.
    pub fn next_uses(&self) -> Result<Arc<NextUse>> {
        self.next_uses_with(&mut NoHooks)
    }

    /// As [`next_uses`](Self::next_uses), with progress and interruption.
    ///
    /// # Errors
    ///
    /// Errors of [`next_uses`](Self::next_uses), and `Interrupted`.
    pub fn next_uses_with(&self, hooks: &mut dyn Hooks) -> Result<Arc<NextUse>> {
        self.made(&self.next_use, Trims::default(), self.place.as_ref(), hooks)
    }

    /// Next uses of a run in which pages are trimmed: what is trimmed before its next access has
    /// none. Without a trim those of every run; not kept in the cache otherwise.
    ///
    /// # Errors
    ///
    /// Errors of [`next_uses_with`](Self::next_uses_with).
    pub fn next_uses_trimmed_with(&self, hooks: &mut dyn Hooks) -> Result<Arc<NextUse>> {
        if self.meta.counts.trims == 0 {
            return self.next_uses_with(hooks);
        }
        let logical_pages = self.meta.wrap.as_ref().map(|wrap| wrap.logical_pages);
        let trims =
            Trims { control_commands: self.control_commands(), lpns: self.lpns(), logical_pages };
        self.made(&self.trimmed_use, trims, None, hooks)
    }

    fn made(
        &self,
        kept: &Mutex<Option<Arc<NextUse>>>,
        trims: Trims<'_>,
        place: Option<&NextUsePlace>,
        hooks: &mut dyn Hooks,
    ) -> Result<Arc<NextUse>> {
        let mut kept = kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(next_use) = &*kept {
            return Ok(next_use.clone());
        }
        self.check_whole()?;
        let rows = Rows {
            first_ids: self.first_ids(),
            pages_ops: self.pages_ops(),
            pages: self.pages(),
            accesses: self.accesses(),
            fingerprint: &self.meta.fingerprint,
            trims,
        };
        let made = Arc::new(NextUse::of(&rows, place, hooks)?);
        *kept = Some(made.clone());
        Ok(made)
    }
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = &self.meta.counts;
        f.debug_struct("Trace")
            .field("fingerprint", &self.meta.fingerprint)
            .field("requests", &counts.requests)
            .field("accesses", &counts.accesses)
            .field("pages", &counts.unique_pages)
            .finish_non_exhaustive()
    }
}
