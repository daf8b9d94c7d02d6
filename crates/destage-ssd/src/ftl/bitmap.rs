//! Bits in words: which pages of a block are valid.

/// The bits of pages below `end` in a word that begins with page `start`.
#[inline(always)]
pub(super) fn below(end: u32, start: u32) -> u64 {
    match end.saturating_sub(start) {
        bits @ 0..64 => (1 << bits) - 1,
        _ => u64::MAX,
    }
}

/// The bits that are set, lowest first.
#[inline(always)]
pub(crate) fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

/// The `count` lowest set bits of a word.
#[inline(always)]
pub(crate) fn lowest(word: u64, count: u32) -> u64 {
    if word.count_ones() <= count {
        return word;
    }
    let mut rest = word;
    for _ in 0..count {
        rest &= rest - 1;
    }
    word & !rest
}

/// The pages whose bits are set in the words of a block, ascending.
#[inline(always)]
pub(crate) fn pages(words: &[u64]) -> impl Iterator<Item = u32> {
    let words = words.iter().zip((0..).step_by(64));
    words.flat_map(|(&word, start)| bits(word).map(move |bit| start + bit))
}

/// How many bits are set.
#[inline(always)]
pub(crate) fn count(words: &[u64]) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}
