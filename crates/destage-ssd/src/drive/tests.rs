//! Presets, files, changes, and what is said of mistakes in them.

use super::*;

#[test]
fn every_preset_is_a_drive_that_can_run() {
    for preset in PRESETS {
        let drive = Drive::preset(preset.name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            (drive.name.as_str(), drive.preset.as_deref()),
            (preset.name, Some(preset.name))
        );
        assert!(drive.size().raw_pages < 1 << 28, "{}: 8 bytes a page", preset.name);
    }
}
