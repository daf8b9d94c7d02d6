//! How many pages a request has.

use rand::distr::Distribution;
use rand_distr::Exp1;
use rand_pcg::Pcg64;

use crate::random::{below, unit};

/// Distribution of request lengths, in pages.
///
/// As text: `8` (always 8), `1-8` (every length alike), `~4` (geometric with mean 4), or
/// `1:60,2:20,8:20` (lengths with weights).
#[derive(Clone, PartialEq, Debug)]
pub enum Sizes {
    /// Always this many.
    Fixed(u64),
    /// Uniform from the first to the second.
    Uniform(u64, u64),
    /// Geometric from 1 on, with this mean; cut off at 64 times the mean.
    Geometric(f64),
    /// Length and weight.
    Weighted(Vec<(u64, f64)>),
}

/// Geometric lengths stop here, in means; e^-64 of them would be longer.
const LONGEST_MEANS: f64 = 64.0;
/// Longest request that a description may ask for, pages.
pub(crate) const MAX_SIZE_PAGES: u64 = 1 << 20;

impl Sizes {
    /// Parses a text; `None` if it is none of the four forms or a length is not in 1..=2^20.
    pub fn parse(text: &str) -> Option<Self> {
        let pages = |t: &str| t.trim().parse().ok().filter(|p| (1..=MAX_SIZE_PAGES).contains(p));
        let text = text.trim();
        if let Some(mean) = text.strip_prefix('~') {
            let mean: f64 = mean.trim().parse().ok()?;
            return (1.0..=MAX_SIZE_PAGES as f64 / LONGEST_MEANS)
                .contains(&mean)
                .then_some(Sizes::Geometric(mean));
        }
        if text.contains(':') {
            let parts: Option<Vec<(u64, f64)>> = text
                .split(',')
                .map(|part| {
                    let (length, weight) = part.split_once(':')?;
                    let weight: f64 = weight.trim().parse().ok()?;
                    (weight.is_finite() && weight >= 0.0).then_some((pages(length)?, weight))
                })
                .collect();
            return parts
                .filter(|p| p.iter().map(|(_, w)| w).sum::<f64>() > 0.0)
                .map(Sizes::Weighted);
        }
        if let Some((from, to)) = text.split_once('-') {
            let (from, to) = (pages(from)?, pages(to)?);
            return (from <= to).then_some(Sizes::Uniform(from, to));
        }
        pages(text).map(Sizes::Fixed)
    }

    /// Longest length that can come, pages.
    pub fn longest(&self) -> u64 {
        match self {
            Sizes::Fixed(pages) | Sizes::Uniform(_, pages) => *pages,
            // Requests that would not fit are drawn as long as the footprint allows.
            Sizes::Geometric(_) => 1,
            Sizes::Weighted(parts) => parts.iter().map(|p| p.0).max().unwrap_or(1),
        }
    }

    /// A random length of at most `limit` pages.
    pub(crate) fn sample(&self, random: &mut Pcg64, limit: u64) -> u64 {
        let pages = match self {
            Sizes::Fixed(pages) => *pages,
            Sizes::Uniform(from, to) => from + below(random, to - from + 1),
            Sizes::Geometric(mean) => geometric(random, *mean),
            Sizes::Weighted(parts) => weighted(random, parts),
        };
        pages.min(limit)
    }
}

/// A geometric number from 1 on, by rounding up an exponential one: P(X > k) = e^(-k / scale) with
/// 1 - e^(-1 / scale) = 1 / mean.
fn geometric(random: &mut Pcg64, mean: f64) -> u64 {
    if mean <= 1.0 {
        return 1;
    }
    let scale = -1.0 / (1.0 - 1.0 / mean).ln();
    let exponential: f64 = Exp1.sample(random);
    (exponential * scale).ceil().clamp(1.0, mean * LONGEST_MEANS) as u64
}

fn weighted(random: &mut Pcg64, parts: &[(u64, f64)]) -> u64 {
    let total: f64 = parts.iter().map(|p| p.1).sum();
    let mut left = unit(random) * total;
    for (pages, weight) in parts {
        left -= weight;
        if left < 0.0 {
            return *pages;
        }
    }
    // Rounding may leave nothing below zero; the last part with a weight is meant.
    parts.iter().rev().find(|p| p.1 > 0.0).map_or(1, |p| p.0)
}

impl std::fmt::Display for Sizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Sizes::Fixed(pages) => write!(f, "{pages}"),
            Sizes::Uniform(from, to) => write!(f, "{from}-{to}"),
            Sizes::Geometric(mean) => write!(f, "~{mean}"),
            Sizes::Weighted(parts) => {
                let parts: Vec<String> = parts.iter().map(|(p, w)| format!("{p}:{w}")).collect();
                f.write_str(&parts.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn mean(sizes: &str) -> f64 {
        let sizes = Sizes::parse(sizes).expect("a good text");
        let mut random = Pcg64::seed_from_u64(3);
        (0..100_000).map(|_| sizes.sample(&mut random, u64::MAX)).sum::<u64>() as f64 / 100_000.0
    }

    #[test]
    fn lengths_have_the_mean_of_their_distribution() {
        assert_eq!(mean("8"), 8.0);
        // Standard errors: 0.0072, 0.011, 0.0085.
        assert!((mean("1-8") - 4.5).abs() < 0.05);
        assert!((mean("~4") - 4.0).abs() < 0.06);
        assert!((mean("1:60,2:20,8:20") - 2.6).abs() < 0.05);
    }

    #[test]
    fn texts_come_back_as_written_and_nonsense_is_refused() {
        for text in ["8", "1-8", "~4", "1:60,2:20,8:20", "~1.5"] {
            assert_eq!(Sizes::parse(text).map(|s| s.to_string()).as_deref(), Some(text));
        }
        for text in
            ["", "0", "8-1", "~0.5", "1:0", "1:-2", "a", "1-", "1:2,3", "~", "-1", "99999999"]
        {
            assert_eq!(Sizes::parse(text), None, "{text}");
        }
    }

    #[test]
    fn geometric_lengths_follow_their_tail() {
        let mut random = Pcg64::seed_from_u64(11);
        let longer = (0..200_000).filter(|_| geometric(&mut random, 4.0) > 3).count() as f64;
        // P(X > 3) = (3/4)^3 = 0.421875, standard error 0.0011.
        assert!((longer / 200_000.0 - 0.421_875).abs() < 0.006);
    }
}
