//! Keys of a cache and the pages that they are.
//!
//! A policy knows pages by number. A key that it comes to know gets a number that no key has had
//! before, so that nothing learned of one is taken for another; policies that look at the numbers
//! take integers, which are their own.

use destage_core::Page;
use hashbrown::{HashMap, HashTable};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

/// Keys by page, and pages by key.
pub enum Keys {
    /// Any hashable object.
    Any(Objects),
    /// Integers, for policies that look at page numbers; the text names the policy.
    Integers(HashMap<u64, Kept>, &'static str),
}

/// A key that the policy knows.
pub struct Kept {
    /// The object that brought the page in.
    pub key: Py<PyAny>,
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

impl Keys {
    /// Keys of a policy.
    pub fn new(integers: Option<&'static str>) -> Keys {
        match integers {
            Some(policy) => Keys::Integers(HashMap::new(), policy),
            None => Keys::Any(Objects::default()),
        }
    }

    /// Looks a key up. The key's own `__hash__` and `__eq__` run here and nowhere else.
    pub fn find(&self, key: &Bound<'_, PyAny>) -> PyResult<Found> {
        match self {
            Keys::Any(objects) => objects.find(key),
            Keys::Integers(keys, policy) => {
                let number = key.extract::<u64>().map_err(|_| {
                    let got = key.repr().map_or_else(|_| "an object".into(), |r| r.to_string());
                    PyTypeError::new_err(format!(
                        "{policy} looks at page numbers: expected an integer 0..2^64-1 as key, \
                         got {got}"
                    ))
                })?;
                let page = keys.contains_key(&number).then_some(Page(number));
                Ok(Found { page, number })
            }
        }
    }

    /// The page of a key that was looked up; one that has none gets one.
    pub fn page(&mut self, found: Found, key: &Bound<'_, PyAny>) -> Page {
        if let Some(page) = found.page {
            return page;
        }
        let kept = Kept { key: key.clone().unbind(), state: State::Remembered };
        match self {
            Keys::Any(objects) => objects.insert(found.number, kept),
            Keys::Integers(keys, _) => {
                keys.insert(found.number, kept);
                Page(found.number)
            }
        }
    }

    /// The key of a known page, with its state.
    pub fn kept(&self, page: Page) -> &Kept {
        match self {
            Keys::Any(objects) => {
                let entry = &objects.entries[page.0 as u32 as usize];
                debug_assert_eq!(entry.page, page.0, "the page is known");
                entry.kept.as_ref().expect("a page that the policy knows has a key")
            }
            Keys::Integers(keys, _) => &keys[&page.0],
        }
    }

    /// Sets the state of a known page.
    pub fn set_state(&mut self, page: Page, state: State) {
        let kept = match self {
            Keys::Any(objects) => objects.entries[page.0 as u32 as usize].kept.as_mut(),
            Keys::Integers(keys, _) => keys.get_mut(&page.0),
        };
        kept.expect("a page that the policy knows has a key").state = state;
    }

    /// The page is forgotten; its key is for the caller to drop, when nothing is borrowed: what
    /// runs then may be anything.
    pub fn remove(&mut self, page: Page) -> Option<Kept> {
        match self {
            Keys::Any(objects) => objects.remove(page),
            Keys::Integers(keys, _) => keys.remove(&page.0),
        }
    }

    /// All keys, taken out.
    pub fn clear(&mut self) -> Vec<Kept> {
        match self {
            Keys::Any(objects) => {
                let taken = std::mem::take(objects);
                taken.entries.into_iter().filter_map(|entry| entry.kept).collect()
            }
            Keys::Integers(keys, _) => keys.drain().map(|(_, kept)| kept).collect(),
        }
    }

    /// Number of keys that are kept alive.
    pub fn len(&self) -> usize {
        match self {
            Keys::Any(objects) => objects.table.len(),
            Keys::Integers(keys, _) => keys.len(),
        }
    }

    /// Shows every key to the garbage collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Keys::Any(objects) => {
                let mut kept = objects.entries.iter().filter_map(|entry| entry.kept.as_ref());
                kept.try_for_each(|kept| visit.call(&kept.key))
            }
            Keys::Integers(keys, _) => keys.values().try_for_each(|kept| visit.call(&kept.key)),
        }
    }
}

/// A key, and the page that it is: the index of its entry in the lower half, in the upper one how
/// many keys had the entry before.
struct Entry {
    page: u64,
    hash: u64,
    kept: Option<Kept>, // None: the entry is free
}

/// Objects by their hashes.
#[derive(Default)]
pub struct Objects {
    table: HashTable<u32>, // indices of entries
    entries: Vec<Entry>,
    free: Vec<u32>,
}

impl Objects {
    fn find(&self, key: &Bound<'_, PyAny>) -> PyResult<Found> {
        let hash = spread(key.hash()?);
        let mut raised = None;
        let entry = self.table.find(hash, |&index| {
            let entry = &self.entries[index as usize];
            let Some(Kept { key: known, .. }) = &entry.kept else { return false };
            if entry.hash != hash || raised.is_some() {
                return false;
            }
            known.is(key)
                || known.bind(key.py()).eq(key).unwrap_or_else(|error| {
                    raised = Some(error);
                    false
                })
        });
        match raised {
            Some(error) => Err(error),
            None => {
                let page = entry.map(|&index| Page(self.entries[index as usize].page));
                Ok(Found { page, number: hash })
            }
        }
    }

    fn insert(&mut self, hash: u64, kept: Kept) -> Page {
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

    fn remove(&mut self, page: Page) -> Option<Kept> {
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
fn spread(hash: isize) -> u64 {
    let product = u128::from(hash as u64) * 0x9E37_79B9_7F4A_7C15;
    (product >> 64) as u64 ^ product as u64
}
