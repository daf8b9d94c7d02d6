//! Curves of policies: over the whole trace, a sample of it, or samples of a rate for each size.

use super::adaptive_rate;
use super::confidence::runs;
use super::curve::{Mrc, MrcOptions, SampleSize};
use super::draw::{draw, next_uses, sampled_traces, with_groups};
use super::request::{MrcRequest, is_scaled, passes};
use super::sample::{Sample, Sampling};
use super::stratified_sample::ranks;
use destage_engine::cost::Cost;
use destage_engine::sizes::Frames;
use destage_engine::spec::PolicySpec;
use destage_replay::accesses::Columns;
use destage_replay::control::Control;
use destage_replay::error::RunError;
use destage_replay::input::Input;

/// Page accesses that [`mrc`] will have done at its end, for a progress bar: exact without
/// sampling, expected with it. `accesses` are those of the trace.
pub fn planned_accesses(
    accesses: u64,
    specs: &[PolicySpec],
    sizes: &[Frames],
    options: &MrcOptions,
) -> u64 {
    if let Some(within) = options.within {
        return adaptive_rate::planned_accesses(accesses, specs, sizes, options, within);
    }
    let Some(sampling) = options.sampling else {
        let passes: u64 = specs.iter().map(|spec| passes(spec, sizes, options) as u64).sum();
        return passes * accesses;
    };
    let rate = sampling.rounded_rate();
    let of_size =
        |spec: &PolicySpec, size: &Frames| runs(spec.name, f64::from(size.frames) * rate, rate);
    let of_spec = |spec: &PolicySpec| match passes(spec, sizes, options) {
        one if one < sizes.len() => 2.0 * one as f64,
        _ => sizes.iter().map(|size| of_size(spec, size)).sum(),
    };
    let sampled = rate * accesses as f64;
    // LRU once over the trace, and over the sample and its groups.
    let variate = if options.control.is_some() { accesses as f64 + 2.0 * sampled } else { 0.0 };
    (specs.iter().map(of_spec).sum::<f64>() * sampled + variate) as u64
}

/// Makes the curves of `specs` over `sizes`. If it is told to stop meanwhile, those points that
/// were known by then, if there are any; [`Mrc::unfinished`] says how much is missing.
///
/// `input.next_uses` are needed if a policy asks for them and there is no [`Sampling`].
///
/// # Errors
///
/// Errors of [`run`](destage_engine::run::run()); also [`RunError::Impossible`] for a sample
/// without a page, for a policy with a parameter in pages or accesses, which a sample of single
/// pages does not scale, and for one that clusters by erase block, which it takes apart; and for a
/// sample of a run with trims; and for LRU that is to put samples right where one pass does not
/// tell of it. With
/// [`MrcOptions::within`] all these run over the whole trace.
pub fn mrc(
    input: &Input<'_>,
    specs: &[PolicySpec],
    sizes: &[Frames],
    options: &MrcOptions,
    control: &Control,
) -> Result<Mrc, RunError> {
    let params = specs
        .iter()
        .map(|spec| spec.params(&Cost::says(options.run.cost)))
        .collect::<Result<Vec<_>, _>>()?;
    let frames: Vec<u32> = sizes.iter().map(|size| size.frames).collect();
    let run = options.run.with_moment(input, &frames);
    let options = &MrcOptions { run, ..options.clone() };
    let asked = MrcRequest { input, specs, params: &params, sizes, options, control, lru: None };
    let lru = asked.lru_of_all()?;
    let asked = MrcRequest { lru: lru.as_ref(), ..asked };
    if let Some(within) = options.within {
        return adaptive_rate::mrc(&asked, within);
    }
    let warmup_requests = asked.warmup_requests();
    let samples = match options.sampling {
        None => Vec::new(),
        Some(sampling) => {
            if options.run.drops_trims() {
                return Err(RunError::Impossible(
                    "trim = drop and a sampling rate exclude each other: a sample keeps no trims"
                        .into(),
                ));
            }
            for (spec, params) in specs.iter().zip(&params) {
                is_scaled(spec, params)?.map_err(RunError::Impossible)?;
            }
            samples(input.columns, sampling, warmup_requests.unwrap_or(0), control)?
        }
    };
    let next_uses = next_uses(&samples, specs);
    let traces = match options.sampling {
        None => vec![asked.whole()],
        Some(sampling) => sampled_traces(&samples, &next_uses, sampling, warmup_requests.is_some()),
    };
    let drawn = draw(&asked, &traces, options.sampling)?;
    let sample = options.sampling.map(|sampling| SampleSize::of(&samples[0], sampling));
    let is_sampled = sample.is_some();
    asked.curves(drawn, sample, Vec::new(), is_sampled)
}

/// The sample of a rate, then its groups.
fn samples(
    columns: Columns<'_>,
    sampling: Sampling,
    warmup_requests: usize,
    control: &Control,
) -> Result<Vec<Sample>, RunError> {
    let ranks = ranks(columns, sampling.seed, control).ok_or(RunError::Interrupted)?;
    let whole = Sample::new(columns, &ranks, sampling, warmup_requests, control)
        .ok_or(RunError::Interrupted)?;
    if whole.lpns.is_empty() {
        return Err(RunError::Impossible(format!(
            "the sample is empty: rate {} of {} pages with seed {}; choose a higher rate",
            sampling.rounded_rate(),
            columns.lpns.len(),
            sampling.seed
        )));
    }
    Ok(with_groups(whole, sampling))
}
