//! A connection: its threads take turns in reading a request, and each carries out what it read.
//!
//! So requests of one connection run side by side, sixteen at most, and a client that has one
//! request at a time never waits for a thread to be woken. A request that waits neither for a read
//! nor for a sync of the store keeps the turn: to hand it over costs more than such a request. The
//! replies of those that came together are sent together.

use crate::budget::Share;
use crate::handshake::Shaken;
use crate::input::{Begun, Input};
use crate::late::wake_in_time;
use crate::protocol::{
    FUA, Header, MOST_BYTES, NO_HOLE, REQUEST_BYTES, SIMPLE_REPLY, command, error, flags,
};
use crate::socket::Socket;
use crate::state::State;
use destage_pool::Done;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time for a message that has begun, and for a client to take its replies.
const PATIENCE: Duration = Duration::from_secs(60);
/// Requests of a connection under way.
const MOST_REQUESTS: usize = 16;
/// Bytes of a thread's stack.
const STACK_BYTES: usize = 256 << 10;
/// Pool memory of a page that is being written, before it has bytes.
const BYTES_OF_A_PAGE_UNDER_WAY: u64 = 256;
/// Bytes of a reply's header.
const REPLY_BYTES: usize = 16;
/// Most data of a request that keeps the turn, bytes: of more, copies take longer than a hand-over.
const QUICK_BYTES: u32 = 16 << 10;
/// Bytes of replies that are sent together.
const REPLIES_BYTES: usize = 32 << 10;
/// Most bytes that a thread keeps for the data of its next request.
const KEPT_BYTES: usize = REPLY_BYTES + 4096;

/// A connection.
pub(crate) struct Connection {
    pub(crate) socket: Socket,
    state: Arc<State>,
    pub(crate) number: u64,
    /// Its handshake has ended.
    pub(crate) is_ready: AtomicBool,
    /// The turn to read the next request; `None` if there is none.
    reading: Mutex<Option<Turn>>,
    writing: Mutex<()>,
    /// Threads that wait to read.
    waiting: AtomicUsize,
    threads: AtomicUsize,
}

/// State of the thread that reads: bytes received, and replies that are not sent yet.
struct Turn {
    input: Input,
    replies: Replies,
}

/// Replies, and when the last byte of each request was received.
#[derive(Default)]
struct Replies {
    bytes: Vec<u8>,
    received: Vec<Instant>,
}

/// A request, and the data of a write.
struct Request {
    header: Header,
    data: Vec<u8>,
    received: Instant,
}

impl Connection {
    /// Counts as a thread already: [`start`](Connection::start) follows.
    pub(crate) fn new(socket: Socket, state: Arc<State>, number: u64) -> Connection {
        state.thread_begins();
        Connection {
            socket,
            state,
            number,
            is_ready: AtomicBool::new(false),
            reading: Mutex::new(Some(Turn { input: Input::new(), replies: Replies::default() })),
            writing: Mutex::new(()),
            waiting: AtomicUsize::new(0),
            threads: AtomicUsize::new(1),
        }
    }

    /// Starts its first thread, which shakes hands.
    pub(crate) fn start(self: &Arc<Self>) {
        self.run(true);
    }

    fn start_another(self: &Arc<Self>) {
        self.threads.fetch_add(1, SeqCst);
        self.state.thread_begins();
        self.run(false);
    }

    fn run(self: &Arc<Self>, first: bool) {
        let connection = Arc::clone(self);
        let run = move || {
            if connection.state.emulate {
                wake_in_time();
            }
            let _ends = Ends(&connection);
            if !first || connection.shake_hands() {
                connection.serve();
            }
        };
        let builder = thread::Builder::new().name("destage-nbd".to_string());
        if builder.stack_size(STACK_BYTES).spawn(run).is_err() {
            // No thread can be had: the others go on, and without any the connection ends.
            self.thread_ends();
        }
    }

    fn thread_ends(&self) {
        if self.threads.fetch_sub(1, SeqCst) == 1 {
            self.socket.end();
        }
        self.state.thread_ends();
    }

