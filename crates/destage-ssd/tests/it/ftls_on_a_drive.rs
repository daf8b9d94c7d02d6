//! The FTLs of `docs/spec/ftl.md` on the planes of a drive (`docs/spec/device.md` 12).

use destage_core::{DeviceView, Lpn, NEVER, Nanos, UnitId};
use destage_ssd::config::{DeviceConfig, Table, Value};
use destage_ssd::ftl::block_ftl::{Copied, FlashOps, Gathered};
use destage_ssd::ftl::{NAMES, named};
use destage_ssd::precondition::SplitMix64;
use destage_ssd::timing::OperationKind;
use destage_ssd::{BlockId, Device, Drive, DriveLpn, Ftl, FtlCounters, OperationRecord, Untimed};
use std::collections::{HashMap, VecDeque};

const KINDS: [&str; 4] = ["bast", "fast", "dftl", "page-ideal"];

fn int(value: u64) -> Value {
    Value::Int(value.into())
}

fn word(text: &str) -> Value {
    Value::Text(text.into())
}

/// Small enough to merge and collect all the time.
fn parameters(kind: &str) -> Table {
    let given: &[(&str, u64)] = match kind {
        "bast" | "fast" => &[("log_blocks", 5)],
        "dftl" => &[("cmt_entries", 20), ("entries_per_translation_page", 16)],
        _ => &[],
    };
    given.iter().map(|&(key, value)| (key.into(), int(value))).collect()
}

/// 48 blocks of 8 pages, on one plane or on many.
fn config(kind: &str, keys: &[(&str, Value)]) -> DeviceConfig {
    let mut table = Table::new();
    for (key, size) in [("blocks_per_plane", 48), ("pages_per_block", 8), ("logical_pages", 240)] {
        table.insert(key.into(), int(size));
    }
    table.insert("ftl".into(), word(kind));
    table.extend(keys.iter().map(|(key, value)| (key.to_string(), value.clone())));
    DeviceConfig::from_tables(&table, &parameters(kind)).unwrap_or_else(|error| panic!("{error}"))
}

/// 2 channels x 2 chips x 2 planes in place of one plane.
fn spread() -> Vec<(&'static str, Value)> {
    let sizes = [("channels", 2), ("chips_per_channel", 2), ("planes_per_die", 2)];
    let sizes = sizes.into_iter().chain([("blocks_per_plane", 6)]);
    sizes.map(|(key, size)| (key, int(size))).collect()
}

/// The same planes with one queue.
fn in_one_queue() -> Vec<(&'static str, Value)> {
    let sizes = [("chips_per_channel", 4), ("planes_per_die", 2), ("blocks_per_plane", 6)];
    let sizes = sizes.map(|(key, size)| (key, int(size)));
    sizes.into_iter().chain([("queue_level", word("channel"))]).collect()
}

fn page_types() -> Vec<(&'static str, Value)> {
    let list = |values: [u64; 3]| Value::List(values.map(int).to_vec());
    vec![
        ("read_ns", list([20_000, 30_000, 50_000])),
        ("program_ns", list([100_000, 300_000, 700_000])),
    ]
}

/// Requests of the host: gaps, and runs of pages as well as single ones.
fn load(pages: u32) -> impl Iterator<Item = (Nanos, bool, u32)> {
    let mut random = SplitMix64::new(11);
    let (mut now, mut run) = (0, (0, 0, true));
    (0..4000).map(move |_| {
        now += random.next() % 400_000;
        if run.1 == 0 {
            let length = if random.below(3) == 0 { 1 + random.below(20) } else { 1 };
            run = (random.below(pages), length, random.below(4) > 0);
        }
        let lpn = run.0 % pages;
        run = (run.0 + 1, run.1 - 1, run.2);
        (now, run.2, lpn)
    })
}

/// Serves the load; ends with everything served.
fn serve(device: &mut Device, mut each: impl FnMut(&mut Device, DriveLpn)) -> Vec<Nanos> {
    let mut ends = Vec::new();
    for (now, is_write, lpn) in load(device.geometry().logical_pages) {
        let lpn = DriveLpn(lpn);
        device.advance(now);
        each(device, lpn);
        let served = if is_write { Some(device.write(lpn)) } else { device.read(lpn) };
        ends.push(served.map_or(now, |served| served.end.known().unwrap_or(NEVER)));
    }
    device.finish();
    ends
}

