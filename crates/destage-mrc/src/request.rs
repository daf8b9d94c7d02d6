//! A request for curves, and whether one pass or a sample serves it.

use super::curve::{Curve, EverySize, Method, Mrc, MrcOptions, Point, SampleSize};
use super::estimate::{Estimate, Estimated, Totals, point};
use super::lru::LruCurve;
use super::paired_difference::{Found as Placed, apart};
use super::sample::Sampling;
use super::tasks::{Trace, stack_order};
use destage_engine::options::RunOptions;
use destage_engine::sizes::Frames;
use destage_engine::spec::{PolicySpec, json_of};
use destage_policies::params::{Params, Value};
use destage_policies::{POLICIES, StackOrder, info};
use destage_replay::control::Control;
use destage_replay::error::RunError;
use destage_replay::input::Input;
use destage_replay::warmup::Warmup;
use std::collections::BTreeMap;

/// A policy at a size.
pub(super) struct Cell {
    /// Index among the policies.
    pub(super) spec: usize,
    /// Index among the sizes.
    pub(super) size: usize,
    pub(super) point: Point,
    pub(super) placed: Placed,
}

/// Points of passes and runs.
#[derive(Default)]
pub(super) struct Drawn {
    pub(super) cells: Vec<Cell>,
    /// By policy, what a pass over the whole trace tells of every size.
    pub(super) every_size: BTreeMap<usize, EverySize>,
    /// Passes and runs that had not ended when it was told to stop.
    pub(super) unfinished: usize,
    /// Passes and runs in all.
    pub(super) tasks: usize,
}

/// The arguments of [`mrc`](super::mrc()).
#[derive(Clone, Copy)]
pub(super) struct MrcRequest<'a> {
    pub(super) input: &'a Input<'a>,
    pub(super) specs: &'a [PolicySpec],
    /// Of each policy, after defaults.
    pub(super) params: &'a [Params],
    pub(super) sizes: &'a [Frames],
    pub(super) options: &'a MrcOptions,
    pub(super) control: &'a Control,
    /// LRU over the whole trace, if that is to put samples right.
    pub(super) lru: Option<&'a LruCurve>,
}

impl<'a> MrcRequest<'a> {
    /// LRU over the whole trace, if it is wanted and one pass tells of it.
    pub(super) fn lru_of_all(&self) -> Result<Option<LruCurve>, RunError> {
        if !self.options.puts_right() {
            return Ok(None);
        }
        let Some(warm) = self.warmup_requests().filter(|_| !self.options.run.drops_trims()) else {
            // What no sample serves runs over the whole trace.
            return match self.options.within {
                Some(_) => Ok(None),
                None => Err(RunError::Impossible(
                    "lru as control: it begins to count when its cache is full, elsewhere at each \
                     size: give the warm-up in requests or per cent"
                        .into(),
                )),
            };
        };
        let curve = LruCurve::new(self.input.columns, warm, self.control);
        curve.map(Some).ok_or(RunError::Interrupted)
    }

    /// Requests of the trace before counting begins; `None`: until the cache is full.
    pub(super) fn warmup_requests(&self) -> Option<usize> {
        let Input { columns, arrivals_ns, .. } = self.input;
        self.options.run.warmup.rows(columns.first_ids.len(), arrivals_ns)
    }

    /// Accesses that count; `None` if their number depends on the cache size.
    pub(super) fn totals(&self) -> Option<Totals> {
        self.warmup_requests().map(|warm| Totals::of(self.input.columns, warm))
    }

    /// The trace, unsampled.
    pub(super) fn whole(&self) -> Trace<'a> {
        Trace { input: *self.input, rate: 1.0, warmup_requests: self.warmup_requests() }
    }

    /// The point of a policy at a size, by their indices.
    pub(super) fn cell(
        &self,
        (spec, size): (usize, usize),
        estimated: Estimated,
        totals: Option<Totals>,
        sampling: Option<Sampling>,
    ) -> Cell {
        let policy = self.specs[spec].name;
        let point = point(policy, &self.sizes[size], &estimated, totals, sampling, self.options);
        let rate = sampling.map_or(1.0, Sampling::rounded_rate);
        let placed = Placed::of(&point, estimated, rate);
        Cell { spec, size, point, placed }
    }

    /// The exact point of LRU at a size, by their indices.
    pub(super) fn known(
        &self,
        places: (usize, usize),
        exact: &LruCurve,
        totals: Option<Totals>,
    ) -> Cell {
        let whole = Estimate::on_curve(exact, self.sizes[places.1].frames.into());
        self.cell(places, Estimated::exact(whole), totals, None)
    }

    /// The curves of what was drawn, policy by policy.
    pub(super) fn curves(
        &self,
        drawn: Drawn,
        sample: Option<SampleSize>,
        samples: Vec<SampleSize>,
        is_sampled: bool,
    ) -> Result<Mrc, RunError> {
        let Drawn { mut cells, mut every_size, unfinished, tasks } = drawn;
        cells.sort_by_key(|cell| (cell.spec, cell.size));
        let mut warnings = Vec::new();
        let mut curves = Vec::new();
        for (k, (spec, params)) in self.specs.iter().zip(self.params).enumerate() {
            let of_spec = cells.iter().filter(|cell| cell.spec == k);
            let points: Vec<Point> = of_spec.map(|cell| cell.point.clone()).collect();
            if points.is_empty() && !self.sizes.is_empty() {
                continue;
            }
            if let Some(point) = points.iter().find(|point| point.accesses == 0) {
                warnings.push(format!(
                    "{} at {}: nothing was counted after the warm-up",
                    spec.label(),
                    point.cache
                ));
            }
            let one_pass = in_one_pass(spec, self.options);
            curves.push(Curve {
                policy: spec.name.to_string(),
                label: spec.label(),
                params: params.iter().map(|(k, v)| (k.to_string(), json_of(v))).collect(),
                method: if one_pass { Method::OnePass } else { Method::Runs },
                points,
                every_size: every_size.remove(&k),
            });
        }
        if unfinished > 0 && curves.is_empty() {
            return Err(RunError::Interrupted);
        }
        let placed: Vec<Placed> = cells.into_iter().map(|cell| cell.placed).collect();
        let differences = is_sampled.then(|| apart(&placed, self.totals(), self.options));
        let error = self.options.within.map(|within| within.error);
        Ok(Mrc {
            sample,
            error,
            control: self.options.control.filter(|_| self.lru.is_some()),
            samples,
            curves,
            differences,
            warnings,
            unfinished,
            tasks,
        })
    }
}

