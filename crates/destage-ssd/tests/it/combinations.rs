//! An SLC cache, the closed loop, reads first, suspension, write buffer, link, handles and trims on
//! one device (`docs/spec/device-today.md` 2): devices drawn at random against the reference model,
//! without a cache in front. `device_reference` of the engine's tests has the policies.

use super::drawn::{difference, vector};

/// As many vectors as `DESTAGE_COMBINATIONS` says, from this seed on.
#[test]
fn devices_that_combine_everything_agree_with_the_reference_model() {
    let cases = std::env::var("DESTAGE_COMBINATIONS").ok().and_then(|cases| cases.parse().ok());
    let first = std::env::var("DESTAGE_COMBINATIONS_SEED").ok().and_then(|seed| seed.parse().ok());
    let (cases, first) = (cases.unwrap_or(400), first.unwrap_or(1));
    let (mut agreed, mut whole) = (0, 0);
    for seed in first..first + cases {
        let Some(vector) = vector(seed, false) else { continue };
        if let Some(difference) = difference(&vector) {
            panic!("seed {seed}: {difference}\n{vector}");
        }
        agreed += 1;
        let device = &vector["device"];
        let has = |key: &str| device.get(key).is_some();
        let overtakes = device["sched"] == "read_first";
        whole += u32::from(overtakes && has("slc_blocks") && vector["host"]["mode"] == "closed");
    }
    assert!(agreed * 10 > cases * 9, "{agreed} of {cases} drawn devices are possible");
    assert!(whole * 40 > agreed as u32, "{whole} of {agreed} have all three");
}