/// An operation in one row of blocks: what, collection, block, slot.
type Done = (OperationKind, bool, u32, u32);

/// Writes down what an FTL does, copies within `planes` as moves.
struct Row {
    planes: u32,
    pages_per_block: u32,
    done: Vec<Done>,
    /// Operations, by place in `done`, and ones before them that they depend on.
    after: Vec<(usize, usize)>,
    fetches: HashMap<u32, Option<usize>>, // by entry of the map
    copies: HashMap<u32, Vec<usize>>,     // by block: programs of its pages elsewhere
}

impl Row {
    fn new(planes: u32) -> Row {
        let (done, after) = (Vec::new(), Vec::new());
        let (fetches, copies) = (HashMap::new(), HashMap::new());
        Row { planes, pages_per_block: 8, done, after, fetches, copies }
    }

    fn operation(&mut self, kind: OperationKind, collection: bool, page: u32) -> usize {
        let (block, slot) = (page / self.pages_per_block, page % self.pages_per_block);
        self.done.push((kind, collection, block, slot));
        self.done.len() - 1
    }

    fn copied(&mut self, from: u32, to: u32) {
        let plane = |page: u32| page / self.pages_per_block % self.planes;
        if plane(from) == plane(to) {
            self.operation(OperationKind::Move, true, to);
        } else {
            let read = self.operation(OperationKind::Read, true, from);
            let program = self.operation(OperationKind::Write, true, to);
            self.after.push((program, read));
            self.copies.entry(from / self.pages_per_block).or_default().push(program);
        }
    }
}

impl FlashOps for Row {
    type Served = ();
    type Read = usize;
    fn read(&mut self, page: u32) {
        self.operation(OperationKind::Read, false, page);
    }
    fn program(&mut self, page: u32) {
        self.operation(OperationKind::Write, false, page);
    }
    fn read_map(&mut self, page: u32) -> usize {
        self.operation(OperationKind::Read, true, page)
    }
    fn program_map(&mut self, page: u32, old: Option<usize>) {
        let program = self.operation(OperationKind::Write, true, page);
        self.after.extend(old.map(|old| (program, old)));
    }
    fn fetched(&mut self, entry: u32, read: Option<usize>) {
        self.fetches.insert(entry, read);
    }
    fn needs(&mut self, entry: u32) {
        let next = self.done.len();
        self.after.extend(self.fetches[&entry].map(|read| (next, read)));
    }
    fn gather(&mut self, pages: &Gathered<'_>) {
        let has =
            |words: &[u64], offset: u32| words[offset as usize / 64] >> (offset % 64) & 1 == 1;
        for offset in 0..self.pages_per_block {
            let to = pages.to.0 * self.pages_per_block + offset;
            if has(pages.from_data, offset) {
                self.copied(pages.data.0 * self.pages_per_block + offset, to);
            } else if has(pages.from_log, offset) {
                self.copied(pages.log_pages[offset as usize], to);
            }
        }
    }
    fn copy(&mut self, pages: &Copied<'_>) {
        for (&slot, to) in pages.slots.iter().zip(pages.to..) {
            self.copied(pages.from.0 * self.pages_per_block + slot, to);
        }
    }
    fn erase(&mut self, block: BlockId) {
        let erase = self.operation(OperationKind::Erase, true, block.0 * self.pages_per_block);
        let copies = self.copies.remove(&block.0).into_iter().flatten();
        self.after.extend(copies.map(|copy| (erase, copy)));
    }
    fn collection(&mut self) {}
}

/// The FTL of a device alone, with as many blocks.
fn untimed(kind: &str) -> Untimed {
    let mut params = parameters(kind);
    params.insert("logical_pages".into(), int(240));
    params.insert("pages_per_block".into(), int(8));
    match kind {
        "bast" | "fast" => params.insert("spare_blocks".into(), int(48 - 30 - 5)),
        _ => params.insert("physical_blocks".into(), int(48)),
    };
    Untimed::new(named(kind).expect("an FTL"), &params).unwrap_or_else(|error| panic!("{error}"))
}

