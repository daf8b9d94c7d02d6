//! BAST and FAST, and what they share (`docs/spec/ftl.md` 2 to 4).

use super::{Content, Flash, Ftl, Full, Params, Place, Slot, size};
use std::collections::VecDeque;

/// Section 2.
struct Common {
    flash: Flash,
    pages_per_block: usize,
    data: Vec<Option<usize>>,   // by lbn
    in_log: Vec<Option<Place>>, // by lpn: the log slot of its newest copy
}

impl Common {
    fn new(params: &Params<'_>) -> Common {
        let logical_pages = size(params.int("logical_pages").expect("logical_pages"));
        let pages_per_block = size(params.int("pages_per_block").unwrap_or(64));
        let logical_blocks = logical_pages.div_ceil(pages_per_block);
        let log_blocks = size(params.int("log_blocks").unwrap_or(50));
        let spare_blocks = size(params.int("spare_blocks").unwrap_or(1));
        Common {
            flash: Flash::new(logical_blocks + log_blocks + spare_blocks, pages_per_block),
            pages_per_block,
            data: vec![None; logical_blocks],
            in_log: vec![None; logical_pages],
        }
    }

    fn split(&self, lpn: u64) -> (usize, usize) {
        (size(lpn) / self.pages_per_block, size(lpn) % self.pages_per_block)
    }

    /// The newest copy.
    fn place(&self, lpn: u64) -> Option<Place> {
        let (lbn, off) = self.split(lpn);
        if let Some(place) = self.in_log[size(lpn)] {
            return Some(place);
        }
        let block = self.data[lbn]?;
        matches!(self.flash.blocks[block][off], Slot::Valid(_)).then_some((block, off))
    }

    fn read(&mut self, lpn: u64) -> Option<Content> {
        let place = self.place(lpn)?;
        Some(self.flash.read(place))
    }

    /// Steps 1 and 2 of a write; false: it goes to a log block.
    fn write_in_place(&mut self, lpn: u64, version: u64) -> Result<bool, Full> {
        let (lbn, off) = self.split(lpn);
        if self.data[lbn].is_none() {
            self.data[lbn] = Some(self.flash.take_free()?);
        }
        let block = self.data[lbn].expect("there is one now");
        if self.flash.blocks[block][off] != Slot::Free {
            return Ok(false);
        }
        self.flash.program((block, off), Content::Data { lpn, version });
        Ok(true)
    }

    fn write_to_log(&mut self, lpn: u64, version: u64, place: Place) {
        let former = self.place(lpn).expect("it has been written before");
        self.flash.program(place, Content::Data { lpn, version });
        self.flash.invalidate(former);
        self.in_log[size(lpn)] = Some(place);
    }

    /// Copies the valid pages of lbn with offset >= from to their slots of a block, ascending; it
    /// becomes the data block, and the old one is erased. Returns how many pages.
    fn copy_and_replace(&mut self, lbn: usize, from: usize, target: usize) -> u64 {
        let first = lbn * self.pages_per_block;
        let mut copied = 0;
        for off in from..self.pages_per_block.min(self.in_log.len() - first) {
            let lpn = (first + off) as u64;
            if let Some(source) = self.place(lpn) {
                self.flash.copy(source, (target, off));
                copied += 1;
            }
        }
        for off in 0..self.pages_per_block.min(self.in_log.len() - first) {
            self.in_log[first + off] = None;
        }
        let old = self.data[lbn].replace(target).expect("a block in a log has a data block");
        self.flash.erase(old);
        self.flash.add("merge_reads", copied);
        self.flash.add("merge_programs", copied);
        copied
    }

    fn prefix_merge(&mut self, lbn: usize, log: usize, n: usize) {
        let copied = self.copy_and_replace(lbn, n, log);
        self.flash.add(if copied > 0 { "partial_merges" } else { "switch_merges" }, 1);
    }

    fn full_merge(&mut self, lbn: usize) -> Result<(), Full> {
        let target = self.flash.take_free()?;
        self.copy_and_replace(lbn, 0, target);
        self.flash.add("full_merges", 1);
        Ok(())
    }
}

/// Section 3.
pub(super) struct Bast {
    common: Common,
    log_blocks: usize,
    fifo: bool,
    logs: Vec<BastLog>,
    now: u64, // writes that reached step 3 of section 2
}

struct BastLog {
    lbn: usize,
    block: usize,
    offsets: Vec<usize>, // in slot order
    allocated: u64,
    programmed: u64,
}

impl Bast {
    pub(super) fn new(params: &Params<'_>) -> Bast {
        Bast {
            common: Common::new(params),
            log_blocks: size(params.int("log_blocks").unwrap_or(50)),
            fifo: params.word("victim", "lru") == "fifo",
            logs: Vec::new(),
            now: 0,
        }
    }

    fn merge(&mut self, at: usize) -> Result<(), Full> {
        let log = self.logs.remove(at);
        if log.offsets.iter().enumerate().all(|(slot, &off)| slot == off) {
            self.common.prefix_merge(log.lbn, log.block, log.offsets.len());
        } else {
            self.common.full_merge(log.lbn)?;
            self.common.flash.erase(log.block);
        }
        Ok(())
    }

