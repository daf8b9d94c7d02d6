//! Counts of a run with prefix semantics (`docs/spec/tiers.md` 7.3).

/// Defines the counters once: the struct, their names and the difference of two counts.
macro_rules! kv_counters {
    ($($(#[$about:meta])+ $name:ident;)+) => {
        /// Counts of a run with prefix semantics; a count of blocks or requests each, but tokens.
        #[derive(
            Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize,
        )]
        pub struct KvCounters {
            $($(#[$about])+ pub $name: u64,)+
        }

        impl KvCounters {
            /// Counts since `before`, of the same run.
            pub(crate) fn since(&self, before: &KvCounters) -> KvCounters {
                KvCounters { $($name: self.$name - before.$name,)+ }
            }

            /// Names and values, in the order of the specification; of times only in a run that
            /// has them.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                let has_times = self.compute_ns > 0;
                let all = [$((stringify!($name), self.$name)),+];
                all.into_iter().filter(move |(name, count)| match *name {
                    "expired_blocks" => *count > 0,
                    name => has_times || !name.ends_with("_ns"),
                })
            }
        }
    };
}

/// A count that is left out.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

kv_counters! {
    /// Requests that arrived.
    requests;
    /// Blocks of their prompts.
    blocks;
    /// Tokens of their prompts.
    tokens;
    /// Blocks of cached prefixes.
    hit_blocks;
    /// Tokens of these blocks.
    hit_tokens;
    /// Requests whose whole prompt was cached.
    full_hits;
    /// Cached blocks of requests behind one that was missing.
    stranded_blocks;
    /// Blocks of the prefix that the request itself evicted and took in again.
    reinserted_blocks;
    /// Blocks that tier 1 took in.
    insertions;
    /// Blocks evicted from tier 1.
    evictions;
    /// Blocks of prompts that were cached and had expired; a result has them apart.
    #[serde(skip)]
    expired_blocks;
    /// Time of computing all blocks, nanoseconds; 0 where no time of a token is given.
    #[serde(default, skip_serializing_if = "is_zero")]
    compute_ns;
    /// Time of computing the blocks of cached prefixes, nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    hit_compute_ns;
}
