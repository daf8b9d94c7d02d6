//! Write-behind: blocks of a file are hashed and written on a background thread.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use xxhash_rust::xxh3::xxh3_64;

use super::disk::File;

/// Blocks that may wait to be written: one is made, one is written, one lies between.
const UNDER_WAY: usize = 2;

/// A block that was written, to be filled again, and its hash.
pub(crate) struct Written {
    pub(crate) block: Vec<u8>,
    pub(crate) hash: io::Result<u64>,
}

/// Threads that work beside this one, as the machine has processors; none where it has one.
pub(crate) fn threads() -> usize {
    /// Threads that one producer can supply.
    const MOST: usize = 4;
    std::thread::available_parallelism().map_or(0, |count| match count.get() {
        1 => 0,
        processors => processors.min(MOST),
    })
}

/// Whether another thread can write while this one goes on.
pub(crate) fn is_worthwhile() -> bool {
    std::thread::available_parallelism().is_ok_and(|count| count.get() > 1)
}

/// A thread that writes blocks, in order, where the file stands.
pub(crate) struct WriteBehind {
    /// `None` when no more will come.
    blocks: Option<Sender<Vec<u8>>>,
    written: Receiver<Written>,
    under_way: usize,
    thread: Option<JoinHandle<()>>,
}

impl WriteBehind {
    /// Writes to `file`, which has no other user while blocks are under way.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub(crate) fn new(mut file: File) -> io::Result<Self> {
        let (blocks, taken) = channel::<Vec<u8>>();
        let (done, written) = channel();
        let thread = std::thread::Builder::new().spawn(move || {
            for block in taken {
                let hash = file.write_all(&block).map(|()| xxh3_64(&block));
                if done.send(Written { block, hash }).is_err() {
                    break; // the writer was dropped
                }
            }
        })?;
        Ok(WriteBehind { blocks: Some(blocks), written, under_way: 0, thread: Some(thread) })
    }

    /// Takes a block; gives one that was written where as many are under way as may be.
    pub(crate) fn put(&mut self, block: Vec<u8>) -> Option<Written> {
        let full = self.under_way == UNDER_WAY;
        let oldest = if full { self.oldest() } else { None };
        let blocks = self.blocks.as_ref().expect("it takes blocks until it is dropped");
        blocks.send(block).expect("the thread takes blocks until the channel closes");
        self.under_way += 1;
        oldest
    }

    /// The oldest block that is under way, written; waits for it.
    pub(crate) fn oldest(&mut self) -> Option<Written> {
        if self.under_way == 0 {
            return None;
        }
        self.under_way -= 1;
        Some(self.written.recv().expect("the thread answers for every block"))
    }
}

impl Drop for WriteBehind {
    fn drop(&mut self) {
        self.blocks = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing to say that was not said with a block.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn blocks_are_written_in_order_and_answered_with_their_hashes() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut behind = WriteBehind::new(file.reopen().expect("opens")).expect("a thread");
        let blocks: Vec<Vec<u8>> = (0..9u8).map(|k| vec![k; 100 + usize::from(k)]).collect();
        let mut answers = Vec::new();
        for block in &blocks {
            answers.extend(behind.put(block.clone()));
        }
        assert_eq!(answers.len(), blocks.len() - UNDER_WAY, "no more are under way");
        answers.extend(std::iter::from_fn(|| behind.oldest()));
        for (answer, block) in answers.iter().zip(&blocks) {
            assert_eq!(answer.hash.as_ref().ok(), Some(&xxh3_64(block)));
            assert_eq!(&answer.block, block);
        }
        drop(behind);
        let mut whole = Vec::new();
        file.reopen().expect("opens").read_to_end(&mut whole).expect("reads");
        assert_eq!(whole, blocks.concat());
    }

    #[test]
    fn what_cannot_be_written_is_told() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let read_only = File::open(file.path()).expect("opens to be read");
        let mut behind = WriteBehind::new(read_only).expect("a thread");
        assert!(behind.put(vec![1]).is_none());
        assert!(behind.oldest().expect("an answer").hash.is_err());
        assert!(behind.oldest().is_none());
    }
}
