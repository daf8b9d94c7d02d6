//! Closed forms of small devices.

use super::*;
use destage_ssd::config::{Table, Value};
use destage_ssd::{DeviceConfig, Ftl as _};

fn device(keys: &[(&str, i128)], precondition: &str) -> Device {
    let mut table = Table::new();
    table.insert("precondition".into(), Value::Text(precondition.into()));
    for (key, value) in [
        ("channels", 4),
        ("blocks_per_plane", 64),
        ("pages_per_block", 16),
        ("bus_ps_per_byte", 0),
        ("program_ns", 200_000),
        ("read_ns", 50_000),
        ("erase_ns", 0),
        ("logical_pages", 3_000),
    ]
    .iter()
    .chain(keys)
    {
        let value = Value::Int(*value);
        let is_list = matches!(*key, "read_ns" | "program_ns");
        table.insert((*key).into(), if is_list { Value::List(vec![value]) } else { value });
    }
    Device::new(&DeviceConfig::from_table(&table).expect("a good device"))
}

fn reads(changes: impl FnOnce(&mut Step)) -> Step {
    let mut step = Step {
        seed: 1,
        requests: 1000,
        uncounted: 0,
        depth: 1,
        jobs: 1,
        batch: false,
        read_percent: 100,
        random: [true; 2],
        block_bytes: 4096,
        offset_bytes: 0,
        size_bytes: 2048 * 4096,
        skip_bytes: 0,
        think_ns: 0,
        delay_ns: 0,
        without_reads: false,
        zones: Vec::new(),
    };
    changes(&mut step);
    step
}

fn played(device: &mut Device, step: Step) -> Played {
    play(device, &[step], &Control::default()).expect("a step").remove(0)
}

#[test]
fn one_read_at_a_time_takes_command_firmware_and_flash() {
    let keys = [("command_ns", 700), ("firmware_read_ns", 3_000), ("link_ps_per_byte", 500)];
    let read = played(&mut device(&keys, "sequential"), reads(|_| ())).read;
    assert_eq!((read.requests, read.min_ns, read.max_ns), (1000, 55_748, 55_748));
    assert_eq!(read.sum_ns, 55_748 * 1000);
    assert_eq!(read.bins.iter().sum::<u64>(), 1000);
}

#[test]
fn writes_without_the_reads_beside_them_are_the_same_writes() {
    let step = |without_reads: bool| {
        reads(|step| {
            step.read_percent = 70;
            step.without_reads = without_reads;
        })
    };
    let [with, without] =
        [false, true].map(|without| played(&mut device(&[], "sequential"), step(without)));
    assert!(with.read.requests > 600, "{with:?}");
    assert_eq!((without.read.requests, without.write.requests), (0, with.write.requests));
}

#[test]
fn a_stride_of_all_units_keeps_one_unit_busy() {
    let mut device = device(&[], "sequential");
    let stride = |pages: u64| {
        reads(|step| {
            step.random = [false; 2];
            step.skip_bytes = (pages - 1) * 4096;
            step.depth = 8;
            step.requests = 400;
            step.uncounted = 200;
        })
    };
    let steps = play(&mut device, &[stride(4), stride(1)], &Control::default()).expect("two steps");
    assert_eq!(steps[0].read.sum_ns / 200, 8 * 50_000);
    assert_eq!(steps[1].read.sum_ns / 200, 2 * 50_000);
}

#[test]
fn a_batch_waits_for_its_slowest_request() {
    let mut device = device(&[], "sequential");
    let batch = reads(|step| {
        step.random = [false; 2];
        step.skip_bytes = 3 * 4096;
        step.depth = 2;
        step.batch = true;
        step.requests = 100;
    });
    let read = played(&mut device, batch).read;
    assert_eq!((read.min_ns, read.max_ns), (50_000, 100_000));
}

#[test]
fn writes_fill_the_buffer_and_then_wait_for_the_flash() {
    let mut device = device(&[("buffer_pages", 8)], "none");
    let write = reads(|step| {
        step.read_percent = 0;
        step.random = [false; 2];
        step.requests = 40;
    });
    let [begin, end] = [8u128, 40].map(|pages| (pages - 8) * 200_000 / 4);
    let played = played(&mut device, write);
    assert_eq!(played.write.min_ns, 0);
    assert_eq!(played.write.sum_ns, end - begin);
}

