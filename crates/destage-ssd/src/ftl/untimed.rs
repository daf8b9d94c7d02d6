//! FTLs without a drive: pages in, counts out, as `docs/spec/ftl.md` has them.

use super::PagesOfBlocks;
use super::blocks::NoFreeBlock;
use super::counters::FtlCounters;
use super::machine::{Flash, Machine, Nothing};
use super::machines::AnyMachine;
use crate::config::{
    ConfigError, FtlConfig, FtlKind, IfAbsent, Key, MOST_PAGES, Reader, Table, Takes, Value,
    keys_of_ftl,
};

const fn param(
    name: &'static str,
    takes: Takes,
    default: IfAbsent,
    unit: &'static str,
    about: &'static str,
) -> Key {
    Key { table: "params", name, takes, default, unit, about }
}

const COUNT: Takes = Takes::Int(1..=MOST_PAGES);

/// What every FTL has where no drive says it (1.6).
static COMMON: [Key; 3] = [
    param("logical_pages", COUNT, IfAbsent::From("none"), "pages", "L"),
    param("pages_per_block", COUNT, IfAbsent::Int(64), "pages", "B"),
    param("prefill", Takes::Bool, IfAbsent::Bool(false), "", "every page is written beforehand"),
];

/// BAST and FAST.
static SPARE: [Key; 1] =
    [param("spare_blocks", COUNT, IfAbsent::Int(1), "blocks", "beside data and log blocks")];

/// page-ideal and DFTL.
static EXTRA: [Key; 2] = [
    param(
        "over_provisioning",
        Takes::Real(0.0..=f64::INFINITY),
        IfAbsent::Real(0.2),
        "",
        "blocks beyond those of the stored pages, as a share of these",
    ),
    param("physical_blocks", COUNT, IfAbsent::From("none"), "blocks", "blocks of the flash"),
];

/// An FTL of `docs/spec/ftl.md` alone, with the parameters of its section.
#[derive(Clone, Debug)]
pub struct Untimed {
    kind: FtlKind,
    machine: AnyMachine,
    logical_pages: u32,
    operations: u64,
    full: Option<DeviceFull>,
}

/// Why an FTL could not go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UntimedError {
    /// A page that is not there.
    #[error(
        "operation {operation}: page {lpn}: expected a page below logical_pages = {logical_pages}"
    )]
    Beyond {
        /// Number of the operation, from 0.
        operation: u64,
        /// The page.
        lpn: u64,
        /// L.
        logical_pages: u32,
    },
    /// No free block.
    #[error(transparent)]
    Full(#[from] DeviceFull),
}

/// A free block is needed, and there is none: the run stops, and its counters are no result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{ftl}: {}: device full: a free block is needed, and none of the {blocks} blocks is free{}",
    when(*operation), remedy(ftl))]
pub struct DeviceFull {
    /// The FTL.
    pub ftl: &'static str,
    /// Number of the host's operation, from 0; `None` while the drive was being filled.
    pub operation: Option<u64>,
    /// Blocks of the flash.
    pub blocks: u32,
}

fn when(operation: Option<u64>) -> String {
    operation.map_or("while it was being filled".into(), |number| format!("operation {number}"))
}

/// One collection of DFTL may take more pages than it frees, if the entries of what it copies lie on
/// as many translation pages: a larger reserve outlasts that.
fn remedy(ftl: &str) -> &'static str {
    if ftl == FtlKind::Dftl.name() {
        " (a larger gc_reserve_blocks, such as 16, leaves it room)"
    } else {
        ""
    }
}

impl Untimed {
    /// The FTL with these parameters, prefilled if they say so.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the parameter, what was expected and what was found.
    pub fn new(kind: FtlKind, params: &Table) -> Result<Self, ConfigError> {
        let own = keys_of_ftl(kind).iter().chain(match kind {
            FtlKind::Bast | FtlKind::Fast => &SPARE[..],
            _ => &EXTRA[..],
        });
        let keys = Reader::of("params", params, COMMON.iter().chain(own));
        if kind == FtlKind::Page {
            let what = "ftl = page is an FTL of a drive: without one there is page-ideal";
            return Err(keys.impossible(what.into()));
        }
        keys.end_of(&format!(": the parameters of {}", kind.name()))?;
        if !keys.given("logical_pages") {
            return Err(keys.impossible("the key logical_pages is missing".into()));
        }
        let pages = PagesOfBlocks {
            logical_pages: keys.int_or("logical_pages", 1, 1)? as u32, // at most MOST_PAGES
            pages_per_block: keys.int("pages_per_block")? as u32,
        };
        let config = FtlConfig::read(kind, &keys)?;
        let blocks = match config {
            FtlConfig::Bast { .. } | FtlConfig::Fast { .. } => {
                config.least_blocks(pages) - 1 + keys.int("spare_blocks")?
            }
            _ => physical_blocks(&config, pages, &keys, params)?,
        };
        let size = u128::from(blocks) * u128::from(pages.pages_per_block);
        if size > MOST_PAGES.into() {
            return Err(keys.impossible(format!(
                "{blocks} blocks of {} pages are more than {MOST_PAGES} pages",
                pages.pages_per_block
            )));
        }
        let machine = AnyMachine::new(&config, pages, blocks as u32);
        let machine = machine.expect("every FTL but page is one of the specification");
        let mut ftl = Untimed {
            kind,
            machine,
            logical_pages: pages.logical_pages,
            operations: 0,
            full: None,
        };
        if keys.bool("prefill")? {
            for lpn in 0..pages.logical_pages {
                ftl.machine
                    .write(lpn, &mut Nothing)
                    .map_err(|NoFreeBlock| keys.impossible(ftl.full(None).to_string()))?;
            }
            ftl.machine.reset(true);
        }
        Ok(ftl)
    }

