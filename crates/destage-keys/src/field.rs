//! A key whose value is a field of a struct.

use crate::{Declared, IfAbsent, Key, Kind, Typing, Value};
use std::fmt;

/// A key of which `T` holds the value. [`field!`](crate::field) makes one.
pub struct Field<T: 'static> {
    /// Declaration of the key.
    pub key: Key,
    put: fn(&mut T, &Value) -> Option<()>,
    get: fn(&T) -> Value,
}

impl<T> Field<T> {
    /// A field from its declaration, and how a checked value is put into `T` and got out of it.
    /// `put` may still refuse: `None`.
    pub const fn new(
        key: Key,
        put: fn(&mut T, &Value) -> Option<()>,
        get: fn(&T) -> Value,
    ) -> Field<T> {
        Field { key, put, get }
    }

    /// The field with this unit.
    #[must_use]
    pub const fn unit(self, unit: &'static str) -> Field<T> {
        Field { key: self.key.unit(unit), ..self }
    }

    /// The field with this description.
    #[must_use]
    pub const fn about(self, about: &'static str) -> Field<T> {
        Field { key: self.key.about(about), ..self }
    }

    /// The field with this source of its default.
    #[must_use]
    pub const fn source(self, source: &'static str) -> Field<T> {
        Field { key: self.key.source(source), ..self }
    }

    /// Belonging to these alone.
    #[must_use]
    pub const fn of(self, of: &'static [&'static str]) -> Field<T> {
        Field { key: self.key.of(of), ..self }
    }

    /// Sets it; `None` if the key does not take this value, and then nothing has changed.
    pub fn set(&self, target: &mut T, value: &Value, typing: Typing) -> Option<()> {
        self.set_as(self.key.kind, target, value, typing)
    }

    /// Sets the field by a narrower type than declared, where other keys narrow it.
    pub fn set_as(&self, kind: Kind, target: &mut T, value: &Value, typing: Typing) -> Option<()> {
        (self.put)(target, &kind.read(value, typing)?)
    }

    /// Value of the field, such as [`set`](Field::set) takes.
    pub fn get(&self, target: &T) -> Value {
        (self.get)(target)
    }

    /// Sets it to its default. A field without a default of its own stays.
    pub fn reset(&self, target: &mut T) {
        let Some(default) = self.key.default.value() else { return };
        // Absent is not given: it need not be a value that a user may give.
        let set = match self.key.default {
            IfAbsent::None(_) => (self.put)(target, &default),
            _ => self.set(target, &default, Typing::Exact),
        };
        assert!(set.is_some(), "the default of {} is one of its values", self.key.name);
    }
}

// Not derived: that would ask it of `T`.
impl<T> fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field").field("key", &self.key).finish_non_exhaustive()
    }
}

impl<T> Declared for Field<T> {
    fn key(&self) -> &Key {
        &self.key
    }
}

/// A type that a field may have: what it is as a value, in both directions.
pub trait AsValue: Sized {
    /// Out of a value that its key has checked.
    fn of(value: &Value) -> Option<Self>;

    /// The field's content as a value.
    fn value(&self) -> Value;
}

impl AsValue for u64 {
    fn of(value: &Value) -> Option<Self> {
        value.as_whole()
    }

    fn value(&self) -> Value {
        (*self).into()
    }
}

impl AsValue for u32 {
    fn of(value: &Value) -> Option<Self> {
        value.as_whole().and_then(|whole| whole.try_into().ok())
    }

    fn value(&self) -> Value {
        u64::from(*self).into()
    }
}

impl AsValue for f64 {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Real(real) => Some(*real),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        Value::Real(*self)
    }
}

impl AsValue for bool {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        Value::Bool(*self)
    }
}

impl AsValue for String {
    fn of(value: &Value) -> Option<Self> {
        value.as_text().map(str::to_string)
    }

    fn value(&self) -> Value {
        self.as_str().into()
    }
}

impl<T: AsValue> AsValue for Option<T> {
    fn of(value: &Value) -> Option<Self> {
        if *value == Value::None { Some(None) } else { T::of(value).map(Some) }
    }

    fn value(&self) -> Value {
        self.as_ref().map_or(Value::None, T::value)
    }
}

impl<T: AsValue> AsValue for Vec<T> {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::List(values) => values.iter().map(T::of).collect(),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        Value::List(self.iter().map(T::value).collect())
    }
}

