//! What a policy needs of a run, and whether the run supplies it.

use crate::error::RunError;
use crate::spec::PolicySpec;
use destage_core::Needs;
use destage_policies::Circumstance;

/// True if a policy of the list needs the next use of every access.
pub fn needs_next_use(specs: &[PolicySpec]) -> bool {
    specs.iter().any(|spec| needs(spec).contains(Needs::NEXT_USE))
}

/// What a policy needs of a run; no cache needs nothing.
pub fn needs(spec: &PolicySpec) -> Needs {
    destage_policies::needs(spec.name).unwrap_or(Needs::NONE)
}

/// The policy gathers pages by erase block.
pub(super) fn clusters(spec: &PolicySpec) -> bool {
    destage_policies::info(spec.name).is_ok_and(|info| info.clusters)
}

/// What a policy says of its numbers where this is so of the run.
pub(super) fn caveats(policy: &str, when: Circumstance) -> impl Iterator<Item = &'static str> {
    let caveats = destage_policies::info(policy).map_or(&[][..], |info| info.caveats);
    caveats.iter().filter(move |caveat| caveat.when == when).map(|caveat| caveat.says)
}

pub(super) fn needs_a_device(label: &str) -> RunError {
    let why = match label {
        "none" => "without a cache, only a device shows anything".to_string(),
        label => format!("{label} looks at the drive behind the cache"),
    };
    RunError::Impossible(format!(
        "{why}: add a device (--device, a preset such as small or a TOML file)"
    ))
}

/// A run with or without a device supplies what the policy needs.
///
/// # Errors
///
/// [`RunError::Impossible`], which says what to add.
pub fn supplies(spec: &PolicySpec, has_device: bool) -> Result<(), RunError> {
    let needs_one = spec.is_none() || needs(spec).device();
    if needs_one && !has_device {
        return Err(needs_a_device(&spec.label()));
    }
    Ok(())
}
