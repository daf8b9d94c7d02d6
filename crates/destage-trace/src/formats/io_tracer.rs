//! `io-tracer`: the block log of IO-Tracer (cacheMon), `ds/ds_*.csv`.
//!
//! ```text
//! timestamp,pid,command,sector,operation,size,latency_ms,...
//! 2024-01-15 10:30:45.123456,1234,python3,2048000,write,8192,1.234,1235,0,1233,259:0,0.010,SYNC
//! ```
//! A date with microseconds, taken at completion: arrival is the date minus the latency. Sectors
//! are of 512 bytes, sizes are in bytes. Of the columns behind the latency, the device
//! (`major:minor`) and what the header calls `device` names the volume; in older logs there is
//! none.

use super::csv;
use super::text_format::*;
use crate::format::dates::date_ns;

/// The row of the table. Not checked against a real file: unconfirmed.
pub static FORMAT: Format = Format {
    exact: true,
    has_response: true,
    confirmed: false,
    ..Format::text(
        "io-tracer",
        "IO-Tracer, block log",
        "date,pid,command,sector,operation,bytes,latency_ms,...; arrival = date - latency",
        detect,
        |input, opening| TextReader::boxed(input, opening, IoTracer),
    )
};

const LATENCY: usize = 6;

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "date,pid,command,sector,operation,bytes,latency_ms", |line| {
        let f = csv::values(line, b',');
        is_header(&f)
            || f.len() > LATENCY
                && date_ns(f[0].as_bytes()).is_ok()
                && [1, 3, 5].iter().all(|&i| parse_u64(f[i].as_bytes()).is_ok())
                && op_of(&f[4]).is_some()
                && (f[LATENCY].is_empty() || parse_decimal(f[LATENCY].as_bytes(), 1).is_ok())
    })
}

fn is_header(f: &[String]) -> bool {
    let names = ["timestamp", "pid", "command", "sector", "operation", "size"];
    f.len() > LATENCY && names.iter().zip(f).all(|(name, found)| found.eq_ignore_ascii_case(name))
}

/// Operations by their names; `None` within for those that ask nothing of the device.
fn op_of(word: &str) -> Option<Option<RecordOp>> {
    Some(match word {
        "read" => Some(RecordOp::Read),
        "write" => Some(RecordOp::Write),
        "discard" | "secure_erase" => Some(RecordOp::Trim),
        "flush" => Some(RecordOp::Flush),
        "none" => None,
        _ => return None,
    })
}

/// `259:0`.
fn is_device(text: &str) -> bool {
    text.split_once(':').is_some_and(|(major, minor)| {
        [major, minor].iter().all(|part| parse_u64(part.as_bytes()).is_ok())
    })
}

#[derive(Clone)]
struct IoTracer;

impl LineParser for IoTracer {
    const PARALLEL: bool = true;

    fn line(&mut self, line: &[u8], context: &mut Context) -> Line {
        let f = csv::values(line, b',');
        if is_header(&f) {
            return Ok(Parsed::Skip(Skipped::Header));
        }
        if f.len() <= LATENCY {
            let message = format!("expected at least {} fields, got {}", LATENCY + 1, f.len());
            return Err(Fault::line(Category::TooFewFields, message));
        }
        let fault = |i: usize, category, name: &str, expected: &str| {
            let message = format!("{name}: expected {expected}, found {}", quoted(f[i].as_bytes()));
            Err(Fault::line(category, message))
        };
        let Ok(done_ns) = date_ns(f[0].as_bytes()) else {
            return fault(0, Category::BadTime, "timestamp", "a date");
        };
        let op = match op_of(&f[4]) {
            Some(Some(op)) => op,
            Some(None) => return Ok(Parsed::Skip(Skipped::Event(f[4].clone()))),
            None => {
                return fault(4, Category::UnknownOp, "operation", "read, write, discard, flush");
            }
        };
        let response_ns = match f[LATENCY].as_str() {
            "" => NO_RESPONSE,
            text => match parse_decimal(text.as_bytes(), MILLISECOND_NS) {
                Ok(ns) => ns,
                Err(_) => return fault(LATENCY, Category::BadTime, "latency", "milliseconds"),
            },
        };
        let waited_ns = if response_ns == NO_RESPONSE { 0 } else { response_ns };
        let device = f[LATENCY + 1..].iter().find(|text| is_device(text));
        let device = device.map_or(context.file_device, String::as_str);
        let mut record = Record {
            time_ns: done_ns.saturating_sub(waited_ns),
            offset_bytes: 0,
            length_bytes: 0,
            response_ns,
            device: context.devices.index(device.as_bytes()),
            op,
            ..Record::EMPTY
        };
        if op != RecordOp::Flush {
            let sector = parse_u64(f[3].as_bytes()).ok();
            let Some(offset) = sector.and_then(|sector| sector.checked_mul(SECTOR_BYTES)) else {
                return fault(3, Category::BadNumber, "sector", "a whole number of sectors");
            };
            let Ok(length) = parse_u64(f[5].as_bytes()) else {
                return fault(5, Category::BadNumber, "size", "a whole number of bytes");
            };
            (record.offset_bytes, record.length_bytes) = (offset, length);
        }
        Ok(record.into())
    }
}
