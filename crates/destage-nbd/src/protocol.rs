//! Numbers and layouts of the NBD protocol (`docs/spec/pool.md` 12), big-endian on the wire.

use std::ops::Range;

/// Greeting of a server.
pub(crate) const GREETING: u64 = 0x4e42_444d_4147_4943; // NBDMAGIC
/// Magic of options, from both sides.
pub(crate) const OPTION: u64 = 0x4948_4156_454f_5054; // IHAVEOPT
/// Magic of an answer to an option.
pub(crate) const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
/// Magic of a request.
pub(crate) const REQUEST: u32 = 0x2560_9513;
/// Magic of a simple reply.
pub(crate) const SIMPLE_REPLY: u32 = 0x6744_6698;

/// Handshake flags of server and client.
pub(crate) const FIXED_NEWSTYLE: u32 = 1;
pub(crate) const NO_ZEROES: u32 = 2;

/// Options.
pub(crate) mod option {
    pub(crate) const EXPORT_NAME: u32 = 1;
    pub(crate) const ABORT: u32 = 2;
    pub(crate) const LIST: u32 = 3;
    pub(crate) const INFO: u32 = 6;
    pub(crate) const GO: u32 = 7;
}

/// Types of answers to options.
pub(crate) mod reply {
    pub(crate) const ACK: u32 = 1;
    pub(crate) const SERVER: u32 = 2;
    pub(crate) const INFO: u32 = 3;
    pub(crate) const ERR_UNSUP: u32 = 0x8000_0001;
    pub(crate) const ERR_INVALID: u32 = 0x8000_0003;
    pub(crate) const ERR_UNKNOWN: u32 = 0x8000_0006;
}

/// Types of information about an export.
pub(crate) mod info {
    pub(crate) const EXPORT: u16 = 0;
    pub(crate) const NAME: u16 = 1;
    pub(crate) const DESCRIPTION: u16 = 2;
    pub(crate) const BLOCK_SIZE: u16 = 3;
}

/// Transmission flags of an export.
pub(crate) mod flags {
    pub(crate) const HAS_FLAGS: u16 = 1;
    pub(crate) const READ_ONLY: u16 = 2;
    pub(crate) const SEND_FLUSH: u16 = 4;
    pub(crate) const SEND_FUA: u16 = 8;
    pub(crate) const SEND_TRIM: u16 = 32;
    pub(crate) const SEND_WRITE_ZEROES: u16 = 64;
    pub(crate) const CAN_MULTI_CONN: u16 = 256;
    pub(crate) const SEND_CACHE: u16 = 1024;
}

/// Commands.
pub(crate) mod command {
    pub(crate) const READ: u16 = 0;
    pub(crate) const WRITE: u16 = 1;
    pub(crate) const DISC: u16 = 2;
    pub(crate) const FLUSH: u16 = 3;
    pub(crate) const TRIM: u16 = 4;
    pub(crate) const CACHE: u16 = 5;
    pub(crate) const WRITE_ZEROES: u16 = 6;
}

/// Flags of commands.
pub(crate) const FUA: u16 = 1;
pub(crate) const NO_HOLE: u16 = 2;

/// Errors of replies.
pub(crate) mod error {
    pub(crate) const EPERM: u32 = 1;
    pub(crate) const EIO: u32 = 5;
    pub(crate) const ENOMEM: u32 = 12;
    pub(crate) const EINVAL: u32 = 22;
    pub(crate) const ENOSPC: u32 = 28;
    pub(crate) const ESHUTDOWN: u32 = 108;
}

/// Bytes of a request's header.
pub(crate) const REQUEST_BYTES: usize = 28;

/// Largest data of a request, bytes.
pub(crate) const MOST_BYTES: u32 = 32 << 20;

/// Header of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) flags: u16,
    pub(crate) command: u16,
    pub(crate) cookie: u64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

impl Header {
    /// Reads a header; `None` if the magic is wrong.
    pub(crate) fn read(bytes: &[u8; REQUEST_BYTES]) -> Option<Header> {
        let mut rest = &bytes[..];
        (u32::from_be_bytes(take(&mut rest)) == REQUEST).then(|| Header {
            flags: u16::from_be_bytes(take(&mut rest)),
            command: u16::from_be_bytes(take(&mut rest)),
            cookie: u64::from_be_bytes(take(&mut rest)),
            offset: u64::from_be_bytes(take(&mut rest)),
            length: u32::from_be_bytes(take(&mut rest)),
        })
    }

    /// The range of a request that lies in the export.
    pub(crate) fn bytes(&self) -> Range<u64> {
        self.offset..self.offset + u64::from(self.length)
    }
}

/// The next bytes of a message of known length.
fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (bytes, left) = rest.split_first_chunk().expect("the layout is as long as the message");
    *rest = left;
    *bytes
}
