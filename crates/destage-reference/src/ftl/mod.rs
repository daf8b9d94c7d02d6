//! Slow, obvious reference models of the untimed FTLs, written from `docs/spec/ftl.md` alone,
//! section by section.
//!
//! Every slot of the flash is here an object with its content, every look-up a search, and every
//! count is made where a page is read, programmed or erased. A read looks at what it read: it must
//! be the newest version of its page, or the reference model is wrong itself and says so by a
//! panic. What the flash was made to do is also written down in its order, for the drive that gives
//! it time (`ssd/mapped.rs`).
//!
//! | file | section |
//! | --- | --- |
//! | `mod.rs` | 1: flash, counters, prefill, parameters |
//! | `log_blocks.rs` | 2 to 4: BAST, FAST |
//! | `page_map.rs` | 5, 6: page-ideal, DFTL |

mod log_blocks;
mod page_map;

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

/// The FTLs, in the order of the specification.
pub const NAMES: [&str; 4] = ["bast", "fast", "page-ideal", "dftl"];

/// The error *device full* (1.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// A run's results, in the vectors' layout.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// After each operation, flash reads, flash programs, erases.
    pub steps: Vec<[u64; 3]>,
    /// Counters that are not 0.
    pub counters: BTreeMap<&'static str, u64>,
    /// The operation that found the device full, if one did.
    pub full_at: Option<usize>,
}

/// The content of a slot: a page of the host in one of its versions, or a translation page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    Data { lpn: u64, version: u64 },
    Translation { tvpn: u64 },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slot {
    Free,
    Valid(Content),
    Invalid,
}

/// Block and slot.
pub(crate) type Place = (usize, usize);

/// One step of the flash.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// A page is read and goes to the host, or for the FTL's own use.
    Read {
        from: Place,
        host: bool,
    },
    /// The place of a page comes into memory from a map page, if that has been written.
    LookUp {
        lpn: u64,
        from: Option<Place>,
    },
    /// A page of the host, or one of the FTL's own, is programmed.
    Program {
        to: Place,
        host: bool,
    },
    /// A page is read and programmed elsewhere.
    Copy {
        from: Place,
        to: Place,
    },
    Erase {
        block: usize,
    },
}

/// The flash (1.1), its free queue (1.3) and the counters (1.4).
pub(crate) struct Flash {
    blocks: Vec<Vec<Slot>>,
    pub(crate) erase_counts: Vec<u64>,
    pub(crate) free: VecDeque<usize>,
    pub(crate) counters: BTreeMap<&'static str, u64>,
    /// Flash operations in their order, until the drive takes them to give them time.
    pub(crate) work: Vec<Work>,
}

impl Flash {
    fn new(blocks: usize, pages_per_block: usize) -> Flash {
        Flash {
            blocks: vec![vec![Slot::Free; pages_per_block]; blocks],
            erase_counts: vec![0; blocks],
            free: (0..blocks).collect(),
            counters: BTreeMap::new(),
            work: Vec::new(),
        }
    }

    fn add(&mut self, counter: &'static str, by: u64) {
        *self.counters.entry(counter).or_default() += by;
    }

    fn take_free(&mut self) -> Result<usize, Full> {
        self.free.pop_front().ok_or(Full)
    }

    fn content(&self, (block, slot): Place) -> Content {
        match self.blocks[block][slot] {
            Slot::Valid(content) => content,
            other => panic!("a read of block {block}, slot {slot} finds {other:?}"),
        }
    }

    fn read(&mut self, from: Place) -> Content {
        self.add("flash_reads", 1);
        let content = self.content(from);
        self.work.push(Work::Read { from, host: matches!(content, Content::Data { .. }) });
        content
    }

    /// Reads what the place of a page is, if that has been written.
    fn look_up(&mut self, lpn: u64, from: Option<Place>) {
        if let Some(from) = from {
            self.add("flash_reads", 1);
            assert!(matches!(self.content(from), Content::Translation { .. }), "of the map");
        }
        self.work.push(Work::LookUp { lpn, from });
    }

    fn put(&mut self, (block, slot): Place, content: Content) {
        assert_eq!(self.blocks[block][slot], Slot::Free, "programming needs a free slot");
        assert!(!self.free.contains(&block), "a block of the free queue is taken first");
        self.blocks[block][slot] = Slot::Valid(content);
        self.add("flash_programs", 1);
    }

    fn program(&mut self, to: Place, content: Content) {
        self.put(to, content);
        self.work.push(Work::Program { to, host: matches!(content, Content::Data { .. }) });
    }

    /// Programs the content of a slot elsewhere, and makes the slot invalid.
    fn copy(&mut self, from: Place, to: Place) -> Content {
        self.add("flash_reads", 1);
        let content = self.content(from);
        self.put(to, content);
        self.invalidate(from);
        self.work.push(Work::Copy { from, to });
        content
    }

    fn invalidate(&mut self, (block, slot): Place) {
        assert!(matches!(self.blocks[block][slot], Slot::Valid(_)), "only valid becomes invalid");
        self.blocks[block][slot] = Slot::Invalid;
    }

    fn erase(&mut self, block: usize) {
        assert_eq!(self.valid_slots(block), [0; 0], "an erased block has no valid slot");
        self.blocks[block].fill(Slot::Free);
        self.erase_counts[block] += 1;
        self.free.push_back(block);
        self.add("erases", 1);
        self.work.push(Work::Erase { block });
    }

