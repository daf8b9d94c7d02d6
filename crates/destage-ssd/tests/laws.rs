//! Closed forms, and laws that hold on random loads for every mode of the device.

use destage_core::{DeviceView, Lpn, Nanos, UnitId};
use destage_ssd::config::{Table, Value};
use destage_ssd::precondition::SplitMix64;
use destage_ssd::{Device, DeviceConfig, Ftl};

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
fn load(device: &mut Device, requests: u32, mut each: impl FnMut(&mut Device, u32)) -> Nanos {
    let mut random = SplitMix64::new(5);
    let pages = u64::from(device.geometry().logical_pages);
    let mut now = 0;
    for _ in 0..requests {
        now += random.next() % 300_000;
        device.advance(now);
        let lpn = (random.next() % pages) as u32;
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

#[test]
fn one_read_takes_command_array_and_transfer() {
    let config = config(&[("cmd_ns", Value::Int(300)), ("precondition", word("sequential"))]);
    let mut device = Device::new(&config);
    device.advance(1_000);
    let served = device.read(17).expect("the page is mapped");
    assert_eq!(served.end.known(), Some(1_000 + 300 + 25_000 + 102_400));
}

#[test]
fn one_write_takes_command_transfer_and_program_and_is_transferred_before_its_program() {
    let mut device = Device::new(&config(&[("cmd_ns", Value::Int(300))]));
    let served = device.write(0);
    assert_eq!(served.transferred.known(), Some(300 + 102_400));
    assert_eq!(served.end.known(), Some(300 + 102_400 + 200_000));
}

#[test]
fn units_work_side_by_side_on_private_buses_and_wait_for_a_shared_one() {
    for (bus, second) in [("private", 127_400), ("shared", 25_000 + 2 * 102_400)] {
        let mut device = Device::new(&config(&[("bus", word(bus))]));
        assert_eq!(device.read(0).expect("charged").end.known(), Some(127_400));
        // Striping CWDP: page 2 is on the other chip of channel 0.
        assert_eq!(device.read(2).expect("charged").end.known(), Some(second), "{bus}");
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
        let plane = device.target(Lpn(lpn.into()));
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
        (counters.gc_moves, device.ftl().erase_counts().collect::<Vec<_>>())
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
            device.write(lpn);
        }
    }
    assert_eq!(device.counters(), clone.counters());
}
