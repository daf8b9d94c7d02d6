//! Fuzz targets: bytes go in, and nothing may panic, hang or break its word.
//!
//! A target takes any bytes. The first ones choose (a trace format, a policy, an FTL), the rest is
//! the input: a file as it lies on a disk, or what a structured input is drawn from.
//!
//! ```text
//!  target             what is fed
//!    bytes    readers  chains  opening  decoded  drive_file  specs  options  conformance  nbd
//!    drawn    policies  ftls  drives  replays
//! ```
//!
//! Two drivers run them: the one in `main.rs`, on the stable toolchain and everywhere, which
//! damages samples at random; and libFuzzer (`fuzz/`), which is guided by coverage and wants a
//! nightly one.

use std::path::PathBuf;

mod drawn;
mod files;
mod mutate;
mod targets;
mod watch;

pub use mutate::Mutator;
pub use targets::TARGETS;
pub use watch::{Find, Watch};

/// Something that takes any bytes.
pub struct Target {
    /// As it is called: `readers`.
    pub name: &'static str,
    /// The meaning of the bytes, in half a sentence.
    pub takes: &'static str,
    /// The law that must hold, in half a sentence. Beyond that: no panic, no hang.
    pub holds: &'static str,
    /// Takes them; panics if it finds something.
    pub run: fn(&[u8]),
    /// Good inputs of the repository; none for a target whose inputs are drawn.
    pub samples: fn() -> Vec<Vec<u8>>,
}

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// The repository's root: samples and what was found before lie there.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Target {
    /// Good inputs to begin from: its samples, and what `fuzz/samples` has for it.
    pub fn beginnings(&self) -> Vec<Vec<u8>> {
        let more = files::of(&root().join("fuzz/samples").join(self.name));
        (self.samples)().into_iter().chain(more.into_iter().map(|(_, bytes)| bytes)).collect()
    }
}

/// Inputs that broke a target before, by file name; each must stay fixed.
pub fn regressions(target: &Target) -> Vec<(String, Vec<u8>)> {
    files::of(&root().join("fuzz/regressions").join(target.name))
}
