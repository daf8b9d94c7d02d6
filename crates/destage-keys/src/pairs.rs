//! Keys in one word, as people write them behind a name: `a=1;b=[2,3];c=lru[d=4]`.

/// The parts of a list; what stands in brackets is not separated.
pub fn parts(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    text.split(move |c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == separator && depth == 0
    })
    .filter(|part| !part.trim().is_empty())
}

/// The pairs with semicolons, where commas stand between keys as outside of the brackets.
pub fn with_semicolons(pair: &str) -> Option<String> {
    let between: Vec<&str> = parts(pair, ',').map(str::trim).collect();
    let is_key = |part: &&str| {
        part.split_once('=').is_some_and(|(key, _)| {
            key.trim().chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        })
    };
    (between.len() > 1 && between.iter().all(is_key)).then(|| between.join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_keys_with_commas_is_told_from_a_value_with_commas() {
        assert_eq!(
            with_semicolons("a=1, b_c=2,d.e=f[g=1,h=2]").unwrap(),
            "a=1;b_c=2;d.e=f[g=1,h=2]"
        );
        for value in ["a=1", "a=[1,2]", "a=b[c=1,d=2]", "a=1,2", "a=x,y=z=,3"] {
            assert_eq!(with_semicolons(value), None, "{value}");
        }
    }
}