    /// No thread serves it any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.threads.load(SeqCst) == 0
    }

    fn shake_hands(&self) -> bool {
        let is_ready = match self.state.export.shake_hands(&self.socket) {
            Ok(Shaken::Ready) => self.socket.prepare(PATIENCE).is_ok(),
            Ok(Shaken::Aborted) => false,
            Ok(Shaken::Wrong(what)) => {
                self.state.complain(format!("connection {}: {what}", self.number));
                false
            }
            Err(error) => {
                self.complain_of("handshake", &error);
                false
            }
        };
        self.is_ready.store(is_ready, Relaxed);
        is_ready
    }

    fn complain_of(&self, what: &str, error: &io::Error) {
        // A client that goes away is no error.
        use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
        if !matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
            && !self.state.is_stopping.load(Relaxed)
        {
            self.state.complain(format!("connection {}: {what}: {error}", self.number));
        }
    }

    fn serve(self: &Arc<Self>) {
        let mut memory = Vec::new();
        loop {
            self.waiting.fetch_add(1, SeqCst);
            let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
            self.waiting.fetch_sub(1, SeqCst);
            let Some(turn) = &mut *reading else { return };
            let Some((request, share)) = self.next(turn, memory) else {
                self.send(&mut turn.replies);
                *reading = None;
                return;
            };
            drop(reading);
            let others = self.threads.load(SeqCst);
            if self.waiting.load(SeqCst) == 0 && others < MOST_REQUESTS {
                self.start_another();
            }
            let sent;
            (sent, memory) = self.answer(request);
            if memory.capacity() > KEPT_BYTES {
                memory = Vec::new();
            }
            drop(share);
            self.sent(sent);
        }
    }

    /// The next request that may wait for the store; those before it are carried out. `None` if
    /// there is no further one.
    fn next(&self, turn: &mut Turn, memory: Vec<u8>) -> Option<(Request, Share<'_>)> {
        loop {
            let header = self.header(turn)?;
            match self.state.at_once(&header) {
                Some(bytes) => self.answer_at_once(&header, bytes, turn)?,
                None => {
                    self.send(&mut turn.replies);
                    // Room for the data of either direction, before any is taken in.
                    let share = self.state.budget.take(self.state.weight(&header));
                    let request = self.data(header, &mut turn.input, memory);
                    return request.map(|request| (request, share));
                }
            }
        }
    }

    /// The header of the next request; `None` if there is no further one.
    fn header(&self, turn: &mut Turn) -> Option<Header> {
        let mut bytes = [0; REQUEST_BYTES];
        if !turn.input.has(REQUEST_BYTES) {
            self.send(&mut turn.replies);
        }
        let header = match turn.input.message(&self.socket, &mut bytes, PATIENCE) {
            Ok(Begun::Whole) => Header::read(&bytes),
            Ok(Begun::Closed) => return None,
            Err(error) => {
                self.complain_of("request", &error);
                self.socket.end();
                return None;
            }
        };
        let wrong = match header {
            None => "a request without its magic".to_string(),
            Some(header) if header.command == command::DISC => return None,
            Some(header) if header.command == command::WRITE && header.length > MOST_BYTES => {
                format!("a write of {} bytes", header.length)
            }
            header => return header,
        };
        self.send(&mut turn.replies);
        self.state.complain(format!("connection {}: {wrong}", self.number));
        self.socket.end();
        None
    }

    /// Carries a request out in turn; its reply waits for the next [`send`](Connection::send).
    /// `None` if its data do not come.
    fn answer_at_once(&self, header: &Header, bytes: Range<u64>, turn: &mut Turn) -> Option<()> {
        let Turn { input, replies } = turn;
        let length = header.length as usize;
        let is_read = header.command == command::READ;
        let is_waiting = !is_read && !input.has(length);
        let at = replies.bytes.len();
        if is_waiting || at + REPLY_BYTES + length > REPLIES_BYTES || replies.is_full() {
            self.send(replies);
        }
        let at = replies.bytes.len();
        let data = if is_read {
            replies.bytes.resize(at + REPLY_BYTES + length, 0);
            &mut replies.bytes[at + REPLY_BYTES..]
        } else {
            match input.in_place(&self.socket, length, PATIENCE) {
                Ok(data) => data,
                Err(error) => {
                    self.complain_of("data of a write", &error);
                    self.socket.end();
                    return None;
                }
            }
        };
        let outcome = self.state.carry_out(header, bytes, data);
        if !is_read || outcome.is_err() {
            replies.bytes.resize(at + REPLY_BYTES, 0);
        }
        self.state.reply(header, outcome.err().unwrap_or(0), &mut replies.bytes[at..]);
        replies.received.push(input.received());
        Some(())
    }

    /// Sends replies that wait.
    fn send(&self, replies: &mut Replies) {
        if replies.bytes.is_empty() {
            return;
        }
        let sent = self.write(&replies.bytes, &replies.received);
        replies.bytes.clear();
        replies.received.clear();
        self.sent(sent);
    }

    fn sent(&self, sent: io::Result<()>) {
        if let Err(error) = sent {
            self.complain_of("reply", &error);
            self.socket.end();
        }
    }

    fn write(&self, replies: &[u8], received: &[Instant]) -> io::Result<()> {
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        received.iter().for_each(|at| self.state.times.add((now - *at).as_nanos() as u64));
        self.socket.write(replies, PATIENCE)
    }

    /// A request with the data of a write, in memory of the thread's last one.
    fn data(&self, header: Header, input: &mut Input, mut memory: Vec<u8>) -> Option<Request> {
        if header.command == command::WRITE && header.length > 0 {
            memory.resize(header.length as usize, 0);
            if let Err(error) = input.data(&self.socket, &mut memory, PATIENCE) {
                self.complain_of("data of a write", &error);
                self.socket.end();
                return None;
            }
        }
        Some(Request { header, data: memory, received: input.received() })
    }

    /// Carries a request out and replies; the memory of its data is used again.
    fn answer(&self, request: Request) -> (io::Result<()>, Vec<u8>) {
        let Request { header, data: mut memory, received } = request;
        let is_read = header.command == command::READ;
        let outcome = self.state.check(&header).and_then(|bytes| {
            if is_read {
                memory.resize(REPLY_BYTES + header.length as usize, 0);
            }
            let data = &mut memory[if is_read { REPLY_BYTES } else { 0 }..];
            self.state.carry_out(&header, bytes, data)
        });
        let (code, done) = match outcome {
            Ok(done) => (0, done),
            Err(code) => (code, Done::default()),
        };
        if code != 0 || !is_read {
            memory.resize(REPLY_BYTES, 0);
        }
        self.state.reply(&header, code, &mut memory);
        if self.state.emulate
            && let Some(due) = self.state.pool.answer_at(done)
        {
            self.state.late.wait_until(due);
        }
        (self.write(&memory, &[received]), memory)
    }
}

