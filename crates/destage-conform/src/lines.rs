//! The lines of a file of vectors, and why one is none.

use super::block::{BlockVector, block_vector};
use super::device::{DeviceVector, device_vector};
use super::ftl::{FtlVector, ftl_vector};
use super::json;
use super::kv::kv_vector;
use super::objects::ObjectVector;
use super::read::Malformed;
use super::tiers::tier_vector;
use super::tiers_device::tiers_device_vector;
use super::vector::{PageVector, VectorKind, kind, object, page_vector};
use destage_keys::printable;
use destage_replay::control::Control;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// A path on one line, whatever bytes are in it.
fn shown(path: &Path) -> String {
    printable(path.as_os_str().as_encoded_bytes())
}

/// Why vectors could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ConformError {
    /// The file is missing or cannot be opened (exit status 66).
    #[error("{}: {}", shown(path), unopened(source))]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file holds no vector, or cannot be read to its end (exit status 65).
    #[error("{}: {message}", shown(path))]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// A line is not a vector (exit status 65).
    #[error("{}:{line}: {message}", shown(path))]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Key, what was expected and what was found.
        message: String,
    },
    /// The emitted lines could not be written (exit status 74).
    #[error("the output could not be written: {0}")]
    Output(io::Error),
    /// The two directories decide differently, or a policy frees no frame: our own bug (exit
    /// status 70).
    #[error("{}:{line}: {message}", shown(path))]
    Bug {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Where they differ.
        message: String,
    },
    /// It was stopped (exit status 130).
    #[error("interrupted")]
    Interrupted,
}

/// A line of a file, for errors.
#[derive(Clone, Copy)]
pub(super) struct LineLocation<'a> {
    pub(super) path: &'a Path,
    pub(super) line: u64,
}

impl LineLocation<'_> {
    pub(super) fn malformed(self, message: impl ToString) -> ConformError {
        let message = message.to_string();
        ConformError::Line { path: self.path.to_path_buf(), line: self.line, message }
    }

    pub(super) fn bug(self, message: impl ToString) -> ConformError {
        let message = message.to_string();
        ConformError::Bug { path: self.path.to_path_buf(), line: self.line, message }
    }
}

/// A parsed line of a vector file.
pub(super) enum Entry {
    Page(Box<PageVector>),
    Block(Box<BlockVector>),
    Device(Box<DeviceVector>),
    Ftl(Box<FtlVector>),
    Objects(Box<dyn ObjectVector>),
}

impl Entry {
    /// Names of the vector and of its policy or FTL.
    pub(super) fn name(&self) -> (String, String) {
        match self {
            Entry::Page(vector) => (vector.name.clone(), vector.policy.clone()),
            Entry::Block(vector) => (vector.name.clone(), vector.policy.clone()),
            Entry::Device(vector) => (vector.name.clone(), vector.policy.clone()),
            Entry::Ftl(vector) => (vector.name.clone(), vector.ftl.name.to_string()),
            Entry::Objects(vector) => (vector.name().to_string(), vector.policies()),
        }
    }
}

/// Keys of a vector, of any kind, that say what must come out.
const EXPECTATIONS: [&str; 5] = ["decisions", "completions_ns", "steps", "counters", "final"];

/// The vector, and whether it expects anything.
fn entry(line: &[u8]) -> Result<(Entry, bool), Malformed> {
    let whole = |what: String| Malformed { key: String::new(), what };
    let line = line.trim_ascii_end();
    if line.is_empty() {
        return Err(whole("expected a JSON object, found an empty line".into()));
    }
    let json = json::parse(line)
        .map_err(|(column, what)| whole(format!("not JSON: {what} (column {column})")))?;
    let vector = object(&json)?;
    let entry = match kind(vector)? {
        VectorKind::Page => Entry::Page(Box::new(page_vector(&json)?)),
        VectorKind::Block => Entry::Block(Box::new(block_vector(&json)?)),
        VectorKind::Ftl => Entry::Ftl(Box::new(ftl_vector(&json)?)),
        VectorKind::Device => Entry::Device(Box::new(device_vector(&json)?)),
        VectorKind::Kv => Entry::Objects(Box::new(kv_vector(&json)?)),
        VectorKind::Tiers => Entry::Objects(Box::new(tier_vector(&json)?)),
        VectorKind::TiersDevice => Entry::Objects(Box::new(tiers_device_vector(&json)?)),
    };
    Ok((entry, EXPECTATIONS.iter().any(|&key| vector.contains_key(key))))
}

/// Why a file cannot be opened, in the words of the other commands.
fn unopened(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        _ => error.to_string(),
    }
}

/// Shows every line of a file: its place, its vector, and whether it expects anything.
pub(super) fn for_each_line(
    path: &Path,
    control: &Control,
    mut visit: impl FnMut(LineLocation<'_>, Entry, bool) -> Result<(), ConformError>,
) -> Result<(), ConformError> {
    let open = |source| ConformError::Open { path: path.to_path_buf(), source };
    let file = |message| ConformError::File { path: path.to_path_buf(), message };
    if path.is_dir() {
        return Err(file("expected a file of vectors, found a directory".into()));
    }
    let mut reader = BufReader::new(File::open(path).map_err(open)?);
    let mut bytes = Vec::new();
    let mut line = 0;
    loop {
        bytes.clear();
        let read = reader
            .read_until(b'\n', &mut bytes)
            .map_err(|error| file(format!("after line {line}: {error}")))?;
        if read == 0 {
            break;
        }
        if control.stop.load(Ordering::Relaxed) {
            return Err(ConformError::Interrupted);
        }
        line += 1;
        let place = LineLocation { path, line };
        let (entry, expects) = entry(&bytes).map_err(|what| place.malformed(what))?;
        visit(place, entry, expects)?;
    }
    if line == 0 {
        return Err(file("the file is empty: expected one vector a line".into()));
    }
    Ok(())
}
