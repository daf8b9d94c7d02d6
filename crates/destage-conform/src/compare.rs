//! Vectors compared with what comes out.

use super::block::BlockRuns;
use super::built_in::{Runs, run_both, run_built_in, run_ftl, run_objects, run_on_device};
use super::lines::{ConformError, Entry, LineLocation, for_each_line};
use super::report::{Difference, FileReport, Found, Over, Report, first_difference};
use super::run::{Fault, Outcome};
use super::vector::PageVector;
use destage_replay::control::Control;
use std::path::PathBuf;

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
            Entry::Objects(vector) => {
                let [dense, hashed] = run_objects(&**vector, place, control)?;
                let expected = vector.expected();
                let found = expected.first_difference(&dense);
                return Ok(Compared::Found {
                    found: over_both(found, expected.first_difference(&hashed)),
                    not_compared: expected.not_compared(&dense),
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

/// First difference between vector and runs over either directory.
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
/// `run` makes a fresh policy for each vector, usually by
/// [`run_vector`](super::run_vector). With `only`, vectors of policies with another name are
/// skipped.
///
/// # Errors
///
/// Errors of [`conform`]. A [`Fault`] of the policy counts as a difference.
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
            Entry::Objects(vector) => {
                return Ok(Compared::Skipped(format!("it is of {}", vector.of())));
            }
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

/// Result of comparing a vector.
enum Compared {
    Skipped(String),
    Found { found: Option<(Over, Found)>, not_compared: Vec<String> },
}

fn report_on(
    files: &[PathBuf],
    control: &Control,
    mut compare: impl FnMut(&Entry, LineLocation<'_>) -> Result<Compared, ConformError>,
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
