//! The file that decoded columns are kept in, and its mapping.
//!
//! ```text
//!  0     magic, version, byte order, file length, number of sections,
//!        sections { kind, offset, bytes, hash } x 16, hash of the header
//!  4096  section, zeros up to a multiple of 64, section, ...
//! ```
//!
//! Values are stored as the machine has them (the byte-order word makes another machine's file
//! unusable instead of wrong), so that a mapped column is a slice. A section's hash is the XXH3 of
//! the XXH3 values of its [`BLOCK_BYTES`] blocks: writers that go forwards or backwards, and a
//! check of a file larger than memory, all need one block at a time.
//!
//! The header is written last. A file without a valid one, one that is shorter or longer than it
//! says, and one with a wrong byte anywhere (padding included) is *damaged*: the cache
//! replaces it.

pub mod meta;

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::error::{Result, TraceError};
use crate::files::{
    disk::File,
    disk_space,
    mapped::Mapped,
    write_behind::{self, WriteBehind, Written},
};

/// Version of layout and meaning. A file of another version is stale, never read.
///
/// 2: trims and flushes are kept. 3: and are part of the fingerprint. 4: so are chains of blocks.
pub const FORMAT_VERSION: u32 = 4;
/// Sections are hashed in blocks of this size; also what the writers buffer.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

const MAGIC: [u8; 8] = *b"DESTAGE\x01";
const BYTE_ORDER: u32 = 0x0102_0304;
const HEADER_BYTES: usize = 4096;
const ALIGN: u64 = 64;
const MAX_SECTIONS: usize = 16;

/// Content of a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(crate) enum ColumnKind {
    /// Trace metadata, as JSON.
    Meta = 1,
    /// Arrival of each row, ns, as u64.
    Arrivals = 2,
    /// Measured response of each row, ns, as u64.
    Responses = 3,
    /// Dense id of each row's first page, as u32.
    FirstIds = 4,
    /// Pages, operation and partial ends of each row, as u32.
    PagesOps = 5,
    /// Logical page number of each dense id, as u64.
    Lpns = 6,
    /// Rows that continue the request of the row before, as u64.
    Continuations = 7,
    /// Next use of each access, as u32.
    NextNarrow = 8,
    /// Next use of each access, as u64.
    NextWide = 9,
    /// Trims and flushes, as [`ControlCommand`](crate::ControlCommand)s; absent if there are none.
    ControlCommands = 10,
    /// Place in a chain of each row, as [`ChainMark`](crate::ChainMark)s; absent if there are none.
    Chains = 11,
}

#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Section {
    kind: u64,
    offset: u64,
    bytes: u64,
    hash: u64,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    version: u32,
    byte_order: u32,
    file_bytes: u64,
    sections: u64,
    table: [Section; MAX_SECTIONS],
    /// XXH3 of the header up to here.
    hash: u64,
}

/// Bytes of a slice of plain numbers.
pub(crate) fn bytes_of<T: IntoBytes + Immutable>(values: &[T]) -> &[u8] {
    values.as_bytes()
}

/// Hash of a whole section.
fn section_hash(bytes: &[u8]) -> u64 {
    let mut whole = Xxh3::new();
    for block in bytes.chunks(BLOCK_BYTES) {
        whole.update(&xxh3_64(block).to_le_bytes());
    }
    whole.digest()
}

/// Destination of a column file.
#[derive(Debug)]
pub(crate) struct Target {
    /// The file, whatever an attempt before left in it.
    pub(crate) file: File,
    /// Path that errors name.
    pub(crate) path: PathBuf,
    /// The folder that it takes room in.
    pub(crate) folder: PathBuf,
    /// Temporary name of the file, and its largest size to be kept, bytes.
    pub(crate) kept: Option<(PathBuf, u64)>,
}

/// Writes a column file, section after section.
pub(crate) struct ColumnWriter {
    file: File,
    path: PathBuf,
    folder: PathBuf,
    kept: Option<(PathBuf, u64)>,
    at: u64,
    table: Vec<Section>,
    /// Hash over the block hashes of the open section.
    whole: Xxh3,
    block: Vec<u8>,
    /// Writes full blocks; `None` before the first, and on one processor.
    behind: Option<WriteBehind>,
}

