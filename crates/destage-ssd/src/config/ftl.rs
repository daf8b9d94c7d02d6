//! The table `[ftl]`: parameters of an FTL (`docs/spec/ftl.md` 3 to 6).

use super::keys::keys_of_ftl;
use super::table::{Reader, nearest};
use super::words::Word;
use super::{BastVictim, CmtPolicy, ConfigError, FtlKind, Table, Value};
use crate::ftl::PagesOfBlocks;
use serde::{Serialize, Serializer};

/// An FTL with its parameters, defaults filled in.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FtlConfig {
    /// `page`: its parameters are keys of `[device]`.
    Page,
    /// `bast`.
    Bast {
        /// Most log blocks in use, at least 1.
        log_blocks: u32,
        /// Which is merged when all are.
        victim: BastVictim,
    },
    /// `fast`.
    Fast {
        /// Most log blocks in use, the sequential one among them; at least 2.
        log_blocks: u32,
    },
    /// `dftl`.
    Dftl {
        /// C, at least 1.
        cmt_entries: u32,
        /// E, at least 1.
        entries_per_translation_page: u32,
        /// Which entry leaves the cached mapping table.
        cmt_policy: CmtPolicy,
        /// Share of it that is protected, 0 to 1.
        protected_fraction: f64,
        /// A dirty entry takes those of its translation page along.
        batch_update: bool,
        /// Free blocks below which a block is collected; at least 4.
        gc_reserve_blocks: u32,
    },
    /// `page-ideal`.
    PageIdeal {
        /// Free blocks below which a block is collected; at least 2.
        gc_reserve_blocks: u32,
    },
}

impl FtlConfig {
    /// Reads and checks the table.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the key, what was expected and what was found.
    pub fn from_table(kind: FtlKind, table: &Table) -> Result<Self, ConfigError> {
        let keys = Reader::of("ftl", table, keys_of_ftl(kind).iter());
        let whose = match kind {
            FtlKind::Page => ", ftl = page has no parameters".into(),
            _ => format!(": the parameters of ftl = {}", kind.name()),
        };
        keys.end_of(&whose)?;
        FtlConfig::read(kind, &keys)
    }

    /// Reads the parameters of an FTL out of a table that may have more.
    pub(crate) fn read(kind: FtlKind, keys: &Reader<'_>) -> Result<Self, ConfigError> {
        let count = |name| keys.int(name).map(|count| count as u32); // at most MOST_PAGES
        Ok(match kind {
            FtlKind::Page => FtlConfig::Page,
            FtlKind::Bast => {
                FtlConfig::Bast { log_blocks: count("log_blocks")?, victim: keys.word("victim")? }
            }
            FtlKind::Fast => FtlConfig::Fast { log_blocks: count("log_blocks")? },
            FtlKind::Dftl => FtlConfig::Dftl {
                cmt_entries: count("cmt_entries")?,
                entries_per_translation_page: count("entries_per_translation_page")?,
                cmt_policy: keys.word("cmt_policy")?,
                protected_fraction: keys.real("protected_fraction")?,
                batch_update: keys.bool("batch_update")?,
                gc_reserve_blocks: count("gc_reserve_blocks")?,
            },
            FtlKind::PageIdeal => {
                FtlConfig::PageIdeal { gc_reserve_blocks: count("gc_reserve_blocks")? }
            }
        })
    }

    /// The table that [`from_table`](FtlConfig::from_table) reads as this.
    pub fn to_table(&self) -> Table {
        let int = |name: &str, value: u32| (name.into(), Value::Int(value.into()));
        let word = |name: &str, value: &str| (name.into(), Value::Text(value.into()));
        match *self {
            FtlConfig::Page => Table::new(),
            FtlConfig::Bast { log_blocks, victim } => {
                [int("log_blocks", log_blocks), word("victim", victim.name())].into()
            }
            FtlConfig::Fast { log_blocks } => [int("log_blocks", log_blocks)].into(),
            FtlConfig::Dftl {
                cmt_entries,
                entries_per_translation_page,
                cmt_policy,
                protected_fraction,
                batch_update,
                gc_reserve_blocks,
            } => [
                int("cmt_entries", cmt_entries),
                int("entries_per_translation_page", entries_per_translation_page),
                word("cmt_policy", cmt_policy.name()),
                ("protected_fraction".into(), Value::Real(protected_fraction)),
                ("batch_update".into(), Value::Bool(batch_update)),
                int("gc_reserve_blocks", gc_reserve_blocks),
            ]
            .into(),
            FtlConfig::PageIdeal { gc_reserve_blocks } => {
                [int("gc_reserve_blocks", gc_reserve_blocks)].into()
            }
        }
    }

    /// Which FTL it is.
    pub fn kind(&self) -> FtlKind {
        match self {
            FtlConfig::Page => FtlKind::Page,
            FtlConfig::Bast { .. } => FtlKind::Bast,
            FtlConfig::Fast { .. } => FtlKind::Fast,
            FtlConfig::Dftl { .. } => FtlKind::Dftl,
            FtlConfig::PageIdeal { .. } => FtlKind::PageIdeal,
        }
    }

    /// Pages to be stored: the logical ones, and DFTL's translation pages.
    pub fn stored_pages(&self, logical_pages: u32) -> u64 {
        let translation = match *self {
            FtlConfig::Dftl { entries_per_translation_page: entries, .. } => {
                logical_pages.div_ceil(entries)
            }
            _ => 0,
        };
        u64::from(logical_pages) + u64::from(translation)
    }

    /// Fewest blocks that an FTL of `docs/spec/ftl.md` works with: what is stored, and room for
    /// merges or collections. 0 for `page`, which has a rule of its own.
    pub fn least_blocks(&self, pages: PagesOfBlocks) -> u64 {
        let stored = self.stored_pages(pages.logical_pages).div_ceil(pages.pages_per_block.into());
        let room = match *self {
            FtlConfig::Page => return 0,
            FtlConfig::Bast { log_blocks, .. } | FtlConfig::Fast { log_blocks } => {
                u64::from(log_blocks) + 1
            }
            FtlConfig::Dftl { gc_reserve_blocks, .. } => u64::from(gc_reserve_blocks) + 2,
            FtlConfig::PageIdeal { gc_reserve_blocks } => u64::from(gc_reserve_blocks) + 1,
        };
        stored + room
    }

    /// Q of DFTL: most entries of the protected segment.
    pub(crate) fn protected_entries(entries: u32, policy: CmtPolicy, fraction: f64) -> u32 {
        match policy {
            CmtPolicy::Lru => 0,
            CmtPolicy::Slru => (fraction * f64::from(entries) + 1e-9).floor() as u32,
        }
    }
}

impl FtlKind {
    /// The FTL of this name.
    ///
    /// # Errors
    ///
    /// A sentence with the nearest name, and all of them.
    pub fn named(name: &str) -> Result<Self, String> {
        FtlKind::parse(name).ok_or_else(|| {
            let meant = nearest(name, FtlKind::NAMES.iter().copied());
            format!("unknown FTL {name:?}{meant} (known: {})", FtlKind::NAMES.join(", "))
        })
    }
}

/// The name alone: the parameters stand in a table of their own.
impl Serialize for FtlConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.kind().serialize(serializer)
    }
}