/// The FTL alone under the load: its operations, and when it decides on each.
fn decided(kind: &str, planes: u32) -> (Row, Vec<Nanos>, FtlCounters) {
    let mut row = Row::new(planes);
    let mut ftl = untimed(kind);
    let mut decided = Vec::new();
    for (now, is_write, lpn) in load(240) {
        ftl.operate(is_write, lpn.into(), &mut row).expect("it is not full");
        decided.resize(row.done.len(), now);
    }
    (row, decided, ftl.counters())
}

/// The same under the load on a drive.
fn served(config: &DeviceConfig) -> (Vec<OperationRecord>, Device) {
    let mut device = Device::new(config);
    device.queues().keep_operations();
    serve(&mut device, |_, _| {});
    let served = device.queues().take_operations().collect();
    (served, device)
}

/// An operation of the row, as it is recorded on a drive.
fn recorded(&(kind, collection, block, slot): &Done, config: &DeviceConfig) -> Done {
    let planes = config.planes();
    (kind, collection, block / planes + block % planes * config.blocks_per_plane, slot)
}

#[test]
fn a_drive_of_one_unit_serves_the_operations_of_the_ftl_in_its_order_one_after_the_other() {
    for kind in KINDS {
        for keys in [vec![], in_one_queue(), page_types(), [in_one_queue(), page_types()].concat()]
        {
            let config = config(kind, &keys);
            assert_eq!(config.units(), 1);
            let (served, device) = served(&config);
            let (row, decided, counters) = decided(kind, config.planes());
            assert_eq!(served.len(), row.done.len(), "{kind}");
            let mut tail = 0;
            for ((record, done), now) in served.iter().zip(&row.done).zip(decided) {
                let OperationRecord { kind, collection, block, index, .. } = *record;
                let block = block.expect("a page");
                assert_eq!((kind, collection, block, index), recorded(done, &config));
                assert_eq!(record.start_ns, now.max(tail), "first come, first served");
                tail = record.end_ns;
            }
            // Geometry changes no count (section 12).
            assert_eq!(device.counters().ftl, Some(counters), "{kind}");
        }
    }
}

#[test]
fn on_several_units_an_operation_starts_when_those_that_it_depends_on_have_ended() {
    for kind in KINDS {
        for keys in [spread(), [spread(), page_types()].concat()] {
            let config = config(kind, &keys);
            let (served, device) = served(&config);
            let (row, decided, counters) = decided(kind, config.planes());
            assert_eq!(served.len(), row.done.len(), "{kind}");
            // Equal ones are of one block: they are served in the FTL's order.
            let mut records: HashMap<_, VecDeque<&OperationRecord>> = HashMap::new();
            for record in &served {
                let key = (record.kind as u8, record.collection, record.block, record.index);
                records.entry(key).or_default().push_back(record);
            }
            let mut of = |done: &Done| {
                let (kind, collection, block, slot) = recorded(done, &config);
                let records = records.get_mut(&(kind as u8, collection, Some(block), slot));
                records.and_then(VecDeque::pop_front).expect("the drive does the same")
            };
            let times: Vec<&OperationRecord> = row.done.iter().map(&mut of).collect();
            for (record, now) in times.iter().zip(decided) {
                assert!(record.start_ns >= now, "{kind}: nothing is served before its decision");
            }
            let mut tails = vec![0; config.units() as usize];
            for record in &served {
                let tail = &mut tails[record.unit as usize];
                assert!(record.start_ns >= *tail, "{kind}: a unit does one thing at a time");
                *tail = record.end_ns;
            }
            assert!(row.after.len() > 500, "{kind}: {} depend on others", row.after.len());
            for &(later, before) in &row.after {
                assert!(times[later].start_ns >= times[before].end_ns, "{kind}: {later} {before}");
            }
            // A block is programmed in the FTL's order, and erased when nothing uses it any more.
            let mut uses: HashMap<u32, [Nanos; 2]> = HashMap::new(); // last change, last use
            for (done, record) in row.done.iter().zip(&times) {
                let [change, last] = uses.entry(done.2).or_default();
                match done.0 {
                    OperationKind::Read => {}
                    OperationKind::Erase => assert!(record.start_ns >= *last, "{kind}: {done:?}"),
                    _ => assert!(record.start_ns >= *change, "{kind}: {done:?}"),
                }
                if done.0 != OperationKind::Read {
                    *change = record.end_ns;
                }
                *last = record.end_ns.max(*last);
            }
            assert_eq!(device.counters().ftl, Some(counters), "{kind}");
        }
    }
}

