//! Files as the readers and the decoder use them: the system's. A browser has none, and there they
//! are in memory ([`in_memory`](super::in_memory)), so that a trace is read by the same code.

#[cfg(target_family = "wasm")]
pub(crate) use super::in_memory::{
    File, Metadata, from_system, metadata, read_at, temp_dir, tempfile,
};
#[cfg(not(target_family = "wasm"))]
pub(crate) use system::{File, Metadata, from_system, metadata, read_at, temp_dir, tempfile};

#[cfg(not(target_family = "wasm"))]
mod system {
    use std::io;

    pub(crate) use std::env::temp_dir;
    pub(crate) use std::fs::{File, Metadata, metadata};
    pub(crate) use tempfile::tempfile;

    /// A file of the system.
    ///
    /// # Errors
    ///
    /// None here.
    pub(crate) fn from_system(file: std::fs::File) -> io::Result<File> {
        Ok(file)
    }

    /// Reads at a place, wherever the file stands.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    pub(crate) fn read_at(file: &File, at: u64, out: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_at(file, out, at);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_read(file, out, at);
    }
}
