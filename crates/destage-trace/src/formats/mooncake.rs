//! `mooncake`: requests to a language model with the key-value blocks that they read, one JSON
//! object a line (Mooncake, FAST 2025).
//!
//! ```text
//! {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 2353]}
//! ```
//! `timestamp` is milliseconds from the start. `hash_ids` names the blocks of the prompt in order:
//! each id stands for 512 tokens together with all that came before them, so that an equal id is a
//! block that can be read instead of computed. A block is one page here, at id times its size; its
//! size is 512 times `bytes_per_token`, which depends on the model and is not in the file. Every
//! block of a request arrives with it, in the order of the list.
//!
//! Readings. A prompt rarely fills its last block, which is there as a whole all the same. Other
//! keys (`input_length`, `output_length`, and what tools add) are read over, but that a number of
//! blocks which is not that of `input_length` at 512 tokens each is a warning: such files have
//! blocks of another size. There is no operation: all are reads unless `default_op` says otherwise.

use std::ops::Range;

use super::mapping::usage;
use super::text_format::*;

/// The row of the table.
pub static FORMAT: Format = Format {
    has_ops: false,
    has_devices: false,
    name_parts: &[".jsonl"],
    ..Format::text(
        "mooncake",
        "key-value blocks of a language model (Mooncake)",
        "one JSON object a line: timestamp (ms), hash_ids; each id a block of 512 tokens, \
         --bytes-per-token says how large",
        detect,
        open,
    )
};

/// Tokens of a block.
const BLOCK_TOKENS: u64 = 512;

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "JSON objects with timestamp and hash_ids", |line| {
        Object::of(line).is_ok_and(|o| o.timestamp.is_some() && o.hash_ids.is_some())
    })
}

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    let Some(bytes_per_token) = opening.options.bytes_per_token else {
        return Err(usage(
            "mooncake: bytes_per_token (--bytes-per-token) must be given: what the keys and \
             values of a token take, 2 x layers x heads of keys x their width x bytes of a number",
        ));
    };
    let default_op = opening.options.default_op.unwrap_or(RecordOp::Read);
    let block_bytes = bytes_per_token * BLOCK_TOKENS;
    TextReader::boxed(input, opening, Mooncake { block_bytes, default_op, warned: false })
}

/// Positions of the values used in a line.
#[derive(Default)]
struct Object {
    timestamp: Option<Range<usize>>,
    input_length: Option<Range<usize>>,
    hash_ids: Option<Range<usize>>,
}

impl Object {
    /// Finds them among the keys of the object itself, not of one inside it.
    fn of(line: &[u8]) -> std::result::Result<Object, Fault> {
        let mut found = Object::default();
        let mut json = Json { line, at: 0 };
        json.expect(b'{')?;
        if !json.follows(b'}') {
            loop {
                json.blanks();
                let key = json.value()?;
                let name = &line[key.clone()];
                if !(name.starts_with(b"\"") && name.len() >= 2) {
                    return Err(json.fault(key, "a key in quotes"));
                }
                json.expect(b':')?;
                json.blanks();
                let value = json.value()?;
                match name {
                    b"\"timestamp\"" => found.timestamp = Some(value),
                    b"\"input_length\"" => found.input_length = Some(value),
                    b"\"hash_ids\"" => found.hash_ids = Some(value),
                    _ => {}
                }
                if json.follows(b'}') {
                    break;
                }
                json.expect(b',')?;
            }
        }
        json.blanks();
        if json.at < line.len() {
            return Err(json.fault(json.at..line.len(), "one object a line"));
        }
        Ok(found)
    }
}

/// Steps through a line of JSON.
struct Json<'a> {
    line: &'a [u8],
    at: usize,
}

