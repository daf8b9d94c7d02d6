//! Lines parsed ahead on other threads; what they found comes back in the order of the file.
//!
//! ```text
//!  threads   take the next block of whole lines, one at a time, and parse it
//!  (reader)  takes blocks in order: records at once, other lines one by one, as if it met them
//! ```
//!
//! A thread keeps only what has no consequence but a record: everything else (blank, malformed or
//! skipped lines, notes) is left to the reader, which knows the line's number and what came before.
//! So records, counts, messages and their order are those of one thread. A thread names devices by
//! a table of its own; the reader gives them their indices when it takes the records, in the order
//! in which the file has them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::line_parser::{Context, LineParser, MAX_LINE_BYTES};
use crate::format::{Parsed, Ruling, Tally, fields};
use crate::input::Input;
use crate::record::{DeviceTable, Record};

/// Bytes of a block, about: with the records made of it, it stays in a second-level cache.
const BLOCK_BYTES: usize = if cfg!(test) { 700 } else { 256 * 1024 };

/// Blocks ahead of the reader, for each thread.
const BLOCKS_AHEAD: u64 = 4;

/// Lines of one block, and what became of them.
#[derive(Default)]
pub(super) struct Block {
    number: u64,
    thread: usize,
    bytes: Vec<u8>,
    records: Vec<Record>,
    pub(super) steps: VecDeque<Step>,
    /// Devices that the thread had not met before.
    names: Vec<Vec<u8>>,
    /// Records that were given out.
    taken: usize,
}

/// Some lines in a row.
pub(super) enum Step {
    /// Records up to this one, of so many lines, naming devices up to this one of the new.
    Records { to: usize, lines: u64, names: usize },
    /// A line for the reader, without its end.
    Line(Range<usize>),
}

impl Block {
    /// The bytes of a line.
    pub(super) fn line(&self, at: Range<usize>) -> &[u8] {
        &self.bytes[at]
    }

    fn clear(&mut self) {
        self.records.clear();
        self.steps.clear();
        self.names.clear();
        self.taken = 0;
    }
}

/// State shared by the threads.
struct State {
    input: Input,
    /// Number of the next block.
    next: u64,
    /// Blocks that the reader has done with.
    done: u64,
    /// No block is left, or the reader has ended.
    ended: bool,
    /// Blocks to use again: new memory costs more than what is done in it.
    spare: Vec<Block>,
}

struct Shared {
    state: Mutex<State>,
    /// The reader has done with a block, or all has ended.
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }
}

/// Threads that parse lines ahead.
pub(super) struct LineThreads {
    shared: Arc<Shared>,
    /// `None` when it is given up.
    results: Option<Receiver<Block>>,
    threads: Vec<JoinHandle<()>>,
    /// Blocks that came before their turn.
    early: Vec<Block>,
    next: u64,
    /// Devices of each thread.
    devices: Vec<Known>,
}

/// The devices of a thread's table.
#[derive(Clone, Default)]
struct Known {
    /// Their indices in the reader's.
    indices: Vec<u32>,
    /// These are not the same.
    differ: bool,
}

