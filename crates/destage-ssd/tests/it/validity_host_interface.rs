//! Current SSDs against closed forms: the end of an SLC cache, what folding adds, a link that
//! is the narrowest place, and what handles save. `docs/validity.md` shows the numbers.

use destage_core::{Nanos, Op};
use destage_ssd::precondition::SplitMix64;
use destage_ssd::saturation::greedy_waf;
use destage_ssd::{Command, Device, DeviceConfig, Drive, DriveLpn, WriteHint};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The drive of a file with these lines.
fn drive(lines: &str) -> DeviceConfig {
    let text = format!("[device]\n{lines}\n");
    Drive::parse(&text, "drive.toml").unwrap_or_else(|error| panic!("{error}")).device
}

/// In `0..below`.
fn draw(random: &mut SplitMix64, below: u32) -> u32 {
    ((u128::from(random.next()) * u128::from(below)) >> 64) as u32
}

/// A closed loop of requests of some pages in order: when each of them is done.
fn closed_loop(
    device: &mut Device,
    op: Op,
    pages: impl Iterator<Item = u32>,
    each: usize,
    depth: usize,
) -> Vec<Nanos> {
    let (mut outstanding, mut now) = (BinaryHeap::new(), 0);
    let mut ends = Vec::new();
    for (k, lpn) in pages.enumerate() {
        if k % each == 0 {
            if outstanding.len() == depth {
                let Reverse(first): Reverse<Nanos> = outstanding.pop().expect("not empty");
                now = first.max(now);
            }
            device.advance(now);
            device.command(Command::Access(op));
            ends.push(now);
        }
        let lpn = DriveLpn(lpn);
        let served = match op {
            Op::Write => Some(device.write(lpn)),
            Op::Read => device.read(lpn),
        };
        let done = served.and_then(|served| served.end.known()).expect("first come");
        let end = ends.last_mut().expect("a request");
        *end = done.max(*end);
        if k % each == each - 1 {
            outstanding.push(Reverse(*end));
        }
    }
    ends
}

/// Pages programmed of all kinds for each of the host's.
fn waf(device: &Device) -> f64 {
    let counters = device.counters();
    let migrated = counters.interface.as_ref().map_or(0, |interface| interface.slc_migrations);
    let programs = counters.flash_programs + counters.gc_moves + migrated;
    programs as f64 / counters.flash_programs as f64
}

#[test]
fn writes_fall_to_the_speed_of_the_main_area_where_the_slc_cache_is_full() {
    // Eight planes of 3 SLC blocks of 128 pages: 3072 pages at 50 us, all others at 200 us.
    let config = drive(
        "planes_per_die = 8\nqueue_level = \"plane\"\nblocks_per_plane = 40\n\
         pages_per_block = 384\nop_permille = 200\nprogram_ns = [200_000]\n\
         slc_blocks = 3\nslc_program_ns = 50_000\n\
         slc_idle = false\nbus_ps_per_byte = 0",
    );
    let mut device = Device::new(&config);
    let written = 10_000;
    let ends = closed_loop(&mut device, Op::Write, 0..written, 1, 64);
    let slc: u32 = 8 * 3 * 128;
    for (k, &end) in (0u64..).zip(&ends) {
        // Page k is the (k / 8)-th of its plane; each plane is always at work.
        let nth = k / 8 + 1;
        let fast = nth.min(u64::from(slc / 8));
        assert_eq!(end, fast * 50_000 + (nth - fast) * 200_000, "page {k}");
    }
    let speed = |from: usize, to: usize| (to - from) as f64 / (ends[to] - ends[from]) as f64;
    let (before, after) = (speed(7, slc as usize - 1), speed(slc as usize - 1, 9_999));
    assert!((before / after - 4.0).abs() < 1e-9, "{before} {after}");
    assert_eq!(waf(&device), 1.0, "nothing is folded where writes go past the cache");
}

/// Sequential writes of 1 MiB, four at a time, to a preset fresh from the box: MB/s into its SLC
/// cache, and beyond. A small one: what counts is where it ends, and how fast it is.
fn speeds(preset: &str, slc_blocks: u64) -> (f64, f64) {
    let spec = format!(
        "{preset}[precondition=none;slc_blocks={slc_blocks};blocks_per_plane=64;op_permille=300;\
         gc_low_pages=800;gc_idle_ns=1000000000]"
    );
    let config = Drive::from_spec(&spec).unwrap_or_else(|error| panic!("{error}")).device;
    let page = u64::from(config.page_bytes);
    let block = config.slc.map_or(0, |slc| u64::from(slc.slc_pages_per_block)) * page;
    let slc = u64::from(config.planes()) * slc_blocks * block;
    let each = (1 << 20) / page;
    let requests = 3 * slc / (1 << 20);
    let mut device = Device::new(&config);
    let pages = 0..(requests * each) as u32;
    let mut ends = closed_loop(&mut device, Op::Write, pages, each as usize, 4);
    ends.sort_unstable();
    let full = (slc / (1 << 20)) as usize;
    let mb_s = |from: usize, to: usize| {
        ((to - from) << 20) as f64 * 1000.0 / (ends[to] - ends[from]) as f64
    };
    // Away from the edges, where a request lies in both.
    let (last, away) = (ends.len() - 1, full / 10);
    (mb_s(away, full - away), mb_s(full + away, last - away))
}

