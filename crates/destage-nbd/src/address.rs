//! Where a server listens: a Unix socket that is its user's alone, or TCP.

use crate::socket::Socket;
use rustix::net;
use std::fs;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Clients that may wait to be accepted; that of the standard library.
const BACKLOG: i32 = 128;

/// An address as users write it: `unix:PATH`, `HOST:PORT`, or `PORT` of localhost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// Host and port; port 0: any free one.
    Tcp(String, u16),
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    ///
    /// The fault, as a sentence.
    pub fn parse(text: &str) -> Result<Address, String> {
        let wrong = |why: &str| {
            format!("address {text:?}: {why}; expected unix:PATH, HOST:PORT, or PORT of localhost")
        };
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err(wrong("the path is missing")),
                path => Ok(Address::Unix(path.into())),
            };
        }
        let (host, port) = text.rsplit_once(':').unwrap_or(("localhost", text));
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() {
            return Err(wrong("the host is missing"));
        }
        match port.parse() {
            Ok(port) => Ok(Address::Tcp(host.to_string(), port)),
            Err(_) => Err(wrong("the port is not a number from 0 to 65535")),
        }
    }

    /// Any client that reaches the machine may connect.
    pub fn is_open(&self) -> bool {
        match self {
            Address::Unix(_) => false,
            Address::Tcp(host, _) => {
                !is_localhost(host) && !host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
            }
        }
    }

    /// Who may connect besides the user, as a sentence.
    pub fn warning(&self) -> Option<&'static str> {
        match self {
            Address::Unix(_) => None,
            Address::Tcp(..) if self.is_open() => {
                Some("NBD has no authentication here: every client that connects can use FILE")
            }
            Address::Tcp(..) => Some(
                "NBD has no authentication here: every user of this machine can connect, and read \
                 and write FILE",
            ),
        }
    }
}

fn is_localhost(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
}

/// A socket that is listened on.
pub(crate) enum Listener {
    /// The socket, its path, and device and inode of its file.
    Unix(UnixListener, PathBuf, (u64, u64)),
    Tcp(TcpListener),
}

impl Listener {
    /// Binds an address: several sockets where a name has several addresses.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AddrInUse`] if somebody listens there; any other of binding it.
    pub(crate) fn bind(address: &Address) -> io::Result<Vec<Listener>> {
        let listeners = match address {
            Address::Unix(path) => {
                let socket = bind_unix(path)?;
                let found = fs::symlink_metadata(path)?;
                vec![Listener::Unix(socket, path.clone(), (found.dev(), found.ino()))]
            }
            Address::Tcp(host, port) => bind_tcp(host, *port)?,
        };
        for listener in &listeners {
            match listener {
                Listener::Unix(socket, ..) => socket.set_nonblocking(true)?,
                Listener::Tcp(socket) => socket.set_nonblocking(true)?,
            }
        }
        Ok(listeners)
    }

    /// A connection that waits; `None` if there is none any more.
    pub(crate) fn accept(&self) -> io::Result<Option<Socket>> {
        let accepted = match self {
            Listener::Unix(socket, ..) => socket.accept().map(|(s, _)| Socket::Unix(s)),
            Listener::Tcp(socket) => socket.accept().map(|(s, _)| Socket::Tcp(s)),
        };
        match accepted {
            Ok(socket) => Ok(Some(socket)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The server as NBD clients name it.
    pub(crate) fn uri(&self, export: &str) -> String {
        match self {
            Listener::Unix(_, path, _) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                let socket = quoted(path.as_os_str().as_encoded_bytes(), b"/");
                format!("nbd+unix:///{}?socket={socket}", quoted(export.as_bytes(), b""))
            }
            Listener::Tcp(socket) => {
                let address = socket.local_addr().map_or(String::new(), |found| found.to_string());
                format!("nbd://{address}/{}", quoted(export.as_bytes(), b""))
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix(socket, ..) => socket.as_fd(),
            Listener::Tcp(socket) => socket.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path, own) = self
            && fs::symlink_metadata(&*path).is_ok_and(|found| (found.dev(), found.ino()) == *own)
        {
            _ = fs::remove_file(path); // another server's would not be ours
        }
    }
}

/// Percent encoding of all but letters, digits, `-._~` and `plain`.
fn quoted(bytes: &[u8], plain: &[u8]) -> String {
    let one = |byte: &u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(*byte).to_string(),
        byte if byte.is_ascii_alphanumeric() || plain.contains(byte) => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    bytes.iter().map(one).collect()
}

fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => match UnixStream::connect(path) {
            Ok(_) => return Err(io::Error::new(ErrorKind::AddrInUse, "somebody listens there")),
            Err(_) => fs::remove_file(path)?, // left over
        },
        Ok(_) => return Err(io::Error::new(ErrorKind::AlreadyExists, "it is no socket")),
        Err(_) => {}
    }
    let socket = net::socket(net::AddressFamily::UNIX, net::SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    let address = net::SocketAddrUnix::new(path).map_err(|_| {
        io::Error::new(ErrorKind::InvalidInput, "the path is too long for a socket")
    })?;
    net::bind(&socket, &address)?;
    // No client can connect before it listens: until then it is made its user's alone.
    let listening = fs::set_permissions(path, fs::Permissions::from_mode(0o600))
        .and_then(|()| Ok(net::listen(&socket, BACKLOG)?));
    match listening {
        Ok(()) => Ok(socket.into()),
        Err(error) => {
            _ = fs::remove_file(path);
            Err(error)
        }
    }
}

fn bind_tcp(host: &str, port: u16) -> io::Result<Vec<Listener>> {
    if is_localhost(host) {
        let first = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let port = first.as_ref().map_or(Ok(port), |l| l.local_addr().map(|a| a.port()))?;
        let second = TcpListener::bind((Ipv6Addr::LOCALHOST, port));
        return match (first, second) {
            (Err(error), Err(_)) => Err(error),
            (first, second) => Ok(first.into_iter().chain(second).map(Listener::Tcp).collect()),
        };
    }
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    Ok(vec![Listener::Tcp(TcpListener::bind(&addresses[..])?)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_mistakes_are_named() {
        let tcp = |host: &str, port| Ok(Address::Tcp(host.to_string(), port));
        assert_eq!(Address::parse("unix:/run/a"), Ok(Address::Unix("/run/a".into())));
        assert_eq!(Address::parse("10809"), tcp("localhost", 10809));
        assert_eq!(Address::parse("[::1]:0"), tcp("::1", 0));
        assert_eq!(Address::parse("0.0.0.0:5"), tcp("0.0.0.0", 5));
        for (text, part) in
            [("unix:", "path"), ("host", "port"), (":5", "host"), ("a:70000", "port")]
        {
            let error = Address::parse(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        let open =
            ["0.0.0.0:1", "example.org:1", "localhost:1", "127.0.0.1:1", "[::1]:1", "unix:a"]
                .map(|text| Address::parse(text).unwrap().is_open());
        assert_eq!(open, [true, true, false, false, false, false]);
    }

    #[test]
    fn names_in_a_uri_are_quoted() {
        assert_eq!(quoted("a b/ü".as_bytes(), b"/"), "a%20b/%C3%BC");
    }
}
