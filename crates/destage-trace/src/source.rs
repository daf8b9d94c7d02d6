//! Opens what the user names: a file, `-`, or `archive!glob`; peels compression and archives off, up
//! to four layers, and lists the traces in it.
//!
//! A name inside an archive is written `outer.tar!inner.csv.gz`. By default every regular member that
//! detection recognises is taken, in natural name order; the rest is listed as left out. Nothing is
//! written to disk: members of a plain tar or zip are read where they lie, those of a compressed tar
//! are kept in memory up to a limit, and decompressed again beyond it.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::detect::{self, Detected};
use crate::device_table::{natural_cmp, printable};
use crate::error::{Place, Result, TraceError};
use crate::input::{Input, StreamFault};
use crate::options::ReaderOptions;
use crate::peel::{Buffered, Codec, HEAD_BYTES, Layer, Peel, fault_within, identify};
use crate::sample::Sample;

/// Deepest nesting of compressions and archives.
const MAX_LAYERS: usize = 4;

/// Members of one compressed archive that are kept in memory, in bytes.
const MEMORY_BYTES: u64 = 256 << 20;

/// Bytes read of all files, for a progress bar. Bytes are those on disk, still compressed.
#[derive(Debug, Default)]
pub struct Progress {
    /// Read so far.
    pub done_bytes: AtomicU64,
    /// In all files; 0 if standard input is among them.
    pub total_bytes: AtomicU64,
    /// Records delivered so far.
    pub records: AtomicU64,
}

/// One trace: a file, or a member of an archive.
#[derive(Clone)]
pub struct Leaf {
    /// As messages call it.
    pub name: String,
    /// The file on the command line.
    pub path: PathBuf,
    root: Root,
    /// Whether the bytes of `path` are the trace's, unpeeled.
    plain: bool,
}

/// What a path on the command line turned out to hold.
#[derive(Default)]
pub struct Listing {
    /// Its traces, in natural name order.
    pub leaves: Vec<Leaf>,
    /// Members that are no traces, with the reason.
    pub left_out: Vec<String>,
}

/// Where bytes come from, before any peeling.
#[derive(Clone)]
enum Root {
    /// A stretch of a file.
    File { path: PathBuf, start: u64, length: u64, layer: &'static str },
    /// Bytes in memory; `cut` is the fault that ended them early.
    Memory { bytes: Arc<Vec<u8>>, start: usize, end: usize, cut: Option<StreamFault> },
    /// A stream that can be had once.
    Once(Arc<Mutex<Option<Box<dyn Read + Send>>>>),
    /// A member of a compressed archive, beyond what is kept in memory.
    Again { outer: Arc<Root>, skip: u64, length: u64 },
    /// A packed member of a zip archive.
    Zipped { packed: Arc<Root>, codec: Codec, crc: u32 },
}

impl Root {
    /// Bytes on disk or in memory that reading it to the end moves; `None` if unknown.
    fn raw_bytes(&self) -> Option<u64> {
        match self {
            Root::File { length, .. } => Some(*length),
            Root::Memory { start, end, .. } => Some((end - start) as u64),
            Root::Once(_) => None,
            Root::Again { outer, .. } => outer.raw_bytes(),
            Root::Zipped { packed, .. } => packed.raw_bytes(),
        }
    }

