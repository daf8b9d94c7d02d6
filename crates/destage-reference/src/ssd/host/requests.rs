//! The requests of a vector (`docs/spec/device.md` 7.1, `docs/spec/device-today.md` 4).

use super::options::part_of_the_run;
use crate::ssd::config::{Config, section};
use crate::{Op, Step};
use serde_json::Value;

/// The kind of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestKind {
    Access(Op),
    Trim,
    Flush,
}

/// One request with its page numbers in `0 .. L-1`.
pub(super) struct Request {
    pub(super) arrival: u64,
    pub(super) asked: RequestKind,
    pub(super) length: u64, // bytes
    /// Pages that an access touches, or that a trim covers whole.
    pub(super) pages: Vec<u64>,
}

/// Those that are part of the run (`docs/spec/device-today.md` 4.3).
pub(super) fn requests(vector: &Value, config: &Config) -> Result<Vec<Request>, String> {
    let (trims, flushes) = part_of_the_run(&section(vector, "host"));
    let list = vector["requests"].as_array().expect("a list of requests");
    let mut requests: Vec<Request> = Vec::new();
    let mut latest = 0;
    for (index, request) in list.iter().enumerate() {
        let number = |at: usize| request[at].as_u64().expect("an integer");
        let (arrival, offset, length) = (number(0), number(2), number(3));
        let asked = match request[1].as_str() {
            Some("r") => RequestKind::Access(Op::Read),
            Some("w") => RequestKind::Access(Op::Write),
            Some("t") => RequestKind::Trim,
            Some("f") => RequestKind::Flush,
            _ => return Err(format!("requests: {index}: expected r, w, t or f: {}", request[1])),
        };
        if latest > arrival {
            return Err(format!("requests: {index}: arrives before the one before it"));
        }
        latest = arrival;
        if (asked == RequestKind::Trim && !trims) || (asked == RequestKind::Flush && !flushes) {
            continue;
        }
        let bytes = config.page_bytes;
        let touched = match asked {
            RequestKind::Access(_) if length > 0 => {
                offset / bytes..(offset + length - 1) / bytes + 1
            }
            RequestKind::Trim => offset.div_ceil(bytes)..(offset + length) / bytes,
            _ => 0..0,
        };
        let mut pages = Vec::new();
        for page in touched {
            if page >= config.logical_pages && !config.wrap {
                return Err(format!("requests: {index}: page {page} is beyond the device"));
            }
            pages.push(page % config.logical_pages);
        }
        requests.push(Request { arrival, asked, length, pages });
    }
    Ok(requests)
}

/// The accesses and trims to come, for a page policy that looks ahead.
pub(super) fn steps(requests: &[Request]) -> Vec<Step> {
    let of = |request: &Request| -> Vec<Step> {
        let step = |&page: &u64| match request.asked {
            RequestKind::Access(op) => Step::Access(op, page),
            _ => Step::Trim(page),
        };
        request.pages.iter().map(step).collect()
    };
    requests.iter().flat_map(of).collect()
}
