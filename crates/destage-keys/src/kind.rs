//! Type and range of a key's values.

use crate::Value;
use crate::bytes::{amount, duration_ns};
use std::fmt;

/// Type and range of a key's values. Ends are included unless a kind says otherwise.
#[derive(Clone, Copy, PartialEq, Debug)]
#[expect(missing_docs, reason = "min and max are the ends of the range")]
pub enum Kind {
    /// A whole number.
    Int { min: u64, max: u64 },
    /// `none` or a whole number.
    OptionalInt { min: u64, max: u64 },
    /// A non-empty list of whole numbers.
    Ints { min: u64, max: u64 },
    /// A finite number; whole ones are taken too.
    Real { min: f64, max: f64 },
    /// A finite number above this one.
    RealAbove {
        /// Below every value.
        above: f64,
    },
    /// `none` or a finite number; whole ones are taken too.
    OptionalReal { min: f64, max: f64 },
    /// `true` or `false`.
    Bool,
    /// `none`, `true` or `false`.
    OptionalBool,
    /// An amount of bytes, at least 1, with a unit or without: `300GB`.
    Bytes,
    /// `none` or an amount of bytes, at least 1.
    OptionalBytes,
    /// A time above 0, with its unit: `60s`; nanoseconds once it is read.
    Duration,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A form of its own, in words: the owner of the value checks it.
    Form(&'static str),
}

/// Strictness in a value's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Typing {
    /// A number is a number and a word is spelled as listed: TOML, JSON.
    Exact,
    /// Numbers and truth values may be text, and words in any case: a flag's text.
    Loose,
}

/// Upper ends from here on are not mentioned in messages: no value comes near them.
const ENDLESS: u64 = u64::MAX / 4;

impl Kind {
    /// Any whole number that is not negative.
    pub const WHOLE: Kind = Kind::int(0, u64::MAX);

    /// Any whole number that is not negative, or `none`.
    pub const OPTIONAL_WHOLE: Kind = Kind::OptionalInt { min: 0, max: u64::MAX };

    /// A whole number, both ends included.
    pub const fn int(min: u64, max: u64) -> Kind {
        Kind::Int { min, max }
    }

    /// A non-empty list of whole numbers, both ends included.
    pub const fn ints(min: u64, max: u64) -> Kind {
        Kind::Ints { min, max }
    }

    /// A number, both ends included.
    pub const fn real(min: f64, max: f64) -> Kind {
        Kind::Real { min, max }
    }

    /// The type with a larger smallest number, where another key raises it.
    #[must_use]
    pub fn at_least(self, least: u64) -> Kind {
        match self {
            Kind::Int { min, max } => Kind::Int { min: min.max(least), max },
            Kind::OptionalInt { min, max } => Kind::OptionalInt { min: min.max(least), max },
            other => other,
        }
    }

    /// The value in this type, or `None` if it is none of it. Nothing is clamped, and with
    /// [`Typing::Exact`] nothing is converted but whole numbers where reals are expected.
    pub fn read(&self, value: &Value, typing: Typing) -> Option<Value> {
        match (typing, value) {
            (Typing::Loose, Value::Text(text)) => self.read_exact(&self.loosen(text)),
            _ => self.read_exact(value),
        }
    }

    fn read_exact(&self, value: &Value) -> Option<Value> {
        match (*self, value) {
            (
                Kind::OptionalInt { .. }
                | Kind::OptionalReal { .. }
                | Kind::OptionalBool
                | Kind::OptionalBytes,
                Value::None,
            ) => Some(Value::None),
            (Kind::Int { min, max } | Kind::OptionalInt { min, max }, _) => whole(value, min, max),
            (Kind::Ints { min, max }, Value::List(values)) if !values.is_empty() => {
                let checked = values.iter().map(|value| whole(value, min, max));
                checked.collect::<Option<Vec<_>>>().map(Value::List)
            }
            (Kind::Real { min, max } | Kind::OptionalReal { min, max }, _) => {
                real(value).filter(|real| (min..=max).contains(real)).map(Value::Real)
            }
            (Kind::RealAbove { above }, _) => {
                real(value).filter(|&real| real > above).map(Value::Real)
            }
            (Kind::Bool | Kind::OptionalBool, Value::Bool(_)) => Some(value.clone()),
            (Kind::Choice(words), Value::Text(text)) => {
                words.contains(&text.as_str()).then(|| value.clone())
            }
            (Kind::Bytes | Kind::OptionalBytes, Value::Text(text)) => {
                amount(text).filter(|&bytes| bytes > 0).map(Value::from)
            }
            (Kind::Bytes | Kind::OptionalBytes, _) => whole(value, 1, u64::MAX),
            (Kind::Duration, Value::Text(text)) => {
                duration_ns(text).filter(|&ns| ns > 0).map(Value::from)
            }
            (Kind::Form(_), _) => Some(value.clone()),
            _ => None,
        }
    }

