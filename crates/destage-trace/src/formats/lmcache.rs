//! `lmcache`: the storage trace of LMCache (`.lct`).
//!
//! ```text
//! u32 length (big-endian), a MessagePack map of that length; again, to the end of the file
//! {type: "header", magic: "LMCT", format_version: 1, level: "storage", ...}
//! {type: "record", t_mono: 0.25, qualname: "....StorageManager.reserve_write", args: {keys: ...}}
//! ```
//! A call of `reserve_write` writes its keys, one of `submit_prefetch_task` looks them up: reads.
//! Other calls are ignored by name. A key (hash of the chunk, model, rank, group) names a page;
//! pages are numbered in the order in which keys come. A page has the bytes of the layout that the
//! calls carry, or `block_bytes`. Time is `t_mono`, seconds since the recorder began.

use std::collections::HashMap;

use super::mapping::usage;
use crate::error::{Category, Location, Result, TraceError};
use crate::format::{BATCH_RECORDS, Facts, Format, Opening, RecordReader, Sample, Tally, Verdict};
use crate::input::Input;
use crate::record::{DeviceTable, Record, RecordOp};
use destage_keys::printable;

/// The row of the table. Not checked against a real file: unconfirmed.
pub static FORMAT: Format = Format {
    exact: true,
    blocks: false,
    has_volumes: false,
    confirmed: false,
    name_parts: &[".lct"],
    ..Format::binary(
        "lmcache",
        "storage trace of LMCache",
        "calls of its storage manager: reserve_write writes, submit_prefetch_task reads; a page a \
         key, of the bytes of its layout (block_bytes)",
        detect,
        open,
    )
};

/// Bytes before a frame: its length.
const PREFIX_BYTES: usize = 4;
/// A longer frame is none.
const MOST_FRAME_BYTES: usize = 64 << 20;
/// Lists and maps within each other that a frame may have.
const MOST_DEPTH: usize = 32;

fn detect(sample: &Sample) -> Verdict {
    let head = &sample.bytes[..sample.bytes.len().min(256)];
    let is_map = head.get(PREFIX_BYTES).is_some_and(|&c| matches!(c, 0x80..=0x8f | 0xde));
    match is_map && memchr::memmem::find(head, b"LMCT").is_some() {
        true => Verdict::Yes("the magic LMCT in its first frame".to_owned()),
        false => Verdict::No,
    }
}

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    Ok(Box::new(LmCache {
        name: input.name().to_owned(),
        device: input.device_name(),
        hint: opening.hint(),
        block_bytes: opening.options.block_bytes,
        input,
        frame: 0,
        byte: 0,
        pages: HashMap::new(),
    }))
}

/// A value of MessagePack.
#[derive(Debug, PartialEq)]
enum Value<'a> {
    Nil,
    Whole(i128),
    Real(f64),
    /// Text or bytes.
    Bytes(&'a [u8]),
    List(Vec<Value<'a>>),
    Map(Vec<(Value<'a>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// The value of a key of a map.
    fn get(&self, key: &str) -> Option<&Value<'a>> {
        let Value::Map(pairs) = self else { return None };
        pairs.iter().find(|(k, _)| *k == Value::Bytes(key.as_bytes())).map(|(_, value)| value)
    }

    fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The values that LMCache tags so, anywhere within, in order.
    fn tagged<'v>(&'v self, tag: &str, out: &mut Vec<&'v Value<'a>>) {
        if let (Some(found), Some(value)) = (self.get("__t__"), self.get("v"))
            && found.bytes() == Some(tag.as_bytes())
        {
            return out.push(value);
        }
        match self {
            Value::List(values) => values.iter().for_each(|value| value.tagged(tag, out)),
            Value::Map(pairs) => pairs.iter().for_each(|(_, value)| value.tagged(tag, out)),
            _ => {}
        }
    }
}

/// Reads values from a frame; `None` for what MessagePack does not have, or cut off.
struct Frame<'a> {
    rest: &'a [u8],
}

