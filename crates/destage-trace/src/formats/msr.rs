//! `msr`: Microsoft Research Cambridge (SNIA 388), 36 volumes of 13 servers, one week of 2007.
//!
//! ```text
//! 128166372000000000,demo,0,Write,1048576,4096,2310
//! timestamp,host,disk,type,offset,size,response
//! ```
//! Timestamp is a Windows FILETIME, 100-ns ticks since 1601, at issue; offset and size are bytes;
//! response is in 100-ns ticks and may be missing. The device is `<host>_<disk>`, because disk
//! numbers repeat across hosts. Times are absolute and shared by all volumes.
//!
//! Readings. Copies between tabs in place of commas are read too.
//! Copies converted to other units (times from 0, in ms or s) circulate: a time below
//! 10^16 is refused with a hint at `csv`.

use super::text_format::*;

/// The row of the table.
pub static FORMAT: Format = Format {
    as_csv: &[
        ("columns", "time=0,device=1+2,op=3,offset=4,length=5,response=6"),
        ("time_unit", "filetime"),
        ("offset_unit", "byte"),
        ("length_unit", "byte"),
        ("op_read", "Read"),
        ("op_write", "Write"),
    ],
    year_2000_ns: Some(12_591_158_400_000_000_000),
    has_response: true,
    ..Format::text(
        "msr",
        "Microsoft Research Cambridge",
        "FILETIME,host,disk,Read|Write,offset,size,response; bytes; device host_disk",
        detect,
        |input, opening| TextReader::boxed(input, opening, Msr::default()),
    )
};

/// FILETIME ticks below this are another unit.
const LEAST_TICKS: u64 = 10_000_000_000_000_000;

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "FILETIME,host,disk,Read|Write,...", |line| {
        let f = Fields::<7>::separated(line, separator(line));
        // Six columns are also vscsi-text's: there the first is a 32-bit serial number.
        let time = parse_u64(f.bytes(0)).is_ok_and(|t| f.count == 7 || t >= LEAST_TICKS);
        time && matches!(f.count, 6 | 7) && word_op(f.bytes(3)).is_some() && !f.bytes(1).is_empty()
    })
}

/// A comma, or a tab where the line has no comma.
fn separator(line: &[u8]) -> u8 {
    if memchr::memchr(b',', line).is_none() { b'\t' } else { b',' }
}

/// Text `host,disk,` of a device that was met, for the quick path.
#[derive(Clone, Default)]
struct Known {
    text: Vec<u8>,
    device: u32,
}

/// Devices kept for the quick path: volumes of one server interleave in merged files.
const KNOWN: usize = 8;

#[derive(Clone, Default)]
struct Msr {
    known: Vec<Known>,
    latest: usize,
}

impl Msr {
    /// The device whose text stands at `at`, and where that text ends.
    #[inline(always)]
    fn recall(&mut self, window: &[u8], at: usize) -> Option<(u32, usize)> {
        let tail = window.get(at..)?;
        let latest = self.known.get(self.latest)?;
        if tail.starts_with(&latest.text) {
            return Some((latest.device, at + latest.text.len()));
        }
        self.latest = self.known.iter().position(|k| tail.starts_with(&k.text))?;
        let known = &self.known[self.latest];
        Some((known.device, at + known.text.len()))
    }

    /// Keeps `host,disk,` as the line has it.
    fn learn(&mut self, line: &[u8], fields: &Fields<8>, device: u32) {
        let text = line[fields.at[1].start..=fields.at[2].end].to_vec();
        if !text.ends_with(b",") {
            return; // a blank before the comma: not the text that the quick path compares
        }
        if self.known.len() == KNOWN {
            self.known.remove(0);
        }
        self.known.retain(|k| k.text != text);
        self.known.push(Known { text, device });
        self.latest = self.known.len() - 1;
    }
}

