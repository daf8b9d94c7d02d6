//! Collection in steps and suspension against the closed forms of `docs/spec/gc-steps.md` 8, and
//! predictions that come true.

use destage_core::{DeviceView, Nanos, PlaneId, UnitId};
use destage_ssd::config::{GcVictim, Table, Value};
use destage_ssd::precondition::SplitMix64;
use destage_ssd::{Device, DeviceConfig, DriveLpn, Ftl};

const READ_NS: Nanos = 40;
const PROGRAM_NS: Nanos = 500;
const ERASE_NS: Nanos = 3_000;

/// One plane, full in order.
fn device(blocks: u64, data: u64, pages: u64, keys: &[(&str, Value)]) -> Device {
    let int = |value: u64| Value::Int(value.into());
    let ints = |value: u64| Value::List(vec![int(value)]);
    let sizes = [
        ("blocks_per_plane", int(blocks)),
        ("pages_per_block", int(data)),
        ("logical_pages", int(pages)),
        ("precondition", word("sequential")),
        ("read_ns", ints(READ_NS)),
        ("program_ns", ints(PROGRAM_NS)),
        ("erase_ns", int(ERASE_NS)),
        ("bus_ps_per_byte", int(0)),
    ];
    let all = sizes.iter().chain(keys);
    let table: Table = all.map(|(key, value)| (key.to_string(), value.clone())).collect();
    Device::new(&DeviceConfig::from_table(&table).expect("a good configuration"))
}

fn word(text: &str) -> Value {
    Value::Text(text.into())
}

fn step(pages: Option<u64>) -> (&'static str, Value) {
    ("gc_step_pages", pages.map_or_else(|| word("auto"), |pages| Value::Int(pages.into())))
}

/// Random writes, each when everything before it has ended: the longest wait for the unit.
fn longest_wait_ns(device: &mut Device, rounds: u64) -> Nanos {
    let pages = device.geometry().logical_pages;
    let mut random = SplitMix64::new(2011);
    let (mut now, mut longest) = (0, 0);
    for _ in 0..rounds * u64::from(pages) {
        device.advance(now);
        let end = device.write(DriveLpn(random.below(pages))).end.known().expect("fcfs");
        longest = longest.max(end - PROGRAM_NS - now);
        now = device.last_end();
    }
    longest
}

#[test]
fn a_write_waits_for_the_moves_of_a_step_and_an_erase_at_most() {
    let low = |pages| ("gc_low_pages", Value::Int(pages));
    let move_ns = READ_NS + PROGRAM_NS;
    let wait = |keys: &[(&str, Value)]| longest_wait_ns(&mut device(96, 16, 1248, keys), 8);
    // With four blocks between the mark and the floor even two moves at once are enough.
    for pages in [2, 4] {
        let waited = wait(&[low(80), step(Some(pages))]);
        assert_eq!(waited, pages * move_ns + ERASE_NS, "{pages} pages at once");
    }
    // A victim has fewer valid pages than twice eight: no erase follows eight moves.
    let waited = wait(&[low(80), step(Some(8))]);
    assert!(waited > 8 * move_ns && waited < 8 * move_ns + ERASE_NS, "{waited}");
    let whole = wait(&[low(80)]);
    assert!(whole > 9 * move_ns + ERASE_NS, "whole blocks: {whole}");
    // Where one page at once is too few, the floor is reached: nothing is gained then.
    assert!(wait(&[low(32), step(Some(1))]) > 4 * move_ns + ERASE_NS);
    let auto = wait(&[low(32), step(None)]);
    assert!(auto < whole && auto <= 8 * move_ns + ERASE_NS, "auto: {auto}, whole blocks: {whole}");
}

/// Pages programmed per page written: ten overwrites to get there, then ten that count.
fn waf(mut device: Device) -> f64 {
    let pages = device.geometry().logical_pages;
    let mut random = SplitMix64::new(2026);
    let mut writes = |device: &mut Device| {
        for _ in 0..10 * u64::from(pages) {
            device.advance(0);
            device.write(DriveLpn(random.below(pages)));
        }
    };
    writes(&mut device);
    let before = device.ftl().flash_state().programs;
    writes(&mut device);
    (device.ftl().flash_state().programs - before) as f64 / (10 * u64::from(pages)) as f64
}

#[test]
fn steps_amplify_writes_as_whole_blocks_do() {
    for rule in ["greedy", "fifo", "windowed-greedy"] {
        let with = |step_keys: Option<(&'static str, Value)>| {
            let rule = ("gc_victim", word(rule));
            let low = ("gc_low_pages", Value::Int(128));
            let keys: Vec<_> = [rule, low].into_iter().chain(step_keys).collect();
            waf(device(256, 64, 13_000, &keys))
        };
        let whole = with(None);
        for pages in [None, Some(8)] {
            let steps = with(Some(step(pages)));
            assert!((steps / whole - 1.0).abs() < 0.01, "{rule} {pages:?}: {steps}, {whole}");
        }
    }
}

