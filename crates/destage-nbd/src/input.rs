//! Bytes of a connection that were received and not taken yet: one call of the system brings
//! several requests, where the client has sent them.

use crate::socket::{Socket, is_timeout};
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// Bytes received at a time; longer data go to their place at once.
const BYTES: usize = 32 << 10;

/// How a message begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Begun {
    /// It is there whole.
    Whole,
    /// The client has closed the connection, between two messages.
    Closed,
}

/// The reader's buffer.
pub(crate) struct Input {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    received: Instant,
}

impl Input {
    pub(crate) fn new() -> Input {
        let buffer = vec![0; BYTES].into_boxed_slice();
        Input { buffer, start: 0, end: 0, received: Instant::now() }
    }

    /// So many bytes can be taken without waiting for the client.
    pub(crate) fn has(&self, bytes: usize) -> bool {
        self.end - self.start >= bytes
    }

    /// When the last call of the system brought bytes.
    pub(crate) fn received(&self) -> Instant {
        self.received
    }

    /// Waits for a message as long as it takes; once it has begun it has to end within `patience`,
    /// which is the socket's read timeout before and after.
    ///
    /// # Errors
    ///
    /// Errors of [`Socket::read`].
    pub(crate) fn message(
        &mut self,
        socket: &Socket,
        into: &mut [u8],
        patience: Duration,
    ) -> io::Result<Begun> {
        while self.start == self.end {
            match socket.read_some(&mut self.buffer) {
                Ok(0) => return Ok(Begun::Closed),
                Ok(bytes) => (self.start, self.end) = (0, bytes),
                Err(error) if is_timeout(&error) => {} // idle
                Err(error) => return Err(error),
            }
            self.received = Instant::now();
        }
        self.data(socket, into, patience).map(|()| Begun::Whole)
    }

    /// Takes data that belong to a message which has begun.
    ///
    /// # Errors
    ///
    /// Errors of [`Socket::read`].
    pub(crate) fn data(
        &mut self,
        socket: &Socket,
        into: &mut [u8],
        patience: Duration,
    ) -> io::Result<()> {
        let taken = into.len().min(self.end - self.start);
        let (first, rest) = into.split_at_mut(taken);
        first.copy_from_slice(self.taken(taken));
        if rest.len() <= self.buffer.len() {
            rest.copy_from_slice(self.in_place(socket, rest.len(), patience)?);
            return Ok(());
        }
        let least = rest.len();
        receive(socket, rest, least, patience)?;
        self.received = Instant::now();
        Ok(())
    }

    /// The same, where the data stay in the buffer: not more of them than it has.
    ///
    /// # Errors
    ///
    /// Errors of [`Socket::read`].
    pub(crate) fn in_place(
        &mut self,
        socket: &Socket,
        bytes: usize,
        patience: Duration,
    ) -> io::Result<&mut [u8]> {
        if !self.has(bytes) {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            let least = bytes - self.end;
            self.end += receive(socket, &mut self.buffer[self.end..], least, patience)?;
            self.received = Instant::now();
        }
        Ok(self.taken(bytes))
    }

    /// Bytes that are there, taken.
    fn taken(&mut self, bytes: usize) -> &mut [u8] {
        let start = self.start;
        self.start += bytes;
        &mut self.buffer[start..self.start]
    }
}

/// Receives at least so many bytes, within `patience`, which is the socket's read timeout before
/// and after.
fn receive(
    socket: &Socket,
    into: &mut [u8],
    least: usize,
    patience: Duration,
) -> io::Result<usize> {
    let deadline = Instant::now() + patience;
    // The timeout that the socket has is right for the first call, and mostly there is one.
    let received = match socket.read_some(into) {
        Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
        Ok(bytes) => bytes,
        Err(error) if is_timeout(&error) => return Err(ErrorKind::TimedOut.into()),
        Err(error) => return Err(error),
    };
    if received < least {
        socket.read(&mut into[received..least], deadline)?;
        socket.set_read_timeout(patience)?;
    }
    Ok(received.max(least))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    const PATIENCE: Duration = Duration::from_millis(200);

    fn pair() -> (UnixStream, Socket) {
        let (client, server) = UnixStream::pair().unwrap();
        let socket = Socket::Unix(server);
        socket.prepare(PATIENCE).unwrap();
        (client, socket)
    }

    #[test]
    fn messages_and_data_come_in_their_order_however_they_are_cut() {
        let sent: Vec<u8> = (0..200_000_u32).map(|n| (n * 7 % 251) as u8).collect();
        for cut in [1, 13, 28, 4096, 50_000, sent.len()] {
            let (mut client, socket) = pair();
            let bytes = sent.clone();
            let writer = std::thread::spawn(move || {
                // Pieces of a byte would take as many calls.
                let pieces = bytes.chunks(cut.max(7));
                pieces.for_each(|piece| client.write_all(piece).unwrap());
            });
            let (mut input, mut found) = (Input::new(), Vec::new());
            for size in [28, 4096, 1, 28, 20_000, 40_000, 28, 20_000, 100_000].into_iter().cycle() {
                let mut into = vec![0; size.min(sent.len() - found.len())];
                if into.is_empty() {
                    break;
                }
                if size == 28 {
                    assert_eq!(input.message(&socket, &mut into, PATIENCE).unwrap(), Begun::Whole);
                } else if size == 20_000 {
                    let length = into.len();
                    let data = input.in_place(&socket, length, PATIENCE).unwrap();
                    into.copy_from_slice(data);
                } else {
                    input.data(&socket, &mut into, PATIENCE).unwrap();
                }
                found.extend(into);
            }
            assert!(found == sent, "pieces of {cut}");
            writer.join().unwrap();
            let closed = input.message(&socket, &mut [0; 28], PATIENCE).unwrap();
            assert_eq!(closed, Begun::Closed);
        }
    }

    #[test]
    fn a_message_that_has_begun_has_to_end() {
        let (mut client, socket) = pair();
        let mut input = Input::new();
        client.write_all(&[1; 10]).unwrap();
        let error = input.message(&socket, &mut [0; 28], PATIENCE).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        client.write_all(&[1; 10]).unwrap();
        drop(client);
        let error = input.message(&socket, &mut [0; 28], PATIENCE).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }
}
