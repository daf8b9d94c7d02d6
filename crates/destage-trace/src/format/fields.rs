//! Fields of a line: splitting, numbers and times, and the messages when they are wrong.
//!
//! Times and addresses never pass through floating point (`docs/spec/trace-formats.md` section 1):
//! a FILETIME and an epoch with nine decimals do not fit 53 bits.

use std::ops::Range;

use crate::error::Category;
use crate::format::Fault;
use crate::record::RecordOp;
use destage_keys::printable;

/// The first `N` fields of a line, ASCII blanks around them dropped, and how many there are in all.
#[derive(Clone, Debug)]
pub struct Fields<'a, const N: usize> {
    /// The whole line.
    pub line: &'a [u8],
    /// Ranges of the first fields; those past `count` are empty.
    pub at: [Range<usize>; N],
    /// Fields in the line, also beyond `N`.
    pub count: usize,
}

impl<'a, const N: usize> Fields<'a, N> {
    /// Fields between commas.
    pub fn commas(line: &'a [u8]) -> Self {
        Self::separated(line, b',')
    }

    /// Fields between single separators, of which none may stand at the end for nothing.
    pub fn separated(line: &'a [u8], separator: u8) -> Self {
        let mut fields = Fields { line, at: [const { 0..0 }; N], count: 0 };
        let mut start = 0;
        loop {
            let end = line[start..]
                .iter()
                .position(|&c| c == separator)
                .map_or(line.len(), |n| start + n);
            fields.push(trim(line, start..end));
            if end == line.len() {
                return fields;
            }
            start = end + 1;
        }
    }

    /// Fields between runs of blanks and tabs; blanks around the line are dropped.
    pub fn blanks(line: &'a [u8]) -> Self {
        let mut fields = Fields { line, at: [const { 0..0 }; N], count: 0 };
        let mut start = 0;
        while start < line.len() {
            if is_blank(line[start]) {
                start += 1;
                continue;
            }
            let end =
                line[start..].iter().position(|&c| is_blank(c)).map_or(line.len(), |n| start + n);
            fields.push(start..end);
            start = end;
        }
        fields
    }

    fn push(&mut self, range: Range<usize>) {
        if let Some(place) = self.at.get_mut(self.count) {
            *place = range;
        }
        self.count += 1;
    }

    /// Bytes of field `i`.
    pub fn bytes(&self, i: usize) -> &'a [u8] {
        &self.line[self.at[i].clone()]
    }

    /// Checks the number of fields.
    pub fn expect(&self, range: std::ops::RangeInclusive<usize>) -> Result<(), Fault> {
        if range.contains(&self.count) {
            return Ok(());
        }
        let (least, most) = (*range.start(), *range.end());
        let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let message = format!("expected {wanted} fields, got {}", self.count);
        if self.count < least {
            return Err(Fault::line(Category::TooFewFields, message));
        }
        let extra = self.at.get(most).cloned().unwrap_or(0..0);
        Err(Fault { category: Category::TooManyFields, field: extra, message })
    }

    /// Field `i` as a whole number; `name` and `of` are for the message (`Offset`, `bytes`).
    pub fn whole(&self, i: usize, name: &str, of: &str) -> Result<u64, Fault> {
        whole(self.line, self.at[i].clone(), name, of, Category::BadNumber)
    }

    /// Field `i` as a whole number of `unit` bytes each, in bytes.
    pub fn bytes_in(&self, i: usize, name: &str, of: &str, unit: u64) -> Result<u64, Fault> {
        let count = self.whole(i, name, of)?;
        count.checked_mul(unit).ok_or_else(|| self.too_large(i, name))
    }

    /// Field `i` does not fit the product's 64 bits.
    pub fn too_large(&self, i: usize, name: &str) -> Fault {
        let found = quoted(self.bytes(i));
        Fault {
            category: Category::OutOfRange,
            field: self.at[i].clone(),
            message: format!("{name}: {found} does not fit 64 bits"),
        }
    }

    /// Field `i` as the whole number that names a device.
    pub fn whole_device(&self, i: usize, name: &str, of: &str) -> Result<u64, Fault> {
        let bad = |fault| Fault { category: Category::BadDevice, ..fault };
        self.whole(i, name, of).map_err(bad)
    }

    /// Field `i` as one of these operations; `expected` is for the message.
    pub fn op(
        &self,
        i: usize,
        name: &str,
        words: &[(&[u8], RecordOp)],
        expected: &str,
    ) -> Result<RecordOp, Fault> {
        let found = words.iter().find(|(word, _)| *word == self.bytes(i));
        found
            .map(|&(_, op)| op)
            .ok_or_else(|| self.unexpected(i, Category::UnknownOp, name, expected))
    }

    /// Field `i` as a decimal time in units of `unit_ns` nanoseconds, in ns.
    pub fn time(&self, i: usize, name: &str, of: &str, unit_ns: u64) -> Result<u64, Fault> {
        time(self.line, self.at[i].clone(), name, of, unit_ns)
    }

    /// Fault at field `i`: `name: expected ..., found "..."`.
    pub fn unexpected(&self, i: usize, category: Category, name: &str, expected: &str) -> Fault {
        unexpected(self.line, self.at[i].clone(), category, name, expected)
    }
}

