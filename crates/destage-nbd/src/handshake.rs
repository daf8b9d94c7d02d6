//! The handshake: fixed newstyle, without TLS, structured replies and metadata.

use crate::protocol::{
    FIXED_NEWSTYLE, GREETING, NO_ZEROES, OPTION, OPTION_REPLY, info, option, reply,
};
use crate::socket::Socket;
use std::io;
use std::time::{Duration, Instant};

/// Time for a whole handshake.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most data of an option, bytes.
const MOST_DATA: u32 = 16 << 10;
/// Longest name, bytes.
const MOST_NAME: usize = 4096;
/// Most options of a handshake.
const MOST_OPTIONS: u32 = 64;

/// Description of the export for clients.
#[derive(Clone, Debug)]
pub(crate) struct Export {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) bytes: u64,
    pub(crate) page_bytes: u32,
    pub(crate) most_bytes: u32,
    pub(crate) flags: u16,
}

/// How a handshake ended.
pub(crate) enum Shaken {
    /// Requests follow.
    Ready,
    /// The client has gone, as it said.
    Aborted,
    /// It did what no client may do, in these words.
    Wrong(String),
}

/// An option's answer.
enum Answered {
    Next,
    End(Shaken),
}

impl Export {
    fn is_called(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.name.as_bytes()
    }

    /// Shakes hands.
    ///
    /// # Errors
    ///
    /// The socket's.
    pub(crate) fn shake_hands(&self, socket: &Socket) -> io::Result<Shaken> {
        let deadline = Instant::now() + PATIENCE;
        socket.prepare(PATIENCE)?;
        let mut greeting = Vec::with_capacity(18);
        greeting.extend(GREETING.to_be_bytes());
        greeting.extend(OPTION.to_be_bytes());
        greeting.extend(((FIXED_NEWSTYLE | NO_ZEROES) as u16).to_be_bytes());
        socket.write(&greeting, PATIENCE)?;
        let mut flags = [0; 4];
        socket.read(&mut flags, deadline)?;
        let flags = u32::from_be_bytes(flags);
        if flags & FIXED_NEWSTYLE == 0 || flags & !(FIXED_NEWSTYLE | NO_ZEROES) != 0 {
            return Ok(Shaken::Wrong(format!("client flags {flags:#x}")));
        }
        for _ in 0..MOST_OPTIONS {
            let mut head = [0; 16];
            socket.read(&mut head, deadline)?;
            let (magic, rest) = head.split_first_chunk().expect("16 bytes");
            let (number, length) = rest.split_first_chunk().expect("8 bytes");
            let number = u32::from_be_bytes(*number);
            let length = u32::from_be_bytes(length.try_into().expect("4 bytes"));
            if u64::from_be_bytes(*magic) != OPTION {
                return Ok(Shaken::Wrong("an option without its magic".to_string()));
            }
            if length > MOST_DATA {
                return Ok(Shaken::Wrong(format!("option {number} with {length} bytes")));
            }
            let mut data = vec![0; length as usize];
            socket.read(&mut data, deadline)?;
            match self.answer(socket, number, &data, flags & NO_ZEROES != 0)? {
                Answered::Next => {}
                Answered::End(how) => return Ok(how),
            }
        }
        Ok(Shaken::Wrong(format!("more than {MOST_OPTIONS} options")))
    }

    fn answer(
        &self,
        socket: &Socket,
        number: u32,
        data: &[u8],
        no_zeroes: bool,
    ) -> io::Result<Answered> {
        let say = |what, data: &[u8]| socket.write(&answer(number, what, data), PATIENCE);
        match number {
            option::EXPORT_NAME => {
                if data.len() > MOST_NAME || !self.is_called(data) {
                    let what = format!("export {} is not here", shown(data));
                    return Ok(Answered::End(Shaken::Wrong(what)));
                }
                let mut export = Vec::new();
                export.extend(self.bytes.to_be_bytes());
                export.extend(self.flags.to_be_bytes());
                export.extend(vec![0; if no_zeroes { 0 } else { 124 }]);
                socket.write(&export, PATIENCE)?;
                return Ok(Answered::End(Shaken::Ready));
            }
            option::ABORT => {
                _ = say(reply::ACK, &[]);
                return Ok(Answered::End(Shaken::Aborted));
            }
            option::LIST if data.is_empty() => {
                let mut export = (self.name.len() as u32).to_be_bytes().to_vec();
                export.extend(self.name.as_bytes());
                say(reply::SERVER, &export)?;
                say(reply::ACK, &[])?;
            }
            option::LIST => say(reply::ERR_INVALID, b"LIST takes no data")?,
            option::INFO | option::GO => match wanted(data) {
                None => say(reply::ERR_INVALID, b"malformed")?,
                Some((name, _)) if !self.is_called(name) => {
                    say(reply::ERR_UNKNOWN, b"no such export")?;
                }
                Some((_, kinds)) => {
                    for data in self.replies(&kinds) {
                        say(reply::INFO, &data)?;
                    }
                    say(reply::ACK, &[])?;
                    if number == option::GO {
                        return Ok(Answered::End(Shaken::Ready));
                    }
                }
            },
            _ => say(reply::ERR_UNSUP, &[])?,
        }
        Ok(Answered::Next)
    }

    /// The answers of INFO and GO, in order.
    fn replies(&self, kinds: &[u16]) -> Vec<Vec<u8>> {
        let text = |kind: u16, text: &str| [&kind.to_be_bytes()[..], text.as_bytes()].concat();
        let mut export = info::EXPORT.to_be_bytes().to_vec();
        export.extend(self.bytes.to_be_bytes());
        export.extend(self.flags.to_be_bytes());
        let mut replies = vec![export];
        if kinds.contains(&info::NAME) {
            replies.push(text(info::NAME, &self.name));
        }
        if kinds.contains(&info::DESCRIPTION) {
            replies.push(text(info::DESCRIPTION, &self.description));
        }
        let mut sizes = info::BLOCK_SIZE.to_be_bytes().to_vec();
        for size in [1, self.page_bytes, self.most_bytes] {
            sizes.extend(size.to_be_bytes());
        }
        replies.push(sizes);
        replies
    }
}

/// Name and kinds of information that INFO and GO ask for; `None` if the data are malformed.
fn wanted(data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    let length = u32::from_be_bytes(*length) as usize;
    if length > MOST_NAME {
        return None;
    }
    let (name, rest) = rest.split_at_checked(length)?;
    let (count, kinds) = rest.split_first_chunk::<2>()?;
    let count = usize::from(u16::from_be_bytes(*count));
    if kinds.len() != 2 * count {
        return None;
    }
    let kind = |pair: &[u8]| u16::from_be_bytes([pair[0], pair[1]]);
    Some((name, kinds.chunks_exact(2).map(kind).collect()))
}

fn answer(number: u32, what: u32, data: &[u8]) -> Vec<u8> {
    let mut message = OPTION_REPLY.to_be_bytes().to_vec();
    message.extend(number.to_be_bytes());
    message.extend(what.to_be_bytes());
    message.extend((data.len() as u32).to_be_bytes());
    message.extend(data);
    message
}

/// A name that a client has sent, for a log line.
pub(crate) fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let printable = text.chars().take(64).map(|c| if c.is_control() { '?' } else { c });
    format!("{:?}", printable.collect::<String>())
}
