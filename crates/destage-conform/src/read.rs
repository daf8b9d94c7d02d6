//! Reads a line of a vector file by serde: the shape is a struct, and errors name the path of the
//! key, the expected and the found value.

use super::json::shown;
use destage_core::{Nanos, Op};
use destage_policies::params::Value;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// A fault of a line, and the key that has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Malformed {
    /// Path of the key, such as `accesses[3][1]`; empty for the line as a whole.
    pub(super) key: String,
    pub(super) what: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            f.write_str(&self.what)
        } else {
            write!(f, "{}: {}", self.key, self.what)
        }
    }
}

pub(super) fn malformed(key: impl Into<String>, what: impl Into<String>) -> Malformed {
    Malformed { key: key.into(), what: what.into() }
}

pub(super) fn unexpected(key: impl Into<String>, expected: &str, found: &Json) -> Malformed {
    malformed(key, mismatch(expected, found))
}

/// The error of a value that is something else.
pub(super) fn wrong<E: Error>(expected: &str, found: &Json) -> E {
    E::custom(mismatch(expected, found))
}

fn mismatch(expected: &str, found: &Json) -> String {
    format!("expected {expected}, found {}", shown(found))
}

/// A list that has one entry for each of something else.
pub(super) fn one_for_each<T>(
    key: &str,
    entries: Option<List<T>>,
    (of, count): (&str, usize),
) -> Result<Option<Vec<T>>, Malformed> {
    match entries {
        Some(List(entries)) if entries.len() != count => {
            let found = entries.len();
            Err(malformed(key, format!("expected one per {of} ({count}), found {found} of them")))
        }
        entries => Ok(entries.map(|List(entries)| entries)),
    }
}

/// Notes a key that is compared with nothing, once.
pub(super) fn note(unknown_keys: &mut Vec<String>, key: String) {
    if !unknown_keys.contains(&key) {
        unknown_keys.push(key);
    }
}

/// Reads a line; also gives the keys that are not part of its layout, list indices left out.
pub(super) fn read<T: DeserializeOwned>(line: &Json) -> Result<(T, Vec<String>), Malformed> {
    let mut unknown_keys = Vec::new();
    let mut ignored = |path: serde_ignored::Path<'_>| note(&mut unknown_keys, plain(&path));
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(line, &mut track);
    let read = T::deserialize(serde_ignored::Deserializer::new(tracked, &mut ignored));
    match read {
        Ok(read) => Ok((read, unknown_keys)),
        Err(error) => Err(sentence(line, &track.path(), &error.to_string())),
    }
}

/// `decisions[].hits`.
fn plain(path: &serde_ignored::Path<'_>) -> String {
    use serde_ignored::Path;
    match path {
        Path::Root => String::new(),
        Path::Seq { parent, .. } => format!("{}[]", plain(parent)),
        Path::Map { parent, key } => match plain(parent) {
            root if root.is_empty() => key.clone(),
            parent => format!("{parent}.{key}"),
        },
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => plain(parent),
    }
}

/// An error of serde in the words of all our errors.
fn sentence(line: &Json, path: &serde_path_to_error::Path, error: &str) -> Malformed {
    use serde_path_to_error::Segment;
    let mut key = path.to_string();
    if key == "." {
        key.clear(); // the line as a whole
    }
    let missing = error.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    if let Some(missing) = missing {
        let dot = if key.is_empty() { "" } else { "." };
        return malformed(format!("{key}{dot}{missing}"), "the key is missing");
    }
    let expected = error.split_once(", expected ").filter(|_| error.starts_with("invalid "));
    let Some((_, expected)) = expected else { return malformed(key, error) };
    let at = |found: &'_ Json, segment: &Segment| match segment {
        Segment::Seq { index } => found.get(*index).cloned(),
        Segment::Map { key } => found.get(key).cloned(),
        _ => None,
    };
    let found = path.iter().try_fold(line.clone(), |found, segment| at(&found, segment));
    let expected = if expected == "a map" { "an object" } else { expected };
    unexpected(key, expected, &found.unwrap_or_default())
}

/// A key that may be absent, and is not null if it is there.
pub(super) fn present<'de, D, T>(value: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(value).map(Some)
}

