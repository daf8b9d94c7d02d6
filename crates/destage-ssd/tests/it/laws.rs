//! Closed forms, and laws that hold on random loads for every mode of the device.

use destage_core::{DeviceView, Lpn, NEVER, Nanos, PlaneId, UnitId};
use destage_ssd::config::{Table, Value};
use destage_ssd::precondition::SplitMix64;
use destage_ssd::timing::OperationKind;
use destage_ssd::{Device, DeviceConfig, DriveLpn, Ftl, OperationRecord};

fn config(keys: &[(&str, Value)]) -> DeviceConfig {
    let mut table = Table::new();
    for (key, size) in [
        ("channels", 2),
        ("chips_per_channel", 2),
        ("blocks_per_plane", 16),
        ("pages_per_block", 8),
        ("logical_pages", 320),
        ("gc_low_pages", 8),
    ] {
        table.insert(key.into(), Value::Int(size));
    }
    table.extend(keys.iter().map(|(key, value)| (key.to_string(), value.clone())));
    DeviceConfig::from_table(&table).expect("a good configuration")
}

fn word(text: &str) -> Value {
    Value::Text(text.into())
}

/// Random reads and writes, bunched; ends with everything served.
fn load(device: &mut Device, requests: u32, mut each: impl FnMut(&mut Device, DriveLpn)) -> Nanos {
    let mut random = SplitMix64::new(5);
    let pages = u64::from(device.geometry().logical_pages);
    let mut now = 0;
    for _ in 0..requests {
        now += random.next() % 300_000;
        device.advance(now);
        let lpn = DriveLpn((random.next() % pages) as u32);
        if random.next().is_multiple_of(4) {
            device.read(lpn);
        } else {
            each(device, lpn);
            device.write(lpn);
        }
    }
    device.finish();
    now
}

/// Ends of the host's operations by number: end and service.
fn ends(device: &mut Device) -> Vec<(Nanos, Nanos)> {
    let mut found: Vec<_> = std::iter::from_fn(|| device.queues().next_end()).collect();
    found.sort_unstable_by_key(|&(_, number, _)| number);
    found.into_iter().map(|(end, _, service)| (end, service)).collect()
}

#[test]
fn waiting_for_another_page_is_no_service() {
    let mut device = Device::new(&config(&[]));
    device.queues().keep_ends();
    // Pages of one chip, at one instant.
    let chips = device.units();
    let one = device.write(DriveLpn(0)).end.known().expect("fcfs");
    device.write(DriveLpn(chips));
    device.finish();
    assert_eq!(ends(&mut device), [(one, one), (2 * one, one)]);
}

#[test]
fn units_are_busy_with_serving_pages_and_with_what_the_ftl_does_for_them_first() {
    for ftl in ["page", "bast", "dftl"] {
        let mut device = Device::new(&config(&[
            ("ftl", word(ftl)),
            ("channels", Value::Int(1)),
            ("chips_per_channel", Value::Int(1)),
            ("blocks_per_plane", Value::Int(128)),
            ("summary_page", Value::Bool(false)),
            ("precondition", word("sequential")),
        ]));
        device.queues().keep_ends();
        load(&mut device, 4_000, |_, _| {});
        assert!(device.counters().gc_runs > 0, "{ftl}: there is something to be served for");
        let busy: Nanos = device.queues().busy_ns().sum();
        let served: Nanos = ends(&mut device).iter().map(|&(_, service)| service).sum();
        assert_eq!(served, busy, "{ftl}");
    }
}

#[test]
fn one_read_takes_command_array_and_transfer() {
    let config = config(&[("cmd_ns", Value::Int(300)), ("precondition", word("sequential"))]);
    let mut device = Device::new(&config);
    device.advance(1_000);
    let served = device.read(DriveLpn(17)).expect("the page is mapped");
    assert_eq!(served.end.known(), Some(1_000 + 300 + 25_000 + 102_400));
}

#[test]
fn one_write_takes_command_transfer_and_program_and_is_transferred_before_its_program() {
    let mut device = Device::new(&config(&[("cmd_ns", Value::Int(300))]));
    let served = device.write(DriveLpn(0));
    assert_eq!(served.transferred.known(), Some(300 + 102_400));
    assert_eq!(served.end.known(), Some(300 + 102_400 + 200_000));
}

