//! "Did you mean": the one measure of how far two names lie apart.

/// The known name nearest to a mistyped one, if it is near enough to be meant.
///
/// Generous, for sentences that list the known names as well: of short names, two letters may
/// differ. Of names equally near, it is the first in the alphabet.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = |edits: usize, known: &str| edits <= 1 + known.len().min(word.len()) / 3;
    closest(word, known).filter(|&(edits, name)| near(edits, name)).min().map(|(_, name)| name)
}

/// Nearest name for sentences that give it *instead of* the known names: a wrong guess would cost
/// the reader the list, so that one letter in three may differ, and at least one. Of names equally
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

/// Letters added, dropped or replaced, or two neighbours swapped, as quick fingers do: Damerau, A
/// technique for computer detection and correction of spelling errors, CACM 7(3), 1964.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let first: Vec<usize> = (0..=b.len()).collect();
    // Distances of what stands before each letter of `b`: two letters of `a` ago, one ago.
    let (mut older, mut old) = (first.clone(), first);
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replace = old[j] + usize::from(a[i] != b[j]);
            let mut least = replace.min(row[j] + 1).min(old[j + 1] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(older[j - 1] + 1);
            }
            row.push(least);
        }
        older = std::mem::replace(&mut old, row);
    }
    old[b.len()]
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
        assert_eq!(nearest("lur", ["car", "lru"]), Some("lru"), "letters swapped are one slip");
    }

    #[test]
    fn a_guess_in_place_of_the_list_is_a_better_one() {
        assert_eq!(nearest_alone("clok", KNOWN), Some("clock"));
        assert_eq!(nearest_alone("lur", KNOWN), Some("lru"), "two letters swapped");
        assert_eq!(nearest_alone("lxy", KNOWN), None, "two letters of three");
        assert_eq!(nearest_alone("t9", ["t4", "t1"]), Some("t4"), "the first listed");
        assert_eq!(nearest("t9", ["t4", "t1"]), Some("t1"), "the first in the alphabet");
    }

    #[test]
    fn every_edit_counts_once() {
        for (a, b, distance) in
            [("", "", 0), ("", "ab", 2), ("ab", "", 2), ("kitten", "sitting", 3), ("ab", "ba", 1)]
        {
            assert_eq!(edits(a, b), distance, "{a} {b}");
        }
    }
}