#[test]
fn delays_thinking_zones_and_directions_are_kept() {
    let mut device = device(&[], "sequential");
    let step = reads(|step| {
        step.delay_ns = 1_000;
        step.think_ns = 10_000;
        step.requests = 2000;
        step.read_percent = 70;
        step.zones = vec![[80, 20], [20, 80]];
    });
    let played = played(&mut device, step);
    assert_eq!(played.begin_ns, 1_000);
    assert!((1330..1470).contains(&played.read.requests), "{}", played.read.requests);
    assert_eq!(played.read.requests + played.write.requests, 2000);
    let busy = played.read.sum_ns + played.write.sum_ns;
    assert_eq!(u128::from(played.end_ns), 1_000 + busy + 1999 * 10_000);
}

#[test]
fn a_step_beyond_the_device_is_an_error() {
    let step = reads(|step| step.size_bytes = 3_001 * 4096);
    let error = play(&mut device(&[], "sequential"), &[step], &Control::default());
    assert!(error.unwrap_err().to_string().contains("beyond the device"));
}

#[test]
fn jobs_are_as_many_more_requests_in_flight() {
    let one = played(&mut device(&[], "sequential"), reads(|step| step.depth = 8));
    let four =
        played(&mut device(&[], "sequential"), reads(|step| (step.depth, step.jobs) = (2, 4)));
    assert_eq!((one.read.sum_ns, one.end_ns), (four.read.sum_ns, four.end_ns));
}

#[test]
fn requests_that_follow_each_other_do_so_in_each_jobs_part_of_the_region() {
    let step = reads(|step| {
        (step.jobs, step.random, step.read_percent, step.requests) = (4, [false; 2], 0, 512);
    });
    let mut drive = device(&[], "none");
    let wrote = played(&mut drive, step);
    assert_eq!((wrote.write.requests, wrote.programs, wrote.erases), (512, 512, 0));
    assert_eq!(drive.ftl().flash_state().mapped_pages, 512, "no page twice");
}

#[test]
fn programs_are_counted_with_those_of_collections_and_without_the_first_requests() {
    let writes = |uncounted: u64| {
        reads(|step| {
            (step.read_percent, step.requests, step.uncounted) = (0, 20_000, uncounted);
            step.size_bytes = 3000 * 4096;
        })
    };
    let whole = played(&mut device(&[], "sequential"), writes(0));
    let half = played(&mut device(&[], "sequential"), writes(10_000));
    assert_eq!((whole.write.requests, half.write.requests), (20_000, 10_000));
    assert!(whole.programs > whole.write.requests && whole.erases > 0, "{whole:?}");
    assert!(half.programs < whole.programs && half.erases < whole.erases, "{half:?}");
}

#[test]
fn a_device_with_a_map_cache_plays_steps() {
    let mut table = Table::new();
    for (key, value) in [("map_cache", "16KiB"), ("precondition", "none")] {
        table.insert(key.into(), Value::Text(value.into()));
    }
    for (key, value) in [
        ("channels", 4),
        ("blocks_per_plane", 200),
        ("pages_per_block", 16),
        ("bus_ps_per_byte", 0),
        ("erase_ns", 1_000_000),
        ("logical_pages", 10_000),
        ("page_bytes", 4096),
        ("buffer_pages", 8),
    ] {
        table.insert(key.into(), Value::Int(value));
    }
    for (key, value) in [("read_ns", 50_000), ("program_ns", 200_000)] {
        table.insert(key.into(), Value::List(vec![Value::Int(value)]));
    }
    let config = DeviceConfig::from_table(&table).expect("a good device");
    let mut drive = Device::new(&config);
    let step = |read_percent, depth, random| {
        reads(|step| {
            (step.read_percent, step.depth, step.random) = (read_percent, depth, [random; 2]);
            (step.requests, step.size_bytes) = (3_000, 9_000 * 4096);
        })
    };
    let steps = [
        step(0, 8, false),
        step(100, 8, true),
        step(0, 1, true),
        step(50, 32, true),
        step(0, 4, true),
    ];
    let all = play(&mut drive, &steps, &Control::default()).expect("steps");
    for pair in all.windows(2) {
        assert!(pair[0].end_ns <= pair[1].begin_ns, "{pair:?}");
    }
}