#[test]
fn a_step_is_predicted_to_the_nanosecond_under_every_rule() {
    for &rule in GcVictim::NAMES {
        for pages in [None, Some(1), Some(3)] {
            let shared = ("gc_stream", word("shared"));
            let summary = ("summary_page", Value::Bool(true));
            let low = ("gc_low_pages", Value::Int(20));
            let types =
                |times: &[i128]| Value::List(times.iter().map(|&t| Value::Int(t)).collect());
            let read = ("read_ns", types(&[40, 55, 70]));
            let program = ("program_ns", types(&[500, 900]));
            let rule_key = ("gc_victim", word(rule));
            let keys = [rule_key, shared, summary, low, step(pages), read, program];
            let mut device = device(16, 8, 64, &keys);
            let mut random = SplitMix64::new(7);
            let mut predicted_steps = 0;
            for at in 0..3000 {
                let now = 700 * at;
                device.advance(now);
                let lpn = DriveLpn(random.below(64) >> (at % 3)); // the lowest pages are hot
                if random.below(8) == 0 {
                    device.trim(lpn);
                    continue;
                }
                let state = device.ftl().clone();
                let cost = device.gc_cost_ns(PlaneId(0));
                let backlog = device.backlog_ns(UnitId(0));
                assert!(device.ftl() == &state, "{rule}: a prediction changes nothing");
                let (wait, before) = (device.counters().program_wait_ns_sum, now);
                device.write(lpn);
                let waited = device.counters().program_wait_ns_sum - wait;
                assert_eq!(waited, backlog + cost, "{rule} {pages:?} at {before}");
                predicted_steps += u64::from(cost > 0);
                device.ftl().check();
            }
            let erases = device.counters().erases;
            assert!(erases > 100 && predicted_steps > erases, "{rule} {pages:?}: {erases}");
        }
    }
}

/// Reads among writes, in a burst each: the longest time from the submission of a read to its end,
/// less the reads before it.
fn longest_read_ns(keys: &[(&str, Value)]) -> (Nanos, u64) {
    let first = [("sched", word("read_first"))];
    let all: Vec<_> = first.iter().chain(keys).cloned().collect();
    let mut device = device(96, 16, 1248, &all);
    let mut random = SplitMix64::new(2012);
    let (mut reads, mut now) = (Vec::new(), 0);
    for _ in 0..20_000 {
        now += Nanos::from(random.below(3_000));
        device.advance(now);
        // Pages that are never written here: every read is eligible at once.
        if random.below(3) == 0 {
            let served = device.read(DriveLpn(random.below(200))).expect("mapped");
            reads.push((now, served.end));
        } else {
            device.write(DriveLpn(200 + random.below(1048)));
        }
    }
    device.finish();
    let settled = device.queues().times().settle();
    let mut free = 0;
    let longest = reads.iter().map(|&(submitted, end)| {
        let end = settled.ns(end);
        let waited = end - READ_NS - submitted.max(free);
        free = end;
        waited
    });
    (longest.max().expect("reads"), device.counters().suspensions.unwrap_or(0))
}

#[test]
fn a_read_waits_for_a_suspension_and_the_reads_before_it_at_most() {
    let int = |value| Value::Int(value);
    let times = [("suspend_ns", int(70)), ("resume_ns", int(30)), ("suspend_max", int(1_000_000))];
    let with = |word_of: &str| {
        let suspend = ("suspend", word(word_of));
        longest_read_ns(&times.iter().cloned().chain([suspend]).collect::<Vec<_>>())
    };
    assert_eq!(with("none").1, 0);
    assert!(with("none").0 > ERASE_NS - 100);
    let (waited, suspended) = with("erase");
    assert!(waited > 70 && waited <= PROGRAM_NS + READ_NS && suspended > 100, "{waited}");
    let (waited, suspended) = with("program");
    assert!(waited == 70 && suspended > 1000, "{waited}, {suspended}");
}

#[test]
fn suspension_changes_times_and_nothing_else() {
    let counters = |suspend: &str| {
        let first = [("sched", word("read_first")), ("suspend", word(suspend))];
        let times = [("suspend_ns", Value::Int(70)), ("resume_ns", Value::Int(30))];
        let mut device = device(96, 16, 1248, &[first, times].concat());
        let mut random = SplitMix64::new(3);
        for at in 0..20_000 {
            device.advance(at * 900);
            let lpn = DriveLpn(random.below(1248));
            if random.below(2) == 0 {
                device.read(lpn);
            } else {
                device.write(lpn);
            }
        }
        device.finish();
        device.check_conservation().expect("nothing is lost");
        device.counters()
    };
    let (none, program) = (counters("none"), counters("program"));
    let work = |c: &destage_ssd::DeviceCounters| {
        (c.flash_reads, c.flash_programs, c.gc_runs, c.gc_moves, c.erases, c.block_erases_max)
    };
    assert_eq!(work(&none), work(&program));
    // Each costs 70 ns, and 30 ns or what had passed of them.
    let busy = |c: &destage_ssd::DeviceCounters| c.unit_busy_ns.iter().sum::<Nanos>();
    let suspensions = program.suspensions.expect("counted");
    let longer = busy(&program) - busy(&none);
    assert!(suspensions > 1000 && longer >= 70 * suspensions && longer <= 100 * suspensions);
}
