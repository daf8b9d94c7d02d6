//! The device against results that others proved: queueing theory, greedy collection, conservation.
//!
//! Every seed is fixed, so a test passes or fails always. `docs/validity.md` shows the numbers.

use destage_core::Nanos;
use destage_ssd::config::{Table, Value};
use destage_ssd::precondition::SplitMix64;
use destage_ssd::saturation::{greedy_waf, page_writes_per_s};
use destage_ssd::{Device, DeviceConfig, Drive, DriveLpn, Ftl, Saturation};

fn config(keys: &[(&str, Value)]) -> DeviceConfig {
    let table: Table = keys.iter().map(|(key, value)| (key.to_string(), value.clone())).collect();
    DeviceConfig::from_table(&table).expect("a good configuration")
}

fn int(value: u64) -> Value {
    Value::Int(value.into())
}

fn word(text: &str) -> Value {
    Value::Text(text.into())
}

/// In `0..below`, as preconditioning draws page numbers (`docs/spec/device.md` 5.6).
fn draw(random: &mut SplitMix64, below: u32) -> u32 {
    ((u128::from(random.next()) * u128::from(below)) >> 64) as u32
}

/// Waiting times of reads that arrive at one unit as a Poisson process.
struct Waits {
    mean_ns: f64,
    /// Standard error of the mean, from the means of batches: waits follow one another too closely
    /// to count as independent.
    error_ns: f64,
    /// Share of reads that found the unit idle.
    idle: f64,
}

const BATCHES: usize = 40;

fn waits(device: &mut Device, service_ns: impl Fn(u32) -> Nanos, gap_ns: f64) -> Waits {
    const BATCH: usize = 100_000;
    let mut random = SplitMix64::new(2026);
    let pages = device.geometry().logical_pages;
    let (mut arrival_ns, mut idle) = (0.0, 0);
    let mut means_ns = [0.0; BATCHES];
    for mean_ns in &mut means_ns {
        let mut sum_ns: Nanos = 0;
        for _ in 0..BATCH {
            let uniform = (random.next() >> 11) as f64 / (1u64 << 53) as f64; // in 0..1
            arrival_ns -= (1.0 - uniform).ln() * gap_ns;
            let now = arrival_ns as Nanos;
            let lpn = draw(&mut random, pages);
            device.advance(now);
            let end = device.read(DriveLpn(lpn)).and_then(|read| read.end.known());
            let wait = end.expect("first come, first served") - now - service_ns(lpn);
            idle += u64::from(wait == 0);
            sum_ns += wait;
        }
        *mean_ns = sum_ns as f64 / BATCH as f64;
    }
    let batches = BATCHES as f64;
    let mean_ns = means_ns.iter().sum::<f64>() / batches;
    let squares: f64 = means_ns.iter().map(|mean| (mean - mean_ns).powi(2)).sum();
    let error_ns = (squares / (batches - 1.0) / batches).sqrt();
    Waits { mean_ns, error_ns, idle: idle as f64 / (BATCHES * BATCH) as f64 }
}

/// The mean wait of an M/G/1 queue (Pollaczek 1930, Khinchine 1932): `lambda E[S^2] / (2 (1 -
/// rho))`.
fn pollaczek_khinchine_ns(gap_ns: f64, services_ns: &[Nanos]) -> f64 {
    let count = services_ns.len() as f64;
    let mean = services_ns.iter().sum::<Nanos>() as f64 / count;
    let square = services_ns.iter().map(|&s| (s as f64).powi(2)).sum::<f64>() / count;
    square / gap_ns / (2.0 * (1.0 - mean / gap_ns))
}

/// The measured mean is within four standard errors: right code fails that for one seed in 16,000.
/// The error itself stays below a share of the mean, or the test would say little.
fn assert_agree(name: &str, measured: &Waits, formula_ns: f64, most_error: f64) {
    let Waits { mean_ns, error_ns, .. } = *measured;
    println!("{name}: {mean_ns:.0} +- {error_ns:.0} ns, formula {formula_ns:.0} ns");
    assert!(error_ns < most_error * formula_ns, "{name}: {error_ns} of {formula_ns} ns");
    let difference = (mean_ns - formula_ns).abs();
    assert!(difference < 4.0 * error_ns, "{name}: {mean_ns} +- {error_ns}, not {formula_ns} ns");
}

#[test]
fn reads_of_one_unit_wait_as_long_as_in_an_m_d_1_queue() {
    let service_ns = 25_000 + 102_400;
    for (rho, most_error) in [(0.3, 0.003), (0.5, 0.003), (0.8, 0.006), (0.9, 0.012)] {
        let mut device = Device::new(&config(&[("precondition", word("sequential"))]));
        let gap_ns = service_ns as f64 / rho;
        let measured = waits(&mut device, |_| service_ns, gap_ns);
        let formula_ns = pollaczek_khinchine_ns(gap_ns, &[service_ns]);
        assert_agree(&format!("M/D/1, rho {rho}"), &measured, formula_ns, most_error);
        // An arrival finds the unit idle with probability 1 - rho; four million of them, but not
        // independent.
        assert!((measured.idle - (1.0 - rho)).abs() < 0.002, "{} at rho {rho}", measured.idle);
    }
}

