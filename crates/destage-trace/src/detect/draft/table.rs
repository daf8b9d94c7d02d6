//! A table of text by its columns.

use super::names::words_of;
use crate::format::Sample;
use crate::format::dates::date_ns;
use crate::format::fields::{parse_decimal, parse_u64};
use crate::formats::csv::{delimiter_of, values};

/// Lines that are looked at.
const LINES: usize = 4096;

/// A table of text by its columns.
pub(super) struct Table {
    /// Names in the first line, or none.
    pub(super) names: Vec<String>,
    /// Values of each column.
    pub(super) columns: Vec<Vec<String>>,
    /// Number of each row's line, from 1 on.
    pub(super) lines: Vec<usize>,
    /// The first line that has another number of fields than the first, as a sentence.
    pub(super) odd: Option<String>,
}

impl Table {
    pub(super) fn of(sample: &Sample) -> Option<Table> {
        let lines = sample.lines(LINES);
        let delimiter = delimiter_of(&lines);
        let mut rows: Vec<Vec<String>> = lines.iter().map(|line| values(line, delimiter)).collect();
        let width = rows.first()?.len();
        let mut numbers: Vec<usize> = lines.iter().map(|line| sample.line_number(line)).collect();
        let odd =
            rows.iter().zip(&numbers).find(|(row, _)| row.len() != width).map(|(row, line)| {
                format!("line {line} is left out: expected {width} fields, got {}", row.len())
            });
        let mut has_width = rows.iter().map(|row| row.len() == width);
        numbers.retain(|_| has_width.next().unwrap_or(false));
        rows.retain(|row| row.len() == width);
        // Dates between blanks are two columns, and then their name is one too few: no table.
        let named = !rows[0].iter().any(|value| is_number(value) || is_date(value));
        let names = if named { rows.remove(0) } else { Vec::new() };
        let lines_of_rows = numbers.split_off(usize::from(named).min(numbers.len()));
        if width < 2 || rows.len() + usize::from(named) < 2 || rows.len() + 1 < lines.len() / 2 {
            return None;
        }
        let column = |k: usize| rows.iter().map(|row| row[k].clone()).collect();
        let columns = (0..width).map(column).collect();
        Some(Table { names, columns, lines: lines_of_rows, odd })
    }

    /// How the option `columns` calls a column.
    pub(super) fn called(&self, k: usize) -> String {
        let plain = |name: &&String| {
            name.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-.".contains(&c))
                && name.bytes().any(|c| c.is_ascii_alphabetic())
        };
        let unique = |name: &&String| self.names.iter().filter(|n| n == name).count() == 1;
        let name = self.names.get(k).filter(plain).filter(unique);
        name.cloned().unwrap_or_else(|| k.to_string())
    }

    /// Words of a column's name.
    pub(super) fn words(&self, k: usize) -> Vec<String> {
        self.names.get(k).map_or_else(Vec::new, |name| words_of(name))
    }

    /// Values of a column that are there.
    fn present(&self, k: usize) -> impl Iterator<Item = &String> {
        self.columns[k].iter().filter(|value| !value.is_empty())
    }

    /// Whole numbers of a column, where flushes may have none.
    pub(super) fn whole(&self, k: usize) -> Option<Vec<u64>> {
        let found: Option<Vec<u64>> = self.present(k).map(|value| Self::whole_of(value)).collect();
        found.filter(|numbers| !numbers.is_empty())
    }

    /// A value as a whole number.
    pub(super) fn whole_of(value: &str) -> Option<u64> {
        let digits = value.split_once('.').map_or(value, |(front, fraction)| {
            if fraction.bytes().all(|c| c == b'0') { front } else { value }
        });
        match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => parse_u64(digits.as_bytes()).ok(),
        }
    }

    /// Whether a column can be a time.
    pub(super) fn is_time(&self, k: usize) -> bool {
        self.is_date(k) || self.columns[k].iter().all(|value| is_number(value))
    }

    /// Whether a column holds dates as text.
    pub(super) fn is_date(&self, k: usize) -> bool {
        self.columns[k].iter().all(|value| is_date(value))
    }

    /// Whether the numbers of a column never fall.
    pub(super) fn rises(&self, k: usize) -> bool {
        let numbers: Vec<f64> = self.columns[k].iter().filter_map(|value| number(value)).collect();
        let all = numbers.len() == self.columns[k].len();
        all && numbers.is_sorted() && numbers.first() != numbers.last()
    }

    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    /// The largest whole number of a column; 0 where it has others.
    pub(super) fn largest(&self, k: usize) -> u64 {
        self.whole(k).and_then(|all| all.into_iter().max()).unwrap_or(0)
    }

    /// Whether two columns name the same things.
    pub(super) fn alike(&self, a: usize, b: usize) -> bool {
        let pairs = |x: usize, y: usize| {
            let mut map = std::collections::HashMap::new();
            let both = self.columns[x].iter().zip(&self.columns[y]);
            both.into_iter().all(|(one, other)| *map.entry(one).or_insert(other) == other)
        };
        pairs(a, b) && pairs(b, a)
    }
}

pub(super) fn number(text: &str) -> Option<f64> {
    parse_decimal(text.replace(',', ".").as_bytes(), 1).ok()?;
    text.replace(',', ".").parse().ok()
}

pub(super) fn is_number(text: &str) -> bool {
    number(text).is_some()
}

pub(super) fn is_date(text: &str) -> bool {
    date_ns(text.as_bytes()).is_ok()
}
