//! The targets, one file each.

mod chains;
mod conformance;
mod decoded;
mod drive_file;
mod drives;
mod ftls;
#[cfg(unix)]
mod nbd;
mod opening;
mod options;
mod policies;
mod readers;
mod specs;

// What the property tests draw their cases from: one generator, two users.
#[path = "../../../destage-engine/tests/it/device_reference/generate/mod.rs"]
#[expect(unreachable_pub)]
mod generate;
#[path = "../../../destage-policies/tests/it/shapes.rs"]
#[expect(dead_code)] // what only the reference models' own tests need
mod shapes;

use crate::Target;

/// All targets: those that take files as they are first, then those whose input is drawn.
pub const TARGETS: &[Target] = &[
    readers::TARGET,
    chains::TARGET,
    opening::TARGET,
    decoded::TARGET,
    options::TARGET,
    drive_file::TARGET,
    specs::TARGET,
    conformance::TARGET,
    #[cfg(unix)]
    nbd::TARGET,
    policies::TARGET,
    ftls::TARGET,
    drives::PAGE,
    drives::OTHER,
    drives::INTERFACE,
    drives::MAP,
];
