//! The page-level FTL and DFTL (`docs/spec/ftl.md` 5, 6).

use super::{Content, Flash, Ftl, Full, Params, Place, Slot, size};
use std::collections::{BTreeMap, VecDeque};

/// Section 5, but for what a collection does.
struct Pages {
    flash: Flash,
    pages_per_block: usize,
    reserve: usize,
    frontiers: Vec<Option<usize>>,
    opened_for: Vec<usize>, // by block, the frontier that it was last taken for
}

impl Pages {
    fn new(params: &Params<'_>, stored: u64, reserve: u64, frontiers: usize) -> Pages {
        let pages_per_block = params.int("pages_per_block").unwrap_or(64);
        let reserve = params.int("gc_reserve_blocks").unwrap_or(reserve);
        let least = stored.div_ceil(pages_per_block) + reserve + frontiers as u64;
        let extra = 1.0 + params.real("over_provisioning", 0.2);
        let share = (stored as f64 * extra / pages_per_block as f64 - 1e-9).ceil();
        let blocks = params.int("physical_blocks").unwrap_or(least.max(share as u64));
        Pages {
            flash: Flash::new(size(blocks), size(pages_per_block)),
            pages_per_block: size(pages_per_block),
            reserve: size(reserve),
            frontiers: vec![None; frontiers],
            opened_for: vec![0; size(blocks)],
        }
    }

    fn has_room(&self, frontier: usize) -> bool {
        let block = self.frontiers[frontier];
        block.is_some_and(|block| self.flash.count_slots(block, Slot::Free) > 0)
    }

    /// The victim that making room has to collect next.
    fn victim(&self) -> Option<usize> {
        if self.flash.free.len() >= self.reserve {
            return None;
        }
        let mut victim = None;
        let mut most = 0;
        for block in 0..self.flash.blocks.len() {
            let invalid = self.flash.count_slots(block, Slot::Invalid);
            let programmed = self.flash.count_slots(block, Slot::Free) == 0;
            let idle = !self.flash.free.contains(&block) && !self.frontiers.contains(&Some(block));
            if idle && programmed && invalid > most {
                (victim, most) = (Some(block), invalid);
            }
        }
        victim
    }

    /// The next free slot of a frontier, which takes a free block if it has none.
    fn next_slot(&mut self, frontier: usize) -> Result<Place, Full> {
        if !self.has_room(frontier) {
            let block = self.flash.take_free()?;
            self.frontiers[frontier] = Some(block);
            self.opened_for[block] = frontier;
        }
        let block = self.frontiers[frontier].expect("it is there now");
        Ok((block, self.pages_per_block - self.flash.count_slots(block, Slot::Free)))
    }

    /// Programs the next free slot of a frontier.
    fn program(&mut self, frontier: usize, content: Content) -> Result<Place, Full> {
        let place = self.next_slot(frontier)?;
        self.flash.program(place, content);
        Ok(place)
    }

    /// Reads a slot, makes it invalid, and programs what it held at a frontier.
    fn copy(&mut self, from: Place, frontier: usize) -> Result<(Content, Place), Full> {
        let to = self.next_slot(frontier)?;
        Ok((self.flash.copy(from, to), to))
    }
}

/// Section 5.
pub(super) struct PageIdeal {
    pages: Pages,
    map: BTreeMap<u64, Place>,
}

impl PageIdeal {
    pub(super) fn new(params: &Params<'_>) -> PageIdeal {
        let stored = params.int("logical_pages").expect("logical_pages");
        PageIdeal { pages: Pages::new(params, stored, 2, 1), map: BTreeMap::new() }
    }

    fn collect(&mut self, victim: usize) -> Result<(), Full> {
        for slot in self.pages.flash.valid_slots(victim) {
            let (content, to) = self.pages.copy((victim, slot), 0)?;
            let Content::Data { lpn, .. } = content else { panic!("all pages are data") };
            self.map.insert(lpn, to);
            self.pages.flash.add("gc_copies", 1);
        }
        self.pages.flash.erase(victim);
        self.pages.flash.add("gc_runs", 1);
        Ok(())
    }
}

