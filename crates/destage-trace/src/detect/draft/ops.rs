//! Values of an operation column, and what they mean.

use crate::formats::blkparse::{Rwbs, rwbs};
use crate::record::RecordOp;

/// Meaning of the values of a column.
#[derive(Default, Debug, PartialEq)]
pub(super) struct Meaning {
    /// Values by the option that they belong to.
    pub(super) lists: Vec<(&'static str, Vec<String>)>,
    /// Values without a known meaning.
    pub(super) unknown: Vec<String>,
    /// The values are 0 and 1, and which is a read is not said.
    pub(super) is_asked: bool,
}

/// Options of operations, in the order in which they are typed.
const KEYS: [(&str, RecordOp); 4] = [
    ("op_read", RecordOp::Read),
    ("op_write", RecordOp::Write),
    ("op_trim", RecordOp::Trim),
    ("op_flush", RecordOp::Flush),
];

/// Words in lower case, without the prefixes of `plain`.
const WORDS: [(RecordOp, &[&str]); 4] = [
    (
        RecordOp::Read,
        &["r", "read", "rd", "rs", "ra", "reads", "readv", "pread", "preadv", "diskread", "in"],
    ),
    (
        RecordOp::Write,
        &[
            "w",
            "write",
            "wr",
            "ws",
            "writes",
            "wfs",
            "wsm",
            "writev",
            "pwrite",
            "pwritev",
            "diskwrite",
            "out",
            "writezeroes",
            "writesame",
            "zoneappend",
        ],
    ),
    (
        RecordOp::Trim,
        &["d", "discard", "trim", "unmap", "t", "ds", "deallocate", "dsm", "secureerase", "de"],
    ),
    (
        RecordOp::Flush,
        &[
            "f",
            "flush",
            "sync",
            "fsync",
            "fdatasync",
            "ff",
            "diskflush",
            "barrier",
            "syncfilerange",
        ],
    ),
];

/// Operation codes of SCSI, as they are printed in hexadecimal.
const SCSI: [(RecordOp, &[&str]); 4] = [
    (RecordOp::Read, &["8", "08", "28", "88", "a8"]),
    (RecordOp::Write, &["a", "0a", "2a", "8a", "aa", "2e", "8e", "ae", "41", "93"]),
    (RecordOp::Trim, &["42"]),
    (RecordOp::Flush, &["35", "91"]),
];

/// A value as the words have it: `REQ_OP_READ` is a read.
fn plain(value: &str) -> String {
    let lower = value.to_ascii_lowercase();
    let lower = ["req_op_", "nvme_cmd_", "nvme_", "op_", "io_", "scsi_"]
        .iter()
        .find_map(|prefix| lower.strip_prefix(prefix))
        .unwrap_or(&lower);
    // `pread64`, and the length of a SCSI command: `READ(10)`, `WRITE_16`.
    let plain = lower.replace(['_', '-', ' ', '(', ')'], "");
    let digits = ["64", "10", "12", "16", "32", "6"];
    let kept = digits.iter().find_map(|suffix| plain.strip_suffix(suffix));
    kept.map_or_else(|| plain.clone(), str::to_owned)
}

fn of_words(words: &[(RecordOp, &[&str])], value: &str) -> Option<RecordOp> {
    words.iter().find(|(_, names)| names.contains(&value)).map(|&(op, _)| op)
}

/// The operation that a value names: a word, or rwbs of the kernel.
pub(super) fn op_of(value: &str) -> Option<RecordOp> {
    let kernels = |value: &str| {
        let letters = value.len() <= 8 && value.bytes().all(|c| c.is_ascii_uppercase());
        match rwbs(value.as_bytes()).filter(|_| letters)? {
            Rwbs::Op { op, .. } => Some(op),
            Rwbs::Flush => Some(RecordOp::Flush),
            Rwbs::None | Rwbs::Zone => None,
        }
    };
    of_words(&WORDS, &plain(value)).or_else(|| kernels(value))
}

/// Operations of a cache or a store of objects, which are none of a device.
pub(super) fn is_object_op(value: &str) -> bool {
    const OPS: &[&str] = &[
        "get", "set", "put", "delete", "add", "cas", "replace", "incr", "decr", "append",
        "prepend", "gets", "getlease", "setlease", "lookup", "insert", "head", "copy",
    ];
    let lower = value.to_ascii_lowercase();
    let rest = lower.strip_prefix("rest.").and_then(|rest| rest.strip_suffix(".object"));
    OPS.contains(&rest.unwrap_or(&lower).replace(['_', '-'], "").as_str())
}

/// Meaning of the values of a column; `words` are its name.
pub(super) fn meaning(values: &[String], words: &[String]) -> Meaning {
    let mut distinct: Vec<&str> =
        values.iter().map(String::as_str).filter(|value| !value.is_empty()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let of = |find: &dyn Fn(&str) -> Option<RecordOp>| {
        let mut meaning = Meaning::default();
        for (key, op) in KEYS {
            let ours = distinct.iter().filter(|value| find(value) == Some(op));
            let ours: Vec<String> = ours.map(|value| (*value).to_owned()).collect();
            if !ours.is_empty() {
                meaning.lists.push((key, ours));
            }
        }
        let unknown = distinct.iter().filter(|value| find(value).is_none());
        meaning.unknown = unknown.map(|value| (*value).to_owned()).collect();
        meaning
    };
    if distinct.iter().all(|value| matches!(*value, "0" | "1")) && !distinct.is_empty() {
        let said = |word: &str| words.iter().any(|w| w == word) && words.len() > 1;
        let one_reads = said("read") && !said("write");
        let (read, write) = if one_reads { ("1", "0") } else { ("0", "1") };
        let lists = vec![("op_read", vec![read.to_owned()]), ("op_write", vec![write.to_owned()])];
        let is_asked = said("read") == said("write");
        return Meaning { lists, unknown: Vec::new(), is_asked };
    }
    if distinct.iter().all(|value| matches!(value.to_ascii_lowercase().as_str(), "true" | "false"))
    {
        let reads = words.iter().any(|word| word == "read");
        let is = |value: &str| {
            let is_true = value.eq_ignore_ascii_case("true");
            Some(if is_true == reads { RecordOp::Read } else { RecordOp::Write })
        };
        return of(&is);
    }
    let scsi = |value: &str| {
        let lower = value.to_ascii_lowercase();
        of_words(&SCSI, lower.strip_prefix("0x").unwrap_or(&lower))
    };
    if !distinct.is_empty() && distinct.iter().all(|value| scsi(value).is_some()) {
        return of(&scsi);
    }
    of(&op_of)
}
