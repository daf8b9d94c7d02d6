//! Decompression of a stream, detected from content and never from a name.
//!
//! Each library decodes one gzip member, xz stream, bzip2 stream or zstd frame; what stands behind
//! it is judged here, once for all of them: another of the same kind continues the stream (`cat
//! a.gz b.gz`, bgzip, pigz), zero bytes are padding, and anything else is an error with its offset.

use std::io::{self, BufRead, Read};

use crate::input::StreamFault;

/// Deepest nesting of compressions and archives.
pub(crate) const MAX_LAYERS: usize = 4;

/// Bytes asked of the source at once.
const BLOCK_BYTES: usize = 64 * 1024;

/// Largest zstd window accepted, as a power of two: what `zstd --long=31` writes; the library's
/// most where addresses have 32 bits.
const ZSTD_WINDOW_LOG: u32 = if usize::BITS == 32 { 30 } else { 31 };

/// Bytes that [`identify`] wants to see: one tar header.
pub(crate) const HEAD_BYTES: usize = 512;

/// Container or compression detected from the first bytes of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Layer {
    /// A compression.
    Packed(Codec),
    /// Archives.
    Tar,
    /// A zip archive.
    Zip,
    /// Recognised, and not read: its name.
    Unsupported(&'static str),
    /// The trace itself.
    Plain,
}

/// Compressions that are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Codec {
    Gzip,
    Bzip2,
    Xz,
    Zstd,
    /// A deflated member of a zip archive; has no magic and does not repeat.
    Deflate,
}

impl Codec {
    /// Name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Codec::Gzip => "gzip",
            Codec::Bzip2 => "bzip2",
            Codec::Xz => "xz",
            Codec::Zstd => "zstd",
            Codec::Deflate => "deflate",
        }
    }

    fn begins(self, head: &[u8]) -> bool {
        match self {
            Codec::Gzip => head.starts_with(b"\x1f\x8b"),
            Codec::Bzip2 => {
                head.starts_with(b"BZh") && head.get(3).is_some_and(|c| matches!(c, b'1'..=b'9'))
            }
            Codec::Xz => head.starts_with(b"\xfd7zXZ\0"),
            Codec::Zstd => head.starts_with(b"\x28\xb5\x2f\xfd") || skippable(head),
            Codec::Deflate => false,
        }
    }
}

/// A zstd frame that holds no data.
fn skippable(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Container or compression that begins with `head`, of which [`HEAD_BYTES`] should be available.
pub(crate) fn identify(head: &[u8]) -> Layer {
    for codec in [Codec::Gzip, Codec::Bzip2, Codec::Xz, Codec::Zstd] {
        if codec.begins(head) {
            return Layer::Packed(codec);
        }
    }
    const UNSUPPORTED: &[(&[u8], &str)] = &[
        (b"\x1f\x9d", "compress (.Z)"),
        (b"\x04\x22\x4d\x18", "lz4"),
        (b"\x02\x21\x4c\x18", "lz4 (legacy)"),
        (b"7z\xbc\xaf\x27\x1c", "7z"),
        (b"Rar!\x1a\x07", "rar"),
        (b"LZIP", "lzip"),
        (b"\x5d\x00\x00\x80\x00", "lzma"),
    ];
    if let Some((_, name)) = UNSUPPORTED.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Layer::Unsupported(name);
    }
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Layer::Zip;
    }
    if is_tar(head) { Layer::Tar } else { Layer::Plain }
}

/// `ustar` at its place, or a header of older tars, whose checksum is right.
fn is_tar(head: &[u8]) -> bool {
    let Some(header) = head.get(..512) else { return false };
    if &header[257..262] == b"ustar" {
        return true;
    }
    if header[0] == 0 {
        return false;
    }
    let text: Vec<u8> = header[148..156]
        .iter()
        .copied()
        .skip_while(|&c| c == b' ')
        .take_while(u8::is_ascii_digit)
        .collect();
    let Ok(stored) = u64::from_str_radix(&String::from_utf8_lossy(&text), 8) else { return false };
    // The checksum counts its own field as blanks.
    let sum: u64 = header
        .iter()
        .enumerate()
        .map(|(i, &c)| if (148..156).contains(&i) { 32 } else { u64::from(c) })
        .sum();
    sum == stored
}

/// A reader with a look ahead and a count of what was taken.
pub(crate) struct PeekReader {
    inner: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    taken: u64,
}

