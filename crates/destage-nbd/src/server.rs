//! A server: it accepts connections, and ends them when it is stopped.

use crate::address::{Address, Listener};
use crate::connection::Connection;
use crate::handshake::Export;
use crate::protocol::{MOST_BYTES, flags};
use crate::socket::Socket;
use crate::state::{AnyPool, ConnectionCounts, State};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
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

/// Time for a client to send its first request, where others are refused.
const FIRST_REQUEST: Duration = Duration::from_secs(10);

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
        let open = Mutex::default();
        let connections = Arc::new(Connections { most: options.max_connections.max(1), open });
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
        let second = Timespec { tv_sec: RECORD_EVERY.as_secs().cast_signed(), tv_nsec: 0 };
        if poll(&mut waited, Some(&second)).is_err() {
            continue; // interrupted
        }
        for listener in listeners {
            match listener.accept() {
                Ok(Some(socket)) => connections.add(socket, state),
                Ok(None) => {}
                Err(error) => {
                    // Too many open files, or a client that has gone: others go on.
                    state.complain(format!("accept: {error}"));
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
    }
}

impl Connections {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection. If there are too many it displaces the oldest that has not shaken hands,
    /// else the oldest that has not sent a request for long; if there is none, it is refused.
    fn add(&self, socket: Socket, state: &Arc<State>) {
        let mut open = self.open();
        open.forget_ended();
        if open.all.len() >= self.most {
            open.counts.refused += 1;
            let all = format!("all {} connections are in use (--max-connections)", self.most);
            let uses = open.all.iter().map(|c| Use {
                is_ready: c.is_ready.load(Relaxed),
                has_asked: c.has_asked.load(Relaxed),
                age: c.since.elapsed(),
            });
            match displaced(uses) {
                Some(oldest) => {
                    let displaced = open.all.remove(oldest);
                    displaced.socket.end();
                    let number = displaced.number;
                    state.complain(format!("{all}: connection {number}, unused, was ended"));
                }
                None => {
                    socket.end();
                    return state.complain(format!("{all}: a client was refused"));
                }
            }
        }
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
    age: Duration,
}

/// The connection that is ended for a new one: the oldest that has not shaken hands, else the
/// oldest whose client has asked for nothing, and had time for it.
fn displaced(all: impl Iterator<Item = Use> + Clone) -> Option<usize> {
    let unready = all.clone().position(|one| !one.is_ready);
    unready.or_else(|| {
        let mut all = all;
        all.position(|one| !one.has_asked && one.age >= FIRST_REQUEST)
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
        let found = |uses: &[(bool, bool, u64)]| {
            displaced(uses.iter().map(|&(is_ready, has_asked, seconds)| Use {
                is_ready,
                has_asked,
                age: Duration::from_secs(seconds),
            }))
        };
        assert_eq!(found(&[(true, true, 900), (true, false, 50), (false, false, 1)]), Some(2));
        assert_eq!(found(&[(true, true, 900), (true, false, 10), (true, false, 10)]), Some(1));
        assert_eq!(found(&[(true, true, 900), (true, false, 9)]), None);
        assert_eq!(found(&[]), None);
    }
}
