//! Each read returns the newest write, through every policy and every FTL, after any prefix of a
//! load: every frame and every flash page carries the version of what it holds.

use super::{drive, requests};
use destage_core::{Lookup, Lpn, NEVER, Op, Page, Plan, Policy, Request, Requirements, UnitId};
use destage_policies::{POLICIES, Setup, hashed, params};
use destage_ssd::config::{DeviceConfig, PagesOfBlocks};
use destage_ssd::ftl::block_ftl::{BlockFtl, Copied, FlashOps, Gathered};
use destage_ssd::ftl::{AnyBlockFtl, NAMES, Sink};
use destage_ssd::timing::{Operation, OperationKind};
use destage_ssd::{BlockId, Device, DriveLpn, Ftl, PageFtl};
use std::collections::HashMap;

/// A version of a logical page.
type Version = (DriveLpn, u64);

/// The content of the flash: `None` on a page that is free, or that holds a part of the FTL's map.
struct Flashed {
    held: Vec<Option<Version>>,
    pages_per_block: u32,
    writing: Option<Version>,
    moving: Vec<(u32, u32)>, // slot, page that it moves to: its block is the one erased next
}

impl Flashed {
    fn put(&mut self, page: u32, held: Option<Version>) {
        self.held[page as usize] = held;
    }

    fn slot(&self, block: BlockId, slot: u32) -> Option<Version> {
        self.held[(block.0 * self.pages_per_block + slot) as usize]
    }
}

impl FlashOps for Flashed {
    type Served = Option<Version>;
    type Read = ();
    fn read(&mut self, page: u32) -> Option<Version> {
        self.held[page as usize]
    }
    fn program(&mut self, page: u32) -> Option<Version> {
        let written = self.writing.take();
        self.put(page, written);
        written
    }
    fn read_map(&mut self, _: u32) {}
    fn program_map(&mut self, page: u32, _: Option<()>) {
        self.put(page, None);
    }
    fn gather(&mut self, pages: &Gathered<'_>) {
        for offset in 0..self.pages_per_block {
            let has = |words: &[u64]| words[offset as usize / 64] >> (offset % 64) & 1 == 1;
            let held = match (has(pages.from_data), has(pages.from_log)) {
                (true, _) => self.slot(pages.data, offset),
                (_, true) => self.held[pages.log_pages[offset as usize] as usize],
                _ => continue,
            };
            self.put(pages.to.0 * self.pages_per_block + offset, held);
        }
    }
    fn copy(&mut self, pages: &Copied<'_>) {
        for (&slot, to) in pages.slots.iter().zip(pages.to..) {
            let held = self.slot(pages.from, slot);
            self.put(to, held);
        }
    }
    fn erase(&mut self, block: BlockId) {
        for slot in 0..self.pages_per_block {
            self.put(block.0 * self.pages_per_block + slot, None);
        }
    }
    fn collection(&mut self) {}
}

/// The page-mapped FTL tells of single operations. What it moves comes out of the block that it
/// erases at the end of the collection.
impl Sink for Flashed {
    type Served = Option<Version>;
    fn submit(&mut self, op: Operation) -> Option<Version> {
        match op.kind {
            OperationKind::Read if op.ppn == Operation::NO_PAGE => None,
            OperationKind::Read => FlashOps::read(self, op.ppn),
            OperationKind::Write => FlashOps::program(self, op.ppn),
            OperationKind::Move => {
                self.moving.push((op.from, op.ppn));
                None
            }
            OperationKind::Summary => None,
            OperationKind::Erase => {
                let block = BlockId(op.ppn / self.pages_per_block);
                for (slot, to) in std::mem::take(&mut self.moving) {
                    let held = self.slot(block, slot);
                    self.put(to, held);
                }
                FlashOps::erase(self, block);
                None
            }
        }
    }
    fn submit_equal(&mut self, _: Operation, _: u32) {
        unreachable!("single operations matter here");
    }
    fn backlog_ns(&self, _: UnitId) -> u64 {
        0
    }
    fn collection(&mut self) {}
}

enum Mapping {
    Page(Box<PageFtl>),
    BlockFtl(Box<AnyBlockFtl>),
}