/// Ranges of all fields between runs of blanks and tabs.
pub fn blank_columns(line: &[u8]) -> Vec<Range<usize>> {
    let mut columns = Vec::with_capacity(12);
    let mut end = 0;
    for part in line.split(|&c| is_blank(c)) {
        let start = end;
        end += part.len();
        if !part.is_empty() {
            columns.push(start..end);
        }
        end += 1;
    }
    columns
}

/// A field as a whole number of `unit` bytes each, in bytes.
pub fn whole_bytes(
    line: &[u8],
    at: Range<usize>,
    name: &str,
    of: &str,
    unit: u64,
) -> Result<u64, Fault> {
    whole(line, at.clone(), name, of, Category::BadNumber)?.checked_mul(unit).ok_or_else(|| {
        let message = format!("{name}: does not fit 64 bits as bytes");
        Fault { category: Category::OutOfRange, field: at, message }
    })
}

/// Operation of the letter `r` or `w`, in any case.
pub fn letter_op(field: &[u8]) -> Option<RecordOp> {
    match field {
        b"r" | b"R" => Some(RecordOp::Read),
        b"w" | b"W" => Some(RecordOp::Write),
        _ => None,
    }
}

/// Operation of the word `read` or `write`, in any case.
pub fn word_op(field: &[u8]) -> Option<RecordOp> {
    let is = |word: &[u8]| field.eq_ignore_ascii_case(word);
    if is(b"read") { Some(RecordOp::Read) } else { is(b"write").then_some(RecordOp::Write) }
}

/// `name: expected ..., found "..."`.
pub fn unexpected(
    line: &[u8],
    at: Range<usize>,
    category: Category,
    name: &str,
    expected: &str,
) -> Fault {
    let found = quoted(&line[at.clone()]);
    Fault { category, field: at, message: format!("{name}: expected {expected}, found {found}") }
}

/// A field as a whole number.
pub fn whole(
    line: &[u8],
    at: Range<usize>,
    name: &str,
    of: &str,
    category: Category,
) -> Result<u64, Fault> {
    match parse_u64(&line[at.clone()]) {
        Ok(number) => Ok(number),
        Err(Misread::NotANumber) => {
            Err(unexpected(line, at, category, name, &format!("a whole number of {of}")))
        }
        Err(Misread::TooLarge) => {
            let found = quoted(&line[at.clone()]);
            let message = format!("{name}: {found} does not fit 64 bits");
            Err(Fault { category: Category::OutOfRange, field: at, message })
        }
    }
}

/// A field as a decimal time in units of `unit_ns` nanoseconds, in ns.
pub fn time(
    line: &[u8],
    at: Range<usize>,
    name: &str,
    of: &str,
    unit_ns: u64,
) -> Result<u64, Fault> {
    match parse_decimal(&line[at.clone()], unit_ns) {
        Ok(ns) => Ok(ns),
        Err(Misread::NotANumber) => {
            Err(unexpected(line, at, Category::BadTime, name, &format!("a decimal number of {of}")))
        }
        Err(Misread::TooLarge) => {
            let found = quoted(&line[at.clone()]);
            let message = format!("{name}: {found} {of} are more than 2^64 nanoseconds");
            Err(Fault { category: Category::BadTime, field: at, message })
        }
    }
}

/// A field in quotes for a message, cut to 40 bytes.
pub fn quoted(field: &[u8]) -> String {
    if field.len() <= 40 {
        return format!("\"{}\"", printable(field));
    }
    format!("\"{}...\"", printable(&field[..40]))
}

/// Blank or tab.
#[inline]
pub fn is_blank(c: u8) -> bool {
    c == b' ' || c == b'\t'
}

/// `range` without blanks at its ends.
pub fn trim(line: &[u8], mut range: Range<usize>) -> Range<usize> {
    while range.start < range.end && is_blank(line[range.start]) {
        range.start += 1;
    }
    while range.start < range.end && is_blank(line[range.end - 1]) {
        range.end -= 1;
    }
    range
}

/// Why digits are no number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misread {
    /// Empty, a sign, a letter, ...
    NotANumber,
    /// Past 2^64.
    TooLarge,
}

