//! A connection: its threads take turns in reading a request, and each carries out what it read.
//!
//! So requests of one connection run side by side, sixteen at most, and a client that has one
//! request at a time never waits for a thread to be woken. A request that waits neither for a read
//! nor for a sync of the store keeps the turn: to hand it over costs more than such a request. The
//! replies of those that came together are sent together.
//!
//! Data of requests wait for their client in the connection's own budget, so a client that takes no
//! replies, or sends half of a request, stops itself alone. The data of a request that is larger
//! than this budget are moved in pieces, each a request of its own to the pool.

use crate::budget::{Budget, Share};
use crate::handshake::Shaken;
use crate::input::{Begun, Input};
use crate::late::wake_in_time;
use crate::protocol::{Header, MOST_BYTES, REQUEST_BYTES, command};
use crate::socket::Socket;
use crate::state::State;
use destage_pool::Done;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time for a message that has begun, and for a client to take its replies.
const PATIENCE: Duration = Duration::from_secs(60);
/// Requests of a connection under way.
const MOST_REQUESTS: usize = 16;
/// Bytes of a thread's stack.
const STACK_BYTES: usize = 256 << 10;
/// Data of a connection's requests under way, bytes.
const CONNECTION_BYTES: u32 = 4 << 20;
/// Data of a piece of a request that is larger, bytes: a multiple of every page size.
const PIECE_BYTES: u32 = 1 << 20;
/// Bytes of a reply's header.
const REPLY_BYTES: usize = 16;
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
    /// It has sent a request.
    pub(crate) has_asked: AtomicBool,
    since: Instant,
    /// Requests that have no reply yet.
    under_way: AtomicUsize,
    /// When the last replies were sent, nanoseconds after `since`.
    replied_ns: AtomicU64,
    /// The turn to read the next request; `None` if there is none.
    reading: Mutex<Option<Turn>>,
    writing: Mutex<()>,
    /// Memory of data that come from the client or wait for it.
    budget: Budget,
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
    /// Its outcome, if it was carried out while its data came.
    outcome: Option<Result<Done, u32>>,
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
            has_asked: AtomicBool::new(false),
            since: Instant::now(),
            under_way: AtomicUsize::new(0),
            replied_ns: AtomicU64::new(0),
            reading: Mutex::new(Some(Turn { input: Input::new(), replies: Replies::default() })),
            writing: Mutex::new(()),
            budget: Budget::new(CONNECTION_BYTES.into()),
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

    /// Time since its last reply, or since it connected; `None` while a request is under way.
    pub(crate) fn idle(&self) -> Option<Duration> {
        let replied = Duration::from_nanos(self.replied_ns.load(Relaxed));
        let is_idle = self.under_way.load(SeqCst) == 0;
        is_idle.then(|| self.since.elapsed().saturating_sub(replied))
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
            self.sent(sent, 1);
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
                    let share = self.budget.take(piece_of(&header).into());
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
            header => {
                self.has_asked.store(true, Relaxed);
                self.under_way.fetch_add(1, SeqCst);
                return header;
            }
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
        self.state.count(header);
        let outcome = self.state.ask_pool(header, bytes, data);
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
        let sent = self.write_first(&replies.bytes, &replies.received).map(drop);
        let count = replies.received.len();
        replies.bytes.clear();
        replies.received.clear();
        self.sent(sent, count);
    }

    /// So many replies were sent.
    fn sent(&self, sent: io::Result<()>, count: usize) {
        self.replied_ns.store(self.since.elapsed().as_nanos() as u64, Relaxed);
        self.under_way.fetch_sub(count, SeqCst);
        if let Err(error) = sent {
            self.complain_of("reply", &error);
            self.socket.end();
        }
    }

    /// Writes replies, or the first piece of one; the turn to write is given back by the caller.
    fn write_first(&self, replies: &[u8], received: &[Instant]) -> io::Result<MutexGuard<'_, ()>> {
        let turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        received.iter().for_each(|at| self.state.times.add((now - *at).as_nanos() as u64));
        self.socket.write(replies, PATIENCE).map(|()| turn)
    }

    /// A request with the data of a write, in memory of the thread's last one.
    fn data(&self, header: Header, input: &mut Input, mut memory: Vec<u8>) -> Option<Request> {
        let mut outcome = None;
        if header.command == command::WRITE && header.length > 0 {
            memory.resize(piece_of(&header) as usize, 0);
            let taken = match header.length > CONNECTION_BYTES {
                true => self.write_pieces(&header, input, &mut memory).map(|o| outcome = Some(o)),
                false => input.data(&self.socket, &mut memory, PATIENCE),
            };
            if let Err(error) = taken {
                self.complain_of("data of a write", &error);
                self.socket.end();
                return None;
            }
        }
        Some(Request { header, data: memory, received: input.received(), outcome })
    }

    /// Carries a write out as its data come. After an error the other data are taken in and lost.
    ///
    /// # Errors
    ///
    /// The socket's.
    fn write_pieces(
        &self,
        header: &Header,
        input: &mut Input,
        memory: &mut [u8],
    ) -> io::Result<Result<Done, u32>> {
        let mut outcome = self.state.check(header).map(|_| Done::default());
        if outcome.is_ok() {
            self.state.count(header);
        }
        for piece in pieces(header) {
            let data = &mut memory[..piece.length as usize];
            input.data(&self.socket, data, PATIENCE)?;
            outcome = outcome.and_then(|done| {
                let more = self.state.carry_out(&piece, piece.bytes(), data)?;
                Ok(done.and(more))
            });
        }
        Ok(outcome)
    }

    /// Carries a request out and replies; the memory of its data is used again.
    fn answer(&self, request: Request) -> (io::Result<()>, Vec<u8>) {
        let Request { header, data: mut memory, received, outcome } = request;
        let is_read = header.command == command::READ;
        let mut pieces = pieces(&header);
        let outcome = outcome.unwrap_or_else(|| {
            let bytes = self.state.check(&header)?;
            self.state.count(&header);
            if !is_read {
                return self.state.carry_out(&header, bytes, &mut memory);
            }
            let first = pieces.next().expect("a read that is in order has data");
            memory.resize(REPLY_BYTES + first.length as usize, 0);
            self.state.carry_out(&first, first.bytes(), &mut memory[REPLY_BYTES..])
        });
        let (code, done) = match outcome {
            Ok(done) => (0, done),
            Err(code) => (code, Done::default()),
        };
        if code != 0 || !is_read {
            memory.resize(REPLY_BYTES, 0);
        }
        self.state.reply(&header, code, &mut memory);
        self.wait_for_the_device(done);
        let further = if is_read && code == 0 { Some(pieces) } else { None };
        (self.reply(&mut memory, received, further.into_iter().flatten()), memory)
    }

    /// Sends a reply, then the further pieces of a read. An error of one of these ends the
    /// connection: the reply has said that there is none.
    fn reply(
        &self,
        memory: &mut Vec<u8>,
        received: Instant,
        pieces: impl Iterator<Item = Header>,
    ) -> io::Result<()> {
        let _turn = self.write_first(memory, &[received])?;
        for piece in pieces {
            memory.resize(piece.length as usize, 0);
            match self.state.carry_out(&piece, piece.bytes(), memory) {
                Ok(done) => self.wait_for_the_device(done),
                Err(code) => {
                    self.state.requests.errors.fetch_add(1, Relaxed);
                    let (offset, number) = (piece.offset, self.number);
                    self.state.complain(format!(
                        "connection {number}: a read failed at offset {offset} (error {code}), \
                         after the first part of it was sent"
                    ));
                    self.socket.end();
                    return Ok(());
                }
            }
            self.socket.write(memory, PATIENCE)?;
        }
        Ok(())
    }

    /// With `--emulate`: until the simulated SSD would have answered.
    fn wait_for_the_device(&self, done: Done) {
        if self.state.emulate
            && let Some(due) = self.state.pool.answer_at(done)
        {
            self.state.late.wait_until(due);
        }
    }
}