impl LineParser for Msr {
    #[inline(always)]
    fn quick(&mut self, window: &[u8]) -> Option<(Record, usize)> {
        // 18 digits of FILETIME: true from 1918 to 4769.
        const ZEROS: u64 = 0x3030_3030_3030_3030;
        const OVER: u64 = 0x7676_7676_7676_7676;
        const TOP: u64 = 0x8080_8080_8080_8080;
        let (a, b) = (eight(window, 0)? ^ ZEROS, eight(window, 8)? ^ ZEROS);
        let rest = eight(window, 16)?;
        let (c, d) = ((rest as u8).wrapping_sub(b'0'), ((rest >> 8) as u8).wrapping_sub(b'0'));
        let comma = (rest >> 16) as u8 == b',';
        if ((a.wrapping_add(OVER) | a | b.wrapping_add(OVER) | b) & TOP) != 0
            || c > 9
            || d > 9
            || !comma
        {
            return None;
        }
        let ticks =
            sum_lanes(a) * 10_000_000_000 + sum_lanes(b) * 100 + u64::from(c) * 10 + u64::from(d);
        if ticks < LEAST_TICKS {
            return None;
        }
        let time_ns = ticks.checked_mul(TICK_NS)?;
        let (device, at) = self.recall(window, 19)?;
        let word = eight(window, at)?;
        let (op, at) = if word & 0xff_ffff_ffff == u64::from_le_bytes(*b"Read,\0\0\0") {
            (RecordOp::Read, at + 5)
        } else if word & 0xffff_ffff_ffff == u64::from_le_bytes(*b"Write,\0\0") {
            (RecordOp::Write, at + 6)
        } else {
            return None;
        };
        let (offset_bytes, at) = quick_number(window, at)?;
        if *window.get(at)? != b',' {
            return None;
        }
        let (length_bytes, at) = quick_number(window, at + 1)?;
        if *window.get(at)? != b',' {
            return None;
        }
        let (response, at) = quick_number(window, at + 1)?;
        let response_ns = response.checked_mul(TICK_NS)?;
        let end = match (window.get(at)?, window.get(at + 1)) {
            (b'\n', _) => at + 1,
            (b'\r', Some(b'\n')) => at + 2,
            _ => return None,
        };
        Some((
            Record {
                time_ns,
                offset_bytes,
                length_bytes,
                response_ns,
                device,
                op,
                ..Record::EMPTY
            },
            end,
        ))
    }

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let f = Fields::<8>::separated(line, separator(line));
        if f.bytes(0).eq_ignore_ascii_case(b"timestamp") {
            return Ok(Parsed::Skip(Skipped::Header));
        }
        if f.count < 6 {
            f.expect(7..=7)?;
        }
        f.expect(6..=7)?;
        let ticks = parse_u64(f.bytes(0)).ok().filter(|&t| t >= LEAST_TICKS);
        let time_ns = ticks.and_then(|t| t.checked_mul(TICK_NS)).ok_or_else(|| {
            let mut fault = f.unexpected(
                0,
                Category::BadTime,
                "Timestamp",
                "a Windows FILETIME of 17 digits or more",
            );
            fault
                .message
                .push_str("; a copy in another unit is read with --format csv and time_unit");
            fault
        })?;
        if f.bytes(1).is_empty() {
            return Err(f.unexpected(1, Category::BadDevice, "Hostname", "a host's name"));
        }
        let disk = f.bytes(2);
        if disk.is_empty() || !disk.iter().all(u8::is_ascii_digit) {
            return Err(f.unexpected(2, Category::BadDevice, "DiskNumber", "a whole number"));
        }
        let op = word_op(f.bytes(3))
            .ok_or_else(|| f.unexpected(3, Category::UnknownOp, "Type", "Read or Write"))?;
        let offset_bytes = f.whole(4, "Offset", "bytes")?;
        let length_bytes = f.whole(5, "Size", "bytes")?;
        let response_ns = if f.count < 7 || f.bytes(6).is_empty() {
            NO_RESPONSE
        } else {
            f.bytes_in(6, "ResponseTime", "100-ns ticks", TICK_NS)?
        };
        let device = context.devices.index(&[f.bytes(1), b"_", disk].concat());
        self.learn(line, &f, device);
        context.extent_field = f.at[5].clone();
        Ok(Record { time_ns, offset_bytes, length_bytes, response_ns, device, op, ..Record::EMPTY }
            .into())
    }

    fn parallel(&self) -> Option<Self> {
        Some(Msr::default())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::assert_paths_agree;

    proptest! {
        #[test]
        fn the_quick_path_and_the_careful_one_agree(
            time in "1[0-9]{15,19}", host in "[a-z]{1,12}", disk in "[0-9x]{1,2}",
            op in "(Read|Write|read|W)", offset in "[0-9]{1,20}", size in "[0-9]{1,10}",
            response in "(,[0-9]{1,20})?", end in "( |)(\r|)", tail in "[0-9,a\n]{0,40}",
        ) {
            let line = format!("{time},{host},{disk},{op},{offset},{size}{response}{end}");
            let plain = time.len() == 18 && matches!(op.as_str(), "Read" | "Write")
                && offset.len() < 17 && !response.is_empty() && response.len() < 17
                && !end.contains(' ');
            assert_paths_agree(Msr::default(), &line, &tail, plain);
        }
    }
}
