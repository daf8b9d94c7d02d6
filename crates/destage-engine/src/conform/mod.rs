//! Conformance vectors: tiny traces with every decision written out, run and compared.
//!
//! Layout of the files: `docs/spec/README.md`. Page vectors run twice, over the hashed directory
//! with the vector's own page numbers and over dense ids through the replay loop; both must decide
//! and count as the vector says; so do block vectors. [`emit`] writes what we decide instead of
//! comparing it, so that anyone can compare it with anything.
//!
//! ```text
//!  json    one line of JSON, no key twice
//!  read    what a line says, by serde, with the path of what is wrong
//!  vector  page vectors, and which kind a line is of
//!  run     a vector through a policy, over either directory
//!  block   vectors of block policies: what they say, and their runs
//!  device  vectors of kind device: what they say, and their runs
//!  ftl     the same of kind FTL
//!  report  where vectors differ
//! ```

mod block;
mod device;
mod ftl;
mod json;
mod read;
mod report;
mod run;
#[cfg(test)]
mod tests;
mod vector;

pub use block::{BlockDecision, BlockOutcome, BlockVector};
pub use device::{DeviceDecision, DeviceOutcome, DeviceVector};
pub use ftl::{FtlOutcome, FtlVector};
pub use report::{Difference, FileReport, Found, Over, Report};
pub use run::{Fault, Outcome, run_vector};
pub use vector::{COUNTERS, Decision, Expected, PageCounters, PageVector};

use crate::control::Control;
use crate::error::RunError;
use block::{BlockRuns, Refused, block_vector, run_block};
use destage_core::Hashed;
use destage_policies::{BuildError, Setup, build, check_params};
use device::{device_vector, run_device};
use ftl::ftl_vector;
use read::Malformed;
use report::first_difference;
use run::{Dense, DenseRun, HashedRun};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use vector::{Kind, kind, object, page_vector};

/// Why vectors could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ConformError {
    /// The file is missing or cannot be opened (exit status 66).
    #[error("{}: {}", path.display(), unopened(source))]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file holds no vector, or cannot be read to its end (exit status 65).
    #[error("{}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// A line is not a vector (exit status 65).
    #[error("{}:{line}: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Key, what was expected and what was found.
        message: String,
    },
    /// What was emitted could not be written (exit status 74).
    #[error("the output could not be written: {0}")]
    Output(io::Error),
    /// The two directories decide differently, or a policy frees no frame: our own bug (exit
    /// status 70).
    #[error("{}:{line}: {message}", path.display())]
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

/// Runs the vectors of these files through the built-in policies and compares.
///
/// # Errors
///
/// [`ConformError`] at the first line that is not a vector. A vector that differs is no error.
pub fn conform(files: &[PathBuf], control: &Control) -> Result<Report, ConformError> {
    report_on(files, control, |entry, place| {
        let vector = match entry {
            Entry::Page(vector) => vector,
            Entry::Block(vector) => {
                let BlockRuns { dense, hashed } = run_both(vector, place, control)?;
                let found = vector.first_difference(&dense);
                return Ok(Compared::Found {
                    found: over_both(found, vector.first_difference(&hashed)),
                    not_compared: vector.not_compared(&dense),
                });
            }
            Entry::Device(vector) => {
                let outcome = run_on_device(vector, place, control)?;
                let found = vector.first_difference(&outcome);
                return Ok(Compared::Found {
                    found: found.map(|found| (Over::Device, found)),
                    not_compared: vector.not_compared(&outcome),
                });
            }
            Entry::Ftl(vector) => {
                let outcome = run_ftl(vector, place, control)?;
                let found = vector.first_difference(&outcome);
                return Ok(Compared::Found {
                    found: found.map(|found| (Over::Ftl, found)),
                    not_compared: vector.not_compared(&outcome),
                });
            }
        };
        let Runs { dense, hashed } = run_built_in(vector, place, control)?;
        let dense = first_difference(vector, &dense);
        let found = over_both(dense, first_difference(vector, &hashed));
        Ok(Compared::Found { found, not_compared: vector.unknown_keys.clone() })
    })
}

