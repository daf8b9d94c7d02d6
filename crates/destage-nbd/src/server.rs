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
    /// Binds the address and accepts connections from now on.
    ///
    /// # Errors
    ///
    /// Errors of binding it, with the pool.
    pub(crate) fn start(
        pool: AnyPool,
        options: &ServerOptions,
        emulate: bool,
        direct: bool,
    ) -> Result<Server, (AnyPool, io::Error)> {
        let (listeners, wake, woken) = match bind(options) {
            Ok(bound) => bound,
            Err(error) => return Err((pool, error)),
        };
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
            builder.spawn(move || accept(&listeners, &woken, &state, &connections))
        };
        let acceptor = Some(acceptor.expect("a thread can be started"));
        Ok(Server { state, connections, uri, wake, acceptor })
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

fn bind(options: &ServerOptions) -> io::Result<(Vec<Listener>, UnixStream, UnixStream)> {
    let listeners = Listener::bind(&options.address)?;
    let (wake, woken) = UnixStream::pair()?;
    Ok((listeners, wake, woken))
}

/// Accepts connections until it is woken; lines of a record reach their file once a second.
fn accept(
    listeners: &[Listener],
    woken: &UnixStream,
    state: &Arc<State>,
    connections: &Connections,
) {
    let mut written = Instant::now();
    while !state.is_stopping.load(Relaxed) {
        if written.elapsed() >= RECORD_EVERY {
            _ = state.pool.flush_record(); // an error is told at the end
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

    /// Adds a connection. If there are too many it displaces the oldest that has not shaken hands;
    /// if all have, it is refused.
    fn add(&self, socket: Socket, state: &Arc<State>) {
        let mut open = self.open();
        open.forget_ended();
        if open.all.len() >= self.most {
            open.counts.refused += 1;
            let unready = open.all.iter().position(|c| !c.is_ready.load(Relaxed));
            match unready {
                Some(oldest) => open.all.remove(oldest).socket.end(),
                None => return socket.end(),
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

impl Open {
    fn forget_ended(&mut self) {
        self.all.retain(|connection| !connection.has_ended());
    }
}