/// An FTL over a flash that knows what lies on it, and a drive that does the same and can be asked.
struct Store {
    mapping: Mapping,
    flash: Flashed,
    drive: Device,
}

impl Store {
    fn new(config: &DeviceConfig) -> Self {
        let drive = Device::new(config);
        let geometry = drive.geometry();
        let pages = PagesOfBlocks {
            logical_pages: config.logical_pages,
            pages_per_block: config.pages_per_block,
        };
        let blocks = geometry.planes * geometry.blocks_per_plane;
        let mapping = match config.ftl.info().row {
            Some(_) => Mapping::BlockFtl(Box::new(AnyBlockFtl::build(&config.ftl, pages, blocks))),
            None => Mapping::Page(Box::new(PageFtl::build(config, geometry))),
        };
        let flash = Flashed {
            held: vec![None; geometry.physical_pages() as usize],
            pages_per_block: config.pages_per_block,
            writing: None,
            moving: Vec::new(),
        };
        Store { mapping, flash, drive }
    }

    fn read(&mut self, lpn: u64) -> Option<Version> {
        let lpn = DriveLpn(lpn as u32);
        self.drive.read(lpn);
        match &mut self.mapping {
            Mapping::Page(ftl) => ftl.read(lpn, &mut self.flash).flatten(),
            Mapping::BlockFtl(machine) => {
                machine.read(lpn, &mut self.flash).expect("it is not full").flatten()
            }
        }
    }

    fn write(&mut self, lpn: u64, version: u64) {
        let lpn = DriveLpn(lpn as u32);
        self.drive.write(lpn);
        self.flash.writing = Some((lpn, version));
        match &mut self.mapping {
            Mapping::Page(ftl) => ftl.write(lpn, &mut self.flash),
            Mapping::BlockFtl(machine) => {
                machine.write(lpn, &mut self.flash).expect("it is not full")
            }
        };
    }

    /// The version that a read would return, without a read that changes anything.
    fn look(&mut self, lpn: u64) -> Option<Version> {
        match &mut self.mapping {
            Mapping::Page(ftl) => ftl.read(DriveLpn(lpn as u32), &mut self.flash).flatten(),
            Mapping::BlockFtl(machine) => {
                let page = machine.place(DriveLpn(lpn as u32))?;
                self.flash.held[page as usize]
            }
        }
    }
}

/// Runs a policy over a store; what the host gets is compared with what it wrote last.
struct Run {
    store: Store,
    accesses: Vec<(u64, Op, u64)>, // instant, operation, page
    name: String,
}

impl Run {
    /// Writes the groups of a plan, padding read first (`docs/spec/device.md` 12).
    fn destage(&mut self, plan: &Plan, from: usize, frames: &HashMap<u64, u64>) {
        for (pages, pads) in plan.groups().skip(from) {
            let mut group: Vec<(u64, u64)> = pages.iter().map(|p| (p.0, frames[&p.0])).collect();
            for pad in pads.iter() {
                let version = if pad.in_buffer {
                    frames.get(&pad.lpn.0).copied()
                } else {
                    self.store.read(pad.lpn.0).map(|(_, version)| version)
                };
                // A page that was never written is padded with nothing: version 0 is that.
                group.push((pad.lpn.0, version.unwrap_or(0)));
            }
            group.sort_unstable();
            for (lpn, version) in group {
                self.store.write(lpn, version);
            }
        }
    }
}

impl Run {
    /// The version of the page on flash, which must be that page's.
    fn version(&mut self, page: u64) -> u64 {
        let Some((lpn, version)) = self.store.read(page) else { return 0 };
        assert_eq!(u64::from(lpn.0), page, "{}: another page's data", self.name);
        version
    }

    /// After this prefix, what is newest is in a frame or on flash.
    fn nothing_is_lost(
        &mut self,
        after: usize,
        newest: &HashMap<u64, u64>,
        frames: &HashMap<u64, u64>,
    ) {
        for (&lpn, &version) in newest {
            let flash = self.store.look(lpn).map(|(_, version)| version);
            let kept = frames.get(&lpn).copied().or(flash);
            assert_eq!(kept, Some(version), "{}: page {lpn} after {after}", self.name);
        }
    }
}

