//! A vector through the policy, the device or the FTL that it names.

use super::block::{BlockRuns, BlockVector, Refused, run_block};
use super::device::{DeviceOutcome, DeviceVector, run_device};
use super::ftl::{FtlOutcome, FtlVector};
use super::lines::{ConformError, LineLocation};
use super::objects::{ObjectOutcome, ObjectVector};
use super::report::Found;
use super::run::{Dense, Outcome, run_vector};
use super::vector::PageVector;
use destage_policies::{BuildError, Setup, check_params};
use destage_replay::control::Control;
use destage_replay::error::RunError;
use std::sync::atomic::Ordering;

/// Runs a device vector; what stops it is an error of its line, or of ours.
pub(super) fn run_on_device(
    vector: &DeviceVector,
    place: LineLocation<'_>,
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
pub(super) fn run_ftl(
    vector: &FtlVector,
    place: LineLocation<'_>,
    control: &Control,
) -> Result<FtlOutcome, ConformError> {
    let outcome = vector.run().map_err(|error| place.malformed(format!("ops: {error}")))?;
    control.accesses_done.fetch_add(outcome.steps.len() as u64, Ordering::Relaxed);
    Ok(outcome)
}

/// Runs a vector of two tiers or of a language model, tier 1 over dense ids and over a hash map.
pub(super) fn run_objects(
    vector: &dyn ObjectVector,
    place: LineLocation<'_>,
    control: &Control,
) -> Result<[ObjectOutcome; 2], ConformError> {
    let runs = vector.run().map_err(|error| place.malformed(error))?;
    control.accesses_done.fetch_add(vector.accesses(), Ordering::Relaxed);
    Ok(runs)
}

/// Runs a block vector over both directories.
pub(super) fn run_both(
    vector: &BlockVector,
    place: LineLocation<'_>,
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
pub(super) struct Runs {
    pub(super) dense: Outcome,
    pub(super) hashed: Outcome,
}

/// Runs a page vector over both directories.
pub(super) fn run_built_in(
    vector: &PageVector,
    place: LineLocation<'_>,
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
    if destage_policies::requirements(name).is_ok_and(|needs| needs.device()) {
        let what = "it looks at the device, of which a page vector has none";
        return Err(place.malformed(format!("policy: {name}: {what}")));
    }
    let given = vector.params.iter().map(|(key, value)| (key.as_str(), value));
    let params = check_params(name, given).map_err(refused)?;
    let dense = Dense::new(vector);
    let trace_pages = Some(dense.pages().into());
    let setup = Setup { params, trace_pages, ..Setup::new(vector.frames) };
    // Hashed first: it notices a policy that frees no frame, where the replay loop would not end.
    let hashed = destage_policies::hashed(name, &setup).map_err(refused)?;
    let hashed = run_vector(hashed, vector).map_err(|fault| place.bug(Found::from(&fault)))?;
    let setup = setup.with_blocks_of(dense.lpns());
    let policy = destage_policies::dense(name, &setup, dense.pages()).map_err(refused)?;
    let dense = dense.run(policy, vector, &control.stop).ok_or(ConformError::Interrupted)?;
    control.accesses_done.fetch_add(vector.accesses.len() as u64, Ordering::Relaxed);
    Ok(Runs { dense, hashed })
}
