//! `mooncake`: requests to a language model with the key-value blocks that they read, one JSON
//! object a line (Mooncake, FAST 2025).
//!
//! ```text
//! {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 2353]}
//! ```
//! `timestamp` is milliseconds from the start. `hash_ids` names the blocks of the prompt in order:
//! each id stands for 512 tokens (`block_size`, where records have that key) together with all that
//! came before them, so that an equal id is a block that can be read instead of computed. A block
//! is one page here, at id times its size; its size is its tokens times `bytes_per_token`, or
//! `block_bytes`: it depends on the model and is not in the file. Every block of a request arrives
//! with it, in the order of the list, and is marked with its place in the chain ([`ChainMark`]).
//!
//! Where the first lines have ids that are hashes (texts, or numbers past 32 bits), an id is a
//! name: blocks are numbered in the order in which they come. Without times in the first lines the
//! trace has none; else a line without one takes that of the line before, with a warning.
//!
//! Readings. A prompt rarely fills its last block, which is still there as a whole;
//! `input_length` decides how many of its tokens count. `output_length` and what tools add are read
//! over. A number of blocks which is not that of `input_length` is a warning: such files have
//! blocks of another size. There is no operation: all are reads unless `default_op` says otherwise.

use std::collections::HashMap;
use std::ops::Range;

use super::mapping::{Clock, clock_of, digits_behind_point, time_of, usage};
use super::text_format::*;
use crate::format::Tally;
use crate::options::{ReaderOptions, TimeUnit};
use crate::record::ChainMark;

/// The row of the table.
pub static FORMAT: Format = Format {
    blocks: false,
    has_ops: false,
    has_volumes: false,
    name_parts: &[".jsonl"],
    ..Format::text(
        "mooncake",
        "key-value blocks of a language model (Mooncake)",
        "one JSON object a line: timestamp (ms), hash_ids; each id a block of 512 tokens, \
         its size is --bytes-per-token or --block-bytes",
        detect,
        open,
    )
};

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "JSON objects with timestamp and hash_ids", |line| {
        Object::of(line).is_ok_and(|o| o.has_chain() && !o.has_chat)
    })
}

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    Layout { format: "mooncake", unit: TimeUnit::Ms, block_tokens: 512 }.open(input, opening)
}

/// Layout of a trace: the differences between the variants.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) format: &'static str,
    /// Unit of the times, unless `time_unit` is given.
    pub(super) unit: TimeUnit,
    /// Tokens of a block, unless its record has a `block_size`.
    pub(super) block_tokens: u64,
}

impl Layout {
    /// A reader of the layout.
    pub(super) fn open(self, mut input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
        let (format, options) = (self.format, &opening.options);
        let first = First::of(&Sample::of(&mut input)?.lines(LOOK_LINES));
        let parser = Chains {
            layout: self,
            clock: clock_of(format, options.time_unit.unwrap_or(self.unit))?,
            first,
            names: first.has_names.then(HashMap::new),
            size: BlockSize::of(format, options)?,
            block_tokens: None,
            default_op: options.default_op.unwrap_or(RecordOp::Read),
            last_ns: 0,
            warned: false,
        };
        TextReader::boxed(input, opening, parser)
    }
}

/// First lines that decide how the others are read.
const LOOK_LINES: usize = 100;

/// Contents of the first lines.
#[derive(Clone, Copy, Default)]
struct First {
    /// One of them has a time.
    has_times: bool,
    /// Most digits behind the point of a time.
    time_digits: usize,
    /// Ids are hashes, which are names: no numbers, or larger than blocks are numbered.
    has_names: bool,
}

impl First {
    fn of(lines: &[&[u8]]) -> First {
        let mut first = First::default();
        for line in lines {
            let Ok(Object { timestamp, hash_ids: Some(ids), .. }) = Object::of(line) else {
                continue;
            };
            if let Some(at) = timestamp {
                first.has_times = true;
                first.time_digits = first.time_digits.max(digits_behind_point(&line[at]));
            }
            let ids = blocks_of(line, ids).unwrap_or_default();
            first.has_names |= ids.into_iter().any(|at| is_name(&line[at]));
        }
        first
    }
}

/// Whether an id is a hash: a text, or a number with more digits than blocks are numbered with.
fn is_name(id: &[u8]) -> bool {
    let is_small = |digits: &[u8]| parse_u64(digits).is_ok_and(|id| id <= u64::from(u32::MAX));
    let is_text = id.len() > 2 && id.starts_with(b"\"") && id.ends_with(b"\"");
    is_text || whole_of(id).is_some_and(|digits| !is_small(digits))
}

