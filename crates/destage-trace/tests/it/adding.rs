//! `docs/contribute/add-a-format.md` names every file that a new format touches, and no other.

use crate::support;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A format whose name means nothing else.
const EXAMPLE: &str = "k5cloud";

/// Files below a folder whose text has the example's name, as paths from the repository's root.
fn naming(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            naming(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs" || e == "py" || e == "pyi") {
            let named = path.file_stem().is_some_and(|stem| stem == EXAMPLE);
            if named || fs::read_to_string(&path).unwrap_or_default().contains(EXAMPLE) {
                let path = path.strip_prefix(support::root()).unwrap();
                found.insert(path.to_string_lossy().into_owned());
            }
        }
    }
}

#[test]
fn the_page_names_every_file_that_a_format_touches() {
    let page = fs::read_to_string(support::root().join("docs/contribute/add-a-format.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let listed: BTreeSet<String> =
        rows.map(|path| path.replace("NAME", EXAMPLE).replace("ENDING", "csv")).collect();
    assert!(listed.len() > 4, "the page has a table of files: {listed:?}");
    for path in &listed {
        assert!(support::root().join(path).is_file(), "{path} is listed and not there");
    }
    let mut sources = BTreeSet::new();
    for folder in ["crates/destage-trace/src", "crates/destage-py/src", "python/destage", "fuzz"] {
        naming(&support::root().join(folder), &mut sources);
    }
    let src = |path: &&String| path.contains("/src/");
    assert_eq!(
        sources.iter().collect::<Vec<_>>(),
        listed.iter().filter(src).collect::<Vec<_>>(),
        "found on the left, listed on the right"
    );
}