#[test]
fn pages_of_two_types_wait_as_long_as_in_an_m_g_1_queue() {
    let (fast, slow) = (40_000, 400_000);
    let mut device = Device::new(&config(&[
        ("precondition", word("sequential")),
        ("read_ns", Value::List(vec![int(fast), int(slow)])),
        ("bus_ps_per_byte", int(0)),
    ]));
    // One plane, filled in order: the page type is the page number's last bit.
    let service_ns = |lpn: u32| if lpn.is_multiple_of(2) { fast } else { slow };
    let gap_ns = (fast + slow) as f64 / 2.0 / 0.7;
    let measured = waits(&mut device, service_ns, gap_ns);
    assert_agree("M/G/1", &measured, pollaczek_khinchine_ns(gap_ns, &[fast, slow]), 0.005);
}

#[test]
fn the_greedy_formula_gives_the_value_that_was_printed_for_it() {
    // Xiang and Kurkoski, abstract: 2.36 at an over-provisioning factor of 0.3 (their actual:
    // 2.35).
    let large_block = greedy_waf(1e6, 1.3);
    assert!((large_block - 2.36).abs() < 0.005, "{large_block}");
}

#[test]
fn greedy_collection_under_uniform_random_writes_amplifies_as_the_formula_says() {
    const BLOCKS: u64 = 640;
    const PAGES: u64 = 64;
    for (op_permille, low) in [(100, PAGES), (180, PAGES), (280, PAGES), (150, 3 * PAGES + 20)] {
        let config = config(&[
            ("blocks_per_plane", int(BLOCKS)),
            ("pages_per_block", int(PAGES)),
            ("op_permille", int(op_permille)),
            ("gc_low_pages", int(low)),
            ("precondition", word("random")),
            ("precondition_writes", int(3 * BLOCKS * PAGES)),
        ]);
        let mut device = Device::new(&config);
        let logical = device.geometry().logical_pages;
        let writes = 3 * u64::from(logical);
        let mut random = SplitMix64::new(op_permille);
        for _ in 0..writes {
            device.write(DriveLpn(draw(&mut random, logical)));
        }
        let counters = device.counters();
        let waf = (counters.flash_programs + counters.gc_moves) as f64 / writes as f64;
        // F is a multiple of a block, so a collection is due when F / PAGES blocks are free and no
        // block is active: the victim is chosen among the others, which hold all the data. Between
        // collections one of them is being filled; it counts with half its room.
        let formula = Saturation::of(&config).expect("greedy").greedy_waf;
        println!(
            "over-provisioning {op_permille}/1000, F {low}: WAF {waf:.4}, formula {formula:.4}"
        );
        // The formula takes blocks to be many (1 / 640) and a victim to have its mean number of
        // valid pages always; the count itself is good to about 0.2 %.
        assert!((waf / formula - 1.0).abs() < 0.01, "{op_permille}: {waf}, not {formula}");
    }
}

#[test]
fn a_saturated_drive_writes_as_many_pages_a_second_as_the_formula_says() {
    for (bus, copyback, summary) in [("private", true, false), ("shared", false, true)] {
        let config = config(&[
            ("channels", int(2)),
            ("chips_per_channel", int(4)),
            ("blocks_per_plane", int(160)),
            ("pages_per_block", int(64)),
            ("op_permille", int(200)),
            ("gc_low_pages", int(128)),
            ("cmd_ns", int(500)),
            ("bus", word(bus)),
            ("copyback", Value::Bool(copyback)),
            ("summary_page", Value::Bool(summary)),
            ("precondition", word("random")),
            ("precondition_writes", int(100_000)),
        ]);
        let said = Saturation::of(&config).expect("greedy");
        let mut device = Device::new(&config);
        let logical = device.geometry().logical_pages;
        let writes = 200_000;
        let mut random = SplitMix64::new(3);
        for _ in 0..writes {
            device.write(DriveLpn(draw(&mut random, logical)));
        }
        device.finish();
        let counters = device.counters();
        // All at once, and then as long as it takes: what every unit, or every channel, is at work
        // on the average is what the formula knows; a shared bus makes units wait for it.
        let mean_ns = |times: &[Nanos]| times.iter().sum::<Nanos>() as f64 / times.len() as f64;
        let busy_ns = match bus {
            "shared" => mean_ns(&counters.channel_transfer_ns),
            _ => mean_ns(&counters.unit_busy_ns),
        };
        let measured = f64::from(writes) / busy_ns * 1e9;
        let waf = (counters.flash_programs + counters.gc_moves) as f64 / f64::from(writes);
        let exact = page_writes_per_s(&config, waf);
        println!("{bus}: {measured:.0}/s, formula {exact:.0} and {:.0}", said.page_writes_per_s);
        assert!((measured / exact - 1.0).abs() < 0.01, "{bus}: {measured} {exact}");
        let all = said.page_writes_per_s;
        assert!((measured / all - 1.0).abs() < 0.03, "{bus}: {measured} {all}, WAF {waf}");
    }
}

