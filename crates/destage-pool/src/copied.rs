//! Errors that concern several calls.

use std::io;

/// A copy of an error, for everyone whom it concerns.
pub(crate) fn copy_of(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}