impl Json<'_> {
    fn blanks(&mut self) {
        while self.line.get(self.at).is_some_and(|&c| is_blank(c)) {
            self.at += 1;
        }
    }

    /// Takes this byte behind blanks if it is there.
    fn follows(&mut self, byte: u8) -> bool {
        self.blanks();
        let there = self.line.get(self.at) == Some(&byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8) -> std::result::Result<(), Fault> {
        if self.follows(byte) {
            return Ok(());
        }
        let end = (self.at + 1).min(self.line.len());
        Err(self.fault(self.at..end, &format!("`{}`", byte as char)))
    }

    fn fault(&self, at: Range<usize>, expected: &str) -> Fault {
        let category = Category::TooFewFields;
        if at.is_empty() {
            let message = format!("JSON: expected {expected}, found the end of the line");
            return Fault::line(category, message);
        }
        unexpected(self.line, at, category, "JSON", expected)
    }

    /// The value that begins here: a text, an array or object to its end, or a bare word.
    fn value(&mut self) -> std::result::Result<Range<usize>, Fault> {
        let start = self.at;
        let mut depth = 0u32;
        while let Some(&c) = self.line.get(self.at) {
            match c {
                b'"' => self.text(start)?,
                b'[' | b'{' => depth += 1,
                b']' | b'}' if depth > 0 => depth -= 1,
                b',' | b':' | b']' | b'}' if depth == 0 => break,
                _ if depth == 0 && is_blank(c) => break,
                _ => {}
            }
            self.at += 1;
            if depth == 0 && matches!(c, b'"' | b']' | b'}') {
                break;
            }
        }
        if depth > 0 || self.at == start {
            let end = self.line.len().min(if depth > 0 { self.at } else { start + 1 });
            return Err(self.fault(start..end, "a value"));
        }
        Ok(start..self.at)
    }

    /// Skips from the opening quote of a text to its closing one.
    fn text(&mut self, start: usize) -> std::result::Result<(), Fault> {
        self.at += 1;
        loop {
            match self.line.get(self.at) {
                Some(b'"') => return Ok(()),
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
                None => {
                    return Err(self.fault(start..self.line.len(), "a text with both its quotes"));
                }
            }
        }
    }
}

#[derive(Clone)]
struct Mooncake {
    block_bytes: u64,
    default_op: RecordOp,
    /// That blocks are of another size is said once.
    warned: bool,
}

impl LineParser for Mooncake {
    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let object = Object::of(line)?;
        let missing = |key: &str| {
            Fault::line(
                Category::TooFewFields,
                format!("{key}: expected this key in the object, found none"),
            )
        };
        let time = object.timestamp.ok_or_else(|| missing("timestamp"))?;
        let ids = object.hash_ids.ok_or_else(|| missing("hash_ids"))?;
        let time_ns = fields::time(line, time, "timestamp", "milliseconds", MILLISECOND_NS)?;
        let blocks = blocks_of(line, ids)?;
        if blocks.is_empty() {
            return Ok(Parsed::Skip(Skipped::Event("no block".to_owned())));
        }
        if let Some(at) = object.input_length
            && let Ok(tokens) = parse_u64(&line[at])
            && tokens.div_ceil(BLOCK_TOKENS) != blocks.len() as u64
            && !std::mem::replace(&mut self.warned, true)
        {
            context.tally.warn(format!(
                "mooncake: a request of {tokens} tokens has {} blocks, where blocks of \
                 {BLOCK_TOKENS} tokens make {}: are they of another size?",
                blocks.len(),
                tokens.div_ceil(BLOCK_TOKENS)
            ));
        }
        let device = context.devices.index(context.file_device.as_bytes());
        let record = |at: Range<usize>| {
            let id = fields::whole(line, at.clone(), "hash_ids", "blocks", Category::BadNumber)?;
            let offset_bytes = id.checked_mul(self.block_bytes).ok_or_else(|| {
                let expected = "an id whose block lies within 2^64 bytes";
                unexpected(line, at.clone(), Category::OutOfRange, "hash_ids", expected)
            })?;
            context.extent_field = at;
            Ok(Record {
                time_ns,
                offset_bytes,
                length_bytes: self.block_bytes,
                response_ns: NO_RESPONSE,
                device,
                op: self.default_op,
            })
        };
        blocks.into_iter().map(record).collect::<std::result::Result<_, _>>().map(Parsed::Records)
    }

    fn facts(&self) -> Facts {
        Facts { page_bytes: Some(self.block_bytes), ..Facts::default() }
    }
}

