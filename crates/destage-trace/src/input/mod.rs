//! A reader's view of one trace file: a window of bytes over the stream that `source` has unpacked,
//! with the position in the decompressed stream, so that every message can name a place.

pub(crate) mod stream_spool;

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::{Location, Result, TraceError};
use crate::input::stream_spool::{SpoolBudget, SpooledStream, StreamSpool};

/// Bytes asked of the source at once: small enough to stay in a second-level cache, large enough
/// that the calls do not show.
const BLOCK_BYTES: usize = 256 * 1024;

/// Why a unpacked stream stopped before its end. Carried through [`std::io::Error`] by the readers
/// of `source`, because that is what `Read` can return.
#[derive(Clone, Debug)]
pub struct StreamFault {
    /// `gzip`, `xz`, `tar`, ...
    pub layer: &'static str,
    /// Offset in the layer's own, compressed bytes.
    pub offset: u64,
    /// The stream ends early (`allow_truncated` applies); otherwise `message` says what is wrong.
    pub truncated: bool,
    /// Message without the file; empty if `truncated`.
    pub message: String,
}

impl std::fmt::Display for StreamFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.truncated {
            write!(f, "the {} stream ends early at its byte {}", self.layer, self.offset)
        } else {
            f.write_str(&self.message)
        }
    }
}

impl std::error::Error for StreamFault {}

impl From<StreamFault> for std::io::Error {
    fn from(fault: StreamFault) -> Self {
        std::io::Error::other(fault)
    }
}

/// One trace file or archive member, unpacked: a window of bytes that moves forward.
pub struct Input {
    name: String,
    path: PathBuf,
    plain_path: Option<PathBuf>,
    size: Option<u64>,
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    position: u64,
    at_end: bool,
    allow_truncated: bool,
    truncated: bool,
    /// A read never waits for a writer.
    at_hand: bool,
    /// Error that is reported with the next read.
    fault: Option<TraceError>,
}

impl Input {
    /// A window over `source`; `name` is what messages call it, `path` the file it comes from.
    pub fn new(
        name: impl Into<String>,
        path: impl Into<PathBuf>,
        source: Box<dyn Read + Send>,
    ) -> Self {
        Input {
            name: name.into(),
            path: path.into(),
            plain_path: None,
            size: None,
            source,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            position: 0,
            at_end: false,
            allow_truncated: false,
            truncated: false,
            at_hand: false,
            fault: None,
        }
    }

    /// A window over bytes in memory, for tests and small members.
    pub fn from_bytes(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let (name, bytes) = (name.into(), bytes.into());
        let size = bytes.len() as u64;
        let mut input = Input::new(name.clone(), name, Box::new(std::io::Cursor::new(bytes)));
        input.size = Some(size);
        input
    }

    /// Sets the number of bytes of the decompressed stream, where that is known beforehand.
    pub fn with_size(mut self, size: Option<u64>) -> Self {
        self.size = size;
        self
    }

    /// Sets the plain file that holds exactly these bytes, which a reader may open by itself.
    pub fn with_plain_path(mut self, path: Option<PathBuf>) -> Self {
        self.plain_path = path;
        self
    }

    /// Takes a compressed stream that ends early as ended (`allow_truncated`).
    pub fn with_allow_truncated(mut self, allow: bool) -> Self {
        self.allow_truncated = allow;
        self
    }

    /// Sets whether the bytes lie in a file or in memory, so that a read never waits.
    pub(crate) fn with_at_hand(mut self, at_hand: bool) -> Self {
        self.at_hand = at_hand;
        self
    }

    /// Whether its bytes lie in a file or in memory: not those of a pipe, whose next ones may come
    /// in an hour.
    pub(crate) fn is_at_hand(&self) -> bool {
        self.at_hand
    }

    /// Name in messages: the path as given, `-` for standard input, `outer.tar!inner.csv.gz`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file on the command line.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The plain file that holds exactly the unpacked bytes; `None` if they are compressed, in an
    /// archive, or standard input.
    pub fn plain_path(&self) -> Option<&Path> {
        self.plain_path.as_deref()
    }

    /// Bytes of the unpacked stream, if known beforehand.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Device name for formats that have no column for it: the file's name without folders and
    /// without the endings of compressions and of `.csv`, `.txt`, `.trace` and the like.
    pub fn device_name(&self) -> String {
        let name = self.name.rsplit(['/', '!', '\\']).next().unwrap_or(&self.name);
        let mut stem = name;
        while let Some((head, ending)) = stem.rsplit_once('.') {
            if head.is_empty() || !ENDINGS.iter().any(|e| ending.eq_ignore_ascii_case(e)) {
                break;
            }
            stem = head;
        }
        if stem == "-" { "stdin".to_owned() } else { stem.to_owned() }
    }

    /// Bytes read and not yet consumed.
    pub fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Offset of the window's first byte in the decompressed stream.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Whether the stream has ended: what is in the window is all that is left.
    pub fn at_end(&self) -> bool {
        self.at_end
    }

