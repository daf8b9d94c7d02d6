//! `pages`: one page number a line (LIRS `.trc`), without times.
//!
//! ```text
//! 2819
//! 85 w
//! *
//! ```
//! A line with a single `*` is a print marker of the LIRS program, a comment. An optional second
//! column `r` or `w` is the operation; without it all are reads. A page is `page_bytes`, 4096
//! unless given.

use super::text_format::*;

/// The row of the table.
pub static FORMAT: Format = Format {
    as_csv: &[("columns", "offset=0"), ("offset_unit", "page"), ("default_op", "read")],
    has_times: false,
    has_ops: false,
    has_volumes: false,
    name_parts: &[".trc"],
    ..Format::text(
        "pages",
        "page numbers (LIRS)",
        "page [r|w]; one a line, 4096-byte pages (page_bytes), no times",
        detect,
        open,
    )
};

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "one page number each", |line| {
        let f = Fields::<2>::blanks(line);
        let op = f.count == 1 || (f.count == 2 && letter_op(f.bytes(1)).is_some());
        f.bytes(0) == b"*" && f.count == 1 || op && parse_u64(f.bytes(0)).is_ok()
    })
}

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    let page_bytes = opening.options.page_bytes.unwrap_or(4096);
    TextReader::boxed(input, opening, Pages { page_bytes, has_ops: false })
}

#[derive(Clone)]
struct Pages {
    page_bytes: u64,
    has_ops: bool,
}

impl LineParser for Pages {
    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let f = Fields::<3>::blanks(line);
        if f.bytes(0) == b"*" && f.count == 1 {
            return Ok(Parsed::Skip(Skipped::Comment));
        }
        f.expect(1..=2)?;
        let offset_bytes = f.bytes_in(0, "page", "pages", self.page_bytes)?;
        let op = match f.count {
            1 => RecordOp::Read,
            _ => letter_op(f.bytes(1))
                .ok_or_else(|| f.unexpected(1, Category::UnknownOp, "operation", "r or w"))?,
        };
        self.has_ops |= f.count == 2;
        let device = context.devices.index(context.file_device.as_bytes());
        context.extent_field = f.at[0].clone();
        let length_bytes = self.page_bytes;
        Ok(Record { offset_bytes, length_bytes, device, op, ..Record::EMPTY }.into())
    }

    fn facts(&self) -> Facts {
        Facts {
            page_bytes: Some(self.page_bytes),
            has_ops: self.has_ops.then_some(true),
            ..Facts::default()
        }
    }
}
