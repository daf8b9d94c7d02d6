//! The pages on devices list the presets and keys of the code, and their example is read;
//! `DESTAGE_WRITE_DOCS=1` writes the tables.

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

/// The page's table that begins with this line has these rows.
fn same(page: &str, head: &str, expected: &[String]) {
    let (mut text, expected) = (document(page), expected.join("\n"));
    let found = rows(&text, head).join("\n");
    if std::env::var_os("DESTAGE_WRITE_DOCS").is_some() {
        text = text.replace(&found, &expected);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
        std::fs::write(path, &text).expect(page);
    }
    assert_eq!(rows(&text, head).join("\n"), expected, "{head}: DESTAGE_WRITE_DOCS=1 writes it");
}

const PAGE: &str = "reference/device-keys.md";

#[test]
fn the_tables_of_keys_are_those_of_the_code() {
    let document = document(PAGE);
    let row = |key: &Key| {
        let Key { name, kind, default, unit, about, .. } = key;
        let takes = takes(*kind).replace("a non-empty list of integers", "list of");
        let takes = format!("{} {unit}", takes.replace("integer ", ""));
        format!("| `{name}` | {default} | {} | {about} |", takes.trim_end())
    };
    for info in FTLS {
        for key in info.device_keys {
            assert!(document.contains(&format!("`{key}`")), "{key}");
        }
        if info.keys.is_empty() {
            continue;
        }
        let head = format!("| `[ftl]` of `{}` | default | takes | meaning |", info.name);
        same(PAGE, &head, &info.keys.iter().map(row).collect::<Vec<_>>());
    }
    for table in ["device", "cache", "host", "placement"] {
        let expected: Vec<String> = keys_of(table).map(row).collect();
        let head = format!("| `[{table}]` | default | takes | meaning |");
        same(PAGE, &head, &expected);
    }
    let document = self::document("reference/devices.md");
    for table in TABLES {
        assert!(document.contains(&format!("`[{table}]`")), "{table}");
    }
}

#[test]
fn the_table_of_presets_is_that_of_the_code() {
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
    let head = "| preset | device | raw | logical | op | units | source |";
    same(PAGE, head, &expected);
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
