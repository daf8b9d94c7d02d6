//! Beyond the vectors: warm-ups, options of the run, observers, and what is refused. The
//! vectors themselves are run by `conform`, random ones against a reference model in
//! `tests/it/device_reference`.

mod bounds;
mod idle;
mod lengths;

use super::*;
use crate::observe::{Completed, Observer, Unobserved};
use crate::warmup::Warmup;
use destage_core::{Dense, DeviceView, Lookup, Lpn, Nanos, Op, Page, Plan, Policy, Request, Slot};
use destage_policies::Setup;
use destage_policies::larc::Larc;
use destage_policies::lru::Lru;
use destage_ssd::config::{Table, Value as Given};
use destage_ssd::{
    CacheConfig, Device, DeviceConfig, DriveLpn, HostConfig, OperationRecord, PendingTime,
};

/// A drive of 4 chips and 4-KiB pages, full after preconditioning, with collections soon.
fn config(changes: &[(&str, Given)]) -> DeviceConfig {
    let mut table = Table::new();
    let whole = |int: i128| Given::Int(int);
    for (key, value) in [
        ("channels", whole(2)),
        ("chips_per_channel", whole(2)),
        ("blocks_per_plane", whole(16)),
        ("pages_per_block", whole(8)),
        ("logical_pages", whole(400)),
        ("precondition", Given::Text("sequential".into())),
    ] {
        table.insert(key.into(), value);
    }
    for (key, value) in changes {
        table.insert((*key).into(), value.clone());
    }
    DeviceConfig::from_table(&table).expect("a good drive")
}

fn word(text: &str) -> Given {
    Given::Text(text.into())
}

/// Requests of 1 to 3 pages, some skewed, two thirds of them writes, in bursts.
fn workload(requests: u64, config: &DeviceConfig) -> Workload {
    paced(requests, 1, config)
}

/// The same, so many times as slowly.
fn paced(requests: u64, slower: u64, config: &DeviceConfig) -> Workload {
    let mut state = 1u64;
    let mut random = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut arrival = 0;
    let requests: Vec<_> = (0..requests)
        .map(|_| {
            arrival += slower * if random(8) == 0 { 1_000_000 } else { random(50_000) };
            let op = if random(3) == 0 { Op::Read } else { Op::Write };
            let page = if random(2) == 0 { random(40) } else { random(397) };
            (arrival, op, page * 4096, (1 + random(3)) * 4096)
        })
        .collect();
    Workload::new(requests, config).expect("requests on the drive")
}

fn replay<'a>(workload: &'a Workload, warmup: Warmup) -> TimedReplay<'a> {
    let table = Table::new();
    let host = HostConfig::from_table(&table, &config(&[])).expect("the default host");
    TimedReplay {
        input: workload.input(),
        host,
        warmup,
        fetch_on_write_miss: false,
        flush_at_end: false,
    }
}

fn cache() -> CacheConfig {
    let mut table = Table::new();
    table.insert("policy".into(), word("lru"));
    table.insert("frames".into(), Given::Int(30));
    CacheConfig::from_table(&table).expect("a good cache")
}

fn lru(workload: &Workload) -> Lru<Dense> {
    Lru::new(&Setup::new(30), Dense::new(workload.pages()))
}

/// All that an observer can see.
#[derive(Default)]
struct Seen {
    accesses: u64,
    completed_by_last_access: usize,
    completed: Vec<Completed>,
    operations: Vec<OperationRecord>,
    idle_writes: Vec<Nanos>,
}

impl Observer for Seen {
    fn wants_operations(&self) -> bool {
        true
    }

    fn access(&mut self, _: &Request, _: bool, _: Option<&Plan>) {
        self.accesses += 1;
        self.completed_by_last_access = self.completed.len();
    }
    fn idle_write(&mut self, at_ns: Nanos, _: Page) {
        self.idle_writes.push(at_ns);
    }
    fn completed(&mut self, request: &Completed) {
        self.completed.push(request.clone());
    }
    fn operations(&mut self, operations: &mut dyn Iterator<Item = OperationRecord>) {
        self.operations.extend(operations);
    }
}

