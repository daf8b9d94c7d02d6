//! The FTLs of `docs/spec/ftl.md` against their vectors, their reference models, and a flash that
//! knows what lies on every page.

use destage_reference::ftl as model;
use destage_ssd::config::{Info, Table};
use destage_ssd::ftl::block_ftl::{BlockFtl, Copied, FlashOps, Gathered};
use destage_ssd::ftl::{Common, named};
use destage_ssd::precondition::SplitMix64;
use destage_ssd::{BlockId, DriveLpn, FtlCounters, Untimed, UntimedError};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

fn table(params: &Map<String, Value>) -> Table {
    serde_json::from_value(Value::Object(params.clone())).expect("numbers and words")
}

/// The content of every physical page: versions of logical pages, and the FTL's own.
struct Tokens {
    pages_per_block: u32,
    held: Vec<Option<Held>>,
    next_own: u64,
    counts: [u64; 3], // reads, programs, erases
    writing: Option<(u32, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    Host { lpn: u32, version: u64 },
    Own(u64),
}

impl Tokens {
    fn new(blocks: u32, pages_per_block: u32) -> Self {
        let held = vec![None; (blocks * pages_per_block) as usize];
        Tokens { pages_per_block, held, next_own: 0, counts: [0; 3], writing: None }
    }

    fn take(&mut self, page: u32) -> Held {
        self.counts[0] += 1;
        self.held[page as usize].unwrap_or_else(|| panic!("page {page} is read and empty"))
    }

    fn put(&mut self, page: u32, held: Held) {
        self.counts[1] += 1;
        let before = self.held[page as usize].replace(held);
        assert_eq!(before, None, "page {page} is programmed twice without an erase");
    }
}

impl FlashOps for Tokens {
    type Served = Held;
    type Read = ();

    fn read(&mut self, page: u32) -> Held {
        self.take(page)
    }

    fn program(&mut self, page: u32) -> Held {
        let (lpn, version) = self.writing.take().expect("the host writes one page at a time");
        self.put(page, Held::Host { lpn, version });
        Held::Host { lpn, version }
    }

    fn read_map(&mut self, page: u32) {
        assert!(matches!(self.take(page), Held::Own(_)), "page {page} is the FTL's own");
    }

    fn program_map(&mut self, page: u32, _: Option<()>) {
        self.next_own += 1;
        self.put(page, Held::Own(self.next_own));
    }

    fn gather(&mut self, pages: &Gathered<'_>) {
        let has =
            |words: &[u64], offset: u32| words[offset as usize / 64] >> (offset % 64) & 1 == 1;
        let mut copied = 0;
        for offset in 0..self.pages_per_block {
            let from = match (has(pages.from_data, offset), has(pages.from_log, offset)) {
                (false, false) => continue,
                (true, false) => pages.data.0 * self.pages_per_block + offset,
                (false, true) => pages.log_pages[offset as usize],
                (true, true) => panic!("offset {offset} comes out of two places"),
            };
            let held = self.take(from);
            self.put(pages.to.0 * self.pages_per_block + offset, held);
            copied += 1;
        }
        assert!(copied > 0, "nothing to copy is not told");
    }

    fn copy(&mut self, pages: &Copied<'_>) {
        for (&slot, to) in pages.slots.iter().zip(pages.to..) {
            let held = self.take(pages.from.0 * self.pages_per_block + slot);
            self.put(to, held);
        }
    }

    fn erase(&mut self, block: BlockId) {
        self.counts[2] += 1;
        let first = (block.0 * self.pages_per_block) as usize;
        self.held[first..first + self.pages_per_block as usize].fill(None);
    }

    fn collection(&mut self) {}
}

/// An FTL over a flash that knows everything, and what the host wrote last.
struct Watched {
    ftl: Untimed,
    flash: Tokens,
    newest: BTreeMap<u32, u64>,
    version: u64,
}

impl Watched {
    fn new(kind: &str, params: &Map<String, Value>) -> Self {
        let ftl = Untimed::new(info(kind), &table(params)).expect("good parameters");
        let pages_per_block = params["pages_per_block"].as_u64().expect("given") as u32;
        let flash = Tokens::new(ftl.block_ftl().blocks(), pages_per_block);
        Watched { ftl, flash, newest: BTreeMap::new(), version: 0 }
    }

