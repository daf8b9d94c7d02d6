//! Checksums of pages, in memory: a page that comes back changed is an error.

use crate::lock::lock;
use crate::sync::Mutex;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::io;
use std::ops::Range;

const PAGES: u64 = 1024;

/// CRC-32C of each page that this pool has written or fetched.
#[derive(Default)]
pub(crate) struct Sums(Mutex<HashMap<u64, Box<Piece>, FixedState>>);

struct Piece {
    known: [u64; PAGES as usize / 64],
    sums: [u32; PAGES as usize],
}

impl Piece {
    fn is_known(&self, at: u64) -> bool {
        self.known[(at / 64) as usize] >> (at % 64) & 1 == 1
    }
}

impl Sums {
    /// These bytes are about to be written.
    pub(crate) fn set(&self, page: u64, bytes: &[u8]) {
        self.put(page, crc32c::crc32c(bytes));
    }

    fn put(&self, page: u64, sum: u32) {
        let mut pieces = lock(&self.0);
        let piece = pieces.entry(page / PAGES).or_insert_with(|| {
            Box::new(Piece { known: [0; PAGES as usize / 64], sums: [0; PAGES as usize] })
        });
        let at = page % PAGES;
        piece.known[(at / 64) as usize] |= 1 << (at % 64);
        piece.sums[at as usize] = sum;
    }

    /// Drops a page's checksum: after a failed write the content of the store is unknown.
    pub(crate) fn forget(&self, page: u64) {
        if let Some(piece) = lock(&self.0).get_mut(&(page / PAGES)) {
            let at = page % PAGES;
            piece.known[(at / 64) as usize] &= !(1 << (at % 64));
        }
    }

    /// As [`forget`](Sums::forget), for a range.
    pub(crate) fn forget_all(&self, range: &Range<u64>) {
        for (number, piece) in lock(&self.0).iter_mut() {
            let first = number * PAGES;
            if first < range.end && range.start < first + PAGES {
                let inside = range.start.max(first)..range.end.min(first + PAGES);
                for at in inside.map(|page| page - first) {
                    piece.known[(at / 64) as usize] &= !(1 << (at % 64));
                }
            }
        }
    }

    /// These bytes were fetched.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidData`] if they are not those of the last write or fetch.
    pub(crate) fn check(&self, page: u64, bytes: &[u8]) -> io::Result<()> {
        let found = crc32c::crc32c(bytes);
        let known = lock(&self.0).get(&(page / PAGES)).and_then(|piece| {
            let at = page % PAGES;
            piece.is_known(at).then(|| piece.sums[at as usize])
        });
        match known {
            None => {
                self.put(page, found);
                Ok(())
            }
            Some(expected) if expected == found => Ok(()),
            Some(expected) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("page {page}: checksum {found:08x}, expected {expected:08x}"),
            )),
        }
    }
}
