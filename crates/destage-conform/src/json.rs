//! JSON as vectors need it: an object with a key twice is refused.
//!
//! `serde_json::Value` keeps the last of two equal keys, and a vector whose first `frames` is
//! silently overruled by a second one tests something else than it says.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Longest piece of input that an error message repeats, characters.
const SHOWN: usize = 60;

/// Parses one line. The error says what is wrong and at which column (from 1), 0 if unknown.
pub(super) fn parse(line: &[u8]) -> Result<Value, (usize, String)> {
    serde_json::from_slice::<Strict>(line).map(|Strict(value)| value).map_err(|error| {
        // The place is given in our own words: the parser sees each line as the first.
        let text = error.to_string();
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        (error.column(), what.to_string())
    })
}

/// A value as an error message shows it: compact, cut when long.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = seq.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("key {key:?} is given twice")));
            }
            let Strict(value) = map.next_value()?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_given_twice_is_refused_at_any_depth() {
        for line in
            [r#"{"frames":1,"frames":2}"#, r#"{"params":{"k":1,"k":1}}"#, r#"[{"a":1,"a":2}]"#]
        {
            let (_, what) = parse(line.as_bytes()).unwrap_err();
            assert!(what.contains("is given twice"), "{what}");
        }
    }

    #[test]
    fn values_come_out_as_they_went_in() {
        let line = r#"{"b":[1,-2,0.5,18446744073709551615,null,true,"x"],"a":{"c":[]}}"#;
        assert_eq!(parse(line.as_bytes()).unwrap().to_string(), line);
    }

    #[test]
    fn fractions_are_read_to_the_last_bit() {
        // Half a frame rounds up, so the last bit of a fraction can move a whole frame.
        for k in 1..10_000u64 {
            let fraction = f64::from_bits(0x3fe0_0000_0000_0000 + k.wrapping_mul(0x9e37_79b9_7f4a));
            let read = parse(format!("{fraction:?}").as_bytes()).unwrap();
            assert_eq!(read.as_f64(), Some(fraction));
        }
    }

    #[test]
    fn an_error_has_its_column_and_no_line_of_its_own() {
        let (column, what) = parse(b"{\"a\":1,}").unwrap_err();
        assert_eq!(column, 8);
        assert!(!what.contains("line"), "{what}");
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let text = shown(&Value::String("é".repeat(100)));
        assert_eq!(text.chars().count(), SHOWN + 3);
    }
}
