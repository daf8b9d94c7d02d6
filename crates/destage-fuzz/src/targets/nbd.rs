//! Bytes of a client to `destage serve`, from the first on.

use crate::Target;
use destage_nbd::{Address, Options, ServerOptions, Serving, Settings, Source};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;
use tempfile::TempDir;

pub const TARGET: Target = Target {
    name: "nbd",
    takes: "all that an NBD client sends on a connection",
    holds: "the connection ends, and the next client is served",
    run,
    samples,
};

const PAGE: u32 = 4096;
/// Patience of the server; the connection of an input waits for no other.
const PATIENCE: Duration = Duration::from_secs(20);

struct Served {
    _serving: Serving,
    _folder: TempDir,
    path: PathBuf,
}

/// One server for all inputs: what one leaves behind the next one meets.
static SERVED: LazyLock<Served> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let settings = Settings {
        source: Source::Memory { bytes: 1 << 20 },
        policy: "larc".to_string(),
        options: Options::new(32),
        server: ServerOptions {
            address: Address::Unix(path.clone()),
            export: String::new(),
            description: "fuzzed".to_string(),
            page_bytes: PAGE,
            read_only: false,
            max_connections: 8,
            idle: destage_nbd::IDLE,
        },
        record: None,
        device: None,
        emulate: false,
    };
    let serving = Serving::start(&settings).expect("a server in memory");
    Served { _serving: serving, _folder: folder, path }
});

fn connect() -> UnixStream {
    let socket = UnixStream::connect(&SERVED.path).expect("the server accepts");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    socket
}

/// Sends it all, then reads until the server has closed; what it answers.
fn converse(bytes: &[u8]) -> Vec<u8> {
    let mut socket = connect();
    let mut answers = Vec::new();
    let mut reader = socket.try_clone().expect("a socket");
    std::thread::scope(|scope| {
        scope.spawn(|| match reader.read_to_end(&mut answers) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                panic!("the server neither answers nor closes")
            }
            _ => {}
        });
        // A server that has closed takes no more.
        _ = socket.write_all(bytes);
        _ = socket.shutdown(Shutdown::Write);
    });
    answers
}

fn run(data: &[u8]) {
    converse(data);
    let answers = converse(&good(&[request(0, 0, 0, PAGE), request(2, 0, 0, 0)]));
    // Greeting, size and flags, then the reply and its page.
    assert_eq!(answers.len(), 18 + 10 + 16 + PAGE as usize, "the next client is served");
}

fn request(command: u16, flags: u16, offset: u64, length: u32) -> Vec<u8> {
    let mut bytes = 0x2560_9513u32.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(command.to_be_bytes());
    bytes.extend(7u64.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes
}

fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"IHAVEOPT".to_vec();
    bytes.extend(number.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// A handshake by the empty name, then requests.
fn good(requests: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 3];
    bytes.extend(option(1, b""));
    bytes.extend(requests.concat());
    bytes
}

fn samples() -> Vec<Vec<u8>> {
    let mut written = request(1, 1, 8192, 5000);
    written.extend([9; 5000]);
    let all = [
        written,
        request(0, 0, 8000, 6000),
        request(3, 0, 0, 0),
        request(4, 0, 4096, 65536),
        request(5, 0, 100, 10_000),
        request(6, 0, 300, 20_000),
        request(6, 2, 300, 9_000),
        request(2, 0, 0, 0),
    ];
    let info = [0, 0, 0, 0, 0, 1, 0, 3];
    let mut asked = vec![0, 0, 0, 3];
    for (number, data) in [(3, &b""[..]), (8, b""), (6, &info), (7, &info)] {
        asked.extend(option(number, data));
    }
    asked.extend(request(0, 0, 1 << 19, 1 << 16));
    vec![good(&all), asked, [&[0, 0, 0, 3][..], &option(2, b"")].concat()]
}