/// A [`Field`] out of a struct's field.
///
/// `field!(Queue.depth, KIND, DEFAULT)` is the key `depth` for the field `depth` of `Queue`, whose
/// type is [`AsValue`]. `field!(Queue.from_ns as "from", KIND, DEFAULT, READ, WRITE)` is the key
/// `from` for the field `from_ns`: `READ` makes the field's value out of a [`Value`]
/// (`Fn(&Value) -> Option<_>`), and `WRITE` turns it back (`Fn(&_) -> Value`).
#[macro_export]
macro_rules! field {
    ($of:ident.$field:ident, $($rest:tt)+) => {
        $crate::field!($of.$field as stringify!($field), $($rest)+)
    };
    ($of:ident.$field:ident as $name:expr, $kind:expr, $default:expr) => {
        $crate::field!(
            $of.$field as $name,
            $kind,
            $default,
            $crate::AsValue::of,
            $crate::AsValue::value
        )
    };
    ($of:ident.$field:ident as $name:expr, $kind:expr, $default:expr, $read:expr, $write:expr) => {
        $crate::Field::new(
            $crate::Key::new($name, $kind, $default),
            |target: &mut $of, value: &$crate::Value| {
                target.$field = $read(value)?;
                Some(())
            },
            |target: &$of| $write(&target.$field),
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{find, words};

    words! {
        /// Who goes first.
        #[derive(Default)]
        Order {
            /// The oldest.
            #[default]
            Fifo = "fifo",
            /// The newest.
            Lifo = "lifo",
        }
    }

    #[derive(Clone, PartialEq, Default, Debug)]
    struct Queue {
        depth: u32,
        share: f64,
        is_fair: bool,
        order: Order,
        latencies: Vec<u64>,
        ceiling: Option<u64>,
        from_ms: u64,
    }

    fn seconds(value: &Value) -> Option<u64> {
        value.as_text()?.strip_suffix('s')?.parse::<u64>().ok()?.checked_mul(1000)
    }

    fn as_seconds(ms: &u64) -> Value {
        format!("{}s", ms / 1000).as_str().into()
    }

    static KEYS: &[Field<Queue>] = &[
        field!(Queue.depth, Kind::int(1, 64), IfAbsent::Int(32)).unit("requests"),
        field!(Queue.share, Kind::real(0.0, 1.0), IfAbsent::Real(0.5)),
        field!(Queue.is_fair as "fair", Kind::Bool, IfAbsent::Bool(true)),
        field!(Queue.order, Kind::Choice(Order::NAMES), IfAbsent::Word("lifo")),
        field!(Queue.latencies, Kind::ints(0, 9), IfAbsent::List(3)),
        field!(Queue.ceiling, Kind::OPTIONAL_WHOLE, IfAbsent::None("no end")),
        field!(
            Queue.from_ms as "from", Kind::Form("seconds"), IfAbsent::Word("4s"),
            seconds, as_seconds
        ),
    ];

    fn defaults() -> Queue {
        let mut queue = Queue::default();
        KEYS.iter().for_each(|key| key.reset(&mut queue));
        queue
    }

    fn set(name: &str, value: Value) -> Option<Queue> {
        let mut queue = defaults();
        find(KEYS, name).expect("a key").set(&mut queue, &value, Typing::Exact).map(|()| queue)
    }

    #[test]
    fn defaults_reading_and_writing_follow_from_the_rows() {
        let queue = defaults();
        let (latencies, from_ms) = (vec![3], 4000);
        let expected = Queue {
            depth: 32,
            share: 0.5,
            is_fair: true,
            order: Order::Lifo,
            latencies,
            from_ms,
            ceiling: None,
        };
        assert_eq!(queue, expected);
        let written: Vec<String> = KEYS.iter().map(|key| key.get(&queue).spelled()).collect();
        assert_eq!(written, ["32", "0.5", "true", "lifo", "[3]", "none", "4s"]);
        let mut again = Queue::default();
        for key in KEYS {
            key.set(&mut again, &key.get(&queue), Typing::Exact).expect("what was written");
        }
        assert_eq!(again, queue);
    }

    #[test]
    fn a_value_that_the_key_or_its_field_refuses_changes_nothing() {
        assert_eq!(set("depth", Value::Int(8)).map(|queue| queue.depth), Some(8));
        assert_eq!(set("depth", Value::Int(65)), None);
        assert_eq!(set("order", "filo".into()), None);
        assert_eq!(set("from", "4m".into()), None, "the form is checked by the field");
        assert_eq!(set("from", "9s".into()).map(|queue| queue.from_ms), Some(9000));
        assert_eq!(set("ceiling", Value::Int(0)).map(|queue| queue.ceiling), Some(Some(0)));
        let mut queue = defaults();
        let depth = &KEYS[0];
        let narrow = depth.key.kind.at_least(9);
        assert_eq!(depth.set_as(narrow, &mut queue, &Value::Int(8), Typing::Exact), None);
        assert_eq!(queue, defaults());
    }
}
