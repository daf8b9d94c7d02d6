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
    most_lines(sample, "four whole numbers", |line| {
        let f = Fields::<4>::blanks(line);
        f.count == 4 && (0..4).all(|i| parse_u64(f.bytes(i)).is_ok())
    })
}

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    TextReader::boxed(input, opening, Arc { page_bytes: opening.options.page_bytes.unwrap_or(512) })
}

#[derive(Clone)]
struct Arc {
    page_bytes: u64,
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
        Facts { page_bytes: Some(self.page_bytes), ..Facts::default() }
    }
}