    fn open(&self, progress: Option<&Arc<Progress>>) -> io::Result<Box<dyn Read + Send>> {
        let metered = |inner: Box<dyn Read + Send>| -> Box<dyn Read + Send> {
            match progress {
                Some(progress) => Box::new(Metered { inner, progress: Arc::clone(progress) }),
                None => inner,
            }
        };
        Ok(match self {
            Root::File { path, start, length, layer } => {
                let mut file = File::open(path)?;
                if *start > 0 {
                    file.seek(SeekFrom::Start(*start))?;
                }
                metered(Box::new(Stretch { inner: file, left: *length, whole: *length, layer }))
            }
            Root::Memory { bytes, start, end, cut } => {
                let window = Window { bytes: Arc::clone(bytes), at: *start, end: *end };
                metered(match cut {
                    Some(fault) => Box::new(Cut { inner: Box::new(window), fault: fault.clone() }),
                    None => Box::new(window),
                })
            }
            Root::Once(stream) => {
                let taken = stream.lock().ok().and_then(|mut guard| guard.take());
                metered(
                    taken
                        .ok_or_else(|| io::Error::other("standard input can be read only once"))?,
                )
            }
            Root::Again { outer, skip, length } => {
                let (mut stream, _) = peel_all(outer.open(progress)?)?;
                let skipped = io::copy(&mut (&mut stream).take(*skip), &mut io::sink())?;
                if skipped < *skip {
                    return Err(cut_off("tar", skipped).into());
                }
                Box::new(Stretch { inner: stream, left: *length, whole: *length, layer: "tar" })
            }
            Root::Zipped { packed, codec, crc } => {
                let stream = Peel::new(*codec, Buffered::new(packed.open(progress)?));
                Box::new(Checked { inner: stream, crc: flate2::Crc::new(), expected: *crc })
            }
        })
    }
}

fn cut_off(layer: &'static str, offset: u64) -> StreamFault {
    StreamFault { layer, offset, truncated: true, message: String::new() }
}

impl Leaf {
    /// Bytes that reading it moves, for the progress bar; `None` if unknown.
    pub fn raw_bytes(&self) -> Option<u64> {
        self.root.raw_bytes()
    }

    /// A window over the peeled bytes.
    pub fn open(&self, options: &ReaderOptions, progress: Option<&Arc<Progress>>) -> Result<Input> {
        let failed = |source: io::Error| self.failed(source);
        let raw = self.root.open(progress).map_err(failed)?;
        let (stream, size): (Box<dyn Read + Send>, _) = if self.plain {
            (raw, self.root.raw_bytes())
        } else {
            (Box::new(peel_all(raw).map_err(failed)?.0), None)
        };
        Ok(Input::new(self.name.clone(), self.path.clone(), stream)
            .with_size(size)
            .with_plain_path(self.plain.then(|| self.path.clone()))
            .with_allow_truncated(options.allow_truncated))
    }

    fn failed(&self, source: io::Error) -> TraceError {
        io_error(&self.name, &self.path, source)
    }
}

/// An error of the system or of a stream, as the user sees it.
fn io_error(name: &str, path: &Path, source: io::Error) -> TraceError {
    match fault_within(&source) {
        Some(fault) if fault.truncated => TraceError::Truncated {
            file: name.to_owned(),
            layer: fault.layer,
            offset: fault.offset,
            records: 0,
        },
        Some(fault) => data_error(name, fault.message, None),
        None if source.kind() == io::ErrorKind::NotFound => {
            TraceError::Missing { path: path.to_owned() }
        }
        None => TraceError::Io { path: PathBuf::from(name), source },
    }
}

fn data_error(name: &str, message: String, hint: Option<&str>) -> TraceError {
    TraceError::Data {
        file: name.to_owned(),
        place: Place::File,
        message,
        hint: hint.map(str::to_owned),
    }
}

/// Peels compressions, not archives, and counts them.
fn peel_all(raw: Box<dyn Read + Send>) -> io::Result<(Buffered, usize)> {
    let mut stream = Buffered::new(raw);
    let mut layers = 0;
    while let Layer::Packed(codec) = identify(stream.peek(HEAD_BYTES)?) {
        if layers == MAX_LAYERS {
            let message = format!("more than {MAX_LAYERS} layers of compression");
            return Err(
                StreamFault { layer: codec.name(), offset: 0, truncated: false, message }.into()
            );
        }
        stream = Buffered::new(Box::new(Peel::new(codec, stream)));
        layers += 1;
    }
    Ok((stream, layers))
}

/// Lists the traces in what the user named.
///
/// Errors: no such file, a folder, an archive without a trace or with an encrypted member, a
/// compression or archive that is not read, more than four layers.
pub fn list(argument: &Path, options: &ReaderOptions) -> Result<Listing> {
    let (path, glob) = split_glob(argument);
    let name = path.to_string_lossy().into_owned();
    let root = if name == "-" {
        Root::Once(Arc::new(Mutex::new(Some(Box::new(io::stdin())))))
    } else {
        let facts = std::fs::metadata(&path).map_err(|e| io_error(&name, &path, e))?;
        if facts.is_dir() {
            let source =
                io::Error::new(io::ErrorKind::IsADirectory, "is a folder; name the files in it");
            return Err(TraceError::Io { path, source });
        }
        if facts.is_file() {
            Root::File { path: path.clone(), start: 0, length: facts.len(), layer: "file" }
        } else {
            // A pipe or a device: once, as standard input.
            let file = File::open(&path).map_err(|e| io_error(&name, &path, e))?;
            Root::Once(Arc::new(Mutex::new(Some(Box::new(file)))))
        }
    };
    let mut lister = Lister { path, glob, options, listing: Listing::default(), in_archive: false };
    lister.expand(root, name.clone(), 0)?;
    let mut listing = lister.listing;
    if listing.leaves.is_empty() {
        let left_out = listing.left_out.join("; ");
        let message = if left_out.is_empty() {
            "0 requests: the archive holds no files".to_owned()
        } else {
            format!("0 requests: no trace among its members: {left_out}")
        };
        return Err(data_error(
            &name,
            message,
            Some("archive!glob selects members, --format says what they are"),
        ));
    }
    listing.leaves.sort_by(|a, b| natural_cmp(a.name.as_bytes(), b.name.as_bytes()));
    Ok(listing)
}

/// `archive.tar!glob`, unless a file of that whole name exists.
fn split_glob(argument: &Path) -> (PathBuf, Option<String>) {
    let text = argument.to_string_lossy();
    if !argument.exists() {
        for (at, _) in text.match_indices('!') {
            if Path::new(&text[..at]).is_file() {
                return (PathBuf::from(&text[..at]), Some(text[at + 1..].to_owned()));
            }
        }
    }
    (argument.to_owned(), None)
}

/// `*` any bytes, `?` one, everything else itself.
fn glob_matches(glob: &[u8], name: &[u8]) -> bool {
    match glob.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|skip| glob_matches(rest, &name[skip..])),
        Some((b'?', rest)) => !name.is_empty() && glob_matches(rest, &name[1..]),
        Some((c, rest)) => name.first() == Some(c) && glob_matches(rest, &name[1..]),
    }
}

