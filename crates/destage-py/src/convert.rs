//! Values of policies' parameters and JSON, in both directions.

use destage_policies::params::Value;

/// A parameter's value out of JSON.
///
/// # Errors
///
/// A sentence, for what no parameter can be: a list, an object.
pub fn value_of(json: &serde_json::Value) -> Result<Value, String> {
    Ok(match json {
        serde_json::Value::Null => Value::None,
        serde_json::Value::Bool(b) => Value::Bool(*b),
        serde_json::Value::String(s) => Value::parse(s),
        serde_json::Value::Number(n) => match n.as_i128() {
            Some(int) => Value::Int(int),
            None => Value::Real(n.as_f64().unwrap_or(f64::NAN)),
        },
        other => {
            return Err(format!("expected a number, a word, true, false or null, found {other}"));
        }
    })
}

/// JSON of a parameter's value.
pub fn json_of(value: &Value) -> serde_json::Value {
    match value {
        Value::None => serde_json::Value::Null,
        Value::Bool(b) => (*b).into(),
        Value::Int(i) => u64::try_from(*i).map_or_else(|_| (*i as f64).into(), Into::into),
        Value::Real(r) => (*r).into(),
        Value::Text(t) => t.clone().into(),
    }
}