#[test]
fn merges_told_as_numbers_take_the_time_of_their_pages_one_by_one() {
    for kind in KINDS {
        for keys in [vec![], spread(), page_types(), [spread(), page_types()].concat()] {
            let mut plain = Device::new(&config(kind, &keys));
            let mut watched = plain.clone();
            watched.queues().keep_operations();
            assert_eq!(serve(&mut plain, |_, _| {}), serve(&mut watched, |_, _| {}));
            assert_eq!(plain.counters(), watched.counters(), "{}", kind);
        }
    }
}

#[test]
fn every_ftl_loses_no_operation_in_any_mode() {
    for kind in KINDS {
        for (sched, bus) in [("fcfs", "private"), ("fcfs", "shared"), ("read_first", "private")] {
            for precondition in ["none", "sequential", "random"] {
                let mut keys = spread();
                keys.extend([
                    ("sched", word(sched)),
                    ("bus", word(bus)),
                    ("precondition", word(precondition)),
                    ("precondition_writes", int(500)),
                ]);
                let name = format!("{}, {sched}, {bus}, {precondition}", kind);
                let mut device = Device::new(&config(kind, &keys));
                assert_eq!(device.failure(), None);
                serve(&mut device, |_, _| {});
                device.ftl().check();
                assert_eq!(device.check_conservation(), Ok(()), "{name}");
                let counters = device.counters();
                let ftl = counters.ftl.as_ref().expect("it counts").common;
                let (reads, writes) = load(240).fold((0, 0), |(reads, writes), (_, write, _)| {
                    (reads + u64::from(!write), writes + u64::from(write))
                });
                assert_eq!((ftl.host_reads, ftl.host_writes), (reads, writes), "{name}");
                assert_eq!(counters.flash_programs, writes, "{name}");
                assert_eq!(counters.flash_reads, reads - ftl.unmapped_reads, "{name}");
                assert_eq!(ftl.unmapped_reads == 0, precondition != "none", "{name}");
                assert_eq!(counters.programs_of_all_kinds(), ftl.flash_programs, "{name}");
                let all = |counts: &[u64]| counts.iter().sum::<u64>();
                assert_eq!(all(&counters.channel_reads) + counters.gc_moves, ftl.flash_reads);
                assert_eq!(all(&counters.channel_programs) + counters.gc_moves, ftl.flash_programs);
                assert!(ftl.erases > 50, "{name}: {} erases", ftl.erases);
                for unit in 0..device.units() {
                    let unit = UnitId(unit);
                    assert_eq!((device.backlog_ns(unit), device.in_gc(unit)), (0, false), "{name}");
                }
            }
        }
    }
}

