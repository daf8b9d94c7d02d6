//! The members of a tar archive.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::byte_source::ByteSource;
use super::catalogue::Catalogue;
use super::errors::{cut_off, data_error, io_error};
use super::readers::EndNoted;
use crate::error::Result;
use crate::input::StreamFault;
use crate::source::unpack::{PeekReader, decompress_all, fault_within};
use destage_keys::printable;

/// An archive that is opened: where it lies, and what messages call it.
pub(super) struct Archive<'a> {
    pub(super) name: &'a str,
    /// The file on the command line.
    pub(super) path: &'a Path,
    pub(super) allow_truncated: bool,
}

impl Archive<'_> {
    /// The fault of an archive that ends early; `None` if `error` says something else. The end of
    /// the stream was `met` when the library complained.
    fn cut(&self, error: &io::Error, met: bool, offset: u64) -> Option<StreamFault> {
        match fault_within(error) {
            Some(fault) => fault.truncated.then_some(fault),
            None => (met || error.kind() == io::ErrorKind::UnexpectedEof)
                .then(|| cut_off("tar", offset)),
        }
    }

    /// The regular members that are wanted. `direct`: the archive's bytes are those of `root`, not
    /// unpacked from them, so that members can be read where they lie.
    pub(super) fn members(
        &self,
        root: ByteSource,
        direct: bool,
        catalogue: &mut Catalogue,
    ) -> Result<Vec<(ByteSource, String)>> {
        let unreadable = |e: io::Error| io_error(self.name, self.path, e);
        let raw = root.open(None).map_err(unreadable)?;
        let stream =
            if direct { PeekReader::new(raw) } else { decompress_all(raw).map_err(unreadable)?.0 };
        let (stream, met) = EndNoted::new(stream);
        let failed = |e: io::Error| match (self.cut(&e, met.get(), 0), fault_within(&e)) {
            (Some(cut), _) => io_error(self.name, self.path, cut.into()),
            (None, Some(_)) => unreadable(e),
            (None, None) => data_error(self.name, format!("the tar archive is damaged: {e}"), None),
        };
        let mut archive = tar::Archive::new(stream);
        let outer = Arc::new(root);
        let mut members = Vec::new();
        for entry in archive.entries().map_err(failed)? {
            let mut entry = match entry {
                Ok(entry) => entry,
                // Cut off between members: what came before can be used.
                Err(e) if self.allow_truncated && self.cut(&e, met.get(), 0).is_some() => break,
                Err(e) => return Err(failed(e)),
            };
            let member = printable(&entry.path_bytes());
            let name = format!("{}!{member}", self.name);
            if !entry.header().entry_type().is_file() {
                catalogue.leave_out(&name, "not a regular file");
                continue;
            }
            if !catalogue.wanted(self.name, &member) {
                continue;
            }
            let (skip, length) = (entry.raw_file_position(), entry.size());
            let part = if direct { outer.part(skip, length, "tar") } else { None };
            let root = match part {
                Some(part) => part,
                None if catalogue.budget.take_memory(length) => {
                    let cut_at = |e: &io::Error, at| self.cut(e, met.get(), at);
                    in_memory(&mut entry, skip, length, cut_at).map_err(failed)?
                }
                None => ByteSource::Again { outer: Arc::clone(&outer), skip, length },
            };
            let ended = matches!(&root, ByteSource::Spooled { cut: Some(_), .. });
            members.push((root, name));
            if ended {
                break; // nothing can follow; the member's reader says where
            }
        }
        Ok(members)
    }
}

/// A member's bytes, with the fault that ends them if they are not all there.
fn in_memory(
    entry: &mut impl Read,
    skip: u64,
    length: u64,
    cut_at: impl Fn(&io::Error, u64) -> Option<StreamFault>,
) -> io::Result<ByteSource> {
    let mut bytes = Vec::new();
    let cut = match entry.read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 == length => None,
        Ok(_) => Some(cut_off("tar", skip + bytes.len() as u64)),
        Err(e) => match (fault_within(&e), cut_at(&e, skip + bytes.len() as u64)) {
            // What is wrong below is the member's to say, where it comes to it.
            (Some(fault), _) => Some(fault),
            (None, Some(cut)) => Some(cut),
            (None, None) => return Err(e),
        },
    };
    Ok(ByteSource::memory(bytes, cut))
}
