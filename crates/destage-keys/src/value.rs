//! A value as users, TOML and JSON give it.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;

/// A value as it is given: not yet checked by any key.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `none`, and JSON's `null`.
    None,
    /// `true`, `false`.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A number written with a point or an exponent.
    Real(f64),
    /// Anything else.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A table inside the table, in the order of its keys.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// Reads a value as written on a command line: `none`, `true`, `7`, `0.25`, `backlog`.
    pub fn parse(text: &str) -> Value {
        let text = text.trim();
        match text {
            "none" | "null" | "None" => return Value::None,
            "true" | "True" => return Value::Bool(true),
            "false" | "False" => return Value::Bool(false),
            _ => {}
        }
        if let Ok(int) = text.parse::<i128>() {
            return Value::Int(int);
        }
        match text.parse::<f64>() {
            Ok(real) => Value::Real(real),
            Err(_) => Value::Text(text.to_string()),
        }
    }

    /// The value as a user types it; [`parse`](Value::parse) reads it back, lists and tables apart.
    /// A text stands bare, where [`Display`](fmt::Display) quotes it as a message does.
    pub fn spelled(&self) -> String {
        let joined = |parts: Vec<String>| parts.join(",");
        match self {
            Value::Text(text) => text.clone(),
            Value::List(values) => {
                format!("[{}]", joined(values.iter().map(Value::spelled).collect()))
            }
            Value::Map(pairs) => joined(
                pairs.iter().map(|(key, value)| format!("{key}={}", value.spelled())).collect(),
            ),
            plain => plain.to_string(),
        }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is a whole one that is not negative.
    pub fn as_whole(&self) -> Option<u64> {
        match self {
            Value::Int(int) => u64::try_from(*int).ok(),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |values: Vec<String>| values.join(", ");
        match self {
            Value::None => f.write_str("none"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(int) => write!(f, "{int}"),
            Value::Real(real) => write!(f, "{real:?}"),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::List(values) => {
                write!(f, "[{}]", list(values.iter().map(Value::to_string).collect()))
            }
            Value::Map(pairs) => {
                let pair = |(key, value): &(String, Value)| format!("{key} = {value}");
                write!(f, "{{{}}}", list(pairs.iter().map(pair).collect()))
            }
        }
    }
}

impl From<u64> for Value {
    fn from(int: u64) -> Value {
        Value::Int(int.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_string())
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::None => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Int(int) => match (i64::try_from(*int), u64::try_from(*int)) {
                (Ok(int), _) => serializer.serialize_i64(int),
                (_, Ok(int)) => serializer.serialize_u64(int),
                // JSON has no larger integers; no key takes one either.
                _ => serializer.serialize_f64(*int as f64),
            },
            Value::Real(real) => serializer.serialize_f64(*real),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(values) => values.serialize(serializer),
            Value::Map(pairs) => serializer.collect_map(pairs.iter().map(|(k, v)| (k, v))),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a string, true, false, a list or a table")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::None)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Int(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Real(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Value::Map(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelled_is_parsed_back() {
        for (text, value) in [
            ("none", Value::None),
            ("true", Value::Bool(true)),
            ("7", Value::Int(7)),
            ("-3", Value::Int(-3)),
            ("0.25", Value::Real(0.25)),
            ("1.0", Value::Real(1.0)),
            ("backlog", "backlog".into()),
        ] {
            assert_eq!(Value::parse(text), value);
            assert_eq!(value.spelled(), text);
        }
        assert_eq!(Value::parse(" None "), Value::None);
        assert_eq!(Value::Text("a b".into()).to_string(), "\"a b\"", "a message quotes it");
    }

    #[test]
    fn json_goes_in_and_comes_out_in_its_order() {
        let text = r#"{"z":[1,-2,0.5,18446744073709551615],"a":null,"m":{"y":"x","b":false}}"#;
        let value: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(serde_json::to_string(&value).expect("JSON"), text);
        let Value::Map(pairs) = &value else { panic!("a table, not {value}") };
        assert_eq!(pairs[0].1.to_string(), "[1, -2, 0.5, 18446744073709551615]");
        assert_eq!(pairs[2].1.spelled(), "y=x,b=false");
    }
}