struct Lister<'a> {
    path: PathBuf,
    glob: Option<String>,
    options: &'a ReaderOptions,
    listing: Listing,
    in_archive: bool,
}

impl Lister<'_> {
    /// Follows one root down to the traces in it.
    fn expand(&mut self, root: Root, name: String, layers: usize) -> Result<()> {
        let path = self.path.clone();
        let failed = |e: io::Error| io_error(&name, &path, e);
        let raw = root.open(None).map_err(failed)?;
        let (mut stream, peeled) = match peel_all(raw) {
            Ok(opened) => opened,
            // Cut off before its first bytes: the reader of this leaf will say so, or take nothing.
            Err(e) if fault_within(&e).is_some_and(|f| f.truncated) => {
                return self.leaf(root, name, false, None);
            }
            Err(e) => return Err(failed(e)),
        };
        let layers = layers + peeled;
        let head = stream.peek(HEAD_BYTES).map_err(failed)?;
        let layer = identify(head);
        let archive = matches!(layer, Layer::Tar | Layer::Zip);
        if layers + usize::from(archive) > MAX_LAYERS {
            let message = format!("more than {MAX_LAYERS} layers of compression and archives");
            return Err(data_error(&name, message, Some("unpack it first")));
        }
        // A stream that can be had only once goes on from here, or into memory.
        let once = matches!(root, Root::Once(_));
        match layer {
            Layer::Unsupported(what) => {
                let message = format!("this is {what}, which is not read");
                Err(data_error(
                    &name,
                    message,
                    Some("repack it as gzip, bzip2, xz, zstd, zip or tar"),
                ))
            }
            Layer::Plain | Layer::Packed(_) => {
                if once {
                    let rest: Box<dyn Read + Send> = Box::new(stream);
                    return self.leaf(
                        Root::Once(Arc::new(Mutex::new(Some(rest)))),
                        name,
                        false,
                        None,
                    );
                }
                let plain =
                    peeled == 0 && matches!(root, Root::File { start: 0, .. }) && !self.in_archive;
                let sample = self.in_archive.then_some(stream);
                self.leaf(root, name, plain, sample)
            }
            Layer::Tar => {
                let root = if once { into_memory(stream).map_err(failed)? } else { root };
                let direct = once || peeled == 0;
                self.in_archive = true;
                self.tar(root, direct, &name, layers + 1)
            }
            Layer::Zip => {
                let root =
                    if once || peeled > 0 { into_memory(stream).map_err(failed)? } else { root };
                self.in_archive = true;
                self.zip(root, &name, layers + 1)
            }
        }
    }

    /// A trace, or a member that is none.
    fn leaf(
        &mut self,
        root: Root,
        name: String,
        plain: bool,
        sample: Option<Buffered>,
    ) -> Result<()> {
        let leaf = Leaf { name, path: self.path.clone(), root, plain };
        if let Some(stream) = sample
            && let Some(reason) = self.no_trace(&leaf, stream)
        {
            self.listing.left_out.push(format!("{} ({reason})", leaf.name));
            return Ok(());
        }
        self.listing.leaves.push(leaf);
        Ok(())
    }

    /// Why a member is left out; `None` if it is to be read. One that was named is always read.
    fn no_trace(&self, leaf: &Leaf, stream: Buffered) -> Option<String> {
        if self.glob.is_some() {
            return None;
        }
        let mut input = Input::new(leaf.name.clone(), leaf.path.clone(), Box::new(stream))
            .with_allow_truncated(true);
        let sample = Sample::of(&mut input).ok()?;
        if sample.bytes.is_empty() {
            return Some("empty".to_owned());
        }
        match detect::detect(&sample) {
            Detected::Refused(message, _) => Some(message.to_owned()),
            Detected::Unknown if self.options.format.is_none() => {
                Some("not recognised as a trace".to_owned())
            }
            _ => None,
        }
    }

    /// Whether a member is to be looked into; says so in the list if not.
    fn wanted(&mut self, archive: &str, member: &str) -> bool {
        let name = format!("{archive}!{member}");
        let base = member.rsplit('/').next().unwrap_or(member);
        if let Some(glob) = &self.glob {
            let prefix = format!("{}!", self.path.display());
            let inner = name.strip_prefix(&prefix).unwrap_or(member);
            let hit = |text: &str| glob_matches(glob.as_bytes(), text.as_bytes());
            return hit(inner) || hit(base) || hit(member);
        }
        let lower = base.to_ascii_lowercase();
        let text = ["readme", "license", "licence", "copying", "md5", "sha1", "sha256", "checksum"];
        let reason = if base.starts_with("._") || member.split('/').any(|part| part == "__MACOSX") {
            "of macOS"
        } else if text.iter().any(|t| lower.starts_with(t) || lower.ends_with(&format!(".{t}"))) {
            "no trace by its name"
        } else {
            return true;
        };
        self.listing.left_out.push(format!("{name} ({reason})"));
        false
    }

    fn tar(&mut self, root: Root, direct: bool, name: &str, layers: usize) -> Result<()> {
        let path = self.path.clone();
        let failed = |e: io::Error| match fault_within(&e) {
            Some(_) => io_error(name, &path, e),
            None if is_cut(&e) => io_error(name, &path, cut_off("tar", 0).into()),
            None => data_error(name, format!("the tar archive is damaged: {e}"), None),
        };
        let raw = root.open(None).map_err(failed)?;
        let stream = if direct { Buffered::new(raw) } else { peel_all(raw).map_err(failed)?.0 };
        let mut archive = tar::Archive::new(stream);
        let outer = Arc::new(root);
        let mut budget = MEMORY_BYTES;
        let mut members = Vec::new();
        for entry in archive.entries().map_err(failed)? {
            let mut entry = match entry {
                Ok(entry) => entry,
                // Cut off between members: what came before can be used.
                Err(e) if self.options.allow_truncated && is_cut(&e) => break,
                Err(e) => return Err(failed(e)),
            };
            let member = printable(&entry.path_bytes());
            if !entry.header().entry_type().is_file() {
                self.listing.left_out.push(format!("{name}!{member} (not a regular file)"));
                continue;
            }
            if !self.wanted(name, &member) {
                continue;
            }
            let (skip, length) = (entry.raw_file_position(), entry.size());
            let root = match (&*outer, direct) {
                (Root::File { path, start, .. }, true) => {
                    Root::File { path: path.clone(), start: start + skip, length, layer: "tar" }
                }
                (Root::Memory { bytes, start, end, .. }, true) => {
                    let from = start + usize::try_from(skip).unwrap_or(usize::MAX).min(end - start);
                    let to = from + usize::try_from(length).unwrap_or(usize::MAX).min(end - from);
                    let cut = (((to - from) as u64) < length)
                        .then(|| cut_off("tar", (end - start) as u64));
                    Root::Memory { bytes: Arc::clone(bytes), start: from, end: to, cut }
                }
                _ if length <= budget => {
                    budget -= length;
                    let mut bytes = Vec::new();
                    let cut = match entry.read_to_end(&mut bytes) {
                        Ok(_) if bytes.len() as u64 == length => None,
                        Ok(_) => Some(cut_off("tar", skip + bytes.len() as u64)),
                        Err(e) => match fault_within(&e) {
                            Some(fault) => Some(fault),
                            None if is_cut(&e) => Some(cut_off("tar", skip + bytes.len() as u64)),
                            None => return Err(failed(e)),
                        },
                    };
                    let end = bytes.len();
                    Root::Memory { bytes: Arc::new(bytes), start: 0, end, cut }
                }
                _ => Root::Again { outer: Arc::clone(&outer), skip, length },
            };
            let ended = matches!(&root, Root::Memory { cut: Some(_), .. });
            members.push((root, format!("{name}!{member}")));
            if ended {
                break; // nothing can follow; the member's reader says where
            }
        }
        for (root, name) in members {
            self.expand(root, name, layers)?;
        }
        Ok(())
    }

    fn zip(&mut self, root: Root, name: &str, layers: usize) -> Result<()> {
        let path = self.path.clone();
        let failed = |e: io::Error| io_error(name, &path, e);
        let damaged = |e: zip::result::ZipError| match e {
            zip::result::ZipError::Io(e) if e.raw_os_error().is_some() => io_error(name, &path, e),
            other => {
                data_error(name, format!("the zip archive is damaged or cut off: {other}"), None)
            }
        };
        let (reader, base): (Box<dyn Seekable>, Arc<Root>) = match &root {
            Root::File { path, start, length, .. } => {
                let file = File::open(path).map_err(failed)?;
                (
                    Box::new(FileWindow { file, start: *start, length: *length, at: 0 }),
                    Arc::new(root.clone()),
                )
            }
            Root::Memory { bytes, start, end, .. } => {
                let window = bytes[*start..*end].to_vec();
                (Box::new(Cursor::new(window)), Arc::new(root.clone()))
            }
            other => {
                let raw = other.open(None).map_err(failed)?;
                let memory = into_memory(Buffered::new(raw)).map_err(failed)?;
                let Root::Memory { bytes, .. } = &memory else { return Ok(()) };
                (Box::new(Cursor::new(bytes.to_vec())), Arc::new(memory))
            }
        };
        let mut archive = zip::ZipArchive::new(reader).map_err(damaged)?;
        let mut members = Vec::new();
        for index in 0..archive.len() {
            let file = archive.by_index_raw(index).map_err(damaged)?;
            let member = printable(file.name_raw());
            if file.is_dir() || file.is_symlink() {
                self.listing.left_out.push(format!("{name}!{member} (not a regular file)"));
                continue;
            }
            if !self.wanted(name, &member) {
                continue;
            }
            let name = format!("{name}!{member}");
            if file.encrypted() {
                return Err(data_error(
                    &name,
                    "this member is encrypted".to_owned(),
                    Some("unpack it first"),
                ));
            }
            let start = file.data_start().unwrap_or(0);
            let packed = Arc::new(stretch(&base, start, file.compressed_size()));
            let codec = match file.compression() {
                zip::CompressionMethod::Stored => None,
                method if method == zip::CompressionMethod::DEFLATE => Some(Codec::Deflate),
                method if method == zip::CompressionMethod::BZIP2 => Some(Codec::Bzip2),
                method if method == zip::CompressionMethod::ZSTD => Some(Codec::Zstd),
                method if method == zip::CompressionMethod::XZ => Some(Codec::Xz),
                method => {
                    let message =
                        format!("this member is packed by a method that is not read ({method:?})");
                    return Err(data_error(&name, message, Some("repack it with deflate")));
                }
            };
            let root = match codec {
                Some(codec) => Root::Zipped { packed, codec, crc: file.crc32() },
                None => Arc::unwrap_or_clone(packed),
            };
            members.push((root, name));
        }
        for (root, name) in members {
            self.expand(root, name, layers)?;
        }
        Ok(())
    }
}