#[test]
fn what_is_counted_after_a_warm_up_is_what_the_whole_run_counts_from_there_on() {
    for sched in ["fcfs", "read_first"] {
        let config = config(&[("sched", word(sched))]);
        let workload = workload(900, &config);
        let mut seen = Seen::default();
        let mut device = Device::new(&config);
        let whole = replay(&workload, Warmup::None)
            .run(&mut device, &mut lru(&workload), &cache(), &mut seen)
            .expect("a run");
        let mut device = Device::new(&config);
        let part = replay(&workload, Warmup::Requests(300))
            .run(&mut device, &mut lru(&workload), &cache(), &mut Unobserved)
            .expect("a run");
        assert_eq!((whole.warmup_requests, part.warmup_requests), (0, 300), "{sched}");
        let counters = &part.timing.counters;
        assert_eq!(counters.requests, 600, "{sched}");

        let measured: Vec<_> = seen.completed.iter().filter(|r| r.number >= 300).collect();
        let sum = |op| {
            let of = measured.iter().filter(|r| r.op == op);
            of.map(|r| r.completion_ns - r.issued_ns).sum::<Nanos>()
        };
        assert_eq!(counters.read_response_ns_sum, sum(Op::Read), "{sched}");
        assert_eq!(counters.write_response_ns_sum, sum(Op::Write), "{sched}");
        let first = measured.iter().map(|r| r.issued_ns).min().expect("some");
        let last = measured.iter().map(|r| r.completion_ns).max().expect("some");
        assert_eq!(counters.makespan_ns, last - first, "{sched}");

        // Operations by the request that caused them: those from the 300th on.
        let from = measured.iter().map(|r| r.operations.start).min().expect("some");
        let number = |id: u64| seen.operations.iter().find(|op| op.submission == id);
        let first = number(from).expect("it was served").number;
        let since = || seen.operations.iter().filter(|op| op.number >= first);
        let kind = |kind| since().filter(move |op| op.kind == kind && !op.collection);
        use destage_ssd::timing::OperationKind;
        let device = &counters.device;
        assert_eq!(device.flash_reads, kind(OperationKind::Read).count() as u64, "{sched}");
        assert_eq!(device.flash_programs, kind(OperationKind::Write).count() as u64, "{sched}");
        let waits =
            kind(OperationKind::Write).map(|op| op.start_ns - op.submitted_ns).sum::<Nanos>();
        assert_eq!(counters.eviction_wait_ns_sum, waits, "{sched}");
        let latencies =
            kind(OperationKind::Read).map(|op| op.end_ns - op.submitted_ns).sum::<Nanos>();
        assert_eq!(device.read_miss_latency_ns_sum, latencies, "{sched}");
    }
}

#[test]
fn a_warm_up_until_the_cache_is_full_ends_with_the_request_that_fills_it() {
    let config = config(&[]);
    let workload = workload(200, &config);
    let run = |warmup| {
        let mut device = Device::new(&config);
        replay(&workload, warmup)
            .run(&mut device, &mut lru(&workload), &cache(), &mut Unobserved)
            .expect("a run")
    };
    let full = run(Warmup::Full);
    assert!(full.warmup_requests > 10);
    let by_number = run(Warmup::Requests(full.warmup_requests));
    assert_eq!(full.timing, by_number.timing);
    // One request fewer, and the first that counts finds a free frame: not every miss evicts.
    let earlier = run(Warmup::Requests(full.warmup_requests - 1));
    assert!(earlier.pages.misses() > earlier.pages.evictions);
    assert_eq!(full.pages.misses(), full.pages.evictions);
}

#[test]
fn dirty_pages_are_flushed_at_the_end_without_being_evictions() {
    for sched in ["fcfs", "read_first"] {
        let config = config(&[("sched", word(sched))]);
        let workload = workload(500, &config);
        let run = |flush_at_end| {
            let mut device = Device::new(&config);
            let mut policy = lru(&workload);
            let replay = TimedReplay { flush_at_end, ..replay(&workload, Warmup::None) };
            let run =
                replay.run(&mut device, &mut policy, &cache(), &mut Unobserved).expect("a run");
            let mut dirty = 0;
            policy.for_each_resident(&mut |_, is_dirty| dirty += u64::from(is_dirty));
            (run, dirty)
        };
        let ((kept, dirty), (flushed, _)) = (run(false), run(true));
        assert!(dirty > 5, "{dirty}");
        assert_eq!((kept.pages.end_flushes, flushed.pages.end_flushes), (0, dirty), "{sched}");
        let (kept, flushed) = (&kept.timing.counters, &flushed.timing.counters);
        assert_eq!(flushed.device.flash_programs, kept.device.flash_programs + dirty, "{sched}");
        assert_eq!(flushed.eviction_wait_ns_sum, kept.eviction_wait_ns_sum, "{sched}");
        assert_eq!(flushed.dirty_evictions, kept.dirty_evictions, "{sched}");
        assert_eq!(flushed.makespan_ns, kept.makespan_ns, "{sched}: no request waits for them");
    }
}

