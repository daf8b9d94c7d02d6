//! Files in memory, for a browser: named ones, which it hands over ([`put`]), and nameless ones,
//! in place of temporary files and of their mapping.
//!
//! A copy of a handle stands where the other one stands, as in the system. Bytes are kept in words
//! of eight, so that a column of numbers can be seen where it lies.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use zerocopy::IntoBytes;

/// Bytes of a file.
#[derive(Clone, Debug, Default)]
struct Content {
    words: Vec<u64>,
    /// Length; zeros follow in the last word.
    bytes: usize,
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.words.as_bytes()[..self.bytes]
    }
}

impl Content {
    fn of(bytes: &[u8]) -> Self {
        let mut content = Content::default();
        content.write(0, bytes);
        content
    }

    fn resize(&mut self, bytes: usize) {
        self.words.resize(bytes.div_ceil(size_of::<u64>()), 0);
        let kept = bytes.min(self.bytes);
        self.words.as_mut_bytes()[kept..].fill(0);
        self.bytes = bytes;
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if end > self.bytes {
            self.words.resize(end.div_ceil(size_of::<u64>()), 0);
            self.bytes = end;
        }
        self.words.as_mut_bytes()[at..end].copy_from_slice(bytes);
    }
}

/// A file with its place; copies of the handle share both.
#[derive(Debug)]
pub(crate) struct File(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    /// Shared with the name that it was opened by, until it is written.
    content: Arc<Content>,
    at: usize,
}

/// Facts of a file.
pub(crate) struct Metadata {
    bytes: u64,
}

impl Metadata {
    /// Length, bytes.
    pub(crate) fn len(&self) -> u64 {
        self.bytes
    }

    /// All are files.
    pub(crate) fn is_file(&self) -> bool {
        true
    }

    /// There are no folders.
    pub(crate) fn is_dir(&self) -> bool {
        false
    }
}

/// The named files.
static NAMED: Mutex<BTreeMap<PathBuf, Arc<Content>>> = Mutex::new(BTreeMap::new());

fn named() -> MutexGuard<'static, BTreeMap<PathBuf, Arc<Content>>> {
    NAMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stores a file under a name; an earlier file of the name is replaced.
pub fn put(path: PathBuf, bytes: &[u8]) {
    named().insert(path, Arc::new(Content::of(bytes)));
}

/// Drops all named files.
pub fn clear() {
    named().clear();
}

fn find(path: &Path) -> io::Result<Arc<Content>> {
    named().get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Facts of a named file.
///
/// # Errors
///
/// `NotFound`.
pub(crate) fn metadata(path: &Path) -> io::Result<Metadata> {
    find(path).map(|content| Metadata { bytes: content.bytes as u64 })
}

/// A new file without a name.
///
/// # Errors
///
/// None here.
pub(crate) fn tempfile() -> io::Result<File> {
    Ok(File(Arc::default()))
}

/// The folder that errors of nameless files name.
pub(crate) fn temp_dir() -> PathBuf {
    PathBuf::from("memory")
}

/// There is no system.
///
/// # Errors
///
/// `Unsupported`, always.
pub(crate) fn from_system(_: std::fs::File) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Reads at a place, wherever the file stands.
///
/// # Errors
///
/// None here.
pub(crate) fn read_at(file: &File, at: u64, out: &mut [u8]) -> io::Result<usize> {
    let open = file.open_now();
    let rest = usize::try_from(at).ok().and_then(|at| open.content.get(at..)).unwrap_or(&[]);
    let count = out.len().min(rest.len());
    out[..count].copy_from_slice(&rest[..count]);
    Ok(count)
}

impl File {
    /// A named file.
    ///
    /// # Errors
    ///
    /// `NotFound`.
    pub(crate) fn open(path: impl AsRef<Path>) -> io::Result<File> {
        let content = find(path.as_ref())?;
        Ok(File(Arc::new(Mutex::new(Open { content, at: 0 }))))
    }

    fn open_now(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another handle of the same file.
    ///
    /// # Errors
    ///
    /// None here.
    pub(crate) fn try_clone(&self) -> io::Result<File> {
        Ok(File(Arc::clone(&self.0)))
    }

    /// Cuts the file, or lengthens it with zeros.
    ///
    /// # Errors
    ///
    /// `StorageFull` for more than an address can name.
    pub(crate) fn set_len(&self, bytes: u64) -> io::Result<()> {
        let bytes = usize::try_from(bytes).map_err(|_| io::ErrorKind::StorageFull)?;
        Arc::make_mut(&mut self.open_now().content).resize(bytes);
        Ok(())
    }

    /// There are no times.
    ///
    /// # Errors
    ///
    /// None here.
    pub(crate) fn set_modified(&self, _: SystemTime) -> io::Result<()> {
        Ok(())
    }

    /// Facts of the file.
    ///
    /// # Errors
    ///
    /// None here.
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        Ok(Metadata { bytes: self.open_now().content.bytes as u64 })
    }
}

impl Read for File {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let at = self.open_now().at;
        let count = read_at(self, at as u64, out)?;
        self.open_now().at = at + count;
        Ok(count)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut open = self.open_now();
        let at = open.at;
        Arc::make_mut(&mut open.content).write(at, bytes);
        open.at = at + bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let mut open = self.open_now();
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => (open.content.bytes as u64).checked_add_signed(by),
            SeekFrom::Current(by) => (open.at as u64).checked_add_signed(by),
        };
        let target = target.and_then(|at| usize::try_from(at).ok());
        open.at = target.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(open.at as u64)
    }
}

