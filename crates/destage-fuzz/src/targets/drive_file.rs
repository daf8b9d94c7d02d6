//! Any text as the file of a drive.

use crate::Target;
use destage_ssd::{Drive, PRESETS};

pub const TARGET: Target = Target {
    name: "drive-file",
    takes: "the TOML file of a drive",
    holds: "a drive that is taken is written as JSON and read again as the same",
    run,
    samples,
};

fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Drive::parse(text, "x.toml") {
        Ok(drive) => {
            let json = drive.to_json();
            let again = Drive::from_json(&json).expect("what it wrote it reads");
            assert_eq!(again.to_json(), json);
            let _ = drive.size();
        }
        Err(error) => assert!(error.to_string().contains("x.toml"), "it names the file: {error}"),
    }
}

fn samples() -> Vec<Vec<u8>> {
    PRESETS.iter().map(|preset| preset.toml.as_bytes().to_vec()).collect()
}