/// Gives up the erase block of its oldest page in one piece, padded to four pages; takes no read
/// in.
struct Blocks(Vec<(Page, Lpn)>);

impl Policy for Blocks {
    type Miss = ();

    fn request(&mut self, r: &Request) -> Lookup<()> {
        match r.op {
            _ if self.0.iter().any(|&(page, _)| page == r.page) => Lookup::Hit(Slot(0)),
            Op::Read => Lookup::Bypass,
            Op::Write => Lookup::Miss(()),
        }
    }

    fn evict(&mut self, (): &mut (), _: &dyn DeviceView, plan: &mut Plan) {
        let block = self.0[0].1.0 / 4;
        let mut leaving = self.0.clone();
        leaving.retain(|(_, lpn)| lpn.0 / 4 == block);
        self.0.retain(|(_, lpn)| lpn.0 / 4 != block);
        leaving.sort_by_key(|(_, lpn)| *lpn);
        plan.open_group();
        leaving.iter().for_each(|&(page, _)| plan.flush_and_evict(page));
        let absent = |lpn: &Lpn| leaving.iter().all(|(_, other)| other != lpn);
        (block * 4..block * 4 + 4).map(Lpn).filter(absent).for_each(|lpn| plan.pad(lpn, false));
    }

    fn admit(&mut self, r: &Request, (): ()) -> Slot {
        self.0.push((r.page, r.lpn));
        Slot(0)
    }

    fn frames(&self) -> u32 {
        4
    }

    fn resident(&self) -> u32 {
        self.0.len() as u32
    }

    fn for_each_resident(&self, visit: &mut dyn FnMut(Page, bool)) {
        self.0.iter().for_each(|&(page, _)| visit(page, true));
    }
}

/// `docs/spec/device.md` 12, step by step on a drive of its own.
#[test]
fn the_frames_of_a_group_are_free_when_its_last_program_ends_whoever_takes_them() {
    for sched in ["fcfs", "read_first"] {
        let config = config(&[("sched", word(sched))]);
        let requests = [
            (0, Op::Write, 1),
            (0, Op::Write, 8),
            (0, Op::Write, 3),
            (0, Op::Write, 9),
            (1_000, Op::Write, 16), // pages 1 and 3 leave, 0 and 2 are padding
            (2_000, Op::Write, 17), // no eviction, and yet no free frame before that
            (2_000, Op::Read, 50),  // takes none
            (9_000_000_000, Op::Write, 24), // 8 and 9 leave, 10 and 11 are padding
            (18_000_000_000, Op::Write, 25), // all has been free for long
        ];
        let bytes = |(at, op, page): (Nanos, Op, u64)| (at, op, page * 4096, 4096);
        let workload = Workload::new(requests.map(bytes), &config).expect("on the drive");
        let mut seen = Seen::default();
        let run = replay(&workload, Warmup::None)
            .run(&mut Device::new(&config), &mut Blocks(Vec::new()), &cache(), &mut seen)
            .expect("a run");

        let mut device = Device::new(&config);
        let group = |device: &mut Device, now, pads: [u32; 2], pages: [u32; 4]| {
            device.advance(now);
            device.queues().count_latencies(false);
            for pad in pads {
                device.read(DriveLpn(pad));
            }
            let ends = pages.map(|page| {
                device.queues().count_latencies(!pads.contains(&page));
                device.write(DriveLpn(page)).end
            });
            device.queues().count_latencies(true);
            ends
        };
        let first = group(&mut device, 1_000, [0, 2], [0, 1, 2, 3]);
        device.advance(2_000);
        let read = device.read(DriveLpn(50)).expect("it was written").end;
        let second = group(&mut device, 9_000_000_000, [10, 11], [8, 9, 10, 11]);
        device.finish();
        let settled = device.queues().times().settle();
        let last =
            |ends: [PendingTime; 4]| ends.map(|end| settled.ns(end)).into_iter().max().expect("4");
        let hit_ns = cache().hit_ns;
        let now = 18_000_000_000;
        let expected = [0, 0, 0, 0, last(first), last(first), settled.ns(read), last(second), now];
        seen.completed.sort_by_key(|request| request.number);
        let ends: Vec<_> = seen.completed.iter().map(|r| r.completion_ns - hit_ns).collect();
        assert_eq!(ends, expected, "{sched}");

        let counters = &run.timing.counters;
        assert_eq!((counters.evictions, counters.dirty_evictions), (4, 4), "{sched}");
        assert_eq!((run.pages.destages, run.pages.padding_writes), (2, 4), "{sched}");
        assert_eq!(counters.device, device.counters(), "{sched}");
        // Padding is neither: page 50 was missed, and pages 1, 3, 8 and 9 were written back.
        assert_eq!((counters.read_misses, counters.device.flash_reads), (1, 5), "{sched}");
        let write_backs = device.counters().program_wait_ns_sum;
        assert_eq!(counters.eviction_wait_ns_sum, write_backs, "{sched}");
    }
}