/// Says why one pass does not tell of all sizes, where it does not.
///
/// # Errors
///
/// The reason, as a sentence that goes on after the policy's label.
pub fn one_pass(spec: &PolicySpec, run: &RunOptions) -> Result<(), String> {
    let known = POLICIES.iter().filter(|info| info.stack_order.is_some());
    let why = if stack_order(spec).is_none() {
        let known: Vec<&str> = known.map(|info| info.name).collect();
        let known = known.join(" and ");
        return Err(format!(
            "runs once per size, and only {known} are known at every size: name sizes (or auto) \
             for it"
        ));
    } else if run.warmup == Warmup::Full {
        "begins to count when its cache is full, elsewhere at each size: give the warm-up in \
         requests or per cent"
    } else if run.check {
        "is checked at one size at a time: leave out check"
    } else if run.drops_trims() {
        // A trim leaves a free frame in every cache that held the page.
        "no longer holds in a small cache what a large one holds where trims drop pages: ignore \
         trims"
    } else {
        return Ok(());
    };
    Err(why.into())
}

fn is_recency(spec: &PolicySpec) -> bool {
    stack_order(spec) == Some(StackOrder::Recency)
}

/// MIN is only if every size is asked for: a few runs are quicker, and tell what is written.
pub(super) fn in_one_pass(spec: &PolicySpec, options: &MrcOptions) -> bool {
    let is_whole = options.sampling.is_none() && options.within.is_none();
    let asked = is_recency(spec) || options.every_size && is_whole;
    asked && one_pass(spec, &options.run).is_ok()
}

/// Whether a policy is known exactly, beside samples, from what puts them right.
pub(super) fn is_known(spec: &PolicySpec, options: &MrcOptions) -> bool {
    options.puts_right() && is_recency(spec) && in_one_pass(spec, options)
}

pub(super) fn passes(spec: &PolicySpec, sizes: &[Frames], options: &MrcOptions) -> usize {
    match () {
        () if is_known(spec, options) => 0,
        () if in_one_pass(spec, options) => 1,
        () => sizes.len(),
    }
}

/// Whether a sample runs a policy as the whole trace does. It scales frames and what is a share of
/// them. It does not scale a number of accesses, and it takes the neighbours away from pages that
/// are counted in clusters.
///
/// # Errors
///
/// For an unknown policy. The inner error is the reason why not.
pub(super) fn is_scaled(
    spec: &PolicySpec,
    params: &Params,
) -> Result<Result<(), String>, RunError> {
    if info(spec.name)?.clusters {
        return Ok(Err(format!(
            "{}: it clusters by erase block, and a sample of single pages takes blocks apart; \
             leave sampling out for this policy",
            spec.label()
        )));
    }
    for (key, value) in params.iter() {
        let unit = info(spec.name)?.params.iter().find(|p| p.name == key).map_or("", |p| p.unit);
        if ["pages", "accesses"].contains(&unit) && matches!(value, Value::Int(n) if *n > 0) {
            return Ok(Err(format!(
                "{}: {key} = {value} counts {unit}, which a sample of the pages does not scale; \
                 leave sampling out for this policy",
                spec.label()
            )));
        }
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use crate::tests::{Owned, mixed, options, sizes, specs};
    use crate::{Sampling, mrc};
    use destage_engine::options::RunOptions;
    use destage_replay::control::Control;
    use destage_replay::error::RunError;

    fn refusal(trace: &Owned, policies: &str, rate: f64) -> String {
        let sampling = Some(Sampling::new(rate, 0).expect("a rate"));
        let options = options(RunOptions::default(), sampling);
        match mrc(&trace.input(), &specs(policies), &sizes([5]), &options, &Control::default()) {
            Err(RunError::Impossible(why)) => why,
            other => panic!("expected a refusal, got {other:?}"),
        }
    }

    #[test]
    fn what_a_sample_cannot_show_is_refused() {
        let trace = mixed(30, 100, 12);
        let why = refusal(&trace, "lru", 1e-7);
        assert!(why.contains("the sample is empty: rate") && why.contains("of 30 pages"), "{why}");
        let why = refusal(&trace, "lru,acr-h[file_pages=30]", 0.5);
        assert!(why.contains("acr-h[file_pages=30]: file_pages = 30 counts pages"), "{why}");
        let why = refusal(&trace, "cfdc", 0.5);
        assert!(why.contains("cfdc: cluster_size = "), "{why}");
    }
}
