//! Preconditioned devices at time 0 (`docs/spec/device.md` 5.6): by default, in a steady state, and
//! where idle units collect.

use destage_ssd::config::{Precondition, Table, Value};
use destage_ssd::precondition::SplitMix64;
use destage_ssd::{Device, DeviceConfig, Drive, DriveLpn, Ftl};

fn device(keys: &[(&str, Value)]) -> Device {
    let int = |value: i128| Value::Int(value);
    let sizes =
        [("blocks_per_plane", int(96)), ("pages_per_block", int(16)), ("logical_pages", int(1248))];
    let table: Table =
        sizes.iter().chain(keys).map(|(key, value)| (key.to_string(), value.clone())).collect();
    Device::new(&DeviceConfig::from_table(&table).expect("a good configuration"))
}

fn word(text: &str) -> Value {
    Value::Text(text.into())
}

#[test]
fn a_device_file_that_says_random_means_two_capacities() {
    let file = |text: &str| Drive::parse(text, "my.toml").expect("a device").device;
    let random = file("[device]\nprecondition = \"random\"\n");
    assert_eq!(random.precondition_writes, 2 * u64::from(random.logical_pages));
    assert_eq!(file("[device]\nprecondition = \"sequential\"\n").precondition_writes, 0);
    let given = file("[device]\nprecondition = \"random\"\nprecondition_writes = 7\n");
    assert_eq!(given.precondition_writes, 7);
    // The vectors' default is the specification's.
    let table = Table::from([("precondition".to_string(), word("random"))]);
    let vector = DeviceConfig::from_table(&table).expect("a device");
    assert_eq!((vector.precondition, vector.precondition_writes), (Precondition::Random, 0));
}

/// Pages programmed per page written, of so many random writes.
fn waf(device: &mut Device, writes: u64, random: &mut SplitMix64) -> f64 {
    let before = device.ftl().flash_state().programs;
    for _ in 0..writes {
        device.advance(0);
        device.write(DriveLpn(random.below(1248)));
    }
    (device.ftl().flash_state().programs - before) as f64 / writes as f64
}

#[test]
fn a_steady_device_amplifies_from_the_start_as_it_goes_on() {
    let mut random = SplitMix64::new(4);
    let low = ("gc_low_pages", Value::Int(16));
    for seed in 1..5 {
        let seed = ("precondition_seed", Value::Int(seed));
        let steady = ("precondition", word("steady"));
        let mut device = device(&[low.clone(), steady, seed]);
        let early = waf(&mut device, 2 * 1248, &mut random);
        let late = waf(&mut device, 20 * 1248, &mut random);
        assert!((early / late - 1.0).abs() < 0.05, "{early}, {late}");
    }
    let full = ("precondition", word("sequential"));
    let early = waf(&mut device(&[low, full]), 300, &mut random);
    assert!(early < 1.3, "a full device that was never overwritten: {early}");
}

#[test]
fn idle_collection_has_nothing_to_do_at_time_0() {
    let idle = ("gc_mode", word("idle"));
    for before in ["sequential", "random", "steady"] {
        let at = |end: &str| {
            let writes = ("precondition_writes", Value::Int(4000));
            let keys = [("precondition", word(before)), writes, ("precondition_end", word(end))];
            let mut device = device(&[&keys[..], std::slice::from_ref(&idle)].concat());
            let free = device.ftl().pages_before_collection().expect("a low mark");
            device.advance(1_000_000_000);
            (free, device.counters().erases)
        };
        let (free, erases) = at("high");
        let (low, high) = (76, 152); // 5 % of the plane, and twice that
        assert!(free >= high - low && erases == 0, "{before}: {free} pages, {erases} erases");
        let erases = at("low").1;
        assert!(erases > 0 || before == "sequential", "{before}: {erases}");
    }
}
