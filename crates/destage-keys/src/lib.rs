//! Keys that users set: declared once, and read, written, listed and looked up by that.
//!
//! A policy's parameters, the tables of a drive, a trace reader's options and a workload's
//! parameters are all lists of [`Key`]s. A key says what it is called, what it [takes](Kind), what
//! it is [if absent](IfAbsent), its unit, what it is for, where its default comes from and to what
//! it belongs. Help, documentation and catalogues are made of these lists; so are the checks.
//!
//! Where a struct holds the values, each key is a [`Field`] of it: the key, and how the struct's
//! field is set and read back. Defaults, reading and writing are then a loop over the list.
//!
//! ```
//! use destage_keys::{Field, IfAbsent, Kind, Typing, Value, field, find, words};
//!
//! words! {
//!     /// Who goes first.
//!     #[derive(Default)]
//!     Order {
//!         /// The oldest.
//!         #[default]
//!         Fifo = "fifo",
//!         /// The newest.
//!         Lifo = "lifo",
//!     }
//! }
//!
//! #[derive(Default)]
//! struct Queue {
//!     depth: u32,
//!     order: Order,
//! }
//!
//! static KEYS: &[Field<Queue>] = &[
//!     field!(Queue.depth, Kind::int(1, 64), IfAbsent::Int(32)).unit("requests").about("room"),
//!     field!(Queue.order, Kind::Choice(Order::NAMES), IfAbsent::Word("fifo")).about("first out"),
//! ];
//!
//! let mut queue = Queue::default();
//! KEYS.iter().for_each(|key| key.reset(&mut queue));
//! let depth = find(KEYS, "depth").unwrap();
//! assert_eq!(depth.set(&mut queue, &Value::Int(8), Typing::Exact), Some(()));
//! assert_eq!(depth.set(&mut queue, &Value::Int(65), Typing::Exact), None);
//! assert_eq!(depth.key.kind.to_string(), "integer 1..64");
//! let written = KEYS.iter().map(|key| format!("{}={}", key.key.name, key.get(&queue).spelled()));
//! assert_eq!(written.collect::<Vec<_>>(), ["depth=8", "order=fifo"]);
//! let unknown = find(KEYS, "ordre").unwrap_err();
//! assert_eq!(format!("no key ordre{}", unknown.question()), "no key ordre, did you mean order?");
//! ```
//!
//! Messages are up to the owner of a list: this crate finds the mistake and the nearest name,
//! and its owner words the sentence.

mod bytes;
mod field;
mod key;
mod kind;
mod nearest;
mod pairs;
mod printable;
mod value;
mod words;

pub use bytes::{amount, bytes, duration_ns, unit_bytes};
pub use field::{AsValue, Field};
pub use key::{Declared, IfAbsent, Key, Unknown, find};
pub use kind::{Kind, Typing};
pub use nearest::{listed, nearest, nearest_alone, question};
pub use pairs::{parts, with_semicolons};
pub use printable::printable;
pub use value::Value;
pub use words::Word;

#[doc(hidden)]
pub use serde;
