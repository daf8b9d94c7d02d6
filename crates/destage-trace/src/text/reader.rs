//! Lines of a file, through a line parser.

use std::sync::atomic::Ordering;

use super::excerpt::excerpt;
use super::line_parser::{Context, LineParser, MAX_LINE_BYTES};
use super::parallel::{Block, LineThreads, Step};

use crate::error::{Category, Location, Result, TraceError};
use crate::format::{
    BATCH_RECORDS, Facts, Fault, Opening, Parsed, RecordReader, Ruling, SAMPLE_BYTES, Sample,
    Skipped, Tally, fields,
};
use crate::input::Input;
use crate::options::Order;
use crate::record::{DeviceTable, Record};

/// Lines after which a format is no longer doubted, and the fewest that allow a judgement.
const DOUBT_LINES: u64 = 100;
const DOUBT_LEAST: u64 = 10;

/// Bytes before which a file is not worth other threads.
const AHEAD_FROM_BYTES: u64 = if cfg!(test) { 1 } else { 1 << 20 };

/// Lines of an [`Input`], through a [`LineParser`].
pub struct TextReader<P> {
    input: Input,
    lines: Lines<P>,
    doubted: bool,
    /// Other threads have the input.
    ahead: Option<(LineThreads, Option<Block>)>,
    /// They have had it, or are of no use.
    alone: bool,
}

/// The lines of a file, one after the other.
struct Lines<P> {
    /// Name of the file in messages.
    name: String,
    opening: Opening,
    parser: P,
    file_device: String,
    /// Lines begun so far; the current line's number.
    line: u64,
    /// Records so far, and the time of the last, for `order = "strict"`.
    last_time_ns: u64,
    strict: bool,
}

/// A line that is not taken, and why.
type Rejected = Option<(Category, TraceError)>;

impl<P: LineParser> TextReader<P> {
    /// A reader of `input`, as a trait object for the table of formats.
    pub fn boxed(input: Input, opening: &Opening, parser: P) -> Result<Box<dyn RecordReader>> {
        let strict = opening.options.order == Order::Strict;
        Ok(Box::new(TextReader {
            lines: Lines {
                name: input.name().to_owned(),
                opening: opening.clone(),
                parser,
                file_device: input.device_name(),
                line: 0,
                last_time_ns: 0,
                strict,
            },
            input,
            doubted: false,
            ahead: None,
            // The time before a line counts then.
            alone: strict,
        }))
    }

    /// The ordinary lines at the head of the window.
    fn quick_lines(&mut self, out: &mut Vec<Record>, target: usize, tally: &mut Tally) {
        if self.lines.line == 0 {
            return; // the first line may begin with a byte-order mark, or be a header
        }
        let (window, own) = (self.input.window(), &mut self.lines);
        let limits = tally.limits;
        let (mut used, before) = (0, out.len());
        while out.len() < target {
            let Some((record, bytes)) = own.parser.quick(&window[used..]) else { break };
            if limits.extent(&record) != Ruling::Fine
                || (own.strict && record.time_ns < own.last_time_ns)
            {
                break;
            }
            own.last_time_ns = record.time_ns;
            out.push(record);
            used += bytes;
        }
        let lines = (out.len() - before) as u64;
        own.line += lines;
        tally.lines += lines;
        self.input.consume(used);
    }

    /// The length of the next line without its LF, and of what to consume; `None` at the end.
    fn next_line(&mut self) -> Result<Option<(usize, usize)>> {
        let mut seen = 0;
        loop {
            let window = self.input.window();
            if let Some(end) = memchr::memchr(b'\n', &window[seen..]) {
                let length = seen + end;
                return if length > MAX_LINE_BYTES + 1 {
                    Err(self.lines.too_long(self.lines.line + 1))
                } else {
                    Ok(Some((length, length + 1)))
                };
            }
            seen = window.len();
            if seen > MAX_LINE_BYTES + 1 {
                return Err(self.lines.too_long(self.lines.line + 1));
            }
            if !self.input.grow()? {
                break;
            }
        }
        // A cut-off stream may have cut off a line: a record is never used in part.
        if seen == 0 || self.input.truncated() {
            self.input.consume(seen);
            return Ok(None);
        }
        Ok(Some((seen, seen)))
    }