#[test]
fn the_presets_with_an_slc_cache_write_as_fast_as_was_published_and_fall_as_far() {
    // `docs/spec/device-today.md` 11: over 2 GB/s and then a little over 600 MB/s, 1.8 GB/s and
    // then 100 MB/s.
    for (preset, slc_blocks, published) in
        [("tlc-client", 4, (2300.0, 600.0)), ("qlc-client", 10, (1800.0, 100.0))]
    {
        let (before, after) = speeds(preset, slc_blocks);
        println!("{preset}: {before:.0} MB/s, then {after:.0} MB/s; configured {published:?}");
        assert!((before / published.0 - 1.0).abs() < 0.06, "{preset}: {before}");
        assert!((after / published.1 - 1.0).abs() < 0.03, "{preset}: {after}");
    }
}

#[test]
fn folding_adds_one_program_for_each_page_that_is_still_valid_then() {
    let lines = "planes_per_die = 8\nqueue_level = \"plane\"\nblocks_per_plane = 80\n\
                 pages_per_block = 48\nop_permille = 300\nslc_blocks = 5\n\
                 slc_pages_per_block = 16\nslc_policy = \"fold\"\nslc_idle = false\n\
                 gc_step_pages = 0";
    let slc = 8 * 5 * 16;
    // Every page once: all but what is in the cache at the end has been moved.
    let mut once = Device::new(&drive(lines));
    let written = 16_000;
    closed_loop(&mut once, Op::Write, 0..written, 1, 8);
    assert_eq!(waf(&once), 1.0 + f64::from(written - slc) / f64::from(written));
    // Pages that come again before their block is folded are never moved.
    let mut hot = Device::new(&drive(lines));
    let pages = slc - 8 * 16;
    closed_loop(&mut hot, Op::Write, (0..20 * pages).map(|k| k % pages), 1, 8);
    assert_eq!(waf(&hot), 1.0);
    // Later ones always.
    let mut late = Device::new(&drive(lines));
    let pages = 2 * slc;
    let written = 20 * pages;
    closed_loop(&mut late, Op::Write, (0..written).map(|k| k % pages), 1, 8);
    let folded = 1.0 + f64::from(written - slc) / f64::from(written);
    let counters = late.counters();
    let moves = counters.gc_moves as f64 / f64::from(written);
    assert!((waf(&late) - folded - moves).abs() < 1e-12, "{} {folded} {moves}", waf(&late));
}

#[test]
fn in_the_long_run_folding_and_collection_multiply() {
    // L pages written at random through a cache of C: a page is overwritten before its fold with
    // 1 - (1 - 1/L)^C, and what is folded meets a main area that collects greedily.
    for (slc_blocks, op_permille) in [(8, 150), (40, 150), (40, 250)] {
        let config = drive(&format!(
            "blocks_per_plane = 640\npages_per_block = 64\nop_permille = {op_permille}\n\
             gc_low_pages = 64\nslc_blocks = {slc_blocks}\nslc_pages_per_block = 64\n\
             slc_policy = \"fold\"\nslc_idle = false\nprecondition = \"sequential\""
        ));
        let mut device = Device::new(&config);
        let logical = config.logical_pages;
        let mut random = SplitMix64::new(slc_blocks);
        let mut write = || {
            for _ in 0..4 * logical {
                device.write(DriveLpn(draw(&mut random, logical)));
            }
            let counters = device.counters();
            let migrated = counters.interface.map_or(0, |interface| interface.slc_migrations);
            [counters.flash_programs, counters.gc_moves, migrated]
        };
        let (before, after) = (write(), write());
        let [host, moves, migrated] = [0, 1, 2].map(|k| (after[k] - before[k]) as f64);
        let measured = (host + moves + migrated) / host;
        // A block is folded when the next but all blocks of the cache is opened: half a block
        // less than the cache holds, in the mean.
        let pages = (slc_blocks * 64) as f64 - 32.5;
        let kept = (1.0 - 1.0 / f64::from(logical)).powf(pages);
        assert!((migrated / host / kept - 1.0).abs() < 0.01, "{} {kept}", migrated / host);
        // Pages whose newest version is in the cache are no valid ones of the main area.
        let collected = f64::from(640 * 64 - 64) - 32.0;
        let alpha = collected / (f64::from(logical) * kept);
        let formula = 1.0 + kept * greedy_waf(64.0, alpha);
        println!(
            "{slc_blocks} blocks, {op_permille}/1000: WAF {measured:.4}, formula {formula:.4}"
        );
        assert!((measured / formula - 1.0).abs() < 0.01, "{measured} {formula}");
    }
}

