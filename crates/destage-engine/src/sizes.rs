//! Cache sizes as people write them: `32MiB`, `8192p`, `10%`, `auto`
//! (`docs/reference/command-line.md`).

use destage_keys::{bytes, unit_bytes};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A cache size before it is known how large pages and trace are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CacheSize {
    /// Bytes; rounded down to pages, less than one page is an error.
    Bytes(u64),
    /// Pages.
    Pages(u64),
    /// Per cent of the trace's unique pages; half a page rounds up, at least one.
    Percent(f64),
    /// Eight sizes from 0.1 % to 50 % of the unique pages, evenly spaced in the logarithm.
    Auto,
}

/// A cache size made definite for one trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Frames {
    /// Frames, 1..2^32.
    pub frames: u32,
    /// Size in the user's spelling.
    pub given: String,
}

/// Sizes in `auto`.
const AUTO_SIZES: i32 = 8;
/// Smallest and largest of them, as shares of the unique pages.
const AUTO_RANGE: (f64, f64) = (0.001, 0.5);

impl CacheSize {
    /// Reads one size. Units, in any case: bytes ([`unit_bytes`]: `MiB` and `m` are 2^20, `MB` is
    /// 10^6), `p` for pages, `%`. A bare number is refused.
    pub fn parse(text: &str) -> Result<CacheSize, String> {
        let text = text.trim();
        let wrong = |why: &str| {
            format!("cache size {text:?}: {why}; expected e.g. 32MiB, 8192p, 10% or auto")
        };
        if text.eq_ignore_ascii_case("auto") {
            return Ok(CacheSize::Auto);
        }
        if text.eq_ignore_ascii_case("all") {
            return Err(wrong("every size at once is what mrc draws, of lru and min"));
        }
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = (&text[..digits], text[digits..].trim());
        let value: f64 = number.parse().map_err(|_| match text.strip_prefix('-') {
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
                wrong("a cache has at least one page")
            }
            _ => wrong("it does not start with a number"),
        })?;
        if unit.is_empty() {
            return Err(wrong(if value == 0.0 {
                "a cache has at least one page"
            } else {
                "the unit is missing"
            }));
        }
        if value <= 0.0 {
            return Err(wrong("a cache has at least one page"));
        }
        if unit == "%" {
            return Ok(CacheSize::Percent(value));
        }
        if unit.eq_ignore_ascii_case("p") || unit.eq_ignore_ascii_case("pages") {
            let why = if number.contains('.') { "pages are whole" } else { "too large" };
            return number.parse().map(CacheSize::Pages).map_err(|_| wrong(why));
        }
        let scale = unit_bytes(unit).ok_or_else(|| wrong(&format!("unknown unit {unit:?}")))?;
        // Whole numbers stay exact beyond 2^53.
        let bytes = match number.parse::<u64>() {
            Ok(whole) => whole.checked_mul(scale),
            Err(_) => Some(value * scale as f64).filter(|&b| b < u64::MAX as f64).map(|b| b as u64),
        };
        bytes.map(CacheSize::Bytes).ok_or_else(|| wrong("too large"))
    }

    /// The frames it stands for; several for `auto`, where sizes that coincide are given once.
    pub fn resolve(self, page_bytes: u64, unique_pages: u64) -> Result<Vec<Frames>, String> {
        let given = self.to_string();
        let share = |s: f64| (s * unique_pages as f64 + 0.5).floor().max(1.0);
        let definite = |frames: u64, given: String| match u32::try_from(frames) {
            Ok(0) => Err(format!("cache {given}: less than one page of {page_bytes} bytes")),
            Ok(frames) => Ok(Frames { frames, given }),
            Err(_) => {
                Err(format!("cache {given}: {frames} pages; at most {} are possible", u32::MAX))
            }
        };
        match self {
            CacheSize::Bytes(bytes) => Ok(vec![definite(bytes / page_bytes, given)?]),
            CacheSize::Pages(pages) => Ok(vec![definite(pages, given)?]),
            CacheSize::Percent(p) => Ok(vec![definite(share(p / 100.0) as u64, given)?]),
            CacheSize::Auto => {
                let (low, high) = AUTO_RANGE;
                let mut sizes: Vec<Frames> = Vec::new();
                for k in 0..AUTO_SIZES {
                    let s = low * (high / low).powf(f64::from(k) / f64::from(AUTO_SIZES - 1));
                    let given = format!("{}%", two_digits(s * 100.0));
                    let frames = definite(share(s) as u64, given)?;
                    if sizes.last().is_none_or(|last| last.frames < frames.frames) {
                        sizes.push(frames);
                    }
                }
                Ok(sizes)
            }
        }
    }
}

/// Two significant digits: how the sizes of `auto` are called.
fn two_digits(x: f64) -> String {
    if x >= 10.0 {
        format!("{x:.0}")
    } else if x >= 1.0 {
        format!("{x:.1}")
    } else {
        format!("{x:.2}")
    }
}

