//! Where converted records go: a file that appears only when it is whole, or standard output.
//!
//! Bytes go to a temporary name in the folder of the destination, which is renamed at the end, so
//! that an error or an interrupt leaves no half-written file and an older one stays as it was.
//! Standard output gets its bytes at the end too: reading may have to start over (see
//! [`crate::stream::with_stream`]), and what was printed cannot be taken back. A destination that
//! ends in `.gz`, `.bz2`, `.xz` or `.zst` is compressed.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;
use tempfile::NamedTempFile;

use crate::error::{Result, TraceError};
use crate::files::temporary;

/// Bytes gathered before the system is asked.
const BUFFER_BYTES: usize = 1 << 16;
/// Preset of xz, the default of its own program.
const XZ_PRESET: u32 = 6;

/// File that receives the bytes.
enum Raw {
    /// Beside the destination, for its name.
    File(NamedTempFile),
    /// Anywhere, for standard output.
    Stdout(File),
    /// Nowhere: a device or a pipe takes them as they come, and must not be replaced by a file.
    Special(File),
}

impl Write for Raw {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Raw::File(file) => file.write(bytes),
            Raw::Stdout(file) | Raw::Special(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Raw::File(file) => file.flush(),
            Raw::Stdout(file) | Raw::Special(file) => file.flush(),
        }
    }
}

type Buffered = BufWriter<Raw>;