    fn log_of(&self, lbn: usize) -> Option<usize> {
        self.logs.iter().position(|log| log.lbn == lbn)
    }
}

impl Ftl for Bast {
    fn flash(&self) -> &Flash {
        &self.common.flash
    }

    fn flash_mut(&mut self) -> &mut Flash {
        &mut self.common.flash
    }

    fn place(&self, lpn: u64) -> Option<Place> {
        self.common.place(lpn)
    }

    fn read(&mut self, lpn: u64) -> Result<Option<Content>, Full> {
        Ok(self.common.read(lpn))
    }

    fn write(&mut self, lpn: u64, version: u64) -> Result<(), Full> {
        if self.common.write_in_place(lpn, version)? {
            return Ok(());
        }
        self.now += 1;
        let (lbn, off) = self.common.split(lpn);
        if let Some(at) = self.log_of(lbn)
            && self.logs[at].offsets.len() == self.common.pages_per_block
        {
            self.merge(at)?;
        }
        if self.log_of(lbn).is_none() {
            if self.logs.len() == self.log_blocks {
                let time = |log: &BastLog| if self.fifo { log.allocated } else { log.programmed };
                let oldest = (0..self.logs.len()).min_by_key(|&at| time(&self.logs[at]));
                self.merge(oldest.expect("log blocks are in use"))?;
            }
            let block = self.common.flash.take_free()?;
            let (allocated, programmed) = (self.now, self.now);
            self.logs.push(BastLog { lbn, block, offsets: Vec::new(), allocated, programmed });
        }
        let at = self.log_of(lbn).expect("it has one now");
        let log = &mut self.logs[at];
        log.programmed = self.now;
        log.offsets.push(off);
        let place = (log.block, log.offsets.len() - 1);
        self.common.write_to_log(lpn, version, place);
        Ok(())
    }
}

/// Section 4.
pub(super) struct Fast {
    common: Common,
    log_blocks: usize,
    sw: Option<Sw>,
    rw: VecDeque<usize>, // blocks, oldest first
}

struct Sw {
    owner: usize,
    block: usize,
    n: usize,
}

impl Fast {
    pub(super) fn new(params: &Params<'_>) -> Fast {
        Fast {
            common: Common::new(params),
            log_blocks: size(params.int("log_blocks").unwrap_or(50)),
            sw: None,
            rw: VecDeque::new(),
        }
    }

    fn merge_sw(&mut self) {
        if let Some(Sw { owner, block, n }) = self.sw.take() {
            self.common.prefix_merge(owner, block, n);
        }
    }

    fn first_free_slot(&self, block: usize) -> Option<usize> {
        self.common.flash.blocks[block].iter().position(|&slot| slot == Slot::Free)
    }

    fn reclaim(&mut self, block: usize) -> Result<(), Full> {
        for slot in 0..self.common.pages_per_block {
            let Slot::Valid(Content::Data { lpn, .. }) = self.common.flash.blocks[block][slot]
            else {
                continue;
            };
            let (x, _) = self.common.split(lpn);
            if self.sw.as_ref().is_some_and(|sw| sw.owner == x) {
                self.merge_sw();
            } else {
                self.common.full_merge(x)?;
            }
        }
        self.common.flash.erase(block);
        Ok(())
    }
}

impl Ftl for Fast {
    fn flash(&self) -> &Flash {
        &self.common.flash
    }

    fn flash_mut(&mut self) -> &mut Flash {
        &mut self.common.flash
    }

    fn place(&self, lpn: u64) -> Option<Place> {
        self.common.place(lpn)
    }

    fn read(&mut self, lpn: u64) -> Result<Option<Content>, Full> {
        Ok(self.common.read(lpn))
    }

    fn write(&mut self, lpn: u64, version: u64) -> Result<(), Full> {
        if self.common.write_in_place(lpn, version)? {
            return Ok(());
        }
        let (lbn, off) = self.common.split(lpn);
        // 1.
        if off == 0 {
            self.merge_sw();
            let block = self.common.flash.take_free()?;
            self.sw = Some(Sw { owner: lbn, block, n: 1 });
            self.common.write_to_log(lpn, version, (block, 0));
            return Ok(());
        }
        if let Some(sw) = &mut self.sw
            && sw.owner == lbn
        {
            // 2.
            if sw.n == off {
                sw.n += 1;
                let place = (sw.block, off);
                self.common.write_to_log(lpn, version, place);
                return Ok(());
            }
            // 3.
            self.merge_sw();
        }
        // 4.
        if self.rw.back().is_none_or(|&newest| self.first_free_slot(newest).is_none()) {
            if self.rw.len() == self.log_blocks - 1 {
                let oldest = self.rw.pop_front().expect("there is at least one");
                self.reclaim(oldest)?;
            }
            let block = self.common.flash.take_free()?;
            self.rw.push_back(block);
        }
        let newest = *self.rw.back().expect("there is one now");
        let slot = self.first_free_slot(newest).expect("it has room");
        self.common.write_to_log(lpn, version, (newest, slot));
        Ok(())
    }
}
