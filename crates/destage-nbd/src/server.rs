//! A server: it accepts connections, and ends them when it is stopped.

use crate::address::{Address, Listener};
use crate::connection::Connection;
use crate::handshake::Export;
use crate::protocol::{MOST_BYTES, flags};
use crate::socket::Socket;
use crate::state::{AnyPool, ConnectionCounts, State};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time for requests under way, once a stop was asked for.
const LAST_REQUESTS: Duration = Duration::from_secs(10);
/// Time for threads to see that their connection has ended.
const LAST_THREADS: Duration = Duration::from_secs(2);

/// [`ServerOptions::idle`] of a server that says nothing else.
pub const IDLE: Duration = Duration::from_secs(10);
/// Between two looks for room for a client that waits.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Time after which a line of the record is in its file.
const RECORD_EVERY: Duration = Duration::from_secs(1);

/// Export and limits of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address to listen on.
    pub address: Address,
    /// Name of the export; the empty name always means it too.
    pub export: String,
    /// Description of the export for clients.
    pub description: String,
    /// Bytes of a page of the pool.
    pub page_bytes: u32,
    /// Refuses changes.
    pub read_only: bool,
    /// Most connections at a time, at least 1.
    pub max_connections: usize,
    /// Where all are in use, a new client waits as long as this for room, and a connection that has
    /// asked for nothing as long makes it.
    pub idle: Duration,
}

/// A server that runs.
pub(crate) struct Server {
    pub(crate) state: Arc<State>,
    connections: Arc<Connections>,
    uri: String,
    wake: UnixStream,
    acceptor: Option<JoinHandle<()>>,
}

struct Connections {
    most: usize,
    idle: Duration,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    all: Vec<Arc<Connection>>,
    counts: ConnectionCounts,
}

impl Server {
    /// Accepts connections from now on.
    ///
    /// # Errors
    ///
    /// The system has no sockets or threads left.
    pub(crate) fn start(
        listeners: Vec<Listener>,
        pool: AnyPool,
        options: &ServerOptions,
        emulate: bool,
        direct: bool,
    ) -> io::Result<Server> {
        let (wake, woken) = UnixStream::pair()?;
        let uri = listeners[0].uri(&options.export);
        let export = Export {
            name: options.export.clone(),
            description: options.description.clone(),
            bytes: pool.bytes(),
            page_bytes: options.page_bytes,
            most_bytes: MOST_BYTES,
            flags: export_flags(options.read_only),
        };
        let state = Arc::new(State::new(pool, export, emulate, direct));
        let (most, idle) = (options.max_connections.max(1), options.idle);
        let connections = Arc::new(Connections { most, idle, open: Mutex::default() });
        let acceptor = {
            let (state, connections) = (Arc::clone(&state), Arc::clone(&connections));
            let builder = thread::Builder::new().name("destage-accept".to_string());
            builder.spawn(move || accept(&listeners, &woken, &state, &connections))?
        };
        Ok(Server { state, connections, uri, wake, acceptor: Some(acceptor) })
    }

    pub(crate) fn uri(&self) -> &str {
        &self.uri
    }

    /// Connections so far, and those that are open.
    pub(crate) fn connections(&self) -> (ConnectionCounts, usize) {
        let mut open = self.connections.open();
        open.forget_ended();
        (open.counts, open.all.len())
    }