impl PeekReader {
    pub(crate) fn new(inner: Box<dyn Read + Send>) -> Self {
        PeekReader { inner, buffer: vec![0; BLOCK_BYTES], start: 0, end: 0, taken: 0 }
    }

    /// Bytes taken so far: the offset of the next one.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// The next bytes without taking them; at least `count` of them unless the stream ends before.
    pub(crate) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.end - self.start < count && self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        while self.end - self.start < count {
            match self.inner.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(&self.buffer[self.start..self.end])
    }
}

impl BufRead for PeekReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.peek(1)
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        self.taken += count as u64;
    }
}

impl Read for PeekReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let window = self.fill_buf()?;
        let count = window.len().min(out.len());
        out[..count].copy_from_slice(&window[..count]);
        self.consume(count);
        Ok(count)
    }
}

/// One compression taken off.
pub(crate) struct Decompressor {
    codec: Codec,
    state: State,
    begun: bool,
}

enum State {
    Between(PeekReader),
    Gzip(Box<flate2::bufread::GzDecoder<PeekReader>>),
    Deflate(Box<flate2::bufread::DeflateDecoder<PeekReader>>),
    Bzip2(Box<bzip2::bufread::BzDecoder<PeekReader>>),
    Xz(Box<liblzma::bufread::XzDecoder<PeekReader>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, PeekReader>>),
    Done,
}

impl Decompressor {
    pub(crate) fn new(codec: Codec, source: PeekReader) -> Self {
        Decompressor { codec, state: State::Between(source), begun: false }
    }

    fn fault(&self, offset: u64, message: String) -> io::Error {
        StreamFault { layer: self.codec.name(), offset, truncated: false, message }.into()
    }

    fn cut_off(&self, offset: u64) -> io::Error {
        StreamFault { layer: self.codec.name(), offset, truncated: true, message: String::new() }
            .into()
    }

    /// Judges what follows and begins the next stream; `false` at the end of all.
    fn begin(&mut self, mut source: PeekReader) -> io::Result<bool> {
        if self.codec == Codec::Deflate {
            if !self.begun {
                self.begun = true;
                self.state = State::Deflate(Box::new(flate2::bufread::DeflateDecoder::new(source)));
                return Ok(true);
            }
            return Ok(false);
        }
        loop {
            let head = source.peek(8)?;
            if head.is_empty() {
                return Ok(false);
            }
            if skippable(head) && self.codec == Codec::Zstd {
                self.skip_frame(&mut source)?;
                continue;
            }
            if self.codec.begins(head) {
                break;
            }
            let zeros = head.iter().take_while(|&&c| c == 0).count();
            if !self.begun || zeros == 0 {
                let (at, name) = (source.taken(), self.codec.name());
                let message = format!(
                    "byte {at} of the {name} stream is neither zero padding nor the begin of \
                     another {name} stream: \
                     something was appended, or the file is damaged"
                );
                return Err(self.fault(at, message));
            }
            source.consume(zeros);
        }
        self.begun = true;
        self.state = match self.codec {
            Codec::Gzip => State::Gzip(Box::new(flate2::bufread::GzDecoder::new(source))),
            Codec::Bzip2 => State::Bzip2(Box::new(bzip2::bufread::BzDecoder::new(source))),
            Codec::Xz => State::Xz(Box::new(liblzma::bufread::XzDecoder::new(source))),
            Codec::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(source)?.single_frame();
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                State::Zstd(Box::new(decoder))
            }
            Codec::Deflate => {
                State::Deflate(Box::new(flate2::bufread::DeflateDecoder::new(source)))
            }
        };
        Ok(true)
    }

    fn skip_frame(&self, source: &mut PeekReader) -> io::Result<()> {
        let head = source.peek(8)?;
        let (here, length) =
            (head.len(), head.get(4..8).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        let Some(length) = length else { return Err(self.cut_off(source.taken() + here as u64)) };
        let mut left = u64::from(length) + 8;
        while left > 0 {
            let here = source.fill_buf()?.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            if here == 0 {
                return Err(self.cut_off(source.taken()));
            }
            source.consume(here);
            left -= here as u64;
        }
        Ok(())
    }

    /// The compressed bytes taken so far.
    fn offset(&self) -> u64 {
        match &self.state {
            State::Between(source) => source.taken(),
            State::Gzip(d) => d.get_ref().taken(),
            State::Deflate(d) => d.get_ref().taken(),
            State::Bzip2(d) => d.get_ref().taken(),
            State::Xz(d) => d.get_ref().taken(),
            State::Zstd(d) => d.get_ref().taken(),
            State::Done => 0,
        }
    }

    /// An error of a library, unless it came from below.
    fn judge(&self, error: io::Error) -> io::Error {
        if fault_within(&error).is_some() || error.raw_os_error().is_some() {
            return error;
        }
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return self.cut_off(self.offset());
        }
        let (at, name) = (self.offset(), self.codec.name());
        self.fault(at, format!("the {name} stream is damaged near its byte {at}: {error}"))
    }
}