/// The digits of a whole number; a hash of 64 bits may be printed with a sign.
fn whole_of(id: &[u8]) -> Option<&[u8]> {
    let digits = id.strip_prefix(b"-").unwrap_or(id);
    (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit)).then_some(digits)
}

/// Size of a block, as the options give it.
#[derive(Clone, Copy)]
enum BlockSize {
    PerToken(u64),
    PerBlock(u64),
}

impl BlockSize {
    /// The size that the options give. Exactly one of them must be there.
    fn of(format: &str, options: &ReaderOptions) -> Result<BlockSize> {
        match (options.bytes_per_token, options.block_bytes) {
            (Some(bytes), None) => Ok(BlockSize::PerToken(bytes)),
            (None, Some(bytes)) => Ok(BlockSize::PerBlock(bytes)),
            (None, None) => Err(usage(format!(
                "{format}: bytes_per_token (--bytes-per-token) or block_bytes (--block-bytes) must \
                 be given: a token takes 2 x layers x KV heads x head dimension x bytes per value; \
                 131072 for Llama-3.1-8B (docs/reference/tiers.md has other models)",
            ))),
            (Some(token), Some(block)) => Err(usage(format!(
                "{format}: expected one of bytes_per_token (--bytes-per-token) and block_bytes \
                 (--block-bytes), found both ({token} and {block})",
            ))),
        }
    }
}

/// Positions of the values used in a line.
#[derive(Default)]
pub(super) struct Object {
    timestamp: Option<Range<usize>>,
    input_length: Option<Range<usize>>,
    block_size: Option<Range<usize>>,
    hash_ids: Option<Range<usize>>,
    /// It names a conversation.
    pub(super) has_chat: bool,
}

