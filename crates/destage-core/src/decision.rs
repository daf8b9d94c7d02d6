//! A decision as a line of JSON (`docs/spec/page-policies.md` 2.4): index, operation, page, hit,
//! evicted pages, flush groups, and padding where a policy pads. Pages are LPNs.

use crate::{Op, Page, Plan, Request};
use std::io::Write;

/// Appends the line of an access, its newline included. `lpn` names the LPN of a page.
pub fn append_line(
    line: &mut Vec<u8>,
    index: u64,
    r: &Request,
    hit: bool,
    plan: Option<&Plan>,
    lpn: impl Fn(Page) -> u64,
) {
    let op = if r.op == Op::Write { 'w' } else { 'r' };
    let begin =
        format_args!(r#"{{"index":{index},"op":"{op}","page":{},"hit":{hit},"evicted":["#, r.lpn.0);
    append(line, begin);
    list(line, plan.iter().flat_map(|p| p.evicted()).map(|e| lpn(e.page)));
    line.extend_from_slice(br#"],"flushed":["#);
    for (k, (pages, _)) in plan.iter().flat_map(|p| p.groups()).enumerate() {
        line.extend_from_slice(if k == 0 { b"[" } else { b",[" });
        list(line, pages.iter().map(|&p| lpn(p)));
        line.push(b']');
    }
    line.push(b']');
    if plan.is_some_and(|p| !p.padded().is_empty()) {
        line.extend_from_slice(br#","padded":["#);
        for (k, (_, pads)) in plan.iter().flat_map(|p| p.groups()).enumerate() {
            line.extend_from_slice(if k == 0 { b"[" } else { b",[" });
            list(line, pads.iter().map(|p| p.lpn.0));
            line.push(b']');
        }
        line.push(b']');
    }
    line.extend_from_slice(b"}\n");
}

/// Appends numbers with commas between them.
pub fn list(line: &mut Vec<u8>, numbers: impl Iterator<Item = u64>) {
    for (k, number) in numbers.enumerate() {
        if k > 0 {
            line.push(b',');
        }
        append(line, format_args!("{number}"));
    }
}

fn append(line: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    line.write_fmt(text).expect("a vector takes every byte");
}
