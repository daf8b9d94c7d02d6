//! Parameters of a policy: declared once, beside the policy; checked once, before the first access.

use std::collections::BTreeMap;
use std::fmt;

/// A parameter's value as a user gives it.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `none`: the parameter's own idea of a default that depends on the run.
    None,
    /// `true`, `false`.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A number written with a point or an exponent.
    Real(f64),
    /// Anything else.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => f.write_str("none"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Int(i) => write!(f, "{i}"),
            Value::Real(r) => write!(f, "{r:?}"),
            Value::Text(t) => write!(f, "{t:?}"),
        }
    }
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
}

/// Type and range of a parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// A whole number, both ends included.
    Int {
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// `none` or a whole number, both ends included.
    OptionalInt {
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// A real number, both ends included; whole numbers are taken too.
    Real {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// A real number above this one.
    RealAbove {
        /// Below every value.
        above: f64,
    },
    /// `none` or a real number, both ends included; whole numbers are taken too.
    OptionalReal {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Kind::Int { min, max } if max >= u64::MAX / 2 => write!(f, "integer >= {min}"),
            Kind::Int { min, max } => write!(f, "integer {min}..{max}"),
            Kind::OptionalInt { min, max } if max >= u64::MAX / 2 => {
                write!(f, "none or integer >= {min}")
            }
            Kind::OptionalInt { min, max } => write!(f, "none or integer {min}..{max}"),
            Kind::Real { min, max } => write!(f, "{min}..{max}"),
            Kind::RealAbove { above } => write!(f, "real > {above}"),
            Kind::OptionalReal { min, max } if max >= f64::from(u32::MAX) => {
                write!(f, "none or real >= {min}")
            }
            Kind::OptionalReal { min, max } => write!(f, "none or {min}..{max}"),
            Kind::Bool => f.write_str("true or false"),
            Kind::Choice(words) => f.write_str(&words.join(", ")),
        }
    }
}

/// Default of a parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Default {
    /// `none`, with what that means.
    None(&'static str),
    /// A whole number.
    Int(u64),
    /// A real number.
    Real(f64),
    /// A truth value.
    Bool(bool),
    /// A word.
    Word(&'static str),
}

impl Default {
    fn value(self) -> Value {
        match self {
            Default::None(_) => Value::None,
            Default::Int(i) => Value::Int(i.into()),
            Default::Real(r) => Value::Real(r),
            Default::Bool(b) => Value::Bool(b),
            Default::Word(w) => Value::Text(w.to_string()),
        }
    }
}

impl fmt::Display for Default {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Default::None(meaning) => write!(f, "none = {meaning}"),
            other => write!(f, "{}", other.value().to_string().trim_matches('"')),
        }
    }
}

/// One parameter of a policy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Param {
    /// Key, as written by users.
    pub name: &'static str,
    /// The paper's letter; empty if it has none.
    pub symbol: &'static str,
    /// Type and range.
    pub kind: Kind,
    /// Default.
    pub default: Default,
    /// Unit of the value.
    pub unit: &'static str,
    /// What it does, and where the default comes from.
    pub about: &'static str,
}