    /// The value that a text stands for where this type is expected.
    fn loosen(&self, text: &str) -> Value {
        let given = || Value::from(text);
        let plain = text.trim();
        match self {
            Kind::Int { .. } | Kind::OptionalInt { .. } => {
                plain.parse::<u64>().map_or_else(|_| given(), Value::from)
            }
            Kind::Real { .. } | Kind::RealAbove { .. } | Kind::OptionalReal { .. } => {
                plain.parse().map_or_else(|_| given(), Value::Real)
            }
            Kind::Bool | Kind::OptionalBool => match plain.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Value::Bool(true),
                "false" | "no" | "off" | "0" => Value::Bool(false),
                _ => given(),
            },
            Kind::Choice(words) => {
                let listed = words.iter().find(|word| word.eq_ignore_ascii_case(plain));
                listed.map_or_else(given, |&word| word.into())
            }
            Kind::Ints { .. }
            | Kind::Form(_)
            | Kind::Bytes
            | Kind::OptionalBytes
            | Kind::Duration => given(),
        }
    }
}

fn whole(value: &Value, min: u64, max: u64) -> Option<Value> {
    value.as_whole().filter(|whole| (min..=max).contains(whole)).map(Value::from)
}

fn real(value: &Value) -> Option<f64> {
    match value {
        Value::Real(real) => Some(*real).filter(|real| real.is_finite()),
        Value::Int(int) => Some(*int as f64),
        _ => None,
    }
}

impl fmt::Display for Kind {
    /// The type as messages name it after "expected".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Kind::Int { min, max } => integers(f, "integer", min, max),
            Kind::OptionalInt { min, max } => integers(f, "none or integer", min, max),
            Kind::Ints { min, max } => integers(f, "a non-empty list of integers", min, max),
            Kind::Real { min, max } => write!(f, "{min}..{max}"),
            Kind::RealAbove { above } => write!(f, "real > {above}"),
            Kind::OptionalReal { min, max } if max >= f64::from(u32::MAX) => {
                write!(f, "none or real >= {min}")
            }
            Kind::OptionalReal { min, max } => write!(f, "none or {min}..{max}"),
            Kind::Bool => f.write_str("true or false"),
            Kind::OptionalBool => f.write_str("none, true or false"),
            Kind::Bytes => f.write_str("an amount such as 300GB"),
            Kind::OptionalBytes => f.write_str("none or an amount such as 300GB"),
            Kind::Duration => f.write_str("a duration such as 60s, 30m, 1h"),
            Kind::Choice(words) => f.write_str(&words.join(", ")),
            Kind::Form(words) => f.write_str(words),
        }
    }
}