impl Ftl for PageIdeal {
    fn flash(&self) -> &Flash {
        &self.pages.flash
    }

    fn flash_mut(&mut self) -> &mut Flash {
        &mut self.pages.flash
    }

    fn place(&self, lpn: u64) -> Option<Place> {
        self.map.get(&lpn).copied()
    }

    fn read(&mut self, lpn: u64) -> Result<Option<Content>, Full> {
        Ok(self.map.get(&lpn).map(|&place| self.pages.flash.read(place)))
    }

    fn write(&mut self, lpn: u64, version: u64) -> Result<(), Full> {
        if !self.pages.has_room(0) {
            while let Some(victim) = self.pages.victim() {
                self.collect(victim)?;
            }
        }
        if let Some(&old) = self.map.get(&lpn) {
            self.pages.flash.invalidate(old);
        }
        let place = self.pages.program(0, Content::Data { lpn, version })?;
        self.map.insert(lpn, place);
        Ok(())
    }
}

const DATA: usize = 0;
const TRANSLATION: usize = 1;

/// Section 6. What a translation page says is kept beside the flash, by page.
pub(super) struct Dftl {
    pages: Pages,
    per_page: u64,         // E
    cmt_entries: usize,    // C
    most_protected: usize, // Q
    batch_update: bool,
    gtd: BTreeMap<u64, Place>,
    on_flash: BTreeMap<u64, Place>, // entries of all translation pages
    cmt: BTreeMap<u64, MapEntry>,
    probationary: VecDeque<u64>, // MRU first
    protected: VecDeque<u64>,
}

#[derive(Clone, Copy)]
struct MapEntry {
    place: Option<Place>,
    dirty: bool,
}

impl Dftl {
    pub(super) fn new(params: &Params<'_>) -> Dftl {
        let logical_pages = params.int("logical_pages").expect("logical_pages");
        let per_page = params.int("entries_per_translation_page").unwrap_or(1024);
        let cmt_entries = params.int("cmt_entries").unwrap_or(4096);
        let fraction = params.real("protected_fraction", 0.8);
        let most_protected = match params.word("cmt_policy", "slru").as_str() {
            "lru" => 0,
            _ => (fraction * cmt_entries as f64 + 1e-9).floor() as usize,
        };
        Dftl {
            pages: Pages::new(params, logical_pages + logical_pages.div_ceil(per_page), 4, 2),
            per_page,
            cmt_entries: size(cmt_entries),
            most_protected,
            batch_update: params.flag("batch_update", true),
            gtd: BTreeMap::new(),
            on_flash: BTreeMap::new(),
            cmt: BTreeMap::new(),
            probationary: VecDeque::new(),
            protected: VecDeque::new(),
        }
    }

    fn add(&mut self, counter: &'static str, by: u64) {
        self.pages.flash.add(counter, by);
    }

    fn make_room(&mut self, frontier: usize) -> Result<(), Full> {
        if !self.pages.has_room(frontier) {
            while let Some(victim) = self.pages.victim() {
                self.collect(victim)?;
            }
        }
        Ok(())
    }

    fn look_up(&mut self, lpn: u64) -> Result<(), Full> {
        if self.cmt.contains_key(&lpn) {
            self.add("cmt_hits", 1);
            self.probationary.retain(|&other| other != lpn);
            self.protected.retain(|&other| other != lpn);
            self.protected.push_front(lpn);
            if self.protected.len() > self.most_protected {
                let oldest = self.protected.pop_back().expect("it is not empty");
                self.probationary.push_front(oldest);
            }
            return Ok(());
        }
        self.add("cmt_misses", 1);
        if self.cmt.len() == self.cmt_entries {
            let from =
                if self.probationary.is_empty() { &self.protected } else { &self.probationary };
            let victim = *from.back().expect("the table is full");
            self.add("cmt_evictions", 1);
            if self.cmt[&victim].dirty {
                self.add("cmt_dirty_evictions", 1);
                self.write_back(victim)?;
            }
            self.cmt.remove(&victim);
            self.probationary.retain(|&other| other != victim);
            self.protected.retain(|&other| other != victim);
        }
        let from = self.gtd.get(&(lpn / self.per_page)).copied();
        self.pages.flash.look_up(lpn, from);
        self.add("translation_reads", u64::from(from.is_some()));
        let place = self.on_flash.get(&lpn).copied();
        self.cmt.insert(lpn, MapEntry { place, dirty: false });
        self.probationary.push_front(lpn);
        Ok(())
    }

