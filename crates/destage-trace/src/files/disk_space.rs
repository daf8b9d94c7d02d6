//! How much room a disk has, asked before much of it is taken.

use std::io;
use std::path::Path;

use crate::error::{Result, TraceError};

/// Space that stays free for everything else that a machine does; on a small disk a twentieth
/// of it. Chosen.
#[cfg(unix)]
const RESERVE_BYTES: u64 = 1 << 30;

/// Bytes that may still be written where `folder` lies; `None` where the system does not say.
fn free_bytes(folder: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let facts = rustix::fs::statvfs(folder).ok()?;
        let whole = facts.f_blocks.saturating_mul(facts.f_frsize);
        let free = facts.f_bavail.saturating_mul(facts.f_frsize);
        Some(free.saturating_sub(RESERVE_BYTES.min(whole / 20)))
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        None
    }
}

/// Whether `what`, of `bytes` bytes, may be written into `folder`.
///
/// # Errors
///
/// `Write` if the disk would be full, or nearly so.
pub(crate) fn room_for(folder: &Path, bytes: u64, what: &str) -> Result<()> {
    match free_bytes(folder) {
        Some(free) if bytes > free => {
            let message =
                format!("no room for {what}: {} are needed, {} are free", size(bytes), size(free));
            let source = io::Error::new(io::ErrorKind::StorageFull, message);
            Err(TraceError::Write { path: folder.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// Bytes in the largest unit that they fill.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let step = ((63 - (bytes | 1).leading_zeros()) / 10).min(5);
    match step {
        0 => format!("{bytes} bytes"),
        step => {
            format!("{:.1} {}", bytes as f64 / (1u64 << (10 * step)) as f64, UNITS[step as usize])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_any_disk_holds_is_refused_and_a_little_is_not() {
        let folder = std::env::temp_dir();
        assert!(room_for(&folder, 1, "a byte").is_ok());
        if free_bytes(&folder).is_some() {
            let error = room_for(&folder, 1 << 62, "a trace").unwrap_err();
            assert_eq!(error.exit_status(), 74);
            assert!(error.to_string().contains("no room for a trace: 4096.0 PiB"), "{error}");
        }
    }

    #[test]
    fn sizes_are_shown_in_the_unit_that_they_fill() {
        assert_eq!(
            [0, 1023, 1024, 3 << 29, u64::MAX].map(size),
            ["0 bytes", "1023 bytes", "1.0 KiB", "1.5 GiB", "16384.0 PiB"]
        );
    }
}
