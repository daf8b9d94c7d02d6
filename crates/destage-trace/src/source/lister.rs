//! Follows what the user named down to the traces in it.

use std::io;
use std::path::{Path, PathBuf};

use super::byte_source::ByteSource;
use super::catalogue::Catalogue;
use super::errors::{data_error, io_error};
use super::found_trace::FoundTrace;
use super::spooled::spool;
use super::tar::Archive;
use super::zip;
use crate::detect::{self, Detected};
use crate::error::Result;
use crate::format::Sample;
use crate::input::Input;
use crate::options::ReaderOptions;
use crate::source::unpack::{
    HEAD_BYTES, Layer, MAX_LAYERS, PeekReader, decompress_all, fault_within, identify,
};

/// Finds the traces of one file.
pub(super) struct Lister<'a> {
    /// The file on the command line.
    pub(super) path: PathBuf,
    pub(super) options: &'a ReaderOptions,
    pub(super) catalogue: Catalogue,
    /// The traces found so far.
    pub(super) leaves: Vec<FoundTrace>,
    /// An archive was met: what is found is a member.
    in_archive: bool,
}

impl<'a> Lister<'a> {
    pub(super) fn new(path: &Path, options: &'a ReaderOptions, catalogue: Catalogue) -> Self {
        Lister { path: path.to_owned(), options, catalogue, leaves: Vec::new(), in_archive: false }
    }

    /// Follows one root down to the traces in it; `layers` were unpacked before.
    pub(super) fn expand(&mut self, root: ByteSource, name: String, layers: usize) -> Result<()> {
        let path = self.path.clone();
        let failed = |e: io::Error| io_error(&name, &path, e);
        let raw = root.open(None).map_err(failed)?;
        let (mut stream, unpacked) = match decompress_all(raw) {
            Ok(opened) => opened,
            // Cut off before its first bytes: the reader of this leaf will say so, or take nothing.
            Err(e) if fault_within(&e).is_some_and(|f| f.truncated) => {
                return self.leaf(root, name, false, None);
            }
            Err(e) => return Err(failed(e)),
        };
        let layers = layers + unpacked;
        let head = stream.peek(HEAD_BYTES).map_err(failed)?;
        let layer = if is_empty_tar(head, &name) { Layer::Tar } else { identify(head) };
        let archive = matches!(layer, Layer::Tar | Layer::Zip);
        if layers + usize::from(archive) > MAX_LAYERS {
            let message = format!("more than {MAX_LAYERS} layers of compression and archives");
            return Err(data_error(&name, message, Some("unpack it first")));
        }
        match layer {
            Layer::Unsupported(what) => {
                let message = format!("this is {what}, which is not read");
                let hint = "repack it as gzip, bzip2, xz, zstd, zip or tar";
                Err(data_error(&name, message, Some(hint)))
            }
            Layer::Plain | Layer::Packed(_) => self.trace(root, stream, name, unpacked),
            Layer::Tar | Layer::Zip => {
                self.archive(root, stream, &name, unpacked, layer == Layer::Zip, layers + 1)
            }
        }
    }

    /// Adds a trace that is no archive. A stream that can be read only once goes on from here.
    fn trace(
        &mut self,
        root: ByteSource,
        stream: PeekReader,
        name: String,
        unpacked: usize,
    ) -> Result<()> {
        if matches!(root, ByteSource::Once(_)) {
            return self.leaf(ByteSource::once(Box::new(stream)), name, false, None);
        }
        let plain = unpacked == 0 && matches!(root, ByteSource::File { .. }) && !self.in_archive;
        let sample = self.in_archive.then_some(stream);
        self.leaf(root, name, plain, sample)
    }

    /// The members of an archive. Where it cannot be read as often, or from the place, that this
    /// takes, it is spooled first.
    fn archive(
        &mut self,
        root: ByteSource,
        stream: PeekReader,
        name: &str,
        unpacked: usize,
        is_zip: bool,
        layers: usize,
    ) -> Result<()> {
        let path = self.path.clone();
        let placed = unpacked == 0
            && matches!(
                root,
                ByteSource::File { .. } | ByteSource::Part { .. } | ByteSource::Spooled { .. }
            );
        let once = matches!(root, ByteSource::Once(_));
        let spooled = once || is_zip && !placed;
        let root =
            if spooled { spool(stream, name, &path, &mut self.catalogue.budget)? } else { root };
        self.in_archive = true;
        let before = self.catalogue.left_out.len();
        let members = if is_zip {
            zip::members(&root, name, &path, &mut self.catalogue)?
        } else {
            let allow_truncated = self.options.allow_truncated;
            let archive = Archive { name, path: &path, allow_truncated };
            archive.members(root, spooled || unpacked == 0, &mut self.catalogue)?
        };
        let silent = members.is_empty() && self.catalogue.left_out.len() == before;
        if silent && name != self.catalogue.file && !self.catalogue.is_named() {
            self.catalogue.leave_out(name, "an archive without files");
        }
        for (root, name) in members {
            self.expand(root, name, layers)?;
        }
        Ok(())
    }

    /// A trace, or a member that is none.
    fn leaf(
        &mut self,
        root: ByteSource,
        name: String,
        plain: bool,
        sample: Option<PeekReader>,
    ) -> Result<()> {
        let leaf = FoundTrace { name, path: self.path.clone(), root, plain };
        if let Some(stream) = sample
            && let Some(reason) = self.no_trace(&leaf, stream)
        {
            self.catalogue.leave_out(&leaf.name, &reason);
            return Ok(());
        }
        self.leaves.push(leaf);
        Ok(())
    }

    /// Why a member is left out; `None` if it is to be read. One that was named is always read.
    fn no_trace(&self, leaf: &FoundTrace, stream: PeekReader) -> Option<String> {
        if self.catalogue.is_named() {
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
}

/// A tar archive without members begins with its end, blocks of zeros: only the name identifies it.
fn is_empty_tar(head: &[u8], name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let called = name.contains(".tar") || name.ends_with(".tgz");
    called && head.len() >= HEAD_BYTES && head.iter().all(|&byte| byte == 0)
}