#[test]
fn a_write_that_needs_a_merge_waits_behind_it() {
    // One page a block, one log block: every second write of a page merges.
    let table = |pairs: &[(&str, u64)]| -> Table {
        pairs.iter().map(|&(key, value)| (key.into(), int(value))).collect()
    };
    let mut device = table(&[("pages_per_block", 2), ("logical_pages", 4), ("bus_ps_per_byte", 0)]);
    device.insert("ftl".into(), word("bast"));
    let config = DeviceConfig::from_tables(&device, &table(&[("log_blocks", 1)])).expect("good");
    let mut device = Device::new(&config);
    let (read, program, erase) = (25_000, 200_000, 1_500_000);
    let mut ends = |pages: &[u32]| -> Vec<Nanos> {
        pages.iter().map(|&lpn| device.write(DriveLpn(lpn)).end.known().expect("fcfs")).collect()
    };
    // Pages 1 and 0 out of order in the log block of block 0, then one of block 1.
    let first = ends(&[0, 1, 2, 1, 0]);
    assert_eq!(first, [1, 2, 3, 4, 5].map(|programs| programs * program));
    let merged = ends(&[2])[0];
    let full_merge = 2 * (read + program) + 2 * erase;
    assert_eq!(merged, 5 * program + full_merge + program);
    // Offset 0 of block 1 alone: its merge copies what is missing, and nothing was written there.
    assert_eq!(ends(&[0])[0], merged + erase + program, "a switch merge costs an erase");
    assert!(device.in_gc(UnitId(0)));
    device.advance(merged + erase - 1);
    assert!(device.in_gc(UnitId(0)));
    device.advance(merged + erase);
    assert!(!device.in_gc(UnitId(0)), "the host's own program is no collection");
    assert_eq!(device.counters().gc_runs, 2);
    assert_eq!(
        device.counters().program_wait_ns_sum,
        (1 + 2 + 3 + 4 + 5) * program + full_merge + merged + erase
    );
}

#[test]
fn a_page_has_the_unit_that_holds_it_and_a_dirty_one_that_of_the_next_free_block() {
    for kind in KINDS {
        let mut device = Device::new(&config(kind, &spread()));
        let mut held = 0;
        serve(&mut device, |device, lpn| {
            let units = device.units_of(lpn);
            assert_eq!(units.dirty, UnitId(device.units()), "list U");
            let place = device.unit_of(device.target(Lpn(lpn.0.into())));
            assert_eq!(device.backlog_ns(units.dirty), device.backlog_ns(place));
            assert_eq!(device.gc_cost_ns(device.target(Lpn(0))), 0);
            held += u32::from(
                units.clean != device.unit_of(device.geometry().home_of(Lpn(lpn.0.into()))),
            );
        });
        assert!(held > 500, "{}: pages wander, {held}", kind);
    }
}

#[test]
fn what_belongs_to_another_ftl_has_no_effect_and_is_said() {
    let table =
        |text: &str| Drive::parse(text, "my.toml").unwrap_or_else(|error| panic!("{error}"));
    let plain = table("[device]\nftl = \"fast\"\n[ftl]\nlog_blocks = 7\n");
    assert_eq!(plain.notes, [""; 0]);
    let given = table(
        "[device]\nftl = \"fast\"\nsummary_page = true\nalloc = \"dynamic\"\nstriping = 3\n\
         gc_mode = \"idle\"\ngc_low_pages = 128\nunmapped_read = \"free\"\n\
         [ftl]\nlog_blocks = 7\n",
    );
    assert_eq!(given.device, plain.device);
    assert_eq!(given.notes.len(), 5, "{:?}", given.notes); // gc_low_pages is what it comes to
    let note = "alloc = \"dynamic\" has no effect: it belongs to ftl = page, this is fast";
    assert!(given.notes.contains(&note.to_string()), "{:?}", given.notes);
    assert_eq!(Drive::from_json(&given.to_json()).as_ref(), Ok(&given));
    assert_eq!(Drive::preset("ecr").map(|drive| drive.notes), Ok(Vec::new()));
}

#[test]
fn any_drive_takes_any_ftl_by_name() {
    for preset in ["ecr", "sac", "bpac", "aalru", "small"] {
        let drive = Drive::preset(preset).expect("a preset");
        for kind in KINDS {
            let with = drive.with_ftl(kind).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(with.name, format!("{preset}[ftl={}]", kind));
            assert_eq!(with.device.ftl.info().name, kind);
            assert_eq!(with.device.logical_pages, drive.device.logical_pages);
            assert_eq!(Drive::from_json(&with.to_json()).as_ref(), Ok(&with));
        }
        let back = drive.with_ftl("page").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(back.device.ftl.info().name, "page");
    }
    let drive = Drive::preset("bpac").expect("a preset");
    let with = drive.with_ftl("fast[log_blocks=20]").expect("good");
    assert_eq!(with.name, "bpac[ftl=fast;ftl.log_blocks=20]");
    assert_eq!(Drive::from_spec(&with.name).map(|drive| drive.device), Ok(with.device.clone()));
    assert_eq!(with.with_ftl("bast").map(|drive| drive.ftl["log_blocks"].clone()), Ok(int(50)));
    for (ftl, expected) in [
        ("fasst", "unknown FTL \"fasst\", did you mean fast? (known: page, dftl, bast, fast,"),
        ("fast[log_blocks=1]", "ftl: log_blocks = 1: expected integer 2.."),
        ("fast[log_block=3]", "did you mean log_blocks? (known: log_blocks: the parameters of"),
        ("dftl[log_blocks=3]", "ftl: unknown key \"log_blocks\" (known: cmt_entries,"),
        ("fast[log_blocks=3", "the closing ] is missing"),
        ("fast[log_blocks=20000]", "no room for ftl = fast: 1048576 logical pages and what the"),
        ("page[log_blocks=3]", "(known: none, ftl = page has no parameters)"),
    ] {
        let error = drive.with_ftl(ftl).expect_err(ftl).to_string();
        assert!(error.contains(expected), "{error}\n{expected}");
    }
}