#[test]
fn a_drive_with_seven_percent_to_spare_keeps_two_blocks_free_and_not_five_percent() {
    let text = "[device]\nblocks_per_plane = 1024\npages_per_block = 64\nop_permille = 70\n";
    let drive = Drive::parse(text, "mine.toml").expect("a good drive");
    assert_eq!(drive.device.gc_low_pages, 128);
    let said = drive.size().saturation.expect("greedy");
    assert!((said.effective_op - 0.068).abs() < 0.001, "{said:?}");
    assert!((6.7..6.9).contains(&said.greedy_waf), "{said:?}");
    // The specification's own default, for vectors and the drives of papers, eats most of it.
    let keys = [("blocks_per_plane", int(1024)), ("pages_per_block", int(64))];
    let eaten = config(&[&keys[..], &[("op_permille", int(70))]].concat());
    assert_eq!(eaten.gc_low_pages, 3276);
    let said = Saturation::of(&eaten).expect("greedy");
    assert!((said.effective_op - 0.02).abs() < 0.002, "{said:?}");
    assert!((17.7..17.9).contains(&said.greedy_waf), "{said:?}");
    let changed = Drive::from_spec("ecr[op_permille=200]").expect("a paper's drive");
    let pages_per_block = 64 - 1; // one is the summary page
    assert_eq!(u64::from(changed.device.gc_low_pages), 512 * pages_per_block * 5 / 100);
}

#[test]
fn every_ftl_that_no_formula_covers_says_nothing() {
    for ftl in ["bast", "fast", "dftl", "page-ideal"] {
        let drive = Drive::preset("small").and_then(|drive| drive.with_ftl(ftl)).expect("a drive");
        assert_eq!(drive.size().saturation, None, "{ftl}");
    }
    assert_eq!(greedy_waf(64.0, 1.0), f64::INFINITY, "no room at all");
    assert!((1.0..1.001).contains(&greedy_waf(64.0, 20.0)), "room for everything");
}

#[test]
fn every_operation_and_every_nanosecond_of_it_is_accounted_for() {
    let (pages, data) = (16, 15);
    let mut device = Device::new(&config(&[
        ("channels", int(2)),
        ("chips_per_channel", int(2)),
        ("blocks_per_plane", int(40)),
        ("pages_per_block", int(pages)),
        ("summary_page", Value::Bool(true)),
        ("cmd_ns", int(700)),
        ("copyback", Value::Bool(false)),
        ("precondition", word("sequential")),
    ]));
    let logical = device.geometry().logical_pages;
    let before = device.ftl().flash_state();
    let erased_before: u64 = device.ftl().erase_counts().iter().copied().map(u64::from).sum();
    let mut random = SplitMix64::new(7);
    let (mut now, mut reads, mut writes) = (0, 0, 0);
    for _ in 0..20_000 {
        now += random.next() % 200_000;
        device.advance(now);
        let lpn = DriveLpn(draw(&mut random, logical));
        if random.next().is_multiple_of(3) {
            device.read(lpn);
            reads += 1;
        } else {
            device.write(lpn);
            writes += 1;
        }
    }
    device.finish();
    let counted = device.counters();
    let after = device.ftl().flash_state();

    // Nothing is lost, nothing is made up: counters against the state of the flash.
    assert_eq!((counted.flash_reads, counted.flash_programs), (reads, writes));
    assert_eq!(after.programs - before.programs, writes + counted.gc_moves);
    assert_eq!(after.summaries - before.summaries, counted.summary_programs);
    assert_eq!(after.erases - before.erases, counted.erases);
    let erased_after: u64 = device.ftl().erase_counts().iter().copied().map(u64::from).sum();
    assert_eq!(erased_after - erased_before, counted.erases);
    assert_eq!((after.mapped_pages, after.valid_pages), (logical.into(), logical.into()));
    // A block is programmed to its end before it can be erased; four blocks at most are unfinished.
    let programmed = after.programs;
    assert!(after.summaries * data <= programmed && programmed < after.summaries * data + 4 * data);
    assert!(counted.gc_moves > 1000, "there was something to move");

    // Time: what the units did, operation by operation (4.1).
    let (command, read, program, erase) = (700, 25_000, 200_000, 1_500_000);
    let (transfer, summary_transfer) = (102_400, 12_800);
    let transfers = (reads + writes + 2 * counted.gc_moves) * transfer
        + counted.summary_programs * summary_transfer;
    let cells = reads * (command + read)
        + writes * (command + program)
        + counted.gc_moves * (2 * command + read + program)
        + counted.summary_programs * (command + program)
        + counted.erases * (command + erase);
    assert_eq!(counted.channel_transfer_ns.iter().sum::<Nanos>(), transfers);
    assert_eq!(counted.unit_busy_ns.iter().sum::<Nanos>(), cells + transfers);
}
