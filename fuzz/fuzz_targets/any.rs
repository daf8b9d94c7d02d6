//! libFuzzer's driver: the target that `DESTAGE_FUZZ_TARGET` names, guided by coverage.

#![no_main]

use destage_fuzz::Target;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("DESTAGE_FUZZ_TARGET").unwrap_or_else(|_| "readers".into());
    destage_fuzz::target(&name).unwrap_or_else(|| panic!("DESTAGE_FUZZ_TARGET: no target {name}"))
});

fuzz_target!(|data: &[u8]| (TARGET.run)(data));