enum Layer {
    Plain(Buffered),
    Gzip(GzEncoder<Buffered>),
    Bzip2(BzEncoder<Buffered>),
    Xz(XzEncoder<Buffered>),
    Zstd(zstd::Encoder<'static, Buffered>),
}

impl Layer {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Layer::Plain(w) => w,
            Layer::Gzip(w) => w,
            Layer::Bzip2(w) => w,
            Layer::Xz(w) => w,
            Layer::Zstd(w) => w,
        }
    }

    fn file(&self) -> &Raw {
        match self {
            Layer::Plain(w) => w.get_ref(),
            Layer::Gzip(w) => w.get_ref().get_ref(),
            Layer::Bzip2(w) => w.get_ref().get_ref(),
            Layer::Xz(w) => w.get_ref().get_ref(),
            Layer::Zstd(w) => w.get_ref().get_ref(),
        }
    }

    fn finish(self) -> io::Result<Raw> {
        let buffered = match self {
            Layer::Plain(w) => w,
            Layer::Gzip(w) => w.finish()?,
            Layer::Bzip2(w) => w.finish()?,
            Layer::Xz(w) => w.finish()?,
            Layer::Zstd(w) => w.finish()?,
        };
        buffered.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

/// A destination that is being written.
pub struct Output {
    path: PathBuf,
    layer: Layer,
}

impl Output {
    /// Opens `path` for writing; `-` is standard output.
    ///
    /// # Errors
    ///
    /// `Write` if the folder is not there or cannot be written.
    pub fn create(path: &Path) -> Result<Output> {
        let failed = |source| TraceError::Write { path: path.to_owned(), source };
        if path.as_os_str().is_empty() {
            return Err(TraceError::usage("an output: expected a path, found an empty one (\"\")"));
        }
        // A name that is too long, or a file where a folder should be, is said before any work.
        match std::fs::metadata(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
            _ => {}
        }
        let raw = if path == Path::new("-") {
            Raw::Stdout(tempfile::tempfile().map_err(failed)?)
        } else if path.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
        } else if path.exists() && !path.is_file() {
            Raw::Special(File::options().write(true).open(path).map_err(failed)?)
        } else {
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            Raw::File(temporary::create_output(folder).map_err(failed)?)
        };
        let buffered = BufWriter::with_capacity(BUFFER_BYTES, raw);
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
        let layer = match ending.as_str() {
            "gz" => Layer::Gzip(GzEncoder::new(buffered, flate2::Compression::default())),
            "bz2" => Layer::Bzip2(BzEncoder::new(buffered, bzip2::Compression::default())),
            "xz" => Layer::Xz(XzEncoder::new(buffered, XZ_PRESET)),
            "zst" => Layer::Zstd(
                zstd::Encoder::new(buffered, zstd::DEFAULT_COMPRESSION_LEVEL).map_err(failed)?,
            ),
            _ => Layer::Plain(buffered),
        };
        Ok(Output { path: path.to_owned(), layer })
    }

    /// The destination, as messages name it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `bytes`.
    ///
    /// # Errors
    ///
    /// `Write`.
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(|source| self.failed(source))
    }

    /// Hands everything over to the system, so that what is there can be read after a crash, and
    /// returns the size of the file so far; 0 of a device or a pipe.
    ///
    /// # Errors
    ///
    /// `Write`.
    pub fn sync(&mut self) -> Result<u64> {
        self.flush().map_err(|source| self.failed(source))?;
        let size = match self.layer.file() {
            Raw::File(file) => file.as_file().metadata(),
            Raw::Stdout(file) => file.metadata(),
            Raw::Special(_) => return Ok(0),
        };
        size.map(|data| data.len()).map_err(|source| self.failed(source))
    }

    /// An error of the system that names the destination.
    pub fn failed(&self, source: io::Error) -> TraceError {
        TraceError::Write { path: self.path.clone(), source }
    }

    /// Writes the last bytes and gives the file its name.
    ///
    /// # Errors
    ///
    /// `Write`.
    pub fn finish(self) -> Result<()> {
        let Output { path, layer } = self;
        let failed = |source| TraceError::Write { path: path.clone(), source };
        match layer.finish().map_err(failed)? {
            Raw::Stdout(mut file) => {
                let mut out = io::stdout().lock();
                file.rewind()
                    .and_then(|()| io::copy(&mut file, &mut out))
                    .and_then(|_| out.flush())
                    .map_err(failed)
            }
            Raw::Special(mut file) => file.flush().map_err(failed),
            Raw::File(file) => file.persist(&path).map(drop).map_err(|error| failed(error.error)),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.layer.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.layer.writer().flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn written(path: &Path, bytes: &[u8]) -> Vec<u8> {
        let mut output = Output::create(path).unwrap();
        output.write_all(bytes).unwrap();
        output.finish().unwrap();
        std::fs::read(path).unwrap()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_device_is_written_to_and_not_replaced() {
        let mut output = Output::create(Path::new("/dev/full")).unwrap();
        output.write_all(b"new").unwrap();
        assert!(matches!(output.finish(), Err(TraceError::Write { .. })));
        assert!(!Path::new("/dev/full").is_file());
    }

    #[test]
    fn a_destination_appears_only_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        std::fs::write(&path, "old").unwrap();
        let mut output = Output::create(&path).unwrap();
        output.write_all(b"new").unwrap();
        drop(output);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no temporary file is left"
        );
        assert_eq!(written(&path, b"new"), b"new");
    }

    #[test]
    fn what_was_handed_over_can_be_read_before_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zst");
        let mut output = Output::create(&path).unwrap();
        output.put(b"first").unwrap();
        let size = output.sync().unwrap();
        let begun = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let bytes = std::fs::read(&begun).unwrap();
        assert_eq!(bytes.len() as u64, size);
        let mut back = [0; 5];
        zstd::Decoder::new(&bytes[..]).unwrap().read_exact(&mut back).unwrap();
        assert_eq!(&back, b"first");
        output.finish().unwrap();
    }

    #[test]
    fn the_ending_says_how_to_compress() {
        let folder = tempfile::tempdir().unwrap();
        let text = b"0 0 2048 8 0\n".repeat(1000);
        let bytes = |name: &str| written(&folder.path().join(name), &text);
        let mut back = Vec::new();
        flate2::read::GzDecoder::new(&bytes("a.gz")[..]).read_to_end(&mut back).unwrap();
        assert_eq!(back, text);
        back.clear();
        bzip2::read::BzDecoder::new(&bytes("a.bz2")[..]).read_to_end(&mut back).unwrap();
        assert_eq!(back, text);
        back.clear();
        liblzma::read::XzDecoder::new(&bytes("a.xz")[..]).read_to_end(&mut back).unwrap();
        assert_eq!(back, text);
        assert_eq!(zstd::decode_all(&bytes("a.zst")[..]).unwrap(), text);
        assert_eq!(bytes("a.trace"), text);
    }

    #[test]
    fn an_empty_path_and_a_name_that_is_too_long_are_called_so_at_once() {
        let error = Output::create(Path::new("")).err().unwrap();
        assert_eq!(error.exit_status(), 2);
        assert!(error.to_string().contains("found an empty one"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let error = Output::create(&folder.path().join("n".repeat(300))).err().unwrap();
        assert_eq!(error.exit_status(), 74);
        assert!(error.to_string().contains("nnn: "), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_that_names_the_destination() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nowhere").join("out");
        let error = Output::create(&path).err().unwrap();
        assert_eq!(error.exit_status(), 74);
        assert!(error.to_string().starts_with(path.to_str().unwrap()), "{error}");
        assert_eq!(Output::create(folder.path()).err().unwrap().exit_status(), 74);
    }
}