impl Object {
    /// Finds them among the keys of the object itself, not of one inside it.
    pub(super) fn of(line: &[u8]) -> std::result::Result<Object, Fault> {
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
                    b"\"timestamp\"" => {
                        found.timestamp = (&line[value.clone()] != b"null").then_some(value);
                    }
                    b"\"input_length\"" => found.input_length = Some(value),
                    b"\"block_size\"" => found.block_size = Some(value),
                    b"\"chat_id\"" => found.has_chat = true,
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

    /// It has blocks.
    pub(super) fn has_chain(&self) -> bool {
        self.hash_ids.is_some()
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
struct Chains {
    layout: Layout,
    clock: Clock,
    first: First,
    /// Numbers of the ids that are names, in the order in which they came.
    names: Option<HashMap<Vec<u8>, u64>>,
    size: BlockSize,
    /// Tokens of a block, once a record said them.
    block_tokens: Option<u64>,
    default_op: RecordOp,
    /// Time of the line before.
    last_ns: u64,
    /// That blocks are of another size is said once.
    warned: bool,
}

impl Chains {
    /// Tokens of a block of this record, the same in all records.
    fn block_tokens(
        &mut self,
        line: &[u8],
        at: Option<Range<usize>>,
    ) -> std::result::Result<u64, Fault> {
        let tokens = match at.clone() {
            None => self.layout.block_tokens,
            Some(at) => parse_u64(&line[at]).unwrap_or(0),
        };
        let at = at.unwrap_or(0..0);
        if !(1..=ChainMark::MOST_TOKENS).contains(&tokens) {
            let expected = format!("1 to {} tokens", ChainMark::MOST_TOKENS);
            return Err(unexpected(line, at, Category::BadNumber, "block_size", &expected));
        }
        match *self.block_tokens.get_or_insert(tokens) {
            same if same == tokens => Ok(tokens),
            before => Err(Fault {
                category: Category::BadNumber,
                field: at,
                message: format!(
                    "block_size: expected {before} tokens, as in the records before, found {tokens}"
                ),
            }),
        }
    }

    fn block_bytes(&self) -> u64 {
        let tokens = self.block_tokens.unwrap_or(self.layout.block_tokens);
        match self.size {
            BlockSize::PerToken(bytes) => bytes.saturating_mul(tokens),
            BlockSize::PerBlock(bytes) => bytes,
        }
    }

    /// The tokens of the prompt; 0 if they are unknown.
    fn prompt(
        &mut self,
        line: &[u8],
        at: Option<Range<usize>>,
        (blocks, block_tokens): (u64, u64),
        tally: &mut Tally,
    ) -> u64 {
        let tokens = at.and_then(|at| parse_u64(&line[at]).ok()).unwrap_or(0);
        let expected = tokens.div_ceil(block_tokens);
        let differs = tokens > 0 && expected != blocks;
        if differs && !std::mem::replace(&mut self.warned, true) {
            tally.warn(format!(
                "{}: a request of {tokens} tokens has {blocks} blocks, where blocks of \
                 {block_tokens} tokens make {expected}: are they of another size?",
                self.layout.format
            ));
        }
        tokens
    }
}

impl LineParser for Chains {
    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let object = Object::of(line)?;
        let missing = |key: &str| {
            Fault::line(
                Category::TooFewFields,
                format!("{key}: expected this key in the object, found none"),
            )
        };
        let ids = object.hash_ids.ok_or_else(|| missing("hash_ids"))?;
        let time_ns = match object.timestamp {
            Some(at) if self.first.has_times => time_of(line, at, "timestamp", self.clock)?,
            None if self.first.has_times => {
                context.tally.warn(format!(
                    "{}: lines without timestamp take the time of the line before",
                    self.layout.format
                ));
                self.last_ns
            }
            _ => 0,
        };
        self.last_ns = time_ns;
        let blocks = blocks_of(line, ids)?;
        if blocks.is_empty() {
            return Ok(Parsed::Skip(Skipped::Event("no block".to_owned())));
        }
        let block_tokens = self.block_tokens(line, object.block_size)?;
        let sizes = (blocks.len() as u64, block_tokens);
        let prompt = self.prompt(line, object.input_length, sizes, context.tally);
        let block_bytes = self.block_bytes();
        let device = context.devices.index(context.file_device.as_bytes());
        let default_op = self.default_op;
        let mut number = |at: Range<usize>| match &mut self.names {
            None => fields::whole(line, at, "hash_ids", "blocks", Category::BadNumber),
            Some(_) if !is_name(&line[at.clone()]) && whole_of(&line[at.clone()]).is_none() => {
                let expected = "a whole number or a text";
                Err(unexpected(line, at, Category::BadNumber, "hash_ids", expected))
            }
            Some(names) => {
                let next = names.len() as u64;
                Ok(*names.entry(line[at].to_vec()).or_insert(next))
            }
        };
        let record = |(position, at): (usize, Range<usize>)| {
            let id = number(at.clone())?;
            let offset_bytes = id.checked_mul(block_bytes).ok_or_else(|| {
                let expected = "an id whose block lies within 2^64 bytes";
                unexpected(line, at.clone(), Category::OutOfRange, "hash_ids", expected)
            })?;
            context.extent_field = at;
            let tokens = match prompt {
                0 => block_tokens,
                _ => prompt.saturating_sub(position as u64 * block_tokens).clamp(1, block_tokens),
            };
            Ok(Record {
                time_ns,
                offset_bytes,
                length_bytes: block_bytes,
                device,
                op: default_op,
                chain: ChainMark::new(tokens, position == 0),
                ..Record::EMPTY
            })
        };
        let records = blocks.into_iter().enumerate().map(record);
        records.collect::<std::result::Result<_, _>>().map(Parsed::Records)
    }

    fn facts(&self) -> Facts {
        Facts {
            page_bytes: Some(self.block_bytes()),
            has_times: (!self.first.has_times).then_some(false),
            time_digits: self.first.time_digits,
            ..Facts::default()
        }
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
        let read = |time, id: u64, chain| Record {
            chain,
            ..request(time, RecordOp::Read, id * block, block)
        };
        let late = 3_052_500_000;
        let (head, middle) = (ChainMark::new(512, true), ChainMark::new(512, false));
        assert_eq!(
            trace.records,
            [
                read(0, 0, head),
                read(0, 1, ChainMark::new(88, false)),
                read(late, 0, head),
                read(late, 7, middle),
                read(late, 2, middle)
            ]
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
        assert!(error.to_string().starts_with(
            "mooncake: bytes_per_token (--bytes-per-token) or block_bytes (--block-bytes) must"
        ));
    }

    #[test]
    fn a_block_has_the_bytes_that_are_given_whatever_its_tokens() {
        let text = "{\"timestamp\":1,\"input_length\":20,\"block_size\":16,\"hash_ids\":[0,3]}\n";
        for text in [TWO, text] {
            let trace = read_with(&FORMAT, text, "x", |o| o.block_bytes = Some(70_001));
            assert_eq!(trace.facts.page_bytes, Some(70_001));
            let ids: Vec<u64> = trace.records.iter().map(|r| r.offset_bytes).collect();
            assert!(ids.iter().all(|at| at % 70_001 == 0), "{ids:?}");
            assert!(trace.records.iter().all(|r| r.length_bytes == 70_001));
            let tokens = read_with(&FORMAT, text, "x", of_a_kilobyte).records;
            assert!(trace.records.iter().zip(&tokens).all(|(a, b)| a.chain == b.chain));
        }
        let both = testing::error_with(&FORMAT, TWO, "x", |o| {
            of_a_kilobyte(o);
            o.block_bytes = Some(512 << 10);
        });
        assert_eq!(both.exit_status(), 2);
        assert_eq!(
            both.to_string(),
            "mooncake: expected one of bytes_per_token (--bytes-per-token) and block_bytes \
             (--block-bytes), found both (1024 and 524288)"
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
    fn blocks_have_the_size_that_all_records_name() {
        let text = "{\"timestamp\":1,\"input_length\":20,\"block_size\":16,\"hash_ids\":[0,1,2]}\n\
                    {\"timestamp\":2,\"block_size\":16,\"hash_ids\":[3]}\n";
        let trace = read_with(&FORMAT, text, "x", of_a_kilobyte);
        let tokens: Vec<u64> = trace.records.iter().map(|r| r.chain.tokens()).collect();
        assert_eq!(tokens, [16, 4, 1, 16], "one at least, and all where no prompt is known");
        assert_eq!(trace.facts.page_bytes, Some(16 << 10));
        for (line, said) in [
            (r#"{"timestamp":3,"block_size":32,"hash_ids":[3]}"#, "3:29: block_size: expected 16"),
            (r#"{"timestamp":3,"hash_ids":[3]}"#, "3: block_size: expected 16 tokens, as in the"),
            (r#"{"timestamp":3,"block_size":0,"hash_ids":[3]}"#, "block_size: expected 1 to 32767"),
        ] {
            let error = error(&format!("{text}{line}"));
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_bad_line_names_column_found_and_expected_and_gives_no_record() {
        for (line, message) in [
            ("{\"timestamp\":1,\"hash_ids\":[0,-1]}", "x:1:30: hash_ids: expected a whole number"),
            ("{\"timestamp\":-1,\"hash_ids\":[0]}", "x:1:14: timestamp: expected"),
            ("{\"timestamp\":1,\"hash_ids\":3}", "x:1:27: hash_ids: expected a list"),
            ("{\"timestamp\":1}", "x:1: hash_ids: expected this key in the object, found none"),
            ("[1]", "x:1:1: JSON: expected `{`, found \"[\""),
            ("{\"timestamp\":1,\"hash_ids\":[0}", "x:1: JSON: expected `,`, found the end"),
            ("{\"timestamp\":1,\"hash_ids\":[0]", "x:1: JSON: expected `,`, found the end"),
            ("{\"timestamp\":1 \"hash_ids\":[0]}", "x:1:16: JSON: expected `,`"),
            ("{\"timestamp\":1,\"hash_ids\":[0]} 2", "x:1:32: JSON: expected one object a line"),
            ("{\"timestamp", "x:1:2: JSON: expected a text with both its quotes"),
            ("{timestamp:1}", "x:1:2: JSON: expected a key in quotes, found \"timestamp\""),
            (
                "{\"timestamp\":1,\"hash_ids\":[18446744073709551615,1.5]}",
                "x:1:49: hash_ids: expected a whole number or a text",
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

    #[test]
    fn hashes_are_numbered_in_the_order_in_which_they_come() {
        let text = "{\"hash_ids\":[14057331847341543801, 902, \"9f3a\"]}\n\
                    {\"hash_ids\":[902, -4611686018427387905, \"9f3a\", -7]}\n";
        let trace = read_with(&FORMAT, text, "x", of_a_kilobyte);
        let blocks: Vec<u64> = trace.records.iter().map(|r| r.offset_bytes >> 19).collect();
        assert_eq!(blocks, [0, 1, 2, 1, 3, 2, 4]);
        assert_eq!(trace.facts.has_times, Some(false), "no line has a time");
        let some = "{\"timestamp\":5,\"hash_ids\":[1]}\n{\"hash_ids\":[2]}\n";
        let trace = read_with(&FORMAT, some, "x", of_a_kilobyte);
        assert!(trace.records.iter().all(|r| r.time_ns == 5_000_000));
        assert!(trace.tally.warnings[0].contains("take the time of the line before"));
    }
}
