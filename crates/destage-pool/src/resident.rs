//! Pages that the policy holds, where batches of hits have to know: a bit for each, in pieces.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

const WORDS: usize = 64;
const PAGES: u64 = 64 * WORDS as u64;

/// A set of pages.
#[derive(Default)]
pub(crate) struct Resident {
    /// There are batches: the set is kept.
    pub(crate) is_kept: bool,
    pieces: HashMap<u64, Piece, FixedState>,
}

struct Piece {
    words: Box<[u64; WORDS]>,
    pages: u32,
}

/// Word and bit of a page in its piece.
fn place(page: u64) -> (usize, u64) {
    ((page % PAGES / 64) as usize, 1 << (page % 64))
}

impl Resident {
    pub(crate) fn add(&mut self, page: u64) {
        if self.is_kept {
            let new = || Piece { words: Box::new([0; WORDS]), pages: 0 };
            let piece = self.pieces.entry(page / PAGES).or_insert_with(new);
            let (word, bit) = place(page);
            piece.pages += u32::from(piece.words[word] & bit == 0);
            piece.words[word] |= bit;
        }
    }

    pub(crate) fn remove(&mut self, page: u64) {
        if self.is_kept
            && let Entry::Occupied(mut piece) = self.pieces.entry(page / PAGES)
        {
            let (word, bit) = place(page);
            let Piece { words, pages } = piece.get_mut();
            *pages -= u32::from(words[word] & bit != 0);
            words[word] &= !bit;
            if *pages == 0 {
                piece.remove();
            }
        }
    }

    #[inline]
    pub(crate) fn has(&self, page: u64) -> bool {
        let (word, bit) = place(page);
        self.pieces.get(&(page / PAGES)).is_some_and(|piece| piece.words[word] & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_in_the_set_from_its_arrival_until_it_leaves() {
        let mut resident = Resident { is_kept: true, ..Resident::default() };
        let pages = [0, 63, 64, 4095, 4096, 1 << 40];
        pages.iter().chain(&[64]).for_each(|page| resident.add(*page));
        assert!(pages.iter().all(|page| resident.has(*page)));
        assert!(![1, 65, 4097, (1 << 40) + 1].iter().any(|page| resident.has(*page)));
        resident.remove(64);
        resident.remove(1);
        assert!(!resident.has(64) && resident.has(4095));
        pages.iter().for_each(|page| resident.remove(*page));
        assert!(resident.pieces.is_empty());
    }
}