/// A part of a file or of bytes in memory.
fn stretch(base: &Root, skip: u64, bytes_long: u64) -> Root {
    match base {
        Root::Memory { bytes, start, end, cut } => {
            let from = start + usize::try_from(skip).unwrap_or(usize::MAX).min(end - start);
            let to = from + usize::try_from(bytes_long).unwrap_or(usize::MAX).min(end - from);
            Root::Memory { bytes: Arc::clone(bytes), start: from, end: to, cut: cut.clone() }
        }
        Root::File { path, start, .. } => {
            Root::File { path: path.clone(), start: start + skip, length: bytes_long, layer: "zip" }
        }
        other => other.clone(),
    }
}

fn into_memory(mut stream: Buffered) -> io::Result<Root> {
    let mut bytes = Vec::new();
    let cut = match stream.read_to_end(&mut bytes) {
        Ok(_) => None,
        Err(e) => match fault_within(&e) {
            Some(fault) if fault.truncated => Some(fault),
            _ => return Err(e),
        },
    };
    let end = bytes.len();
    Ok(Root::Memory { bytes: Arc::new(bytes), start: 0, end, cut })
}

/// Whether an error of the archive library means that the archive ends early.
fn is_cut(error: &io::Error) -> bool {
    match fault_within(error) {
        Some(fault) => fault.truncated,
        None => {
            let text = error.to_string();
            error.kind() == io::ErrorKind::UnexpectedEof
                || text.contains("entire block")
                || text.contains("end of file")
        }
    }
}