/// For each access, the number of the next one to its page.
fn next_uses(accesses: &[(u64, Op, u64)]) -> Vec<u64> {
    let mut next_uses = vec![NEVER; accesses.len()];
    let mut next = HashMap::new();
    for (i, &(_, _, page)) in accesses.iter().enumerate().rev() {
        next_uses[i] = next.insert(page, i as u64).unwrap_or(NEVER);
    }
    next_uses
}

impl Run {
    fn through(mut self, mut policy: impl Policy) {
        let accesses = std::mem::take(&mut self.accesses);
        let next_uses = next_uses(&accesses);
        let mut newest: HashMap<u64, u64> = HashMap::new();
        let mut frames: HashMap<u64, u64> = HashMap::new(); // page -> the version in its frame
        let mut plan = Plan::new();
        for (i, &(now, op, page)) in accesses.iter().enumerate() {
            self.store.drive.advance(now);
            let mut r = Request::new(Page(page), Lpn(page), op);
            r.next_use = next_uses[i];
            if policy.requirements().contains(Requirements::UNITS) {
                r.units = self.store.drive.units_of(DriveLpn(page as u32));
            }
            let expected = newest.get(&page).copied().unwrap_or(0);
            let got = match policy.request(&r) {
                Lookup::Hit(_) => frames[&page],
                Lookup::Bypass if op == Op::Write => {
                    assert!(policy.writes_through(), "{}: a write is lost", self.name);
                    self.store.write(page, i as u64 + 1);
                    expected
                }
                Lookup::Bypass => self.version(page),
                Lookup::Miss(mut miss) => {
                    let got = match op {
                        Op::Read => self.version(page),
                        Op::Write => expected,
                    };
                    plan.clear();
                    while policy.resident() >= policy.frames() {
                        let before = (plan.group_count(), plan.evicted().len());
                        policy.evict(&mut miss, &self.store.drive, &mut plan);
                        self.destage(&plan, before.0, &frames);
                        for victim in &plan.evicted()[before.1..] {
                            assert!(frames.remove(&victim.page.0).is_some(), "it was resident");
                        }
                    }
                    if policy.requirements().contains(Requirements::UNITS) {
                        r.units = self.store.drive.units_of(DriveLpn(page as u32));
                    }
                    policy.admit(&r, miss);
                    frames.insert(page, got);
                    got
                }
            };
            assert_eq!(got, expected, "{}: access {i} to page {page}", self.name);
            if op == Op::Write {
                newest.insert(page, i as u64 + 1);
                frames.entry(page).and_modify(|version| *version = i as u64 + 1);
            }
            if i % 500 == 0 {
                self.nothing_is_lost(i, &newest, &frames);
            }
        }
        self.store.drive.finish();
        assert_eq!(self.store.drive.check_conservation(), Ok(()), "{}", self.name);
        match &self.store.mapping {
            Mapping::Page(ftl) => ftl.check(),
            Mapping::BlockFtl(machine) => machine.check(),
        }
    }
}

/// The page accesses of the load.
fn accesses() -> Vec<(u64, Op, u64)> {
    let pages = |(now, op, offset, length): (u64, Op, u64, u64)| {
        (offset / 4096..(offset + length) / 4096).map(move |page| (now, op, page))
    };
    requests(2500).into_iter().flat_map(pages).collect()
}

fn every_policy_over(ftl: &str) {
    let config = drive(ftl);
    for info in POLICIES {
        let given: [(&str, &params::Value); 0] = [];
        let setup = Setup {
            params: destage_policies::check_params(info.name, given).expect("defaults"),
            trace_pages: Some(700),
            pages_per_block: config.pages_per_block,
            device_pages: Some(config.logical_pages.into()),
            ..Setup::new(64)
        };
        let name = format!("{} over {}", info.name, ftl);
        let run = Run { store: Store::new(&config), accesses: accesses(), name };
        run.through(hashed(info.name, &setup).expect("a policy"));
    }
}

#[test]
fn every_read_through_every_policy_and_ftl_returns_the_newest_write() {
    for &ftl in NAMES {
        every_policy_over(ftl);
    }
}
