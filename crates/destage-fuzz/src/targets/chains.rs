//! Any bytes as a trace of a language model, decoded and replayed with prefix semantics.

use crate::{Target, files, root};
use destage_policies::{Setup, dense};
use destage_replay::input::Input;
use destage_replay::kv::{Chains, KvReplay, Touch, prefix_min};
use destage_replay::observe::Unobserved;
use destage_replay::warmup::Warmup;
use destage_trace::{CacheOptions, DecodeOptions, NoHooks, ReaderOptions, Trace, open_trace};
use std::io::Write;

pub const TARGET: Target = Target {
    name: "chains",
    takes: "a trace of a language model (mooncake or qwen-bailian)",
    holds: "hits are blocks that arrived, and no more than those of the bound",
    run,
    samples,
};

/// Frames of the cache: few, so that small traces evict.
const FRAMES: u32 = 3;

fn run(data: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("room for a small file");
    file.write_all(data).expect("room for a small file");
    for format in ["mooncake", "qwen-bailian"] {
        let mut reader = ReaderOptions::default();
        for (key, value) in [("format", format), ("bytes_per_token", "1"), ("on_error", "skip")] {
            reader.set_text(key, value).expect("the options of this target are right");
        }
        let cache = CacheOptions { enabled: false, ..CacheOptions::default() };
        let paths = [file.path().to_owned()];
        let decode = DecodeOptions::default();
        if let Ok(trace) = open_trace(&paths, &reader, &decode, &cache, &mut NoHooks) {
            replay(&trace);
        }
    }
}

fn replay(trace: &Trace) {
    let next_uses = trace.next_uses().expect("room for them");
    let input = Input::new(trace, Some(&next_uses));
    // A request that has a block twice, or a block with two heads before it, is refused.
    let Ok(chains) = Chains::of(&input.columns, input.chains) else { return };
    let replay = KvReplay {
        columns: input.columns,
        chains,
        next_uses: input.next_uses,
        arrivals_ns: input.arrivals_ns,
        warmup: Warmup::None,
        touch: Touch::TailFirst,
        ttl_ns: None,
    };
    let lru = dense("lru", &Setup::new(FRAMES), trace.pages()).expect("a policy of the table");
    let lru = replay.run(lru, None, &mut Unobserved).expect("no stop").kv;
    assert_eq!(lru.blocks, trace.accesses());
    assert!(lru.hit_blocks <= lru.blocks && lru.hit_tokens <= lru.tokens);
    if let Ok(bound) = prefix_min::run(&replay, FRAMES, &mut Unobserved) {
        let bound = bound.expect("no stop").kv;
        assert!(lru.hit_blocks <= bound.hit_blocks && bound.stranded_blocks == 0);
    }
}

fn samples() -> Vec<Vec<u8>> {
    let of_models = |name: &str| name.starts_with("mooncake") || name.starts_with("qwen");
    let found = files::of(&root().join("tests/data")).into_iter();
    found.filter(|(name, _)| of_models(name)).map(|(_, bytes)| bytes).collect()
}