    fn operate(&mut self, is_write: bool, lpn: u64) -> Result<(), UntimedError> {
        let page = lpn as u32;
        if is_write {
            self.version += 1;
            self.flash.writing = Some((page, self.version));
        }
        let served = self.ftl.operate(is_write, lpn, &mut self.flash)?;
        if is_write {
            self.newest.insert(page, self.version);
        }
        let newest = self.newest.get(&page);
        let expected = newest.map(|&version| Held::Host { lpn: page, version });
        assert_eq!(served, expected, "page {page} is its newest version");
        let counters = self.ftl.counters();
        let Common { flash_reads, flash_programs, erases, .. } = counters.common;
        let counted = [flash_reads, flash_programs, erases];
        assert_eq!(counted, self.flash.counts, "what is counted is what is done");
        Ok(())
    }

    /// Every page is where the FTL says, in the version written last, and conserved.
    fn check(&self) {
        let block_ftl = self.ftl.block_ftl();
        block_ftl.check();
        for lpn in 0..self.ftl.logical_pages() {
            let place = block_ftl.place(DriveLpn(lpn));
            let held = place.and_then(|page| self.flash.held[page as usize]);
            let newest = self.newest.get(&lpn);
            assert_eq!(held, newest.map(|&version| Held::Host { lpn, version }), "page {lpn}");
        }
        let state = block_ftl.flash_state();
        assert_eq!(state.programs, self.flash.counts[1], "programs, from the state of the flash");
        assert_eq!(state.erases, self.flash.counts[2]);
    }
}

/// Small devices of all kinds, with little or no room to spare.
fn params(kind: &str, random: &mut SplitMix64) -> Map<String, Value> {
    let pages_per_block = [1, 2, 3, 4, 8, 63, 64, 65, 130][random.below(9) as usize];
    let logical_pages = 1 + random.below(40 * pages_per_block.min(12));
    let mut params = Map::new();
    let mut set = |key: &str, value: Value| params.insert(key.into(), value);
    set("logical_pages", logical_pages.into());
    set("pages_per_block", pages_per_block.into());
    match kind {
        "bast" => {
            set("log_blocks", (1 + random.below(6)).into());
            set("victim", ["lru", "fifo"][random.below(2) as usize].into());
            set("spare_blocks", (1 + random.below(3)).into());
        }
        "fast" => {
            set("log_blocks", (2 + random.below(6)).into());
            set("spare_blocks", (1 + random.below(3)).into());
        }
        _ => {
            set("over_provisioning", (f64::from(random.below(60)) / 100.0).into());
        }
    }
    if kind == "dftl" {
        set("cmt_entries", (1 + random.below(30)).into());
        set("entries_per_translation_page", (1 + random.below(20)).into());
        set("cmt_policy", ["slru", "slru", "lru"][random.below(3) as usize].into());
        set("protected_fraction", (f64::from(random.below(101)) / 100.0).into());
        set("batch_update", (random.below(3) > 0).into());
        set("gc_reserve_blocks", (4 + random.below(4)).into());
    } else if kind == "page-ideal" {
        set("gc_reserve_blocks", (2 + random.below(3)).into());
    }
    params
}

/// Runs in order, hot pages, and anything.
fn operations(pages: u32, random: &mut SplitMix64) -> Vec<(bool, u64)> {
    let mut ops = Vec::new();
    while ops.len() < 900 {
        let start = random.below(pages);
        let (length, step) = match random.below(4) {
            0 => (1 + random.below(100), 1),
            1 => (1 + random.below(30), 0),
            _ => (1, 0),
        };
        let is_write = random.below(5) > 0;
        ops.extend((0..length).map(|i| (is_write, u64::from((start + i * step) % pages))));
    }
    ops
}

fn info(name: &str) -> &'static Info {
    named(name).expect("an FTL")
}

const KINDS: [&str; 4] = ["bast", "fast", "page-ideal", "dftl"];

#[test]
fn every_read_returns_the_newest_write_after_any_prefix_of_any_load() {
    let mut random = SplitMix64::new(20261121);
    for kind in KINDS {
        let mut erased = 0;
        for _ in 0..60 {
            let params = params(kind, &mut random);
            let mut watched = Watched::new(kind, &params);
            let pages = watched.ftl.logical_pages();
            let ops = operations(pages, &mut random);
            for (i, &(is_write, lpn)) in ops.iter().enumerate() {
                let done = watched.operate(is_write, lpn);
                done.unwrap_or_else(|error| panic!("{error}: {params:?}"));
                if i % 50 == 0 {
                    watched.check();
                }
            }
            erased += watched.flash.counts[2];
        }
        assert!(erased > 1000, "{kind}: {erased} erases");
    }
}