#[test]
fn a_link_that_is_the_narrowest_place_passes_a_page_in_its_own_time() {
    let lines = "chips_per_channel = 16\nplanes_per_die = 2\nqueue_level = \"plane\"\n\
                 read_ns = [1000]\nprogram_ns = [1000]\nbus_ps_per_byte = 0\n\
                 link_ps_per_byte = 1000\nop_permille = 300";
    let filled = format!("{lines}\nprecondition = \"sequential\"");
    // 4096 ns a page: 1000 MB/s, whatever the flash could do.
    let reads = (0..2000).map(|k| k % 1000);
    let ends = closed_loop(&mut Device::new(&drive(&filled)), Op::Read, reads, 1, 64);
    assert_eq!(ends.iter().max(), Some(&(1000 + 2000 * 4096)));
    let buffered = drive(&format!("{lines}\nbuffer_pages = 64"));
    let mut device = Device::new(&buffered);
    let ends = closed_loop(&mut device, Op::Write, 0..2000, 1, 64);
    assert_eq!(ends.iter().max(), Some(&(2000 * 4096)), "the buffer never makes one wait");
    let interface = device.counters().interface.expect("a link");
    assert_eq!((interface.link_busy_ns, interface.link_transfers), (2000 * 4096, 2000));
    // 64 come at once: the first waits for no other, the last for 63. Later ones wait for a slot,
    // until the program behind the transfer of 64 before has ended, and then for the link.
    let waited = (0..64).sum::<u64>() * 4096 + (2000 - 64) * (63 * 4096 - 1000);
    assert_eq!(interface.link_wait_ns_sum, waited);
    assert_eq!(interface.buffer_wait_ns_sum, (2000 - 64) * 1000);
    // One resource for both directions: half of it for each.
    let half = drive(&format!("{filled}\nbuffer_pages = 64\nlink_duplex = \"half\""));
    let mut device = Device::new(&half);
    let mut end = 0;
    for k in 0..1000 {
        let read = device.read(DriveLpn(k)).and_then(|read| read.end.known());
        let written = device.write(DriveLpn(1000 + k)).end.known();
        end = end.max(read.expect("mapped")).max(written.expect("first come"));
    }
    assert_eq!(end, 1000 + 2000 * 4096);
}

/// Long-run WAF of single-page writes to `hot` pages, every tenth; the others are written once, or
/// as one in `cold_every` writes.
fn hot_and_cold(handles: &str, cold_every: Option<u64>) -> (f64, DeviceConfig) {
    let text = format!(
        "[device]\nblocks_per_plane = 640\npages_per_block = 64\nop_permille = 150\n\
         gc_low_pages = 192\n{handles}"
    );
    let config = Drive::parse(&text, "drive.toml").unwrap_or_else(|error| panic!("{error}")).device;
    let mut device = Device::new(&config);
    let logical = config.logical_pages;
    let is_hot = |lpn: u32| lpn.is_multiple_of(10);
    let write = |device: &mut Device, lpn: u32| {
        let hint = WriteHint { bytes: if is_hot(lpn) { 4096 } else { 1 << 20 }, label: 0 };
        device.write_as(DriveLpn(lpn), hint);
    };
    (0..logical).for_each(|lpn| write(&mut device, lpn));
    let mut random = SplitMix64::new(11);
    let mut next = || match cold_every {
        Some(every) if random.next().is_multiple_of(every) => {
            let lpn = draw(&mut random, logical - 1);
            if is_hot(lpn) { lpn + 1 } else { lpn }
        }
        _ => draw(&mut random, logical.div_ceil(10)) * 10,
    };
    let writes = 6 * logical;
    (0..writes).for_each(|_| write(&mut device, next()));
    let before = device.counters().gc_moves;
    (0..writes).for_each(|_| write(&mut device, next()));
    let moves = device.counters().gc_moves - before;
    (1.0 + moves as f64 / f64::from(writes), config)
}

#[test]
fn two_handles_with_persistent_isolation_bring_hot_and_cold_pages_towards_one() {
    let two = "handles = 2\nisolation = \"persistent\"\n[placement]\npolicy = \"by-size\"\n\
               thresholds = [65536]";
    // Cold pages that never come again lie still, and all that is to spare is for the hot ones.
    let (apart, config) = hot_and_cold(two, None);
    let logical = f64::from(config.logical_pages);
    let hot = (logical / 10.0).ceil();
    let collected = f64::from(640 * 64 - 192) - 64.0;
    let formula = greedy_waf(64.0, (collected - (logical - hot)) / hot);
    let (mixed, _) = hot_and_cold("", None);
    println!("cold never again: WAF {mixed:.4} mixed, {apart:.4} apart, formula {formula:.4}");
    assert!((apart / formula - 1.0).abs() < 0.01, "{apart} {formula}");
    assert!(mixed > 1.2 * apart, "{mixed} {apart}");
    // One in fifty writes is a cold one: mixed, they make the hot ones move.
    let (mixed, _) = hot_and_cold("", Some(50));
    let (apart, _) = hot_and_cold(two, Some(50));
    println!("one in fifty cold: WAF {mixed:.4} with one handle, {apart:.4} with two");
    assert!(apart < 1.0 + 0.7 * (mixed - 1.0), "{apart} {mixed}");
}