impl<'a> Frame<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(front)
    }

    fn whole(&mut self, bytes: usize) -> Option<u64> {
        Some(self.take(bytes)?.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
    }

    fn length(&mut self, bytes: usize) -> Option<usize> {
        self.whole(bytes).and_then(|length| usize::try_from(length).ok())
    }

    fn value(&mut self, depth: usize) -> Option<Value<'a>> {
        let tag = self.take(1)?[0];
        let signed = |value: u64, bits: u32| {
            let value = (value as i64) << (64 - bits) >> (64 - bits);
            Value::Whole(value.into())
        };
        Some(match tag {
            0x00..=0x7f => Value::Whole(tag.into()),
            0xe0..=0xff => Value::Whole((tag as i8).into()),
            0xc0 => Value::Nil,
            0xc2 | 0xc3 => Value::Whole((tag & 1).into()),
            0xcc..=0xcf => Value::Whole(self.whole(1 << (tag - 0xcc))?.into()),
            0xd0..=0xd3 => signed(self.whole(1 << (tag - 0xd0))?, 8 << (tag - 0xd0)),
            0xca => Value::Real(f32::from_bits(self.whole(4)? as u32).into()),
            0xcb => Value::Real(f64::from_bits(self.whole(8)?)),
            0xa0..=0xbf => Value::Bytes(self.take((tag & 0x1f).into())?),
            0xd9..=0xdb => {
                let length = self.length(1 << (tag - 0xd9))?;
                Value::Bytes(self.take(length)?)
            }
            0xc4..=0xc6 => {
                let length = self.length(1 << (tag - 0xc4))?;
                Value::Bytes(self.take(length)?)
            }
            0x90..=0x9f => self.list((tag & 0xf).into(), depth)?,
            0xdc | 0xdd => {
                let length = self.length(2 << (tag - 0xdc))?;
                self.list(length, depth)?
            }
            0x80..=0x8f => self.map((tag & 0xf).into(), depth)?,
            0xde | 0xdf => {
                let length = self.length(2 << (tag - 0xde))?;
                self.map(length, depth)?
            }
            _ => return None,
        })
    }

    fn list(&mut self, length: usize, depth: usize) -> Option<Value<'a>> {
        let deeper = (depth < MOST_DEPTH).then_some(depth + 1)?;
        // Each value has at least a byte: a length beyond the frame is none.
        (length <= self.rest.len()).then_some(())?;
        Some(Value::List((0..length).map(|_| self.value(deeper)).collect::<Option<_>>()?))
    }

    fn map(&mut self, length: usize, depth: usize) -> Option<Value<'a>> {
        let deeper = (depth < MOST_DEPTH).then_some(depth + 1)?;
        (length <= self.rest.len()).then_some(())?;
        let pairs = (0..length).map(|_| Some((self.value(deeper)?, self.value(deeper)?)));
        Some(Value::Map(pairs.collect::<Option<_>>()?))
    }
}

/// Bytes of a layout: those of all its tensors.
fn layout_bytes(layout: &Value) -> Option<u64> {
    let (Value::List(shapes), Value::List(types)) = (layout.get("shapes")?, layout.get("dtypes")?)
    else {
        return None;
    };
    let mut sum = 0u64;
    for (shape, kind) in shapes.iter().zip(types) {
        let Value::List(sides) = shape else { return None };
        let name = std::str::from_utf8(kind.bytes()?).ok()?;
        let mut bytes: u64 = match name.rsplit('.').next().unwrap_or(name) {
            "bfloat16" | "float16" | "half" | "int16" | "uint16" => 2,
            "float32" | "float" | "int32" | "uint32" => 4,
            "float64" | "double" | "int64" | "uint64" => 8,
            other if other.starts_with("float8") || matches!(other, "uint8" | "int8" | "bool") => 1,
            _ => return None,
        };
        for side in sides {
            let Value::Whole(side) = side else { return None };
            bytes = bytes.checked_mul(u64::try_from(*side).ok()?)?;
        }
        sum = sum.checked_add(bytes)?;
    }
    (sum > 0).then_some(sum)
}

struct LmCache {
    input: Input,
    name: String,
    device: String,
    hint: String,
    /// Bytes of a page, once they are known.
    block_bytes: Option<u64>,
    /// Frames read so far, and the byte where the next one begins.
    frame: u64,
    byte: u64,
    /// Pages of the keys.
    pages: HashMap<Vec<u8>, u64>,
}

impl LmCache {
    fn error(&self, message: impl Into<String>) -> TraceError {
        let place = Location::Record { record: self.frame, byte: self.byte };
        TraceError::data(&self.name, place, message).with_hint(self.hint.clone())
    }

    /// The bytes of the next frame; `None` at the end.
    fn next_frame(&mut self) -> Result<Option<Vec<u8>>> {
        self.input.ensure(PREFIX_BYTES)?;
        let window = self.input.window();
        if window.is_empty() {
            return Ok(None);
        }
        let Some(prefix) = window.first_chunk::<PREFIX_BYTES>() else {
            return Err(self.error("expected the length of a frame, found the end of the file"));
        };
        let length = u32::from_be_bytes(*prefix) as usize;
        if length > MOST_FRAME_BYTES {
            return Err(self.error(format!("expected a frame, found a length of {length} bytes")));
        }
        self.input.ensure(PREFIX_BYTES + length)?;
        let Some(frame) = self.input.window().get(PREFIX_BYTES..PREFIX_BYTES + length) else {
            return Err(self.error(format!("expected a frame of {length} bytes, found fewer")));
        };
        let frame = frame.to_vec();
        self.input.consume(PREFIX_BYTES + length);
        Ok(Some(frame))
    }