    /// Whether it ended because a compressed stream was cut off and `allow_truncated` is set.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Moves past the first `count` bytes of the window.
    pub fn consume(&mut self, count: usize) {
        assert!(count <= self.end - self.start, "a reader consumes only what it was shown");
        self.start += count;
        self.position += count as u64;
    }

    /// Makes the window at least `bytes` long, or as long as the stream lasts; returns its length.
    ///
    /// # Errors
    ///
    /// The file cannot be read, a compressed stream is damaged or (unless `allow_truncated`) ends
    /// early.
    pub fn ensure(&mut self, bytes: usize) -> Result<usize> {
        while self.end - self.start < bytes && !self.at_end {
            self.read_more(bytes)?;
        }
        Ok(self.end - self.start)
    }

    /// Reads one more block behind the window; returns whether any byte came.
    pub fn grow(&mut self) -> Result<bool> {
        let before = self.end - self.start;
        self.ensure(before + 1).map(|now| now > before)
    }

    /// Takes whole lines off the head, about as many as `bytes` hold, into a buffer of which they
    /// take this range. `None` if there is no whole line in so many bytes: it is left to
    /// [`ensure`](Self::ensure), which then also returns the read error.
    pub(crate) fn take_lines(&mut self, bytes: usize, into: &mut Vec<u8>) -> Option<Range<usize>> {
        self.fault = self.ensure(bytes).err();
        let window = self.window();
        // Tests want many blocks of few lines; otherwise what was read is taken whole.
        let most = if cfg!(test) { bytes.min(window.len()) } else { window.len() };
        let length = memchr::memrchr(b'\n', &window[..most])? + 1;
        let lines = self.start..self.start + length;
        std::mem::swap(&mut self.buffer, into);
        let left = &into[lines.end..self.end];
        if self.buffer.len() < left.len() {
            self.buffer.resize(left.len(), 0);
        }
        self.buffer[..left.len()].copy_from_slice(left);
        (self.start, self.end) = (0, left.len());
        self.position += length as u64;
        Some(lines)
    }

    fn read_more(&mut self, bytes: usize) -> Result<()> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let room = bytes.max(self.end + BLOCK_BYTES);
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        match self.source.read(&mut self.buffer[self.end..]) {
            Ok(0) => self.at_end = true,
            Ok(count) => self.end += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return self.fail(error),
        }
        Ok(())
    }

    fn fail(&mut self, error: std::io::Error) -> Result<()> {
        let Some(fault) = error.get_ref().and_then(|e| e.downcast_ref::<StreamFault>()) else {
            return Err(TraceError::Io { path: PathBuf::from(&self.name), source: error });
        };
        if fault.truncated && self.allow_truncated {
            (self.at_end, self.truncated) = (true, true);
            return Ok(());
        }
        Err(if fault.truncated {
            TraceError::Truncated {
                file: self.name.clone(),
                layer: fault.layer,
                offset: fault.offset,
                records: 0,
            }
        } else {
            TraceError::data(&self.name, Location::File, fault.message.clone())
        })
    }

    /// All bytes that are left, and how many, for formats that must be read from their end (Parquet
    /// in an archive).
    ///
    /// # Errors
    ///
    /// Errors of [`ensure`](Self::ensure); `Data` if they are too many, `Write` if they cannot be
    /// kept.
    pub(crate) fn into_spooled(mut self) -> Result<(SpooledStream, u64)> {
        let mut budget = SpoolBudget::default();
        let name = self.name.clone();
        let mut holder = StreamSpool::new(&name, &mut budget);
        while self.ensure(1)? > 0 {
            holder.take(self.window())?;
            self.consume(self.end - self.start);
        }
        Ok(holder.finish())
    }
}

/// Endings that say how a file is packed or written, not which device it is.
const ENDINGS: &[&str] = &[
    "gz", "bz2", "xz", "zst", "zip", "tar", "tgz", "csv", "txt", "log", "trace", "trc", "lis",
    "spc", "srt", "vscsi", "bin", "parquet", "blkparse", "ascii", "dat", "out", "tsv",
];

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input")
            .field("name", &self.name)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_name_is_the_file_name_without_packing() {
        for (name, device) in [
            ("dir/hm_0.csv.gz", "hm_0"),
            ("all.tar!in/w.vscsi.zst", "w"),
            ("x.blktrace.0", "x.blktrace.0"),
            ("-", "stdin"),
            (".csv", ".csv"),
        ] {
            assert_eq!(Input::from_bytes(name, []).device_name(), device);
        }
    }

    #[test]
    fn the_window_moves_and_grows() {
        let mut input = Input::from_bytes("x", (0..=255u8).collect::<Vec<_>>());
        assert_eq!(input.ensure(4).unwrap(), 256);
        input.consume(250);
        assert_eq!((input.position(), input.window()), (250, &[250, 251, 252, 253, 254, 255][..]));
        assert_eq!(input.ensure(100).unwrap(), 6);
        assert!(input.at_end() && !input.grow().unwrap());
    }
}
