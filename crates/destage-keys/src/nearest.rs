//! "Did you mean": the one measure of how far two names lie apart.

/// The known name nearest to a mistyped one, if it is near enough to be meant.
///
/// Generous, for sentences that list the known names as well: of short names, two letters may
/// differ. Of names equally near, it is the first in the alphabet.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = |edits: usize, known: &str| edits <= 1 + known.len().min(word.len()) / 3;
    closest(word, known).filter(|&(edits, name)| near(edits, name)).min().map(|(_, name)| name)
}

/// The same for sentences that name it *instead of* the known names: a wrong guess would cost the
/// reader the list, so that one letter in three may differ, and at least one. Of names equally
/// near, it is the first listed.
pub fn nearest_alone<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let reach = (word.chars().count() / 3).max(1);
    let near = closest(word, known).filter(|&(edits, _)| edits <= reach);
    near.min_by_key(|&(edits, _)| edits).map(|(_, name)| name)
}

/// Every known name, and how many edits it lies away; case does not count, nor which dash.
fn closest<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> impl Iterator<Item = (usize, &'a str)> {
    let plain = |text: &str| text.to_ascii_lowercase().replace('_', "-");
    let word = plain(word);
    known.into_iter().map(move |known| (edits(&word, &plain(known)), known))
}

/// Levenshtein distance: letters added, dropped or replaced.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, in_a) in a.chars().enumerate() {
        let mut replaced = row[0];
        row[0] = i + 1;
        for (j, &in_b) in b.iter().enumerate() {
            let replace = replaced + usize::from(in_a != in_b);
            replaced = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(replaced + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["lru", "lru-wsr", "clock", "s3-fifo"];

    #[test]
    fn nearest_names_what_was_meant_and_nothing_else() {
        for (word, meant) in [
            ("s3fifo", Some("s3-fifo")),
            ("LRU_WSR", Some("lru-wsr")),
            ("clok", Some("clock")),
            ("lur", Some("lru")),
            ("belady", None),
        ] {
            assert_eq!(nearest(word, KNOWN), meant, "{word}");
        }
    }

    #[test]
    fn a_guess_in_place_of_the_list_is_a_better_one() {
        assert_eq!(nearest_alone("clok", KNOWN), Some("clock"));
        assert_eq!(nearest_alone("lur", KNOWN), None, "two letters of three");
        assert_eq!(nearest_alone("t9", ["t4", "t1"]), Some("t4"), "the first listed");
        assert_eq!(nearest("t9", ["t4", "t1"]), Some("t1"), "the first in the alphabet");
    }

    #[test]
    fn every_edit_counts_once() {
        for (a, b, distance) in
            [("", "", 0), ("", "ab", 2), ("ab", "", 2), ("kitten", "sitting", 3), ("ab", "ba", 2)]
        {
            assert_eq!(edits(a, b), distance, "{a} {b}");
        }
    }
}
