//! What a derived number of a result is.

use super::run::RunResult;
use destage_policies::Shown;
use serde::Serialize;

/// Which way of a number is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither: it describes.
    Neither,
}

/// A number of a result.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Number {
    /// A count.
    Count(u64),
    /// A ratio or a mean.
    Real(f64),
}

/// What a number is, and so how it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A share, 0..1; people like it in per cent.
    Ratio,
    /// A whole number of its unit.
    Count,
    /// A number of its unit.
    Real,
    /// A time, nanoseconds; people like it in the unit that leaves few digits.
    Time,
}

/// One column that a result gives.
#[derive(Clone, Copy, Serialize)]
pub struct Metric {
    /// Column name, unit last where it has one.
    pub name: &'static str,
    /// A few words, as the head of a column.
    pub title: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Unit; empty for ratios.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// When a table shows it.
    pub shown: Shown,
    /// What it counts.
    pub about: &'static str,
    #[serde(skip)]
    pub(super) source: Source,
}

/// Where a metric's value comes from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// Any run.
    Run(fn(&RunResult) -> Option<Number>),
    /// What a policy has counted under the metric's name.
    Policy,
}

impl Metric {
    /// Its value in a result; `None` where the run has none.
    pub fn value(&self, run: &RunResult) -> Option<Number> {
        match self.source {
            Source::Run(value) => value(run),
            Source::Policy => run.policy_counters.get(self.name).copied().map(Number::Count),
        }
    }

    pub(super) const fn shown(self, shown: Shown) -> Metric {
        Metric { shown, ..self }
    }
}

impl From<u64> for Number {
    fn from(count: u64) -> Number {
        Number::Count(count)
    }
}

impl From<f64> for Number {
    fn from(real: f64) -> Number {
        Number::Real(real)
    }
}