/// Positions of the ids of a list.
fn blocks_of(line: &[u8], list: Range<usize>) -> std::result::Result<Vec<Range<usize>>, Fault> {
    let inside = match &line[list.clone()] {
        [b'[', .., b']'] => list.start + 1..list.end - 1,
        _ => {
            let expected = "a list of block numbers";
            return Err(unexpected(line, list, Category::BadNumber, "hash_ids", expected));
        }
    };
    if line[inside.clone()].iter().all(|&c| is_blank(c)) {
        return Ok(Vec::new());
    }
    let mut start = inside.start;
    let parts = line[inside].split(|&c| c == b',').map(|part| {
        let range = start..start + part.len();
        start += part.len() + 1;
        fields::trim(line, range)
    });
    Ok(parts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{self, read_with, request};
    use crate::options::ReaderOptions;

    const TWO: &str = "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 5, \
                       \"hash_ids\": [0, 1]}\n\
                       {\"hash_ids\":[0,7 , 2],\"x\":{\"timestamp\":[9,\"}\\\"\"]},\
                       \"timestamp\":3052.5}\n";

    fn of_a_kilobyte(options: &mut ReaderOptions) {
        options.bytes_per_token = Some(1024);
    }

    fn error(line: &str) -> String {
        testing::error_with(&FORMAT, line.as_bytes(), "x", of_a_kilobyte).to_string()
    }

    #[test]
    fn every_id_is_a_read_of_its_block_at_the_time_of_its_request() {
        let trace = read_with(&FORMAT, TWO, "kv.jsonl", of_a_kilobyte);
        let block = 512 << 10;
        let read = |time, id: u64| request(time, RecordOp::Read, id * block, block);
        let late = 3_052_500_000;
        assert_eq!(
            trace.records,
            [read(0, 0), read(0, 1), read(late, 0), read(late, 7), read(late, 2)]
        );
        assert_eq!(trace.facts.page_bytes, Some(block));
        assert!(trace.tally.warnings.is_empty());
        testing::detects(&FORMAT, TWO.as_bytes());
        let writes = read_with(&FORMAT, TWO, "x", |o| {
            of_a_kilobyte(o);
            o.default_op = Some(RecordOp::Write);
        });
        assert!(writes.records.iter().all(|r| r.op == RecordOp::Write));
    }

    #[test]
    fn the_size_of_a_token_is_asked_for() {
        let error = testing::error_with(&FORMAT, TWO, "x", |_| ());
        assert_eq!(error.exit_status(), 2);
        assert!(
            error.to_string().starts_with("mooncake: bytes_per_token (--bytes-per-token) must")
        );
    }

    #[test]
    fn blocks_of_another_size_are_a_warning_and_no_blocks_an_event() {
        let text = "{\"timestamp\":1,\"input_length\":655,\"hash_ids\":[0,1,2]}\n\
                    {\"timestamp\":2,\"input_length\":655,\"hash_ids\":[0]}\n\
                    {\"timestamp\":3,\"input_length\":0,\"hash_ids\":[ ]}\n";
        let trace = read_with(&FORMAT, text, "x", of_a_kilobyte);
        assert_eq!((trace.records.len(), trace.tally.ignored_events["no block"]), (4, 1));
        assert_eq!(trace.tally.warnings.len(), 1);
        assert!(trace.tally.warnings[0].contains("655 tokens has 3 blocks"));
    }

    #[test]
    fn a_bad_line_names_column_found_and_expected_and_gives_no_record() {
        for (line, message) in [
            ("{\"timestamp\":1,\"hash_ids\":[0,-1]}", "x:1:30: hash_ids: expected a whole number"),
            ("{\"timestamp\":-1,\"hash_ids\":[0]}", "x:1:14: timestamp: expected"),
            ("{\"timestamp\":1,\"hash_ids\":3}", "x:1:27: hash_ids: expected a list"),
            ("{\"timestamp\":1}", "x:1: hash_ids: expected this key in the object, found none"),
            ("{\"hash_ids\":[1]}", "x:1: timestamp: expected this key"),
            ("[1]", "x:1:1: JSON: expected `{`, found \"[\""),
            ("{\"timestamp\":1,\"hash_ids\":[0}", "x:1: JSON: expected `,`, found the end"),
            ("{\"timestamp\":1,\"hash_ids\":[0]", "x:1: JSON: expected `,`, found the end"),
            ("{\"timestamp\":1 \"hash_ids\":[0]}", "x:1:16: JSON: expected `,`"),
            ("{\"timestamp\":1,\"hash_ids\":[0]} 2", "x:1:32: JSON: expected one object a line"),
            ("{\"timestamp", "x:1:2: JSON: expected a text with both its quotes"),
            ("{timestamp:1}", "x:1:2: JSON: expected a key in quotes, found \"timestamp\""),
            (
                "{\"timestamp\":1,\"hash_ids\":[18446744073709551615]}",
                "x:1:28: hash_ids: expected an id whose block lies within 2^64 bytes",
            ),
        ] {
            let error = error(line);
            assert!(error.starts_with(message), "{line}: {error}");
        }
        let bad = format!("{TWO}{{\"timestamp\":9,\"hash_ids\":[0,1,x]}}\n");
        let trace = read_with(&FORMAT, bad, "x", |o| {
            of_a_kilobyte(o);
            o.on_error = crate::options::OnError::Skip;
        });
        assert_eq!((trace.records.len(), trace.tally.error_count()), (5, 1));
    }
}
