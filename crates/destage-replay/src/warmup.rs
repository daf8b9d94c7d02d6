//! Requests before which nothing counts.

use crate::fill::Filled;
use serde::{Deserialize, Serialize};

/// Requests before which nothing counts.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warmup {
    /// Everything counts.
    #[default]
    None,
    /// Share of the requests, per cent, 0..100.
    Percent(f64),
    /// Number of requests.
    Requests(u64),
    /// Requests that arrive within so many nanoseconds of the trace's first.
    Nanos(u64),
    /// Until the cache is full, to the end of the request that fills it.
    Full,
    /// Until the caches of a comparison are full, at the same request for all of its runs; `None`
    /// before that request was found ([`Filled::of`]).
    Auto(Option<Filled>),
}

impl Warmup {
    /// Rows of a trace before which nothing counts, if that is known before the run.
    pub fn rows(self, rows: usize, arrivals_ns: &[u64]) -> Option<usize> {
        let warm = match self {
            Warmup::None => 0,
            Warmup::Percent(p) => (p / 100.0 * rows as f64).round() as usize,
            Warmup::Requests(n) => usize::try_from(n).unwrap_or(rows),
            Warmup::Nanos(ns) => {
                let first = arrivals_ns.first().copied().unwrap_or(0);
                arrivals_ns.partition_point(|&t| t - first < ns)
            }
            Warmup::Auto(found) => {
                found.map_or(0, |found| usize::try_from(found.requests).unwrap_or(rows))
            }
            Warmup::Full => return None,
        };
        Some(warm.min(rows))
    }

    /// Reads `auto`, `10%`, `100000r`, `60s` (also `ms`, `m`, `h`), `full`, `none`.
    pub fn parse(text: &str) -> Result<Warmup, String> {
        let text = text.trim();
        let wrong =
            || format!("warm-up {text:?}: expected auto, none, full, or e.g. 10%, 100000r, 60s");
        match text {
            "auto" => return Ok(Warmup::Auto(None)),
            "full" => return Ok(Warmup::Full),
            "none" | "0" => return Ok(Warmup::None),
            _ => {}
        }
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, unit) = (&text[..digits], text[digits..].trim());
        let value: f64 = number.parse().map_err(|_| wrong())?;
        let seconds = match unit {
            "%" if value <= 100.0 => return Ok(Warmup::Percent(value)),
            "r" => return number.parse().map(Warmup::Requests).map_err(|_| wrong()),
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        let nanos = value * seconds * 1e9;
        if nanos < u64::MAX as f64 { Ok(Warmup::Nanos(nanos as u64)) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_in_time_ends_before_the_first_request_that_is_as_late() {
        let rows = |ns| Warmup::Nanos(ns).rows(4, &[100, 150, 200, 260]);
        assert_eq!([0, 100, 101, 1000].map(rows), [0, 2, 3, 4].map(Some));
    }

    #[test]
    fn a_warm_up_is_read_as_written() {
        assert_eq!(Warmup::parse("10%"), Ok(Warmup::Percent(10.0)));
        assert_eq!(Warmup::parse("100000r"), Ok(Warmup::Requests(100_000)));
        assert_eq!(Warmup::parse("1.5s"), Ok(Warmup::Nanos(1_500_000_000)));
        assert_eq!(Warmup::parse("full"), Ok(Warmup::Full));
        assert_eq!(Warmup::parse("auto"), Ok(Warmup::Auto(None)));
        for text in ["", "10", "101%", "-1s", "r", "1.5r", "ten%"] {
            assert!(Warmup::parse(text).unwrap_err().contains("or e.g. 10%"), "{text}");
        }
    }
}
