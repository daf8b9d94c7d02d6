//! Where converted records go: a file that appears only when it is whole, or standard output.
//!
//! Bytes go to a temporary name in the folder of the destination, which is renamed at the end, so
//! that an error or an interrupt leaves no half-written file and an older one stays as it was.
//! Standard output gets its bytes at the end too: reading may have to start over (see
//! [`crate::stream::with_stream`]), and what was printed cannot be taken back. A destination that
//! ends in `.gz`, `.bz2`, `.xz` or `.zst` is compressed.
//!
//! A recording cannot be made again. Its temporary name is the destination's with `.part` behind
//! it, and no later output removes it; what is whole of it can be kept when the disk is full.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;
use tempfile::TempPath;

use crate::error::{Result, TraceError};
use crate::files::temporary;

/// Bytes gathered before the system is asked.
const BUFFER_BYTES: usize = 1 << 16;
/// Bytes in a member, stream or frame of a compressed recording.
const MEMBER_BYTES: u64 = 1 << 18;
/// Preset of xz, the default of its own program.
const XZ_PRESET: u32 = 6;

/// File that receives the bytes.
enum Raw {
    /// Beside the destination, for its name.
    File(File),
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
    /// Compression by the ending of the destination.
    fn new(path: &Path, raw: Raw) -> io::Result<Layer> {
        let buffered = BufWriter::with_capacity(BUFFER_BYTES, raw);
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
        Ok(match ending.as_str() {
            "gz" => Layer::Gzip(GzEncoder::new(buffered, flate2::Compression::default())),
            "bz2" => Layer::Bzip2(BzEncoder::new(buffered, bzip2::Compression::default())),
            "xz" => Layer::Xz(XzEncoder::new(buffered, XZ_PRESET)),
            "zst" => Layer::Zstd(zstd::Encoder::new(buffered, zstd::DEFAULT_COMPRESSION_LEVEL)?),
            _ => Layer::Plain(buffered),
        })
    }

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
    /// `None` after an error of ending a member.
    layer: Option<Layer>,
    temporary: Option<TempPath>,
    /// Bytes since the member began.
    member: u64,
    /// Bytes of the file that can be read by themselves.
    whole: u64,
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
        if path == Path::new("-") {
            let raw = Raw::Stdout(tempfile::tempfile().map_err(failed)?);
            return Self::over(path, raw, None).map_err(failed);
        }
        if let Some(special) = special(path).map_err(failed)? {
            return Self::over(path, special, None).map_err(failed);
        }
        let (file, temporary) = temporary::create_output(folder_of(path)).map_err(failed)?;
        Self::over(path, Raw::File(file), Some(temporary)).map_err(failed)
    }

    /// Opens `path` for a recording, under the name `path.part` as long as it lasts. Also what
    /// recordings of this name that were killed have left.
    ///
    /// # Errors
    ///
    /// `Write` if the folder is not there or cannot be written.
    pub fn create_recording(path: &Path) -> Result<(Output, Vec<PathBuf>)> {
        let failed = |source| TraceError::Write { path: path.to_owned(), source };
        if let Some(special) = special(path).map_err(failed)? {
            return Ok((Self::over(path, special, None).map_err(failed)?, Vec::new()));
        }
        let (file, temporary, left) = temporary::create_recording(path).map_err(failed)?;
        let output = Self::over(path, Raw::File(file), Some(temporary)).map_err(failed)?;
        Ok((output, left))
    }

    fn over(path: &Path, raw: Raw, temporary: Option<TempPath>) -> io::Result<Output> {
        let layer = Some(Layer::new(path, raw)?);
        Ok(Output { path: path.to_owned(), layer, temporary, member: 0, whole: 0 })
    }

    fn layer(&mut self) -> io::Result<&mut Layer> {
        self.layer.as_mut().ok_or_else(|| io::Error::other("an earlier write has failed"))
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
    /// returns the size of the file so far; 0 of a device or a pipe. The bytes end with a line.
    ///
    /// # Errors
    ///
    /// `Write`.
    pub fn sync(&mut self) -> Result<u64> {
        self.synced().map_err(|source| self.failed(source))
    }

    fn synced(&mut self) -> io::Result<u64> {
        self.flush()?;
        let is_plain = matches!(self.layer()?, Layer::Plain(_));
        let ends = !is_plain && self.temporary.is_some() && self.member >= MEMBER_BYTES;
        if ends && let Some(layer) = self.layer.take() {
            self.member = 0;
            self.layer = Some(Layer::new(&self.path, layer.finish()?)?);
        }
        let size = match self.layer()?.file() {
            Raw::File(file) | Raw::Stdout(file) => file.metadata()?.len(),
            Raw::Special(_) => return Ok(0),
        };
        if is_plain || ends {
            self.whole = size;
        }
        Ok(size)
    }

    /// After an error of writing: gives the file its name with the part that can be read, which it
    /// then has the size of; 0 if there is none, and no file.
    ///
    /// # Errors
    ///
    /// `Write`.
    pub fn keep_whole(mut self) -> Result<u64> {
        self.kept().map_err(|source| self.failed(source))
    }

    fn kept(&mut self) -> io::Result<u64> {
        drop(self.layer.take()); // with what it still wants to write
        let Some(temporary) = self.temporary.take().filter(|_| self.whole > 0) else {
            return Ok(0);
        };
        File::options().write(true).open(&temporary)?.set_len(self.whole)?;
        temporary.persist(&self.path).map_err(|error| error.error)?;
        Ok(self.whole)
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
    pub fn finish(mut self) -> Result<()> {
        self.finished().map_err(|source| self.failed(source))
    }

    fn finished(&mut self) -> io::Result<()> {
        self.layer()?;
        match self.layer.take().map(Layer::finish).transpose()? {
            Some(Raw::Stdout(mut file)) => {
                let mut out = io::stdout().lock();
                file.rewind()?;
                io::copy(&mut file, &mut out)?;
                out.flush()
            }
            Some(Raw::Special(mut file)) => file.flush(),
            Some(Raw::File(_)) | None => match self.temporary.take() {
                Some(temporary) => temporary.persist(&self.path).map_err(|error| error.error),
                None => Ok(()),
            },
        }
    }
}

/// The folder of a destination.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A device or a pipe.
fn special(path: &Path) -> io::Result<Option<Raw>> {
    // A name that is too long, or a file where a folder should be, is said before any work.
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(found) if found.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(found) if found.is_file() => Ok(None),
        Ok(_) => Ok(Some(Raw::Special(File::options().write(true).open(path)?))),
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.layer()?.writer().write(bytes)?;
        self.member += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.layer()?.writer().flush()
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
        let (mut output, _) = Output::create_recording(&path).unwrap();
        output.put(b"first").unwrap();
        let size = output.sync().unwrap();
        let begun = folder.path().join("a.zst.part");
        let bytes = std::fs::read(&begun).unwrap();
        assert_eq!(bytes.len() as u64, size);
        let mut back = [0; 5];
        zstd::Decoder::new(&bytes[..]).unwrap().read_exact(&mut back).unwrap();
        assert_eq!(&back, b"first");
        output.finish().unwrap();
    }

    #[test]
    fn a_recording_that_cannot_go_on_keeps_what_can_be_read() {
        let line = |number: u64| format!("{number},line of its own {}\n", number * 7_919);
        for name in ["a.csv", "a.csv.gz", "a.csv.bz2", "a.csv.xz", "a.csv.zst"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            std::fs::write(&path, "of last week").unwrap();
            let (mut output, _) = Output::create_recording(&path).unwrap();
            let mut text = String::new();
            for second in 0..10 {
                let more: String = (second * 3000..(second + 1) * 3000).map(line).collect();
                output.put(more.as_bytes()).unwrap();
                output.sync().unwrap();
                text += &more;
            }
            output.put(b"half of a li").unwrap();
            let size = output.keep_whole().unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().len(), size);
            let mut back = String::new();
            let (mut file, packed) = (File::open(&path).unwrap(), &mut back);
            let read = match name.rsplit('.').next().unwrap() {
                "gz" => flate2::read::MultiGzDecoder::new(file).read_to_string(packed),
                "bz2" => bzip2::read::MultiBzDecoder::new(file).read_to_string(packed),
                "xz" => liblzma::read::XzDecoder::new_multi_decoder(file).read_to_string(packed),
                "zst" => zstd::Decoder::new(file).unwrap().read_to_string(packed),
                _ => file.read_to_string(packed),
            };
            read.unwrap();
            assert!(text.starts_with(&back) && back.ends_with('\n'), "{name}");
            let lost = text.len() - back.len();
            assert!(lost < 3 << 17, "{name}: {lost} bytes of {} are lost", text.len());
            assert!(name != "a.csv" || lost == 0);
            let names = std::fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(names, 1, "no part is left");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "of last week").unwrap();
        let (mut output, _) = Output::create_recording(&path).unwrap();
        output.put(b"half of a li").unwrap();
        assert_eq!(output.keep_whole().unwrap(), 0);
        assert_eq!(std::fs::read(&path).unwrap(), b"of last week");
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