#[test]
fn a_drive_without_room_for_its_ftl_says_how_many_blocks_it_takes() {
    for (ftl, least) in [("bast", 16 + 50 + 1), ("fast", 16 + 50 + 1), ("dftl", 17 + 4 + 2)] {
        let text =
            format!("[device]\nftl = \"{ftl}\"\nblocks_per_plane = 17\nlogical_pages = 1024\n");
        let error = Drive::parse(&text, "my.toml").expect_err("no room").to_string();
        assert_eq!(
            error,
            format!(
                "my.toml:1:2: device: no room for ftl = {ftl}: 1024 logical pages and what the \
                 FTL keeps beside them take {least} blocks, and the device has 17 (change \
                 logical_pages or the table [ftl])"
            )
        );
        let more = text.replace("= 17", &format!("= {least}"));
        Drive::parse(&more, "my.toml").unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_catalogue_has_every_ftl_and_its_keys() {
    assert!(destage_ssd::FTLS.iter().map(|info| info.name).eq(NAMES.iter().copied()));
    for info in destage_ssd::FTLS {
        assert!(!info.title.is_empty() && !info.about.is_empty() && !info.source.is_empty());
        for (i, key) in info.keys.iter().enumerate() {
            assert!(info.keys[..i].iter().all(|other| other.name != key.name), "{}", key.name);
        }
    }
}

#[test]
fn every_ftl_counts_what_it_declares_in_that_order() {
    let common = ["host_reads", "host_writes", "unmapped_reads", "flash_reads", "flash_programs"];
    for kind in KINDS {
        let declared = named(kind).expect("an FTL").counters.iter().copied().flatten();
        let expected = common.into_iter().chain(["erases"]).chain(declared.map(|own| own.name));
        let counters =
            Device::new(&config(kind, &[])).counters().ftl.expect("one of the specification");
        assert_eq!(counters.names().collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{kind}");
    }
}

#[test]
fn a_drive_that_runs_full_says_so_and_does_nothing_more() {
    let table = |pairs: &[(&str, u64)]| -> Table {
        pairs.iter().map(|&(key, value)| (key.into(), int(value))).collect()
    };
    for (precondition, place) in [("sequential", "operation "), ("random", "while it was being")] {
        let mut device = table(&[
            ("blocks_per_plane", 2510),
            ("pages_per_block", 16),
            ("logical_pages", 20_000),
            ("precondition_writes", 60_000),
        ]);
        device.insert("ftl".into(), word("dftl"));
        device.insert("precondition".into(), word(precondition));
        let ftl = table(&[("entries_per_translation_page", 1), ("cmt_entries", 16)]);
        let config = DeviceConfig::from_tables(&device, &ftl).expect("room for it");
        let mut device = Device::new(&config);
        assert_eq!(device.failure().is_some(), precondition == "random");
        let mut random = SplitMix64::new(1);
        for _ in 0..60_000 {
            device.write(DriveLpn(random.below(20_000)));
            device.read(DriveLpn(random.below(20_000)));
        }
        let text = device.failure().expect("it ran full").to_string();
        assert!(text.starts_with(&format!("dftl: {place}")), "{text}");
    }
}
