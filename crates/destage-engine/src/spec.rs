//! Policies as people write them: `lru,cflru[window_fraction=0.75;...]`.

use destage_policies::params::{Params, Value};
use destage_policies::{BuildError, FromRun, Info, check_params, info, written};
use serde::Deserialize;

/// The name that stands for no cache at all, in front of a device.
pub const NONE: &str = "none";

/// The bound of all policies over a trace of a language model: no policy, but run beside them.
pub const PREFIX_MIN: &str = destage_replay::kv::prefix_min::NAME;

/// A policy with the parameters that a user gave, by name and checked.
#[derive(Clone, PartialEq, Debug)]
pub struct PolicySpec {
    /// Name in the table.
    pub name: &'static str,
    /// Only what was given; defaults are filled in by [`params`](PolicySpec::params).
    pub given: Vec<(String, Value)>,
}

impl PolicySpec {
    /// With these parameters; names and ranges are checked.
    pub fn new(name: &str, given: Vec<(String, Value)>) -> Result<PolicySpec, BuildError> {
        for (own, about) in [(NONE, "no cache"), (PREFIX_MIN, "the bound")] {
            if name == own {
                if let Some((key, _)) = given.first() {
                    let what = format!("{own}: {about} has no parameters, found {key}");
                    return Err(BuildError::Unknown(what));
                }
                return Ok(PolicySpec { name: own, given });
            }
        }
        let info: &'static Info = info(name)?;
        let spec = PolicySpec { name: info.name, given };
        spec.check()?;
        Ok(spec)
    }

    /// Reads `name` or `name[key=value;key=value]`.
    pub fn parse(text: &str) -> Result<PolicySpec, BuildError> {
        let (name, given) = written::read(text)?;
        PolicySpec::new(&name, given)
    }

    /// Reads a list; commas inside brackets do not separate.
    pub fn parse_list(text: &str) -> Result<Vec<PolicySpec>, BuildError> {
        written::parts(text, ',').map(PolicySpec::parse).collect()
    }

    /// No cache at all.
    pub fn is_none(&self) -> bool {
        self.name == NONE
    }

    /// The bound over a trace of a language model.
    pub fn is_prefix_min(&self) -> bool {
        self.name == PREFIX_MIN
    }

    fn check(&self) -> Result<Params, BuildError> {
        check_params(self.name, self.given.iter().map(|(k, v)| (k.as_str(), v)))
    }

    /// All parameters, where what the run `says` goes before the defaults of those that the policy
    /// takes from it.
    pub fn params(&self, says: &[(FromRun, Value)]) -> Result<Params, BuildError> {
        if self.is_none() || self.is_prefix_min() {
            return Ok(Params::default());
        }
        let given = |param: &str| self.given.iter().any(|(key, _)| key == param);
        let free = info(self.name)?.takes.iter().filter(|takes| !given(takes.param));
        let taken = free.filter_map(|takes| {
            let (_, value) = says.iter().find(|(what, _)| *what == takes.from)?;
            Some((takes.param, value))
        });
        check_params(self.name, taken.chain(self.given.iter().map(|(k, v)| (k.as_str(), v))))
    }

    /// Label in tables: `cflru[window_fraction=0.75]`.
    pub fn label(&self) -> String {
        label(self.name, self.given.iter().map(|(k, v)| (k.as_str(), v.spelled())))
    }
}

/// A policy and the parameters that were given, as a user would type it.
pub fn label<'a>(policy: &str, given: impl Iterator<Item = (&'a str, String)>) -> String {
    let pairs: Vec<String> = given.map(|(key, value)| format!("{key}={value}")).collect();
    if pairs.is_empty() { policy.to_string() } else { format!("{policy}[{}]", pairs.join(";")) }
}

/// A parameter's value, which results have as JSON, as a user would type it.
pub fn spelled(value: &serde_json::Value) -> String {
    let known = Value::deserialize(value).map(|value| value.spelled());
    known.unwrap_or_else(|_| value.to_string())
}

/// JSON of a parameter's value.
pub fn json_of(value: &Value) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_split_outside_brackets_only() {
        let specs = PolicySpec::parse_list("lru, lru").unwrap();
        assert_eq!(specs.len(), 2);
        let over = PolicySpec::parse_list("ace[base=cflru[window_fraction=0.5];writes=8],lru");
        assert_eq!(over.map(|specs| specs.len()), Ok(2));
        assert_eq!(specs[0].label(), "lru");
    }

    #[test]
    fn a_label_is_what_a_user_would_type() {
        for text in [
            "lru",
            "acr-h[file_pages=none]",
            "cflru[window_fraction=0.75]",
            "ace[base=cflru[window_fraction=0.5];writes=8]",
            "ace[base=clock-sweep[max_usage=3;initial_usage=0]]",
        ] {
            let label = PolicySpec::parse(text).map(|spec| spec.label());
            assert_eq!(label.as_deref(), Ok(text));
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("lrru", "did you mean lru?"),
            ("lru[k=2]", "lru has no parameters"),
            ("none[k=2]", "no cache has no parameters"),
            ("lru[k", "closing ]"),
            ("lru[k]", "no key=value"),
            ("lru[k=1;k=2]", "given twice"),
            ("ace[base=arc]", "has no eviction order"),
            ("ace[base=cflru[window_fraction=2];writes=8]", "expected 0..1"),
        ] {
            let error = PolicySpec::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
