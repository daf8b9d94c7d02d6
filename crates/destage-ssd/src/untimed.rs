//! FTLs without a drive: pages in, counts out, as `docs/spec/ftl.md` has them.

use crate::config::{
    COUNT, ConfigError, FtlConfig, IfAbsent, Info, Key, Kind, MOST_PAGES, PagesOfBlocks, Reader,
    Table, key,
};
use crate::ftl::block_ftl::{BlockFtl, CountOnly, FlashOps};
use crate::ftl::{AnyBlockFtl, Common, DeviceFull, FtlCounters, NoFreeBlock};
use crate::geometry::DriveLpn;

/// Keys that every FTL accepts when it runs without a device (1.6).
static COMMON: [Key; 3] = [
    key("logical_pages", COUNT, IfAbsent::From("none"), "pages", "L"),
    key("pages_per_block", COUNT, IfAbsent::Int(64), "pages", "B"),
    key("prefill", Kind::Bool, IfAbsent::Bool(false), "", "every page is written beforehand"),
];

/// An FTL of `docs/spec/ftl.md` alone, with the parameters of its section.
#[derive(Clone, Debug)]
pub struct Untimed {
    info: &'static Info,
    block_ftl: AnyBlockFtl,
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

impl Untimed {
    /// The FTL with these parameters, prefilled if they say so.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the parameter, what was expected and what was found.
    pub fn new(info: &'static Info, params: &Table) -> Result<Self, ConfigError> {
        let own = info.keys.iter().chain(info.row.iter().flat_map(|row| row.alone.keys));
        let keys = Reader::of("params", params, COMMON.iter().chain(own));
        let Some(row) = &info.row else {
            let name = info.name;
            let what =
                format!("ftl = {name} is an FTL of a device: without one there is page-ideal");
            return Err(keys.impossible(what));
        };
        keys.end_of(&format!(": the parameters of {}", info.name))?;
        if !keys.given("logical_pages") {
            return Err(keys.impossible("the key logical_pages is missing".into()));
        }
        let pages = PagesOfBlocks {
            logical_pages: keys.or("logical_pages", 1, 1)?,
            pages_per_block: keys.get("pages_per_block")?,
        };
        let config = FtlConfig::read(info, &keys)?;
        let blocks = (row.alone.blocks)(&config, pages, &keys)?;
        let size = u128::from(blocks) * u128::from(pages.pages_per_block);
        if size > MOST_PAGES.into() {
            return Err(keys.impossible(format!(
                "{blocks} blocks of {} pages are more than {MOST_PAGES} pages",
                pages.pages_per_block
            )));
        }
        let mut ftl = Untimed {
            info,
            block_ftl: AnyBlockFtl::build(&config, pages, blocks as u32),
            logical_pages: pages.logical_pages,
            operations: 0,
            full: None,
        };
        if keys.get("prefill")? {
            ftl.prefill().map_err(|full| keys.impossible(full.to_string()))?;
        }
        Ok(ftl)
    }

    fn prefill(&mut self) -> Result<(), DeviceFull> {
        for lpn in (0..self.logical_pages).map(DriveLpn) {
            let written = self.block_ftl.write(lpn, &mut CountOnly);
            written.map_err(|NoFreeBlock| self.full(None))?;
        }
        self.block_ftl.reset(true);
        Ok(())
    }

    /// Which FTL it is.
    pub fn info(&self) -> &'static Info {
        self.info
    }

    /// L.
    pub fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    fn full(&self, operation: Option<u64>) -> DeviceFull {
        let Info { name: ftl, remedy, .. } = *self.info;
        DeviceFull { ftl, operation, blocks: self.block_ftl.blocks(), remedy }
    }

    /// Reads or writes a page; what that does to the flash goes to `flash`.
    ///
    /// # Errors
    ///
    /// [`UntimedError`]; after [`UntimedError::Full`] there is nothing else.
    #[inline]
    pub fn operate<F: FlashOps>(
        &mut self,
        is_write: bool,
        lpn: u64,
        flash: &mut F,
    ) -> Result<Option<F::Served>, UntimedError> {
        let operation = self.operations;
        let logical_pages = self.logical_pages;
        let page = u32::try_from(lpn).ok().filter(|&page| page < logical_pages);
        let page =
            page.map(DriveLpn).ok_or(UntimedError::Beyond { operation, lpn, logical_pages })?;
        if let Some(full) = &self.full {
            return Err(full.clone().into()); // it stopped in the middle of something
        }
        self.operations += 1;
        let served = if is_write {
            self.block_ftl.write(page, flash).map(Some)
        } else {
            self.block_ftl.read(page, flash)
        };
        served.map_err(|NoFreeBlock| {
            let full = self.full(Some(operation));
            self.full = Some(full.clone());
            full.into()
        })
    }

    /// The FTL itself.
    pub fn block_ftl(&self) -> &AnyBlockFtl {
        &self.block_ftl
    }

    /// Counts since the prefill.
    pub fn counters(&self) -> FtlCounters {
        self.block_ftl.counters()
    }

    /// The counters that a vector of this FTL lists, in its order.
    pub fn listed_counters(&self) -> Vec<&'static str> {
        let own = self.info.counters.iter().copied().flatten();
        let own = own.filter(|counter| counter.listed).map(|counter| counter.name);
        Common::NAMES.iter().copied().chain(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Value;
    use crate::ftl::{bast, dftl};

    #[test]
    fn a_full_device_names_ftl_operation_and_blocks() {
        let full = |operation| {
            let remedy = dftl::INFO.remedy;
            DeviceFull { ftl: "dftl", operation, blocks: 11, remedy }.to_string()
        };
        let why = "device full: a free block is needed, and none of the 11 blocks is free (a \
                   larger reserve leaves it room: --ftl \"dftl[gc_reserve_blocks=16]\")";
        assert_eq!(full(Some(3)), format!("dftl: operation 3: {why}"));
        assert_eq!(full(None), format!("dftl: while it was being filled: {why}"));
    }

    #[test]
    fn sizes_that_no_flash_has_are_refused() {
        for (key, value) in [("logical_pages", MOST_PAGES), ("spare_blocks", MOST_PAGES)] {
            let mut params = Table::from([("logical_pages".into(), Value::Int(64))]);
            params.insert(key.into(), Value::Int(value.into()));
            let error = Untimed::new(&bast::INFO, &params).expect_err("too large").to_string();
            assert!(error.contains("are more than 4294967294 pages"), "{error}");
        }
        let params = Table::from([
            ("logical_pages".into(), Value::Int(64)),
            ("over_provisioning".into(), Value::Real(1e300)),
        ]);
        let error = Untimed::new(&dftl::INFO, &params).expect_err("too large").to_string();
        assert!(error.contains("are more than 4294967294 pages"), "{error}");
    }
}
