//! Dates as text, in nanoseconds since 1970.
//!
//! `2024-01-15 10:30:45.123456`: date, then `T` or blanks, then time of day; slashes may stand for
//! the dashes; a fraction behind a point or comma; behind that `Z`, `UTC` or an offset such as
//! `+01:00`. Without one the time is taken as UTC. Days count as in the Gregorian calendar.

use super::fields::Misread;

const DAY_S: i64 = 86_400;

/// A date in nanoseconds since 1970.
///
/// # Errors
///
/// `NotANumber` for any other text, and for times before 1970; `TooLarge` past 64 bits.
pub fn date_ns(text: &[u8]) -> Result<u64, Misread> {
    parse(text).ok_or(Misread::NotANumber)?
}

fn parse(text: &[u8]) -> Option<Result<u64, Misread>> {
    let mut rest = text.trim_ascii();
    let year = digits(&mut rest, 4..=4)?;
    let mark = take(&mut rest, |c| c == b'-' || c == b'/')?;
    let month = digits(&mut rest, 1..=2).filter(|month| (1..=12).contains(month))?;
    take(&mut rest, |c| c == mark)?;
    let day = digits(&mut rest, 1..=2).filter(|&day| day >= 1 && day <= days_of(year, month))?;
    let (mut seconds, mut fraction_ns) = (0, 0);
    if !rest.is_empty() {
        take(&mut rest, |c| c == b'T' || c == b't' || c == b' ')?;
        rest = rest.trim_ascii_start();
        let hour = digits(&mut rest, 1..=2).filter(|&hour| hour < 24)?;
        take(&mut rest, |c| c == b':')?;
        let minute = digits(&mut rest, 2..=2).filter(|&minute| minute < 60)?;
        let mut second = 0;
        if take(&mut rest, |c| c == b':').is_some() {
            // 60 is a leap second.
            second = digits(&mut rest, 2..=2).filter(|&second| second <= 60)?;
            if take(&mut rest, |c| c == b'.' || c == b',').is_some() {
                fraction_ns = fraction(&mut rest)?;
            }
        }
        seconds = hour * 3600 + minute * 60 + second - zone_s(rest.trim_ascii())?;
    }
    let total = days_since_1970(year, month, day) * DAY_S + seconds;
    let seconds = u64::try_from(total).ok()?;
    let ns = seconds.checked_mul(1_000_000_000).and_then(|ns| ns.checked_add(fraction_ns));
    Some(ns.ok_or(Misread::TooLarge))
}

/// Takes the next byte if it fits.
fn take(rest: &mut &[u8], fits: impl Fn(u8) -> bool) -> Option<u8> {
    let (&first, behind) = rest.split_first()?;
    fits(first).then(|| *rest = behind)?;
    Some(first)
}

fn digits(rest: &mut &[u8], count: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let found = rest.iter().take(*count.end()).take_while(|c| c.is_ascii_digit()).count();
    if !count.contains(&found) {
        return None;
    }
    let value = rest[..found].iter().fold(0, |sum, &c| sum * 10 + i64::from(c - b'0'));
    *rest = &rest[found..];
    Some(value)
}

/// Nanoseconds of the digits behind the point; those after the ninth are dropped.
fn fraction(rest: &mut &[u8]) -> Option<u64> {
    let found = rest.iter().take_while(|c| c.is_ascii_digit()).count();
    let shown = rest[..found].iter().chain(std::iter::repeat(&b'0')).take(9);
    let ns = shown.fold(0, |sum, &c| sum * 10 + u64::from(c - b'0'));
    *rest = &rest[found..];
    (found > 0).then_some(ns)
}

/// Seconds that a zone is ahead of UTC.
fn zone_s(zone: &[u8]) -> Option<i64> {
    if zone.is_empty() || zone.eq_ignore_ascii_case(b"z") || zone.eq_ignore_ascii_case(b"utc") {
        return Some(0);
    }
    let mut rest = zone;
    let sign = take(&mut rest, |c| c == b'+' || c == b'-')?;
    let hours = digits(&mut rest, 2..=2)?;
    let _ = take(&mut rest, |c| c == b':');
    let minutes = if rest.is_empty() { 0 } else { digits(&mut rest, 2..=2)? };
    let ahead = hours * 3600 + minutes * 60;
    rest.is_empty().then_some(if sign == b'-' { -ahead } else { ahead })
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let leap_days = before / 4 - before / 100 + before / 400;
    let years = 365 * before + leap_days - 719_162;
    let months: i64 = (1..month).map(|month| days_of(year, month)).sum();
    years + months + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_every_form_are_nanoseconds_since_1970() {
        let second = 1_000_000_000;
        for (text, ns) in [
            ("1970-01-01", 0),
            ("1970-01-01T00:00:01Z", second),
            ("2024-01-15 10:30:45.123456", 1_705_314_645_123_456_000),
            ("2024-01-15 10:30:45,123456789999", 1_705_314_645_123_456_789),
            ("2024-01-15T11:30:45.123456+01:00", 1_705_314_645_123_456_000),
            ("2024/01/15 05:30:45.123456 -0500", 1_705_314_645_123_456_000),
            ("2024-02-29 00:00", 1_709_164_800 * second),
            ("2000-03-01 00:00:00 UTC", 951_868_800 * second),
        ] {
            assert_eq!(date_ns(text.as_bytes()), Ok(ns), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_dates() {
        for text in [
            "",
            "1234",
            "2023-02-29",
            "2024-13-01",
            "2024-01-15 25:00",
            "15.01.2024",
            "2024-01-15 x",
            "1969-12-31",
            "2024-01-15 10:30:45.",
            "2024-01/15",
            "2024-01-15 10:30:45+1",
        ] {
            assert_eq!(date_ns(text.as_bytes()), Err(Misread::NotANumber), "{text}");
        }
        assert_eq!(date_ns(b"9999-01-01"), Err(Misread::TooLarge));
    }
}
