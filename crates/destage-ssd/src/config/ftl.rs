//! What an FTL says of itself, and an FTL that was chosen, with its parameters.

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
    /// As in `[device] ftl`.
    pub name: &'static str,
    /// Its name in full.
    pub title: &'static str,
    /// Where it is from.
    pub source: &'static str,
    /// What it does, in a few sentences.
    pub about: &'static str,
    /// Keys of `[ftl]`: numbers, truth values and words.
    pub keys: &'static [Key],
    /// Keys of `[device]` that say how it works. They have no effect with an FTL that does not list
    /// them (`docs/spec/device.md` 12).
    pub device_keys: &'static [&'static str],
    /// What it counts beside [`Common`](crate::ftl::Common), in the order of a result.
    pub counters: &'static [&'static [Counter]],
    /// What helps if it runs full, in brackets and with a space before; empty if nothing does.
    pub remedy: &'static str,
    /// Of an FTL over one row of blocks; `None` if it knows the planes of the drive.
    pub row: Option<Row>,
}

/// A counter of an FTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// As in a result.
    pub name: &'static str,
    /// What it counts, as its doc comment has it.
    pub(crate) doc: &'static str,
    /// Whether it grows.
    pub sort: Sort,
    /// It is one of `docs/spec/ftl.md` 1.4, which vectors list.
    pub listed: bool,
}

impl Counter {
    /// What it counts, in a sentence.
    pub fn about(&self) -> &'static str {
        self.doc.trim()
    }
}

/// Whether a number grows with the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// It does: of a part of a run it is the difference.
    Count,
    /// It says how things are now.
    State,
}

/// What an FTL over one row of blocks (`docs/spec/ftl.md`) takes of them.
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
