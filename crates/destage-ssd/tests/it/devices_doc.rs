//! The pages on devices list the presets and keys of the code, and their example is read.

use destage_ssd::config::{Key, takes};
use destage_ssd::drive::TABLES;
use destage_ssd::tables::keys_of;
use destage_ssd::{Drive, FTLS, PRESETS};
use std::path::Path;

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(path).expect(name)
}

/// The rows of the table that begins with this line.
fn rows<'a>(document: &'a str, head: &str) -> Vec<&'a str> {
    let lines = document.lines().skip_while(|line| *line != head);
    lines.skip(2).take_while(|line| line.starts_with('|')).collect()
}

fn same(what: &str, found: &[&str], expected: &[String]) {
    assert_eq!(found, expected, "{what} should read:\n{}\n", expected.join("\n"));
}

#[test]
fn the_tables_of_keys_are_those_of_the_code() {
    let document = document("reference/device-keys.md");
    let row = |key: &Key| {
        let Key { name, kind, default, unit, about, .. } = key;
        let takes = takes(*kind);
        format!("| `{name}` | {default} | {takes} | {unit} | {about} |").replace("  ", " ")
    };
    for info in FTLS {
        for key in info.device_keys {
            assert!(document.contains(&format!("`{key}`")), "{key}");
        }
        if info.keys.is_empty() {
            continue;
        }
        let head = format!("| `[ftl]` of `{}` | default | takes | unit | meaning |", info.name);
        same(&head, &rows(&document, &head), &info.keys.iter().map(row).collect::<Vec<_>>());
    }
    for table in ["device", "cache", "host"] {
        let expected: Vec<String> = keys_of(table).map(row).collect();
        let head = format!("| `[{table}]` | default | takes | unit | meaning |");
        same(&head, &rows(&document, &head), &expected);
    }
    let document = self::document("reference/devices.md");
    for table in TABLES {
        assert!(document.contains(&format!("`[{table}]`")), "{table}");
    }
}

#[test]
fn the_table_of_presets_is_that_of_the_code() {
    let document = document("reference/device-keys.md");
    let row = |preset: &destage_ssd::Preset| {
        let size = Drive::preset(preset.name).expect("a preset").size();
        let amount = |bytes: u64| match bytes as f64 / f64::from(1 << 20) {
            mib if mib < 1024.0 => format!("{mib:.0} MiB"),
            mib => format!("{:.1} GiB", mib / 1024.0),
        };
        format!(
            "| `{}` | {} | {} | {} | {:.1} % | {} | {} |",
            preset.name,
            preset.about,
            amount(size.raw_bytes),
            amount(size.logical_bytes),
            100.0 * size.op,
            size.units,
            preset.source
        )
    };
    let expected: Vec<String> = PRESETS.iter().map(row).collect();
    let head = "| preset | what it is | raw | logical | op | units | source |";
    same(head, &rows(&document, head), &expected);
}

#[test]
fn the_example_is_a_drive() {
    let document = document("reference/devices.md");
    let (_, rest) = document.split_once("```toml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let page = "docs/reference/devices.md";
    let drive = Drive::parse(example, page).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(drive.preset.as_deref(), Some("tlc-sata"));
}