impl LineThreads {
    /// Starts threads at the head of `input`, which is at the beginning of a line. `tally` has the
    /// limits,
    /// and the notes that are not repeated. With as many threads as the system gives: where
    /// that is none, there is no block, and [`finish`](LineThreads::finish) has the input as it
    /// was.
    pub(super) fn new<P: LineParser>(
        input: Input,
        parsers: Vec<P>,
        file_device: &str,
        tally: &Tally,
    ) -> Self {
        let state = State { input, next: 0, done: 0, ended: false, spare: Vec::new() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let (sender, results) = channel();
        let count = parsers.len();
        let most = BLOCKS_AHEAD * count as u64;
        let work = |(thread, parser)| {
            let worker = Worker {
                thread,
                most,
                shared: Arc::clone(&shared),
                sender: sender.clone(),
                parser,
                devices: DeviceTable::new(),
                file_device: file_device.to_owned(),
                tally: Tally {
                    limits: tally.limits,
                    notes: tally.notes.clone(),
                    warnings: tally.warnings.clone(),
                    ..Tally::default()
                },
            };
            std::thread::Builder::new().spawn(move || worker.run()).ok()
        };
        let threads = parsers.into_iter().enumerate().filter_map(work).collect();
        let devices = vec![Known::default(); count];
        LineThreads { shared, results: Some(results), threads, early: Vec::new(), next: 0, devices }
    }

    /// The next block; `None` behind the last.
    pub(super) fn next(&mut self) -> Option<Block> {
        loop {
            let at = self.early.iter().position(|block| block.number == self.next);
            if let Some(at) = at {
                self.next += 1;
                return Some(self.early.swap_remove(at));
            }
            match self.results.as_ref()?.recv() {
                Ok(block) => self.early.push(block),
                Err(_) => return None, // all threads have ended
            }
        }
    }

    /// Gives the block's next records, at most `most`, to `out`; returns how many lines were done
    /// with. Nothing if a line for the reader comes next.
    pub(super) fn take(
        &mut self,
        block: &mut Block,
        devices: &mut DeviceTable,
        out: &mut Vec<Record>,
        most: usize,
    ) -> u64 {
        let Some(Step::Records { to, lines, names }) = block.steps.front_mut() else { return 0 };
        let known = &mut self.devices[block.thread];
        for name in block.names.drain(..std::mem::take(names)) {
            let index = devices.index(&name);
            known.differ |= index as usize != known.indices.len();
            known.indices.push(index);
        }
        let end = (*to).min(block.taken + most);
        let first = out.len();
        out.extend_from_slice(&block.records[block.taken..end]);
        block.taken = end;
        if known.differ {
            for record in &mut out[first..] {
                record.device = known.indices[record.device as usize];
            }
        }
        if end < *to {
            return 0;
        }
        let lines = *lines;
        block.steps.pop_front();
        lines
    }

    /// The block is done with.
    pub(super) fn done(&mut self, mut block: Block) {
        block.clear();
        let mut state = self.shared.lock();
        state.done += 1;
        state.spare.push(block);
        drop(state);
        self.shared.changed.notify_all();
    }

    /// The rest behind the last block: a line without an end, or too long to be one, or why
    /// nothing more can be read. Takes the place of `shell`.
    pub(super) fn finish(mut self, shell: &mut Input) {
        for thread in std::mem::take(&mut self.threads) {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
        std::mem::swap(&mut self.shared.lock().input, shell);
    }
}

impl Drop for LineThreads {
    fn drop(&mut self) {
        self.shared.end();
        self.results = None;
        for thread in std::mem::take(&mut self.threads) {
            // The thread has reported its panic; a second one here could abort.
            let _ = thread.join();
        }
    }
}

/// One thread.
struct Worker<P> {
    thread: usize,
    /// Blocks ahead of the reader, of all threads.
    most: u64,
    shared: Arc<Shared>,
    sender: Sender<Block>,
    parser: P,
    devices: DeviceTable,
    file_device: String,
    tally: Tally,
}

/// Ends all threads if one panics: its block would be waited for.
struct EndsAll(Arc<Shared>);

impl Drop for EndsAll {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

impl<P: LineParser> Worker<P> {
    fn run(mut self) {
        let _guard = EndsAll(Arc::clone(&self.shared));
        while let Some((mut block, lines)) = self.next_block() {
            let met = self.devices.len();
            self.parse(&mut block, lines, met);
            let new = met..self.devices.len();
            block.names.extend(new.map(|index| self.devices.bytes(index as u32).to_vec()));
            block.thread = self.thread;
            if self.sender.send(block).is_err() {
                break; // the reader has ended
            }
        }
    }

    /// Takes lines off the input, when the reader is near enough.
    fn next_block(&self) -> Option<(Block, Range<usize>)> {
        let mut state = self.shared.lock();
        while !state.ended && state.next >= state.done + self.most {
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.ended {
            return None;
        }
        let mut block = state.spare.pop().unwrap_or_default();
        let Some(lines) = state.input.take_lines(BLOCK_BYTES, &mut block.bytes) else {
            state.ended = true;
            drop(state);
            self.shared.changed.notify_all();
            return None;
        };
        block.number = state.next;
        state.next += 1;
        Some((block, lines))
    }

    /// `met` devices were known before.
    fn parse(&mut self, block: &mut Block, text: Range<usize>, met: usize) {
        let Block { bytes, records, steps, .. } = block;
        let limits = self.tally.limits;
        let (mut at, mut lines, mut from) = (text.start, 0, 0);
        while at < text.end {
            if let Some((record, used)) = self.parser.quick(&bytes[at..])
                && limits.extent(&record) == Ruling::Fine
            {
                records.push(record);
                (at, lines) = (at + used, lines + 1);
                continue;
            }
            let end = memchr::memchr(b'\n', &bytes[at..text.end]);
            let end = at + end.expect("a block ends with a line");
            if self.ordinary(&bytes[at..end], records) {
                lines += 1;
            } else {
                if lines > 0 {
                    let names = self.devices.len() - met - from;
                    steps.push_back(Step::Records { to: records.len(), lines, names });
                    (lines, from) = (0, from + names);
                }
                steps.push_back(Step::Line(at..end));
            }
            at = end + 1;
        }
        // Also names without lines: those of a line that is the reader's, met here before.
        let names = self.devices.len() - met - from;
        if lines > 0 || names > 0 {
            steps.push_back(Step::Records { to: records.len(), lines, names });
        }
    }

    /// Takes a line that is nothing but requests; anything else is left as it was.
    #[inline]
    fn ordinary(&mut self, line: &[u8], records: &mut Vec<Record>) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > MAX_LINE_BYTES
            || memchr::memchr2(0, b'\r', line).is_some()
            || line.iter().all(|&c| fields::is_blank(c))
        {
            return false;
        }
        let told = (self.tally.notes.len(), self.tally.warnings.len());
        let mut context = Context {
            devices: &mut self.devices,
            tally: &mut self.tally,
            file_device: &self.file_device,
            extent_field: 0..0,
        };
        let parsed = self.parser.line(line, &mut context);
        if (self.tally.notes.len(), self.tally.warnings.len()) != told {
            self.tally.notes.truncate(told.0);
            self.tally.warnings.truncate(told.1);
            return false;
        }
        let fine = |record: &Record| self.tally.limits.extent(record) == Ruling::Fine;
        match parsed {
            Ok(Parsed::Record(record)) if fine(&record) => records.push(record),
            Ok(Parsed::Records(some)) if some.iter().all(fine) => records.extend(some),
            _ => return false,
        }
        true
    }
}