    fn write_back(&mut self, victim: u64) -> Result<(), Full> {
        self.make_room(TRANSLATION)?;
        let tvpn = victim / self.per_page;
        let mut written = vec![victim];
        if self.batch_update {
            let entries = self.cmt.iter();
            let of_page = entries.filter(|&(&lpn, e)| e.dirty && lpn / self.per_page == tvpn);
            written.extend(of_page.map(|(&lpn, _)| lpn).filter(|&lpn| lpn != victim));
        }
        self.add("batched_entries", written.len() as u64 - 1);
        let mut entries = BTreeMap::new();
        for lpn in written {
            let cached = self.cmt.get_mut(&lpn).expect("it is in the table");
            cached.dirty = false;
            entries.insert(lpn, cached.place.expect("a dirty entry has a place"));
        }
        self.update(tvpn, entries)
    }

    fn update(&mut self, tvpn: u64, entries: BTreeMap<u64, Place>) -> Result<(), Full> {
        if let Some(&old) = self.gtd.get(&tvpn) {
            self.pages.flash.read(old);
            self.add("translation_reads", 1);
            self.pages.flash.invalidate(old);
        }
        let place = self.pages.program(TRANSLATION, Content::Translation { tvpn })?;
        self.add("translation_writes", 1);
        self.gtd.insert(tvpn, place);
        self.on_flash.extend(entries);
        Ok(())
    }

    fn collect(&mut self, victim: usize) -> Result<(), Full> {
        let slots = self.pages.flash.valid_slots(victim);
        let translation = self.pages.opened_for[victim] == TRANSLATION;
        let mut gathered: BTreeMap<u64, BTreeMap<u64, Place>> = BTreeMap::new();
        for slot in slots {
            let frontier = if translation { TRANSLATION } else { DATA };
            let (content, to) = self.pages.copy((victim, slot), frontier)?;
            match content {
                Content::Translation { tvpn } => {
                    self.gtd.insert(tvpn, to);
                    self.add("translation_reads", 1);
                    self.add("translation_writes", 1);
                }
                Content::Data { lpn, .. } => {
                    self.add("gc_copies", 1);
                    if let Some(cached) = self.cmt.get_mut(&lpn) {
                        *cached = MapEntry { place: Some(to), dirty: true };
                        self.add("lazy_updates", 1);
                    } else {
                        gathered.entry(lpn / self.per_page).or_default().insert(lpn, to);
                    }
                }
            }
        }
        for (tvpn, entries) in gathered {
            self.update(tvpn, entries)?;
        }
        self.pages.flash.erase(victim);
        self.add(if translation { "gc_translation_runs" } else { "gc_runs" }, 1);
        Ok(())
    }
}

impl Ftl for Dftl {
    fn flash(&self) -> &Flash {
        &self.pages.flash
    }

    fn flash_mut(&mut self) -> &mut Flash {
        &mut self.pages.flash
    }

    fn place(&self, lpn: u64) -> Option<Place> {
        match self.cmt.get(&lpn) {
            Some(cached) => cached.place,
            None => self.on_flash.get(&lpn).copied(),
        }
    }

    fn read(&mut self, lpn: u64) -> Result<Option<Content>, Full> {
        self.look_up(lpn)?;
        Ok(self.cmt[&lpn].place.map(|place| self.pages.flash.read(place)))
    }

    fn write(&mut self, lpn: u64, version: u64) -> Result<(), Full> {
        self.look_up(lpn)?;
        self.make_room(DATA)?;
        if let Some(old) = self.cmt[&lpn].place {
            self.pages.flash.invalidate(old);
        }
        let place = self.pages.program(DATA, Content::Data { lpn, version })?;
        self.cmt.insert(lpn, MapEntry { place: Some(place), dirty: true });
        Ok(())
    }
}
