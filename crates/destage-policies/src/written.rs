//! A policy as people write it: `cflru[window_fraction=0.75]`, `ace[base=clock;writes=8]`.
//!
//! Brackets may be nested: the parameters of a policy on which
//! another one stands.

use crate::params::{ParamError, Params, Value, nearest};
use crate::{BuildError, Info, ORDERED, check_params, info};
pub use destage_keys::parts;
use destage_keys::with_semicolons;

/// A policy's name, and what is given of its parameters: nothing is checked yet.
pub type Written = (String, Vec<(String, Value)>);

/// Reads `name` or `name[key=value;key=value]`.
///
/// # Errors
///
/// [`BuildError::Unknown`]: a bracket is missing, a part is no `key=value`, a key is given twice,
/// commas between keys.
pub fn read(text: &str) -> Result<Written, BuildError> {
    let text = text.trim();
    let wrong = |what: String| BuildError::Unknown(format!("policy {text:?}: {what}"));
    let (name, rest) = match text.split_once('[') {
        None => (text, ""),
        Some((name, rest)) => match rest.strip_suffix(']') {
            Some(inside) => (name, inside),
            None => return Err(wrong("the closing ] is missing".to_string())),
        },
    };
    let mut given: Vec<(String, Value)> = Vec::new();
    for pair in parts(rest, ';') {
        if let Some(meant) = with_semicolons(pair) {
            return Err(wrong(format!("keys are separated by ; as in {}[{meant}]", name.trim())));
        }
        let Some((key, value)) = pair.split_once('=') else {
            return Err(wrong(format!("{:?} is no key=value", pair.trim())));
        };
        let key = key.trim();
        if given.iter().any(|(known, _)| known == key) {
            return Err(wrong(format!("{key} is given twice")));
        }
        given.push((key.to_string(), Value::parse(value)));
    }
    Ok((name.trim().to_string(), given))
}

/// The policy on which another one stands: its name, and all its parameters.
pub(crate) fn base(wrapper: &Info, params: &Params) -> Result<(&'static str, Params), BuildError> {
    let (policy, key) = (wrapper.name, wrapper.over.expect("it stands on another one"));
    let value = params.get(key);
    let wrong = |what: String| ParamError(format!("{policy}: {key} = {value}: {what}"));
    let ordered = ORDERED.iter().map(|info| info.name).filter(|_| wrapper.bases.is_empty());
    let all: Vec<&str> = ordered.chain(wrapper.bases.iter().copied()).collect();
    let bases = || all.iter().copied();
    let known = || bases().collect::<Vec<_>>().join(", ");
    let Value::Text(text) = value else {
        return Err(wrong(format!("expected a policy, one of {}", known())).into());
    };
    let (name, given) = read(text).map_err(|error| wrong(error.to_string()))?;
    let Some(base) = bases().find(|&base| base == name) else {
        let meant = nearest(&name, bases()).map(|meant| format!(", did you mean {meant}?"));
        let what = match info(&name) {
            Ok(_) if wrapper.bases.is_empty() => format!("{name} has no eviction order"),
            Ok(_) => format!("{name} has a fixed number of frames"),
            Err(_) => format!("unknown policy {name:?}{}", meant.unwrap_or_default()),
        };
        return Err(wrong(format!("{what} (expected one of {})", known())).into());
    };
    let given = given.iter().map(|(key, value)| (key.as_str(), value));
    let params = check_params(base, given).map_err(|error| wrong(error.to_string()))?;
    Ok((base, params))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_inside_a_policy_keeps_its_own_parameters() {
        let (name, given) = read("ace[ base=cflru[window_fraction=0.5;w=1]; writes=8 ]").unwrap();
        assert_eq!(name, "ace");
        let base = Value::Text("cflru[window_fraction=0.5;w=1]".to_string());
        assert_eq!(given, [("base".to_string(), base), ("writes".to_string(), Value::Int(8))]);
        let list: Vec<_> = parts("lru, ace[base=cflru[a=1,2],b],", ',').map(str::trim).collect();
        assert_eq!(list, ["lru", "ace[base=cflru[a=1,2],b]"]);
    }

    #[test]
    fn commas_between_keys_are_told_from_values() {
        let error = read("cflru[window_fraction=0.5,x=1]").unwrap_err().to_string();
        assert!(error.contains("separated by ; as in cflru[window_fraction=0.5;x=1]"), "{error}");
    }

    #[test]
    fn a_base_that_cannot_be_is_named_with_those_that_can() {
        let bases = "lru, fifo, clock, cflru, lru-wsr, clock-sweep";
        for (base, said) in [
            (Value::from("arc"), "arc has no eviction order (expected one of"),
            (Value::from("clok"), "policy \"clok\", did you mean clock? (expected one of"),
            (Value::from("ace"), "ace has no eviction order"),
            (Value::Int(5), "ace: base = 5: expected a policy, one of"),
            (Value::from("lru[k=2]"), "lru has no parameters"),
            (Value::from("cflru[window_fraction=2]"), "window_fraction = 2: expected 0..1"),
            (Value::from("cflru[window_fraction"), "the closing ] is missing"),
        ] {
            let error = check_params("ace", [("base", &base)]).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
            assert!(error.starts_with("ace: base = "), "{error}");
            assert!(!said.contains("one of") || error.contains(bases), "{error}");
        }
        assert!(check_params("ace", [("base", &"cflru[window_fraction=1]".into())]).is_ok());
    }
}
