//! Parameters of a policy: declared once, beside the policy; checked once, before the first access.

use std::collections::BTreeMap;

use destage_keys::find;
pub use destage_keys::{IfAbsent, Key as Param, Kind, Typing, Value, nearest};

/// A policy's parameters, all of them, checked.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Params(BTreeMap<&'static str, Value>);

/// A parameter that cannot be (exit status 2).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct ParamError(pub String);

impl Params {
    /// Checks what a user gave against the declaration and fills in the defaults.
    pub fn check<'a>(
        policy: &str,
        declared: &'static [Param],
        given: impl IntoIterator<Item = (&'a str, &'a Value)>,
    ) -> Result<Params, ParamError> {
        let defaults = declared.iter().filter_map(|p| Some((p.name, p.default.value()?)));
        let mut values: BTreeMap<&'static str, Value> = defaults.collect();
        for (key, value) in given {
            let param = find(declared, key).map_err(|unknown| {
                ParamError(if declared.is_empty() {
                    format!("{policy}: unknown parameter {key:?}: {policy} has no parameters")
                } else {
                    let (meant, known) = (unknown.question(), unknown.list());
                    format!("{policy}: unknown parameter {key:?}{meant} (it has: {known})")
                })
            })?;
            let checked = param.read(value, Typing::Exact).ok_or_else(|| {
                let comma = if param.unit.is_empty() { "" } else { ", " };
                let (kind, unit) = (param.kind, param.unit);
                ParamError(format!("{policy}: {key} = {value}: expected {kind}{comma}{unit}"))
            })?;
            values.insert(param.name, checked);
        }
        Ok(Params(values))
    }

    /// Every parameter with its value, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(&k, v)| (k, v))
    }

    pub(crate) fn get(&self, key: &str) -> &Value {
        self.0.get(key).unwrap_or_else(|| unreachable!("{key} is declared beside the policy"))
    }

    /// A parameter of kind `Int`.
    pub fn int(&self, key: &str) -> u64 {
        self.optional_int(key).unwrap_or_else(|| unreachable!("{key} is an integer"))
    }

    /// A parameter of kind `Int` or `OptionalInt`.
    pub fn optional_int(&self, key: &str) -> Option<u64> {
        self.get(key).as_whole()
    }

    /// A parameter of kind `Real` or `RealAbove`.
    pub fn real(&self, key: &str) -> f64 {
        self.optional_real(key).unwrap_or_else(|| unreachable!("{key} is a real number"))
    }

    /// A parameter of kind `Real`, `RealAbove` or `OptionalReal`.
    pub fn optional_real(&self, key: &str) -> Option<f64> {
        match self.get(key) {
            Value::Real(r) => Some(*r),
            _ => None,
        }
    }

    /// A parameter of kind `Bool`.
    pub fn flag(&self, key: &str) -> bool {
        matches!(self.get(key), Value::Bool(true))
    }

    /// A parameter of kind `Choice`.
    pub fn word(&self, key: &str) -> &str {
        match self.get(key) {
            Value::Text(t) => t,
            other => unreachable!("{key} is a word, not {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static PARAMS: &[Param] = &[
        Param {
            name: "window_fraction",
            symbol: "w/s",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: IfAbsent::Real(0.5),
            unit: "of frames",
            ..Param::BLANK
        },
        Param {
            name: "ghost_max",
            kind: Kind::OptionalInt { min: 0, max: u64::MAX },
            default: IfAbsent::None("unlimited"),
            unit: "pages",
            ..Param::BLANK
        },
    ];

    fn check(key: &str, value: Value) -> Result<Params, ParamError> {
        Params::check("demo", PARAMS, [(key, &value)])
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let params = check("ghost_max", Value::Int(7)).unwrap();
        assert_eq!(params.real("window_fraction"), 0.5);
        assert_eq!(params.optional_int("ghost_max"), Some(7));
    }

    #[test]
    fn wrong_types_and_ranges_are_refused_with_value_and_range() {
        for value in
            [Value::Real(f64::NAN), Value::Real(1.5), Value::Bool(true), Value::Text("x".into())]
        {
            let error = check("window_fraction", value.clone()).unwrap_err().0;
            assert!(error.contains("window_fraction") && error.contains("0..1"), "{error}");
        }
        assert!(check("ghost_max", Value::Real(2.0)).is_err(), "an integer key given 2.0");
        assert!(check("ghost_max", Value::Int(-1)).is_err());
        assert!(check("ghost_max", Value::None).is_ok());
    }

    #[test]
    fn a_sentence_names_policy_key_value_and_what_was_expected() {
        let error = check("window_fractoin", Value::Int(1)).unwrap_err().0;
        assert_eq!(
            error,
            "demo: unknown parameter \"window_fractoin\", did you mean window_fraction? (it has: \
             window_fraction, ghost_max)"
        );
        let error = check("ghost_max", Value::Text("many".into())).unwrap_err().0;
        assert_eq!(error, "demo: ghost_max = \"many\": expected none or integer >= 0, pages");
    }
}