/// What the runs over both directories differ in.
fn over_both(dense: Option<Found>, hashed: Option<Found>) -> Option<(Over, Found)> {
    match (dense, hashed) {
        (Some(dense), Some(hashed)) if dense == hashed => Some((Over::Both, dense)),
        (Some(dense), _) => Some((Over::Dense, dense)),
        (None, Some(hashed)) => Some((Over::Hashed, hashed)),
        (None, None) => None,
    }
}

/// Runs the page vectors of these files through a policy of the user's own and compares.
///
/// `run` makes a fresh policy for each vector, usually by [`run_vector`]. With `only`, vectors of
/// policies with another name are skipped.
///
/// # Errors
///
/// As [`conform`]. A [`Fault`] of the policy counts as a difference.
pub fn conform_own(
    files: &[PathBuf],
    only: Option<&str>,
    control: &Control,
    mut run: impl FnMut(&PageVector) -> Result<Outcome, Fault>,
) -> Result<Report, ConformError> {
    report_on(files, control, |entry, _| {
        let vector = match entry {
            Entry::Page(vector) => vector,
            Entry::Block(_) => {
                return Ok(Compared::Skipped("it is about a policy of erase blocks".into()));
            }
            Entry::Device(_) => return Ok(Compared::Skipped("it needs the device".into())),
            Entry::Ftl(_) => return Ok(Compared::Skipped("it is of an FTL".into())),
        };
        if let Some(only) = only
            && vector.policy != only
        {
            return Ok(Compared::Skipped(format!("not a vector of {only}")));
        }
        let found = match run(vector) {
            Ok(outcome) => first_difference(vector, &outcome),
            Err(fault) => Some((&fault).into()),
        };
        Ok(Compared::Found {
            found: found.map(|found| (Over::Own, found)),
            not_compared: vector.unknown_keys.clone(),
        })
    })
}

/// Runs every vector of a file and writes what was decided, in the vectors' own layout, one line
/// per line; compares nothing, so that expectations may be absent.
///
/// # Errors
///
/// [`ConformError`] at the first line that is not a vector; what came before it has been written.
pub fn emit(input: &Path, output: &mut dyn Write, control: &Control) -> Result<(), ConformError> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Emitted<'a> {
        Run {
            line: u64,
            decisions: &'a [Decision],
            counters: PageCounters,
        },
        Block {
            line: u64,
            #[serde(flatten)]
            outcome: &'a BlockOutcome,
        },
        Device {
            line: u64,
            decisions: &'a [DeviceDecision],
            completions_ns: &'a [u64],
            counters: &'a serde_json::Map<String, serde_json::Value>,
        },
        Ftl {
            line: u64,
            steps: &'a [[u64; 3]],
            counters: &'a serde_json::Map<String, serde_json::Value>,
        },
    }
    let mut write = |line: &Emitted<'_>| {
        serde_json::to_writer(&mut *output, line)
            .map_err(io::Error::from)
            .and_then(|()| output.write_all(b"\n"))
            .map_err(ConformError::Output)
    };
    for_each_line(input, control, |place, entry, _| match entry {
        Entry::Block(vector) => {
            let BlockRuns { dense, hashed } = run_both(&vector, place, control)?;
            if let Some(differs) = vector.claim(&dense).first_difference(&hashed) {
                let what = format!("dense ids (expected) and hashed pages (got): {differs}");
                return Err(place.bug(what));
            }
            write(&Emitted::Block { line: place.line, outcome: &dense })
        }
        Entry::Device(vector) => {
            let outcome = run_on_device(&vector, place, control)?;
            write(&Emitted::Device {
                line: place.line,
                decisions: &outcome.decisions,
                completions_ns: &outcome.completions_ns,
                counters: &outcome.counters,
            })
        }
        Entry::Ftl(vector) => {
            let outcome = run_ftl(&vector, place, control)?;
            write(&Emitted::Ftl {
                line: place.line,
                steps: &outcome.steps,
                counters: &outcome.counters,
            })
        }
        Entry::Page(vector) => {
            let Runs { dense, hashed } = run_built_in(&vector, place, control)?;
            if let Some(differs) = first_difference(&claim(*vector, &dense), &hashed) {
                let what = format!("dense ids (expected) and hashed pages (got): {differs}");
                return Err(place.bug(what));
            }
            let Outcome { decisions, counters } = &dense;
            write(&Emitted::Run { line: place.line, decisions, counters: *counters })
        }
    })?;
    output.flush().map_err(ConformError::Output)
}

