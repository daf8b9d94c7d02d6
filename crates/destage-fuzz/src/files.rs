//! Samples out of the repository's folders.

use std::fs;
use std::path::Path;

/// The files of a folder with their names, in the order of these; none where there is no folder.
pub fn of(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let bytes = fs::read(entry.path()).ok()?;
            Some((entry.file_name().to_string_lossy().into_owned(), bytes))
        })
        .collect();
    found.sort();
    found
}

/// The lines of a file that are shorter than `most` bytes.
pub fn short_lines(file: &Path, most: usize) -> Vec<Vec<u8>> {
    let text = fs::read(file).unwrap_or_default();
    let lines = text.split(|&byte| byte == b'\n');
    lines.filter(|line| !line.is_empty() && line.len() < most).map(<[u8]>::to_vec).collect()
}