#[test]
fn every_ftl_counts_as_its_model_after_every_operation() {
    let mut random = SplitMix64::new(7);
    for kind in KINDS {
        let mut seen = BTreeMap::new();
        for round in 0..120 {
            let mut params = params(kind, &mut random);
            params.insert("prefill".into(), (round % 3 == 0).into());
            let pages = params["logical_pages"].as_u64().expect("given") as u32;
            let ops = operations(pages, &mut random);
            let expected = model::run(kind, &params, &ops).expect("a reference model");
            let mut ftl = Untimed::new(info(kind), &table(&params)).expect("good parameters");
            let nothing = &mut destage_ssd::ftl::block_ftl::CountOnly;
            for (i, &(is_write, lpn)) in ops.iter().enumerate() {
                let done = ftl.operate(is_write, lpn, nothing);
                done.unwrap_or_else(|error| panic!("{error}: {params:?}"));
                let c = ftl.counters();
                let step = [c.common.flash_reads, c.common.flash_programs, c.common.erases];
                assert_eq!(step, expected.steps[i], "operation {i}: {params:?}");
            }
            assert_eq!(expected.full_at, None, "{params:?}");
            let counters = ftl.counters();
            for name in ftl.listed_counters() {
                let got = counters.get(name).expect("a counter");
                let models = expected.counters.get(name).copied().unwrap_or(0);
                assert_eq!(got, models, "{kind}: {name}: {params:?}");
                let most = seen.entry(name).or_insert(0);
                *most = got.max(*most);
            }
            assert_eq!(identities(&counters, kind), Ok(()));
        }
        for (name, most) in seen {
            assert!(most > 0, "{kind}: {name} was reached");
        }
    }
}

/// The identities of section 1.4.
fn identities(c: &FtlCounters, kind: &str) -> Result<(), String> {
    let own = |name| c.get(name).expect("a counter of this FTL");
    let Common { host_reads, host_writes, unmapped_reads, .. } = c.common;
    let host = host_reads - unmapped_reads;
    let (reads, programs, erases) = match kind {
        "bast" | "fast" => {
            (host + own("merge_reads"), host_writes + own("merge_programs"), c.common.erases)
        }
        "dftl" => (
            host + own("gc_copies") + own("translation_reads"),
            host_writes + own("gc_copies") + own("translation_writes"),
            own("gc_runs") + own("gc_translation_runs"),
        ),
        _ => (host + own("gc_copies"), host_writes + own("gc_copies"), own("gc_runs")),
    };
    let counted = (c.common.flash_reads, c.common.flash_programs, c.common.erases);
    if counted == (reads, programs, erases) { Ok(()) } else { Err(format!("{c:?}")) }
}

#[test]
fn every_ftl_vector_is_counted_as_written() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/ftl.jsonl");
    let text = std::fs::read_to_string(path).expect("the vectors");
    for line in text.lines() {
        let vector: Value = serde_json::from_str(line).expect("JSON");
        let kind = vector["ftl"].as_str().expect("a name");
        let name = format!("{}: {}", kind, vector["name"]);
        let params = vector["params"].as_object().expect("an object");
        let mut ftl =
            Untimed::new(info(kind), &table(params)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let (ops, steps) = (vector["ops"].as_array(), vector["steps"].as_array());
        let pairs = ops.expect("a list").iter().zip(steps.expect("a list"));
        for (i, (op, step)) in pairs.enumerate() {
            let lpn = op[1].as_u64().expect("a page");
            let done = ftl.operate(op[0] == "w", lpn, &mut destage_ssd::ftl::block_ftl::CountOnly);
            done.unwrap_or_else(|error| panic!("{name}: {error}"));
            let c = ftl.counters();
            assert_eq!(
                *step,
                json!([c.common.flash_reads, c.common.flash_programs, c.common.erases]),
                "{name}: {i}"
            );
        }
        for (counter, expected) in vector["counters"].as_object().expect("an object") {
            assert_eq!(ftl.counters().get(counter), expected.as_u64(), "{name}: {counter}");
        }
    }
}