/// Bytes that are no whole number of a unit, as a fraction of one that reads as the same bytes.
fn fraction(of: u64) -> Option<String> {
    let plain = bytes(of);
    if plain != format!("{of}B") {
        return None;
    }
    let units = ["GiB", "GB", "MiB", "MB", "KiB", "KB"].into_iter();
    let spelled =
        units.filter_map(|unit| Some((unit, unit_bytes(unit)?))).flat_map(|(unit, scale)| {
            (1..=3).filter(move |_| of >= scale).map(move |digits| {
                // Reading rounds down, so that spelling rounds up.
                let power = 10_f64.powi(digits);
                let value = (of as f64 / scale as f64 * power).ceil() / power;
                format!("{value}{unit}")
            })
        });
    let same = |text: &String| CacheSize::parse(text) == Ok(CacheSize::Bytes(of));
    spelled.filter(same).min_by_key(String::len).filter(|text| text.len() < plain.len())
}

impl fmt::Display for CacheSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            CacheSize::Bytes(b) => f.write_str(&fraction(b).unwrap_or_else(|| bytes(b))),
            CacheSize::Pages(p) => write!(f, "{p}p"),
            CacheSize::Percent(p) => write!(f, "{p}%"),
            CacheSize::Auto => f.write_str("auto"),
        }
    }
}

/// Reads the size of a page: `4KiB`, `4096`. Pages are powers of two wherever they are given in
/// kilobytes, so that `4KB` is a slip and not 4000 bytes.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    if let Ok(plain) = text.trim().parse::<u64>() {
        return Ok(plain);
    }
    let Ok(CacheSize::Bytes(given)) = CacheSize::parse(text) else {
        return Err(format!("size {text:?}: expected bytes, e.g. 4096, 4KiB or 1MiB"));
    };
    let binary = format!("{}iB", text.trim().trim_end_matches(['b', 'B']));
    if let Ok(CacheSize::Bytes(meant)) = CacheSize::parse(&binary)
        && meant != given
    {
        return Err(format!("size {text:?}: these are {given} bytes; did you mean {binary}?"));
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(text: &str) -> Vec<u32> {
        let sizes = CacheSize::parse(text).unwrap().resolve(4096, 10_000).unwrap();
        sizes.iter().map(|f| f.frames).collect()
    }

    #[test]
    fn sizes_are_read_as_written() {
        assert_eq!(frames("32MiB"), [8192]);
        assert_eq!(frames("32m"), [8192]);
        assert_eq!(frames("8192p"), [8192]);
        assert_eq!(frames("10%"), [1000]);
        assert_eq!(frames("0.005%"), [1], "half a page rounds up");
        assert_eq!(frames("0.0001%"), [1], "at least one page");
        assert_eq!(frames("16MB"), [3906], "a power of ten");
        assert_eq!(frames("1gb"), [244_140]);
        assert_eq!(frames("1.5MB"), [366]);
        assert_eq!(frames("6000B"), [1], "bytes round down");
        assert_eq!(frames("1.5KiB".replace("1.5", "6.5").as_str()), [1]);
    }

    #[test]
    fn auto_is_eight_sizes_from_a_thousandth_to_a_half() {
        assert_eq!(frames("auto"), [10, 24, 59, 143, 349, 847, 2058, 5000]);
        let tiny = CacheSize::Auto.resolve(4096, 3).unwrap();
        assert_eq!(tiny.iter().map(|f| f.frames).collect::<Vec<_>>(), [1, 2], "no size twice");
    }

    #[test]
    fn what_is_no_size_is_refused_with_an_example() {
        for text in [
            "0",
            "0MiB",
            "-1MiB",
            "32",
            "32 parsecs",
            "",
            "MiB",
            "1.5p",
            "99999999TiB",
            "99999999.5TB",
            "99999999999999999999p",
            "-5%",
        ] {
            let error = CacheSize::parse(text).unwrap_err();
            assert!(error.contains("expected e.g. 32MiB"), "{error}");
        }
        assert!(
            CacheSize::Bytes(4095).resolve(4096, 9).unwrap_err().contains("less than one page")
        );
        assert!(CacheSize::Pages(1 << 32).resolve(4096, 9).is_err());
        assert!(CacheSize::parse("99999999999999999999p").unwrap_err().contains(": too large;"));
        assert!(CacheSize::parse("-5%").unwrap_err().contains(": a cache has at least one page;"));
    }

    #[test]
    fn all_sizes_are_said_to_be_of_curves() {
        let error = CacheSize::parse("all").unwrap_err();
        assert!(error.starts_with("cache size \"all\": every size at once is what mrc"), "{error}");
    }

    #[test]
    fn a_page_of_decimal_kilobytes_is_taken_for_a_slip() {
        assert_eq!(parse_bytes("4096"), Ok(4096));
        assert_eq!(parse_bytes(" 4KiB"), Ok(4096));
        assert_eq!(parse_bytes("4k"), Ok(4096));
        assert_eq!(parse_bytes("520B"), Ok(520));
        let error = parse_bytes("4KB").unwrap_err();
        assert_eq!(error, "size \"4KB\": these are 4000 bytes; did you mean 4KiB?");
        assert!(parse_bytes("10%").is_err());
    }

    #[test]
    fn a_size_prints_as_it_is_written() {
        for text in [
            "32MiB", "8192p", "10%", "0.5%", "auto", "1537KiB", "100B", "16MB", "43.8MiB", "1.7GiB",
        ] {
            assert_eq!(CacheSize::parse(text).unwrap().to_string(), text);
        }
    }
}
