//! `qwen-bailian`: requests to a Qwen model on Aliyun Bailian, one JSON object a line (Wang et al.,
//! "KVCache Cache in the Wild", USENIX ATC 2025; alibaba-edu/qwen-bailian-usagetraces-anon).
//!
//! ```text
//! {"chat_id": 159, "parent_chat_id": 55, "timestamp": 61.114, "input_length": 521,
//!  "output_length": 132, "type": "text", "turn": 2, "hash_ids": [1089, 1090, 13148]}
//! ```
//! As [`mooncake`](super::mooncake), but that `timestamp` is seconds, a block has 16 tokens, and
//! records name their conversation, by which the format is detected.

use super::mooncake::{Layout, Object};
use super::text_format::*;
use crate::options::TimeUnit;

/// The row of the table.
pub static FORMAT: Format = Format {
    blocks: false,
    has_ops: false,
    has_volumes: false,
    name_parts: &[".jsonl"],
    ..Format::text(
        "qwen-bailian",
        "key-value blocks of a language model (Qwen, Aliyun Bailian)",
        "one JSON object a line: chat_id, timestamp (s), hash_ids; each id a block of 16 tokens, \
         its size is --bytes-per-token or --block-bytes",
        detect,
        open,
    )
};

fn detect(sample: &Sample) -> Verdict {
    most_lines(sample, "JSON objects with chat_id, timestamp and hash_ids", |line| {
        Object::of(line).is_ok_and(|o| o.has_chain() && o.has_chat)
    })
}

fn open(input: Input, opening: &Opening) -> Result<Box<dyn RecordReader>> {
    Layout { format: "qwen-bailian", unit: TimeUnit::S, block_tokens: 16 }.open(input, opening)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing;

    const TWO: &str = "{\"chat_id\": 159, \"parent_chat_id\": -1, \"timestamp\": 61.114, \
                       \"input_length\": 20, \"output_length\": 132, \"type\": \"text\", \
                       \"turn\": 1, \"hash_ids\": [8, 9]}\n\
                       {\"chat_id\": 160, \"parent_chat_id\": 159, \"timestamp\": 62, \
                       \"input_length\": 48, \"hash_ids\": [8, 9, 11]}\n";

    #[test]
    fn times_are_seconds_and_blocks_have_16_tokens() {
        let trace =
            testing::read_with(&FORMAT, TWO, "kv.jsonl", |o| o.bytes_per_token = Some(1024));
        let seen: Vec<_> =
            trace.records.iter().map(|r| (r.time_ns, r.offset_bytes, r.chain.tokens())).collect();
        let (first, block) = (61_114_000_000, 16 << 10);
        assert_eq!(seen[..2], [(first, 8 * block, 16), (first, 9 * block, 4)]);
        assert_eq!((seen.len(), seen[4]), (5, (62_000_000_000, 11 * block, 16)));
        testing::detects(&FORMAT, TWO.as_bytes());
    }
}
