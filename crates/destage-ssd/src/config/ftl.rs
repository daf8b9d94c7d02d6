//! Catalogue entry of an FTL, and a chosen FTL with its parameters.

use super::table::{ConfigError, Reader, Table};
use destage_keys::{AsValue, Key};
use serde::{Serialize, Serializer};

/// How many logical pages there are, and how long a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PagesOfBlocks {
    /// L, at least 1.
    pub logical_pages: u32,
    /// B, at least 1.
    pub pages_per_block: u32,
}

impl PagesOfBlocks {
    /// Logical blocks; the last one may be short.
    pub fn logical_blocks(self) -> u32 {
        self.logical_pages.div_ceil(self.pages_per_block)
    }
}

/// All that is known of an FTL before it is built. It stands beside the FTL.
#[derive(Debug)]
pub struct Info {
    /// Name of the FTL, the value of `[device] ftl`.
    pub name: &'static str,
    /// Full name, for headings.
    pub title: &'static str,
    /// Source: authors, venue and year, or the specification.
    pub source: &'static str,
    /// Description in a few sentences.
    pub about: &'static str,
    /// Keys of `[ftl]`: numbers, truth values and words.
    pub keys: &'static [Key],
    /// Keys of `[device]` that say how it works. They have no effect with an FTL that does not list
    /// them (`docs/spec/device.md` 12).
    pub device_keys: &'static [&'static str],
    /// Counters beside [`Common`](crate::ftl::Common), in the order of a result.
    pub counters: &'static [&'static [Counter]],
    /// Advice for a flash without a free block, in brackets after a space; empty if there is none.
    pub remedy: &'static str,
    /// Requirements of an FTL over one row of blocks; `None` if the FTL addresses planes.
    pub row: Option<Row>,
}

/// A counter of an FTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Name of the counter in results.
    pub name: &'static str,
    /// Doc comment of the counter's field.
    pub(crate) doc: &'static str,
    /// Count or gauge.
    pub sort: Sort,
    /// It is one of `docs/spec/ftl.md` 1.4, which vectors list.
    pub listed: bool,
}

impl Counter {
    /// One-sentence definition of the counter.
    pub fn about(&self) -> &'static str {
        self.doc.trim()
    }
}

/// Type of a counter: a growing count, or a gauge of the flash's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// Grows with the run; a part of a run has the difference.
    Count,
    /// Current state of the flash; never subtracted.
    State,
}

/// Requirements of an FTL over one row of blocks (`docs/spec/ftl.md`) on that row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Pages to be stored of so many logical ones: these, and a map if it lies on flash.
    pub stored_pages: fn(&FtlConfig, u32) -> u64,
    /// Fewest blocks that it works with beside those of the stored pages: room for merges or
    /// collections.
    pub least_beside: fn(&FtlConfig) -> u64,
    /// How it is sized where no drive says it.
    pub alone: &'static Alone,
}

/// Sizes of an FTL without a drive (`docs/spec/ftl.md` 2 and 5).
#[derive(Debug)]
pub struct Alone {
    /// Parameters beside those of `[ftl]`.
    pub keys: &'static [Key],
    /// Blocks of the flash.
    pub(crate) blocks: fn(&FtlConfig, PagesOfBlocks, &Reader<'_>) -> Result<u64, ConfigError>,
}

/// An FTL with its parameters, defaults filled in.
#[derive(Clone, Debug)]
pub struct FtlConfig {
    info: &'static Info,
    values: Table,
}

impl FtlConfig {
    /// Reads and checks the table `[ftl]`.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the key, what was expected and what was found.
    pub fn from_table(info: &'static Info, table: &Table) -> Result<Self, ConfigError> {
        let keys = Reader::of("ftl", table, info.keys.iter());
        let name = info.name;
        keys.end_of(&match info.keys {
            [] => format!(", ftl = {name} has no parameters"),
            _ => format!(": the parameters of ftl = {name}"),
        })?;
        FtlConfig::read(info, &keys)
    }

    /// Reads the parameters out of a table that may have more.
    pub(crate) fn read(info: &'static Info, keys: &Reader<'_>) -> Result<Self, ConfigError> {
        let value = |key: &'static Key| Ok((key.name.to_string(), keys.plain(key)?));
        Ok(FtlConfig { info, values: info.keys.iter().map(value).collect::<Result<_, _>>()? })
    }

    /// The table that [`from_table`](FtlConfig::from_table) reads as this.
    pub fn to_table(&self) -> Table {
        self.values.clone()
    }

    /// Which FTL it is.
    pub fn info(&self) -> &'static Info {
        self.info
    }

    /// A parameter, in the type of its key.
    ///
    /// # Panics
    ///
    /// If `INFO` has no such key, or one of another type.
    pub fn get<T: AsValue>(&self, key: &str) -> T {
        let value = self.values.get(key).and_then(T::of);
        value.unwrap_or_else(|| unreachable!("{}: {key} is no key of this type", self.info.name))
    }

    /// Pages to be stored: the logical ones, and a map if it lies on flash.
    pub fn stored_pages(&self, logical_pages: u32) -> u64 {
        let row = self.info.row.as_ref();
        row.map_or(logical_pages.into(), |row| (row.stored_pages)(self, logical_pages))
    }

    /// Fewest blocks that an FTL of `docs/spec/ftl.md` works with: what is stored, and room for
    /// merges or collections. 0 for one that knows planes, which has a rule of its own.
    pub fn least_blocks(&self, pages: PagesOfBlocks) -> u64 {
        let Some(row) = &self.info.row else { return 0 };
        let stored = self.stored_pages(pages.logical_pages).div_ceil(pages.pages_per_block.into());
        stored + (row.least_beside)(self)
    }
}

impl PartialEq for FtlConfig {
    fn eq(&self, other: &Self) -> bool {
        self.info.name == other.info.name && self.values == other.values
    }
}

/// The name alone: the parameters stand in a table of their own.
impl Serialize for FtlConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.info.name)
    }
}