/// The vector with what one run made of it as its expectation.
fn claim(vector: PageVector, outcome: &Outcome) -> PageVector {
    let decisions = outcome.decisions.iter().cloned().map(Expected::from).collect();
    PageVector { decisions: Some(decisions), counters: Some(outcome.counters), ..vector }
}

/// A line of a file, for errors.
#[derive(Clone, Copy)]
struct Place<'a> {
    path: &'a Path,
    line: u64,
}

impl Place<'_> {
    fn malformed(self, message: impl ToString) -> ConformError {
        let message = message.to_string();
        ConformError::Line { path: self.path.to_path_buf(), line: self.line, message }
    }

    fn bug(self, message: impl ToString) -> ConformError {
        let message = message.to_string();
        ConformError::Bug { path: self.path.to_path_buf(), line: self.line, message }
    }
}

/// What a line asks for.
enum Entry {
    Page(Box<PageVector>),
    Block(Box<BlockVector>),
    Device(Box<DeviceVector>),
    Ftl(Box<FtlVector>),
}

impl Entry {
    /// Names of the vector and of its policy or FTL.
    fn name(&self) -> (String, String) {
        match self {
            Entry::Page(vector) => (vector.name.clone(), vector.policy.clone()),
            Entry::Block(vector) => (vector.name.clone(), vector.policy.clone()),
            Entry::Device(vector) => (vector.name.clone(), vector.policy.clone()),
            Entry::Ftl(vector) => (vector.name.clone(), vector.ftl.name.to_string()),
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
        .map_err(|(column, what)| whole(format!("no JSON: {what} (column {column})")))?;
    let vector = object(&json)?;
    let entry = match kind(vector)? {
        Kind::Page => Entry::Page(Box::new(page_vector(&json)?)),
        Kind::Block => Entry::Block(Box::new(block_vector(&json)?)),
        Kind::Ftl => Entry::Ftl(Box::new(ftl_vector(&json)?)),
        Kind::Device => Entry::Device(Box::new(device_vector(&json)?)),
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

fn for_each_line(
    path: &Path,
    control: &Control,
    mut visit: impl FnMut(Place<'_>, Entry, bool) -> Result<(), ConformError>,
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
        let place = Place { path, line };
        let (entry, expects) = entry(&bytes).map_err(|what| place.malformed(what))?;
        visit(place, entry, expects)?;
    }
    if line == 0 {
        return Err(file("the file is empty: expected one vector a line".into()));
    }
    Ok(())
}

/// What comparing a vector showed.
enum Compared {
    Skipped(String),
    Found { found: Option<(Over, Found)>, not_compared: Vec<String> },
}

fn report_on(
    files: &[PathBuf],
    control: &Control,
    mut compare: impl FnMut(&Entry, Place<'_>) -> Result<Compared, ConformError>,
) -> Result<Report, ConformError> {
    let mut report = Report::default();
    for path in files {
        let mut file = FileReport { path: path.display().to_string(), ..FileReport::default() };
        for_each_line(path, control, |place, entry, expects| {
            if !expects {
                // Whatever it decides would pass.
                *file.skipped.entry("nothing is expected of it".into()).or_default() += 1;
                return Ok(());
            }
            let (found, not_compared) = match compare(&entry, place)? {
                Compared::Skipped(reason) => {
                    *file.skipped.entry(reason).or_default() += 1;
                    return Ok(());
                }
                Compared::Found { found, not_compared } => (found, not_compared),
            };
            match found {
                None => file.passed += 1,
                Some((over, found)) => {
                    file.failed += 1;
                    let (name, policy) = entry.name();
                    let line = place.line;
                    file.differences.push(Difference { line, name, policy, over, found });
                }
            }
            for key in not_compared {
                *file.not_compared.entry(key).or_default() += 1;
            }
            Ok(())
        })?;
        report.files.push(file);
    }
    Ok(report)
}

/// Runs a device vector; what stops it is an error of its line, or of ours.
fn run_on_device(
    vector: &DeviceVector,
    place: Place<'_>,
    control: &Control,
) -> Result<DeviceOutcome, ConformError> {
    let outcome = run_device(vector).map_err(|error| match error {
        RunError::Bug(_) | RunError::Broken(_) => place.bug(error),
        RunError::Interrupted => ConformError::Interrupted,
        RunError::Build(_) | RunError::Impossible(_) => place.malformed(error),
    })?;
    control.accesses_done.fetch_add(outcome.decisions.len() as u64, Ordering::Relaxed);
    Ok(outcome)
}

/// Runs an FTL vector; what stops it is an error of its line.
fn run_ftl(
    vector: &FtlVector,
    place: Place<'_>,
    control: &Control,
) -> Result<FtlOutcome, ConformError> {
    let outcome = vector.run().map_err(|error| place.malformed(format!("ops: {error}")))?;
    control.accesses_done.fetch_add(outcome.steps.len() as u64, Ordering::Relaxed);
    Ok(outcome)
}

/// Runs a block vector over both directories.
fn run_both(
    vector: &BlockVector,
    place: Place<'_>,
    control: &Control,
) -> Result<BlockRuns, ConformError> {
    let runs = run_block(vector).map_err(|refused| match refused {
        Refused::Malformed(what) => place.malformed(what),
        Refused::Fault(fault) => place.bug(Found::from(&fault)),
    })?;
    control.accesses_done.fetch_add(vector.accesses(), Ordering::Relaxed);
    Ok(runs)
}

/// Outcomes of a vector through the built-in policy that it names.
struct Runs {
    dense: Outcome,
    hashed: Outcome,
}

fn run_built_in(
    vector: &PageVector,
    place: Place<'_>,
    control: &Control,
) -> Result<Runs, ConformError> {
    let refused = |error: BuildError| {
        let key = match &error {
            BuildError::Unknown(_) => "policy",
            BuildError::Param(_) => "params",
        };
        place.malformed(format!("{key}: {error}"))
    };
    let name = vector.policy.as_str();
    if destage_policies::needs(name).is_ok_and(|needs| needs.device()) {
        let what = "it looks at the device, of which a page vector has none";
        return Err(place.malformed(format!("policy: {name}: {what}")));
    }
    let given = vector.params.iter().map(|(key, value)| (key.as_str(), value));
    let params = check_params(name, given).map_err(refused)?;
    let dense = Dense::new(vector);
    let trace_pages = Some(dense.pages().into());
    let setup = Setup { params, trace_pages, ..Setup::new(vector.frames) };
    // Hashed first: it notices a policy that frees no frame, where the replay loop would not end.
    let hashed = build(name, &setup, Hashed::new(), HashedRun(vector))
        .map_err(refused)?
        .map_err(|fault| place.bug(Found::from(&fault)))?;
    let visitor = DenseRun { vector, dense: &dense, stop: &control.stop };
    let directory = destage_core::Dense::new(dense.pages());
    let setup = setup.with_blocks_of(dense.lpns());
    let dense = build(name, &setup, directory, visitor).map_err(refused)?;
    let dense = dense.ok_or(ConformError::Interrupted)?;
    control.accesses_done.fetch_add(vector.accesses.len() as u64, Ordering::Relaxed);
    Ok(Runs { dense, hashed })
}