    /// L.
    pub fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    fn full(&self, operation: Option<u64>) -> DeviceFull {
        DeviceFull { ftl: self.kind.name(), operation, blocks: self.machine.blocks() }
    }

    /// Reads or writes a page; what that does to the flash goes to `flash`.
    ///
    /// # Errors
    ///
    /// [`UntimedError`]; after [`UntimedError::Full`] there is nothing else.
    #[inline]
    pub fn operate<F: Flash>(
        &mut self,
        is_write: bool,
        lpn: u64,
        flash: &mut F,
    ) -> Result<Option<F::Served>, UntimedError> {
        let operation = self.operations;
        let logical_pages = self.logical_pages;
        let page = u32::try_from(lpn).ok().filter(|&page| page < logical_pages);
        let page = page.ok_or(UntimedError::Beyond { operation, lpn, logical_pages })?;
        if let Some(full) = &self.full {
            return Err(full.clone().into()); // it stopped in the middle of something
        }
        self.operations += 1;
        let served = if is_write {
            self.machine.write(page, flash).map(Some)
        } else {
            self.machine.read(page, flash)
        };
        served.map_err(|NoFreeBlock| {
            let full = self.full(Some(operation));
            self.full = Some(full.clone());
            full.into()
        })
    }

    /// The FTL itself.
    pub fn machine(&self) -> &AnyMachine {
        &self.machine
    }

    /// Counts since the prefill.
    pub fn counters(&self) -> FtlCounters {
        self.machine.counters()
    }

    /// The counters that a vector of this FTL lists, in its order.
    pub fn listed_counters(kind: FtlKind) -> &'static [&'static str] {
        match kind {
            FtlKind::Page => &[],
            FtlKind::Bast | FtlKind::Fast => &[
                "host_reads",
                "host_writes",
                "unmapped_reads",
                "flash_reads",
                "flash_programs",
                "erases",
                "switch_merges",
                "partial_merges",
                "full_merges",
                "merge_reads",
                "merge_programs",
                "max_erase_count",
                "free_blocks",
            ],
            FtlKind::PageIdeal => &[
                "host_reads",
                "host_writes",
                "unmapped_reads",
                "flash_reads",
                "flash_programs",
                "erases",
                "gc_runs",
                "gc_copies",
                "max_erase_count",
                "free_blocks",
            ],
            FtlKind::Dftl => &[
                "host_reads",
                "host_writes",
                "unmapped_reads",
                "flash_reads",
                "flash_programs",
                "erases",
                "gc_runs",
                "gc_copies",
                "gc_translation_runs",
                "translation_reads",
                "translation_writes",
                "cmt_hits",
                "cmt_misses",
                "cmt_evictions",
                "cmt_dirty_evictions",
                "lazy_updates",
                "batched_entries",
                "max_erase_count",
                "free_blocks",
            ],
        }
    }
}

/// Those given, else as many as over-provisioning makes.
fn physical_blocks(
    config: &FtlConfig,
    pages: PagesOfBlocks,
    keys: &Reader<'_>,
    params: &Table,
) -> Result<u64, ConfigError> {
    let least = config.least_blocks(pages);
    let stored = config.stored_pages(pages.logical_pages) as f64;
    let share = 1.0 + keys.real("over_provisioning")?;
    match params.get("physical_blocks") {
        None | Some(Value::Null) => {
            let blocks = (stored * share / f64::from(pages.pages_per_block) - 1e-9).ceil();
            // More than there can be stays that: a conversion saturates.
            Ok(least.max(blocks as u64))
        }
        Some(_) => keys.int_or("physical_blocks", least, least),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_device_names_ftl_operation_and_blocks() {
        let full = |operation| DeviceFull { ftl: "dftl", operation, blocks: 11 }.to_string();
        let why = "device full: a free block is needed, and none of the 11 blocks is free (a larger \
                   gc_reserve_blocks, such as 16, leaves it room)";
        assert_eq!(full(Some(3)), format!("dftl: operation 3: {why}"));
        assert_eq!(full(None), format!("dftl: while it was being filled: {why}"));
    }

    #[test]
    fn sizes_that_no_flash_has_are_refused() {
        for (key, value) in [("logical_pages", MOST_PAGES), ("spare_blocks", MOST_PAGES)] {
            let mut params = Table::from([("logical_pages".into(), Value::Int(64))]);
            params.insert(key.into(), Value::Int(value.into()));
            let error = Untimed::new(FtlKind::Bast, &params).expect_err("too large").to_string();
            assert!(error.contains("are more than 4294967294 pages"), "{error}");
        }
        let params = Table::from([
            ("logical_pages".into(), Value::Int(64)),
            ("over_provisioning".into(), Value::Real(1e300)),
        ]);
        let error = Untimed::new(FtlKind::Dftl, &params).expect_err("too large").to_string();
        assert!(error.contains("are more than 4294967294 pages"), "{error}");
    }
}
