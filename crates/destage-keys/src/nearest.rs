//! "Did you mean": the one measure of how far two names lie apart.

/// The known name nearest to a mistyped one, if it is near enough to be meant.
///
/// Generous, for sentences that list the known names as well: two letters may differ, but less than
/// half of the longer name. Of names equally near, it is the first in the alphabet.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(meant) = shortened(word, &known) {
        return Some(meant);
    }
    let near = |edits: usize, known: &str| match edits {
        0 | 1 => true,
        2 => known.len().max(word.len()) > 4,
        _ => false,
    };
    closest(word, known).filter(|&(edits, name)| near(edits, name)).min().map(|(_, name)| name)
}

/// Nearest name for sentences that give it *instead of* the known names: a wrong guess would cost
/// the reader the list, so that one letter in three may differ, and at least one. Of names equally
/// near, it is the first listed.
pub fn nearest_alone<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(meant) = shortened(word, &known) {
        return Some(meant);
    }
    let reach = (word.chars().count() / 3).max(1);
    let near = closest(word, known).filter(|&(edits, _)| edits <= reach);
    near.min_by_key(|&(edits, _)| edits).map(|(_, name)| name)
}

/// Most known names that an error lists; of more, the nearest few.
const MOST_LISTED: usize = 16;
const NEAREST: usize = 5;

/// `, did you mean a, b or c?`: the known names that begin with a word, if they are few, else the
/// nearest one; nothing if none is near.
pub fn question<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let start = plain(word);
    let begin = |name: &&&str| start.len() > 1 && plain(name).starts_with(&start);
    let mut meant: Vec<&str> = known.iter().filter(begin).copied().collect();
    if !(1..=NEAREST).contains(&meant.len()) {
        meant = nearest(word, known).into_iter().collect();
    }
    match meant.split_last() {
        None => String::new(),
        Some((last, [])) => format!(", did you mean {last}?"),
        Some((last, others)) => format!(", did you mean {} or {last}?", others.join(", ")),
    }
}

/// `known: a, b, c`, the known names in their order; `nearest of 47: a, b, c, d, e` of many.
pub fn listed<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if known.len() <= MOST_LISTED {
        return format!("known: {}", known.join(", "));
    }
    let count = known.len();
    let mut by_distance: Vec<(usize, &str)> = closest(word, known).collect();
    by_distance.sort_by_key(|&(edits, _)| edits); // stable: of equally near ones, the first listed
    let near: Vec<&str> = by_distance.iter().take(NEAREST).map(|&(_, name)| name).collect();
    format!("nearest of {count}: {}", near.join(", "))
}

/// The one known name that a word is another writing of: the same letters (`p999`, `p99.9`), its
/// first part (`fio`, `fio-iolog`), the initials of its parts (`op`, `over_provisioning`), or a
/// longer form of it (`zipfian`, `zipf`), unless a name is a slip away, or two of a long word
/// (`tier2-chace`). `None` where several names are.
fn shortened<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    const LEAST_LETTERS: usize = 4;
    const LETTERS_PER_SLIP: usize = 4;
    let parts = |text: &str| -> Vec<String> {
        text.to_ascii_lowercase().split(['-', '_', '.', ' ']).map(str::to_owned).collect()
    };
    let (given, letters) = (parts(word), parts(word).concat());
    if letters.is_empty() {
        return None;
    }
    let initials = |text: &str| -> String {
        parts(text).iter().filter_map(|part| part.chars().next()).collect()
    };
    let slips = (letters.chars().count() / LETTERS_PER_SLIP).clamp(1, 2);
    let is_slip = known.iter().any(|name| edits(&plain(word), &plain(name)) <= slips);
    let same: [&dyn Fn(&str) -> bool; 4] = [
        &|name| parts(name).concat() == letters,
        &|name| parts(name).len() > given.len() && parts(name).starts_with(&given),
        &|name| parts(name).len() > 1 && initials(name) == letters,
        &|name| {
            !is_slip && name.len() >= LEAST_LETTERS && letters.starts_with(&parts(name).concat())
        },
    ];
    same.iter().find_map(|is_meant| {
        let mut found = known.iter().copied().filter(|name| is_meant(name));
        found.next().filter(|first| found.all(|other| other == *first))
    })
}

/// Every known name, and how many edits it lies away.
fn closest<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> impl Iterator<Item = (usize, &'a str)> {
    let word = plain(word);
    known.into_iter().map(move |known| (edits(&word, &plain(known)), known))
}

/// A name for comparison: case does not count, nor which dash.
fn plain(text: &str) -> String {
    text.to_ascii_lowercase().replace('_', "-")
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
            ("lxy", None),
        ] {
            assert_eq!(nearest(word, KNOWN), meant, "{word}");
        }
        assert_eq!(nearest("lur", ["car", "lru"]), Some("lru"), "letters swapped are one slip");
    }

    #[test]
    fn shorter_and_longer_forms_of_one_name_are_meant() {
        for (word, known, meant) in [
            ("p999", ["p99", "p99.9"], Some("p99.9")),
            ("fio", ["fiu", "fio-iolog"], Some("fio-iolog")),
            ("op", ["ops", "over_provisioning"], Some("over_provisioning")),
            ("zipfian", ["zipf", "zip"], Some("zipf")),
            ("tier3-cahce", ["tier3", "tier3-cache"], Some("tier3-cache")),
            ("tier2-chace", ["tier2", "tier2-cache"], Some("tier2-cache")),
            ("gc", ["gc_mode", "gc_victim"], None),
        ] {
            assert_eq!(nearest(word, known), meant, "{word}");
            assert_eq!(nearest_alone(word, known), meant, "{word}");
        }
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
    fn names_that_begin_with_the_word_are_meant_together() {
        for (word, question) in [
            ("lru-", ", did you mean lru-wsr?"),
            ("lr", ", did you mean lru or lru-wsr?"),
            ("clok", ", did you mean clock?"),
            ("l", ""),
            ("zzzzzz", ""),
        ] {
            assert_eq!(super::question(word, KNOWN), question, "{word}");
        }
    }

    #[test]
    fn of_many_names_the_nearest_are_listed() {
        assert_eq!(listed("x", KNOWN), "known: lru, lru-wsr, clock, s3-fifo");
        let many: Vec<String> = (10..40).map(|number| format!("n{number}")).collect();
        let many = || many.iter().map(String::as_str);
        assert_eq!(listed("n2", many()), "nearest of 30: n12, n20, n21, n22, n23");
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