/// `docs/spec/further-policies.md`, 2.1, step by step on a drive of its own. LARC refuses what it
/// sees for the first time.
#[test]
fn a_refused_write_goes_through_after_its_fetch_and_is_no_write_back() {
    for (sched, fetch) in [("fcfs", false), ("fcfs", true), ("read_first", true)] {
        let config = config(&[("sched", word(sched))]);
        let requests = [(0, Op::Write, 5), (0, Op::Write, 6), (0, Op::Read, 7), (10, Op::Write, 9)];
        let bytes = |(at, op, page): (Nanos, Op, u64)| (at, op, page * 4096, 4096);
        let workload = Workload::new(requests.map(bytes), &config).expect("on the drive");
        let params = destage_policies::check_params("larc", []).expect("defaults");
        let setup = Setup { params, ..Setup::new(30) };
        let mut larc = Larc::new(&setup, Dense::new(workload.pages()));
        let mut seen = Seen::default();
        let run = TimedReplay { fetch_on_write_miss: fetch, ..replay(&workload, Warmup::None) }
            .run(&mut Device::new(&config), &mut larc, &cache(), &mut seen)
            .expect("a run");

        let mut device = Device::new(&config);
        let ends = requests.map(|(now, op, page)| {
            device.advance(now);
            let page = DriveLpn(page as u32);
            if op == Op::Read {
                return device.read(page).expect("it was written").end;
            }
            if fetch {
                device.read(page);
            }
            device.queues().count_latencies(false);
            let end = device.write(page).end;
            device.queues().count_latencies(true);
            end
        });
        device.finish();
        let settled = device.queues().times().settle();
        seen.completed.sort_by_key(|request| request.number);
        let hit_ns = cache().hit_ns;
        let got: Vec<_> = seen.completed.iter().map(|r| r.completion_ns - hit_ns).collect();
        assert_eq!(got, ends.map(|end| settled.ns(end)), "{sched}");
        assert_eq!(run.timing.counters.device, device.counters(), "{sched}");
        assert_eq!((run.pages.bypasses, run.pages.written_through), (4, 3), "{sched}");
        assert_eq!((run.pages.destages, run.timing.counters.dirty_evictions), (0, 0), "{sched}");
        assert_eq!(run.timing.counters.eviction_wait_ns_sum, 0, "{sched}");
    }
}

#[test]
fn what_is_known_by_now_is_forgotten_and_changes_nothing() {
    let config = config(&[("sched", word("read_first"))]);
    // Some two names each, more than are kept, and slow enough for the drive to keep up.
    let workload = paced(60_000, 20, &config);
    let mut seen = Seen::default();
    let mut device = Device::new(&config);
    let run = replay(&workload, Warmup::None)
        .run(&mut device, &mut lru(&workload), &cache(), &mut seen)
        .expect("a run");
    assert!(seen.completed_by_last_access > 30_000, "{}", seen.completed_by_last_access);
    assert_eq!(device.queues().times().names(), 0);
    let responses = seen.completed.iter().map(|r| r.completion_ns - r.issued_ns).sum::<Nanos>();
    let counters = &run.timing.counters;
    assert_eq!(responses, counters.read_response_ns_sum + counters.write_response_ns_sum);
    assert_eq!(seen.completed.len(), 60_000);
}

