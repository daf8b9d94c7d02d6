//! Opens what the user names: a file, `-`, or `archive!glob`; peels compression and archives off,
//! up to four layers, and lists the traces in it.
//!
//! ```text
//!  root       where bytes lie: a file, a part of one, memory, a stream that can be had once
//!  readers    what an opened root is stacked from
//!  held       streams that must be had again: in memory, then in a temporary file, up to a limit
//!  waiting    a pipe with a name, which somebody may never write to
//!  tar, zip   the members of an archive
//!  catalogue  which members are wanted, what became of the others
//!  lister     from what was named down to its traces
//!  leaf       one trace
//! ```
//!
//! A name inside an archive is written `outer.tar!inner.csv.gz`. By default every regular member
//! that detection recognises is taken, in natural name order; the rest is listed as left out.
//! Members of a plain tar or zip are read where they lie; those of a compressed tar are kept in
//! memory up to a limit, and decompressed again beyond it. Only what can be read once, or not from
//! any place (an archive on standard input, a zip inside a compression), is written to disk.

mod catalogue;
mod faults;
mod held;
mod leaf;
mod lister;
mod readers;
mod root;
mod tar;
mod waiting;
mod zip;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use catalogue::Catalogue;
use faults::{data_error, io_error};
use lister::Lister;
use root::Root;

use crate::device_table::{natural_cmp, printable};
use crate::error::{Result, TraceError};
use crate::held::Budget;
use crate::options::ReaderOptions;

pub(crate) use leaf::Leaf;

/// What a path on the command line turned out to hold.
pub(crate) struct Listing {
    /// Its traces, in natural name order.
    pub(crate) leaves: Vec<Leaf>,
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
    budget: &mut Budget,
) -> Result<Listing> {
    if argument.as_os_str().is_empty() {
        let message = "a trace: expected a path, found an empty one (\"\")".to_owned();
        return Err(TraceError::Usage { message });
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

fn root_of(path: &Path, name: &str, interrupt: Option<&Arc<AtomicBool>>) -> Result<Root> {
    if path.as_os_str() == "-" {
        return Ok(Root::once(Box::new(io::stdin())));
    }
    let failed = |e| io_error(name, path, e);
    let facts = fs::metadata(path).map_err(failed)?;
    if facts.is_dir() {
        let folder = "is a folder; name the files in it";
        let source = io::Error::new(io::ErrorKind::IsADirectory, folder);
        return Err(TraceError::Io { path: path.to_owned(), source });
    }
    if facts.is_file() {
        return Ok(Root::File { path: path.to_owned(), length: facts.len() });
    }
    if let Some(pipe) = waiting::open(path, &facts, interrupt).map_err(failed)? {
        return Ok(Root::once(pipe));
    }
    // A pipe or a device: once, as standard input.
    Ok(Root::once(Box::new(File::open(path).map_err(failed)?)))
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
