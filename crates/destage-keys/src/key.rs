//! The declaration of a key, and looking one up.

use crate::{Kind, Typing, Value, nearest, nearest_alone};
use std::fmt;

/// The value of a key that is not given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum IfAbsent {
    /// Nothing: there is no default to speak of.
    Nothing,
    /// `none`, with what that means.
    None(&'static str),
    /// A whole number.
    Int(u64),
    /// A list of one whole number.
    List(u64),
    /// A number.
    Real(f64),
    /// A truth value.
    Bool(bool),
    /// A word, or a text that the key's form reads.
    Word(&'static str),
    /// Derived from other keys or from the input, as this text says.
    From(&'static str),
}

impl IfAbsent {
    /// The default as a value; `None` where the declaration alone has none.
    pub fn value(self) -> Option<Value> {
        Some(match self {
            IfAbsent::Nothing | IfAbsent::From(_) => return None,
            IfAbsent::None(_) => Value::None,
            IfAbsent::Int(int) => int.into(),
            IfAbsent::List(int) => Value::List(vec![int.into()]),
            IfAbsent::Real(real) => Value::Real(real),
            IfAbsent::Bool(value) => Value::Bool(value),
            IfAbsent::Word(text) => text.into(),
        })
    }
}

impl fmt::Display for IfAbsent {
    /// The default as a user types it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IfAbsent::None(meaning) => write!(f, "none = {meaning}"),
            IfAbsent::From(how) => f.write_str(how),
            other => f.write_str(&other.value().map(|value| value.spelled()).unwrap_or_default()),
        }
    }
}

/// A key: all that help, documentation and checks know of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Key {
    /// Name, as users write it.
    pub name: &'static str,
    /// The source's letter for it; empty if it has none.
    pub symbol: &'static str,
    /// Type and range.
    pub kind: Kind,
    /// Value if it is not given.
    pub default: IfAbsent,
    /// Unit of the value; empty for pure numbers, words and truth values.
    pub unit: &'static str,
    /// Effect, in a line.
    pub about: &'static str,
    /// Source of the default; empty if `about` names it.
    pub source: &'static str,
    /// Formats or workload types that have the key; empty for all.
    pub of: &'static [&'static str],
}

impl Key {
    /// Nothing but empty texts, to be filled in: `Key { name: "w", ..Key::BLANK }`.
    pub const BLANK: Key = Key {
        name: "",
        symbol: "",
        kind: Kind::Form(""),
        default: IfAbsent::Nothing,
        unit: "",
        about: "",
        source: "",
        of: &[],
    };

    /// A key of this name and kind; the rest is added by the methods below.
    pub const fn new(name: &'static str, kind: Kind, default: IfAbsent) -> Key {
        Key { name, kind, default, ..Key::BLANK }
    }

    /// The key with this unit.
    #[must_use]
    pub const fn unit(self, unit: &'static str) -> Key {
        Key { unit, ..self }
    }

    /// The key with this description.
    #[must_use]
    pub const fn about(self, about: &'static str) -> Key {
        Key { about, ..self }
    }

    /// The key with this source of its default.
    #[must_use]
    pub const fn source(self, source: &'static str) -> Key {
        Key { source, ..self }
    }

    /// Belonging to these alone.
    #[must_use]
    pub const fn of(self, of: &'static [&'static str]) -> Key {
        Key { of, ..self }
    }

    /// Whether this format or workload type has the key.
    pub fn applies_to(&self, name: &str) -> bool {
        self.of.is_empty() || self.of.contains(&name)
    }

    /// The value in this key's type; `None` if the key does not take it.
    pub fn read(&self, value: &Value, typing: Typing) -> Option<Value> {
        self.kind.read(value, typing)
    }
}

/// A row of a list of keys.
pub trait Declared {
    /// Key of the declaration.
    fn key(&self) -> &Key;
}

impl Declared for Key {
    fn key(&self) -> &Key {
        self
    }
}

/// The row of this name.
///
/// # Errors
///
/// [`Unknown`], with the names that there are.
pub fn find<'r, R, I>(rows: I, name: &str) -> Result<&'r R, Unknown>
where
    R: Declared,
    I: IntoIterator<Item = &'r R>,
{
    let mut known = Vec::new();
    for row in rows {
        if row.key().name == name {
            return Ok(row);
        }
        known.push(row.key().name);
    }
    Err(Unknown { name: name.to_string(), known })
}

/// A name that no row has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unknown {
    /// Name, as given.
    pub name: String,
    /// Names of all rows, in their order.
    pub known: Vec<&'static str>,
}

impl Unknown {
    /// `, did you mean ...?` with the nearest name, or nothing: for a sentence that goes on with
    /// the [list](Unknown::list).
    pub fn question(&self) -> String {
        let near = nearest(&self.name, self.known.iter().copied());
        near.map(|near| format!(", did you mean {near}?")).unwrap_or_default()
    }

    /// `did you mean ...?`, or else `expected one of ...`: for a sentence that has room for one of
    /// them.
    pub fn hint(&self) -> String {
        match nearest_alone(&self.name, self.known.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("expected one of {}", self.list()),
        }
    }

    /// All names there are, with commas.
    pub fn list(&self) -> String {
        self.known.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static KEYS: &[Key] = &[
        Key::new("depth", Kind::int(1, 8), IfAbsent::Int(4)).unit("requests").about("room"),
        Key::new("order", Kind::Choice(&["fifo", "lifo"]), IfAbsent::Word("fifo")).of(&["queue"]),
    ];

    #[test]
    fn a_default_reads_as_a_user_would_write_it() {
        for (default, said) in [
            (IfAbsent::Nothing, ""),
            (IfAbsent::None("unlimited"), "none = unlimited"),
            (IfAbsent::Int(7), "7"),
            (IfAbsent::List(7), "[7]"),
            (IfAbsent::Real(1.0), "1.0"),
            (IfAbsent::Bool(true), "true"),
            (IfAbsent::Word("lru"), "lru"),
            (IfAbsent::From("2*depth"), "2*depth"),
        ] {
            assert_eq!(default.to_string(), said);
        }
    }

    #[test]
    fn a_key_is_found_by_its_name_or_named_by_the_nearest() {
        assert_eq!(find(KEYS, "order").map(|key| key.kind), Ok(KEYS[1].kind));
        let unknown = find(KEYS, "dept").expect_err("no such key");
        assert_eq!(unknown.question(), ", did you mean depth?");
        assert_eq!(unknown.hint(), "did you mean depth?");
        let unknown = find(KEYS, "colour").expect_err("no such key");
        assert_eq!((unknown.question(), unknown.list()), (String::new(), "depth, order".into()));
        assert_eq!(unknown.hint(), "expected one of depth, order");
    }

    #[test]
    fn a_key_belongs_to_what_it_names_or_to_all() {
        assert!(KEYS[0].applies_to("queue") && KEYS[0].applies_to("stack"));
        assert!(KEYS[1].applies_to("queue") && !KEYS[1].applies_to("stack"));
    }
}