#[test]
fn a_write_miss_that_fetches_waits_for_its_read() {
    let config = config(&[]);
    // One write of a page into an empty cache, on an idle drive.
    let workload = Workload::new([(0, Op::Write, 0, 4096)], &config).expect("on the drive");
    let run = |fetch_on_write_miss| {
        let mut device = Device::new(&config);
        let replay = TimedReplay { fetch_on_write_miss, ..replay(&workload, Warmup::None) };
        let run = replay.run(&mut device, &mut lru(&workload), &cache(), &mut Unobserved);
        run.expect("a run").timing.counters
    };
    let (without, with) = (run(false), run(true));
    assert_eq!((without.device.flash_reads, without.makespan_ns), (0, 0));
    // 25 us in the cells and 25 ns a byte on the bus.
    assert_eq!((with.device.flash_reads, with.makespan_ns), (1, 25_000 + 4096 * 25));
}

#[test]
fn an_observer_sees_every_access_request_and_operation() {
    for (sched, bus, gc) in [
        ("fcfs", "private", "foreground"),
        ("fcfs", "shared", "idle"),
        ("read_first", "private", "background"),
    ] {
        let changes = [("sched", word(sched)), ("bus", word(bus)), ("gc_mode", word(gc))];
        let config = config(&changes);
        let workload = workload(700, &config);
        let mut seen = Seen::default();
        let run = replay(&workload, Warmup::None)
            .run(&mut Device::new(&config), &mut lru(&workload), &cache(), &mut seen)
            .expect("a run");
        let counters = &run.timing.counters;
        assert_eq!(seen.accesses, counters.page_accesses);
        assert_eq!(seen.completed.len() as u64, counters.requests);
        let device = &counters.device;
        let total = device.flash_reads
            + device.flash_programs
            + device.gc_moves
            + device.summary_programs
            + device.erases;
        assert!(device.erases > 20, "{gc}");
        assert_eq!(seen.operations.len() as u64, total, "{sched} {bus} {gc}");
        let mut busy = vec![0; device.unit_busy_ns.len()];
        for op in &seen.operations {
            assert!(op.submitted_ns <= op.start_ns && op.start_ns <= op.end_ns);
            busy[op.unit as usize] += op.end_ns - op.start_ns;
        }
        assert_eq!(busy, device.unit_busy_ns);
        // Each host operation belongs to exactly one request.
        seen.completed.sort_by_key(|request| request.number);
        let mut next = 0;
        for request in &seen.completed {
            assert_eq!(request.operations.start, next);
            next = request.operations.end;
        }
        assert_eq!(next, device.flash_reads + device.flash_programs);
    }
}

#[test]
fn a_request_around_the_end_of_the_drive_is_one_request() {
    let config = config(&[]);
    let workload = Workload::new([(0, Op::Write, 398 * 4096, 5 * 4096)], &config).expect("wraps");
    let mut seen = Seen::default();
    let run = replay(&workload, Warmup::None)
        .run_bare(&mut Device::new(&config), &mut seen)
        .expect("a run");
    assert_eq!((run.timing.counters.requests, run.timing.counters.page_accesses), (1, 5));
    assert_eq!(seen.completed[0].operations, 0..5);
    assert_eq!(workload.pages(), 5);
}

#[test]
fn a_page_beyond_the_drive_and_an_arrival_in_the_past_are_errors_before_the_run() {
    let config = config(&[("address_mode", word("error"))]);
    let beyond = 400 * 4096;
    let error = |requests: &[(Nanos, Op, u64, u64)]| {
        Workload::new(requests.iter().copied(), &config).expect_err("refused").to_string()
    };
    assert!(error(&[(0, Op::Read, beyond, 1)]).contains("request 0: page 400 is beyond"));
    let text = error(&[(5, Op::Read, 0, 1), (4, Op::Read, 0, 1)]);
    assert_eq!(text, "request 1: it arrives at 4 ns, after 5 ns");
    assert!(Workload::new([(0, Op::Read, beyond - 1, 1)], &config).is_ok());
}
