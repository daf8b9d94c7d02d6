//! Counters of the FTLs (`docs/spec/ftl.md` 1.4): some are common to all, each FTL declares its
//! others.

use crate::config::{Counter, Sort};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Declares a struct of counters: names, what they count, which of them `docs/spec/ftl.md` 1.4
/// lists.
macro_rules! counters {
    (@listed) => { true };
    (@listed beside) => { false };
    ($(#[$about:meta])* $vis:vis struct $name:ident {
        $($(#[doc = $what:literal])* $field:ident: $sort:ident $($beside:ident)?,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        $vis struct $name { $($(#[doc = $what])* pub $field: u64,)* }

        impl $name {
            /// Declaration of each counter, in the order of a result.
            $vis const DECLARED: &'static [$crate::config::Counter] = &[$($crate::config::Counter {
                name: stringify!($field),
                doc: concat!($($what),*),
                sort: $crate::config::Sort::$sort,
                listed: counters!(@listed $($beside)?),
            }),*];

            /// Their values, in order.
            $vis fn values(&self) -> [u64; Self::DECLARED.len()] {
                [$(self.$field),*]
            }
        }
    };
}
pub(super) use counters;

/// Counters that every FTL has.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Common {
    /// Reads received.
    pub host_reads: u64,
    /// Writes received.
    pub host_writes: u64,
    /// Reads of pages never written.
    pub unmapped_reads: u64,
    /// Pages read of the flash, for whatever reason.
    pub flash_reads: u64,
    /// Pages programmed, for whatever reason.
    pub flash_programs: u64,
    /// Blocks erased.
    pub erases: u64,
}

impl Common {
    /// Their names.
    pub const NAMES: [&'static str; 6] =
        ["host_reads", "host_writes", "unmapped_reads", "flash_reads", "flash_programs", "erases"];

    fn values(&mut self) -> [&mut u64; 6] {
        [
            &mut self.host_reads,
            &mut self.host_writes,
            &mut self.unmapped_reads,
            &mut self.flash_reads,
            &mut self.flash_programs,
            &mut self.erases,
        ]
    }
}

/// Counters of an FTL: the common ones and its own.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct FtlCounters {
    /// Counters that every FTL has.
    #[serde(flatten)]
    pub common: Common,
    #[serde(flatten, serialize_with = "write_own", deserialize_with = "read_own")]
    own: Vec<OwnCounter>,
}

#[derive(Clone, Debug)]
struct OwnCounter {
    name: Cow<'static, str>,
    sort: Sort, // a record has forgotten it
    value: u64,
}

impl PartialEq for OwnCounter {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.value == other.value
    }
}

impl Eq for OwnCounter {}

impl FtlCounters {
    pub(super) fn new(common: Common) -> Self {
        FtlCounters { common, own: Vec::new() }
    }

    /// These, and more that are declared.
    #[must_use]
    pub(super) fn with(mut self, declared: &'static [Counter], values: &[u64]) -> Self {
        self.own.extend(declared.iter().zip(values).map(|(counter, &value)| OwnCounter {
            name: counter.name.into(),
            sort: counter.sort,
            value,
        }));
        self
    }

    /// Every name, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let own = self.own.iter().map(|own| &*own.name);
        Common::NAMES.iter().copied().chain(own)
    }

    /// A counter by its name; `None` if the FTL has none of this name.
    pub fn get(&self, name: &str) -> Option<u64> {
        match Common::NAMES.iter().position(|&common| common == name) {
            Some(at) => Some(*{ self.common }.values()[at]),
            None => self.own.iter().find(|own| own.name == name).map(|own| own.value),
        }
    }

    /// Counts since `before`. Gauges of the flash's state keep their current value.
    #[must_use]
    pub fn since(mut self, before: &FtlCounters) -> FtlCounters {
        let mut common = before.common;
        for (count, before) in self.common.values().into_iter().zip(common.values()) {
            *count -= *before;
        }
        for own in self.own.iter_mut().filter(|own| own.sort == Sort::Count) {
            own.value -= before.get(&own.name).unwrap_or(0);
        }
        self
    }
}