/// Decimal digits only: no sign, no separators.
pub fn parse_u64(digits: &[u8]) -> Result<u64, Misread> {
    if digits.is_empty() {
        return Err(Misread::NotANumber);
    }
    // 19 digits always fit: only what lies behind them needs a check.
    let (safe, rest) = digits.split_at(digits.len().min(19));
    let mut value = 0u64;
    for &c in safe {
        let digit = c.wrapping_sub(b'0');
        if digit > 9 {
            return Err(Misread::NotANumber);
        }
        value = value * 10 + u64::from(digit);
    }
    if !rest.iter().all(u8::is_ascii_digit) {
        return Err(Misread::NotANumber);
    }
    for &c in rest {
        let next = value.checked_mul(10).and_then(|v| v.checked_add(u64::from(c - b'0')));
        value = next.ok_or(Misread::TooLarge)?;
    }
    Ok(value)
}

/// Hexadecimal digits after `0x` (required if `prefixed`).
pub fn parse_hex(field: &[u8], prefixed: bool) -> Result<u64, Misread> {
    let stripped = field.strip_prefix(b"0x").or_else(|| field.strip_prefix(b"0X"));
    let digits = match stripped {
        Some(digits) => digits,
        None if prefixed => return Err(Misread::NotANumber),
        None => field,
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(Misread::NotANumber);
    }
    let mut value = 0u64;
    for &c in digits {
        if value >> 60 != 0 {
            return Err(Misread::TooLarge);
        }
        value = value << 4 | u64::from((c as char).to_digit(16).unwrap_or(0));
    }
    Ok(value)
}

/// A decimal number (`12`, `.5`, `3.25e-3`) of units of `unit_ns` nanoseconds, in whole ns, what
/// lies below dropped. An exponent is accepted because `%lf` writers emit one; a sign of the number
/// is not.
pub fn parse_decimal(field: &[u8], unit_ns: u64) -> Result<u64, Misread> {
    let (mantissa, exponent) = match field.iter().position(|c| matches!(c, b'e' | b'E')) {
        Some(at) => (&field[..at], parse_exponent(&field[at + 1..])?),
        None => (field, 0),
    };
    let point = mantissa.iter().position(|&c| c == b'.');
    let (whole, fraction) = match point {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &mantissa[..0]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(Misread::NotANumber);
    }
    if !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
        return Err(Misread::NotANumber);
    }
    // value = digits * 10^power units, read digit by digit: weight of the first digit in units,
    // falling by ten; as soon as the weight is below 10^-18 of the unit nothing more can count.
    let mut power = whole.len() as i64 + exponent;
    let (mut units, mut below) = (0u64, 0u64); // below: units of 10^-18
    for &c in whole.iter().chain(fraction) {
        power -= 1;
        let digit = u64::from(c - b'0');
        if power >= 0 {
            units = units
                .checked_mul(10)
                .and_then(|u| u.checked_add(digit))
                .ok_or(Misread::TooLarge)?;
        } else if power >= -18 {
            below += digit * 10u64.pow((power + 18) as u32);
        }
    }
    for _ in 0..power {
        if units == 0 {
            break;
        }
        units = units.checked_mul(10).ok_or(Misread::TooLarge)?;
    }
    let fraction_ns = u128::from(below) * u128::from(unit_ns) / 10u128.pow(18);
    let whole_ns = units.checked_mul(unit_ns).ok_or(Misread::TooLarge)?;
    whole_ns.checked_add(fraction_ns as u64).ok_or(Misread::TooLarge)
}

fn parse_exponent(field: &[u8]) -> Result<i64, Misread> {
    let (sign, digits) = match field {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        rest => (1, rest),
    };
    // An exponent of more digits than this is no time; the bound keeps `power` within i64.
    if digits.len() > 4 {
        return Err(Misread::NotANumber);
    }
    Ok(sign * parse_u64(digits)? as i64)
}

/// Eight bytes from `at`, the first in the low bits; `None` past the end.
#[inline(always)]
pub(crate) fn eight(window: &[u8], at: usize) -> Option<u64> {
    let bytes = window.get(at..at + 8)?;
    Some(u64::from_le_bytes([
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
    ]))
}

