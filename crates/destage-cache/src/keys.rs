//! Keys of a cache and their pages.
//!
//! A policy knows pages by number. A key that it comes to know gets a number that no key has had
//! before, so that nothing learned of one is taken for another; policies that look at the numbers
//! take integers, which are their own.

use destage_core::Page;
use hashbrown::{HashMap, HashTable};

/// Keys by page, and pages by key.
pub enum Keys<K> {
    /// Any object that has a hash.
    Any(Objects<K>),
    /// Integers, for policies that look at page numbers.
    Integers(HashMap<u64, Kept<K>>),
}

/// A key that the policy knows.
pub struct Kept<K> {
    /// The object that brought the page in.
    pub key: K,
    /// State of the key's page.
    pub state: State,
}

/// State of a known page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Not resident.
    Remembered,
    /// Resident, as flash has it.
    Clean,
    /// Resident, newer than flash.
    Dirty,
}

/// A key as it was looked up.
#[derive(Clone, Copy)]
pub struct Found {
    /// Page of the key, if it has one.
    pub page: Option<Page>,
    /// Hash of the key, or the key itself if it is an integer.
    number: u64,
}

impl<K> Keys<K> {
    /// No keys. `integers`: the policy looks at page numbers, and each key is its own.
    pub fn new(integers: bool) -> Keys<K> {
        if integers { Keys::Integers(HashMap::new()) } else { Keys::Any(Objects::new()) }
    }

    /// Looks a key up. `number` is its hash, or the key if it is an integer; `is` compares it with
    /// a known key of the same hash, and is not called for integers.
    pub fn find(&self, number: u64, is: impl FnMut(&K) -> bool) -> Found {
        match self {
            Keys::Any(objects) => objects.find(spread(number), is),
            Keys::Integers(keys) => {
                let page = keys.contains_key(&number).then_some(Page(number));
                Found { page, number }
            }
        }
    }

    /// The page of a key that was looked up; a key without a page gets one, and `key` is kept.
    pub fn page(&mut self, found: Found, key: impl FnOnce() -> K) -> Page {
        if let Some(page) = found.page {
            return page;
        }
        let kept = Kept { key: key(), state: State::Remembered };
        match self {
            Keys::Any(objects) => objects.insert(found.number, kept),
            Keys::Integers(keys) => {
                keys.insert(found.number, kept);
                Page(found.number)
            }
        }
    }

    /// The key of a known page, with its state.
    pub fn kept(&self, page: Page) -> &Kept<K> {
        match self {
            Keys::Any(objects) => {
                let entry = &objects.entries[page.0 as u32 as usize];
                debug_assert_eq!(entry.page, page.0, "the page is known");
                entry.kept.as_ref().expect("a page that the policy knows has a key")
            }
            Keys::Integers(keys) => &keys[&page.0],
        }
    }

    /// Sets the state of a known page.
    pub fn set_state(&mut self, page: Page, state: State) {
        let kept = match self {
            Keys::Any(objects) => objects.entries[page.0 as u32 as usize].kept.as_mut(),
            Keys::Integers(keys) => keys.get_mut(&page.0),
        };
        kept.expect("a page that the policy knows has a key").state = state;
    }

    /// The page is forgotten; its key is for the caller to drop, when nothing is borrowed: what
    /// runs then may be anything.
    pub fn remove(&mut self, page: Page) -> Option<Kept<K>> {
        match self {
            Keys::Any(objects) => objects.remove(page),
            Keys::Integers(keys) => keys.remove(&page.0),
        }
    }

    /// All keys, taken out.
    pub fn clear(&mut self) -> Vec<Kept<K>> {
        match self {
            Keys::Any(objects) => {
                let taken = std::mem::replace(objects, Objects::new());
                taken.entries.into_iter().filter_map(|entry| entry.kept).collect()
            }
            Keys::Integers(keys) => keys.drain().map(|(_, kept)| kept).collect(),
        }
    }

    /// Number of keys that are kept.
    pub fn len(&self) -> usize {
        match self {
            Keys::Any(objects) => objects.table.len(),
            Keys::Integers(keys) => keys.len(),
        }
    }

    /// True if no key is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Shows every key, until `visit` fails.
    ///
    /// # Errors
    ///
    /// The first error of `visit`.
    pub fn try_for_each<E>(&self, mut visit: impl FnMut(&K) -> Result<(), E>) -> Result<(), E> {
        match self {
            Keys::Any(objects) => {
                let mut kept = objects.entries.iter().filter_map(|entry| entry.kept.as_ref());
                kept.try_for_each(|kept| visit(&kept.key))
            }
            Keys::Integers(keys) => keys.values().try_for_each(|kept| visit(&kept.key)),
        }
    }
}

/// A key, and its page: the index of its entry in the lower half, in the upper one how many keys
/// had the entry before.
struct Entry<K> {
    page: u64,
    hash: u64,
    kept: Option<Kept<K>>, // None: the entry is free
}

/// Objects by their hashes.
pub struct Objects<K> {
    table: HashTable<u32>, // indices of entries
    entries: Vec<Entry<K>>,
    free: Vec<u32>,
}

impl<K> Objects<K> {
    fn new() -> Objects<K> {
        Objects { table: HashTable::new(), entries: Vec::new(), free: Vec::new() }
    }

    fn find(&self, hash: u64, mut is: impl FnMut(&K) -> bool) -> Found {
        let found = self.table.find(hash, |&index| {
            let entry = &self.entries[index as usize];
            entry.hash == hash && entry.kept.as_ref().is_some_and(|kept| is(&kept.key))
        });
        let page = found.map(|&index| Page(self.entries[index as usize].page));
        Found { page, number: hash }
    }

    fn insert(&mut self, hash: u64, kept: Kept<K>) -> Page {
        let kept = Some(kept);
        let index = match self.free.pop() {
            Some(index) => {
                let entry = &mut self.entries[index as usize];
                *entry = Entry { page: entry.page + (1 << 32), hash, kept };
                index
            }
            None => {
                let index = u32::try_from(self.entries.len()).expect("fewer than 2^32 keys");
                self.entries.push(Entry { page: index.into(), hash, kept });
                index
            }
        };
        let entries = &self.entries;
        self.table.insert_unique(hash, index, |&other| entries[other as usize].hash);
        Page(self.entries[index as usize].page)
    }

    fn remove(&mut self, page: Page) -> Option<Kept<K>> {
        let index = page.0 as u32;
        let entry = &mut self.entries[index as usize];
        debug_assert_eq!(entry.page, page.0, "the page is known");
        let found = self.table.find_entry(entry.hash, |&other| other == index).ok()?;
        found.remove();
        self.free.push(index);
        entry.kept.take()
    }
}

/// Python's hashes of integers are these integers: the bits that a table looks at are made of all.
fn spread(hash: u64) -> u64 {
    let product = u128::from(hash) * 0x9E37_79B9_7F4A_7C15;
    (product >> 64) as u64 ^ product as u64
}
