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

/// WAF of writes of which `written` per cent go to `hot` per cent of the pages, as the table of
/// `docs/validity.md` has it: twelve overwrites of a full plane, the last eighth counts.
fn skewed_waf(keys: &[(&str, Value)], points: i128, (written, hot): (u32, u32)) -> f64 {
    let low = ("gc_low_pages", Value::Int(256 * points));
    let keys: Vec<_> = keys.iter().cloned().chain([low]).collect();
    let mut device = device(2048, 256, 458_752, &keys);
    let pages = device.geometry().logical_pages;
    let (writes, hot) = (12 * pages, (u64::from(pages) * u64::from(hot) / 100) as u32);
    let mut random = SplitMix64::new(95);
    let mut before = 0;
    for at in 0..writes {
        if at == writes / 8 * 7 {
            before = device.ftl().flash_state().programs;
        }
        let is_hot = hot < pages && random.below(100) < written;
        let lpn = if is_hot {
            random.below(hot)
        } else {
            hot % pages + random.below(pages - hot % pages)
        };
        device.advance(0);
        device.write(DriveLpn(lpn));
    }
    (device.ftl().flash_state().programs - before) as f64 / f64::from(writes - writes / 8 * 7)
}

#[test]
#[ignore = "takes minutes: the rows of docs/validity.md"]
fn skewed_writes_amplify_as_the_page_says() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validity.md");
    let page = std::fs::read_to_string(page).expect("docs/validity.md");
    let stream = |name: &str| ("gc_stream", Value::Text(name.into()));
    let loads = [(100, 100), (80, 20), (90, 10), (95, 5)];
    for (name, rule, streams, points) in [
        ("greedy", "greedy", "shared", 1),
        ("greedy", "greedy", "own", 2),
        ("d-choices", "d-choices", "shared", 1),
        ("cost-benefit", "cost-benefit", "own", 2),
        ("2r-fifo", "2r-fifo", "by-generation", 3),
    ] {
        let starts = format!("| `{name}`");
        let is_row =
            |line: &&str| line.starts_with(&starts) && line.contains(&format!("`{streams}`"));
        let row = page.lines().find(is_row).expect("a row of the page");
        let printed: Vec<f64> = row
            .split('|')
            .skip(3)
            .take(4)
            .map(|cell| {
                cell.split_whitespace().next().expect("a number").parse().expect("a number")
            })
            .collect();
        for (load, printed) in loads.into_iter().zip(printed) {
            let waf = skewed_waf(&[victim(rule), stream(streams)], points, load);
            println!("{name} {streams} {load:?}: {waf:.2}");
            assert!((waf / printed - 1.0).abs() < 0.02, "{name} {streams} {load:?}: {waf}");
        }
    }
}
