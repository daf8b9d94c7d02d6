//! Collectors against their closed forms (`docs/spec/collectors.md` 8.1), and what their rules
//! promise on any load: a state without contradictions and predictions that come true.

use destage_core::PlaneId;
use destage_ssd::config::{GcVictim, Table, Value};
use destage_ssd::precondition::SplitMix64;
use destage_ssd::{Device, DeviceConfig, DriveLpn, Ftl};

/// One plane of small blocks, full, with the threshold at one block.
fn device(blocks: u64, data: u64, pages: u64, keys: &[(&str, Value)]) -> Device {
    let int = |value: u64| Value::Int(value.into());
    let sizes = [
        ("blocks_per_plane", int(blocks)),
        ("pages_per_block", int(data)),
        ("logical_pages", int(pages)),
        ("precondition", Value::Text("sequential".into())),
    ];
    let all = sizes.iter().chain(keys);
    let table: Table = all.map(|(key, value)| (key.to_string(), value.clone())).collect();
    Device::new(&DeviceConfig::from_table(&table).expect("a good configuration"))
}

/// Pages programmed per page written: twelve overwrites to get there, then eight that count.
fn waf(mut device: Device) -> f64 {
    let pages = device.geometry().logical_pages;
    let mut random = SplitMix64::new(2026);
    let mut writes = |device: &mut Device, rounds: u64| {
        for _ in 0..rounds * u64::from(pages) {
            device.advance(0);
            device.write(DriveLpn(random.below(pages)));
        }
    };
    writes(&mut device, 12);
    let programs = |device: &Device| device.ftl().flash_state().programs;
    let before = programs(&device);
    writes(&mut device, 8);
    (programs(&device) - before) as f64 / (8 * u64::from(pages)) as f64
}

fn victim(rule: &str) -> (&'static str, Value) {
    ("gc_victim", Value::Text(rule.into()))
}

#[test]
fn uniform_writes_amplify_as_the_closed_forms_say() {
    let low = |data| ("gc_low_pages", Value::Int(data));
    let choices = |d| ("gc_choices", Value::Int(d));
    let small = |keys: &[(&str, Value)]| device(96, 16, 1248, keys);
    for (name, form, device) in [
        ("random", 4.343, small(&[low(16), victim("random")])),
        ("d = 2", 3.411, small(&[low(16), victim("d-choices"), choices(2)])),
        ("d = 10", 2.682, small(&[low(16), victim("d-choices")])),
        ("greedy", 2.577, small(&[low(16), victim("greedy")])),
        ("fifo", 2.984, device(96, 64, 4992, &[low(64), victim("fifo")])),
    ] {
        let waf = waf(device);
        assert!((waf / form - 1.0).abs() < 0.02, "{name}: {waf}, form {form}");
    }
}

#[test]
fn every_rule_keeps_the_state_and_predicts_its_next_collection() {
    for &rule in GcVictim::NAMES {
        for stream in ["shared", "own", "by-generation"] {
            let stream = ("gc_stream", Value::Text(stream.into()));
            let mut device = device(16, 4, 34, &[victim(rule), stream]);
            let mut random = SplitMix64::new(7);
            for step in 0..2000 {
                device.advance(0);
                let lpn = DriveLpn(random.below(34) >> (step % 3)); // the lowest pages are hot
                if random.below(8) == 0 {
                    device.trim(lpn);
                    continue;
                }
                let before = device.ftl().flash_state();
                let predicted = device.ftl().gc_victim_pages(PlaneId(0));
                device.write(lpn);
                let after = device.ftl().flash_state();
                let (moved, erased) =
                    (after.programs - before.programs - 1, after.erases - before.erases);
                if erased == 1 {
                    assert_eq!(predicted.map(u64::from), Some(moved), "{rule} at step {step}");
                }
                assert!(erased > 0 || predicted.is_none(), "{rule} at step {step}");
                device.ftl().check();
            }
            assert!(device.ftl().flash_state().erases > 100, "{rule} collects");
        }
    }
}