impl ColumnWriter {
    /// Starts at the beginning of the target.
    pub(crate) fn new(target: &Target) -> Result<Self> {
        let failed = |source| TraceError::Write { path: target.path.clone(), source };
        let file = target.file.try_clone().map_err(failed)?;
        file.set_len(0).map_err(failed)?;
        let mut writer = ColumnWriter {
            file,
            path: target.path.clone(),
            folder: target.folder.clone(),
            kept: target.kept.clone(),
            at: HEADER_BYTES as u64,
            table: Vec::new(),
            whole: Xxh3::new(),
            block: Vec::with_capacity(BLOCK_BYTES),
            behind: None,
        };
        writer.seek(writer.at)?;
        Ok(writer)
    }

    /// Reserves room for `bytes` more. A file that will be too large to be kept loses its name
    /// now, so that nothing is left of it whatever happens.
    ///
    /// # Errors
    ///
    /// `Write` if the disk has no room for them.
    pub(crate) fn make_room(&mut self, bytes: u64) -> Result<()> {
        disk_space::room_for(&self.folder, bytes, "the decoded trace")?;
        if let Some((name, limit_bytes)) = &self.kept
            && self.at.saturating_add(bytes) > *limit_bytes
        {
            match std::fs::remove_file(name) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(self.failed(e)),
                _ => self.kept = None,
            }
        }
        Ok(())
    }

    fn failed(&self, source: std::io::Error) -> TraceError {
        TraceError::Write { path: self.path.clone(), source }
    }

    fn seek(&mut self, to: u64) -> Result<()> {
        self.file.seek(SeekFrom::Start(to)).map(|_| ()).map_err(|e| self.failed(e))
    }

    /// Opens the next section.
    pub(crate) fn begin(&mut self, kind: ColumnKind) -> Result<()> {
        let offset = self.at.next_multiple_of(ALIGN);
        let padding = [0u8; ALIGN as usize];
        let pad = &padding[..(offset - self.at) as usize];
        self.file.write_all(pad).map_err(|e| self.failed(e))?;
        self.at = offset;
        self.table.push(Section { kind: kind as u64, offset, bytes: 0, hash: 0 });
        self.whole.reset();
        Ok(())
    }

    /// Appends to the open section.
    pub(crate) fn put(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let take = (BLOCK_BYTES - self.block.len()).min(bytes.len());
            self.block.extend_from_slice(&bytes[..take]);
            bytes = &bytes[take..];
            if self.block.len() == BLOCK_BYTES {
                self.flush_block()?;
            }
        }
        Ok(())
    }

    fn flush_block(&mut self) -> Result<()> {
        self.at += self.block.len() as u64;
        if self.behind.is_none() && self.block.len() == BLOCK_BYTES && write_behind::is_worthwhile()
        {
            let file = self.file.try_clone().map_err(|e| self.failed(e))?;
            self.behind = WriteBehind::new(file).ok(); // without a thread it is done here
        }
        let Some(behind) = &mut self.behind else {
            self.whole.update(&xxh3_64(&self.block).to_le_bytes());
            self.file.write_all(&self.block).map_err(|e| self.failed(e))?;
            self.block.clear();
            return Ok(());
        };
        let Some(written) = behind.put(std::mem::take(&mut self.block)) else {
            self.block.reserve_exact(BLOCK_BYTES);
            return Ok(());
        };
        self.wrote(written)
    }

    /// A block was written; it is used again.
    fn wrote(&mut self, Written { mut block, hash }: Written) -> Result<()> {
        let hash = hash.map_err(|e| self.failed(e))?;
        self.whole.update(&hash.to_le_bytes());
        block.clear();
        self.block = block;
        Ok(())
    }

    /// Waits until all blocks are in the file.
    fn settle(&mut self) -> Result<()> {
        if !self.block.is_empty() {
            self.flush_block()?;
        }
        while let Some(written) = self.behind.as_mut().and_then(WriteBehind::oldest) {
            self.wrote(written)?;
        }
        Ok(())
    }

    /// Closes the section; returns its hash.
    pub(crate) fn end(&mut self) -> Result<u64> {
        self.settle()?;
        let hash = self.whole.digest();
        let at = self.at;
        let section = self.table.last_mut().expect("begin comes before end");
        section.bytes = at - section.offset;
        section.hash = hash;
        Ok(hash)
    }

    /// A section in one go.
    pub(crate) fn section(&mut self, kind: ColumnKind, bytes: &[u8]) -> Result<u64> {
        self.begin(kind)?;
        self.put(bytes)?;
        self.end()
    }

    /// A section of `bytes` bytes whose blocks come last first: `fill` is called with the byte
    /// offset of each block and a buffer of its length.
    pub(crate) fn section_backwards(
        &mut self,
        kind: ColumnKind,
        bytes: u64,
        mut fill: impl FnMut(u64, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        self.begin(kind)?;
        let start = self.at;
        let blocks = bytes.div_ceil(BLOCK_BYTES as u64);
        let mut hashes = Vec::with_capacity(blocks as usize);
        // Of u64, so that a block can be filled as numbers.
        let mut buffer = vec![0u64; BLOCK_BYTES / 8];
        let buffer = buffer.as_mut_bytes();
        for block in (0..blocks).rev() {
            let offset = block * BLOCK_BYTES as u64;
            let buffer = &mut buffer[..(bytes - offset).min(BLOCK_BYTES as u64) as usize];
            fill(offset, buffer)?;
            hashes.push(xxh3_64(buffer));
            self.seek(start + offset)?;
            self.file.write_all(buffer).map_err(|e| self.failed(e))?;
        }
        for hash in hashes.iter().rev() {
            self.whole.update(&hash.to_le_bytes());
        }
        self.at = start + bytes;
        self.seek(self.at)?;
        self.end().map(|_| ())
    }

    /// Writes the header; the file is whole then.
    pub(crate) fn finish(mut self) -> Result<File> {
        assert!(self.table.len() <= MAX_SECTIONS, "a column file has at most 16 sections");
        let mut table = [Section::default(); MAX_SECTIONS];
        table[..self.table.len()].copy_from_slice(&self.table);
        let mut header = Header {
            magic: MAGIC,
            version: FORMAT_VERSION,
            byte_order: BYTE_ORDER,
            file_bytes: self.at,
            sections: self.table.len() as u64,
            table,
            hash: 0,
        };
        header.hash = header_hash(&header);
        self.seek(0)?;
        let mut page = [0u8; HEADER_BYTES];
        page[..size_of::<Header>()].copy_from_slice(header.as_bytes());
        self.file.write_all(&page).map_err(|e| self.failed(e))?;
        self.file.flush().map_err(|e| self.failed(e))?;
        Ok(self.file)
    }
}