/// Reads, programs and erases of merges alone, from writing these pages over a full device.
fn merges(
    kind: &str,
    blocks: u64,
    pages_per_block: u64,
    log_blocks: u64,
    lpns: &[u64],
) -> [u64; 3] {
    let params = json!({
        "logical_pages": blocks * pages_per_block,
        "pages_per_block": pages_per_block,
        "log_blocks": log_blocks,
        "prefill": true,
    });
    let params = params.as_object().expect("an object");
    let mut ftl = Untimed::new(info(kind), &table(params)).expect("good parameters");
    for &lpn in lpns {
        ftl.operate(true, lpn, &mut destage_ssd::ftl::block_ftl::CountOnly).expect("room");
    }
    let c = ftl.counters();
    let [reads, programs] = ["merge_reads", "merge_programs"].map(|name| c.get(name).expect(name));
    assert_eq!(c.common.flash_programs - c.common.host_writes, programs);
    [reads, programs, c.common.erases]
}

#[test]
fn merges_cost_what_table_iii_of_bpac_says() {
    for n in [4, 64, 100] {
        let bast = |lpns: &[u64]| merges("bast", 2, n, 1, lpns);
        let other = n; // a page of the other logical block, which takes the log block
        let in_order: Vec<u64> = (0..n).chain([other]).collect();
        assert_eq!(bast(&in_order), [0, 0, 1], "switch");
        for clean in [1, n / 2, n - 1] {
            let prefix: Vec<u64> = (0..n - clean).chain([other]).collect();
            assert_eq!(bast(&prefix), [clean, clean, 1], "partial, N_c = {clean}");
        }
        let backwards: Vec<u64> = (0..n).rev().chain([other]).collect();
        assert_eq!(bast(&backwards), [n, n, 2], "full");

        // FAST: SW and one RW block, which fills with one page of each of N logical blocks.
        let one_of_each: Vec<u64> = (0..n).map(|lbn| lbn * n + 1).chain([2]).collect();
        let full = merges("fast", n, n, 2, &one_of_each);
        assert_eq!(full, [n * n, n * n, n + 1], "an erase per logical block, one for the log");
        let fast = |lpns: &[u64]| merges("fast", 2, n, 2, lpns);
        assert_eq!(fast(&in_order), [0, 0, 1], "switch of SW");
        let half: Vec<u64> = (0..n / 2).chain([other]).collect();
        assert_eq!(fast(&half), [n / 2, n / 2, 1], "partial merge of SW");
    }
}

#[test]
fn dftl_runs_full_where_its_model_does_and_stays_so() {
    // Each page that is collected has its entry on a translation page of its own, nearly.
    let params = json!({
        "logical_pages": 20_000,
        "pages_per_block": 16,
        "entries_per_translation_page": 1,
        "physical_blocks": 2510,
        "cmt_entries": 16,
        "prefill": true,
    });
    let params = params.as_object().expect("an object");
    let mut random = SplitMix64::new(1);
    let ops: Vec<(bool, u64)> = (0..40_000).map(|_| (true, random.below(20_000).into())).collect();
    let run = |params: &Map<String, Value>| {
        let mut ftl = Untimed::new(info("dftl"), &table(params)).expect("good parameters");
        let nothing = &mut destage_ssd::ftl::block_ftl::CountOnly;
        let failed =
            ops.iter().position(|&(is_write, lpn)| ftl.operate(is_write, lpn, nothing).is_err());
        failed.map(|at| {
            let again = ops[at..].iter().map(|&(_, lpn)| ftl.operate(false, lpn, nothing));
            let again: Vec<_> =
                again.take(3).map(|done| done.expect_err("full").to_string()).collect();
            assert!(again.iter().all(|text| *text == again[0]), "{again:?}");
            (at, again[0].clone())
        })
    };
    let (at, text) = run(params).expect("it runs full");
    assert_eq!(
        text,
        format!(
            "dftl: operation {at}: device full: a free block is needed, and none of the 2510 \
             blocks is free (a larger reserve leaves it room: \
             --ftl \"dftl[gc_reserve_blocks=16]\")"
        )
    );
    let mut larger = params.clone();
    larger.insert("gc_reserve_blocks".into(), json!(5));
    larger.insert("over_provisioning".into(), json!(0.3));
    larger.remove("physical_blocks");
    assert_eq!(run(&larger), None);
    let upto = &ops[..=at];
    assert_eq!(model::run("dftl", params, upto).map(|outcome| outcome.full_at), Some(Some(at)));
}
