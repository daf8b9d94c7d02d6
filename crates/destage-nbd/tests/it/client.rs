//! A client of a few lines, which can do what no client may.

use destage_nbd::{Address, IDLE, Options, ServerOptions, Serving, Settings, Source};
use std::io::{Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

pub const PAGE: u32 = 4096;
pub const BYTES: u64 = 1 << 20;

/// Settings of a server in memory, with its socket in this folder.
pub fn settings(folder: &Path) -> Settings {
    Settings {
        source: Source::Memory { bytes: BYTES },
        policy: "lru".to_string(),
        options: Options::new(64),
        server: ServerOptions {
            address: Address::Unix(folder.join("socket")),
            export: String::new(),
            description: "a test".to_string(),
            page_bytes: PAGE,
            read_only: false,
            max_connections: 64,
            idle: IDLE,
        },
        record: None,
        device: None,
        emulate: false,
    }
}

pub fn serve(folder: &Path, change: impl FnOnce(&mut Settings)) -> Serving {
    let mut settings = settings(folder);
    change(&mut settings);
    Serving::start(&settings).unwrap()
}

pub struct Client(pub UnixStream);

/// Answer to a request: the error, and data.
pub type Answer = (u32, Vec<u8>);

impl Client {
    /// Connected, before the handshake.
    pub fn raw(folder: &Path) -> Client {
        let socket = UnixStream::connect(folder.join("socket")).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        Client(socket)
    }

    /// Ready for requests, by EXPORT_NAME.
    pub fn ready(folder: &Path) -> Client {
        let mut client = Client::greeted(folder, 3);
        client.option(1, b"").unwrap();
        client.read(10).unwrap();
        client
    }

    /// After the flags of both sides.
    pub fn greeted(folder: &Path, flags: u32) -> Client {
        let mut client = Client::raw(folder);
        assert_eq!(client.read(18).unwrap(), b"NBDMAGICIHAVEOPT\x00\x03");
        client.0.write_all(&flags.to_be_bytes()).unwrap();
        client
    }

    pub fn read(&mut self, bytes: usize) -> Result<Vec<u8>> {
        let mut found = vec![0; bytes];
        self.0.read_exact(&mut found)?;
        Ok(found)
    }

    /// The server has closed the connection, and sent nothing before.
    pub fn is_closed(&mut self) -> bool {
        !matches!(self.0.read(&mut [0; 1]), Ok(1))
    }

    pub fn option(&mut self, number: u32, data: &[u8]) -> Result<()> {
        let mut message = b"IHAVEOPT".to_vec();
        message.extend(number.to_be_bytes());
        message.extend((data.len() as u32).to_be_bytes());
        message.extend(data);
        self.0.write_all(&message)
    }

    /// Type and data of the answer to an option.
    pub fn answer(&mut self, number: u32) -> Result<Answer> {
        let head = self.read(20)?;
        assert_eq!(head[..8], 0x0003_e889_0455_65a9_u64.to_be_bytes());
        assert_eq!(head[8..12], number.to_be_bytes());
        let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
        let data = self.read(number(16) as usize)?;
        Ok((number(12), data))
    }

    pub fn send(&mut self, flags: u16, command: u16, cookie: u64, at: u64, length: u32) {
        let mut message = 0x2560_9513_u32.to_be_bytes().to_vec();
        message.extend(flags.to_be_bytes());
        message.extend(command.to_be_bytes());
        message.extend(cookie.to_be_bytes());
        message.extend(at.to_be_bytes());
        message.extend(length.to_be_bytes());
        self.0.write_all(&message).unwrap();
    }

    /// Cookie and error of the next reply.
    pub fn reply(&mut self) -> Result<(u64, u32)> {
        let head = self.read(16)?;
        assert_eq!(head[..4], 0x6744_6698_u32.to_be_bytes());
        let error = u32::from_be_bytes(head[4..8].try_into().unwrap());
        Ok((u64::from_be_bytes(head[8..16].try_into().unwrap()), error))
    }

    /// One request, and its answer.
    pub fn call(&mut self, command: u16, flags: u16, at: u64, length: u32, data: &[u8]) -> Answer {
        self.send(flags, command, 7, at, length);
        self.0.write_all(data).unwrap();
        let (cookie, error) = self.reply().unwrap();
        assert_eq!(cookie, 7);
        let wanted = if command == 0 && error == 0 { length as usize } else { 0 };
        (error, self.read(wanted).unwrap())
    }

    pub fn get(&mut self, at: u64, length: u32) -> Vec<u8> {
        let (error, data) = self.call(0, 0, at, length, &[]);
        assert_eq!(error, 0);
        data
    }

    pub fn put(&mut self, at: u64, data: &[u8]) {
        assert_eq!(self.call(1, 0, at, data.len() as u32, data).0, 0);
    }
}