fn integers(f: &mut fmt::Formatter<'_>, what: &str, min: u64, max: u64) -> fmt::Result {
    if max >= ENDLESS { write!(f, "{what} >= {min}") } else { write!(f, "{what} {min}..{max}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: [(Kind, &str); 13] = [
        (Kind::Bytes, "an amount such as 300GB"),
        (Kind::OptionalBytes, "none or an amount such as 300GB"),
        (Kind::Duration, "a duration such as 60s, 30m, 1h"),
        (Kind::int(1, 8), "integer 1..8"),
        (Kind::WHOLE, "integer >= 0"),
        (Kind::OPTIONAL_WHOLE, "none or integer >= 0"),
        (Kind::ints(0, 9), "a non-empty list of integers 0..9"),
        (Kind::real(0.0, 1.0), "0..1"),
        (Kind::RealAbove { above: 0.5 }, "real > 0.5"),
        (Kind::OptionalReal { min: 0.0, max: 4e9 }, "none or 0..4000000000"),
        (Kind::OptionalReal { min: 0.0, max: f64::MAX }, "none or real >= 0"),
        (Kind::OptionalBool, "none, true or false"),
        (Kind::Choice(&["lru", "fifo"]), "lru, fifo"),
    ];

    #[test]
    fn each_kind_says_what_it_takes() {
        for (kind, said) in CASES {
            assert_eq!(kind.to_string(), said);
        }
    }

    #[test]
    fn ends_are_in_and_what_lies_beyond_is_not() {
        let reads = |kind: Kind, value: Value| kind.read(&value, Typing::Exact);
        let eight = Kind::int(1, 8);
        for (value, is_in) in [(0, false), (1, true), (8, true), (9, false), (-1, false)] {
            assert_eq!(reads(eight, Value::Int(value)).is_some(), is_in, "{value}");
        }
        assert_eq!(reads(eight.at_least(3), Value::Int(2)), None);
        assert_eq!(eight.at_least(3).to_string(), "integer 3..8");
        assert_eq!(eight.at_least(0), eight, "no other key lowers it");
        let share = Kind::real(0.0, 1.0);
        assert_eq!(reads(share, Value::Int(1)), Some(Value::Real(1.0)), "whole numbers too");
        for wrong in [1.01, -0.01, f64::NAN, f64::INFINITY] {
            assert_eq!(reads(share, Value::Real(wrong)), None);
        }
        let above = Kind::RealAbove { above: 0.5 };
        assert_eq!(reads(above, Value::Real(0.5)), None);
        assert_eq!(reads(above, Value::Real(f64::INFINITY)), None);
        let list = |values: &[i128]| Value::List(values.iter().copied().map(Value::Int).collect());
        assert_eq!(reads(Kind::ints(0, 9), list(&[3, 9])), Some(list(&[3, 9])));
        for wrong in [list(&[]), list(&[10]), Value::Int(3)] {
            assert_eq!(reads(Kind::ints(0, 9), wrong), None);
        }
    }

    #[test]
    fn none_is_for_optional_kinds() {
        for (kind, _) in CASES {
            let is_optional = kind.to_string().starts_with("none");
            let none = kind.read(&Value::None, Typing::Exact);
            assert_eq!(none, is_optional.then_some(Value::None), "{kind}");
        }
    }

    #[test]
    fn amounts_and_durations_have_units() {
        let reads = |kind: Kind, text: &str| kind.read(&Value::parse(text), Typing::Exact);
        for (kind, text, read) in [
            (Kind::Bytes, "300GB", Some(300_000_000_000)),
            (Kind::OptionalBytes, "1.5KiB", Some(1536)),
            (Kind::Bytes, "4096", Some(4096)),
            (Kind::Bytes, "0", None),
            (Kind::Bytes, "0GB", None),
            (Kind::Bytes, "none", None),
            (Kind::Bytes, "300 Gb/day", None),
            (Kind::Bytes, "99999999TB", None),
            (Kind::Duration, "60s", Some(60_000_000_000)),
            (Kind::Duration, "0.5ms", Some(500_000)),
            (Kind::Duration, "1d", Some(86_400_000_000_000)),
            (Kind::Duration, "60", None),
            (Kind::Duration, "0s", None),
            (Kind::Duration, "-1s", None),
        ] {
            assert_eq!(reads(kind, text), read.map(Value::Int), "{text}");
        }
    }

    #[test]
    fn text_is_a_number_only_when_typing_is_loose() {
        for (kind, text, value) in [
            (Kind::int(1, 8), " 7", Value::Int(7)),
            (Kind::real(0.0, 1.0), "1", Value::Real(1.0)),
            (Kind::Bool, "Yes", Value::Bool(true)),
            (Kind::OptionalBool, "off", Value::Bool(false)),
        ] {
            assert_eq!(kind.read(&text.into(), Typing::Exact), None, "{text}");
            assert_eq!(kind.read(&text.into(), Typing::Loose), Some(value), "{text}");
        }
        let words = Kind::Choice(&["D", "Q"]);
        assert_eq!(words.read(&"d".into(), Typing::Exact), None);
        assert_eq!(words.read(&"d".into(), Typing::Loose), Some("D".into()), "as listed");
        for (kind, text) in [(Kind::int(1, 8), "9"), (Kind::Bool, "2"), (words, "X")] {
            assert_eq!(kind.read(&text.into(), Typing::Loose), None, "{text}");
        }
    }
}