/// A value and the words for what is expected of it.
macro_rules! worded {
    ($(#[$doc:meta])* $name:ident($type:ty), $words:expr, |$found:ident| $read:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub(super) struct $name(pub(super) $type);

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
                let $found = &<serde_json::Value as serde::Deserialize>::deserialize(value)?;
                let read: Option<$type> = $read;
                read.map($name).ok_or_else(|| $crate::read::wrong($words, $found))
            }
        }
    };
}
pub(super) use worded;

worded!(
    /// A string.
    #[derive(Default)]
    Text(String), "a string", |found| found.as_str().map(str::to_owned)
);
worded!(
    /// True or false.
    Flag(bool), "true or false", |found| found.as_bool()
);
worded!(
    /// Frames of a cache.
    Frames(u32), "an integer 1..4294967295",
    |found| found.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|&frames| frames > 0)
);
worded!(
    /// A number of a page.
    PageNumber(u64), "a page number 0..18446744073709551615", |found| found.as_u64()
);
worded!(
    /// A count, or a time in nanoseconds.
    #[derive(Default)]
    Count(Nanos), "an integer >= 0", |found| found.as_u64()
);
worded!(
    /// Read or write.
    Direction(Op), "\"r\" or \"w\"", |found| match found.as_str() {
        Some("r") => Some(Op::Read),
        Some("w") => Some(Op::Write),
        _ => None,
    }
);
worded!(
    /// A parameter of a policy.
    Param(Value), "a number, a string, true, false or null", |found| match found {
        Json::Array(_) | Json::Object(_) => None,
        plain => serde_json::from_value(plain.clone()).ok(),
    }
);

/// Parameters, by name.
pub(super) type Params = BTreeMap<String, Param>;

/// An object whose keys are looked at later.
pub(super) type Named = Map<String, Json>;

/// A list.
#[derive(Clone, Debug)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = seq.next_element()? {
                    entries.push(entry);
                }
                Ok(List(entries))
            }
        }
        value.deserialize_seq(Entries(PhantomData))
    }
}

impl List<PageNumber> {
    pub(super) fn pages(self) -> Vec<u64> {
        self.0.into_iter().map(|PageNumber(page)| page).collect()
    }
}

impl List<Count> {
    pub(super) fn counts(self) -> Vec<u64> {
        self.0.into_iter().map(|Count(count)| count).collect()
    }
}

/// An object of known keys; a list of their values, which serde would take too, is none.
#[derive(Clone, Default, Debug)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        struct Keys<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Keys<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        value.deserialize_map(Keys(PhantomData))
    }
}

/// A list of a fixed length, each entry of its own type.
macro_rules! row {
    ($(#[$doc:meta])* $name:ident($($field:ident: $type:ty),+), $words:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub(super) struct $name($(pub(super) $type),+);

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
                struct Entries;

                impl<'de> serde::de::Visitor<'de> for Entries {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($words)
                    }

                    fn visit_seq<A: serde::de::SeqAccess<'de>>(
                        self,
                        mut seq: A,
                    ) -> Result<$name, A::Error> {
                        let wrong = |this: &Self| {
                            <A::Error as serde::de::Error>::invalid_length(0, this)
                        };
                        $(let $field: $type = seq.next_element()?.ok_or_else(|| wrong(&self))?;)+
                        match seq.next_element::<serde::de::IgnoredAny>()? {
                            None => Ok($name($($field),+)),
                            Some(_) => Err(wrong(&self)),
                        }
                    }
                }
                value.deserialize_seq(Entries)
            }
        }
    };
}
pub(super) use row;

row!(
    /// An access of a page or block vector.
    Access(op: Direction, page: PageNumber), "a list [\"r\" or \"w\", page]"
);

impl From<Access> for (Op, u64) {
    fn from(Access(Direction(op), PageNumber(page)): Access) -> Self {
        (op, page)
    }
}

/// The values of parameters.
pub(super) fn values(params: Params) -> BTreeMap<String, Value> {
    params.into_iter().map(|(name, Param(value))| (name, value)).collect()
}

/// Takes an option of the run out of the parameters; false if it is not there.
pub(super) fn option(params: &mut BTreeMap<String, Value>, key: &str) -> Result<bool, Malformed> {
    match params.remove(key) {
        None => Ok(false),
        Some(Value::Bool(on)) => Ok(on),
        Some(other) => Err(malformed(
            format!("params.{key}"),
            format!("expected true or false, found {other}"),
        )),
    }
}