    /// Stops accepting clients and ends the connections; requests under way get ten seconds.
    pub(crate) fn stop(&mut self) {
        let Some(acceptor) = self.acceptor.take() else { return };
        self.state.is_stopping.store(true, Relaxed);
        _ = io::Write::write(&mut &self.wake, &[1]);
        _ = acceptor.join();
        let all = std::mem::take(&mut self.connections.open().all);
        all.iter().for_each(|connection| connection.socket.end_reading());
        if !self.state.wait_for_threads(LAST_REQUESTS) {
            all.iter().for_each(|connection| connection.socket.end());
            self.state.wait_for_threads(LAST_THREADS);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn export_flags(read_only: bool) -> u16 {
    let all = flags::HAS_FLAGS
        | flags::SEND_FLUSH
        | flags::SEND_FUA
        | flags::CAN_MULTI_CONN
        | flags::SEND_CACHE;
    match read_only {
        true => all | flags::READ_ONLY,
        false => all | flags::SEND_TRIM | flags::SEND_WRITE_ZEROES,
    }
}

/// Accepts connections until it is woken; lines of a record reach their file once a second.
fn accept(
    listeners: &[Listener],
    woken: &UnixStream,
    state: &Arc<State>,
    connections: &Connections,
) {
    let (mut written, mut is_recording) = (Instant::now(), true);
    let mut waiting = VecDeque::new();
    while !state.is_stopping.load(Relaxed) {
        if written.elapsed() >= RECORD_EVERY {
            if let Err(error) = state.pool.flush_record()
                && std::mem::take(&mut is_recording)
            {
                state.complain(format!("record: {error}; it ends here, with a whole line"));
            }
            written = Instant::now();
        }
        let mut waited: Vec<PollFd<'_>> =
            listeners.iter().map(|listener| PollFd::new(listener, PollFlags::IN)).collect();
        waited.push(PollFd::new(woken, PollFlags::IN));
        let most = if waiting.is_empty() { RECORD_EVERY } else { LOOK_EVERY };
        let most = Timespec::try_from(most).expect("a second at most");
        if poll(&mut waited, Some(&most)).is_err() {
            continue; // interrupted
        }
        for listener in listeners {
            match listener.accept() {
                Ok(Some(socket)) if waiting.len() < connections.most => {
                    waiting.push_back((socket, Instant::now()));
                }
                Ok(Some(_)) => connections.refuse(state),
                Ok(None) => {}
                Err(error) => {
                    // Too many open files, or a client that has gone: others go on.
                    state.complain(format!("accept: {error}"));
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
        connections.let_in(&mut waiting, state);
    }
}

impl Connections {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the connections of clients that wait, the first ones first, while there is room; closes
    /// those that have waited too long.
    fn let_in(&self, waiting: &mut VecDeque<(Socket, Instant)>, state: &Arc<State>) {
        while let Some((_, since)) = waiting.front() {
            let has_room = self.make_room(state);
            if !has_room && since.elapsed() < self.idle {
                return;
            }
            match waiting.pop_front() {
                Some((socket, _)) if has_room => self.add(socket, state),
                _ => self.refuse(state),
            }
        }
    }

    /// Whether a new connection is accepted; at the limit an idle one is ended for it.
    fn make_room(&self, state: &State) -> bool {
        let mut open = self.open();
        open.forget_ended();
        if open.all.len() < self.most {
            return true;
        }
        let uses = open.all.iter().map(|c| Use {
            is_ready: c.is_ready.load(Relaxed),
            has_asked: c.has_asked.load(Relaxed),
            idle: c.idle(),
        });
        let Some(unused) = displaced(uses, self.idle) else { return false };
        let displaced = open.all.remove(unused);
        displaced.socket.end();
        open.counts.refused += 1;
        state.complain(format!(
            "{}: connection {}, unused, was ended",
            self.all(),
            displaced.number
        ));
        true
    }

    fn all(&self) -> String {
        format!("all {} connections are in use (--max-connections)", self.most)
    }

    fn refuse(&self, state: &State) {
        self.open().counts.refused += 1;
        state.complain(format!("{}: a client was refused", self.all()));
    }

    fn add(&self, socket: Socket, state: &Arc<State>) {
        let mut open = self.open();
        open.counts.accepted += 1;
        let number = open.counts.accepted;
        let connection = Arc::new(Connection::new(socket, Arc::clone(state), number));
        open.all.push(Arc::clone(&connection));
        open.counts.most = open.counts.most.max(open.all.len() as u64);
        drop(open);
        connection.start();
    }
}

/// Use of a connection so far.
struct Use {
    is_ready: bool,
    has_asked: bool,
    /// Time without a request; `None` while one is under way.
    idle: Option<Duration>,
}

/// The connection that is ended for a new one: the oldest before its handshake; else the longest
/// idle, for at least `idle`, with clients that have sent no request yet before others.
fn displaced(all: impl Iterator<Item = Use> + Clone, idle: Duration) -> Option<usize> {
    let unready = all.clone().position(|one| !one.is_ready);
    unready.or_else(|| {
        let unused = all.enumerate().filter_map(|(at, one)| {
            let time = one.idle.filter(|time| *time >= idle)?;
            Some(((!one.has_asked, time, Reverse(at)), at))
        });
        unused.max().map(|(_, at)| at)
    })
}

impl Open {
    fn forget_ended(&mut self) {
        self.all.retain(|connection| !connection.has_ended());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_is_not_used_gives_way_to_a_new_one() {
        let found = |uses: &[(bool, bool, Option<u64>)]| {
            let uses = uses.iter().map(|&(is_ready, has_asked, seconds)| Use {
                is_ready,
                has_asked,
                idle: seconds.map(Duration::from_secs),
            });
            displaced(uses, IDLE)
        };
        let (asked, never) = ((true, true, Some(900)), (true, false, Some(10)));
        assert_eq!(found(&[asked, never, (false, false, Some(1))]), Some(2));
        assert_eq!(found(&[asked, never, never]), Some(1));
        assert_eq!(found(&[(true, true, Some(10)), asked, (true, true, Some(899))]), Some(1));
        assert_eq!(found(&[(true, true, None), (true, false, Some(9))]), None);
        assert_eq!(found(&[]), None);
    }
}