fn header_hash(header: &Header) -> u64 {
    xxh3_64(&header.as_bytes()[..std::mem::offset_of!(Header, hash)])
}

/// Why a column file cannot be used.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// The file could not be opened or mapped.
    Io(std::io::Error),
    /// The file is damaged, or another version wrote it.
    Damaged(String),
}

/// A column file, checked and mapped.
pub(crate) struct Columns {
    map: Mapped,
    table: Vec<Section>,
}

impl Columns {
    /// Maps a file and checks all of it; `path` is what is said to be cut if it is later.
    pub(crate) fn map(file: &File, path: &Path) -> std::result::Result<Self, Unusable> {
        let columns = Columns::map_unchecked(file, path)?;
        let mut end = size_of::<Header>();
        for (k, section) in columns.table.iter().enumerate() {
            let start = section.offset as usize;
            let bytes = &columns.map[start..start + section.bytes as usize];
            let padding = columns.map.get(end..start).unwrap_or(&[1]);
            if padding.iter().any(|byte| *byte != 0) || section_hash(bytes) != section.hash {
                return Err(Unusable::Damaged(format!("the checksum of section {k} is wrong")));
            }
            end = start + bytes.len();
        }
        Ok(columns)
    }

    /// Maps a file and checks its header and length: for one that was just written, or is only to
    /// be listed.
    pub(crate) fn map_unchecked(file: &File, path: &Path) -> std::result::Result<Self, Unusable> {
        let damaged = |what: String| Err(Unusable::Damaged(what));
        let length = file.metadata().map_err(Unusable::Io)?.len();
        if length < HEADER_BYTES as u64 {
            return damaged(format!("{length} bytes, a header alone has {HEADER_BYTES}"));
        }
        let map = Mapped::new(file, path).map_err(Unusable::Io)?;
        let Ok((header, _)) = Header::read_from_prefix(&map) else {
            return damaged("no header".into());
        };
        if header.magic != MAGIC {
            return damaged("not a column file".into());
        }
        if header.version != FORMAT_VERSION || header.byte_order != BYTE_ORDER {
            return damaged(format!("version {}, this is {FORMAT_VERSION}", header.version));
        }
        if header.hash != header_hash(&header) {
            return damaged("the header's checksum is wrong".into());
        }
        if header.file_bytes != length {
            return damaged(format!("{length} bytes instead of {}", header.file_bytes));
        }
        let table = header.table[..(header.sections as usize).min(MAX_SECTIONS)].to_vec();
        let inside = |s: &Section| s.offset.checked_add(s.bytes).is_some_and(|end| end <= length);
        if !table.iter().all(inside) {
            return damaged("a section lies outside the file".into());
        }
        Ok(Columns { map, table })
    }

