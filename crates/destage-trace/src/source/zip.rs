//! The members of a zip archive.

use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::Arc;

use zip::CompressionMethod;
use zip::result::ZipError;

use super::byte_source::ByteSource;
use super::catalogue::Catalogue;
use super::errors::{data_error, io_error};
use super::readers::{Store, Window};
use crate::error::{Result, TraceError};
use crate::files::disk::File;
use crate::source::unpack::Codec;
use destage_keys::printable;

/// The regular members that are wanted, of an archive whose bytes are those of `root`, a file, a
/// part of one, or a spooled stream.
pub(super) fn members(
    root: &ByteSource,
    name: &str,
    path: &Path,
    catalogue: &mut Catalogue,
) -> Result<Vec<(ByteSource, String)>> {
    let failed = |e: ZipError| match e {
        ZipError::Io(e) if e.raw_os_error().is_some() => io_error(name, path, e),
        other => data_error(name, format!("the zip archive is damaged or cut off: {other}"), None),
    };
    let window = window(root).map_err(|e| io_error(name, path, e))?;
    let mut archive = zip::ZipArchive::new(window).map_err(failed)?;
    let mut members = Vec::new();
    for index in 0..archive.len() {
        let file = archive.by_index_raw(index).map_err(failed)?;
        let member = printable(file.name_raw());
        let full = format!("{name}!{member}");
        if file.is_dir() || file.is_symlink() {
            catalogue.leave_out(&full, "not a regular file");
        } else if catalogue.wanted(name, &member) {
            members.push((member_root(root, &file, &full)?, full));
        }
    }
    Ok(members)
}

/// A reader that can be moved, over the bytes of `root` where they lie.
fn window(root: &ByteSource) -> io::Result<Window> {
    let file = |path: &Path| Ok::<_, io::Error>(Store::Disk(Arc::new(File::open(path)?)));
    Ok(match root {
        ByteSource::File { path, length } => Window::new(file(path)?, 0, *length),
        ByteSource::Part { path, start, length, .. } => {
            Window::new(file(path)?, *start, start.saturating_add(*length))
        }
        ByteSource::Spooled { store, start, end, .. } => Window::new(store.clone(), *start, *end),
        ByteSource::Once(_) | ByteSource::Again { .. } | ByteSource::Zipped { .. } => {
            panic!("a zip archive that cannot be read from any place is held first")
        }
    })
}

fn member_root<R: Read + Seek + ?Sized>(
    archive: &ByteSource,
    file: &zip::read::ZipFile<'_, R>,
    name: &str,
) -> Result<ByteSource> {
    if file.encrypted() {
        let message = "this member is encrypted".to_owned();
        return Err(data_error(name, message, Some("unpack it first")));
    }
    let start = file.data_start().unwrap_or(0);
    let packed = archive
        .part(start, file.compressed_size(), "zip")
        .expect("a zip archive lies where it can be read from any place");
    Ok(match codec(file.compression(), name)? {
        Some(codec) => ByteSource::Zipped { packed: Arc::new(packed), codec, crc: file.crc32() },
        None => packed,
    })
}

/// Compression of a member; `None` if it is stored.
fn codec(method: CompressionMethod, name: &str) -> std::result::Result<Option<Codec>, TraceError> {
    match method {
        CompressionMethod::Stored => Ok(None),
        CompressionMethod::DEFLATE => Ok(Some(Codec::Deflate)),
        CompressionMethod::BZIP2 => Ok(Some(Codec::Bzip2)),
        CompressionMethod::ZSTD => Ok(Some(Codec::Zstd)),
        CompressionMethod::XZ => Ok(Some(Codec::Xz)),
        method => {
            let message =
                format!("this member is packed by a method that is not read ({method:?})");
            Err(data_error(name, message, Some("repack it with deflate")))
        }
    }
}
