//! Requirements of a policy on a run, and whether the run supplies it.

use crate::options::RunOptions;
use crate::spec::PolicySpec;
use destage_core::Requirements;
use destage_policies::Circumstance;
use destage_policies::params::Params;
use destage_replay::error::RunError;
use destage_replay::input::Input;
use destage_ssd::DeviceConfig;

/// True if a policy of the list needs the next use of every access.
pub fn needs_next_use(specs: &[PolicySpec]) -> bool {
    specs.iter().any(|spec| requirements(spec).contains(Requirements::NEXT_USE))
}

/// Requirements of a policy on a run; no cache has none.
pub fn requirements(spec: &PolicySpec) -> Requirements {
    if spec.is_prefix_min() {
        return Requirements::NEXT_USE;
    }
    destage_policies::requirements(spec.name).unwrap_or(Requirements::NONE)
}

/// The policy gathers pages by erase block.
pub(super) fn clusters(spec: &PolicySpec) -> bool {
    destage_policies::info(spec.name).is_ok_and(|info| info.clusters)
}

/// Caveats of a policy about its numbers in such a run.
pub(super) fn caveats(policy: &str, when: Circumstance) -> impl Iterator<Item = &'static str> {
    let caveats = destage_policies::info(policy).map_or(&[][..], |info| info.caveats);
    caveats.iter().filter(move |caveat| caveat.when == when).map(|caveat| caveat.says)
}

pub(super) fn needs_a_device(label: &str) -> RunError {
    let why = match label {
        "none" => "without a cache, only a device shows anything".to_string(),
        label => format!("{label} is device-aware"),
    };
    RunError::Impossible(format!("{why}: add a device (--device, device=), such as small"))
}

/// A run with or without a device supplies what the policy needs.
///
/// # Errors
///
/// [`RunError::Impossible`], which says what to add.
pub fn supplies(spec: &PolicySpec, has_device: bool) -> Result<(), RunError> {
    let needs_one = spec.is_none() || requirements(spec).device();
    if needs_one && !has_device {
        return Err(needs_a_device(&spec.label()));
    }
    Ok(())
}

/// A trace with times is needed for a time to live.
pub(super) fn check_ttl(options: &RunOptions, input: &Input<'_>) -> Result<(), RunError> {
    if options.tiers.ttl.is_none() || input.arrivals_ns.last() > input.arrivals_ns.first() {
        return Ok(());
    }
    let what = "ttl (--ttl) needs arrival times, and the trace has none, or one for all requests: \
                take a trace with times";
    Err(RunError::Impossible(what.into()))
}

/// A policy of one's own suits the drive.
///
/// # Errors
///
/// [`RunError::Impossible`], which says why not.
pub fn own_suits(device: &DeviceConfig) -> Result<(), RunError> {
    if device.placement.is_offline() {
        let what = "placement: policy = fk runs twice, and a policy of one's own is made once";
        return Err(RunError::Impossible(what.into()));
    }
    Ok(())
}

/// The policy suits the drive (`docs/spec/device-today.md` 2).
///
/// # Errors
///
/// [`RunError::Impossible`], which names both keys.
pub fn suits(policy: &str, params: &Params, device: &DeviceConfig) -> Result<(), RunError> {
    let impossible = |what: String| Err(RunError::Impossible(what));
    let looks = destage_policies::requirements(policy).unwrap_or(Requirements::NONE);
    let looks = looks.device() || looks.completions() || looks.contains(Requirements::IDLE);
    if device.placement.is_offline() && looks {
        return impossible(format!(
            "placement: policy = fk excludes the cache policy {policy}: it looks at the device, so \
             that what is written would depend on what fk chooses"
        ));
    }
    let info = destage_policies::info(policy).ok();
    let Some(one) = info.and_then(|info| info.one_write_point) else { return Ok(()) };
    let given = params.iter().find(|(key, _)| *key == one.param);
    let given = given.and_then(|(_, value)| value.as_text());
    let Some(value) = given.filter(|value| one.values.contains(value)) else { return Ok(()) };
    let key = match (device.slc, device.streams.write_points()) {
        _ if device.map_cache.is_some() => "map_cache",
        (Some(_), _) => "slc_blocks",
        (None, 1) => return Ok(()),
        _ if device.streams.handles > 1 => "handles",
        _ => device.streams.collected_apart().unwrap_or("gc_stream"),
    };
    impossible(format!(
        "{policy}: {} = {value} excludes {key} of the device, whose GC it does not \
         foresee: it needs {}",
        one.param, one.instead
    ))
}