    /// Requests of one frame; the fault of one that is malformed.
    fn take(
        &mut self,
        frame: &[u8],
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<std::result::Result<(), (Category, String)>> {
        let bad = |category, text: &str| Ok(Err((category, text.to_owned())));
        let Some(value) = (Frame { rest: frame }).value(0) else {
            return bad(Category::TruncatedRecord, "expected MessagePack, found other bytes");
        };
        if value.get("magic").is_some() {
            tally.header += 1;
            return match value.get("format_version") {
                Some(Value::Whole(1)) => Ok(Ok(())),
                other => Err(self.error(format!("format_version: expected 1, found {other:?}"))),
            };
        }
        let (Some(name), Some(args)) =
            (value.get("qualname").and_then(Value::bytes), value.get("args"))
        else {
            return bad(Category::TooFewFields, "expected a record with qualname and args");
        };
        let call = name.rsplit(|&c| c == b'.').next().unwrap_or(name);
        let op = match call {
            b"reserve_write" => RecordOp::Write,
            b"submit_prefetch_task" => RecordOp::Read,
            other => {
                tally.ignore(&printable(other));
                return Ok(Ok(()));
            }
        };
        let time_ns = match value.get("t_mono") {
            Some(Value::Real(s)) if (0.0..9_007_199.0).contains(s) => (s * 1e9).round() as u64,
            Some(Value::Whole(s)) if (0..9_007_199).contains(s) => *s as u64 * 1_000_000_000,
            _ => return bad(Category::BadTime, "t_mono: expected seconds of 0 or later"),
        };
        let mut layouts = Vec::new();
        args.tagged("MemoryLayoutDesc", &mut layouts);
        let layout = layouts.first().and_then(|layout| layout_bytes(layout));
        let Some(length_bytes) = self.block_bytes.or(layout) else {
            return Err(usage(
                "lmcache: block_bytes (--block-bytes) must be given: the calls carry no layout \
                 whose size is known",
            ));
        };
        // One size for all, so that pages do not overlap.
        self.block_bytes = Some(length_bytes);
        let mut keys = Vec::new();
        args.tagged("ObjectKey", &mut keys);
        let device = devices.index(self.device.as_bytes());
        for key in keys {
            let next = self.pages.len() as u64;
            let page = *self.pages.entry(format!("{key:?}").into_bytes()).or_insert(next);
            let offset_bytes = page.saturating_mul(length_bytes);
            let record =
                Record { time_ns, offset_bytes, length_bytes, device, op, ..Record::EMPTY };
            if let Err(fault) = tally.keep(record, out) {
                return Ok(Err(fault));
            }
        }
        Ok(Ok(()))
    }
}

impl RecordReader for LmCache {
    fn fill(
        &mut self,
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<bool> {
        for _ in 0..BATCH_RECORDS / 16 {
            let Some(frame) = self.next_frame()? else {
                tally.truncated |= self.input.truncated();
                return Ok(false);
            };
            tally.lines += 1;
            if let Err((category, message)) = self.take(&frame, out, devices, tally)? {
                let place = Location::Record { record: self.frame, byte: self.byte };
                let hint = Some(self.hint.clone());
                tally.reject_record(&self.name, place, category, message, hint)?;
            }
            self.frame += 1;
            self.byte += (PREFIX_BYTES + frame.len()) as u64;
        }
        Ok(true)
    }

    fn facts(&self) -> Facts {
        Facts { page_bytes: self.block_bytes, ..Facts::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_message_pack() {
        let value = |bytes: &[u8]| format!("{:?}", (Frame { rest: bytes }).value(0));
        assert_eq!(value(&[0x05]), "Some(Whole(5))");
        assert_eq!(value(&[0xff]), "Some(Whole(-1))");
        assert_eq!(value(&[0xd1, 0xff, 0x00]), "Some(Whole(-256))");
        assert_eq!(value(&[0xcf, 0xff, 0, 0, 0, 0, 0, 0, 0]), "Some(Whole(18374686479671623680))");
        assert_eq!(value(&[0xcb, 0x3f, 0xd0, 0, 0, 0, 0, 0, 0]), "Some(Real(0.25))");
        assert_eq!(
            value(&[0x81, 0xa1, b'a', 0x91, 0xc3]),
            "Some(Map([(Bytes([97]), List([Whole(1)]))]))"
        );
        for cut in [&[0xa2, b'a'][..], &[0xdd, 0xff, 0xff, 0xff, 0xff], &[0xc1], &[]] {
            assert_eq!(value(cut), "None");
        }
        assert_eq!(value(&[0x91; 100]), "None", "too deep");
    }
}
