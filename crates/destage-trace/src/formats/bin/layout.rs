//! The list of fields of a record: `<u32 time,u64 offset,u32 length,u8 op,x3`.

use crate::error::Result;
use crate::formats::binary::field;
use crate::formats::mapping::{Roles, usage};

/// A list of fields as messages show one.
pub(super) const EXAMPLE: &str = "\"<u32 time,u64 offset,u32 length,u8 op\"";
/// Most bytes of a record.
const MOST_BYTES: usize = 1 << 20;

/// Storage of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Type {
    U8,
    U16,
    U32,
    U64,
    I32,
    I64,
    F64,
}

const TYPES: [(&str, Type, usize); 7] = [
    ("u8", Type::U8, 1),
    ("u16", Type::U16, 2),
    ("u32", Type::U32, 4),
    ("u64", Type::U64, 8),
    ("i32", Type::I32, 4),
    ("i64", Type::I64, 8),
    ("f64", Type::F64, 8),
];

/// A field that is read: where it begins in the record, and how it is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) at: usize,
    stored: Type,
}

/// Value of a field.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Value {
    /// Any of the whole numbers.
    Whole(i128),
    /// A float.
    Real(f64),
}

impl Value {
    /// The number as text.
    pub(super) fn spelled(self) -> String {
        match self {
            Value::Whole(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
        }
    }
}

/// The fields of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// Bytes of a record.
    pub(super) record_bytes: usize,
    /// Which field is what; `page` is the offset.
    pub(super) roles: Roles<Part>,
    /// The offset is a page number.
    pub(super) counts_pages: bool,
    big_endian: bool,
}

impl Layout {
    /// Reads a list of fields. Errors name the item, what was expected and what was found.
    pub(super) fn parse(text: &str) -> Result<Layout> {
        let text = text.trim();
        let (big_endian, items) = match (text.strip_prefix('<'), text.strip_prefix('>')) {
            (Some(items), _) => (false, items),
            (_, Some(items)) => (true, items),
            _ => {
                return Err(usage(format!(
                    "fields: expected < or > (the byte order) and then TYPE NAME by commas, such \
                     as {EXAMPLE}, found \"{text}\""
                )));
            }
        };
        let mut layout =
            Layout { record_bytes: 0, roles: Roles::default(), counts_pages: false, big_endian };
        for (i, item) in items.split(',').enumerate() {
            layout.add(item.trim()).map_err(|why| {
                usage(format!("fields: \"{}\", the field {}: {why}", item.trim(), i + 1))
            })?;
            if layout.record_bytes > MOST_BYTES {
                let bytes = layout.record_bytes;
                return Err(usage(format!(
                    "fields: expected a record of at most {MOST_BYTES} bytes, found {bytes} up to \
                     the field {}",
                    i + 1
                )));
            }
        }
        if layout.roles.offset.is_none() {
            return Err(usage(format!(
                "fields: expected offset or page among the names, as in {EXAMPLE}, found \"{text}\""
            )));
        }
        Ok(layout)
    }

    fn add(&mut self, item: &str) -> std::result::Result<(), String> {
        let mut words = item.split_ascii_whitespace();
        let (stored, name) = (words.next().unwrap_or(""), words.next());
        let skipped = stored.strip_prefix('x').and_then(|n| n.parse::<usize>().ok());
        if let (Some(bytes @ 1..), None) = (skipped, name) {
            self.record_bytes = self.record_bytes.saturating_add(bytes);
            return Ok(());
        }
        let Some(&(_, stored, bytes)) = TYPES.iter().find(|(word, ..)| *word == stored) else {
            let types = TYPES.map(|(word, ..)| word).join(", ");
            return Err(format!("expected a type, {types}, or xN to skip N bytes from 1"));
        };
        let (Some(name), None) = (name, words.next()) else {
            return Err("expected TYPE NAME, one blank between".to_owned());
        };
        let roles = &mut self.roles;
        let mut device = roles.device.pop();
        let (role, is_number) = match name {
            "time" => (&mut roles.time, true),
            "device" => (&mut device, false),
            "op" => (&mut roles.op, false),
            "offset" | "page" => (&mut roles.offset, true),
            "length" => (&mut roles.length, true),
            "response" => (&mut roles.response, true),
            other => {
                return Err(format!(
                    "there is no name {other}; expected time, device, op, offset, length, \
                     response or page (offset in pages)"
                ));
            }
        };
        if !is_number && stored == Type::F64 {
            return Err(format!("{name} is no f64: expected u8, u16, u32, u64, i32 or i64"));
        }
        if role.replace(Part { at: self.record_bytes, stored }).is_some() {
            let twice = if name == "page" || name == "offset" { "offset or page" } else { name };
            return Err(format!("{twice} is there already"));
        }
        roles.device.extend(device);
        self.counts_pages |= name == "page";
        self.record_bytes += bytes;
        Ok(())
    }

    /// Value of a field of a whole record.
    #[inline]
    pub(super) fn value(&self, part: &Part, record: &[u8]) -> Value {
        macro_rules! number {
            ($t:ty) => {{
                let bytes = field(record, part.at);
                if self.big_endian {
                    <$t>::from_be_bytes(bytes)
                } else {
                    <$t>::from_le_bytes(bytes)
                }
            }};
        }
        match part.stored {
            Type::U8 => Value::Whole(number!(u8).into()),
            Type::U16 => Value::Whole(number!(u16).into()),
            Type::U32 => Value::Whole(number!(u32).into()),
            Type::U64 => Value::Whole(number!(u64).into()),
            Type::I32 => Value::Whole(number!(i32).into()),
            Type::I64 => Value::Whole(number!(i64).into()),
            Type::F64 => Value::Real(number!(f64)),
        }
    }
}
