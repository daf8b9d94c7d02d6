//! Opens what the user names: a file, `-`, or `archive!glob`; unpacks compression and archives,
//! up to four layers, and lists the traces in it.
//!
//! ```text
//!  byte_source  a file, a part of one, a spool, a stream that is read once
//!  readers      readers that an opened source is stacked from
//!  unpack       decompression, detected from content
//!  spooled      streams that must be read again: in memory, then in a temporary file
//!  named_pipe   a pipe with a name, whose writer may come late
//!  tar, zip     members of an archive
//!  catalogue    members wanted and members left out
//!  lister       from a path of the command line to its traces
//!  errors       errors as the user sees them
//!  found_trace  one trace: a file, or a member of an archive
//! ```
//!
//! A name inside an archive is written `outer.tar!inner.csv.gz`. By default every regular member
//! that detection recognises is taken, in natural name order; the rest is listed as left out.
//! Members of a plain tar or zip are read where they lie; those of a compressed tar are kept in
//! memory up to a limit, and decompressed again beyond it. Only what can be read once, or not from
//! any place (an archive on standard input, a zip inside a compression), is written to disk.

mod byte_source;
mod catalogue;
mod errors;
mod found_trace;
mod lister;
mod named_pipe;
mod readers;
mod spooled;
mod tar;
mod unpack;
mod zip;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use byte_source::ByteSource;
use catalogue::Catalogue;
use errors::{data_error, io_error};
use lister::Lister;

use crate::error::{Result, TraceError};
use crate::files::disk::{self, File};
use crate::input::stream_spool::SpoolBudget;
use crate::options::ReaderOptions;
use crate::record::natural_cmp;
use destage_keys::printable;

pub(crate) use found_trace::FoundTrace;

/// Traces found at a path of the command line.
pub(crate) struct Listing {
    /// Traces of the file, in natural name order.
    pub(crate) leaves: Vec<FoundTrace>,
    /// Members that are no traces, with the reason.
    pub(crate) left_out: Vec<String>,
}

/// Lists the traces in what the user named; what archives take comes off the budget.
///
/// # Errors
///
/// No such file, a folder, an archive without a trace or with an encrypted member, a compression or
/// archive that is not read, more than four layers, more than the budget.
pub(crate) fn list(
    argument: &Path,
    options: &ReaderOptions,
    interrupt: Option<&Arc<AtomicBool>>,
    budget: &mut SpoolBudget,
) -> Result<Listing> {
    if argument.as_os_str().is_empty() {
        return Err(TraceError::usage("a trace: expected a path, found an empty one (\"\")"));
    }
    let (path, glob) = split_glob(argument);
    let name = printable(path.as_os_str().as_encoded_bytes());
    let root = root_of(&path, &name, interrupt)?;
    let catalogue = Catalogue::new(&name, glob.as_deref(), *budget);
    let mut lister = Lister::new(&path, options, catalogue);
    lister.expand(root, name.clone(), 0)?;
    let Lister { mut leaves, catalogue, .. } = lister;
    *budget = catalogue.budget;
    if leaves.is_empty() {
        let hint = "archive!glob selects members, --format says what they are";
        return Err(data_error(&name, catalogue.nothing(), Some(hint)));
    }
    leaves.sort_by(|a, b| natural_cmp(a.name.as_bytes(), b.name.as_bytes()));
    Ok(Listing { leaves, left_out: catalogue.left_out })
}

fn root_of(path: &Path, name: &str, interrupt: Option<&Arc<AtomicBool>>) -> Result<ByteSource> {
    if path.as_os_str() == "-" {
        return Ok(ByteSource::once(Box::new(io::stdin())));
    }
    let failed = |e| io_error(name, path, e);
    let facts = disk::metadata(path).map_err(failed)?;
    if facts.is_dir() {
        let folder = "is a folder; name the files in it";
        let source = io::Error::new(io::ErrorKind::IsADirectory, folder);
        return Err(TraceError::Io { path: path.to_owned(), source });
    }
    if facts.is_file() {
        return Ok(ByteSource::File { path: path.to_owned(), length: facts.len() });
    }
    if let Some(pipe) = named_pipe::open(path, &facts, interrupt).map_err(failed)? {
        return Ok(ByteSource::once(pipe));
    }
    // A pipe or a device: once, as standard input.
    Ok(ByteSource::once(Box::new(File::open(path).map_err(failed)?)))
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