/// A policy's parameters, all of them, checked.
#[derive(Clone, PartialEq, Debug, std::default::Default)]
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
        let mut values: BTreeMap<&'static str, Value> =
            declared.iter().map(|p| (p.name, p.default.value())).collect();
        for (key, value) in given {
            let Some(param) = declared.iter().find(|p| p.name == key) else {
                return Err(ParamError(unknown_key(policy, key, declared)));
            };
            let checked = check_value(param, value).ok_or_else(|| {
                ParamError(format!(
                    "{policy}: {key} = {value}: expected {}{}{}",
                    param.kind,
                    if param.unit.is_empty() { "" } else { ", " },
                    param.unit
                ))
            })?;
            values.insert(param.name, checked);
        }
        Ok(Params(values))
    }

    /// Every parameter with its value, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(&k, v)| (k, v))
    }

    fn get(&self, key: &str) -> &Value {
        self.0.get(key).unwrap_or_else(|| unreachable!("{key} is declared beside the policy"))
    }

    /// A parameter of kind `Int`.
    pub fn int(&self, key: &str) -> u64 {
        self.optional_int(key).unwrap_or_else(|| unreachable!("{key} is an integer"))
    }

    /// A parameter of kind `Int` or `OptionalInt`.
    pub fn optional_int(&self, key: &str) -> Option<u64> {
        match self.get(key) {
            Value::Int(i) => u64::try_from(*i).ok(),
            _ => None,
        }
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

/// The value in the parameter's type, or `None` if it is outside. Nothing is clamped, and nothing
/// is converted but whole numbers where reals are expected.
fn check_value(param: &Param, value: &Value) -> Option<Value> {
    let whole = |min: u64, max: u64| match value {
        Value::Int(i) if (i128::from(min)..=i128::from(max)).contains(i) => Some(value.clone()),
        _ => None,
    };
    let real = |is_inside: &dyn Fn(f64) -> bool| {
        let real = match value {
            Value::Real(r) => *r,
            Value::Int(i) => *i as f64,
            _ => return None,
        };
        is_inside(real).then_some(Value::Real(real))
    };
    match param.kind {
        Kind::Int { min, max } => whole(min, max),
        Kind::OptionalInt { .. } if *value == Value::None => Some(Value::None),
        Kind::OptionalInt { min, max } => whole(min, max),
        Kind::Real { min, max } => real(&|r| (min..=max).contains(&r)),
        Kind::RealAbove { above } => real(&|r| r > above && r.is_finite()),
        Kind::OptionalReal { .. } if *value == Value::None => Some(Value::None),
        Kind::OptionalReal { min, max } => real(&|r| (min..=max).contains(&r)),
        Kind::Bool => matches!(value, Value::Bool(_)).then(|| value.clone()),
        Kind::Choice(words) => match value {
            Value::Text(t) if words.contains(&t.as_str()) => Some(value.clone()),
            _ => None,
        },
    }
}

fn unknown_key(policy: &str, key: &str, declared: &[Param]) -> String {
    if declared.is_empty() {
        return format!("{policy}: unknown parameter {key:?}: {policy} has no parameters");
    }
    let names = || declared.iter().map(|p| p.name);
    let meant = nearest(key, names()).map(|n| format!(", did you mean {n}?")).unwrap_or_default();
    let known = names().collect::<Vec<_>>().join(", ");
    format!("{policy}: unknown parameter {key:?}{meant} (it has: {known})")
}

/// The known word nearest to a mistyped one, if it is near enough to be meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |s: &str| s.to_ascii_lowercase().replace('_', "-");
    let word = plain(word);
    known
        .into_iter()
        .map(|k| (edits(&word, &plain(k)), k))
        .filter(|&(edits, k)| edits <= 1 + k.len().min(word.len()) / 3)
        .min()
        .map(|(_, k)| k)
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let replace = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    static PARAMS: &[Param] = &[
        Param {
            name: "window_fraction",
            symbol: "w/s",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: Default::Real(0.5),
            unit: "of frames",
            about: "",
        },
        Param {
            name: "ghost_max",
            symbol: "",
            kind: Kind::OptionalInt { min: 0, max: u64::MAX },
            default: Default::None("unlimited"),
            unit: "pages",
            about: "",
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
    fn a_mistyped_key_is_answered_with_the_nearest_one() {
        let error = check("window_fractoin", Value::Int(1)).unwrap_err().0;
        assert!(error.contains("did you mean window_fraction?"), "{error}");
    }

    #[test]
    fn nearest_names_what_was_meant_and_nothing_else() {
        let known = ["lru", "lru-wsr", "clock", "s3-fifo"];
        assert_eq!(nearest("s3fifo", known), Some("s3-fifo"));
        assert_eq!(nearest("LRU_WSR", known), Some("lru-wsr"));
        assert_eq!(nearest("clok", known), Some("clock"));
        assert_eq!(nearest("belady", known), None);
    }
}
