//! A page cache of SQLite: pages in memory, pins, and forgets (`docs/spec/pool.md` 14.2).
//!
//! The policy evicts any page. A pinned page that it evicted stays in memory until SQLite unpins
//! it; fetched before that, it is a miss of the same page.

use crate::block::{Block, Layout, Memory};
use crate::decider::Decider;
use crate::record;
use crate::settings::{POLICY, report};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

/// How much SQLite wants a page that is not in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Create {
    No,
    /// Unless many pages are pinned: SQLite then writes dirty pages first.
    IfEasy,
    Yes,
}

pub(crate) struct Cache {
    name: String,
    layout: Layout,
    memory: Memory,
    pages: BTreeMap<u32, NonNull<Block>>,
    pinned: usize,
    /// `None`: all pages stay.
    decider: Option<Decider>,
}

// SAFETY: the pages are the cache's own; SQLite hands a page of it from thread to thread only
// together with the cache.
unsafe impl Send for Cache {}

impl Cache {
    pub(crate) fn new(
        name: String,
        layout: Layout,
        memory: Memory,
        decider: Option<Decider>,
    ) -> Cache {
        Cache { name, layout, memory, pages: BTreeMap::new(), pinned: 0, decider }
    }

    /// Pages in memory.
    pub(crate) fn len(&self) -> usize {
        self.pages.len()
    }

    /// The page, pinned; `None` if it is absent and is not to be made, or if there is no memory.
    pub(crate) fn fetch(&mut self, key: u32, create: Create) -> Option<NonNull<Block>> {
        if let Some(&block) = self.pages.get(&key) {
            self.pin(block, true);
            self.access(key);
            return Some(block);
        }
        match create {
            Create::No => return None,
            Create::IfEasy if self.is_crowded() => return None,
            Create::IfEasy | Create::Yes => {}
        }
        let block = self.memory.block(self.layout, key)?;
        self.pages.insert(key, block);
        self.pinned += 1;
        self.access(key);
        Some(block)
    }

    /// Nine tenths of the frames are pinned.
    fn is_crowded(&self) -> bool {
        let frames = self.decider.as_ref().map(|decider| decider.frames as usize);
        frames.is_some_and(|frames| self.pinned >= frames - frames / 10)
    }

    /// SQLite uses the page no more.
    ///
    /// # Safety
    ///
    /// The block is one of this cache's.
    pub(crate) unsafe fn unpin(&mut self, block: NonNull<Block>, discard: bool) {
        // SAFETY: by the caller, the block is alive.
        let &Block { key, resident, .. } = unsafe { block.as_ref() };
        if discard {
            self.forget(key);
        } else {
            self.pin(block, false);
            if self.decider.is_some() && !resident {
                self.release(key);
            }
        }
    }

    /// The page gets another key, and replaces the page that had it.
    ///
    /// # Safety
    ///
    /// The block is one of this cache's.
    pub(crate) unsafe fn rekey(&mut self, mut block: NonNull<Block>, new: u32) {
        // SAFETY: by the caller, the block is alive.
        let old = unsafe { block.as_ref() }.key;
        if old == new {
            return;
        }
        self.forget(new);
        self.policy_forgets(old);
        self.pages.remove(&old);
        // SAFETY: as above, and no other reference to it is alive.
        let moved = unsafe { block.as_mut() };
        (moved.key, moved.resident) = (new, false);
        self.pages.insert(new, block);
        self.access(new);
    }

    /// All pages from this key on are gone, pinned or not.
    pub(crate) fn truncate(&mut self, limit: u32) {
        let mut keys: Vec<u32> = self.pages.range(limit..).map(|(key, _)| *key).collect();
        keys.extend(self.decider.iter().flat_map(|decider| decider.known_from(limit)));
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter().for_each(|key| self.forget(key));
    }

    /// All pages that are not pinned are gone.
    pub(crate) fn shrink(&mut self) {
        if self.decider.is_none() {
            return;
        }
        // SAFETY: the blocks of the map are alive.
        let unpinned = self.pages.iter().filter(|(_, block)| !unsafe { block.as_ref() }.pinned);
        let keys: Vec<u32> = unpinned.map(|(key, _)| *key).collect();
        keys.into_iter().for_each(|key| self.forget(key));
    }

    /// A number of frames; another one begins with a policy that knows no page.
    pub(crate) fn resize(&mut self, frames: u32) {
        let Some(decider) = &self.decider else { return };
        if decider.frames == frames {
            return;
        }
        let keys: Vec<u32> = decider.known_from(0).collect();
        for key in keys {
            self.policy_forgets(key);
            let block = self.pages.get_mut(&key);
            // SAFETY: the blocks of the map are alive, and this is the one reference to it.
            if let Some(block) = block.map(|block| unsafe { block.as_mut() }) {
                block.resident = false;
                if !block.pinned {
                    self.release(key);
                }
            }
        }
        self.with_policy(|decider| decider.resize(frames));
    }

    fn pin(&mut self, mut block: NonNull<Block>, pinned: bool) {
        // SAFETY: callers pass a block of the map, and this is the one reference to it.
        let block = unsafe { block.as_mut() };
        if block.pinned != pinned {
            block.pinned = pinned;
            self.pinned = if pinned { self.pinned + 1 } else { self.pinned - 1 };
        }
    }

    /// The policy decides about a read of a page that is in memory.
    fn access(&mut self, key: u32) {
        if self.decider.is_none() {
            return;
        }
        record::access(&self.name, "read", key, self.layout.page);
        let evicted = self.with_policy(|decider| Ok(decider.access(key))).unwrap_or_default();
        for key in evicted {
            let block = self.pages.get_mut(&key);
            // SAFETY: the blocks of the map are alive, and this is the one reference to it.
            let Some(block) = block.map(|block| unsafe { block.as_mut() }) else { continue };
            block.resident = false;
            if !block.pinned {
                self.release(key);
            }
        }
        if let Some(block) = self.pages.get_mut(&key) {
            // SAFETY: as above.
            unsafe { block.as_mut() }.resident = true;
        }
    }

    /// The policy forgets the page, and it leaves memory.
    fn forget(&mut self, key: u32) {
        self.policy_forgets(key);
        self.release(key);
    }

    fn policy_forgets(&mut self, key: u32) {
        if self.decider.is_none() {
            return;
        }
        record::access(&self.name, "trim", key, self.layout.page);
        self.with_policy(|decider| {
            decider.forget(key);
            Ok(())
        });
    }

    /// The page leaves memory, if it is there.
    fn release(&mut self, key: u32) {
        if let Some(block) = self.pages.remove(&key) {
            // SAFETY: it was in the map and came from this memory. It is not used again: SQLite
            // has unpinned or given up the page.
            unsafe {
                self.pinned -= usize::from(block.as_ref().pinned);
                self.memory.release(block);
            }
        }
    }

    /// Asks the policy. One that fails is dropped, and the cache keeps all pages from then on: a
    /// program never ends because of its policy.
    fn with_policy<T>(&mut self, ask: impl FnOnce(&mut Decider) -> Result<T, String>) -> Option<T> {
        let decider = self.decider.as_mut()?;
        let fault = match catch_unwind(AssertUnwindSafe(|| ask(decider))) {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(fault)) => fault,
            Err(_) => format!("{}: a fault of the policy", decider.words),
        };
        report(POLICY, &format!("{fault}; {} keeps all its pages", self.name));
        self.decider = None;
        None
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        record::ended(&self.name, self.decider.as_ref());
        let keys: Vec<u32> = self.pages.keys().copied().collect();
        keys.into_iter().for_each(|key| self.release(key));
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