impl Read for Decompressor {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            let result = match &mut self.state {
                State::Done => return Ok(0),
                State::Between(_) => {
                    let State::Between(source) = std::mem::replace(&mut self.state, State::Done)
                    else {
                        return Ok(0);
                    };
                    if !self.begin(source)? {
                        return Ok(0);
                    }
                    continue;
                }
                State::Gzip(d) => d.read(out),
                State::Deflate(d) => d.read(out),
                State::Bzip2(d) => d.read(out),
                State::Xz(d) => d.read(out),
                State::Zstd(d) => d.read(out),
            };
            match result {
                Ok(0) => {
                    self.state = match std::mem::replace(&mut self.state, State::Done) {
                        State::Gzip(d) => State::Between(d.into_inner()),
                        State::Deflate(d) => State::Between(d.into_inner()),
                        State::Bzip2(d) => State::Between(d.into_inner()),
                        State::Xz(d) => State::Between(d.into_inner()),
                        State::Zstd(d) => State::Between(d.finish()),
                        other => other,
                    };
                }
                Ok(count) => return Ok(count),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.judge(e)),
            }
        }
    }
}

/// Peels compressions, not archives, and counts them.
pub(crate) fn decompress_all(raw: Box<dyn Read + Send>) -> io::Result<(PeekReader, usize)> {
    let mut stream = PeekReader::new(raw);
    let mut layers = 0;
    while let Layer::Packed(codec) = identify(stream.peek(HEAD_BYTES)?) {
        if layers == MAX_LAYERS {
            let message = format!("more than {MAX_LAYERS} layers of compression");
            let fault = StreamFault { layer: codec.name(), offset: 0, truncated: false, message };
            return Err(fault.into());
        }
        stream = PeekReader::new(Box::new(Decompressor::new(codec, stream)));
        layers += 1;
    }
    Ok((stream, layers))
}

/// The fault that an error carries, also through the archive library's own wrapping.
pub(crate) fn fault_within(error: &io::Error) -> Option<StreamFault> {
    let mut next: Option<&(dyn std::error::Error + 'static)> = error.get_ref().map(|e| e as _);
    while let Some(inner) = next {
        if let Some(fault) = inner.downcast_ref::<StreamFault>() {
            return Some(fault.clone());
        }
        next = match inner.downcast_ref::<io::Error>() {
            Some(io) => io.get_ref().map(|e| e as _),
            None => inner.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_told_from_their_first_bytes() {
        assert_eq!(identify(b"\x1f\x8b\x08"), Layer::Packed(Codec::Gzip));
        assert_eq!(identify(b"BZh9xxxx"), Layer::Packed(Codec::Bzip2));
        assert_eq!(identify(b"BZhello"), Layer::Plain);
        assert_eq!(identify(b"\xfd7zXZ\0"), Layer::Packed(Codec::Xz));
        assert_eq!(identify(b"\x5a\x2a\x4d\x18"), Layer::Packed(Codec::Zstd));
        assert_eq!(identify(b"PK\x03\x04"), Layer::Zip);
        assert_eq!(identify(b"\x1f\x9d\x90"), Layer::Unsupported("compress (.Z)"));
        assert_eq!(identify(b"7z\xbc\xaf\x27\x1c"), Layer::Unsupported("7z"));
        assert_eq!(identify(b"128166372000000000,demo"), Layer::Plain);
        assert_eq!(identify(b""), Layer::Plain);
    }

    #[test]
    fn an_old_tar_is_known_by_its_checksum() {
        let mut header = [0u8; 512];
        header[..5].copy_from_slice(b"a.csv");
        header[124..135].copy_from_slice(b"00000000000");
        let sum: u64 = header.iter().map(|&c| u64::from(c)).sum::<u64>() + 8 * 32;
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        assert_eq!(identify(&header), Layer::Tar);
        header[0] = b'b';
        assert_eq!(identify(&header), Layer::Plain);
    }
}