impl Length for File {
    fn len(&self) -> u64 {
        self.open_now().content.bytes as u64
    }
}

impl ChunkReader for File {
    type T = io::Cursor<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let left = Length::len(self).saturating_sub(start) as usize;
        self.get_bytes(start, left).map(io::Cursor::new)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let mut bytes = vec![0; length];
        let count = read_at(self, start, &mut bytes)?;
        match count == length {
            true => Ok(bytes.into()),
            false => Err(ParquetError::EOF(format!("expected {length} bytes, found {count}"))),
        }
    }
}

/// Nothing is mapped, so that no file can shrink.
///
/// # Errors
///
/// None here.
pub fn report_shrunk_files() -> io::Result<()> {
    Ok(())
}

/// All bytes of a file, as they were when it was asked for them.
pub(crate) struct Mapped(Arc<Content>);

impl Mapped {
    /// The bytes; nothing is copied.
    ///
    /// # Errors
    ///
    /// None here.
    pub(crate) fn new(file: &File, _: &Path) -> io::Result<Self> {
        Ok(Mapped(Arc::clone(&file.open_now().content)))
    }

    /// They are not cut.
    pub(crate) fn is_whole(&self) -> bool {
        true
    }
}

impl Deref for Mapped {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same calls to a file of the system and to one in memory.
    fn both(mut work: impl FnMut(&mut dyn ReadWriteSeek) -> io::Result<Vec<u8>>) {
        let system = work(&mut ::tempfile::tempfile().unwrap()).map_err(|e| e.kind());
        assert_eq!(work(&mut tempfile().unwrap()).map_err(|e| e.kind()), system);
    }

    trait ReadWriteSeek: Read + Write + Seek {}
    impl<T: Read + Write + Seek> ReadWriteSeek for T {}

    #[test]
    fn a_file_in_memory_reads_as_one_of_the_system_does() {
        both(|file| {
            let mut found = Vec::new();
            file.write_all(b"0123456789")?;
            file.seek(SeekFrom::Start(3))?;
            file.write_all(b"abc")?;
            file.seek(SeekFrom::End(4))?;
            file.write_all(b"x")?;
            file.seek(SeekFrom::Current(-11))?;
            file.read_to_end(&mut found)?;
            file.rewind()?;
            file.read_to_end(&mut found)?;
            Ok(found)
        });
        both(|file| file.seek(SeekFrom::Current(-1)).map(|at| vec![at as u8]));
    }

    #[test]
    fn copies_of_a_handle_stand_at_one_place_and_a_cut_file_grows_with_zeros() {
        let mut file = tempfile().unwrap();
        let mut copy = file.try_clone().unwrap();
        file.write_all(b"abcdefghij").unwrap();
        copy.write_all(b"k").unwrap();
        file.set_len(3).unwrap();
        file.set_len(9).unwrap();
        let (mut found, facts) = (Vec::new(), file.metadata().unwrap());
        copy.rewind().unwrap();
        file.read_to_end(&mut found).unwrap();
        assert_eq!((found.as_slice(), facts.len()), (b"abc\0\0\0\0\0\0".as_slice(), 9));
        let whole = file.get_bytes(1, 3).unwrap();
        assert_eq!((whole.as_ref(), file.get_bytes(7, 3).is_err()), (b"bc\0".as_slice(), true));
        let mut at = [9; 4];
        assert_eq!((read_at(&file, 8, &mut at).unwrap(), at), (1, [0, 9, 9, 9]));
        assert_eq!(read_at(&file, u64::MAX, &mut at).unwrap(), 0);
    }

    #[test]
    fn a_name_keeps_its_content_whatever_is_done_with_an_open_file() {
        let path = PathBuf::from("in memory.csv");
        put(path.clone(), b"1,2");
        let mut file = File::open(&path).unwrap();
        let map = Mapped::new(&file, &path).unwrap();
        file.write_all(b"9").unwrap();
        let mut found = String::new();
        File::open(&path).unwrap().read_to_string(&mut found).unwrap();
        assert_eq!((found.as_str(), &*map), ("1,2", b"1,2".as_slice()));
        assert!(map.as_ptr().addr().is_multiple_of(8), "columns of numbers are seen in place");
        assert_eq!(metadata(&path).unwrap().len(), 3);
        clear();
        assert_eq!(File::open(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