impl Replies {
    /// As many requests wait for their replies as a connection may have under way.
    fn is_full(&self) -> bool {
        self.received.len() >= MOST_REQUESTS
    }
}

/// A thread of a connection ends, also by a panic.
struct Ends<'a>(&'a Connection);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.socket.end();
        }
        self.0.thread_ends();
    }
}

impl State {
    /// Bytes of memory that a request takes while it is under way.
    fn weight(&self, header: &Header) -> u64 {
        match header.command {
            command::READ | command::WRITE | command::CACHE => header.length.min(MOST_BYTES).into(),
            command::WRITE_ZEROES => {
                u64::from(header.length / self.export.page_bytes) * BYTES_OF_A_PAGE_UNDER_WAY
            }
            _ => 0,
        }
    }

    /// The range of a request, or the error that it gets (`docs/spec/pool.md` 12.3, in that order).
    fn check(&self, header: &Header) -> Result<Range<u64>, u32> {
        let allowed = match header.command {
            command::READ | command::FLUSH | command::CACHE => 0,
            command::WRITE | command::TRIM => FUA,
            command::WRITE_ZEROES => FUA | NO_HOLE,
            _ => return Err(error::EINVAL),
        };
        if header.flags & !allowed != 0 {
            return Err(error::EINVAL);
        }
        if header.command != command::FLUSH {
            let is_read = matches!(header.command, command::READ | command::CACHE);
            if header.length == 0 || is_read && header.length > MOST_BYTES {
                return Err(error::EINVAL);
            }
        }
        let bytes = match header.command {
            command::FLUSH => 0..0,
            _ => match header.offset.checked_add(header.length.into()) {
                Some(end) if end <= self.export.bytes => header.offset..end,
                _ if matches!(header.command, command::WRITE | command::WRITE_ZEROES) => {
                    return Err(error::ENOSPC);
                }
                _ => return Err(error::EINVAL),
            },
        };
        let changes =
            matches!(header.command, command::WRITE | command::TRIM | command::WRITE_ZEROES);
        if changes && self.export.flags & flags::READ_ONLY != 0 {
            return Err(error::EPERM);
        }
        if self.is_stopping.load(Relaxed) {
            return Err(error::ESHUTDOWN);
        }
        Ok(bytes)
    }

