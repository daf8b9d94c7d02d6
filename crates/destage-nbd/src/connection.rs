//! A connection: its threads take turns in reading a request, and each carries out what it read.
//!
//! So requests of one connection run side by side, sixteen at most, and a client that has one
//! request at a time never waits for a thread to be woken.

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
/// Most bytes that a thread keeps for the data of its next request.
const KEPT_BYTES: usize = REPLY_BYTES + 4096;

/// A connection.
pub(crate) struct Connection {
    pub(crate) socket: Socket,
    state: Arc<State>,
    pub(crate) number: u64,
    /// Its handshake has ended.
    pub(crate) is_ready: AtomicBool,
    /// Reader of the next request; `None` if there is none.
    reading: Mutex<Option<Input>>,
    writing: Mutex<()>,
    /// Threads that wait to read.
    waiting: AtomicUsize,
    threads: AtomicUsize,
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
            reading: Mutex::new(Some(Input::new())),
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
            let Some(input) = &mut *reading else { return };
            let (request, share);
            match self.header(input) {
                Some(header) => {
                    // Room for the data of either direction, before any is taken in.
                    share = self.state.budget.take(self.state.weight(&header));
                    request = self.data(header, input, memory);
                }
                None => {
                    *reading = None;
                    return;
                }
            }
            let Some(request) = request else {
                *reading = None;
                self.socket.end();
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
            if let Err(error) = sent {
                self.complain_of("reply", &error);
                self.socket.end();
            }
        }
    }

    /// The header of the next request; `None` if there is no further one.
    fn header(&self, input: &mut Input) -> Option<Header> {
        let mut bytes = [0; REQUEST_BYTES];
        let header = match input.message(&self.socket, &mut bytes, PATIENCE) {
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
        self.state.complain(format!("connection {}: {wrong}", self.number));
        self.socket.end();
        None
    }

    /// A request with the data of a write, in memory of the thread's last one.
    fn data(&self, header: Header, input: &mut Input, mut memory: Vec<u8>) -> Option<Request> {
        if header.command == command::WRITE && header.length > 0 {
            memory.resize(header.length as usize, 0);
            if let Err(error) = input.data(&self.socket, &mut memory, PATIENCE) {
                self.complain_of("data of a write", &error);
                return None;
            }
        }
        Some(Request { header, data: memory, received: Instant::now() })
    }

    /// Carries a request out and replies; the memory of its data is used again.
    fn answer(&self, request: Request) -> (io::Result<()>, Vec<u8>) {
        let Request { header, data: mut memory, received } = request;
        let outcome = match self.state.check(&header) {
            Ok(bytes) => self.state.carry_out(&header, bytes, &mut memory),
            Err(code) => Err(code),
        };
        let is_read = header.command == command::READ;
        let (code, done) = match outcome {
            Ok(done) => (0, done),
            Err(code) => (code, Done::default()),
        };
        if code != 0 || !is_read {
            memory.resize(REPLY_BYTES, 0);
        }
        if code != 0 {
            self.state.requests.errors.fetch_add(1, Relaxed);
        }
        memory[..4].copy_from_slice(&SIMPLE_REPLY.to_be_bytes());
        memory[4..8].copy_from_slice(&code.to_be_bytes());
        memory[8..16].copy_from_slice(&header.cookie.to_be_bytes());
        if self.state.emulate
            && let Some(due) = self.state.pool.answer_at(done)
        {
            self.state.late.wait_until(due);
        }
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.state.times.add(received.elapsed().as_nanos() as u64);
        (self.socket.write(&memory, PATIENCE), memory)
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

    /// Carries a request out. `memory` has the data of a write; the data of a read follow the room
    /// for the reply's header in it.
    fn carry_out(
        &self,
        header: &Header,
        bytes: Range<u64>,
        memory: &mut Vec<u8>,
    ) -> Result<Done, u32> {
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
                memory.resize(REPLY_BYTES + header.length as usize, 0);
                let read = self.pool.read_at(bytes.start, &mut memory[REPLY_BYTES..]);
                self.bytes_read.fetch_add(if read.is_ok() { length } else { 0 }, Relaxed);
                read
            }
            command::WRITE => {
                let written = self.pool.write_at(bytes.start, memory);
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
