//! A device that is lent to one run after another is at time 0 each time.

use destage_core::Nanos;
use destage_ssd::precondition::SplitMix64;
use destage_ssd::{Device, DeviceConfig, DeviceCounters, Drive, DriveLpn, Ftl, Prepared};

const MODES: &[&str] = &[
    "",
    "alloc = 'dynamic'",
    "gc_mode = 'background'",
    "gc_mode = 'idle'",
    "gc_step_pages = 'auto'",
    "gc_step_pages = 2\nsched = 'read_first'",
    "gc_victim = 'd-choices'",
    "gc_victim = 'cost-benefit'",
    "gc_victim = 'fifo'",
    "gc_victim = 'windowed-greedy'",
    "gc_victim = '2r-fifo'",
    "slc_blocks = 2",
    "slc_blocks = 2\nslc_policy = 'fold'\nalloc = 'dynamic'",
    "handles = 2\ngc_stream = 'own'",
    "summary_page = true",
    "buffer_pages = 16\nlink_ps_per_byte = 1000",
    "precondition = 'none'",
    "ftl = 'dftl'",
];

fn config(mode: &str) -> DeviceConfig {
    let base = "channels = 2\nblocks_per_plane = 256\npages_per_block = 16\nop_permille = 200\n";
    let fill = if mode.contains("precondition") { "" } else { "precondition = 'random'\n" };
    let text = format!("[device]\n{base}{fill}{mode}\n");
    Drive::parse(&text, "drive.toml").unwrap_or_else(|error| panic!("{mode}: {error}")).device
}

/// Random reads, writes and, of one page in `trims`, trims; what was counted and when it ended.
fn run(device: &mut Device, requests: u64, trims: u64, seed: u64) -> (DeviceCounters, Nanos) {
    let mut random = SplitMix64::new(seed);
    let pages = u64::from(device.geometry().logical_pages);
    let mut now = 0;
    for _ in 0..requests {
        now += random.next() % 400_000;
        device.advance(now);
        let lpn = DriveLpn((random.next() % pages) as u32);
        match random.next() % 4 {
            0 => drop(device.read(lpn)),
            1 if trims > 0 && random.next().is_multiple_of(trims) => drop(device.trim(lpn)),
            _ => drop(device.write(lpn)),
        }
    }
    let end = device.last_end();
    device.finish();
    (device.counters(), end)
}

#[test]
fn every_run_begins_with_the_device_at_time_0() {
    for mode in MODES {
        let config = config(mode);
        let prepared = Prepared::from(Device::new(&config));
        // A few changes, trims among them; so many that all is copied; so many trims.
        for (requests, trims) in [(0, 0), (100, 0), (100, 2), (20_000, 0), (8_000, 1), (100, 2)] {
            let mut fresh = Device::clone(&prepared);
            let mut lent = prepared.lend();
            assert_eq!(lent.ftl(), prepared.ftl(), "{mode}, before {requests} requests");
            let trims = if config.ftl.info().name == "page" { trims } else { 0 };
            let expected = run(&mut fresh, requests, trims, requests);
            assert_eq!(run(&mut lent, requests, trims, requests), expected, "{mode}, {requests}");
            lent.ftl().check();
        }
    }
}

#[test]
fn runs_at_once_have_devices_of_their_own() {
    let prepared = Prepared::from(Device::new(&config("")));
    let (mut one, mut other) = (prepared.lend(), prepared.lend());
    let first = run(&mut one, 500, 3, 1);
    assert_eq!(other.ftl(), prepared.ftl());
    assert_eq!(run(&mut other, 500, 3, 1), first);
}
