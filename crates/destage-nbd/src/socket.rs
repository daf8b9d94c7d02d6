//! Sockets with deadlines.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Bytes that a client takes in a second at least.
const SLOWEST: u64 = 64 << 10;

/// A connection.
pub(crate) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

macro_rules! either {
    ($socket:expr, $s:ident => $call:expr) => {
        match $socket {
            Socket::Unix($s) => $call,
            Socket::Tcp($s) => $call,
        }
    };
}

impl Socket {
    /// No timeouts but those of [`read`](Socket::read), [`Input`](crate::input::Input) and
    /// [`write`](Socket::write).
    pub(crate) fn prepare(&self, patience: Duration) -> io::Result<()> {
        if let Socket::Tcp(socket) = self {
            socket.set_nodelay(true)?;
        }
        either!(self, s => s.set_nonblocking(false))?;
        self.set_read_timeout(patience)?;
        either!(self, s => s.set_write_timeout(Some(patience)))
    }

    pub(crate) fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        either!(self, s => s.set_read_timeout(Some(timeout.max(Duration::from_millis(1)))))
    }

    pub(crate) fn read_some(&self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let result = either!(self, s => { let mut s = s; s.read(into) });
            if !matches!(&result, Err(error) if error.kind() == ErrorKind::Interrupted) {
                return result;
            }
        }
    }

    /// Reads a whole message, or the rest of one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TimedOut`] after the deadline, [`ErrorKind::UnexpectedEof`] if the connection
    /// ends before; the socket's.
    pub(crate) fn read(&self, mut into: &mut [u8], deadline: Instant) -> io::Result<()> {
        while !into.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.set_read_timeout(left)?;
            match self.read_some(into) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => into = &mut into[bytes..],
                Err(error) if is_timeout(&error) => return Err(ErrorKind::TimedOut.into()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes a message.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TimedOut`] if the client does not take it; the socket's.
    pub(crate) fn write(&self, mut from: &[u8], patience: Duration) -> io::Result<()> {
        let deadline = Instant::now() + patience + Duration::from_secs(from.len() as u64 / SLOWEST);
        while !from.is_empty() {
            match either!(self, s => { let mut s = s; s.write(from) }) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => from = &from[bytes..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => return Err(ErrorKind::TimedOut.into()),
                Err(error) => return Err(error),
            }
            if !from.is_empty() && Instant::now() >= deadline {
                return Err(ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }

    /// Nothing more is read; a thread that waits for a message finds the end.
    pub(crate) fn end_reading(&self) {
        _ = either!(self, s => s.shutdown(Shutdown::Read));
    }

    /// Ends the connection.
    pub(crate) fn end(&self) {
        _ = either!(self, s => s.shutdown(Shutdown::Both));
    }
}

pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
