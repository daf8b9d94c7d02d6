//! Values of policies' parameters out of JSON.

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