#[test]
fn units_work_side_by_side_on_private_buses_and_wait_for_a_shared_one() {
    for (bus, second) in [("private", 127_400), ("shared", 25_000 + 2 * 102_400)] {
        let mut device = Device::new(&config(&[("bus", word(bus))]));
        assert_eq!(device.read(DriveLpn(0)).expect("charged").end.known(), Some(127_400));
        // Striping CWDP: page 2 is on the other chip of channel 0.
        assert_eq!(device.read(DriveLpn(2)).expect("charged").end.known(), Some(second), "{bus}");
    }
}

#[test]
fn backlog_and_collection_cost_are_exactly_what_the_next_program_waits() {
    let mut device = Device::new(&config(&[
        ("precondition", word("sequential")),
        ("summary_page", Value::Bool(true)),
        ("logical_pages", Value::Int(280)),
    ]));
    let mut waits = (0, Nanos::MAX, 0u32);
    load(&mut device, 3000, |device, lpn| {
        let plane = device.target(Lpn(lpn.0.into()));
        let wait = device.backlog_ns(device.unit_of(plane)) + device.gc_cost_ns(plane);
        waits.0 += wait;
        waits.1 = waits.1.min(wait);
        waits.2 += u32::from(device.gc_cost_ns(plane) > 0);
    });
    assert_eq!(device.counters().program_wait_ns_sum, waits.0);
    assert_eq!(waits.1, 0, "some program finds an idle unit");
    assert!(waits.2 > 100, "collections were predicted");
}

#[test]
fn every_mode_keeps_the_laws_of_the_flash_state_and_loses_no_operation() {
    for mode in ["foreground", "background", "idle"] {
        for alloc in ["static", "dynamic"] {
            for (sched, bus) in [("fcfs", "private"), ("fcfs", "shared"), ("read_first", "private")]
            {
                if sched == "read_first" && mode == "idle" {
                    continue;
                }
                let config = config(&[
                    ("gc_mode", word(mode)),
                    ("alloc", word(alloc)),
                    ("sched", word(sched)),
                    ("bus", word(bus)),
                    ("precondition", word("random")),
                    ("precondition_writes", Value::Int(500)),
                    ("gc_high_pages", Value::Int(40)),
                ]);
                let mut device = Device::new(&config);
                let mut writes = 0;
                load(&mut device, 2000, |_, _| writes += 1);
                device.ftl().check();
                assert_eq!(device.check_conservation(), Ok(()));
                let counters = device.counters();
                let name = format!("{mode}, {alloc}, {sched}, {bus}");
                assert_eq!(counters.flash_programs, writes, "{name}");
                assert_eq!(counters.flash_reads, 2000 - writes, "{name}");
                assert_eq!(counters.gc_runs, counters.erases, "{name}");
                assert!(counters.erases > 0, "{name}: there was something to collect");
                for unit in 0..device.units() {
                    let unit = UnitId(unit);
                    assert_eq!((device.backlog_ns(unit), device.in_gc(unit)), (0, false), "{name}");
                }
            }
        }
    }
}

#[test]
fn conservation_fails_while_operations_wait() {
    let mut device = Device::new(&config(&[]));
    device.write(DriveLpn(0));
    let message = device.check_conservation().expect_err("the program has not ended");
    assert_eq!(message, "the device does not conserve: 1 units still at work after the end, not 0");
}