fn write_own<S: Serializer>(own: &[OwnCounter], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(own.iter().map(|own| (&own.name, own.value)))
}

/// Reads the counters of a result. All become counts, since results are not subtracted.
fn read_own<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<OwnCounter>, D::Error> {
    struct Counters;
    impl<'de> Visitor<'de> for Counters {
        type Value = Vec<OwnCounter>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("counters by name")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<OwnCounter>, A::Error> {
            let mut all = Vec::new();
            while let Some((name, value)) = map.next_entry::<String, u64>()? {
                all.push(OwnCounter { name: name.into(), sort: Sort::Count, value });
            }
            Ok(all)
        }
    }
    deserializer.deserialize_map(Counters)
}

/// Counts by handle and by write point; of the measured part only.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct StreamCounts {
    /// W, by handle, if there are several.
    pub handle_programs: Vec<u64>,
    /// M, by the handle of the page's last host write, if there are several.
    pub handle_moves: Vec<u64>,
    /// W and M by write point, if there are several.
    pub stream_programs: Vec<u64>,
}

/// Counts of the SLC cache; of the measured part only, but for the erases of a block.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SlcCounts {
    /// W in SLC blocks.
    pub programs: u64,
    /// M of folds.
    pub migrations: u64,
    /// Blocks folded, and so erased.
    pub folds: u64,
    /// Most erases of an SLC block.
    pub block_erases_max: u64,
}

/// Counts of a map cache (`docs/spec/map-cache.md` 10).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct MapCounts {
    /// Look-ups of pages whose item was in memory.
    pub map_hits: u64,
    /// The others.
    pub map_misses: u64,
    /// Map pages read.
    pub map_reads: u64,
    /// Map pages programmed; moved ones not.
    pub map_writes: u64,
    /// Items that left dirty.
    pub map_dirty_evictions: u64,
    /// Map pages moved by collections.
    pub map_moves: u64,
}

impl MapCounts {
    /// Counts since `before`.
    #[must_use]
    pub fn since(self, before: &MapCounts) -> Self {
        MapCounts {
            map_hits: self.map_hits - before.map_hits,
            map_misses: self.map_misses - before.map_misses,
            map_reads: self.map_reads - before.map_reads,
            map_writes: self.map_writes - before.map_writes,
            map_dirty_evictions: self.map_dirty_evictions - before.map_dirty_evictions,
            map_moves: self.map_moves - before.map_moves,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    counters! {
        /// Two kinds.
        struct Two {
            /// Grows.
            copies: Count,
            /// Is as it is.
            free: State beside,
        }
    }

    fn counted(erases: u64, values: Two) -> FtlCounters {
        let common = Common { erases, ..Common::default() };
        FtlCounters::new(common).with(Two::DECLARED, &values.values())
    }

    #[test]
    fn counts_are_taken_from_an_instant_and_states_as_they_are() {
        let late = counted(9, Two { copies: 8, free: 7 });
        let since = late.since(&counted(4, Two { copies: 5, free: 6 }));
        let values = ["erases", "copies", "free", "gc_moves"].map(|name| since.get(name));
        assert_eq!(values, [Some(5), Some(3), Some(7), None]);
    }

    #[test]
    fn a_declaration_says_what_is_counted_and_what_vectors_list() {
        let [copies, free] = Two::DECLARED else { panic!("two counters") };
        assert_eq!((copies.name, copies.about(), copies.listed), ("copies", "Grows.", true));
        assert_eq!((free.sort, free.listed), (Sort::State, false));
    }

    #[test]
    fn a_record_has_every_counter_in_order_and_gives_them_back() {
        let counters = counted(9, Two { copies: 8, free: 7 });
        let json = serde_json::to_string(&counters).expect("numbers");
        let end = r#""erases":9,"copies":8,"free":7}"#;
        assert!(json.ends_with(end), "{json}");
        let back: FtlCounters = serde_json::from_str(&json).expect("as written");
        assert_eq!(serde_json::to_string(&back).expect("numbers"), json);
        assert!(back.names().eq(counters.names()));
    }
}