    /// Takes the next line, whatever it is; `false` at the end.
    fn careful_line(
        &mut self,
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<bool> {
        if self.lines.line == 0 {
            self.begin()?;
        }
        let Some((length, consumed)) = self.next_line()? else { return Ok(false) };
        let line = &self.input.window()[..length];
        if let Some((category, error)) = self.lines.take_line(line, out, devices, tally)? {
            self.doubt(tally)?;
            tally.reject(category, error)?;
        }
        self.input.consume(consumed);
        Ok(true)
    }

    /// Hands the input to other threads, if the file is worth it.
    fn go_ahead(&mut self, tally: &Tally) {
        let own = &self.lines;
        if own.line <= DOUBT_LINES || self.input.position() < AHEAD_FROM_BYTES {
            return;
        }
        self.alone = true;
        if !self.input.is_at_hand() {
            return; // records read are delivered at once, whenever the next ones come
        }
        let threads = own.opening.threads.load(Ordering::Relaxed);
        let parsers: Option<Vec<P>> = (0..threads).map(|_| own.parser.parallel()).collect();
        let Some(parsers) = parsers.filter(|parsers| !parsers.is_empty()) else { return };
        let shell = Input::from_bytes(own.name.as_str(), []);
        let input = std::mem::replace(&mut self.input, shell);
        self.ahead = Some((LineThreads::new(input, parsers, &own.file_device, tally), None));
    }

    /// As [`RecordReader::fill`], of what other threads have parsed. WriteBehind the last block the
    /// input is back, and `false`.
    fn fill_ahead(
        &mut self,
        out: &mut Vec<Record>,
        target: usize,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<bool> {
        let Some((ahead, current)) = &mut self.ahead else { return Ok(false) };
        let Some(mut block) = current.take().or_else(|| ahead.next()) else {
            if let Some((ahead, _)) = self.ahead.take() {
                ahead.finish(&mut self.input);
            }
            return Ok(false);
        };
        while out.len() < target {
            if let Some(Step::Line(at)) = block.steps.front() {
                let line = block.line(at.clone());
                let rejected = self.lines.take_line(line, out, devices, tally)?;
                rejected.map_or(Ok(()), |(category, error)| tally.reject(category, error))?;
                block.steps.pop_front();
            } else if block.steps.is_empty() {
                ahead.done(block);
                return Ok(true);
            } else {
                let lines = ahead.take(&mut block, devices, out, target - out.len());
                self.lines.line += lines;
                tally.lines += lines;
            }
        }
        *current = Some(block);
        Ok(true)
    }

    /// Looks at the very first bytes.
    fn begin(&mut self) -> Result<()> {
        self.input.ensure(4)?;
        let window = self.input.window();
        let wide = window.starts_with(b"\xff\xfe") || window.starts_with(b"\xfe\xff");
        // Without a mark: ASCII text has every other byte 0 then.
        let bare = matches!(window, [a, 0, b, 0, ..] | [0, a, 0, b, ..] if *a != 0 && *b != 0);
        if wide || bare {
            return Err(TraceError::data(
                self.input.name(),
                Location::File,
                "the text is UTF-16; traces are read as ASCII or UTF-8",
            )
            .with_hint("convert it first, e.g. iconv -f UTF-16 -t UTF-8"));
        }
        if window.starts_with(b"\xef\xbb\xbf") {
            self.input.consume(3);
        }
        Ok(())
    }

    /// A malformed line among the first hundred: is the format right at all? Looks ahead, once.
    fn doubt(&mut self, tally: &Tally) -> Result<()> {
        let Some(closest) = self.lines.opening.closest else { return Ok(()) };
        if self.doubted || self.lines.line > DOUBT_LINES {
            return Ok(());
        }
        self.doubted = true;
        self.input.ensure(SAMPLE_BYTES)?;
        let window = self.input.window();
        let sample = Sample {
            bytes: &window[..window.len().min(SAMPLE_BYTES)],
            whole: self.input.at_end() && window.len() <= SAMPLE_BYTES,
            size: None,
            name: self.input.name(),
        };
        // Lines before this one were fine, but for those that were skipped and counted.
        let (mut bad, mut seen) = (tally.error_count(), self.lines.line - 1);
        let mut parser = self.lines.parser.clone();
        let (mut devices, mut counts) =
            (DeviceTable::new(), Tally { limits: tally.limits, ..Tally::default() });
        let lines = sample.lines((DOUBT_LINES + 1 - self.lines.line) as usize);
        let mut why = None;
        for line in &lines {
            seen += 1;
            let mut context = Context {
                devices: &mut devices,
                tally: &mut counts,
                file_device: &self.lines.file_device,
                extent_field: 0..0,
            };
            if let Err(fault) = parser.line(line, &mut context) {
                bad += 1;
                why.get_or_insert(fault.message);
            }
        }
        if seen < DOUBT_LEAST || bad * 2 <= seen {
            return Ok(());
        }
        let how = if self.lines.opening.detected { "detected" } else { "given" };
        let name = self.lines.opening.format.name;
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        let message = format!(
            "{bad} of the first {seen} records are malformed as format {name} ({how}){why}"
        );
        let closest = closest(&sample, name);
        let hint = if closest.is_empty() {
            "no other format fits it either; --format csv with columns reads any table".to_owned()
        } else {
            let list: Vec<String> =
                closest.iter().map(|(format, why)| format!("{} ({why})", format.name)).collect();
            format!("closest formats: {}", list.join("; "))
        };
        let first = lines.first().copied().unwrap_or_default();
        let mut error = self.lines.error(first, 0..0, message);
        if let TraceError::Data { hint: place, .. } = &mut error {
            *place = Some(hint);
        }
        Err(error)
    }
}

impl<P: LineParser> Lines<P> {
    /// Takes one line without its LF, whatever it is; one that is wrong comes back.
    fn take_line(
        &mut self,
        line: &[u8],
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<Rejected> {
        self.line += 1;
        tally.lines += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.check_text(line)?;
        if line.iter().all(|&c| fields::is_blank(c)) {
            tally.blank += 1;
            return Ok(None);
        }
        let mut context =
            Context { devices, tally, file_device: &self.file_device, extent_field: 0..0 };
        let parsed = self.parser.line(line, &mut context);
        let extent_field = context.extent_field;
        let outcome = match parsed {
            Ok(Parsed::Record(record)) => self.take(&[record], extent_field, out, tally)?,
            Ok(Parsed::Records(records)) => self.take(&records, extent_field, out, tally)?,
            Ok(Parsed::Skip(skipped)) => {
                count_skipped(tally, &skipped);
                Ok(())
            }
            Err(fault) => Err(fault),
        };
        let rejected =
            |fault: Fault| (fault.category, self.error(line, fault.field, fault.message));
        Ok(outcome.err().map(rejected))
    }

    /// Keeps the requests of one line, or none of them: then what is wrong with one is the fault.
    #[inline]
    fn take(
        &mut self,
        records: &[Record],
        extent_field: std::ops::Range<usize>,
        out: &mut Vec<Record>,
        tally: &mut Tally,
    ) -> Result<std::result::Result<(), Fault>> {
        let (before, zero_length) = (out.len(), tally.zero_length);
        for record in records {
            match tally.limits.extent(record) {
                Ruling::Fine if self.strict && record.time_ns < self.last_time_ns => {
                    let step = self.last_time_ns - record.time_ns;
                    let message =
                        format!("time steps back by {step} ns, and order = \"strict\" forbids it");
                    return Err(self.unusable(0, message));
                }
                Ruling::Fine => {
                    self.last_time_ns = record.time_ns;
                    out.push(*record);
                }
                Ruling::ZeroLength => tally.zero_length += 1,
                bad => {
                    out.truncate(before);
                    tally.zero_length = zero_length;
                    let (category, message) = tally.limits.extent_message(bad, record);
                    return Ok(Err(Fault { category, field: extent_field, message }));
                }
            }
        }
        Ok(Ok(()))
    }

    /// Whether a line can be one of text. Inlined: it is asked of every line.
    #[inline(always)]
    fn check_text(&self, line: &[u8]) -> Result<()> {
        if line.len() > MAX_LINE_BYTES {
            return Err(self.too_long(self.line));
        }
        let Some(at) = memchr::memchr2(0, b'\r', line) else { return Ok(()) };
        let (what, hint) = match line[at] {
            0 => ("a NUL byte", Some(never_written(self.line - 1))),
            _ => ("a carriage return without line feed", None),
        };
        let error = self.unusable(at as u32 + 1, format!("binary data in a text trace: {what}"));
        Err(match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        })
    }

    fn too_long(&self, line: u64) -> TraceError {
        let message =
            format!("binary data in a text trace: a line of more than {MAX_LINE_BYTES} bytes");
        TraceError::data(&self.name, Location::Line { line, column: 0, excerpt: None }, message)
    }

    /// An error that ends the run whatever `on_error` says; it shows no excerpt.
    fn unusable(&self, column: u32, message: String) -> TraceError {
        TraceError::data(
            &self.name,
            Location::Line { line: self.line, column, excerpt: None },
            message,
        )
    }

    fn error(&self, line: &[u8], field: std::ops::Range<usize>, message: String) -> TraceError {
        let column = if field.is_empty() && field.start == 0 { 0 } else { field.start as u32 + 1 };
        TraceError::data(
            &self.name,
            Location::Line {
                line: self.line,
                column,
                excerpt: Some(Box::new(excerpt(line, field))),
            },
            message,
        )
        .with_hint(self.opening.hint())
    }
}

impl<P: LineParser> RecordReader for TextReader<P> {
    fn fill(
        &mut self,
        out: &mut Vec<Record>,
        devices: &mut DeviceTable,
        tally: &mut Tally,
    ) -> Result<bool> {
        let target = out.len() + BATCH_RECORDS;
        if !self.alone {
            self.go_ahead(tally);
        }
        if self.ahead.is_some() && self.fill_ahead(out, target, devices, tally)? {
            return Ok(true);
        }
        // A file of comments or ignored events must not keep the caller from its interrupt check.
        for _ in 0..BATCH_RECORDS {
            self.quick_lines(out, target, tally);
            if out.len() >= target {
                return Ok(true);
            }
            if !self.careful_line(out, devices, tally)? {
                tally.truncated |= self.input.truncated();
                let Lines { parser, file_device, .. } = &mut self.lines;
                parser.finish(&mut Context { devices, tally, file_device, extent_field: 0..0 });
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn facts(&self) -> Facts {
        self.lines.parser.facts()
    }
}

/// Advice for text with NUL bytes behind so many whole lines.
pub(crate) fn never_written(lines: u64) -> String {
    format!(
        "a crash or a full disk leaves such files; to keep the whole lines before them: head -n \
         {lines} FILE > FILE.cut"
    )
}

fn count_skipped(tally: &mut Tally, skipped: &Skipped) {
    match skipped {
        Skipped::Header => tally.header += 1,
        Skipped::Comment => tally.comment += 1,
        Skipped::ZeroLength => tally.zero_length += 1,
        Skipped::Event(name) => tally.ignore(name),
    }
}