#[test]
fn records_tell_of_every_operation_and_add_up_to_the_counters() {
    for (sched, bus) in [("fcfs", "private"), ("fcfs", "shared"), ("read_first", "private")] {
        let name = format!("{sched}, {bus}");
        let config = config(&[
            ("sched", word(sched)),
            ("bus", word(bus)),
            ("precondition", word("sequential")),
            ("summary_page", Value::Bool(true)),
            ("logical_pages", Value::Int(280)),
        ]);
        let mut device = Device::new(&config);
        device.queues().keep_operations();
        let mut records: Vec<OperationRecord> = Vec::new();
        load(&mut device, 2000, |device, _| records.extend(device.queues().take_operations()));
        records.extend(device.queues().take_operations());
        assert_eq!(device.queues().take_operations().count(), 0, "{name}: fetched once");
        let counters = device.counters();
        let count = |kind| records.iter().filter(|r| r.kind == kind).count() as u64;
        assert_eq!(count(OperationKind::Read), counters.flash_reads, "{name}");
        assert_eq!(count(OperationKind::Write), counters.flash_programs, "{name}");
        assert_eq!(count(OperationKind::Move), counters.gc_moves, "{name}");
        assert_eq!(count(OperationKind::Summary), counters.summary_programs, "{name}");
        assert_eq!(count(OperationKind::Erase), counters.erases, "{name}");
        let host = |kind| records.iter().filter(move |r| r.kind == kind && !r.collection);
        let waits = host(OperationKind::Write).map(|r| r.start_ns - r.submitted_ns).sum::<Nanos>();
        let latencies = host(OperationKind::Read).map(|r| r.end_ns - r.submitted_ns).sum::<Nanos>();
        assert_eq!(waits, counters.program_wait_ns_sum, "{name}");
        assert_eq!(latencies, counters.read_miss_latency_ns_sum, "{name}");

        records.sort_unstable_by_key(|r| r.number);
        assert!(records.iter().zip(0..).all(|(r, number)| r.number == number), "{name}");
        let mut submissions = records.iter().filter(|r| r.submission != NEVER);
        assert!(submissions.by_ref().zip(0..).all(|(r, number)| r.submission == number), "{name}");
        let place = |r: &&OperationRecord| device.geometry().place(PlaneId(r.plane));
        assert!(
            records
                .iter()
                .all(|r| (UnitId(r.unit), r.channel) == (place(&r).unit, place(&r).channel))
        );
        let blocks = device.geometry().blocks_per_plane;
        assert!(records.iter().all(|r| r.block.is_some_and(|block| block / blocks == r.plane)));

        // A unit serves one operation at a time: its times are disjoint and add up.
        records.sort_unstable_by_key(|r| (r.unit, r.start_ns, r.end_ns));
        assert!(records.windows(2).all(|w| w[0].unit < w[1].unit || w[0].end_ns <= w[1].start_ns));
        for (unit, &busy) in (0..).zip(&counters.unit_busy_ns) {
            let served = records.iter().filter(|r| r.unit == unit);
            assert_eq!(served.map(|r| r.end_ns - r.start_ns).sum::<Nanos>(), busy, "{name}");
        }
    }
}

#[test]
fn reads_first_changes_the_order_and_not_the_work() {
    let run = |sched| {
        let config = config(&[("sched", word(sched)), ("precondition", word("sequential"))]);
        let mut device = Device::new(&config);
        load(&mut device, 3000, |_, _| {});
        device.counters()
    };
    let (fcfs, reads_first) = (run("fcfs"), run("read_first"));
    assert_eq!(fcfs.unit_busy_ns, reads_first.unit_busy_ns);
    assert_eq!(fcfs.gc_moves, reads_first.gc_moves);
    assert!(reads_first.read_miss_latency_ns_sum < fcfs.read_miss_latency_ns_sum);
    assert!(reads_first.program_wait_ns_sum > fcfs.program_wait_ns_sum);
}

#[test]
fn latencies_never_move_a_page_under_static_allocation() {
    let run = |program_ns| {
        let program_ns = Value::List(vec![Value::Int(program_ns)]);
        let mut device = Device::new(&config(&[("program_ns", program_ns)]));
        load(&mut device, 3000, |_, _| {});
        let counters = device.counters();
        (counters.gc_moves, device.ftl().erase_counts().to_vec())
    };
    assert_eq!(run(200_000), run(3));
}

#[test]
fn a_clone_goes_on_as_the_drive_it_was_made_from() {
    let mut device = Device::new(&config(&[("precondition", word("sequential"))]));
    load(&mut device, 500, |_, _| {});
    let mut clone = device.clone();
    let now = 1_000_000_000_000;
    for device in [&mut device, &mut clone] {
        device.advance(now);
        for lpn in 0..100 {
            device.write(DriveLpn(lpn));
        }
    }
    assert_eq!(device.counters(), clone.counters());
}
