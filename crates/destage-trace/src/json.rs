//! Values of keys and JSON, in both directions.

use destage_keys::Value;
use serde::Deserialize;

/// What was given as JSON, as keys take it.
pub(crate) fn given(json: &serde_json::Value) -> Value {
    Value::deserialize(json).expect("every JSON value is a value")
}

/// As JSON. A number that JSON has not is `null`; no key has one.
pub(crate) fn json(value: &Value) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}