    /// Bytes of a section; `None` if the file has none of this kind.
    pub(crate) fn bytes(&self, kind: ColumnKind) -> Option<&[u8]> {
        let section = self.table.iter().find(|s| s.kind == kind as u64)?;
        Some(&self.map[section.offset as usize..(section.offset + section.bytes) as usize])
    }

    /// A section as numbers; empty if there is none.
    pub(crate) fn column<T: FromBytes + Immutable + KnownLayout>(&self, kind: ColumnKind) -> &[T] {
        let Some(bytes) = self.bytes(kind) else { return &[] };
        match <[T]>::ref_from_bytes(bytes) {
            Ok(values) => values,
            // Sections start at multiples of 64 and the map at a page.
            Err(_) => panic!("a section of {} bytes is no whole column", bytes.len()),
        }
    }

    /// Whether the file is as long as it was when it was mapped.
    pub(crate) fn is_whole(&self) -> bool {
        self.map.is_whole()
    }

    /// Length of the file, bytes.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.map.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        let target = Target {
            file: file.reopen().expect("opens again"),
            path: file.path().to_owned(),
            folder: std::env::temp_dir(),
            kept: None,
        };
        let mut writer = ColumnWriter::new(&target).expect("writes");
        let numbers: Vec<u32> = (0..600_000).collect();
        writer.section(ColumnKind::Meta, b"{}\n").expect("writes");
        writer.section(ColumnKind::FirstIds, bytes_of(&numbers)).expect("writes");
        writer
            .section_backwards(ColumnKind::NextNarrow, 4 * 600_000, |offset, block| {
                block.copy_from_slice(&bytes_of(&numbers)[offset as usize..][..block.len()]);
                Ok(())
            })
            .expect("writes");
        writer.section(ColumnKind::Lpns, &[]).expect("writes");
        writer.finish().expect("writes");
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut bytes).expect("reads");
        bytes
    }

    fn map(bytes: &[u8]) -> std::result::Result<Columns, Unusable> {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(bytes).expect("writes");
        Columns::map(&file, Path::new("x"))
    }

    #[test]
    fn columns_come_back_as_written_forwards_and_backwards() {
        let columns = map(&sample()).expect("a whole file");
        assert_eq!(columns.bytes(ColumnKind::Meta), Some(&b"{}\n"[..]));
        assert!(columns.column::<u32>(ColumnKind::FirstIds).iter().copied().eq(0..600_000));
        assert!(columns.column::<u32>(ColumnKind::NextNarrow).iter().copied().eq(0..600_000));
        assert!(columns.column::<u64>(ColumnKind::Lpns).is_empty());
        assert!(columns.bytes(ColumnKind::Responses).is_none());
    }

    #[test]
    fn a_wrong_bit_anywhere_is_noticed() {
        let whole = sample();
        let header = size_of::<Header>();
        let places = (0..header).step_by(7).chain((header..5000).step_by(97));
        let places = places.chain((5000..whole.len()).step_by(40_009)).chain([whole.len() - 1]);
        for at in places {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            assert!(matches!(map(&bytes), Err(Unusable::Damaged(_))), "byte {at}");
        }
    }

    #[test]
    fn room_is_asked_for_before_it_is_taken_and_what_is_not_kept_loses_its_name() {
        let named = tempfile::NamedTempFile::new().expect("a temporary file");
        let target = Target {
            file: named.reopen().expect("opens again"),
            path: PathBuf::from("trace"),
            folder: std::env::temp_dir(),
            kept: Some((named.path().to_owned(), 10_000)),
        };
        let mut writer = ColumnWriter::new(&target).expect("writes");
        writer.make_room(10_000 - HEADER_BYTES as u64).expect("there is room");
        assert!(named.path().exists());
        let error = writer.make_room(1 << 61).expect_err("no disk is so large");
        assert_eq!(error.exit_status(), 74);
        assert!(error.to_string().contains("no room for the decoded trace"), "{error}");
        writer.make_room(10_001 - HEADER_BYTES as u64).expect("there is room");
        assert!(!named.path().exists(), "nothing of it is left whatever happens");
    }

    #[test]
    fn a_file_of_another_length_is_noticed() {
        let whole = sample();
        for length in [0, 1, 100, 4095, 4096, 5000, whole.len() - 1] {
            assert!(matches!(map(&whole[..length]), Err(Unusable::Damaged(_))), "{length} bytes");
        }
        let mut longer = whole.clone();
        longer.push(0);
        assert!(matches!(map(&longer), Err(Unusable::Damaged(_))));
    }
}