/// Data of a request that are in memory at a time, bytes.
fn piece_of(header: &Header) -> u32 {
    match header.command {
        command::READ | command::WRITE if header.length > CONNECTION_BYTES => PIECE_BYTES,
        command::READ | command::WRITE => header.length,
        _ => 0,
    }
}

/// The pieces of a read or a write, the first one up to a multiple of the pieces' size. Of a change
/// that has to be durable the last one says so.
fn pieces(header: &Header) -> impl Iterator<Item = Header> + use<> {
    let (mut rest, most) = (*header, piece_of(header));
    let is_whole = header.length <= most;
    std::iter::from_fn(move || {
        let aligned = most.checked_sub((rest.offset % u64::from(most.max(1))) as u32);
        let length = if is_whole { rest.length } else { aligned?.min(rest.length) };
        let flags = if length == rest.length { rest.flags } else { 0 };
        let piece = Header { length, flags, ..rest };
        // A range that does not end in 64 bits is no range of an export; its data are taken in.
        rest.offset = rest.offset.wrapping_add(length.into());
        rest.length -= length;
        (length > 0).then_some(piece)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(command: u16, offset: u64, length: u32) -> Vec<(u32, u16)> {
        let header = Header { flags: 1, command, cookie: 7, offset, length };
        let all: Vec<Header> = pieces(&header).collect();
        assert!(all.iter().all(|piece| piece.cookie == 7 && piece.command == command));
        assert_eq!(all.iter().map(|piece| piece.length).sum::<u32>(), length);
        all.iter().map(|piece| (piece.length, piece.flags)).collect()
    }

    #[test]
    fn pieces_end_at_multiples_and_have_all_bytes_of_a_range_that_is_none() {
        let (read, write) = (command::READ, command::WRITE);
        assert_eq!(lengths(read, 5, CONNECTION_BYTES), [(CONNECTION_BYTES, 1)]);
        let most = PIECE_BYTES;
        let pieces = lengths(write, 10, CONNECTION_BYTES + 1);
        assert_eq!(pieces, [(most - 10, 0), (most, 0), (most, 0), (most, 0), (11, 1)]);
        assert_eq!(lengths(read, u64::MAX - 4, MOST_BYTES)[0], (5, 0));
        assert_eq!(lengths(read, 0, 0), []);
        assert_eq!(lengths(write, u64::MAX, 100), [(100, 1)]);
    }
}