    fn valid_slots(&self, block: usize) -> Vec<usize> {
        let slots = self.blocks[block].iter().enumerate();
        slots.filter(|(_, slot)| matches!(slot, Slot::Valid(_))).map(|(at, _)| at).collect()
    }

    fn count_slots(&self, block: usize, of: Slot) -> usize {
        self.blocks[block].iter().filter(|&&slot| slot == of).count()
    }
}

/// An FTL.
pub(crate) trait Ftl {
    fn flash(&self) -> &Flash;

    fn flash_mut(&mut self) -> &mut Flash;

    /// Where the newest version of a page is; `None` if it was never written. Looking costs nothing
    /// and changes nothing.
    fn place(&self, lpn: u64) -> Option<Place>;

    /// Reads a page; `None` if it was never written.
    fn read(&mut self, lpn: u64) -> Result<Option<Content>, Full>;

    fn write(&mut self, lpn: u64, version: u64) -> Result<(), Full>;
}

/// Parameters; a key that is missing or `null` has its default.
struct Params<'a>(&'a Map<String, Value>);

impl Params<'_> {
    fn int(&self, key: &str) -> Option<u64> {
        let value = self.0.get(key).filter(|value| !value.is_null())?;
        Some(value.as_u64().unwrap_or_else(|| panic!("{key}: expected an integer, got {value}")))
    }

    fn real(&self, key: &str, default: f64) -> f64 {
        self.0.get(key).map_or(default, |value| value.as_f64().expect("a number"))
    }

    fn flag(&self, key: &str, default: bool) -> bool {
        self.0.get(key).map_or(default, |value| value.as_bool().expect("true or false"))
    }

    fn word(&self, key: &str, default: &'static str) -> String {
        self.0.get(key).map_or(default, |value| value.as_str().expect("a word")).to_string()
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).expect("a small number")
}

/// A fresh FTL; `None` if there is none of this name. Parameters as [`run`] takes them.
pub(crate) fn ftl(name: &str, params: &Map<String, Value>) -> Option<Box<dyn Ftl>> {
    let given = Params(params);
    Some(match name {
        "bast" => Box::new(log_blocks::Bast::new(&given)),
        "fast" => Box::new(log_blocks::Fast::new(&given)),
        "page-ideal" => Box::new(page_map::PageIdeal::new(&given)),
        "dftl" => Box::new(page_map::Dftl::new(&given)),
        _ => return None,
    })
}

/// Runs operations, each a write or a read of a page; `None` if there is no such FTL.
///
/// # Panics
///
/// On parameters of the wrong type, and on a page beyond the last one: ranges are the business of
/// the code under test. On a read that does not return the newest version: the reference model is
/// wrong.
pub fn run(name: &str, params: &Map<String, Value>, ops: &[(bool, u64)]) -> Option<Outcome> {
    let mut ftl = ftl(name, params)?;
    let given = Params(params);
    let logical_pages = given.int("logical_pages").expect("logical_pages");
    let mut versions: BTreeMap<u64, u64> = BTreeMap::new();
    let mut next_version = 0;
    let mut write = |ftl: &mut dyn Ftl, versions: &mut BTreeMap<u64, u64>, lpn| {
        next_version += 1;
        versions.insert(lpn, next_version);
        ftl.write(lpn, next_version)
    };
    if given.flag("prefill", false) {
        for lpn in 0..logical_pages {
            write(&mut *ftl, &mut versions, lpn).expect("room for the prefill");
        }
        let flash = ftl.flash_mut();
        flash.counters.clear();
        flash.erase_counts.fill(0);
    }

    let mut outcome = Outcome::default();
    for (at, &(is_write, lpn)) in ops.iter().enumerate() {
        assert!(lpn < logical_pages, "page {lpn} is beyond the last one");
        let done = if is_write {
            ftl.flash_mut().add("host_writes", 1);
            write(&mut *ftl, &mut versions, lpn)
        } else {
            ftl.flash_mut().add("host_reads", 1);
            ftl.read(lpn).map(|found| {
                let newest = versions.get(&lpn);
                assert_eq!(
                    found,
                    newest.map(|&version| Content::Data { lpn, version }),
                    "a read returns the newest version"
                );
                if found.is_none() {
                    ftl.flash_mut().add("unmapped_reads", 1);
                }
            })
        };
        if done == Err(Full) {
            outcome.full_at = Some(at);
            return Some(outcome);
        }
        ftl.flash_mut().work.clear();
        let count = |name| ftl_count(&*ftl, name);
        outcome.steps.push(["flash_reads", "flash_programs", "erases"].map(count));
    }
    let flash = ftl.flash_mut();
    let most = flash.erase_counts.iter().copied().max().unwrap_or(0);
    flash.add("max_erase_count", most);
    let free = flash.free.len() as u64;
    flash.add("free_blocks", free);
    outcome.counters = flash.counters.clone();
    outcome.counters.retain(|_, count| *count > 0);
    Some(outcome)
}

fn ftl_count(ftl: &dyn Ftl, name: &str) -> u64 {
    ftl.flash().counters.get(name).copied().unwrap_or(0)
}