/// The number whose digits begin at `at`, and where they end: at most 19 digits, at least one, and
/// eight readable bytes behind them. Anything else is `None`, for the careful reader to judge.
///
/// Eight digits at a time: xor with `0` turns digits into 0..=9, adding 0x76 sets the top bit of
/// every byte above 9 (a carry can only come from such a byte, so the lowest one is right), and
/// three multiplications add up pairs, fours and eights.
#[inline(always)]
pub(crate) fn quick_number(window: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let mut value = 0u64;
    let first = at;
    loop {
        let lanes = eight(window, at)? ^ 0x3030_3030_3030_3030;
        let stops = (lanes.wrapping_add(0x7676_7676_7676_7676) | lanes) & 0x8080_8080_8080_8080;
        if stops == 0 {
            value = value.wrapping_mul(100_000_000).wrapping_add(sum_lanes(lanes));
            at += 8;
            if at - first > 16 {
                return None;
            }
            continue;
        }
        let digits = (stops.trailing_zeros() / 8) as usize;
        if digits > 0 {
            let part = sum_lanes(lanes << (64 - 8 * digits));
            value = value.wrapping_mul(POWERS[digits]).wrapping_add(part);
            at += digits;
        }
        return (at > first && at - first <= 19).then_some((value, at));
    }
}

/// The eight digits in `lanes`, the first of them in the low byte, as one number.
#[inline(always)]
pub(crate) fn sum_lanes(lanes: u64) -> u64 {
    let pairs = lanes.wrapping_mul(10).wrapping_add(lanes >> 8);
    let high = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let low = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    high.wrapping_add(low) >> 32
}

const POWERS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimals_become_whole_nanoseconds_without_rounding_up() {
        let s = 1_000_000_000;
        for (text, unit, ns) in [
            ("0", s, 0),
            ("1456012801.000250000", s, 1_456_012_801_000_250_000),
            ("0.0000000019", s, 1),
            (".5", s, 500_000_000),
            ("5.", s, 5_000_000_000),
            ("1.5e-3", s, 1_500_000),
            ("1.5E+3", s, 1_500_000_000_000),
            ("0.250000", 1_000_000, 250_000),
            ("13.191135", 1_000_000, 13_191_135),
            ("2310", 1_000, 2_310_000),
            ("18446744073.709551615", s, u64::MAX),
            ("0e9999", s, 0),
            ("1e-9999", s, 0),
            ("0.00000000000000000000000001", s, 0),
        ] {
            assert_eq!(parse_decimal(text.as_bytes(), unit), Ok(ns), "{text}");
        }
        for text in ["", ".", "-1", "+1", "1.2.3", "1e", "1e99999", "0x1", "1,5", "nan"] {
            assert_eq!(parse_decimal(text.as_bytes(), s), Err(Misread::NotANumber), "{text}");
        }
        for text in ["18446744073.709551616", "1e9999", "99999999999999999999999"] {
            assert_eq!(parse_decimal(text.as_bytes(), s), Err(Misread::TooLarge), "{text}");
        }
    }

    #[test]
    fn whole_and_hexadecimal_numbers_are_strict() {
        assert_eq!(parse_u64(b"18446744073709551615"), Ok(u64::MAX));
        assert_eq!(parse_u64(b"18446744073709551616"), Err(Misread::TooLarge));
        for bad in ["", "-1", "+1", "1_000", "1 000", "0x10", "1.0"] {
            assert_eq!(parse_u64(bad.as_bytes()), Err(Misread::NotANumber), "{bad}");
        }
        assert_eq!(parse_hex(b"0x00100000", true), Ok(1 << 20));
        assert_eq!(parse_hex(b"ffffffffffffffff", false), Ok(u64::MAX));
        assert_eq!(parse_hex(b"0x10000000000000000", true), Err(Misread::TooLarge));
        assert_eq!(parse_hex(b"10", true), Err(Misread::NotANumber));
        assert_eq!(parse_hex(b"0x", true), Err(Misread::NotANumber));
    }

    #[test]
    fn fields_are_trimmed_and_counted() {
        let fields = Fields::<3>::commas(b" a ,b\t,,d");
        assert_eq!(
            (fields.bytes(0), fields.bytes(1), fields.bytes(2)),
            (&b"a"[..], &b"b"[..], &b""[..])
        );
        assert_eq!(fields.count, 4);
        let fields = Fields::<3>::blanks(b"  a \t b ");
        assert_eq!((fields.bytes(0), fields.bytes(1), fields.count), (&b"a"[..], &b"b"[..], 2));
    }

    proptest! {
        #[test]
        fn quick_numbers_are_the_careful_ones(text in "[0-9]{0,24}[,x\n/:]?[0-9]{0,9}") {
            let bytes = [text.as_bytes(), b"\0\0\0\0\0\0\0\0"].concat();
            let digits = bytes.iter().take_while(|c| c.is_ascii_digit()).count();
            let careful = parse_u64(&bytes[..digits]).ok().filter(|_| digits <= 19);
            prop_assert_eq!(quick_number(&bytes, 0), careful.map(|value| (value, digits)));
        }
    }
}
