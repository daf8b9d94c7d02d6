//! One trace that was found: a file, or a member of an archive.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use super::byte_source::ByteSource;
use super::errors::io_error;
use crate::error::Result;
use crate::hooks::ReadMeter;
use crate::input::Input;
use crate::options::ReaderOptions;
use crate::source::unpack::decompress_all;

/// One trace: a file, or a member of an archive.
#[derive(Clone)]
pub(crate) struct FoundTrace {
    /// Name in messages.
    pub(crate) name: String,
    /// The file on the command line.
    pub(super) path: PathBuf,
    pub(super) root: ByteSource,
    /// Whether the bytes of `path` are the trace's, as stored.
    pub(super) plain: bool,
}

impl FoundTrace {
    /// Bytes that reading it moves, for the progress bar; `None` if unknown.
    pub(crate) fn raw_bytes(&self) -> Option<u64> {
        self.root.raw_bytes()
    }

    /// A window over the unpacked bytes.
    pub(crate) fn open(
        &self,
        options: &ReaderOptions,
        meter: Option<&Arc<ReadMeter>>,
    ) -> Result<Input> {
        let failed = |source: io::Error| io_error(&self.name, &self.path, source);
        let raw = self.root.open(meter).map_err(failed)?;
        let (stream, size): (Box<dyn Read + Send>, _) = if self.plain {
            (raw, self.root.raw_bytes())
        } else {
            (Box::new(decompress_all(raw).map_err(failed)?.0), None)
        };
        Ok(Input::new(self.name.clone(), self.path.clone(), stream)
            .with_size(size)
            .with_plain_path(self.plain.then(|| self.path.clone()))
            // The length of a stream that is read once is unknown.
            .with_at_hand(self.root.raw_bytes().is_some())
            .with_allow_truncated(options.allow_truncated))
    }
}
