//! Where the bytes of a trace lie, before decompression.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::errors::cut_off;
use super::readers::{CrcChecked, ExactLength, Metered, Store, Truncated, WholeFile, Window};
use crate::files::disk::File;
use crate::hooks::ReadMeter;
use crate::input::StreamFault;
use crate::source::unpack::{Codec, Decompressor, PeekReader, decompress_all};

/// A stream that can be read once.
pub(super) type OnceStream = Arc<Mutex<Option<Box<dyn Read + Send>>>>;

/// Source of a trace's bytes.
#[derive(Clone)]
pub(super) enum ByteSource {
    /// A file on the command line.
    File { path: PathBuf, length: u64 },
    /// A stretch of one: a member that lies in it as it is.
    Part { path: PathBuf, start: u64, length: u64, layer: &'static str },
    /// Bytes that were taken off a stream; `cut` is the fault that ended them early.
    Spooled { store: Store, start: u64, end: u64, cut: Option<StreamFault> },
    /// A stream that can be had once.
    Once(OnceStream),
    /// A member of a compressed archive, beyond what is kept in memory.
    Again { outer: Arc<ByteSource>, skip: u64, length: u64 },
    /// A packed member of a zip archive.
    Zipped { packed: Arc<ByteSource>, codec: Codec, crc: u32 },
}

impl ByteSource {
    /// A stream that can be had once.
    pub(super) fn once(stream: Box<dyn Read + Send>) -> ByteSource {
        ByteSource::Once(Arc::new(Mutex::new(Some(stream))))
    }

    /// Bytes in memory.
    pub(super) fn memory(bytes: Vec<u8>, cut: Option<StreamFault>) -> ByteSource {
        let end = bytes.len() as u64;
        ByteSource::Spooled { store: Store::Memory(Arc::new(bytes)), start: 0, end, cut }
    }

    /// Bytes on disk or in memory that reading it to the end moves; `None` if unknown.
    pub(super) fn raw_bytes(&self) -> Option<u64> {
        match self {
            ByteSource::File { length, .. } | ByteSource::Part { length, .. } => Some(*length),
            ByteSource::Spooled { start, end, .. } => Some(end - start),
            ByteSource::Once(_) => None,
            ByteSource::Again { outer, .. } => outer.raw_bytes(),
            ByteSource::Zipped { packed, .. } => packed.raw_bytes(),
        }
    }

    /// A reader of the bytes, from the first; `meter` counts them.
    pub(super) fn open(&self, meter: Option<&Arc<ReadMeter>>) -> io::Result<Box<dyn Read + Send>> {
        let metered = |inner: Box<dyn Read + Send>| -> Box<dyn Read + Send> {
            match meter {
                Some(meter) => Box::new(Metered { inner, meter: Arc::clone(meter) }),
                None => inner,
            }
        };
        Ok(match self {
            ByteSource::File { path, length } => {
                let file = File::open(path)?;
                metered(Box::new(WholeFile { file, length: *length, done: 0 }))
            }
            ByteSource::Part { path, start, length, layer } => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(*start))?;
                metered(Box::new(ExactLength::new(file, *length, layer)))
            }
            ByteSource::Spooled { store, start, end, cut } => {
                let window = Window::new(store.clone(), *start, *end);
                metered(match cut {
                    Some(fault) => Box::new(Truncated { inner: window, fault: fault.clone() }),
                    None => Box::new(window),
                })
            }
            ByteSource::Once(stream) => {
                let taken = stream.lock().ok().and_then(|mut guard| guard.take());
                let again = || io::Error::other("standard input can be read only once");
                metered(taken.ok_or_else(again)?)
            }
            ByteSource::Again { outer, skip, length } => {
                let (mut stream, _) = decompress_all(outer.open(meter)?)?;
                let skipped = io::copy(&mut (&mut stream).take(*skip), &mut io::sink())?;
                if skipped < *skip {
                    return Err(cut_off("tar", skipped).into());
                }
                Box::new(ExactLength::new(stream, *length, "tar"))
            }
            ByteSource::Zipped { packed, codec, crc } => {
                let stream = Decompressor::new(*codec, PeekReader::new(packed.open(meter)?));
                Box::new(CrcChecked::new(stream, *crc))
            }
        })
    }

    /// `length` bytes from `skip` on, as they lie in a file or a spool; `None` where they
    /// have no place of their own. `layer` is the archive whose member this is.
    pub(super) fn part(&self, skip: u64, length: u64, layer: &'static str) -> Option<ByteSource> {
        match self {
            ByteSource::File { path, .. } => {
                Some(ByteSource::Part { path: path.clone(), start: skip, length, layer })
            }
            ByteSource::Part { path, start, .. } => {
                Some(ByteSource::Part { path: path.clone(), start: start + skip, length, layer })
            }
            ByteSource::Spooled { store, start, end, cut } => {
                let from = start.saturating_add(skip).min(*end);
                let to = from.saturating_add(length).min(*end);
                let short = to - from < length;
                let ended = short.then(|| cut.clone().unwrap_or(cut_off(layer, end - start)));
                Some(ByteSource::Spooled { store: store.clone(), start: from, end: to, cut: ended })
            }
            ByteSource::Once(_) | ByteSource::Again { .. } | ByteSource::Zipped { .. } => None,
        }
    }
}
