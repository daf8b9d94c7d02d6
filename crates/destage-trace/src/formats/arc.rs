//! `arc`: page references of the ARC paper (`.lis`).
//!
//! ```text
//! 100 4 0 0
//! first count ignored number
//! ```
//! `count` pages from `first`, all reads, without times. One unit is one page of the cache, as in
//! the paper: 512 bytes in the published files (`page_bytes`). The third column is not always 0.

use super::text_format::*;

/// The row of the table.
pub static FORMAT: Format = Format {
    as_csv: &[
        ("columns", "offset=0,length=1"),
        ("offset_unit", "512"),
        ("length_unit", "512"),
        ("default_op", "read"),
    ],
    has_times: false,
    has_ops: false,
    has_volumes: false,
    name_parts: &[".lis"],
    ..Format::text(
        "arc",
        "ARC paper, page references",
        "first count ignored number; 512-byte pages, all reads, no times",
        detect,
        open,
    )
};

fn detect(sample: &Sample) -> Verdict {
    let verdict = most_lines(sample, "four whole numbers", |line| {
        let f = Fields::<4>::blanks(line);
        f.count == 4 && (0..4).all(|i| parse_u64(f.bytes(i)).is_ok())
    });
    match verdict {
        Verdict::Yes(why) if is_odd(sample) => Verdict::Maybe(format!("{why}, but {ODD}")),
        other => other,
    }
}

const ODD: &str = "the third is another number in many lines, or the last falls";

/// In the published files the third column is one number but for a few lines, and the last one
/// counts requests. A column of 0 and 1 is an operation.
fn is_odd(sample: &Sample) -> bool {
    let lines = sample.lines(1000);
    let column = |i: usize| -> Vec<u64> {
        let number = |line: &&[u8]| parse_u64(Fields::<4>::blanks(line).bytes(i)).ok();
        lines.iter().filter_map(number).collect()
    };
    let mut third = column(2);
    third.sort_unstable();
    let is_flag = third.first() == Some(&0) && third.last() == Some(&1);
    let most = third.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap_or(0);
    is_flag || most * 5 < third.len() * 4 || !column(3).is_sorted()
}

fn open(mut input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    let is_odd = is_odd(&Sample::of(&mut input)?);
    let page_bytes = opening.options.page_bytes.unwrap_or(512);
    TextReader::boxed(input, opening, Arc { page_bytes, is_odd })
}

#[derive(Clone)]
struct Arc {
    page_bytes: u64,
    /// Columns of the first lines are not those of the published files.
    is_odd: bool,
}

impl LineParser for Arc {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let f = Fields::<5>::blanks(line);
        f.expect(4..=4)?;
        let offset_bytes = f.bytes_in(0, "first", "pages", self.page_bytes)?;
        let length_bytes = f.bytes_in(1, "count", "pages", self.page_bytes)?;
        f.whole(2, "third column", "any kind")?;
        f.whole(3, "number", "the request")?;
        let device = context.devices.index(context.file_device.as_bytes());
        context.extent_field = f.at[1].clone();
        Ok(Record { offset_bytes, length_bytes, device, ..Record::EMPTY }.into())
    }

    fn facts(&self) -> Facts {
        let odd_columns = self.is_odd.then_some(ODD);
        Facts { page_bytes: Some(self.page_bytes), odd_columns, ..Facts::default() }
    }
}
