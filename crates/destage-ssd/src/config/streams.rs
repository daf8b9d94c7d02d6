//! Handles, write points and the collector (`docs/spec/device-today.md` 7,
//! `docs/spec/collectors.md` 2).

use super::words::{GcStream, GcVictim, Isolation};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The keys of `[device]` about them. A record has those that are not at their default, so that a
/// device of one handle and the greedy collector is recorded without any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "named as their keys, which the list describes one by one")]
pub struct StreamsConfig {
    pub handles: u32,
    pub isolation: Isolation,
    pub gc_stream: GcStream,
    pub gc_victim: GcVictim,
    pub gc_choices: u32,
    pub gc_window_permille: u32,
    pub gc_limit_permille: u32,
    pub gc_seed: u64,
}

impl StreamsConfig {
    /// One handle, one open block a plane, and the greedy collector: all keys at their default.
    pub const ONE: StreamsConfig = StreamsConfig {
        handles: 1,
        isolation: Isolation::Initial,
        gc_stream: GcStream::Shared,
        gc_victim: GcVictim::Greedy,
        gc_choices: 10,
        gc_window_permille: 250,
        gc_limit_permille: 700,
        gc_seed: 1,
    };

    /// The defaults of a collector: two-region FIFO keeps generations apart and has its own window.
    pub fn of_collector(gc_victim: GcVictim) -> StreamsConfig {
        match gc_victim {
            GcVictim::TwoRegionFifo => StreamsConfig {
                gc_victim,
                gc_stream: GcStream::ByGeneration,
                gc_window_permille: 700,
                ..StreamsConfig::ONE
            },
            _ => StreamsConfig { gc_victim, ..StreamsConfig::ONE },
        }
    }

    /// `gc_stream` with its value, where collected pages have open blocks of their own.
    pub fn collected_apart(&self) -> Option<&'static str> {
        match self.gc_stream {
            GcStream::Shared => None,
            GcStream::Own => Some("gc_stream = own"),
            GcStream::ByGeneration => Some("gc_stream = by-generation"),
        }
    }

    /// A: places of a plane that have an open block of their own (7.1; `docs/spec/collectors.md`
    /// 6).
    pub fn write_points(&self) -> u32 {
        match (self.gc_stream, self.isolation) {
            (GcStream::Shared, _) => self.handles,
            (GcStream::Own, Isolation::Persistent) => 2 * self.handles,
            (GcStream::Own, _) => self.handles + 1,
            (GcStream::ByGeneration, Isolation::Persistent) => 3 * self.handles,
            (GcStream::ByGeneration, _) => self.handles + 2,
        }
    }
}

impl Serialize for StreamsConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let default = StreamsConfig::of_collector(self.gc_victim);
        let mut map = serializer.serialize_map(None)?;
        macro_rules! unless_default {
            ($($key:ident),*) => {
                $(if self.$key != default.$key {
                    map.serialize_entry(stringify!($key), &self.$key)?;
                })*
            };
        }
        unless_default!(handles, isolation, gc_stream);
        if self.gc_victim != GcVictim::Greedy {
            map.serialize_entry("gc_victim", &self.gc_victim)?;
        }
        unless_default!(gc_choices, gc_window_permille, gc_limit_permille, gc_seed);
        map.end()
    }
}
