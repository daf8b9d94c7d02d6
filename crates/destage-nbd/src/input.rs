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
}

impl Input {
    pub(crate) fn new() -> Input {
        Input { buffer: vec![0; BYTES].into_boxed_slice(), start: 0, end: 0 }
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
        let mut taken = self.take(into);
        if taken == into.len() {
            return Ok(());
        }
        let deadline = Instant::now() + patience;
        // The timeout that the socket has is right for the first call, and mostly there is one.
        match self.receive(socket, &mut into[taken..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => taken += bytes,
            Err(error) if is_timeout(&error) => return Err(ErrorKind::TimedOut.into()),
            Err(error) => return Err(error),
        }
        if taken < into.len() {
            socket.read(&mut into[taken..], deadline)?;
            socket.set_read_timeout(patience)?;
        }
        Ok(())
    }

    /// Receives into the buffer, or past it where more is wanted than it has; the bytes that reach
    /// `into`.
    fn receive(&mut self, socket: &Socket, into: &mut [u8]) -> io::Result<usize> {
        if into.len() >= self.buffer.len() {
            return socket.read_some(into);
        }
        (self.start, self.end) = (0, socket.read_some(&mut self.buffer)?);
        Ok(self.take(into))
    }

    /// Moves bytes out of the buffer.
    fn take(&mut self, into: &mut [u8]) -> usize {
        let bytes = into.len().min(self.end - self.start);
        into[..bytes].copy_from_slice(&self.buffer[self.start..self.start + bytes]);
        self.start += bytes;
        bytes
    }
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
            for size in [28, 4096, 1, 28, 40_000, 28, 100_000, 28].into_iter().cycle() {
                let mut into = vec![0; size.min(sent.len() - found.len())];
                if into.is_empty() {
                    break;
                }
                if size == 28 {
                    assert_eq!(input.message(&socket, &mut into, PATIENCE).unwrap(), Begun::Whole);
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
