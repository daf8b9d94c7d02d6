//! What a key of a table is: what it takes, its default, its unit and what it means. Parser,
//! documentation and catalogue read the same rows.

use super::limits::MOST_PAGES;
use serde::{Serialize, Serializer};
use std::fmt;
use std::ops::RangeInclusive;

/// What a key takes.
#[derive(Clone, PartialEq, Debug)]
pub enum Takes {
    /// A whole number.
    Int(RangeInclusive<u64>),
    /// A non-empty list of whole numbers, page type 0 first.
    Ints(RangeInclusive<u64>),
    /// A number, whole or not.
    Real(RangeInclusive<f64>),
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Something else, in words.
    Else(&'static str),
}

impl fmt::Display for Takes {
    /// As it stands in an error message after "expected".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, range) = match self {
            Takes::Int(range) => ("integer", range),
            Takes::Ints(range) => ("a non-empty list of integers", range),
            Takes::Real(range) if range.end().is_infinite() => {
                return write!(f, "number >= {}", range.start());
            }
            Takes::Real(range) => return write!(f, "number {}..{}", range.start(), range.end()),
            Takes::Bool => return f.write_str("true or false"),
            Takes::Word(words) => return f.write_str(&words.join(", ")),
            Takes::Else(text) => return f.write_str(text),
        };
        if *range.end() >= u64::MAX / 4 {
            write!(f, "{what} >= {}", range.start())
        } else {
            write!(f, "{what} {}..{}", range.start(), range.end())
        }
    }
}

/// The value of a key that is not given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum IfAbsent {
    /// A whole number.
    Int(u64),
    /// A list of one whole number.
    List(u64),
    /// A number.
    Real(f64),
    /// A truth value.
    Bool(bool),
    /// A word.
    Word(&'static str),
    /// It follows from other keys; this says how.
    From(&'static str),
}

impl fmt::Display for IfAbsent {
    /// As in a TOML file, without quotation marks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IfAbsent::Int(int) => write!(f, "{int}"),
            IfAbsent::List(int) => write!(f, "[{int}]"),
            IfAbsent::Real(real) => write!(f, "{real}"),
            IfAbsent::Bool(value) => write!(f, "{value}"),
            IfAbsent::Word(text) | IfAbsent::From(text) => f.write_str(text),
        }
    }
}

/// A key of a table. As JSON, `takes` and `default` are text.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Key {
    /// `device`, `cache`, `host` or `ftl`.
    pub table: &'static str,
    /// As written in a file.
    pub name: &'static str,
    /// Type and range.
    #[serde(serialize_with = "as_text")]
    pub takes: Takes,
    /// Value if it is not given.
    #[serde(serialize_with = "as_text")]
    pub default: IfAbsent,
    /// Unit of the value; empty for words and truth values.
    pub unit: &'static str,
    /// One line.
    pub about: &'static str,
}

fn as_text<S: Serializer>(value: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// A number of pages, blocks or parts of a drive.
pub const COUNT: Takes = Takes::Int(1..=MOST_PAGES);
