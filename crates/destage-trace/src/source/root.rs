//! Where the bytes of a trace lie, before any peeling.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::faults::cut_off;
use super::readers::{CrcChecked, Cut, Metered, Store, Stretch, WholeFile, Window};
use crate::hooks::ReadMeter;
use crate::input::StreamFault;
use crate::peel::{Buffered, Codec, Peel, peel_all};

/// A stream that somebody may take, once.
pub(super) type Takeable = Arc<Mutex<Option<Box<dyn Read + Send>>>>;

/// Where bytes come from.
#[derive(Clone)]
pub(super) enum Root {
    /// A file on the command line.
    File { path: PathBuf, length: u64 },
    /// A stretch of one: a member that lies in it as it is.
    Part { path: PathBuf, start: u64, length: u64, layer: &'static str },
    /// Bytes that were taken off a stream; `cut` is the fault that ended them early.
    Held { store: Store, start: u64, end: u64, cut: Option<StreamFault> },
    /// A stream that can be had once.
    Once(Takeable),
    /// A member of a compressed archive, beyond what is kept in memory.
    Again { outer: Arc<Root>, skip: u64, length: u64 },
    /// A packed member of a zip archive.
    Zipped { packed: Arc<Root>, codec: Codec, crc: u32 },
}

impl Root {
    /// A stream that can be had once.
    pub(super) fn once(stream: Box<dyn Read + Send>) -> Root {
        Root::Once(Arc::new(Mutex::new(Some(stream))))
    }

    /// Bytes in memory.
    pub(super) fn memory(bytes: Vec<u8>, cut: Option<StreamFault>) -> Root {
        let end = bytes.len() as u64;
        Root::Held { store: Store::Memory(Arc::new(bytes)), start: 0, end, cut }
    }

    /// Bytes on disk or in memory that reading it to the end moves; `None` if unknown.
    pub(super) fn raw_bytes(&self) -> Option<u64> {
        match self {
            Root::File { length, .. } | Root::Part { length, .. } => Some(*length),
            Root::Held { start, end, .. } => Some(end - start),
            Root::Once(_) => None,
            Root::Again { outer, .. } => outer.raw_bytes(),
            Root::Zipped { packed, .. } => packed.raw_bytes(),
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
            Root::File { path, length } => {
                let file = File::open(path)?;
                metered(Box::new(WholeFile { file, length: *length, done: 0 }))
            }
            Root::Part { path, start, length, layer } => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(*start))?;
                metered(Box::new(Stretch::new(file, *length, layer)))
            }
            Root::Held { store, start, end, cut } => {
                let window = Window::new(store.clone(), *start, *end);
                metered(match cut {
                    Some(fault) => Box::new(Cut { inner: window, fault: fault.clone() }),
                    None => Box::new(window),
                })
            }
            Root::Once(stream) => {
                let taken = stream.lock().ok().and_then(|mut guard| guard.take());
                let again = || io::Error::other("standard input can be read only once");
                metered(taken.ok_or_else(again)?)
            }
            Root::Again { outer, skip, length } => {
                let (mut stream, _) = peel_all(outer.open(meter)?)?;
                let skipped = io::copy(&mut (&mut stream).take(*skip), &mut io::sink())?;
                if skipped < *skip {
                    return Err(cut_off("tar", skipped).into());
                }
                Box::new(Stretch::new(stream, *length, "tar"))
            }
            Root::Zipped { packed, codec, crc } => {
                let stream = Peel::new(*codec, Buffered::new(packed.open(meter)?));
                Box::new(CrcChecked::new(stream, *crc))
            }
        })
    }

    /// `length` bytes from `skip` on, as they lie in a file or in what is held; `None` where they
    /// have no place of their own. `layer` is the archive whose member this is.
    pub(super) fn part(&self, skip: u64, length: u64, layer: &'static str) -> Option<Root> {
        match self {
            Root::File { path, .. } => {
                Some(Root::Part { path: path.clone(), start: skip, length, layer })
            }
            Root::Part { path, start, .. } => {
                Some(Root::Part { path: path.clone(), start: start + skip, length, layer })
            }
            Root::Held { store, start, end, cut } => {
                let from = start.saturating_add(skip).min(*end);
                let to = from.saturating_add(length).min(*end);
                let short = to - from < length;
                let ended = short.then(|| cut.clone().unwrap_or(cut_off(layer, end - start)));
                Some(Root::Held { store: store.clone(), start: from, end: to, cut: ended })
            }
            Root::Once(_) | Root::Again { .. } | Root::Zipped { .. } => None,
        }
    }
}