    /// The range of a request that, as far as can be seen, waits neither for a read nor for a sync
    /// of the store; `None` if it may, or gets an error.
    fn at_once(&self, header: &Header) -> Option<Range<u64>> {
        if self.waits || header.length > QUICK_BYTES || header.flags != 0 {
            return None;
        }
        match header.command {
            command::READ => self.check(header).ok().filter(|bytes| self.pool.reads_at_once(bytes)),
            command::WRITE => {
                self.check(header).ok().filter(|bytes| self.pool.writes_at_once(bytes))
            }
            _ => None,
        }
    }

    /// Writes the header of a reply, and counts errors.
    fn reply(&self, header: &Header, code: u32, into: &mut [u8]) {
        if code != 0 {
            self.requests.errors.fetch_add(1, Relaxed);
        }
        into[..4].copy_from_slice(&SIMPLE_REPLY.to_be_bytes());
        into[4..8].copy_from_slice(&code.to_be_bytes());
        into[8..16].copy_from_slice(&header.cookie.to_be_bytes());
    }

    /// Carries a request out. `data` are those of a write, or the place of those of a read.
    fn carry_out(&self, header: &Header, bytes: Range<u64>, data: &mut [u8]) -> Result<Done, u32> {
        let (requests, length) = (&self.requests, u64::from(header.length));
        let count = match header.command {
            command::READ => &requests.read,
            command::WRITE => &requests.write,
            command::FLUSH => &requests.flush,
            command::TRIM => &requests.trim,
            command::CACHE => &requests.cache,
            _ => &requests.write_zeroes,
        };
        count.fetch_add(1, Relaxed);
        let done = match header.command {
            command::READ => {
                let read = self.pool.read_at(bytes.start, data);
                self.bytes_read.fetch_add(if read.is_ok() { length } else { 0 }, Relaxed);
                read
            }
            command::WRITE => {
                let written = self.pool.write_at(bytes.start, data);
                self.bytes_written.fetch_add(if written.is_ok() { length } else { 0 }, Relaxed);
                written
            }
            command::FLUSH => self.pool.flush_request(),
            command::TRIM => self.pool.trim_at(bytes),
            command::CACHE => self.pool.cache_at(bytes),
            _ if header.flags & NO_HOLE != 0 => self.pool.write_zeros_at(bytes),
            _ => self.pool.zero_at(bytes),
        };
        let done = match header.flags & FUA {
            0 => done,
            _ => done.and_then(|done| Ok(done.and(self.pool.flush_request()?))),
        };
        done.map_err(|failed| match failed.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => error::ENOSPC,
            io::ErrorKind::OutOfMemory => error::ENOMEM,
            _ => error::EIO,
        })
    }
}
