//! A stream as a root: kept, so that it can be read again and from any place.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::byte_source::ByteSource;
use super::errors::io_error;
use super::readers::Store;
use crate::error::Result;
use crate::input::stream_spool::{BLOCK_BYTES, SpoolBudget, SpooledStream, StreamSpool};
use crate::source::unpack::fault_within;

/// All bytes of a stream, to be read from any place.
///
/// # Errors
///
/// `Data` past the budget; what the stream returns; `Write` if no temporary file can be written.
pub(super) fn spool(
    mut stream: impl Read,
    name: &str,
    path: &Path,
    budget: &mut SpoolBudget,
) -> Result<ByteSource> {
    let mut holder = StreamSpool::new(name, budget);
    let mut block = vec![0; BLOCK_BYTES];
    let cut = loop {
        match stream.read(&mut block) {
            Ok(0) => break None,
            Ok(count) => holder.take(&block[..count])?,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => match fault_within(&e) {
                Some(fault) if fault.truncated => break Some(fault),
                _ => return Err(io_error(name, path, e)),
            },
        }
    };
    Ok(match holder.finish() {
        (SpooledStream::Memory(bytes), _) => ByteSource::memory(bytes, cut),
        (SpooledStream::Disk(file), end) => {
            ByteSource::Spooled { store: Store::Disk(Arc::new(file)), start: 0, end, cut }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spooled(
        bytes: &[u8],
        memory_bytes: u64,
        disk_bytes: u64,
    ) -> Result<(ByteSource, SpoolBudget)> {
        let mut budget = SpoolBudget { memory_bytes, disk_bytes };
        let root = spool(bytes, "t.gz", Path::new("t.gz"), &mut budget)?;
        Ok((root, budget))
    }

    #[test]
    fn a_stream_is_held_in_memory_then_on_disk_and_comes_back_whole() {
        let bytes: Vec<u8> = (0..3_000_000u32).map(|k| ((k * 7) >> 3) as u8).collect();
        for (memory, disk, on_disk) in
            [(u64::MAX, 0, false), (3_000_000, 0, false), (2_999_999, 3_000_000, true)]
        {
            let (root, budget) = spooled(&bytes, memory, disk).expect("there is room");
            let ByteSource::Spooled { store, .. } = &root else { panic!("spooled") };
            assert_eq!(matches!(store, Store::Disk(_)), on_disk, "{memory}");
            let taken = (memory - budget.memory_bytes, disk - budget.disk_bytes);
            assert_eq!(taken, if on_disk { (0, 3_000_000) } else { (3_000_000, 0) });
            for _ in 0..2 {
                let mut back = Vec::new();
                root.open(None).unwrap().read_to_end(&mut back).unwrap();
                assert!(back == bytes, "{memory}");
            }
            let mut middle = Vec::new();
            let part = root.part(1_000_000, 50, "zip").expect("a part");
            part.open(None).unwrap().read_to_end(&mut middle).unwrap();
            assert_eq!(middle, bytes[1_000_000..1_000_050]);
        }
    }

    #[test]
    fn what_is_larger_than_the_limit_is_refused_with_the_limit() {
        let error = spooled(&[1; 5000], 1000, 4999).err().expect("too large");
        assert_eq!(error.exit_status(), 65);
        let text = error.to_string();
        assert!(text.starts_with("t.gz: ") && text.contains("16.0 GiB"), "{text}");
        assert!(text.contains("unpack it first"), "{text}");
    }
}
