//! Errors of files, streams and archives, as the user sees them.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Location, TraceError};
use crate::input::StreamFault;
use crate::source::unpack::fault_within;

/// The fault of a layer that ends before it should.
pub(super) fn cut_off(layer: &'static str, offset: u64) -> StreamFault {
    StreamFault { layer, offset, truncated: true, message: String::new() }
}

/// An error of the system or of a stream.
pub(super) fn io_error(name: &str, path: &Path, source: io::Error) -> TraceError {
    match fault_within(&source) {
        Some(fault) if fault.truncated => TraceError::Truncated {
            file: name.to_owned(),
            layer: fault.layer,
            offset: fault.offset,
            records: 0,
        },
        Some(fault) => data_error(name, fault.message, None),
        None if source.kind() == io::ErrorKind::NotFound => {
            TraceError::Missing { path: path.to_owned() }
        }
        None => TraceError::Io { path: PathBuf::from(name), source },
    }
}

/// Wrong data, of the file as a whole.
pub(super) fn data_error(name: &str, message: String, hint: Option<&str>) -> TraceError {
    TraceError::Data {
        file: name.to_owned(),
        place: Location::File,
        message,
        hint: hint.map(str::to_owned),
    }
}