trait Seekable: Read + Seek {}
impl<T: Read + Seek> Seekable for T {}

/// Counts the bytes read.
struct Metered {
    inner: Box<dyn Read + Send>,
    progress: Arc<Progress>,
}

impl Read for Metered {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.progress.done_bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The first bytes of a reader; an error if it ends before them.
struct Stretch<R> {
    inner: R,
    left: u64,
    whole: u64,
    layer: &'static str,
}

impl<R: Read> Read for Stretch<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // A file on the command line may grow or shrink under us: it ends where it ends.
        if self.layer == "file" {
            return self.inner.read(out);
        }
        let want = out.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if want == 0 {
            return Ok(0);
        }
        let count = self.inner.read(&mut out[..want])?;
        if count == 0 {
            return Err(cut_off(self.layer, self.whole - self.left).into());
        }
        self.left -= count as u64;
        Ok(count)
    }
}

/// A window of shared bytes.
struct Window {
    bytes: Arc<Vec<u8>>,
    at: usize,
    end: usize,
}

impl Read for Window {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = out.len().min(self.end - self.at);
        out[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Ends with a fault instead of an end.
struct Cut {
    inner: Box<dyn Read + Send>,
    fault: StreamFault,
}

impl Read for Cut {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.inner.read(out)? {
            0 if !out.is_empty() => Err(self.fault.clone().into()),
            count => Ok(count),
        }
    }
}

/// Checks a zip member's checksum at its end.
struct Checked {
    inner: Peel,
    crc: flate2::Crc,
    expected: u32,
}

impl Read for Checked {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.crc.update(&out[..count]);
        if count == 0 && !out.is_empty() && self.crc.sum() != self.expected {
            let message = "the zip member's checksum is wrong: it is damaged".to_owned();
            return Err(StreamFault { layer: "zip", offset: 0, truncated: false, message }.into());
        }
        Ok(count)
    }
}

/// A stretch of a file that can be sought in.
struct FileWindow {
    file: File,
    start: u64,
    length: u64,
    at: u64,
}

impl Read for FileWindow {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.length.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let want = out.len().min(left);
        self.file.seek(SeekFrom::Start(self.start + self.at))?;
        let count = self.file.read(&mut out[..want])?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for FileWindow {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = target.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_names() {
        for (glob, name, hit) in [
            ("*.csv", "a/b.csv", true),
            ("hm_?.csv*", "hm_0.csv.gz", true),
            ("hm_?.csv", "hm_10.csv", false),
            ("", "", true),
            ("a*b*c", "aXXbYYc", true),
            ("a*b*c", "aXXbYY", false),
        ] {
            assert_eq!(glob_matches(glob.as_bytes(), name.as_bytes()), hit, "{glob} {name}");
        }
    }
}
